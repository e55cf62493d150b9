/* SPDX-License-Identifier: MIT */
/*
 * kernel_random - the random numbers of a NeuronCore, and rounding by chance.
 *
 * Threads: one at a time per generator.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_KERNEL_RANDOM_H
#define NTK_RUNTIME_HOOKS_ENGINE_KERNEL_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include "shared/formats/neff/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_RNG_WORDS 6

/* XORWOW (G. Marsaglia, Xorshift RNGs, 2003): five words of shift register, one counter. */
struct ntk_rng {
    uint32_t word[NTK_RNG_WORDS];
};

/* A state that is never all zero, the same for equal seeds. */
void ntk_rng_seed(struct ntk_rng *rng, uint32_t seed);
uint32_t ntk_rng_next(struct ntk_rng *rng);

/*
 * Each value becomes one of its two neighbours in the float dtype, the nearer with the greater
 * chance, so that the mean of many roundings is the value: up with the probability of its distance
 * from the lower one, in units between them. What the dtype holds already stays as it is, as do
 * NaN, infinity, and every value of another dtype. What is beyond the largest finite value is left
 * to whoever converts. The source of the rule: M. Croci et al., Stochastic rounding:
 * implementation, error analysis and applications, 2022.
 */
void ntk_rng_round(struct ntk_rng *rng, enum ntk_dtype dtype, const float *from, size_t count,
                   float *to);

#ifdef __cplusplus
}
#endif
#endif
