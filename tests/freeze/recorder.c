/* SPDX-License-Identifier: MIT */
/*
 * recorder - writes everything that this project outputs about a machine into one folder.
 *
 * It proves that a change keeps every output: run it before and after, and compare the two folders
 * with diff -r. Input: the machines of machines.h and those of tests/support. Nothing in the output
 * depends on time, host or process.
 */
#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "exporters/cloudwatch/cloudwatch_emf.h"
#include "exporters/cloudwatch/cloudwatch_request.h"
#include "exporters/names/names.h"
#include "exporters/otlp/otlp_encode.h"
#include "exporters/prometheus/prometheus_encode.h"
#include "exporters/prometheus/prometheus_protobuf.h"
#include "exporters/remote_write/remote_write_encode.h"
#include "shared/metrics/snapshot.h"
#include "shared/metrics/snapshot_merge.h"
#include "shared/report/report_json.h"
#include "shared/report/report_schema.h"
#include "shared/store/store.h"
#include "shared/store/store_dataset.h"
#include "shared/store/store_reader.h"
#include "tests/freeze/machines.h"
#include "tests/support/mixed_snapshot.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/scratch.h"
#include "top/model/samples.h"
#include "top/view/views.h"

#define SECOND UINT64_C(1000000000)
#define T0 UINT64_C(1763700000123456789)
#define EVER UINT64_C(3000000000000000000) /* rows of any date are kept */

static const char *folder;
static const char *case_name;
static struct ntk_err err;

static void must(int ret, const char *what)
{
    if (ret < 0) {
        fprintf(stderr, "%s: %s: %s %s\n", case_name, what, strerror(-ret), err.text);
        exit(1);
    }
}

/* Writes and empties buf. */
static void save(const char *output, struct ntk_buf *buf)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/%s.%s", folder, case_name, output);
    FILE *file = fopen(path, "w");
    must(file && ntk_buf_ok(buf) ? 0 : -EIO, path);
    fwrite(buf->bytes, 1, buf->bytes_count, file);
    must(fclose(file) == 0 ? 0 : -EIO, path);
    ntk_buf_fini(buf);
}

static struct ntk_snapshot *make(void)
{
    char type[64] = "";
    const char *slash = strchr(case_name, '-');

    if (strcmp(case_name, "none") == 0) {
        return test_idle_snapshot();
    }
    if (strncmp(case_name, "sample", 6) == 0) {
        return test_sample_snapshot(case_name[6] == '2' ? 2 : 1);
    }
    if (strcmp(case_name, "mixed") == 0) {
        return test_mixed_snapshot();
    }
    memcpy(type, case_name, (size_t)(slash - case_name));
    return test_machine_snapshot(type, strcmp(slash, "-busy") == 0);
}

static struct ntk_snapshot *make_at(uint64_t time_ns, uint64_t sequence)
{
    struct ntk_snapshot *snapshot = make();

    snapshot->realtime_ns = time_ns;
    snapshot->sequence = sequence;
    snapshot->boot_id = "11111111-2222-3333-4444-555555555555";
    return snapshot;
}

/* -- reports ----------------------------------------------------------------------------------- */

static struct ntk_buf report_of(const struct ntk_snapshot *snapshot, bool vendor_only)
{
    const struct ntk_report_options options = { .vendor_only = vendor_only, .pretty = true };
    struct ntk_buf buf = { 0 };

    must(ntk_report_write(snapshot, &options, &buf, NULL), "report");
    return buf;
}

static struct ntk_snapshot *read_report(struct ntk_buf *line)
{
    struct ntk_snapshot *snapshot = NULL;

    must(ntk_report_read(ntk_buf_text_get(line), line->bytes_count, &snapshot, &err), "read");
    ntk_buf_fini(line);
    return snapshot;
}

static void record_reports(void)
{
    struct ntk_snapshot *first = make_at(T0, 1);
    struct ntk_snapshot *second = make_at(T0 + SECOND, 2);
    struct ntk_snapshot *both = ntk_snapshot_merge(first, second);
    struct ntk_buf buf = report_of(first, false);

    must(both ? 0 : -ENOMEM, "merge");
    struct ntk_snapshot *again = read_report(&buf);
    buf = report_of(first, false);
    save("report", &buf);
    buf = report_of(first, true);
    save("report_vendor", &buf);
    buf = report_of(again, false);
    save("report_again", &buf);
    buf = report_of(both, false);
    save("report_merged", &buf);
    ntk_snapshot_destroy(first);
    ntk_snapshot_destroy(second);
    ntk_snapshot_destroy(both);
    ntk_snapshot_destroy(again);
}

