/* SPDX-License-Identifier: MIT */
/* Random numbers of kernel_select.h: the generator, its state and tiles of its numbers. */
#include <string.h>

#include "runtime-hooks/engine/kernel_select_private.h"

/* --- the generator ---------------------------------------------------------------------------- */

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

static uint32_t rng_next(struct ntk_rng *rng)
{
    uint32_t t = rng->word[0] ^ rng->word[0] >> 2;

    memmove(rng->word, rng->word + 1, 4 * sizeof rng->word[0]);
    rng->word[4] = (rng->word[4] ^ rng->word[4] << 4) ^ (t ^ t << 1);
    rng->word[5] += 362437;
    return rng->word[4] + rng->word[5];
}

/* In [0, 1): the upper 24 bits. */
static float rng_uniform(struct ntk_rng *rng)
{
    return (float)(rng_next(rng) >> 8) * 0x1p-24F;
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
            w->map[i] = rng_next(rng);
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
