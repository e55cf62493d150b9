/* SPDX-License-Identifier: MIT */
/*
 * otlp_grpc - OTLP over gRPC as one HTTP/2 request: frames, and what status and trailers mean. Pure.
 *
 *   status                                        message
 *   OK                                            sent
 *   CANCELLED, DEADLINE_EXCEEDED, ABORTED,
 *   OUT_OF_RANGE, UNAVAILABLE, DATA_LOSS          again
 *   RESOURCE_EXHAUSTED with a RetryInfo           again, after the time in it
 *   any other                                     refused
 *   none, with an HTTP status other than 200      as OTLP over HTTP (push_status)
 *   none, with 200                                again: the answer was cut off
 *
 * Source:  opentelemetry-proto docs/specification.md ("Failures" of OTLP/gRPC); gRPC over HTTP2.
 * Threads: any.
 */
#ifndef NTK_EXPORTERS_OTLP_OTLP_GRPC_H
#define NTK_EXPORTERS_OTLP_OTLP_GRPC_H

#include <stdbool.h>
#include <stddef.h>

#include "exporters/transport/outbox.h"
#include "shared/base/buf.h"
#include "shared/http/http_client.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_OTLP_GRPC_PORT "4317"
#define NTK_OTLP_GRPC_FRAME 5 /* bytes before a message: whether it is compressed, its length */

/* Appends the message with its frame; -ENOMEM. */
int ntk_otlp_grpc_frame(const void *bytes, size_t bytes_count, bool is_gzip, struct ntk_buf *out);
/* Fills result, pause and text. The message of a success starts NTK_OTLP_GRPC_FRAME bytes into the
 * body, where there is one. */
void ntk_otlp_grpc_judge(const struct ntk_http_answer *answer,
                         struct ntk_outbox_answer *out_answer);

#ifdef __cplusplus
}
#endif
#endif
