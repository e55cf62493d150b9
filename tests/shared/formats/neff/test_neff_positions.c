/* SPDX-License-Identifier: MIT */
/*
 * Source positions: back-end lines, the kernel tree, frames, and the join of the three.
 *
 * Method: a NEFF of only members, made byte by byte; one engine with slots that have the BIR
 * ids 100, 101 ...
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/formats/neff/neff_positions.h"
#include "shared/formats/neff/neff_read_private.h"
#include "tests/support/ntff_sample.h"
#include "tests/support/unit.h"

#define MEMBERS_MAX 16
#define PENGUIN 14

struct fixture {
    struct ntk_neff neff;
    struct neff_private data;
    struct ntk_neff_member members[MEMBERS_MAX];
    struct ntk_neff_subgraph subgraph;
    struct ntk_buf assembly, backend;
    size_t slots;
    struct ntk_neff_debug *debug;
    struct ntk_neff_positions *positions;
};

static void add_member(struct fixture *f, const char *name, const void *bytes, size_t count)
{
    struct ntk_neff_member *member = &f->members[f->neff.member_count++];

    assert_true(f->neff.member_count <= MEMBERS_MAX);
    *member = (struct ntk_neff_member){ .name = strdup(name),
                                        .bytes = malloc(count + 1),
                                        .bytes_count = count };
    memcpy(member->bytes, bytes, count);
    assert_int_equal(ntk_map_put(&f->data.members, name, member), 0);
}

static void add_text_member(struct fixture *f, const char *name, const char *text)
{
    add_member(f, name, text, strlen(text));
}

static void put_text(struct ntk_buf *to, unsigned field, const char *text)
{
    ntff_sample_bytes(to, field, text, strlen(text));
}

static void put_message(struct ntk_buf *to, unsigned field, struct ntk_buf *message)
{
    ntk_buf_put_u8(message, 0); /* so that there are bytes to point to */
    ntff_sample_bytes(to, field, message->bytes, message->bytes_count - 1);
    ntk_buf_fini(message);
    *message = (struct ntk_buf){ 0 };
}

static void put_pair(struct ntk_buf *to, const char *key, const char *value)
{
    struct ntk_buf pair = { 0 };

    if (value) {
        put_text(&pair, 1, key);
        put_text(&pair, 2, value);
        put_message(to, 7, &pair);
    }
}

/* The next slot, with an instruction of the back end; NULL: without that pair. */
static void put_slot(struct fixture *f, const char *name, const char *file, const char *line)
{
    struct ntk_buf entry = { 0 };
    uint8_t id = (uint8_t)(100 + f->slots++);
    uint8_t penguin = PENGUIN;

    ntff_sample_bytes(&entry, 3, &id, 1);
    put_message(&f->assembly, 3, &entry);
    ntff_sample_varint(&entry, 1, id);
    put_text(&entry, 2, name);
    ntff_sample_bytes(&entry, 3, &penguin, 1);
    put_pair(&entry, "kernel_file", file);
    put_pair(&entry, "kernel_line", line);
    put_pair(&entry, "kernel_name", "0");
    put_message(&f->backend, 3, &entry);
}

static void put_tables(struct fixture *f)
{
    put_text(&f->backend, 5, "/k/zeros.py");
    put_text(&f->backend, 5, "/k/attn.py");
    put_text(&f->backend, 7, "__main__.attn");
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->neff = (struct ntk_neff){ .members = f->members, .private_data = &f->data };
    f->data.budget = 1 << 20;
    f->subgraph = (struct ntk_neff_subgraph){ .name = "sg00", .folder = "sg00" };
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    ntk_neff_positions_destroy(f->positions);
    ntk_neff_debug_destroy(f->debug);
    for (size_t i = 0; i < f->neff.member_count; i++) {
        free((char *)(uintptr_t)f->members[i].name);
        free(f->members[i].bytes);
    }
    ntk_map_fini(&f->data.members);
    ntk_buf_fini(&f->assembly);
    ntk_buf_fini(&f->backend);
    free(f);
    return 0;
}

