/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/kernel_select.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "runtime-hooks/core/kernel_dtype.h"
#include "runtime-hooks/core/kernel_ops.h"

#define QUADRANT 32 /* partitions that nc_stream_shuffle permutes */
#define GROUP 16    /* partitions that share the indices of local_gather */
#define TOP 8       /* values of max8 and its kin */
#define SHUFFLE_KEEP 255
#define KEEP (-1) /* in a map: the destination's element stays */
#define FILL (-2) /* in a map: the fill value */

/* --- random numbers --------------------------------------------------------------------------------- */

void ntk_rng_seed(struct ntk_rng *rng, uint32_t seed)
{
    for (uint32_t i = 0; i < NTK_RNG_WORDS; i++) {
        uint32_t x = seed + (i + 1) * 0x9e3779b9U;

        /* The finalizer of MurmurHash3: a bijection, so the words differ. */
        x = (x ^ x >> 16) * 0x85ebca6bU;
        x = (x ^ x >> 13) * 0xc2b2ae35U;
        rng->word[i] = x ^ x >> 16;
    }
    rng->word[0] |= 1;
}

uint32_t ntk_rng_next(struct ntk_rng *rng)
{
    uint32_t t = rng->word[0] ^ rng->word[0] >> 2;

    memmove(rng->word, rng->word + 1, 4 * sizeof rng->word[0]);
    rng->word[4] = (rng->word[4] ^ rng->word[4] << 4) ^ (t ^ t << 1);
    rng->word[5] += 362437;
    return rng->word[4] + rng->word[5];
}

float ntk_rng_uniform(struct ntk_rng *rng)
{
    return (float)(ntk_rng_next(rng) >> 8) * 0x1p-24F;
}

/* --- rows ------------------------------------------------------------------------------------------- */

struct work {
    const struct ntk_isa_instr *instr;
    const struct ntk_tile *to, *a, *b, *c, *second;
    const struct ntk_tile_scratch *scratch;
    struct ntk_rng *rng;
    float *x, *y, *out; /* rows of the scratch */
    int64_t *map;       /* its last row */
};

static float column(const struct ntk_tile *tile, uint32_t partition, uint32_t immediate)
{
    float value = ntk_isa_bits_float(immediate);

    if (tile->base) {
        ntk_tile_read_f32(tile, partition, &value);
    }
    return value;
}

static float apply(enum ntk_isa_alu op, bool reverse, float a, float b)
{
    float out;

    ntk_kernel_alu_f32(op, reverse ? &b : &a, reverse ? &a : &b, 0, 1, &out);
    return out;
}

static bool is_integers(const struct work *w)
{
    return !ntk_dtype_is_float(w->to->dtype) && !ntk_dtype_is_float(w->a->dtype);
}

/* out[i] = a[map[i]] of partition from, in integers where both sides are, so that no bit is lost. */
static bool place(const struct work *w, uint32_t partition, uint32_t from, float fill)
{
    if (is_integers(w)) {
        int64_t *values = (void *)w->x;
        int64_t *out = (void *)w->out;

        ntk_tile_read_i64(w->a, from, values);
        ntk_tile_read_i64(w->to, partition, out);
        for (uint32_t i = 0; i < w->to->elements; i++) {
            if (w->map[i] >= 0) {
                out[i] = values[w->map[i]];
            } else if (w->map[i] == FILL) {
                out[i] = (int64_t)fill;
            }
        }
        ntk_tile_write_i64(w->to, partition, out);
        return false;
    }
    ntk_tile_read_f32(w->a, from, w->x);
    ntk_tile_read_f32(w->to, partition, w->out);
    for (uint32_t i = 0; i < w->to->elements; i++) {
        if (w->map[i] >= 0) {
            w->out[i] = w->x[w->map[i]];
        } else if (w->map[i] == FILL) {
            w->out[i] = fill;
        }
    }
    return ntk_tile_write_f32(w->to, partition, w->out);
}

