/* SPDX-License-Identifier: MIT */
/* output_json - the whole profile as one JSON object of arrays, docs/formats/profile-json.md. */
#include "profiler/output/export_to.h"

#include <errno.h>
#include <stdlib.h>

#include "profiler/output/glossary.h"
#include "profiler/output/sink.h"
#include "profiler/output/tables.h"
#include "shared/base/json.h"

struct writer {
    struct ntk_sink *sink;
    struct ntk_json json;
    const struct ntk_table *table;
};

static int put_row(void *ctx, const void *row)
{
    struct writer *writer = ctx;
    struct ntk_json *json = &writer->json;

    ntk_json_object_begin(json);
    for (size_t i = 0; i < writer->table->column_count; i++) {
        const struct ntk_column *column = &writer->table->columns[i];
        union ntk_cell cell;
        char text[32];
        if (!ntk_cell_get(column, row, &cell)) {
            continue;
        }
        ntk_json_key(json, column->name);
        switch (column->kind) {
        case NTK_COLUMN_I64:
        case NTK_COLUMN_I32:
            ntk_json_i64(json, cell.i64);
            break;
        case NTK_COLUMN_F64:
            ntk_json_double(json, cell.f64);
            break;
        case NTK_COLUMN_F32:
            ntk_json_raw(json, text, ntk_json_format_float(text, sizeof text, (float)cell.f64));
            break;
        case NTK_COLUMN_BOOL:
            ntk_json_bool(json, cell.i64 != 0);
            break;
        case NTK_COLUMN_TEXT:
            ntk_json_text(json, cell.text);
            break;
        case NTK_COLUMN_I64_TEXT:
            snprintf(text, sizeof text, "%lld", (long long)cell.i64);
            ntk_json_text(json, text);
            break;
        }
    }
    ntk_json_object_end(json);
    return ntk_sink_step(writer->sink);
}

static void put_group(void *ctx, const char *metric, const char *group, const char *meaning)
{
    (void)meaning;
    ntk_json_key_text(ctx, metric, group);
}

static void put_meaning(void *ctx, const char *metric, const char *group, const char *meaning)
{
    (void)group;
    ntk_json_key_text(ctx, metric, meaning);
}

/* What has one object: its keys are names of metrics and groups. */
static void put_summary(struct ntk_json *json, const struct ntk_summary *summary)
{
    ntk_json_key_array_begin(json, "summary");
    ntk_json_object_begin(json);
    ntk_output_summary_members(summary, json);
    ntk_json_object_end(json);
    ntk_json_array_end(json);

    ntk_json_key_array_begin(json, "summary_groups");
    ntk_json_object_begin(json);
    ntk_glossary_each(put_group, json);
    ntk_json_object_end(json);
    ntk_json_array_end(json);

    ntk_json_key_array_begin(json, "summary_group_order");
    ntk_json_object_begin(json);
    for (unsigned n = 0; ntk_glossary_group(n); n++) {
        ntk_json_key_u64(json, ntk_glossary_group(n), n);
    }
    ntk_json_object_end(json);
    ntk_json_array_end(json);

    ntk_json_key_array_begin(json, "terminology");
    ntk_json_object_begin(json);
    ntk_glossary_each(put_meaning, json);
    ntk_json_object_end(json);
    ntk_json_array_end(json);
}

int ntk_export_to_json(const struct ntk_export *export, const char *path, struct ntk_err *err)
{
    struct ntk_sink sink;
    struct writer writer = { .sink = &sink };
    size_t table_count;
    const struct ntk_table *tables = ntk_tables_json(&table_count);
    int ret = ntk_sink_open(&sink, path, err);

    if (ret < 0) {
        return ret;
    }
    ntk_json_init(&writer.json, &sink.buf, false);
    ntk_json_object_begin(&writer.json);
    for (size_t t = 0; t < table_count && ret == 0; t++) {
        writer.table = &tables[t];
        ntk_json_key_array_begin(&writer.json, tables[t].name);
        ret = tables[t].rows(export, put_row, &writer);
        ntk_json_array_end(&writer.json);
    }
    put_summary(&writer.json, &export->summary);
    ntk_json_object_end(&writer.json);
    ntk_buf_add_char(&sink.buf, '\n');
    return ntk_export_finish(&sink, ret, err);
}
