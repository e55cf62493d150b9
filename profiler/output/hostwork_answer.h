/* SPDX-License-Identifier: MIT */
/* hostwork_answer - describes the common input of all outputs about idle time. */
#ifndef NTK_PROFILER_OUTPUT_HOSTWORK_ANSWER_H
#define NTK_PROFILER_OUTPUT_HOSTWORK_ANSWER_H

#include "shared/hostwork/hostwork.h"

/* An observed process. */
struct ntk_hostwork_answer {
    uint32_t pid;
    const char *command;
    const char *reason; /* reason why the coarse method was used; "" if it was not */
    const struct ntk_host_records *records;
    const struct ntk_host_result *result;
};

#endif
