/* SPDX-License-Identifier: MIT */
/* hostwork_answer - what every output of idle time starts from. */
#ifndef NTK_PROFILER_OUTPUT_HOSTWORK_ANSWER_H
#define NTK_PROFILER_OUTPUT_HOSTWORK_ANSWER_H

#include "shared/hostwork/hostwork.h"

/* One observed process. */
struct ntk_hostwork_answer {
    uint32_t pid;
    const char *command;
    const char *reason; /* why the method is the coarse one; "" none */
    const struct ntk_host_records *records;
    const struct ntk_host_result *result;
};

#endif
