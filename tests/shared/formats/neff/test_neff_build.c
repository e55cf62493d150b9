/* SPDX-License-Identifier: MIT */
#include "shared/formats/neff/neff_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/formats/neff/neff_positions.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static const uint64_t shape[2] = { 128, 64 };

/* Loads x and the constant c, adds them on DVE, stores to y; `rounds` times. */
static struct ntk_neff_build *adder(const struct ntk_neff_build_options *options, int rounds)
{
    struct ntk_neff_build *build = ntk_neff_build_create(options);
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "adder");
    float constant[128 * 64];
    uint32_t x = ntk_neff_kernel_input(kernel, "x", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t y = ntk_neff_kernel_output(kernel, "y", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 16);
    struct ntk_isa_instr add = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_TENSOR);
    ntk_neff_token load_x = 0;
    ntk_neff_token load_c;
    ntk_neff_token stored = 0;
    uint32_t c;

    for (size_t i = 0; i < 128 * 64; i++) {
        constant[i] = (float)i;
    }
    c = ntk_neff_kernel_constant(kernel, "c", NTK_DTYPE_FLOAT32, 2, shape, constant);
    load_c = ntk_neff_kernel_load(kernel, queue, NTK_ROWS(c, 0, 256, 128), 0, 256, NTK_AFTER_NONE);
    add.op0 = NTK_ISA_ALU_ADD;
    add.operand[NTK_ISA_DST] = ntk_isa_sbuf(512, 128, 64, NTK_DTYPE_FLOAT32);
    add.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(256, 128, 64, NTK_DTYPE_FLOAT32);
    add.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(0, 128, 64, NTK_DTYPE_FLOAT32);
    add.name_id = ntk_neff_kernel_name(kernel, NTK_ISA_ENGINE_DVE, "add c");
    for (int i = 0; i < rounds; i++) {
        ntk_neff_token sum;

        load_x = i == 0 ? ntk_neff_kernel_load(kernel, queue, NTK_ROWS(x, 0, 256, 128), 256, 256,
                                               NTK_AFTER_NONE)
                        : ntk_neff_kernel_dma_again(kernel, load_x, NTK_AFTER(stored));
        sum = ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_DVE, &add, NTK_AFTER(load_x, load_c));
        stored = i == 0 ? ntk_neff_kernel_store(kernel, queue, NTK_ROWS(y, 0, 256, 128), 512, 256,
                                                NTK_AFTER(sum))
                        : ntk_neff_kernel_dma_again(kernel, stored, NTK_AFTER(sum));
    }
    return build;
}

static struct ntk_neff *finish(struct ntk_neff_build *build, uint8_t **out_bytes, size_t *out_count)
{
    struct ntk_neff *neff = NULL;
    struct ntk_err err = { 0 };

    if (ntk_neff_build_bytes(build, out_bytes, out_count, &err) != 0) {
        fail_msg("%s", err.text);
    }
    ntk_neff_build_destroy(build);
    if (ntk_neff_open_bytes(*out_bytes, *out_count, &neff, &err) != 0) {
        fail_msg("%s", err.text);
    }
    return neff;
}

static void expect_place(const struct ntk_neff_positions *positions, enum ntk_isa_engine engine,
                         int64_t slot, const char *wanted)
{
    const struct ntk_neff_position *at = ntk_neff_position_get(positions, 0, engine, slot);
    const struct ntk_neff_kernel_instruction *instruction =
        ntk_neff_position_instruction(positions, at);
    const struct ntk_neff_function *function = ntk_neff_position_function(positions, instruction);
    struct ntk_buf text = { 0 };

    if (at) {
        assert_true(ntk_neff_position_line_add(positions, at, &text));
        ntk_buf_add_format(&text, " %s %u ", function->name, function->depth);
        ntk_neff_position_path_add(positions, at, &text);
    }
    assert_string_equal(ntk_buf_text_get(&text), wanted);
    ntk_buf_fini(&text);
}

/* Method: one line before a loop, one inside, one in a function that an inner loop calls, one after
 * it, and an instruction without a line at the start and at the end. */
