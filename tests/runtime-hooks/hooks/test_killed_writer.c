/* SPDX-License-Identifier: MIT */
/*
 * A writer killed with SIGKILL at random moments, repeatedly, while a reader watches. Method: every
 * published number is related to another one, so that a torn value shows.
 */
#include "runtime-hooks/hooks/hooks.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <time.h>

#include "shared/ring/ring_registry.h"
#include "tests/support/observed.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define KILLS 200
#define KILL_WITHIN_NS 3000000u

static void *execute_forever(void *ctx)
{
    uint16_t core = (uint16_t)(uintptr_t)ctx;
    struct ntk_hooks_model model = {
        .id = 10001u + core, .name = "m", .core = core, .core_count = 1
    };
    struct ntk_hooks_exec_core did = { .flops = 3, .effective_flops = 3, .dma_bytes = 3 };
    struct ntk_hooks_memory memory = { .bytes = 64, .core = core, .category = NTK_MEMORY_TENSORS };
    struct ntk_hooks_model_ref ref;
    uint64_t i;

    ntk_hooks_core_claim(core, core, 1);
    ntk_hooks_model_begin(&model, &ref);
    ntk_hooks_model_loaded(ref, ntk_hooks_now(), 0, 0);
    for (i = 1;; i++) {
        struct ntk_hooks_exec exec = { .model = ref,
                                       .execution_id = i,
                                       .call_start_ticks = ntk_hooks_now(),
                                       .device_ns = i ^ 0x5555,
                                       .core = core,
                                       .core_count = 1,
                                       .per_core = &did };
        ntk_hooks_row row = ntk_hooks_memory_alloc(&memory);

        exec.core_start_ticks = ntk_hooks_exec_begin(ref, core, 1);
        ntk_hooks_exec_end(&exec);
        ntk_hooks_mark((uint32_t)i, 0, core, i * 3, ~i);
        ntk_hooks_memory_free(&memory, row);
    }
    return NULL;
}

static int child_executes_until_killed(struct observed *child, void *ctx)
{
    struct ntk_hooks_config config = { .lnc = 1 };
    pthread_t second;

    (void)ctx;
    setenv("NEURON_HOOKS_MEMORY", "128K", 1);
    if (ntk_hooks_attach(&config, NULL, 0) != 0 ||
        pthread_create(&second, NULL, execute_forever, (void *)(uintptr_t)1) != 0) {
        return 1;
    }
    observed_send(child, 0);
    (void)execute_forever(NULL);
    return 0;
}

struct seen {
    uint64_t torn;
    uint64_t all;
};

static void check_batch(const struct ntk_ring_segment *segment, const struct ntk_slot *slots,
                        size_t count, void *ctx)
{
    struct seen *seen = ctx;
    size_t i;

    (void)segment;
    for (i = 0; i < count; i++) {
        const struct ntk_slot *slot = &slots[i];

        seen->all++;
        if (slot->kind == NTK_EVENT_MARK) {
            uint64_t number = ~slot->word[3];

            seen->torn += slot->word[2] != number * 3 || slot->word[1] != (uint32_t)number;
        } else if (slot->kind == NTK_EVENT_EXEC) {
            seen->torn += (slot->word[2] ^ 0x5555) != slot->word[4];
        } else if (slot->kind == NTK_EVENT_MEM_ALLOC || slot->kind == NTK_EVENT_MEM_FREE) {
            seen->torn += slot->word[3] != 64;
        } else {
            seen->torn += slot->kind != NTK_EVENT_MODEL_LOAD;
        }
        seen->torn += slot->core > 1;
    }
}

struct totals {
    uint64_t completed[2];
    uint64_t flops[2];
    uint64_t busy[2];
    uint64_t histogram[2];
};

static uint64_t fell(uint64_t *last, uint64_t now)
{
    uint64_t result = now < *last;

    *last = now;
    return result;
}