static void join(struct fixture *f)
{
    f->subgraph.engines[NTK_ISA_ENGINE_ACT].code_bytes = f->slots * NTK_ISA_SLOT_BYTES;
    if (f->slots) {
        add_member(f, "sg00/debug_info_asm_Activation.dbg", f->assembly.bytes,
                   f->assembly.bytes_count);
        add_member(f, "sg00/debug_info_backend_Activation.dbg", f->backend.bytes,
                   f->backend.bytes_count);
    }
    assert_int_equal(ntk_neff_debug_create(&f->neff, &f->subgraph, &f->debug, NULL), 0);
    assert_int_equal(ntk_neff_positions_create(&f->neff, &f->debug, 1, &f->positions), 0);
}

/* "file:line | kernel line | inst | path" of a slot. */
static void expect(const struct fixture *f, size_t slot, const char *wanted)
{
    const struct ntk_neff_positions *p = f->positions;
    const struct ntk_neff_position *at =
        ntk_neff_position_get(p, 0, NTK_ISA_ENGINE_ACT, (int64_t)slot);
    const struct ntk_neff_kernel_instruction *instruction = ntk_neff_position_instruction(p, at);
    const struct ntk_neff_function *function = ntk_neff_position_function(p, instruction);
    struct ntk_buf text = { 0 };

    if (at && at->file) {
        ntk_buf_add_format(&text, "%s:%u", ntk_neff_position_file(p, at), at->line);
    }
    ntk_buf_add_text(&text, " | ");
    if (instruction && ntk_neff_kernel_line_add(p, instruction, &text)) {
        ntk_buf_add_format(&text, " %s ", function->name);
        ntk_neff_kernel_name_add(instruction, &text);
    }
    ntk_buf_add_text(&text, " | ");
    ntk_neff_position_path_add(p, at, &text);
    assert_string_equal(ntk_buf_text_get(&text), wanted);
    ntk_buf_fini(&text);
}

static void expect_warnings(const struct fixture *f, size_t count, const char *text)
{
    const struct ntk_vec *warnings = f->positions ? &f->positions->warnings : NULL;

    assert_int_equal(warnings ? warnings->count : 0, count);
    if (count && !strstr(*(char **)ntk_vec_at(warnings, 0), text)) {
        fail_msg("%s", *(char **)ntk_vec_at(warnings, 0));
    }
}

static const char list[] = "{\"other\": [1, {\"a\": null}], \"debug_info_files\": [{\"file_name\": "
                           "\"a.klir.debuginfo.json\", \"kernel_name\": \"__main__.attn\", "
                           "\"parent_tensorizer_id\": 14}]}";
static const char tree[] =
    "[{\"lnc\": 1, \"info\": [{\"inst\": {\"name\": \"jmp.3\", \"line\": 0}},\n"
    " {\"func\": {\"name\": \"__main__.attn\", \"line\": 5, \"children\": [\n"
    "  {\"inst\": {\"name\": \"inst.1\", \"line\": 10}},\n"
    "  {\"iter\": {\"var\": \"h\", \"val\": \"0\", \"line\": 11, \"children\": [\n"
    "   {\"iter\": {\"line\": 12, \"children\": [{\"inst\": {\"name\": \"inst.2\", \"line\": "
    "13}}],\n"
    "     \"var\": \"t\", \"val\": 7}},\n"
    "   {\"iter\": {\"var\": \"t\", \"val\": \"08\", \"line\": 12, \"children\": [\n"
    "     {\"func\": {\"name\": \"zeros\", \"file\": \"/k/zeros.py\", \"line\": 2, \"children\": "
    "[\n"
    "       {\"inst\": {\"name\": \"inst.3\", \"line\": 4}}]}}]}}]}},\n"
    "  {\"iter\": {\"var\": \"h\", \"val\": \"1\", \"line\": 11, \"children\": [\n"
    "   {\"iter\": {\"var\": \"t\", \"val\": \"7\", \"line\": 12, \"children\": [\n"
    "     {\"inst\": {\"name\": \"inst.4\", \"line\": 13}}]}}]}},\n"
    "  {\"later\": {\"kind\": [true, -1.5e3]}}],\n"
    "  \"file\": \"/k/attn.py\"}}]}]\n";

