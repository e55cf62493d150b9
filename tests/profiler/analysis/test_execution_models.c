/* SPDX-License-Identifier: MIT */
/*
 * Models that take turns on one core. Method: captures from the writer that the runtime uses, with
 * the programs of several models. An execution is 100 ns of Tensor or 200 ns of Vector, so its
 * length after a change is known by construction.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/dependencies.h"
#include "profiler/analysis/what_if.h"
#include "profiler/output/output.h"
#include "shared/formats/neff/neff.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define NS(ns) ((ns)*1000)
#define SLOTS 2 /* of a program, each runs once */
#define MODELS_MAX 3
#define PAUSE_NS 50
#define PROGRAM_ADDRESS 0x1000

struct model {
    uint8_t uuid; /* each byte of it */
    uint32_t core;
    const char *name;
    uint32_t engine;
    uint64_t run_ns;
};

/* The same engine numbers in files and programs. */
#define TENSOR(uuid, core, name)                      \
    {                                                 \
        uuid, core, name, NTK_NTFF_ENGINE_TENSOR, 100 \
    }
#define VECTOR(uuid, core, name)                      \
    {                                                 \
        uuid, core, name, NTK_NTFF_ENGINE_VECTOR, 200 \
    }

struct made {
    struct ntk_ntff_writer *writer;
    struct ntk_ntff *ntff;
    struct ntk_trace *trace;
    struct ntk_program *program;
};

static void add_model(struct made *m, const char *path, const struct model *model)
{
    uint8_t code[SLOTS * NTK_NTFF_SLOT_BYTES] = { 0 };
    struct ntk_ntff_capture_subgraph subgraph = { .name = model->name, .core = model->core };
    struct ntk_ntff_capture capture = { .neff_name = "model.neff",
                                        .instance_type = "trn2.3xlarge",
                                        .base_clock_mhz = 1400,
                                        .subgraph_count = 1,
                                        .subgraphs = &subgraph };
    size_t first;

    for (size_t s = 0; s < SLOTS; s++) {
        code[s * NTK_NTFF_SLOT_BYTES] = NTK_NTFF_OPCODE_NOP;
        code[s * NTK_NTFF_SLOT_BYTES + 1] = 0x10;
    }
    memset(capture.neff_uuid, model->uuid, sizeof capture.neff_uuid);
    subgraph.engines[model->engine] =
        (struct ntk_ntff_capture_code){ code, sizeof code, PROGRAM_ADDRESS };
    if (!m->writer) {
        assert_int_equal(ntk_ntff_writer_create(path, &capture, &m->writer, NULL), 0);
    } else {
        assert_int_equal(ntk_ntff_writer_add_program(m->writer, &capture, &first, NULL), 0);
    }
}

static void run_model(struct made *m, size_t index, const struct model *model, uint64_t at_ns,
                      uint32_t first)
{
    uint64_t slot_ps = NS(model->run_ns) / SLOTS;

    for (uint32_t s = first; s < SLOTS; s++) {
        const struct ntk_ntff_instruction one = { .engine = model->engine,
                                                  .slot = s,
                                                  .start_ps = NS(at_ns) + s * slot_ps,
                                                  .end_ps = NS(at_ns) + (s + 1) * slot_ps };
        assert_int_equal(ntk_ntff_writer_add_instruction(m->writer, index, &one), 0);
    }
}

/* runs: "ab" runs model 0, then model 1, with a pause in between; "(ab)" both at once. The first
 * instruction of "A" has no record. */
