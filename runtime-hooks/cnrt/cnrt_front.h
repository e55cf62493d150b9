/* SPDX-License-Identifier: MIT */
/*
 * cnrt_front - the state of the library between cnrtInit() and cnrtDestroy(), and common code of
 * its files, independent of a generation: a file with calls of one generation also includes that
 * generation's cnrt.h.
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

/* The implemented release, which cnrtGetVersion() returns and monitors show. */
#define CNRT_VERSION 40300U
#define CNRT_VERSION_TEXT "4.3.0"

#define CNRT_DEVICES_MAX 16U
#define CNRT_CHANNELS 4U /* memory channels of a device */
#define CNRT_CHANNEL_NONE (-1)

/* A device of the process. The machine's cores are the clusters of its devices. */
struct cnrt_device {
    uint32_t first_nc, nc_count;
    _Atomic uint32_t queue_count;
};

/* Enters a call. Returns 0: the library stays open until cnrt_front_leave(). Otherwise returns the
 * code of the call: CNRT_ERR_INIT or CNRT_FAKE_DEVICE. */
int cnrt_front_enter(void);
/* Same, for calls that a fake device can serve. */
int cnrt_front_enter_any(void);
/* Ends a public call: entered is the result of cnrt_front_enter(), ret that of the call; unless it
 * is success, it becomes the thread's last error. */
int cnrt_front_leave(int entered, int ret);
/* The body of a public call that returns `ret`, which is evaluated only if entering succeeds. */
#define CNRT_INSIDE(ret)              \
    int entered = cnrt_front_enter(); \
    return cnrt_front_leave(entered, entered ? entered : (ret))
#define CNRT_INSIDE_ANY(ret)              \
    int entered = cnrt_front_enter_any(); \
    return cnrt_front_leave(entered, entered ? entered : (ret))
/* Same, for a call that does not require an open library. */
int cnrt_front_end(int ret);
int cnrt_front_last_error(void);

/* Implements cnrtInit() and cnrtDestroy(); with a fake device, nothing is opened. */
int cnrt_front_open(bool is_fake);
void cnrt_front_close(void);

/* The core; only inside a call. */
struct ntk_core *cnrt_front_core(void);
struct ntk_core_crew *cnrt_front_crew(void);
uint32_t cnrt_front_device_count(void);
struct cnrt_device *cnrt_front_device(uint32_t ordinal);
bool cnrt_front_is_fake(void);

/* The calling thread's device. */
uint32_t cnrt_front_current_device(void);
void cnrt_front_current_device_set(uint32_t ordinal);
int cnrt_front_channel(void);
void cnrt_front_channel_set(int channel);

/* Converts a core error to a code. Prints the message once on stderr, because the code lacks it. */
int cnrt_front_fail(const char *function, int error, const struct ntk_err *err);
/* Same, without a message. */
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

#define CNRT_QUEUES_MAX_1 1024U /* per device, in the first two generations */
#define CNRT_QUEUES_MAX_3 4094U

struct cnrt_queue {
    struct ntk_core_handle handle;
    struct ntk_core_queue *core;
    uint32_t device;
    uint16_t number;   /* smallest unused number in the process, from 1 */
    bool is_waiting;   /* submissions return after completion */
    _Atomic int error; /* error of the first task that failed since the last synchronisation */
};
extern struct ntk_core_handle_pool cnrt_queues;

int cnrt_queue_create(void **out_queue, uint32_t count_max);
/* Creates a queue with submissions that return only after completion. */
int cnrt_queue_create_waiting(void **out_queue, uint32_t count_max, bool is_waiting);
int cnrt_queue_create_on(uint32_t device, void **out_queue, uint32_t count_max);
/* Adds an item. Returns 0, or a code; on failure, the caller still owns the item. */
int cnrt_queue_submit(struct cnrt_queue *queue, struct ntk_core_queue_item *item);
int cnrt_queue_destroy(void *queue);
int cnrt_queue_sync(void *queue);
int cnrt_queue_query(void *queue);
/* Takes a reference to a queue; NULL if it is not a queue. */
struct cnrt_queue *cnrt_queue_take(void *queue);
void cnrt_queue_drop(struct cnrt_queue *queue);
void cnrt_queue_failed(struct cnrt_queue *queue, int code);
int cnrt_queue_code(int error); /* converts the error of a submission */
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

/* Implements ntk_cnrt_task_push(); only inside a call. */
int cnrt_task_push(void *queue, const struct ntk_cnrt_task *task);

/* --- cnrt_program.c --------------------------------------------------------------------------- */

void cnrt_programs_close_all(void);
void cnrt_programs_forget(void);

/* --- cnrt_device.c ---------------------------------------------------------------------------- */

/* Finds the ordinal of a cnrtDev_t. */
int cnrt_device_of(uint64_t handle, uint32_t *out_ordinal);
int cnrt_channel_choose(int channel, int lowest);
/* The cnrtCoreVersion_t of the machine's cards in that generation, and their name. */
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

/* The size of a cnrtDataType_t of any generation; 0 if unknown. */
int cnrt_type_bytes(int type);

/* --- differences of the generations ----------------------------------------------------------- */

/* The text of a code; the first generation has different names for some codes. */
const char *cnrt_code_text(int code, int generation);

#endif
