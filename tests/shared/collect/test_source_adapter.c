/* SPDX-License-Identifier: MIT */
/* Ports of network adapters: a made-up /sys in a scratch folder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/collect/source.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define ADAPTER "class/infiniband/rdmap0s6/"

static void put(const char *folder, const char *name, const char *text)
{
    char *path = test_scratch_path(folder, name);
    struct ntk_err err = { 0 };

    *strrchr(path, '/') = '\0';
    assert_int_equal(ntk_fs_make_folders(path, 0700, NULL), 0);
    free(path);
    path = test_scratch_path(folder, name);
    assert_int_equal(ntk_fs_write(path, text, strlen(text), &err), 0);
    free(path);
}

static size_t ports_at(struct ntk_collect_source *source, struct ntk_aggregate *aggregate,
                       uint64_t now_ns)
{
    struct ntk_snapshot *snapshot = NULL;
    size_t count;

    assert_int_equal(source->ops->sample(source->state, aggregate, now_ns, NULL), 0);
    assert_int_equal(ntk_aggregate_finish(aggregate, now_ns, now_ns, &snapshot), 0);
    count = snapshot->port_count;
    ntk_snapshot_destroy(snapshot);
    return count;
}

/* Returns true if the folder of adapters was opened since the last call. */
static bool is_opened(int watch)
{
    char events[4096];

    return read(watch, events, sizeof events) > 0;
}

/* Method: the kernel reports whether a sample read the folder. A thread reads it, and a sample that
 * does not get its answer in time asks again. */
static void a_machine_without_adapters_is_checked_every_5_s(void **state)
{
    const struct ntk_aggregate_options aggregate_options = { .begin_monotonic_ns =
                                                                 NTK_NS_PER_SECOND };
    char *folder = test_scratch_create();
    struct ntk_collector_options options = { .sysfs_root = folder };
    struct ntk_aggregate *aggregate = NULL;
    struct ntk_collect_source source;
    char *adapters = test_scratch_path(folder, "class/infiniband");
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

    (void)state;
    assert_int_equal(ntk_fs_make_folders(adapters, 0700, NULL), 0);
    assert_true(inotify_add_watch(watch, adapters, IN_OPEN) >= 0);
    assert_int_equal(ntk_aggregate_create(&aggregate_options, &aggregate), 0);
    assert_int_equal(ntk_source_adapter_open(&options, &source, NULL), 0);
    do {
        assert_int_equal(ports_at(&source, aggregate, 10 * NTK_NS_PER_SECOND), 0);
    } while (is_opened(watch));
    put(folder, ADAPTER "device/vendor", "0x1d0f\n");
    put(folder, ADAPTER "device/device", "0xefa2\n");
    put(folder, ADAPTER "ports/1/hw_counters/tx_bytes", "1000\n");
    (void)is_opened(watch); /* by the lines above */
    for (uint64_t second = 11; second < 15; second++) {
        assert_int_equal(ports_at(&source, aggregate, second * NTK_NS_PER_SECOND), 0);
        assert_false(is_opened(watch));
    }
    while (ports_at(&source, aggregate, 15 * NTK_NS_PER_SECOND) != 1) {
    }
    /* An adapter's counters are read at each sample. */
    put(folder, ADAPTER "ports/2/hw_counters/tx_bytes", "2000\n");
    while (ports_at(&source, aggregate, 16 * NTK_NS_PER_SECOND) != 2) {
    }

    close(watch);
    free(adapters);
    source.ops->destroy(source.state);
    ntk_aggregate_destroy(aggregate);
    test_scratch_destroy(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_without_adapters_is_checked_every_5_s),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
