/* SPDX-License-Identifier: MIT */
/* output_json - writes the whole profile as one JSON object of arrays
 * (docs/formats/profile-json.md). */
#include "profiler/output/export_to.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "profiler/output/sink.h"
#include "profiler/output/tables/glossary.h"
#include "profiler/output/tables/tables.h"
#include "shared/base/json.h"

struct writer {
    struct ntk_sink *sink;
    struct ntk_json json;
    const struct ntk_table *table;
    bool has_row;
    struct ntk_buf keys; /* ,"key": for each column of the table */
    size_t key_ends[NTK_TABLE_COLUMNS_MAX];
};

static void prepare_keys(struct writer *writer)
{
    assert(writer->table->column_count <= NTK_TABLE_COLUMNS_MAX);
    const char *comma = writer->json.pretty ? ",\n      " : ",";
    const char *colon = writer->json.pretty ? ": " : ":";

    ntk_buf_reset(&writer->keys);
    for (size_t i = 0; i < writer->table->column_count; i++) {
        ntk_buf_add_text(&writer->keys, comma);
        ntk_json_add_quoted(&writer->keys, writer->table->columns[i].name);
        ntk_buf_add_text(&writer->keys, colon);
        writer->key_ends[i] = writer->keys.bytes_count;
    }
}

static void put_cell(struct ntk_buf *buf, const struct ntk_column *column, union ntk_cell cell)
{
    char text[32];

    switch (column->kind) {
    case NTK_COLUMN_I64:
    case NTK_COLUMN_I32:
        ntk_buf_add_i64(buf, cell.i64);
        break;
    case NTK_COLUMN_F64:
        ntk_buf_add(buf, text, ntk_json_format_double(text, sizeof text, cell.f64));
        break;
    case NTK_COLUMN_F32:
        ntk_buf_add(buf, text, ntk_json_format_float(text, sizeof text, (float)cell.f64));
        break;
    case NTK_COLUMN_BOOL:
        ntk_buf_add_text(buf, cell.i64 ? "true" : "false");
        break;
    case NTK_COLUMN_TEXT:
        ntk_json_add_quoted(buf, cell.text);
        break;
    case NTK_COLUMN_JSON:
        ntk_buf_add_text(buf, cell.text);
        break;
    case NTK_COLUMN_I64_TEXT:
        ntk_buf_add_char(buf, '"');
        ntk_buf_add_i64(buf, cell.i64);
        ntk_buf_add_char(buf, '"');
        break;
    }
}

/* Writes the same output as ntk_json, from prepared pieces, because rows are almost the whole
 * document. */
static int put_row(void *ctx, const void *row)
{
    struct writer *writer = ctx;
    struct ntk_buf *buf = &writer->sink->buf;
    const char *keys = ntk_buf_text_get(&writer->keys);
    size_t key = 0;
    bool has_cell = false;

    ntk_buf_add_text(buf, writer->has_row ? "," : "");
    ntk_buf_add_text(buf, writer->json.pretty ? "\n    {" : "{");
    writer->has_row = true;
    for (size_t i = 0; i < writer->table->column_count; key = writer->key_ends[i++]) {
        const struct ntk_column *column = &writer->table->columns[i];
        union ntk_cell cell;
        if (ntk_cell_get(column, row, &cell)) {
            size_t skipped = has_cell ? 0 : 1; /* no comma before the first key */
            ntk_buf_add(buf, keys + key + skipped, writer->key_ends[i] - key - skipped);
            put_cell(buf, column, cell);
            has_cell = true;
        }
    }
    ntk_buf_add_text(buf, writer->json.pretty && has_cell ? "\n    }" : "}");
    return ntk_sink_step(writer->sink);
}

static int put_table(struct writer *writer, const struct ntk_export *export)
{
    writer->has_row = false;
    prepare_keys(writer);
    ntk_json_key_array_begin(&writer->json, writer->table->name);
    int ret = ntk_buf_ok(&writer->keys) ? writer->table->rows(export, put_row, writer) : -ENOMEM;
    ntk_json_array_end(&writer->json);
    return ret;
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

/* Writes parts with one object, which has names of metrics and groups as keys. */
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

int ntk_output_tables_json(const struct ntk_export *export, const char *const *names,
                           struct ntk_sink *sink)
{
    struct writer writer = { .sink = sink };
    size_t table_count;
    const struct ntk_table *tables = ntk_tables_json(&table_count);
    int ret = 0;

    ntk_json_init(&writer.json, &sink->buf, true);
    ntk_json_object_begin(&writer.json);
    for (; *names && ret == 0; names++) {
        for (size_t t = 0; t < table_count && ret == 0; t++) {
            if (strcmp(tables[t].name, *names) == 0) {
                writer.table = &tables[t];
                ret = put_table(&writer, export);
            }
        }
    }
    ntk_json_object_end(&writer.json);
    ntk_buf_add_char(&sink->buf, '\n');
    ntk_buf_fini(&writer.keys);
    return ret;
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
    ntk_json_init(&writer.json, &sink.buf, export->is_pretty);
    ntk_json_object_begin(&writer.json);
    for (size_t t = 0; t < table_count && ret == 0; t++) {
        writer.table = &tables[t];
        ret = put_table(&writer, export);
    }
    put_summary(&writer.json, &export->summary);
    ntk_json_object_end(&writer.json);
    ntk_buf_add_char(&sink.buf, '\n');
    ntk_buf_fini(&writer.keys);
    return ntk_export_finish(&sink, ret, err);
}
