/* SPDX-License-Identifier: MIT */
/* DMA by indices, compared with the model, and repeated rows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/runtime-hooks/engine/dma_model.h"
#include "tests/support/unit.h"

struct indirect_case {
    struct ntk_isa_instr instr;
    int64_t from_index[256], to_index[256];
    uint32_t rows, row;
    bool from_table, to_table;
};

static void put_indices(struct dma_model *m, const struct ntk_isa_operand *tile,
                        const int64_t *values, uint32_t rows)
{
    for (uint32_t r = 0; r < rows; r++) {
        int32_t word = (int32_t)values[r];

        memcpy(dma_model_element(m, tile, r), &word, 4);
    }
}

/* The start of row r of a side, as an operand of one row; false if the row is out of bounds. */
static bool row_of(const struct ntk_isa_operand *side, int64_t index, uint32_t step, bool is_table,
                   struct ntk_isa_operand *row)
{
    int64_t low;
    int64_t high;

    *row = *side;
    if (is_table) {
        if (index < 0 || index >= 3) {
            return false;
        }
        row->var_id = index == 1 ? Y : X;
    } else {
        int64_t offset = (int64_t)side->offset + index * step;

        row->offset = 0;
        ntk_isa_operand_extent(row, &low, &high);
        if (offset + low < 0 || offset + high > VAR_BYTES) {
            return false;
        }
        row->offset = (uint64_t)offset;
    }
    ntk_isa_operand_extent(row, &low, &high);
    return low >= 0 && high <= VAR_BYTES;
}

/* Applies the instruction to the model and returns the outcome. Changes nothing if it is out of
 * bounds. */
static enum ntk_engine_outcome model_indirect(struct dma_model *m, const struct indirect_case *c)
{
    const struct ntk_isa_instr *instr = &c->instr;
    struct ntk_isa_indexing by = ntk_isa_indexing_get(instr);
    const struct ntk_isa_operand *to = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *from = &instr->operand[NTK_ISA_SRC0];
    const uint32_t *to_imm = &instr->imm[by.destination_imm];
    size_t width = ntk_dtype_bytes(to->dtype);
    bool skipped[256] = { false };
    uint8_t *all = malloc((size_t)c->rows * c->row * width);

    assert_non_null(all);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t r = 0; r < c->rows; r++) {
            struct ntk_isa_operand side;
            int64_t index = pass ? c->to_index[r] : c->from_index[r];
            const uint32_t *imm = pass ? to_imm : instr->imm;
            const struct ntk_isa_operand *of = pass ? to : from;
            bool is_indexed = pass ? by.of_destination != NULL : by.of_source != NULL;

            if (!is_indexed) {
                continue;
            }
            if (instr->op_flags & NTK_ISA_OPF_BOUNDS && (index < 0 || index > imm[1])) {
                if (!(instr->op_flags & NTK_ISA_OPF_OOB_SKIP)) {
                    free(all);
                    return NTK_RUN_OUT_OF_BOUNDS;
                }
                skipped[r] = true;
            } else if (!row_of(of, index, imm[0], pass ? c->to_table : c->from_table, &side)) {
                free(all);
                return NTK_RUN_OUT_OF_BOUNDS;
            }
        }
    }
    for (uint32_t r = 0; r < c->rows; r++) {
        for (uint32_t k = 0; k < c->row && !skipped[r]; k++) {
            struct ntk_isa_operand side = *from;

            if (by.of_source) {
                row_of(from, c->from_index[r], instr->imm[0], c->from_table, &side);
            }
            memcpy(all + ((size_t)r * c->row + k) * width,
                   dma_model_element(m, &side, by.of_source ? k : (uint64_t)r * c->row + k), width);
        }
    }
    for (uint32_t r = 0; r < c->rows; r++) {
        for (uint32_t k = 0; k < c->row && !skipped[r]; k++) {
            struct ntk_isa_operand side = *to;
            const uint8_t *source = all + ((size_t)r * c->row + k) * width;
            uint8_t *target;

            if (by.of_destination) {
                row_of(to, c->to_index[r], to_imm[0], c->to_table, &side);
            }
            target = dma_model_element(m, &side, by.of_destination ? k : (uint64_t)r * c->row + k);
            if (instr->op_flags & NTK_ISA_OPF_ACCUMULATE) {
                int32_t a;
                int32_t b;
                int64_t sum;

                memcpy(&a, source, 4);
                memcpy(&b, target, 4);
                sum = (int64_t)a + b;
                a = (int32_t)(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum);
                memcpy(target, &a, 4);
            } else {
                memcpy(target, source, width);
            }
        }
    }
    free(all);
    return NTK_RUN_OK;
}

