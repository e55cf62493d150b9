/* SPDX-License-Identifier: MIT */
/* How long diag waits for its workers, by a clock of the test. Workers are children that follow
 * commands of the test. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/diag/diag.h"
#include "shared/base/clock.h"
#include "tests/support/clock.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define LIMIT_NS (3600 * NTK_NS_PER_SECOND)

/* Shared with the children. */
static struct {
    _Atomic uint64_t now_ns;
    _Atomic unsigned int reads; /* reads of the clock by the parent */
} * shared;

static uint64_t shared_ns(void *ctx)
{
    (void)ctx;
    atomic_fetch_add(&shared->reads, 1);
    return atomic_load(&shared->now_ns);
}

static const struct ntk_clock clock_of_children = { .monotonic_ns = shared_ns,
                                                    .realtime_ns = shared_ns };

static void ignore(int number)
{
    (void)number;
}

/* The parent waits for a message or for its limit; after a signal it checks the clock again. */
static void parent_looks(unsigned int times)
{
    unsigned int from = atomic_load(&shared->reads);

    while (atomic_load(&shared->reads) < from + times) {
        (void)kill(getppid(), SIGUSR1);
        (void)usleep(1000);
    }
}

static void tell(int fd, enum ntk_diag_message_kind kind)
{
    struct ntk_diag_message message = { .kind = kind };

    message.result = ntk_diag_result_make(NTK_DIAG_CORE_TEST, NTK_DIAG_PASS, 0, 0);
    if (write(fd, &message, sizeof message) != (ssize_t)sizeof message) {
        _exit(1);
    }
    parent_looks(4); /* the parent has read it */
}

/* Sends each message just within the limit, then nothing until the limit has passed. */
static int late_worker(const struct ntk_diag_plan *plan, const struct ntk_diag_work *work, int fd)
{
    (void)work;
    atomic_fetch_add(&shared->now_ns, plan->timeout_ns - 1);
    parent_looks(4);
    tell(fd, NTK_DIAG_BEGINS);
    atomic_fetch_add(&shared->now_ns, plan->timeout_ns - 1);
    parent_looks(4);
    tell(fd, NTK_DIAG_RESULT);
    tell(fd, NTK_DIAG_BEGINS);
    atomic_fetch_add(&shared->now_ns, plan->timeout_ns);
    parent_looks(UINT32_MAX / 2); /* killed by the parent meanwhile */
    return 1;
}

static int good_worker(const struct ntk_diag_plan *plan, const struct ntk_diag_work *work, int fd)
{
    struct ntk_diag_message message = { .kind = NTK_DIAG_RESULT };

    (void)plan;
    message.result = ntk_diag_result_make(NTK_DIAG_CORE_TEST, NTK_DIAG_PASS, 0, (int)work->core);
    return write(fd, &message, sizeof message) == (ssize_t)sizeof message ? 0 : 1;
}

struct fixture {
    struct ntk_diag diag;
    struct test_clock clock;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    const struct sigaction action = { .sa_handler = ignore };

    test_scratch_set_up(NULL);
    (void)setenv("NEURON_HOOKS_DIR", test_scratch_folder, 1);
    (void)sigaction(SIGUSR1, &action, NULL);
    atomic_store(&shared->now_ns, LIMIT_NS);
    test_clock_init(&f->clock);
    f->clock.passes_waits = true;
    f->diag.clock = &f->clock.clock;
    f->diag.plan = (struct ntk_diag_plan){
        .timeout_ns = LIMIT_NS, .is_software = true, .cores_per_device = 2, .lnc = 1
    };
    f->diag.cores[f->diag.core_count++] = 5;
    ntk_vec_init(&f->diag.results, sizeof(struct ntk_diag_result));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    ntk_vec_fini(&f->diag.results);
    test_clock_fini(&f->clock);
    free(f);
    return test_scratch_tear_down(NULL);
}

