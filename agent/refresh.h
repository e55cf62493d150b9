/* SPDX-License-Identifier: MIT */
/*
 * refresh - lets an answering thread first request newer figures or a newer verdict from the loop.
 *
 * A page may show slightly old figures. A verdict decides if a node takes the next job, so it is
 * only answered with data read after the request.
 *
 * Owner:   ntk_refresh_create() / _destroy(); _close() must be called first, so that no thread
 *          waits.
 * Threads: ntk_refresh_wait() from any; all other functions from the loop's thread.
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

/* Maximum wait of a page for the loop. If the loop is later, pages do not wait again until it
 * answers. */
#define NTK_REFRESH_WAIT_NS UINT64_C(500000000)
/* Maximum wait of a local query: less than the timeout of its client (NTK_HOSTS_TIMEOUT_NS). */
#define NTK_REFRESH_LOOK_NS UINT64_C(4000000000)

struct ntk_refresh;

/* fresh_ns: maximum age of figures that are used without a request. The clock is borrowed; NULL for
 * the system clock. */
int ntk_refresh_create(uint64_t fresh_ns, const struct ntk_clock *clock,
                       struct ntk_refresh **out_refresh, struct ntk_err *err);
void ntk_refresh_destroy(struct ntk_refresh *refresh);
/* Returns a descriptor that is readable while a page or query waits. */
int ntk_refresh_fd_get(const struct ntk_refresh *refresh);
struct ntk_refresh_wanted {
    bool figures; /* requested by a page, or by a query because the last figures are too old */
    bool look;    /* requested by a query */
};
/* Called when the loop starts to read, for all earlier requests. */
struct ntk_refresh_wanted ntk_refresh_begin(struct ntk_refresh *refresh);
/* Called when the read has ended; is_good: its answers were put. */
void ntk_refresh_looked(struct ntk_refresh *refresh, bool is_good);
/* Called when pages have new figures. If has_figures is false, waiting pages get none, and the next
 * request tries again. */
void ntk_refresh_done(struct ntk_refresh *refresh, bool has_figures);
/* Ends all waits, and prevents later ones. */
void ntk_refresh_close(struct ntk_refresh *refresh);
/* Callback for struct ntk_exporter_options. */
void ntk_refresh_wait(void *refresh);
/* Callback for struct ntk_local_options: returns false if no read that started after the call
 * succeeded in time. */
bool ntk_refresh_wait_look(void *refresh);

#ifdef __cplusplus
}
#endif
#endif
