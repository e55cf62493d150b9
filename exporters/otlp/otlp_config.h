/* SPDX-License-Identifier: MIT */
/*
 * otlp_config - reads the destination and options for pushing a signal from the standard OTLP
 * variables.
 *
 * An empty variable counts as unset; a variable for the signal (OTEL_EXPORTER_OTLP_METRICS_...)
 * overrides the variable for all signals. Unsupported settings are rejected by name.
 *
 * Source:  opentelemetry-specification, protocol/exporter.md and
 *          configuration/sdk-environment-variables.md.
 * Owner:   the caller provides the storage, zeroed before _read; _fini frees the content, also
 *          after a failure.
 * Threads: any; plain data.
 */
#ifndef NTK_EXPORTERS_OTLP_OTLP_CONFIG_H
#define NTK_EXPORTERS_OTLP_OTLP_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/base/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_OTLP_HEADERS_MAX 64
#define NTK_OTLP_ATTRIBUTES_MAX 128
#define NTK_OTLP_VALUE_BYTES_MAX 8192 /* maximum length of a variable, and of a value in it */

enum ntk_otlp_signal {
    NTK_OTLP_METRICS,
    NTK_OTLP_LOGS,
    NTK_OTLP_TRACES,
    NTK_OTLP_SIGNAL_COUNT,
};
struct ntk_otlp_signal_row {
    const char *variable; /* part of variable names, such as "METRICS" */
    const char *exporter; /* variable that selects the exporter */
    const char *path;     /* path for HTTP */
    const char *method;   /* method for gRPC, as a path */
};
extern const struct ntk_otlp_signal_row ntk_otlp_signals[NTK_OTLP_SIGNAL_COUNT];

struct ntk_otlp_pair {
    char *name;
    char *value; /* decoded; an attribute is valid UTF-8 */
};

struct ntk_otlp_config {
    enum ntk_otlp_signal signal;
    bool is_disabled; /* nothing is pushed; the other members are not set */
    bool is_grpc;     /* false: over HTTP */
    bool has_gzip;
    bool has_exponential; /* histograms with exponential buckets instead of explicit ones */
    uint64_t timeout_ns;
    uint64_t interval_ns; /* interval of pushes; 0: each report */
    char *url;
    struct ntk_vec headers;    /* elements are struct ntk_otlp_pair */
    struct ntk_vec attributes; /* elements are struct ntk_otlp_pair; each name occurs once */
    char *ca_file;             /* this and the next members may be NULL */
    char *cert_file;
    char *key_file;
};

/* Reads the configuration of a signal. endpoint is a base URL that overrides the variables; NULL or
 * "" if none. get is getenv() or a replacement in tests. Returns 0, -EINVAL with a message, or
 * -ENOMEM. */
int ntk_otlp_config_read(struct ntk_otlp_config *config, enum ntk_otlp_signal signal,
                         const char *endpoint, char *(*get)(const char *name), struct ntk_err *err);
void ntk_otlp_config_fini(struct ntk_otlp_config *config);

#ifdef __cplusplus
}
#endif
#endif
