/* SPDX-License-Identifier: MIT */
#include "agent/diag/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/abi/driver.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"
#include "shared/base/str.h"
#include "shared/metrics/snapshot.h"

#define EXIT_NOTHING 3 /* nothing could be tested */
#define MEMORY_BYTES_MIN (UINT64_C(1) << 12)
#define MEMORY_BYTES_MAX (UINT64_C(16) << 30)
#define BURN_IN_DEFAULT_NS (60 * NTK_NS_PER_SECOND)
#define TIMEOUT_DEFAULT_NS (60 * NTK_NS_PER_SECOND)
#define MEMORY_DEFAULT_BYTES (UINT64_C(4) << 20)
#define CANARY_DEFAULT_NS (60 * NTK_NS_PER_SECOND)
#define TENSOR_COLUMNS_MIN 64u
#define PORT_FIRST 42000u
#define PORTS 4000u

const struct ntk_diag_test_row ntk_diag_tests[NTK_DIAG_TEST_COUNT] = {
#define NTK_DIAG_TEST(symbol, name, first, last, unit, more_is_better, sentence) \
    { name, first, last, NTK_DIAG_##unit, more_is_better, sentence },
#include "agent/diag/diag.def"
};

const char *const ntk_diag_verdict_names[NTK_DIAG_VERDICT_COUNT] = { "SKIP", "PASS", "WARN",
                                                                     "FAIL" };

static uint64_t arg_level = 1;
static uint64_t arg_wait_ns;
static const char *arg_cores;
static const char *arg_devices;
static const char *arg_thresholds;
static bool arg_json;
static bool arg_list;
static bool arg_print_thresholds;
static bool arg_strict;
static bool arg_canary;
static uint64_t arg_interval_ns;
static bool arg_ends_with_stdin;
static uint64_t arg_rounds;
static struct ntk_diag diag = {
    .plan = { .duration_ns = 0,
              .memory_bytes = MEMORY_DEFAULT_BYTES,
              .timeout_ns = TIMEOUT_DEFAULT_NS },
};

static const struct ntk_opt option_rows[] = {
    { 'r', "level", "1-4", NTK_OPT_U64, &arg_level,
      "run the tests up to this level: 1 (default) without load, 2 with known answers and patterns "
      "on each core, 3 also with copies, links and collectives, 4 also with a burn-in of all cores "
      "at once",
      "1 2 3 4", .is_above_zero = true },
    { 0, "duration", "TIME", NTK_OPT_DURATION, &diag.plan.duration_ns,
      "run the burn-in for TIME (default 60s)", .is_above_zero = true },
    { 0, "core", "LIST", NTK_OPT_TEXT, &arg_cores,
      "test only these logical cores, such as 0-3,8 (numbered as in neuron-top)" },
    { 0, "device", "LIST", NTK_OPT_TEXT, &arg_devices, "test only these devices and their cores" },
    { 0, "memory", "SIZE", NTK_OPT_BYTES, &diag.plan.memory_bytes,
      "use this much device memory per core for patterns and copies (default 4M)",
      .is_above_zero = true },
    { 0, "neff", "FILE", NTK_OPT_TEXT, &diag.plan.neff,
      "also run this NEFF three times with the same inputs and compare the outputs; for hardware, "
      "which cannot run the built-in programs" },
    { 0, "wait", "TIME", NTK_OPT_DURATION, &arg_wait_ns,
      "wait up to TIME until jobs release their cores, instead of failing at once",
      .is_above_zero = true },
    { 0, "timeout", "TIME", NTK_OPT_DURATION, &diag.plan.timeout_ns,
      "stop a test after TIME (default 60s)", .is_above_zero = true },
    { 0, "Canary", 0, NTK_OPT_HEADING, 0, 0 },
    { 0, "canary", 0, NTK_OPT_FLAG, &arg_canary,
      "run programs with known answers on every free core until stopped; release a core when a "
      "process needs it" },
    { 0, "interval", "TIME", NTK_OPT_DURATION, &arg_interval_ns,
      "run a program on each free core every TIME (default 60s)", .is_above_zero = true },
    { 0, "rounds", "N", NTK_OPT_U64, &arg_rounds, "exit after N rounds", .is_above_zero = true },
    { 0, NTK_DIAG_CHILD_OPTION, 0, NTK_OPT_FLAG, &arg_ends_with_stdin, NULL },
    { 0, "Results", 0, NTK_OPT_HEADING, 0, 0 },
    { 'j', "json", 0, NTK_OPT_FLAG, &arg_json, "print a JSON object with all results" },
    { 0, "strict", 0, NTK_OPT_FLAG, &arg_strict, "treat a warning as a failure: exit code 1" },
    { 0, "thresholds", "FILE", NTK_OPT_TEXT, &arg_thresholds,
      "also compare the results with the thresholds in this file" },
    { 0, "print-thresholds", 0, NTK_OPT_FLAG, &arg_print_thresholds,
      "print the built-in thresholds in the format of the --thresholds file and exit" },
    { 0, "list", 0, NTK_OPT_FLAG, &arg_list, "print the tests and their levels, and exit" },
    { 0, "Other", 0, NTK_OPT_HEADING, 0, 0 },
    { 0, "sysfs-root", "FOLDER", NTK_OPT_TEXT, &diag.plan.sysfs_root,
      "read devices below FOLDER (default /sys)" },
    NTK_OPT_COMMON_COMPLETION,
    NTK_OPT_COMMON_VERSION,
    NTK_OPT_COMMON_HELP,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-monitor diag",
    .usage = "[-r LEVEL] [OPTION]...\n--canary [--interval TIME] [OPTION]...",
    .summary =
        "Tests whether the machine is ready for work. Level 1 checks the driver, the devices and "
        "free space without load. Higher levels run programs with known answers on each core, and "
        "test memory, copies and collectives. If a job holds a core, no test runs.",
    .options = option_rows,
    .epilogue = "The exit code is 0 if no test failed, 1 if a test failed (or warned, with\n"
                "--strict), 2 for invalid options, and 3 if a job holds a core.",
};

/* ---- results ---- */

struct ntk_diag_result ntk_diag_result_make(enum ntk_diag_test test, enum ntk_diag_verdict verdict,
                                            int device, int core)
{
    return (
        struct ntk_diag_result){ .test = test, .verdict = verdict, .device = device, .core = core };
}

void ntk_diag_say(struct ntk_diag_result *result, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(result->reason, sizeof result->reason, format, args);
    va_end(args);
}

/* Lowers a good result if a figure violates a threshold. */
static void threshold_hold(const struct ntk_diag *all, struct ntk_diag_result *result)
{
    char value[64];
    char why[sizeof result->reason];
    const struct ntk_diag_threshold *struck = ntk_diag_thresholds_judge(
        &all->thresholds, all->machine.type, result->test, result->figure, &result->has_threshold);

    if (!struck || result->verdict == NTK_DIAG_FAIL) {
        return;
    }
    result->verdict = struck->fails ? NTK_DIAG_FAIL : NTK_DIAG_WARN;
    ntk_diag_format_figure(value, sizeof value, ntk_diag_tests[result->test].unit, struck->value);
    (void)snprintf(why, sizeof why, "%.200s", result->reason);
    ntk_diag_say(result, "%s %s%s%.200s", struck->below ? "below" : "above", value,
                 why[0] ? ": " : "", why);
}

void ntk_diag_add(struct ntk_diag *all, const struct ntk_diag_result *result)
{
    struct ntk_diag_result judged = *result;

    if (judged.test >= NTK_DIAG_TEST_COUNT || judged.verdict >= NTK_DIAG_VERDICT_COUNT) {
        return;
    }
    if (judged.has_figure) {
        threshold_hold(all, &judged);
    }
    if (ntk_vec_push(&all->results, &judged) < 0) {
        ntk_log_error(NULL, "out of memory: one result was lost");
        exit(EXIT_FAILURE);
    }
}

enum ntk_diag_verdict ntk_diag_worst(const struct ntk_diag *all)
{
    enum ntk_diag_verdict worst = NTK_DIAG_SKIP;

    ntk_vec_each(struct ntk_diag_result, result, &all->results) {
        worst = result->verdict > worst ? (enum ntk_diag_verdict)result->verdict : worst;
    }
    return worst;
}

/* ---- the objects to test ---- */

static void runtime_look(void)
{
    struct ntk_diag_work work = { .job = NTK_DIAG_JOB_LOOK };
    size_t before = diag.results.count;
    struct ntk_diag_result result =
        ntk_diag_result_make(NTK_DIAG_RUNTIME_TEST, NTK_DIAG_PASS, -1, -1);
    const char *instance = getenv("NEURON_SOFT_INSTANCE");
    const struct ntk_machine *asked = instance ? ntk_machine_find(instance) : NULL;
    const struct ntk_machine *there = ntk_machine_find(diag.machine.type);

    ntk_diag_run(&diag, &work, 1, 1);
    if (diag.results.count > before) {
        return;
    }
    if (diag.machine.is_software && diag.plan.has_driver) {
        result.verdict = NTK_DIAG_FAIL;
        ntk_diag_say(&result, "%.200s is the software runtime: it does not use the devices",
                     diag.machine.library);
    } else if (diag.machine.is_software && asked && there && asked != there) {
        result.verdict = NTK_DIAG_FAIL;
        ntk_diag_say(&result,
                     "the software machine has type %s, but NEURON_SOFT_INSTANCE is %s: run "
                     "'neuron-bench machine' while no process uses it",
                     diag.machine.type, instance);
    } else {
        ntk_diag_say(&result, "%s, %u %s, %.200s%s",
                     diag.machine.runtime[0] ? diag.machine.runtime : "unknown version",
                     diag.machine.core_count, diag.machine.core_count == 1 ? "core" : "cores",
                     diag.machine.library, diag.machine.is_software ? " (software)" : "");
        diag.has_runtime = true;
    }
    ntk_diag_add(&diag, &result);
}

static void machine_look(struct ntk_device_source *source)
{
    const struct ntk_device_tree *tree = ntk_device_source_tree(source);
    uint32_t physical = (uint32_t)tree->device_count * tree->cores_per_device;
    const struct ntk_machine *machine;

    ntk_str_copy(diag.machine.type, sizeof diag.machine.type, tree->machine_type);
    if (!tree->machine_type[0]) {
        ntk_device_firmware_instance_type(NULL, diag.machine.type, sizeof diag.machine.type);
    }
    diag.machine.device_count = (uint32_t)tree->device_count;
    diag.plan.is_software = ntk_device_source_is_software(source);
    diag.plan.has_driver = (tree->origin != NTK_DEVICE_ORIGIN_NONE && !diag.plan.is_software) ||
                           (!diag.plan.sysfs_root && ntk_driver_is_loaded("/sys"));
    diag.plan.cores_per_device = 1;
    diag.plan.lnc = 1;
    runtime_look();
    machine = ntk_machine_find(diag.machine.type);
    if (!machine && tree->device_count > 0) {
        machine = ntk_machine_find_device(tree->devices[0].name);
    }
    diag.plan.tensor_columns = machine ? machine->tensor_columns : TENSOR_COLUMNS_MIN;
    /* The list of cores from the runtime is authoritative. */
    if (physical == 0) {
        diag.machine.core_count = 0;
    } else if (diag.machine.core_count == 0 || physical % diag.machine.core_count != 0) {
        diag.plan.lnc = ntk_machine_lnc(machine);
        diag.machine.core_count = physical / diag.plan.lnc;
    } else {
        diag.plan.lnc = physical / diag.machine.core_count;
    }
    if (tree->device_count > 0 && diag.machine.core_count >= tree->device_count) {
        diag.plan.cores_per_device = diag.machine.core_count / (uint32_t)tree->device_count;
    }
}

/* Parses a list of numbers to bits. Returns false after printing a usage error. */
static bool list_take(const char *text, const char *what, uint32_t count, bool *out_is_in)
{
    uint32_t numbers[NTK_DIAG_CORES_MAX];
    size_t found = NTK_DIAG_CORES_MAX;

    if (ntk_str_parse_list(text, count - 1, numbers, &found) < 0 || found == 0) {
        (void)ntk_opt_usage_error(
            &program,
            count == 1 ? "--%s: invalid list of %ss '%s': the only valid number is %u"
                       : "--%s: invalid list of %ss '%s': expected numbers "
                         "such as 0-3,8, at most %u",
            what, what, text, count - 1);
        return false;
    }
    for (size_t i = 0; i < found; i++) {
        out_is_in[numbers[i]] = true;
    }
    return true;
}

static bool cores_choose(void)
{
    bool cores[NTK_DIAG_CORES_MAX] = { false };
    bool devices[NTK_DIAG_CORES_MAX] = { false };
    uint32_t core_count =
        diag.machine.core_count < NTK_DIAG_CORES_MAX ? diag.machine.core_count : NTK_DIAG_CORES_MAX;

    if ((arg_cores && !list_take(arg_cores, "core", core_count, cores)) ||
        (arg_devices && !list_take(arg_devices, "device", diag.machine.device_count, devices))) {
        return false;
    }
    for (uint32_t i = 0; i < core_count; i++) {
        uint32_t device = i / diag.plan.cores_per_device;

        if ((!arg_cores || cores[i]) && (!arg_devices || devices[device])) {
            diag.cores[diag.core_count++] = i;
            diag.devices |= device < 64 ? UINT64_C(1) << device : 0;
        }
    }
    if (diag.core_count == 0 && (arg_cores || arg_devices)) {
        (void)ntk_opt_usage_error(&program, "--core and --device have no core in common");
        return false;
    }
    return true;
}

/* ---- the tests ---- */

static void works_run(enum ntk_diag_job job, size_t at_once)
{
    static struct ntk_diag_work works[NTK_DIAG_CORES_MAX];

    for (size_t i = 0; i < diag.core_count; i++) {
        works[i] = (struct ntk_diag_work){ .job = job, .core = diag.cores[i] };
        if (job == NTK_DIAG_JOB_RANK) {
            works[i].rank = (uint32_t)i;
            works[i].ranks = (uint32_t)diag.core_count;
            (void)snprintf(works[i].meeting, sizeof works[i].meeting, "127.0.0.1:%u",
                           PORT_FIRST + (unsigned)getpid() % PORTS);
        }
    }
    ntk_diag_run(&diag, works, diag.core_count, at_once);
}

static void ranks_run(void)
{
    if (diag.core_count > 1) {
        works_run(NTK_DIAG_JOB_RANK, diag.core_count);
        return;
    }
    struct ntk_diag_result result =
        ntk_diag_result_make(NTK_DIAG_ALL_GATHER_TEST, NTK_DIAG_SKIP, -1, -1);

    ntk_diag_say(&result, "requires at least two cores");
    ntk_diag_add(&diag, &result);
    result.test = NTK_DIAG_ALL_REDUCE_TEST;
    ntk_diag_add(&diag, &result);
}

static void levels_run(struct ntk_device_source *source)
{
    static struct ntk_diag_counters before;
    static struct ntk_diag_counters after;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct ntk_err err = { 0 };

    ntk_diag_counters_take(source, &before);
    /* Copies are measured on one core at a time. */
    works_run(NTK_DIAG_JOB_TESTS, diag.plan.level >= 3 || cpus < 1 ? 1 : (size_t)cpus);
    if (diag.plan.level >= 3) {
        ntk_diag_links(&diag, source);
        ranks_run();
    }
    if (diag.plan.level >= 4) {
        works_run(NTK_DIAG_JOB_BURN, diag.core_count);
    }
    (void)ntk_device_source_refresh(source, &err);
    ntk_diag_counters_take(source, &after);
    ntk_diag_counters_compare(&diag, &before, &after);
    ntk_diag_findings_keep(&diag, true);
}

static int print(void)
{
    struct ntk_buf out = { 0 };
    struct ntk_err err = { 0 };
    int code = EXIT_SUCCESS;

    if (arg_json) {
        ntk_diag_write_json(&diag, &out);
    } else {
        ntk_diag_write_text(&diag, isatty(STDOUT_FILENO) && !getenv("NO_COLOR"), &out);
    }
    if (ntk_fs_print(&out, &err) < 0) {
        code = ntk_log_failure(NULL, &err);
    }
    ntk_buf_fini(&out);
    return code;
}

static int verdict_code(void)
{
    enum ntk_diag_verdict worst = ntk_diag_worst(&diag);

    return worst == NTK_DIAG_FAIL || (worst == NTK_DIAG_WARN && arg_strict) ? EXIT_FAILURE
                                                                            : EXIT_SUCCESS;
}

static int list_print(void)
{
    for (int i = 0; i < NTK_DIAG_TEST_COUNT; i++) {
        (void)printf("r%u  %-17s %s\n", ntk_diag_tests[i].first_level, ntk_diag_tests[i].name,
                     ntk_diag_tests[i].sentence);
    }
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int diagnose(struct ntk_device_source *source)
{
    struct ntk_err err = { 0 };

    machine_look(source);
    if (diag.machine.core_count == 0 && (arg_cores || arg_devices || arg_canary)) {
        ntk_log_error(NULL, "%s: %s",
                      arg_cores     ? "--core: this machine has no cores"
                      : arg_devices ? "--device: this machine has no devices"
                                    : "--canary: this machine has no cores",
                      ntk_device_source_tree(source)->missing);
        return EXIT_FAILURE;
    }
    if (!cores_choose()) {
        return 2;
    }
    if (arg_canary && !diag.has_runtime) {
        const struct ntk_diag_result *results = diag.results.items;

        ntk_log_error(NULL, "--canary: no usable runtime: %s",
                      results[diag.results.count - 1].reason);
        return EXIT_FAILURE;
    }
    if (arg_canary) {
        const struct ntk_diag_canary_options options = { .interval_ns = arg_interval_ns
                                                                            ? arg_interval_ns
                                                                            : CANARY_DEFAULT_NS,
                                                         .rounds = arg_rounds,
                                                         .json = arg_json,
                                                         .ends_with_stdin = arg_ends_with_stdin };
        return ntk_diag_canary(&diag, &options);
    }
    if (diag.plan.level >= 2 && diag.core_count > 0 &&
        ntk_diag_owner_await(&diag, arg_wait_ns, &err) < 0) {
        (void)ntk_log_failure(NULL, &err);
        return EXIT_NOTHING;
    }
    ntk_diag_host(&diag, source);
    if (diag.plan.level >= 2 && diag.core_count > 0 && diag.has_runtime) {
        levels_run(source);
    }
    ntk_diag_findings_look(&diag);
    int code = print();
    if (code != EXIT_SUCCESS) {
        return code;
    }
    return verdict_code();
}

static int options_check(void)
{
    if (arg_level > NTK_DIAG_LEVEL_MAX) {
        return ntk_opt_usage_error(&program, "--level (-r) must be between 1 and 4");
    }
    if (diag.plan.duration_ns && arg_level < 4) {
        return ntk_opt_usage_error(&program, "--duration requires --level 4 (burn-in)");
    }
    if (diag.plan.neff && arg_level < 2 && !arg_canary) {
        return ntk_opt_usage_error(&program, "--neff requires --level 2 or higher, or --canary");
    }
    if ((arg_interval_ns || arg_rounds) && !arg_canary) {
        return ntk_opt_usage_error(&program, "--interval and --rounds require --canary");
    }
    if (diag.plan.memory_bytes < MEMORY_BYTES_MIN || diag.plan.memory_bytes > MEMORY_BYTES_MAX) {
        return ntk_opt_usage_error(&program, "--memory must be between 4K and 16G");
    }
    return 0;
}

int ntk_diag_main(int argc, char **argv)
{
    struct ntk_device_source *source = NULL;
    struct ntk_err err = { 0 };
    int parsed = ntk_opt_parse_all(&program, argc, argv);

    if (parsed < 0) {
        return ntk_opt_exit_code(parsed);
    }
    ntk_log_set_program(program.name);
    int code = options_check();
    if (code != 0) {
        return code;
    }
    if (arg_list) {
        return list_print();
    }
    if (arg_print_thresholds) {
        return fputs(ntk_diag_thresholds_shipped, stdout) < 0 || fflush(stdout) != 0 ? EXIT_FAILURE
                                                                                     : EXIT_SUCCESS;
    }
    diag.plan.level = (unsigned)arg_level;
    diag.plan.memory_bytes &= ~UINT64_C(7);
    diag.plan.duration_ns = diag.plan.duration_ns ? diag.plan.duration_ns : BURN_IN_DEFAULT_NS;
    ntk_vec_init(&diag.results, sizeof(struct ntk_diag_result));
    struct ntk_device_options device_options = { .sysfs_root = diag.plan.sysfs_root };
    if ((!diag.plan.sysfs_root && ntk_device_soft_make(&err) < 0) ||
        ntk_diag_thresholds_init(&diag.thresholds, &err) < 0 ||
        (arg_thresholds && ntk_diag_thresholds_read(&diag.thresholds, arg_thresholds, &err) < 0) ||
        ntk_device_source_open(&device_options, &source, &err) < 0) {
        code = ntk_log_failure(NULL, &err);
    } else {
        code = diagnose(source);
    }
    ntk_device_source_close(source);
    ntk_diag_thresholds_fini(&diag.thresholds);
    ntk_vec_fini(&diag.results);
    return code;
}
