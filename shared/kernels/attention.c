/* SPDX-License-Identifier: MIT */
/*
 * attention - computes softmax(q k' / sqrt(64)) v for one head.
 *
 * q and k are [64, length] (the head's dimension on the partitions), v as [length, 64]. Queries are
 * taken 128 at a time: the scores of a tile are products of at most 512 keys, the row maximum and
 * the exponential with its running sum make the softmax, and the weights are transposed 128 x 128
 * so that the keys come onto the partitions for the product with v. The division by the sum comes
 * last.
 *
 * The slow form behaves like a program with scores and softmax in two kernels: the scores of each
 * tile are stored to device memory and loaded again before their softmax.
 */
#include <math.h>

#include "shared/kernels/examples.h"
#include "shared/kernels/places.h"

enum { WIDTH = 64, OUT_BANK = 6, TRANSPOSE_BANK = 4 };

struct places { /* offsets in the state buffer */
    uint64_t q, k, v, weights, turned, maximum, sum, result;
    uint64_t spilt, reloaded; /* only in the slow form */
};

enum { TILES_MAX = 16 };

struct spill {
    uint32_t queue, var;
    ntk_neff_token stores[TILES_MAX], loads[TILES_MAX]; /* tokens by tile, from the first round */
    ntk_neff_token stored; /* the last store, after which its source may be overwritten */
};

struct attention {
    struct ntk_neff_kernel *kernel;
    enum ntk_dtype dtype;
    uint64_t size;
    uint32_t columns; /* columns of the tensor engine */
    uint64_t length;
    uint64_t tiles;
    struct places at;
    uint64_t row, v_row; /* bytes per row of q and k, and of v */
    uint32_t q, k, v, out;
    uint32_t in_queue, out_queue;
    bool is_slow;
    struct spill spill;
    ntk_neff_token loads[2 + TILES_MAX], groups[TILES_MAX]; /* tokens of the first round */
    ntk_neff_token stores[2];                               /* stores of even and odd tiles */
    ntk_neff_token scores_free; /* the exponential has read the scores */
    ntk_neff_token out_free;    /* the last result has left PSUM */
    ntk_neff_token all_read;    /* the tensor engine has read weights and values */
};

/* One of two columns, for even and odd tiles. */
static struct ntk_isa_operand column(uint64_t offset, uint64_t tile)
{
    return ntk_isa_sbuf(offset + 4 * (tile % 2), NTK_KIT_P, 1, NTK_DTYPE_FLOAT32);
}

static ntk_neff_token scores(const struct attention *a, uint64_t tile, struct ntk_neff_after after)
{
    ntk_neff_token done = 0;

    ntk_neff_kernel_layer(a->kernel, "scores");
    for (uint64_t first = ntk_kit_loop(a->kernel, "first");
         ntk_neff_kernel_iterate(a->kernel, first, first < a->length);
         first += NTK_ISA_MOVING_MAX) {
        uint64_t count =
            a->length - first < NTK_ISA_MOVING_MAX ? a->length - first : NTK_ISA_MOVING_MAX;

        done = ntk_kit_matmul(
            a->kernel, ntk_isa_psum(first * 4, NTK_KIT_P, (uint32_t)count, NTK_DTYPE_FLOAT32),
            ntk_isa_sbuf(a->at.q + tile * NTK_KIT_P * a->size, WIDTH, NTK_KIT_P, a->dtype),
            ntk_isa_sbuf(a->at.k + first * a->size, WIDTH, (uint32_t)count, a->dtype), false,
            a->columns, first == 0 ? after : NTK_AFTER_NONE);
    }
    return done;
}

