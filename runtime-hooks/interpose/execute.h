/* SPDX-License-Identifier: MIT */
/*
 * execute - an execution from its call on: common to queued and synchronous ones.
 */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_EXECUTE_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_EXECUTE_H

#include "runtime-hooks/interpose/observe.h"

struct interpose_execution {
    const struct interpose_scope *scope;
    struct ntk_hooks_exec hook;
    const nrt_model_t *handle;
    uint32_t vnc; /* the core in the process's numbering */
    bool is_open;
    bool is_queued; /* implicit mode, and the call has not returned */
};

/* false: not reported, pass the call on. */
bool interpose_execution_begin(struct interpose_execution *execution, const nrt_model_t *handle);
void interpose_execution_end(struct interpose_execution *execution, NRT_STATUS status);
/* Also after an exception or thread cancellation: its result is then unknown. */
void interpose_execution_cleanup(struct interpose_execution *execution);

/* After INTERPOSE_SCOPE. */
#define INTERPOSE_EXECUTION              \
    struct interpose_execution execution \
        __attribute__((cleanup(interpose_execution_cleanup))) = { .scope = &scope }

/* async.c: nrt_execute only queues; set at attach. */
extern bool interpose_is_implicit;
void interpose_implicit_find(const nrt_version_t *version);

#endif
