/* SPDX-License-Identifier: MIT */
/*
 * pipe - the life of a program after "neuron-monitor |": reports in, each given to a sink once.
 *
 * The end of the input, SIGINT and SIGTERM end it in order: the sink may still send what it holds.
 * A second signal does not wait for that: what cannot be kept for later is lost, and that is a
 * failure. A line that is not a report is one message on stderr and nothing else; the same goes for
 * a sink that fails, once per change of its message.
 *
 * Threads: ntk_pipe_begin() blocks SIGINT and SIGTERM in the calling thread: call it
 *          before other threads start.
 */
#ifndef NTK_EXPORTERS_PIPE_PIPE_H
#define NTK_EXPORTERS_PIPE_PIPE_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/clock.h"
#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_snapshot;

struct ntk_pipe_sink {
    /* Borrows the snapshot; must not wait for the network. A failure is logged and the next report
     * is sent all the same. */
    int (*put)(void *ctx, const struct ntk_snapshot *snapshot, struct ntk_err *err);
    /* Called repeatedly after the last report: 1 when nothing is left to send, 0 when it should be
     * called again after at most NTK_PIPE_DRAIN_STEP_NS, negative when it gave up (the program
     * fails with that message). In haste: not 0. NULL: nothing is ever left. */
    int (*drain)(void *ctx, bool in_haste, struct ntk_err *err);
    void *ctx;
    /* The first reports come before the metadata service of the instance was heard. They wait for
     * the one that has its answer, and get it too, so that what is named after the instance has one
     * name from the first value on. */
    uint64_t instance_wait_ns;     /* at most; then they go without. 0: they do not wait */
    const struct ntk_clock *clock; /* of that and of steps of the drain; NULL: the system's */
};

#define NTK_PIPE_INSTANCE_REPORTS 100 /* wait at most */

#define NTK_PIPE_DRAIN_STEP_NS 20000000ULL

/* A program that is nothing else. */
struct ntk_opt_program;
struct ntk_pipe_program {
    const struct ntk_opt_program *opt;
    /* Checks what parsing cannot: 0, or the exit code of a usage error. NULL: nothing to check. */
    int (*check)(void);
    /* Fills the sink, with signals blocked. 0, or negative with a message. */
    int (*open)(struct ntk_pipe_sink *out_sink, struct ntk_err *err);
    /* After open(), also after a failure; ctx is the sink's. */
    void (*close)(void *ctx);
};
/* From the command line to the exit code: the whole of main(). Reads standard input. */
int ntk_pipe_main(const struct ntk_pipe_program *program, int argc, char **argv);

struct ntk_pipe {
    int signal_fd;
};

/* Signals become readable instead of ending the program; SIGPIPE is ignored. There will be no core
 * file: exporters know keys and passwords. */
int ntk_pipe_begin(struct ntk_pipe *pipe, struct ntk_err *err);
void ntk_pipe_end(struct ntk_pipe *pipe);

/* Reads fd to its end, or until a signal. 0; -ENODATA with a message when fd ended without one
 * report; what drain() or the reading failed with. */
int ntk_pipe_run(struct ntk_pipe *pipe, int fd, const struct ntk_pipe_sink *sink,
                 struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
