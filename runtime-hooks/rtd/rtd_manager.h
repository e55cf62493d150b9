/* SPDX-License-Identifier: MIT */
/*
 * rtd_manager - the resources of the daemon's clients: groups of cores, models, inferences, shared
 * memory, sessions.
 *
 * Methods are rows of rtd_methods.def; each is a function in the file for its subject, and answers
 * its call or lets it wait.
 *
 * Owner:   the manager owns groups, models and inferences until their destroy; rtd_wait_end() frees
 *          a wait, and taken shared memory is returned.
 * Threads: the manager's lock protects everything below; functions of this header are called with
 *          it held unless documented otherwise. Executions and loads run without it in workers of a
 *          crew. A separate thread frees models, which waits for these workers.
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
    uint64_t session;          /* 0: none */
    bool is_implicit;          /* created by a load, for its model only */
    bool is_fleeting;          /* removed with its last model */
    uint32_t model_count;      /* loaded, loading or unloading */
    struct rtd_model *running; /* READY or stopping; NULL: none */
};

enum rtd_model_state {
    RTD_MODEL_STANDBY,
    RTD_MODEL_READY,
    RTD_MODEL_STOPPING, /* until its inferences have ended */
    RTD_MODEL_FAILED,
};

/* A call that is answered later. call NULL: it was closed, and no client gets the answer. */
struct rtd_wait {
    struct rtd_wait *next;
    struct ntk_rpc_call *call;
    ProtobufCMessage *asked; /* data for the answer, owned by the code that ends it. NULL: none */
};

/* Inputs and outputs of a running inference, one set for each. */
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
    uint32_t ninfer; /* maximum number of running inferences */
    struct rtd_context *contexts;
    /* Inferences go to the lanes in turn, so that as many run in parallel as useful; they end in
     * the order of their posts. */
    struct ntk_core_queue **lanes;
    uint32_t lane_count, next_lane;
    struct rtd_inference *oldest, *newest; /* posted, and not finished */
    pthread_mutex_t unstaging_lock;
    enum rtd_model_state state;
    uint32_t in_flight;
    uint32_t uncollected_count; /* posted and not collected */
    uint64_t uncollected_bytes;
    uint64_t stop_ns, leave_ns; /* times of the requests to stop and unload */
    void *staging;              /* size of the largest input: bytes on their way to it */
    void *unstaging;            /* size of the largest output; for the worker that runs the model */
    struct ntk_core_tensor *stages[2]; /* owners of this memory */
    bool is_leaving;                   /* calls no longer find it */
    /* inferences that have not started end with NERR_INFER_CANCELLED */
    bool is_cancelled;
    struct rtd_wait *stops, *unloads;
};

struct rtd_shm {
    struct rtd_shm *next;
    char *path;
    int fd;
    uint64_t session;
    uint32_t use_count; /* the map itself, and inferences */
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
    uint64_t neff_version_max, neff_version_min; /* major << 32 | minor; 0: none was loaded */
};

#define RTD_COOKIE_SLOTS 1024

struct rtd_manager {
    pthread_mutex_t lock;
    struct ntk_core *core; /* NULL: it could not be opened, and every answer is NERR_HW_ERROR */
    struct ntk_err why;
    struct rtd_defaults defaults;
    struct rtd_upload_limits upload_limits;
    const char *endpoint;
    uint32_t nc_count, nc_per_device, device_count;
    uint32_t *owner_of_nc; /* id of the group; 0: free */
    struct rtd_group *groups;
    struct rtd_model *models;
    struct rtd_shm *shms;
    uint32_t shm_count, shm_count_max;
    struct rtd_session *sessions;
    struct rtd_inference *cookies[RTD_COOKIE_SLOTS]; /* posted, not collected */
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
    /* Models being freed, and the thread that does it. */
    pthread_t reaper;
    pthread_cond_t reap, reaped;
    struct rtd_model *leaving;
    uint32_t leaving_count;  /* including those that are still running */
    struct rtd_wait *drains; /* calls that wait until there is none */
    bool is_ending;
    /* The watchers of health, and their last state. */
    struct rtd_watcher *watchers;
    pthread_cond_t notified;
    bool is_stopping;
    struct ntk_rpc_files *files; /* definitions of the services */
};

/* Called without the lock. The manager owns core; NULL: why is the message of every answer. */
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
/* NULL if out of memory: then the call was answered. */
struct rtd_wait *rtd_wait_begin(struct ntk_rpc_call *call);
/* The client to answer, or NULL; frees the wait. */
struct ntk_rpc_call *rtd_wait_end(struct rtd_wait *wait);
/* A call was closed: it is not answered any more. */
void rtd_wait_forget(struct ntk_rpc_call *call);
/* Gives all calls of a list the same answer. */
void rtd_waits_answer(struct rtd_wait **waits, enum _Nrt__Nerr code, const char *details);

/* A resource that its client knows only from an answer. If the answer is lost, the daemon frees it:
 * noted before the answer, and settled when the call has ended. */
enum rtd_gift_kind {
    RTD_GIFT_NONE,
    RTD_GIFT_GROUP,  /* by its id */
    RTD_GIFT_MODEL,  /* by its id */
    RTD_GIFT_COOKIE, /* of an inference that was posted */
    RTD_GIFT_RESULT, /* of the cookie: collected when the answer was sent, else it waits again */
};
void rtd_gift(struct ntk_rpc_call *call, enum rtd_gift_kind kind, uint64_t number);
void rtd_gift_settle(struct rtd_manager *manager, const struct ntk_rpc_call *call);

