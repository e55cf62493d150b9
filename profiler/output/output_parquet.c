/* SPDX-License-Identifier: MIT */
/*
 * output_parquet - tables as Parquet files: row groups of plainly encoded columns, Snappy pages,
 * and the footer that finds them.
 *
 *   "PAR1" | per row group, per column: PageHeader, page | FileMetaData | u32 its length | "PAR1"
 *
 * A page of a column that may be absent begins with definition levels: u32 bytes, then runs of
 * (varint 2 * length, u8 level). Source of the format: Apache Parquet, parquet.thrift and
 * Encodings.md.
 */
#include <errno.h>
#include <snappy-c.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/folder.h"
#include "profiler/output/thrift.h"

#define MAGIC "PAR1"
#define VERSION 1
#define GROUP_ROWS_MAX 122880
#define GROUP_BYTES_MAX ((size_t)32 << 20) /* whichever comes first */

enum {
    TYPE_BOOLEAN = 0,
    TYPE_INT32 = 1,
    TYPE_INT64 = 2,
    TYPE_DOUBLE = 5,
    TYPE_BYTE_ARRAY = 6,
    REPETITION_REQUIRED = 0,
    REPETITION_OPTIONAL = 1,
    CONVERTED_UTF8 = 0,
    ENCODING_PLAIN = 0,
    ENCODING_RLE = 3,
    CODEC_SNAPPY = 1,
    PAGE_DATA = 0,
};

struct column { /* what a row group has gathered */
    struct ntk_buf values;
    struct ntk_buf levels; /* closed runs */
    uint64_t run_length;
    bool run_level;
    unsigned bit_count; /* of the last byte of values, when they are bits */
};

struct writer {
    const struct ntk_table *table;
    struct ntk_sink *sink;
    struct column *columns;
    size_t group_rows, group_bytes;
    uint64_t row_count;
    struct ntk_buf groups; /* RowGroup structs of the footer */
    size_t group_count;
    struct ntk_buf page, packed; /* scratch */
};

static uint64_t place(const struct writer *writer)
{
    return writer->sink->flushed_bytes + writer->sink->buf.bytes_count;
}

static int type_of(enum ntk_column_kind kind)
{
    switch (kind) {
    case NTK_COLUMN_I32:
        return TYPE_INT32;
    case NTK_COLUMN_F64:
    case NTK_COLUMN_F32:
        return TYPE_DOUBLE;
    case NTK_COLUMN_BOOL:
        return TYPE_BOOLEAN;
    case NTK_COLUMN_JSON:
    case NTK_COLUMN_TEXT:
        return TYPE_BYTE_ARRAY;
    default:
        return TYPE_INT64;
    }
}

static bool is_optional(const struct ntk_column *column)
{
    return column->presence != NTK_COLUMN_ALWAYS;
}

/* ---- rows ---- */

/* Of files that may say anything: what is too large is the largest. */
static int32_t clamped(int64_t value)
{
    return (int32_t)(value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : value);
}

static void put_value(struct column *to, const struct ntk_column *column, union ntk_cell cell)
{
    uint64_t bits;

    switch (type_of(column->kind)) {
    case TYPE_INT32:
        ntk_buf_put_u32(&to->values, (uint32_t)clamped(cell.i64));
        break;
    case TYPE_DOUBLE:
        memcpy(&bits, &cell.f64, sizeof bits);
        ntk_buf_put_u64(&to->values, bits);
        break;
    case TYPE_BOOLEAN:
        if (to->bit_count % 8 == 0) {
            ntk_buf_put_u8(&to->values, 0);
        }
        if (cell.i64 && ntk_buf_ok(&to->values)) {
            char *last = &to->values.bytes[to->values.bytes_count - 1];
            *last = (char)((unsigned char)*last | 1u << to->bit_count % 8);
        }
        to->bit_count++;
        break;
    case TYPE_BYTE_ARRAY: {
        size_t length = strlen(cell.text);
        ntk_buf_put_u32(&to->values, (uint32_t)length);
        ntk_buf_add(&to->values, cell.text, length);
        break;
    }
    default:
        ntk_buf_put_u64(&to->values, (uint64_t)cell.i64);
        break;
    }
}

static void close_run(struct column *column)
{
    if (column->run_length) {
        ntk_thrift_varint(&column->levels, column->run_length << 1);
        ntk_buf_put_u8(&column->levels, column->run_level);
        column->run_length = 0;
    }
}

static void put_level(struct column *column, bool level)
{
    if (column->run_level != level) {
        close_run(column);
        column->run_level = level;
    }
    column->run_length++;
}

