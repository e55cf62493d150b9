/* SPDX-License-Identifier: MIT */
/* Tests of the aggregate: made-up readings and times, no segment, no clock. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/collect/aggregate.h"
#include "tests/support/unit.h"

#define SECOND UINT64_C(1000000000)
#define BEGIN (100 * SECOND)

/* A process as the ring source would read it. */
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
    struct ntk_snapshot *snapshot; /* the last one */
    struct fake fake[2];
    /* what the store says */
    struct ntk_core_sample stored[2];
    size_t stored_count;
    uint64_t stored_began_ns; /* 0: of any */
    struct ntk_ecc_stored stored_ecc;
};

static int fake_core_histogram(void *ctx, uint16_t core, struct ntk_ring_histogram *out)
{
    struct fake *fake = ctx;

    fake->histograms_read++;
    for (size_t i = 0; i < fake->core_count; i++) {
        if (fake->cores[i].core == core) {
            *out = fake->histograms[i];
            out->total.end = out->device.end = NTK_HISTOGRAM_BUCKETS;
            return 0;
        }
    }
    return -ENOENT;
}

static int fake_model_histogram(void *ctx, const struct ntk_ring_model *model,
                                struct ntk_ring_histogram *out)
{
    struct fake *fake = ctx;

    fake->histograms_read++;
    *out = fake->model_histograms[model->slot];
    out->total.end = out->device.end = NTK_HISTOGRAM_BUCKETS;
    return 0;
}

static struct ntk_runtime_reading reading_of(struct fake *fake)
{
    return (struct ntk_runtime_reading){
        .key = fake->key,
        .process = &fake->process,
        .ended = fake->ended,
        .cores = fake->cores,
        .core_count = fake->core_count,
        .models = fake->models,
        .model_count = fake->model_count,
        .memory = fake->memory,
        .memory_count = fake->memory_count,
        .events_read = fake->events_read,
        .events_lost = fake->events_lost,
        .core_histogram = fake_core_histogram,
        .model_histogram = fake_model_histogram,
        .ctx = fake,
    };
}

static struct fake *make_fake(struct fixture *f, size_t index, uint32_t pid, uint64_t attached_ns)
{
    struct fake *fake = &f->fake[index];

    memset(fake, 0, sizeof *fake);
    fake->process.pid = pid;
    fake->process.own_pid = pid;
    fake->process.start_time = 1000 + pid;
    fake->process.lnc = 1;
    fake->process.flags = NTK_PROCESS_SOFTWARE_CORE;
    fake->process.clock.monotonic_ns = attached_ns;
    strcpy(fake->process.instance_type, "trn1.32xlarge");
    snprintf(fake->key, sizeof fake->key, "%u-%u", pid, 1000 + pid);
    fake->core_count = 1;
    fake->cores[0].core = 3;
    fake->cores[0].owned = true;
    fake->cores[0].has_histogram = true;
    fake->model_count = 1;
    fake->models[0].id = 10001;
    fake->models[0].state = NTK_MODEL_LOADED;
    fake->models[0].has_histogram = true;
    strcpy(fake->models[0].name, "mlp");
    return fake;
}

/* n executions of ns each on core 0 of the fake. */
static void execute(struct fake *fake, uint64_t n, uint64_t ns)
{
    struct ntk_segment_core *c = &fake->cores[0].counters;
    uint32_t bucket = ntk_histogram_bucket(ns);

    c->outcome[NTK_OUTCOME_COMPLETED] += n;
    fake->cores[0].busy_ns += n * ns;
    c->engine_busy_ns[NTK_ENGINE_PE] += n * ns / 2;
    c->flops += n * 100;
    c->effective_flops += n * 80;
    fake->histograms[0].total.bucket[bucket] += n;
    fake->histograms[0].device.bucket[bucket] += n;
    fake->histograms[0].total.sum_ns += n * ns;
    fake->histograms[0].device.sum_ns += n * ns;
    fake->models[0].executions += n;
    fake->models[0].effective_flops += n * 80;
    fake->model_histograms[0].total.bucket[bucket] += n;
    fake->model_histograms[0].device.bucket[bucket] += n;
    fake->model_histograms[0].total.sum_ns += n * ns;
    fake->model_histograms[0].device.sum_ns += n * ns;
}

static void see(struct fixture *f, struct fake *fake)
{
    struct ntk_runtime_reading reading = reading_of(fake);

    assert_false(ntk_aggregate_knows(f->aggregate, fake->key));
    assert_int_equal(ntk_aggregate_runtime_first(f->aggregate, &reading), 0);
    assert_true(ntk_aggregate_knows(f->aggregate, fake->key));
}

static void sample(struct fixture *f, struct fake *fake)
{
    struct ntk_runtime_reading reading = reading_of(fake);

    assert_int_equal(ntk_aggregate_runtime(f->aggregate, &reading), 0);
}

/* Ends the period of a second; the snapshot replaces the last one. */
static struct ntk_snapshot *finish(struct fixture *f)
{
    ntk_snapshot_destroy(f->snapshot);
    f->snapshot = NULL;
    f->now += SECOND;
    assert_int_equal(ntk_aggregate_finish(f->aggregate, f->now, f->now + 7, &f->snapshot), 0);
    return f->snapshot;
}

static bool stored_totals(const char *boot_id, struct ntk_process_key key, uint64_t began_ns,
                          struct ntk_core_sample *cores, size_t capacity, size_t *out_count,
                          void *ctx)
{
    struct fixture *f = ctx;

    assert_string_equal(boot_id, "boot");
    assert_int_equal(key.start_time, 1000 + key.header_pid);
    assert_true(began_ns > 0 && began_ns < BEGIN);
    assert_true(capacity >= f->stored_count);
    if (f->stored_began_ns != 0 && f->stored_began_ns != began_ns) {
        return false;
    }
    memcpy(cores, f->stored, f->stored_count * sizeof *cores);
    *out_count = f->stored_count;
    return f->stored_count > 0;
}

static bool stored_ecc(const char *boot_id, uint32_t device, struct ntk_ecc_stored *out, void *ctx)
{
    const struct fixture *f = ctx;

    assert_string_equal(boot_id, "boot");
    assert_int_equal(device, 0);
    *out = f->stored_ecc;
    return out->has != 0;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct ntk_aggregate_options options = {
        .begin_monotonic_ns = BEGIN, .ticks_per_second = 100, .page_bytes = 4096, .events_max = 4
    };

    if (!f) {
        return -1;
    }
    f->collector.totals_get = stored_totals;
    f->collector.ecc_get = stored_ecc;
    f->collector.totals_ctx = f;
    options.collector = &f->collector;
    f->now = BEGIN;
    if (ntk_aggregate_create(&options, &f->aggregate) < 0) {
        return -1;
    }
    ntk_aggregate_set_host(f->aggregate, "boot", "host");
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    ntk_snapshot_destroy(f->snapshot);
    ntk_aggregate_destroy(f->aggregate);
    free(f);
    return 0;
}

/* ---- first sight ---- */

static void a_process_younger_than_the_collector_counts_from_zero(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);
    const struct ntk_runtime_sample *runtime;

    execute(fake, 5, 1000);
    see(f, fake);
    sample(f, fake);
    assert_int_equal(finish(f)->runtime_count, 1);
    runtime = &f->snapshot->runtimes[0];
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].period, 5);
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].total, 5);
    assert_int_equal(runtime->total_latency.count, 5);
    assert_int_equal(runtime->models[0].executions.period, 5);
    assert_false(runtime->models[0].has & NTK_MODEL_HAS_EFFECTIVE_FLOPS); /* nobody says so */
    assert_int_equal(runtime->models[0].total_latency.count, 5);
    assert_true(runtime->first);
    assert_false(runtime->ended);
    assert_string_equal(runtime->tag, "42");
}

/* Where totals are kept, one of which none are began while nobody watched. */
static void an_older_process_that_nobody_knows_was_unwatched_until_now(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN - 1);
    const struct ntk_runtime_sample *runtime;
    const struct ntk_core_sample *unwatched;

    execute(fake, 1000, 1000);
    see(f, fake);
    execute(fake, 3, 2000);
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].period, 1003);
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].total, 1003);
    unwatched = runtime->cores[0].unwatched;
    assert_non_null(unwatched);
    assert_int_equal(unwatched->outcome[NTK_OUTCOME_COMPLETED].period, 1000);
    assert_int_equal(unwatched->total_latency.count, 1000);
    sample(f, fake);
    assert_null(finish(f)->runtimes[0].cores[0].unwatched);
}

static void an_older_process_counts_from_now(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN - 1);
    const struct ntk_runtime_sample *runtime;

    f->collector.totals_get = NULL;
    fake->models[0].flags = NTK_PROCESS_MODEL_FLOPS;
    execute(fake, 1000, 1000);
    fake->events_read = 70;
    fake->events_lost = 9;
    see(f, fake);
    execute(fake, 3, 2000);
    fake->events_read = 75;
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].period, 3);
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].total, 1003);
    assert_int_equal(runtime->total_latency.count, 3);
    assert_int_equal(runtime->total_latency.sum_ns, 6000);
    assert_int_equal(runtime->models[0].executions.period, 3);
    assert_true(runtime->models[0].has & NTK_MODEL_HAS_EFFECTIVE_FLOPS);
    assert_int_equal(runtime->models[0].effective_flops.period, 240);
    assert_int_equal(runtime->models[0].effective_flops.total, 80240);
    assert_int_equal(runtime->models[0].device_latency.count, 3);
    assert_int_equal(runtime->cores[0].flops.period, 300);
    assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].total, 3);
    assert_int_equal(f->snapshot->events_read.period, 5);
    assert_int_equal(f->snapshot->events_lost.period, 0);
}

