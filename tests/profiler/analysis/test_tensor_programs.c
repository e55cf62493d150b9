/* SPDX-License-Identifier: MIT */
/*
 * Which tensors each of several programs reads and writes. Method: transfers of some columns of a
 * tensor of 128 rows of 16 columns in float32 (8192 bytes), each as often as the program says; so a
 * column is 512 bytes, and all counts follow.
 */
#include <string.h>

#include "profiler/analysis/tensor_traffic.h"
#include "tests/support/hand_answers.h"
#include "tests/support/unit.h"

#define COLUMNS 16
#define COLUMN_BYTES 512U
#define MOVES_MAX 3
#define CHIP 0 /* the state buffer */

enum { IN = 1, OUT, SCRATCH, WEIGHT, TENSORS };

struct moved {
    unsigned tensor; /* 0: none */
    uint64_t reads, read_columns, writes, written_columns;
    double reload; /* 0: none */
};

static const struct program {
    const char *what;
    struct {
        unsigned from, to; /* tensors, or CHIP */
        uint32_t columns, times;
    } moves[MOVES_MAX];
    struct moved tensors[2]; /* by descending bytes */
} programs[] = {
    { "an input is read once", { { IN, CHIP, 16, 1 } }, { { IN, 1, 16, 0, 0, 1 } } },
    { "an input is read twice", { { IN, CHIP, 16, 2 } }, { { IN, 2, 32, 0, 0, 2 } } },
    { "a quarter of an input is read", { { IN, CHIP, 4, 1 } }, { { IN, 1, 4, 0, 0, 0.25 } } },
    { "an input is read in quarters", { { IN, CHIP, 4, 4 } }, { { IN, 4, 16, 0, 0, 1 } } },
    { "an input is read in parts of different size",
      { { IN, CHIP, 4, 2 }, { IN, CHIP, 8, 1 } },
      { { IN, 3, 16, 0, 0, 1 } } },
    { "an output is written", { { CHIP, OUT, 16, 1 } }, { { OUT, 0, 0, 1, 16, 0 } } },
    { "an output is written twice", { { CHIP, OUT, 16, 2 } }, { { OUT, 0, 0, 2, 32, 0 } } },
    { "scratch is written and read back",
      { { CHIP, SCRATCH, 16, 1 }, { SCRATCH, CHIP, 16, 1 } },
      { { SCRATCH, 1, 16, 1, 16, 1 } } },
    { "scratch is read back three times",
      { { CHIP, SCRATCH, 16, 1 }, { SCRATCH, CHIP, 16, 3 } },
      { { SCRATCH, 3, 48, 1, 16, 3 } } },
    { "weights are read twice", { { WEIGHT, CHIP, 16, 2 } }, { { WEIGHT, 2, 32, 0, 0, 2 } } },
    { "half as much is written as read",
      { { IN, CHIP, 16, 1 }, { CHIP, OUT, 8, 1 } },
      { { IN, 1, 16, 0, 0, 1 }, { OUT, 0, 0, 1, 8, 0 } } },
    { "more is written than read",
      { { IN, CHIP, 4, 1 }, { CHIP, OUT, 16, 1 } },
      { { OUT, 0, 0, 1, 16, 0 }, { IN, 1, 4, 0, 0, 0.25 } } },
    { "nothing moves", { { 0 } }, { { 0 } } },
};

static struct ntk_isa_operand side(unsigned tensor, uint32_t columns)
{
    return tensor == CHIP
               ? ntk_isa_sbuf(0, 128, columns, NTK_DTYPE_FLOAT32)
               : ntk_isa_var(tensor, 0, 128, (int32_t)columns, columns, NTK_DTYPE_FLOAT32);
}