static void recorded_source_positions_are_read_back_for_every_slot(void **state)
{
    struct ntk_neff_build *build = ntk_neff_build_create(NULL);
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "k");
    uint32_t y = ntk_neff_kernel_output(kernel, "y", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 16);
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY);
    struct ntk_neff_open_options options = { .keep_debug = true };
    uint8_t code[NTK_ISA_INSTR_BYTES_MAX];
    size_t slots;
    struct ntk_neff_debug *debug = NULL;
    struct ntk_neff_positions *positions = NULL;
    struct ntk_neff *neff = NULL;
    uint8_t *bytes;
    size_t count;

    copy.operand[NTK_ISA_DST] = ntk_isa_sbuf(512, 128, 64, NTK_DTYPE_FLOAT32);
    copy.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(256, 128, 64, NTK_DTYPE_FLOAT32);
    ntk_neff_build_place(&(struct ntk_neff_place){ "k/a.c", "f", 3 });
    ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_DVE, &copy, NTK_AFTER_NONE);
    for (uint64_t i =
             ntk_neff_kernel_loop(kernel, "i", &(struct ntk_neff_place){ "k/a.c", "f", 4 });
         ntk_neff_kernel_iterate(kernel, i, i < 2); i++) {
        ntk_neff_build_place(&(struct ntk_neff_place){ "k/a.c", "f", 5 });
        ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_DVE, &copy, NTK_AFTER_NONE);
        for (uint64_t j =
                 ntk_neff_kernel_loop(kernel, "j", &(struct ntk_neff_place){ "k/a.c", "f", 6 });
             ntk_neff_kernel_iterate(kernel, j, j < i); j++) {
            ntk_neff_build_place(&(struct ntk_neff_place){ "k/b.c", "g", 9 });
            ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_ACT, &copy, NTK_AFTER_NONE);
        }
    }
    ntk_neff_build_place(&(struct ntk_neff_place){ "k/a.c", "f", 7 });
    ntk_neff_token last = ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_DVE, &copy, NTK_AFTER_NONE);
    ntk_neff_kernel_store(kernel, queue, NTK_ROWS(y, 0, 256, 128), 512, 256, NTK_AFTER(last));
    assert_true(ntk_neff_build_names_file(build, "k/b.c"));
    assert_false(ntk_neff_build_names_file(build, "k/c.c"));
    assert_int_equal(ntk_neff_build_bytes(build, &bytes, &count, NULL), 0);
    ntk_neff_build_destroy(build);
    assert_int_equal(ntk_neff_open_with(bytes, count, &options, &neff, NULL), 0);
    assert_int_equal(ntk_neff_debug_create(neff, neff->kelfs[0].subgraphs, &debug, NULL), 0);
    assert_int_equal(ntk_neff_positions_create(neff, &debug, 1, &positions), 0);
    assert_non_null(positions);
    assert_int_equal(positions->warnings.count, 0);
    assert_int_equal(positions->differing_count, 0);
    assert_int_equal(positions->line_count, positions->kernel_count);
    assert_int_equal(ntk_isa_encode(&copy, NTK_ISA_ENGINE_DVE, code, &slots, NULL), 0);
    expect_place(positions, NTK_ISA_ENGINE_DVE, 0, "");
    for (size_t slot = 0; slot < slots; slot++) {
        static const char *const wanted[] = { "k/a.c:3 f 0 ", "k/a.c:5 f 0 i=0", "k/a.c:5 f 0 i=1",
                                              "k/a.c:7 f 0 " };

        for (size_t i = 0; i < 4; i++) {
            expect_place(positions, NTK_ISA_ENGINE_DVE, (int64_t)(1 + i * slots + slot), wanted[i]);
        }
    }
    expect_place(positions, NTK_ISA_ENGINE_DVE, (int64_t)(1 + 4 * slots), "");
    expect_place(positions, NTK_ISA_ENGINE_ACT, 1, "k/b.c:9 g 1 i=1,j=0");
    expect_place(positions, NTK_ISA_ENGINE_SP, 1, "k/a.c:7 f 0 ");
    expect_place(positions, NTK_ISA_ENGINE_PE, 0, "");
    ntk_neff_positions_destroy(positions);
    ntk_neff_debug_destroy(debug);
    ntk_neff_close(neff);
    free(bytes);
}

