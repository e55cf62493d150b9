/* SPDX-License-Identifier: MIT */
#include "agent/hang/hang.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "shared/base/opt.h"

#define LOOK_NS (200 * NTK_NS_PER_MS) /* interval of checks for --wait */

static uint64_t arg_after_ns;
static uint64_t arg_wait_ns;
static bool arg_json;
static struct ntk_hosts_remote arg_remote = { .timeout_ns = NTK_HOSTS_TIMEOUT_NS };
static struct ntk_ranks ranks;
static struct ntk_stuck stuck;
static struct ntk_hang_view view = { .ranks = &ranks, .stuck = &stuck };

static const struct ntk_opt option_rows[] = {
    { 0, "after", "TIME", NTK_OPT_DURATION, &arg_after_ns,
      "report an operation as hanging after TIME (default: 8 times the duration of the longest "
      "finished operation, at least 5s; 60s if none finished)",
      .is_above_zero = true },
    { 0, "wait", "TIME", NTK_OPT_DURATION, &arg_wait_ns,
      "repeat the check for up to TIME, until something hangs", .is_above_zero = true },
    { 0, "job", "NAME", NTK_OPT_TEXT, &view.job,
      "show only communicators of processes with this tag, or of ranks that meet at this address" },
    { 'a', "all", 0, NTK_OPT_FLAG, &view.all, "also show communicators that do not hang" },
    { 'j', "json", 0, NTK_OPT_FLAG, &arg_json, "print a JSON object" },
    NTK_HOSTS_OPT(arg_remote),
    NTK_OPT_COMMON_OTHER,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-monitor hang",
    .usage = "[OPTION]... [URL|HOST[:PORT]]...",
    .summary =
        "Shows collective operations that are not making progress: which ranks arrived, which are "
        "missing, and what the missing ranks are doing. Also shows individual executions that do "
        "not finish. Reads this machine, or the agents (neuron-monitor --http) named as HOST.",
    .options = option_rows,
    .epilogue = "The exit code is 0 when nothing hangs, 1 when something hangs or is broken, and\n"
                "3 when no agent answered, or nothing is visible and some processes cannot be\n"
                "read. On this machine the command first asks the agent, which remembers\n"
                "processes that died. If no agent answers, it reads the shared memory of\n"
                "processes.",
};

/* Returns true if there is a reported problem. */
static bool has_trouble(void)
{
    ntk_vec_each(struct ntk_comm_verdict, verdict, &view.ranks->verdicts) {
        if ((verdict->kind == NTK_COMM_HANGS || verdict->kind == NTK_COMM_BROKE) &&
            ntk_hang_is_reported(&view, verdict)) {
            return true;
        }
    }
    ntk_vec_each(struct ntk_stuck_row, row, &view.stuck->rows) {
        if (ntk_hang_stuck_is_reported(&view, row)) {
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

/* Runs one pass: collects the rows of all hosts that answered, and judges them. */
static int look(struct ntk_host *hosts, size_t count, bool is_here, struct ntk_err *err)
{
    int ret = hosts_ask(hosts, count, is_here, err);

    ntk_ranks_fini(&ranks);
    ntk_ranks_init(&ranks);
    ntk_stuck_fini(&stuck);
    ntk_stuck_init(&stuck);
    for (size_t i = 0; i < count && ret == 0; i++) {
        if (hosts[i].snapshot) {
            ret = ntk_ranks_add(&ranks, hosts[i].snapshot, hosts[i].name, hosts[i].clock);
            ret = ret < 0 ? ret
                          : ntk_stuck_add(&stuck, hosts[i].snapshot, hosts[i].name, arg_after_ns);
        }
    }
    ntk_stuck_sort(&stuck);
    if (ret == 0) {
        ret = ntk_ranks_judge(&ranks, arg_after_ns);
    }
    return ret == -ENOMEM ? ntk_err_no_memory(err) : ret;
}

struct looking {
    struct ntk_host *hosts;
    size_t count;
    bool is_here;
    struct ntk_err *err;
};

static int look_once(void *ctx)
{
    const struct looking *looking = ctx;
    int ret = look(looking->hosts, looking->count, looking->is_here, looking->err);

    return ret == 0 ? has_trouble() : ret;
}

static int look_until(struct ntk_host *hosts, size_t count, bool is_here, struct ntk_err *err)
{
    struct looking looking = { hosts, count, is_here, err };
    int ret = ntk_cond_rounds(NULL, arg_wait_ns, LOOK_NS, look_once, &looking);

    return ret < 0 ? ret : 0;
}

static void answer(const struct ntk_host *hosts, size_t count, struct ntk_hang_answer *out)
{
    view.hosts = hosts;
    view.host_count = count;
    if (arg_json) {
        ntk_hang_write_json(&view, &out->text);
    } else {
        ntk_hang_write_text(&view, isatty(STDOUT_FILENO) && !getenv("NO_COLOR"), &out->text);
        ntk_hang_write_source(hosts, NTK_HANG_SOURCE_OWN, &out->text);
    }
    out->found = has_trouble();
    out->saw_nothing = ranks.rows.count == 0 && stuck.running == 0;
}

int ntk_hang_main(int argc, char **argv)
{
    const struct ntk_hang_question question = { .program = &program,
                                                .remote = &arg_remote,
                                                .is_json = &arg_json,
                                                .look = look_until,
                                                .answer = answer };

    ntk_ranks_init(&ranks);
    ntk_stuck_init(&stuck);
    int ret = ntk_hang_ask(&question, argc, argv);
    ntk_ranks_fini(&ranks);
    ntk_stuck_fini(&stuck);
    return ret;
}
