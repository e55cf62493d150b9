/* SPDX-License-Identifier: MIT */
/*
 * rtd_manager - holds the resources of the daemon's clients: groups of cores, models, inferences,
 * shared memory, sessions.
 *
 * Methods are rows of rtd_methods.def; each is a function in the file for its subject, which
 * answers its call or lets it wait.
 *
 * Owner:   the manager owns groups, models and inferences until their destroy; rtd_wait_end() frees
 *          a wait, and the caller returns shared memory that it has taken.
 * Threads: the manager's lock protects everything below; functions of this header are called with
 *          the lock held unless documented otherwise. Executions and loads run without the lock in
 *          workers of a crew; brief executions run without it in the thread that received the
 *          call. A separate thread frees models, which waits for all of them.
 */
#ifndef NTK_RUNTIME_HOOKS_RTD_RTD_MANAGER_H
#define NTK_RUNTIME_HOOKS_RTD_RTD_MANAGER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime-hooks/core/core.h"
#include "runtime-hooks/core/core_queue.h"
#include "runtime-hooks/rtd/rtd_metrics.h"
#include "runtime-hooks/rtd/rtd_upload.h"
#include "shared/rpc/proto/nmgr.pb-c.h"
#include "shared/rpc/rpc_files.h"
#include "shared/rpc/rpc_server.h"
#include "shared/base/clock.h"
#include "shared/base/err.h"

#define RTD_VERSION "1.6.24.0"
#define RTD_VERSION_MAJOR 1
#define RTD_VERSION_MINOR 6
#define RTD_MODEL_ID_FIRST 10001
#define RTD_NINFER_MAX 1024

/* Defaults of `load`. */
struct rtd_defaults {
    uint32_t timeout_s, ninfer;
    bool io_data_host;
    uint64_t neff_bytes_max;
};

struct rtd_group {
    struct rtd_group *next;
    uint32_t id;
    uint32_t first, count;
    uint64_t session;          /* 0 if none */
    bool is_implicit;          /* created by a load, for its model only */
    bool is_fleeting;          /* removed with its last model */
    uint32_t model_count;      /* number of models that are loaded, loading or unloading */
    struct rtd_model *running; /* the model that is READY or stopping; NULL if none */
};

enum rtd_model_state {
    RTD_MODEL_STANDBY,
    RTD_MODEL_READY,
    RTD_MODEL_STOPPING, /* until its inferences have ended */
    RTD_MODEL_FAILED,
};

/* A call that is answered later. call is NULL if it was closed; no client gets the answer then. */
struct rtd_wait {
    struct rtd_wait *next;
    struct ntk_rpc_call *call;
    /* data for the answer, owned by the code that ends the wait; NULL if none */
    ProtobufCMessage *asked;
};

/* Inputs and outputs of one running inference. */
struct rtd_context {
    struct ntk_core_tensor **tensors; /* by input and output of the model */
    bool is_taken;
};

struct rtd_model {
    struct rtd_model *next;
    uint32_t id;
    struct rtd_manager *manager;
    struct rtd_group *group;
    struct ntk_core_model *core;
    const struct ntk_core_io *ios;
    size_t io_count, input_count;
    size_t name_bytes; /* of the names of all outputs */
    uint32_t ninfer;   /* maximum number of running inferences */
    struct rtd_context *contexts;
    /* Inferences use the lanes in turn, so that a useful number runs in parallel; they end in the
     * order of their posts. */
    struct ntk_core_queue **lanes;
    uint32_t lane_count, next_lane;
    uint64_t run_ns; /* time of the last execution; 0 before the first */
    /* first and last inference that are posted and not finished */
    struct rtd_inference *oldest, *newest;
    pthread_mutex_t unstaging_lock;
    enum rtd_model_state state;
    uint32_t in_flight;
    uint32_t uncollected_count; /* number of inferences that are posted and not collected */
    uint64_t uncollected_bytes;
    uint64_t stop_ns, leave_ns; /* times of the requests to stop and unload */
    void *staging;              /* buffer for an input, with the size of the largest input */
    /* buffer for an output, with the size of the largest output; for the worker that runs the
     * model */
    void *unstaging;
    struct ntk_core_tensor *stages[2]; /* own the memory of these two buffers */
    bool is_leaving;                   /* calls no longer find the model */
    /* inferences that have not started end with NERR_INFER_CANCELLED */
    bool is_cancelled;
    struct rtd_wait *stops, *unloads;
};

