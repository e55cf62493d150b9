/* SPDX-License-Identifier: MIT */
/* archive - writes the history of a database as Parquet files. */
#include "agent/archive/archive.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/archive/archive_path.h"
#include "shared/base/buf.h"
#include "shared/base/str.h"
#include "shared/base/write_all.h"
#include "shared/parquet/parquet.h"

#define WRITE_BYTES ((size_t)256 * 1024)
#define VERSION_TEXT_(version) #version
#define VERSION_TEXT(version) VERSION_TEXT_(version)

struct ntk_archive {
    const struct ntk_archive_options *options;
    struct ntk_archive_target *target;
    struct ntk_buf path;
    struct ntk_buf out;  /* bytes that are not yet written */
    struct ntk_buf text; /* clean text of a row */
    int fd;
    /* column names; larger than a cursor */
    struct ntk_store_cursor_column names[NTK_STORE_DATASET_COLUMNS_MAX];
    struct ntk_parquet_column columns[NTK_STORE_DATASET_COLUMNS_MAX];
    struct ntk_parquet_value values[NTK_STORE_DATASET_COLUMNS_MAX];
};

/* ---- which tables ---- */

/* Returns true if a word selects a table: "core" is the family of core_sample, core_minute and
 * core_hour. */
static bool is_named(const char *name, const char *word)
{
    static const char *const tiers[] = { "_sample", "_minute", "_hour" };
    size_t length = strlen(word);

    if (fnmatch(word, name, 0) == 0) {
        return true;
    }
    for (size_t i = 0; i < sizeof tiers / sizeof *tiers; i++) {
        if (strncmp(name, word, length) == 0 && strcmp(name + length, tiers[i]) == 0) {
            return true;
        }
    }
    return false;
}

const char *ntk_archive_table_name(size_t index)
{
    return index < NTK_STORE_DATASET_COUNT ? ntk_store_datasets[index].name : NULL;
}

#define EXPECTED "expected table names, separated by commas ('help' lists them)"

int ntk_archive_tables_parse(const char *list, bool wanted[NTK_STORE_DATASET_COUNT],
                             struct ntk_err *err)
{
    char *copy = strdup(list);
    char *save = NULL;
    size_t words = 0;
    int ret = copy ? 0 : ntk_err_no_memory(err);

    memset(wanted, 0, NTK_STORE_DATASET_COUNT * sizeof *wanted);
    for (char *word = copy ? strtok_r(copy, ",", &save) : NULL; word && ret == 0;
         word = strtok_r(NULL, ",", &save), words++) {
        bool is_known = false;
        for (size_t i = 0; i < NTK_STORE_DATASET_COUNT; i++) {
            if (is_named(ntk_store_datasets[i].name, word)) {
                wanted[i] = is_known = true;
            }
        }
        if (!is_known) {
            ret = ntk_err_set(err, -EINVAL, (uint64_t)(word - copy), EXPECTED);
        }
    }
    free(copy);
    return ret < 0 || words ? ret : ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, EXPECTED);
}

/* ---- bytes ---- */

static int flush(struct ntk_archive *archive)
{
    if (!ntk_buf_ok(&archive->out)) {
        return -ENOMEM;
    }
    int ret = ntk_write_all(archive->fd, archive->out.bytes, archive->out.bytes_count);
    if (ret == 0) {
        ntk_buf_reset(&archive->out);
    }
    return ret;
}

static int take_bytes(void *ctx, const void *bytes, size_t bytes_count)
{
    struct ntk_archive *archive = ctx;

    ntk_buf_add(&archive->out, bytes, bytes_count);
    return archive->out.bytes_count < WRITE_BYTES ? 0 : flush(archive);
}

/* ---- rows ---- */

static int64_t micros(int64_t ns)
{
    return ns / 1000 - (ns % 1000 < 0);
}

/* Returns true for UTF-8. Texts come from processes of other users, and readers reject a file with
 * text that is not UTF-8. */
static bool is_sound(const char *text, size_t bytes_count)
{
    size_t at = 0;

    while (at < bytes_count) {
        uint32_t code;
        size_t bytes = ntk_str_utf8_read(text + at, bytes_count - at, &code);
        if (!bytes || !code) {
            return false;
        }
        at += bytes;
    }
    return true;
}

/* Appends a clean copy of a text; returns its offset in archive->text. */
static size_t make_clean(struct ntk_archive *archive, const char *text, size_t bytes_count)
{
    size_t begin = archive->text.bytes_count;
    char *copy = strndup(text, bytes_count);

    ntk_buf_add_clean(&archive->text, copy ? copy : "");
    archive->text.failed = archive->text.failed || !copy;
    free(copy);
    return begin;
}