/* Method: the store knows 900 executions of a process that made 1,000 by now. */
static void an_older_process_counts_from_its_stored_totals(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN - 1);
    struct ntk_histogram_entry entry = { .bucket = ntk_histogram_bucket(1000), .count = 900 };
    const struct ntk_runtime_sample *runtime;

    execute(fake, 1000, 1000);
    f->stored_count = 1;
    f->stored[0].core = 3;
    f->stored[0].outcome[NTK_OUTCOME_COMPLETED].total = 900;
    f->stored[0].busy_ns.total = 900000;
    f->stored[0].flops.total = 90000;
    f->stored[0].total_latency = (struct ntk_histogram){
        .count = 900, .sum_ns = 900000, .entries = &entry, .entry_count = 1
    };
    see(f, fake);
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].period, 100);
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].total, 1000);
    assert_int_equal(runtime->cores[0].flops.period, 10000);
    assert_int_equal(runtime->total_latency.count, 100);
    assert_int_equal(runtime->total_latency.sum_ns, 100000);
    /* all of which nobody watched; 4 more are watched */
    assert_non_null(runtime->cores[0].unwatched);
    assert_int_equal(runtime->cores[0].unwatched->outcome[NTK_OUTCOME_COMPLETED].period, 100);
    assert_int_equal(runtime->cores[0].unwatched->total_latency.count, 100);
    execute(fake, 4, 1000);
    sample(f, fake);
    assert_null(finish(f)->runtimes[0].cores[0].unwatched);
    /* and a younger one is not looked up */
    fake = make_fake(f, 1, 43, BEGIN + 1);
    execute(fake, 7, 1000);
    see(f, fake);
    sample(f, fake);
    sample(f, &f->fake[0]);
    assert_int_equal(finish(f)->runtimes[1].outcome[NTK_OUTCOME_COMPLETED].period, 7);
}

/* Method: busy for 40 s that the store does not know, then a quarter of the first second, then
 * half. */
static void what_was_done_before_the_watch_is_in_no_share(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN - 1);

    execute(fake, 41, SECOND);
    f->stored_count = 1;
    f->stored[0].core = 3;
    f->stored[0].busy_ns.total = SECOND;
    fake->cores[0].read_monotonic_ns = BEGIN;
    see(f, fake);
    execute(fake, 1, SECOND / 4);
    fake->cores[0].read_monotonic_ns += SECOND;
    sample(f, fake);
    finish(f);
    assert_true(f->snapshot->runtimes[0].cores[0].utilization == 0.25);
    assert_true(f->snapshot->cores[3].utilization == 0.25);
    assert_int_equal(f->snapshot->cores[3].busy_ns.period, 40 * SECOND + SECOND / 4);
    const struct ntk_core_sample *core = &f->snapshot->runtimes[0].cores[0];
    assert_int_equal(core->outcome[NTK_OUTCOME_COMPLETED].period, 42);
    assert_int_equal(core->total_latency.count, 42);
    assert_int_equal(core->unwatched->busy_ns.period, 40 * SECOND);
    assert_int_equal(core->unwatched->outcome[NTK_OUTCOME_COMPLETED].period, 41);
    assert_int_equal(core->unwatched->flops.period, 41 * 100);
    assert_int_equal(core->unwatched->engine_busy_ns[NTK_ENGINE_PE].period, 41 * SECOND / 2);
    assert_int_equal(core->unwatched->total_latency.count, 41);
    assert_int_equal(core->unwatched->total_latency.sum_ns, 41 * SECOND);
    assert_int_equal(core->unwatched->device_latency.count, 41);
    /* The machine's core says it too. */
    assert_int_equal(f->snapshot->cores[3].unwatched->busy_ns.period, 40 * SECOND);
    assert_int_equal(f->snapshot->cores[3].unwatched->flops.period, 41 * 100);
    assert_int_equal(ntk_snapshot_watched_core(&f->snapshot->cores[3]).flops.period, 100);
    assert_null(f->snapshot->cores[2].unwatched);
    execute(fake, 1, SECOND / 2);
    fake->cores[0].read_monotonic_ns += SECOND;
    sample(f, fake);
    finish(f);
    assert_true(f->snapshot->runtimes[0].cores[0].utilization == 0.5);
    assert_true(f->snapshot->cores[3].utilization == 0.5);
    assert_null(f->snapshot->cores[3].unwatched);
}

/* ---- periods ---- */

static void differences_of_periods_add_up_to_the_total(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);
    uint64_t sum = 0;
    uint64_t histograms = 0;
    uint64_t models = 0;
    uint64_t n = 0;

    see(f, fake);
    for (uint64_t i = 0; i < 20; i++) {
        execute(fake, i % 4, 1000 + i);
        n += i % 4;
        sample(f, fake);
        finish(f);
        sum += f->snapshot->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].period;
        histograms += f->snapshot->runtimes[0].total_latency.count;
        models += f->snapshot->runtimes[0].models[0].executions.period;
        assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].total, n);
        assert_int_equal(f->snapshot->tags[0].outcome[NTK_OUTCOME_COMPLETED], n);
        assert_int_equal(f->snapshot->cores[3].outcome[NTK_OUTCOME_COMPLETED].total, n);
        assert_int_equal(f->snapshot->sequence, i + 1);
        assert_int_equal(f->snapshot->period_ns, SECOND);
    }
    assert_int_equal(sum, n);
    assert_int_equal(histograms, n);
    assert_int_equal(models, n);
    assert_int_equal(f->snapshot->runtimes[0].series_count, 1);
    assert_int_equal(f->snapshot->runtimes[0].series[0].total.count, n);
    assert_string_equal(f->snapshot->runtimes[0].series[0].name, "mlp");
}

/* Method: the counter of an execution moves before its histogram does, between the two a period
 * ends; then nothing else happens. */
static void a_histogram_that_comes_late_is_not_lost(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);
    struct ntk_ring_histogram late;

    see(f, fake);
    execute(fake, 1, 1000);
    late = fake->histograms[0];
    memset(&fake->histograms[0], 0, sizeof fake->histograms[0]);
    sample(f, fake);
    assert_int_equal(finish(f)->runtimes[0].total_latency.count, 0);
    fake->histograms[0] = late;
    sample(f, fake);
    assert_int_equal(finish(f)->runtimes[0].total_latency.count, 1);
    sample(f, fake);
    assert_int_equal(finish(f)->runtimes[0].total_latency.count, 0);
}

/* Method: a process that works in every period; nobody wants latency, then somebody, then nobody
 * again. */
static void latency_is_read_while_somebody_wants_it(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);
    const struct ntk_runtime_sample *runtime;
    struct ntk_runtime_reading reading = reading_of(fake);

    ntk_aggregate_set_reads_latency(f->aggregate, false);
    see(f, fake);
    execute(fake, 5, 1000);
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(fake->histograms_read, 0);
    assert_int_equal(ntk_snapshot_outcome_sum(runtime->outcome), 5);
    assert_int_equal(runtime->cores[0].has & NTK_CORE_HAS_LATENCY, 0);
    assert_int_equal(runtime->models[0].has & NTK_MODEL_HAS_LATENCY, 0);
    assert_int_equal(runtime->total_latency.count, 0);
    assert_false(runtime->has_device_latency);

    /* What was before is not of the first period that has it. */
    execute(fake, 3, 1000);
    ntk_aggregate_set_reads_latency(f->aggregate, true);
    ntk_aggregate_runtime_begin_latency(f->aggregate, &reading);
    execute(fake, 2, 1000);
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(ntk_snapshot_outcome_sum(runtime->outcome), 5);
    assert_int_equal(runtime->total_latency.count, 2);
    assert_int_equal(runtime->total_latency.sum_ns, 2000);
    assert_int_equal(runtime->models[0].total_latency.count, 2);
    assert_true(runtime->cores[0].has & NTK_CORE_HAS_LATENCY);

    ntk_aggregate_set_reads_latency(f->aggregate, false);
    fake->histograms_read = 0;
    execute(fake, 7, 1000);
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(fake->histograms_read, 0);
    assert_int_equal(runtime->total_latency.count, 0);
}

static void a_core_whose_process_has_others_shares_its_latency_with_nobody(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);
    const struct ntk_runtime_sample *runtime;

    fake->core_count = 3;
    for (uint16_t i = 1; i < 3; i++) {
        fake->cores[i] = fake->cores[0];
        fake->cores[i].core = (uint16_t)(3 + i);
    }
    see(f, fake);
    execute(fake, 4, 1000);
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->total_latency.count, 4);
    assert_int_equal(runtime->total_latency.sum_ns, 4000);

    execute(fake, 4, 1000);
    fake->cores[2].counters.outcome[NTK_OUTCOME_COMPLETED] = 2;
    fake->histograms[2].total.bucket[ntk_histogram_bucket(9000)] = 2;
    fake->histograms[2].total.sum_ns = 18000;
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->total_latency.count, 6);
    assert_int_equal(runtime->total_latency.sum_ns, 22000);
    assert_int_equal(runtime->total_latency.entry_count, 2);
    assert_int_equal(runtime->cores[0].total_latency.count, 4);
    assert_int_equal(runtime->cores[2].total_latency.count, 2);
}

/* Method: a sum is written behind its count, between the two a period ends. */
static void a_sum_that_comes_late_is_not_lost(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);

    see(f, fake);
    execute(fake, 1, 1000);
    fake->histograms[0].total.sum_ns = 0;
    sample(f, fake);
    assert_int_equal(finish(f)->runtimes[0].total_latency.sum_ns, 0);
    fake->histograms[0].total.sum_ns = 1000;
    sample(f, fake);
    assert_int_equal(finish(f)->runtimes[0].total_latency.count, 0);
    execute(fake, 1, 500);
    sample(f, fake);
    assert_int_equal(finish(f)->runtimes[0].total_latency.sum_ns, 1500);
}

static void a_counter_seen_smaller_starts_anew_from_its_value(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);

    see(f, fake);
    execute(fake, 10, 1000);
    sample(f, fake);
    finish(f);
    fake->cores[0].counters.outcome[NTK_OUTCOME_COMPLETED] = 4;
    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].period, 4);
    assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].total, 14);
}

static void busy_time_seen_smaller_waits_and_utilization_is_at_most_one(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);

    see(f, fake);
    fake->cores[0].busy_ns = SECOND + 1000;
    sample(f, fake);
    finish(f);
    assert_true(f->snapshot->runtimes[0].cores[0].utilization == 1);
    assert_true(f->snapshot->cores[3].utilization == 1);
    assert_int_equal(f->snapshot->runtimes[0].cores[0].busy_ns.period, SECOND + 1000);
    fake->cores[0].busy_ns = SECOND;
    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->runtimes[0].cores[0].busy_ns.period, 0);
    fake->cores[0].busy_ns = SECOND + 2000;
    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->runtimes[0].cores[0].busy_ns.period, 1000);
    assert_int_equal(f->snapshot->cores[3].busy_ns.total, SECOND + 2000);
}