/* Stores the scores of a tile to device memory and loads them again. */
static ntk_neff_token spill_and_reload(struct attention *a, uint64_t tile, bool is_first,
                                       ntk_neff_token scored, ntk_neff_token reloaded_free)
{
    uint64_t row = a->length * 4;
    struct spill *spill = &a->spill;
    struct ntk_neff_rows rows = NTK_ROWS(spill->var, tile * NTK_KIT_P * row, row, NTK_KIT_P);
    ntk_neff_token copied;

    ntk_neff_kernel_layer(a->kernel, "spill scores");
    copied =
        ntk_kit_copy(a->kernel, NTK_ISA_ENGINE_ACT,
                     ntk_isa_sbuf(a->at.spilt, NTK_KIT_P, (uint32_t)a->length, NTK_DTYPE_FLOAT32),
                     ntk_isa_psum(0, NTK_KIT_P, (uint32_t)a->length, NTK_DTYPE_FLOAT32),
                     NTK_AFTER(scored, spill->stored));
    spill->stored =
        is_first ? ntk_neff_kernel_store(a->kernel, spill->queue, rows, a->at.spilt, row,
                                         NTK_AFTER(copied))
                 : ntk_neff_kernel_dma_again(a->kernel, spill->stores[tile], NTK_AFTER(copied));
    ntk_neff_kernel_layer(a->kernel, "reload scores");
    ntk_neff_token loaded =
        is_first ? ntk_neff_kernel_load(a->kernel, spill->queue, rows, a->at.reloaded, row,
                                        NTK_AFTER(spill->stored, reloaded_free))
                 : ntk_neff_kernel_dma_again(a->kernel, spill->loads[tile],
                                             NTK_AFTER(spill->stored, reloaded_free));
    if (is_first) {
        spill->stores[tile] = spill->stored;
        spill->loads[tile] = loaded;
    }
    return loaded;
}

/* Computes exp((score - maximum) / 8) and its sum in each row. */
static ntk_neff_token softmax(const struct attention *a, uint64_t tile, ntk_neff_token scored,
                              ntk_neff_token weights_free)
{
    const float scale = 1.0F / sqrtf((float)WIDTH);
    struct ntk_isa_operand scores =
        a->is_slow ? ntk_isa_sbuf(a->at.reloaded, NTK_KIT_P, (uint32_t)a->length, NTK_DTYPE_FLOAT32)
                   : ntk_isa_psum(0, NTK_KIT_P, (uint32_t)a->length, NTK_DTYPE_FLOAT32);
    struct ntk_isa_instr reduce = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_REDUCE);
    struct ntk_isa_instr exponential = ntk_isa_instr_make(NTK_ISA_OP_ACTIVATION_REDUCE);
    ntk_neff_token maximum;

    ntk_neff_kernel_layer(a->kernel, "softmax");
    reduce.op0 = NTK_ISA_ALU_MAXIMUM;
    reduce.axis_count = 1;
    reduce.op_flags = NTK_ISA_OPF_NEGATE;
    reduce.operand[NTK_ISA_DST] = column(a->at.maximum, tile);
    reduce.operand[NTK_ISA_SRC0] = scores;
    ntk_neff_kernel_emit(a->kernel, NTK_ISA_ENGINE_DVE, &reduce, NTK_AFTER(scored));
    maximum = ntk_kit_scalar(a->kernel, NTK_ISA_ALU_MULTIPLY, column(a->at.maximum, tile),
                             column(a->at.maximum, tile), ntk_kit_none(), scale, NTK_AFTER_NONE);

    exponential.act = NTK_ISA_ACT_EXP;
    exponential.imm[0] = ntk_isa_float_bits(scale);
    exponential.reduce_op = NTK_ISA_ALU_ADD;
    exponential.reduce_cmd = NTK_ISA_REDUCE_RESET_REDUCE;
    exponential.operand[NTK_ISA_DST] =
        ntk_isa_sbuf(a->at.weights, NTK_KIT_P, (uint32_t)a->length, a->dtype);
    exponential.operand[NTK_ISA_SRC0] = scores;
    exponential.operand[NTK_ISA_SRC1] = column(a->at.maximum, tile);
    exponential.operand[NTK_ISA_DST2] = column(a->at.sum, tile);
    return ntk_neff_kernel_emit(a->kernel, NTK_ISA_ENGINE_ACT, &exponential,
                                NTK_AFTER(maximum, weights_free));
}

