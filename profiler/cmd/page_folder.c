/* SPDX-License-Identifier: MIT */
/* page_folder - opens a folder of inspections for the page: its processes, their captures and
 * ranks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "profiler/analysis/capture_place.h"
#include "profiler/cmd/cmd_cut.h"
#include "profiler/cmd/page_shown.h"
#include "profiler/output/answers/output_joined.h"
#include "profiler/system/session_find.h"
#include "profiler/trace/long_list.h"
#include "shared/base/fs.h"

/* Limits on processes and bytes of traces; beyond them only ranks are shown: one row each, without
 * loading the traces. */
#define PROCESSES_MAX 64U
#define TRACES_BYTES_MAX (UINT64_C(512) << 20)
#define CAPTURE_FAR_NS (INT64_C(2) * 86400 * 1000000000)

/* Returns true if the NEFF belongs to the capture; errors are reported later. */
static bool fits(const char *path, const struct ntk_neff *neff)
{
    struct ntk_ntff *ntff = NULL;
    bool is_of_another = false;

    if (neff && ntk_ntff_open(path, &ntff, NULL) == 0) {
        is_of_another = ntk_ntff_check_neff(ntff, neff->header.uuid, NULL) == -ENOEXEC;
        ntk_ntff_close(ntff);
    }
    return !is_of_another;
}

/* Adds the selected part of a capture in a folder, at the time of its execution. */
static void add_placed(struct ntk_page_shown *shown, const char *path,
                       const struct ntk_system_trace *trace, const struct ntk_system_tables *tables,
                       uint64_t zero_ns)
{
    struct ntk_capture_located at = { .nc = ntk_session_core_of(path) };
    struct ntk_trace_part part = { 0 };

    if (zero_ns) {
        at = ntk_capture_locate(path, trace, tables, &shown->traces);
    }
    uint64_t start_ns = at.start_ns;

    /* A capture days away from the trace does not belong to it; this also avoids an overflow
     * below. */
    if (start_ns && llabs((long long)(start_ns - zero_ns)) >= CAPTURE_FAR_NS) {
        start_ns = 0;
    }
    if ((at.nc != UINT32_MAX && !ntk_cut_has_core(at.nc)) ||
        (start_ns && !ntk_cut_of_placed(&shown->filter, start_ns, &part))) {
        return;
    }
    if (ntk_cut_has_times() && !start_ns) {
        fprintf(stderr, "neuron-profile: %s omitted: its position in the trace is unknown\n", path);
        return;
    }
    const struct ntk_profile *profile =
        ntk_page_add_capture(shown, path, shown->options->neff, &part);
    if (profile && start_ns && shown->sources.count) {
        struct ntk_timeline_source *source = ntk_vec_at(&shown->sources, shown->sources.count - 1);
        source->offset_ps =
            (int64_t)(start_ns - zero_ns) * NTK_TRACE_PS_PER_NS + profile->trace->part.from_ps;
    }
}

/* Returns time 0 of the timeline: the first event of all traces, or the start of the window. 0 if
 * there is none. */
static uint64_t find_zero(const struct ntk_page_shown *shown)
{
    uint64_t zero_ns = 0;

    if (shown->filter.from_ns) {
        return shown->filter.from_ns;
    }
    ntk_vec_each(struct ntk_system_trace *, trace, &shown->traces) {
        uint64_t first = (*trace)->span_count ? (*trace)->spans[0].start_ns : 0;
        zero_ns = first && (!zero_ns || first < zero_ns) ? first : zero_ns;
    }
    return zero_ns;
}

static void add_folder(struct ntk_page_shown *shown, const struct ntk_system_trace *trace,
                       const struct ntk_system_tables *tables, const struct ntk_neff *neff,
                       uint64_t zero_ns)
{
    const struct ntk_page_options *options = shown->options;

    if (!options->ignore_system && zero_ns) {
        ntk_page_add_host(shown, trace, zero_ns);
    }
    ntk_vec_each(char *, path, &trace->captures) {
        if (!options->ignore_device && fits(*path, neff)) {
            add_placed(shown, *path, trace, tables, zero_ns);
        }
    }
}

/* Returns true if the processes or their traces exceed the limits. */
static bool is_for_ranks(const struct ntk_vec *paths)
{
    uint64_t bytes = 0;

    ntk_vec_each(char *, path, paths) {
        struct stat status;
        char *file = NULL;

        if (asprintf(&file, "%s/ntrace.pb", *path) >= 0) {
            bytes += stat(file, &status) == 0 ? (uint64_t)status.st_size : 0;
            free(file);
        }
    }
    return paths->count > PROCESSES_MAX || bytes > TRACES_BYTES_MAX;
}

/* Called when the list is complete: returns the text of the page about ranks, and sets a flag if it
 * has rows for them. */
static int ranks_judge(struct ntk_page_shown *shown, const char **out_unknown, struct ntk_err *err)
{
    struct ntk_joined joined = { 0 };
    struct ntk_json json;
    int ret = ntk_rank_list_finish(&shown->ranks);

    *out_unknown = NULL;
    ret = ret ? ret : ntk_analysis_joined_list(&shown->ranks, NULL, &joined);
    if (ret == 0) {
        *out_unknown = joined.unknown;
        shown->has_ranks = !joined.unknown && joined.rank_count > 1;
        ntk_joined_fini(&joined);
    }
    if (shown->has_ranks) {
        ntk_json_init(&json, &shown->joined_json, false);
        ret = ntk_output_joined_list(&shown->ranks, NULL, NULL, &json, NULL);
    }
    return ret < 0 ? ntk_long_list_err_set(err, ret, ntk_fs_temporary_folder()) : 0;
}

