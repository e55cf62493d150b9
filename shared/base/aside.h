/* SPDX-License-Identifier: MIT */
/*
 * aside - runs work that may block forever, such as reading from a hanging mount, on a private
 * thread; the caller waits a bounded time.
 *
 * The thread owns the data of the work from the request until ntk_aside_ask() returns true; until
 * then the caller must not read it.
 *
 * Owner:   create / destroy. Work that still blocks at the end keeps its context; the thread frees
 *          it when it returns.
 * Threads: requests come from one thread.
 */
#ifndef NTK_SHARED_BASE_ASIDE_H
#define NTK_SHARED_BASE_ASIDE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_aside;

/* Returns NULL if out of memory or if no thread can be started. release frees ctx, on any
 * thread. */
struct ntk_aside *ntk_aside_create(void (*work)(void *ctx), void (*release)(void *ctx), void *ctx);
void ntk_aside_destroy(struct ntk_aside *aside);
/* Runs the work once, unless it is already running. True when it is done; false after wait_ns, and
 * at once while the work of an earlier request still blocks. If work finishes late, its result
 * answers the next request; so work that always takes longer still has results. */
bool ntk_aside_ask(struct ntk_aside *aside, uint64_t wait_ns);

#ifdef __cplusplus
}
#endif
#endif