/* The second destination: the row just written, folded. */
static bool fold_second(const struct work *w, uint32_t partition)
{
    const struct ntk_isa_instr *instr = w->instr;
    float result;

    if (!w->second->base) {
        return false;
    }
    if (instr->reduce_cmd == NTK_ISA_REDUCE_REDUCE) {
        ntk_tile_read_f32(w->second, partition, &result);
        result = ntk_kernel_reduce_f32(instr->reduce_op, result, w->out, w->to->elements);
    } else {
        result =
            ntk_kernel_reduce_f32(instr->reduce_op, w->out[0], w->out + 1, w->to->elements - 1);
    }
    return ntk_tile_write_f32(w->second, partition, &result);
}

/* --- scans ------------------------------------------------------------------------------------------ */

/* state = (a[i] op0 state) op1 b[i] */
static bool tensor_scan(const struct work *w, uint32_t p)
{
    const struct ntk_isa_instr *instr = w->instr;
    bool reverse0 = (instr->op_flags & NTK_ISA_OPF_REVERSE0) != 0;
    bool reverse1 = (instr->op_flags & NTK_ISA_OPF_REVERSE1) != 0;
    float state = column(w->c, p, instr->imm[0]);

    ntk_tile_read_f32(w->a, p, w->x);
    ntk_tile_read_f32(w->b, p, w->y);
    for (uint32_t i = 0; i < w->to->elements; i++) {
        state = apply(instr->op0, reverse0, w->x[i], state);
        state = apply(instr->op1, reverse1, state, w->y[i]);
        w->out[i] = state;
    }
    return ntk_tile_write_f32(w->to, p, w->out);
}

/* state = state op1 (a[i] op0 scalar) */
static bool scalar_cumulative(const struct work *w, uint32_t p)
{
    const struct ntk_isa_instr *instr = w->instr;
    bool reverse0 = (instr->op_flags & NTK_ISA_OPF_REVERSE0) != 0;
    bool reverse1 = (instr->op_flags & NTK_ISA_OPF_REVERSE1) != 0;
    float scalar = column(w->b, p, instr->imm[0]);
    float state = column(w->c, p, instr->imm[1]);

    ntk_tile_read_f32(w->a, p, w->x);
    for (uint32_t i = 0; i < w->to->elements; i++) {
        state = apply(instr->op1, reverse1, state, apply(instr->op0, reverse0, w->x[i], scalar));
        w->out[i] = state;
    }
    return ntk_tile_write_f32(w->to, p, w->out);
}

static bool partition_reduce(const struct work *w)
{
    enum ntk_isa_alu op = w->instr->op0;

    if (ntk_isa_alu_kind_get(op) == NTK_ISA_ALU_KIND_BITVEC) {
        int64_t *sum = (void *)w->out;
        int64_t *row = (void *)w->x;

        ntk_tile_read_i64(w->a, 0, sum);
        for (uint32_t p = 1; p < w->a->partitions; p++) {
            ntk_tile_read_i64(w->a, p, row);
            ntk_kernel_alu_bits(op, w->a->dtype, sum, row, 1, w->a->elements, sum);
        }
        ntk_tile_write_i64(w->to, 0, sum);
        return false;
    }
    ntk_tile_read_f32(w->a, 0, w->out);
    for (uint32_t p = 1; p < w->a->partitions; p++) {
        ntk_tile_read_f32(w->a, p, w->x);
        ntk_kernel_alu_f32(op, w->out, w->x, 1, w->a->elements, w->out);
    }
    return ntk_tile_write_f32(w->to, 0, w->out);
}

static bool exponential(const struct work *w, uint32_t p)
{
    float shift = column(w->b, p, w->instr->imm[0]);
    bool nan;

    ntk_tile_read_f32(w->a, p, w->x);
    for (uint32_t i = 0; i < w->to->elements; i++) {
        w->out[i] = expf(w->x[i] - shift);
    }
    nan = ntk_tile_write_f32(w->to, p, w->out);
    return fold_second(w, p) || nan;
}

/* --- selections ------------------------------------------------------------------------------------- */

static bool copy_predicated(const struct work *w, uint32_t p)
{
    bool wanted = !(w->instr->op_flags & NTK_ISA_OPF_REVERSE0);

    ntk_tile_read_f32(w->b, p, w->y);
    for (uint32_t i = 0; i < w->to->elements; i++) {
        w->map[i] = (w->y[i] != 0) == wanted ? (int64_t)i : KEEP;
    }
    return place(w, p, p, 0);
}