/* Method: a period of 1 s whose two readings are 1.25 s apart, then 0.75 s: a machine under
 * load. */
static void a_core_that_never_rests_is_wholly_busy_whenever_it_is_read(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN - 1);

    fake->cores[0].read_monotonic_ns = BEGIN;
    see(f, fake);
    for (int i = 0; i < 4; i++) {
        uint64_t step = i % 2 == 0 ? SECOND * 5 / 4 : SECOND * 3 / 4;

        fake->cores[0].busy_ns += step;
        fake->cores[0].read_monotonic_ns += step;
        sample(f, fake);
        finish(f);
        assert_true(f->snapshot->runtimes[0].cores[0].utilization == 1);
        assert_true(f->snapshot->cores[3].utilization == 1);
    }
    /* One that ends was idle after its last reading. */
    fake->cores[0].busy_ns += SECOND / 4;
    fake->cores[0].read_monotonic_ns += SECOND / 4;
    fake->ended = true;
    sample(f, fake);
    finish(f);
    assert_true(f->snapshot->runtimes[0].cores[0].utilization == 0.25);
    assert_true(f->snapshot->cores[3].utilization == 0.25);
}

static void two_runtimes_on_one_core_add_up_on_the_machine(void **state)
{
    struct fixture *f = *state;
    struct fake *a = make_fake(f, 0, 42, BEGIN + 1);
    struct fake *b = make_fake(f, 1, 43, BEGIN + 1);

    strcpy(a->process.tag, "same");
    strcpy(b->process.tag, "same");
    see(f, a);
    see(f, b);
    execute(a, 1, SECOND / 4);
    execute(b, 2, SECOND / 4);
    sample(f, a);
    sample(f, b);
    finish(f);
    assert_int_equal(f->snapshot->runtime_count, 2);
    assert_true(f->snapshot->runtimes[0].cores[0].utilization == 0.25);
    assert_true(f->snapshot->runtimes[1].cores[0].utilization == 0.5);
    assert_true(f->snapshot->cores[3].utilization == 0.75);
    assert_int_equal(f->snapshot->tag_count, 1);
    assert_string_equal(f->snapshot->tags[0].tag, "same");
    assert_int_equal(f->snapshot->tags[0].outcome[NTK_OUTCOME_COMPLETED], 3);
}

static void a_tag_of_two_users_is_two_tags(void **state)
{
    struct fixture *f = *state;
    struct fake *fakes[2];

    for (uint32_t i = 0; i < 2; i++) {
        fakes[i] = make_fake(f, (int)i, 42 + i, BEGIN + 1);
        strcpy(fakes[i]->process.tag, "same");
        fakes[i]->process.uid = 1000 + i;
        see(f, fakes[i]);
        execute(fakes[i], i + 1, SECOND / 4);
        sample(f, fakes[i]);
    }
    finish(f);
    assert_int_equal(f->snapshot->tag_count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_string_equal(f->snapshot->tags[i].tag, "same");
        assert_int_equal(f->snapshot->tags[i].outcome[NTK_OUTCOME_COMPLETED], i + 1);
    }
}

/* ---- communicators ---- */

static void rank_sample(struct fixture *f, struct fake *fake, uint32_t rank,
                        enum ntk_comm_state state)
{
    const struct ntk_ring_comm comm = {
        .key = 77, .rank = rank, .rank_count = 2, .state = state, .join_realtime_ns = 5
    };
    struct ntk_runtime_reading reading = reading_of(fake);

    reading.comms = &comm;
    reading.comm_count = 1;
    assert_int_equal(ntk_aggregate_runtime(f->aggregate, &reading), 0);
}

static void communicators_of_two_users_have_two_keys(void **state)
{
    struct fixture *f = *state;
    uint64_t keys[3];

    for (uint32_t i = 0; i < 3; i++) {
        struct fake *fake = make_fake(f, i % 2, 42 + i, BEGIN + 1);

        fake->process.uid = i < 2 ? 1000 : 1001;
        see(f, fake);
        rank_sample(f, fake, i % 2, NTK_COMM_JOINED);
        keys[i] = finish(f)->runtimes[0].ranks[0].key;
    }
    assert_true(keys[0] == keys[1]);
    assert_true(keys[1] != keys[2]);
    assert_true(keys[0] != 77 && keys[2] != 77);
}

static void a_rank_that_leaves_a_communicator_with_a_lost_one_is_remembered(void **state)
{
    struct fixture *f = *state;

    for (uint32_t i = 0; i < 2; i++) {
        struct fake *fake = make_fake(f, (int)i, 42 + i, BEGIN + 1);

        see(f, fake);
        fake->ended = true;
        rank_sample(f, fake, i, i == 0 ? NTK_COMM_JOINED : NTK_COMM_LEFT);
        finish(f);
        assert_int_equal(f->snapshot->lost_rank_count, i + 1);
    }
    assert_int_equal(f->snapshot->lost_ranks[1].rank.state, NTK_RANK_LEFT);
}

/* ---- the end ---- */

static void an_ended_process_is_in_one_more_snapshot_with_its_last_counts(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);
    const struct ntk_runtime_sample *runtime;
    uint64_t device = 0;

    see(f, fake);
    fake->memory_count = 1;
    fake->memory[0] = (struct ntk_ring_memory){ .core = 3,
                                                .category = NTK_MEMORY_TENSORS,
                                                .location = NTK_MEMORY_DEVICE,
                                                .current_bytes = 4096,
                                                .peak_bytes = 8192 };
    fake->cores[0].in_flight = 1;
    sample(f, fake);
    finish(f);
    ntk_snapshot_memory_add(&f->snapshot->runtimes[0], 3, 0, NULL, NULL, &device);
    assert_int_equal(device, 4096);
    assert_int_equal(f->snapshot->runtimes[0].in_flight, 1);
    assert_int_equal(f->snapshot->cores[3].in_flight, 1);

    execute(fake, 6, 1000);
    fake->ended = true;
    sample(f, fake);
    sample(f, fake); /* again: nothing more */
    runtime = &finish(f)->runtimes[0];
    assert_true(runtime->ended);
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].period, 6);
    assert_int_equal(runtime->total_latency.count, 6);
    assert_int_equal(runtime->in_flight, 0);
    assert_int_equal(f->snapshot->cores[3].in_flight, 0);
    device = 0;
    ntk_snapshot_memory_add(runtime, NTK_MEMORY_ANY, NTK_MEMORY_ANY, NULL, NULL, &device);
    assert_int_equal(device, 0);
    assert_int_equal(runtime->memory_by_category[0].current_bytes, 0);
    assert_int_equal(runtime->memory_by_category[0].peak_bytes, 8192);
    assert_false(runtime->models[0].loaded);
    assert_int_equal(f->snapshot->devices[1].stack_used_bytes[1], 0);

    finish(f);
    assert_int_equal(f->snapshot->runtime_count, 0);
    assert_int_equal(f->snapshot->tag_count, 0);
    assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].period, 0);
    assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].total, 6);
    assert_int_equal(f->snapshot->cores[3].outcome[NTK_OUTCOME_COMPLETED].total, 6);
    assert_false(ntk_aggregate_knows(f->aggregate, fake->key));
}

static void the_totals_of_a_tag_go_on_when_it_comes_back(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);

    strcpy(fake->process.tag, "bert");
    see(f, fake);
    execute(fake, 6, 1000);
    fake->ended = true;
    sample(f, fake);
    finish(f);
    finish(f);
    fake = make_fake(f, 0, 77, f->now + 1);
    strcpy(fake->process.tag, "bert");
    see(f, fake);
    execute(fake, 2, 1000);
    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->tags[0].outcome[NTK_OUTCOME_COMPLETED], 8);
}

/* Method: the same pid with another start time is another process and begins at 0. */
static void a_pid_that_is_used_again_is_another_process(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);

    see(f, fake);
    execute(fake, 6, 1000);
    fake->ended = true;
    sample(f, fake);
    fake = make_fake(f, 1, 42, BEGIN + 2);
    fake->process.start_time = 5000;
    strcpy(fake->key, "42-5000");
    see(f, fake);
    execute(fake, 1, 1000);
    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->runtime_count, 2);
    assert_true(f->snapshot->runtimes[0].ended);
    assert_int_equal(f->snapshot->runtimes[1].outcome[NTK_OUTCOME_COMPLETED].period, 1);
    assert_int_equal(f->snapshot->runtimes[1].outcome[NTK_OUTCOME_COMPLETED].total, 1);
}

/* A process that closes the runtime and begins again: another segment. */
static struct fake *make_life(struct fixture *f, size_t index, uint64_t began_ns)
{
    struct fake *fake = make_fake(f, index, 42, began_ns);

    snprintf(fake->key, sizeof fake->key, "life %zu", index);
    return fake;
}

static void lives_of_a_process_in_one_period_keep_their_totals(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_life(f, 0, BEGIN + 1);
    const struct ntk_core_sample *core;

    see(f, fake);
    execute(fake, 2, 1000);
    sample(f, fake);
    assert_null(finish(f)->runtimes[0].cores[0].lives);
    assert_int_equal(f->snapshot->runtimes[0].cores[0].began_ns, BEGIN + 1);
    execute(fake, 5, 1000);
    fake->ended = true;
    sample(f, fake);
    fake = make_life(f, 1, BEGIN + 2);
    see(f, fake);
    execute(fake, 3, 1000);
    sample(f, fake);
    assert_int_equal(finish(f)->runtime_count, 1);
    core = &f->snapshot->runtimes[0].cores[0];
    assert_int_equal(core->outcome[NTK_OUTCOME_COMPLETED].period, 8);
    assert_int_equal(core->total_latency.count, 8);
    assert_int_equal(core->life_count, 2);
    assert_int_equal(core->lives[0].began_ns, BEGIN + 1);
    assert_int_equal(core->lives[0].outcome[NTK_OUTCOME_COMPLETED].total, 7);
    assert_int_equal(core->lives[0].total_latency.count, 5);
    assert_int_equal(core->lives[1].began_ns, BEGIN + 2);
    assert_int_equal(core->lives[1].outcome[NTK_OUTCOME_COMPLETED].total, 3);
    assert_int_equal(core->lives[1].total_latency.count, 3);
}

