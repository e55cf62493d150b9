/* SPDX-License-Identifier: MIT */
/* output_parquet - writes tables as Parquet files, with shared/parquet. */
#include <stdlib.h>
#include <string.h>

#include "profiler/output/tables/folder.h"
#include "shared/parquet/parquet.h"

struct writer {
    const struct ntk_table *table;
    struct ntk_sink *sink;
    struct ntk_parquet *parquet;
    struct ntk_parquet_options options;
    struct ntk_parquet_pair description;
    struct ntk_parquet_column columns[NTK_TABLE_COLUMNS_MAX];
    struct ntk_parquet_value values[NTK_TABLE_COLUMNS_MAX];
};

static enum ntk_parquet_kind kind_of(enum ntk_column_kind kind)
{
    switch (kind) {
    case NTK_COLUMN_I32:
        return NTK_PARQUET_I32;
    case NTK_COLUMN_F64:
    case NTK_COLUMN_F32:
        return NTK_PARQUET_F64;
    case NTK_COLUMN_BOOL:
        return NTK_PARQUET_BOOL;
    case NTK_COLUMN_JSON:
    case NTK_COLUMN_TEXT:
        return NTK_PARQUET_TEXT;
    default:
        return NTK_PARQUET_I64;
    }
}

static int put(void *state, const void *row)
{
    struct writer *writer = state;

    for (size_t i = 0; i < writer->table->column_count; i++) {
        struct ntk_parquet_value *value = &writer->values[i];
        union ntk_cell cell;
        value->is_present = ntk_cell_get(&writer->table->columns[i], row, &cell);
        if (!value->is_present) {
            continue;
        }
        switch (writer->columns[i].kind) {
        case NTK_PARQUET_F64:
            value->f64 = cell.f64;
            break;
        case NTK_PARQUET_TEXT:
            value->bytes = cell.text;
            value->bytes_count = (uint32_t)strlen(cell.text);
            break;
        default:
            value->i64 = cell.i64;
            break;
        }
    }
    return ntk_parquet_put(writer->parquet, writer->values);
}

static int take_bytes(void *ctx, const void *bytes, size_t bytes_count)
{
    struct ntk_sink *sink = ctx;

    ntk_buf_add(&sink->buf, bytes, bytes_count);
    return ntk_sink_step(sink);
}

static void destroy(void *state)
{
    struct writer *writer = state;

    ntk_parquet_destroy(writer->parquet);
    free(writer);
}

static void *begin(const struct ntk_table *table, struct ntk_sink *sink)
{
    struct writer *writer = calloc(1, sizeof *writer);

    if (!writer) {
        return NULL;
    }
    writer->table = table;
    writer->description = (struct ntk_parquet_pair){ "description", table->meaning };
    for (size_t i = 0; i < table->column_count; i++) {
        writer->columns[i] = (struct ntk_parquet_column){
            .name = table->columns[i].name,
            .kind = kind_of(table->columns[i].kind),
            .is_optional = table->columns[i].presence != NTK_COLUMN_ALWAYS,
        };
    }
    writer->options = (struct ntk_parquet_options){ .name = table->name,
                                                    .columns = writer->columns,
                                                    .column_count = table->column_count,
                                                    .codec = NTK_PARQUET_SNAPPY,
                                                    .sorted_by = -1,
                                                    .created_by = "neuron-profile " NTK_VERSION,
                                                    .pairs = &writer->description,
                                                    .pair_count = 1,
                                                    .write = take_bytes,
                                                    .ctx = sink };
    writer->parquet = ntk_parquet_create(&writer->options);
    if (!writer->parquet) {
        destroy(writer);
        return NULL;
    }
    return writer;
}

static int end(void *state)
{
    struct writer *writer = state;

    return ntk_parquet_finish(writer->parquet);
}

int ntk_export_to_parquet(const struct ntk_export *export, const char *path, struct ntk_err *err)
{
    static const struct ntk_folder_format format = { "parquet", begin, put, end, destroy };

    return ntk_folder_export(export, path, &format, err);
}
