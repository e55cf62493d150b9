/* SPDX-License-Identifier: MIT */
/*
 * remote_write_request - builds one request as a message of remote write 1.0 or 2.0, and converts a
 * finished request of 2.0 for a receiver that only supports 1.0. Pure.
 *
 * Source:  prometheus/docs, specs/prw/remote_write_spec.md and remote_write_spec_2_0.md.
 * Owner:   caller's storage, zeroed before the first use; _fini frees.
 * Threads: one per request; the functions on finished requests: any.
 */
#ifndef NTK_EXPORTERS_REMOTE_WRITE_REMOTE_WRITE_REQUEST_H
#define NTK_EXPORTERS_REMOTE_WRITE_REMOTE_WRITE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporters/remote_write/remote_write.pb-c.h"
#include "shared/base/buf.h"
#include "shared/base/err.h"
#include "shared/base/map.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Follows each name and value of a series' key; labels have no control characters. */
#define REMOTE_WRITE_SEPARATOR '\x1f'
#define REMOTE_WRITE_LABELS_MAX 64

struct remote_write_series {
    char *key; /* name, separator, value, separator ... sorted by name; split in place */
    int64_t time_ms;
    int64_t began_ms; /* time from which it counts; 0: unknown, or not a counter */
    double value;     /* if it has no histogram */
    Ntk__RemoteWrite__Histogram *histogram; /* NULL: a sample */
    char *exemplar_key;                     /* like key; NULL: no exemplar */
    double exemplar_value;
    int64_t exemplar_ms;
    Ntk__RemoteWrite__MetricType type; /* these are for 2.0 */
    const char *help;
    const char *unit; /* "" none */
};

struct remote_write_request {
    bool is_v2;
    uint64_t sample_count; /* with histograms */
    struct ntk_buf series;
    struct ntk_buf symbols; /* for 2.0, in the order of their indices */
    struct ntk_map symbol_indices;
};

/* -ENOMEM: discard the request. */
int remote_write_request_add(struct remote_write_request *request,
                             const struct remote_write_series *series);
size_t remote_write_request_bytes(const struct remote_write_request *request);
/* Appends the compressed message to out and empties the request. 0 or -ENOMEM. */
int remote_write_request_finish(struct remote_write_request *request, struct ntk_buf *out);
void remote_write_request_fini(struct remote_write_request *request);

/* Whether a finished request is a message of 2.0. */
bool remote_write_is_v2(const void *bytes, size_t bytes_count);
/* Appends a request of 2.0 converted to 1.0: the same series, samples, histograms and exemplars. 0;
 * -EBADMSG with a message if it is damaged; -ENOMEM. */
int remote_write_to_v1(const void *bytes, size_t bytes_count, struct ntk_buf *out,
                       struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