static void a_silent_diagnostic_worker_is_killed_at_the_limit(void **state)
{
    struct fixture *f = *state;
    const struct ntk_diag_work work = { .job = NTK_DIAG_JOB_TESTS };

    f->diag.clock = &clock_of_children;
    f->diag.worker = late_worker;
    ntk_diag_run(&f->diag, &work, 1, 1);

    assert_int_equal(f->diag.results.count, 2);
    const struct ntk_diag_result *first = ntk_vec_at(&f->diag.results, 0);
    assert_int_equal(first->verdict, NTK_DIAG_PASS);
    const struct ntk_diag_result *last = ntk_vec_at(&f->diag.results, 1);
    assert_int_equal(last->verdict, NTK_DIAG_FAIL);
    assert_string_equal(last->reason, "no answer within 3600 s: the process was killed");
}

static unsigned int looks;
static unsigned int looks_owned;

static struct ntk_diag_owner owner_for_a_while(const struct ntk_diag_plan *plan, uint32_t core)
{
    (void)plan;
    assert_int_equal(core, 5);
    looks++;
    return (struct ntk_diag_owner){ .pid = looks <= looks_owned ? 7 : 0, .command = "train" };
}

static void the_wait_for_a_core_in_use_ends_at_the_requested_time(void **state)
{
    struct fixture *f = *state;
    struct ntk_err err = { 0 };
    uint64_t begun_ns = test_clock_now_ns(&f->clock);

    f->diag.owner_of = owner_for_a_while;
    looks = 0;
    looks_owned = 9; /* a tenth of a second each */
    assert_int_equal(ntk_diag_owner_await(&f->diag, NTK_NS_PER_SECOND, &err), 0);
    assert_int_equal(test_clock_now_ns(&f->clock) - begun_ns, 900 * NTK_NS_PER_MS);

    begun_ns = test_clock_now_ns(&f->clock);
    looks = 0;
    looks_owned = 1000;
    assert_int_equal(ntk_diag_owner_await(&f->diag, NTK_NS_PER_SECOND, &err), -EBUSY);
    assert_int_equal(test_clock_now_ns(&f->clock) - begun_ns, NTK_NS_PER_SECOND);
    assert_non_null(strstr(err.text, "process 7 (train) holds core 5: no test ran"));

    looks = 0;
    begun_ns = test_clock_now_ns(&f->clock);
    assert_int_equal(ntk_diag_owner_await(&f->diag, 0, &err), -EBUSY);
    assert_int_equal(test_clock_now_ns(&f->clock), begun_ns);
}

static bool is_unwanted(const struct ntk_diag_plan *plan, uint32_t core, uint32_t worker)
{
    (void)plan;
    (void)core;
    (void)worker;
    return false;
}

static void a_canary_round_starts_at_every_interval(void **state)
{
    struct fixture *f = *state;
    const uint64_t interval_ns =
        2 * NTK_NS_PER_SECOND; /* a longer interval means more polls per round */
    const struct ntk_diag_canary_options options = { .interval_ns = interval_ns, .rounds = 4 };
    uint64_t begun_ns = test_clock_now_ns(&f->clock);

    f->diag.owner_of = owner_for_a_while;
    f->diag.is_wanted = is_unwanted;
    f->diag.worker = good_worker;
    looks = 0;
    looks_owned = 1; /* of the first round */
    assert_int_equal(ntk_diag_canary(&f->diag, &options), EXIT_SUCCESS);
    assert_int_equal(looks, 4);
    assert_int_equal(test_clock_now_ns(&f->clock) - begun_ns, 3 * interval_ns);
    assert_int_equal(f->diag.results.count, 1); /* of the last round */
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_silent_diagnostic_worker_is_killed_at_the_limit),
        CASE(the_wait_for_a_core_in_use_ends_at_the_requested_time),
        CASE(a_canary_round_starts_at_every_interval),
    };

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
