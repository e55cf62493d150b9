/* SPDX-License-Identifier: MIT */
/*
 * timeline_drop - a capture that was dropped onto the page, with its NEFF: both are kept in a
 * temporary folder, and another `neuron-profile view` shows them on its own port. So a bad file
 * that was dropped ends that process and not this one, and what was shown stays.
 *
 *   PUT /api/v1/drop?file=SIZE,NAME&file=...    the files one behind the other
 *
 * One is a capture (*.ntff), the others are NEFFs (*.neff), and view finds the one that fits. The
 * answer is {"port": where it is shown, "said": what view said about the files}; an error is
 * one message: 400 these are not such files, 422 view cannot show them, 503 too many are shown, 507
 * no room.
 *
 * Owner:   create / destroy; the folder and the programs are gone with it.
 * Threads: as for struct ntk_http_upload; _stop from any.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_DROP_H
#define NTK_PROFILER_TIMELINE_TIMELINE_DROP_H

#include "shared/http/http_server.h"

#define NTK_TIMELINE_DROP_PATH "/api/v1/drop"
#define NTK_TIMELINE_DROPS_MAX 8           /* shown at one time */
#define NTK_TIMELINE_DROP_FILES_MAX 16     /* in one drop */
#define NTK_TIMELINE_DROP_ROOM (64U << 20) /* that stays free on the disk */

struct ntk_timeline_drop;

/* program: that of `view`, such as /proc/self/exe; borrowed. NULL if out of memory. */
struct ntk_timeline_drop *ntk_timeline_drop_create(const char *program, uint16_t port);
/* No further one is started, and waiters continue: before the server is destroyed. NULL is fine,
 * here and below. */
void ntk_timeline_drop_stop(struct ntk_timeline_drop *drop);
void ntk_timeline_drop_destroy(struct ntk_timeline_drop *drop);
/* The route, with the drop as its ctx. */
struct ntk_http_upload ntk_timeline_drop_route(struct ntk_timeline_drop *drop);

#endif
