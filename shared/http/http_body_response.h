/* SPDX-License-Identifier: MIT */
/*
 * http_body_response - makes a libmicrohttpd response from a shared body; a library that is too old
 * to use it in place gets a copy.
 *
 * Owner:   the response takes the caller's reference to the body; without a response (NULL) the
 *          caller keeps it.
 * Threads: any.
 */
#ifndef NTK_SHARED_HTTP_HTTP_BODY_RESPONSE_H
#define NTK_SHARED_HTTP_HTTP_BODY_RESPONSE_H

#include <microhttpd.h>

#include "shared/http/http_server.h"

struct MHD_Response *http_body_response(struct ntk_http_body *body);

#endif