static bool affine_select(const struct work *w, uint32_t p)
{
    const struct ntk_isa_operand *pattern = &w->instr->operand[NTK_ISA_SRC1];
    uint32_t index[NTK_ISA_DIMS_MAX] = { 0 };
    int64_t value = (int32_t)w->instr->imm[0] + (int64_t)p * (int64_t)(int32_t)w->instr->imm[1];

    for (uint32_t i = 0; i < w->to->elements; i++) {
        bool is_on;

        switch (w->instr->op0) {
        case NTK_ISA_ALU_EQUAL:
            is_on = value == 0;
            break;
        case NTK_ISA_ALU_NOT_EQUAL:
            is_on = value != 0;
            break;
        case NTK_ISA_ALU_GREATER_EQUAL:
            is_on = value >= 0;
            break;
        case NTK_ISA_ALU_GREATER:
            is_on = value > 0;
            break;
        case NTK_ISA_ALU_LESS_EQUAL:
            is_on = value <= 0;
            break;
        default:
            is_on = value < 0;
            break;
        }
        w->map[i] = is_on ? (int64_t)i : FILL;
        for (unsigned d = 0; d < pattern->dim_count; d++) {
            value += pattern->dim[d].step;
            if (++index[d] < pattern->dim[d].count) {
                break;
            }
            value -= (int64_t)pattern->dim[d].count * pattern->dim[d].step;
            index[d] = 0;
        }
    }
    return place(w, p, p, ntk_isa_bits_float(w->instr->imm[2]));
}

static bool range_select(const struct work *w, uint32_t p)
{
    const struct ntk_isa_instr *instr = w->instr;
    float low = column(w->b, p, 0);
    float high = column(w->c, p, 0);
    float off = ntk_isa_bits_float(instr->imm[0]);
    float start = ntk_isa_bits_float(instr->imm[1]);
    bool nan;

    ntk_tile_read_f32(w->a, p, w->x);
    for (uint32_t i = 0; i < w->to->elements; i++) {
        float place_of = start + (float)i;
        bool is_on = apply(instr->op0, false, place_of, low) != 0 &&
                     apply(instr->op1, false, place_of, high) != 0;

        w->out[i] = is_on ? w->x[i] : off;
    }
    nan = ntk_tile_write_f32(w->to, p, w->out);
    return fold_second(w, p) || nan;
}

static bool select_reduce(const struct work *w, uint32_t p)
{
    bool wanted = !(w->instr->op_flags & NTK_ISA_OPF_REVERSE0);
    float off = column(w->c, p, w->instr->imm[0]);
    bool nan;

    ntk_tile_read_f32(w->a, p, w->x);
    ntk_tile_read_f32(w->b, p, w->y);
    for (uint32_t i = 0; i < w->to->elements; i++) {
        w->out[i] = (w->y[i] != 0) == wanted ? w->x[i] : off;
    }
    nan = ntk_tile_write_f32(w->to, p, w->out);
    return fold_second(w, p) || nan;
}

/* --- gathers ---------------------------------------------------------------------------------------- */

/* The indices of 16 partitions count down the partitions first, then along the row. */
static bool local_gather(const struct work *w, uint32_t p)
{
    uint32_t width = w->instr->imm[0];
    uint32_t count = w->instr->imm[1];
    uint32_t first = p / GROUP * GROUP;
    int64_t *indices = (void *)w->y;

    for (uint32_t q = 0; q < GROUP; q++) {
        ntk_tile_read_i64(w->b, first + q, indices);
        for (uint32_t n = q; n < count;
             n += GROUP) { /* index n: column n / 16 of partition n % 16 */
            int64_t index = indices[n / GROUP];

            for (uint32_t k = 0; k < width; k++) {
                bool is_inside = index >= 0 && index < (int64_t)w->a->elements &&
                                 index * width + k < (int64_t)w->a->elements;

                w->map[n * width + k] = is_inside ? index * width + k : FILL;
            }
        }
    }
    return place(w, p, p, 0);
}

