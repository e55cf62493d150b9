/* SPDX-License-Identifier: MIT */
/*
 * loop - runs one thread that waits for descriptors, points in time and signals.
 *
 * Owner:   ntk_loop_create() / _destroy(); watches live until removed or the loop is destroyed; the
 *          caller keeps their descriptors.
 * Threads: all functions are called from the thread that runs the loop; ntk_loop_stop() only from
 *          callbacks.
 */
#ifndef NTK_AGENT_LOOP_H
#define NTK_AGENT_LOOP_H

#include <stdint.h>

#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_LOOP_WATCHES_MAX 32

struct ntk_clock;
struct ntk_loop;
struct ntk_loop_watch;

/* events: EPOLLIN, EPOLLOUT and so on as reported; for a timer the number of expirations; for a
 * signal its number. */
typedef void (*ntk_loop_callback)(uint32_t events, void *ctx);

/* The clock for timers is borrowed; NULL for the system clock. With another clock, descriptors are
 * checked whenever a timer is due. */
int ntk_loop_create(const struct ntk_clock *clock, struct ntk_loop **out_loop, struct ntk_err *err);
void ntk_loop_destroy(struct ntk_loop *loop);
/* Runs callbacks until ntk_loop_stop(); returns the code passed to it, or -errno. */
int ntk_loop_run(struct ntk_loop *loop, struct ntk_err *err);
void ntk_loop_stop(struct ntk_loop *loop, int code);

/* Returns NULL with errno EPERM if the descriptor is always ready (a regular file). */
struct ntk_loop_watch *ntk_loop_watch_fd(struct ntk_loop *loop, int fd, uint32_t events,
                                         ntk_loop_callback callback, void *ctx);
void ntk_loop_watch_set_events(struct ntk_loop_watch *watch, uint32_t events);

/* Creates a timer, which is not armed. */
struct ntk_loop_watch *ntk_loop_watch_timer(struct ntk_loop *loop, ntk_loop_callback callback,
                                            void *ctx);
/* Sets the due time on the clock and, if every_ns is not 0, repeats after every_ns; 0
 * disarms. */
void ntk_loop_timer_set(struct ntk_loop_watch *timer, uint64_t at_monotonic_ns, uint64_t every_ns);

/* Blocks the signals (the list ends with 0) in this thread and passes them to the callback; must be
 * called before other threads start. */
struct ntk_loop_watch *ntk_loop_watch_signals(struct ntk_loop *loop, const int *signals,
                                              ntk_loop_callback callback, void *ctx);

#ifdef __cplusplus
}
#endif
#endif
