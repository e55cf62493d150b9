/* SPDX-License-Identifier: MIT */
/*
 * attach_writer - observes one attached process: a child of this program that sets the probes and
 * writes the segment until one of the two exits.
 */
#ifndef NTK_RUNTIME_HOOKS_ATTACH_ATTACH_WRITER_H
#define NTK_RUNTIME_HOOKS_ATTACH_ATTACH_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime-hooks/attach/attach_cost.h"
#include "runtime-hooks/attach/attach_process.h"

struct ntk_attach_options {
    uint64_t cost_ns[NTK_ATTACH_FIRST_COUNT]; /* see attach_cost.h */
    /* Maximum share of time that observing executions may cost; 0: executions are not observed. */
    double cost_max;
    uint32_t ring_bytes;
};

/* Exit codes of the child. */
enum ntk_attach_end {
    NTK_ATTACH_OVER = 0,   /* the process exited, or the child was stopped */
    NTK_ATTACH_FAILED = 1, /* failed, with a message */
    NTK_ATTACH_HOOKED = 3, /* the process writes a segment itself */
    NTK_ATTACH_TAKEN = 4   /* another program is attached to the process */
};

/* Runs until SIGINT or SIGTERM, or until the process exits. */
enum ntk_attach_end ntk_attach_writer_run(struct ntk_attach_process *process,
                                          const struct ntk_attach_options *options);

#endif
