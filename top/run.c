/* SPDX-License-Identifier: MIT */
/* run - handles signals and waiting, and passes snapshots to the model. */
#include "top/run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "top/base/format.h"
#include "top/model/model_graphs.h"
#include "top/model/model_watch.h"
#include "top/process_signal.h"

/* Time from the key press that starts reading latency or usage to the first values, if the next
 * refresh is later. */
#define FIRST_VALUES_NS (500 * NTK_NS_PER_MS)

int ntk_top_run_signals_take(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGQUIT);
    sigaddset(&set, SIGWINCH);
    (void)signal(SIGPIPE, SIG_IGN);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0) {
        return -1;
    }
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* Returns true if a signal requests the end of the program. */
static bool signals_say_end(int signal_fd)
{
    struct signalfd_siginfo info;

    while (read(signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo != SIGWINCH) {
            return true;
        }
    }
    return false;
}

/* Stores the time at which reading latency or usage began. Returns true if it begins now. */
static bool begins(const struct ntk_top_run *run, uint64_t *since_ns, bool is_shown)
{
    if (*since_ns > 0 || (!is_shown && !run->json && !run->csv)) {
        return false;
    }
    *since_ns = ntk_clock_realtime_ns();
    return true;
}

void ntk_top_run_ask_for_more(struct ntk_top_run *run)
{
    struct ntk_top_reads *reads = &run->reads;
    bool latency = begins(run, &reads->latency_ns, ntk_top_model_shows_latency(run->model));
    bool models = begins(run, &reads->models_ns, ntk_top_model_shows_model_latency(run->model));
    bool usage = begins(run, &reads->usage_ns, ntk_top_model_shows_usage(run->model));

    if (latency || models) {
        ntk_top_source_read_latency(run->source, reads->models_ns > 0);
    }
    if (usage) {
        ntk_top_source_read_usage(run->source);
    }
    if (latency || models || usage) {
        uint64_t first_ns = ntk_clock_monotonic_ns() + FIRST_VALUES_NS;

        run->next_ns = first_ns < run->next_ns ? first_ns : run->next_ns;
        /* The next refresh only reads values to compare with; at the start, the first sample
         * did. */
        run->is_next_early = run->is_next_early || (usage && run->model->snapshot);
    }
    if (run->model->wants_events && !run->reads_events) {
        run->reads_events = true;
        run->next_ns = 0; /* immediately */
        ntk_top_source_read_events(run->source);
    }
}

/* Writes the reason why a moment that stays on the screen has dashes: its data was not read yet. */
static void note_unread(const struct ntk_top_run *run, char *text, size_t bytes)
{
    const struct ntk_top_reads *reads = &run->reads;
    uint64_t shown_ns = run->model->snapshot ? run->model->snapshot->realtime_ns : 0;
    const struct {
        uint64_t since_ns;
        bool is_shown;
        bool can_begin;
        const char *name;
    } rows[] = {
        { reads->models_ns, ntk_top_model_shows_model_latency(run->model),
          run->source->ops->read_latency, "latencies" },
        { reads->latency_ns, ntk_top_model_shows_latency(run->model),
          run->source->ops->read_latency, "latencies" },
        { reads->usage_ns, ntk_top_model_shows_usage(run->model), run->source->ops->read_usage,
          "CPU times" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].is_shown && rows[i].can_begin && shown_ns < rows[i].since_ns) {
            size_t length = strlen(text);
            char clock[NTK_TOP_FORMAT_BYTES];

            (void)snprintf(text + length, bytes - length, "; no %s before %s", rows[i].name,
                           ntk_top_format_clock(clock, rows[i].since_ns));
            return;
        }
    }
}

/* Returns a note for requests of the user: the past, a signal. "" if none. */
static const char *person_note(const struct ntk_top_run *run, char *text, size_t bytes)
{
    text[0] = '\0';
    if (run->signalled.pid > 0) {
        size_t count;
        const struct ntk_top_signal_choice *choices = ntk_top_signal_choices(&count);
        int length =
            snprintf(text, bytes, "signal %.20s (%u)?", run->signalled.name, run->signalled.pid);

        for (size_t i = 0; i < count; i++) {
            length += snprintf(text + length, bytes - (size_t)length, " %c:%s", choices[i].key,
                               choices[i].name);
        }
        (void)snprintf(text + length, bytes - (size_t)length, " esc:none");
    } else if (run->is_in_past) {
        uint64_t shown_ns = run->model->snapshot->realtime_ns;
        uint64_t now_ns = ntk_top_past_get(&run->past, run->past.count - 1)->realtime_ns;
        uint64_t ago_ns = now_ns > shown_ns ? now_ns - shown_ns : 0; /* the clock may be set back */
        char clock[16];

        (void)snprintf(text, bytes, "%s, %llu s ago; navigate with [ ] { }, space: now",
                       ntk_top_format_clock(clock, shown_ns),
                       (unsigned long long)(ago_ns / NTK_NS_PER_SECOND));
        note_unread(run, text, bytes);
    } else if (run->is_frozen) {
        (void)snprintf(text, bytes, "frozen");
        note_unread(run, text, bytes);
    }
    return text;
}

