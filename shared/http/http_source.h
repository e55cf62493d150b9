/* SPDX-License-Identifier: MIT */
/*
 * http_source - an answer that is generated while it is sent: the implementation of struct
 * ntk_http_source.
 *
 * Owner:   the response ends the source; without a response (NULL) it has been ended, too.
 * Threads: the server's.
 */
#ifndef NTK_SHARED_HTTP_HTTP_SOURCE_H
#define NTK_SHARED_HTTP_HTTP_SOURCE_H

#include <microhttpd.h>

#include "shared/http/http_server.h"

struct MHD_Response *http_source_response(const struct ntk_http_source *source);

#endif
