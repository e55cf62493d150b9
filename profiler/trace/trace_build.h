/* SPDX-License-Identifier: MIT */
/*
 * trace_build - common code for creating the lists of a trace. Only for profiler/trace.
 *
 * Each function reads the sections of one core once, record by record, and puts the results into a
 * sorter; processed pages of the file are returned to the system.
 */
#ifndef NTK_PROFILER_TRACE_TRACE_BUILD_H
#define NTK_PROFILER_TRACE_TRACE_BUILD_H

#include "profiler/trace/sorter.h"
#include "profiler/trace/trace.h"

/* Number of records of a section after which progress is reported and memory is returned. */
#define NTK_TRACE_PIECE_RECORDS ((uint64_t)1 << 16)

struct ntk_trace_window {
    bool is_known;
    int64_t start_ps, end_ps; /* on the file's clock */
};

struct ntk_trace_build {
    struct ntk_trace_options options;
    struct ntk_trace *trace;
    uint64_t records_done, records_total;
    int64_t length_ps;      /* length of the selected window; INT64_MAX if unlimited */
    size_t heap_bytes_left; /* heap memory left for all lists */
    struct ntk_err *err;
};

/* Called after reading the records of a section up to `until`. */
void ntk_trace_build_passed(struct ntk_trace_build *build, const struct ntk_ntff_section *section,
                            uint64_t until);
/* Returns the end of the piece that starts at `from`. */
static inline uint64_t ntk_trace_build_piece_end(const struct ntk_ntff_section *section,
                                                 uint64_t from)
{
    uint64_t left = section->record_count - from;

    return from + (left < NTK_TRACE_PIECE_RECORDS ? left : NTK_TRACE_PIECE_RECORDS);
}

static inline void ntk_trace_build_sorter(const struct ntk_trace_build *build,
                                          struct ntk_sorter *sorter, size_t item_bytes,
                                          ntk_merge_sort_compare *compare)
{
    ntk_sorter_init(sorter, item_bytes, compare, build->options.list_bytes, build->options.folder);
}

/* Finishes a list. */
int ntk_trace_build_finish(struct ntk_trace_build *build, struct ntk_sorter *sorter,
                           size_t item_bytes, struct ntk_sorted *out_sorted);

/* Maximum distance from the start (26 days): times farther away are invalid; within it differences
 * cannot overflow. */
#define NTK_TRACE_TIME_PS_MAX (INT64_C(1) << 61)

static inline bool ntk_trace_is_time(int64_t ps)
{
    return ps >= -NTK_TRACE_TIME_PS_MAX && ps <= NTK_TRACE_TIME_PS_MAX;
}

/* Returns the difference of two times from an untrusted file. */
static inline int64_t ntk_trace_since(int64_t time_ps, int64_t t0_ps)
{
    int64_t difference;

    return __builtin_sub_overflow(time_ps, t0_ps, &difference) ? INT64_MAX : difference;
}

static inline bool ntk_trace_is_inside(const struct ntk_trace_core *core,
                                       const struct ntk_trace_window *window, int64_t time_ps)
{
    return time_ps >= window->start_ps && time_ps <= window->end_ps &&
           ntk_trace_is_time(ntk_trace_since(time_ps, core->t0_ps));
}

/* Returns true if a row is in the selected window; clips it. */
static inline bool ntk_trace_build_clip(const struct ntk_trace_build *build, int64_t *start_ps,
                                        int64_t *end_ps)
{
    if (!build->trace->is_part) {
        return true;
    }
    if (*start_ps >= build->length_ps || *end_ps < 0 || (*end_ps == 0 && *start_ps < 0)) {
        return false;
    }
    *start_ps = *start_ps < 0 ? 0 : *start_ps;
    *end_ps = *end_ps > build->length_ps ? build->length_ps : *end_ps;
    return true;
}

/* Finds the time of the execution, from its instructions if the header does not record it. */
int ntk_trace_find_window(struct ntk_trace_build *build, struct ntk_trace_window *out_window);
/* Fill the lists of the core, after its t0_ps is set. Return 0 or -errno, with a message in
 * build->err. */
int ntk_trace_read_instructions(struct ntk_trace_build *build, struct ntk_trace_core *core,
                                const struct ntk_trace_window *window);
int ntk_trace_read_packets(struct ntk_trace_build *build, struct ntk_trace_core *core,
                           const struct ntk_trace_window *window);
int ntk_trace_read_changes(struct ntk_trace_build *build, struct ntk_trace_core *core,
                           const struct ntk_trace_window *window);

#endif
