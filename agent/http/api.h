/* SPDX-License-Identifier: MIT */
/*
 * api - answers queries to the database over HTTP: the results of `neuron-monitor query` as JSON.
 *
 *   /api/v1/<question>   latency executions errors memory cores processes series
 *   /api/v1/machine      version, stored spans, names of series
 *
 * Parameters and results: docs/formats/http-api.md. All sizes are bounded. An error is {"error":
 * one message} with a status of 400 or more.
 *
 * Owner:   create / destroy; the path is borrowed for that time.
 * Threads: the handlers run on one thread, the server's second.
 */
#ifndef NTK_AGENT_HTTP_API_H
#define NTK_AGENT_HTTP_API_H

#include "shared/base/err.h"
#include "shared/http/http_server.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Maximum number of steps in a window, and in a window with rows per model or core. */
#define NTK_API_STEPS_MAX 2000
#define NTK_API_LISTED_STEPS_MAX 200
#define NTK_API_ROWS_MAX 30000

struct ntk_api;

/* db_path is NULL without a database. Returns NULL if out of memory. */
struct ntk_api *ntk_api_create(const char *db_path);
/* Makes running answers end early, before the server is stopped. */
void ntk_api_stop(struct ntk_api *api);
void ntk_api_destroy(struct ntk_api *api);
/* Returns routes for ntk_http_options.slow_routes; a NULL path ends the list. Valid as long as the
 * api. */
const struct ntk_http_route *ntk_api_routes_get(const struct ntk_api *api);

#ifdef __cplusplus
}
#endif
#endif