static void a_built_neff_is_read_with_the_fields_it_was_built_from(void **state)
{
    struct ntk_neff_build_options options = { .name = "adder", .target = "cayman" };
    uint8_t *bytes;
    size_t count;
    struct ntk_neff *neff = finish(adder(&options, 1), &bytes, &count);
    const struct ntk_neff_subgraph *subgraph = &neff->kelfs[0].subgraphs[0];
    const struct ntk_neff_engine *sp = &subgraph->engines[NTK_ISA_ENGINE_SP];
    const struct ntk_neff_var *c = ntk_neff_var_by_name(subgraph, "c");
    struct ntk_neff_sizes sizes;
    float value;

    assert_int_equal(neff->header.pkg_version, 2);
    assert_int_equal(neff->header.version_major, 2);
    assert_string_equal(neff->header.name, "adder");
    assert_string_equal(neff->info.name, "adder");
    assert_int_equal(neff->header.feature_bits, 0);
    assert_int_equal((count - 1024) % 10240, 0);
    assert_true(neff->is_compressed);
    assert_false(neff->is_vendor);
    assert_string_equal(neff->kelfs[0].target, "cayman");
    assert_int_equal(neff->kelfs[0].subgraph_count, 1);
    assert_int_equal(neff->input_count, 1);
    assert_string_equal(neff->inputs[0].name, "x");
    assert_int_equal(neff->inputs[0].dtype, NTK_DTYPE_FLOAT32);
    assert_int_equal(neff->inputs[0].bytes_count, 128 * 64 * 4);
    assert_int_equal(neff->inputs[0].dim_count, 2);
    assert_int_equal(neff->inputs[0].dims[1], 64);
    assert_int_equal(neff->output_count, 1);
    assert_string_equal(neff->outputs[0].name, "y");
    assert_string_equal(neff->members[0].name, "info.json");
    assert_string_equal(neff->members[neff->member_count - 1].name, "neff.json");

    assert_non_null(c);
    assert_int_equal(c->type, NTK_NEFF_VAR_FILE);
    assert_int_equal(c->data_bytes, 128 * 64 * 4);
    memcpy(&value, c->data + 4 * 77, 4);
    assert_true(value == 77.0F);

    assert_int_equal(subgraph->queue_set_count, 1);
    assert_int_equal(subgraph->queue_sets[0].queue_count, 16);
    assert_int_equal(subgraph->queue_sets[0].owner, NTK_ISA_ENGINE_SP);
    assert_int_equal(sp->group_count, 3);
    assert_int_equal(sp->groups[2].id, 2);
    assert_int_equal(sp->groups[0].transfers[0].from[0].var, c - subgraph->vars);
    assert_int_equal(sp->groups[0].transfers[0].to.steps[1], 262144);
    assert_int_equal(subgraph->engines[NTK_ISA_ENGINE_DVE].name_count, 1);
    assert_string_equal(subgraph->engines[NTK_ISA_ENGINE_DVE].names[0], "add c");
    assert_int_equal(subgraph->mapped_count, 2);

    ntk_neff_subgraph_sizes(subgraph, &sizes);
    assert_int_equal(sizes.constants, 128 * 64 * 4);
    assert_int_equal(sizes.io, 2 * 128 * 64 * 4);
    assert_int_equal(sizes.rings_io, 2 * 128 * 16);
    assert_int_equal(sizes.rings_spill, 128 * 16);
    ntk_neff_close(neff);
    free(bytes);
}

static void equal_programs_produce_equal_files(void **state)
{
    struct ntk_err err = { 0 };
    uint8_t *bytes[2];
    size_t count[2];

    for (int i = 0; i < 2; i++) {
        struct ntk_neff_build *build = adder(NULL, 2);

        assert_int_equal(ntk_neff_build_bytes(build, &bytes[i], &count[i], &err), 0);
        ntk_neff_build_destroy(build);
    }
    assert_int_equal(count[0], count[1]);
    assert_memory_equal(bytes[0], bytes[1], count[0]);
    free(bytes[0]);
    free(bytes[1]);
}

/* Instructions and transfers of a layer have its name, except those with their own name; the end of
 * the program has none. */
