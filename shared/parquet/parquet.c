/* SPDX-License-Identifier: MIT */
/*
 * parquet - writes tables as Parquet files.
 *
 *   "PAR1" | per row group, per column: [dictionary page,] data page | FileMetaData |
 *   u32 its length | "PAR1"
 *
 * A page is a PageHeader and its body, packed. The body of a data page of a column that may be
 * absent begins with definition levels: u32 bytes, then runs of (varint 2 * length, u8 level).
 */
#include "shared/parquet/parquet.h"

#include <errno.h>
#include <snappy-c.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "shared/base/buf.h"
#include "shared/parquet/column.h"
#include "shared/parquet/thrift.h"

#define MAGIC "PAR1"
#define VERSION 1
#define ZSTD_LEVEL 3

enum {
    TYPE_BOOLEAN = 0,
    TYPE_INT32 = 1,
    TYPE_INT64 = 2,
    TYPE_DOUBLE = 5,
    TYPE_BYTE_ARRAY = 6,
    REPETITION_REQUIRED = 0,
    REPETITION_OPTIONAL = 1,
    CONVERTED_UTF8 = 0,
    CONVERTED_TIMESTAMP_MICROS = 10,
    LOGICAL_STRING = 1,
    LOGICAL_TIMESTAMP = 8,
    UNIT_MICROS = 2,
    ENCODING_PLAIN = 0,
    ENCODING_RLE = 3,
    ENCODING_RLE_DICTIONARY = 8,
    CODEC_SNAPPY = 1,
    CODEC_ZSTD = 6,
    PAGE_DATA = 0,
    PAGE_DICTIONARY = 2,
};

struct ntk_parquet {
    const struct ntk_parquet_options *options;
    struct ntk_parquet_chunk *chunks; /* one per column */
    size_t group_rows, group_bytes, group_rows_max;
    uint64_t row_count;
    uint64_t byte_count;
    struct ntk_buf groups; /* the footer's RowGroup structs */
    size_t group_count;
    struct ntk_buf head, page, packed, min, max; /* scratch memory */
    ZSTD_CCtx *zstd;
    bool is_begun;
};

struct place { /* where a column chunk is in the file */
    uint64_t begin;
    uint64_t bytes, plain_bytes; /* include page headers */
};

static int type_of(enum ntk_parquet_kind kind)
{
    switch (kind) {
    case NTK_PARQUET_BOOL:
        return TYPE_BOOLEAN;
    case NTK_PARQUET_I32:
        return TYPE_INT32;
    case NTK_PARQUET_F64:
        return TYPE_DOUBLE;
    case NTK_PARQUET_TEXT:
    case NTK_PARQUET_BYTES:
        return TYPE_BYTE_ARRAY;
    default:
        return TYPE_INT64;
    }
}

static int give(struct ntk_parquet *parquet, const struct ntk_buf *buf)
{
    if (!ntk_buf_ok(buf)) {
        return -ENOMEM;
    }
    if (buf->bytes_count == 0) {
        return 0;
    }
    parquet->byte_count += buf->bytes_count;
    return parquet->options->write(parquet->options->ctx, buf->bytes, buf->bytes_count);
}

/* Writes the magic number before the first bytes. */
static int begin(struct ntk_parquet *parquet)
{
    if (parquet->is_begun) {
        return 0;
    }
    parquet->is_begun = true;
    ntk_buf_reset(&parquet->head);
    ntk_buf_add_text(&parquet->head, MAGIC);
    return give(parquet, &parquet->head);
}

/* ---- pages ---- */

static int pack(struct ntk_parquet *parquet, const struct ntk_buf *page)
{
    bool is_zstd = parquet->options->codec == NTK_PARQUET_ZSTD;
    size_t bytes_count = is_zstd ? ZSTD_compressBound(page->bytes_count)
                                 : snappy_max_compressed_length(page->bytes_count);

    ntk_buf_reset(&parquet->packed);
    char *to = ntk_buf_extend(&parquet->packed, bytes_count);
    if (!to || !ntk_buf_ok(page)) {
        return -ENOMEM;
    }
    if (is_zstd) {
        bytes_count = ZSTD_compressCCtx(parquet->zstd, to, bytes_count, page->bytes,
                                        page->bytes_count, ZSTD_LEVEL);
        if (ZSTD_isError(bytes_count)) {
            return -ENOMEM;
        }
    } else if (snappy_compress(page->bytes, page->bytes_count, to, &bytes_count) != SNAPPY_OK) {
        return -ENOMEM;
    }
    parquet->packed.bytes_count = bytes_count;
    return 0;
}

