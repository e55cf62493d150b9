/* SPDX-License-Identifier: MIT */
/* Method: a hand-made segment with an owner that misbehaves. */
#include "profiler/system/trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/clock.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define FIRST_PID 5000000u /* above every pid of a machine */
#define LAST_PID 2000000000u

static atomic_bool is_over;

static void *word_change(void *ctx)
{
    struct ntk_segment_trigger *trigger = ctx;

    for (uint32_t pid = FIRST_PID; !atomic_load(&is_over);
         pid = pid < LAST_PID ? pid + 1 : FIRST_PID) {
        __atomic_store_n(&trigger->asker, pid, __ATOMIC_RELEASE);
    }
    return NULL;
}

/* The word names another process each time; each of them has exited. */
static void a_constantly_changing_trigger_does_not_block_a_reader(void **state)
{
    struct ntk_segment_header header = { .magic = NTK_SEGMENT_MAGIC,
                                         .section_count = NTK_SECTION_TRIGGER + 1 };
    struct ntk_trigger_target target = { .pid = 1 };
    struct ntk_segment_trigger *trigger;
    struct ntk_err err = { 0 };
    pthread_t thread;
    char path[512];

    (void)state;
    header.section[NTK_SECTION_TRIGGER] =
        (struct ntk_segment_section){ .offset = 4096, .entry_bytes = sizeof *trigger, .count = 1 };
    (void)snprintf(path, sizeof path, "%s/segment", test_scratch_folder);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 8192), 0);
    assert_int_equal(write(fd, &header, sizeof header), (ssize_t)sizeof header);
    trigger = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
    assert_ptr_not_equal(trigger, MAP_FAILED);
    trigger->listening = 1;
    trigger->asker = FIRST_PID;
    assert_int_equal(pthread_create(&thread, NULL, word_change, trigger), 0);
    while (__atomic_load_n(&trigger->asker, __ATOMIC_ACQUIRE) == FIRST_PID) {
        sched_yield();
    }
    for (int i = 0; i < 20; i++) {
        int ret = ntk_trigger_take(&target, path, &err);

        assert_true(ret == 0 || ret == -EBUSY); /* it took the word, or gave up */
        ntk_trigger_release(&target);
    }
    atomic_store(&is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(munmap(trigger, 4096), 0);
    close(fd);
}

/* ---- how long to wait for answers ------------------------------------------------------------ */

#define TIMEOUT_MS 3000
#define NEVER_MS 1000000000

/* A process that answers, or starts to write files, at a given time of the clock. */
struct listener {
    struct test_clock clock;
    struct ntk_segment_trigger trigger;
    struct ntk_trigger_target target;
    uint64_t begin_ns;
    uint64_t answers_ms, saves_ms, stops_ms;
};

static void pass(void *ctx, uint64_t now_ns)
{
    struct listener *listener = ctx;
    uint64_t ms = (now_ns - listener->begin_ns) / NTK_NS_PER_MS;

    listener->trigger.saving = ms >= listener->saves_ms;
    if (ms >= listener->answers_ms) {
        listener->trigger.answered = listener->target.asked;
    }
}

static bool continues(void *ctx)
{
    struct listener *listener = ctx;

    return test_clock_now_ns(&listener->clock) - listener->begin_ns <
           listener->stops_ms * NTK_NS_PER_MS;
}

static void the_wait_for_a_recording_is_limited(void **state)
{
    static const struct {
        uint64_t answers_ms, saves_ms, stops_ms, ends_ms;
        bool is_answered;
    } rows[] = {
        { 20, NEVER_MS, NEVER_MS, 20, true },
        { 2980, NEVER_MS, NEVER_MS, 2980, true },
        { 3000, NEVER_MS, NEVER_MS, 3000, true }, /* an answer at the limit counts */
        { 3001, NEVER_MS, NEVER_MS, 3000, false },
        { NEVER_MS, NEVER_MS, NEVER_MS, 3000, false },
        { NEVER_MS, NEVER_MS, 100, 100, false }, /* ctrl-c */
        /* It writes its files: one minute more. */
        { 62980, 3000, NEVER_MS, 62980, true },
        { 63000, 3000, NEVER_MS, 63000, true },
        { 63001, 3000, NEVER_MS, 63000, false },
        { 4000, 3001, NEVER_MS, 3000, false }, /* started writing too late */
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct listener listener = { .target = { .pid = (uint32_t)getpid(), .asked = 1 },
                                     .trigger = { .listening = 1, .asked = 1 },
                                     .answers_ms = rows[i].answers_ms,
                                     .saves_ms = rows[i].saves_ms,
                                     .stops_ms = rows[i].stops_ms };

        test_clock_init(&listener.clock);
        listener.clock.passes_waits = true;
        listener.clock.passed = pass;
        listener.clock.ctx = &listener;
        listener.begin_ns = test_clock_now_ns(&listener.clock);
        listener.target.trigger = &listener.trigger;
        assert_int_equal(ntk_trigger_wait(&listener.clock.clock, &listener.target, 1,
                                          TIMEOUT_MS * NTK_NS_PER_MS, continues, &listener),
                         rows[i].is_answered);
        assert_int_equal(listener.target.is_answered, rows[i].is_answered);
        assert_int_equal(test_clock_now_ns(&listener.clock) - listener.begin_ns,
                         rows[i].ends_ms * NTK_NS_PER_MS);
        test_clock_fini(&listener.clock);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_constantly_changing_trigger_does_not_block_a_reader),
        cmocka_unit_test(the_wait_for_a_recording_is_limited),
    };

    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
