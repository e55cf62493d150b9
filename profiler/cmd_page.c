/* SPDX-License-Identifier: MIT */
/* cmd_page - view's timeline page: captures served to a browser on this machine until it is told to stop. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/cmd.h"
#include "profiler/progress.h"
#include "profiler/timeline/timeline_html.h"
#include "profiler/timeline/timeline_serve.h"

static void show_progress(double share, void *ctx)
{
    ntk_progress_show(ctx, share);
}

/* Only where there is a screen; a browser that cannot be had is no failure, the address was printed. */
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
        if (fork() == 0) { /* nobody's child, so nobody has to wait for it */
            (void)setsid();
            (void)freopen("/dev/null", "r", stdin);
            (void)freopen("/dev/null", "w", stdout);
            (void)freopen("/dev/null", "w", stderr);
            execlp("xdg-open", "xdg-open", address, (char *)NULL);
        }
        _exit(0);
    }
    if (middle > 0) {
        (void)waitpid(middle, NULL, 0);
    }
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int serve(const struct ntk_timeline *timeline, const struct ntk_page_options *options)
{
    struct ntk_timeline_serve *server = NULL;
    struct ntk_err err = { 0 };
    char address[64];
    sigset_t ends;
    int signal_number = 0;

    /* Before the server's threads are there, so that none of them gets the signal. */
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    if (ntk_timeline_serve_create(timeline, base_name(options->session), (uint16_t)options->port,
                                  &server, &err) < 0) {
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

static int write_html(const struct ntk_timeline *timeline, const struct ntk_page_options *options)
{
    struct ntk_err err = { 0 };
    int ret = ntk_timeline_html_write(timeline, base_name(options->session), options->output, &err);

    return ret < 0 ? ntk_profile_fail(&err) : 0;
}

int ntk_profile_page(const struct ntk_page_options *options)
{
    struct ntk_profile profile = { 0 };
    struct ntk_timeline *timeline = NULL;
    struct ntk_progress progress;
    struct ntk_err err = { 0 };
    int code = ntk_profile_open(options->session, options->neff, &profile);

    if (code) {
        return code;
    }
    struct ntk_timeline_source source = { .trace = profile.trace,
                                          .name = base_name(options->session) };
    ntk_progress_begin(&progress, "building the timeline");
    int ret = ntk_timeline_create(&source, 1, show_progress, &progress, &timeline, &err);
    ntk_progress_end(&progress);
    if (ret < 0) {
        code = ntk_profile_fail(&err);
    } else {
        code = options->output ? write_html(timeline, options) : serve(timeline, options);
    }
    ntk_timeline_destroy(timeline);
    code = code ? code : profile.is_incomplete;
    ntk_profile_close(&profile);
    return code;
}
