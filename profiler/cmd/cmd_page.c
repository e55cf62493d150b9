/* SPDX-License-Identifier: MIT */
/* cmd_page - implements view's timeline page: serves captures to a local browser until stopped, or
 * writes them to a file. */
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

#include "profiler/cmd/cmd.h"
#include "profiler/cmd/cmd_cut.h"
#include "profiler/cmd/page_shown.h"
#include "profiler/timeline/timeline_html.h"
#include "profiler/timeline/timeline_serve.h"
#include "shared/base/progress.h"
#include "shared/base/str.h"
#include "shared/base/units.h"

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
static int fill_sql(const struct ntk_page_shown *shown, struct ntk_page_sql *sql)
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

static int serve(const struct ntk_timeline *timeline, struct ntk_page_shown *shown)
{
    const struct ntk_page_options *options = shown->options;
    char title[NAME_MAX + 1];
    if (fill_sql(shown, &shown->sql) < 0) {
        return ntk_page_no_memory();
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
                "even without any detail\n",
                options->output, ntk_units_bytes(size, sizeof size, (uint64_t)st.st_size),
                ntk_units_bytes(limit, sizeof limit, options->output_bytes_max));
    }
}

static int write_html(const struct ntk_timeline *timeline, const struct ntk_page_shown *shown)
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
static int open_text(struct ntk_page_shown *shown)
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
    struct ntk_page_shown shown;

    assert(options->session || options->folder);
    ntk_page_shown_init(&shown, options);
    int code = options->folder ? ntk_page_open_folder(&shown) : ntk_page_open_captures(&shown);
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
    ntk_page_shown_fini(&shown);
    return code;
}
