/* SPDX-License-Identifier: MIT */
/* cmd_page - implements view's timeline page: serves captures to a local browser until stopped. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/analysis/capture_place.h"
#include "profiler/cmd/cmd.h"
#include "profiler/cmd/cmd_cut.h"
#include "profiler/cmd/neff_find.h"
#include "profiler/cmd/page_sql.h"
#include "profiler/output/answers/output_joined.h"
#include "profiler/output/answers/output_system.h"
#include "profiler/system/session_find.h"
#include "profiler/timeline/timeline_html.h"
#include "profiler/timeline/timeline_serve.h"
#include "profiler/trace/long_list.h"
#include "shared/base/fs.h"
#include "shared/base/progress.h"
#include "shared/base/units.h"
#include "shared/base/str.h"

/* Limits on processes and bytes of traces; beyond them only ranks are shown: one row each, without
 * loading the traces. */
#define PROCESSES_MAX 64U
/* with more processes, rows are collapsed at first if ranks have their own */
#define PROCESSES_OPEN_MAX 4U
#define TRACES_BYTES_MAX (UINT64_C(512) << 20)
#define CAPTURE_FAR_NS (INT64_C(2) * 86400 * 1000000000)

static void show_progress(double share, void *ctx)
{
    ntk_progress_show(ctx, share);
}

/* Opens a browser if there is a screen. A missing browser is not a failure, because the address was
 * printed. */
static void open_browser(const char *address)
{
    if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")) {
        return;
    }
    pid_t middle = fork();
    if (middle == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        if (fork() == 0) { /* double fork: no parent has to wait for it */
            (void)setsid();
            int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
            for (int fd = STDIN_FILENO; nothing >= 0 && fd <= STDERR_FILENO; fd++) {
                (void)dup2(nothing, fd);
            }
            execlp("xdg-open", "xdg-open", address, (char *)NULL);
        }
        _exit(0);
    }
    if (middle > 0) {
        (void)waitpid(middle, NULL, 0);
    }
}

/* ---- the shown data -------------------------------------------------------------------------- */