/* Method: the store knows 7 executions of an earlier life; the one that is there did 10 while
 * nobody watched. */
static void an_older_process_counts_from_the_totals_of_this_life(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_life(f, 0, BEGIN - 1);

    f->stored_count = 1;
    f->stored_began_ns = BEGIN - 5;
    f->stored[0].core = 3;
    f->stored[0].outcome[NTK_OUTCOME_COMPLETED].total = 7;
    execute(fake, 10, 1000);
    see(f, fake);
    sample(f, fake);
    assert_int_equal(finish(f)->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].period, 10);
    assert_int_equal(f->snapshot->runtimes[0].total_latency.count, 10);
}

/* ---- cores, models, memory ---- */

static void logical_cores_of_a_pair_show_each_physical_core(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);
    struct ntk_core_sample logical;

    strcpy(fake->process.instance_type, "trn2.48xlarge");
    fake->process.lnc = 2;
    fake->core_count = 2;
    fake->cores[0].core = 8;
    fake->cores[1].core = 9;
    fake->cores[1].owned = true;
    see(f, fake);
    execute(fake, 2, SECOND / 10);
    fake->cores[1].busy_ns = SECOND * 4 / 10;
    fake->cores[1].counters.flops = 50;
    for (int i = 0; i < 2; i++) { /* three executions on both */
        fake->cores[i].in_flight = 3;
        fake->cores[i].running_ns = 7000;
    }
    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->hardware.lnc, 2);
    assert_string_equal(f->snapshot->hardware.core_version, "v3d");
    assert_int_equal(f->snapshot->core_count, 128);
    assert_true(ntk_snapshot_logical_core(f->snapshot->runtimes[0].cores,
                                          f->snapshot->runtimes[0].core_count, 2, 4, &logical));
    assert_true(logical.utilization > 0.2999 && logical.utilization < 0.3001);
    assert_int_equal(logical.outcome[NTK_OUTCOME_COMPLETED].period, 2);
    assert_int_equal(logical.flops.period, 250);
    assert_int_equal(logical.total_latency.count, 2);
    assert_int_equal(logical.in_flight, 3);
    assert_int_equal(logical.running_ns, 7000);
    assert_int_equal(f->snapshot->runtimes[0].in_flight, 3);
    assert_true(
        ntk_snapshot_logical_core(f->snapshot->cores, f->snapshot->core_count, 2, 4, &logical));
    assert_int_equal(logical.in_flight, 3);
}

static void a_released_core_is_listed_while_it_has_something_to_tell(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);

    see(f, fake);
    execute(fake, 2, 1000);
    fake->cores[0].owned = false;
    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->runtimes[0].core_count, 1);
    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->runtimes[0].core_count, 0);
    assert_int_equal(f->snapshot->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].total, 2);
}

static void an_unloaded_model_is_listed_once_more_and_its_series_stays(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);

    fake->models[0].uuid[0] = 0xab;
    see(f, fake);
    execute(fake, 2, 1000);
    fake->models[0].running = 1;
    sample(f, fake);
    finish(f);
    assert_true(f->snapshot->runtimes[0].models[0].loaded);
    assert_true(f->snapshot->runtimes[0].models[0].is_running);
    assert_string_equal(f->snapshot->runtimes[0].models[0].uuid,
                        "ab000000000000000000000000000000");

    execute(fake, 1, 1000);
    fake->models[0].running = 0;
    fake->models[0].state = NTK_MODEL_UNLOADED;
    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->runtimes[0].model_count, 1);
    assert_false(f->snapshot->runtimes[0].models[0].loaded);
    assert_int_equal(f->snapshot->runtimes[0].models[0].executions.period, 1);

    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->runtimes[0].model_count, 0);

    /* another model of the same name takes the slot */
    fake->models[0].id = 10002;
    fake->models[0].state = NTK_MODEL_LOADED;
    fake->models[0].executions = 0;
    memset(&fake->model_histograms[0], 0, sizeof fake->model_histograms[0]);
    execute(fake, 4, 1000);
    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->runtimes[0].models[0].executions.period, 4);
    assert_int_equal(f->snapshot->runtimes[0].series_count, 1);
    assert_int_equal(f->snapshot->runtimes[0].series[0].total.count, 7);
}

static void memory_groups_keep_the_highest_sum_seen(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);
    const struct ntk_runtime_sample *runtime;

    see(f, fake);
    fake->memory_count = 3;
    fake->memory[0] = (struct ntk_ring_memory){ .core = 3,
                                                .category = NTK_MEMORY_CONSTANTS,
                                                .location = 1,
                                                .model = 10001,
                                                .current_bytes = 100,
                                                .peak_bytes = 100 };
    fake->memory[1] = (struct ntk_ring_memory){ .core = 3,
                                                .category = NTK_MEMORY_CONSTANTS,
                                                .location = 1,
                                                .model = 10002,
                                                .current_bytes = 50,
                                                .peak_bytes = 60 };
    fake->memory[2] = (struct ntk_ring_memory){ .core = NTK_NO_CORE,
                                                .category = NTK_MEMORY_HOST_APPLICATION,
                                                .current_bytes = 10,
                                                .peak_bytes = 10 };
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->memory_count, 3);
    assert_int_equal(runtime->memory_by_category_count, 2);
    assert_int_equal(runtime->memory_by_category[0].current_bytes, 150);
    assert_int_equal(runtime->memory_by_category[0].peak_bytes, 150);
    assert_int_equal(runtime->memory_by_category[1].core, NTK_NO_CORE);
    assert_int_equal(runtime->memory_by_category[1].location, NTK_MEMORY_HOST);
    /* core 3 is the second of device 1, with a stack of its own */
    assert_int_equal(f->snapshot->devices[1].stack_used_bytes[1], 150);

    fake->memory[0].current_bytes = 0;
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->memory_by_category[0].current_bytes, 50);
    assert_int_equal(runtime->memory_by_category[0].peak_bytes, 150);
}

static void hooks_around_another_runtime_leave_the_inside_absent(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);
    const struct ntk_runtime_sample *runtime;

    fake->process.flags = 0;
    see(f, fake);
    execute(fake, 1, 1000);
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_false(runtime->software);
    assert_false(runtime->has_device_latency);
    assert_int_equal(runtime->cores[0].has &
                         (NTK_CORE_HAS_ENGINES | NTK_CORE_HAS_FLOPS | NTK_CORE_HAS_DEVICE_LATENCY),
                     0);
    assert_int_equal(runtime->cores[0].has & (NTK_CORE_HAS_BUSY | NTK_CORE_HAS_LATENCY),
                     NTK_CORE_HAS_BUSY | NTK_CORE_HAS_LATENCY);
}

/* ---- devices ---- */

static void ecc_is_the_difference_of_the_period_and_adds_up_since_the_start(void **state)
{
    struct fixture *f = *state;
    struct ntk_device_info info = { .index = 0, .core_count = 2, .name = "Trainium1" };
    struct ntk_device_tree tree = { .origin = NTK_DEVICE_ORIGIN_DRIVER,
                                    .devices = &info,
                                    .device_count = 1,
                                    .cores_per_device = 2 };
    struct ntk_device_reading reading = { .mem_ecc_uncorrected = { 17, true } };
    const struct ntk_device_sample *device;

    ntk_aggregate_devices(f->aggregate, &tree, false, &reading, 1);
    device = &finish(f)->devices[0];
    assert_int_equal(device->ecc_has, 1u << NTK_ECC_MEM_UNCORRECTED);
    assert_int_equal(device->ecc[NTK_ECC_MEM_UNCORRECTED].period, 0);
    assert_int_equal(device->ecc[NTK_ECC_MEM_UNCORRECTED].total, 17);

    reading.mem_ecc_uncorrected.value = 20;
    ntk_aggregate_devices(f->aggregate, &tree, false, &reading, 1);
    device = &finish(f)->devices[0];
    assert_int_equal(device->ecc[NTK_ECC_MEM_UNCORRECTED].period, 3);

    reading.mem_ecc_uncorrected.value = 2; /* cleared */
    ntk_aggregate_devices(f->aggregate, &tree, false, &reading, 1);
    device = &finish(f)->devices[0];
    assert_int_equal(device->ecc[NTK_ECC_MEM_UNCORRECTED].period, 2);
    assert_int_equal(device->ecc[NTK_ECC_MEM_UNCORRECTED].total, 22);
    assert_int_equal(device->ecc_counter[NTK_ECC_MEM_UNCORRECTED], 2);
    assert_int_equal(f->snapshot->hardware.device_memory_bytes, UINT64_C(34359738368));
    assert_string_equal(f->snapshot->hardware.device_type, "trainium");
}

/* Method: 12 errors while no agent ran; then the same after a reboot, which the store shows as a
 * counter of 0. */
static void ecc_while_no_agent_ran_is_in_totals_and_in_no_period(void **state)
{
    struct ntk_device_info info = { .index = 0, .core_count = 2, .name = "Trainium1" };
    struct ntk_device_tree tree = { .origin = NTK_DEVICE_ORIGIN_DRIVER,
                                    .devices = &info,
                                    .device_count = 1,
                                    .cores_per_device = 2 };
    const struct ntk_device_reading reading = { .mem_ecc_corrected = { 17, true },
                                                .sram_ecc_corrected = { 4, true } };

    for (uint64_t counter = 0; counter <= 5; counter += 5) {
        struct fixture *f;
        assert_int_equal(setup((void **)&f), 0);
        f->stored_ecc.has = 1u << NTK_ECC_MEM_CORRECTED;
        f->stored_ecc.counter[NTK_ECC_MEM_CORRECTED] = counter;
        f->stored_ecc.total[NTK_ECC_MEM_CORRECTED] = 105;
        for (int period = 0; period < 2; period++) {
            ntk_aggregate_devices(f->aggregate, &tree, false, &reading, 1);
            const struct ntk_device_sample *device = &finish(f)->devices[0];
            assert_int_equal(device->ecc[NTK_ECC_MEM_CORRECTED].period, 0);
            assert_int_equal(device->ecc_unwatched[NTK_ECC_MEM_CORRECTED],
                             period == 0 ? 17 - counter : 0);
            assert_int_equal(device->ecc[NTK_ECC_MEM_CORRECTED].total, 105 + 17 - counter);
            assert_int_equal(device->ecc_unwatched[NTK_ECC_SRAM_CORRECTED], 0); /* not stored */
            assert_int_equal(device->ecc[NTK_ECC_SRAM_CORRECTED].total, 4);
        }
        assert_int_equal(teardown((void **)&f), 0);
    }
    (void)state;
}

