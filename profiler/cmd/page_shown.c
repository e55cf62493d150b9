/* SPDX-License-Identifier: MIT */
/* page_shown - adds captures and traces to the page, and opens one capture, or two. */
#include "profiler/cmd/page_shown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/analysis/capture_place.h"
#include "profiler/cmd/cmd_cut.h"
#include "profiler/cmd/neff_find.h"
#include "profiler/output/answers/output_system.h"
#include "profiler/system/session_find.h"
#include "shared/base/str.h"

/* with more processes, rows are collapsed at first if ranks have their own */
#define PROCESSES_OPEN_MAX 4U

void ntk_page_shown_init(struct ntk_page_shown *shown, const struct ntk_page_options *options)
{
    *shown = (struct ntk_page_shown){ .options = options };
    (void)ntk_span_filter_set(&shown->filter, ntk_cut_cores(), NULL, NULL, NULL);
    ntk_vec_init(&shown->profiles, sizeof(struct ntk_profile *));
    ntk_vec_init(&shown->sources, sizeof(struct ntk_timeline_source));
    ntk_vec_init(&shown->traces, sizeof(struct ntk_system_trace *));
    ntk_vec_init(&shown->hosts, sizeof(struct ntk_timeline_host));
    ntk_vec_init(&shown->names, sizeof(char *));
    ntk_rank_list_init(&shown->ranks);
    ntk_page_sql_init(&shown->sql);
}

void ntk_page_shown_fini(struct ntk_page_shown *shown)
{
    ntk_profile_source_text_close(shown->text);
    ntk_vec_each(struct ntk_profile *, profile, &shown->profiles) {
        (void)ntk_profile_close(*profile, 0);
        free(*profile);
    }
    ntk_vec_each(struct ntk_system_trace *, trace, &shown->traces) {
        ntk_system_trace_close(*trace);
    }
    ntk_vec_each(char *, name, &shown->names) {
        free(*name);
    }
    ntk_vec_fini(&shown->profiles);
    ntk_vec_fini(&shown->sources);
    ntk_vec_fini(&shown->traces);
    ntk_vec_fini(&shown->hosts);
    ntk_vec_fini(&shown->names);
    ntk_rank_list_fini(&shown->ranks);
    ntk_buf_fini(&shown->joined_json);
    ntk_page_sql_fini(&shown->sql);
}

/* Returns a copy that is valid as long as the page is served; "" if out of memory. */
static const char *keep_name(struct ntk_page_shown *shown, const char *text)
{
    char *name = strdup(text);

    if (!name || ntk_vec_push(&shown->names, &name) < 0) {
        free(name);
        return "";
    }
    return name;
}

int ntk_page_no_memory(void)
{
    struct ntk_err err = { 0 };

    ntk_err_no_memory(&err);
    return ntk_profile_fail(&err);
}

struct ntk_profile *ntk_page_add_capture(struct ntk_page_shown *shown, const char *path,
                                         const char *neff, const struct ntk_trace_part *part)
{
    struct ntk_profile *profile = calloc(1, sizeof *profile);

    if (!profile) {
        shown->code = ntk_page_no_memory();
        return NULL;
    }
    int code = part ? ntk_profile_open_part(path, neff, part, profile)
                    : ntk_profile_open(path, neff, profile);
    if (code == 0 && ntk_vec_push(&shown->profiles, &profile) < 0) {
        code = ntk_profile_close(profile, ntk_page_no_memory());
    }
    if (code) {
        free(profile);
        shown->code = code == NTK_PROFILE_OUTSIDE ? shown->code : code;
        return NULL;
    }
    struct ntk_timeline_source source = { .trace = profile->trace,
                                          .name = keep_name(shown, ntk_str_base_name(path)) };
    if (ntk_vec_push(&shown->sources, &source) < 0) {
        shown->code = ntk_page_no_memory();
    }
    shown->code = shown->code ? shown->code : profile->is_incomplete;
    return profile;
}

struct ntk_system_trace *ntk_page_add_trace(struct ntk_page_shown *shown, const char *folder)
{
    struct ntk_system_trace *trace = NULL;
    struct ntk_err err = { 0 };

    if (ntk_system_trace_open(folder, &trace, &err) < 0) {
        shown->code = ntk_profile_fail(&err);
        return NULL;
    }
    if (ntk_vec_push(&shown->traces, &trace) < 0) {
        ntk_system_trace_close(trace);
        shown->code = ntk_page_no_memory();
        return NULL;
    }
    ntk_vec_each(char *, warning, &trace->warnings) {
        fprintf(stderr, "neuron-profile: %s\n", *warning);
        shown->code = 1;
    }
    return trace;
}

