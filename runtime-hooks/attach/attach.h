/* SPDX-License-Identifier: MIT */
/*
 * attach - observes running jobs through the vendor's libnrt, without changing them.
 *
 * Kernel probes (uprobes, set through libbpf) trace the exports of the libnrt.so.1 that a process
 * has mapped. For each process a child reads their events and writes the process's segment on its
 * behalf (NTK_PROCESS_ATTACHED), so readers see it like any other segment. The job is neither
 * stopped nor written to, and its slowdown is bounded; when the writer exits for any reason, the
 * kernel removes the probes.
 *
 * Needs root, or CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE. Programs built without libbpf or without
 * a BPF compiler have the same functions, which only report that.
 */
#ifndef NTK_RUNTIME_HOOKS_ATTACH_ATTACH_H
#define NTK_RUNTIME_HOOKS_ATTACH_ATTACH_H

#include "shared/base/child.h"
#include "shared/base/err.h"

/* Runs the command "neuron-monitor attach"; argv[0] is the command's name. Returns the exit
 * code. */
int ntk_attach_main(int argc, char **argv);

/* Same, for all processes, in a child that exits with the caller. Its output goes to stderr. */
int ntk_attach_child_start(struct ntk_child_tied *out_child, struct ntk_err *err);

#endif
