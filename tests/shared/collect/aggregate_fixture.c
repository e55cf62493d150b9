/* SPDX-License-Identifier: MIT */
/* aggregate_fixture - an aggregate with made-up readings and times: no segment, no clock. */
#include "tests/shared/collect/aggregate_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

static void use_all_lines(struct ntk_ring_histogram *histogram)
{
    memset(histogram->total.lines, 0xff, sizeof histogram->total.lines);
    memset(histogram->device.lines, 0xff, sizeof histogram->device.lines);
}

static int fake_core_histogram(void *ctx, uint16_t core, struct ntk_ring_histogram *out)
{
    struct fake *fake = ctx;

    fake->histograms_read++;
    for (size_t i = 0; i < fake->core_count; i++) {
        if (fake->cores[i].core == core) {
            *out = fake->histograms[i];
            use_all_lines(out);
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
    use_all_lines(out);
    return 0;
}

struct ntk_runtime_reading reading_of(struct fake *fake)
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

struct fake *make_fake(struct fixture *f, size_t index, uint32_t pid, uint64_t attached_ns)
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

void execute(struct fake *fake, uint64_t n, uint64_t ns)
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

void see(struct fixture *f, struct fake *fake)
{
    struct ntk_runtime_reading reading = reading_of(fake);

    assert_false(ntk_aggregate_knows(f->aggregate, fake->key));
    assert_int_equal(ntk_aggregate_runtime_first(f->aggregate, &reading), 0);
    assert_true(ntk_aggregate_knows(f->aggregate, fake->key));
}

void sample(struct fixture *f, struct fake *fake)
{
    struct ntk_runtime_reading reading = reading_of(fake);

    assert_int_equal(ntk_aggregate_runtime(f->aggregate, &reading), 0);
}

struct ntk_snapshot *finish(struct fixture *f)
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

int aggregate_setup(void **state)
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

int aggregate_teardown(void **state)
{
    struct fixture *f = *state;

    ntk_snapshot_destroy(f->snapshot);
    ntk_aggregate_destroy(f->aggregate);
    free(f);
    return 0;
}

struct fake *make_life(struct fixture *f, size_t index, uint64_t began_ns)
{
    struct fake *fake = make_fake(f, index, 42, began_ns);

    snprintf(fake->key, sizeof fake->key, "life %zu", index);
    return fake;
}
