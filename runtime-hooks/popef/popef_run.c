/* SPDX-License-Identifier: MIT */
/*
 * popef_run - runs the model of PopEF files on NeuronCores through libnrt: parses options, selects
 * cores, prints the final messages. run_flow.c implements the run.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/popef/run.h"
#include "shared/base/clock.h"
#include "shared/base/json.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"
#include "shared/base/str.h"

#define GIVEN_MAX 1024
#define CORE_LAST 4095

static struct run_given given[GIVEN_MAX];
static size_t given_count;
static const char *folder = ".";
static const char *executable_name;
static const char *cores_text;
static uint64_t calls;
static uint64_t seed;
static bool has_seed;
static bool as_json;
static volatile sig_atomic_t stop;

/* Adds an input. value: NAME=FILE in argv. */
static int input_add(const char *value, struct ntk_err *err)
{
    char *at = strchr(value, '=');

    if (!at || at == value || at[1] == '\0') {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "expected NAME=FILE");
    }
    if (given_count == GIVEN_MAX) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "too many inputs (at most %d)",
                           GIVEN_MAX);
    }
    /* never freed, because it is needed until the program exits */
    char *name = strndup(value, (size_t)(at - value));
    if (!name) {
        return ntk_err_no_memory(err);
    }
    given[given_count++] = (struct run_given){ name, at + 1 };
    return 0;
}

static int seed_set(const char *value, struct ntk_err *err)
{
    has_seed = true;
    return ntk_str_parse_u64(value, &seed) < 0
               ? ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "expected an integer")
               : 0;
}

static int (*input_call)(const char *value, struct ntk_err *err) = input_add;
static int (*seed_call)(const char *value, struct ntk_err *err) = seed_set;

static const struct ntk_opt options[] = {
    { 'i', "input", "NAME=FILE", NTK_OPT_CALL, &input_call,
      "read the data of an input from a NumPy array or raw bytes" },
    { 'o', "output", "FOLDER", NTK_OPT_TEXT, &folder,
      "write each output to this folder as one array (default .)" },
    { 'e', "executable", "NAME", NTK_OPT_TEXT, &executable_name,
      "run this executable, if the files have several" },
    { 'c', "cores", "LIST", NTK_OPT_TEXT, &cores_text,
      "use these global logical NeuronCores, such as 0-3 (default: free cores)" },
    { 'n', "calls", "N", NTK_OPT_U64, &calls,
      "make at most N main calls (default: while data is available)", .is_above_zero = true },
    { 's', "seed", "N", NTK_OPT_CALL, &seed_call, "set the model's seed" },
    { 'j', "json", NULL, NTK_OPT_FLAG, &as_json, "print one JSON object" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "popef_run",
    .usage = "[OPTION]... FILE...",
    .summary = "Runs the model in PopEF files on NeuronCores: its load programs, its main programs "
               "for each item in its feeds, and its save programs. Writes outputs as NumPy arrays.",
    .options = options,
    .epilogue = "The library is $NEURON_LIBNRT if set, otherwise the libnrt.so.1 that the loader\n"
                "finds, or the one in /opt/aws/neuron/lib. Without these, and without a Neuron\n"
                "driver, it is the software runtime of this installation.",
};

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

static int files_read(struct popef_reader **out_reader, char **paths, int count,
                      struct ntk_err *err)
{
    struct popef_error popef_err = { 0 };
    int ret = popef_reader_open(out_reader, &popef_err);

    for (int i = 0; i < count && ret == 0; i++) {
        ret = popef_reader_parse_file(*out_reader, paths[i], &popef_err);
    }
    return ret < 0 ? ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "%s", popef_err.text) : 0;
}

/* Rejects features that this runner does not support. */
static int metadata_check(const struct popef_metadata *metadata, struct ntk_err *err)
{
    if (metadata->num_processes > 1) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "executable '%s' is part of a model with %" PRId64
                           " processes; only models with one process are supported",
                           metadata->executable, metadata->num_processes);
    }
    if (metadata->replication_factor < 1 || metadata->replication_factor > RUN_REPLICAS_MAX) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "executable '%s' has %" PRId64 " replicas (supported: 1 to %d)",
                           metadata->executable, metadata->replication_factor, RUN_REPLICAS_MAX);
    }
    if (metadata->device_iterations < 1) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "executable '%s' has %" PRId64
                           " device iterations (expected at least 1)",
                           metadata->executable, metadata->device_iterations);
    }
    return 0;
}