/* -- pages and pushes -------------------------------------------------------------------------- */

static int append(struct ntk_buf *request, uint64_t count, void *ctx, struct ntk_err *unused)
{
    (void)unused;
    ntk_buf_add_format(ctx, "request of %" PRIu64 "\n", count);
    ntk_buf_add(ctx, request->bytes, request->bytes_count);
    return 0;
}

static void record_pushes(const struct ntk_points_page *page, const char *suffix)
{
    const struct ntk_otlp_options otlp_options = { .has_exponential = true };
    const struct ntk_remote_write_options write_options = { .job = "j",
                                                            .instance = "i",
                                                            .has_native = true };
    struct ntk_otlp *otlp = ntk_otlp_create(&otlp_options);
    struct ntk_remote_write *write = ntk_remote_write_create(&write_options);
    struct ntk_buf buf = { 0 };
    char name[64];

    must(ntk_otlp_encode(otlp, page, "box", T0, append, &buf, &err), "otlp");
    snprintf(name, sizeof name, "otlp%s", suffix);
    save(name, &buf);
    must(ntk_remote_write_encode(write, page, (int64_t)(T0 / 1000000), false, append, &buf, &err),
         "remote write");
    snprintf(name, sizeof name, "remote_write%s", suffix);
    save(name, &buf);
    ntk_otlp_destroy(otlp);
    ntk_remote_write_destroy(write);
}

static void record_pages(bool is_piped, const char *suffix)
{
    static struct ntk_points_page page;
    struct ntk_buf buf = { 0 };
    char name[64];

    memset(&page, 0, sizeof page);
    page.keeps_fine_latencies = true;
    page.names = (1u << NTK_NAME_LIST_COUNT) - 1;
    for (uint64_t i = 0; i < 2; i++) {
        struct ntk_snapshot *snapshot = make_at(T0 + i * SECOND, i + 1);
        if (is_piped) {
            struct ntk_buf line = report_of(snapshot, false);
            ntk_snapshot_destroy(snapshot);
            snapshot = read_report(&line);
        }
        must(ntk_points_page_update(&page, snapshot), "page");
        ntk_snapshot_destroy(snapshot);
    }
    static const struct {
        const char *name;
        enum ntk_prometheus_format format;
    } formats[] = { { "metrics", NTK_PROMETHEUS_TEXT_0_0_4 },
                    { "openmetrics", NTK_PROMETHEUS_OPENMETRICS_1_0_0 } };
    for (size_t i = 0; i < 2; i++) {
        for (int vendor = 0; vendor < 2; vendor++) {
            ntk_prometheus_encode(&page, formats[i].format, vendor, &buf);
            snprintf(name, sizeof name, "%s%s%s", formats[i].name, vendor ? "_vendor" : "", suffix);
            save(name, &buf);
        }
    }
    ntk_prometheus_protobuf_encode(&page, false, &buf);
    snprintf(name, sizeof name, "protobuf%s", suffix);
    save(name, &buf);
    record_pushes(&page, suffix);
    ntk_points_page_fini(&page);
}

static void record_cloudwatch(bool is_piped, const char *suffix)
{
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_buf buf = { 0 };
    uint64_t lines = 0;
    char name[64];
    const struct ntk_cloudwatch_request_options request = {
        .namespace_name = "N", .time_ms = T0 / 1000000, .emit = append, .ctx = &buf
    };
    const struct ntk_cloudwatch_emf_options emf = { .namespace_name = "N",
                                                    .time_ms = T0 / 1000000 };

    for (uint64_t i = 0; i < 2; i++) {
        struct ntk_snapshot *snapshot = make_at(T0 + i * SECOND, i + 1);
        if (is_piped) {
            struct ntk_buf line = report_of(snapshot, false);
            ntk_snapshot_destroy(snapshot);
            snapshot = read_report(&line);
        }
        must(ntk_cloudwatch_encode(&data, snapshot, NTK_CLOUDWATCH_ALL, &err), "cloudwatch");
        ntk_snapshot_destroy(snapshot);
    }
    must(ntk_cloudwatch_emf(&data, &emf, &buf, &lines, &err), "emf");
    snprintf(name, sizeof name, "emf%s", suffix);
    save(name, &buf);
    ntk_cloudwatch_data_sort(&data);
    must(ntk_cloudwatch_request(&data, &request, &err), "request");
    snprintf(name, sizeof name, "cloudwatch%s", suffix);
    save(name, &buf);
    ntk_cloudwatch_data_fini(&data);
}

