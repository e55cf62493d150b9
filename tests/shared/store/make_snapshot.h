/* SPDX-License-Identifier: MIT */
/*
 * make_snapshot - hand-made snapshots of one process with two cores, one model and some memory.
 */
#ifndef NTK_TESTS_SHARED_STORE_MAKE_SNAPSHOT_H
#define NTK_TESTS_SHARED_STORE_MAKE_SNAPSHOT_H

#include "shared/metrics/snapshot.h"
#include "shared/store/store.h"

#define TEST_BOOT_ID "11111111-2222-3333-4444-555555555555"
#define TEST_HEADER_PID 77
#define TEST_START_TIME 123456

/* The content of the period; counts are per core, for two cores, and totals add up over the
 * calls. */
struct test_period {
    uint64_t time_ns;
    uint32_t uid;
    uint64_t completed;
    uint64_t latency_ns; /* of each execution */
    uint64_t memory_bytes;
    uint64_t unwatched;    /* unwatched executions of 1 ms, counted in addition to completed */
    uint64_t began_ns;     /* of the segment */
    uint64_t model_errors; /* only of the model, including those of rejected calls */
    bool ended;            /* without having closed its runtime */
    struct ntk_exit exit;  /* ... and how it exited */
    bool with_events;
    uint16_t model_event; /* NTK_EVENT_MODEL_* among the events; 0: LOAD */
    /* Kept between calls. */
    uint64_t sequence;
    uint64_t completed_total;
};

struct ntk_snapshot *test_make_snapshot(struct test_period *period);

/* Stores the period unchanged, and frees it: a full queue would merge it with the next one. */
void test_store_put(struct ntk_store *store, struct ntk_snapshot *snapshot);

#endif
