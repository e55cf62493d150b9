/* SPDX-License-Identifier: MIT */
/*
 * kernel_random - random numbers of a NeuronCore, and stochastic rounding.
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

/* XORWOW (G. Marsaglia, Xorshift RNGs, 2003): five words of shift register, and a counter. */
struct ntk_rng {
    uint32_t word[NTK_RNG_WORDS];
};

/* Sets a state that is never all zero and is the same for equal seeds. */
void ntk_rng_seed(struct ntk_rng *rng, uint32_t seed);
uint32_t ntk_rng_next(struct ntk_rng *rng);

/*
 * Rounds each value to one of the two adjacent numbers of the float dtype. The probability of
 * rounding up is the distance from the lower number, as a share of the distance between the two, so
 * the mean of many roundings is the value. Representable values, NaN, infinity and values of other
 * dtypes are unchanged. Values beyond the largest finite one are left to the conversion. Source of
 * the rule: M. Croci et al., Stochastic rounding: implementation, error analysis and applications,
 * 2022.
 */
void ntk_rng_round(struct ntk_rng *rng, enum ntk_dtype dtype, const float *from, size_t count,
                   float *to);

#ifdef __cplusplus
}
#endif
#endif
