/* SPDX-License-Identifier: MIT */
/* Host functions as kernels: where they run, how long they take on the device, and what is
 * counted. */
#include "runtime-hooks/core/core_kernel.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/core/core_counters.h"
#include "runtime-hooks/core/core_handle.h"
#include "runtime-hooks/core/core_trace.h"
#include "tests/runtime-hooks/core/core_fixture.h"
#include "tests/support/unit.h"

#define LAUNCH_NS 1000U

struct job {
    struct ntk_core_kernel_work work;
    enum ntk_core_outcome outcome;
    int times;
};

static enum ntk_core_outcome compute(void *ctx, struct ntk_core_kernel_work *out_work,
                                     struct ntk_err *err)
{
    struct job *job = ctx;

    job->times++;
    *out_work = job->work;
    if (job->outcome != NTK_CORE_COMPLETED) {
        (void)ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "the job says so");
    }
    return job->outcome;
}

static struct ntk_core_kernel *kernel_make(struct core_fixture *f)
{
    const struct ntk_core_kernel_options options = { .name = "job", .code_bytes = 4096 };
    struct ntk_core_kernel *kernel = NULL;

    assert_int_equal(ntk_core_kernel_create(f->core, &options, &kernel, &f->err), 0);
    return kernel;
}

static enum ntk_core_outcome run(struct core_fixture *f, struct ntk_core_kernel *kernel,
                                 struct job *job, uint32_t first, uint32_t width, double share)
{
    const struct ntk_core_kernel_run run = { .first_ncs = &first,
                                             .first_nc_count = 1,
                                             .width = width,
                                             .share = share,
                                             .compute = compute,
                                             .ctx = job };
    enum ntk_core_outcome outcome = NTK_CORE_FAILED;

    assert_int_equal(ntk_core_kernel_run(kernel, &run, &outcome, &f->err), 0);
    return outcome;
}

/* A trn1 core: 2 x 128 x 128 x 2.8 GHz, 128 lanes of 1.12 GHz, 410 GB/s. */
static void the_duration_of_a_kernel_run_follows_from_its_work(void **state)
{
    static const struct {
        struct ntk_core_kernel_work work;
        uint32_t width;
        double share;
        uint64_t ns;
    } cases[] = {
        { { 0 }, 1, 1, LAUNCH_NS },
        { { .flops = UINT64_C(91750400000) }, 1, 1, LAUNCH_NS + 1000000 },
        { { .flops = UINT64_C(91750400000) }, 2, 1, LAUNCH_NS + 500000 },
        { { .flops = UINT64_C(91750400000) }, 1, 0.25, LAUNCH_NS + 4000000 },
        { { .vector_elements = 143360000 }, 1, 1, LAUNCH_NS + 1000000 },
        { { .read_bytes = 205000000, .written_bytes = 205000000 }, 1, 1, LAUNCH_NS + 1000000 },
        /* Cores share the bandwidth of their memory. */
        { { .read_bytes = 410000000 }, 2, 1, LAUNCH_NS + 1000000 },
        { { .flops = UINT64_C(91750400000), .read_bytes = 41 }, 1, 1, LAUNCH_NS + 1000000 },
    };
    struct core_fixture *f = *state;
    struct ntk_core_kernel *kernel = kernel_make(f);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job job = { .work = cases[i].work, .outcome = NTK_CORE_COMPLETED };
        uint64_t before = ntk_core_device_clock_ns(f->core, 0);

        assert_int_equal(run(f, kernel, &job, 0, cases[i].width, cases[i].share),
                         NTK_CORE_COMPLETED);
        assert_int_equal(job.times, 1);
        uint64_t ns = ntk_core_device_clock_ns(f->core, 0) - before;
        assert_in_range(ns, cases[i].ns, cases[i].ns + 1); /* rounded up */
    }
    ntk_core_kernel_drop(kernel);
}

