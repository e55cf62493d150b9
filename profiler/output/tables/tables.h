/* SPDX-License-Identifier: MIT */
/*
 * tables - lists the tables of an export, with the names of their two schemas.
 *
 * docs/formats/profile-tables.md lists the relational one (schema 7.4.0),
 * docs/formats/profile-json.md the arrays of the JSON document. All tables are constants, except
 * for the summary, which has a column per metric.
 */
#ifndef NTK_PROFILER_OUTPUT_TABLES_TABLES_H
#define NTK_PROFILER_OUTPUT_TABLES_TABLES_H

#include "profiler/output/tables/table.h"

#define NTK_SCHEMA_VERSION "7.4.0"

/* Return *out_count tables, sorted by name: for a capture, for folders of inspections, for this
 * export. */
const struct ntk_table *ntk_tables_schema(size_t *out_count);
const struct ntk_table *ntk_tables_system(size_t *out_count);
const struct ntk_table *ntk_tables_of(const struct ntk_export *export, size_t *out_count);
/* Returns *out_count tables, in the order of the document. */
const struct ntk_table *ntk_tables_json(size_t *out_count);

/* Writes one object with these arrays of the JSON document; names ends with NULL. Returns 0 or
 * -errno. */
struct ntk_sink;
int ntk_output_tables_json(const struct ntk_export *export, const char *const *names,
                           struct ntk_sink *sink);

#endif
