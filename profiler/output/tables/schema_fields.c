/* SPDX-License-Identifier: MIT */
/* schema_fields - creates the table that describes the tables: a row per column. */
#include <string.h>

#include "profiler/output/tables/columns.h"
#include "profiler/output/tables/tables.h"

struct schema_field_row {
    const char *table, *table_meaning, *field, *meaning, *type, *unit;
    int64_t is_required;
    double minimum, maximum;
};

const struct ntk_column ntk_schema_fields[NTK_SCHEMA_FIELDS_COLUMNS] = {
    ALWAYS(schema_field_row, table, "table_name", TEXT, "", "table"),
    ALWAYS(schema_field_row, table_meaning, "table_description", TEXT, "", "meaning of a row"),
    ALWAYS(schema_field_row, field, "field_name", TEXT, "", "column"),
    ALWAYS(schema_field_row, meaning, "field_description", TEXT, "", "meaning of the column"),
    NEVER("field_example", TEXT, "", "example"),
    ALWAYS(schema_field_row, type, "field_type", TEXT, "", "integer, number, boolean, string"),
    ALWAYS(schema_field_row, is_required, "field_required", BOOL, "", "present in all rows"),
    NEVER("field_format", TEXT, "", "format of the text"),
    MAYBE(schema_field_row, unit, "field_unit", TEXT, "", "unit; % is a fraction, 0 to 1"),
    MAYBE(schema_field_row, minimum, "field_minimum", F64, "", "smallest value"),
    MAYBE(schema_field_row, maximum, "field_maximum", F64, "", "largest value"),
    NEVER("field_enum_values", TEXT, "", "possible values"),
};

static int put_field(const struct ntk_table *table, const struct ntk_column *column,
                     ntk_row_put *put, void *ctx)
{
    bool is_fraction = strcmp(column->unit, "%") == 0;
    struct schema_field_row row = {
        .table = table->name,
        .table_meaning = table->meaning,
        .field = column->name,
        .meaning = column->meaning,
        .type = ntk_column_type_name(column->kind),
        .unit = column->unit[0] ? column->unit : NULL,
        .is_required = column->presence == NTK_COLUMN_ALWAYS,
        .minimum = is_fraction ? 0 : NTK_ABSENT_F64,
        .maximum = is_fraction ? 1 : NTK_ABSENT_F64,
    };

    return put(ctx, &row);
}

int ntk_rows_schema_fields(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    size_t table_count;
    const struct ntk_table *tables = ntk_tables_of(export, &table_count);
    int ret = 0;

    for (size_t t = 0; t < table_count; t++) {
        for (size_t c = 0; c < tables[t].column_count && ret == 0; c++) {
            ret = put_field(&tables[t], &tables[t].columns[c], put, ctx);
        }
    }
    return ret;
}
