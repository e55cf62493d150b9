/* SPDX-License-Identifier: MIT */
/*
 * attach - watches jobs that run already, through the vendor's libnrt, with nothing put into them.
 *
 * Probes of the kernel (uprobes, set through libbpf) are at the exports of the libnrt.so.1 that a
 * process has mapped. For each process a child of ours reads what they tell and writes the
 * process's segment on its behalf (NTK_PROCESS_ATTACHED), so every reader of segments sees it like
 * any other. The job is not stopped, not written to and not slowed by more than a bound; when the
 * writer ends for any reason, the kernel takes the probes away.
 *
 * Needs root, or CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE. Programs that were built without libbpf
 * or without a compiler for BPF have the same functions, which say so.
 */
#ifndef NTK_RUNTIME_HOOKS_ATTACH_ATTACH_H
#define NTK_RUNTIME_HOOKS_ATTACH_ATTACH_H

#include "shared/base/child.h"
#include "shared/base/err.h"

/* The command "neuron-monitor attach"; argv[0] is its own name. Returns the exit code. */
int ntk_attach_main(int argc, char **argv);

/* That command for all processes, as a child that ends with the caller. Its lines go to stderr. */
int ntk_attach_child_start(struct ntk_child_tied *out_child, struct ntk_err *err);

#endif
