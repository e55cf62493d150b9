/* SPDX-License-Identifier: MIT */
/*
 * hang - implements neuron-monitor hang: collective operations that do not continue, and the ranks
 * they wait for; neuron-monitor slow: ranks that others repeatedly wait for; and their common part.
 *
 * Rows come from the segments of this machine, or from the agents of others; shared/metrics/ranks
 * judges them; hang_text and hang_json print the result.
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

/* Exit code of a subcommand that has no verdict. */
#define NTK_HANG_EXIT_UNKNOWN 3

/* Run the subcommands; argv[0] is "hang" or "slow". Return the exit code. */
int ntk_hang_main(int argc, char **argv);
int ntk_slow_main(int argc, char **argv);

/* The result of a subcommand. */
struct ntk_hang_answer {
    struct ntk_buf text;
    bool found;       /* true if a problem was reported; the exit code is then 1 */
    bool saw_nothing; /* true if there were no ranks */
};
/* A question about ranks of this machine, or of the given agents. */
struct ntk_hang_question {
    const struct ntk_opt_program *program;
    struct ntk_hosts_remote *remote;
    const bool *is_json; /* print the answer even if no machine answered */
    int (*look)(struct ntk_host *hosts, size_t count, bool is_here, struct ntk_err *err);
    void (*answer)(const struct ntk_host *hosts, size_t count, struct ntk_hang_answer *out);
};
/* Runs a subcommand from its command line to the exit code. */
int ntk_hang_ask(const struct ntk_hang_question *question, int argc, char **argv);

/* For this machine: collects periods for window_ns in total and passes each to `each` (may be
 * NULL); the host keeps the last snapshot. A negative result of `each` stops the collection.
 * Returns 0 or -errno. */
typedef int ntk_hang_period(const struct ntk_snapshot *snapshot, void *ctx);
int ntk_hang_look(struct ntk_host *host, uint64_t window_ns, unsigned periods,
                  ntk_hang_period *each, void *ctx, struct ntk_err *err);
/* Logs the hosts that did not answer, and returns their number. */
size_t ntk_hang_answers_say(const struct ntk_host *hosts, size_t count);
/* If names is NULL, uses this machine and count is 1; else names is borrowed. Returns NULL if out
 * of memory. */
struct ntk_host *ntk_hang_hosts_create(char *const *names, size_t count, struct ntk_err *err);
void ntk_hang_hosts_destroy(struct ntk_host *hosts, size_t count);
/* What hang and slow read themselves if no agent answers. */
#define NTK_HANG_SOURCE_OWN "shared memory of the processes"
/* Writes "source: ..." for this machine, for users; nothing for others. "own": what the command
 * reads itself. */
void ntk_hang_write_source(const struct ntk_host *hosts, const char *own, struct ntk_buf *out);
/* Returns true if processes of other users could not be read: an empty view is then not
 * conclusive. */
bool ntk_hang_has_unreadable(const struct ntk_host *host);
/* Writes the source in the object of a host, as "source". */
void ntk_hang_write_source_json(struct ntk_json *json, const struct ntk_host *host);
/* Prints to stdout; returns the exit code, with a message on failure. */
int ntk_hang_print(const struct ntk_buf *out);

/* Selects the rows that are reported. */
struct ntk_hang_view {
    const struct ntk_ranks *ranks;
    const struct ntk_stuck *stuck;
    const struct ntk_host *hosts;
    size_t host_count;
    const char *job; /* NULL for all jobs */
    bool all;        /* include operations that continue */
};
/* Returns true if the verdict is part of the output. */
bool ntk_hang_is_reported(const struct ntk_hang_view *view, const struct ntk_comm_verdict *verdict);
bool ntk_hang_stuck_is_reported(const struct ntk_hang_view *view, const struct ntk_stuck_row *row);
/* Returns the rendezvous of a communicator in a form for users. */
const char *ntk_hang_place(const char *rendezvous);
/* Writes the missing ranks, killed ranks first, such as "rank 3 is lost; ranks 0, 5 and 9 more are
 * missing"; "" if all have arrived. */
void ntk_hang_write_missing(const struct ntk_comm_verdict *verdict, struct ntk_buf *out);
/* Writes a text such as "core 3 of process 41 (train) has had an execution for 2m" */
void ntk_hang_write_stuck(const struct ntk_stuck_row *row, struct ntk_buf *out);
void ntk_hang_write_text(const struct ntk_hang_view *view, bool colours, struct ntk_buf *out);
void ntk_hang_write_json(const struct ntk_hang_view *view, struct ntk_buf *out);

/* Writes the state of a thread on this machine, according to /proc, such as "sleeps in futex_wait",
 * or "". tid 0 means the first thread of the process. */
void ntk_hang_process(uint32_t pid, uint32_t tid, char *out, size_t out_bytes);

#endif
