/* SPDX-License-Identifier: MIT */
/* diag_run - manages the processes that run tests, in their parent. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/diag/diag.h"
#include "shared/base/child.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"

/* Interval of checks for jobs that need a core; with a driver, a check reads all processes. */
#define WANTED_MS 1
#define WANTED_DRIVER_MS 50

struct worker {
    pid_t pid; /* 0 if none */
    int fd;
    const struct ntk_diag_work *work;
    uint64_t deadline_ns; /* deadline of the test that started last */
    bool is_in_test;
    bool was_late;
    bool is_given_back;
    struct ntk_diag_result begun;
};

static int worker_start(struct ntk_diag *diag, const struct ntk_diag_work *work,
                        struct worker *worker)
{
    int fds[2];

    if (pipe(fds) < 0) {
        return -errno;
    }
    pid_t pid = ntk_child_fork(SIGKILL); /* so cores are released */
    if (pid < 0) {
        int ret = -errno;

        close(fds[0]);
        close(fds[1]);
        return ret;
    }
    if (pid == 0) {
        close(fds[0]);
        (void)signal(SIGPIPE, SIG_DFL);
        _exit((diag->worker ? diag->worker : ntk_diag_worker)(&diag->plan, work, fds[1]));
    }
    close(fds[1]);
    *worker =
        (struct worker){ .pid = pid,
                         .fd = fds[0],
                         .work = work,
                         .deadline_ns = ntk_clock_now_ns(diag->clock) + diag->plan.timeout_ns };
    return 0;
}

/* Reports a test without a result. */
static void lost_tell(struct ntk_diag *diag, const struct worker *worker, int status)
{
    struct ntk_diag_result result = worker->begun;

    result.verdict = NTK_DIAG_FAIL;
    if (worker->was_late) {
        ntk_diag_say(&result, "no answer within %.0f s: the process was killed",
                     (double)diag->plan.timeout_ns / 1e9);
    } else if (WIFSIGNALED(status)) {
        ntk_diag_say(&result, "the test process was killed by a signal: %s",
                     strsignal(WTERMSIG(status)));
    } else {
        ntk_diag_say(&result, "the test process exited with code %d", WEXITSTATUS(status));
    }
    ntk_diag_add(diag, &result);
}

static void worker_end(struct ntk_diag *diag, struct worker *worker)
{
    int status = 0;

    close(worker->fd);
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR) {
    }
    diag->given_back += worker->is_given_back;
    if (worker->is_in_test && !worker->is_given_back) {
        lost_tell(diag, worker, status);
    }
    worker->pid = 0;
}

static void message_take(struct ntk_diag *diag, struct worker *worker,
                         struct ntk_diag_message *message)
{
    message->result.reason[sizeof message->result.reason - 1] = '\0';
    message->result.part[sizeof message->result.part - 1] = '\0';
    worker->deadline_ns = ntk_clock_now_ns(diag->clock) + diag->plan.timeout_ns;
    switch (message->kind) {
    case NTK_DIAG_BEGINS:
        worker->begun = message->result;
        worker->is_in_test = true;
        break;
    case NTK_DIAG_RESULT:
        worker->is_in_test = false;
        ntk_diag_add(diag, &message->result);
        break;
    case NTK_DIAG_MACHINE:
        worker->is_in_test = false;
        memcpy(diag->machine.runtime, message->machine.runtime, sizeof diag->machine.runtime);
        memcpy(diag->machine.library, message->machine.library, sizeof diag->machine.library);
        diag->machine.is_software = message->machine.is_software;
        diag->machine.core_count = message->machine.core_count;
        break;
    default:
        break;
    }
}

/* Reads a message; returns false if the worker has exited. */
static bool worker_read(struct ntk_diag *diag, struct worker *worker)
{
    struct ntk_diag_message message;
    size_t have = 0;

    while (have < sizeof message) {
        ssize_t got = read(worker->fd, (char *)&message + have, sizeof message - have);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        have += (size_t)got;
    }
    message_take(diag, worker, &message);
    return true;
}

static int wait_ms(const struct ntk_diag *diag, const struct worker *workers, size_t count)
{
    if (diag->is_wanted) {
        return diag->plan.is_software ? WANTED_MS : WANTED_DRIVER_MS;
    }

    uint64_t now_ns = ntk_clock_now_ns(diag->clock);
    uint64_t first_ns = UINT64_MAX;

    for (size_t i = 0; i < count; i++) {
        if (workers[i].pid != 0 && workers[i].deadline_ns < first_ns) {
            first_ns = workers[i].deadline_ns;
        }
    }
    uint64_t left_ns = first_ns > now_ns ? first_ns - now_ns : 0;
    return left_ns < 60 * NTK_NS_PER_SECOND ? (int)(left_ns / NTK_NS_PER_MS) + 1 : 60000;
}

/* Waits for a message from a worker or for a deadline. */
static void workers_attend(struct ntk_diag *diag, struct worker *workers, size_t count)
{
    struct pollfd polls[NTK_DIAG_CORES_MAX];

    for (size_t i = 0; i < count; i++) {
        polls[i] =
            (struct pollfd){ .fd = workers[i].pid != 0 ? workers[i].fd : -1, .events = POLLIN };
    }
    if (poll(polls, count, wait_ms(diag, workers, count)) < 0) {
        return;
    }
    uint64_t now_ns = ntk_clock_now_ns(diag->clock);
    for (size_t i = 0; i < count; i++) {
        if (workers[i].pid == 0) {
            continue;
        }
        if (polls[i].revents != 0) {
            if (!worker_read(diag, &workers[i])) {
                worker_end(diag, &workers[i]);
            }
        } else if (diag->is_wanted && !workers[i].is_given_back &&
                   diag->is_wanted(&diag->plan, workers[i].work->core, (uint32_t)workers[i].pid)) {
            workers[i].is_given_back = true;
            (void)kill(workers[i].pid, SIGKILL);
        } else if (now_ns >= workers[i].deadline_ns && !workers[i].was_late) {
            workers[i].was_late = true;
            (void)kill(workers[i].pid, SIGKILL);
        }
    }
}

void ntk_diag_run(struct ntk_diag *diag, const struct ntk_diag_work *works, size_t count,
                  size_t at_once)
{
    struct worker workers[NTK_DIAG_CORES_MAX] = { { .pid = 0 } };
    size_t slots = at_once < NTK_DIAG_CORES_MAX ? at_once : NTK_DIAG_CORES_MAX;
    size_t next = 0;
    size_t running = 0;

    do {
        running = 0;
        for (size_t i = 0; i < slots; i++) {
            if (workers[i].pid == 0 && next < count) {
                int ret = worker_start(diag, &works[next], &workers[i]);

                if (ret < 0) {
                    struct ntk_diag_result result = ntk_diag_result_make(
                        NTK_DIAG_CORE_TEST, NTK_DIAG_FAIL, -1, (int)works[next].core);

                    ntk_diag_say(&result, "cannot start a process: %s", strerror(-ret));
                    ntk_diag_add(diag, &result);
                }
                next++;
            }
            running += workers[i].pid != 0;
        }
        if (running > 0) {
            workers_attend(diag, workers, slots);
        }
    } while (running > 0 || next < count);
}
