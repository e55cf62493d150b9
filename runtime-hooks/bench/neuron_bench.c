/* SPDX-License-Identifier: MIT */
/*
 * neuron-bench - loads a NEFF, runs it and prints its speed; creates and removes the software
 * machine. This file has options and output; bench_exec.c does the work.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/bench/bench_exec.h"
#include "runtime-hooks/bench/bench_folder.h"
#include "runtime-hooks/core/core.h"
#include "runtime-hooks/env/env_soft.h"
#include "shared/base/buf.h"
#include "shared/base/clock.h"
#include "shared/base/json.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"
#include "shared/base/str.h"
#include "shared/base/units.h"

#define DEFAULT_DURATION_NS (10 * NTK_NS_PER_SECOND)
#define THREADS_MAX 1024
#define CORE_LAST 4095

static atomic_int stop; /* lock-free, so that a signal handler may set it */

static const char *cores_text;
static uint64_t thread_count;
static uint64_t duration_ns;
static uint64_t execution_count;
static double rate;
static const char *warmup_text = "none";
static uint64_t fixed_count;
static const char *fill_text = "zeros";
static const char *output_folder;
static bool is_latency_only;
static bool as_json;
static bool is_remove;

static const struct ntk_opt exec_options[] = {
    { 'c', "cores", "LIST", NTK_OPT_TEXT, &cores_text,
      "use these global logical NeuronCores, such as 0-3 (default: free cores for one model)" },
    { 't', "threads", "N", NTK_OPT_U64, &thread_count,
      "use N threads, spread over the cores (default: one per core)", .is_above_zero = true },
    { 'd', "duration", "TIME", NTK_OPT_DURATION, &duration_ns, "run for TIME (default 10s)",
      .is_above_zero = true },
    { 'n', "count", "N", NTK_OPT_U64, &execution_count,
      "stop after N executions across all threads, instead of after TIME", .is_above_zero = true },
    { 0, "work", "N", NTK_OPT_U64, &execution_count, "same as --count", .is_above_zero = true },
    { 'w', "warmup", "N", NTK_OPT_TEXT, &warmup_text,
      "run N executions per thread before the measured ones, or none (default)" },
    { 0, "fixed-nc-count", "N", NTK_OPT_U64, &fixed_count,
      "use N free NeuronCores, with a model on each (default: enough for one model)",
      .is_above_zero = true },
    { 'f', "fill", "VALUES", NTK_OPT_CHOICE, &fill_text,
      "fill inputs with zeros (default), ones, or random (the same values in every run)",
      .choices = "zeros ones random" },
    { 'o', "output-directory", "FOLDER", NTK_OPT_TEXT, &output_folder,
      "write FOLDER/NAME_iMODELS_LIBMODE with info.json and individual latencies, and "
      "FOLDER/profile_NAME/profile.ntff with one additional execution" },
    { 0, "enable-only-latency", NULL, NTK_OPT_FLAG, &is_latency_only,
      "with -o: do not record the additional execution" },
    { 'r', "rate", "R", NTK_OPT_DOUBLE, &rate,
      "limit the total rate to R executions per second (default: no limit)" },
    { 'j', "json", NULL, NTK_OPT_FLAG, &as_json, "print one JSON object" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program exec_program = {
    .name = "neuron-bench exec",
    .usage = "[OPTION]... FILE",
    .summary =
        "Loads a NEFF on each core, runs it, and prints the throughput and latency of the calls.",
    .options = exec_options,
};

static const struct ntk_opt machine_options[] = {
    { 0, "remove", NULL, NTK_OPT_FLAG, &is_remove,
      "remove the machine; fails while a process holds a core" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program machine_program = {
    .name = "neuron-bench machine",
    .usage = "[--remove]",
    .summary = "Builds the state and the device tree of the software machine that "
               "NEURON_SOFT_INSTANCE names.",
    .options = machine_options,
};

static const struct ntk_opt main_options[] = {
    NTK_OPT_COMMON,
    { 0 },
};

static int command_exec(int argc, char **argv);
static int command_machine(int argc, char **argv);

static const struct ntk_opt_command commands[] = {
    { "exec", command_exec },
    { "machine", command_machine },
    { 0 },
};

static const struct ntk_opt_program main_program = {
    .name = "neuron-bench",
    .usage = "exec [OPTION]... FILE\nmachine [--remove]",
    .summary = "Runs NEFFs on NeuronCores through libnrt.so.1, as a load generator.",
    .options = main_options,
    .stop_at_operand = true,
    .epilogue = "The library is $NEURON_LIBNRT if set, otherwise the libnrt.so.1 that the loader\n"
                "finds, or the one in /opt/aws/neuron/lib. Without these, and without a Neuron\n"
                "driver, it is the software runtime of this installation.",
    .commands = commands,
};

static void on_signal(int number)
{
    (void)number;
    atomic_store_explicit(&stop, 1, memory_order_relaxed);
}

/* Sets the variables that reserve cores. Returns 0 and their number, or an exit code. */
static int cores_choose(const char *path, uint32_t *out_first, uint32_t *out_count)
{
    uint32_t cores[BENCH_CORES_MAX];
    size_t count = BENCH_CORES_MAX;
    char range[64];

    if (cores_text && fixed_count > 0) {
        return ntk_opt_usage_error(&exec_program,
                                   "--cores and --fixed-nc-count are mutually exclusive");
    }
    if (fixed_count > BENCH_CORES_MAX) {
        return ntk_opt_usage_error(&exec_program, "--fixed-nc-count must be at most %d",
                                   BENCH_CORES_MAX);
    }
    if (!cores_text) {
        *out_count = fixed_count > 0 ? (uint32_t)fixed_count : bench_exec_cores_of(path);
        if (!getenv("NEURON_RT_VISIBLE_CORES") && !getenv("NEURON_RT_NUM_CORES")) {
            (void)snprintf(range, sizeof range, "%u", *out_count);
            (void)setenv("NEURON_RT_NUM_CORES", range, 1);
        }
        return 0;
    }
    int ret = ntk_str_parse_list(cores_text, CORE_LAST, cores, &count);
    if (ret == -ERANGE) {
        return ntk_opt_usage_error(
            &exec_program, "invalid value '%s' for --cores: core numbers must be at most %d",
            cores_text, CORE_LAST);
    }
    if (ret < 0 || count == 0) {
        return ntk_opt_usage_error(&exec_program,
                                   "invalid value '%s' for --cores: expected a list such as 0-3",
                                   cores_text);
    }
    for (size_t i = 1; i < count; i++) {
        if (cores[i] != cores[i - 1] + 1) {
            return ntk_opt_usage_error(
                &exec_program, "invalid value '%s' for --cores: the cores must be contiguous",
                cores_text);
        }
    }
    (void)snprintf(range, sizeof range, "%u-%u", cores[0], cores[count - 1]);
    (void)setenv("NEURON_RT_VISIBLE_CORES", range, 1);
    *out_first = cores[0];
    *out_count = (uint32_t)count;
    return 0;
}

static void print_json(const struct ntk_nrt *nrt, const struct bench_exec *bench,
                       const struct bench_result *result)
{
    struct ntk_buf buf = { 0 };
    struct ntk_json json;

    ntk_json_init(&json, &buf, false);
    ntk_json_object_begin(&json);
    ntk_json_key_text(&json, "file", bench->path);
    ntk_json_key_text(&json, "library", nrt->path);
    ntk_json_key_bool(&json, "software", nrt->is_software);
    ntk_json_key_text(&json, "cores", cores_text ? cores_text : "");
    ntk_json_key_u64(&json, "core_count", bench->core_count);
    ntk_json_key_u64(&json, "threads", bench->thread_count);
    ntk_json_key_double(&json, "seconds", (double)result->elapsed_ns / 1e9);
    ntk_json_key_u64(&json, "executions", result->executions);
    ntk_json_key_u64(&json, "numerical_errors", result->numerical_errors);
    ntk_json_key_u64(&json, "errors", result->errors);
    if (result->errors > 0) {
        ntk_json_key_text(&json, "last_error", ntk_nrt_status_name(nrt, result->last_error));
    }
    ntk_json_key_bool(&json, "estimated", result->is_estimated);
    if (!result->is_estimated) {
        ntk_json_key_double(&json, "executions_per_second", bench_result_per_second(result));
    }
    if (!result->is_estimated && result->executions > 0) {
        ntk_json_key_object_begin(&json, "latency_ns");
        ntk_json_key_u64(&json, "min", result->min_ns);
        ntk_json_key_double(&json, "mean", result->mean_ns);
        ntk_json_key_double(&json, "p50", result->p50_ns);
        ntk_json_key_double(&json, "p90", result->p90_ns);
        ntk_json_key_double(&json, "p99", result->p99_ns);
        ntk_json_key_double(&json, "p99.9", result->p999_ns);
        ntk_json_key_u64(&json, "max", result->max_ns);
        ntk_json_object_end(&json);
    }
    ntk_json_object_end(&json);
    (void)puts(ntk_buf_text_get(&buf));
    ntk_buf_fini(&buf);
}

static void print_text(const struct ntk_nrt *nrt, const struct bench_exec *bench,
                       const struct bench_result *result)
{
    const struct {
        const char *name;
        double ns;
    } columns[] = {
        { "min", (double)result->min_ns }, { "mean", result->mean_ns },
        { "p50", result->p50_ns },         { "p90", result->p90_ns },
        { "p99", result->p99_ns },         { "p99.9", result->p999_ns },
        { "max", (double)result->max_ns },
    };
    char library[NTK_NRT_TEXT_BYTES];
    char text[NTK_UNITS_TEXT_BYTES];
    char number[16] = "";

    if (!cores_text) {
        (void)snprintf(number, sizeof number, "%u ", bench->core_count);
    }
    (void)printf("%s on %score%s%s%s, %u thread%s, %.2f s\n", bench->path, number,
                 bench->core_count == 1 ? "" : "s", cores_text ? " " : "",
                 cores_text ? cores_text : "", bench->thread_count,
                 bench->thread_count == 1 ? "" : "s", (double)result->elapsed_ns / 1e9);
    (void)printf("library     %s\n", ntk_nrt_format(nrt, library, sizeof library));
    (void)printf("executions  %llu", (unsigned long long)result->executions);
    if (!result->is_estimated) {
        (void)printf(" (%.1f/s)", bench_result_per_second(result));
    }
    if (result->numerical_errors > 0) {
        (void)printf(", %llu with NaN", (unsigned long long)result->numerical_errors);
    }
    (void)printf("\nerrors      %llu", (unsigned long long)result->errors);
    if (result->errors > 0) {
        (void)printf(", the last %s", ntk_nrt_status_name(nrt, result->last_error));
    }
    if (result->is_estimated) {
        (void)puts("\n"
                   "latency     none: a software core does not compute a vendor program "
                   "(NEURON_SOFT_OPAQUE), so its times have no meaning");
        return;
    }
    if (result->executions == 0) {
        (void)puts("\nlatency     none: no execution completed");
        return;
    }
    (void)printf("\nlatency    ");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        (void)printf(" %s %s", columns[i].name,
                     ntk_units_duration(text, sizeof text, (uint64_t)columns[i].ns));
    }
    (void)putchar('\n');
}

/* Returns 0, or an exit code after printing a usage error. */
static int values_choose(struct bench_exec *bench)
{
    static const char *const fills[] = {
        [BENCH_FILL_ZEROS] = "zeros", [BENCH_FILL_ONES] = "ones", [BENCH_FILL_RANDOM] = "random"
    };

    if (strcmp(warmup_text, "none") != 0 && ntk_str_parse_u64(warmup_text, &bench->warmup) < 0) {
        return ntk_opt_usage_error(&exec_program,
                                   "invalid value '%s' for --warmup: expected a number or none",
                                   warmup_text);
    }
    /* NTK_OPT_CHOICE ensures that the text is in the list. */
    for (size_t i = 0; i < sizeof fills / sizeof *fills; i++) {
        bench->fill = strcmp(fills[i], fill_text) == 0 ? (enum bench_fill)i : bench->fill;
    }
    return 0;
}

/* Runs the executions between nrt_init and nrt_close, and writes the results. */
static int run_and_write(const struct ntk_nrt *nrt, struct bench_exec *bench,
                         struct bench_result *result, struct ntk_err *err)
{
    char *profile = NULL;

    bench->has_samples = output_folder != NULL;
    if (output_folder && !is_latency_only) {
        profile = bench_folder_profile_path(output_folder, bench->path, err);
        if (!profile) {
            return -EIO;
        }
    }
    bench->profile_path = profile;
    int ret = bench_exec_run(nrt, bench, result, err);
    if (ret == 0 && output_folder) {
        ret = bench_folder_write(output_folder, nrt, bench, result, err);
    }
    free(profile);
    return ret;
}

static int command_exec(int argc, char **argv)
{
    struct sigaction action = { .sa_handler = on_signal };
    struct bench_exec bench = { .stop = &stop };
    struct bench_result result = { 0 };
    struct ntk_nrt nrt = { 0 };
    struct ntk_err err = { 0 };
    int first = ntk_opt_parse(&exec_program, argc, argv);

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (argc - first != 1) {
        return ntk_opt_argument_error(&exec_program, "FILE",
                                      argc == first ? NULL : argv[first + 1]);
    }
    if (thread_count > THREADS_MAX || rate < 0.0) {
        return ntk_opt_usage_error(&exec_program,
                                   "--threads must be at most %d, and --rate must not be negative",
                                   THREADS_MAX);
    }
    int code = cores_choose(argv[first], &bench.first_core, &bench.core_count);
    code = code ? code : values_choose(&bench);
    if (code != 0) {
        return code;
    }
    bench.path = argv[first];
    bench.thread_count = thread_count > 0 ? (uint32_t)thread_count : bench.core_count;
    bench.count = execution_count;
    bench.duration_ns =
        duration_ns == 0 && execution_count == 0 ? DEFAULT_DURATION_NS : duration_ns;
    bench.rate = rate;

    if (ntk_nrt_open(&nrt, &err) < 0) {
        return ntk_log_failure(NULL, &err);
    }
    NRT_STATUS status = nrt.nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
    if (status != NRT_SUCCESS) {
        ntk_log_error(NULL, "%s: nrt_init failed: %s", nrt.path, ntk_nrt_status_name(&nrt, status));
        return 1;
    }
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    int ret = run_and_write(&nrt, &bench, &result, &err);
    nrt.nrt_close();
    if (ret < 0) {
        return ntk_log_failure(NULL, &err);
    }
    if (as_json) {
        print_json(&nrt, &bench, &result);
    } else {
        print_text(&nrt, &bench, &result);
    }
    bench_result_fini(&result);
    if (fflush(stdout) != 0) {
        ntk_err_set(&err, -errno, NTK_ERR_NO_OFFSET, "cannot write to stdout: %s", strerror(errno));
        return ntk_log_failure(NULL, &err);
    }
    return result.errors == 0 ? 0 : 1;
}

static int command_machine(int argc, char **argv)
{
    struct ntk_err err = { 0 };
    int parsed = ntk_opt_parse_all(&machine_program, argc, argv);

    if (parsed < 0) {
        return ntk_opt_exit_code(parsed);
    }
    struct ntk_core_machine_options wanted;
    int ret = is_remove ? ntk_core_machine_remove(&err) : ntk_env_soft_machine_get(&wanted, &err);

    ret = ret < 0 || is_remove ? ret : ntk_core_machine_build(&wanted, &err);
    return ret < 0 ? ntk_log_failure(NULL, &err) : 0;
}

int main(int argc, char **argv)
{
    ntk_log_set_program("neuron-bench");
    int first = ntk_opt_parse(&main_program, argc, argv);

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    return ntk_opt_run_command(&main_program, argc, argv, first);
}