static void slots_have_source_lines_functions_and_iterations(void **state)
{
    struct fixture *f = *state;
    static const char *const wanted[] = {
        "/k/attn.py:10 | /k/attn.py:10 __main__.attn inst.1 | ",
        "/k/attn.py:13 | /k/attn.py:13 __main__.attn inst.2 | h=0,t=7",
        "/k/zeros.py:4 | /k/zeros.py:4 zeros inst.3 | h=0,t=08",
        "/k/attn.py:13 | /k/attn.py:13 __main__.attn inst.4 | h=1,t=7",
        "/k/attn.py:20 |  | ",                                  /* a spill */
        " | /k/attn.py:10 __main__.attn inst.1 | ",             /* no pairs */
        "/k/attn.py:9 | /k/attn.py:10 __main__.attn inst.1 | ", /* they differ */
        "/k/attn.py:50 |  | ",                                  /* not in the tree */
        " |  | ",
        " |  | ",
        " |  | ",
        " |  | ",
        " |  | ",
        " |  | ", /* no position */
    };

    put_slot(f, "inst.1", "1", "10");
    put_slot(f, "inst.2-wait-0", "1", "13");
    put_slot(f, "inst.3-act", "0", "4");
    put_slot(f, "inst.4-tensor-load-0-wait-0", "1", "13");
    put_slot(f, "inst____main__.attn-0:tensor19_Spill", "1", "20");
    put_slot(f, "inst.1-PWP", NULL, NULL);
    put_slot(f, "inst.1-reg-add-2", "1", "9");
    put_slot(f, "inst.50", "1", "50");
    put_slot(f, "a", "2", "10");                   /* beyond the table */
    put_slot(f, "b", "1", "0");                    /* no line */
    put_slot(f, "c", "1", "1x");                   /* not a number */
    put_slot(f, "d", "1", "99999999999999999999"); /* nor is this */
    put_slot(f, "e", NULL, "1");
    put_slot(f, "inst.01", NULL, NULL);
    put_tables(f);
    add_text_member(f, "kernel_debug_info.json", list);
    add_text_member(f, "a.klir.debuginfo.json", tree);
    join(f);
    for (size_t s = 0; s < sizeof wanted / sizeof *wanted; s++) {
        expect(f, s, wanted[s]);
    }
    expect(f, f->slots, " |  | ");
    assert_null(ntk_neff_position_get(f->positions, 0, NTK_ISA_ENGINE_PE, 0));
    assert_null(ntk_neff_position_get(f->positions, 1, NTK_ISA_ENGINE_ACT, 0));
    assert_null(ntk_neff_position_get(f->positions, 0, NTK_ISA_ENGINE_ACT, -1));
    assert_null(ntk_neff_position_get(NULL, 0, NTK_ISA_ENGINE_ACT, 0));
    assert_string_equal(ntk_neff_debug_find(f->debug, 100)->kernel, "__main__.attn");
    assert_int_equal(f->positions->line_count, 7);
    assert_int_equal(f->positions->kernel_count, 6);
    assert_int_equal(f->positions->differing_count, 1);
    assert_int_equal(f->positions->tree_cores[0], 0);
    expect_warnings(f, 2, "5 instructions refer to a file or line that does not exist");
    assert_non_null(strstr(*(char **)ntk_vec_at(&f->positions->warnings, 1),
                           "disagree on the lines of 1 slots"));
}