static void the_work_of_a_kernel_run_is_counted_on_each_core_that_it_uses(void **state)
{
    struct core_fixture *f = *state;
    struct ntk_core_kernel *kernel = kernel_make(f);
    struct job job = { .work = { .flops = 4000 } };
    struct ntk_core_counts counts[2];

    assert_int_equal(run(f, kernel, &job, 0, 2, 1), NTK_CORE_COMPLETED);
    for (uint32_t nc = 0; nc < 2; nc++) {
        assert_int_equal(ntk_core_counts_get(f->core, nc, &counts[nc]), 0);
        assert_int_equal(counts[nc].macs, 1000);
        assert_true(ntk_core_device_clock_ns(f->core, nc) > LAUNCH_NS);
    }
    ntk_core_kernel_drop(kernel);
}

/* A sync point has both clocks at the start, as for executions of models. */
static void a_traced_kernel_run_has_a_sync_point(void **state)
{
    struct core_fixture *f = *state;
    struct ntk_core_kernel *kernel = kernel_make(f);
    struct job job = { .work = { .flops = 4000 } };
    const struct ntk_core_trace_options options = {
        .core_count = 1, .kinds = (UINT64_C(1) << NTK_CORE_TRACE_KINDS) - 1, .events_per_core = 64
    };
    struct ntk_ntrace_event events[64];
    size_t syncs = 0;

    assert_int_equal(ntk_core_trace_start(NTK_CORE_TRACE_INSPECT, &options, &f->err), 0);
    assert_int_equal(run(f, kernel, &job, 0, 1, 1), NTK_CORE_COMPLETED);
    size_t count = ntk_core_trace_take(NTK_CORE_TRACE_INSPECT, 0, events, 64, NULL);
    assert_int_equal(ntk_core_trace_stop(NTK_CORE_TRACE_INSPECT), 0);
    for (size_t i = 0; i + 1 < count; i++) {
        if (events[i].kind == NTK_CORE_TRACE_SYNC) {
            assert_int_equal(events[i + 1].kind, NTK_CORE_TRACE_RUNNING);
            assert_int_equal(events[i + 1].phase, NTK_NTRACE_START);
            assert_true(events[i + 1].time_ns == events[i].time_ns);
            assert_int_equal(events[i + 1].device_ns, events[i].device_ns);
            syncs++;
        }
    }
    assert_int_equal(syncs, 1);
    ntk_core_kernel_drop(kernel);
}

static void a_kernel_run_has_the_outcome_reported_by_its_job(void **state)
{
    struct core_fixture *f = *state;
    struct ntk_core_kernel *kernel = kernel_make(f);
    struct job job = { .outcome = NTK_CORE_OUT_OF_BOUNDS };

    assert_int_equal(run(f, kernel, &job, 1, 1, 1), NTK_CORE_OUT_OF_BOUNDS);
    assert_string_equal(f->err.text, "the job says so");
    ntk_core_kernel_drop(kernel);
}

static void an_invalid_kernel_run_is_rejected(void **state)
{
    struct core_fixture *f = *state;
    struct ntk_core_kernel *kernel = kernel_make(f);
    const struct ntk_core_kernel_options nowhere = { .nc = 2 };
    struct ntk_core_kernel *none = NULL;
    enum ntk_core_outcome outcome = NTK_CORE_FAILED;
    struct job job = { .times = 0 };
    uint32_t first = 1;
    struct ntk_core_kernel_run run = { .first_ncs = &first,
                                       .first_nc_count = 1,
                                       .width = 2,
                                       .share = 1,
                                       .compute = compute,
                                       .ctx = &job };

    assert_int_equal(ntk_core_kernel_create(f->core, &nowhere, &none, &f->err), -EINVAL);
    assert_null(none);
    assert_int_equal(ntk_core_kernel_run(kernel, &run, &outcome, &f->err), -EINVAL);
    run.width = 0;
    assert_int_equal(ntk_core_kernel_run(kernel, &run, &outcome, &f->err), -EINVAL);
    run.width = UINT32_MAX;
    assert_int_equal(ntk_core_kernel_run(kernel, &run, &outcome, &f->err), -EINVAL);
    run.width = 1;
    run.share = 0;
    assert_int_equal(ntk_core_kernel_run(kernel, &run, &outcome, &f->err), -EINVAL);
    run.share = 1.5;
    assert_int_equal(ntk_core_kernel_run(kernel, &run, &outcome, &f->err), -EINVAL);
    run.share = 1;
    run.first_nc_count = 0;
    assert_int_equal(ntk_core_kernel_run(kernel, &run, &outcome, &f->err), -EINVAL);
    assert_int_equal(job.times, 0);
    ntk_core_kernel_drop(kernel);
    ntk_core_kernel_drop(NULL);
}

