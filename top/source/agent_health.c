/* SPDX-License-Identifier: MIT */
#include "top/source/agent_health.h"

#include <stdlib.h>

#include "shared/base/aside.h"
#include "shared/base/clock.h"
#include "shared/hosts/hosts.h"

/* A part of a refresh. If an agent takes longer, its answer is used in the next refresh. */
#define WAIT_NS (200 * NTK_NS_PER_MS)
#define FIRST_WAIT_NS (2 * NTK_NS_PER_SECOND) /* longer, because --once shows a single refresh */
#define EVERY_NS (5 * NTK_NS_PER_SECOND)
#define STALE_NS (3 * EVERY_NS) /* maximum age of an answer after an agent stopped answering */

struct ntk_top_agent_health {
    const struct ntk_clock *clock;
    struct ntk_aside *aside; /* owns the following fields while it works */
    struct ntk_host host;
    struct ntk_hosts_remote remote;
    const struct ntk_snapshot *last; /* last answer; NULL if none */
    uint64_t last_ns, next_ns;       /* monotonic times */
    bool was_asked;
};

static void ask(void *ctx)
{
    struct ntk_top_agent_health *health = ctx;

    ntk_host_fini(&health->host);
    (void)ntk_hosts_agent_ask(&health->host, NTK_HOSTS_REPORT, &health->remote);
}

static void release(void *ctx)
{
    struct ntk_top_agent_health *health = ctx;

    ntk_host_fini(&health->host);
    ntk_snapshot_destroy(health->last);
    free(health);
}

struct ntk_top_agent_health *ntk_top_agent_health_create(const struct ntk_clock *clock)
{
    struct ntk_top_agent_health *health = calloc(1, sizeof *health);

    if (!health) {
        return NULL;
    }
    health->clock = clock;
    ntk_host_set(&health->host, "");
    health->remote.timeout_ns = NTK_HOSTS_TIMEOUT_NS;
    health->aside = ntk_aside_create(ask, release, health);
    if (!health->aside) {
        free(health);
        return NULL;
    }
    return health;
}

void ntk_top_agent_health_destroy(struct ntk_top_agent_health *health)
{
    if (health) {
        ntk_aside_destroy(health->aside); /* it frees the struct */
    }
}

static void take(struct ntk_snapshot *snapshot, struct ntk_device_sample *to,
                 const struct ntk_device_sample *from)
{
    struct ntk_health_sample *reasons =
        ntk_snapshot_alloc(snapshot, from->health_count, sizeof *reasons);

    if (from->health_count > 0 && !reasons) {
        return;
    }
    for (size_t i = 0; i < from->health_count; i++) {
        reasons[i] = from->health[i];
        reasons[i].detail = ntk_snapshot_text(snapshot, from->health[i].detail);
    }
    to->has |= NTK_DEVICE_HAS_HEALTH;
    to->verdict = from->verdict;
    to->verdict_since_ns = from->verdict_since_ns;
    to->health_evidence = from->health_evidence;
    to->health = reasons;
    to->health_count = from->health_count;
}

void ntk_top_agent_health_fill(struct ntk_top_agent_health *health, struct ntk_snapshot *snapshot)
{
    if (!health) {
        return;
    }
    uint64_t now_ns = ntk_clock_now_ns(health->clock);
    uint64_t wait_ns = health->was_asked ? WAIT_NS : FIRST_WAIT_NS;
    if (now_ns >= health->next_ns && ntk_aside_ask(health->aside, wait_ns)) {
        ntk_snapshot_destroy(health->last);
        health->last = health->host.snapshot ? ntk_snapshot_share(health->host.snapshot) : NULL;
        health->last_ns = now_ns;
        health->next_ns = now_ns + EVERY_NS;
    }
    health->was_asked = true;
    const struct ntk_snapshot *agent = now_ns - health->last_ns <= STALE_NS ? health->last : NULL;
    for (size_t i = 0; agent && i < agent->device_count; i++) {
        for (size_t k = 0; k < snapshot->device_count; k++) {
            if (snapshot->devices[k].index == agent->devices[i].index &&
                agent->devices[i].has & NTK_DEVICE_HAS_HEALTH) {
                take(snapshot, &snapshot->devices[k], &agent->devices[i]);
            }
        }
    }
}
