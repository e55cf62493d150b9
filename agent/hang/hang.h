/* SPDX-License-Identifier: MIT */
/*
 * hang - neuron-monitor hang: which collective operations do not continue, and whom they wait for;
 * neuron-monitor slow: the ranks that others repeatedly wait for; and their common part.
 *
 * Rows come from the segments of this machine, or from the agents of others; shared/metrics/ranks
 * judges them; hang_text and hang_json say it.
 *
 * Owner:   ntk_hang_hosts_create() allocates, ntk_hang_hosts_destroy() frees; ntk_hang_ask() frees
 *          the text of an answer.
 * Threads: one.
 */
#ifndef NTK_AGENT_HANG_HANG_H
#define NTK_AGENT_HANG_HANG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"
#include "shared/base/json.h"
#include "shared/hosts/hosts.h"
#include "shared/metrics/ranks.h"
#include "shared/metrics/stuck.h"

struct ntk_opt_program;

/* The whole subcommands; argv[0] is "hang" or "slow". The exit code. */
int ntk_hang_main(int argc, char **argv);
int ntk_slow_main(int argc, char **argv);

/* What a subcommand found. */
struct ntk_hang_answer {
    struct ntk_buf text;
    bool found;       /* the reported problem: the exit code is 1 */
    bool saw_nothing; /* no ranks at all */
};
/* A subcommand about ranks: of this machine, or of the agents named. */
struct ntk_hang_question {
    const struct ntk_opt_program *program;
    const char *module; /* in log lines */
    struct ntk_hosts_remote *remote;
    const bool *is_json; /* printed also when no machine answered */
    int (*look)(struct ntk_host *hosts, size_t count, bool is_here, struct ntk_err *err);
    void (*answer)(const struct ntk_host *hosts, size_t count, struct ntk_hang_answer *out);
};
/* From its command line to the exit code. */
int ntk_hang_ask(const struct ntk_hang_question *question, int argc, char **argv);

/* Of this machine: as many periods as last window_ns together, each passed to `each` (may be NULL);
 * the last snapshot stays with the host. Less than 0 from `each` ends it. 0 or -errno. */
typedef int ntk_hang_period(const struct ntk_snapshot *snapshot, void *ctx);
int ntk_hang_look(struct ntk_host *host, uint64_t window_ns, unsigned periods,
                  ntk_hang_period *each, void *ctx, struct ntk_err *err);
/* Logs which hosts said nothing; how many did. */
size_t ntk_hang_answers_say(const struct ntk_host *hosts, size_t count, const char *module);
/* names NULL: this machine, count is 1; else borrowed. NULL if out of memory. */
struct ntk_host *ntk_hang_hosts_create(char *const *names, size_t count, struct ntk_err *err);
void ntk_hang_hosts_destroy(struct ntk_host *hosts, size_t count);
/* Of this machine, for people: "source: ..."; nothing of others. */
void ntk_hang_write_source(const struct ntk_host *hosts, struct ntk_buf *out);
/* The same in the object of a host: "source". */
/* Whether somebody's processes could not be read: an empty view is then not conclusive. */
bool ntk_hang_has_unreadable(const struct ntk_host *host);
void ntk_hang_write_source_json(struct ntk_json *json, const struct ntk_host *host);
/* To stdout; the exit code of that, with a message where it failed. */
int ntk_hang_print(const struct ntk_buf *out, const char *module);

/* What is reported. */
struct ntk_hang_view {
    const struct ntk_ranks *ranks;
    const struct ntk_stuck *stuck;
    const struct ntk_host *hosts;
    size_t host_count;
    const char *job; /* NULL: all */
    bool all;        /* also operations that continue */
};
/* Whether the view reports it. */
bool ntk_hang_is_reported(const struct ntk_hang_view *view, const struct ntk_comm_verdict *verdict);
bool ntk_hang_stuck_is_reported(const struct ntk_hang_view *view, const struct ntk_stuck_row *row);
/* Where the ranks of a communicator meet, for people. */
const char *ntk_hang_place(const char *rendezvous);
/* "rank 3 is lost; ranks 0, 5 and 9 more are missing": the ranks that have not come, the killed
 * ones first; "" when all have. */
void ntk_hang_write_missing(const struct ntk_comm_verdict *verdict, struct ntk_buf *out);
/* "core 3 of process 41 (train) has had an execution for 2m" */
void ntk_hang_write_stuck(const struct ntk_stuck_row *row, struct ntk_buf *out);
void ntk_hang_write_text(const struct ntk_hang_view *view, bool colours, struct ntk_buf *out);
void ntk_hang_write_json(const struct ntk_hang_view *view, struct ntk_buf *out);

/* What a thread of a process of this machine waits in, as far as /proc tells: "sleeps in
 * futex_wait", or "". tid 0: its first thread. */
void ntk_hang_process(uint32_t pid, uint32_t tid, char *out, size_t out_bytes);

#endif
