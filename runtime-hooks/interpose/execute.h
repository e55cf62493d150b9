/* SPDX-License-Identifier: MIT */
/*
 * execute - follows an execution from its call: common code for queued and synchronous executions.
 */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_EXECUTE_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_EXECUTE_H

#include "runtime-hooks/interpose/observe.h"

struct interpose_execution {
    const struct interpose_scope *scope;
    struct ntk_hooks_exec hook;
    const nrt_model_t *handle;
    uint32_t vnc; /* number of the core in the process */
    bool is_open;
    bool is_queued; /* implicit mode, and the call has not returned */
};

/* Returns false if the execution is not reported; the call is then passed on. */
bool interpose_execution_begin(struct interpose_execution *execution, const nrt_model_t *handle);
void interpose_execution_end(struct interpose_execution *execution, NRT_STATUS status);
/* Also runs after an exception or thread cancellation; the result is then unknown. */
void interpose_execution_cleanup(struct interpose_execution *execution);

/* Used after INTERPOSE_SCOPE. */
#define INTERPOSE_EXECUTION              \
    struct interpose_execution execution \
        __attribute__((cleanup(interpose_execution_cleanup))) = { .scope = &scope }

/* In async.c: nrt_execute() only queues; set at attach. */
extern bool interpose_is_implicit;
void interpose_implicit_find(const nrt_version_t *version);

#endif