static bool n_gather(const struct work *w, uint32_t p)
{
    ntk_tile_read_i64(w->b, p, w->map);
    for (uint32_t i = 0; i < w->to->elements; i++) {
        if (w->map[i] < 0 || w->map[i] >= (int64_t)w->a->elements) {
            w->map[i] = FILL;
        }
    }
    return place(w, p, p, 0);
}

static bool stream_shuffle(const struct work *w)
{
    int64_t mask[QUADRANT];
    bool nan = false;

    ntk_tile_read_i64(w->b, 0, mask);
    for (uint32_t p = 0; p < w->to->partitions; p++) {
        int64_t from = mask[p % QUADRANT];

        if (from == SHUFFLE_KEEP) {
            continue;
        }
        for (uint32_t i = 0; i < w->to->elements; i++) {
            w->map[i] = (int64_t)i;
        }
        /* Masks above 31 take the low bits, as five wires would. */
        nan |= place(w, p, p / QUADRANT * QUADRANT + (uint32_t)(from & (QUADRANT - 1)), 0);
    }
    return nan;
}

/* --- statistics ------------------------------------------------------------------------------------- */

/* count, mean, sum of squared distances of the elements from first on, step 2 */
static void statistics(const float *values, uint32_t first, uint32_t count, float *out)
{
    uint32_t n = 0;
    double sum = 0;
    double squares = 0;
    double mean;

    for (uint32_t i = first; i < count; i += 2) {
        sum += (double)values[i];
        n++;
    }
    mean = n > 0 ? sum / n : 0;
    for (uint32_t i = first; i < count; i += 2) {
        squares += ((double)values[i] - mean) * ((double)values[i] - mean);
    }
    out[0] = (float)n;
    out[1] = (float)mean;
    out[2] = (float)squares;
}

static bool bn_stats(const struct work *w, uint32_t p)
{
    ntk_tile_read_f32(w->a, p, w->x);
    statistics(w->x, 0, w->a->elements, w->out);
    statistics(w->x, 1, w->a->elements, w->out + 3);
    return ntk_tile_write_f32(w->to, p, w->out);
}

/* Chan's rule for joining (count, mean, squares). */
static bool bn_aggr(const struct work *w, uint32_t p)
{
    double count = 0;
    double mean = 0;
    double squares = 0;

    ntk_tile_read_f32(w->a, p, w->x);
    for (uint32_t i = 0; i + 2 < w->a->elements; i += 3) {
        double n = (double)w->x[i];
        double distance = (double)w->x[i + 1] - mean;

        if (!(n > 0)) {
            continue;
        }
        squares += (double)w->x[i + 2] + distance * distance * count * n / (count + n);
        mean += distance * n / (count + n);
        count += n;
    }
    w->out[0] = (float)mean;
    w->out[1] = count > 0 ? (float)(squares / count) : 0;
    return ntk_tile_write_f32(w->to, p, w->out);
}

/* The places of eight values: the k-th time a value is asked for, its k-th place; -1: none. */
static void find8(const struct work *w, uint32_t p, int64_t places[TOP])
{
    ntk_tile_read_f32(w->a, p, w->x);
    ntk_tile_read_f32(w->b, p, w->y);
    for (uint32_t v = 0; v < TOP; v++) {
        uint32_t skip = 0;

        for (uint32_t earlier = 0; earlier < v; earlier++) {
            skip += w->y[earlier] == w->y[v];
        }
        places[v] = -1;
        for (uint32_t i = 0; i < w->a->elements; i++) {
            if (w->x[i] == w->y[v] && skip-- == 0) {
                places[v] = i;
                break;
            }
        }
    }
}

static bool find_index8(const struct work *w, uint32_t p)
{
    int64_t places[TOP];

    find8(w, p, places);
    for (uint32_t v = 0; v < TOP; v++) {
        places[v] = places[v] < 0 ? UINT32_MAX : places[v];
    }
    ntk_tile_write_i64(w->to, p, places);
    return false;
}