/* All objects that are open while the page is served. */
struct shown {
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

static void shown_init(struct shown *shown, const struct ntk_page_options *options)
{
    *shown = (struct shown){ .options = options };
    (void)ntk_span_filter_set(&shown->filter, ntk_cut_cores(), NULL, NULL, NULL);
    ntk_vec_init(&shown->profiles, sizeof(struct ntk_profile *));
    ntk_vec_init(&shown->sources, sizeof(struct ntk_timeline_source));
    ntk_vec_init(&shown->traces, sizeof(struct ntk_system_trace *));
    ntk_vec_init(&shown->hosts, sizeof(struct ntk_timeline_host));
    ntk_vec_init(&shown->names, sizeof(char *));
    ntk_rank_list_init(&shown->ranks);
    ntk_page_sql_init(&shown->sql);
}

static void shown_fini(struct shown *shown)
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
static const char *keep_name(struct shown *shown, const char *text)
{
    char *name = strdup(text);

    if (!name || ntk_vec_push(&shown->names, &name) < 0) {
        free(name);
        return "";
    }
    return name;
}

static int no_memory(void)
{
    struct ntk_err err = { 0 };

    ntk_err_no_memory(&err);
    return ntk_profile_fail(&err);
}

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

/* Adds the capture, or the part of --from and --to, as a source. Returns its profile, or NULL after
 * printing a message. */
static struct ntk_profile *add_capture(struct shown *shown, const char *path, const char *neff,
                                       const struct ntk_trace_part *part)
{
    struct ntk_profile *profile = calloc(1, sizeof *profile);

    if (!profile) {
        shown->code = no_memory();
        return NULL;
    }
    int code = part ? ntk_profile_open_part(path, neff, part, profile)
                    : ntk_profile_open(path, neff, profile);
    if (code == 0 && ntk_vec_push(&shown->profiles, &profile) < 0) {
        code = ntk_profile_close(profile, no_memory());
    }
    if (code) {
        free(profile);
        shown->code = code == NTK_PROFILE_OUTSIDE ? shown->code : code;
        return NULL;
    }
    struct ntk_timeline_source source = { .trace = profile->trace,
                                          .name = keep_name(shown, ntk_str_base_name(path)) };
    if (ntk_vec_push(&shown->sources, &source) < 0) {
        shown->code = no_memory();
    }
    shown->code = shown->code ? shown->code : profile->is_incomplete;
    return profile;
}

/* Returns the time 0 of the capture on the host clock; 0 if unknown. */
static uint64_t capture_start(const char *path, const struct ntk_system_trace *trace,
                              const struct ntk_system_tables *tables)
{
    struct ntk_ntff *ntff = NULL;
    uint64_t start_ns = 0;

    if (ntk_ntff_open(path, &ntff, NULL) == 0) {
        start_ns = ntk_capture_place(trace, tables, ntff, ntk_session_core_of(path), NULL);
        ntk_ntff_close(ntff);
    }
    return start_ns;
}

/* Adds the selected part of a capture in a folder, at the time of its execution. */
static void add_placed(struct shown *shown, const char *path, const struct ntk_system_trace *trace,
                       const struct ntk_system_tables *tables, uint64_t zero_ns)
{
    uint32_t nc = ntk_session_core_of(path);
    uint64_t start_ns = zero_ns ? capture_start(path, trace, tables) : 0;
    struct ntk_trace_part part = { 0 };

    struct ntk_capture_triggered triggered;
    if (zero_ns && !start_ns &&
        ntk_capture_triggered(path, shown->traces.items, shown->traces.count, &triggered)) {
        start_ns = triggered.start_ns;
        nc = nc == UINT32_MAX ? triggered.nc : nc;
    }

    /* A capture days away from the trace does not belong to it; this also avoids an overflow
     * below. */
    if (start_ns && llabs((long long)(start_ns - zero_ns)) >= CAPTURE_FAR_NS) {
        start_ns = 0;
    }
    if ((nc != UINT32_MAX && !ntk_cut_has_core(nc)) ||
        (start_ns && !ntk_cut_of_placed(&shown->filter, start_ns, &part))) {
        return;
    }
    if (ntk_cut_has_times() && !start_ns) {
        fprintf(stderr, "neuron-profile: %s omitted: its position in the trace is unknown\n", path);
        return;
    }
    const struct ntk_profile *profile = add_capture(shown, path, shown->options->neff, &part);
    if (profile && start_ns && shown->sources.count) {
        struct ntk_timeline_source *source = ntk_vec_at(&shown->sources, shown->sources.count - 1);
        source->offset_ps =
            (int64_t)(start_ns - zero_ns) * NTK_TRACE_PS_PER_NS + profile->trace->part.from_ps;
    }
}

/* Returns NULL without a trace, or if a message was printed. */
static struct ntk_system_trace *add_trace(struct shown *shown, const char *folder)
{
    struct ntk_system_trace *trace = NULL;
    struct ntk_err err = { 0 };

    if (ntk_system_trace_open(folder, &trace, &err) < 0) {
        shown->code = ntk_profile_fail(&err);
        return NULL;
    }
    if (ntk_vec_push(&shown->traces, &trace) < 0) {
        ntk_system_trace_close(trace);
        shown->code = no_memory();
        return NULL;
    }
    ntk_vec_each(char *, warning, &trace->warnings) {
        fprintf(stderr, "neuron-profile: %s\n", *warning);
        shown->code = 1;
    }
    return trace;
}

static void add_host(struct shown *shown, const struct ntk_system_trace *trace, uint64_t zero_ns)
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
        shown->code = no_memory();
    }
}

/* ---- one capture, or two --------------------------------------------------------------------- */