/* ---- row groups ---- */

static int put_page(struct writer *writer, size_t index, struct ntk_thrift *footer)
{
    const struct ntk_column *column = &writer->table->columns[index];
    struct column *from = &writer->columns[index];
    struct ntk_thrift head;
    uint64_t begin = place(writer);

    ntk_buf_reset(&writer->page);
    if (is_optional(column)) {
        close_run(from);
        ntk_buf_put_u32(&writer->page, (uint32_t)from->levels.bytes_count);
        ntk_buf_add(&writer->page, ntk_buf_text_get(&from->levels), from->levels.bytes_count);
    }
    ntk_buf_add(&writer->page, ntk_buf_text_get(&from->values), from->values.bytes_count);
    size_t packed_bytes = snappy_max_compressed_length(writer->page.bytes_count);
    ntk_buf_reset(&writer->packed);
    char *packed = ntk_buf_extend(&writer->packed, packed_bytes);
    if (!packed || !ntk_buf_ok(&writer->page) || !ntk_buf_ok(&from->values) ||
        !ntk_buf_ok(&from->levels) ||
        snappy_compress(writer->page.bytes, writer->page.bytes_count, packed, &packed_bytes) !=
            SNAPPY_OK) {
        return -ENOMEM;
    }
    ntk_thrift_init(&head, &writer->sink->buf);
    ntk_thrift_begin(&head, 0); /* PageHeader */
    ntk_thrift_i32(&head, 1, PAGE_DATA);
    ntk_thrift_i32(&head, 2, (int32_t)writer->page.bytes_count);
    ntk_thrift_i32(&head, 3, (int32_t)packed_bytes);
    ntk_thrift_begin(&head, 5); /* DataPageHeader */
    ntk_thrift_i32(&head, 1, (int32_t)writer->group_rows);
    ntk_thrift_i32(&head, 2, ENCODING_PLAIN);
    ntk_thrift_i32(&head, 3, ENCODING_RLE);
    ntk_thrift_i32(&head, 4, ENCODING_RLE);
    ntk_thrift_end(&head);
    ntk_thrift_end(&head);
    uint64_t head_bytes = place(writer) - begin;
    ntk_buf_add(&writer->sink->buf, packed, packed_bytes);

    ntk_thrift_begin(footer, 0); /* ColumnChunk */
    ntk_thrift_i64(footer, 2, (int64_t)begin);
    ntk_thrift_begin(footer, 3); /* ColumnMetaData */
    ntk_thrift_i32(footer, 1, type_of(column->kind));
    ntk_thrift_list(footer, 2, NTK_THRIFT_I32, 2);
    ntk_thrift_element_i32(footer, ENCODING_PLAIN);
    ntk_thrift_element_i32(footer, ENCODING_RLE);
    ntk_thrift_list(footer, 3, NTK_THRIFT_BINARY, 1);
    ntk_thrift_element_text(footer, column->name);
    ntk_thrift_i32(footer, 4, CODEC_SNAPPY);
    ntk_thrift_i64(footer, 5, (int64_t)writer->group_rows);
    ntk_thrift_i64(footer, 6, (int64_t)(head_bytes + writer->page.bytes_count));
    ntk_thrift_i64(footer, 7, (int64_t)(head_bytes + packed_bytes));
    ntk_thrift_i64(footer, 9, (int64_t)begin);
    ntk_thrift_end(footer);
    ntk_thrift_end(footer);

    ntk_buf_reset(&from->values);
    ntk_buf_reset(&from->levels);
    from->bit_count = 0;
    return ntk_sink_step(writer->sink);
}

static int flush_group(struct writer *writer)
{
    struct ntk_thrift footer;
    uint64_t begin = place(writer);
    int ret = 0;

    ntk_thrift_init(&footer, &writer->groups);
    ntk_thrift_begin(&footer, 0); /* RowGroup */
    ntk_thrift_list(&footer, 1, NTK_THRIFT_STRUCT, writer->table->column_count);
    for (size_t i = 0; i < writer->table->column_count && ret == 0; i++) {
        ret = put_page(writer, i, &footer);
    }
    ntk_thrift_i64(&footer, 2, (int64_t)(place(writer) - begin));
    ntk_thrift_i64(&footer, 3, (int64_t)writer->group_rows);
    ntk_thrift_end(&footer);
    writer->group_count++;
    writer->group_rows = 0;
    writer->group_bytes = 0;
    return ret;
}