struct rtd_shm {
    struct rtd_shm *next;
    char *path;
    int fd;
    uint64_t session;
    uint32_t use_count; /* references of the map and of inferences */
};

struct rtd_session {
    struct rtd_session *next;
    uint64_t id;
};

struct rtd_counts {
    uint64_t errors[NRT__INFER_ERROR_SUBTYPE__INFER_ERROR_SUBTYPE_RT + 1];
    uint64_t statuses[NRT__INFER_STATUS__IST_TIMEOUT + 1];
    uint64_t dropped, inferences;
    uint64_t starts, stops, loads, unloads;
    uint64_t neff_bytes_max, neff_ncs_max;
    uint64_t neff_version_max, neff_version_min; /* major << 32 | minor; 0 if none was loaded */
};

#define RTD_COOKIE_SLOTS 1024

struct rtd_manager {
    pthread_mutex_t lock;
    struct ntk_core *core; /* NULL if it could not be opened; every answer is then NERR_HW_ERROR */
    struct ntk_err why;
    struct rtd_defaults defaults;
    struct rtd_upload_limits upload_limits;
    const char *endpoint;
    uint32_t nc_count, nc_per_device, device_count;
    uint32_t *owner_of_nc; /* id of the group; 0 if free */
    struct rtd_group *groups;
    struct rtd_model *models;
    struct rtd_shm *shms;
    uint32_t shm_count, shm_count_max;
    struct rtd_session *sessions;
    struct rtd_inference *cookies[RTD_COOKIE_SLOTS]; /* inferences that are posted, not collected */
    uint32_t last_group, last_model;
    uint64_t last_session, last_cookie;
    struct rtd_counts counts;
    struct rtd_metrics *metrics;
    uint32_t transfer_adjustment;
    struct ntk_core_crew *crew;
    struct ntk_core_queue *loads;
    struct ntk_core_queue *capture_stops;
    struct rtd_capture *captures;
    char *capture_folder; /* NULL until the first capture */
    uint64_t last_capture;
    /* Models being freed, and the thread that frees them. */
    pthread_t reaper;
    pthread_cond_t reap, reaped;
    struct rtd_model *leaving;
    uint32_t leaving_count;  /* number of these models, including models that are still running */
    struct rtd_wait *drains; /* calls that wait until there are none */
    bool is_ending;
    /* The watchers of health, and the last state sent to them. */
    struct rtd_watcher *watchers;
    pthread_cond_t notified;
    bool is_stopping;
    struct ntk_rpc_files *files; /* definitions of the services */
};

/* Called without the lock. The manager owns core; if it is NULL, why is the message of every
 * answer. */
int rtd_manager_open(struct rtd_manager *manager, struct ntk_core *core, const struct ntk_err *why,
                     const struct rtd_defaults *defaults, struct ntk_err *err);
/* Called without the lock when no calls are left: frees all models and groups. */
void rtd_manager_close(struct rtd_manager *manager);

extern const struct ntk_rpc_method rtd_methods[];

/* ---- answers ---- */