/* Random sides and indices; D never overlaps the indices. */
static void any_indirect(struct indirect_case *c)
{
    static const uint32_t row_counts[] = { 1, 2, 8, 16, 30, 64, 128, 200 };
    struct ntk_isa_instr *instr = &c->instr;
    struct ntk_isa_operand *to = &instr->operand[NTK_ISA_DST];
    struct ntk_isa_operand *from = &instr->operand[NTK_ISA_SRC0];
    bool of_from = dma_pick(3) != 0;
    bool of_to = !of_from || dma_pick(3) == 0;
    uint32_t max;

    memset(c, 0, sizeof *c);
    *instr = ntk_isa_instr_make(NTK_ISA_OP_DMA_INDIRECT_COPY);
    instr->queue = DYNAMIC;
    instr->op_flags = (uint8_t)((dma_pick(2) ? NTK_ISA_OPF_BOUNDS : 0) |
                                (dma_pick(2) ? NTK_ISA_OPF_OOB_SKIP : 0) |
                                (dma_pick(4) == 0 ? NTK_ISA_OPF_ACCUMULATE : 0));
    c->rows = row_counts[dma_pick(8)];
    c->row = 1 + dma_pick(3);
    c->row *= 1 + dma_pick(3);
    *from = of_from ? dma_any_operand(NTK_ISA_SPACE_VAR, c->row, NTK_DTYPE_INT32)
                    : dma_any_operand(dma_pick(2) ? NTK_ISA_SPACE_SBUF : NTK_ISA_SPACE_PSUM,
                                      c->row * c->rows, NTK_DTYPE_INT32);
    *to = of_to ? dma_any_operand(NTK_ISA_SPACE_VAR, c->row, NTK_DTYPE_INT32)
                : dma_any_operand(dma_any_space() == NTK_ISA_SPACE_VAR && c->row * c->rows < 600
                                      ? NTK_ISA_SPACE_VAR
                                      : NTK_ISA_SPACE_PSUM,
                                  c->row * c->rows, NTK_DTYPE_INT32);
    for (int side = 0; side < 2; side++) {
        struct ntk_isa_operand tile =
            ntk_isa_sbuf(ROW_BYTES - 4 * (1 + (uint64_t)side), 1, 1, NTK_DTYPE_INT32);

        if (c->rows <= PARTITIONS) {
            tile.partition_count = (uint16_t)c->rows;
        } else { /* two indices in each partition, 40 bytes apart */
            tile.partition_count = (uint16_t)(c->rows / 2);
            tile.dim[0] = (struct ntk_isa_dim){ -10, 2 };
        }
        if (side == 0 && of_from) {
            instr->operand[NTK_ISA_SRC1] = tile;
        }
        if (side == 1 && of_to) {
            /* A single index may be the first or, if the source is also a variable, the second. */
            instr->operand[of_from || from->space == NTK_ISA_SPACE_VAR || dma_pick(2)
                               ? NTK_ISA_SRC2
                               : NTK_ISA_SRC1] = tile;
        }
    }
    c->from_table = of_from && dma_pick(4) == 0;
    c->to_table = of_to && dma_pick(4) == 0;
    for (int side = 0; side < 2; side++) {
        bool is_table = side ? c->to_table : c->from_table;
        int at = side && of_from ? 2 : 0;
        int64_t *index = side ? c->to_index : c->from_index;

        if (side ? !of_to : !of_from) {
            continue;
        }
        instr->imm[at] = is_table ? 0 : 4 * dma_pick(9);
        max = is_table ? 2 : dma_pick(60);
        instr->imm[at + 1] = instr->op_flags & NTK_ISA_OPF_BOUNDS ? max : 0;
        for (uint32_t r = 0; r < c->rows; r++) {
            index[r] = dma_pick(max + 1);
        }
        if (dma_pick(3) == 0) { /* one that is too large, or negative */
            index[dma_pick(c->rows)] =
                dma_pick(2) ? (int64_t)max + 1 + dma_pick(1000) : -1 - (int64_t)dma_pick(3);
        }
        if (is_table) {
            instr->operand[side ? NTK_ISA_DST : NTK_ISA_SRC0].var_id = TABLE;
        }
    }
}

