/* SPDX-License-Identifier: MIT */
/*
 * chip_access - which bytes of the state buffer and of PSUM each executed instruction of a core
 * reads and writes.
 *
 * A range is one of a partition: from the lowest byte of a tile to its highest, whatever is in
 * between, and in the memory, where its size is known. What a slot touches is found once, however
 * often it ran.
 *
 * Owner:   ntk_chip_accesses_init() fills the caller's storage, _fini() frees; the program is
 *          borrowed. Threads: any; immutable after creation.
 */
#ifndef NTK_PROFILER_ANALYSIS_CHIP_ACCESS_H
#define NTK_PROFILER_ANALYSIS_CHIP_ACCESS_H

#include "profiler/analysis/program.h"
#include "shared/base/vec.h"

enum ntk_chip_space { NTK_CHIP_SBUF, NTK_CHIP_PSUM, NTK_CHIP_SPACE_COUNT };

/* Of all partitions these are checked one by one: 0, 32, 64, 96. */
#define NTK_CHIP_SAMPLES 4
#define NTK_CHIP_SAMPLE_STEP 32
#define NTK_CHIP_SAMPLES_ALL ((1U << NTK_CHIP_SAMPLES) - 1)

#define NTK_CHIP_BANKS 8 /* of PSUM, NTK_ISA_PSUM_BANK_BYTES each */

enum ntk_chip_view {
    NTK_CHIP_AS_IT_IS = 1,
    NTK_CHIP_AS_REPORTED = 2, /* by the original tool, vendor_slot.h */
    NTK_CHIP_VIEWS_ALL = 3
};

struct ntk_chip_access {
    uint32_t low, high; /* bytes of a partition, [low, high) */
    uint8_t space;
    uint8_t samples;        /* bit k: the partition 32 * k is among those */
    bool is_write, is_read; /* both: it adds to what is there */
    uint8_t views;          /* bits: as which it counts */
};

struct ntk_chip_slot {
    bool has_run;
    uint8_t known_views;   /* bits */
    uint32_t first, count; /* in accesses; sources before destinations */
};

/* Ranges of a program cut memory into cells, whose bytes all have one fate. Those of PSUM are in
 * one bank each. */
struct ntk_chip_cells {
    size_t count;
    uint32_t *lows; /* count + 1 of them: each ends where the next begins */
};

struct ntk_chip_span {
    uint32_t first, end; /* cells */
};

/* Why places are unknown. */
struct ntk_chip_unknown {
    bool
        is_instruction; /* some are not decoded; else transfers that were prepared before the run */
    /* The first of them, by engine and slot; opcode_count: how many different ones there are. */
    uint8_t engine, opcode;
    uint32_t slot;
    unsigned opcode_count;
};

struct ntk_chip_accesses {
    struct ntk_vec list; /* struct ntk_chip_access */
    struct ntk_chip_cells cells[NTK_CHIP_SPACE_COUNT];
    struct ntk_chip_span *spans; /* of each access */
    uint8_t known_views;         /* bits: those that know everything that ran */
    bool has_open, has_vendor;
    bool has_trigger; /* a vendor's, of prepared transfers: they are as it is, and never told */
    bool has_lost_trigger;           /* one with a destination that the NEFF does not describe */
    struct ntk_chip_unknown unknown; /* of what they really touch */
    struct ntk_chip_slot *slots[NTK_NTFF_ENGINE_COUNT];
};

/* 0 or -ENOMEM. */
int ntk_chip_accesses_init(struct ntk_chip_accesses *accesses, const struct ntk_program *program,
                           size_t core_index);
void ntk_chip_accesses_fini(struct ntk_chip_accesses *accesses);

static inline const struct ntk_chip_slot *
ntk_chip_slot_of(const struct ntk_chip_accesses *accesses,
                 const struct ntk_trace_instruction *instruction)
{
    return &accesses->slots[instruction->engine][instruction->slot];
}

/* Whether it is known of everything that ran which places it really touches: prepared transfers
 * need the NEFF. */
bool ntk_chip_accesses_is_complete(const struct ntk_chip_accesses *accesses,
                                   const struct ntk_trace_core *core);

/* Why the places of the first core that lacks some are unknown: 1; 0: all are known; or
 * -ENOMEM. */
int ntk_chip_find_unknown(const struct ntk_program *program, struct ntk_chip_unknown *out_unknown);

/* "sbuf", "psum" */
const char *ntk_chip_space_name(enum ntk_chip_space space);

#endif
