/* SPDX-License-Identifier: MIT */
/*
 * make_parquet FILE ROWS CODEC - a table with values that follow from the number of the row, so
 * that readers can compute them again (readers.mjs): every kind, absent values, dictionaries that
 * save space, that grow too large, and that hold one value.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/parquet/parquet.h"

static int take(void *ctx, const void *bytes, size_t bytes_count)
{
    return fwrite(bytes, 1, bytes_count, ctx) == bytes_count ? 0 : -5;
}

static struct ntk_parquet_value text_of(const char *text, bool is_present)
{
    struct ntk_parquet_value value = { .is_present = is_present };

    value.bytes = text;
    value.bytes_count = (uint32_t)strlen(text);
    return value;
}

int main(int argc, char **argv)
{
    static const struct ntk_parquet_column columns[] = {
        { "time", NTK_PARQUET_TIME_US, false, false }, { "i64", NTK_PARQUET_I64, true, false },
        { "i32", NTK_PARQUET_I32, true, false },       { "f64", NTK_PARQUET_F64, true, false },
        { "flag", NTK_PARQUET_BOOL, true, false },     { "few", NTK_PARQUET_TEXT, true, true },
        { "runs", NTK_PARQUET_TEXT, true, true },      { "many", NTK_PARQUET_TEXT, true, true },
        { "one", NTK_PARQUET_TEXT, false, true },      { "none", NTK_PARQUET_TEXT, true, true },
        { "bytes", NTK_PARQUET_BYTES, true, false },
    };
    static const struct ntk_parquet_pair pairs[] = { { "schema_version", "1" },
                                                     { "table", "test" } };
    uint64_t rows = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    FILE *file = argc == 4 ? fopen(argv[1], "wb") : NULL;
    const struct ntk_parquet_options options = {
        .name = "test",
        .columns = columns,
        .column_count = sizeof columns / sizeof *columns,
        .codec = file && strcmp(argv[3], "zstd") == 0 ? NTK_PARQUET_ZSTD : NTK_PARQUET_SNAPPY,
        .created_by = "test",
        .pairs = pairs,
        .pair_count = 2,
        .write = take,
        .ctx = file,
    };
    struct ntk_parquet *parquet = file ? ntk_parquet_create(&options) : NULL;
    int ret = parquet ? 0 : -1;

    for (uint64_t i = 0; i < rows && ret == 0; i++) {
        char few[32], runs[32], many[32];
        unsigned char bytes[4] = { (unsigned char)i, 0, 255, (unsigned char)(i >> 8) };
        snprintf(few, sizeof few, "few-%llu", (unsigned long long)(i * 7919 % 300));
        snprintf(runs, sizeof runs, "run \xc3\xa9 %llu", (unsigned long long)(i / 1000));
        snprintf(many, sizeof many, "many-%llu", (unsigned long long)i);
        struct ntk_parquet_value values[] = {
            { true, { .i64 = (int64_t)(1700000000000000 + i * 1000) } },
            { i % 3 != 0, { .i64 = (int64_t)i - 1000 } },
            { i % 5 != 1, { .i64 = (int64_t)(i % 100000) } },
            { i % 7 != 2, { .f64 = (double)i / 4 } },
            { i % 4 != 3, { .i64 = i % 2 == 0 } },
            text_of(few, i % 11 != 4),
            text_of(runs, true),
            text_of(many, i % 13 != 5),
            text_of("", true),
            text_of("", false),
            { i % 2 == 0, { .bytes = bytes, .bytes_count = sizeof bytes } },
        };
        values[10].bytes = bytes;
        values[10].bytes_count = sizeof bytes;
        ret = ntk_parquet_put(parquet, values);
    }
    ret = ret == 0 ? ntk_parquet_finish(parquet) : ret;
    ntk_parquet_destroy(parquet);
    return (file && fclose(file) != 0) || ret < 0;
}