static void a_layer_name_applies_to_instructions_appended_after_it(void **state)
{
    struct ntk_neff_build *build = ntk_neff_build_create(NULL);
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "k");
    uint32_t x = ntk_neff_kernel_input(kernel, "x", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t y = ntk_neff_kernel_output(kernel, "y", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 16);
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY);
    struct ntk_isa_instr instr;
    uint8_t *bytes;
    size_t count;
    size_t slots;

    copy.operand[NTK_ISA_DST] = ntk_isa_sbuf(512, 128, 64, NTK_DTYPE_FLOAT32);
    copy.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(256, 128, 64, NTK_DTYPE_FLOAT32);
    ntk_neff_kernel_layer(kernel, "in");
    ntk_neff_token in =
        ntk_neff_kernel_load(kernel, queue, NTK_ROWS(x, 0, 256, 128), 256, 256, NTK_AFTER_NONE);
    ntk_neff_kernel_layer(kernel, "double");
    ntk_neff_token first = ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_DVE, &copy, NTK_AFTER(in));
    copy.name_id = ntk_neff_kernel_name(kernel, NTK_ISA_ENGINE_DVE, "own");
    ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_DVE, &copy, NTK_AFTER_NONE);
    ntk_neff_kernel_layer(kernel, NULL);
    ntk_neff_kernel_store(kernel, queue, NTK_ROWS(y, 0, 256, 128), 512, 256, NTK_AFTER(first));
    struct ntk_neff *neff = finish(build, &bytes, &count);
    const struct ntk_neff_engine *dve = &neff->kelfs[0].subgraphs[0].engines[NTK_ISA_ENGINE_DVE];
    const struct ntk_neff_engine *sp = &neff->kelfs[0].subgraphs[0].engines[NTK_ISA_ENGINE_SP];
    size_t copies = 0;

    for (size_t at = 0; at < dve->code_bytes; at += slots * NTK_ISA_SLOT_BYTES) {
        assert_int_equal(ntk_isa_decode(dve->code + at, dve->code_bytes - at, NTK_ISA_ENGINE_DVE,
                                        &instr, &slots, NULL),
                         0);
        if (instr.op == NTK_ISA_OP_TENSOR_COPY) {
            assert_string_equal(dve->names[instr.name_id - 1], copies++ == 0 ? "double" : "own");
        } else if (instr.op == NTK_ISA_OP_NOTIFY) {
            assert_int_equal(instr.name_id, 0);
        }
    }
    assert_int_equal(copies, 2);
    assert_int_equal(sp->name_count, 1);
    assert_string_equal(sp->names[0], "in");
    ntk_neff_close(neff);
    free(bytes);
}

static void a_neff_for_two_physical_cores_has_an_idle_second_program(void **state)
{
    struct ntk_neff_build_options options = { .lnc = 2 };
    uint8_t *bytes;
    size_t count;
    struct ntk_neff *neff = finish(adder(&options, 1), &bytes, &count);

    assert_int_equal(neff->header.lnc_size, 2);
    assert_int_equal(neff->header.feature_bits, 0xc00);
    assert_int_equal(neff->kelfs[0].subgraph_count, 2);
    assert_string_equal(neff->kelfs[0].subgraphs[1].name, "sg01");
    assert_int_equal(neff->kelfs[0].subgraphs[1].engines[0].code_bytes, 128);
    assert_string_equal(neff->kelfs[0].subgraphs[0].features[0], "neff_feature_vnc");
    assert_int_equal(neff->output_count, 1);
    assert_int_equal(neff->nodes[1].output_count, 1);
    ntk_neff_close(neff);
    free(bytes);
}

/* Executes only the semaphores of a program: each engine continues as far as its waits allow, and
 * transfers complete at once and in order. */
struct runner {
    const struct ntk_neff_subgraph *subgraph;
    uint32_t semaphores[NTK_ISA_SEMAPHORES];
    size_t at[NTK_ISA_ENGINE_COUNT];
    size_t greatest;
};

static bool step(struct runner *r, int e)
{
    const struct ntk_neff_engine *engine = &r->subgraph->engines[e];
    struct ntk_isa_instr instr;
    struct ntk_err err = { 0 };
    size_t slots;

    if (r->at[e] == engine->code_bytes) {
        return false;
    }
    if (ntk_isa_decode(engine->code + r->at[e], engine->code_bytes - r->at[e],
                       (enum ntk_isa_engine)e, &instr, &slots, &err) != 0) {
        fail_msg("%s", err.text);
    }
    if (instr.wait_semaphore != NTK_ISA_NO_SEMAPHORE) {
        if (r->semaphores[instr.wait_semaphore] < instr.wait_value) {
            return false;
        }
        assert_true(instr.flags & NTK_ISA_FLAG_WAIT_CONSUME);
        r->semaphores[instr.wait_semaphore] -= instr.wait_value;
    }
    if (instr.op == NTK_ISA_OP_DMA_TRIGGER) {
        for (uint32_t i = 0; i < engine->group_count; i++) {
            const struct ntk_neff_dma_group *group = &engine->groups[i];

            if (group->id == instr.group_id && group->queue_set == instr.queue &&
                group->semaphore != NTK_NEFF_NONE) {
                r->semaphores[group->semaphore] +=
                    r->subgraph->queue_sets[group->queue_set].queue_count;
            }
        }
    }
    if (instr.signal_semaphore != NTK_ISA_NO_SEMAPHORE) {
        r->semaphores[instr.signal_semaphore] += instr.signal_value;
    }
    r->at[e] += slots * NTK_ISA_SLOT_BYTES;
    return true;
}

