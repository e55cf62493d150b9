/* SPDX-License-Identifier: MIT */
/*
 * attach - the command: selects processes, and starts a child for each.
 *
 * What happens in a process of any user (its mappings, the files it has mapped) is checked only by
 * children or by this program, never by the agent: a process that makes a check hang blocks no
 * report.
 */
#include "runtime-hooks/attach/attach.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime-hooks/attach/attach_options.h"
#include "runtime-hooks/attach/attach_pace.h"
#include "runtime-hooks/attach/attach_process.h"
#include "runtime-hooks/attach/attach_writer.h"
#include "shared/base/child.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/map.h"
#include "shared/base/str.h"

#define MODULE "attach"
#define SCAN_MS 1000
#define PROCESSES_MAX 65536u
#define CHILDREN_MAX 512u

struct seen {
    uint64_t start_time;
    struct ntk_attach_pace pace;
    uint64_t scan;
    pid_t child; /* 0 if there is none */
};

struct manager {
    struct ntk_attach_arguments arguments;
    struct ntk_attach_options options;
    struct ntk_map processes; /* struct seen by pid */
    uint64_t scan;
    size_t children;
    int signals;
    bool is_any_failed;
};

/* ---- one child ---- */

static void start_child(struct manager *manager, struct ntk_attach_process *process,
                        struct seen *seen)
{
    pid_t pid;

    (void)fflush(stdout);
    pid = ntk_child_fork(SIGTERM); /* when it exits, the kernel removes the probes */
    if (pid == 0) {
        exit((int)ntk_attach_writer_run(process, &manager->options));
    }
    if (pid < 0) {
        ntk_log_warn(MODULE, "cannot start the writer for process %d: %s", (int)process->pid,
                     strerror(errno));
        manager->is_any_failed = true;
        seen->pace.next_ns = NTK_ATTACH_NEVER;
        return;
    }
    seen->child = pid;
    seen->pace.next_ns = NTK_ATTACH_NEVER;
    manager->children++;
}

static void child_ended(struct manager *manager, uint64_t number, struct seen *seen, int status)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : NTK_ATTACH_FAILED;
    int pid = (int)number;

    seen->child = 0;
    manager->children--;
    if (WIFSIGNALED(status)) {
        ntk_log_warn(MODULE, "the writer for process %d was killed by signal %d", pid,
                     WTERMSIG(status));
    }
    if (code == NTK_ATTACH_OVER && manager->arguments.all) {
        /* the process may use another library now: check again */
        seen->pace = (struct ntk_attach_pace){ 0 };
        return;
    }
    if (code == NTK_ATTACH_TAKEN && manager->arguments.all) {
        seen->pace.next_ns = ntk_clock_monotonic_ns() + NTK_ATTACH_TAKEN_NS;
        return;
    }
    if (code != NTK_ATTACH_OVER && !manager->arguments.all) {
        manager->is_any_failed = true;
        if (code == NTK_ATTACH_HOOKED) {
            ntk_log_error(MODULE, "process %d already has hooks", pid);
        } else if (code == NTK_ATTACH_TAKEN) {
            ntk_log_error(MODULE, "another program is attached to process %d", pid);
        }
    }
}

static void reap(struct manager *manager)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        ntk_map_each(entry, &manager->processes) {
            struct seen *seen = entry->value;
            if (seen->child == pid) {
                child_ended(manager, entry->number, seen, status);
                break;
            }
        }
    }
}

/* ---- which processes ---- */

static struct seen *get_seen(struct manager *manager, uint64_t pid)
{
    struct seen *seen = ntk_map_get_number(&manager->processes, pid);

    if (!seen && manager->processes.count < PROCESSES_MAX) {
        seen = calloc(1, sizeof *seen);
        if (seen && ntk_map_put_number(&manager->processes, pid, seen) < 0) {
            free(seen);
            seen = NULL;
        }
    }
    return seen;
}

static void look_at(struct manager *manager, pid_t pid, struct seen *seen, uint64_t now_ns)
{
    struct ntk_attach_process process = { .pid = pid };
    uint64_t start_time;

    if (seen->child != 0 || now_ns < seen->pace.next_ns || manager->children >= CHILDREN_MAX) {
        return;
    }
    start_time = ntk_attach_process_start_time(pid);
    if (start_time != seen->start_time) {
        *seen = (struct seen){ .start_time = start_time, .scan = seen->scan };
    }
    process.start_time = start_time;
    if (ntk_attach_process_read_maps(&process) == 0 && process.library_count > 0) {
        if (!process.has_own_segment && ntk_attach_process_read(&process) == 0) {
            start_child(manager, &process, seen);
            return;
        }
        /* The process's hooks may belong to another library that was closed before the vendor's is
         * used, so check again, but rarely. */
    }
    ntk_attach_pace_put_off(&seen->pace, now_ns);
}

static void forget_ended(struct manager *manager)
{
    for (size_t i = manager->processes.count; i-- > 0;) {
        const struct seen *seen = manager->processes.entries[i].value;
        if (seen->scan != manager->scan && seen->child == 0) {
            free(ntk_map_remove_number(&manager->processes, manager->processes.entries[i].number));
        }
    }
}

static void scan(struct manager *manager)
{
    uint64_t now_ns = ntk_clock_monotonic_ns();
    DIR *folder = opendir("/proc");
    const struct dirent *entry;
    uint64_t pid;

    manager->scan++;
    while (folder && (entry = readdir(folder)) != NULL) {
        if (ntk_str_parse_u64(entry->d_name, &pid) < 0 || (pid_t)pid == getpid()) {
            continue;
        }
        struct seen *seen = get_seen(manager, pid);
        if (seen) {
            seen->scan = manager->scan;
            look_at(manager, (pid_t)pid, seen, now_ns);
        }
    }
    if (folder) {
        closedir(folder);
        forget_ended(manager);
    }
}

