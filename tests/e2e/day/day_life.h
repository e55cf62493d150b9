/* SPDX-License-Identifier: MIT */
/*
 * day_life - the lives of one agent: processes that follow each other, and what their outputs
 * counted in total.
 *
 * Owner:   caller's storage; day_life_fini() frees.
 * Threads: one.
 */
#ifndef NTK_TESTS_E2E_DAY_LIFE_H
#define NTK_TESTS_E2E_DAY_LIFE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/e2e/day/day_cloudwatch.h"
#include "tests/e2e/day/day_link.h"
#include "tests/support/clock.h"

/* Counts of one output over all agent processes. */
struct day_total {
    char name[NTK_OUTPUT_NAME_BYTES];
    uint64_t emitted, sent, refused, lost;
    uint64_t killed;  /* in the memory of agents that were killed */
    uint64_t waiting; /* in the last life */
};

struct day_life {
    /* Set by the caller. */
    const char *folder;
    uint16_t port; /* of the receivers */
    uint64_t period_ns, db_bytes;
    struct test_clock *clock; /* runs with the agent's */
    bool is_cloudwatch_down;

    pid_t pid; /* 0: no agent */
    unsigned number;
    int link_fd;
    char db[256], log[256];
    struct day_cloudwatch *cloudwatch;
    uint64_t line_count; /* reports, over all lives */
    struct day_answer last;
    struct day_total totals[NTK_OUTPUT_COUNTS_MAX];
    size_t total_count;

    pthread_t scraper;
    bool is_scraping;
    atomic_bool has_scraped;
    uint16_t scrape_port;
    char *page; /* the last one */
};

void day_life_begin(struct day_life *life);
/* Advances the clocks; without an agent, only the test's. */
void day_life_run(struct day_life *life, uint64_t ns);
/* Steps the time since 1970. */
void day_life_step(struct day_life *life, int64_t ns);
/* SIGKILL, while nothing is being done. */
void day_life_kill(struct day_life *life);
/* SIGTERM; returns the exit code. */
int day_life_stop(struct day_life *life);
/* A page of metrics: asked for now, complete in life->page after day_life_scraped(). */
void day_life_scrape(struct day_life *life);
void day_life_scraped(struct day_life *life);
/* A limit of file sizes plays a full disk. */
void day_life_set_full(struct day_life *life, bool is_full);
/* What the agent has allocated. Its resident set depends on how busy the machine is, too. */
uint64_t day_life_heap_bytes(const struct day_life *life);
/* Once, after the last life: what the test's own exporter emitted. */
void day_life_add_own(struct day_life *life);
/* NULL if no output has that name. */
const struct day_total *day_life_total(const struct day_life *life, const char *name);
void day_life_fini(struct day_life *life);

#endif