void ntk_top_run_set_note(struct ntk_top_run *run)
{
    char text[256];
    const char *note = run->message[0] ? run->message : person_note(run, text, sizeof text);

    ntk_top_model_set_note(run->model, note[0] ? note : ntk_top_source_note(run->source));
}

static void keep(struct ntk_top_run *run, const struct ntk_snapshot *snapshot)
{
    while (ntk_top_past_is_full(&run->past, snapshot)) {
        ntk_top_model_leave(run->model, ntk_top_past_get(&run->past, 0));
        ntk_top_past_drop(&run->past);
    }
    ntk_top_past_add(&run->past, snapshot);
    ntk_memory_expect(ntk_snapshot_bytes(snapshot)); /* of the next one */
}

int ntk_top_run_feed(struct ntk_top_run *run, struct ntk_err *err)
{
    struct ntk_snapshot *snapshot = NULL;
    int ret = ntk_top_source_take(run->source, &snapshot, err);

    /* A source on this machine omits processes that it may not read. */
    run->model->is_partial = run->source->fd < 0 && ntk_top_source_note(run->source)[0];
    if (ret > 0 && run->screen && !run->source->ops->control) {
        keep(run, snapshot);
    }
    if (ret > 0 && run->is_frozen) {
        int status = ntk_top_model_observe(run->model, snapshot, err);

        ret = status < 0 ? status : 0;
    } else if (ret > 0) {
        int status = ntk_top_model_update(run->model, snapshot, err);

        ret = status < 0 ? status : 1;
    }
    ntk_top_run_set_note(run);
    return ret;
}

bool ntk_top_run_take_past(struct ntk_top_run *run, uint64_t longest_ns)
{
    uint64_t begin_ns = ntk_clock_monotonic_ns();
    struct ntk_snapshot *snapshot;

    uint64_t wanted_ns = run->model->view == NTK_TOP_VIEW_GRAPHS ? UINT64_MAX : run->model->past_ns;
    uint64_t shown_ns = run->model->snapshot ? run->model->snapshot->realtime_ns : 0;
    uint64_t since_ns = shown_ns > wanted_ns ? shown_ns - wanted_ns : 0;
    bool has_some = false;

    while (shown_ns > 0 && wanted_ns > 0 &&
           ntk_top_source_before_shown(run->source, since_ns, &snapshot) > 0) {
        /* If out of memory, the graph is shorter. */
        if (ntk_top_model_graphs_take_past(run->model, snapshot) < 0) {
            return false;
        }
        has_some = true;
        if (ntk_clock_monotonic_ns() - begin_ns >= longest_ns) {
            return true;
        }
    }
    return has_some;
}

void ntk_top_run_plan_next(struct ntk_top_run *run)
{
    uint64_t wait_ns = run->delay_ns;

    if (run->is_next_early) {
        run->is_next_early = false;
        wait_ns = wait_ns < FIRST_VALUES_NS ? wait_ns : FIRST_VALUES_NS;
    }
    run->next_ns = ntk_clock_monotonic_ns() + wait_ns;
}

int ntk_top_run_check_first(const struct ntk_top_run *run, bool has_frame, struct ntk_err *err)
{
    const char *note = ntk_top_source_note(run->source);

    return has_frame || run->source->fd < 0 || !note[0]
               ? 0
               : ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "%s", note);
}

int ntk_top_run_wait_until(const struct ntk_top_run *run, uint64_t until_ns, int key_fd,
                           bool *out_key)
{
    uint64_t now_ns = ntk_clock_monotonic_ns();
    uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    struct timespec timeout = { (time_t)(left_ns / NTK_NS_PER_SECOND),
                                (long)(left_ns % NTK_NS_PER_SECOND) };
    struct pollfd fds[] = { { run->signal_fd, POLLIN, 0 },
                            { key_fd, POLLIN, 0 },
                            { run->source->fd, POLLIN, 0 } };

    *out_key = false;
    if (run->has_more_past) {
        timeout = (struct timespec){ 0, 0 };
    }
    if (ppoll(fds, 3, run->source->fd >= 0 && !run->has_more_past ? NULL : &timeout, NULL) < 0) {
        return errno == EINTR;
    }
    if ((fds[0].revents && signals_say_end(run->signal_fd)) ||
        (fds[1].revents & (POLLHUP | POLLERR | POLLNVAL))) {
        return 0;
    }
    *out_key = fds[1].revents != 0;
    return 1;
}
