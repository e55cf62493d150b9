/* SPDX-License-Identifier: MIT */
/*
 * captures_http - captures processes for a client of this machine's agent: neuron-profile trigger
 * --host.
 *
 *   PUT /api/v1/captures?job=NAME|pid=PID&look=1
 *   PUT /api/v1/captures?job=NAME|pid=PID&at=K&executions=N&timeout_ms=T&size=BYTES[&instead_of=ID]
 *                                       begins it: 202 {"id": ...}
 *   GET /api/v1/captures/ID             "state": running or done, "exit_code", "answer" (what the
 *                                       program said), "files": [{"name", "bytes"}]
 *   GET /api/v1/captures/ID/file?name=NAME&offset=N
 *                                       bytes from there on, at most NTK_CAPTURES_HTTP_BYTES
 *
 * Each capture is one run of 'neuron-profile trigger'; its output is stored in the same folder as
 * the agent's captures, within the same size limit. docs/formats/http-api.md documents the
 * responses.
 *
 * Owner:   create / destroy; the options are borrowed. Running captures are stopped.
 * Threads: the routes run on the server's two threads; destroy after the server.
 */
#ifndef NTK_AGENT_HANG_CAPTURES_HTTP_H
#define NTK_AGENT_HANG_CAPTURES_HTTP_H

#include "agent/hang/captures.h"
#include "shared/http/http_server.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_CAPTURES_HTTP_PATH "/api/v1/captures"
/* maximum number of remembered runs; the oldest finished run is replaced */
#define NTK_CAPTURES_HTTP_MAX 16
/* maximum number of simultaneous runs; more requests get 429 */
#define NTK_CAPTURES_HTTP_RUNS_MAX 4
#define NTK_CAPTURES_HTTP_FILES_MAX 4096 /* maximum number of listed files */
#define NTK_CAPTURES_HTTP_BYTES ((size_t)4 * 1024 * 1024)
#define NTK_CAPTURES_HTTP_TIMEOUT_NS (600 * NTK_NS_PER_SECOND) /* maximum timeout */

struct ntk_captures_http;

/* Returns NULL if out of memory. */
struct ntk_captures_http *ntk_captures_http_create(const struct ntk_captures_options *options);
void ntk_captures_http_destroy(struct ntk_captures_http *captures);

/* Returns the upload handler for ntk_http_options. */
struct ntk_http_upload ntk_captures_http_upload(struct ntk_captures_http *captures);
struct ntk_http_route ntk_captures_http_route(struct ntk_captures_http *captures);

#ifdef __cplusplus
}
#endif
#endif
