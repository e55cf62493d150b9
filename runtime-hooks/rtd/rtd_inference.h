/* SPDX-License-Identifier: MIT */
/*
 * rtd_inference - tracks one inference, from the request that posts it to the answer with its
 * result.
 *
 * Owner:   the manager owns inferences; rtd_inference_free() frees an inference without a waiting
 *          client.
 * Threads: the caller holds the manager's lock, except for rtd_inference_run() and _done(), which
 *          take it.
 */
#ifndef NTK_RUNTIME_HOOKS_RTD_RTD_INFERENCE_H
#define NTK_RUNTIME_HOOKS_RTD_RTD_INFERENCE_H

#include "runtime-hooks/rtd/rtd_manager.h"

/* The destination of an output: memory of the client, or bytes kept for the answer. */
struct rtd_output {
    struct rtd_shm *shm;
    uint8_t *bytes;
    uint64_t size;
    char *name; /* in the answer; valid after the model was unloaded */
};

struct rtd_inference {
    struct ntk_core_queue_item item;
    struct rtd_inference *next; /* next inference in the same slot of cookies */
    uint32_t model_id;
    struct rtd_model *model; /* frees the results when the model is freed */
    struct rtd_context *context;
    struct ntk_core_queue *reserved; /* lane in which the caller has to run it; else NULL */
    size_t output_count, output_bytes;
    uint64_t cookie; /* 0 for an inference within one call */
    uint64_t post_ns;
    struct ntk_core_execution_times times;
    struct rtd_wait *waits;  /* waiting calls: the first one gets the result */
    void (*over)(void *ctx); /* called for the waiting stream, which then calls rtd_infer_end() */
    void *over_ctx;
    bool is_abandoned;           /* its stream was closed */
    struct rtd_inference *newer; /* next inference of the model */
    bool has_run;
    bool is_done;     /* complete, and all earlier inferences are done */
    bool is_handed;   /* its result is in an answer that was not yet sent */
    bool is_unwanted; /* no client knows its cookie */
    enum _Nrt__Nerr code;
    char details[NTK_ERR_TEXT_BYTES];
    struct rtd_output outputs[]; /* one per output of the model; their names follow */
};

/* The error that is sent as the answer to a request. */
struct rtd_fault {
    enum _Nrt__Nerr code;
    char text[NTK_ERR_TEXT_BYTES];
};

/* Sets the fault. Returns false. */
bool rtd_fault_set(struct rtd_fault *fault, enum _Nrt__Nerr code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Reads the inputs and passes the inference to a worker, unless it has a reserved lane. wait: the
 * client to answer at the end; NULL: a later call with the cookie, if any. Returns NULL with the
 * reason in fault. */
struct rtd_inference *rtd_inference_post(struct rtd_manager *manager,
                                         const Nrt__InferRequest *asked, struct rtd_wait *wait,
                                         bool has_cookie, struct rtd_fault *fault);
/* Called by a worker: executes the inference, and handles its outputs and successors. */
bool rtd_inference_run(struct ntk_core_queue_item *item, bool is_broken);
void rtd_inference_done(struct ntk_core_queue_item *item);
void rtd_inference_free(struct rtd_inference *inference);

/* Returns the place of a cookie's inference in the table. */
struct rtd_inference **rtd_cookie_slot(struct rtd_manager *manager, uint64_t cookie);
struct rtd_inference *rtd_cookie_find(struct rtd_manager *manager, uint64_t cookie);
void rtd_cookie_remove(struct rtd_inference **at);

/* has_memory: the outputs are in memory of the client. give: function that sends the answer. */
void rtd_inference_answer(struct rtd_inference *inference, struct ntk_rpc_call *call,
                          bool has_memory,
                          void (*give)(struct ntk_rpc_call *call, const ProtobufCMessage *message));
/* Sends the result to a call. asked: request of the collecting call; if NULL, the request of the
 * post is used. */
void rtd_inference_deliver(struct rtd_manager *manager, struct rtd_inference *inference,
                           struct ntk_rpc_call *call, const Nrt__InferWaitRequest *asked);

#endif
