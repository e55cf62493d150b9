/* SPDX-License-Identifier: MIT */
/*
 * health - neuron-monitor health: the verdict on each device, its cores and each machine, with its
 * reason and advice.
 *
 * Verdicts are those of shared/collect/health, made here for this machine and by the agents for
 * others; nothing is judged here. health_write prints them.
 *
 * Threads: one, except those that query hosts.
 */
#ifndef NTK_AGENT_HEALTH_HEALTH_H
#define NTK_AGENT_HEALTH_HEALTH_H

#include <stddef.h>
#include <stdint.h>

#include "agent/hang/hang.h"
#include "shared/base/buf.h"
#include "shared/metrics/health.h"

/* The whole subcommand; argv[0] is "health". The exit code. */
int ntk_health_main(int argc, char **argv);

/* Unknown without an answer, without devices, or if one of them has no verdict. */
struct ntk_health_node ntk_health_host_judge(const struct ntk_host *host);

/* Reasons that count for a node condition: bit i is reason i. */
#define NTK_HEALTH_ALL_REASONS UINT32_MAX
/* "dma_abort,hbm_uncorrectable": names of reasons. -EINVAL. */
int ntk_health_reasons_parse(const char *text, uint32_t *out_reasons, struct ntk_err *err);
/* Exit codes of a node-problem-detector plug-in. */
enum {
    NTK_HEALTH_CONDITION_WELL = 0,
    NTK_HEALTH_CONDITION_PROBLEM = 1,
    NTK_HEALTH_CONDITION_UNKNOWN = 2
};
/* One line of at most this many characters for node-problem-detector, and its exit code. */
#define NTK_HEALTH_LINE_MAX 80
int ntk_health_write_condition(const struct ntk_host *hosts, size_t count, uint32_t reasons,
                               struct ntk_buf *out);

/* A report of only the devices, for local clients of the agent; false if out of memory. */
bool ntk_health_line_write(const struct ntk_snapshot *snapshot, struct ntk_buf *line);

void ntk_health_write_text(const struct ntk_host *hosts, size_t count, struct ntk_buf *out);
void ntk_health_write_json(const struct ntk_host *hosts, size_t count, struct ntk_buf *out);

#endif
