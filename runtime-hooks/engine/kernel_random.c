/* SPDX-License-Identifier: MIT */
/* kernel_random - the generator, stochastic rounding, and the random operations of
 * kernel_select.h. */
#include "runtime-hooks/engine/kernel_random.h"

#include <math.h>
#include <string.h>

#include "runtime-hooks/engine/kernel_select_private.h"

/* --- the generator ---------------------------------------------------------------------------- */

void ntk_rng_seed(struct ntk_rng *rng, uint32_t seed)
{
    for (uint32_t i = 0; i < NTK_RNG_WORDS; i++) {
        uint32_t x = seed + (i + 1) * 0x9e3779b9U;

        /* The finalizer of MurmurHash3 is a bijection, so the words differ. */
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

/* A number in [0, 1) from the upper 24 bits. */
static float rng_uniform(struct ntk_rng *rng)
{
    return (float)(ntk_rng_next(rng) >> 8) * 0x1p-24F;
}

/* --- stochastic rounding ---------------------------------------------------------------------- */

/* The float dtypes that are narrower than fp32. */
static const struct narrow {
    unsigned mantissa_bits;
    int exponent_min; /* exponent of the smallest normal number */
} narrows[NTK_DTYPE_COUNT] = {
    [NTK_DTYPE_FLOAT8E3] = { 4, -2 },   [NTK_DTYPE_FLOAT8E4] = { 3, -6 },
    [NTK_DTYPE_FLOAT8E5] = { 2, -14 },  [NTK_DTYPE_FLOAT16] = { 10, -14 },
    [NTK_DTYPE_BFLOAT16] = { 7, -126 },
};

void ntk_rng_round(struct ntk_rng *rng, enum ntk_dtype dtype, const float *from, size_t count,
                   float *to)
{
    const struct narrow *narrow = &narrows[dtype];

    if (narrow->mantissa_bits == 0) {
        memmove(to, from, count * sizeof *to);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        uint32_t magnitude;
        uint32_t noise = ntk_rng_next(rng);

        memcpy(&bits, &from[i], sizeof bits);
        magnitude = bits & 0x7fffffffU;
        if (magnitude >= 0x7f800000U) {
            to[i] = from[i];
            continue;
        }
        if (magnitude < (uint32_t)(narrow->exponent_min + 127) << 23) {
            /* Below the normal numbers, adjacent numbers all have the same distance. */
            double unit = ldexp(1.0, narrow->exponent_min - (int)narrow->mantissa_bits);
            double units = fabs((double)from[i]) / unit;
            double whole = floor(units);

            whole += units - whole > (double)noise * 0x1p-32 ? 1.0 : 0.0;
            to[i] = (float)copysign(whole * unit, (double)from[i]);
            continue;
        }
        /* Here the noise is less than one unit of the remaining bits, so it carries correctly. */
        uint32_t below = (1U << (23 - narrow->mantissa_bits)) - 1;

        bits = (bits & 0x80000000U) | ((magnitude + (noise >> 9 & below)) & ~below);
        memcpy(&to[i], &bits, sizeof bits);
    }
}

/* --- random tiles ----------------------------------------------------------------------------- */

static struct ntk_rng *rng_of(const struct ntk_select_work *w, enum ntk_isa_role role, uint32_t p)
{
    const struct ntk_isa_operand *operand = &w->instr->operand[role];

    return &w->rng[operand->partition_start + p * operand->partition_step];
}

bool ntk_select_dropout(const struct ntk_select_work *w, uint32_t p)
{
    struct ntk_rng *rng = rng_of(w, NTK_ISA_DST, p);
    float probability = ntk_select_column(w->b, p, w->instr->imm[0]);

    for (uint32_t i = 0; i < w->to->elements; i++) {
        w->map[i] = rng_uniform(rng) < probability ? NTK_SELECT_FILL : (int64_t)i;
    }
    return ntk_select_place(w, p, p, 0);
}

bool ntk_select_random_row(const struct ntk_select_work *w, uint32_t p)
{
    struct ntk_rng *rng = rng_of(w, NTK_ISA_DST, p);

    if (w->instr->op == NTK_ISA_OP_RNG) {
        for (uint32_t i = 0; i < w->to->elements; i++) {
            w->map[i] = ntk_rng_next(rng);
        }
        ntk_tile_write_bits(w->to, p, w->map);
        return false;
    }
    float low = ntk_select_column(w->a, p, w->instr->imm[0]);
    float high = ntk_select_column(w->b, p, w->instr->imm[1]);

    for (uint32_t i = 0; i < w->to->elements; i++) {
        w->out[i] = low + (high - low) * rng_uniform(rng);
    }
    return ntk_tile_write_f32(w->to, p, w->out);
}

bool ntk_select_random_state(const struct ntk_select_work *w, uint32_t p)
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
