/* SPDX-License-Identifier: MIT */
/*
 * tables - the tables of an export under the names of their two schemas.
 *
 * docs/formats/profile-tables.md lists the relational one (schema 7.4.0),
 * docs/formats/profile-json.md the arrays of the JSON document. All are constants, except for the
 * summary, which has a column per metric.
 */
#ifndef NTK_PROFILER_OUTPUT_TABLES_TABLES_H
#define NTK_PROFILER_OUTPUT_TABLES_TABLES_H

#include "profiler/output/tables/table.h"

#define NTK_SCHEMA_VERSION "7.4.0"

/* *out_count of them, sorted by name: of a capture, of folders of inspections, of this export. */
const struct ntk_table *ntk_tables_schema(size_t *out_count);
const struct ntk_table *ntk_tables_system(size_t *out_count);
const struct ntk_table *ntk_tables_of(const struct ntk_export *export, size_t *out_count);
/* *out_count of them, in the order of the document. */
const struct ntk_table *ntk_tables_json(size_t *out_count);

/* One object with these arrays of the JSON document; names ends with NULL. 0 or -errno. */
struct ntk_sink;
int ntk_output_tables_json(const struct ntk_export *export, const char *const *names,
                           struct ntk_sink *sink);

#endif