static void every_semaphore_signal_in_a_long_program_is_consumed(void **state)
{
    uint8_t *bytes;
    size_t count;
    struct ntk_neff *neff = finish(adder(NULL, 5000), &bytes, &count);
    struct runner runner = { .subgraph = &neff->kelfs[0].subgraphs[0] };
    bool moved = true;

    while (moved) {
        moved = false;
        for (int e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
            while (step(&runner, e)) {
                moved = true;
            }
        }
    }
    for (int e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
        assert_int_equal(runner.at[e], runner.subgraph->engines[e].code_bytes);
    }
    for (int i = 0; i < NTK_ISA_SEMAPHORES; i++) {
        assert_int_equal(runner.semaphores[i], 0);
    }
    assert_int_equal(runner.subgraph->engines[NTK_ISA_ENGINE_SP].group_count, 3);
    ntk_neff_close(neff);
    free(bytes);
}

static void nodes_are_connected_by_tensor_names(void **state)
{
    struct ntk_neff_build *build = adder(NULL, 1);
    struct ntk_neff_build_tensor y = { "y", NTK_DTYPE_FLOAT32, 2, { 128, 64 } };
    struct ntk_neff_build_tensor z = { "z", NTK_DTYPE_FLOAT32, 1, { 128 } };
    uint8_t *bytes;
    size_t count;
    struct ntk_neff *neff;

    ntk_neff_build_cpu_node(build, "sums", "row_sums", "sums.so", &y, 1, &z, 1);
    ntk_neff_build_member(build, "sums.so", "ELF", 3);
    neff = finish(build, &bytes, &count);
    assert_int_equal(neff->node_count, 3);
    assert_int_equal(neff->nodes[1].kind, NTK_NEFF_NODE_CORE);
    assert_int_equal(neff->nodes[2].kind, NTK_NEFF_NODE_CPU);
    assert_string_equal(neff->nodes[2].func_name, "row_sums");
    assert_string_equal(neff->nodes[2].library, "sums.so");
    assert_int_equal(neff->nodes[2].inputs[0].node, 1);
    assert_int_equal(neff->output_count, 1);
    assert_string_equal(neff->outputs[0].name, "z");
    assert_int_equal(neff->outputs[0].bytes_count, 512);
    assert_non_null(ntk_neff_member_get(neff, "sums.so"));
    ntk_neff_close(neff);
    free(bytes);
}

static void pointer_and_table_variables_refer_to_other_variables(void **state)
{
    struct ntk_neff_build *build = adder(NULL, 1);
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "chooser");
    uint32_t y = ntk_neff_kernel_input(kernel, "y", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t tmp = ntk_neff_kernel_tmp(kernel, "scratch", 4096);
    uint32_t pointer = ntk_neff_kernel_pointer(kernel, "to y", y);
    uint32_t table = ntk_neff_kernel_table(kernel, "both", (uint32_t[]){ tmp, pointer }, 2);
    const struct ntk_neff_subgraph *subgraph;
    struct ntk_err err = { 0 };
    uint8_t *bytes;
    size_t count;
    struct ntk_neff *neff;

    ntk_neff_kernel_output(kernel, "z", NTK_DTYPE_FLOAT32, 2, shape);
    neff = finish(build, &bytes, &count);
    subgraph = &neff->kelfs[1].subgraphs[0];
    assert_int_equal(ntk_neff_var_by_id(subgraph, pointer)->type, NTK_NEFF_VAR_POINTER);
    assert_int_equal(ntk_neff_var_by_id(subgraph, pointer)->referenced_var_id, y);
    assert_int_equal(ntk_neff_var_by_id(subgraph, table)->type, NTK_NEFF_VAR_DGE_TABLE);
    assert_int_equal(ntk_neff_var_by_id(subgraph, table)->list_count, 2);
    assert_int_equal(ntk_neff_var_by_id(subgraph, table)->list[1], pointer);
    ntk_neff_close(neff);
    free(bytes);

    build = ntk_neff_build_create(NULL);
    kernel = ntk_neff_build_kernel(build, "wrong");
    ntk_neff_kernel_pointer(kernel, "nowhere", 9);
    assert_int_equal(ntk_neff_build_bytes(build, &bytes, &count, &err), -EINVAL);
    assert_string_equal(err.text, "pointer 'nowhere' refers to an unknown variable");
    ntk_neff_build_destroy(build);
}

