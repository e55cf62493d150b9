/* SPDX-License-Identifier: MIT */
/*
 * output_schema - descriptions of the tables and metrics of a profile, as text. Both functions
 * append to a buffer; an allocation that fails shows in ntk_buf_ok().
 */
#ifndef NTK_PROFILER_OUTPUT_TABLES_OUTPUT_SCHEMA_H
#define NTK_PROFILER_OUTPUT_TABLES_OUTPUT_SCHEMA_H

#include "shared/base/buf.h"

/* All tables with their columns, as YAML: those of captures, then those of folders. */
void ntk_output_schema_yaml(struct ntk_buf *out);
/* A line for each metric: name, group, meaning. */
void ntk_output_terminology(struct ntk_buf *out);

#endif
