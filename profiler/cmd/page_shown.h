/* SPDX-License-Identifier: MIT */
/*
 * page_shown - the captures, traces and ranks that the page shows, open while it is served.
 *
 * Owner:   the caller provides the storage; ntk_page_shown_init() makes it empty and
 *          ntk_page_shown_fini() frees the content. Options are borrowed.
 * Errors:  messages are printed; functions that return a code return the exit code.
 */
#ifndef NTK_PROFILER_CMD_PAGE_SHOWN_H
#define NTK_PROFILER_CMD_PAGE_SHOWN_H

#include "profiler/analysis/joined.h"
#include "profiler/cmd/cmd.h"
#include "profiler/cmd/page_sql.h"
#include "profiler/system/span_filter.h"
#include "profiler/timeline/timeline.h"
#include "shared/base/buf.h"
#include "shared/base/vec.h"

struct ntk_page_shown {
    const struct ntk_page_options *options;
    struct ntk_vec profiles; /* elements are struct ntk_profile * */
    struct ntk_vec sources;  /* elements are struct ntk_timeline_source */
    struct ntk_vec traces;   /* elements are struct ntk_system_trace * */
    struct ntk_vec hosts;    /* elements are struct ntk_timeline_host */
    struct ntk_vec names;    /* elements are char *: names of sources and hosts */
    struct ntk_rank_list ranks;
    bool has_ranks; /* true if ranks can be joined */
    uint64_t zero_ns;
    struct ntk_span_filter filter; /* for the shown part of traces */
    struct ntk_buf joined_json;
    struct ntk_source_text *text; /* text of the source; NULL if none */
    struct ntk_page_sql sql;
    int code; /* exit code: 1 if an input could not be read */
};

void ntk_page_shown_init(struct ntk_page_shown *shown, const struct ntk_page_options *options);
void ntk_page_shown_fini(struct ntk_page_shown *shown);

/* Open the inputs of the options: one capture, or two, with the trace of their folder; or a folder
 * of inspections. */
int ntk_page_open_captures(struct ntk_page_shown *shown);
int ntk_page_open_folder(struct ntk_page_shown *shown);

/* Adds the capture, or the part that the options select, as a source. Returns its profile, or NULL
 * after printing a message. */
struct ntk_profile *ntk_page_add_capture(struct ntk_page_shown *shown, const char *path,
                                         const char *neff, const struct ntk_trace_part *part);
/* Returns NULL without a trace, or if a message was printed. */
struct ntk_system_trace *ntk_page_add_trace(struct ntk_page_shown *shown, const char *folder);
/* Adds the rows of a process. */
void ntk_page_add_host(struct ntk_page_shown *shown, const struct ntk_system_trace *trace,
                       uint64_t zero_ns);
int ntk_page_no_memory(void);

#endif
