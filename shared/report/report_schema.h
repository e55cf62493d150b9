/* SPDX-License-Identifier: MIT */
/*
 * report_schema - the JSON Schema (2020-12) of a report, as this version writes it: report.schema.json,
 * which is also installed.
 *
 * Owner, threads: constant.
 */
#ifndef NTK_SHARED_REPORT_REPORT_SCHEMA_H
#define NTK_SHARED_REPORT_REPORT_SCHEMA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

const char *ntk_report_schema_get(size_t *out_bytes);

#ifdef __cplusplus
}
#endif
#endif
