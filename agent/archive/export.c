/* SPDX-License-Identifier: MIT */
/* export - implements neuron-monitor export: options, the steps of the window, and the summary. */
#include "agent/archive/export.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent/archive/archive.h"
#include "agent/query/query_span.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/json.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"
#include "shared/base/text_table.h"
#include "shared/base/units.h"

static const char *arg_db;
static struct ntk_query_span arg_span;
static struct ntk_query_bounds bounds;
static bool arg_json;
static bool has_tables;
static struct ntk_archive_options options;

static int set_tables(const char *value, struct ntk_err *err)
{
    has_tables = true;
    return ntk_archive_tables_parse(value, options.wanted, err);
}

static int (*const call_tables)(const char *, struct ntk_err *) = set_tables;
#define CALL(function) ((void *)(uintptr_t) & (function))

static const struct ntk_opt option_rows[] = {
    { 0, "db", "FILE", NTK_OPT_TEXT, &arg_db,
      "read this database (written by neuron-monitor --db)" },
    { 'o', "output-folder", "PLACE", NTK_OPT_TEXT, &options.target.destination,
      "write to this folder, created if missing, or s3://BUCKET/PREFIX" },
    { 0, "What", 0, NTK_OPT_HEADING, 0, 0 },
    NTK_QUERY_SPAN_OPT(arg_span),
    { 0, "tables", NTK_OPT_LIST, NTK_OPT_CALL, CALL(call_tables),
      "export only these tables, families such as core, or patterns such as '*_hour', separated by "
      "commas; 'help' lists them",
      .word_get = ntk_archive_table_name },
    { 0, "cluster", "NAME", NTK_OPT_TEXT, &options.cluster,
      "set the machine's cluster (default " NTK_ARCHIVE_CLUSTER ")" },
    { 0, "host", "NAME", NTK_OPT_TEXT, &options.host,
      "set the machine's name (default: the stored host name)" },
    { 0, "S3", 0, NTK_OPT_HEADING, 0, 0 },
    { 0, "endpoint-url", "URL", NTK_OPT_TEXT, &options.target.endpoint,
      "use this S3 service (default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, or AWS)" },
    { 0, "region", "REGION", NTK_OPT_TEXT, &options.target.region,
      "use this region (default: AWS_REGION, or the region of the profile or instance)" },
    { 0, "profile", "NAME", NTK_OPT_TEXT, &options.target.profile,
      "use this profile from the AWS configuration files" },
    { 0, "Other", 0, NTK_OPT_HEADING, 0, 0 },
    { 'j', "json", 0, NTK_OPT_FLAG, &arg_json, "print the list of written files as JSON" },
    NTK_OPT_COMMON_COMPLETION,
    NTK_OPT_COMMON_VERSION,
    NTK_OPT_COMMON_HELP,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-monitor export",
    .usage = "--db FILE --output-folder PLACE [OPTION]...",
    .summary = "Writes a neuron-monitor database as Parquet files, one file per table, host, and "
               "hour or day, to a folder or an S3 bucket. The agent may be running. Repeating an "
               "export changes nothing.",
    .options = option_rows,
};

/* Returns true for "--tables help", which needs no other option. */
static bool wants_tables(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--tables=help") == 0 ||
            (strcmp(argv[i], "--tables") == 0 && i + 1 < argc &&
             strcmp(argv[i + 1], "help") == 0)) {
            return true;
        }
    }
    return false;
}

static void print_tables(void)
{
    for (size_t i = 0; i < NTK_STORE_DATASET_COUNT; i++) {
        printf("%-18s per %s  %s\n", ntk_store_datasets[i].name,
               ntk_store_datasets[i].step_ns > 3600 * NTK_NS_PER_SECOND ? "day " : "hour",
               ntk_store_datasets[i].meaning);
    }
}

/* ---- the work ---- */

struct window {
    uint64_t from_ns, to_ns; /* (from, to]; UINT64_MAX means no end */
};

static int set_window(struct ntk_store_reader *reader, struct window *window, struct ntk_err *err)
{
    uint64_t last_ns = 0;
    int ret = ntk_store_reader_before(reader, INT64_MAX, &last_ns, err);

    *window = (struct window){ 0, UINT64_MAX };
    return ret < 0 && ret != -ENODATA
               ? ret
               : ntk_query_bounds_apply(&bounds, last_ns, &window->from_ns, &window->to_ns, err);
}

/* Exports all steps of the window that have rows. */
static int export_table(struct ntk_archive *archive, struct ntk_store_reader *reader,
                        enum ntk_store_dataset_id id, const struct window *window,
                        struct ntk_archive_counts *counts, struct ntk_err *err)
{
    uint64_t step_ns = ntk_store_datasets[id].step_ns;
    uint64_t at_ns = ntk_store_dataset_start(id, window->from_ns + 1);
    int ret = 0;

    while (ret == 0 && at_ns < window->to_ns) {
        uint64_t time_ns;
        ret = ntk_store_dataset_next(reader, id, at_ns, &time_ns, err);
        if (ret == -ENODATA) {
            return 0;
        }
        uint64_t start_ns = ret < 0 ? at_ns : ntk_store_dataset_start(id, time_ns);
        if (ret == 0 && start_ns < window->to_ns) {
            ret = ntk_archive_write(archive, reader, id, start_ns, counts, err);
        }
        at_ns = start_ns + step_ns;
    }
    return ret;
}

