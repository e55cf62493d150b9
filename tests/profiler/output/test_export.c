/* SPDX-License-Identifier: MIT */
/*
 * Method: captures of known content (support/ntff_big.h): the expected number of rows of each
 * table, and the high-water mark of a process that writes them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/output/export_to.h"
#include "profiler/output/tables/rows.h"
#include "profiler/output/tables/tables.h"
#include "shared/formats/ntff/ntff_read_private.h"
#include "tests/support/ntff_big.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define MIB ((uint64_t)1 << 20)
#define LIST_BYTES ((size_t)1 << 20)

struct capture {
    struct ntk_ntff *ntff;
    struct ntk_trace *trace;
    struct ntk_export *export;
};

static char *folder;

static void write_capture(struct ntff_big *big)
{
    char *path = test_scratch_path(folder, "big.ntff");

    assert_int_equal(ntff_big_write(path, big), 0);
    free(path);
}

static void open_capture(struct capture *c)
{
    struct ntk_trace_options options = { .list_bytes = LIST_BYTES, .folder = folder };
    char *path = test_scratch_path(folder, "big.ntff");

    assert_int_equal(ntk_ntff_open(path, &c->ntff, NULL), 0);
    assert_int_equal(ntk_trace_create(c->ntff, NULL, &options, &c->trace, NULL), 0);
    assert_int_equal(ntk_export_create(c->trace, "big", "big.ntff", &c->export), 0);
    free(path);
}

static void close_capture(struct capture *c)
{
    ntk_export_destroy(c->export);
    ntk_trace_destroy(c->trace);
    ntk_ntff_close(c->ntff);
}

static int count_row(void *ctx, const void *row)
{
    uint64_t *count = ctx;

    (void)row;
    (*count)++;
    return 0;
}

static uint64_t rows_of(const struct ntk_export *export, const char *name)
{
    size_t count;
    const struct ntk_table *tables = ntk_tables_schema(&count);
    uint64_t rows = 0;

    for (size_t t = 0; t < count; t++) {
        if (strcmp(tables[t].name, name) == 0) {
            assert_int_equal(tables[t].rows(export, count_row, &rows), 0);
            return rows;
        }
    }
    fail_msg("no table %s", name);
    return 0;
}

static void each_record_is_exported_as_one_row(void **state)
{
    struct ntff_big big = { .steps = 1000, .cores = 2 };
    struct capture c;

    write_capture(&big);
    open_capture(&c);
    assert_int_equal(rows_of(c.export, "Instruction"), big.instruction_count);
    assert_int_equal(rows_of(c.export, "DmaPacket"), big.packet_count);
    assert_int_equal(rows_of(c.export, "SemaphoreUpdate"), big.event_count);
    assert_int_equal(rows_of(c.export, "Summary"), 1);
    assert_int_equal(rows_of(c.export, "ExecutionInfo"), 1);
    assert_int_equal(rows_of(c.export, "NeffHeader"), 0);
    close_capture(&c);
}

struct sums {
    uint64_t last_total;
    double bytes; /* rate x time up to the next point */
    double rate;
    int64_t time_ns;
};

static int add_rate(void *ctx, const void *data)
{
    struct sums *sums = ctx;
    const struct ntk_rate_row *row = data;

    sums->bytes += sums->rate * (double)(row->time_ns - sums->time_ns) * 1e-9;
    sums->rate = row->bytes_per_second;
    sums->time_ns = row->time_ns;
    sums->last_total = (uint64_t)row->total_bytes;
    return 0;
}

/* The transfers at that rate add up to the bytes of the packets: all ends of a step fall on
 * recorded points. */
