/* SPDX-License-Identifier: MIT */
/* Method: every allocation fails in turn while a file is written; a file without an error has the
 * same bytes as one of a run without faults. */
#include <errno.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/parquet/parquet.h"
#include "tests/support/fault.h"
#include "tests/support/unit.h"

#define ROWS 40
#define GROUP_ROWS 16

struct world {
    enum ntk_parquet_codec codec;
    struct ntk_buf sound;
    char bytes[16384]; /* of the last run */
    size_t bytes_count;
};

static int take(void *ctx, const void *bytes, size_t bytes_count)
{
    struct world *world = ctx;

    if (world->bytes_count + bytes_count > sizeof world->bytes) {
        return -ENOSPC;
    }
    memcpy(world->bytes + world->bytes_count, bytes, bytes_count);
    world->bytes_count += bytes_count;
    return 0;
}

static int rows_put(struct ntk_parquet *parquet)
{
    static const char *const words[] = { "one", "two", "three" };
    int ret = 0;

    for (int64_t i = 0; i < ROWS && ret == 0; i++) {
        const char *word = words[i % 3];
        const struct ntk_parquet_value values[] = {
            { .is_present = true, .i64 = i },
            { .is_present = i % 4 != 0, .f64 = (double)i / 2 },
            { .is_present = true, .bytes = word, .bytes_count = (uint32_t)strlen(word) },
            { .is_present = i % 2 != 0, .bytes = &i, .bytes_count = sizeof i },
            { .is_present = true, .i64 = i % 2 },
        };

        ret = ntk_parquet_put(parquet, values);
    }
    return ret;
}

static int write_file(void *ctx, struct ntk_err *err)
{
    static const struct ntk_parquet_column columns[] = {
        { .name = "time", .kind = NTK_PARQUET_TIME_US },
        { .name = "ratio", .kind = NTK_PARQUET_F64, .is_optional = true },
        { .name = "word", .kind = NTK_PARQUET_TEXT, .has_dictionary = true },
        { .name = "bytes", .kind = NTK_PARQUET_BYTES, .is_optional = true },
        { .name = "flag", .kind = NTK_PARQUET_BOOL },
    };
    struct world *world = ctx;
    const struct ntk_parquet_options options = { .name = "table",
                                                 .columns = columns,
                                                 .column_count = sizeof columns / sizeof *columns,
                                                 .codec = world->codec,
                                                 .group_rows_max = GROUP_ROWS,
                                                 .created_by = "test",
                                                 .write = take,
                                                 .ctx = world };
    struct ntk_parquet *parquet = ntk_parquet_create(&options);

    world->bytes_count = 0;
    if (!parquet) {
        return ntk_err_no_memory(err);
    }
    int ret = rows_put(parquet);

    ret = ret < 0 ? ret : ntk_parquet_finish(parquet);
    ntk_parquet_destroy(parquet);
    return ret < 0 ? ntk_err_no_memory(err) : ret; /* the parquet writer sets no message */
}

static const char *is_whole(void *ctx, int ret)
{
    const struct world *world = ctx;

    return ret >= 0 && (world->bytes_count != world->sound.bytes_count ||
                        memcmp(world->bytes, world->sound.bytes, world->bytes_count) != 0)
               ? "the file is another one without an error"
               : NULL;
}

static void a_parquet_file_is_complete_or_an_error_when_out_of_memory(void **state)
{
    struct fault_operation operation = { .kinds = FAULT_ALLOCATION,
                                         .run = write_file,
                                         .after = is_whole };
    static const enum ntk_parquet_codec codecs[] = { NTK_PARQUET_ZSTD, NTK_PARQUET_SNAPPY };

    for (size_t i = 0; i < 2; i++) {
        static struct world world;

        world.codec = codecs[i];
        operation.own_allocations_only = codecs[i] == NTK_PARQUET_SNAPPY; /* it is C++ and throws */
        assert_int_equal(write_file(&world, NULL), 0);
        ntk_buf_reset(&world.sound);
        ntk_buf_add(&world.sound, world.bytes, world.bytes_count);
        assert_true(fault_everywhere(&operation, &world) > 20);
        ntk_buf_fini(&world.sound);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parquet_file_is_complete_or_an_error_when_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
