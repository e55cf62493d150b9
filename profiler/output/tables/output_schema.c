/* SPDX-License-Identifier: MIT */
#include "profiler/output/tables/output_schema.h"

#include <string.h>

#include "profiler/output/tables/glossary.h"
#include "profiler/output/tables/tables.h"
#include "shared/base/text_table.h"
#include "shared/base/json.h"

/* ---- tables ---- */

/* Writes a column; a JSON string is valid YAML. */
static void put_column(const struct ntk_column *column, struct ntk_buf *out)
{
    ntk_buf_add_format(out, "      - name: %s\n        type: %s\n        required: %s\n",
                       column->name, ntk_column_type_name(column->kind),
                       column->presence == NTK_COLUMN_ALWAYS ? "true" : "false");
    if (column->unit[0]) {
        ntk_buf_add_text(out, "        unit: ");
        ntk_json_add_quoted(out, column->unit);
        ntk_buf_add_char(out, '\n');
    }
    ntk_buf_add_text(out, "        description: ");
    ntk_json_add_quoted(out, column->meaning);
    ntk_buf_add_char(out, '\n');
}

static void put_tables(const struct ntk_table *tables, size_t count, const char *profile,
                       struct ntk_buf *out)
{
    for (size_t t = 0; t < count; t++) {
        ntk_buf_add_format(out, "  - name: %s\n    profile: %s\n    description: ", tables[t].name,
                           profile);
        ntk_json_add_quoted(out, tables[t].meaning);
        ntk_buf_add_text(out, "\n    fields:\n");
        for (size_t c = 0; c < tables[t].column_count; c++) {
            put_column(&tables[t].columns[c], out);
        }
    }
}

void ntk_output_schema_yaml(struct ntk_buf *out)
{
    size_t count;
    const struct ntk_table *tables = ntk_tables_schema(&count);

    ntk_buf_add_text(out, "profile_schema_version: \"" NTK_SCHEMA_VERSION "\"\ntables:\n");
    put_tables(tables, count, "device", out);
    tables = ntk_tables_system(&count);
    put_tables(tables, count, "system", out);
}

/* ---- metrics ---- */

static void put_metric(void *ctx, const char *metric, const char *group, const char *meaning)
{
    ntk_text_table_text(ctx, metric);
    ntk_text_table_text(ctx, group);
    ntk_text_table_text(ctx, meaning);
}

void ntk_output_terminology(struct ntk_buf *out)
{
    static const char *const heads[] = { "METRIC", "GROUP", "MEANING" };
    struct ntk_text_table table;

    ntk_text_table_init(&table, 3, 1u << 0 | 1u << 1 | 1u << 2, heads);
    ntk_glossary_each(put_metric, &table);
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
}