static bool match_replace8(const struct work *w, uint32_t p)
{
    int64_t places[TOP];

    find8(w, p, places);
    for (uint32_t i = 0; i < w->to->elements; i++) {
        w->out[i] = w->x[i];
    }
    for (uint32_t v = 0; v < TOP; v++) {
        if (places[v] >= 0) {
            w->out[places[v]] = ntk_isa_bits_float(w->instr->imm[0]);
        } else {
            places[v] = UINT32_MAX;
        }
    }
    if (w->second->base) {
        ntk_tile_write_i64(w->second, p, places);
    }
    return ntk_tile_write_f32(w->to, p, w->out);
}

static bool nonzero_with_count(const struct work *w, uint32_t p)
{
    uint32_t n = w->a->elements;
    uint32_t found = 0;

    ntk_tile_read_f32(w->a, p, w->x);
    for (uint32_t i = 0; i < n; i++) {
        if (w->x[i] != 0) {
            w->map[found++] = (int64_t)i + (int32_t)w->instr->imm[0];
        }
    }
    w->map[n] = found;
    for (uint32_t i = found; i < n; i++) {
        w->map[i] = (int32_t)w->instr->imm[1];
    }
    ntk_tile_write_i64(w->to, p, w->map);
    return false;
}

/* Of each element: where the run of equal ids it stands in starts, and where it ends. */
static bool sequence_bounds(const struct work *w, uint32_t p)
{
    uint32_t n = w->a->elements;

    ntk_tile_read_f32(w->a, p, w->x);
    for (uint32_t i = 0; i < n;) {
        uint32_t end = i + 1;

        while (end < n && w->x[end] == w->x[i]) {
            end++;
        }
        for (uint32_t k = i; k < end; k++) {
            bool is_padding = w->x[k] == 0;

            w->map[k] = is_padding ? (int64_t)n : (int64_t)i;
            w->map[n + k] = is_padding ? -1 : (int64_t)end;
        }
        i = end;
    }
    ntk_tile_write_i64(w->to, p, w->map);
    return false;
}

/* --- random tiles ----------------------------------------------------------------------------------- */

static struct ntk_rng *rng_of(const struct work *w, enum ntk_isa_role role, uint32_t p)
{
    const struct ntk_isa_operand *operand = &w->instr->operand[role];

    return &w->rng[operand->partition_start + p * operand->partition_step];
}

static bool dropout(const struct work *w, uint32_t p)
{
    struct ntk_rng *rng = rng_of(w, NTK_ISA_DST, p);
    float probability = column(w->b, p, w->instr->imm[0]);

    for (uint32_t i = 0; i < w->to->elements; i++) {
        w->map[i] = ntk_rng_uniform(rng) < probability ? FILL : (int64_t)i;
    }
    return place(w, p, p, 0);
}

static bool random_row(const struct work *w, uint32_t p)
{
    struct ntk_rng *rng = rng_of(w, NTK_ISA_DST, p);

    if (w->instr->op == NTK_ISA_OP_RNG) {
        for (uint32_t i = 0; i < w->to->elements; i++) {
            w->map[i] = ntk_rng_next(rng);
        }
        ntk_tile_write_bits(w->to, p, w->map);
        return false;
    }
    float low = column(w->a, p, w->instr->imm[0]);
    float high = column(w->b, p, w->instr->imm[1]);

    for (uint32_t i = 0; i < w->to->elements; i++) {
        w->out[i] = low + (high - low) * ntk_rng_uniform(rng);
    }
    return ntk_tile_write_f32(w->to, p, w->out);
}

static bool random_state(const struct work *w, uint32_t p)
{
    int64_t words[NTK_RNG_WORDS];

    if (w->instr->op == NTK_ISA_OP_RAND_GET_STATE) {
        for (int i = 0; i < NTK_RNG_WORDS; i++) {
            words[i] = rng_of(w, NTK_ISA_DST, p)->word[i];
        }
        ntk_tile_write_i64(w->to, p, words);
        return false;
    }
    ntk_tile_read_i64(w->a, p, words);
    if (w->instr->op == NTK_ISA_OP_SET_RNG_SEED) {
        ntk_rng_seed(rng_of(w, NTK_ISA_SRC0, p), (uint32_t)words[0]);
        return false;
    }
    for (int i = 0; i < NTK_RNG_WORDS; i++) {
        rng_of(w, NTK_ISA_SRC0, p)->word[i] = (uint32_t)words[i];
    }
    return false;
}