static int put(void *state, const void *row)
{
    struct writer *writer = state;

    for (size_t i = 0; i < writer->table->column_count; i++) {
        const struct ntk_column *column = &writer->table->columns[i];
        struct column *to = &writer->columns[i];
        size_t before = to->values.bytes_count;
        union ntk_cell cell;
        bool has = ntk_cell_get(column, row, &cell);
        if (is_optional(column)) {
            put_level(to, has);
        } else if (!has) {
            return -EINVAL; /* the table says that every row has it */
        }
        if (has) {
            put_value(to, column, cell);
        }
        writer->group_bytes += to->values.bytes_count - before;
    }
    writer->row_count++;
    writer->group_rows++;
    return writer->group_rows < GROUP_ROWS_MAX && writer->group_bytes < GROUP_BYTES_MAX
               ? 0
               : flush_group(writer);
}

/* ---- the file ---- */

static void destroy(void *state)
{
    struct writer *writer = state;

    for (size_t i = 0; writer->columns && i < writer->table->column_count; i++) {
        ntk_buf_fini(&writer->columns[i].values);
        ntk_buf_fini(&writer->columns[i].levels);
    }
    free(writer->columns);
    ntk_buf_fini(&writer->groups);
    ntk_buf_fini(&writer->page);
    ntk_buf_fini(&writer->packed);
    free(writer);
}

static void *begin(const struct ntk_table *table, struct ntk_sink *sink)
{
    struct writer *writer = calloc(1, sizeof *writer);

    if (!writer) {
        return NULL;
    }
    writer->table = table;
    writer->sink = sink;
    writer->columns = calloc(table->column_count, sizeof *writer->columns);
    if (!writer->columns) {
        destroy(writer);
        return NULL;
    }
    ntk_buf_add_text(&sink->buf, MAGIC);
    return writer;
}

static void put_schema(struct ntk_thrift *footer, const struct ntk_table *table)
{
    ntk_thrift_list(footer, 2, NTK_THRIFT_STRUCT, table->column_count + 1);
    ntk_thrift_begin(footer, 0);
    ntk_thrift_text(footer, 4, table->name);
    ntk_thrift_i32(footer, 5, (int32_t)table->column_count);
    ntk_thrift_end(footer);
    for (size_t i = 0; i < table->column_count; i++) {
        const struct ntk_column *column = &table->columns[i];
        ntk_thrift_begin(footer, 0);
        ntk_thrift_i32(footer, 1, type_of(column->kind));
        ntk_thrift_i32(footer, 3, is_optional(column) ? REPETITION_OPTIONAL : REPETITION_REQUIRED);
        ntk_thrift_text(footer, 4, column->name);
        if (type_of(column->kind) == TYPE_BYTE_ARRAY) {
            ntk_thrift_i32(footer, 6, CONVERTED_UTF8);
        }
        ntk_thrift_end(footer);
    }
}

static int end(void *state)
{
    struct writer *writer = state;
    struct ntk_buf *out = &writer->sink->buf;
    struct ntk_thrift footer;
    int ret = writer->group_rows ? flush_group(writer) : 0;
    uint64_t begin = place(writer);

    if (ret < 0 || !ntk_buf_ok(&writer->groups)) {
        return ret < 0 ? ret : -ENOMEM;
    }
    ntk_thrift_init(&footer, out);
    ntk_thrift_begin(&footer, 0); /* FileMetaData */
    ntk_thrift_i32(&footer, 1, VERSION);
    put_schema(&footer, writer->table);
    ntk_thrift_i64(&footer, 3, (int64_t)writer->row_count);
    ntk_thrift_list(&footer, 4, NTK_THRIFT_STRUCT, writer->group_count);
    ntk_buf_add(out, ntk_buf_text_get(&writer->groups), writer->groups.bytes_count);
    ntk_thrift_list(&footer, 5, NTK_THRIFT_STRUCT, 1); /* key-value metadata */
    ntk_thrift_begin(&footer, 0);
    ntk_thrift_text(&footer, 1, "description");
    ntk_thrift_text(&footer, 2, writer->table->meaning);
    ntk_thrift_end(&footer);
    ntk_thrift_text(&footer, 6, "neuron-profile " NTK_VERSION);
    ntk_thrift_end(&footer);
    ntk_buf_put_u32(out, (uint32_t)(place(writer) - begin));
    ntk_buf_add_text(out, MAGIC);
    return 0;
}

int ntk_export_to_parquet(const struct ntk_export *export, const char *path, struct ntk_err *err)
{
    static const struct ntk_folder_format format = { "parquet", begin, put, end, destroy };

    return ntk_folder_export(export, path, &format, err);
}