static int put_page(struct ntk_parquet *parquet, const struct ntk_buf *page, int kind,
                    uint64_t value_count, int encoding, struct place *place)
{
    struct ntk_thrift head;
    int ret = pack(parquet, page);

    if (ret < 0) {
        return ret;
    }
    ntk_buf_reset(&parquet->head);
    ntk_thrift_init(&head, &parquet->head);
    ntk_thrift_begin(&head, 0); /* PageHeader */
    ntk_thrift_i32(&head, 1, kind);
    ntk_thrift_i32(&head, 2, (int32_t)page->bytes_count);
    ntk_thrift_i32(&head, 3, (int32_t)parquet->packed.bytes_count);
    ntk_thrift_begin(&head, kind == PAGE_DATA ? 5 : 7); /* DataPageHeader, DictionaryPageHeader */
    ntk_thrift_i32(&head, 1, (int32_t)value_count);
    ntk_thrift_i32(&head, 2, encoding);
    if (kind == PAGE_DATA) {
        ntk_thrift_i32(&head, 3, ENCODING_RLE);
        ntk_thrift_i32(&head, 4, ENCODING_RLE);
    }
    ntk_thrift_end(&head);
    ntk_thrift_end(&head);
    place->bytes += parquet->head.bytes_count + parquet->packed.bytes_count;
    place->plain_bytes += parquet->head.bytes_count + page->bytes_count;
    ret = give(parquet, &parquet->head);
    return ret < 0 ? ret : give(parquet, &parquet->packed);
}

static void put_statistics(struct ntk_parquet *parquet, const struct ntk_parquet_chunk *chunk,
                           struct ntk_thrift *footer)
{
    ntk_thrift_begin(footer, 12);
    ntk_thrift_i64(footer, 3, (int64_t)chunk->null_count);
    if (ntk_parquet_chunk_range(chunk, &parquet->min, &parquet->max)) {
        ntk_thrift_binary(footer, 5, ntk_buf_text_get(&parquet->max), parquet->max.bytes_count);
        ntk_thrift_binary(footer, 6, ntk_buf_text_get(&parquet->min), parquet->min.bytes_count);
        ntk_thrift_bool(footer, 7, true);
        ntk_thrift_bool(footer, 8, true);
    }
    ntk_thrift_end(footer);
}

static void put_chunk_metadata(struct ntk_parquet *parquet, const struct ntk_parquet_chunk *chunk,
                               const struct place *place, uint64_t data_at,
                               struct ntk_thrift *footer)
{
    ntk_thrift_begin(footer, 0); /* ColumnChunk */
    ntk_thrift_i64(footer, 2, (int64_t)place->begin);
    ntk_thrift_begin(footer, 3); /* ColumnMetaData */
    ntk_thrift_i32(footer, 1, type_of(chunk->column->kind));
    ntk_thrift_list(footer, 2, NTK_THRIFT_I32, chunk->is_dictionary ? 3 : 2);
    ntk_thrift_element_i32(footer, ENCODING_PLAIN);
    ntk_thrift_element_i32(footer, ENCODING_RLE);
    if (chunk->is_dictionary) {
        ntk_thrift_element_i32(footer, ENCODING_RLE_DICTIONARY);
    }
    ntk_thrift_list(footer, 3, NTK_THRIFT_BINARY, 1);
    ntk_thrift_element_text(footer, chunk->column->name);
    ntk_thrift_i32(footer, 4,
                   parquet->options->codec == NTK_PARQUET_ZSTD ? CODEC_ZSTD : CODEC_SNAPPY);
    ntk_thrift_i64(footer, 5, (int64_t)parquet->group_rows);
    ntk_thrift_i64(footer, 6, (int64_t)place->plain_bytes);
    ntk_thrift_i64(footer, 7, (int64_t)place->bytes);
    ntk_thrift_i64(footer, 9, (int64_t)data_at);
    if (chunk->is_dictionary) {
        ntk_thrift_i64(footer, 11, (int64_t)place->begin);
    }
    put_statistics(parquet, chunk, footer);
    ntk_thrift_end(footer);
    ntk_thrift_end(footer);
}

static int put_chunk(struct ntk_parquet *parquet, struct ntk_parquet_chunk *chunk,
                     struct place *place, struct ntk_thrift *footer)
{
    int ret = 0;

    ntk_parquet_chunk_close(chunk);
    if (chunk->is_dictionary) {
        ret = put_page(parquet, &chunk->values, PAGE_DICTIONARY, chunk->entry_count, ENCODING_PLAIN,
                       place);
    }
    uint64_t data_at = parquet->byte_count;
    if (ret == 0) {
        ntk_parquet_chunk_page(chunk, &parquet->page);
        ret = ntk_parquet_chunk_ok(chunk)
                  ? put_page(parquet, &parquet->page, PAGE_DATA, parquet->group_rows,
                             chunk->is_dictionary ? ENCODING_RLE_DICTIONARY : ENCODING_PLAIN, place)
                  : -ENOMEM;
    }
    put_chunk_metadata(parquet, chunk, place, data_at, footer);
    ntk_parquet_chunk_reset(chunk);
    /* Checks for failures: a truncated minimum or maximum would hide rows from readers. */
    return ret < 0 || (ntk_buf_ok(&parquet->min) && ntk_buf_ok(&parquet->max)) ? ret : -ENOMEM;
}

