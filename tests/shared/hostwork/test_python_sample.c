/* SPDX-License-Identifier: MIT */
/*
 * Method: a fake interpreter of CPython 3.10 in the memory of this program. Its thread is the
 * thread of this program, which has another number in a pretended container.
 */
#include "shared/hostwork/python_join.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/hostwork/process.h"
#include "tests/support/unit.h"

#define BASE ((uint64_t)(uintptr_t)image)
#include "tests/shared/hostwork/python_image.h"

#define INNER_TID 7u
#define TID_AT 720u

static struct ntk_host_pythons pythons;
static struct ntk_host_records records;
static struct ntk_map outer_tids;
static struct ntk_host_bpf_python event;

static int set_up(void **state)
{
    struct ntk_host_python python = { .pid = (uint32_t)getpid() };
    uint32_t pid = python.pid;

    memset(image, 0, sizeof image);
    assert_true(ntk_python_init(&python.python, 10, BASE, NULL));
    make(&python.python.offsets);
    put(THREAD + python.python.offsets.thread_native, BASE + DESCRIPTOR);
    put(DESCRIPTOR + TID_AT, INNER_TID);
    put(DESCRIPTOR + 64, INNER_TID + 1); /* the number of another thread, for another purpose */
    python.python.tid_at = TID_AT;
    ntk_vec_init(&pythons.pythons, sizeof python);
    ntk_vec_init(&pythons.samples, sizeof(struct ntk_host_python_sample));
    ntk_vec_init(&pythons.holders, sizeof(struct ntk_host_python_sample));
    assert_int_equal(ntk_vec_push(&pythons.pythons, &python), 0);
    ntk_host_records_init(&records);
    ntk_host_process_thread(&records, pid, pid, "job", 1, 1);
    ntk_host_process_thread(&records, pid, pid + 1, "job", 1, 1);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(ntk_map_put_number(&outer_tids,
                                            ntk_host_process_inner_key(pid, INNER_TID + i),
                                            (void *)(uintptr_t)(pid + i)),
                         0);
    }
    pythons.outer_tids = &outer_tids;
    (void)state;
    return 0;
}

static int tear_down(void **state)
{
    ntk_host_pythons_fini(&pythons);
    ntk_host_records_fini(&records);
    ntk_map_fini(&outer_tids);
    memset(&pythons, 0, sizeof pythons);
    memset(&event, 0, sizeof event);
    (void)state;
    return 0;
}

static struct ntk_host_python *only_python(void)
{
    return ntk_vec_at(&pythons.pythons, 0);
}

/* The last sample is of this thread, in "load" called by "main"; line 0 means unknown. */
static void assert_sampled(uint32_t line)
{
    assert_true(pythons.samples.count > 0);
    const struct ntk_host_python_sample *sample =
        ntk_vec_at(&pythons.samples, pythons.samples.count - 1);
    const struct ntk_host_frame *frame = ntk_host_stacks_at(&records.stacks, sample->stack);

    assert_int_equal(sample->tid, getpid());
    assert_non_null(frame);
    assert_string_equal(frame->name, "load");
    assert_string_equal(frame->module, "loader.py");
    assert_int_equal(frame->line, line);
    assert_string_equal(ntk_host_stacks_at(&records.stacks, frame->parent)->name, "main");
}

static void functions_of_python_3_10_in_a_container_are_read(void **state)
{
    ntk_host_pythons_sample(&pythons, &records);
    assert_int_equal(pythons.samples.count, 1);
    assert_sampled(12);
}

static void without_the_published_position_no_number_is_taken_for_a_tid(void **state)
{
    only_python()->python.tid_at = 0;
    ntk_host_pythons_sample(&pythons, &records);
    assert_int_equal(pythons.samples.count, 0);
}