static void indirect_copies_of_every_kind_equal_a_naive_implementation(void **state)
{
    struct engine_fixture *f = *state;
    static struct indirect_case c;
    struct dma_model m;
    int outcomes[NTK_RUN_NO_MEMORY + 1] = { 0 };

    for (int round = 0; round < 1500; round++) {
        struct ntk_isa_indexing by;
        enum ntk_engine_outcome expected;

        any_indirect(&c);
        by = ntk_isa_indexing_get(&c.instr);
        dma_model_fill(f, &m);
        if (by.of_source) {
            put_indices(&m, by.of_source, c.from_index, c.rows);
        }
        if (by.of_destination) {
            put_indices(&m, by.of_destination, c.to_index, c.rows);
        }
        memcpy(engine_fixture_memory(f, SB), m.sbuf, sizeof m.sbuf);
        expected = model_indirect(&m, &c);
        assert_int_equal(dma_run(f, &c.instr), expected);
        outcomes[expected]++;
        dma_model_expect(f, &m, &c.instr);
        if (expected == NTK_RUN_OUT_OF_BOUNDS) {
            assert_int_equal(f->result.fault_engine, NTK_ENGINE_DMA);
        }
    }
    assert_true(outcomes[NTK_RUN_OK] > 300 && outcomes[NTK_RUN_OUT_OF_BOUNDS] > 100);
}

/* Method: sides far larger than any memory, by repetition: rejected, not attempted. */
static void repeated_rows_larger_than_memory_are_rejected(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_INDIRECT_COPY);

    copy.operand[NTK_ISA_DST] = ntk_isa_var(X, 0, 1, 0, 1, NTK_DTYPE_UINT8);
    copy.operand[NTK_ISA_DST].dim[0] = (struct ntk_isa_dim){ 0, 1 << 24 };
    copy.operand[NTK_ISA_SRC0] = copy.operand[NTK_ISA_DST];
    copy.operand[NTK_ISA_SRC0].var_id = Y;
    copy.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(0, 128, 1000, NTK_DTYPE_INT32);
    copy.operand[NTK_ISA_SRC2] = copy.operand[NTK_ISA_SRC1];
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &copy);
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    f->generation = 1;
    engine_fixture_clear(f);
    copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_COMPUTE);
    copy.op0 = NTK_ISA_ALU_MAXIMUM;
    copy.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 1, 8, NTK_DTYPE_UINT8);
    copy.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(8, 1, 8, NTK_DTYPE_UINT8);
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &copy);
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    assert_string_equal(f->err.text,
                        "SP slot 0: dma_compute does more than copy, which NC-v1 does not support");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DMA_TEST(indirect_copies_of_every_kind_equal_a_naive_implementation),
        DMA_TEST(repeated_rows_larger_than_memory_are_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