/* Cuts a system trace to the part of the capture; a whole capture keeps all events. */
static bool cut_to(struct ntk_system_trace *of, const struct ntk_trace *trace, uint64_t zero_ns)
{
    struct ntk_span_filter filter;
    uint64_t length_ns = (uint64_t)(trace->part.to_ps - trace->part.from_ps) / NTK_TRACE_PS_PER_NS;

    if (!ntk_cut_has_times() || !trace->is_part) {
        return true;
    }
    (void)ntk_span_filter_set(&filter, NULL, NULL, NULL, NULL);
    filter.from_ns = trace->part.from_ps > 0 ? zero_ns : 0;
    filter.to_ns = trace->part.is_open ? UINT64_MAX : zero_ns + length_ns;
    return ntk_span_filter_apply(&filter, of) == 0;
}

/* Adds the system trace in its folder if it contains the execution. */
static void add_host_of(struct shown *shown, const struct ntk_profile *profile)
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
        access(path, R_OK) == 0 ? add_trace(shown, slash ? folder : ".") : NULL;
    if (trace && ntk_analysis_system_tables(trace, &tables) == 0) {
        uint64_t start_ns = ntk_capture_place(trace, &tables, profile->ntff,
                                              ntk_session_core_of(shown->options->session), NULL);
        if (start_ns) {
            uint64_t zero_ns =
                start_ns + (uint64_t)profile->trace->part.from_ps / NTK_TRACE_PS_PER_NS;
            if (!cut_to(trace, profile->trace, zero_ns)) {
                shown->code = no_memory();
            }
            add_host(shown, trace, zero_ns);
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

static int open_captures(struct shown *shown)
{
    const struct ntk_page_options *options = shown->options;
    const char *first = options->neff;

    /* Names are only useful if both sides have them. */
    if (options->compare && !options->neff && !options->compare_neff &&
        !(has_neff_next_to_it(options->session) && has_neff_next_to_it(options->compare))) {
        first = NTK_PROFILE_NO_NEFF;
    }
    const struct ntk_profile *profile = add_capture(shown, options->session, first, NULL);

    if (profile && options->compare) {
        const char *neff = options->compare_neff ? options->compare_neff : first;
        return add_capture(shown, options->compare, neff, NULL) ? 0 : 1;
    }
    if (profile && !options->ignore_system) {
        add_host_of(shown, profile);
    }
    return profile ? 0 : 1;
}

/* ---- a folder -------------------------------------------------------------------------------- */

/* Returns time 0 of the timeline: the first event of all traces, or the start of the window. 0 if
 * there is none. */
static uint64_t find_zero(const struct shown *shown)
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

static void add_folder(struct shown *shown, const struct ntk_system_trace *trace,
                       const struct ntk_system_tables *tables, const struct ntk_neff *neff,
                       uint64_t zero_ns)
{
    const struct ntk_page_options *options = shown->options;

    if (!options->ignore_system && zero_ns) {
        add_host(shown, trace, zero_ns);
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
static int ranks_judge(struct shown *shown, const char **out_unknown, struct ntk_err *err)
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
static int open_ranks(struct shown *shown, const struct ntk_vec *paths)
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
static void add_ranks(struct shown *shown)
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
static void add_folders(struct shown *shown, const struct ntk_neff *neff)
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

static int open_folder(struct shown *shown)
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
        (void)add_trace(shown, *path);
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

/* ---- serving --------------------------------------------------------------------------------- */

/* Returns the name of the file or folder, even if it is given as "." */
static void title_of(const struct ntk_page_options *options, char *buf, size_t buf_bytes)
{
    const char *path = options->session ? options->session : options->folder;
    assert(path);
    char *whole = realpath(path, NULL);

    (void)ntk_str_copy(buf, buf_bytes, ntk_str_base_name(whole ? whole : path));
    free(whole);
}

/* Fills the inputs of queries. A window of folders is on the host's clock, unlike the window of a
 * capture. */
static int fill_sql(const struct shown *shown, struct ntk_page_sql *sql)
{
    const struct ntk_page_options *options = shown->options;
    const char *neff = options->neff;
    size_t s = 0;
    int ret = 0;

    ntk_vec_each(struct ntk_profile *, profile, &shown->profiles) {
        const struct ntk_timeline_source *source =
            s < shown->sources.count ? ntk_vec_at(&shown->sources, s) : NULL;
        if (source && ret == 0 && !(options->folder && ntk_cut_has_times())) {
            ret = ntk_page_sql_add(sql, options, *profile, source->name, neff);
        }
        neff = options->compare_neff ? options->compare_neff : options->neff;
        s++;
    }
    return ret == 0 && options->folder && shown->traces.count
               ? ntk_page_sql_add_folder(sql, options)
               : ret;
}

static int serve(const struct ntk_timeline *timeline, struct shown *shown)
{
    const struct ntk_page_options *options = shown->options;
    char title[NAME_MAX + 1];
    if (fill_sql(shown, &shown->sql) < 0) {
        return no_memory();
    }
    struct ntk_timeline_serve_options wanted = {
        .ask = { .timeline = timeline,
                 .title = title,
                 .source_text = shown->text,
                 .traces = shown->traces.items,
                 .trace_count = shown->hosts.count ? shown->traces.count : 0,
                 .joined_json = shown->has_ranks ? ntk_buf_text_get(&shown->joined_json) : NULL },
        .view_program = "/proc/self/exe",
        .sql_sources = shown->sql.sources.items,
        .sql_source_count = shown->sql.sources.count,
        .port = (uint16_t)options->port,
    };
    struct ntk_timeline_serve *server = NULL;
    struct ntk_err err = { 0 };
    char address[64];
    sigset_t ends;
    int signal_number = 0;

    title_of(options, title, sizeof title);
    /* The signals are blocked before the server starts threads, so that no thread gets them. */
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    int ret = ntk_timeline_serve_create(&wanted, &server, &err);
    if (ret < 0) {
        return ntk_profile_fail(&err);
    }
    (void)snprintf(address, sizeof address, "http://localhost:%u/",
                   ntk_timeline_serve_port_get(server));
    printf("View profile at %s\nctrl-c to exit\n", address);
    if (fflush(stdout) != 0) {
        ntk_err_set(&err, -errno, NTK_ERR_NO_OFFSET, "cannot write to stdout: %s", strerror(errno));
        ntk_timeline_serve_destroy(server);
        return ntk_profile_fail(&err);
    }
    if (!options->no_open) {
        open_browser(address);
    }
    (void)sigwait(&ends, &signal_number);
    ntk_timeline_serve_destroy(server);
    return 0;
}

/* Reports the parts that did not fit in the file on stderr. */
static void say_omitted(const char *path, const struct ntk_timeline_html_extent *extent)
{
    const struct {
        bool is_omitted;
        const char *text;
    } parts[] = {
        { extent->lacks_positions, "the source lines of slices" },
        { extent->lacks_tensors, "the tensors of slices" },
        { extent->lacks_host, "what the host did" },
    };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].is_omitted) {
            fprintf(stderr,
                    "neuron-profile: %s does not show %s; use a larger --html-size, or "
                    "--output-format page\n",
                    path, parts[i].text);
        }
    }
    if (extent->has_slices && extent->detail_count < extent->slice_count) {
        fprintf(stderr,
                "neuron-profile: %s shows operands, names and waits of %llu of %llu slices; use a "
                "larger --html-size, or --output-format page\n",
                path, (unsigned long long)extent->detail_count,
                (unsigned long long)extent->slice_count);
    }
}

/* Reports that the content exceeds the limit; the page itself has no limit. */
static void say_too_large(const struct ntk_page_options *options)
{
    char size[NTK_UNITS_TEXT_BYTES];
    char limit[NTK_UNITS_TEXT_BYTES];
    struct stat st;

    if (options->output_bytes_max && stat(options->output, &st) == 0 && S_ISREG(st.st_mode) &&
        (uint64_t)st.st_size > options->output_bytes_max) {
        fprintf(stderr,
                "neuron-profile: %s has %s, more than --html-size %s: the page needs that much "
                "without any detail\n",
                options->output, ntk_units_bytes(size, sizeof size, (uint64_t)st.st_size),
                ntk_units_bytes(limit, sizeof limit, options->output_bytes_max));
    }
}

static int write_html(const struct ntk_timeline *timeline, const struct shown *shown)
{
    const struct ntk_page_options *options = shown->options;
    struct ntk_timeline_html_extent extent = { 0 };
    char title[NAME_MAX + 1];
    struct ntk_err err = { 0 };

    title_of(options, title, sizeof title);
    const struct ntk_timeline_html_options wanted = {
        .title = title,
        .path = options->output,
        .bytes_max = options->output_bytes_max,
        .text = shown->text,
        .shows_progress = true,
        .traces = shown->traces.items,
        .trace_count = shown->hosts.count ? shown->traces.count : 0,
        .joined_json = shown->has_ranks ? ntk_buf_text_get(&shown->joined_json) : NULL,
    };
    int ret = ntk_timeline_html_write(timeline, &wanted, &extent, &err);
    if (ret == 0 && strcmp(options->output, "-") == 0 && ferror(stdout)) {
        return 0; /* the reader stopped: nothing was omitted for lack of space */
    }
    if (ret == 0 && !extent.has_slices) {
        char text[NTK_UNITS_TEXT_BYTES];
        uint64_t ns =
            ((UINT64_C(1) << extent.level) + NTK_TRACE_PS_PER_NS - 1) / NTK_TRACE_PS_PER_NS;
        fprintf(stderr,
                "neuron-profile: %s shows no detail below %s where slices are dense; use a larger "
                "--html-size, or --output-format page\n",
                options->output, ntk_units_duration(text, sizeof text, ns));
    }
    if (ret == 0) {
        say_omitted(options->output, &extent);
        say_too_large(options);
    }
    return ret < 0 ? ntk_profile_fail(&err) : 0;
}

/* Opens the source text. If there are several captures, the NEFF of the first one has the build
 * time. */
static int open_text(struct shown *shown)
{
    static const struct ntk_profile none;
    const struct ntk_profile *first =
        shown->profiles.count ? *(struct ntk_profile **)ntk_vec_at(&shown->profiles, 0) : &none;

    return ntk_profile_source_text(first, shown->options->nki_root, shown->options->framework_root,
                                   &shown->text);
}

int ntk_profile_page(const struct ntk_page_options *options)
{
    struct ntk_timeline *timeline = NULL;
    struct ntk_progress progress;
    struct ntk_err err = { 0 };
    struct shown shown;

    assert(options->session || options->folder);
    shown_init(&shown, options);
    int code = options->folder ? open_folder(&shown) : open_captures(&shown);
    if (code == 0) {
        code = open_text(&shown);
    }
    if (code == 0) {
        ntk_progress_begin(&progress, "building the timeline");
        int ret = ntk_timeline_create(
            &(struct ntk_timeline_options){ .sources = shown.sources.items,
                                            .source_count = shown.sources.count,
                                            .compares = options->compare != NULL,
                                            .hosts = shown.hosts.items,
                                            .host_count = shown.hosts.count,
                                            .ranks = shown.has_ranks ? &shown.ranks : NULL,
                                            .ranks_zero_ns = shown.zero_ns,
                                            .progress = show_progress,
                                            .progress_ctx = &progress },
            &timeline, &err);
        ntk_progress_end(&progress);
        code = ret < 0           ? ntk_profile_fail(&err)
               : options->output ? write_html(timeline, &shown)
                                 : serve(timeline, &shown);
    }
    ntk_timeline_destroy(timeline);
    code = code ? code : shown.code;
    shown_fini(&shown);
    return code;
}