/* Method: the agent starts while the driver is out of reach; then its tree appears with the counter
 * that is stored, or, of a driver that was loaded anew, with a smaller one. */
static void ecc_of_a_tree_that_appears_is_counted_once(void **state)
{
    struct ntk_device_info info = { .index = 0, .core_count = 2, .name = "Trainium1" };
    struct ntk_device_tree tree = { .origin = NTK_DEVICE_ORIGIN_DRIVER,
                                    .devices = &info,
                                    .device_count = 1,
                                    .cores_per_device = 2 };
    const struct {
        uint64_t value, period;
    } cases[] = { { 17, 0 }, { 20, 3 }, { 2, 2 } };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct ntk_device_reading reading = { .mem_ecc_uncorrected = { cases[i].value,
                                                                             true } };
        struct fixture *f;
        assert_int_equal(setup((void **)&f), 0);
        f->stored_ecc.has = 1u << NTK_ECC_MEM_UNCORRECTED;
        f->stored_ecc.counter[NTK_ECC_MEM_UNCORRECTED] = 17;
        f->stored_ecc.total[NTK_ECC_MEM_UNCORRECTED] = 105;
        ntk_aggregate_devices(f->aggregate, &tree, true, &reading, 1);
        const struct ntk_device_sample *device = &finish(f)->devices[0];
        assert_int_equal(device->ecc[NTK_ECC_MEM_UNCORRECTED].period, cases[i].period);
        assert_int_equal(device->ecc[NTK_ECC_MEM_UNCORRECTED].total, 105 + cases[i].period);
        assert_int_equal(teardown((void **)&f), 0);
    }
    (void)state;
}

/* Method: a driver's tree and no segment; then a segment comes that counts the same core. */
static void cores_without_a_segment_are_told_by_the_tree(void **state)
{
    struct fixture *f = *state;
    struct ntk_device_info info = { .index = 0, .core_count = 4, .name = "Inferentia" };
    struct ntk_device_tree tree = { .origin = NTK_DEVICE_ORIGIN_DRIVER,
                                    .devices = &info,
                                    .device_count = 1,
                                    .cores_per_device = 4 };
    struct ntk_device_reading reading = { 0 };
    struct ntk_device_core_reading *core = &reading.cores[3];
    struct fake *fake;

    core->busy_us = (struct ntk_device_value){ 5000000, true };
    core->inference_count = (struct ntk_device_value){ 100, true };
    core->device_memory_bytes = (struct ntk_device_value){ 1 << 20, true };
    ntk_aggregate_devices(f->aggregate, &tree, false, &reading, 1);
    assert_true(ntk_aggregate_wants_device_cores(f->aggregate));
    finish(f);
    assert_int_equal(f->snapshot->cores[3].busy_ns.period, 0);

    core->busy_us.value += 500000;
    core->inference_count.value += 7;
    ntk_aggregate_devices(f->aggregate, &tree, false, &reading, 1);
    finish(f);
    assert_true(f->snapshot->cores[3].utilization == 0.5);
    assert_int_equal(f->snapshot->cores[3].outcome[NTK_OUTCOME_COMPLETED].period, 7);
    assert_int_equal(f->snapshot->cores[3].has, NTK_CORE_HAS_BUSY | NTK_CORE_HAS_EXECUTIONS);
    assert_int_equal(f->snapshot->cores[0].has, 0);
    assert_int_equal(f->snapshot->devices[0].stack_used_bytes[1], 1 << 20);

    fake = make_fake(f, 0, 42, f->now + 1);
    strcpy(fake->process.instance_type, "");
    see(f, fake);
    execute(fake, 2, 1000);
    sample(f, fake);
    core->inference_count.value += 2;
    core->busy_us.value += 2;
    ntk_aggregate_devices(f->aggregate, &tree, false, &reading, 1);
    finish(f);
    assert_int_equal(f->snapshot->cores[3].outcome[NTK_OUTCOME_COMPLETED].period, 2);
    assert_int_equal(f->snapshot->cores[3].busy_ns.period, 2000);
}

/* ---- hooks around another runtime, beside a driver's tree ---- */

/* Of the core that fakes are on. */
struct fake_tree {
    struct ntk_device_info info;
    struct ntk_device_tree tree;
    struct ntk_device_reading reading;
    struct ntk_device_core_reading *core;
};

static void make_tree(struct fake_tree *fake, enum ntk_device_origin origin)
{
    *fake = (struct fake_tree){
        .info = { .index = 0, .core_count = 4, .name = "Inferentia" },
        .tree = { .origin = origin, .device_count = 1, .cores_per_device = 4 },
    };
    fake->tree.devices = &fake->info;
    fake->core = &fake->reading.cores[3];
    fake->core->busy_us = (struct ntk_device_value){ 5000000, true };
    fake->core->flops = (struct ntk_device_value){ 1000, true };
    fake->core->inference_count = (struct ntk_device_value){ 100, true };
}

static void read_tree(struct fixture *f, struct fake_tree *fake)
{
    ntk_aggregate_devices(f->aggregate, &fake->tree, false, &fake->reading, 1);
}

/* Around another runtime, younger than the collector. */
static struct fake *make_foreign(struct fixture *f, size_t index, uint32_t pid, uint32_t flags)
{
    struct fake *fake = make_fake(f, index, pid, f->now + 1);

    fake->process.flags = flags;
    fake->process.instance_type[0] = '\0';
    return fake;
}

/* Method: the calls took 0.9 s of which the core worked 0.4, and returned 3 times; the driver has
 * counted 5. */
static void
the_driver_is_believed_about_the_core_and_the_calls_about_what_they_returned(void **state)
{
    struct fixture *f = *state;
    struct fake_tree tree;
    struct fake *fake;
    const struct ntk_core_sample *core;

    make_tree(&tree, NTK_DEVICE_ORIGIN_DRIVER);
    read_tree(f, &tree);
    finish(f);
    fake = make_foreign(f, 0, 42, 0);
    see(f, fake);
    execute(fake, 3, 300000000);
    sample(f, fake);
    assert_true(ntk_aggregate_wants_device_cores(f->aggregate));
    tree.core->busy_us.value += 400000;
    tree.core->flops.value += 77;
    tree.core->inference_count.value += 5;
    read_tree(f, &tree);
    finish(f);
    assert_int_equal(f->snapshot->runtimes[0].hooks, NTK_HOOKS_PRELOADED);
    for (int machine = 0; machine < 2; machine++) {
        core = machine ? &f->snapshot->cores[3] : &f->snapshot->runtimes[0].cores[0];
        assert_int_equal(core->core, 3);
        assert_true(core->utilization == 0.4);
        assert_int_equal(core->busy_ns.period, 400000000);
        assert_false(core->busy_of_calls);
        assert_int_equal(core->effective_flops.period, 77);
        assert_int_equal(core->outcome[NTK_OUTCOME_COMPLETED].period, 3);
        assert_int_equal(core->has & ~(uint32_t)(NTK_CORE_HAS_LATENCY | NTK_CORE_HAS_HELD_IDLE),
                         NTK_CORE_HAS_BUSY | NTK_CORE_HAS_EFFECTIVE_FLOPS |
                             NTK_CORE_HAS_EXECUTIONS | NTK_CORE_HAS_TRANSFERS);
    }

    /* What a runtime has of the driver adds up from the first sight of it. */
    execute(fake, 1, 1000);
    sample(f, fake);
    tree.core->busy_us.value += 100000;
    read_tree(f, &tree);
    core = &finish(f)->runtimes[0].cores[0];
    assert_int_equal(core->busy_ns.total, 500000000);
    assert_int_equal(core->effective_flops.total, 77);

    /* The process is gone: the driver tells of the core alone. */
    fake->ended = true;
    sample(f, fake);
    read_tree(f, &tree);
    finish(f);
    tree.core->inference_count.value += 2;
    read_tree(f, &tree);
    finish(f);
    assert_int_equal(f->snapshot->cores[3].outcome[NTK_OUTCOME_COMPLETED].period, 2);
    assert_int_equal(f->snapshot->cores[3].has,
                     NTK_CORE_HAS_BUSY | NTK_CORE_HAS_EFFECTIVE_FLOPS | NTK_CORE_HAS_EXECUTIONS);
}

static void without_a_counter_of_the_driver_busy_time_is_that_of_calls_and_says_so(void **state)
{
    struct fixture *f = *state;
    struct fake_tree tree;
    struct fake *fake;

    make_tree(&tree, NTK_DEVICE_ORIGIN_DRIVER);
    tree.core->busy_us.present = tree.core->flops.present = false;
    read_tree(f, &tree);
    finish(f);
    fake = make_foreign(f, 0, 42, 0);
    see(f, fake);
    execute(fake, 3, 300000000);
    sample(f, fake);
    read_tree(f, &tree);
    finish(f);
    for (int machine = 0; machine < 2; machine++) {
        const struct ntk_core_sample *core =
            machine ? &f->snapshot->cores[3] : &f->snapshot->runtimes[0].cores[0];

        assert_int_equal(core->busy_ns.period, 900000000);
        assert_true(core->busy_of_calls);
        assert_int_equal(core->has & (NTK_CORE_HAS_BUSY | NTK_CORE_HAS_EFFECTIVE_FLOPS),
                         NTK_CORE_HAS_BUSY);
    }
}