/* The slots of a program without a kernel; the last one has an id that no instruction has. */
static void source_positions_may_refer_to_files_of_any_kind(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf entry = { 0 };
    uint8_t unknown = 99;

    put_slot(f, "I-7", "0", "3");
    put_slot(f, "Block1-final-DMA-NOP", "1", "12");
    ntff_sample_bytes(&entry, 3, &unknown, 1);
    put_message(&f->assembly, 3, &entry);
    f->slots++;
    put_text(&f->backend, 5, "/tmp/neuroncc-x1/module.mlir");
    put_text(&f->backend, 5, "/src/lower.cc");
    join(f);
    expect(f, 0, "/tmp/neuroncc-x1/module.mlir:3 |  | ");
    expect(f, 1, "/src/lower.cc:12 |  | ");
    expect(f, 2, " |  | ");
    assert_int_equal(f->positions->line_count, 2);
    expect_warnings(f, 0, "");
}

static void source_loops_are_distinguished_by_their_enclosing_frames(void **state)
{
    struct fixture *f = *state;

    add_text_member(f, "kernel_debug_info.json", list);
    add_text_member(f, "a.klir.debuginfo.json", tree);
    put_slot(f, "inst.2", NULL, NULL);
    join(f);
    const struct ntk_neff_kernel *kernel = &f->positions->kernel;
    const struct ntk_neff_loop *loops = kernel->loops.items;
    const struct ntk_neff_iteration *iterations = kernel->iterations.items;
    const struct ntk_neff_function *functions = kernel->functions.items;

    assert_int_equal(kernel->loops.count, 2);
    assert_string_equal(loops[0].variable, "h");
    assert_string_equal(loops[0].file, "/k/attn.py");
    assert_int_equal(loops[0].line, 11);
    assert_int_equal(loops[0].parent, 0);
    assert_string_equal(loops[1].variable, "t");
    assert_string_equal(loops[1].function, "__main__.attn");
    assert_int_equal(loops[1].parent, 1);
    assert_int_equal(loops[1].depth, 1);
    assert_int_equal(kernel->iterations.count, 5);
    for (size_t i = 0; i < 5; i++) {
        static const struct {
            uint32_t loop, parent, depth;
        } wanted[] = { { 0, 0, 0 }, { 1, 1, 1 }, { 1, 1, 1 }, { 0, 0, 0 }, { 1, 4, 1 } };
        assert_int_equal(iterations[i].loop, wanted[i].loop);
        assert_int_equal(iterations[i].parent, wanted[i].parent);
        assert_int_equal(iterations[i].depth, wanted[i].depth);
    }
    assert_string_equal(iterations[2].text, "08");
    assert_null(iterations[1].text);
    assert_int_equal(iterations[1].value, 7);
    assert_int_equal(functions[1].parent, 1);
    assert_int_equal(functions[1].depth, 1);
    assert_int_equal(kernel->instructions.count, 5);
    expect_warnings(f, 0, "");
}

/* An invalid tree does not affect the lines of the back end. */
static void damaged(struct fixture *f, const char *text, const char *warning)
{
    put_slot(f, "inst.1", "0", "10");
    put_tables(f);
    add_text_member(f, "kernel_debug_info.json", list);
    if (text) {
        add_text_member(f, "a.klir.debuginfo.json", text);
    }
    join(f);
    expect(f, 0, "/k/zeros.py:10 |  | ");
    expect_warnings(f, 1, warning);
    assert_int_equal(f->positions->kernel.functions.count, 0);
    assert_int_equal(f->positions->kernel.trees.count, 0);
}