static void the_dma_rate_sums_to_the_bytes_moved(void **state)
{
    struct ntff_big big = { .steps = 1000, .cores = 1 };
    struct sums sums = { 0 };
    struct capture c;
    uint64_t wanted;

    write_capture(&big);
    open_capture(&c);
    wanted = big.packet_count * NTFF_BIG_PACKET_BYTES;
    assert_int_equal(ntk_rows_rates(c.export, add_rate, &sums), 0);
    assert_int_equal(sums.last_total, wanted);
    assert_true(sums.rate == 0);
    assert_true(sums.bytes > 0.999 * (double)wanted && sums.bytes < 1.001 * (double)wanted);
    close_capture(&c);
}

static int stop_at_third(void *ctx, const void *row)
{
    int *left = ctx;

    (void)row;
    return --*left ? 0 : -ENOSPC;
}

/* A full disk must not cause a million write calls. */
static void an_export_stops_at_the_first_failed_write(void **state)
{
    struct ntff_big big = { .steps = 100, .cores = 2 };
    struct capture c;
    size_t count;

    write_capture(&big);
    open_capture(&c);
    for (int json = 0; json < 2; json++) {
        const struct ntk_table *tables = json ? ntk_tables_json(&count) : ntk_tables_schema(&count);
        for (size_t t = 0; t < count; t++) {
            uint64_t rows = 0;
            int left = 3;
            assert_int_equal(tables[t].rows(c.export, count_row, &rows), 0);
            int ret = tables[t].rows(c.export, stop_at_third, &left);
            if (ret != (rows >= 3 ? -ENOSPC : 0) || left < 0) {
                fail_msg("%s continues: %d of %llu rows", tables[t].name, 3 - left,
                         (unsigned long long)rows);
            }
        }
    }
    close_capture(&c);
}

static uint64_t high_water_bytes(const char *format_name)
{
    const struct ntk_export_format *format = ntk_export_format_find(format_name);
    int is_folder = strcmp(format_name, "csv") == 0 ||
                    strcmp(format_name, "parquet") == 0; /* otherwise discarded */
    char *path = is_folder ? test_scratch_path(folder, format_name) : strdup("/dev/null");
    int pipes[2];
    uint64_t result = 0;

    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        struct capture c;
        struct rusage usage;
        struct ntk_err err = { 0 };
        open_capture(&c);
        if (format->write(c.export, path, &err) < 0) {
            _exit(1);
        }
        getrusage(RUSAGE_SELF, &usage);
        result = (uint64_t)usage.ru_maxrss * 1024;
        _exit(write(pipes[1], &result, sizeof result) != (ssize_t)sizeof result);
    }
    int status = 1;
    assert_true(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    assert_int_equal(read(pipes[0], &result, sizeof result), sizeof result);
    close(pipes[0]);
    close(pipes[1]);
    free(path);
    return result;
}

static void an_export_uses_less_memory_than_the_capture(void **state)
{
    static const struct {
        const char *name;
        uint64_t capture_bytes, used_bytes_max;
    } formats[] = {
        { "json", 24 * MIB, 20 * MIB },    /* while writing 360 MB */
        { "parquet", 64 * MIB, 60 * MIB }, /* mostly one row group */
    };

    ntk_ntff_map_from_bytes = MIB; /* a copy of the file would count as memory */
    if (NTFF_BIG_HAS_SHADOWS) {
        skip();
    }
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct ntff_big big = { .bytes_count = formats[i].capture_bytes, .cores = 1 };
        write_capture(&big);
        uint64_t used = high_water_bytes(formats[i].name);
        print_message("%s: %llu MiB for a capture of %llu MiB\n", formats[i].name,
                      (unsigned long long)(used / MIB),
                      (unsigned long long)(formats[i].capture_bytes / MIB));
        assert_true(used <= formats[i].used_bytes_max);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_record_is_exported_as_one_row),
        cmocka_unit_test(the_dma_rate_sums_to_the_bytes_moved),
        cmocka_unit_test(an_export_stops_at_the_first_failed_write),
        cmocka_unit_test(an_export_uses_less_memory_than_the_capture),
    };

    folder = test_scratch_create();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    test_scratch_destroy(folder);
    return failed;
}
