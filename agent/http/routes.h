/* SPDX-License-Identifier: MIT */
/*
 * routes - what the agent's own HTTP port answers.
 *
 *   / and its files  the page (page.h)
 *   /metrics         and whatever other page an exporter has
 *   /api/v1/report   the last report
 *   /api/v1/stream   the last report and all that follow, a line each: what stdout gets
 *   /api/v1/live     the same with nothing left out, whatever --omit and --max-line say
 *   /api/v1/captures recordings of processes here, where they are allowed (hang/captures_http.h)
 *   /api/v1/...      questions to the database (api.h)
 *   /-/healthy /-/ready
 *
 * Owner:   ntk_routes_create() / _destroy(); the outputs and the texts of the options are
 *          borrowed for that time.
 * Threads: put from one thread.
 */
#ifndef NTK_AGENT_HTTP_ROUTES_H
#define NTK_AGENT_HTTP_ROUTES_H

#include <stddef.h>

#include "agent/outputs/outputs.h"
#include "shared/base/buf.h"
#include "shared/base/err.h"
#include "shared/http/http_server.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_captures_options;
struct ntk_routes;

struct ntk_routes_options {
    const char *address;                         /* "[ADDRESS:]PORT", on loopback without ADDRESS */
    const char *host_names;                      /* accepted in requests in addition to its own, or
                                                  * NULL */
    const char *token_path;                      /* NULL: no token */
    const char *db_path;                         /* NULL: no history */
    const struct ntk_captures_options *captures; /* for clients; NULL: no access */
    struct ntk_http_security *security;          /* NULL: none */
    struct ntk_outputs *outputs;                 /* answer where their pages are */
    void (*refresh)(void *ctx); /* has the ranks of now put; NULL: the last ones are answered */
    void *refresh_ctx;
};

int ntk_routes_create(const struct ntk_routes_options *options, struct ntk_routes **out_routes,
                      struct ntk_err *err);
void ntk_routes_destroy(struct ntk_routes *routes);
uint16_t ntk_routes_port_get(const struct ntk_routes *routes);
/* The next report, a whole line; full: the same with nothing omitted, NULL when line is that. */
void ntk_routes_put(struct ntk_routes *routes, const struct ntk_buf *line,
                    const struct ntk_buf *full);
/* The ranks of now, a whole line. */
void ntk_routes_ranks_put(struct ntk_routes *routes, const struct ntk_buf *line);

#ifdef __cplusplus
}
#endif
#endif