static void several_core_nodes_have_separate_programs(void **state)
{
    struct ntk_neff_build *build = adder(NULL, 1);
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "copier");
    uint32_t y = ntk_neff_kernel_input(kernel, "y", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t z = ntk_neff_kernel_output(kernel, "z", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 1);
    ntk_neff_token in =
        ntk_neff_kernel_load(kernel, queue, NTK_ROWS(y, 0, 256, 128), 0, 256, NTK_AFTER_NONE);
    uint8_t *bytes;
    size_t count;
    struct ntk_neff *neff;

    ntk_neff_kernel_store(kernel, queue, NTK_ROWS(z, 0, 256, 128), 0, 256, NTK_AFTER(in));
    ntk_neff_build_head(build, "y"); /* although the second node reads it */
    neff = finish(build, &bytes, &count);
    assert_int_equal(neff->kelf_count, 2);
    assert_string_equal(neff->kelfs[1].file_name, "kelf-1.json");
    assert_string_equal(neff->kelfs[1].subgraphs[0].folder, "sg01");
    assert_int_equal(neff->nodes[2].kelf, 1);
    assert_int_equal(neff->nodes[2].inputs[0].node, 1);
    assert_int_equal(neff->header.tpb_per_node[1], 1);
    assert_int_equal(neff->input_count, 1);
    assert_int_equal(neff->output_count, 2);
    assert_string_equal(neff->outputs[0].name, "y");
    assert_string_equal(neff->outputs[1].name, "z");
    ntk_neff_close(neff);
    free(bytes);
}

/* A subgraph that copies `from` to `to`; it also has `also` as an input. */
static void copier_fill(struct ntk_neff_kernel *kernel, const char *from, const char *also,
                        const char *to)
{
    uint32_t x = ntk_neff_kernel_input(kernel, from, NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t y = ntk_neff_kernel_output(kernel, to, NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 1);
    ntk_neff_token in =
        ntk_neff_kernel_load(kernel, queue, NTK_ROWS(x, 0, 256, 128), 0, 256, NTK_AFTER_NONE);

    if (also) {
        ntk_neff_kernel_input(kernel, also, NTK_DTYPE_FLOAT32, 2, shape);
    }
    ntk_neff_kernel_store(kernel, queue, NTK_ROWS(y, 0, 256, 128), 0, 256, NTK_AFTER(in));
}

static void pipeline_stages_are_subgraphs_of_one_node(void **state)
{
    struct ntk_neff_build *build = ntk_neff_build_create(NULL);
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "pipe");
    uint8_t *bytes;
    size_t count;
    struct ntk_neff *neff;

    copier_fill(kernel, "x", NULL, "a");
    kernel = ntk_neff_build_stage(build, kernel);
    copier_fill(kernel, "a", "x", "b"); /* used by the next node */
    kernel = ntk_neff_build_stage(build, kernel);
    copier_fill(kernel, "b", "w", "c"); /* used by no instruction */
    copier_fill(ntk_neff_build_kernel(build, "last"), "b", NULL, "y");
    neff = finish(build, &bytes, &count);
    assert_int_equal(neff->kelf_count, 2);
    assert_int_equal(neff->kelfs[0].subgraph_count, 3);
    assert_string_equal(neff->kelfs[0].subgraphs[2].folder, "sg02");
    assert_string_equal(neff->kelfs[1].subgraphs[0].folder, "sg03");
    assert_int_equal(neff->node_count, 4);
    assert_string_equal(neff->nodes[2].name, "pipe");
    assert_int_equal(neff->nodes[2].input_count, 2);
    assert_int_equal(neff->nodes[2].output_count, 2);
    assert_string_equal(neff->nodes[2].outputs[0].name, "b");
    assert_string_equal(neff->nodes[2].outputs[1].name, "c");
    assert_int_equal(neff->nodes[3].inputs[0].node, 2);
    assert_int_equal(neff->output_count, 2);
    assert_string_equal(neff->outputs[0].name, "c");
    assert_string_equal(neff->outputs[1].name, "y");
    assert_int_equal(neff->header.num_tpb, 4);
    assert_int_equal(neff->header.requested_tpb_count, 4);
    assert_int_equal(neff->header.tpb_per_node[0], 3);
    assert_int_equal(neff->header.tpb_per_node[1], 1);
    assert_int_equal(neff->info.num_tpb, 4);
    ntk_neff_close(neff);
    free(bytes);
}