static void damaged_debug_trees_are_reported_with_member_and_offset(void **state)
{
    static const struct {
        const char *text, *warning;
    } cases[] = {
        { NULL, "kernel_debug_info.json refers to the missing member 'a.klir.debuginfo.json'" },
        { "", "a.klir.debuginfo.json: the JSON is truncated (at byte 0)" },
        { "{}", "a.klir.debuginfo.json: expected an array (at byte 0)" },
        { "[{\"info\": [{\"func\": {\"name\": \"f\", \"children\": [",
          "the JSON is truncated (at byte 47)" },
        { "[{\"info\": [{\"func\": {\"name\": 5}}]}]", "expected a string (at byte 29)" },
        { "[{\"info\": [{\"inst\": {\"line\": -1}}]}]",
          "not an integer or is out of range (at byte 29)" },
        { "[{\"info\": [{\"inst\": {\"line\": 4294967296}}]}]", "out of range" },
        { "[{\"info\": [] }] x", "unexpected text after the JSON document" },
        { "[{\"info\": [],}]", "expected a string" },
        { "[{\"info\": [{\"inst\": {\"name\": \"a\\q\"}}]}]", "invalid escape in a string" },
        { "[{\"other\": [1, [2, }]", "expected a value" },
        { "[{\"info\": [{\"inst\": {\"name\": \"a\n\"}}]}]", "control character in a string" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        damaged(*state, cases[i].text, cases[i].warning);
        teardown(state);
        setup(state);
    }
}

/* depth nested nodes. */
static void put_nested(struct ntk_buf *to, int depth)
{
    ntk_buf_add_text(to, "[{\"info\": [");
    for (int i = 0; i < depth; i++) {
        ntk_buf_add_text(to, "{\"iter\": {\"children\": [");
    }
    for (int i = 0; i < depth; i++) {
        ntk_buf_add_text(to, "]}}");
    }
    ntk_buf_add_text(to, "]}]");
}

static void debug_tree_nodes_nest_at_most_64_deep(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf text = { 0 };

    put_nested(&text, 64);
    add_text_member(f, "kernel_debug_info.json", list);
    add_text_member(f, "a.klir.debuginfo.json", ntk_buf_text_get(&text));
    put_slot(f, "inst.1", NULL, NULL);
    join(f);
    expect_warnings(f, 0, "");
    assert_int_equal(f->positions->kernel.iterations.count, 64);
    teardown(state);
    setup(state);
    ntk_buf_reset(&text);
    put_nested(&text, 65);
    damaged(*state, ntk_buf_text_get(&text), "nodes are nested more than 64 levels deep (at byte");
    ntk_buf_reset(&text);
    teardown(state);
    setup(state);
    ntk_buf_add_text(&text, "[{\"other\": ");
    ntk_buf_add_fill(&text, '[', 1000);
    damaged(*state, ntk_buf_text_get(&text), "the JSON is nested too deeply");
    ntk_buf_fini(&text);
}

static void a_debug_tree_beyond_its_memory_limit_is_rejected(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf text = { 0 };

    f->data.budget = 20000;
    ntk_buf_add_text(&text, "[{\"info\": [{\"inst\": {}}");
    for (int i = 0; i < 200; i++) {
        ntk_buf_add_text(&text, ",{\"inst\": {}}");
    }
    ntk_buf_add_text(&text, "]}]");
    damaged(f, ntk_buf_text_get(&text), "exceeds the memory limit for a NEFF of this size");
    ntk_buf_fini(&text);
}

static void the_first_of_two_debug_files_is_used(void **state)
{
    struct fixture *f = *state;

    add_text_member(f, "kernel_debug_info.json",
                    "{\"debug_info_files\": [{\"file_name\": \"a.klir.debuginfo.json\", "
                    "\"parent_tensorizer_id\": 14}, {\"file_name\": \"b.klir.debuginfo.json\", "
                    "\"parent_tensorizer_id\": 14}, {\"file_name\": \"b.klir.debuginfo.json\", "
                    "\"parent_tensorizer_id\": 15}]}");
    add_text_member(
        f, "b.klir.debuginfo.json",
        "[{\"info\": [{\"func\": {\"file\": \"/b\", \"children\": [{\"inst\": {\"name\": "
        "\"inst.1\", \"line\": 1}}, {\"inst\": {\"name\": \"inst.9\", \"line\": 2}}]}}]}]");
    add_text_member(f, "a.klir.debuginfo.json", tree);
    put_slot(f, "inst.1", NULL, NULL);
    put_slot(f, "inst.9", NULL, NULL);
    join(f);
    expect(f, 0, " | /k/attn.py:10 __main__.attn inst.1 | ");
    expect(f, 1, " | /b:2  inst.9 | ");
    expect_warnings(f, 1, "1 kernel instructions appear in two files; using the first");
}

/* The entry with the core's names counts; among equals, the one with its number. */
static void a_debug_entry_is_selected_by_its_instruction_names(void **state)
{
    struct fixture *f = *state;

    add_text_member(f, "kernel_debug_info.json", list);
    add_text_member(
        f, "a.klir.debuginfo.json",
        "[{\"lnc\": 1, \"info\": [{\"func\": {\"file\": \"/a\", \"children\": [{\"inst\": "
        "{\"name\": \"inst.1\", \"line\": 1}}]}}]}, {\"lnc\": 2, \"info\": [{\"func\": "
        "{\"file\": \"/b\", \"children\": [{\"inst\": {\"name\": \"inst.1\", \"line\": 2}},"
        " {\"inst\": {\"name\": \"inst.2\", \"line\": 3}}]}}]}]");
    put_slot(f, "inst.1", NULL, NULL);
    put_slot(f, "inst.2", NULL, NULL);
    join(f);
    expect(f, 0, " | /b:2  inst.1 | ");
    expect(f, 1, " | /b:3  inst.2 | ");
    assert_int_equal(f->positions->tree_cores[0], NTK_NEFF_POSITION_CORE_NONE);
    assert_int_equal(f->positions->tree_cores[1], 0);
    expect_warnings(f, 0, "");
}

/* ---- operations of XLA and frames ---- */

static void put_hlo(struct ntk_buf *to, uint64_t id, const char *text, const char *line,
                    uint64_t frame)
{
    struct ntk_buf entry = { 0 };
    uint8_t framework = 3;

    if (id) {
        ntff_sample_varint(&entry, 1, id);
    }
    put_text(&entry, 2, text);
    if (line) {
        ntff_sample_bytes(&entry, 3, &framework, 1);
        put_pair(&entry, "op_type", "NKIPy_Op");
        put_pair(&entry, "source_file", "/m/test.py");
        put_pair(&entry, "source_line", line);
        ntff_sample_varint(&entry, 8, frame);
    }
    put_message(to, 3, &entry);
}

static void add_upper_levels(struct fixture *f)
{
    struct ntk_buf member = { 0 };
    struct ntk_buf entry = { 0 };

    ntff_sample_varint(&entry, 1, PENGUIN);
    put_text(&entry, 2, "float32<1> $1");
    ntff_sample_bytes(&entry, 3, "\x00\x05", 2);
    put_message(&member, 3, &entry);
    add_member(f, "debug_info/debug_info_penguin.dbg_sg000000", member.bytes, member.bytes_count);
    ntk_buf_reset(&member);
    put_hlo(&member, 0, "main", NULL, 0);
    put_hlo(&member, 0, "%x = parameter()", "0", 0);
    put_hlo(&member, 5, "%op = dot(%x)", "58", 2);
    add_member(f, "debug_info/debug_info_hlo.dbg_sg000000", member.bytes, member.bytes_count);
    ntk_buf_reset(&member);
    ntff_sample_varint(&entry, 1, 3);
    put_text(&entry, 2, "hlo__dot_op0");
    put_message(&member, 3, &entry);
    add_member(f, "debug_info/debug_info_pttf.dbg_sg000000", member.bytes, member.bytes_count);
    ntk_buf_fini(&member);
}

static void compiler_and_framework_operations_of_an_instruction_are_read(void **state)
{
    struct fixture *f = *state;

    add_upper_levels(f);
    put_slot(f, "I-1", "1", "7");
    put_tables(f);
    f->neff.kelf_count = 0;
    join(f);
    const struct ntk_neff_debug_instruction *one = ntk_neff_debug_find(f->debug, 100);
    assert_string_equal(one->penguin_text, "float32<1> $1");
    assert_int_equal(one->hlo_count, 2);
    const uint64_t *ids = f->debug->hlo_ids + one->hlo_first;
    /* A computation without an id is not operation 0. */
    assert_string_equal(ntk_neff_debug_hlo(f->debug, ids[0])->text, "%x = parameter()");
    const struct ntk_neff_hlo *hlo = ntk_neff_debug_hlo(f->debug, ids[1]);
    assert_string_equal(hlo->text, "%op = dot(%x)");
    assert_string_equal(hlo->op_type, "NKIPy_Op");
    assert_string_equal(hlo->file, "/m/test.py");
    assert_int_equal(hlo->line, 58);
    assert_int_equal(hlo->frame, 2);
    assert_true(hlo->has_framework);
    assert_string_equal(ntk_neff_debug_framework(f->debug, hlo->framework_id), "hlo__dot_op0");
    assert_null(ntk_neff_debug_hlo(f->debug, 4));
    assert_null(ntk_neff_debug_framework(f->debug, 4));
}

static void damaged_operation_data_does_not_affect_source_lines(void **state)
{
    struct fixture *f = *state;

    add_upper_levels(f);
    f->members[1].bytes_count--;
    put_slot(f, "I-1", "1", "7");
    put_tables(f);
    join(f);
    expect(f, 0, "/k/attn.py:7 |  | ");
    assert_int_equal(f->debug->hlo_count, 0);
    expect_warnings(f, 1, "debug_info/debug_info_hlo.dbg_sg000000: truncated inside a");
}

static void stack_frame_indices_start_at_1(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf index = { 0 };
    struct ntk_buf member = { 0 };
    struct ntk_buf row = { 0 };

    put_text(&index, 1, "/m/a.py");
    put_text(&index, 2, "<module>");
    put_text(&index, 2, "run");
    for (uint64_t i = 0; i < 2; i++) {
        ntff_sample_varint(&row, 1, 1);
        ntff_sample_varint(&row, 2, i + 1);
        ntff_sample_varint(&row, 3, 400 + i);
        put_message(&index, 3, &row);
        ntff_sample_varint(&row, 1, i + 1);
        if (i) {
            ntff_sample_varint(&row, 2, 1);
        }
        put_message(&index, 4, &row);
    }
    put_message(&member, 6, &index);
    add_member(f, "debug_info/debug_info_stack_frame_index.dbg", member.bytes, member.bytes_count);
    join(f);
    const struct ntk_neff_frames *frames = &f->positions->frames;
    const struct ntk_neff_frame *frame = frames->frames.items;
    const struct ntk_neff_frame_location *location = frames->locations.items;
    assert_int_equal(frames->frames.count, 2);
    assert_int_equal(frame[0].parent, 0);
    assert_int_equal(frame[1].parent, 1);
    assert_int_equal(frame[1].location, 2);
    assert_int_equal(location[1].line, 401);
    assert_int_equal(location[1].function, 2);
    assert_string_equal(*(char **)ntk_vec_at(&frames->functions, 1), "run");
    assert_string_equal(*(char **)ntk_vec_at(&frames->files, 0), "/m/a.py");
    teardown(state);
    setup(state);
    f = *state;
    add_member(f, "debug_info/debug_info_stack_frame_index.dbg", member.bytes,
               member.bytes_count - 1);
    join(f);
    expect_warnings(f, 1, "debug_info_stack_frame_index.dbg: ");
    ntk_buf_fini(&member);
}

static void a_neff_without_source_positions_has_no_position_table(void **state)
{
    struct fixture *f = *state;

    put_slot(f, "I-1", NULL, NULL);
    join(f);
    assert_null(f->positions);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(slots_have_source_lines_functions_and_iterations),
        TEST(source_positions_may_refer_to_files_of_any_kind),
        TEST(source_loops_are_distinguished_by_their_enclosing_frames),
        TEST(damaged_debug_trees_are_reported_with_member_and_offset),
        TEST(debug_tree_nodes_nest_at_most_64_deep),
        TEST(a_debug_tree_beyond_its_memory_limit_is_rejected),
        TEST(the_first_of_two_debug_files_is_used),
        TEST(a_debug_entry_is_selected_by_its_instruction_names),
        TEST(compiler_and_framework_operations_of_an_instruction_are_read),
        TEST(damaged_operation_data_does_not_affect_source_lines),
        TEST(stack_frame_indices_start_at_1),
        TEST(a_neff_without_source_positions_has_no_position_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