static int take_row(struct ntk_archive *archive, const struct ntk_store_cell *cells, size_t count)
{
    size_t cleaned[NTK_STORE_DATASET_COLUMNS_MAX];
    size_t ends[NTK_STORE_DATASET_COLUMNS_MAX];
    uint64_t is_cleaned = 0;

    ntk_buf_reset(&archive->text);
    for (size_t i = 0; i < count; i++) {
        struct ntk_parquet_value *value = &archive->values[i];
        value->is_present = cells[i].kind != NTK_STORE_CELL_NULL;
        switch (cells[i].kind) {
        case NTK_STORE_CELL_NULL:
            break;
        case NTK_STORE_CELL_F64:
            value->f64 = cells[i].f64;
            break;
        case NTK_STORE_CELL_TIME:
            value->i64 = micros(cells[i].i64);
            break;
        case NTK_STORE_CELL_I64:
            value->i64 = cells[i].i64;
            break;
        case NTK_STORE_CELL_TEXT:
        case NTK_STORE_CELL_BLOB:
            value->bytes = cells[i].bytes ? cells[i].bytes : "";
            value->bytes_count = (uint32_t)cells[i].bytes_count;
            if (cells[i].kind == NTK_STORE_CELL_TEXT &&
                !is_sound(value->bytes, value->bytes_count)) {
                cleaned[i] = make_clean(archive, value->bytes, value->bytes_count);
                ends[i] = archive->text.bytes_count;
                is_cleaned |= UINT64_C(1) << i;
            }
            break;
        }
    }
    for (size_t i = 0; is_cleaned >> i; i++) { /* from now on the buffer no longer moves */
        if (is_cleaned >> i & 1) {
            archive->values[i].bytes = ntk_buf_text_get(&archive->text) + cleaned[i];
            archive->values[i].bytes_count = (uint32_t)(ends[i] - cleaned[i]);
        }
    }
    return ntk_buf_ok(&archive->text) ? 0 : -ENOMEM;
}

static enum ntk_parquet_kind kind_of(enum ntk_store_cell_kind kind)
{
    switch (kind) {
    case NTK_STORE_CELL_TIME:
        return NTK_PARQUET_TIME_US;
    case NTK_STORE_CELL_F64:
        return NTK_PARQUET_F64;
    case NTK_STORE_CELL_TEXT:
        return NTK_PARQUET_TEXT;
    case NTK_STORE_CELL_BLOB:
        return NTK_PARQUET_BYTES;
    default:
        return NTK_PARQUET_I64;
    }
}

/* ---- parts ---- */

struct step {
    struct ntk_archive *archive;
    struct ntk_archive_place place;
    struct ntk_parquet_options parquet_options;
    struct ntk_parquet_pair pairs[4];
    struct ntk_parquet *parquet; /* NULL between parts */
    bool keeps;
    struct ntk_archive_counts *counts;
    struct ntk_err *err;
};

static int fail(const struct step *step, int ret)
{
    return ntk_err_set(step->err, ret, NTK_ERR_NO_OFFSET, "cannot write '%s/%s': %s",
                       step->archive->options->target.destination,
                       ntk_buf_text_get(&step->archive->path), strerror(-ret));
}

static int begin_part(struct step *step)
{
    struct ntk_archive *archive = step->archive;

    ntk_buf_reset(&archive->path);
    ntk_buf_reset(&archive->out);
    ntk_archive_path_add(&archive->path, &step->place);
    if (!ntk_buf_ok(&archive->path)) {
        return ntk_err_no_memory(step->err);
    }
    int ret = ntk_archive_target_begin(archive->target, ntk_buf_text_get(&archive->path),
                                       &archive->fd, step->err);
    if (ret < 0) {
        return ret;
    }
    step->parquet = ntk_parquet_create(&step->parquet_options);
    return step->parquet ? 0 : ntk_err_no_memory(step->err);
}

static int end_part(struct step *step)
{
    int ret = ntk_parquet_finish(step->parquet);

    ret = ret < 0 ? ret : flush(step->archive);
    if (ret < 0) {
        return fail(step, ret);
    }
    uint64_t rows = ntk_parquet_row_count(step->parquet);
    uint64_t bytes = ntk_parquet_byte_count(step->parquet);
    ntk_parquet_destroy(step->parquet);
    step->parquet = NULL;
    ret = ntk_archive_target_commit(step->archive->target, step->keeps, step->err);
    if (ret == 1) {
        step->counts->kept++;
    } else if (ret == 0) {
        step->counts->parts++;
        step->counts->rows += rows;
        step->counts->bytes += bytes;
    }
    return ret < 0 ? ret : 0;
}

static int write_rows(struct step *step, struct ntk_store_cursor *cursor, size_t column_count)
{
    uint64_t most = step->archive->options->part_bytes_max;
    const struct ntk_store_cell *cells;
    int ret;

    while ((ret = ntk_store_cursor_next(cursor, &cells, step->err)) == 1) {
        if (step->parquet &&
            ntk_parquet_byte_count(step->parquet) >= (most ? most : NTK_ARCHIVE_PART_BYTES_MAX)) {
            ret = end_part(step);
            step->place.piece++;
            if (ret < 0) {
                return ret;
            }
        }
        if (!step->parquet && (ret = begin_part(step)) < 0) {
            return ret;
        }
        ret = take_row(step->archive, cells, column_count);
        ret = ret < 0 ? ret : ntk_parquet_put(step->parquet, step->archive->values);
        if (ret < 0) {
            return fail(step, ret);
        }
    }
    return ret;
}

