/* SPDX-License-Identifier: MIT */
/*
 * timeline_drop - receives a capture that was dropped onto the page, with its NEFF: both are stored
 * in a temporary folder, and another `neuron-profile view` shows them on a separate port. So a
 * damaged file ends only that process, and this page is not affected.
 *
 *   PUT /api/v1/drop?file=SIZE,NAME&file=...    the concatenated files
 *
 * One is a capture (*.ntff), the others are NEFFs (*.neff), and view finds the matching one. The
 * answer is {"port": port of the new page, "said": messages of view about the files}; an error is
 * one message: 400 wrong kind of files, 422 view cannot show them, 503 too many pages, 507 no
 * space.
 *
 * Owner:   create / destroy; destroy also removes the folder and stops the programs.
 * Threads: same as for struct ntk_http_upload; _stop from any.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_DROP_H
#define NTK_PROFILER_TIMELINE_TIMELINE_DROP_H

#include "shared/http/http_server.h"

#define NTK_TIMELINE_DROP_PATH "/api/v1/drop"
#define NTK_TIMELINE_DROPS_MAX 8           /* maximum number shown at the same time */
#define NTK_TIMELINE_DROP_FILES_MAX 16     /* maximum number in one drop */
#define NTK_TIMELINE_DROP_ROOM (64U << 20) /* minimum free space that must remain on the disk */

struct ntk_timeline_drop;

/* program: the path of `view`, such as /proc/self/exe; borrowed. Returns NULL if out of memory. */
struct ntk_timeline_drop *ntk_timeline_drop_create(const char *program, uint16_t port);
/* Prevents further programs and wakes waiting threads; must be called before the server is
 * destroyed. Accepts NULL, like the next function. */
void ntk_timeline_drop_stop(struct ntk_timeline_drop *drop);
void ntk_timeline_drop_destroy(struct ntk_timeline_drop *drop);
/* Returns the route, with the drop as its ctx. */
struct ntk_http_upload ntk_timeline_drop_route(struct ntk_timeline_drop *drop);

#endif
