/* SPDX-License-Identifier: MIT */
/*
 * core_debug - the debug stream: tensors that a program prints while it runs, one queue per core.
 *
 * A core has a queue while a client is connected to it; without one an event costs one load and is
 * dropped. A full queue drops the new event. Nothing is told outside the process.
 *
 * Owner:   a record that was taken is freed with free().
 * Threads: any. In the child of a fork no client is connected.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_DEBUG_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_DEBUG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_CORE_DEBUG_DIMENSIONS 8
#define NTK_CORE_DEBUG_PREFIX_BYTES 512
#define NTK_CORE_DEBUG_DTYPE_BYTES 16
#define NTK_CORE_DEBUG_EVENTS_MAX (UINT32_C(1) << 22) /* of one queue */

/* What a program hands over. */
struct ntk_core_debug_event {
    uint32_t pipe;      /* the program's number for the stream it prints to */
    const char *prefix; /* text before the tensor; NULL is "", cut off at the size above */
    const char *dtype;  /* name such as "float32"; the same */
    uint64_t shape[NTK_CORE_DEBUG_DIMENSIONS]; /* 0 behind the last dimension */
    const void *data;                          /* copied */
    uint64_t data_bytes;
};

/* The process's logical core on which the calling thread runs a program: says whose queue gets what it
 * pushes from now on. */
void ntk_core_debug_core_set(uint32_t nc);
/* 0 when the event was queued. -ENOTCONN: nobody listens to this core; -ENOSPC: the queue is full;
 * -ENOMEM. In all three the event is dropped and the program goes on. */
int ntk_core_debug_push(const struct ntk_core_debug_event *event);

/* An event in a queue. */
struct ntk_core_debug_record {
    uint32_t nc;
    uint32_t pipe;
    char prefix[NTK_CORE_DEBUG_PREFIX_BYTES]; /* NUL-ended */
    char dtype[NTK_CORE_DEBUG_DTYPE_BYTES];
    uint64_t shape[NTK_CORE_DEBUG_DIMENSIONS];
    uint64_t data_bytes;
    uint8_t data[];
};

/* Makes the queue of a core, for at most event_count events. *out_fd is readable while it holds any; it
 * is for poll() alone and names the queue below. -EBUSY: the core has a client. */
int ntk_core_debug_connect(uint32_t nc, uint32_t event_count, int *out_fd);
/* Ends it and closes the descriptor; -EBADF for another descriptor, which stays open. */
int ntk_core_debug_close(int fd);
void ntk_core_debug_close_all(void);
/* Of the oldest event; -EAGAIN: none, -EBADF: not a queue's. */
int ntk_core_debug_take(int fd, struct ntk_core_debug_record **out_record);
/* Events that a full queue has dropped since it was made. */
int ntk_core_debug_lost(int fd, uint64_t *out_count);

#ifdef __cplusplus
}
#endif
#endif
