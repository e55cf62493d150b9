/* SPDX-License-Identifier: MIT */
/*
 * host_flame - writes host stacks of idle time for flame graphs, as folded lines or a pprof
 * profile. The outermost frames are the process, the thread and the cause.
 */
#ifndef NTK_PROFILER_OUTPUT_TRACES_HOST_FLAME_H
#define NTK_PROFILER_OUTPUT_TRACES_HOST_FLAME_H

#include "profiler/output/hostwork_answer.h"
#include "shared/base/err.h"

/* path "-" means stdout. Returns 0 or -errno with a message. */
int ntk_host_flame_folded(const struct ntk_hostwork_answer *answers, size_t count, const char *path,
                          struct ntk_err *err);
int ntk_host_flame_pprof(const struct ntk_hostwork_answer *answers, size_t count, const char *path,
                         struct ntk_err *err);

#endif