/* -- the screen's samples ---------------------------------------------------------------------- */

static void record_samples(void)
{
    static const char *const tables[] = { "machine", "devices", "cores", "applications", "models" };
    struct ntk_snapshot *snapshot = make_at(T0, 1);
    struct ntk_top_model *model = NULL;
    struct ntk_buf buf = { 0 };

    must(ntk_top_model_create(ntk_top_views, &model, &err), "top");
    must(ntk_top_model_update(model, snapshot, &err), "top");
    ntk_top_samples_json(model, &buf);
    save("samples", &buf);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        ntk_top_samples_csv(model, ntk_top_samples_table_find(tables[i]), true, &buf);
    }
    save("csv", &buf);
    ntk_top_model_destroy(model); /* and the snapshot */
}

/* -- the database ------------------------------------------------------------------------------ */

static int add_line(void *ctx, int count, char **cells, char **names)
{
    (void)names;
    for (int i = 0; i < count; i++) {
        ntk_buf_add_format(ctx, "%s%s", i ? "|" : "", cells[i] ? cells[i] : "NULL");
    }
    ntk_buf_add_char(ctx, '\n');
    return 0;
}

static void query(sqlite3 *db, const char *sql, struct ntk_buf *buf)
{
    char *text = NULL;

    sqlite3_exec(db, sql, add_line, buf, &text);
    must(text ? -EINVAL : 0, text);
}

static int dump_table(void *ctx, int count, char **cells, char **names)
{
    struct ntk_buf *buf = ((void **)ctx)[1];
    struct ntk_buf sql = { 0 };

    (void)count;
    (void)names;
    ntk_buf_add_format(buf, "-- %s\n", cells[0]);
    ntk_buf_add_format(&sql, "SELECT * FROM \"%s\"", cells[0]);
    query(((void **)ctx)[0], ntk_buf_text_get(&sql), buf);
    ntk_buf_fini(&sql);
    return 0;
}

static void record_database(const char *path)
{
    struct ntk_buf buf = { 0 };
    void *ctx[2] = { NULL, &buf };
    sqlite3 *db = NULL;

    must(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK ? 0 : -EIO, "sqlite");
    ctx[0] = db;
    query(db, "SELECT sql FROM sqlite_schema ORDER BY rowid", &buf);
    save("schema", &buf);
    sqlite3_exec(db,
                 "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN"
                 " ('tier', 'ident', 'sqlite_sequence') ORDER BY rowid",
                 dump_table, ctx, NULL);
    save("rows", &buf);
    sqlite3_close(db);
}

static void add_cell(struct ntk_buf *buf, const struct ntk_store_cell *cell)
{
    switch (cell->kind) {
    case NTK_STORE_CELL_NULL:
        ntk_buf_add_text(buf, "NULL,");
        break;
    case NTK_STORE_CELL_F64:
        ntk_buf_add_format(buf, "%.17g,", cell->f64);
        break;
    case NTK_STORE_CELL_TEXT:
    case NTK_STORE_CELL_BLOB:
        ntk_buf_add(buf, cell->bytes, cell->bytes_count);
        ntk_buf_add_char(buf, ',');
        break;
    default:
        ntk_buf_add_format(buf, "%" PRId64 ",", cell->i64);
    }
}

static void record_datasets(struct ntk_store_reader *reader)
{
    struct ntk_buf buf = { 0 };

    for (size_t id = 0; id < NTK_STORE_DATASET_COUNT; id++) {
        struct ntk_store_cursor *cursor = NULL;
        const struct ntk_store_cell *cells;
        size_t count = 0;
        int ret =
            ntk_store_cursor_open(reader, (enum ntk_store_dataset_id)id, 0, 2 * T0, &cursor, &err);
        must(ret, ntk_store_datasets[id].name);
        const struct ntk_store_cursor_column *columns = ntk_store_cursor_columns(cursor, &count);
        ntk_buf_add_format(&buf, "-- %s\n", ntk_store_datasets[id].name);
        for (size_t i = 0; i < count; i++) {
            ntk_buf_add_format(&buf, "%s:%d,", columns[i].name, columns[i].kind);
        }
        ntk_buf_add_char(&buf, '\n');
        while ((ret = ntk_store_cursor_next(cursor, &cells, &err)) == 1) {
            for (size_t i = 0; i < count; i++) {
                add_cell(&buf, &cells[i]);
            }
            ntk_buf_add_char(&buf, '\n');
        }
        must(ret, ntk_store_datasets[id].name);
        ntk_store_cursor_close(cursor);
    }
    save("datasets", &buf);
}

