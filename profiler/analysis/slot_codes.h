/* SPDX-License-Identifier: MIT */
/*
 * slot_codes - the codes of a program: one for equal slots, so that each is decoded once.
 *
 * The table only saves time and memory: if two codes have the same place, the later one stays, and
 * equal slots may have several codes. A transfer depends on more than its bytes, so the caller must
 * not share its code.
 *
 * Owner:   the caller provides the storage, zeroed if empty; the program owns the codes.
 * Threads: one.
 */
#ifndef NTK_PROFILER_ANALYSIS_SLOT_CODES_H
#define NTK_PROFILER_ANALYSIS_SLOT_CODES_H

#include <string.h>

#include "profiler/analysis/program.h"

#define NTK_SLOT_CODES 4096

struct ntk_slot_codes {
    struct ntk_slot_code *of[NTK_SLOT_CODES]; /* by hash */
    const uint8_t *slots[NTK_SLOT_CODES];     /* their bytes */
};

/* Continues a hash with the bytes of a slot: words are multiplied by different odd numbers, so that
 * the multiplications are independent. */
static inline uint64_t ntk_slot_hash(uint64_t hash, const uint8_t *slot)
{
    uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);

    hash *= UINT64_C(0xd6e8feb86659fd93);
    for (size_t i = 0; i < NTK_NTFF_SLOT_BYTES; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, slot + i, sizeof word);
        word ^= word >> 32;
        hash += word * factor;
        factor += UINT64_C(0xbf58476d1ce4e5b8) << 1;
    }
    hash ^= hash >> 29;
    hash *= UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 32;
}

/* memcmp() would be a call. */
static inline bool ntk_slot_is_same(const void *a, const void *b)
{
    uint64_t differing = 0;

    for (size_t i = 0; i < NTK_NTFF_SLOT_BYTES; i += sizeof(uint64_t)) {
        uint64_t words[2];
        memcpy(&words[0], (const uint8_t *)a + i, sizeof words[0]);
        memcpy(&words[1], (const uint8_t *)b + i, sizeof words[1]);
        differing |= words[0] ^ words[1];
    }
    return !differing;
}

/* The place of an instruction in the table; NTK_SLOT_CODES if its slot is not in the file. */
size_t ntk_slot_codes_place(const struct ntk_trace_core *core, size_t core_index,
                            const struct ntk_trace_instruction *instruction);
/* Finds the code of an earlier slot with the same bytes; NULL if there is none. */
struct ntk_slot_code *ntk_slot_codes_find(const struct ntk_slot_codes *codes, size_t place,
                                          const struct ntk_trace_core *core, size_t core_index,
                                          const struct ntk_trace_instruction *instruction,
                                          bool is_runtime);
/* Makes a code findable. */
void ntk_slot_codes_share(struct ntk_slot_codes *codes, size_t place,
                          const struct ntk_trace_core *core, struct ntk_slot_code *code);
/* Appends a code to the program; NULL if out of memory. */
struct ntk_slot_code *ntk_slot_codes_add(struct ntk_program *program);
/* Frees all of them. */
void ntk_slot_codes_free(struct ntk_program *program);

#endif
