/* SPDX-License-Identifier: MIT */
/*
 * cnrt_front - the state of the library between cnrtInit() and cnrtDestroy(), and common code of
 * its files, independent of a generation: a file with calls of one includes its cnrt.h, too.
 *
 * A public call that needs the devices is between cnrt_front_enter() and cnrt_front_leave();
 * cnrtDestroy() waits until all of them are out. In the child of a fork the library is as before
 * cnrtInit(). Functions here return a cnrtRet_t as int (cnrt_codes.h).
 *
 * Owner:   the library owns core, crew and devices. The application gets queues, notifiers and
 *          host memory as handles and returns them by public calls; _take holds a reference that
 *          _release drops.
 */
#ifndef NTK_RUNTIME_HOOKS_CNRT_CNRT_FRONT_H
#define NTK_RUNTIME_HOOKS_CNRT_CNRT_FRONT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime-hooks/cnrt/cnrt_codes.h"
#include "runtime-hooks/cnrt/cnrt_internal.h"
#include "runtime-hooks/core/core.h"
#include "runtime-hooks/core/core_handle.h"
#include "runtime-hooks/core/core_queue.h"

/* The implemented release, as cnrtGetVersion() returns and monitors show it. */
#define CNRT_VERSION 40300U
#define CNRT_VERSION_TEXT "4.3.0"

#define CNRT_DEVICES_MAX 16U
#define CNRT_CHANNELS 4U /* of a device's memory */
#define CNRT_CHANNEL_NONE (-1)

/* A device of the process. A machine core is a cluster of the device's cores. */
struct cnrt_device {
    uint32_t first_nc, nc_count;
    _Atomic uint32_t queue_count;
};

/* 0: the library stays open until cnrt_front_leave(). Else the code to return, CNRT_ERR_INIT or
 * CNRT_FAKE_DEVICE. */
int cnrt_front_enter(void);
/* The same if a fake device suffices. */
int cnrt_front_enter_any(void);
/* The end of a public call: entered is the result of cnrt_front_enter(), ret that of the call,
 * which becomes the thread's last error unless it is success. */
int cnrt_front_leave(int entered, int ret);
/* The body of a public call that returns `ret`, which is computed only if entering succeeds. */
#define CNRT_INSIDE(ret)              \
    int entered = cnrt_front_enter(); \
    return cnrt_front_leave(entered, entered ? entered : (ret))
#define CNRT_INSIDE_ANY(ret)              \
    int entered = cnrt_front_enter_any(); \
    return cnrt_front_leave(entered, entered ? entered : (ret))
/* Same, for a call that does not require an open library. */
int cnrt_front_end(int ret);
int cnrt_front_last_error(void);

/* Implements cnrtInit() and cnrtDestroy(); a fake device opens nothing. */
int cnrt_front_open(bool is_fake);
void cnrt_front_close(void);

/* Inside a call. */
struct ntk_core *cnrt_front_core(void);
struct ntk_core_crew *cnrt_front_crew(void);
uint32_t cnrt_front_device_count(void);
struct cnrt_device *cnrt_front_device(uint32_t ordinal);
bool cnrt_front_is_fake(void);

/* Applies to the calling thread. */
uint32_t cnrt_front_current_device(void);
void cnrt_front_current_device_set(uint32_t ordinal);
int cnrt_front_channel(void);
void cnrt_front_channel_set(int channel);

/* The code for a core error. The message is printed once on stderr, because the code lacks it. */
int cnrt_front_fail(const char *function, int error, const struct ntk_err *err);
/* The same without a message. */
int cnrt_code_from_error(int error);
int cnrt_code_from_outcome(enum ntk_core_outcome outcome);
enum ntk_core_outcome cnrt_outcome_from_code(int code);

/* --- cnrt_memory.c ---------------------------------------------------------------------------- */

struct ntk_cnrt_memory {
    _Atomic uint32_t references;
    uint32_t device;
    struct ntk_core_tensor *tensor;
    char *address;
    uint64_t bytes;
};
void cnrt_memory_free_all(void);
void cnrt_memory_forget(void);

