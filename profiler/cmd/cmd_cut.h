/* SPDX-License-Identifier: MIT */
/*
 * cmd_cut - implements --from, --to, --execution and --core: the requested part of a capture or of
 * a system trace.
 *
 * A subcommand lists NTK_CUT_OPTIONS in its options; all files that it opens are then cut.
 * Threads: the options belong to the process.
 */
#ifndef NTK_PROFILER_CMD_CMD_CUT_H
#define NTK_PROFILER_CMD_CMD_CUT_H

#include "profiler/system/span_filter.h"
#include "profiler/trace/trace.h"
#include "shared/base/opt.h"

extern int (*const ntk_cut_on_from)(const char *value, struct ntk_err *err);
extern int (*const ntk_cut_on_to)(const char *value, struct ntk_err *err);
extern int (*const ntk_cut_on_execution)(const char *value, struct ntk_err *err);
extern int (*const ntk_cut_on_core)(const char *value, struct ntk_err *err);

#define NTK_CUT_FROM "begin at TIME after the start, such as 1.5ms; a plain number is in seconds"
#define NTK_CUT_OPTIONS_OF(from_help)                                                        \
    { 0, "from", "TIME", NTK_OPT_CALL, (void *)(uintptr_t)&ntk_cut_on_from, from_help },     \
        { 0, "to", "TIME", NTK_OPT_CALL, (void *)(uintptr_t)&ntk_cut_on_to, "end at TIME" }, \
        { 0,                                                                                 \
          "execution",                                                                       \
          "N",                                                                               \
          NTK_OPT_CALL,                                                                      \
          (void *)(uintptr_t)&ntk_cut_on_execution,                                          \
          "show only the Nth execution of the capture, counted from 1" },                    \
    {                                                                                        \
        0, "core", "LIST", NTK_OPT_CALL, (void *)(uintptr_t)&ntk_cut_on_core,                \
            "show only these cores, such as 0,2-4"                                           \
    }
/* Options for a subcommand without -d. */
#define NTK_CUT_OPTIONS_OF_CAPTURES NTK_CUT_OPTIONS_OF(NTK_CUT_FROM)
#define NTK_CUT_OPTIONS NTK_CUT_OPTIONS_OF(NTK_CUT_FROM "; with -d also 2026-11-21T07:30:00Z")

/* Return true if any of the options was given, or if one of the times was given. */
bool ntk_cut_is_given(void);
bool ntk_cut_has_times(void);
/* Returns the option value; NULL if not given. */
const char *ntk_cut_from(void);
const char *ntk_cut_to(void);
const char *ntk_cut_execution(void);
/* Returns the option value; NULL for all. */
const char *ntk_cut_cores(void);
bool ntk_cut_has_core(uint32_t core);

/* Handles a capture, which starts at time 0. -EINVAL: a time is since 1970. */
int ntk_cut_of_capture(struct ntk_trace_part *out_part, struct ntk_err *err);
/* Narrows the part of a capture to its execution. whole: the capture. -ERANGE: it has fewer. */
int ntk_cut_to_execution(const struct ntk_trace *whole, struct ntk_trace_part *part,
                         struct ntk_err *err);
/* Handles a capture with a known start on the host's clock; false: the part is empty. */
bool ntk_cut_of_placed(const struct ntk_span_filter *filter, uint64_t start_ns,
                       struct ntk_trace_part *out_part);
#define NTK_CUT_CORE_MAX 65535U
/* Time range of the events in traces, with cores of the traces and of captures in their folders. */
struct ntk_cut_extent {
    uint64_t first_ns, last_ns; /* zeroed before the first event */
    uint8_t cores[(NTK_CUT_CORE_MAX + 1) / 8];
};
void ntk_cut_extent_add(struct ntk_cut_extent *extent, const struct ntk_system_trace *trace);
/* Computes the window of traces with these events, relative to the first event; an end that
 * excludes nothing is open. -ERANGE: the window excludes all events. -ENOENT: no event belongs to
 * the cores of --core. */
int ntk_cut_of_traces(const struct ntk_cut_extent *extent, struct ntk_span_filter *filter,
                      struct ntk_err *err);
/* Same, for traces in folders; elements are char *. */
int ntk_cut_of_folders(const struct ntk_vec *folders, struct ntk_span_filter *filter,
                       struct ntk_err *err);

#endif
