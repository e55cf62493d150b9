/* SPDX-License-Identifier: MIT */
/*
 * neuron-monitor-k8s-info - the last program in the vendor's pipe; neuron-monitor does its work. It
 * reads until the end, so that the pipe stays open, and contacts no server.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/log.h"
#include "shared/base/opt.h"

static uint64_t arg_period_ns;

static const struct ntk_opt option_rows[] = {
    { 0, "period", "TIME", NTK_OPT_DURATION, &arg_period_ns,
      "ignored, for compatibility: use neuron-monitor --k8s-period", .is_above_zero = true },
    { 0, "Other", 0, NTK_OPT_HEADING, 0, 0 },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-monitor-k8s-info",
    .usage = "[OPTION]... < ANYTHING",
    .summary =
        "Reads and discards its input, so that the vendor's three-program pipeline still works.\n"
        "neuron-monitor --k8s-info queries the pods itself.",
    .options = option_rows,
};

int main(int argc, char **argv)
{
    char bytes[65536];
    ssize_t got;

    ntk_log_set_program(program.name);
    int parsed = ntk_opt_parse_all(&program, argc, argv);
    if (parsed < 0) {
        return ntk_opt_exit_code(parsed);
    }
    do {
        got = read(STDIN_FILENO, bytes, sizeof bytes);
    } while (got > 0 || (got < 0 && errno == EINTR));
    if (got < 0) {
        ntk_log_error(NULL, "cannot read stdin: %s", strerror(errno));
        return 1;
    }
    return 0;
}
