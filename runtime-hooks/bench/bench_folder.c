/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/bench/bench_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/base/fs.h"
#include "shared/base/json.h"
#include "shared/base/order.h"
#include "shared/base/str.h"

/* Creates the folder "FOLDER/BEFORE<mlp>AFTER" for "/tmp/mlp.neff" and returns its path. NULL with
 * a message on failure. */
static char *folder_make(const char *folder, const char *before, const char *neff_path,
                         const char *after, struct ntk_err *err)
{
    const char *name = ntk_str_base_name(neff_path);
    const char *dot = strrchr(name, '.');
    int length = dot && dot != name ? (int)(dot - name) : (int)strlen(name);
    char *path = NULL;

    if (asprintf(&path, "%s/%s%.*s%s", folder, before, length, name, after) < 0) {
        ntk_err_no_memory(err);
        return NULL;
    }
    if (ntk_fs_make_folders(path, 0777, err) < 0) {
        free(path);
        return NULL;
    }
    return path;
}

char *bench_folder_profile_path(const char *folder, const char *neff_path, struct ntk_err *err)
{
    char *made = folder_make(folder, "profile_", neff_path, "", err);
    char *path = NULL;

    if (made && asprintf(&path, "%s/profile.ntff", made) < 0) {
        ntk_err_no_memory(err);
        path = NULL;
    }
    free(made);
    return path;
}

static int file_write(const char *folder, const char *name, struct ntk_buf *text,
                      struct ntk_err *err)
{
    char *path = NULL;

    ntk_buf_add_char(text, '\n');
    int ret = asprintf(&path, "%s/%s", folder, name) < 0 || !ntk_buf_ok(text)
                  ? ntk_err_no_memory(err)
                  : ntk_fs_write(path, text->bytes, text->bytes_count, err);
    free(path);
    ntk_buf_fini(text);
    return ret;
}

NTK_ORDER(compare_ns, struct bench_device_time, NTK_UP(ns));

/* Writes {"0": minimum, ... "50": ..., "100": maximum} in us. */
static int put_percentiles(const char *key, const struct ntk_vec *times, struct ntk_json *json)
{
    static const unsigned percents[] = { 0, 1, 10, 25, 50, 75, 90, 99, 100 };
    struct bench_device_time *sorted = malloc((times->count + 1) * sizeof *sorted);

    if (!sorted) {
        return -ENOMEM;
    }
    ntk_json_key_object_begin(json, key);
    if (times->count > 0) {
        memcpy(sorted, times->items, times->count * sizeof *sorted);
        qsort(sorted, times->count, sizeof *sorted, compare_ns);
    }
    for (size_t p = 0; p < sizeof percents / sizeof *percents && times->count > 0; p++) {
        size_t rank = (size_t)((double)percents[p] / 100.0 * (double)(times->count - 1) + 0.5);
        char percent[16];

        (void)snprintf(percent, sizeof percent, "%u", percents[p]);
        ntk_json_key_double(json, percent, (double)sorted[rank].ns / 1e3);
    }
    ntk_json_object_end(json);
    free(sorted);
    return 0;
}

/* Writes {"latency_data": {"CORE": [us, ...], ...}}. */
static int data_write(const char *folder, const char *name, const struct ntk_vec *times,
                      uint32_t core_count, struct ntk_err *err)
{
    struct ntk_buf text = { 0 };
    struct ntk_json json;

    ntk_json_init(&json, &text, false);
    ntk_json_object_begin(&json);
    ntk_json_key_object_begin(&json, "latency_data");
    for (uint32_t core = 0; core < core_count; core++) {
        bool is_there = false;
        char key[16];

        ntk_vec_each(const struct bench_device_time, time, times) {
            if (time->core != core) {
                continue;
            }
            if (!is_there) {
                (void)snprintf(key, sizeof key, "%u", core);
                ntk_json_key_array_begin(&json, key);
                is_there = true;
            }
            ntk_json_double(&json, (double)time->ns / 1e3);
        }
        if (is_there) {
            ntk_json_array_end(&json);
        }
    }
    ntk_json_object_end(&json);
    ntk_json_object_end(&json);
    return file_write(folder, name, &text, err);
}

static int info_write(const char *folder, const struct ntk_nrt *nrt, const struct bench_exec *bench,
                      const struct bench_result *result, struct ntk_err *err)
{
    struct ntk_buf text = { 0 };
    struct ntk_json json;
    int ret = 0;

    ntk_json_init(&json, &text, true);
    ntk_json_object_begin(&json);
    ntk_json_key_text(&json, "neff", bench->path);
    ntk_json_key_text(&json, "library", nrt->path);
    ntk_json_key_bool(&json, "software", nrt->is_software);
    ntk_json_key_u64(&json, "nc_count", bench->core_count);
    ntk_json_key_u64(&json, "models", result->model_count);
    ntk_json_key_u64(&json, "threads", bench->thread_count);
    ntk_json_key_u64(&json, "warmup", bench->warmup);
    ntk_json_key_u64(&json, "work", result->executions);
    ntk_json_key_u64(&json, "errors", result->errors);
    ntk_json_key_bool(&json, "estimated", result->is_estimated);
    if (!result->is_estimated) {
        ntk_json_key_double(&json, "throughput", bench_result_per_second(result));
        ret = put_percentiles("latency", &result->calls, &json);
    }
    if (ret == 0 && result->has_device) {
        ret = put_percentiles("nc_latency", &result->device.times, &json);
    }
    ntk_json_object_end(&json);
    if (ret < 0) {
        ntk_buf_fini(&text);
        return ntk_err_no_memory(err);
    }
    return file_write(folder, "info.json", &text, err);
}

int bench_folder_write(const char *folder, const struct ntk_nrt *nrt,
                       const struct bench_exec *bench, const struct bench_result *result,
                       struct ntk_err *err)
{
    char after[32];

    (void)snprintf(after, sizeof after, "_i%u_LIBMODE", result->model_count);
    char *made = folder_make(folder, "", bench->path, after, err);
    int ret = made ? info_write(made, nrt, bench, result, err) : -EIO;

    if (ret == 0 && !result->is_estimated) {
        ret = data_write(made, "latency_data.json", &result->calls, bench->core_count, err);
    }
    if (ret == 0 && result->has_device) {
        ret =
            data_write(made, "nc_latency_data.json", &result->device.times, bench->core_count, err);
    }
    free(made);
    return ret;
}