static void make(struct made *m, const struct model *models, const char *runs,
                 const struct ntk_neff *neff)
{
    char *path = test_scratch_path(test_scratch_folder, "models.ntff");
    bool is_together = false;
    uint64_t now_ns = 0;
    uint64_t end_ns = 0;

    *m = (struct made){ 0 };
    for (size_t i = 0; i < MODELS_MAX && models[i].name; i++) {
        add_model(m, path, &models[i]);
    }
    for (const char *at = runs; *at; at++) {
        is_together = *at == '(' || (is_together && *at != ')');
        if (isalpha((unsigned char)*at)) {
            size_t index = (size_t)(tolower((unsigned char)*at) - 'a');
            run_model(m, index, &models[index], now_ns, *at <= 'Z');
            end_ns =
                now_ns + models[index].run_ns > end_ns ? now_ns + models[index].run_ns : end_ns;
        }
        now_ns = is_together ? now_ns : end_ns + PAUSE_NS;
    }
    ntk_ntff_writer_set_execution(m->writer, 0, NS(end_ns));
    assert_int_equal(ntk_ntff_writer_commit(m->writer, NULL), 0);
    ntk_ntff_writer_destroy(m->writer);
    assert_int_equal(ntk_ntff_open(path, &m->ntff, NULL), 0);
    assert_int_equal(ntk_trace_create_from_ntff(m->ntff, neff, NULL, NULL, &m->trace, NULL), 0);
    assert_int_equal(ntk_program_create(m->trace, &m->program), 0);
    free(path);
}

static void drop(struct made *m)
{
    ntk_program_destroy(m->program);
    ntk_trace_destroy(m->trace);
    ntk_ntff_close(m->ntff);
}

static int64_t gain_ns(const struct made *m, const char *text)
{
    struct ntk_what_if_changes changes = { 0 };
    struct ntk_transfers transfers;
    int64_t gain_ps;

    assert_int_equal(ntk_what_if_changes_add(&changes, text, NULL), 0);
    assert_int_equal(ntk_transfers_init(&transfers, m->program), 0);
    assert_int_equal(ntk_what_if_gains(m->program, &transfers, &changes, 1, &gain_ps), 0);
    ntk_transfers_fini(&transfers);
    return gain_ps / 1000;
}

