/* SPDX-License-Identifier: MIT */
/*
 * source_lines - what each line, loop and iteration of the source costs: rows, time, waiting, bytes
 * and flops, and what a line waited for.
 *
 * Times and bytes are sums over the rows of a trace as tables show them (whole ns), so that the
 * sums of all lines and of what has no line are those of all rows. Engines work at the same time:
 * durations and waits rank lines, they are not time on the wall, and waits of instructions that an
 * engine queued overlap. idle_ps counts each moment of an engine once: the time in which it did not
 * work because an instruction of the line waited (idle_reasons.h). active_ps is time on the wall:
 * what the spans of a line cover on all engines and cores, EVENT_SEMAPHORE omitted. The lines are
 * those of the back end, loops and iterations those of the kernel tree (neff_positions.h). One row
 * has one line, and counts in its innermost loop and iteration; the totals of these have the inner
 * ones too.
 *
 * Errors:  -errno of a long list, -ENOMEM.
 * Owner:   ntk_source_lines_create() allocates, ntk_source_lines_destroy() frees; it borrows the
 *          program. Threads: any; immutable after creation.
 */
#ifndef NTK_PROFILER_ANALYSIS_SOURCE_LINES_H
#define NTK_PROFILER_ANALYSIS_SOURCE_LINES_H

#include "profiler/analysis/interval.h"
#include "profiler/analysis/transfers.h"

#define NTK_SOURCE_BLOCKING_LINES_MAX 3

enum ntk_source_reason {
    NTK_SOURCE_HAS_LINE,
    NTK_SOURCE_RUNTIME,       /* not of the program: no compiler_pc */
    NTK_SOURCE_COMPILER,      /* of the program, without a line */
    NTK_SOURCE_NO_DEBUG_INFO, /* no instruction of the program has a line, or there is no NEFF */
    NTK_SOURCE_REASON_COUNT
};

struct ntk_source_sums { /* largest int64_t where a sum is larger */
    /* duration_ns adds rows that are cut to whole ns, as tables have them: up to 1 ns per row less
     * than duration_ps, and so maybe less than active. */
    int64_t instruction_count, duration_ns, duration_ps, wait_ns, idle_ps;
    int64_t hbm_read_bytes, hbm_write_bytes, sbuf_read_bytes, sbuf_write_bytes;
    int64_t psum_read_bytes, psum_write_bytes, flops;
    int64_t transfer_bytes; /* of the transfers that these rows began, where they are known */
    int64_t engine_counts[NTK_NTFF_ENGINE_COUNT];
    struct ntk_cover active;
};

/* What ended waits of a line. */
enum ntk_source_block {
    NTK_SOURCE_BLOCK_LINE,         /* instructions and transfers of one entry of lines */
    NTK_SOURCE_BLOCK_NO_CONDITION, /* the instruction waits for no semaphore or event */
    NTK_SOURCE_BLOCK_UNKNOWN,      /* its condition, or who made it true, cannot be read */
};

struct ntk_source_blocker {
    enum ntk_source_block kind;
    uint32_t line; /* LINE: index in lines, which may be one without a file */
    int64_t wait_ns;
};

/* Lines with a file, one of each reason, and the two that are not lines. */
#define NTK_SOURCE_BLOCKERS_MAX (NTK_SOURCE_BLOCKING_LINES_MAX + NTK_SOURCE_REASON_COUNT + 1)

struct ntk_source_line {
    enum ntk_source_reason reason;
    uint32_t file; /* 1 + index in positions->files; 0: reason tells why */
    uint32_t line;
    uint32_t number;      /* in the order of their first rows */
    int64_t rank;         /* by which it is in order */
    const char *function; /* of the first row that is in the kernel tree; NULL: none */
    struct ntk_source_sums sums;
    size_t blocker_count;
    struct ntk_source_blocker blockers[NTK_SOURCE_BLOCKERS_MAX]; /* the longest first */
};

struct ntk_source_loop { /* row i is loop i of the kernel tree */
    struct ntk_source_sums sums, totals;
    int64_t start_ps, end_ps; /* of its rows, inner loops too; only with totals */
    int64_t iteration_count;  /* that have rows */
    int64_t span_sum_ns, span_max_ns;
    uint32_t slowest; /* index in iterations; with iteration_count */
};

struct ntk_source_iteration {                   /* one path of loops with their values */
    const struct ntk_neff_iteration *iteration; /* the first node of this path */
    uint32_t parent;                            /* 1 + index of the iteration around it */
    uint32_t loop;                              /* index in loops */
    struct ntk_source_sums sums, totals;
    int64_t start_ps, end_ps;
};

struct ntk_source_lines {
    const struct ntk_program *program;
    bool has_lines;    /* of any row */
    size_t line_count; /* by wait and duration, the longest first; rows without a line come last */
    struct ntk_source_line *lines;
    size_t loop_count;
    struct ntk_source_loop *loops;
    size_t iteration_count; /* by loop, then by start */
    struct ntk_source_iteration *iterations;
};

/* transfers and dependencies may be NULL: no transfer_bytes, no blockers. */
int ntk_source_lines_create(const struct ntk_program *program,
                            const struct ntk_transfers *transfers,
                            const struct ntk_dependencies *dependencies,
                            struct ntk_source_lines **out_lines);
void ntk_source_lines_destroy(struct ntk_source_lines *lines);

/* The sort keys of lines and loops, the largest first. */
enum ntk_source_order {
    NTK_SOURCE_BY_COST, /* wait and duration together: as they are created */
    NTK_SOURCE_BY_STALL,
    NTK_SOURCE_BY_IDLE,
    NTK_SOURCE_BY_TIME,
    NTK_SOURCE_BY_BYTES, /* read from and written to device memory */
};
int64_t ntk_source_sums_by(const struct ntk_source_sums *sums, enum ntk_source_order order);
/* Puts the lines in another order. 0 or -ENOMEM. */
int ntk_source_lines_sort(struct ntk_source_lines *lines, enum ntk_source_order order);

/* "runtime", "compiler", "no_debug_info"; NULL for a line. */
const char *ntk_source_reason_name(enum ntk_source_reason reason);
/* "runtime", "no_condition", "unknown" ...; NULL: the blocker is a line with a file. */
const char *ntk_source_blocker_reason(const struct ntk_source_lines *lines,
                                      const struct ntk_source_blocker *blocker);
/* Appends the values of an iteration and those around it, from outside: "0,3". */
void ntk_source_values_add(const struct ntk_source_lines *lines, uint32_t iteration,
                           struct ntk_buf *out);
/* Sum of the spans of its iterations over its own: 1 when they do not overlap; 0 without rows. */
double ntk_source_loop_overlap(const struct ntk_source_loop *loop);

/* As tables show it: whole ns, truncated. */
static inline int64_t ntk_source_ns(int64_t ps)
{
    int64_t ns = ps / NTK_TRACE_PS_PER_NS;

    return ns - (ps % NTK_TRACE_PS_PER_NS < 0);
}

#endif