/* Reads everything once; returns how many counters went backwards. */
static uint64_t look(struct ntk_ring_segment *segment, struct totals *last, struct seen *seen)
{
    static struct ntk_ring_histogram histogram;
    struct ntk_ring_core cores[2];
    uint64_t back = 0;
    size_t count = ntk_ring_segment_cores(segment, cores, 2);
    size_t i;
    uint32_t b;

    for (i = 0; i < count; i++) {
        uint16_t core = cores[i].core;
        uint64_t all = 0;

        back += fell(&last->completed[core], cores[i].counters.outcome[NTK_OUTCOME_COMPLETED]);
        back += fell(&last->flops[core], cores[i].counters.flops);
        back += fell(&last->busy[core], cores[i].busy_ns);
        back += cores[i].in_flight > 1;
        /* flops are counted just before the outcome */
        back += cores[i].counters.flops > 3 * (cores[i].counters.outcome[0] + 1) + 3 * 1000000u;
        if (ntk_ring_segment_core_histogram(segment, core, &histogram) == 0) {
            for (b = 0; b < NTK_HISTOGRAM_BUCKETS; b++) {
                all += histogram.total.bucket[b];
            }
            back += fell(&last->histogram[core], all);
        }
    }
    (void)ntk_ring_segment_drain(segment, 0, check_batch, seen);
    return back;
}

static void records_of_a_killed_writer_are_complete_or_counted_as_lost(void **state)
{
    struct ntk_ring_options options = { .reap = true };
    char *folder = test_scratch_create();
    struct ntk_ring_registry *registry;
    struct seen seen = { 0, 0 };
    uint64_t back = 0;
    uint64_t random = 88172645463325252u;
    int kills;

    options.folder = folder;
    assert_int_equal(ntk_ring_registry_open(&options, &registry, NULL), 0);
    for (kills = 0; kills < KILLS; kills++) {
        struct observed child = observed_start(folder, child_executes_until_killed, NULL);
        struct ntk_ring_segment *segment;
        struct totals last = { { 0 }, { 0 }, { 0 }, { 0 } };
        struct ntk_ring_poll poll;
        struct timespec pause = { 0, 0 };
        struct ntk_ring_core core[2];
        uint64_t published;
        uint64_t read;
        uint64_t lost;
        size_t i;

        (void)observed_receive(&child);
        assert_int_equal(ntk_ring_registry_poll(registry, &poll, NULL), 0);
        assert_int_equal(poll.segments, 1);
        segment = ntk_ring_registry_get(registry, 0);
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        /* In half of the cases the reader runs in parallel, in the other half it comes after the
         * end. */
        if (kills % 2 == 0) {
            int looks;

            for (looks = (int)(random % 20); looks > 0; looks--) {
                back += look(segment, &last, &seen);
            }
        } else {
            pause.tv_nsec = (long)(random % KILL_WITHIN_NS);
            (void)nanosleep(&pause, NULL);
        }
        assert_int_equal(observed_finish(&child, SIGKILL), 128 + SIGKILL);

        assert_int_equal(ntk_ring_registry_poll(registry, &poll, NULL), 0);
        assert_int_equal(poll.ended, 1);
        back += look(segment, &last, &seen);
        back += look(segment, &last, &seen);
        ntk_ring_segment_events(segment, &read, &lost, &published);
        assert_int_equal(read + lost, published);
        /* At most one execution is unfinished, in the counters and in the histogram. */
        for (i = 0; i < ntk_ring_segment_cores(segment, core, 2); i++) {
            uint64_t completed = last.completed[core[i].core];
            uint64_t counted = last.histogram[core[i].core];

            assert_true(completed == counted || completed == counted + 1);
            assert_true(last.flops[core[i].core] / 3 - completed <= 1);
        }
        assert_int_equal(ntk_ring_registry_poll(registry, &poll, NULL), 0);
        assert_int_equal(ntk_ring_registry_poll(registry, &poll, NULL), 0);
        assert_int_equal(poll.segments, 0);
    }
    assert_int_equal(seen.torn, 0);
    assert_int_equal(back, 0);
    assert_true(seen.all > 10000);
    ntk_ring_registry_close(registry);
    test_scratch_destroy(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_of_a_killed_writer_are_complete_or_counted_as_lost),
    };

    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
