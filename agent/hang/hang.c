/* SPDX-License-Identifier: MIT */
#include "agent/hang/hang.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"

#define EXIT_UNKNOWN 3
#define LOOK_NS (200 * NTK_NS_PER_MS) /* between two looks of --wait */

static uint64_t arg_after_ns;
static uint64_t arg_wait_ns;
static bool arg_json;
static struct ntk_hosts_remote arg_remote = { .timeout_ns = NTK_HOSTS_TIMEOUT_NS };
static struct ntk_hang_view view;

static const struct ntk_opt option_rows[] = {
    { 0, "after", "TIME", NTK_OPT_DURATION, &arg_after_ns,
      "an operation hangs after this long; default 8 times the longest that ended, at least 5s, "
      "and 60s where none has ended",
      .is_above_zero = true },
    { 0, "wait", "TIME", NTK_OPT_DURATION, &arg_wait_ns,
      "look again until something hangs, at most this long", .is_above_zero = true },
    { 0, "job", "NAME", NTK_OPT_TEXT, &view.job,
      "only communicators of processes with this tag, or that meet at this place" },
    { 'a', "all", 0, NTK_OPT_FLAG, &view.all, "show communicators that go on as well" },
    { 'j', "json", 0, NTK_OPT_FLAG, &arg_json, "a JSON object" },
    NTK_HOSTS_OPT(arg_remote),
    NTK_OPT_COMMON_OTHER,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-monitor hang",
    .usage = "[OPTION]... [URL|HOST[:PORT]]...",
    .summary =
        "Tells which collective operations do not go on, which ranks have come, which have not, "
        "and where those are, and which executions of a process alone do not end: on this machine, "
        "or on those whose agents (neuron-monitor --http) "
        "are named.",
    .options = option_rows,
    .epilogue =
        "The exit code is 0 when nothing hangs, 1 when something does or is broken, 3 when\n"
        "nobody could be asked, or nothing is seen and some processes cannot be read.\n"
        "Of this machine its agent is asked first, which remembers processes that died;\n"
        "else the shared memory of processes is read.",
};

/* Those of the view are what counts. */
static bool has_trouble(void)
{
    ntk_vec_each(struct ntk_comm_verdict, verdict, &view.ranks->verdicts) {
        if ((verdict->kind == NTK_COMM_HANGS || verdict->kind == NTK_COMM_BROKE) &&
            ntk_hang_is_told(&view, verdict)) {
            return true;
        }
    }
    ntk_vec_each(struct ntk_stuck_row, row, &view.stuck->rows) {
        if (ntk_hang_stuck_is_told(&view, row)) {
            return true;
        }
    }
    return false;
}

static int hosts_ask(struct ntk_host *hosts, size_t count, bool is_here, struct ntk_err *err)
{
    for (size_t i = 0; i < count; i++) {
        ntk_host_fini(&hosts[i]);
    }
    if (!is_here) {
        return ntk_hosts_ask(hosts, count, NTK_HOSTS_RANKS, &arg_remote, err);
    }
    return ntk_hosts_agent_ask(hosts, NTK_HOSTS_RANKS, &arg_remote)
               ? 0
               : ntk_hang_look(hosts, 0, 1, NULL, NULL, err);
}

/* One look: rows of all hosts that answered, judged. */
static int look(struct ntk_host *hosts, size_t count, bool is_here, struct ntk_ranks *ranks,
                struct ntk_stuck *stuck, struct ntk_err *err)
{
    int ret = hosts_ask(hosts, count, is_here, err);

    ntk_ranks_fini(ranks);
    ntk_ranks_init(ranks);
    ntk_stuck_fini(stuck);
    ntk_stuck_init(stuck);
    for (size_t i = 0; i < count && ret == 0; i++) {
        if (hosts[i].snapshot) {
            ret = ntk_ranks_add(ranks, hosts[i].snapshot, hosts[i].name, hosts[i].clock);
            ret = ret < 0 ? ret
                          : ntk_stuck_add(stuck, hosts[i].snapshot, hosts[i].name, arg_after_ns);
        }
    }
    ntk_stuck_sort(stuck);
    if (ret == 0) {
        ret = ntk_ranks_judge(ranks, arg_after_ns);
    }
    return ret == -ENOMEM ? ntk_err_no_memory(err) : ret;
}

static int look_until(struct ntk_host *hosts, size_t count, bool is_here, struct ntk_ranks *ranks,
                      struct ntk_stuck *stuck, struct ntk_err *err)
{
    uint64_t end_ns = ntk_clock_monotonic_ns() + arg_wait_ns;
    int ret = look(hosts, count, is_here, ranks, stuck, err);

    while (ret == 0 && !has_trouble() && ntk_clock_monotonic_ns() < end_ns) {
        usleep(LOOK_NS / NTK_NS_PER_US);
        ret = look(hosts, count, is_here, ranks, stuck, err);
    }
    return ret;
}

static int print(void)
{
    struct ntk_buf out = { 0 };

    if (arg_json) {
        ntk_hang_write_json(&view, &out);
    } else {
        ntk_hang_write_text(&view, isatty(STDOUT_FILENO) && !getenv("NO_COLOR"), &out);
        ntk_hang_write_source(view.hosts, &out);
    }
    int ret = ntk_hang_print(&out, "hang");
    ntk_buf_fini(&out);
    return ret;
}

int ntk_hang_main(int argc, char **argv)
{
    struct ntk_ranks ranks;
    struct ntk_stuck stuck;
    struct ntk_err err = { 0 };
    int first = ntk_opt_parse(&program, argc, argv);

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    ntk_log_set_program(program.name);
    bool is_here = first == argc;
    size_t count = is_here ? 1 : (size_t)(argc - first);
    if (is_here && (arg_remote.token_file || arg_remote.ca_file)) {
        return ntk_opt_usage_error(&program, "--token-file and --ca-file need a machine to ask");
    }
    struct ntk_host *hosts = ntk_hang_hosts_create(is_here ? NULL : argv + first, count, &err);
    if (!hosts) {
        return ntk_log_failure("hang", &err);
    }
    ntk_ranks_init(&ranks);
    ntk_stuck_init(&stuck);
    view.ranks = &ranks;
    view.stuck = &stuck;
    view.hosts = hosts;
    view.host_count = count;
    int ret = look_until(hosts, count, is_here, &ranks, &stuck, &err);
    if (ret < 0) {
        ret = ntk_log_failure("hang", &err);
    } else {
        size_t answers = ntk_hang_answers_say(hosts, count, "hang");

        /* Of machines that did not answer there is nothing to say. */
        ret = answers > 0 || arg_json ? print() : EXIT_SUCCESS;
        if (ret == EXIT_SUCCESS) {
            bool is_blind = ranks.rows.count == 0 && stuck.running == 0 && is_here &&
                            ntk_hang_has_unreadable(&hosts[0]);

            ret = has_trouble()              ? EXIT_FAILURE
                  : answers == 0 || is_blind ? EXIT_UNKNOWN
                                             : EXIT_SUCCESS;
        }
    }
    ntk_ranks_fini(&ranks);
    ntk_stuck_fini(&stuck);
    ntk_hang_hosts_destroy(hosts, count);
    return ret;
}
