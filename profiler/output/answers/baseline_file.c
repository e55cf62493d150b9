/* SPDX-License-Identifier: MIT */
#include "profiler/output/answers/baseline_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "shared/base/fs.h"
#include "shared/base/json.h"
#include "shared/base/str.h"

#define VALUE_MAX 9007199254740992.0 /* 2^53: whole numbers up to this value are exact */

static const char *value_key(enum ntk_measure_kind kind)
{
    static const char *const keys[] = { [NTK_MEASURE_UNIT_TIME] = "ps",
                                        [NTK_MEASURE_UNIT_BYTES] = "bytes",
                                        [NTK_MEASURE_UNIT_SHARE] = "ratio" };

    return keys[ntk_measure_unit(kind)];
}

/* Writes one kind per line: a review shows which kinds changed, and the file takes half the bytes
 * of one value per line. */
static void put_execution(const struct ntk_measures *measures, struct ntk_json *json)
{
    ntk_json_object_begin(json);
    if (measures->source) {
        ntk_json_key_text(json, "source", measures->source);
    }
    for (unsigned k = 0; k < NTK_MEASURE_KIND_COUNT; k++) {
        if (!ntk_measures_have(measures, k)) {
            continue; /* a missing array: unknown */
        }
        ntk_json_key_array_begin(json, ntk_measure_key(k));
        json->pretty = false;
        ntk_vec_each(const struct ntk_measure, measure, &measures->items) {
            if (measure->kind == (enum ntk_measure_kind)k) {
                ntk_json_object_begin(json);
                ntk_json_key_text(json, "name", measure->name);
                if (measure->shown) {
                    ntk_json_key_text(json, "shown", measure->shown);
                }
                ntk_json_key_double(json, value_key(k), measure->value);
                ntk_json_object_end(json);
            }
        }
        ntk_json_array_end(json);
        json->pretty = true;
    }
    ntk_json_object_end(json);
}

int ntk_baseline_write(const struct ntk_baseline *baseline, struct ntk_buf *out,
                       struct ntk_err *err)
{
    size_t before_bytes = out->bytes_count;
    struct ntk_json json;

    if (baseline->executions.count > NTK_BASELINE_EXECUTIONS_MAX) {
        return ntk_err_set(err, -EFBIG, NTK_ERR_NO_OFFSET,
                           "too many executions for a baseline: %zu (at most %d); save fewer "
                           "captures",
                           baseline->executions.count, NTK_BASELINE_EXECUTIONS_MAX);
    }
    ntk_json_init(&json, out, true);
    ntk_json_object_begin(&json);
    ntk_json_key_text(&json, "format", NTK_BASELINE_FORMAT);
    ntk_json_key_u64(&json, "version", NTK_BASELINE_VERSION);
    ntk_json_key_u64(&json, "saved_unix_ns", baseline->saved_unix_ns);
    ntk_json_key_text(&json, "instance_type", baseline->instance_type);
    ntk_json_key_text(&json, "neff_uuid", baseline->neff_uuid);
    ntk_json_key_text(&json, "metrics_version", baseline->metrics_version);
    ntk_json_key_array_begin(&json, "executions");
    ntk_vec_each(const struct ntk_measures, measures, &baseline->executions) {
        put_execution(measures, &json);
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    ntk_buf_add_char(out, '\n');
    if (out->bytes_count - before_bytes > NTK_BASELINE_BYTES_MAX) {
        return ntk_err_set(
            err, -EFBIG, NTK_ERR_NO_OFFSET,
            "the baseline of %zu executions would take %zu MiB (at most %zu MiB); save "
            "fewer captures",
            baseline->executions.count, (out->bytes_count - before_bytes) >> 20,
            NTK_BASELINE_BYTES_MAX >> 20);
    }
    return ntk_buf_ok(out) ? 0 : ntk_err_no_memory(err);
}

/* --- reading ---------------------------------------------------------------------------------- */

static int bad(struct ntk_err *err, const char *path, const char *what)
{
    return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                       "%s: %s: create the baseline again with neuron-profile baseline save", path,
                       what);
}

static int read_measure(const json_t *row, enum ntk_measure_kind kind,
                        struct ntk_measures *measures, const char *path, struct ntk_err *err)
{
    const char *name = json_string_value(json_object_get(row, "name"));
    const json_t *number = json_object_get(row, value_key(kind));
    double value = json_number_value(number);

    if (!name || !json_is_number(number) || !(value >= 0) || value > VALUE_MAX) {
        return bad(err, path, "a measure without a name or with an invalid value");
    }
    if (ntk_measures_find(measures, kind, name)) {
        return bad(err, path, "an execution has a duplicate measure");
    }
    const char *shown = json_string_value(json_object_get(row, "shown"));
    int ret = ntk_measures_add(measures, kind, name, value);
    ret = ret < 0 || !shown ? ret : ntk_measures_show(measures, kind, name, shown);
    return ret < 0 ? ntk_err_no_memory(err) : 0;
}