/* Attaches to the processes on the command line; reports failures. */
static void start_given(struct manager *manager)
{
    for (int i = 0; i < manager->arguments.pid_count; i++) {
        struct ntk_attach_process process = { .pid = (pid_t)strtoul(manager->arguments.pids[i],
                                                                    NULL, 10) };
        int ret = ntk_attach_process_read(&process);
        const char *why = ret == -EACCES               ? "permission denied for its memory mappings"
                          : ret < 0                    ? "no such process"
                          : process.has_own_segment    ? "the process already has hooks"
                          : process.library_count == 0 ? "the process has no libnrt.so.1 mapped"
                                                       : NULL;
        struct seen *seen = why ? NULL : get_seen(manager, (uint64_t)process.pid);

        if (seen && seen->child == 0) {
            start_child(manager, &process, seen);
        } else if (!seen) {
            ntk_log_error(MODULE, "cannot attach to process %d: %s", (int)process.pid,
                          why ? why : "out of memory");
            manager->is_any_failed = true;
        }
    }
}

/* ---- permission and cost ---- */

struct trial {
    int code;
    uint64_t cost_ns[NTK_ATTACH_FIRST_COUNT];
    struct ntk_err err;
};

/* Measures in a child, so that nothing remains in this process. */
static int try_out(uint64_t out_cost_ns[NTK_ATTACH_FIRST_COUNT], struct ntk_err *err)
{
    struct trial trial = { .code = -EIO };
    int ends[2];
    ssize_t got;
    pid_t pid;

    if (pipe(ends) < 0 || (pid = ntk_child_fork(SIGTERM)) < 0) {
        return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot start a process: %s",
                           strerror(errno));
    }
    if (pid == 0) {
        trial.code = ntk_attach_cost_measure(trial.cost_ns, &trial.err);
        got = write(ends[1], &trial, sizeof trial);
        _exit(got == (ssize_t)sizeof trial ? 0 : 1);
    }
    close(ends[1]);
    do {
        got = read(ends[0], &trial, sizeof trial);
    } while (got < 0 && errno == EINTR);
    close(ends[0]);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    if (got != (ssize_t)sizeof trial || trial.code < 0) {
        return ntk_err_set(err, trial.code, NTK_ERR_NO_OFFSET, "%s",
                           got == (ssize_t)sizeof trial ? trial.err.text : "the test probe failed");
    }
    memcpy(out_cost_ns, trial.cost_ns, sizeof trial.cost_ns);
    return 0;
}

/* ---- the command ---- */

static int catch_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Returns true if a signal requests a stop. */
static bool take_signals(struct manager *manager)
{
    struct signalfd_siginfo signal;
    bool must_stop = false;

    while (read(manager->signals, &signal, sizeof signal) == (ssize_t)sizeof signal) {
        must_stop = must_stop || signal.ssi_signo != SIGCHLD;
    }
    reap(manager);
    return must_stop;
}

static void end_children(struct manager *manager)
{
    ntk_map_each(entry, &manager->processes) {
        const struct seen *seen = entry->value;
        if (seen->child != 0) {
            (void)kill(seen->child, SIGTERM);
        }
    }
    while (manager->children > 0) {
        struct pollfd ready = { .fd = manager->signals, .events = POLLIN };
        (void)poll(&ready, 1, SCAN_MS);
        (void)take_signals(manager);
    }
}

static void run(struct manager *manager)
{
    struct pollfd ready[] = { { .fd = manager->signals, .events = POLLIN },
                              { .fd = manager->arguments.ends_with_stdin ? STDIN_FILENO : -1 } };
    uint64_t next_ns = 0;

    while (manager->arguments.all || manager->children > 0) {
        uint64_t now_ns = ntk_clock_monotonic_ns();
        if (manager->arguments.all && now_ns >= next_ns) {
            scan(manager);
            next_ns = now_ns + SCAN_MS * NTK_NS_PER_MS;
        }
        (void)poll(ready, sizeof ready / sizeof *ready, SCAN_MS);
        if (take_signals(manager) || ready[1].revents != 0) {
            break;
        }
    }
    end_children(manager);
}

int ntk_attach_main(int argc, char **argv)
{
    struct manager manager = { 0 };
    struct ntk_err err = { 0 };

    ntk_log_set_program("neuron-monitor");
    int ret = ntk_attach_options_parse(argc, argv, &manager.arguments);
    if (ret != 0) {
        return ret - 1;
    }
    manager.signals = catch_signals();
    if (try_out(manager.options.cost_ns, &err) < 0) {
        close(manager.signals);
        return ntk_log_failure(MODULE, &err);
    }
    ntk_log_info(MODULE,
                 "observing one execution costs %llu ns on this machine if the library function "
                 "starts with a push, and %llu ns otherwise",
                 (unsigned long long)manager.options.cost_ns[NTK_ATTACH_FIRST_PUSH],
                 (unsigned long long)manager.options.cost_ns[NTK_ATTACH_FIRST_OTHER]);
    manager.options.cost_max = manager.arguments.cost_percent / 100;
    manager.options.ring_bytes = (uint32_t)manager.arguments.ring_bytes;
    if (!manager.arguments.all) {
        start_given(&manager);
    }
    run(&manager);
    ntk_map_each(entry, &manager.processes) {
        free(entry->value);
    }
    ntk_map_fini(&manager.processes);
    close(manager.signals);
    return manager.is_any_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
