/* SPDX-License-Identifier: MIT */
/*
 * output_schema - writes descriptions of the tables and metrics of a profile as text. Both
 * functions append to a buffer; ntk_buf_ok() reports a failed allocation.
 */
#ifndef NTK_PROFILER_OUTPUT_TABLES_OUTPUT_SCHEMA_H
#define NTK_PROFILER_OUTPUT_TABLES_OUTPUT_SCHEMA_H

#include "shared/base/buf.h"

/* Writes all tables with their columns, as YAML: tables of captures, then tables of folders. */
void ntk_output_schema_yaml(struct ntk_buf *out);
/* Writes a line for each metric: name, group, meaning. */
void ntk_output_terminology(struct ntk_buf *out);

#endif