static void invalid_stages_are_rejected(void **state)
{
    static const char *const sentences[] = {
        "node 'a' cannot have another subgraph: subgraphs run one after another, and a logical "
        "core "
        "is one physical core",
        "node 'a' cannot have another subgraph: subgraphs run one after another, and a logical "
        "core "
        "is one physical core",
        "tensor 'y' has two producers",
        "tensor 'y' has two different shapes or dtypes",
    };

    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
        struct ntk_neff_build_options options = { .lnc = i == 1 ? 2 : 1 };
        struct ntk_neff_build *build = ntk_neff_build_create(&options);
        struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "a");
        struct ntk_err err = { 0 };
        uint8_t *bytes = NULL;
        size_t count = 0;

        copier_fill(kernel, "x", NULL, "y");
        if (i == 0) {
            copier_fill(ntk_neff_build_kernel(build, "b"), "y", NULL, "z");
        }
        kernel = ntk_neff_build_stage(build, kernel);
        if (i == 3) {
            ntk_neff_kernel_input(kernel, "y", NTK_DTYPE_BFLOAT16, 2, shape);
            copier_fill(kernel, "x", NULL, "z");
        } else {
            copier_fill(kernel, "x", NULL, i == 2 ? "y" : "z");
        }
        assert_true(ntk_neff_build_bytes(build, &bytes, &count, &err) < 0);
        assert_string_equal(err.text, sentences[i]);
        assert_null(bytes);
        ntk_neff_build_destroy(build);
    }
}

static void only_the_first_build_error_is_reported(void **state)
{
    struct ntk_neff_build *build = ntk_neff_build_create(NULL);
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "k");
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_MEMSET);
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;
    size_t count = 0;

    assert_int_equal(ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_DVE, &instr, NTK_AFTER_NONE), 0);
    ntk_neff_kernel_tmp(kernel, "SB", 4);
    assert_int_equal(ntk_neff_build_bytes(build, &bytes, &count, &err), -EBADMSG);
    assert_string_equal(err.text, "memset: missing destination");
    assert_null(bytes);
    ntk_neff_build_destroy(build);
}

static void a_tensor_with_two_producers_is_rejected(void **state)
{
    struct ntk_neff_build *build = adder(NULL, 1);
    struct ntk_neff_build_tensor y = { "y", NTK_DTYPE_FLOAT32, 2, { 128, 64 } };
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;
    size_t count = 0;

    ntk_neff_build_cpu_node(build, "again", "again", NULL, &y, 1, &y, 1);
    assert_int_equal(ntk_neff_build_bytes(build, &bytes, &count, &err), -EEXIST);
    assert_string_equal(err.text, "tensor 'y' has two producers");
    ntk_neff_build_destroy(build);
}

static void a_neff_is_written_completely_or_not_at_all(void **state)
{
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "adder.neff");
    char *impossible = test_scratch_path(folder, "no/such/folder.neff");
    struct ntk_neff_build *build = adder(NULL, 1);
    struct ntk_neff *neff = NULL;
    struct ntk_err err = { 0 };
    struct stat status;

    assert_int_equal(ntk_neff_build_write(build, path, &err), 0);
    ntk_neff_build_destroy(build);
    assert_int_equal(ntk_neff_open(path, &neff, &err), 0);
    ntk_neff_close(neff);
    build = adder(NULL, 1);
    assert_int_equal(ntk_neff_build_write(build, impossible, &err), -ENOENT);
    ntk_neff_build_destroy(build);
    assert_int_equal(stat(impossible, &status), -1);
    free(path);
    free(impossible);
    test_scratch_destroy(folder);
}

