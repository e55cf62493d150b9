/* SPDX-License-Identifier: MIT */
/* Method: hand-made names of a few instructions, like those of a NEFF. */
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/instruction_label.h"
#include "shared/formats/neff/neff_debug.h"
#include "tests/support/unit.h"

#define COUNT 6

struct named {
    struct ntk_neff_debug_instruction instructions[COUNT];
    struct ntk_neff_debug debug;
    struct ntk_neff_debug *names;
    struct ntk_program program;
    struct ntk_labels *labels;
};

/* All instructions have the same Penguin id, which has a text without loop variables. */
static void begin(struct named *n)
{
    static const char *const names[COUNT] = { "I-0", "I-1", "I-2", "I-3", "I-4", "I-5" };

    memset(n, 0, sizeof *n);
    for (size_t i = 0; i < COUNT; i++) {
        n->instructions[i] =
            (struct ntk_neff_debug_instruction){ .bir_id = i,
                                                 .name = names[i],
                                                 .has_penguin = true,
                                                 .penguin_id = 8,
                                                 .penguin_text = "bfloat16 (1, 1024) %'output0'" };
    }
}

static void find(struct named *n)
{
    n->debug.instruction_count = COUNT;
    n->debug.instructions = n->instructions;
    n->names = &n->debug;
    n->program.names = &n->names;
    n->labels = ntk_labels_create(&n->program, 0);
    assert_non_null(n->labels);
}

static const struct ntk_slot_code plain; /* without a layer */

static void expect(const struct named *n, size_t i, const char *label)
{
    struct ntk_slot_fact fact = { .code = &plain, .named = &n->instructions[i] };
    char buf[NTK_LABEL_BYTES];

    assert_string_equal(ntk_label_get(n->labels, &fact, buf, sizeof buf), label);
}

static void kernel_instructions_are_labelled_by_source_line(void **state)
{
    struct named n;

    begin(&n);
    for (size_t i = 0; i < COUNT - 1; i++) {
        n.instructions[i].file = "/home/u/attention.py";
        n.instructions[i].line = 390 + (uint32_t)i / 2;
    }
    find(&n);
    expect(&n, 0, "attention.py:390");
    expect(&n, 1, "attention.py:390");
    expect(&n, 4, "attention.py:392");
    expect(&n, 5, "I-5"); /* the compiler's own */
    ntk_labels_destroy(n.labels);
}

static void instructions_without_lines_are_labelled_by_the_backend_name(void **state)
{
    struct named n;

    begin(&n);
    n.instructions[5].penguin_id = 9;
    n.instructions[5].penguin_text = "float32<128 x 8> $50[i_kv]";
    find(&n);
    expect(&n, 0, "I-0");
    expect(&n, 5, "$50[i_kv]");
    ntk_labels_destroy(n.labels);
}

static void label_text_that_distinguishes_statements_is_kept(void **state)
{
    struct named n;

    begin(&n);
    for (size_t i = 0; i < COUNT; i++) {
        n.instructions[i].penguin_id = i / 2;
        n.instructions[i].penguin_text = i / 2 ? "float32 $7[i]" : "float32 $6[i]";
        n.instructions[i].file = "/m.py";
        n.instructions[i].line = 10 + (uint32_t)i / 2; /* one line for each text */
    }
    find(&n);
    expect(&n, 0, "$6[i]");
    expect(&n, 3, "$7[i]");
    ntk_labels_destroy(n.labels);
}

/* Method: the text, and a line for each instruction, in a program with one layer, then with two. */
static void layer_names_precede_lines_if_there_are_several_layers(void **state)
{
    for (size_t layers = 1; layers <= 2; layers++) {
        struct ntk_slot_code code = { .layer = NTK_LAYER_RUNTIME + 1 };
        struct ntk_slot_fact fact = { .code = &code };
        struct named n;
        char buf[NTK_LABEL_BYTES];

        begin(&n);
        for (size_t i = 0; i < COUNT; i++) {
            n.instructions[i].file = "/home/u/attention.py";
            n.instructions[i].line = 390 + (uint32_t)i;
        }
        n.program.layer_count = NTK_LAYER_RUNTIME + 1 + layers;
        find(&n);
        fact.named = &n.instructions[0];
        assert_int_equal(ntk_labels_is_layer(n.labels, &fact), layers == 2);
        assert_int_equal(ntk_labels_is_kernel(n.labels, &fact), layers == 1);
        assert_string_equal(ntk_label_get(n.labels, &fact, buf, sizeof buf),
                            layers == 1 ? "attention.py:390" : "");
        expect(&n, 0, "attention.py:390"); /* an instruction outside every layer */
        ntk_labels_destroy(n.labels);
    }
}

static void unnamed_values_have_no_label(void **state)
{
    struct named n;
    struct ntk_slot_fact fact = { .code = &plain };
    char buf[NTK_LABEL_BYTES];

    begin(&n);
    n.names = NULL;
    n.program.names = &n.names;
    n.labels = ntk_labels_create(&n.program, 0);
    assert_string_equal(ntk_label_get(n.labels, &fact, buf, sizeof buf), "");
    assert_string_equal(ntk_label_line(&fact, buf, sizeof buf), "");
    ntk_labels_destroy(n.labels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_instructions_are_labelled_by_source_line),
        cmocka_unit_test(instructions_without_lines_are_labelled_by_the_backend_name),
        cmocka_unit_test(label_text_that_distinguishes_statements_is_kept),
        cmocka_unit_test(layer_names_precede_lines_if_there_are_several_layers),
        cmocka_unit_test(unnamed_values_have_no_label),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
