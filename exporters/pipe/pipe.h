/* SPDX-License-Identifier: MIT */
/*
 * pipe - runs the main loop of a program after "neuron-monitor |": reads reports and passes each to
 * a sink once.
 *
 * The end of the input, SIGINT and SIGTERM stop it normally: the sink may still send its data. A
 * second signal does not wait for this: data that cannot be stored is lost, and the program fails.
 * A line that is not a report is logged; a failing sink is logged once per change of its message.
 *
 * Threads: ntk_pipe_begin() blocks SIGINT and SIGTERM in the calling thread: call it before other
 *          threads start.
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
    /* Borrows the snapshot; must not wait for the network. A failure is logged, and the next report
     * is sent nevertheless. */
    int (*put)(void *ctx, const struct ntk_snapshot *snapshot, struct ntk_err *err);
    /* Called repeatedly after the last report. Returns 1 if everything is sent, 0 to be called
     * again after at most NTK_PIPE_DRAIN_STEP_NS, negative to give up (the program fails with that
     * message). Must not return 0 if in_haste. NULL if there is nothing to send. */
    int (*drain)(void *ctx, bool in_haste, struct ntk_err *err);
    void *ctx;
    /* The first reports precede the response of the instance's metadata service. They wait for the
     * report with the response and also get it, so that names derived from the instance are the
     * same from the first value on. */
    uint64_t instance_wait_ns; /* maximum wait; then they are sent without it. 0: no wait */
    /* for this wait and the steps of the drain; NULL for the system clock */
    const struct ntk_clock *clock;
};

#define NTK_PIPE_INSTANCE_REPORTS 100 /* maximum number of waiting reports */

#define NTK_PIPE_DRAIN_STEP_NS 20000000ULL

/* A program that only reads a pipe. */
struct ntk_opt_program;
struct ntk_pipe_program {
    const struct ntk_opt_program *opt;
    /* Checks options after parsing: returns 0, or the exit code of a usage error. NULL if none. */
    int (*check)(void);
    /* Fills the sink while signals are blocked. Returns 0, or negative with a message. */
    int (*open)(struct ntk_pipe_sink *out_sink, struct ntk_err *err);
    /* Called after open(), even after a failure; ctx belongs to the sink. */
    void (*close)(void *ctx);
};
/* Implements main(), from the command line to the exit code. Reads standard input. */
int ntk_pipe_main(const struct ntk_pipe_program *program, int argc, char **argv);

struct ntk_pipe {
    int signal_fd;
};

/* Makes signals readable instead of fatal; ignores SIGPIPE. Disables core files, because exporters
 * hold keys and passwords. */
int ntk_pipe_begin(struct ntk_pipe *pipe, struct ntk_err *err);
void ntk_pipe_end(struct ntk_pipe *pipe);

/* Reads fd until its end, or until a signal. Returns 0; -ENODATA with a message if fd ended without
 * a report; or the error of drain() or of reading. */
int ntk_pipe_run(struct ntk_pipe *pipe, int fd, const struct ntk_pipe_sink *sink,
                 struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