/* Method: one process ends and another begins on its core in one period. */
static void what_the_driver_counted_of_two_processes_is_given_to_neither(void **state)
{
    struct fixture *f = *state;
    struct fake_tree tree;
    struct fake *fakes[2];

    make_tree(&tree, NTK_DEVICE_ORIGIN_DRIVER);
    read_tree(f, &tree);
    finish(f);
    for (size_t i = 0; i < 2; i++) {
        fakes[i] = make_foreign(f, i, 42 + (uint32_t)i, 0);
        see(f, fakes[i]);
        execute(fakes[i], 1, 200000000);
        sample(f, fakes[i]);
    }
    tree.core->busy_us.value += 300000;
    tree.core->flops.value += 77;
    read_tree(f, &tree);
    finish(f);
    for (size_t i = 0; i < 2; i++) {
        const struct ntk_core_sample *core = &f->snapshot->runtimes[i].cores[0];

        assert_int_equal(core->busy_ns.period, 200000000);
        assert_true(core->busy_of_calls);
        assert_int_equal(core->has & NTK_CORE_HAS_EFFECTIVE_FLOPS, 0);
    }
    assert_int_equal(f->snapshot->cores[3].busy_ns.period, 300000000);
    assert_false(f->snapshot->cores[3].busy_of_calls);
    assert_int_equal(f->snapshot->cores[3].effective_flops.period, 77);
}

static void counts_of_executions_that_are_given_up_are_partial(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_foreign(f, 0, 42, NTK_PROCESS_ATTACHED);
    const struct ntk_runtime_sample *runtime;

    see(f, fake);
    execute(fake, 3, 1000);
    sample(f, fake);
    assert_false(finish(f)->runtimes[0].partial_executions);
    fake->process.flags |= NTK_PROCESS_NO_EXECUTIONS;
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_true(runtime->partial_executions);
    assert_int_equal(runtime->has & NTK_RUNTIME_HAS_EXECUTIONS, 0);
}

static void executions_that_are_not_looked_at_are_absent_and_not_zero(void **state)
{
    struct fixture *f = *state;
    struct fake_tree tree;
    struct fake *fake;
    const struct ntk_runtime_sample *runtime;

    make_tree(&tree, NTK_DEVICE_ORIGIN_DRIVER);
    read_tree(f, &tree);
    finish(f);
    fake = make_foreign(
        f, 0, 42, NTK_PROCESS_ATTACHED | NTK_PROCESS_NO_EXECUTIONS | NTK_PROCESS_CORES_GUESSED);
    see(f, fake);
    sample(f, fake);
    tree.core->busy_us.value += 400000;
    tree.core->inference_count.value += 5;
    read_tree(f, &tree);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->hooks, NTK_HOOKS_ATTACHED);
    assert_true(runtime->no_executions);
    assert_false(runtime->partial_executions);
    assert_true(runtime->cores_guessed);
    assert_int_equal(runtime->has & (NTK_RUNTIME_HAS_EXECUTIONS | NTK_RUNTIME_HAS_IN_FLIGHT), 0);
    assert_int_equal(runtime->cores[0].has,
                     NTK_CORE_HAS_TRANSFERS | NTK_CORE_HAS_BUSY | NTK_CORE_HAS_EFFECTIVE_FLOPS);
    assert_true(runtime->cores[0].utilization == 0.4);
    assert_int_equal(runtime->models[0].has, NTK_MODEL_HAS_TOTALS);
    assert_int_equal(f->snapshot->cores[3].outcome[NTK_OUTCOME_COMPLETED].period, 5);

    /* Nor does anybody know how busy it is without the driver. */
    sample(f, fake);
    tree.core->busy_us.present = tree.core->flops.present = tree.core->inference_count.present =
        false;
    read_tree(f, &tree);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->cores[0].has, NTK_CORE_HAS_TRANSFERS);
    assert_false(runtime->cores[0].busy_of_calls);
    assert_int_equal(f->snapshot->cores[3].has, NTK_CORE_HAS_TRANSFERS);
}

/* Method: two processes on a machine whose tree is the software machine's, one of them not a core
 * of ours. */
static void a_core_of_another_runtime_is_not_idle_on_the_software_machine(void **state)
{
    struct fixture *f = *state;
    struct fake_tree tree;
    struct fake *ours;
    struct fake *fake;

    make_tree(&tree, NTK_DEVICE_ORIGIN_SOFTWARE);
    strcpy(tree.tree.machine_type, "inf1.xlarge");
    memset(&tree.reading, 0, sizeof tree.reading);
    read_tree(f, &tree);
    finish(f);
    ours = make_fake(f, 0, 41, f->now + 1);
    ours->cores[0].core = 1;
    fake = make_foreign(f, 1, 42, 0);
    see(f, ours);
    see(f, fake);
    execute(ours, 1, 100000000);
    execute(fake, 1, 100000000);
    sample(f, ours);
    sample(f, fake);
    read_tree(f, &tree);
    finish(f);
    assert_int_equal(f->snapshot->cores[0].has, NTK_CORE_HAS_IDLE);
    assert_int_equal(f->snapshot->cores[1].has & NTK_CORE_HAS_IDLE, NTK_CORE_HAS_IDLE);
    assert_false(f->snapshot->cores[1].busy_of_calls);
    assert_int_equal(f->snapshot->cores[3].has,
                     NTK_CORE_HAS_BUSY | NTK_CORE_HAS_EXECUTIONS | NTK_CORE_HAS_TRANSFERS);
    assert_true(f->snapshot->cores[3].busy_of_calls);
}

static void of_another_runtime_stored_totals_go_on_without_what_nobody_watched(void **state)
{
    struct fixture *f = *state;
    struct fake_tree tree;
    struct fake *fake;
    const struct ntk_core_sample *core;

    make_tree(&tree, NTK_DEVICE_ORIGIN_DRIVER);
    read_tree(f, &tree);
    finish(f);
    fake = make_foreign(f, 0, 42, 0);
    fake->process.clock.monotonic_ns = BEGIN - 1;
    f->stored_count = 1;
    f->stored[0].core = 3;
    f->stored[0].busy_ns.total = 70;
    f->stored[0].effective_flops.total = 7;
    f->stored[0].outcome[NTK_OUTCOME_COMPLETED].total = 2;
    execute(fake, 5, 1000);
    see(f, fake);
    execute(fake, 1, 1000);
    sample(f, fake);
    tree.core->busy_us.value += 1;
    tree.core->flops.value += 3;
    read_tree(f, &tree);
    core = &finish(f)->runtimes[0].cores[0];
    assert_int_equal(core->outcome[NTK_OUTCOME_COMPLETED].period, 4);
    assert_int_equal(core->unwatched->outcome[NTK_OUTCOME_COMPLETED].period, 3);
    assert_int_equal(core->unwatched->busy_ns.period, 0);
    assert_int_equal(core->busy_ns.period, 1000);
    assert_int_equal(core->busy_ns.total, 1070);
    assert_int_equal(core->effective_flops.total, 10);
}

static void memory_of_a_model_that_is_a_difference_is_a_row_of_no_category(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_foreign(f, 0, 42, 0);
    const struct ntk_runtime_sample *runtime;

    fake->models[0].core = 3;
    fake->models[0].device_bytes = 5000;
    fake->models[0].flags = NTK_PROCESS_MEMORY_ESTIMATED;
    fake->memory_count = 1;
    fake->memory[0] = (struct ntk_ring_memory){
        .core = 3, .category = NTK_MEMORY_TENSORS, .current_bytes = 100, .peak_bytes = 100
    };
    see(f, fake);
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_true(runtime->models[0].memory_estimated);
    assert_true(ntk_snapshot_memory_is_estimated(runtime, 10001));
    assert_int_equal(runtime->memory_count, 2);
    assert_int_equal(runtime->memory[1].model_id, 10001);
    assert_int_equal(runtime->memory[1].category, NTK_MEMORY_UNCATEGORIZED);
    assert_int_equal(runtime->memory[1].current_bytes, 5000);
    assert_true(ntk_snapshot_tells_group(runtime, NTK_GROUP_TENSORS));
    assert_true(ntk_snapshot_tells_group(runtime, NTK_GROUP_HOST_TENSORS));
    assert_false(ntk_snapshot_tells_group(runtime, NTK_GROUP_RUNTIME));
    assert_false(ntk_snapshot_tells_group(runtime, NTK_GROUP_CONSTANTS));

    fake->models[0].state = NTK_MODEL_UNLOADED;
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->memory_count, 1);
    assert_false(ntk_snapshot_memory_is_estimated(runtime, NTK_MEMORY_ANY));

    /* Who writes its memory itself has its rows. */
    fake->models[0].state = NTK_MODEL_LOADED;
    fake->memory_count = 2;
    fake->memory[1] = (struct ntk_ring_memory){ .core = 3,
                                                .model = 10001,
                                                .location = NTK_MEMORY_DEVICE,
                                                .category = NTK_MEMORY_CONSTANTS,
                                                .current_bytes = 4000,
                                                .peak_bytes = 4000 };
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->memory_count, 2);
    assert_true(ntk_snapshot_tells_group(runtime, NTK_GROUP_CONSTANTS));
}

/* Method: somebody clears the driver's files and the core works on; then the values fall back by an
 * hour's worth, as where the counters of a process that ended were not added up yet. */