/* Transposes tiles of the weights through two PSUM banks: the keys are then on the partitions. */
static ntk_neff_token turn(const struct attention *a, ntk_neff_token weighed,
                           ntk_neff_token turned_free)
{
    ntk_neff_token copied[2] = { 0, 0 };
    ntk_neff_token last = 0;

    ntk_neff_kernel_layer(a->kernel, "transpose");
    for (uint64_t k = ntk_kit_loop(a->kernel, "k");
         ntk_neff_kernel_iterate(a->kernel, k, k < a->tiles); k++) {
        struct ntk_isa_operand psum = ntk_isa_psum(
            (TRANSPOSE_BANK + k % 2) * NTK_ISA_PSUM_BANK_BYTES, NTK_KIT_P, NTK_KIT_P, a->dtype);
        ntk_neff_token transposed = ntk_kit_transpose(
            a->kernel, psum,
            ntk_isa_sbuf(a->at.weights + k * NTK_KIT_P * a->size, NTK_KIT_P, NTK_KIT_P, a->dtype),
            a->columns, k == 0 ? NTK_AFTER(weighed, turned_free) : NTK_AFTER(copied[k % 2]));

        last = ntk_kit_copy(
            a->kernel, NTK_ISA_ENGINE_DVE,
            ntk_isa_sbuf(a->at.turned + k * NTK_KIT_P * a->size, NTK_KIT_P, NTK_KIT_P, a->dtype),
            psum, NTK_AFTER(transposed));
        copied[k % 2] = last;
    }
    return last;
}

static ntk_neff_token load(struct attention *a, bool is_first)
{
    ntk_neff_token loaded = 0;

    ntk_neff_kernel_layer(a->kernel, "load");
    for (uint64_t i = ntk_kit_loop(a->kernel, "i");
         ntk_neff_kernel_iterate(a->kernel, i, i < 2 + a->tiles); i++) {
        if (!is_first) {
            loaded = ntk_neff_kernel_dma_again(a->kernel, a->loads[i], NTK_AFTER(a->all_read));
        } else if (i < 2) {
            loaded = ntk_neff_kernel_load(a->kernel, a->in_queue,
                                          NTK_ROWS(i == 0 ? a->q : a->k, 0, a->row, WIDTH),
                                          i == 0 ? a->at.q : a->at.k, a->row, NTK_AFTER_NONE);
        } else {
            loaded = ntk_neff_kernel_load(
                a->kernel, a->in_queue,
                NTK_ROWS(a->v, (i - 2) * NTK_KIT_P * a->v_row, a->v_row, NTK_KIT_P),
                a->at.v + (i - 2) * a->v_row, a->v_row, NTK_AFTER_NONE);
        }
        a->loads[i] = loaded;
    }
    return loaded;
}

static ntk_neff_token weigh(struct attention *a, struct ntk_isa_operand psum, ntk_neff_token turned)
{
    ntk_neff_token read = 0;

    ntk_neff_kernel_layer(a->kernel, "weigh");
    for (uint64_t key = ntk_kit_loop(a->kernel, "key");
         ntk_neff_kernel_iterate(a->kernel, key, key < a->tiles); key++) {
        read = ntk_kit_matmul(
            a->kernel, psum,
            ntk_isa_sbuf(a->at.turned + key * NTK_KIT_P * a->size, NTK_KIT_P, NTK_KIT_P, a->dtype),
            ntk_isa_sbuf(a->at.v + key * a->v_row, NTK_KIT_P, WIDTH, a->dtype), key > 0, a->columns,
            key == 0 ? NTK_AFTER(turned, a->out_free) : NTK_AFTER_NONE);
    }
    return read;
}

static void attend(struct attention *a, uint64_t tile, bool is_first, ntk_neff_token loaded)
{
    struct ntk_isa_operand psum =
        ntk_isa_psum(OUT_BANK * NTK_ISA_PSUM_BANK_BYTES, NTK_KIT_P, WIDTH, NTK_DTYPE_FLOAT32);
    struct ntk_isa_instr reciprocal = ntk_isa_instr_make(NTK_ISA_OP_RECIPROCAL);
    struct ntk_neff_rows rows =
        NTK_ROWS(a->out, tile * NTK_KIT_P * WIDTH * 4, WIDTH * 4, NTK_KIT_P);
    uint64_t result_at = a->at.result + tile % 2 * WIDTH * 4;
    ntk_neff_token scored = scores(a, tile, NTK_AFTER(loaded, a->scores_free));
    if (a->is_slow) {
        scored = spill_and_reload(a, tile, is_first, scored, a->scores_free);
    }
    ntk_neff_token weighed = softmax(a, tile, scored, a->all_read);
    ntk_neff_token turned = turn(a, weighed, a->all_read);

    a->scores_free = weighed;
    a->all_read = weigh(a, psum, turned);
    reciprocal.operand[NTK_ISA_DST] = column(a->at.sum, tile);
    reciprocal.operand[NTK_ISA_SRC0] = column(a->at.sum, tile);
    ntk_neff_kernel_emit(a->kernel, NTK_ISA_ENGINE_DVE, &reciprocal, NTK_AFTER(weighed));
    a->out_free =
        ntk_kit_scalar(a->kernel, NTK_ISA_ALU_MULTIPLY,
                       ntk_isa_sbuf(result_at, NTK_KIT_P, WIDTH, NTK_DTYPE_FLOAT32), psum,
                       column(a->at.sum, tile), 0, NTK_AFTER(a->all_read, a->stores[tile % 2]));
    ntk_neff_kernel_layer(a->kernel, "store");
    a->groups[tile] =
        is_first ? ntk_neff_kernel_store(a->kernel, a->out_queue, rows, result_at, WIDTH * 4,
                                         NTK_AFTER(a->out_free))
                 : ntk_neff_kernel_dma_again(a->kernel, a->groups[tile], NTK_AFTER(a->out_free));
    a->stores[tile % 2] = a->groups[tile];
}

