/* SPDX-License-Identifier: MIT */
/*
 * health - implements neuron-monitor health: the verdict on each device, its cores and each
 * machine, with reason and advice.
 *
 * Verdicts come from shared/collect/health, which runs here for this machine and in the agents for
 * others. health_write prints them.
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

/* Runs the subcommand; argv[0] is "health". Returns the exit code. */
int ntk_health_main(int argc, char **argv);

/* Judges a host: unknown without an answer, without devices, or if a device has no verdict. */
struct ntk_health_node ntk_health_host_judge(const struct ntk_host *host);

/* Reasons that count for a node condition: bit i is reason i. */
#define NTK_HEALTH_ALL_REASONS UINT32_MAX
/* Parses names of reasons such as "dma_abort,hbm_uncorrectable". -EINVAL. */
int ntk_health_reasons_parse(const char *text, uint32_t *out_reasons, struct ntk_err *err);
/* Exit codes for a node-problem-detector plug-in. */
enum {
    NTK_HEALTH_CONDITION_WELL = 0,
    NTK_HEALTH_CONDITION_PROBLEM = 1,
    NTK_HEALTH_CONDITION_UNKNOWN = 2
};
/* Writes one line of at most this many characters for node-problem-detector, and returns its exit
 * code. */
#define NTK_HEALTH_LINE_MAX 80
int ntk_health_write_condition(const struct ntk_host *hosts, size_t count, uint32_t reasons,
                               struct ntk_buf *out);

/* Writes a report of only the devices, for local clients of the agent; false if out of memory. */
bool ntk_health_line_write(const struct ntk_snapshot *snapshot, struct ntk_buf *line);

void ntk_health_write_text(const struct ntk_host *hosts, size_t count, struct ntk_buf *out);
void ntk_health_write_json(const struct ntk_host *hosts, size_t count, struct ntk_buf *out);

#endif
