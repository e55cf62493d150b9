/* SPDX-License-Identifier: MIT */
/*
 * core_debug - the debug stream: tensors that a program prints while it runs, one queue per core.
 *
 * A core has a queue while a client is connected to it; otherwise an event costs one load and is
 * dropped. A full queue drops the new event. Nothing is reported outside the process.
 *
 * Owner:   the caller frees records that it took with free().
 * Threads: any. In the child of a fork, no client is connected.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_DEBUG_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_DEBUG_H

#include <stddef.h>
#include <stdint.h>

#include "runtime-hooks/engine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_CORE_DEBUG_PREFIX_BYTES 512
#define NTK_CORE_DEBUG_DTYPE_BYTES 16
#define NTK_CORE_DEBUG_EVENTS_MAX (UINT32_C(1) << 22) /* limit of one queue */

/* Queues what a program prints on that logical core of the process. Returns 0 if it was queued;
 * -ENOTCONN if the core has no client; -ENOSPC if the queue is full; or -ENOMEM. In these three
 * cases the event is dropped and the program continues. */
int ntk_core_debug_push(uint32_t nc, const struct ntk_engine_print_event *event);

/* An event in a queue. */
struct ntk_core_debug_record {
    uint32_t nc;
    uint32_t pipe;
    char prefix[NTK_CORE_DEBUG_PREFIX_BYTES]; /* NUL-ended */
    char dtype[NTK_CORE_DEBUG_DTYPE_BYTES];
    uint64_t shape[NTK_ENGINE_PRINT_DIMENSIONS];
    uint64_t data_bytes;
    uint8_t data[];
};

/* Creates the queue of a core for at most event_count events. *out_fd is readable while the queue
 * has events; it is only for poll(), and identifies the queue in the calls below. Returns -EBUSY if
 * the core already has a client. */
int ntk_core_debug_connect(uint32_t nc, uint32_t event_count, int *out_fd);
/* Destroys the queue and closes the descriptor; returns -EBADF for any other descriptor, which
 * stays open. */
int ntk_core_debug_close(int fd);
void ntk_core_debug_close_all(void);
/* Takes the oldest event. Returns -EAGAIN if there is none, -EBADF if fd is not a queue. */
int ntk_core_debug_take(int fd, struct ntk_core_debug_record **out_record);
/* The number of events dropped by the full queue since its creation. */
int ntk_core_debug_lost(int fd, uint64_t *out_count);

#ifdef __cplusplus
}
#endif
#endif