static void executions_of_several_models_are_joined_by_model_and_number(void **state)
{
    static const struct {
        const char *what;
        struct model models[MODELS_MAX];
        const char *runs;
        uint64_t count;
        int64_t tensor_ns, vector_ns; /* gains if the engine is twice as fast */
    } rows[] = {
        { "one model", { TENSOR(1, 0, "sg00") }, "aaa", 3, 150, 0 },
        { "two models take turns",
          { TENSOR(1, 0, "sg00"), VECTOR(2, 0, "sg00") },
          "abab",
          4,
          100,
          200 },
        { "one of them runs more often",
          { TENSOR(1, 0, "sg00"), VECTOR(2, 0, "sg00") },
          "aabaa",
          5,
          200,
          100 },
        { "each runs once", { TENSOR(1, 0, "sg00"), VECTOR(2, 0, "sg00") }, "ab", 2, 50, 100 },
        { "three models",
          { TENSOR(1, 0, "sg00"), VECTOR(2, 0, "sg00"), TENSOR(3, 0, "sg00") },
          "abcabc",
          6,
          200,
          200 },
        { "a model that did not run",
          { TENSOR(1, 0, "sg00"), VECTOR(2, 0, "sg00") },
          "aa",
          2,
          100,
          0 },
        { "one NEFF, loaded twice",
          { TENSOR(1, 0, "sg00"), TENSOR(1, 0, "sg00") },
          "abab",
          4,
          200,
          0 },
        { "two cores of one model: Vector ends last",
          { TENSOR(1, 0, "sg00"), VECTOR(1, 1, "sg01") },
          "(ab)(ab)",
          2,
          0,
          200 },
        { "two models on two cores at once",
          { TENSOR(1, 0, "sg00"), VECTOR(2, 1, "sg00") },
          "(ab)(ab)",
          2,
          0,
          200 },
        { "a pair and another model on one of its cores",
          { TENSOR(1, 0, "sg00"), VECTOR(1, 1, "sg01"), TENSOR(2, 0, "sg00") },
          "(ab)c(ab)c",
          4,
          100,
          200 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made m;

        make(&m, rows[i].models, rows[i].runs, NULL);
        int64_t tensor_ns = gain_ns(&m, "tensor=2");
        int64_t vector_ns = gain_ns(&m, "vector=2");
        if (m.program->execution_count != rows[i].count || tensor_ns != rows[i].tensor_ns ||
            vector_ns != rows[i].vector_ns) {
            fail_msg("%s: %llu executions, gains %lld and %lld ns", rows[i].what,
                     (unsigned long long)m.program->execution_count, (long long)tensor_ns,
                     (long long)vector_ns);
        }
        drop(&m);
    }
}

/* The NEFF of the second model does not describe the program of the first. */
static void a_neff_describes_only_the_programs_of_its_model(void **state)
{
    static const struct model models[MODELS_MAX] = { TENSOR(1, 0, "sg00"), VECTOR(2, 0, "sg00"),
                                                     VECTOR(2, 0, "sg00") };
    struct ntk_neff_subgraph subgraph = { .name = "sg00" };
    struct ntk_neff_kelf kelf = { .subgraph_count = 1, .subgraphs = &subgraph };
    struct ntk_neff neff = { .kelf_count = 1, .kelfs = &kelf };
    struct made m;

    (void)state;
    memset(neff.header.uuid, 2, sizeof neff.header.uuid);
    make(&m, models, "abcabc", &neff);
    assert_null(m.trace->cores[0].neff);
    assert_ptr_equal(m.trace->cores[1].neff, &subgraph);
    assert_ptr_equal(m.trace->cores[2].neff, &subgraph); /* loaded again */
    assert_int_equal(m.program->execution_count, 6);
    drop(&m);
}

/* Model 2 has two programs with the same name. Model 1 has one with this name, and was loaded
 * twice: it still has two instances. */
static void a_neff_tells_the_number_of_programs_only_of_its_model(void **state)
{
    static const struct model models[MODELS_MAX] = { TENSOR(1, 0, "sg00"), TENSOR(1, 0, "sg00"),
                                                     VECTOR(2, 0, "sg00") };
    struct ntk_neff_subgraph subgraphs[] = { { .name = "sg00" }, { .name = "sg00" } };
    struct ntk_neff_kelf kelf = { .subgraph_count = 2, .subgraphs = subgraphs };
    struct ntk_neff neff = { .kelf_count = 1, .kelfs = &kelf };
    struct made m;

    (void)state;
    memset(neff.header.uuid, 2, sizeof neff.header.uuid);
    make(&m, models, "abcabc", &neff);
    assert_int_equal(m.program->execution_count, 6);
    drop(&m);
}

/* A line of show-session for each execution, with its number. */
static void a_session_lists_the_executions_that_analyses_count(void **state)
{
    static const char *const runs[] = { "aaa", "Aaa" };
    static const struct model models[MODELS_MAX] = { TENSOR(1, 0, "sg00") };

    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct ntk_opcode_table opcodes;
        struct ntk_buf text = { 0 };
        struct made m;

        make(&m, models, runs[i], NULL);
        assert_int_equal(m.program->execution_count, 3);
        assert_int_equal(ntk_analysis_opcode_table(m.trace, &opcodes), 0);
        ntk_output_session_text(m.trace, &opcodes, &text);
        if (!strstr(ntk_buf_text_get(&text), "NC 0              3         300        100\n")) {
            fail_msg("%s: %s", runs[i], ntk_buf_text_get(&text));
        }
        ntk_buf_reset(&text);
        ntk_output_session_json(m.trace, &opcodes, false, &text);
        assert_non_null(strstr(ntk_buf_text_get(&text), "\"ExecutionCount\": 3"));
        ntk_buf_fini(&text);
        ntk_opcode_table_fini(&opcodes);
        drop(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(executions_of_several_models_are_joined_by_model_and_number),
        cmocka_unit_test(a_session_lists_the_executions_that_analyses_count),
        cmocka_unit_test(a_neff_tells_the_number_of_programs_only_of_its_model),
        cmocka_unit_test(a_neff_describes_only_the_programs_of_its_model),
    };

    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
