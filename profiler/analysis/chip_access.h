/* SPDX-License-Identifier: MIT */
/*
 * chip_access - finds the bytes in the state buffer and PSUM that each executed instruction of a
 * core reads and writes.
 *
 * A range is in a partition, from the lowest to the highest byte of a tile, limited to the memory
 * if its size is known. The ranges of a slot are computed only once.
 *
 * Owner:   the caller provides the storage, which ntk_chip_accesses_init() fills and _fini() frees;
 *          the program is borrowed. Threads: any; immutable after creation.
 */
#ifndef NTK_PROFILER_ANALYSIS_CHIP_ACCESS_H
#define NTK_PROFILER_ANALYSIS_CHIP_ACCESS_H

#include "profiler/analysis/program.h"
#include "shared/base/vec.h"

enum ntk_chip_space { NTK_CHIP_SBUF, NTK_CHIP_PSUM, NTK_CHIP_SPACE_COUNT };

/* Number of partitions that are checked individually: 0, 32, 64, 96. */
#define NTK_CHIP_SAMPLES 4
#define NTK_CHIP_SAMPLE_STEP 32
#define NTK_CHIP_SAMPLES_ALL ((1U << NTK_CHIP_SAMPLES) - 1)

#define NTK_CHIP_BANKS 8 /* banks of PSUM, with NTK_ISA_PSUM_BANK_BYTES each */

enum ntk_chip_view {
    NTK_CHIP_AS_IT_IS = 1,
    NTK_CHIP_AS_REPORTED = 2, /* as reported by the original tool, vendor_slot.h */
    NTK_CHIP_VIEWS_ALL = 3
};

struct ntk_chip_access {
    uint32_t low, high; /* bytes of a partition, [low, high) */
    uint8_t space;
    uint8_t samples;        /* bit k is set if partition 32 * k is included */
    bool is_write, is_read; /* both are true if it accumulates */
    uint8_t views;          /* bits of the views in which it counts */
};

struct ntk_chip_slot {
    uint8_t known_views;   /* bits of known views */
    uint32_t first, count; /* range in the list of accesses; sources before destinations */
};

/* Cells of memory, which are separated by the ranges of a program, so that all bytes in a cell
 * behave alike. A cell of PSUM is in one bank. */
struct ntk_chip_cells {
    size_t count;
    uint32_t *lows; /* count + 1 elements: each cell ends where the next starts */
};

struct ntk_chip_span {
    uint32_t first, end; /* range of cells */
};

/* The reason why ranges are unknown. */
struct ntk_chip_unknown {
    bool is_instruction; /* true: some are not decoded; false: transfers prepared before the run */
    /* The first of them by engine and slot; opcode_count is the number of distinct opcodes. */
    uint8_t engine, opcode;
    uint32_t slot;
    unsigned opcode_count;
};

struct ntk_chip_accesses {
    struct ntk_vec list; /* elements are struct ntk_chip_access */
    struct ntk_chip_cells cells[NTK_CHIP_SPACE_COUNT];
    struct ntk_chip_span *spans; /* one per access */
    uint8_t known_views;         /* bits of the views with complete information */
    bool has_vendor;
    bool has_trigger;      /* a vendor's trigger with prepared transfers, which stay unknown */
    bool has_lost_trigger; /* a trigger with a destination that the NEFF does not describe */
    struct ntk_chip_unknown unknown; /* instructions with unknown accessed bytes */
    const struct ntk_program *program;
    size_t core_index;
    struct ntk_chip_slot *slots; /* by number of the code */
};

/* Returns 0 or -ENOMEM. */
int ntk_chip_accesses_init(struct ntk_chip_accesses *accesses, const struct ntk_program *program,
                           size_t core_index);
void ntk_chip_accesses_fini(struct ntk_chip_accesses *accesses);

static inline const struct ntk_chip_slot *
ntk_chip_slot_of(const struct ntk_chip_accesses *accesses,
                 const struct ntk_trace_instruction *instruction)
{
    return &accesses->slots[ntk_program_fact(accesses->program, accesses->core_index, instruction)
                                ->code->number];
}

/* Returns true if the ranges of all executed instructions are known. Prepared transfers need the
 * NEFF. */
bool ntk_chip_accesses_is_complete(const struct ntk_chip_accesses *accesses,
                                   const struct ntk_trace_core *core);

/* Finds the reason for the first core with unknown ranges. Returns 1 if found, 0 if all ranges are
 * known, or -ENOMEM. */
int ntk_chip_find_unknown(const struct ntk_program *program, struct ntk_chip_unknown *out_unknown);

/* Returns "sbuf" or "psum". */
const char *ntk_chip_space_name(enum ntk_chip_space space);

#endif
