/* SPDX-License-Identifier: MIT */
/*
 * http_source - implements struct ntk_http_source: a response that is generated while it is sent.
 *
 * Owner:   the response ends the source; without a response (NULL), the source has been ended,
 *          too.
 * Threads: the server's thread only.
 */
#ifndef NTK_SHARED_HTTP_HTTP_SOURCE_H
#define NTK_SHARED_HTTP_HTTP_SOURCE_H

#include <microhttpd.h>

#include "shared/http/http_server.h"

struct MHD_Response *http_source_response(const struct ntk_http_source *source);

#endif