/* Sets the variables that reserve the cores; returns 0 or an exit code. */
static int cores_choose(uint32_t count)
{
    uint32_t cores[RUN_REPLICAS_MAX];
    size_t given_cores = RUN_REPLICAS_MAX;
    char text[64];

    if (!cores_text) {
        if (!getenv("NEURON_RT_VISIBLE_CORES") && !getenv("NEURON_RT_NUM_CORES")) {
            (void)snprintf(text, sizeof text, "%u", count);
            (void)setenv("NEURON_RT_NUM_CORES", text, 1);
        }
        return 0;
    }
    if (ntk_str_parse_list(cores_text, CORE_LAST, cores, &given_cores) < 0 || given_cores == 0) {
        return ntk_opt_usage_error(
            &program, "invalid value '%s' for --cores: expected a list such as 0-3", cores_text);
    }
    for (size_t i = 1; i < given_cores; i++) {
        if (cores[i] != cores[i - 1] + 1) {
            return ntk_opt_usage_error(
                &program, "invalid value '%s' for --cores: the cores must be contiguous",
                cores_text);
        }
    }
    if (given_cores < count) {
        return ntk_opt_usage_error(&program,
                                   "--cores: '%s' has %zu cores, but the model requires %u",
                                   cores_text, given_cores, count);
    }
    (void)snprintf(text, sizeof text, "%u-%u", cores[0], cores[given_cores - 1]);
    (void)setenv("NEURON_RT_VISIBLE_CORES", text, 1);
    return 0;
}

static uint32_t cores_of(const struct run_programs *programs, uint32_t replicas)
{
    uint32_t cores = 1;

    ntk_vec_each(struct run_program, entry, &programs->list) {
        cores = entry->core_count > cores ? entry->core_count : cores;
    }
    return cores * replicas;
}

/* ---- messages ---- */

