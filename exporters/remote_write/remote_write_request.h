/* SPDX-License-Identifier: MIT */
/*
 * remote_write_request - builds one request as a message of remote write 1.0 or 2.0, and converts a
 * finished request of 2.0 for a receiver that only supports 1.0.
 *
 * Source:  prometheus/docs, specs/prw/remote_write_spec.md and remote_write_spec_2_0.md.
 * Owner:   the caller provides the storage, zeroed before use; _fini frees the content.
 * Threads: one per request; any for the functions on finished requests.
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

/* Separator after each name and value in a series' key; labels have no control characters. */
#define REMOTE_WRITE_SEPARATOR '\x1f'
#define REMOTE_WRITE_LABELS_MAX 64

struct remote_write_series {
    char *key; /* name, separator, value, separator and so on, sorted by name; split in place */
    int64_t time_ms;
    int64_t began_ms; /* time from which it counts; 0 if unknown, or if not a counter */
    double value;     /* used if it has no histogram */
    Ntk__RemoteWrite__Histogram *histogram; /* NULL for a sample */
    char *exemplar_key;                     /* same form as key; NULL without an exemplar */
    double exemplar_value;
    int64_t exemplar_ms;
    Ntk__RemoteWrite__MetricType type; /* this and the next members are for 2.0 */
    const char *help;
    const char *unit; /* "" if none */
};

struct remote_write_request {
    bool is_v2;
    uint64_t sample_count; /* number of samples and histograms */
    struct ntk_buf series;
    struct ntk_buf symbols; /* for 2.0, in the order of their indices */
    struct ntk_map symbol_indices;
};

/* -ENOMEM: the caller must discard the request. */
int remote_write_request_add(struct remote_write_request *request,
                             const struct remote_write_series *series);
size_t remote_write_request_bytes(const struct remote_write_request *request);
/* Appends the compressed message to out and empties the request. Returns 0 or -ENOMEM. */
int remote_write_request_finish(struct remote_write_request *request, struct ntk_buf *out);
void remote_write_request_fini(struct remote_write_request *request);

/* Returns true if a finished request is a message of 2.0. */
bool remote_write_is_v2(const void *bytes, size_t bytes_count);
/* Converts a request of 2.0 to 1.0 and appends it: the same series, samples, histograms and
 * exemplars. Returns 0; -EBADMSG with a message if it is damaged; -ENOMEM. */
int remote_write_to_v1(const void *bytes, size_t bytes_count, struct ntk_buf *out,
                       struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