/* Opens only the ranks. */
static int open_ranks(struct ntk_page_shown *shown, const struct ntk_vec *paths)
{
    const char *unknown = NULL;
    struct ntk_err err = { 0 };
    int ret = 0;

    if (ntk_cut_is_given()) {
        ret = ntk_cut_of_folders(paths, &shown->filter, &err);
        shown->ranks.filter = &shown->filter;
    }
    ntk_vec_each(char *, path, paths) {
        ret = ret ? ret : ntk_rank_list_add_folder(&shown->ranks, *path, &err);
    }
    ntk_vec_each(char *, warning, &shown->ranks.warnings) {
        fprintf(stderr, "neuron-profile: %s\n", *warning);
        shown->code = 1;
    }
    ret = ret ? ret : ranks_judge(shown, &unknown, &err);
    if (ret == 0 && !shown->has_ranks) {
        ret = ntk_err_set(&err, -ENODATA, NTK_ERR_NO_OFFSET,
                          "%s is too large to show in full, and its ranks cannot be joined: %s; "
                          "pass the folder of one process",
                          shown->options->folder,
                          unknown ? unknown : "requires at least two ranks with collectives");
    }
    if (ret < 0) {
        return ntk_profile_fail(&err);
    }
    ntk_vec_each(const struct ntk_rank_ops, rank, &shown->ranks.ranks) {
        uint64_t begin_ns = rank->begin_ns > 0 ? (uint64_t)rank->begin_ns : 0;
        shown->zero_ns = !shown->zero_ns || begin_ns < shown->zero_ns ? begin_ns : shown->zero_ns;
    }
    fprintf(stderr,
            "neuron-profile: %s has %zu processes or traces of more than %llu MiB: showing only "
            "one row per rank; pass the folder of one process to see its threads\n",
            shown->options->folder, paths->count, (unsigned long long)(TRACES_BYTES_MAX >> 20));
    return 0;
}

/* Adds ranks to the other rows. */
static void add_ranks(struct ntk_page_shown *shown)
{
    const char *unknown = NULL;
    struct ntk_err err = { 0 };
    int ret = 0;

    ntk_vec_each(struct ntk_system_trace *, trace, &shown->traces) {
        ret = ret ? ret : ntk_rank_list_add(&shown->ranks, *trace, &err);
    }
    ret = ret ? ret : ranks_judge(shown, &unknown, &err);
    if (ret < 0) {
        shown->code = ntk_profile_fail(&err);
    }
}

/* Adds all folders; captures are placed by whole traces, which are then cut. */
static void add_folders(struct ntk_page_shown *shown, const struct ntk_neff *neff)
{
    struct ntk_system_trace **traces = shown->traces.items;
    size_t count = shown->traces.count;
    struct ntk_cut_extent extent = { 0 };
    struct ntk_err err = { 0 };

    for (size_t i = 0; i < count; i++) {
        ntk_cut_extent_add(&extent, traces[i]);
    }
    if (count > 0 && ntk_cut_of_traces(&extent, &shown->filter, &err) < 0) {
        shown->code = ntk_profile_fail(&err);
        return;
    }
    struct ntk_system_tables *tables = calloc(count + 1, sizeof *tables);
    int ret = tables ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && ret == 0; i++) {
        ret = ntk_analysis_system_tables(traces[i], &tables[i]);
        ret = ret < 0 ? ret : ntk_span_filter_apply(&shown->filter, traces[i]);
    }
    shown->zero_ns = shown->options->ignore_system ? 0 : find_zero(shown);
    if (ret == 0 && shown->zero_ns) {
        add_ranks(shown);
    }
    for (size_t i = 0; i < count && ret == 0; i++) {
        add_folder(shown, traces[i], &tables[i], neff, shown->zero_ns);
    }
    for (size_t i = 0; i < count && tables; i++) {
        ntk_system_tables_fini(&tables[i]);
    }
    free(tables);
    if (ret < 0) {
        ntk_long_list_err_set(&err, ret, ntk_fs_temporary_folder());
        shown->code = ntk_profile_fail(&err);
    }
}

int ntk_page_open_folder(struct ntk_page_shown *shown)
{
    const struct ntk_page_options *options = shown->options;
    struct ntk_neff *neff = NULL;
    struct ntk_vec paths;
    struct ntk_err err = { 0 };

    if (ntk_session_find(options->folder, &paths, &err) < 0) {
        return ntk_profile_fail(&err);
    }
    if (options->neff && strcmp(options->neff, NTK_PROFILE_NO_NEFF) != 0 &&
        ntk_neff_open(options->neff, &neff, &err) < 0) {
        ntk_session_paths_fini(&paths);
        return ntk_profile_fail(&err);
    }
    if (!options->ignore_system && is_for_ranks(&paths)) {
        int code = open_ranks(shown, &paths);

        ntk_session_paths_fini(&paths);
        ntk_neff_close(neff);
        return code;
    }
    ntk_vec_each(char *, path, &paths) {
        (void)ntk_page_add_trace(shown, *path);
    }
    add_folders(shown, neff);
    ntk_session_paths_fini(&paths);
    ntk_neff_close(neff);
    if (shown->sources.count + shown->hosts.count == 0 && shown->code == 0) {
        ntk_err_set(&err, -ENOENT, NTK_ERR_NO_OFFSET, "%s has no contents to show",
                    options->folder);
        return ntk_profile_fail(&err);
    }
    return shown->sources.count + shown->hosts.count == 0;
}
