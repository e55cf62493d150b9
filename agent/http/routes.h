/* SPDX-License-Identifier: MIT */
/*
 * routes - what the agent's own HTTP port answers.
 *
 *   /                a line of text for people
 *   /metrics         as the Prometheus exporter
 *   /api/v1/report   the last report
 *   /api/v1/stream   the last report and all that follow, a line each: what stdout gets
 *   /-/healthy /-/ready
 *
 * Owner:   ntk_routes_create() / _destroy(); the exporter's state is borrowed for that time.
 * Threads: put from one thread.
 */
#ifndef NTK_AGENT_HTTP_ROUTES_H
#define NTK_AGENT_HTTP_ROUTES_H

#include <stddef.h>

#include "exporters/exporter.h"
#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_routes;

/* address: "[ADDR:]PORT", on loopback without ADDR. exporter answers /metrics. */
int ntk_routes_create(const char *address, struct ntk_http_security *security,
                      const struct ntk_exporter *exporter, void *exporter_state,
                      struct ntk_routes **out_routes, struct ntk_err *err);
void ntk_routes_destroy(struct ntk_routes *routes);
/* The next report, a whole line. */
void ntk_routes_put(struct ntk_routes *routes, const char *line, size_t line_bytes);

#ifdef __cplusplus
}
#endif
#endif