/* Replies to the method with the code and a message; takes no lock. */
void rtd_refuse(struct ntk_rpc_call *call, enum _Nrt__Nerr code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void rtd_good(struct ntk_rpc_call *call);
/* Returns NULL if out of memory; the call was then answered. */
struct rtd_wait *rtd_wait_begin(struct ntk_rpc_call *call);
/* Frees the wait; returns the client to answer, or NULL. */
struct ntk_rpc_call *rtd_wait_end(struct rtd_wait *wait);
/* Called when a call was closed: it will not be answered. */
void rtd_wait_forget(struct ntk_rpc_call *call);
/* Sends the same answer to all calls of a list. */
void rtd_waits_answer(struct rtd_wait **waits, enum _Nrt__Nerr code, const char *details);

/* A resource that its client knows only from an answer. If the answer is lost, the daemon frees the
 * resource. It is noted before the answer, and settled when the call has ended. */
enum rtd_gift_kind {
    RTD_GIFT_NONE,
    RTD_GIFT_GROUP,  /* identified by its id */
    RTD_GIFT_MODEL,  /* identified by its id */
    RTD_GIFT_COOKIE, /* cookie of a posted inference */
    /* result for the cookie: collected if the answer was sent, else it waits again */
    RTD_GIFT_RESULT,
};
void rtd_gift(struct ntk_rpc_call *call, enum rtd_gift_kind kind, uint64_t number);
void rtd_gift_settle(struct rtd_manager *manager, const struct ntk_rpc_call *call);

/* Return the NERR for a core error (-errno) or an outcome. */
enum _Nrt__Nerr rtd_nerr_of_error(int error);
enum _Nrt__Nerr rtd_nerr_of_outcome(enum ntk_core_outcome outcome);
enum _Nrt__InferStatus rtd_status_of_outcome(enum ntk_core_outcome outcome);
enum _Nrt__InferErrorSubtype rtd_subtype_of_outcome(enum ntk_core_outcome outcome);

/* ---- groups ---- */

struct rtd_group *rtd_group_find(struct rtd_manager *manager, uint32_t id);
/* count 0 requests the longest sequence of free cores. Returns NULL without one,
 * or if out of memory; *out_longest is the longest length. */
struct rtd_group *rtd_group_create(struct rtd_manager *manager, uint32_t count, uint64_t session,
                                   uint32_t *out_longest);
void rtd_group_destroy(struct rtd_manager *manager, struct rtd_group *group);
/* Removes a group that no client knows; it stays if it has models. */
void rtd_group_take_back(struct rtd_manager *manager, uint32_t id);

/* ---- models ---- */

struct rtd_model *rtd_model_find(struct rtd_manager *manager, const Nrt__HNn *handle);
/* Returns NERR_OK, or the reason why the model does not start. */
enum _Nrt__Nerr rtd_model_start(struct rtd_model *model);
/* Unloads the model after its inferences have ended; cancels inferences that have not started if
 * requested. */
void rtd_model_leave(struct rtd_model *model, bool cancels);
/* Unloads a model that no client knows. */
void rtd_model_take_back(struct rtd_manager *manager, uint32_t id);
/* Called when one inference of the model has ended. */
void rtd_model_inference_over(struct rtd_model *model);
/* Frees the model with all its parts, even if incomplete. Called without the lock. */
void rtd_model_destroy(struct rtd_model *model);
/* Called when a model of the group was unloaded: a group of a closed session, or for one model, is
 * removed with its last model. */
void rtd_group_left(struct rtd_manager *manager, struct rtd_group *group);
/* Runs in the thread that frees models; ctx is the manager. */
void *rtd_models_reap(void *ctx);

/* ---- inferences ---- */

/* Starts an inference with a callback `over`; rtd_infer_send() sends the answer. Returns NULL with
 * the code and a message. `over` is called with the lock held, and ends the inference now or
 * later. */
struct rtd_inference *rtd_infer_begin(struct rtd_manager *manager, const Nrt__InferRequest *asked,
                                      void (*over)(void *ctx), void *ctx, enum _Nrt__Nerr *out_code,
                                      char out_details[NTK_ERR_TEXT_BYTES]);
/* Returns the memory of its result in bytes, until the inference ends. */
uint64_t rtd_infer_bytes_get(const struct rtd_inference *inference);
void rtd_infer_send(struct rtd_inference *inference, struct ntk_rpc_call *call);
/* Called when no client waits any more; an inference that has not started does not run. */
void rtd_infer_end(struct rtd_inference *inference);
/* Drops an inference that has a cookie no client knows. */
void rtd_infer_take_back(struct rtd_manager *manager, uint64_t cookie);
/* Called when the answer with the result was sent; if it was lost, the inference waits as
 * before. */
void rtd_infer_settle(struct rtd_manager *manager, uint64_t cookie, bool is_lost);
/* Drops the uncollected inferences of the model. */
void rtd_infer_forget(struct rtd_manager *manager, const struct rtd_model *model);

/* ---- captures ---- */

/* Forgets captures of a model that is about to be unloaded. Called without the lock. */
void rtd_captures_forget(struct rtd_manager *manager, uint32_t model_id);
/* Called after the last capture. */
void rtd_captures_close(struct rtd_manager *manager);

/* ---- shared memory ---- */

/* Returns the mapping; NULL with the reason in errno if the memory cannot be mapped. The caller
 * must return it. */
struct rtd_shm *rtd_shm_take(struct rtd_manager *manager, const char *path);
void rtd_shm_give_back(struct rtd_shm *shm);
/* Returns the current size, which its owner may change at any time. */
uint64_t rtd_shm_bytes_get(const struct rtd_shm *shm);
/* Reads from the start, without a lock. Returns false if the memory is shorter, or if the system is
 * out of memory. */
bool rtd_shm_read(const struct rtd_shm *shm, void *to, size_t bytes);
bool rtd_shm_write(const struct rtd_shm *shm, const void *from, size_t bytes);
/* Returns the maximum number of mappings. Each takes a descriptor; raises the limit of the process
 * as far as possible. */
uint32_t rtd_shm_count_max_get(void);
void rtd_shm_forget_session(struct rtd_manager *manager, uint64_t session);
void rtd_shm_forget_all(struct rtd_manager *manager);

/* ---- sessions ---- */

/* Returns true if the session exists; 0 means no session and always exists. */
bool rtd_session_is_known(const struct rtd_manager *manager, uint64_t id);
/* Frees all resources of the session: models, groups without models, mappings. */
void rtd_session_end(struct rtd_manager *manager, uint64_t id);

/* ---- methods ---- */

/* asked: request with the type of the row. */
#define RTD_UNARY(path, symbol, request, reply)                               \
    void rtd_##symbol(struct rtd_manager *manager, struct ntk_rpc_call *call, \
                      const ProtobufCMessage *asked);
