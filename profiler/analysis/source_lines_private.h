/* SPDX-License-Identifier: MIT */
/* source_lines_private - state shared by the files of source_lines while the lines are built. */
#ifndef NTK_PROFILER_ANALYSIS_SOURCE_LINES_PRIVATE_H
#define NTK_PROFILER_ANALYSIS_SOURCE_LINES_PRIVATE_H

#include "profiler/analysis/source_lines.h"
#include "shared/base/buf.h"
#include "shared/base/map.h"
#include "shared/base/vec.h"

struct ntk_line_finder {
    struct ntk_source_lines *result;
    const struct ntk_neff_positions *positions;
    struct ntk_vec lines;                      /* elements are struct ntk_source_line */
    struct ntk_map line_numbers;               /* maps file << 32 | line to 1 + index */
    uint32_t reasons[NTK_SOURCE_REASON_COUNT]; /* 1 + index */
    uint32_t **slots;       /* slots[core * engines + engine][compiler_pc] is 1 + index in lines */
    struct ntk_vec paths;   /* elements are struct ntk_source_iteration */
    struct ntk_map by_path; /* maps "parent/loop/value" to 1 + index */
    uint32_t *nodes;        /* indexed by iteration of the tree: 1 + index in paths */
    struct ntk_vec waits;   /* elements are struct ntk_source_wait */
    struct ntk_map by_pair; /* maps waiting << 32 | blocking to 1 + index in waits */
    int failed;
};

/* Waits of one line for another. */
struct ntk_source_wait {
    uint32_t waiting, blocking; /* indices in lines */
    int64_t wait_ns;
};

/* In source_lines.c: returns 1 + index in lines; 0 after setting `failed`. */
uint32_t ntk_line_of_instruction(struct ntk_line_finder *f, size_t core,
                                 const struct ntk_trace_instruction *instruction);
/* Returns 1 + index in paths; 0 without a loop. */
uint32_t ntk_path_of_instruction(struct ntk_line_finder *f, size_t core,
                                 const struct ntk_trace_instruction *instruction);
int64_t ntk_source_wait_ns(const struct ntk_trace *trace, uint16_t cycles);

/* Functions of source_waits.c */
void ntk_source_waits_add(struct ntk_line_finder *f, const struct ntk_dependencies *dependencies);
/* Stores the longest waits of each line; `moved` maps lines to their new indices. */
void ntk_source_waits_give(struct ntk_line_finder *f, const uint32_t *moved);

/* In source_order.c: sorts the result. Returns 0 or -ENOMEM. */
int ntk_source_finish_lines(struct ntk_line_finder *f);
int ntk_source_finish_paths(struct ntk_line_finder *f);

#endif