static void the_bpf_program_gets_an_interpreter_once_if_its_threads_can_be_identified(void **state)
{
    struct ntk_host_bpf_interpreter interpreter;
    uint32_t pid = (uint32_t)getpid();

    only_python()->python.tid_at = 0;
    assert_false(ntk_host_pythons_interpreter(&pythons, pid, &interpreter));
    only_python()->python.tid_at = TID_AT;
    assert_true(ntk_host_pythons_interpreter(&pythons, pid, &interpreter));
    assert_int_equal(interpreter.python.tid_at, TID_AT);
    assert_int_equal(*(const uint64_t *)(uintptr_t)interpreter.threads, BASE + THREAD);
    assert_int_equal(*(const uint64_t *)(uintptr_t)interpreter.holder, BASE + OTHER_THREAD);
    assert_true(interpreter.lock_end > interpreter.lock_start);
    assert_false(ntk_host_pythons_interpreter(&pythons, pid, &interpreter));
    assert_false(ntk_host_pythons_interpreter(&pythons, pid + 1, &interpreter));
}

/* Two frames, as the BPF program reads them. */
static void make_event(void)
{
    event.event.kind = NTK_HOST_BPF_PYTHON;
    event.event.pid = event.event.tid = (uint32_t)getpid();
    event.event.start_ns = 5;
    event.count = 2;
    event.frames[0] = (struct ntk_host_bpf_frame){ BASE + CODE, BASE + NAME, BASE + FILE_NAME, 12 };
    event.frames[1] =
        (struct ntk_host_bpf_frame){ BASE + OUTER_CODE, BASE + OUTER_NAME, BASE + FILE_NAME, 0 };
}

static void frames_of_the_bpf_program_get_names(void **state)
{
    make_event();
    ntk_host_pythons_take(&pythons, &event, &records);
    assert_sampled(12);
    assert_int_equal(((struct ntk_host_python_sample *)ntk_vec_at(&pythons.samples, 0))->time_ns,
                     5);
    event.frames[0].line = UINT64_MAX; /* not a line */
    ntk_host_pythons_take(&pythons, &event, &records);
    assert_sampled(0);
}

static void another_function_in_the_same_place_is_not_taken_for_the_old_one(void **state)
{
    make_event();
    ntk_host_pythons_take(&pythons, &event, &records);
    event.frames[0].name = BASE + OUTER_NAME;
    ntk_host_pythons_take(&pythons, &event, &records);
    const struct ntk_host_python_sample *sample = ntk_vec_at(&pythons.samples, 1);
    assert_string_equal(ntk_host_stacks_at(&records.stacks, sample->stack)->name, "main");
    /* A name that cannot be read is not guessed, and the caller is not taken for the function. */
    event.frames[0].name = 1;
    ntk_host_pythons_take(&pythons, &event, &records);
    sample = ntk_vec_at(&pythons.samples, 2);
    assert_string_equal(ntk_host_stacks_at(&records.stacks, sample->stack)->name, "[unknown]");
}

static void invalid_events_are_ignored(void **state)
{
    make_event();
    event.count = NTK_PYTHON_FRAMES_MAX + 1;
    ntk_host_pythons_take(&pythons, &event, &records);
    event.count = 2;
    event.event.pid++; /* a process without an interpreter */
    ntk_host_pythons_take(&pythons, &event, &records);
    assert_int_equal(pythons.samples.count, 0);
}

static void the_holder_of_the_lock_is_another_thread_of_the_process(void **state)
{
    uint32_t pid = (uint32_t)getpid();
    struct ntk_host_bpf_event wait = { .pid = pid, .tid = pid, .holder = INNER_TID + 1 };

    assert_int_equal(ntk_host_pythons_holder(&pythons, &wait, &records), pid + 1);
    wait.holder = INNER_TID; /* itself, as after a forced switch */
    assert_int_equal(ntk_host_pythons_holder(&pythons, &wait, &records), 0);
    wait.holder = INNER_TID + 2;
    assert_int_equal(ntk_host_pythons_holder(&pythons, &wait, &records), 0);
    pythons.outer_tids = NULL; /* outside of a container, the process may write any number */
    wait.holder = pid + 1;
    assert_int_equal(ntk_host_pythons_holder(&pythons, &wait, &records), pid + 1);
    wait.holder = pid + 2;
    ntk_host_process_thread(&records, pid + 2, pid + 2, "other", 1, 1);
    assert_int_equal(ntk_host_pythons_holder(&pythons, &wait, &records), 0);
    wait.holder = pid;
    assert_int_equal(ntk_host_pythons_holder(&pythons, &wait, &records), 0);
    (void)state;
}