void ntk_page_add_host(struct ntk_page_shown *shown, const struct ntk_system_trace *trace,
                       uint64_t zero_ns)
{
    char process[NTK_SYSTEM_PROCESS_BYTES];
    char name[64];
    struct ntk_timeline_host host = { .trace = trace,
                                      .zero_ns = zero_ns,
                                      .is_folded = shown->has_ranks &&
                                                   shown->traces.count > PROCESSES_OPEN_MAX };

    (void)snprintf(name, sizeof name, "Process %s",
                   ntk_output_system_process(trace, process, sizeof process));
    host.name = keep_name(shown, name);
    if (trace->span_count > 0 && ntk_vec_push(&shown->hosts, &host) < 0) {
        shown->code = ntk_page_no_memory();
    }
}

/* ---- one capture, or two ---- */

/* Cuts a system trace to the part of the capture; a whole capture keeps all events. */
static bool cut_to(struct ntk_system_trace *of, const struct ntk_trace *trace, uint64_t zero_ns)
{
    struct ntk_span_filter filter;
    uint64_t length_ns = (uint64_t)(trace->part.to_ps - trace->part.from_ps) / NTK_TRACE_PS_PER_NS;

    if (!ntk_trace_has_window(trace)) {
        return true;
    }
    (void)ntk_span_filter_set(&filter, NULL, NULL, NULL, NULL);
    filter.from_ns = trace->part.from_ps > 0 ? zero_ns : 0;
    filter.to_ns = trace->part.is_open ? UINT64_MAX : zero_ns + length_ns;
    return ntk_span_filter_apply(&filter, of) == 0;
}

/* Adds the system trace in its folder if it contains the execution. */
static void add_host_of(struct ntk_page_shown *shown, const struct ntk_profile *profile)
{
    char *folder = strdup(shown->options->session);
    char *slash = folder ? strrchr(folder, '/') : NULL;
    struct ntk_system_tables tables = { 0 };
    char *path = NULL;

    if (slash) {
        *slash = '\0';
    }
    if (!folder || asprintf(&path, "%s/ntrace.pb", slash ? folder : ".") < 0) {
        free(folder);
        return;
    }
    struct ntk_system_trace *trace =
        access(path, R_OK) == 0 ? ntk_page_add_trace(shown, slash ? folder : ".") : NULL;
    if (trace && ntk_analysis_system_tables(trace, &tables) == 0) {
        uint64_t start_ns = ntk_capture_place(trace, &tables, profile->ntff,
                                              ntk_session_core_of(shown->options->session), NULL);
        if (start_ns) {
            uint64_t zero_ns =
                start_ns + (uint64_t)profile->trace->part.from_ps / NTK_TRACE_PS_PER_NS;
            if (!cut_to(trace, profile->trace, zero_ns)) {
                shown->code = ntk_page_no_memory();
            }
            ntk_page_add_host(shown, trace, zero_ns);
        }
    }
    ntk_system_tables_fini(&tables);
    free(path);
    free(folder);
}

static bool has_neff_next_to_it(const char *path)
{
    struct ntk_ntff *ntff = NULL;
    char *neff = NULL;

    if (ntk_ntff_open(path, &ntff, NULL) == 0) {
        (void)ntk_neff_find(ntff, path, &neff, NULL);
        ntk_ntff_close(ntff);
    }
    free(neff);
    return neff != NULL;
}

int ntk_page_open_captures(struct ntk_page_shown *shown)
{
    const struct ntk_page_options *options = shown->options;
    const char *first = options->neff;

    /* Names are only useful if both sides have them. */
    if (options->compare && !options->neff && !options->compare_neff &&
        !(has_neff_next_to_it(options->session) && has_neff_next_to_it(options->compare))) {
        first = NTK_PROFILE_NO_NEFF;
    }
    const struct ntk_profile *profile = ntk_page_add_capture(shown, options->session, first, NULL);

    if (profile && options->compare) {
        const char *neff = options->compare_neff ? options->compare_neff : first;
        if (ntk_page_add_capture(shown, options->compare, neff, NULL)) {
            return 0;
        }
        if (options->neff && !options->compare_neff) {
            fprintf(stderr, "neuron-profile: if the capture of --compare has a different NEFF, "
                            "pass it with --compare-neff\n");
        }
        return 1;
    }
    if (profile && !options->ignore_system) {
        add_host_of(shown, profile);
    }
    return profile ? 0 : 1;
}
