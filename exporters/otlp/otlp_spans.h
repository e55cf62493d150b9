/* SPDX-License-Identifier: MIT */
/*
 * otlp_spans - encodes spans of a snapshot as requests of OTLP traces (protobuf).
 *
 * Ids are hashes of the boot, the process and the number or start of the operation, so that a span
 * has the same ids from any sender, and all spans of an execution are in one trace. A span with a
 * parent is in the trace of the parent.
 *
 * Source:  opentelemetry-proto 1.x, trace.proto; W3C Trace Context. docs/formats/otlp.md lists
 *          names and attributes.
 * Threads: any.
 */
#ifndef NTK_EXPORTERS_OTLP_OTLP_SPANS_H
#define NTK_EXPORTERS_OTLP_OTLP_SPANS_H

#include "exporters/otlp/otlp_parts.h"
#include "shared/base/buf.h"
#include "shared/base/err.h"
#include "shared/metrics/spans.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_OTLP_SPANS_MAX 512 /* maximum per request; further spans are sent in the next request */

/* Calls emit with each finished request; emit may take the bytes from the buffer. attributes come
 * from the user (struct ntk_otlp_pair, may be NULL). If out of memory, *out_lost counts the spans
 * that are in no request. */
int ntk_otlp_spans_encode(const struct ntk_snapshot *snapshot,
                          const struct ntk_otlp_machine *machine, const struct ntk_vec *attributes,
                          int (*emit)(struct ntk_buf *request, uint64_t span_count, void *ctx,
                                      struct ntk_err *err),
                          void *ctx, uint64_t *out_lost, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
