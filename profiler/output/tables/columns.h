/* SPDX-License-Identifier: MIT */
/*
 * columns - defines macros for tables of the schema, and the table that describes them, for
 * tables_schema.c and tables_system.c.
 */
#ifndef NTK_PROFILER_OUTPUT_TABLES_COLUMNS_H
#define NTK_PROFILER_OUTPUT_TABLES_COLUMNS_H

#include "profiler/output/tables/table.h"

#define ALWAYS(row, member, name, kind, unit, meaning)                                          \
    {                                                                                           \
        name, NTK_COLUMN_##kind, NTK_COLUMN_ALWAYS, offsetof(struct row, member), unit, meaning \
    }
#define MAYBE(row, member, name, kind, unit, meaning)                                          \
    {                                                                                          \
        name, NTK_COLUMN_##kind, NTK_COLUMN_MAYBE, offsetof(struct row, member), unit, meaning \
    }
#define NTK_CORE_INDEX_MEANING                                                                     \
    "index of the core in the capture, counted from 0 in the order of the core numbers (those in " \
    "text output and in --core)"

#define NEVER(name, kind, unit, meaning)                            \
    {                                                               \
        name, NTK_COLUMN_##kind, NTK_COLUMN_NEVER, 0, unit, meaning \
    }

#define TABLE(name, meaning, columns, rows)                               \
    {                                                                     \
        name, meaning, columns, sizeof(columns) / sizeof *(columns), rows \
    }

/* Number of columns in SchemaFields, which describes the columns of all tables in the export. */
#define NTK_SCHEMA_FIELDS_COLUMNS 12
extern const struct ntk_column ntk_schema_fields[NTK_SCHEMA_FIELDS_COLUMNS];
int ntk_rows_schema_fields(const struct ntk_export *export, ntk_row_put *put, void *ctx);

#endif
