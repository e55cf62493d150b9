/* SPDX-License-Identifier: MIT */
/*
 * source_lines - computes the cost of each line, loop and iteration of the source: rows, time,
 * waiting, bytes and flops, and the causes of waiting.
 *
 * Times and bytes are sums over the rows of a trace as tables show them (whole ns), so that lines
 * and rows without a line add up to all rows. Engines work in parallel: durations and waits rank
 * lines, but they are not wall-clock time, and waits of queued instructions overlap. idle_ps counts
 * each moment of an engine once: the time that it was idle because an instruction of the line
 * waited (idle_reasons.h). active_ps is wall-clock time: the time covered by the line's spans on
 * all engines and cores, without EVENT_SEMAPHORE. Lines come from the compiler's back end, loops
 * and iterations from the kernel tree (neff_positions.h). A row has one line, and counts in its
 * innermost loop and iteration; their totals include inner ones.
 *
 * Errors:  -errno of a long list, -ENOMEM.
 * Owner:   ntk_source_lines_create() allocates, ntk_source_lines_destroy() frees; the program is
 *          borrowed. Threads: any; immutable after creation.
 */
#ifndef NTK_PROFILER_ANALYSIS_SOURCE_LINES_H
#define NTK_PROFILER_ANALYSIS_SOURCE_LINES_H

#include "profiler/analysis/interval.h"
#include "profiler/analysis/transfers.h"

#define NTK_SOURCE_BLOCKING_LINES_MAX 3

enum ntk_source_reason {
    NTK_SOURCE_HAS_LINE,
    NTK_SOURCE_RUNTIME,       /* not part of the program: has no compiler_pc */
    NTK_SOURCE_COMPILER,      /* part of the program, without a line */
    NTK_SOURCE_NO_DEBUG_INFO, /* no instruction has a line, or the NEFF is missing */
    NTK_SOURCE_REASON_COUNT
};

struct ntk_source_sums { /* sums are limited to the maximum of int64_t */
    /* duration_ns adds rows truncated to whole ns, as in tables: up to 1 ns per row less than
     * duration_ps, so it may be less than active_ps. */
    int64_t instruction_count, duration_ns, duration_ps, wait_ns, idle_ps;
    int64_t hbm_read_bytes, hbm_write_bytes, sbuf_read_bytes, sbuf_write_bytes;
    int64_t psum_read_bytes, psum_write_bytes, flops;
    int64_t transfer_bytes; /* bytes of the transfers that these rows started, if known */
    int64_t engine_counts[NTK_NTFF_ENGINE_COUNT];
    struct ntk_cover active;
};

/* Kinds of causes that ended the waits of a line. */
enum ntk_source_block {
    NTK_SOURCE_BLOCK_LINE,         /* instructions and transfers of one entry of lines */
    NTK_SOURCE_BLOCK_NO_CONDITION, /* the instruction waits for no semaphore or event */
    NTK_SOURCE_BLOCK_UNKNOWN, /* its condition, or the change that satisfied it, is unreadable */
};

struct ntk_source_blocker {
    enum ntk_source_block kind;
    uint32_t line; /* for LINE: index in lines, which may be a line without a file */
    int64_t wait_ns;
};

/* Maximum: lines with a file, one per reason, and the two causes that are not lines. */
#define NTK_SOURCE_BLOCKERS_MAX (NTK_SOURCE_BLOCKING_LINES_MAX + NTK_SOURCE_REASON_COUNT + 1)

struct ntk_source_line {
    enum ntk_source_reason reason;
    uint32_t file; /* 1 + index in positions->files; 0: see reason */
    uint32_t line;
    uint32_t number;      /* number in the order of first rows */
    int64_t rank;         /* sort key */
    const char *function; /* function of the first row in the kernel tree; NULL if none */
    struct ntk_source_sums sums;
    size_t blocker_count;
    struct ntk_source_blocker blockers[NTK_SOURCE_BLOCKERS_MAX]; /* longest waits first */
};

struct ntk_source_loop { /* element i is loop i of the kernel tree */
    struct ntk_source_sums sums, totals;
    int64_t start_ps, end_ps; /* range of its rows, including inner loops; only in totals */
    int64_t iteration_count;  /* number of iterations that have rows */
    int64_t span_sum_ns, span_max_ns;
    uint32_t slowest; /* index in iterations; valid if iteration_count is not 0 */
};

struct ntk_source_iteration {                   /* a path of loops with their values */
    const struct ntk_neff_iteration *iteration; /* first node with this path */
    uint32_t parent;                            /* 1 + index of the enclosing iteration */
    uint32_t loop;                              /* index in loops */
    struct ntk_source_sums sums, totals;
    int64_t start_ps, end_ps;
};

struct ntk_source_lines {
    const struct ntk_program *program;
    bool has_lines; /* true if any row has a line */
    /* Number of waits in idle_ps that are longer than a record can count: wait_ns of their lines is
     * too small. */
    uint64_t long_wait_count;
    /* lines are sorted by descending wait and duration; rows without a line are last */
    size_t line_count;
    struct ntk_source_line *lines;
    size_t loop_count;
    struct ntk_source_loop *loops;
    size_t iteration_count; /* iterations are sorted by loop, then by start */
    struct ntk_source_iteration *iterations;
};

/* If transfers or dependencies is NULL, transfer_bytes or blockers are absent. */
int ntk_source_lines_create(const struct ntk_program *program,
                            const struct ntk_transfers *transfers,
                            const struct ntk_dependencies *dependencies,
                            struct ntk_source_lines **out_lines);
void ntk_source_lines_destroy(struct ntk_source_lines *lines);

/* Sort keys for lines and loops, all descending. */
enum ntk_source_order {
    NTK_SOURCE_BY_COST, /* wait plus duration: the initial order */
    NTK_SOURCE_BY_STALL,
    NTK_SOURCE_BY_IDLE,
    NTK_SOURCE_BY_TIME,
    NTK_SOURCE_BY_BYTES, /* bytes read from and written to device memory */
};
int64_t ntk_source_sums_by(const struct ntk_source_sums *sums, enum ntk_source_order order);
/* Changes the order of the lines. Returns 0 or -ENOMEM. */
int ntk_source_lines_sort(struct ntk_source_lines *lines, enum ntk_source_order order);

/* Returns "runtime", "compiler" or "no_debug_info"; NULL for a line. */
const char *ntk_source_reason_name(enum ntk_source_reason reason);
/* Returns a reason such as "runtime", "no_condition" or "unknown"; NULL if the blocker is a line
 * with a file. */
const char *ntk_source_blocker_reason(const struct ntk_source_lines *lines,
                                      const struct ntk_source_blocker *blocker);
/* Appends the values of an iteration and its enclosing iterations, outermost first, such as
 * "0,3". */
void ntk_source_values_add(const struct ntk_source_lines *lines, uint32_t iteration,
                           struct ntk_buf *out);
/* Returns the longest wait that a record can count; 0 if the machine is unknown. */
int64_t ntk_source_wait_max_ns(const struct ntk_trace *trace);
/* Returns the sum of the spans of its iterations divided by its own span: 1 if they do not overlap;
 * 0 without rows. */
double ntk_source_loop_overlap(const struct ntk_source_loop *loop);

/* Converts ps as in tables: to whole ns, truncated. */
static inline int64_t ntk_source_ns(int64_t ps)
{
    int64_t ns = ps / NTK_TRACE_PS_PER_NS;

    return ns - (ps % NTK_TRACE_PS_PER_NS < 0);
}

#endif
