/* SPDX-License-Identifier: MIT */
/* otlp - pushes to an OpenTelemetry collector, as an exporter and for a separate program. */
#ifndef NTK_EXPORTERS_OTLP_OTLP_H
#define NTK_EXPORTERS_OTLP_OTLP_H

#include "exporters/exporter.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct ntk_exporter ntk_exporter_otlp;
/* Options that are read when an exporter is created. */
extern struct ntk_otlp_target {
    const char *url;          /* base URL; "" or NULL: from the environment */
    const char *spool_folder; /* NULL: memory only; signals other than metrics use subfolders */
    bool has_logs;            /* push changes of health as log records */
    const char *traces;       /* spans to push, for ntk_span_rules_parse(); NULL if none */
} ntk_otlp_target;

#ifdef __cplusplus
}
#endif
#endif
