/* SPDX-License-Identifier: MIT */
/*
 * refresh - a thread that answers gets newer figures from the loop, or a newer verdict, before it
 * does.
 *
 * A page is content with figures that are a little old. A verdict decides whether a node takes the
 * next job, so a question for it is answered only by what was read after the question came.
 *
 * Owner:   ntk_refresh_create() / _destroy(); _close() first, so that no thread waits any more.
 * Threads: ntk_refresh_wait() any; everything else the loop's.
 */
#ifndef NTK_AGENT_REFRESH_H
#define NTK_AGENT_REFRESH_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/clock.h"
#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How long a page waits for the loop. When the loop is later than that, pages do not wait again
 * until it comes. */
#define NTK_REFRESH_WAIT_NS UINT64_C(500000000)
/* How long a question of this machine waits: less than its asker does (NTK_HOSTS_TIMEOUT_NS). */
#define NTK_REFRESH_LOOK_NS UINT64_C(4000000000)

struct ntk_refresh;

/* fresh_ns: figures that are not older are used without a request. The clock is borrowed; NULL: the
 * system's. */
int ntk_refresh_create(uint64_t fresh_ns, const struct ntk_clock *clock,
                       struct ntk_refresh **out_refresh, struct ntk_err *err);
void ntk_refresh_destroy(struct ntk_refresh *refresh);
/* Becomes readable when a page or a question waits. */
int ntk_refresh_fd_get(const struct ntk_refresh *refresh);
struct ntk_refresh_wanted {
    bool figures; /* by a page, or by a question whose last ones are too old */
    bool look;    /* by a question */
};
/* The loop begins to look, for every question that came before. */
struct ntk_refresh_wanted ntk_refresh_begin(struct ntk_refresh *refresh);
/* That look has ended; is_good: its answers are put. */
void ntk_refresh_looked(struct ntk_refresh *refresh, bool is_good);
/* Pages got new figures; has_figures false: those that wait cannot get any, and the next page or
 * question asks for them again. */
void ntk_refresh_done(struct ntk_refresh *refresh, bool has_figures);
/* From now on nothing waits. */
void ntk_refresh_close(struct ntk_refresh *refresh);
/* For struct ntk_exporter_options. */
void ntk_refresh_wait(void *refresh);
/* For struct ntk_local_options: false when no look that began after the call succeeded in time. */
bool ntk_refresh_wait_look(void *refresh);

#ifdef __cplusplus
}
#endif
#endif
