/* SPDX-License-Identifier: MIT */
/*
 * refresh - lets a thread that answers get newer figures or a newer verdict from the loop first.
 *
 * A page may show slightly old figures. A verdict decides whether a node takes the next job, so it
 * is answered only from data read after the request.
 *
 * Owner:   ntk_refresh_create() / _destroy(); _close() first, so that no thread waits.
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

/* How long a page waits for the loop. If the loop is later, pages do not wait again until it
 * answers. */
#define NTK_REFRESH_WAIT_NS UINT64_C(500000000)
/* How long a local query waits: less than its client's timeout (NTK_HOSTS_TIMEOUT_NS). */
#define NTK_REFRESH_LOOK_NS UINT64_C(4000000000)

struct ntk_refresh;

/* fresh_ns: maximum age of figures that are used without a request. The clock is borrowed; NULL:
 * the system's. */
int ntk_refresh_create(uint64_t fresh_ns, const struct ntk_clock *clock,
                       struct ntk_refresh **out_refresh, struct ntk_err *err);
void ntk_refresh_destroy(struct ntk_refresh *refresh);
/* Readable when a page or query waits. */
int ntk_refresh_fd_get(const struct ntk_refresh *refresh);
struct ntk_refresh_wanted {
    bool figures; /* requested by a page, or by a query because the last figures are too old */
    bool look;    /* by a question */
};
/* The loop starts to read, for all earlier requests. */
struct ntk_refresh_wanted ntk_refresh_begin(struct ntk_refresh *refresh);
/* The read has ended; is_good: its answers were put. */
void ntk_refresh_looked(struct ntk_refresh *refresh, bool is_good);
/* Pages got new figures. has_figures false: waiting pages cannot get any, and the next request asks
 * again. */
void ntk_refresh_done(struct ntk_refresh *refresh, bool has_figures);
/* From now on nothing waits. */
void ntk_refresh_close(struct ntk_refresh *refresh);
/* Fits struct ntk_exporter_options. */
void ntk_refresh_wait(void *refresh);
/* Fits struct ntk_local_options: false if no read that started after the call succeeded in time. */
bool ntk_refresh_wait_look(void *refresh);

#ifdef __cplusplus
}
#endif
#endif