static void what_a_cleared_file_of_the_driver_says_is_of_the_period_when_it_can_be(void **state)
{
    struct fixture *f = *state;
    struct ntk_device_info info = { .index = 0, .core_count = 2, .name = "Trainium1" };
    struct ntk_device_tree tree = { .origin = NTK_DEVICE_ORIGIN_DRIVER,
                                    .devices = &info,
                                    .device_count = 1,
                                    .cores_per_device = 2 };
    struct ntk_device_reading reading = { 0 };
    struct ntk_device_core_reading *core = &reading.cores[0];

    core->busy_us = (struct ntk_device_value){ UINT64_C(36000000000), true };
    core->flops = (struct ntk_device_value){ UINT64_C(900000000000000000), true };
    core->inference_count = (struct ntk_device_value){ 5000, true };
    ntk_aggregate_devices(f->aggregate, &tree, false, &reading, 1);
    finish(f);

    core->busy_us.value = 250000;
    core->flops.value = 1000000;
    core->inference_count.value = 3;
    ntk_aggregate_devices(f->aggregate, &tree, false, &reading, 1);
    finish(f);
    assert_true(f->snapshot->cores[0].utilization == 0.25);
    assert_int_equal(f->snapshot->cores[0].busy_ns.total, 250000000);
    assert_int_equal(f->snapshot->cores[0].effective_flops.period, 1000000);
    assert_int_equal(f->snapshot->cores[0].outcome[NTK_OUTCOME_COMPLETED].period, 3);

    core->busy_us.value = UINT64_C(36000000000);
    core->flops.value = UINT64_C(900000000000000000);
    ntk_aggregate_devices(f->aggregate, &tree, false, &reading, 1);
    finish(f);
    uint64_t busy_ns = f->snapshot->cores[0].busy_ns.total;
    uint64_t flops = f->snapshot->cores[0].effective_flops.total;
    core->busy_us.value -= UINT64_C(3600000000);
    core->flops.value -= 1;
    ntk_aggregate_devices(f->aggregate, &tree, false, &reading, 1);
    finish(f);
    assert_true(f->snapshot->cores[0].utilization == 0);
    assert_int_equal(f->snapshot->cores[0].busy_ns.period, 0);
    assert_int_equal(f->snapshot->cores[0].busy_ns.total, busy_ns);
    assert_int_equal(f->snapshot->cores[0].effective_flops.period, 0);
    assert_int_equal(f->snapshot->cores[0].effective_flops.total, flops);

    /* And on from there. */
    core->busy_us.value += 500000;
    ntk_aggregate_devices(f->aggregate, &tree, false, &reading, 1);
    finish(f);
    assert_true(f->snapshot->cores[0].utilization == 0.5);
}

static void without_anything_the_reason_is_said(void **state)
{
    struct fixture *f = *state;
    struct ntk_device_tree none = { 0 };

    ntk_aggregate_devices(f->aggregate, &none, false, NULL, 0);
    finish(f);
    assert_int_equal(f->snapshot->hardware.has, 0);
    assert_string_not_equal(f->snapshot->hardware.error, "");
    assert_int_equal(f->snapshot->core_count, 0);
    assert_int_equal(f->snapshot->device_count, 0);
}

/* ---- host ---- */

static void cpu_shares_are_ticks_of_the_period(void **state)
{
    struct fixture *f = *state;
    struct ntk_cpu_reading cpus[2] = { { .cpu = 0 }, { .cpu = 1 } };
    struct ntk_system_reading reading = { .has = NTK_SYSTEM_HAS_CPU | NTK_SYSTEM_HAS_MEMORY |
                                                 NTK_SYSTEM_HAS_CONTEXT_SWITCHES,
                                          .average.ticks = { 1000, 10, 500, 8000 },
                                          .cpus = cpus,
                                          .cpu_count = 2,
                                          .context_switches = 5000,
                                          .memory_total_bytes = 64,
                                          .memory_used_bytes = 16 };
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);

    see(f, fake);
    sample(f, fake);
    ntk_aggregate_system(f->aggregate, &reading);
    ntk_aggregate_process_usage(f->aggregate, 0, 900, 300, 10);
    finish(f);
    assert_int_equal(f->snapshot->system.context_switches, 0);
    /* one reading is no difference: memory is known, CPU time is not */
    assert_int_equal(f->snapshot->runtimes[0].has & (NTK_RUNTIME_HAS_CPU | NTK_RUNTIME_HAS_RSS),
                     NTK_RUNTIME_HAS_RSS);
    assert_string_equal(f->snapshot->runtimes[0].cpu_error, "");

    reading.average.ticks[NTK_CPU_USER] += 100;
    reading.average.ticks[NTK_CPU_IDLE] += 90;
    reading.average.other_ticks += 10;
    cpus[1].ticks[NTK_CPU_SYSTEM] = 30;
    cpus[1].ticks[NTK_CPU_IDLE] = 70;
    reading.context_switches += 12;
    sample(f, fake);
    ntk_aggregate_system(f->aggregate, &reading);
    ntk_aggregate_process_usage(f->aggregate, 0, 950, 310, 20);
    finish(f);
    assert_true(f->snapshot->system.average[NTK_CPU_USER] == 0.5);
    assert_true(f->snapshot->system.average[NTK_CPU_IDLE] == 0.45);
    assert_int_equal(f->snapshot->system.cpu_count, 2);
    assert_true(f->snapshot->system.cpus[1].share[NTK_CPU_SYSTEM] == 0.3);
    assert_true(f->snapshot->system.cpus[0].share[NTK_CPU_SYSTEM] == 0);
    assert_int_equal(f->snapshot->system.context_switches, 12);
    assert_int_equal(f->snapshot->system.memory_used_bytes, 16);
    /* 50 ticks of user time in 100 ticks on 2 CPUs */
    assert_true(f->snapshot->runtimes[0].cpu_user == 0.25);
    assert_true(f->snapshot->runtimes[0].cpu_system == 0.05);
    assert_int_equal(f->snapshot->runtimes[0].rss_bytes, 20 * 4096);

    /* the kernel sets its counters right a little: nobody began them anew */
    reading.context_switches -= 1;
    sample(f, fake);
    ntk_aggregate_system(f->aggregate, &reading);
    ntk_aggregate_process_usage(f->aggregate, 0, 949, 309, 20);
    finish(f);
    assert_int_equal(f->snapshot->system.context_switches, 0);
    assert_int_equal(f->snapshot->runtimes[0].has & NTK_RUNTIME_HAS_CPU, NTK_RUNTIME_HAS_CPU);
    assert_true(f->snapshot->runtimes[0].cpu_user == 0);
    assert_true(f->snapshot->runtimes[0].cpu_system == 0);

    /* without a reading: absent, not zero */
    sample(f, fake);
    ntk_aggregate_process_no_usage(f->aggregate, 0,
                                   "open /proc/42/stat: no such file or directory");
    finish(f);
    assert_int_equal(f->snapshot->system.has, 0);
    assert_int_equal(f->snapshot->runtimes[0].has & (NTK_RUNTIME_HAS_CPU | NTK_RUNTIME_HAS_RSS), 0);
    assert_string_equal(f->snapshot->runtimes[0].cpu_error,
                        "open /proc/42/stat: no such file or directory");
}

/* ---- events ---- */

static void events_come_by_time_and_what_has_no_room_is_counted(void **state)
{
    struct fixture *f = *state;
    static const uint64_t times[] = { 30, 10, 20, 40, 5, 6 };

    for (size_t i = 0; i < 6; i++) {
        struct ntk_event_sample *event =
            ntk_aggregate_event(f->aggregate, (struct ntk_process_key){ 7, 1000, 1 }, false);

        if (event) {
            event->realtime_ns = times[i];
            event->name = ntk_aggregate_event_text(f->aggregate, "weights");
        }
    }
    finish(f);
    assert_int_equal(f->snapshot->event_count, 4);
    assert_int_equal(f->snapshot->events_unlisted, 2);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(f->snapshot->events[i].realtime_ns, 10 * (i + 1));
        assert_string_equal(f->snapshot->events[i].name, "weights");
    }
    finish(f);
    assert_int_equal(f->snapshot->event_count, 0);
    assert_int_equal(f->snapshot->events_unlisted, 0);
}

static void list_events(struct fixture *f, uint32_t uid, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct ntk_event_sample *event =
            ntk_aggregate_event(f->aggregate, (struct ntk_process_key){ 100 + uid, uid, 1 }, false);

        if (event) {
            event->pid = uid;
        }
    }
}

static size_t count_events(const struct fixture *f, uint32_t uid)
{
    size_t count = 0;

    for (size_t i = 0; i < f->snapshot->event_count; i++) {
        count += f->snapshot->events[i].pid == uid;
    }
    return count;
}

static void a_user_with_many_events_leaves_others_theirs(void **state)
{
    struct fixture *f = *state;

    list_events(f, 1, 100); /* all four of the list */
    list_events(f, 2, 1);
    list_events(f, 3, 50);
    list_events(f, 1, 100);
    finish(f);
    assert_int_equal(f->snapshot->event_count, 4);
    assert_int_equal(count_events(f, 1), 1);
    assert_int_equal(count_events(f, 2), 1);
    assert_int_equal(count_events(f, 3), 2); /* the fourth place goes to the newest */
    assert_int_equal(f->snapshot->events_unlisted, 251 - 4);
    list_events(f, 3, 4);
    list_events(f, 2, 3);
    finish(f);
    assert_int_equal(count_events(f, 2), 2);
    assert_int_equal(count_events(f, 3), 2);
    assert_int_equal(f->snapshot->events_unlisted, 3);
}

/* Of the processes of one user: 1 floods with the log of memory and marks, 2 with errors, 3 has one
 * error. */
static void a_process_with_many_events_leaves_others_theirs_and_errors_come_first(void **state)
{
    struct fixture *f = *state;
    static const struct {
        uint32_t pid;
        uint16_t kind;
        size_t count;
    } floods[] = {
        { 1, NTK_EVENT_MEM_ALLOC, 100 }, { 1, NTK_EVENT_MARK, 100 }, { 2, NTK_EVENT_ERROR, 100 },
        { 1, NTK_EVENT_MEM_ALLOC, 100 }, { 3, NTK_EVENT_ERROR, 1 },  { 2, NTK_EVENT_ERROR, 100 },
        { 4, NTK_EVENT_MARK, 1 },        { 1, NTK_EVENT_ERROR, 1 },
    };
    size_t asked = 0;

    for (size_t i = 0; i < sizeof floods / sizeof *floods; i++) {
        for (size_t k = 0; k < floods[i].count; k++) {
            const struct ntk_process_key key = { floods[i].pid, 1000, 1 };
            struct ntk_event_sample *event =
                ntk_aggregate_event(f->aggregate, key, floods[i].kind == NTK_EVENT_ERROR);

            if (event) {
                event->kind = floods[i].kind;
                event->pid = floods[i].pid;
            }
            asked++;
        }
    }
    finish(f);
    assert_int_equal(f->snapshot->event_count, 4);
    assert_int_equal(count_events(f, 1), 1);
    assert_int_equal(count_events(f, 2), 2);
    assert_int_equal(count_events(f, 3), 1);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(f->snapshot->events[i].kind, NTK_EVENT_ERROR);
    }
    assert_int_equal(f->snapshot->events_unlisted, asked - 4);
}