static int write_step(struct step *step, struct ntk_store_reader *reader)
{
    const struct ntk_store_dataset_info *info = &ntk_store_datasets[step->place.dataset];
    struct ntk_store_cursor *cursor = NULL;
    size_t count = 0;
    int ret = ntk_store_cursor_open(reader, step->place.dataset, step->place.start_ns,
                                    step->place.start_ns + info->step_ns, &cursor, step->err);

    if (ret < 0) {
        return ret;
    }
    const struct ntk_store_cursor_column *columns = ntk_store_cursor_columns(cursor, &count);
    for (size_t i = 0; i < count; i++) {
        enum ntk_parquet_kind kind = kind_of(columns[i].kind);
        step->archive->names[i] = columns[i];
        step->archive->columns[i] =
            (struct ntk_parquet_column){ .name = step->archive->names[i].name,
                                         .kind = kind,
                                         .is_optional = i > 0,
                                         .has_dictionary = kind == NTK_PARQUET_TEXT };
    }
    step->parquet_options =
        (struct ntk_parquet_options){ .name = info->name,
                                      .columns = step->archive->columns,
                                      .column_count = count,
                                      .codec = NTK_PARQUET_ZSTD,
                                      .created_by = "neuron-monitor " NTK_VERSION,
                                      .pairs = step->pairs,
                                      .pair_count = 4,
                                      .write = take_bytes,
                                      .ctx = step->archive };
    ret = write_rows(step, cursor, count);
    ntk_store_cursor_close(cursor);
    return ret;
}

int ntk_archive_write(struct ntk_archive *archive, struct ntk_store_reader *reader,
                      enum ntk_store_dataset_id dataset, uint64_t start_ns,
                      struct ntk_archive_counts *counts, struct ntk_err *err)
{
    const struct ntk_archive_options *options = archive->options;
    const struct ntk_store_dataset_info *info = &ntk_store_datasets[dataset];
    char host[NTK_STORE_HOST_BYTES];
    uint64_t whole_ns, done_ns;
    struct step step = {
        .archive = archive,
        .place = { .dataset = dataset,
                   .cluster = options->cluster ? options->cluster : NTK_ARCHIVE_CLUSTER,
                   .start_ns = start_ns },
        .pairs = { { "neuron.archive.version", VERSION_TEXT(NTK_ARCHIVE_VERSION) },
                   { "neuron.archive.table", info->name },
                   { "neuron.archive.description", info->meaning },
                   { "neuron.store.version", VERSION_TEXT(NTK_STORE_SCHEMA_VERSION) } },
        .counts = counts,
        .err = err,
    };
    int ret = ntk_store_reader_begin(reader, err);

    if (ret < 0) {
        return ret;
    }
    ret =
        ntk_store_dataset_origin(reader, start_ns + info->step_ns, &step.place.store_id, host, err);
    ret = ret < 0 ? ret : ntk_store_dataset_span(reader, dataset, &whole_ns, &done_ns, err);
    step.place.host = options->host ? options->host : host;
    ret = ret < 0 ? ret : ntk_archive_path_check("host", step.place.host, err);
    if (ret == 0) {
        step.keeps = whole_ns > start_ns; /* the database has started to delete the step */
        ret = write_step(&step, reader);
    }
    ntk_store_reader_end(reader);
    /* A read transaction must not wait for a slow network, because the log of the database grows
     * while it is open. */
    ret = ret < 0 || !step.parquet ? ret : end_part(&step);
    ntk_parquet_destroy(step.parquet);
    ntk_archive_target_abort(archive->target);
    return ret;
}

int ntk_archive_open(const struct ntk_archive_options *options, struct ntk_archive **out_archive,
                     struct ntk_err *err)
{
    struct ntk_archive *archive = calloc(1, sizeof *archive);

    if (!archive) {
        return ntk_err_no_memory(err);
    }
    archive->options = options;
    archive->fd = -1;
    int ret = options->cluster ? ntk_archive_path_check("cluster", options->cluster, err) : 0;
    ret = ret < 0 || !options->host ? ret : ntk_archive_path_check("host", options->host, err);
    ret = ret < 0 ? ret : ntk_archive_target_open(&options->target, &archive->target, err);
    if (ret < 0) {
        ntk_archive_close(archive);
        return ret;
    }
    *out_archive = archive;
    return 0;
}

void ntk_archive_close(struct ntk_archive *archive)
{
    if (!archive) {
        return;
    }
    ntk_archive_target_close(archive->target);
    ntk_buf_fini(&archive->path);
    ntk_buf_fini(&archive->out);
    ntk_buf_fini(&archive->text);
    free(archive);
}

void ntk_archive_cancel(struct ntk_archive *archive)
{
    ntk_archive_target_cancel(archive->target);
}
