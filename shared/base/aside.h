/* SPDX-License-Identifier: MIT */
/*
 * aside - work that may block for ever, such as reading files of a mount that hangs, on a private
 * thread: whoever asks for it waits a bounded time.
 *
 * The work belongs to the thread from the question until ntk_aside_ask() returns true. Before that
 * nothing that it writes may be read.
 *
 * Owner:   create / destroy. Work that still blocks at the end keeps its context; the thread frees
 *          it when it comes back.
 * Threads: one asks.
 */
#ifndef NTK_SHARED_BASE_ASIDE_H
#define NTK_SHARED_BASE_ASIDE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_aside;

/* NULL if out of memory or without a thread. release frees ctx, on any thread. */
struct ntk_aside *ntk_aside_create(void (*work)(void *ctx), void (*release)(void *ctx), void *ctx);
/* NULL is fine. */
void ntk_aside_destroy(struct ntk_aside *aside);
/* Has the work done once, unless it is under way. True when it is done; false after wait_ns, and at
 * once while the work of an earlier question still blocks. What that work found when it came back
 * late is the answer to the next question: work that always takes longer has results, too. */
bool ntk_aside_ask(struct ntk_aside *aside, uint64_t wait_ns);

#ifdef __cplusplus
}
#endif
#endif
