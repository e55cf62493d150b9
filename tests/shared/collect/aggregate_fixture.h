/* SPDX-License-Identifier: MIT */
/*
 * aggregate_fixture - an aggregate with made-up readings and times: no segment, no clock.
 *
 * Owner:   aggregate_setup() / aggregate_teardown(), for cmocka.
 */
#ifndef NTK_TESTS_SHARED_COLLECT_AGGREGATE_FIXTURE_H
#define NTK_TESTS_SHARED_COLLECT_AGGREGATE_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/collect/aggregate.h"

#define SECOND UINT64_C(1000000000)
#define BEGIN (100 * SECOND)

/* A process as the source for rings would read it. */
struct fake {
    struct ntk_ring_process process;
    struct ntk_ring_core cores[4];
    size_t core_count;
    struct ntk_ring_histogram histograms[4];
    struct ntk_ring_model models[4];
    size_t model_count;
    struct ntk_ring_histogram model_histograms[4];
    struct ntk_ring_memory memory[8];
    size_t memory_count;
    uint64_t events_read;
    uint64_t events_lost;
    bool ended;
    unsigned int histograms_read;
    char key[32];
};

struct fixture {
    struct ntk_aggregate *aggregate;
    struct ntk_collector_options collector;
    uint64_t now;
    struct ntk_snapshot *snapshot; /* the most recent one */
    struct fake fake[2];
    /* contents of the store */
    struct ntk_core_sample stored[2];
    size_t stored_count;
    uint64_t stored_began_ns; /* 0: of any start time */
    struct ntk_ecc_stored stored_ecc;
};

struct ntk_runtime_reading reading_of(struct fake *fake);
struct fake *make_fake(struct fixture *f, size_t index, uint32_t pid, uint64_t attached_ns);
/* n executions of ns each on core 0 of the fake. */
void execute(struct fake *fake, uint64_t n, uint64_t ns);
void see(struct fixture *f, struct fake *fake);
void sample(struct fixture *f, struct fake *fake);
/* Ends a period of one second; the new snapshot replaces the previous one. */
struct ntk_snapshot *finish(struct fixture *f);
int aggregate_setup(void **state);
int aggregate_teardown(void **state);
/* A process that closes the runtime and starts it again, with another segment. */
struct fake *make_life(struct fixture *f, size_t index, uint64_t began_ns);

#endif
