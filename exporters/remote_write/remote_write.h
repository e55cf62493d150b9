/* SPDX-License-Identifier: MIT */
/* remote_write - pushes to a receiver of Prometheus remote write, as an exporter. */
#ifndef NTK_EXPORTERS_REMOTE_WRITE_REMOTE_WRITE_H
#define NTK_EXPORTERS_REMOTE_WRITE_REMOTE_WRITE_H

#include "exporters/exporter.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct ntk_exporter ntk_exporter_remote_write;
/* Options that are read when an exporter is created. */
extern struct ntk_remote_write_target {
    const char *url;
    const char *headers_file;  /* file of "Name: value" lines, for each request; NULL if none */
    const char *token_file;    /* file with a bearer token; NULL if none */
    const char *password_file; /* file with user:password; NULL if none */
    const char *protocol;      /* "1.0" or "2.0"; NULL if detected */
    const char *spool_folder;  /* NULL: memory only */
    bool has_native;           /* native histograms in addition to classic histograms */
} ntk_remote_write_target;

#ifdef __cplusplus
}
#endif
#endif