static void put(struct hand_trace *h, const struct program *program)
{
    uint32_t idle =
        hand_trace_nop(h, 0, NTK_ISA_ENGINE_SP, NTK_ISA_NO_SEMAPHORE, 0, NTK_ISA_NO_SEMAPHORE);
    int64_t at_ns = 0;

    hand_trace_run(h, 0, NTK_ISA_ENGINE_SP, idle, 0, 1);
    for (size_t i = 0; i < MOVES_MAX && program->moves[i].times; i++) {
        struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);

        instr.done_semaphore = 20;
        instr.done_value = 1;
        instr.operand[NTK_ISA_SRC0] = side(program->moves[i].from, program->moves[i].columns);
        instr.operand[NTK_ISA_DST] = side(program->moves[i].to, program->moves[i].columns);
        uint32_t slot = hand_trace_open(h, 0, NTK_ISA_ENGINE_SP, &instr);
        for (uint32_t n = 0; n < program->moves[i].times; n++) {
            at_ns += 10;
            hand_trace_run(h, 0, NTK_ISA_ENGINE_SP, slot, at_ns, at_ns + 5);
        }
    }
}

static void check(const char *what, const struct ntk_tensor_traffic *traffic,
                  const struct moved tensors[2], const struct ntk_neff_var *vars)
{
    size_t count = (tensors[0].tensor != 0) + (size_t)(tensors[1].tensor != 0);

    if (traffic->row_count != count) {
        fail_msg("%s: %zu tensors", what, traffic->row_count);
    }
    for (size_t i = 0; i < count; i++) {
        const struct ntk_tensor_row *row = &traffic->rows[i];
        const struct moved *moved = &tensors[i];

        if (strcmp(row->name, vars[moved->tensor].name) != 0 || strcmp(row->kind, row->name) != 0 ||
            row->read_count != moved->reads ||
            row->read_bytes != moved->read_columns * COLUMN_BYTES ||
            row->write_count != moved->writes ||
            row->write_bytes != moved->written_columns * COLUMN_BYTES ||
            (row->has_reload ? row->reload_ratio : 0) != moved->reload) {
            fail_msg("%s: %s %s: %llu bytes in %llu reads, %llu in %llu writes, ratio %g", what,
                     row->kind, row->name, (unsigned long long)row->read_bytes,
                     (unsigned long long)row->read_count, (unsigned long long)row->write_bytes,
                     (unsigned long long)row->write_count, row->has_reload ? row->reload_ratio : 0);
        }
    }
}

static void tensor_traffic_of_generated_programs_is_found(void **state)
{
    static const struct ntk_neff_var kinds[TENSORS] = {
        { .name = "" },
        { .name = "input", .type = NTK_NEFF_VAR_INPUT },
        { .name = "output", .type = NTK_NEFF_VAR_OUTPUT },
        { .name = "scratch", .type = NTK_NEFF_VAR_VIRTUAL },
        { .name = "weight", .type = NTK_NEFF_VAR_FILE },
    };

    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct ntk_neff_var vars[TENSORS];
        struct ntk_neff_var_place places[TENSORS];
        struct ntk_tensor_traffic traffic;
        struct hand_trace h;
        struct hand_answers a;

        hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
        for (uint32_t v = 0; v < TENSORS; v++) {
            vars[v] = kinds[v];
            vars[v].var_id = v;
            vars[v].bytes_count = COLUMNS * COLUMN_BYTES;
            places[v] = (struct ntk_neff_var_place){ .var_id = v, .place = v };
        }
        h.neff_subgraphs[0].vars = vars;
        h.neff_subgraphs[0].vars_by_id = places;
        h.neff_subgraphs[0].var_count = TENSORS;
        (void)hand_trace_name(&h, 0, NTK_ISA_ENGINE_SP, "a NEFF");
        put(&h, &programs[i]);
        hand_answers_ask(&h, &a);
        assert_int_equal(ntk_analysis_tensor_traffic(a.program, &traffic), 0);
        check(programs[i].what, &traffic, programs[i].tensors, kinds);
        ntk_tensor_traffic_fini(&traffic);
        hand_answers_done(&h, &a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensor_traffic_of_generated_programs_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