/* ---- row groups ---- */

static int flush_group(struct ntk_parquet *parquet)
{
    const struct ntk_parquet_options *options = parquet->options;
    struct ntk_thrift footer;
    struct place all = { .begin = parquet->byte_count };
    int ret = 0;

    ntk_thrift_init(&footer, &parquet->groups);
    ntk_thrift_begin(&footer, 0); /* RowGroup */
    ntk_thrift_list(&footer, 1, NTK_THRIFT_STRUCT, options->column_count);
    for (size_t i = 0; i < options->column_count && ret == 0; i++) {
        struct place place = { .begin = parquet->byte_count };
        ret = put_chunk(parquet, &parquet->chunks[i], &place, &footer);
        all.bytes += place.bytes;
        all.plain_bytes += place.plain_bytes;
    }
    ntk_thrift_i64(&footer, 2, (int64_t)all.plain_bytes);
    ntk_thrift_i64(&footer, 3, (int64_t)parquet->group_rows);
    if (options->sorted_by >= 0) {
        ntk_thrift_list(&footer, 4, NTK_THRIFT_STRUCT, 1);
        ntk_thrift_begin(&footer, 0);
        ntk_thrift_i32(&footer, 1, options->sorted_by);
        ntk_thrift_bool(&footer, 2, false); /* descending */
        ntk_thrift_bool(&footer, 3, false); /* absent values first */
        ntk_thrift_end(&footer);
    }
    ntk_thrift_i64(&footer, 5, (int64_t)all.begin);
    ntk_thrift_i64(&footer, 6, (int64_t)all.bytes);
    ntk_thrift_end(&footer);
    parquet->group_count++;
    parquet->group_rows = 0;
    parquet->group_bytes = 0;
    return ret;
}

int ntk_parquet_put(struct ntk_parquet *parquet, const struct ntk_parquet_value *values)
{
    const struct ntk_parquet_options *options = parquet->options;
    int ret = begin(parquet);

    for (size_t i = 0; i < options->column_count && ret == 0; i++) {
        if (!values[i].is_present && !options->columns[i].is_optional) {
            return -EINVAL; /* a value is missing in a required column */
        }
        parquet->group_bytes += ntk_parquet_chunk_put(&parquet->chunks[i], &values[i]);
        ret = ntk_parquet_chunk_ok(&parquet->chunks[i]) ? 0 : -ENOMEM;
    }
    if (ret < 0) {
        return ret;
    }
    parquet->row_count++;
    parquet->group_rows++;
    return parquet->group_rows < parquet->group_rows_max &&
                   parquet->group_bytes < NTK_PARQUET_GROUP_BYTES
               ? 0
               : flush_group(parquet);
}

/* ---- the file ---- */

void ntk_parquet_destroy(struct ntk_parquet *parquet)
{
    if (!parquet) {
        return;
    }
    for (size_t i = 0; parquet->chunks && i < parquet->options->column_count; i++) {
        ntk_parquet_chunk_fini(&parquet->chunks[i]);
    }
    free(parquet->chunks);
    ntk_buf_fini(&parquet->groups);
    ntk_buf_fini(&parquet->head);
    ntk_buf_fini(&parquet->page);
    ntk_buf_fini(&parquet->packed);
    ntk_buf_fini(&parquet->min);
    ntk_buf_fini(&parquet->max);
    ZSTD_freeCCtx(parquet->zstd);
    free(parquet);
}

struct ntk_parquet *ntk_parquet_create(const struct ntk_parquet_options *options)
{
    struct ntk_parquet *parquet = calloc(1, sizeof *parquet);

    if (!parquet) {
        return NULL;
    }
    parquet->options = options;
    parquet->group_rows_max =
        options->group_rows_max ? options->group_rows_max : NTK_PARQUET_GROUP_ROWS;
    parquet->chunks = calloc(options->column_count, sizeof *parquet->chunks);
    parquet->zstd = options->codec == NTK_PARQUET_ZSTD ? ZSTD_createCCtx() : NULL;
    if (!parquet->chunks || (options->codec == NTK_PARQUET_ZSTD && !parquet->zstd)) {
        ntk_parquet_destroy(parquet);
        return NULL;
    }
    for (size_t i = 0; i < options->column_count; i++) {
        ntk_parquet_chunk_init(&parquet->chunks[i], &options->columns[i]);
    }
    return parquet;
}

