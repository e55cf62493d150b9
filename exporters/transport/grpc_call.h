/* SPDX-License-Identifier: MIT */
/*
 * grpc_call - makes a gRPC call as one HTTP/2 request: writes the frame of its message, and
 * interprets status and trailers for a pushed message.
 *
 *   status                                        message
 *   OK                                            sent
 *   CANCELLED, DEADLINE_EXCEEDED, ABORTED,
 *   OUT_OF_RANGE, UNAVAILABLE, DATA_LOSS          again
 *   RESOURCE_EXHAUSTED with a RetryInfo           again, after the time in it
 *   any other                                     refused
 *   none, with an HTTP status other than 200      as OTLP over HTTP (push_status)
 *   none, with 200                                again: the response was truncated
 *
 * Source:  opentelemetry-proto docs/specification.md ("Failures" of OTLP/gRPC); gRPC over HTTP2.
 * Threads: any.
 */
#ifndef NTK_EXPORTERS_TRANSPORT_GRPC_CALL_H
#define NTK_EXPORTERS_TRANSPORT_GRPC_CALL_H

#include <stdbool.h>
#include <stddef.h>

#include "exporters/transport/outbox.h"
#include "shared/base/buf.h"
#include "shared/http/http_client.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_GRPC_FRAME_BYTES 5 /* before a message: a compression flag and its length */

/* Appends the message with its frame. -ENOMEM. */
int ntk_grpc_frame(const void *bytes, size_t bytes_count, bool is_gzip, struct ntk_buf *out);
/* Appends the message of the first frame. Returns 0, -ENOMEM, -EBADMSG or -EMSGSIZE. A server may
 * compress its message if the request was compressed. */
int ntk_grpc_message(const struct ntk_buf *body, struct ntk_buf *out);
/* Fills result, pause and text of the response. */
void ntk_grpc_judge(const struct ntk_http_answer *answer, struct ntk_outbox_answer *out_answer);
/* Returns true if the server rejected the message itself, so that retrying is useless. */
bool ntk_grpc_is_invalid(const struct ntk_http_answer *answer);

#ifdef __cplusplus
}
#endif
#endif
