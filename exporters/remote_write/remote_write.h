/* SPDX-License-Identifier: MIT */
/* remote_write - pushes to a receiver of Prometheus remote write, as an exporter. */
#ifndef NTK_EXPORTERS_REMOTE_WRITE_REMOTE_WRITE_H
#define NTK_EXPORTERS_REMOTE_WRITE_REMOTE_WRITE_H

#include "exporters/exporter.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct ntk_exporter ntk_exporter_remote_write;
/* Read when an exporter is created. */
extern struct ntk_remote_write_target {
    const char *url;
    const char *headers_file;  /* with "Name: value" lines, for each request; NULL: none */
    const char *token_file;    /* a bearer token; NULL: none */
    const char *password_file; /* user:password; NULL: none */
    const char *protocol;      /* "1.0" or "2.0"; NULL: detected */
    const char *spool_folder;  /* NULL: memory only */
    bool has_native;           /* native histograms next to the classic ones */
} ntk_remote_write_target;

#ifdef __cplusplus
}
#endif
#endif