#include "runtime-hooks/rtd/rtd_methods.def"
#undef RTD_UNARY

/* Methods with streams: see struct ntk_rpc_method. They take the lock themselves. */
bool rtd_load_message(struct ntk_rpc_call *call, const ProtobufCMessage *message);
void rtd_load_ended(struct ntk_rpc_call *call);
void rtd_load_gone(struct ntk_rpc_call *call);
bool rtd_health_check(struct ntk_rpc_call *call, const ProtobufCMessage *message);
bool rtd_health_watch(struct ntk_rpc_call *call, const ProtobufCMessage *message);
void rtd_health_sent(struct ntk_rpc_call *call);
void rtd_health_gone(struct ntk_rpc_call *call);
/* Called before the daemon exits: informs watchers, within half a second. */
void rtd_health_stop(struct rtd_manager *manager, const struct ntk_clock *clock);
void rtd_stream_opened(struct ntk_rpc_call *call);
bool rtd_stream_message(struct ntk_rpc_call *call, const ProtobufCMessage *message);
void rtd_stream_refused(struct ntk_rpc_call *call, const char *why);
void rtd_stream_ended(struct ntk_rpc_call *call);
void rtd_stream_sent(struct ntk_rpc_call *call);
void rtd_stream_gone(struct ntk_rpc_call *call);
bool rtd_reflection_message(struct ntk_rpc_call *call, const ProtobufCMessage *message);
void rtd_reflection_ended(struct ntk_rpc_call *call);
void rtd_session_opened(struct ntk_rpc_call *call);
bool rtd_session_message(struct ntk_rpc_call *call, const ProtobufCMessage *message);
void rtd_session_ended(struct ntk_rpc_call *call);
void rtd_session_gone(struct ntk_rpc_call *call);

#endif
