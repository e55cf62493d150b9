/* SPDX-License-Identifier: MIT */
/*
 * nrt_request - queues implicit executions and the requests of both forms of the explicit
 * interface.
 *
 * A request holds its model and tensors until it completes.
 *
 * Owner:   the application owns a tracker from create to destroy; this module owns requests.
 * Threads: any, between nrt_front_enter() and nrt_front_leave() unless a comment below differs.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_REQUEST_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_REQUEST_H

#include "runtime-hooks/libnrt/nrt_front.h"
#include "runtime-hooks/libnrt/nrt_queues.h"

struct nrt_cc_context;
struct nrt_tracker; /* an error tracker of the 2.x form */

/* The destination of a request, and the place for its result. */
struct nrt_request_place {
    uint32_t core; /* NTK_CORE_ANY for the core of the tensor */
    enum nrt_queue_unit unit;
    int queue;
    NRT_STATUS *status; /* NULL if unused; written at completion */
    void *tracker;      /* handle of the caller; NULL if none */
    uint64_t *sequence; /* NULL if unused; written immediately */
};

/* For nrt_init() and nrt_close(): open and close need the gate locked for writing, stop does
 * not. */
int nrt_request_open(const struct ntk_core *core, struct ntk_err *err);
void nrt_request_stop(void);
void nrt_request_close(void);
void nrt_request_forget_after_fork(void);

/* Returns true if nrt_execute() only queues. */
bool nrt_request_is_implicit(void);
/* Queues an execution; the registered callback gets its result. */
NRT_STATUS nrt_request_execute_implicit(struct nrt_model *model, struct nrt_set *input,
                                        struct nrt_set *output, int repeat_count);

/* The functions below enter and leave themselves. */
NRT_STATUS nrt_request_write(nrt_tensor_t *tensor, const void *from, uint64_t offset, uint64_t size,
                             const struct nrt_request_place *place);
NRT_STATUS nrt_request_read(void *to, nrt_tensor_t *tensor, uint64_t offset, uint64_t size,
                            const struct nrt_request_place *place);
NRT_STATUS nrt_request_copy(nrt_tensor_t *src, uint64_t src_offset, nrt_tensor_t *dst,
                            uint64_t dst_offset, uint64_t size,
                            const struct nrt_request_place *place);
NRT_STATUS nrt_request_execute(nrt_model_t *model, const nrt_tensor_set_t *input,
                               nrt_tensor_set_t *output, const struct nrt_request_place *place);
/* On success, takes the context and sets *cc_ctx to NULL; otherwise the caller keeps it. */
NRT_STATUS nrt_request_collective(struct nrt_cc_context **cc_ctx,
                                  const struct nrt_request_place *place);
NRT_STATUS nrt_request_is_completed(uint64_t sequence, bool *is_completed);
NRT_STATUS nrt_request_sequence_get(uint32_t core, uint32_t unit, int queue, uint64_t *sequence);
NRT_STATUS nrt_request_watch(uint64_t sequence, int fd);
NRT_STATUS nrt_request_watch_queue(int core, uint32_t unit, int queue, int fd);

NRT_STATUS nrt_request_tracker_create(uint32_t core, void **out_tracker);
void nrt_request_tracker_destroy(void *tracker);
/* list: pairs of uint64_t { sequence, status }. */
NRT_STATUS nrt_request_tracker_list(void *tracker, const uint64_t **list, size_t *count);

#endif
