/* SPDX-License-Identifier: MIT */
/*
 * hash - numbers and texts of a file to places in a table, with a secret of the process.
 *
 * Whoever writes the file does not know the secret, and cannot choose keys that all fall into one
 * place: a hostile file makes no table slower. Hashes differ from run to run; no output may depend on
 * them.
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

/* All bits count, the lowest ones too. */
uint64_t ntk_hash_number(uint64_t number);
uint64_t ntk_hash_text(const char *text);

#ifdef __cplusplus
}
#endif
#endif
