/* SPDX-License-Identifier: MIT */
/* Method: observes this process. One of its threads waits for one pipe, then for another. */
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/hostwork/sampler.h"
#include "tests/support/asleep.h"

struct fixture {
    int pipes[2][2];
    pthread_t thread;
    _Atomic int tid;
    size_t waits; /* waits that the test has ended */
    bool is_joined;
    _Atomic bool is_polled;
    struct ntk_host_records records;
    struct ntk_host_sampler *sampler;
};

static void *wait_for_both(void *ctx)
{
    struct fixture *f = ctx;
    char byte;

    atomic_store(&f->tid, (int)syscall(SYS_gettid));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(read(f->pipes[i][0], &byte, 1), 1);
    }
    return NULL;
}

static void end_wait(struct fixture *f)
{
    assert_int_equal(write(f->pipes[f->waits++][1], "x", 1), 1);
}

static void end_thread(struct fixture *f)
{
    while (f->waits < 2) {
        end_wait(f);
    }
    assert_int_equal(pthread_join(f->thread, NULL), 0);
    f->is_joined = true;
}

static int begin(void **state)
{
    static struct fixture f;
    struct ntk_host_sampler_options options = { .pid = (uint32_t)getpid() };
    struct ntk_err err = { 0 };

    f = (struct fixture){ 0 };
    assert_int_equal(pipe(f.pipes[0]), 0);
    assert_int_equal(pipe(f.pipes[1]), 0);
    assert_int_equal(pthread_create(&f.thread, NULL, wait_for_both, &f), 0);
    test_wait_asleep(&f.tid);
    ntk_host_records_init(&f.records);
    f.records.start_ns = ntk_clock_monotonic_ns();
    assert_int_equal(ntk_host_sampler_proc.open(&options, &f.records, NULL, &f.sampler, &err), 0);
    *state = &f;
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;

    if (!f->is_joined) {
        end_thread(f);
    }
    ntk_host_sampler_proc.close(f->sampler);
    ntk_host_records_fini(&f->records);
    for (int i = 0; i < 4; i++) {
        close(f->pipes[i / 2][i % 2]);
    }
    return 0;
}

/* The only slice of the thread; NULL if there is none. */
static const struct ntk_host_slice *only_slice(struct fixture *f, uint32_t tid)
{
    const struct ntk_host_slice *found = NULL;

    ntk_vec_each(const struct ntk_host_slice, slice, &f->records.slices) {
        if (slice->tid == tid) {
            assert_null(found);
            found = slice;
        }
    }
    return found;
}

static int is_gone(void *ctx)
{
    const struct fixture *f = ctx;
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/self/task/%d", f->tid);
    return access(path, F_OK) != 0;
}

static uint64_t finish(struct fixture *f)
{
    uint64_t now_ns = ntk_clock_monotonic_ns();

    ntk_host_sampler_proc.finish(f->sampler, now_ns);
    return now_ns;
}

static const struct ntk_host_thread *thread_of(struct fixture *f)
{
    return ntk_host_records_thread(&f->records, (uint32_t)f->tid);
}

static void the_last_observed_thread_state_lasts_until_the_end(void **state)
{
    struct fixture *f = *state;

    ntk_host_sampler_proc.poll(f->sampler, true);
    end_wait(f);
    test_wait_asleep(&f->tid); /* in the second wait, while all cores are busy */
    ntk_host_sampler_proc.poll(f->sampler, false);
    uint64_t now_ns = finish(f);

    const struct ntk_host_slice *slice = only_slice(f, (uint32_t)f->tid);
    assert_non_null(slice);
    assert_int_equal(slice->syscall, SYS_read);
    assert_int_equal(slice->argument[0], f->pipes[0][0]);
    assert_int_equal(slice->start_ns, f->records.start_ns);
    assert_int_equal(slice->end_ns, now_ns);
    assert_int_equal(thread_of(f)->last_ns, now_ns);
}

static void a_thread_without_samples_has_no_state(void **state)
{
    struct fixture *f = *state;

    ntk_host_sampler_proc.poll(f->sampler, false);
    (void)finish(f);

    assert_null(only_slice(f, (uint32_t)f->tid));
    assert_int_equal(thread_of(f)->last_ns, 0);
}

static void the_state_of_an_exited_thread_counts_until_its_last_sample(void **state)
{
    struct fixture *f = *state;

    ntk_host_sampler_proc.poll(f->sampler, true);
    uint64_t seen_ns = thread_of(f)->last_ns;
    end_thread(f);
    assert_true(test_wait_until(is_gone, f));
    (void)finish(f);

    assert_int_equal(only_slice(f, (uint32_t)f->tid)->end_ns, seen_ns);
    assert_int_equal(thread_of(f)->last_ns, seen_ns);
}

static void *poll_twice(void *ctx)
{
    struct fixture *f = ctx;
    _Atomic int main_tid = getpid();

    ntk_host_sampler_proc.poll(f->sampler, true);
    atomic_store(&f->is_polled, true);
    test_wait_asleep(&main_tid);
    ntk_host_sampler_proc.poll(f->sampler, true);
    return NULL;
}

static void a_running_sample_precedes_the_following_wait_slice(void **state)
{
    struct fixture *f = *state;
    pthread_t other;

    assert_int_equal(pthread_create(&other, NULL, poll_twice, f), 0);
    while (!atomic_load(&f->is_polled)) { /* this thread runs */
    }
    assert_int_equal(pthread_join(other, NULL), 0);

    const struct ntk_host_sample *sample = ntk_vec_at(&f->records.samples, 0);
    assert_int_equal(f->records.samples.count, 1);
    assert_int_equal(sample->tid, getpid());
    const struct ntk_host_slice *slice = only_slice(f, (uint32_t)getpid());
    assert_non_null(slice);
    assert_true(sample->time_ns < slice->start_ns);
    assert_int_equal(ntk_host_slice_cause(slice), NTK_HOST_WAIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_last_observed_thread_state_lasts_until_the_end, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_thread_without_samples_has_no_state, begin, end),
        cmocka_unit_test_setup_teardown(the_state_of_an_exited_thread_counts_until_its_last_sample,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_running_sample_precedes_the_following_wait_slice, begin,
                                        end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
