/* SPDX-License-Identifier: MIT */
/*
 * hash - hashes of numbers and texts, with a per-process secret.
 *
 * The author of a file does not know the secret, and cannot choose keys that all collide: a hostile
 * file cannot make a table slow. Hashes differ from run to run; no output may depend on them.
 *
 * Threads: any.
 */
#ifndef NTK_SHARED_BASE_HASH_H
#define NTK_SHARED_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All bits of the hash are well mixed, including the lowest. */
uint64_t ntk_hash_number(uint64_t number);
uint64_t ntk_hash_text(const char *text);

#ifdef __cplusplus
}
#endif
#endif