static void an_interpreter_of_an_earlier_program_of_the_process_is_not_read(void **state)
{
    struct ntk_host_modules modules = { .pid = (uint32_t)getpid() };
    struct ntk_host_bpf_interpreter interpreter;

    ntk_vec_init(&modules.modules, sizeof(struct ntk_host_module));
    ntk_host_pythons_find(&pythons, &modules);
    ntk_host_pythons_sample(&pythons, &records);
    assert_int_equal(pythons.samples.count, 1);
    modules.image = 1; /* after exec() */
    ntk_host_pythons_find(&pythons, &modules);
    assert_false(ntk_host_pythons_interpreter(&pythons, modules.pid, &interpreter));
    ntk_host_pythons_sample(&pythons, &records);
    assert_int_equal(pythons.samples.count, 1);
    /* The waits of the earlier program still have its frames. */
    assert_ptr_equal(ntk_host_pythons_of(&pythons, modules.pid), only_python());
    ntk_host_modules_fini(&modules);
    (void)state;
}

/* Method: `cat` replaces this program in a child. The second pipe is closed when that happens, and
 * `cat` exits at the end of its input, the first one. */
static void exec_changes_the_image_of_a_process(void **state)
{
    int input[2];
    int closed[2];
    char byte;

    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    assert_int_equal(pipe2(closed, O_CLOEXEC), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (dup2(input[0], 0) == 0 && read(0, &byte, 1) == 1) {
            execlp("cat", "cat", (char *)NULL);
        }
        _exit(1);
    }
    close(closed[1]);
    uint64_t before = ntk_host_process_image((uint32_t)child);
    assert_true(before != 0);
    assert_int_equal(ntk_host_process_image((uint32_t)child), before);
    assert_int_equal(write(input[1], "x", 1), 1);
    assert_int_equal(read(closed[0], &byte, 1), 0);
    uint64_t after = ntk_host_process_image((uint32_t)child);
    assert_true(after != 0 && after != before);
    close(input[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(ntk_host_process_image((uint32_t)child), 0);
    close(input[0]);
    close(closed[0]);
    (void)state;
}

static size_t read_self(void *ctx, const struct ntk_host_range *ranges, size_t count, void *out)
{
    (void)ctx;
    assert_int_equal(count, 1);
    memcpy(out, (const void *)(uintptr_t)ranges->address, ranges->bytes); // NOLINT(*-int-to-ptr)
    return ranges->bytes;
}

static void the_c_library_publishes_where_a_thread_descriptor_has_its_tid(void **state)
{
#if defined(__GLIBC__)
    const struct ntk_host_memory self = { read_self, NULL };
    struct ntk_host_modules modules = { 0 };
    struct ntk_host_files files = { 0 };
    uint32_t tid;

    ntk_host_modules_read(&modules, (uint32_t)getpid(), &files, ntk_host_pythons_is_file);
    uint32_t at = ntk_host_pythons_tid_at(&modules, &self);
    assert_true(at > 0);
    memcpy(&tid, (const char *)pthread_self() + at, sizeof tid); // NOLINT(*-int-to-ptr)
    assert_int_equal(tid, syscall(SYS_gettid));
    ntk_host_modules_fini(&modules);
    ntk_host_files_fini(&files);
#else
    skip();
#endif
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(functions_of_python_3_10_in_a_container_are_read),
        TEST(without_the_published_position_no_number_is_taken_for_a_tid),
        TEST(the_bpf_program_gets_an_interpreter_once_if_its_threads_can_be_identified),
        TEST(frames_of_the_bpf_program_get_names),
        TEST(another_function_in_the_same_place_is_not_taken_for_the_old_one),
        TEST(invalid_events_are_ignored),
        TEST(the_holder_of_the_lock_is_another_thread_of_the_process),
        TEST(an_interpreter_of_an_earlier_program_of_the_process_is_not_read),
        cmocka_unit_test(exec_changes_the_image_of_a_process),
        cmocka_unit_test(the_c_library_publishes_where_a_thread_descriptor_has_its_tid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
