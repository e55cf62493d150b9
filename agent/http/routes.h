/* SPDX-License-Identifier: MIT */
/*
 * routes - answers requests on the agent's HTTP port.
 *
 *   / and its files  the page (page.h)
 *   /metrics         and whatever other page an exporter has
 *   /api/v1/report   the last report
 *   /api/v1/stream   the last report and all later ones, a line each: what stdout gets
 *   /api/v1/live     the same without the omissions of --omit and --max-line
 *   /api/v1/captures captures of local processes, if allowed (hang/captures_http.h)
 *   /api/v1/...      queries to the database (api.h)
 *   /-/healthy /-/ready
 *
 * Owner:   ntk_routes_create() / _destroy(); the outputs and the texts of the options are borrowed
 *          for that time.
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
    const char *address;    /* "[ADDRESS:]PORT"; loopback without ADDRESS */
    const char *host_names; /* accepted in requests in addition to the host's name, or NULL */
    const char *token_path; /* NULL without a token */
    const char *db_path;    /* NULL without a history */
    const struct ntk_captures_options *captures; /* for clients; NULL if they have no access */
    struct ntk_http_security *security;          /* NULL if unused */
    struct ntk_outputs *outputs;                 /* their pages are part of the responses */
    void (*refresh)(void *ctx); /* puts current ranks; if NULL, the last ranks are served */
    void *refresh_ctx;
};

int ntk_routes_create(const struct ntk_routes_options *options, struct ntk_routes **out_routes,
                      struct ntk_err *err);
void ntk_routes_destroy(struct ntk_routes *routes);
uint16_t ntk_routes_port_get(const struct ntk_routes *routes);
/* Puts the next report as one line. full: the report without omissions, NULL if equal to line. */
void ntk_routes_put(struct ntk_routes *routes, const struct ntk_buf *line,
                    const struct ntk_buf *full);
/* Puts the current ranks as one line. */
void ntk_routes_ranks_put(struct ntk_routes *routes, const struct ntk_buf *line);

#ifdef __cplusplus
}
#endif
#endif
