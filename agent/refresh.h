/* SPDX-License-Identifier: MIT */
/*
 * refresh - a thread that serves a page gets newer figures from the loop before it answers.
 *
 * Owner:   ntk_refresh_create() / _destroy(); _close() first, so that no thread waits any more.
 * Threads: ntk_refresh_wait() any; everything else the loop's.
 */
#ifndef NTK_AGENT_REFRESH_H
#define NTK_AGENT_REFRESH_H

#include <stdint.h>

#include "shared/base/clock.h"
#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How long a page waits for the loop. When the loop is later than that, pages do not wait again
 * until it comes. */
#define NTK_REFRESH_WAIT_NS UINT64_C(500000000)

struct ntk_refresh;

/* fresh_ns: figures that are not older need not be asked for. The clock is borrowed; NULL: the
 * system's. */
int ntk_refresh_create(uint64_t fresh_ns, const struct ntk_clock *clock,
                       struct ntk_refresh **out_refresh, struct ntk_err *err);
void ntk_refresh_destroy(struct ntk_refresh *refresh);
/* Becomes readable when a page waits. */
int ntk_refresh_fd_get(const struct ntk_refresh *refresh);
/* Pages got new figures, or those that wait cannot get any. */
void ntk_refresh_done(struct ntk_refresh *refresh);
/* From now on no page waits. */
void ntk_refresh_close(struct ntk_refresh *refresh);
/* For struct ntk_exporter_options. */
void ntk_refresh_wait(void *refresh);

#ifdef __cplusplus
}
#endif
#endif
