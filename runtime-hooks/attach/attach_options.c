/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/attach/attach_options.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/opt.h"
#include "shared/base/str.h"

#define COST_PERCENT_DEFAULT 1.0

static struct ntk_attach_arguments given = { .cost_percent = COST_PERCENT_DEFAULT };

static const struct ntk_opt options[] = {
    { 0, "all", 0, NTK_OPT_FLAG, &given.all,
      "attach to every process that maps a libnrt.so.1, now and later, unless it already has "
      "hooks" },
    { 0, "max-cost", "PERCENT", NTK_OPT_DOUBLE, &given.cost_percent,
      "stop observing executions if observing takes more than PERCENT of their time (default 1; 0: "
      "never observe executions)" },
    { 0, "buffer", "SIZE", NTK_OPT_BYTES, &given.ring_bytes,
      "set the size of each process's call buffer to SIZE, a power of two (default 1M)" },
    { 0, NTK_ATTACH_CHILD_OPTION, 0, NTK_OPT_FLAG, &given.ends_with_stdin, NULL },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-monitor attach",
    .usage = "PID... [OPTION]...\n--all [OPTION]...",
    .summary =
        "Observes jobs that are already running, through the vendor's libnrt and without adding "
        "code to them, for every monitor on this machine. Stops when the jobs exit, or on ctrl-c.",
    .options = options,
};

int ntk_attach_options_parse(int argc, char **argv, struct ntk_attach_arguments *out_arguments)
{
    int first = ntk_opt_parse(&program, argc, argv);
    uint64_t pid;

    if (first < 0) {
        return ntk_opt_exit_code(first) + 1;
    }
    given.pids = argv + first;
    given.pid_count = argc - first;
    if (given.all == (given.pid_count > 0)) {
        return ntk_opt_usage_error(&program, given.all ? "--all and PID are mutually exclusive"
                                                       : "missing argument PID (or use --all)") +
               1;
    }
    for (int i = 0; i < given.pid_count; i++) {
        if (ntk_str_parse_u64(given.pids[i], &pid) < 0 || pid == 0 || pid > INT32_MAX) {
            return ntk_opt_usage_error(&program, "invalid process number '%s'", given.pids[i]) + 1;
        }
    }
    if (given.cost_percent < 0 || given.cost_percent > 100) {
        return ntk_opt_usage_error(&program, "--max-cost must be between 0 and 100") + 1;
    }
    if (given.ring_bytes != 0 &&
        ((given.ring_bytes & (given.ring_bytes - 1)) != 0 || given.ring_bytes > 1u << 30 ||
         given.ring_bytes < (uint64_t)sysconf(_SC_PAGESIZE))) {
        return ntk_opt_usage_error(&program,
                                   "--buffer must be a power of two between one page and 1G") +
               1;
    }
    *out_arguments = given;
    return 0;
}