/* Directions of copies, independent of a generation. */
enum cnrt_direction {
    CNRT_HOST_TO_DEVICE,
    CNRT_DEVICE_TO_DEVICE,
    CNRT_DEVICE_TO_HOST,
    CNRT_HOST_TO_HOST,
    CNRT_PEER_TO_PEER,
    CNRT_ANY_DIRECTION, /* derived from the pointers */
    CNRT_NO_DIRECTION,  /* an invalid number */
    CNRT_UNSUPPORTED_DIRECTION,
};
int cnrt_memory_copy(void *to, const void *from, size_t bytes, enum cnrt_direction direction);
int cnrt_memory_copy_async(void *to, const void *from, size_t bytes, void *queue,
                           enum cnrt_direction direction);
int cnrt_memory_host_take(void **out_pointer, size_t bytes);

/* --- cnrt_queue.c ----------------------------------------------------------------------------- */

#define CNRT_QUEUES_MAX_1 1024U /* of a device, in the first two generations */
#define CNRT_QUEUES_MAX_3 4094U

struct cnrt_queue {
    struct ntk_core_handle handle;
    struct ntk_core_queue *core;
    uint32_t device;
    uint16_t number;   /* the smallest unused number of the process, from 1 */
    bool is_waiting;   /* submissions return after completion */
    _Atomic int error; /* of the first failed task since the last synchronisation */
};
extern struct ntk_core_handle_pool cnrt_queues;

int cnrt_queue_create(void **out_queue, uint32_t count_max);
/* Its submissions return after completion. */
int cnrt_queue_create_waiting(void **out_queue, uint32_t count_max, bool is_waiting);
int cnrt_queue_create_on(uint32_t device, void **out_queue, uint32_t count_max);
/* Adds an item: 0, or a code, then the caller still owns the item. */
int cnrt_queue_submit(struct cnrt_queue *queue, struct ntk_core_queue_item *item);
int cnrt_queue_destroy(void *queue);
int cnrt_queue_sync(void *queue);
int cnrt_queue_query(void *queue);
/* Held; NULL: not a queue. */
struct cnrt_queue *cnrt_queue_take(void *queue);
void cnrt_queue_drop(struct cnrt_queue *queue);
void cnrt_queue_failed(struct cnrt_queue *queue, int code);
int cnrt_queue_code(int error); /* of a submission */
void cnrt_queues_close_all(void);
void cnrt_queues_forget(void);

/* --- cnrt_notifier.c -------------------------------------------------------------------------- */

int cnrt_notifier_create(void **out_notifier);
int cnrt_notifier_destroy(void *notifier);
int cnrt_notifier_place(void *notifier, void *queue);
int cnrt_notifier_wait(void *notifier);
int cnrt_notifier_query(void *notifier);
int cnrt_notifier_queue_wait(void *notifier, void *queue, unsigned int flag);
int cnrt_notifier_duration(void *start, void *end, float *out_us);
void cnrt_notifiers_close_all(void);
void cnrt_notifiers_forget(void);

/* --- cnrt_task.c ------------------------------------------------------------------------------ */

/* ntk_cnrt_task_push() inside a call. */
int cnrt_task_push(void *queue, const struct ntk_cnrt_task *task);

/* --- cnrt_program.c --------------------------------------------------------------------------- */

void cnrt_programs_close_all(void);
void cnrt_programs_forget(void);

/* --- cnrt_device.c ---------------------------------------------------------------------------- */

/* Accepts a cnrtDev_t. */
int cnrt_device_of(uint64_t handle, uint32_t *out_ordinal);
int cnrt_channel_choose(int channel, int lowest);
/* The machine's cards: a cnrtCoreVersion_t of that generation, and their name. */
int cnrt_core_version(int generation);
const char *cnrt_device_name(void);
uint32_t cnrt_cluster_cores(void); /* cores of a cluster */

/* --- cnrt_model.c ----------------------------------------------------------------------------- */

void cnrt_models_close_all(void);
void cnrt_models_forget(void);

/* --- cnrt_context.c, cnrt_cast.c -------------------------------------------------------------- */

void cnrt_contexts_close_all(void);
void cnrt_contexts_forget(void);
void cnrt_casts_forget(void);

/* --- cnrt_values.c ---------------------------------------------------------------------------- */

/* Accepts a cnrtDataType_t of any generation; 0: unknown size. */
int cnrt_type_bytes(int type);

/* --- differences of the generations ----------------------------------------------------------- */

/* Texts of codes; generation 1 has different names for some. */
const char *cnrt_code_text(int code, int generation);

#endif
