/* SPDX-License-Identifier: MIT */
/* cmd_folder - shows folders of inspections, for view and show-session. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/capture_place.h"
#include "profiler/cmd/cmd.h"
#include "profiler/cmd/cmd_cut.h"
#include "profiler/output/answers/output_system.h"
#include "profiler/output/export_to.h"
#include "profiler/system/session_find.h"
#include "profiler/system/span_filter.h"
#include "profiler/trace/long_list.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"

#define EXECUTIONS_SHOWN 20

/* An opened folder with its data. */
struct loaded {
    struct ntk_system_trace *trace;
    struct ntk_system_tables tables;
    struct ntk_vec captures; /* elements are struct ntk_system_capture */
    bool keeps_profiles;
    struct ntk_vec profiles; /* elements are struct ntk_profile, one per capture; else empty */
};

/* Loads a capture; an unreadable one is reported and omitted, and 1 is returned. */
static int capture_load(struct loaded *loaded, const char *path, const char *neff,
                        const struct ntk_span_filter *filter, const struct ntk_vec *traces)
{
    struct ntk_profile profile;
    struct ntk_trace_part part = { 0 };
    struct ntk_capture_located at =
        ntk_capture_locate(path, loaded->trace, &loaded->tables, traces);
    struct ntk_system_capture capture = { .path = path,
                                          .nc = at.nc,
                                          .start_ns = at.start_ns,
                                          .exec_id = at.execution,
                                          .process_id = at.pid,
                                          .is_session = strstr(path, "_session_") != NULL };
    bool is_wanted = capture.nc == UINT32_MAX || ntk_cut_has_core(capture.nc);
    if (!is_wanted || (capture.start_ns && !ntk_cut_of_placed(filter, capture.start_ns, &part))) {
        return 0;
    }
    if (ntk_cut_has_times() && !capture.start_ns) {
        fprintf(stderr, "neuron-profile: %s omitted: its position in the trace is unknown\n", path);
        return 0;
    }
    /* A NEFF adds no information to a table of captures. */
    int code = ntk_profile_open_part(path, loaded->keeps_profiles ? neff : NTK_PROFILE_NO_NEFF,
                                     &part, &profile);

    if (code) {
        return code == NTK_PROFILE_OUTSIDE ? 0 : code;
    }
    if (capture.start_ns) {
        capture.start_ns += (uint64_t)profile.trace->part.from_ps / NTK_TRACE_PS_PER_NS;
    }
    capture.version = profile.ntff->version;
    capture.model_id = profile.ntff->model_id;
    capture.process_id = profile.ntff->process_id ? profile.ntff->process_id : capture.process_id;
    capture.has_window = profile.ntff->has_window;
    capture.window_start_ns = profile.ntff->window_start_ps / 1000;
    capture.window_end_ns = profile.ntff->window_end_ps / 1000;
    capture.has_total = profile.trace->has_total && profile.trace->total_ps > 0;
    capture.total_ns = capture.has_total ? (uint64_t)profile.trace->total_ps / 1000 : 0;
    capture.has_instructions = !profile.trace->is_cut.instructions;
    capture.has_packets = !profile.trace->is_cut.packets;
    for (size_t c = 0; c < profile.trace->core_count; c++) {
        capture.instruction_count += profile.trace->cores[c].instruction_count;
        capture.packet_count += profile.trace->cores[c].packet_count;
    }
    if (ntk_vec_push(&loaded->captures, &capture) < 0) {
        code = 1;
    } else if (loaded->keeps_profiles) {
        if (ntk_vec_push(&loaded->profiles, &profile) == 0) {
            return profile.is_incomplete;
        }
        loaded->captures.count--; /* profiles and captures must have the same indices */
        code = 1;
    }
    return ntk_profile_close(&profile, code);
}

static void loaded_fini(struct loaded *loaded)
{
    ntk_system_tables_fini(&loaded->tables);
    ntk_system_trace_close(loaded->trace);
    ntk_vec_fini(&loaded->captures);
    ntk_vec_each(struct ntk_profile, profile, &loaded->profiles) {
        (void)ntk_profile_close(profile, 0);
    }
    ntk_vec_fini(&loaded->profiles);
}

/* Loads a folder. Returns the exit code, 1 also if a part could not be read; *out_is_there: true
 * if there is data to show. */
