/* SPDX-License-Identifier: MIT */
/*
 * api_parameters - reads the parameters of a query over HTTP.
 *
 * Threads: any; plain data. Texts are borrowed from the request.
 */
#ifndef NTK_AGENT_HTTP_API_PARAMETERS_H
#define NTK_AGENT_HTTP_API_PARAMETERS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/query/query.h"
#include "shared/base/err.h"
#include "shared/http/http_server.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_api_parameters {
    struct ntk_query query; /* without reader and window, but with the step */
    struct ntk_query_bounds bounds;
    uint32_t seen; /* one bit for each parameter in the request */
};

/* -EINVAL and a message for an unknown, duplicate or invalid parameter. */
int ntk_api_parameters_read(const struct ntk_http_request *request,
                            struct ntk_api_parameters *parameters, struct ntk_err *err);

/* Checks that each parameter applies to the query, and that its metric exists. -EINVAL with a
 * message. */
int ntk_api_parameters_check(const struct ntk_api_parameters *parameters,
                             const struct ntk_query_question *question, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
