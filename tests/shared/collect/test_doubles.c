/* SPDX-License-Identifier: MIT */
/*
 * A process that is reported by an attached program and also has its own segment is counted once.
 *
 * Method: a child attaches in a folder that is not watched. A copy of its empty segment, marked as
 * attached and locked, goes into the folder of the collector; each execution counts in both. The
 * child's own segment is moved there later.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/collect/collect.h"
#include "tests/support/observed.h"
#include "tests/support/observed_mlp.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

/* Orders are a number of executions, or: */
#define ORDER_END 0
#define ORDER_MOVE 1000

struct folders {
    char *hidden;
    char *seen;
};

static const char *file_name(const char *path)
{
    return strrchr(path, '/') + 1;
}

/* Copies its segment as an attached program would write it. Both locks must stay, so no descriptor
 * is closed. */
static unsigned char *copy_as_attached(const struct folders *folders, const char *own_path)
{
    char *path = test_scratch_path(folders->seen, "1-1");
    int from = open(own_path, O_RDWR | O_CLOEXEC);
    int to = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
    struct stat status;

    if (from < 0 || to < 0 || fstat(from, &status) != 0 || ftruncate(to, status.st_size) != 0 ||
        fcntl(to, F_SETLK, &lock) != 0) {
        abort();
    }
    size_t bytes = (size_t)status.st_size;
    const unsigned char *own = mmap(NULL, bytes, PROT_READ, MAP_SHARED, from, 0);
    unsigned char *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, to, 0);
    if (own == MAP_FAILED || copy == MAP_FAILED) {
        abort();
    }
    /* The magic comes last. */
    memcpy(copy + sizeof(uint64_t), own + sizeof(uint64_t), bytes - sizeof(uint64_t));
    const struct ntk_segment_header *header = (const void *)own;
    struct ntk_segment_process *process =
        (void *)(copy + header->section[NTK_SECTION_PROCESS].offset);
    process->flags = NTK_PROCESS_ATTACHED;
    memcpy(copy, own, sizeof(uint64_t));
    free(path);
    return copy;
}

static int run_observed(struct observed *child, void *ctx)
{
    const struct folders *folders = ctx;
    struct ntk_hooks_model_ref ref;
    uint64_t executions = 0;
    uint64_t order;

    setenv("NEURON_HOOKS_DIR", folders->hidden, 1);
    if (observed_mlp_begin(&ref) < 0) {
        return 3;
    }
    char *own_path = strdup(ntk_hooks_segment_path());
    unsigned char *copy = copy_as_attached(folders, own_path);
    const struct ntk_segment_header *header = (const void *)copy;
    struct ntk_segment_core *core =
        (void *)(copy + header->section[NTK_SECTION_CORES].offset +
                 (size_t)OBSERVED_MLP_CORE * header->section[NTK_SECTION_CORES].entry_bytes);

    observed_send(child, 0);
    while ((order = observed_receive(child)) != ORDER_END) {
        if (order == ORDER_MOVE) {
            char *path = test_scratch_path(folders->seen, file_name(own_path));
            if (rename(own_path, path) != 0) {
                return 4;
            }
            free(path);
        } else {
            for (uint64_t i = 0; i < order; i++) {
                observed_mlp_execute(ref, ++executions, 0);
                ntk_abi_add_owned(&core->outcome[NTK_OUTCOME_COMPLETED], 1);
            }
        }
        observed_send(child, executions);
    }
    ntk_hooks_detach();
    free(own_path);
    return 0;
}

struct fixture {
    struct folders folders;
    char *no_sysfs;
    struct ntk_collector *collector;
    struct observed child;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folders.hidden = test_scratch_create();
    f->folders.seen = test_scratch_create();
    f->no_sysfs = test_scratch_path(f->folders.seen, "nothing");
    const struct ntk_collector_options options = { .hooks_dir = f->folders.seen,
                                                   .driver_sysfs = f->no_sysfs,
                                                   .reap = true };
    assert_int_equal(ntk_collector_create(&options, &f->collector, NULL), 0);
    f->child = observed_start(f->folders.seen, run_observed, &f->folders);
    (void)observed_receive(&f->child);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    ntk_collector_destroy(f->collector);
    test_scratch_destroy(f->folders.hidden);
    test_scratch_destroy(f->folders.seen);
    free(f->no_sysfs);
    free(f);
    return 0;
}

static void tell(struct fixture *f, uint64_t order)
{
    observed_send(&f->child, order);
    (void)observed_receive(&f->child);
}

/* The only process of the period, and what it executed. */
static void assert_period(struct fixture *f, enum ntk_hooks_kind hooks, uint64_t executions,
                          uint64_t machine_total)
{
    struct ntk_snapshot *snapshot = NULL;

    assert_int_equal(ntk_collector_poll(f->collector, &snapshot, NULL), 0);
    assert_int_equal(snapshot->runtime_count, 1);
    assert_int_equal(snapshot->runtimes[0].hooks, hooks);
    assert_int_equal(snapshot->runtimes[0].pid, f->child.pid);
    assert_int_equal(snapshot->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].period, executions);
    assert_int_equal(snapshot->outcome[NTK_OUTCOME_COMPLETED].total, machine_total);
    ntk_snapshot_destroy(snapshot);
}

static void executions_are_counted_once_if_built_in_hooks_replace_attached(void **state)
{
    struct fixture *f = *state;

    assert_period(f, NTK_HOOKS_ATTACHED, 0, 0);
    tell(f, ORDER_MOVE);
    tell(f, 5);
    assert_period(f, NTK_HOOKS_BUILT_IN, 5, 5);
    tell(f, 3);
    assert_period(f, NTK_HOOKS_BUILT_IN, 3, 8);
    observed_send(&f->child, ORDER_END);
    assert_int_equal(observed_finish(&f->child, 0), 0);
    assert_period(f, NTK_HOOKS_BUILT_IN, 0, 8);

    struct ntk_snapshot *snapshot = NULL;
    assert_int_equal(ntk_collector_poll(f->collector, &snapshot, NULL), 0);
    assert_int_equal(snapshot->runtime_count, 0);
    ntk_snapshot_destroy(snapshot);
    /* Both files are removed. */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ntk_collector_poll(f->collector, &snapshot, NULL), 0);
        ntk_snapshot_destroy(snapshot);
    }
    char *path = test_scratch_path(f->folders.seen, "1-1");
    assert_int_equal(access(path, F_OK), -1);
    free(path);
}

static void a_process_without_built_in_hooks_is_counted_by_attached_hooks(void **state)
{
    struct fixture *f = *state;

    tell(f, 4);
    assert_period(f, NTK_HOOKS_ATTACHED, 4, 4);
    tell(f, 2);
    assert_period(f, NTK_HOOKS_ATTACHED, 2, 6);
    observed_send(&f->child, ORDER_END);
    assert_int_equal(observed_finish(&f->child, 0), 0);
    assert_period(f, NTK_HOOKS_ATTACHED, 0, 6);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(executions_are_counted_once_if_built_in_hooks_replace_attached),
        TEST(a_process_without_built_in_hooks_is_counted_by_attached_hooks),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