static void build_attention(struct ntk_neff_build *build, const struct ntk_example_options *options,
                            bool is_slow)
{
    struct attention a = { .kernel = ntk_neff_build_kernel(build, "attention"),
                           .is_slow = is_slow,
                           .dtype = options->dtype,
                           .size = ntk_dtype_bytes((unsigned)options->dtype),
                           .columns = options->columns,
                           .length = options->size,
                           .tiles = options->size / NTK_KIT_P };
    struct ntk_kit_space space = { 0 };
    uint64_t *wide = (uint64_t[]){ WIDTH, a.length };
    uint64_t *tall = (uint64_t[]){ a.length, WIDTH };

    a.row = a.length * a.size;
    a.v_row = WIDTH * a.size;
    a.q = ntk_neff_kernel_input(a.kernel, "q", a.dtype, 2, wide);
    a.k = ntk_neff_kernel_input(a.kernel, "k", a.dtype, 2, wide);
    a.v = ntk_neff_kernel_input(a.kernel, "v", a.dtype, 2, tall);
    a.out = ntk_neff_kernel_output(a.kernel, "out", NTK_DTYPE_FLOAT32, 2, tall);
    a.in_queue =
        ntk_neff_kernel_queue(a.kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 16);
    a.out_queue =
        ntk_neff_kernel_queue(a.kernel, "qPoolIO0", NTK_ISA_ENGINE_POOL, NTK_NEFF_QUEUE_OUT, 16);
    a.at = (struct places){ .q = ntk_kit_take(&space, a.row),
                            .k = ntk_kit_take(&space, a.row),
                            .v = ntk_kit_take(&space, a.tiles * a.v_row),
                            .weights = ntk_kit_take(&space, a.row),
                            .turned = ntk_kit_take(&space, a.row),
                            .maximum = ntk_kit_take(&space, 8),
                            .sum = ntk_kit_take(&space, 8),
                            .result = ntk_kit_take(&space, 2 * WIDTH * 4) };
    if (is_slow) {
        a.at.spilt = ntk_kit_take(&space, a.length * 4);
        a.at.reloaded = ntk_kit_take(&space, a.length * 4);
        a.spill.var = ntk_neff_kernel_tmp(a.kernel, "scores", a.length * a.length * 4);
        a.spill.queue = ntk_neff_kernel_queue(a.kernel, "qActSpillReload0", NTK_ISA_ENGINE_ACT,
                                              NTK_NEFF_QUEUE_DATA, 16);
    }
    if (space.used > NTK_KIT_SBUF_BYTES) {
        ntk_neff_build_fail(build, "a sequence of this length exceeds the state buffer");
        return;
    }
    for (uint64_t r = ntk_kit_loop(a.kernel, "r");
         ntk_neff_kernel_iterate(a.kernel, r, r < options->repeat); r++) {
        ntk_neff_token loaded = load(&a, r == 0);

        for (uint64_t tile = ntk_kit_loop(a.kernel, "tile");
             ntk_neff_kernel_iterate(a.kernel, tile, tile < a.tiles); tile++) {
            attend(&a, tile, r == 0, loaded);
        }
    }
}

void ntk_example_attention(struct ntk_neff_build *build, const struct ntk_example_options *options)
{
    build_attention(build, options, false);
}

void ntk_example_attention_slow(struct ntk_neff_build *build,
                                const struct ntk_example_options *options)
{
    build_attention(build, options, true);
}