static void print_json(const struct run_device *device, const struct run_result *result,
                       uint32_t cores, double seconds)
{
    struct ntk_buf buf = { 0 };
    struct ntk_json json;

    ntk_json_init(&json, &buf, false);
    ntk_json_object_begin(&json);
    ntk_json_key_text(&json, "executable", popef_model_metadata(device->model)->executable);
    ntk_json_key_text(&json, "library", device->nrt.path);
    ntk_json_key_bool(&json, "software", device->nrt.is_software);
    ntk_json_key_u64(&json, "replicas", device->replica_count);
    ntk_json_key_u64(&json, "core_count", cores);
    ntk_json_key_u64(&json, "calls", result->calls);
    ntk_json_key_u64(&json, "iterations", result->iterations);
    ntk_json_key_u64(&json, "executions", device->executions);
    ntk_json_key_u64(&json, "numerical_errors", device->numerical_errors);
    ntk_json_key_double(&json, "seconds", seconds);
    ntk_json_key_array_begin(&json, "outputs");
    ntk_vec_each(struct run_output, output, &result->outputs) {
        const struct popef_tensor_info *info = &output->anchor->tensor_info;

        ntk_json_object_begin(&json);
        ntk_json_key_text(&json, "name", output->anchor->name);
        ntk_json_key_text(&json, "handle", output->anchor->handle);
        ntk_json_key_text(&json, "file", output->path);
        ntk_json_key_text(&json, "dtype", popef_data_type_name(info->data_type));
        ntk_json_key_array_begin(&json, "shape");
        if (output->is_counted) {
            ntk_json_u64(&json, output->items);
        }
        for (uint32_t i = 0; i < info->rank; i++) {
            ntk_json_i64(&json, info->shape[i]);
        }
        ntk_json_array_end(&json);
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    (void)puts(ntk_buf_text_get(&buf));
    ntk_buf_fini(&buf);
}

static void print_text(const struct run_device *device, const struct run_result *result,
                       uint32_t cores, double seconds)
{
    char library[NTK_NRT_TEXT_BYTES];
    struct ntk_buf buf = { 0 };

    ntk_buf_add_format(&buf, "library     %s\n",
                       ntk_nrt_format(&device->nrt, library, sizeof library));
    ntk_buf_add_text(&buf, "executable  ");
    ntk_buf_add_clean(&buf, popef_model_metadata(device->model)->executable);
    ntk_buf_add_format(&buf,
                       " on %u core%s, %.2f s\ncalls       %" PRIu64 ", %" PRIu64
                       " iterations, %" PRIu64 " executions",
                       cores, cores == 1 ? "" : "s", seconds, result->calls, result->iterations,
                       device->executions);
    if (device->numerical_errors > 0) {
        ntk_buf_add_format(&buf, ", %" PRIu64 " with NaN", device->numerical_errors);
    }
    ntk_buf_add_char(&buf, '\n');
    ntk_vec_each(struct run_output, output, &result->outputs) {
        const struct popef_tensor_info *info = &output->anchor->tensor_info;

        ntk_buf_add_text(&buf, "output      ");
        ntk_buf_add_clean(&buf, output->path);
        ntk_buf_add_format(&buf, "  %s [", popef_data_type_name(info->data_type));
        if (output->is_counted) {
            ntk_buf_add_format(&buf, "%" PRIu64 "%s", output->items, info->rank > 0 ? ", " : "");
        }
        for (uint32_t i = 0; i < info->rank; i++) {
            ntk_buf_add_format(&buf, "%s%" PRId64, i > 0 ? ", " : "", info->shape[i]);
        }
        ntk_buf_add_text(&buf, "]\n");
    }
    (void)fputs(ntk_buf_text_get(&buf), stdout);
    ntk_buf_fini(&buf);
}

/* ---- the whole ---- */

static int runtime_begin(struct run_device *device, struct ntk_err *err)
{
    int ret = ntk_nrt_open(&device->nrt, err);

    if (ret < 0) {
        return ret;
    }
    NRT_STATUS status = device->nrt.nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
    if (status != NRT_SUCCESS) {
        return ntk_nrt_fail(&device->nrt, err, status, "nrt_init");
    }
    device->is_initialised = true;
    return 0;
}

/* Returns 0, a positive exit code, or -errno with a message. */
static int run(const struct popef_reader *reader, const struct popef_model *model,
               struct ntk_err *err)
{
    const struct popef_blob *blob = &popef_model_executable(model)->blob;
    struct run_device device = { .model = model };
    struct run_programs programs = { 0 };
    struct run_result result = { 0 };
    struct run_options flow_options = { .given = given,
                                        .given_count = given_count,
                                        .folder = folder,
                                        .calls = calls,
                                        .has_seed = has_seed,
                                        .seed = seed,
                                        .stop = &stop };
    struct sigaction action = { .sa_handler = on_signal };
    uint32_t cores = 0;
    int ret = metadata_check(popef_model_metadata(model), err);

    if (ret == 0) {
        ret = run_programs_read(reader, blob, &programs, err);
    }
    if (ret == 0) {
        device.replica_count = (uint32_t)popef_model_metadata(model)->replication_factor;
        cores = cores_of(&programs, device.replica_count);
        ret = cores_choose(cores);
    }
    if (ret == 0) {
        if (!ntk_fs_is_ours(popef_reader_file_name(reader, blob->file))) {
            (void)setenv("NEURON_SOFT_CPU_NODES", "0", 0); /* the code is untrusted */
        }
        ret = ntk_fs_make_folders(folder, 0777, err);
    }
    uint64_t start_ns = ntk_clock_monotonic_ns();
    if (ret == 0) {
        ret = runtime_begin(&device, err);
    }
    if (ret == 0) {
        sigemptyset(&action.sa_mask);
        (void)sigaction(SIGINT, &action, NULL);
        (void)sigaction(SIGTERM, &action, NULL);
        ret = run_device_open(&device, &programs, err);
    }
    if (ret == 0) {
        ret = run_flow(&device, reader, &programs, &flow_options, &result, err);
    }
    run_device_close(&device);
    if (ret == 0) {
        double seconds = (double)(ntk_clock_monotonic_ns() - start_ns) / 1e9;

        (as_json ? print_json : print_text)(&device, &result, cores, seconds);
        if (fflush(stdout) != 0) {
            ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot write to stdout: %s",
                              strerror(errno));
        }
    }
    run_result_fini(&result);
    run_programs_fini(&programs);
    return ret;
}

int main(int argc, char **argv)
{
    struct popef_error popef_err = { 0 };
    struct ntk_err err = { 0 };
    struct popef_reader *reader = NULL;
    struct popef_model *model = NULL;

    ntk_log_set_program("popef_run");
    int first = ntk_opt_parse(&program, argc, argv);
    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (first == argc) {
        return ntk_opt_argument_error(&program, "FILE", NULL);
    }
    int ret = files_read(&reader, argv + first, argc - first, &err);
    if (ret == 0 && popef_model_open(reader, executable_name, &model, &popef_err) < 0) {
        ret = ntk_err_set(&err, -EINVAL, NTK_ERR_NO_OFFSET, "%s", popef_err.text);
    }
    if (ret == 0) {
        ret = run(reader, model, &err);
    }
    popef_model_close(model);
    popef_reader_close(reader);
    return ret < 0 ? ntk_log_failure(NULL, &err) : ret;
}