/* The NERR for a core error (-errno) or an outcome. */
enum _Nrt__Nerr rtd_nerr_of_error(int error);
enum _Nrt__Nerr rtd_nerr_of_outcome(enum ntk_core_outcome outcome);
enum _Nrt__InferStatus rtd_status_of_outcome(enum ntk_core_outcome outcome);
enum _Nrt__InferErrorSubtype rtd_subtype_of_outcome(enum ntk_core_outcome outcome);

/* ---- groups ---- */

struct rtd_group *rtd_group_find(struct rtd_manager *manager, uint32_t id);
/* count 0: the longest sequence of free cores. NULL: no such sequence, or out of memory;
 * *out_longest: the longest length. */
struct rtd_group *rtd_group_create(struct rtd_manager *manager, uint32_t count, uint64_t session,
                                   uint32_t *out_longest);
void rtd_group_destroy(struct rtd_manager *manager, struct rtd_group *group);
/* No client knows it; if it has models it stays. */
void rtd_group_take_back(struct rtd_manager *manager, uint32_t id);

/* ---- models ---- */

struct rtd_model *rtd_model_find(struct rtd_manager *manager, const Nrt__HNn *handle);
/* NERR_OK, or why it does not start. */
enum _Nrt__Nerr rtd_model_start(struct rtd_model *model);
/* Unloads it after its inferences have ended; those not started are cancelled on request. */
void rtd_model_leave(struct rtd_model *model, bool cancels);
/* No client knows it. */
void rtd_model_take_back(struct rtd_manager *manager, uint32_t id);
/* One of its inferences has ended. */
void rtd_model_inference_over(struct rtd_model *model);
/* Called without the lock: frees it with all its parts, even if incomplete. */
void rtd_model_destroy(struct rtd_model *model);
/* One of its models was unloaded: a group of a closed session, or of one model, is removed with its
 * last model. */
void rtd_group_left(struct rtd_manager *manager, struct rtd_group *group);
/* The thread that frees models; ctx: the manager. */
void *rtd_models_reap(void *ctx);

/* ---- inferences ---- */

/* Starts an inference with a callback `over`, answered by rtd_infer_send(). NULL with the code and
 * a message. over is called with the lock held, and ends the inference now or later. */
struct rtd_inference *rtd_infer_begin(struct rtd_manager *manager, const Nrt__InferRequest *asked,
                                      void (*over)(void *ctx), void *ctx, enum _Nrt__Nerr *out_code,
                                      char out_details[NTK_ERR_TEXT_BYTES]);
/* The memory of its result until it ends. */
uint64_t rtd_infer_bytes_get(const struct rtd_inference *inference);
void rtd_infer_send(struct rtd_inference *inference, struct ntk_rpc_call *call);
/* No client waits any more; an inference that has not started does not run. */
void rtd_infer_end(struct rtd_inference *inference);
/* No client knows its cookie. */
void rtd_infer_take_back(struct rtd_manager *manager, uint64_t cookie);
/* The answer with its result was sent, or lost: then it waits as before. */
void rtd_infer_settle(struct rtd_manager *manager, uint64_t cookie, bool is_lost);
/* Uncollected inferences of the model. */
void rtd_infer_forget(struct rtd_manager *manager, const struct rtd_model *model);

/* ---- captures ---- */

/* Called without the lock: forgets captures of a model that is about to be unloaded. */
void rtd_captures_forget(struct rtd_manager *manager, uint32_t model_id);
/* After the last one. */
void rtd_captures_close(struct rtd_manager *manager);

/* ---- shared memory ---- */

/* NULL: neither mapped, nor possible to map; errno has the reason. Must be returned. */
struct rtd_shm *rtd_shm_take(struct rtd_manager *manager, const char *path);
void rtd_shm_give_back(struct rtd_shm *shm);
/* The current size: its owner may change it at any time. */
uint64_t rtd_shm_bytes_get(const struct rtd_shm *shm);
/* From its start; without a lock. False: it is shorter, or the system is out of memory. */
bool rtd_shm_read(const struct rtd_shm *shm, void *to, size_t bytes);
bool rtd_shm_write(const struct rtd_shm *shm, const void *from, size_t bytes);
/* Each mapping takes a descriptor; raises the process's limit as far as possible. */
uint32_t rtd_shm_count_max_get(void);
void rtd_shm_forget_session(struct rtd_manager *manager, uint64_t session);
void rtd_shm_forget_all(struct rtd_manager *manager);

/* ---- sessions ---- */

/* 0 means none and always exists. */
bool rtd_session_is_known(const struct rtd_manager *manager, uint64_t id);
/* Frees everything it holds: models, groups without models, mappings. */
void rtd_session_end(struct rtd_manager *manager, uint64_t id);

/* ---- methods ---- */

/* asked: with the type of the row. */
#define RTD_UNARY(path, symbol, request, reply)                               \
    void rtd_##symbol(struct rtd_manager *manager, struct ntk_rpc_call *call, \
                      const ProtobufCMessage *asked);
#include "runtime-hooks/rtd/rtd_methods.def"
#undef RTD_UNARY

/* Streams: see struct ntk_rpc_method. They take the lock themselves. */
bool rtd_load_message(struct ntk_rpc_call *call, const ProtobufCMessage *message);
void rtd_load_ended(struct ntk_rpc_call *call);
void rtd_load_gone(struct ntk_rpc_call *call);
bool rtd_health_check(struct ntk_rpc_call *call, const ProtobufCMessage *message);
bool rtd_health_watch(struct ntk_rpc_call *call, const ProtobufCMessage *message);
void rtd_health_sent(struct ntk_rpc_call *call);
void rtd_health_gone(struct ntk_rpc_call *call);
/* The daemon is about to exit: informs watchers first, within half a second. */
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