static void record_series(struct ntk_store_reader *reader)
{
    const struct ntk_store_window window = { T0 - 60 * SECOND, T0 + 240 * SECOND, 60 * SECOND };
    const struct ntk_store_filter filter = { 0 };
    struct ntk_buf buf = { 0 };

    for (int metric = 0; metric < NTK_STORE_METRIC_COUNT; metric++) {
        const struct ntk_store_metric_info *info = &ntk_store_metrics[metric];
        struct ntk_store_point *points = NULL;
        size_t count = 0;
        must(ntk_store_reader_series(reader, (enum ntk_store_metric)metric, &filter, &window,
                                     &points, &count, &err),
             info->name);
        ntk_buf_add_format(&buf, "%s %s %s\n", info->name, info->unit, info->help);
        for (size_t i = 0; i < count; i++) {
            ntk_buf_add_format(&buf, "  %d %.17g %d %.17g\n", points[i].has_value, points[i].value,
                               points[i].has_largest, points[i].largest);
        }
        free(points);
    }
    save("series", &buf);
}

static void record_replay(struct ntk_store_reader *reader)
{
    static const struct {
        const char *name;
        uint64_t time_ns;
    } moments[] = { { "replay", T0 + 120 * SECOND }, { "replay_first", T0 } };

    for (size_t i = 0; i < 2; i++) {
        struct ntk_snapshot *snapshot = NULL;
        must(ntk_store_reader_snapshot_at(reader, moments[i].time_ns, &snapshot, &err), "replay");
        struct ntk_buf buf = report_of(snapshot, false);
        save(moments[i].name, &buf);
        ntk_snapshot_destroy(snapshot);
    }
    struct ntk_snapshot *snapshot = NULL;
    int ret = ntk_store_reader_snapshot_before(reader, NTK_STORE_MINUTE, T0 + 121 * SECOND,
                                               &snapshot, &err);
    must(ret == -ENODATA ? 0 : ret, "replay of a minute");
    if (snapshot) {
        struct ntk_buf buf = report_of(snapshot, false);
        save("replay_minute", &buf);
    }
    ntk_snapshot_destroy(snapshot);
}

static void record_store(void)
{
    char *scratch = test_scratch_create();
    char *path = test_scratch_path(scratch, "figures.db");
    const struct ntk_store_options options = { .keep_ns = { EVER, EVER, EVER } };
    struct ntk_store_reader *reader = NULL;
    struct ntk_store *store = NULL;

    must(ntk_store_open(path, &options, &store, &err), "store");
    for (uint64_t i = 0; i < 3; i++) {
        struct ntk_snapshot *snapshot = make_at(T0 + i * 60 * SECOND, i + 1);
        ntk_store_put(store, snapshot);
        ntk_snapshot_destroy(snapshot);
    }
    must(ntk_store_close(store, &err), "store");
    record_database(path);
    must(ntk_store_reader_open(path, &reader, &err), "reader");
    record_datasets(reader);
    record_series(reader);
    record_replay(reader);
    ntk_store_reader_close(reader);
    free(path);
    test_scratch_destroy(scratch);
}

static void record(const char *name)
{
    case_name = name;
    record_reports();
    record_pages(false, "");
    record_pages(true, "_piped");
    record_cloudwatch(false, "");
    record_cloudwatch(true, "_piped");
    record_samples();
    record_store();
}

int main(int argc, char **argv)
{
    char name[80];

    if (argc < 2) {
        fprintf(stderr, "usage: %s FOLDER [CASE...]\n", argv[0]);
        return 2;
    }
    setenv("TZ", "UTC", 1);
    folder = argv[1];
    mkdir(folder, 0777);
    test_scratch_in_memory();
    for (int i = 2; i < argc; i++) {
        record(argv[i]);
    }
    if (argc > 2) {
        return 0;
    }
    record("none");
    record("sample1");
    record("sample2");
    record("mixed");
    for (size_t i = 0; i < test_machine_type_count; i++) {
        for (int is_busy = 0; is_busy < 2; is_busy++) {
            snprintf(name, sizeof name, "%s-%s", test_machine_types[i], is_busy ? "busy" : "idle");
            record(name);
        }
    }
    return 0;
}
