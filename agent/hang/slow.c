/* SPDX-License-Identifier: MIT */
/* slow - implements the subcommand: judges a window of one or more machines. */
#include "agent/hang/slow.h"

#include <errno.h>
#include <stdlib.h>

#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "shared/base/opt.h"

#define PERIODS 5 /* number of periods in a window on this machine */
/* interval of requests; agents have a new answer every second */
#define ASK_NS (500 * NTK_NS_PER_MS)

static uint64_t arg_for_ns = 5 * NTK_NS_PER_SECOND;
static bool arg_all;
static bool arg_json;
static struct ntk_pace pace;
static struct ntk_hosts_remote arg_remote = { .timeout_ns = NTK_HOSTS_TIMEOUT_NS };

static const struct ntk_opt option_rows[] = {
    { 0, "for", "TIME", NTK_OPT_DURATION, &arg_for_ns, "observe for TIME (default 5s)",
      .is_above_zero = true },
    { 'a', "all", 0, NTK_OPT_FLAG, &arg_all, "also show communicators without a slow rank" },
    { 'j', "json", 0, NTK_OPT_FLAG, &arg_json, "print a JSON object" },
    NTK_HOSTS_OPT(arg_remote),
    NTK_OPT_COMMON_OTHER,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-monitor slow",
    .usage = "[OPTION]... [URL|HOST[:PORT]]...",
    .summary = "Shows which rank the other ranks of its communicator repeatedly wait for, how long "
               "they wait, and whether its cores or its host cause the delay. Reads this machine, "
               "or the agents (neuron-monitor --http) named as HOST.",
    .options = option_rows,
    .epilogue = "The exit code is 0 when no rank is slow, 1 when one is, and 3 when no agent\n"
                "answers, or no rank is visible and some processes cannot be read.",
};

struct watching {
    struct ntk_host *hosts;
    size_t count;
    uint64_t *added_ns; /* last period of each host */
    bool has_begun;     /* true if the first period started before the window */
    struct ntk_err *err;
};

static int ask_once(void *ctx)
{
    struct watching *watching = ctx;
    struct ntk_host *hosts = watching->hosts;

    for (size_t i = 0; i < watching->count; i++) {
        ntk_host_fini(&hosts[i]);
    }
    int ret = ntk_hosts_ask(hosts, watching->count, NTK_HOSTS_RANKS, &arg_remote, watching->err);
    for (size_t i = 0; i < watching->count && ret == 0; i++) {
        const struct ntk_snapshot *snapshot = hosts[i].snapshot;

        if (snapshot && snapshot->realtime_ns != watching->added_ns[i]) {
            watching->added_ns[i] = snapshot->realtime_ns;
            ret = watching->has_begun ? ntk_pace_add(&pace, snapshot, hosts[i].name) : 0;
        }
    }
    watching->has_begun = true;
    return ret;
}

/* Requests each period from the agents once, for the duration of the window. */
static int watch(struct ntk_host *hosts, size_t count, struct ntk_err *err)
{
    struct watching watching = {
        .hosts = hosts, .count = count, .added_ns = calloc(count, sizeof(uint64_t)), .err = err
    };
    int ret = watching.added_ns ? ntk_cond_rounds(NULL, arg_for_ns, ASK_NS, ask_once, &watching)
                                : -ENOMEM;

    free(watching.added_ns);
    return ret;
}

static int period_add(const struct ntk_snapshot *snapshot, void *ctx)
{
    return ntk_pace_add(ctx, snapshot, "");
}

static int look(struct ntk_host *hosts, size_t count, bool is_here, struct ntk_err *err)
{
    int ret = 0;

    if (!is_here || ntk_hosts_agent_ask(hosts, NTK_HOSTS_RANKS, &arg_remote)) {
        ret = watch(hosts, count, err);
    } else {
        ret = ntk_hang_look(hosts, arg_for_ns, PERIODS, period_add, &pace, err);
    }
    if (ret == 0) {
        ret = ntk_pace_judge(&pace);
    }
    return ret == -ENOMEM ? ntk_err_no_memory(err) : ret;
}

static void answer(const struct ntk_host *hosts, size_t count, struct ntk_hang_answer *out)
{
    const struct ntk_pace_verdict *first = pace.verdicts.items;

    if (arg_json) {
        ntk_slow_write_json(&pace, hosts, count, &out->text);
    } else {
        ntk_slow_write_text(&pace, hosts, arg_all, &out->text);
        ntk_hang_write_source(hosts, NTK_HANG_SOURCE_OWN, &out->text);
    }
    out->found = pace.verdicts.count > 0 && first->slow != NULL;
    out->saw_nothing = pace.verdicts.count == 0;
}

int ntk_slow_main(int argc, char **argv)
{
    const struct ntk_hang_question question = { .program = &program,
                                                .remote = &arg_remote,
                                                .is_json = &arg_json,
                                                .look = look,
                                                .answer = answer };

    ntk_pace_init(&pace);
    int ret = ntk_hang_ask(&question, argc, argv);
    ntk_pace_fini(&pace);
    return ret;
}
