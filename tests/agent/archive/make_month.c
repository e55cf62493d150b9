/* SPDX-License-Identifier: MIT */
/*
 * make_month ROOT HOSTS DAYS HOURS - writes the archive of a fleet: core_hour of one core per host,
 * with the writer and paths of the agent's archive, and core_sample of one host and day with
 * several row groups. Prints the expected answers to the questions of month.sh: one name and number
 * per line.
 *
 * The busy share of a core is computed from host, day and hour.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/archive/archive_path.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/parquet/parquet.h"

#define BEGIN_NS (UINT64_C(1793491200) * NTK_NS_PER_SECOND) /* 2026-11-01T00:00:00Z */
#define HOUR_NS (3600 * NTK_NS_PER_SECOND)
#define DAY_NS (24 * HOUR_NS)
#define SECONDS 400000 /* rows of the long part, one every 10 ms */

static const struct ntk_parquet_column columns[] = {
    { "time", NTK_PARQUET_TIME_US, false, false },
    { "process", NTK_PARQUET_TEXT, true, true },
    { "tag", NTK_PARQUET_TEXT, true, true },
    { "pid", NTK_PARQUET_I64, true, false },
    { "core", NTK_PARQUET_I64, true, false },
    { "busy_period_ns", NTK_PARQUET_I64, true, false },
    { "busy_ns", NTK_PARQUET_I64, true, false },
    { "busy_ratio_max", NTK_PARQUET_F64, true, false },
};
#define COLUMNS (sizeof columns / sizeof *columns)

static int take(void *ctx, const void *bytes, size_t bytes_count)
{
    return fwrite(bytes, 1, bytes_count, ctx) == bytes_count ? 0 : -EIO;
}

static uint64_t busy_ns(uint64_t host, uint64_t day, uint64_t hour)
{
    return (host * 7919 + day * 104729 + hour * 1299709) % 3600 * NTK_NS_PER_SECOND;
}

static int put(struct ntk_parquet *parquet, uint64_t host, uint64_t time_ns, uint64_t period_ns,
               uint64_t busy)
{
    struct ntk_parquet_value values[COLUMNS] = { 0 };
    char process[64], tag[32];

    snprintf(process, sizeof process, "boot-%llu-4242-1000-77", (unsigned long long)host);
    snprintf(tag, sizeof tag, "job-%llu", (unsigned long long)(host / 16));
    for (size_t i = 0; i < COLUMNS; i++) {
        values[i].is_present = true;
    }
    values[0].i64 = (int64_t)(time_ns / 1000);
    values[1].bytes = process;
    values[1].bytes_count = (uint32_t)strlen(process);
    values[2].bytes = tag;
    values[2].bytes_count = (uint32_t)strlen(tag);
    values[3].i64 = 4242;
    values[4].i64 = (int64_t)(host % 32);
    values[5].i64 = (int64_t)period_ns;
    values[6].i64 = (int64_t)busy;
    values[7].f64 = (double)busy / (double)period_ns;
    return ntk_parquet_put(parquet, values);
}

/* Rows of one part, one every step_ns. */
static int write_part(const char *root, enum ntk_store_dataset_id dataset, uint64_t host,
                      uint64_t day, uint64_t row_count, uint64_t step_ns)
{
    const struct ntk_parquet_pair pairs[] = { { "neuron.archive.version", "1" } };
    char name[32];
    struct ntk_buf path = { 0 };
    const struct ntk_archive_place place = { .dataset = dataset,
                                             .cluster = host % 2 ? "odd" : "even",
                                             .host = name,
                                             .start_ns = BEGIN_NS + day * DAY_NS,
                                             .store_id = 0x18a2b3c4d5e6f708 + host };
    snprintf(name, sizeof name, "node-%04llu", (unsigned long long)host);
    ntk_buf_add_format(&path, "%s/", root);
    ntk_archive_path_add(&path, &place);
    char *slash = strrchr(path.bytes, '/');
    *slash = '\0';
    int ret = ntk_fs_make_folders(path.bytes, 0755, NULL);
    *slash = '/';
    FILE *file = ret == 0 ? fopen(path.bytes, "wb") : NULL;
    const struct ntk_parquet_options options = { .name = ntk_store_datasets[dataset].name,
                                                 .columns = columns,
                                                 .column_count = COLUMNS,
                                                 .codec = NTK_PARQUET_ZSTD,
                                                 .created_by = "make_month",
                                                 .pairs = pairs,
                                                 .pair_count = 1,
                                                 .write = take,
                                                 .ctx = file };
    struct ntk_parquet *parquet = file ? ntk_parquet_create(&options) : NULL;
    ret = parquet ? 0 : -EIO;
    for (uint64_t i = 0; i < row_count && ret == 0; i++) {
        ret = put(parquet, host, place.start_ns + (i + 1) * step_ns, step_ns,
                  step_ns == HOUR_NS ? busy_ns(host, day, i) : i * 2654435761U % step_ns);
    }
    ret = ret == 0 ? ntk_parquet_finish(parquet) : ret;
    ntk_parquet_destroy(parquet);
    ret = file && fclose(file) != 0 ? -EIO : ret;
    ntk_buf_fini(&path);
    return ret;
}

int main(int argc, char **argv)
{
    const uint64_t step_ns = 10 * NTK_NS_PER_MS;
    uint64_t hosts = argc == 5 ? strtoull(argv[2], NULL, 10) : 0;
    uint64_t days = argc == 5 ? strtoull(argv[3], NULL, 10) : 0;
    uint64_t hours = argc == 5 ? strtoull(argv[4], NULL, 10) : 0;
    uint64_t rows = hosts * days * hours;
    uint64_t all = 0, of_day = 0, of_host = 0, of_odd_week = 0, at_noon = 0;
    int ret = hosts ? 0 : -EINVAL;

    for (uint64_t day = 0; day < days && ret == 0; day++) {
        for (uint64_t host = 0; host < hosts && ret == 0; host++) {
            ret = write_part(argv[1], NTK_STORE_DATASET_core_hour, host, day, hours, HOUR_NS);
            for (uint64_t hour = 0; hour < hours; hour++) {
                uint64_t busy = busy_ns(host, day, hour) / NTK_NS_PER_SECOND;
                all += busy;
                of_day += day == 6 ? busy : 0;
                of_host += host == 123 ? busy : 0;
                of_odd_week += host % 2 && day >= 7 && day < 14 ? busy : 0;
                at_noon += day == 6 && host == 123 && hour == 2 ? busy : 0;
            }
        }
    }
    ret =
        ret < 0 ? ret : write_part(argv[1], NTK_STORE_DATASET_core_sample, 5, 3, SECONDS, step_ns);
    printf("rows %llu\nall %llu\nday %llu\nhost %llu\nweek %llu\nhour %llu\n",
           (unsigned long long)rows, (unsigned long long)all, (unsigned long long)of_day,
           (unsigned long long)of_host, (unsigned long long)of_odd_week,
           (unsigned long long)at_noon);
    return ret < 0;
}