static void the_stored_hash_matches_unless_the_payload_was_changed(void **state)
{
    static const struct ntk_neff_build_options kinds[] = { { .pkg_version = 2 },
                                                           { .pkg_version = 1 },
                                                           { .uncompressed = true } };

    for (size_t i = 0; i < 3; i++) {
        uint8_t *bytes;
        size_t count;
        struct ntk_neff *neff = finish(adder(&kinds[i], 1), &bytes, &count);
        enum ntk_neff_hash hash = NTK_NEFF_HASH_DIFFERS;

        assert_int_equal(neff->is_compressed, !kinds[i].uncompressed);
        assert_int_equal(ntk_neff_hash_check(bytes, count, &hash, NULL), 0);
        assert_int_equal(hash, NTK_NEFF_HASH_MATCHES);
        bytes[2000] ^= 1;
        assert_int_equal(ntk_neff_hash_check(bytes, count, &hash, NULL), 0);
        assert_int_equal(hash, NTK_NEFF_HASH_DIFFERS);
        ntk_neff_close(neff);
        free(bytes);
    }
}

/* Method: one byte of the stored hash is changed, in files of ours and of a compiler. */
static void a_hash_mismatch_in_a_vendor_neff_is_reported_as_another_kind(void **state)
{
    static const struct {
        struct ntk_neff_build_options options;
        enum ntk_neff_hash hash;
    } kinds[] = {
        { { .pkg_version = 2 }, NTK_NEFF_HASH_DIFFERS },
        { { .pkg_version = 2, .tool_version = "0.1+dirty" }, NTK_NEFF_HASH_DIFFERS },
        { { .pkg_version = 1, .tool_version = "2.23.6484.0+3b612583" }, NTK_NEFF_HASH_DIFFERS },
        { { .pkg_version = 2, .tool_version = "2.23.6484.0+3b612583" }, NTK_NEFF_HASH_OTHER_KIND },
        { { .pkg_version = 2, .tool_version = "2.0.99229.0a0+1897edc9" }, NTK_NEFF_HASH_OTHER_KIND }
    };
    const struct ntk_neff_open_options checked = { .check_hash = true };

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        uint8_t *bytes;
        size_t count;
        struct ntk_neff *neff = finish(adder(&kinds[i].options, 1), &bytes, &count);

        ntk_neff_close(neff);
        assert_int_equal(ntk_neff_open_with(bytes, count, &checked, &neff, NULL), 0);
        assert_int_equal(neff->hash, NTK_NEFF_HASH_MATCHES);
        ntk_neff_close(neff);
        bytes[172] ^= 1;
        assert_int_equal(ntk_neff_open_with(bytes, count, &checked, &neff, NULL), 0);
        assert_int_equal(neff->hash, kinds[i].hash);
        ntk_neff_close(neff);
        free(bytes);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_built_neff_is_read_with_the_fields_it_was_built_from),
        cmocka_unit_test(equal_programs_produce_equal_files),
        cmocka_unit_test(recorded_source_positions_are_read_back_for_every_slot),
        cmocka_unit_test(a_layer_name_applies_to_instructions_appended_after_it),
        cmocka_unit_test(a_neff_for_two_physical_cores_has_an_idle_second_program),
        cmocka_unit_test(every_semaphore_signal_in_a_long_program_is_consumed),
        cmocka_unit_test(pointer_and_table_variables_refer_to_other_variables),
        cmocka_unit_test(nodes_are_connected_by_tensor_names),
        cmocka_unit_test(several_core_nodes_have_separate_programs),
        cmocka_unit_test(pipeline_stages_are_subgraphs_of_one_node),
        cmocka_unit_test(invalid_stages_are_rejected),
        cmocka_unit_test(only_the_first_build_error_is_reported),
        cmocka_unit_test(a_tensor_with_two_producers_is_rejected),
        cmocka_unit_test(a_neff_is_written_completely_or_not_at_all),
        cmocka_unit_test(the_stored_hash_matches_unless_the_payload_was_changed),
        cmocka_unit_test(a_hash_mismatch_in_a_vendor_neff_is_reported_as_another_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
