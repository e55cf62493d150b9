/* SPDX-License-Identifier: MIT */
/*
 * api - questions to the database over HTTP: what `neuron-monitor query` answers, as JSON.
 *
 *   /api/v1/<question>   latency executions errors memory cores processes series
 *   /api/v1/machine      what can be asked: version, stored spans, names of series
 *
 * Parameters and answers: docs/formats/http-api.md. Everything is bounded; what cannot be answered
 * is {"error": one message} with a status from 400 on.
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

/* Steps of a window, and of one whose rows are per model or per core. */
#define NTK_API_STEPS_MAX 2000
#define NTK_API_LISTED_STEPS_MAX 200
#define NTK_API_ROWS_MAX 30000

struct ntk_api;

/* db_path: NULL without a database. NULL if out of memory. */
struct ntk_api *ntk_api_create(const char *db_path);
/* Answers that are being made give up: for whoever is about to stop the server. */
void ntk_api_stop(struct ntk_api *api);
void ntk_api_destroy(struct ntk_api *api);
/* For ntk_http_options.slow_routes; ended by a NULL path. Lives as long as the api. */
const struct ntk_http_route *ntk_api_routes_get(const struct ntk_api *api);

#ifdef __cplusplus
}
#endif
#endif