static int folder_load(const char *path, const struct ntk_folder_options *options,
                       struct loaded *loaded, bool *out_is_there)
{
    struct ntk_err err = { 0 };
    int code = 0;

    *loaded =
        (struct loaded){ .keeps_profiles = ntk_export_format_find(options->format) &&
                                           ntk_export_format_find(options->format)->is_timeline };
    ntk_vec_init(&loaded->captures, sizeof(struct ntk_system_capture));
    ntk_vec_init(&loaded->profiles, sizeof(struct ntk_profile));
    if (ntk_system_trace_open(path, &loaded->trace, &err) < 0) {
        return ntk_profile_fail(&err);
    }
    ntk_vec_each(char *, warning, &loaded->trace->warnings) {
        fprintf(stderr, "neuron-profile: %s\n", *warning);
        code = 1;
    }
    *out_is_there = true;
    return code;
}

/* Cuts to the selected part: captures are placed by all rows, which are then filtered. Returns the
 * exit code. */
static int folder_cut(struct loaded *loaded, const struct ntk_folder_options *options,
                      const struct ntk_span_filter *filter, const struct ntk_vec *traces)
{
    struct ntk_err err = { 0 };
    int code = 0;

    int ret = ntk_analysis_system_tables(loaded->trace, &loaded->tables);
    if (ret < 0) {
        ntk_long_list_err_set(&err, ret, ntk_fs_temporary_folder());
        return ntk_profile_fail(&err);
    }
    ntk_vec_each(char *, capture, &loaded->trace->captures) {
        if (!options->ignore_device &&
            capture_load(loaded, *capture, options->neff, filter, traces) != 0) {
            code = 1;
        }
    }
    ntk_system_tables_fini(&loaded->tables);
    loaded->tables = (struct ntk_system_tables){ 0 };
    if (options->ignore_system) {
        loaded->trace->span_count = 0;
    }
    ret = ntk_span_filter_apply(filter, loaded->trace);
    ret = ret < 0 ? ret : ntk_analysis_system_tables(loaded->trace, &loaded->tables);
    if (ret < 0) {
        ntk_long_list_err_set(&err, ret, ntk_fs_temporary_folder());
        return ntk_profile_fail(&err);
    }
    return code;
}

static void views_put(const struct ntk_system_view *views, size_t count, const char *format,
                      struct ntk_buf *out)
{
    if (strcmp(format, "summary-json") == 0) {
        ntk_output_system_summary_json(views, count, out);
    } else {
        for (size_t i = 0; i < count; i++) {
            if (i > 0) {
                ntk_buf_add_char(out, '\n');
            }
            ntk_output_system_text(&views[i], EXECUTIONS_SHOWN, out);
        }
    }
}

/* Writes JSON, which is as long as the traces, while it is built. Returns the exit code. */
static int json_write(const struct ntk_system_view *views, size_t count, const char *path)
{
    struct ntk_sink sink;
    struct ntk_err err = { 0 };
    int ret = ntk_sink_open(&sink, path ? path : "-", &err);

    if (ret == 0) {
        ret = ntk_output_system_json(views, count, &sink.buf, &sink);
        ret = ntk_export_finish(&sink, ret, &err);
    }
    return ret < 0 ? ntk_profile_fail(&err) : 0;
}

static int captures_export(const struct loaded *loaded, const struct ntk_system_view *view,
                           bool has_flows, struct ntk_vec *out_captures)
{
    int ret = 0;

    for (size_t i = 0; i < loaded->profiles.count && ret == 0; i++) {
        const struct ntk_profile *profile = ntk_vec_at(&loaded->profiles, i);
        const char *path = view->captures[i].path;
        struct ntk_export_capture capture = { .start_ns = view->captures[i].start_ns };
        ret = ntk_export_create(profile->trace, ntk_str_base_name(path), path, &capture.export);
        if (ret == 0) {
            capture.export->has_flows = has_flows;
        }
        if (ret == 0 && ntk_vec_push(out_captures, &capture) < 0) {
            ntk_export_destroy(capture.export);
            ret = -ENOMEM;
        }
    }
    return ret;
}