static struct fake *make_users(struct fixture *f, size_t index, uint32_t uid, uint32_t pid)
{
    struct fake *fake = make_fake(f, index, pid, BEGIN + 1);

    fake->process.uid = uid;
    snprintf(fake->process.tag, sizeof fake->process.tag, "job %u", pid);
    see(f, fake);
    execute(fake, 3, 1000);
    return fake;
}

/* Processes of user 1 that are over when they are seen, so many at once. */
static void invent_processes(struct fixture *f, uint32_t first_pid, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct fake *fake = make_users(f, 0, 1, first_pid + (uint32_t)i);

        fake->ended = true;
        sample(f, fake);
    }
}

static const struct ntk_runtime_sample *find_tag(const struct fixture *f, const char *tag)
{
    for (size_t i = 0; i < f->snapshot->runtime_count; i++) {
        if (strcmp(f->snapshot->runtimes[i].tag, tag) == 0) {
            return &f->snapshot->runtimes[i];
        }
    }
    return NULL;
}

static void a_user_with_too_many_processes_has_the_rest_in_one_row(void **state)
{
    enum { MANY = NTK_AGGREGATE_ROWS_OF_USER + 500 };
    struct fixture *f = *state;
    const struct ntk_runtime_sample *row;

    invent_processes(f, 100, MANY);
    sample(f, make_users(f, 1, 2, 42));
    finish(f);
    assert_int_equal(f->snapshot->runtime_count, NTK_AGGREGATE_ROWS_OF_USER + 2);
    assert_string_equal(
        ntk_aggregate_note(f->aggregate),
        "user 1 begins more processes than are listed one by one: the rest is counted "
        "as \"others of 1\"");
    row = find_tag(f, "others of 1");
    assert_non_null(row);
    assert_true(row->ended);
    assert_int_equal(row->outcome[NTK_OUTCOME_COMPLETED].period, 500 * 3);
    assert_int_equal(row->cores[0].outcome[NTK_OUTCOME_COMPLETED].period, 500 * 3);
    assert_int_equal(row->cores[0].outcome[NTK_OUTCOME_COMPLETED].total, 500 * 3);
    assert_null(row->cores[0].lives);
    assert_int_equal(row->total_latency.count, 500 * 3);
    assert_non_null(find_tag(f, "job 42"));
    assert_int_equal(find_tag(f, "job 42")->outcome[NTK_OUTCOME_COMPLETED].period, 3);
    assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].period, MANY * 3 + 3);

    /* A second gives it one more. */
    sample(f, &f->fake[1]);
    invent_processes(f, 100000, 10);
    finish(f);
    assert_int_equal(f->snapshot->runtime_count, 3);
    row = find_tag(f, "others of 1");
    assert_non_null(row);
    assert_int_equal(row->outcome[NTK_OUTCOME_COMPLETED].period, 9 * 3);
    sample(f, &f->fake[1]);
    finish(f);
    assert_int_equal(f->snapshot->runtime_count, 1);
    assert_string_equal(ntk_aggregate_note(f->aggregate), "");
}

static void a_process_without_a_row_waits_for_one_with_all_it_did(void **state)
{
    struct fixture *f = *state;
    struct fake *fake;

    invent_processes(f, 100, NTK_AGGREGATE_ROWS_OF_USER);
    fake = make_users(f, 1, 1, 42);
    list_events(f, 1, 1);
    (void)ntk_aggregate_event(
        f->aggregate,
        (struct ntk_process_key){ fake->process.own_pid, 1, fake->process.start_time }, false);
    sample(f, fake);
    finish(f);
    assert_null(find_tag(f, "job 42"));
    assert_int_equal(f->snapshot->event_count, 1);
    assert_int_equal(f->snapshot->events_unlisted, 1);
    execute(fake, 4, 1000);
    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->runtime_count, 1);
    assert_int_equal(find_tag(f, "job 42")->outcome[NTK_OUTCOME_COMPLETED].period, 7);
}

/* Method: readings of random nonsense; sanitizers judge, and ratios stay in their range. */
static void nonsense_readings_give_bounded_snapshots(void **state)
{
    struct fixture *f = *state;
    uint64_t seed = 12345;

    for (int round = 0; round < 50; round++) {
        struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);
        unsigned char *bytes = (unsigned char *)fake->cores;

        for (size_t i = 0; i < sizeof fake->cores; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            bytes[i] = (unsigned char)(seed >> 56);
        }
        fake->core_count = 4;
        for (uint16_t i = 0; i < 4; i++) {
            fake->cores[i].core = (uint16_t)(i * 60); /* the last one does not exist */
            fake->cores[i].owned = true;
            fake->cores[i].has_histogram = i % 2;
        }
        for (size_t i = 0; i < NTK_HISTOGRAM_BUCKETS; i++) {
            fake->histograms[1].total.bucket[i] = seed ^ (seed << (i % 60));
        }
        fake->memory_count = 8;
        for (size_t i = 0; i < 8; i++) {
            fake->memory[i].category = (uint8_t)(seed >> i);
            fake->memory[i].core = (uint16_t)(seed >> (2 * i));
            fake->memory[i].current_bytes = seed;
        }
        if (!ntk_aggregate_knows(f->aggregate, fake->key)) {
            see(f, fake);
        }
        sample(f, fake);
        finish(f);
        for (size_t i = 0; i < f->snapshot->core_count; i++) {
            assert_true(f->snapshot->cores[i].utilization >= 0);
            assert_true(f->snapshot->cores[i].utilization <= 1);
        }
    }
}

/* Method: more tags than are kept, one after the other. */
static void the_oldest_tag_is_forgotten_first(void **state)
{
    struct fixture *f = *state;

    for (uint32_t i = 0; i < NTK_AGGREGATE_TAGS_MAX + 10; i++) {
        struct fake *fake = make_fake(f, 0, 100 + i, BEGIN + 1);

        execute(fake, 1, 1000);
        see(f, fake);
        fake->ended = true;
        sample(f, fake);
        finish(f);
        assert_int_equal(f->snapshot->tag_count, 1);
    }
    /* the first one begins again, the last one goes on */
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t pid = i == 0 ? 100 : 100 + NTK_AGGREGATE_TAGS_MAX + 9;
        struct fake *fake = make_fake(f, 0, pid, BEGIN + 1);

        execute(fake, 1, 1000);
        see(f, fake);
        fake->ended = true;
        sample(f, fake);
        finish(f);
        assert_int_equal(f->snapshot->tags[0].outcome[NTK_OUTCOME_COMPLETED], i == 0 ? 1 : 2);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_process_younger_than_the_collector_counts_from_zero),
        TEST(an_older_process_that_nobody_knows_was_unwatched_until_now),
        TEST(an_older_process_counts_from_now),
        TEST(an_older_process_counts_from_its_stored_totals),
        TEST(what_was_done_before_the_watch_is_in_no_share),
        TEST(differences_of_periods_add_up_to_the_total),
        TEST(a_histogram_that_comes_late_is_not_lost),
        TEST(a_sum_that_comes_late_is_not_lost),
        TEST(latency_is_read_while_somebody_wants_it),
        TEST(a_core_whose_process_has_others_shares_its_latency_with_nobody),
        TEST(a_counter_seen_smaller_starts_anew_from_its_value),
        TEST(busy_time_seen_smaller_waits_and_utilization_is_at_most_one),
        TEST(a_core_that_never_rests_is_wholly_busy_whenever_it_is_read),
        TEST(two_runtimes_on_one_core_add_up_on_the_machine),
        TEST(a_tag_of_two_users_is_two_tags),
        TEST(communicators_of_two_users_have_two_keys),
        TEST(a_rank_that_leaves_a_communicator_with_a_lost_one_is_remembered),
        TEST(an_ended_process_is_in_one_more_snapshot_with_its_last_counts),
        TEST(the_totals_of_a_tag_go_on_when_it_comes_back),
        TEST(a_pid_that_is_used_again_is_another_process),
        TEST(lives_of_a_process_in_one_period_keep_their_totals),
        TEST(an_older_process_counts_from_the_totals_of_this_life),
        TEST(logical_cores_of_a_pair_show_each_physical_core),
        TEST(a_released_core_is_listed_while_it_has_something_to_tell),
        TEST(an_unloaded_model_is_listed_once_more_and_its_series_stays),
        TEST(memory_groups_keep_the_highest_sum_seen),
        TEST(hooks_around_another_runtime_leave_the_inside_absent),
        TEST(ecc_is_the_difference_of_the_period_and_adds_up_since_the_start),
        cmocka_unit_test(ecc_while_no_agent_ran_is_in_totals_and_in_no_period),
        cmocka_unit_test(ecc_of_a_tree_that_appears_is_counted_once),
        TEST(cores_without_a_segment_are_told_by_the_tree),
        TEST(the_driver_is_believed_about_the_core_and_the_calls_about_what_they_returned),
        TEST(without_a_counter_of_the_driver_busy_time_is_that_of_calls_and_says_so),
        TEST(what_the_driver_counted_of_two_processes_is_given_to_neither),
        TEST(counts_of_executions_that_are_given_up_are_partial),
        TEST(executions_that_are_not_looked_at_are_absent_and_not_zero),
        TEST(a_core_of_another_runtime_is_not_idle_on_the_software_machine),
        TEST(of_another_runtime_stored_totals_go_on_without_what_nobody_watched),
        TEST(memory_of_a_model_that_is_a_difference_is_a_row_of_no_category),
        TEST(what_a_cleared_file_of_the_driver_says_is_of_the_period_when_it_can_be),
        TEST(without_anything_the_reason_is_said),
        TEST(cpu_shares_are_ticks_of_the_period),
        TEST(events_come_by_time_and_what_has_no_room_is_counted),
        TEST(a_user_with_many_events_leaves_others_theirs),
        TEST(a_process_with_many_events_leaves_others_theirs_and_errors_come_first),
        TEST(a_user_with_too_many_processes_has_the_rest_in_one_row),
        TEST(a_process_without_a_row_waits_for_one_with_all_it_did),
        TEST(nonsense_readings_give_bounded_snapshots),
        TEST(the_oldest_tag_is_forgotten_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
