/* SPDX-License-Identifier: MIT */
/* otlp - pushing to an OpenTelemetry collector, as an exporter and for a program that is nothing
 * else. */
#ifndef NTK_EXPORTERS_OTLP_OTLP_H
#define NTK_EXPORTERS_OTLP_OTLP_H

#include "exporters/exporter.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct ntk_exporter ntk_exporter_otlp;
/* Read when one is made. */
extern struct ntk_otlp_target {
    const char *url;          /* base URL; "" and NULL: the environment's */
    const char *spool_folder; /* NULL: memory only */
} ntk_otlp_target;

#ifdef __cplusplus
}
#endif
#endif