/* Exports in a format for other programs. Returns the exit code. */
static int views_export(const struct ntk_folder_options *options, const struct loaded *loaded,
                        const struct ntk_system_view *views, size_t count)
{
    const struct ntk_export_format *format = ntk_export_format_find(options->format);
    const char *path = options->output ? options->output : format->system_path;
    struct ntk_vec captures = NTK_VEC_INIT(struct ntk_export_capture);
    struct ntk_err err = { 0 };
    int ret = 0;

    for (size_t i = 0; i < count && ret == 0; i++) {
        ret = captures_export(&loaded[i], &views[i], options->has_flows, &captures);
    }
    struct ntk_export export = {
        .folders = views,
        .folder_count = count,
        .captures = captures.items,
        .capture_count = captures.count,
        .grouping = options->grouping,
        .has_flows = options->has_flows,
        .profile_name = options->folder,
        .path = options->folder,
    };
    if (ret < 0) {
        ntk_err_no_memory(&err);
    } else {
        ret = options->ask ? options->ask(&export, options->ask_ctx, &err)
                           : format->write(&export, path, &err);
    }
    ntk_vec_each(struct ntk_export_capture, capture, &captures) {
        ntk_export_destroy(capture->export);
    }
    ntk_vec_fini(&captures);
    if (ret < 0) {
        return ntk_profile_fail(&err);
    }
    if (!options->output && !options->ask) {
        printf("neuron-profile: wrote %s\n", path);
    }
    return 0;
}

int ntk_profile_folder(const struct ntk_folder_options *options)
{
    struct ntk_vec traces = NTK_VEC_INIT(struct ntk_system_trace *);
    struct ntk_vec paths;
    struct ntk_buf text = { 0 };
    struct ntk_err err = { 0 };
    bool lacks_memory = false;
    size_t count = 0;
    int code = 0;

    struct ntk_span_filter filter;
    struct ntk_cut_extent extent = { 0 };
    bool is_outside = false;

    if (ntk_span_filter_set(&filter, options->cores ? options->cores : ntk_cut_cores(),
                            options->types, options->instances, &err) < 0) {
        (void)ntk_profile_fail(&err);
        return 2;
    }
    if (ntk_session_find(options->folder, &paths, &err) < 0) {
        return ntk_profile_fail(&err);
    }
    struct loaded *loaded = calloc(paths.count, sizeof *loaded);
    struct ntk_system_view *views = calloc(paths.count, sizeof *views);
    for (size_t i = 0; i < paths.count && loaded && views; i++) {
        bool is_there = false;
        int one = folder_load(*(char **)ntk_vec_at(&paths, i), options, &loaded[count], &is_there);

        code = code ? code : one;
        if (is_there) {
            ntk_cut_extent_add(&extent, loaded[count].trace);
            lacks_memory = ntk_vec_push(&traces, &loaded[count].trace) < 0 || lacks_memory;
            count++;
        }
    }
    if (count > 0 && ntk_cut_of_traces(&extent, &filter, &err) < 0) {
        code = ntk_profile_fail(&err);
        is_outside = true;
    }
    for (size_t i = 0; i < count && !is_outside; i++) {
        int one = folder_cut(&loaded[i], options, &filter, &traces);

        code = code ? code : one;
        if (views) {
            views[i] = (struct ntk_system_view){ loaded[i].trace, &loaded[i].tables,
                                                 loaded[i].captures.items, loaded[i].captures.count,
                                                 options->shows_private };
        }
    }
    text.failed = !loaded || !views || lacks_memory;
    bool is_json = strcmp(options->format, "json") == 0;
    bool is_export = !is_json && ntk_export_format_find(options->format);
    if (count > 0 && !is_json && !is_export && !is_outside) {
        views_put(views, count, options->format, &text);
    }
    if ((count > 0 && !is_outside) || text.failed) {
        int put = text.failed ? ntk_profile_put(&text, options->output)
                  : is_json   ? json_write(views, count, options->output)
                  : is_export ? views_export(options, loaded, views, count)
                              : ntk_profile_put(&text, options->output);

        code = code ? code : put;
    }
    for (size_t i = 0; i < count; i++) {
        loaded_fini(&loaded[i]);
    }
    ntk_vec_fini(&traces);
    free(views);
    free(loaded);
    ntk_buf_fini(&text);
    ntk_session_paths_fini(&paths);
    return code;
}
