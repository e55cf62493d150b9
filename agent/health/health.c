/* SPDX-License-Identifier: MIT */
#include "agent/health/health.h"

#include <stdlib.h>

#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"
#include "shared/collect/collect.h"

static uint64_t arg_for_ns = 1 * NTK_NS_PER_SECOND;
static bool arg_json;
static const char *arg_sysfs_root;
static bool arg_npd;
static uint32_t arg_reasons = NTK_HEALTH_ALL_REASONS;
static struct ntk_hosts_remote arg_remote = { .timeout_ns = NTK_HOSTS_TIMEOUT_NS };

static int set_reasons(const char *value, struct ntk_err *err)
{
    return ntk_health_reasons_parse(value, &arg_reasons, err);
}

static int (*const call_reasons)(const char *, struct ntk_err *) = set_reasons;
#define CALL(function) ((void *)(uintptr_t) & (function))

static const char *reason_name(size_t index)
{
    return index < NTK_HEALTH_REASON_COUNT ? ntk_health_reasons[index].name : NULL;
}

static const struct ntk_opt option_rows[] = {
    { 'j', "json", 0, NTK_OPT_FLAG, &arg_json, "print a JSON object" },
    { 0, "npd", 0, NTK_OPT_FLAG, &arg_npd,
      "act as a node-problem-detector plug-in: print one line and exit with 0 (healthy), 1 (a "
      "problem) or 2 (unknown)" },
    { 0, "reason", NTK_OPT_LIST, NTK_OPT_CALL, CALL(call_reasons),
      "with --npd: report only these reasons as problems, such as hbm_uncorrectable,dma_abort",
      .word_get = reason_name },
    { 0, "This machine", 0, NTK_OPT_HEADING, 0, 0 },
    { 0, "for", "TIME", NTK_OPT_DURATION, &arg_for_ns,
      "if no agent is running, observe for TIME (default 1s): increasing fault counters indicate a "
      "problem",
      .is_above_zero = true },
    { 0, "sysfs-root", "FOLDER", NTK_OPT_TEXT, &arg_sysfs_root,
      "read devices below FOLDER (default /sys)" },
    NTK_HOSTS_OPT(arg_remote),
    NTK_OPT_COMMON_OTHER,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-monitor health",
    .usage = "[OPTION]... [URL|HOST[:PORT]]...",
    .summary =
        "Shows the health of each device (healthy, unhealthy or unknown), the reason, the affected "
        "cores and the recommended action. Reads this machine, or the agents (neuron-monitor "
        "--http) named as HOST.",
    .options = option_rows,
    .epilogue = "The exit code is 0 when every device is healthy, 1 when one is unhealthy, and 3\n"
                "when one is unknown, or a machine has no devices or does not answer. On this\n"
                "machine the command first asks the agent. If no agent answers, it reads the\n"
                "shared memory of processes. neuron-monitor query health shows the history.",
};

struct ntk_health_node ntk_health_host_judge(const struct ntk_host *host)
{
    struct ntk_health_node node = { 0 };

    for (size_t i = 0; host->snapshot && i < host->snapshot->device_count; i++) {
        const struct ntk_device_sample *device = &host->snapshot->devices[i];
        bool is_judged = device->has & NTK_DEVICE_HAS_HEALTH;

        ntk_health_node_add(&node, is_judged ? device->verdict : NTK_HEALTH_UNKNOWN);
        for (size_t k = 0; k < device->health_count; k++) {
            ntk_health_node_add_reason(&node, device->health[k].reason);
        }
    }
    if (!node.is_known) {
        node.verdict = NTK_HEALTH_UNKNOWN;
    }
    return node;
}

static int drain_once(void *collector)
{
    (void)ntk_collector_drain(collector);
    return 0;
}

/* Queries the agent first, because it has earlier data. Only counters are read from segments,
 * because records in rings may have any age. */