/* --- two at the same time --------------------------------------------------------------------- */

struct pair {
    atomic_int inside;
    atomic_bool met;
};

static enum ntk_core_outcome meet(void *ctx, struct ntk_core_kernel_work *out_work,
                                  struct ntk_err *err)
{
    struct pair *pair = ctx;

    (void)out_work;
    (void)err;
    atomic_fetch_add(&pair->inside, 1);
    while (atomic_load(&pair->inside) < 2) {
    }
    atomic_store(&pair->met, true);
    return NTK_CORE_COMPLETED;
}

struct meeting {
    struct ntk_core_kernel *kernel;
    struct pair *pair;
};

static void *meeting_run(void *ctx)
{
    static const uint32_t either[] = { 0, 1 };
    const struct meeting *meeting = ctx;
    const struct ntk_core_kernel_run run = { .first_ncs = either,
                                             .first_nc_count = 2,
                                             .width = 1,
                                             .share = 1,
                                             .compute = meet,
                                             .ctx = meeting->pair };
    enum ntk_core_outcome outcome = NTK_CORE_FAILED;
    struct ntk_err err = { 0 };

    return ntk_core_kernel_run(meeting->kernel, &run, &outcome, &err) == 0 ? NULL : (void *)1;
}

/* Each run uses the free core; on a single core they would wait for each other forever. */
static void kernel_runs_use_free_cores(void **state)
{
    struct core_fixture *f = *state;
    struct pair pair = { .inside = 0 };
    struct meeting meeting = { kernel_make(f), &pair };
    pthread_t threads[2];

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, meeting_run, &meeting), 0);
    }
    for (size_t i = 0; i < 2; i++) {
        void *result = (void *)1;

        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_null(result);
    }
    assert_true(atomic_load(&pair.met));
    ntk_core_kernel_drop(meeting.kernel);
}

/* --- handles that are created before they are published --------------------------------------- */

struct thing {
    struct ntk_core_handle handle;
    int value;
};

static int released;

static void thing_release(struct ntk_core_handle *handle)
{
    (void)handle;
    released++;
}

static struct ntk_core_handle_pool things = NTK_CORE_HANDLE_POOL_INIT(struct thing, thing_release);

static void a_hidden_handle_can_be_used_only_after_it_is_published(void **state)
{
    struct thing *thing = ntk_core_handle_create_hidden(&things);

    assert_non_null(thing);
    assert_null(ntk_core_handle_take(&things, thing));
    thing->value = 7;
    ntk_core_handle_show(thing);
    assert_ptr_equal(ntk_core_handle_take(&things, thing), thing);
    ntk_core_handle_drop(&things, thing);
    assert_int_equal(released, 0);
    assert_true(ntk_core_handle_close(&things, thing));
    assert_int_equal(released, 1);

    struct thing *never = ntk_core_handle_create_hidden(&things);
    assert_non_null(never);
    assert_false(ntk_core_handle_close(&things, never));
    ntk_core_handle_drop(&things, never);
    assert_int_equal(released, 2);
}

int main(void)
{
#define CORE(test) cmocka_unit_test_setup_teardown(test, core_fixture_setup, core_fixture_teardown)
    const struct CMUnitTest tests[] = {
        CORE(the_duration_of_a_kernel_run_follows_from_its_work),
        CORE(the_work_of_a_kernel_run_is_counted_on_each_core_that_it_uses),
        CORE(a_traced_kernel_run_has_a_sync_point),
        CORE(a_kernel_run_has_the_outcome_reported_by_its_job),
        CORE(an_invalid_kernel_run_is_rejected),
        CORE(kernel_runs_use_free_cores),
        cmocka_unit_test(a_hidden_handle_can_be_used_only_after_it_is_published),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