/* --- the table -------------------------------------------------------------------------------------- */

static const struct {
    enum ntk_isa_op op;
    bool (*row)(const struct work *w, uint32_t partition);
    bool (*whole)(const struct work *w); /* reads across partitions */
} kernels[] = {
    { NTK_ISA_OP_TENSOR_TENSOR_SCAN, tensor_scan, NULL },
    { NTK_ISA_OP_TENSOR_SCALAR_CUMULATIVE, scalar_cumulative, NULL },
    { NTK_ISA_OP_TENSOR_PARTITION_REDUCE, NULL, partition_reduce },
    { NTK_ISA_OP_TENSOR_COPY_PREDICATED, copy_predicated, NULL },
    { NTK_ISA_OP_EXPONENTIAL, exponential, NULL },
    { NTK_ISA_OP_AFFINE_SELECT, affine_select, NULL },
    { NTK_ISA_OP_RANGE_SELECT, range_select, NULL },
    { NTK_ISA_OP_SELECT_REDUCE, select_reduce, NULL },
    { NTK_ISA_OP_LOCAL_GATHER, local_gather, NULL },
    { NTK_ISA_OP_NC_N_GATHER, n_gather, NULL },
    { NTK_ISA_OP_BN_STATS, bn_stats, NULL },
    { NTK_ISA_OP_BN_AGGR, bn_aggr, NULL },
    { NTK_ISA_OP_NC_FIND_INDEX8, find_index8, NULL },
    { NTK_ISA_OP_NC_MATCH_REPLACE8, match_replace8, NULL },
    { NTK_ISA_OP_NONZERO_WITH_COUNT, nonzero_with_count, NULL },
    { NTK_ISA_OP_SEQUENCE_BOUNDS, sequence_bounds, NULL },
    { NTK_ISA_OP_NC_STREAM_SHUFFLE, NULL, stream_shuffle },
    { NTK_ISA_OP_DROPOUT, dropout, NULL },
    { NTK_ISA_OP_RNG, random_row, NULL },
    { NTK_ISA_OP_RAND2, random_row, NULL },
    { NTK_ISA_OP_SET_RNG_SEED, random_state, NULL },
    { NTK_ISA_OP_RAND_SET_STATE, random_state, NULL },
    { NTK_ISA_OP_RAND_GET_STATE, random_state, NULL },
};

enum { KERNEL_COUNT = sizeof kernels / sizeof kernels[0] };

bool ntk_select_crosses(enum ntk_isa_op op)
{
    return op == NTK_ISA_OP_TENSOR_PARTITION_REDUCE || op == NTK_ISA_OP_LOCAL_GATHER ||
           op == NTK_ISA_OP_NC_STREAM_SHUFFLE;
}

bool ntk_select_run(const struct ntk_isa_instr *instr, const struct ntk_tile *tiles,
                    struct ntk_rng *rng, const struct ntk_tile_scratch *scratch)
{
    struct work w = { .instr = instr,
                      .to = &tiles[NTK_ISA_DST],
                      .a = &tiles[NTK_ISA_SRC0],
                      .b = &tiles[NTK_ISA_SRC1],
                      .c = &tiles[NTK_ISA_SRC2],
                      .second = &tiles[NTK_ISA_DST2],
                      .scratch = scratch,
                      .rng = rng,
                      .x = scratch->row[0],
                      .y = scratch->row[1],
                      .out = scratch->row[2],
                      .map = scratch->row[3] };
    uint32_t partitions = w.to->base ? w.to->partitions : w.a->partitions;
    bool nan = false;

    for (size_t k = 0; k < KERNEL_COUNT; k++) {
        if (kernels[k].op != instr->op) {
            continue;
        }
        if (kernels[k].whole) {
            return kernels[k].whole(&w);
        }
        for (uint32_t p = 0; p < partitions; p++) {
            nan |= kernels[k].row(&w, p);
        }
        return nan;
    }
    assert(!"an operation that engine_program.c let through");
    return false;
}
