/* SPDX-License-Identifier: MIT */
/* Pods of containers: which names of logs are used, and how often the folder is checked. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/scratch.h"
#include "top/source/pods.h"
#include "tests/support/unit.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct ntk_snapshot *snapshot_of(const char *container)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();

    assert_non_null(snapshot);
    assert_non_null(ntk_snapshot_alloc_runtimes(snapshot, 1));
    snapshot->runtimes[0].container_id = ntk_snapshot_text(snapshot, container);
    return snapshot;
}

static void add_link(const char *folder, const char *name)
{
    char *path = test_scratch_path(folder, name);

    assert_int_equal(symlink("/nowhere", path), 0);
    free(path);
}

static void the_pod_is_found_by_the_container_log_name(void **state)
{
    char *folder = test_scratch_create();
    struct ntk_top_pods pods;
    struct ntk_snapshot *snapshot = snapshot_of(ID);

    add_link(folder, "other-0_prod_server-1123456789abcdef.log");
    add_link(folder, "train-llm-0_prod-a_main-server-" ID ".log");
    ntk_top_pods_init(&pods, folder);
    ntk_top_pods_fill(&pods, snapshot);
    assert_string_equal(snapshot->runtimes[0].pod.name, "train-llm-0");
    assert_string_equal(snapshot->runtimes[0].pod.namespace_name, "prod-a");
    assert_string_equal(snapshot->runtimes[0].pod.container_name, "main-server");
    ntk_snapshot_destroy(snapshot);

    snapshot = snapshot_of(ID); /* a reported pod stays */
    snapshot->runtimes[0].pod.name = "known";
    ntk_top_pods_fill(&pods, snapshot);
    assert_string_equal(snapshot->runtimes[0].pod.name, "known");
    ntk_snapshot_destroy(snapshot);
    ntk_top_pods_fini(&pods);
    test_scratch_destroy(folder);
}

static void invalid_log_names_are_skipped(void **state)
{
    static const char *const names[] = {
        ID ".log",          "a_b-" ID ".log", "a_b_c" ID ".log", "a_b_c-" ID, "a_b_c-" ID ".log.gz",
        "a-" ID "_b_c.log", ".log",           "_-.log",          "__-.log"
    };
    char *folder = test_scratch_create();
    struct ntk_top_pods pods;
    struct ntk_snapshot *snapshot = snapshot_of(ID);
    struct ntk_snapshot *outside = snapshot_of("");

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        add_link(folder, names[i]);
    }
    ntk_top_pods_init(&pods, folder);
    ntk_top_pods_fill(&pods, snapshot);
    ntk_top_pods_fill(&pods, outside); /* not in a container */
    assert_string_equal(snapshot->runtimes[0].pod.name, "");
    assert_string_equal(outside->runtimes[0].pod.name, "");
    ntk_top_pods_fini(&pods);
    ntk_top_pods_init(&pods, "/proc/none"); /* no kubelet here */
    ntk_top_pods_fill(&pods, snapshot);
    assert_string_equal(snapshot->runtimes[0].pod.name, "");
    ntk_top_pods_fini(&pods);
    ntk_snapshot_destroy(snapshot);
    ntk_snapshot_destroy(outside);
    test_scratch_destroy(folder);
}

/* Method: the link appears late; in the second case only after the search has ended. */
static void a_late_log_link_is_searched_for_until_a_limit(void **state)
{
    for (int rounds = 1; rounds <= 100; rounds += 99) {
        char *folder = test_scratch_create();
        struct ntk_top_pods pods;
        struct ntk_snapshot *snapshot = snapshot_of(ID);

        ntk_top_pods_init(&pods, folder);
        for (int i = 0; i < rounds; i++) {
            ntk_top_pods_fill(&pods, snapshot);
        }
        add_link(folder, "late-0_prod_main-" ID ".log");
        ntk_top_pods_fill(&pods, snapshot);
        assert_string_equal(snapshot->runtimes[0].pod.name, rounds == 1 ? "late-0" : "");
        ntk_snapshot_destroy(snapshot);
        ntk_top_pods_fini(&pods);
        test_scratch_destroy(folder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pod_is_found_by_the_container_log_name),
        cmocka_unit_test(invalid_log_names_are_skipped),
        cmocka_unit_test(a_late_log_link_is_searched_for_until_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
