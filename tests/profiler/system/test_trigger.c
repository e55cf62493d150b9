/* SPDX-License-Identifier: MIT */
/* Method: a hand-made segment whose owner plays foul. */
#include "profiler/system/trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* The word names another process each time; each of them has ended. */
static void a_word_that_always_changes_blocks_no_reader(void **state)
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

        assert_true(ret == 0 || ret == -EBUSY); /* it got the word, or gave up */
        ntk_trigger_release(&target);
    }
    atomic_store(&is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(munmap(trigger, 4096), 0);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_that_always_changes_blocks_no_reader),
    };

    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
