/* SPDX-License-Identifier: MIT */
/*
 * rtd_inference - one inference, from the request that posts it to the answer that has its result.
 *
 * Owner:   the manager owns inferences; rtd_inference_free() frees one that no client waits for.
 * Threads: with the manager's lock, but for rtd_inference_run() and _done(), which take it.
 */
#ifndef NTK_RUNTIME_HOOKS_RTD_RTD_INFERENCE_H
#define NTK_RUNTIME_HOOKS_RTD_RTD_INFERENCE_H

#include "runtime-hooks/rtd/rtd_manager.h"

/* Where an output goes: memory of the client, or bytes that are kept for the answer. */
struct rtd_output {
    struct rtd_shm *shm;
    uint8_t *bytes;
};

struct rtd_inference {
    struct ntk_core_queue_item item;
    struct rtd_inference *next; /* of the same slot of cookies */
    uint32_t model_id;
    struct rtd_model *model; /* its results are freed with it */
    struct rtd_context *context;
    struct rtd_output *outputs; /* by output of the model */
    size_t output_count, output_bytes;
    char **output_names; /* for the answer, when the model is gone */
    uint64_t *output_sizes;
    uint64_t cookie; /* 0: of one call */
    uint64_t post_ns;
    struct ntk_core_execution_times times;
    struct rtd_wait *waits;  /* the waiters: the first one gets the result */
    void (*over)(void *ctx); /* of a stream: the waiter, which gives it back with rtd_infer_end() */
    void *over_ctx;
    bool is_abandoned;           /* its stream is gone */
    struct rtd_inference *newer; /* the next one of the model */
    bool has_run;
    bool is_done;     /* and it was its turn */
    bool is_handed;   /* its result is in an answer that has not gone out */
    bool is_unwanted; /* no client knows its cookie */
    enum _Nrt__Nerr code;
    char details[NTK_ERR_TEXT_BYTES];
};

/* What is wrong with a request, as its answer has it. */
struct rtd_fault {
    enum _Nrt__Nerr code;
    char text[NTK_ERR_TEXT_BYTES];
};

/* Returns false. */
bool rtd_fault_set(struct rtd_fault *fault, enum _Nrt__Nerr code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Its inputs are read and a worker has it. wait: the client that is answered when it has ended;
 * NULL: the one that asks with its cookie, if it gets one. NULL when fault gives the reason. */
struct rtd_inference *rtd_inference_post(struct rtd_manager *manager,
                                         const Nrt__InferRequest *asked, struct rtd_wait *wait,
                                         bool has_cookie, struct rtd_fault *fault);
/* For a worker: the execution with its outputs, and what follows. */
bool rtd_inference_run(struct ntk_core_queue_item *item, bool is_broken);
void rtd_inference_done(struct ntk_core_queue_item *item);
void rtd_inference_free(struct rtd_inference *inference);

/* Where the inference of a cookie is, or would be. */
struct rtd_inference **rtd_cookie_slot(struct rtd_manager *manager, uint64_t cookie);
struct rtd_inference *rtd_cookie_find(struct rtd_manager *manager, uint64_t cookie);
void rtd_cookie_remove(struct rtd_inference **at);

/* has_memory: its outputs are in memory of the client. give: how the answer goes out. */
void rtd_inference_answer(struct rtd_inference *inference, struct ntk_rpc_call *call,
                          bool has_memory,
                          void (*give)(struct ntk_rpc_call *call, const ProtobufCMessage *message));
/* The result to a call. asked: by whoever collects; NULL: what the post said counts. */
void rtd_inference_deliver(struct rtd_manager *manager, struct rtd_inference *inference,
                           struct ntk_rpc_call *call, const Nrt__InferWaitRequest *asked);

#endif