static int export_all(struct ntk_archive *archive, struct ntk_archive_counts *counts,
                      struct ntk_err *err)
{
    struct ntk_store_reader *reader = NULL;
    struct window window;
    int ret = ntk_store_reader_open(arg_db, &reader, err);

    if (ret < 0) {
        return ret;
    }
    ret = set_window(reader, &window, err);
    for (size_t i = 0; i < NTK_STORE_DATASET_COUNT && ret == 0; i++) {
        if (options.wanted[i]) {
            ret = export_table(archive, reader, i, &window, &counts[i], err);
        }
    }
    if (ret < 0) {
        ntk_err_prefix(err, "%s", arg_db);
    }
    ntk_store_reader_close(reader);
    return ret;
}

/* ---- written parts ---- */

static void tell_json(const struct ntk_archive_counts *counts, struct ntk_buf *out)
{
    struct ntk_json json;

    ntk_json_init(&json, out, true);
    ntk_json_object_begin(&json);
    ntk_json_key_u64(&json, "version", NTK_ARCHIVE_VERSION);
    ntk_json_key_text(&json, "destination", options.target.destination);
    ntk_json_key_text(&json, "cluster", options.cluster ? options.cluster : NTK_ARCHIVE_CLUSTER);
    ntk_json_key_array_begin(&json, "tables");
    for (size_t i = 0; i < NTK_STORE_DATASET_COUNT; i++) {
        if (options.wanted[i]) {
            ntk_json_object_begin(&json);
            ntk_json_key_text(&json, "table", ntk_store_datasets[i].name);
            ntk_json_key_u64(&json, "parts", counts[i].parts);
            ntk_json_key_u64(&json, "rows", counts[i].rows);
            ntk_json_key_u64(&json, "bytes", counts[i].bytes);
            ntk_json_key_u64(&json, "kept", counts[i].kept);
            ntk_json_object_end(&json);
        }
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    ntk_buf_add_char(out, '\n');
}

static void tell_text(const struct ntk_archive_counts *counts, struct ntk_buf *out)
{
    static const char *const heads[] = { "TABLE", "PARTS", "ROWS", "BYTES", "KEPT" };
    struct ntk_text_table table;
    struct ntk_archive_counts all = { 0 };

    ntk_text_table_init(&table, 5, 1, heads);
    for (size_t i = 0; i <= NTK_STORE_DATASET_COUNT; i++) {
        const struct ntk_archive_counts *row = i < NTK_STORE_DATASET_COUNT ? &counts[i] : &all;
        char bytes[32];
        if (row != &all && !row->parts && !row->kept) {
            continue;
        }
        ntk_text_table_text(&table, row == &all ? "all" : ntk_store_datasets[i].name);
        ntk_text_table_format(&table, "%llu", (unsigned long long)row->parts);
        ntk_text_table_format(&table, "%llu", (unsigned long long)row->rows);
        ntk_text_table_text(&table, ntk_units_bytes(bytes, sizeof bytes, row->bytes));
        ntk_text_table_format(&table, "%llu", (unsigned long long)row->kept);
        all.parts += row->parts;
        all.rows += row->rows;
        all.bytes += row->bytes;
        all.kept += row->kept;
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
}

static int tell(const struct ntk_archive_counts *counts, struct ntk_err *err)
{
    struct ntk_buf out = { 0 };

    (arg_json ? tell_json : tell_text)(counts, &out);
    int ret = ntk_fs_print(&out, err);
    ntk_buf_fini(&out);
    return ret;
}

static int check_options(void)
{
    struct ntk_err err = { 0 };

    if (!arg_db) {
        return ntk_opt_usage_error(&program, "no database: use --db FILE");
    }
    if (!options.target.destination || !options.target.destination[0]) {
        return ntk_opt_usage_error(&program,
                                   "no destination: use --output-folder FOLDER or s3://BUCKET");
    }
    if (ntk_query_span_parse(&arg_span, &bounds, &err) < 0) {
        return ntk_opt_usage_error(&program, "%s", err.text);
    }
    for (size_t i = 0; i < NTK_STORE_DATASET_COUNT && !has_tables; i++) {
        options.wanted[i] = true;
    }
    return 0;
}

int ntk_export_main(int argc, char **argv)
{
    static struct ntk_archive_counts counts[NTK_STORE_DATASET_COUNT];
    struct ntk_archive *archive = NULL;
    struct ntk_err err = { 0 };

    ntk_log_set_program(program.name);
    if (wants_tables(argc, argv)) {
        print_tables();
        return 0;
    }
    int parsed = ntk_opt_parse_all(&program, argc, argv);
    if (parsed < 0) {
        return ntk_opt_exit_code(parsed);
    }
    int code = check_options();
    if (code) {
        return code;
    }
    signal(SIGPIPE, SIG_IGN);
    int ret = ntk_archive_open(&options, &archive, &err);
    ret = ret < 0 ? ret : export_all(archive, counts, &err);
    ntk_archive_close(archive);
    ret = ret < 0 ? ret : tell(counts, &err);
    return ret < 0 ? ntk_log_failure(NULL, &err) : 0;
}
