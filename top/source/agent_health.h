/* SPDX-License-Identifier: MIT */
/*
 * agent_health - gets verdicts from the agent of this machine, which has events from before the
 * viewer started.
 *
 * Owner:   create / destroy.
 * Threads: one calls the functions; another waits for the agent.
 */
#ifndef NTK_TOP_SOURCE_AGENT_HEALTH_H
#define NTK_TOP_SOURCE_AGENT_HEALTH_H

#include "shared/metrics/snapshot.h"

struct ntk_clock;
struct ntk_top_agent_health;

/* Returns NULL if out of memory or if no thread can be started. The clock is borrowed; NULL for the
 * system's. */
struct ntk_top_agent_health *ntk_top_agent_health_create(const struct ntk_clock *clock);
void ntk_top_agent_health_destroy(struct ntk_top_agent_health *health);
/* Replaces the verdicts of devices with the verdicts of the agent, if it answers in time. NULL is
 * accepted. */
void ntk_top_agent_health_fill(struct ntk_top_agent_health *health, struct ntk_snapshot *snapshot);

#endif