static int look(struct ntk_host *host, struct ntk_err *err)
{
    const struct ntk_collector_options options = { .sysfs_root = arg_sysfs_root,
                                                   .no_events = true,
                                                   .no_latency = true };
    struct ntk_collector *collector = NULL;
    struct ntk_snapshot *snapshot = NULL;
    uint64_t began_ns = ntk_clock_realtime_ns();

    if (!arg_sysfs_root && ntk_hosts_agent_ask(host, NTK_HOSTS_REPORT, &arg_remote)) {
        return 0;
    }
    int ret = ntk_collector_create(&options, &collector, err);

    if (ret == 0) {
        (void)ntk_cond_rounds(NULL, arg_for_ns, NTK_COLLECT_HEALTH_NS, drain_once, collector);
        ret = ntk_collector_poll(collector, &snapshot, err);
    }
    if (ret == 0) {
        ntk_health_forget_since(snapshot, began_ns, UINT64_MAX);
    }
    host->snapshot = snapshot;
    host->is_segments = true;
    ntk_collector_destroy(collector);
    return ret;
}

static int exit_code(const struct ntk_host *hosts, size_t count)
{
    enum ntk_health_verdict worst = NTK_HEALTH_HEALTHY;

    for (size_t i = 0; i < count; i++) {
        enum ntk_health_verdict verdict = ntk_health_host_judge(&hosts[i]).verdict;

        worst = verdict > worst ? verdict : worst;
    }
    return worst == NTK_HEALTH_UNHEALTHY ? EXIT_FAILURE
           : worst == NTK_HEALTH_UNKNOWN ? NTK_HANG_EXIT_UNKNOWN
                                         : EXIT_SUCCESS;
}

/* Returns the exit code for a failure of this program, which is not a problem of the machine; exit
 * code 1 would report one to node-problem-detector. */
static int failure_code(int code)
{
    return arg_npd ? NTK_HEALTH_CONDITION_UNKNOWN : code;
}

/* Prints the result; returns the exit code. */
static int print(const struct ntk_host *hosts, size_t count)
{
    struct ntk_buf out = { 0 };
    int condition = EXIT_SUCCESS;

    if (arg_npd) {
        condition = ntk_health_write_condition(hosts, count, arg_reasons, &out);
    } else if (arg_json) {
        ntk_health_write_json(hosts, count, &out);
    } else {
        ntk_health_write_text(hosts, count, &out);
        ntk_hang_write_source(hosts, "the devices and processes of this machine", &out);
    }
    int ret = ntk_hang_print(&out);
    ntk_buf_fini(&out);
    return ret != EXIT_SUCCESS ? failure_code(ret) : arg_npd ? condition : exit_code(hosts, count);
}

int ntk_health_main(int argc, char **argv)
{
    struct ntk_err err = { 0 };
    int first = ntk_opt_parse(&program, argc, argv);

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    ntk_log_set_program(program.name);
    bool is_here = first == argc;
    size_t count = is_here ? 1 : (size_t)(argc - first);
    if (is_here && (arg_remote.token_file || arg_remote.ca_file)) {
        return ntk_opt_usage_error(&program, "--token-file and --ca-file require a HOST");
    }
    if (!is_here && arg_sysfs_root) {
        return ntk_opt_usage_error(&program, "--sysfs-root applies to this machine only");
    }
    if (arg_json && arg_npd) {
        return ntk_opt_usage_error(&program, "--json and --npd are mutually exclusive");
    }
    if (arg_reasons != NTK_HEALTH_ALL_REASONS && !arg_npd) {
        return ntk_opt_usage_error(&program, "--reason requires --npd");
    }
    struct ntk_host *hosts = ntk_hang_hosts_create(is_here ? NULL : argv + first, count, &err);
    if (!hosts) {
        return failure_code(ntk_log_failure(NULL, &err));
    }
    int ret = is_here ? look(hosts, &err)
                      : ntk_hosts_ask(hosts, count, NTK_HOSTS_REPORT, &arg_remote, &err);
    if (ret < 0) {
        ret = failure_code(ntk_log_failure(NULL, &err));
    } else {
        ret = print(hosts, count);
    }
    ntk_hang_hosts_destroy(hosts, count);
    return ret;
}