static void read_text(const json_t *json, const char *key, char *to, size_t to_bytes)
{
    const char *text = json_string_value(json_object_get(json, key));

    if (text) {
        ntk_str_copy_clean(to, to_bytes, text, strlen(text));
    }
}

static int read_execution(const json_t *json, struct ntk_measures *measures, const char *path,
                          struct ntk_err *err)
{
    char source[NTK_NTFF_NAME_BYTES + 64] = "";
    int ret = 0;

    if (!json_is_object(json)) {
        return bad(err, path, "an execution is not an object");
    }
    read_text(json, "source", source, sizeof source);
    if (source[0]) {
        measures->source = strdup(source);
        ret = measures->source ? 0 : ntk_err_no_memory(err);
    }
    for (unsigned k = 0; k < NTK_MEASURE_KIND_COUNT && ret == 0; k++) {
        const json_t *rows = json_object_get(json, ntk_measure_key(k));

        if (rows && !json_is_array(rows)) {
            return bad(err, path, "the measures of an execution are not a list");
        }
        measures->unknown |= rows ? 0 : 1u << k;
        for (size_t i = 0; i < json_array_size(rows) && ret == 0; i++) {
            ret = read_measure(json_array_get(rows, i), k, measures, path, err);
        }
    }
    return ret;
}

static int read_executions(const json_t *list, struct ntk_baseline *baseline, const char *path,
                           struct ntk_err *err)
{
    size_t count = json_array_size(list);
    int ret = 0;

    if (count == 0 || count > NTK_BASELINE_EXECUTIONS_MAX) {
        return bad(err, path, count ? "more than 10,000 executions" : "no executions");
    }
    for (size_t i = 0; i < count && ret == 0; i++) {
        struct ntk_measures measures = { 0 };

        ret = read_execution(json_array_get(list, i), &measures, path, err);
        if (ret == 0 && ntk_vec_push(&baseline->executions, &measures) < 0) {
            ret = ntk_err_no_memory(err);
        }
        if (ret < 0) {
            ntk_measures_fini(&measures);
        }
    }
    return ret;
}

static int read_whole(const json_t *json, struct ntk_baseline *baseline, const char *path,
                      struct ntk_err *err)
{
    const char *format = json_string_value(json_object_get(json, "format"));
    json_int_t version = json_integer_value(json_object_get(json, "version"));
    json_int_t saved = json_integer_value(json_object_get(json, "saved_unix_ns"));

    if (!format || strcmp(format, NTK_BASELINE_FORMAT) != 0) {
        return bad(err, path, "not a baseline");
    }
    if (version != NTK_BASELINE_VERSION) {
        return ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                           "%s: unsupported baseline version %lld (supported: %d): save it again",
                           path, (long long)version, NTK_BASELINE_VERSION);
    }
    baseline->saved_unix_ns = saved > 0 ? (uint64_t)saved : 0;
    read_text(json, "instance_type", baseline->instance_type, sizeof baseline->instance_type);
    read_text(json, "neff_uuid", baseline->neff_uuid, sizeof baseline->neff_uuid);
    read_text(json, "metrics_version", baseline->metrics_version, sizeof baseline->metrics_version);
    return read_executions(json_object_get(json, "executions"), baseline, path, err);
}

int ntk_baseline_read_bytes(const void *bytes, size_t bytes_count, const char *path,
                            struct ntk_baseline *out_baseline, struct ntk_err *err)
{
    struct ntk_baseline baseline = { 0 };
    json_error_t at;
    json_t *json = json_loadb(bytes, bytes_count, JSON_REJECT_DUPLICATES, &at);

    if (!json) {
        return ntk_err_set(err, -EBADMSG,
                           at.position > 0 ? (uint64_t)at.position : NTK_ERR_NO_OFFSET,
                           "%s: not a baseline (line %d is not JSON: %s)", path, at.line, at.text);
    }
    ntk_vec_init(&baseline.executions, sizeof(struct ntk_measures));
    int ret = read_whole(json, &baseline, path, err);
    json_decref(json);
    if (ret < 0) {
        ntk_baseline_fini(&baseline);
        return ret;
    }
    *out_baseline = baseline;
    return 0;
}

int ntk_baseline_read(const char *path, struct ntk_baseline *out_baseline, struct ntk_err *err)
{
    uint8_t *bytes = NULL;
    size_t count = 0;
    int ret = ntk_fs_read(path, NTK_BASELINE_BYTES_MAX, &bytes, &count, err);

    if (ret == 0) {
        ret = ntk_baseline_read_bytes(bytes, count, path, out_baseline, err);
        free(bytes);
    }
    return ret;
}
