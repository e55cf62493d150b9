/* SPDX-License-Identifier: MIT */
/* workers - starts processes, waits for them, and stops all after the first failure. */
#include "profiler/capture/workers.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shared/base/child.h"

/* Waits one second, so that each worker can report its reason before it is stopped, because a
 * failed worker makes others fail. */
static void let_speak(const pid_t *workers, uint64_t count)
{
    const struct timespec step = { .tv_nsec = 10000000 };

    for (int i = 0; i < 100; i++) {
        bool is_running = false;
        for (uint64_t k = 0; k < count; k++) {
            siginfo_t info = { 0 };
            is_running = is_running || (workers[k] > 0 &&
                                        waitid(P_PID, (id_t)workers[k], &info,
                                               WEXITED | WNOHANG | WNOWAIT) == 0 &&
                                        info.si_pid == 0);
        }
        if (!is_running) {
            return;
        }
        nanosleep(&step, NULL);
    }
}

/* Waits for all workers. After a failure, the others would wait forever, so they are stopped. */
static int wait_all(pid_t *workers, uint64_t count)
{
    int code = 0;
    int status = 0;
    pid_t ended;

    while ((ended = wait(&status)) > 0 || errno == EINTR) {
        bool is_good = ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;

        for (uint64_t i = 0; i < count && ended > 0; i++) {
            workers[i] = workers[i] == ended ? 0 : workers[i];
        }
        if (ended > 0 && !is_good && code == 0) {
            let_speak(workers, count);
        }
        for (uint64_t i = 0; i < count && ended > 0; i++) {
            if (!is_good && code == 0 && workers[i] > 0) {
                (void)kill(workers[i], SIGTERM);
            }
        }
        code = ended > 0 && !is_good ? 1 : code;
    }
    return code;
}

int ntk_workers_run(uint64_t count, ntk_worker *worker, void *ctx, struct ntk_err *err)
{
    pid_t *workers = calloc(count + 1, sizeof *workers);
    int ret = 0;

    if (!workers) {
        return ntk_err_no_memory(err);
    }
    for (uint64_t i = 0; i < count && ret == 0; i++) {
        workers[i] = ntk_child_fork(SIGTERM);
        if (workers[i] == 0) {
            free(workers);
            exit(worker(i, ctx));
        }
        if (workers[i] < 0) {
            workers[i] = 0;
            ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot start worker %llu: %s",
                              (unsigned long long)i, strerror(errno));
            for (uint64_t k = 0; k < i; k++) {
                (void)kill(workers[k], SIGTERM);
            }
        }
    }
    int code = wait_all(workers, count);
    free(workers);
    return ret < 0 ? ret : code;
}
