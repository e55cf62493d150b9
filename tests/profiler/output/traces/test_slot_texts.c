/* SPDX-License-Identifier: MIT */
/*
 * Method: an instruction with characters in its layer that JSON escapes runs often, between others
 * of its layer. Its text is made in place, cached, and taken from the cache; each event must have
 * it.
 */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "profiler/output/export_to.h"
#include "tests/support/hand_trace.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define LAYER "q\"\\\n\x01\xc3\xa9'"
#define RUNS 5

static uint32_t named(struct hand_trace *h, uint32_t name, uint32_t cycles)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_NOP);

    instr.imm[0] = cycles;
    instr.name_id = name;
    return hand_trace_open(h, 0, NTK_ISA_ENGINE_PE, &instr);
}

static void each_trace_event_has_the_strings_of_its_instruction_slot(void **state)
{
    struct hand_trace h;
    struct ntk_export *export = NULL;
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "t.json");
    const char *operands[2] = { NULL, NULL };
    size_t found = 0;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t name = hand_trace_name(&h, 0, NTK_ISA_ENGINE_PE, LAYER);
    const uint32_t slots[2] = { named(&h, name, 1), named(&h, name, 2) };
    for (int64_t i = 0; i < RUNS; i++) {
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, slots[0], 100 * i, 100 * i + 10);
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, slots[1], 100 * i + 20, 100 * i + 30);
    }
    hand_trace_end(&h);
    assert_int_equal(ntk_export_create(&h.trace, "hand", "hand.ntff", &export), 0);
    assert_int_equal(ntk_export_format_find("chrome")->write(export, path, NULL), 0);

    json_t *file = json_load_file(path, 0, NULL);
    assert_non_null(file);
    const json_t *events = json_object_get(file, "traceEvents");
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *args = json_object_get(json_array_get(events, i), "args");
        const json_t *pc = json_object_get(args, "pc");
        if (!pc) {
            continue;
        }
        const char *text = json_string_value(json_object_get(args, "operands"));
        const char **of_slot = &operands[json_integer_value(pc) == slots[1]];
        assert_string_equal(json_string_value(json_object_get(args, "layer")), LAYER);
        assert_non_null(text);
        *of_slot = *of_slot ? *of_slot : text;
        assert_string_equal(text, *of_slot);
        found++;
    }
    assert_int_equal(found, 2 * RUNS);
    assert_string_not_equal(operands[0], operands[1]);
    json_decref(file);
    ntk_export_destroy(export);
    hand_trace_fini(&h);
    free(path);
    test_scratch_destroy(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_trace_event_has_the_strings_of_its_instruction_slot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