static void put_logical_type(struct ntk_thrift *footer, enum ntk_parquet_kind kind)
{
    ntk_thrift_begin(footer, 10); /* LogicalType */
    if (kind == NTK_PARQUET_TEXT) {
        ntk_thrift_begin(footer, LOGICAL_STRING);
    } else {
        ntk_thrift_begin(footer, LOGICAL_TIMESTAMP);
        ntk_thrift_bool(footer, 1, true); /* UTC */
        ntk_thrift_begin(footer, 2);
        ntk_thrift_begin(footer, UNIT_MICROS);
        ntk_thrift_end(footer);
        ntk_thrift_end(footer);
    }
    ntk_thrift_end(footer);
    ntk_thrift_end(footer);
}

static void put_schema(struct ntk_thrift *footer, const struct ntk_parquet_options *options)
{
    ntk_thrift_list(footer, 2, NTK_THRIFT_STRUCT, options->column_count + 1);
    ntk_thrift_begin(footer, 0);
    ntk_thrift_text(footer, 4, options->name);
    ntk_thrift_i32(footer, 5, (int32_t)options->column_count);
    ntk_thrift_end(footer);
    for (size_t i = 0; i < options->column_count; i++) {
        const struct ntk_parquet_column *column = &options->columns[i];
        ntk_thrift_begin(footer, 0); /* SchemaElement */
        ntk_thrift_i32(footer, 1, type_of(column->kind));
        ntk_thrift_i32(footer, 3, column->is_optional ? REPETITION_OPTIONAL : REPETITION_REQUIRED);
        ntk_thrift_text(footer, 4, column->name);
        if (column->kind == NTK_PARQUET_TEXT || column->kind == NTK_PARQUET_TIME_US) {
            ntk_thrift_i32(footer, 6,
                           column->kind == NTK_PARQUET_TEXT ? CONVERTED_UTF8
                                                            : CONVERTED_TIMESTAMP_MICROS);
            put_logical_type(footer, column->kind);
        }
        ntk_thrift_end(footer);
    }
}

/* Declares that statistics are in the order of their type. */
static void put_orders(struct ntk_thrift *footer, size_t column_count)
{
    ntk_thrift_list(footer, 7, NTK_THRIFT_STRUCT, column_count);
    for (size_t i = 0; i < column_count; i++) {
        ntk_thrift_begin(footer, 0); /* ColumnOrder */
        ntk_thrift_begin(footer, 1); /* TypeDefinedOrder */
        ntk_thrift_end(footer);
        ntk_thrift_end(footer);
    }
}

int ntk_parquet_finish(struct ntk_parquet *parquet)
{
    const struct ntk_parquet_options *options = parquet->options;
    struct ntk_buf *out = &parquet->page;
    struct ntk_thrift footer;
    int ret = begin(parquet);

    ret = ret < 0 || !parquet->group_rows ? ret : flush_group(parquet);
    if (ret < 0 || !ntk_buf_ok(&parquet->groups)) {
        return ret < 0 ? ret : -ENOMEM;
    }
    ntk_buf_reset(out);
    ntk_thrift_init(&footer, out);
    ntk_thrift_begin(&footer, 0); /* FileMetaData */
    ntk_thrift_i32(&footer, 1, VERSION);
    put_schema(&footer, options);
    ntk_thrift_i64(&footer, 3, (int64_t)parquet->row_count);
    ntk_thrift_list(&footer, 4, NTK_THRIFT_STRUCT, parquet->group_count);
    ntk_buf_add(out, ntk_buf_text_get(&parquet->groups), parquet->groups.bytes_count);
    ntk_thrift_list(&footer, 5, NTK_THRIFT_STRUCT, options->pair_count);
    for (size_t i = 0; i < options->pair_count; i++) {
        ntk_thrift_begin(&footer, 0);
        ntk_thrift_text(&footer, 1, options->pairs[i].key);
        ntk_thrift_text(&footer, 2, options->pairs[i].value);
        ntk_thrift_end(&footer);
    }
    ntk_thrift_text(&footer, 6, options->created_by);
    put_orders(&footer, options->column_count);
    ntk_thrift_end(&footer);
    ntk_buf_put_u32(out, (uint32_t)out->bytes_count);
    ntk_buf_add_text(out, MAGIC);
    return give(parquet, out);
}

uint64_t ntk_parquet_row_count(const struct ntk_parquet *parquet)
{
    return parquet->row_count;
}

uint64_t ntk_parquet_byte_count(const struct ntk_parquet *parquet)
{
    return parquet->byte_count;
}
