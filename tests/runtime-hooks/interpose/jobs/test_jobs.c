/* SPDX-License-Identifier: MIT */
/*
 * Jobs around another runtime's libnrt.so.1, observed by each means: they run as without our
 * library, and are counted to the last execution.
 *
 * Method: tables of clients (job.h).
 */
#include <stdlib.h>

#include "tests/runtime-hooks/interpose/jobs/job.h"
#include "tests/support/unit.h"

#define PLUGIN_PY NTK_TEST_SOURCE "/../client/client_plugin.py"

/* Every way to reach the runtime. */
static void executions_are_counted_however_a_job_links_the_runtime(void **state)
{
    /* clang-format off */
    static const struct job jobs[] = {
        { .name = "linked", .words = { "@linked", "sync:5", "tensors:3" } },
        { .name = "linked, in a constructor", .words = { "@linked", "sync:5" }, .environment = { "CLIENT_EARLY=1" } },
        { .name = "linked, RUNPATH", .words = { "@runpath", "sync:5" }, .is_found_otherwise = true, .means = JOB_PRELOAD | JOB_AUDIT },
        { .name = "linked, RPATH", .words = { "@rpath", "sync:5" }, .is_found_otherwise = true, .means = JOB_PRELOAD | JOB_AUDIT },
        { .name = "linked, RPATH with $ORIGIN", .words = { "@origin", "sync:5" }, .is_found_otherwise = true, .means = JOB_PRELOAD | JOB_AUDIT },
        { .name = "two runtimes, the one of the RPATH before that of LD_LIBRARY_PATH", .vendor = "vendor-node2", .words = { "@rpath", "sync:5", "nrta:3" }, .means = JOB_PRELOAD | JOB_AUDIT },
        { .name = "two runtimes, one opened by its path", .vendor = "vendor-node2", .words = { "@opens", "path", "@../../lib/vendor/libnrt.so.1", "sync:5", "nrta:3" }, .means = JOB_PRELOAD | JOB_AUDIT, .unseen = JOB_PRELOAD },
        { .name = "plug-in of python", .words = { "python3", PLUGIN_PY, "@plugin.so", "sync:5" } },
        { .name = "plug-in of python, bound at once", .words = { "python3", PLUGIN_PY, "@plugin_now.so", "sync:5" } },
        { .name = "plug-in with RTLD_DEEPBIND, bound at once", .words = { "@opens", "plugin", "@plugin_now.so", "sync:5" } },
        { .name = "dlopen by soname, dlsym", .words = { "@opens", "soname", "sync:5" } },
        { .name = "dlopen by soname, dlvsym", .words = { "@opens", "vsym", "sync:5", "nrta:5" } },
        { .name = "dlopen by path", .words = { "@opens", "path", "@vendor", "sync:5" }, .unseen = JOB_PRELOAD },
        { .name = "dlopen by path, RTLD_GLOBAL", .words = { "@opens", "global", "@vendor", "sync:5" }, .unseen = JOB_PRELOAD },
        { .name = "dlmopen", .words = { "@opens", "space", "@vendor", "sync:5" }, .unseen = JOB_PRELOAD },
        { .name = "linked, -fno-plt", .words = { "@linked_table", "sync:5", "nrta:3" } },
        { .name = "plug-in with RTLD_DEEPBIND, -fno-plt", .words = { "@opens", "plugin", "@plugin_table.so", "sync:5" } },
        { .name = "dlmopen of a plug-in", .words = { "@opens", "spaced", "@plugin.so", "sync:5" }, .unseen = JOB_PRELOAD },
        { .name = "dlmopen of a plug-in, bound at once", .words = { "@opens", "spaced", "@plugin_now.so", "sync:5" }, .unseen = JOB_PRELOAD },
        /* The loader audits only relocations of the PLT. */
        { .name = "dlmopen of a plug-in, -fno-plt", .words = { "@opens", "spaced", "@plugin_table.so", "sync:5" }, .unseen = JOB_PRELOAD | JOB_AUDIT },
    };
    /* clang-format on */

    JOBS_CHECK(jobs);
}

/* Every release of the runtime. */
static void executions_are_counted_on_every_runtime_release(void **state)
{
    /* clang-format off */
    static const struct job jobs[] = {
        { .name = "without versions", .vendor = "vendor-unversioned", .words = { "@opens_2", "soname", "sync:3", "nrta:3" }, .means = JOB_PRELOAD | JOB_AUDIT },
        { .name = "NRT_2.0.0 alone, dlvsym", .vendor = "vendor-node2", .words = { "@opens_2", "vsym", "sync:3", "nrta:3" } },
        { .name = "NRT_2.0.0 alone, linked", .vendor = "vendor-node2", .words = { "@linked_2", "sync:3", "nrta:3" } },
        { .name = "without nrt_get_model_info", .vendor = "vendor-no-model-info", .words = { "@linked", "sync:3", "nrta:3" }, .means = JOB_PRELOAD | JOB_AUDIT },
        { .name = "that call is absent", .vendor = "vendor-no-model-info", .words = { "@opens", "absent", "nrt_get_model_info", "sync:3" }, .means = JOB_PRELOAD | JOB_AUDIT },
        { .name = "one export less", .vendor = "vendor-missing", .words = { "@opens", "absent", "nrt_tensor_memset", "sync:3" }, .means = JOB_PRELOAD | JOB_AUDIT },
        { .name = "one export more, linked", .vendor = "vendor-newer", .words = { "@newer", "sync:3" }, .means = JOB_PRELOAD | JOB_AUDIT },
        { .name = "one export more, linked and bound at once", .vendor = "vendor-newer", .words = { "@newer_now", "sync:3" }, .means = JOB_PRELOAD | JOB_AUDIT },
        { .name = "execute calls execute_repeat", .vendor = "vendor-inner", .words = { "@linked", "sync:7", "repeat:4" } },
        { .name = "that, threads", .vendor = "vendor-inner", .words = { "@opens", "soname", "threads:20" } },
        { .name = "-Bsymbolic", .vendor = "vendor-symbolic", .words = { "@linked", "sync:3", "repeat:3" } },
    };
    /* clang-format on */

    JOBS_CHECK(jobs);
}

/* Every way to execute, and every way to end. */
static void executions_of_every_kind_and_outcome_are_counted(void **state)
{
    /* clang-format off */
    static const struct job jobs[] = {
        { .name = "synchronous, repeated, from threads", .words = { "@linked", "sync:20", "repeat:6", "threads:25", "tensors:9" } },
        { .name = "implicit", .words = { "@linked", "async:30" }, .environment = { "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS=63" } },
        { .name = "explicit, 3.0 form", .words = { "@linked", "nrta:40" } },
        { .name = "explicit, 2.x form", .vendor = "vendor-node2", .words = { "@opens_2", "vsym", "nrta:40" } },
        { .name = "2, the set has no such tensor", .words = { "@linked", "sync:2", "bad:3" } },
        { .name = "5, time-out", .words = { "@linked", "sync:3", "nrta:3" }, .model = "deadlock" },
        { .name = "5, implicit", .words = { "@linked", "async:3" }, .model = "deadlock", .environment = { "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS=4" } },
        { .name = "7, queue full", .words = { "@linked", "full:6" }, .environment = { "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS=1" } },
        { .name = "1003, NaN", .words = { "@linked", "sync:3", "nrta:4" }, .model = "nan" },
        { .name = "1003, implicit", .words = { "@linked", "async:4" }, .model = "nan", .environment = { "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS=8" } },
        { .name = "1003, explicit, 2.x form", .vendor = "vendor-node2", .words = { "@linked_2", "nrta:5" }, .model = "nan" },
        { .name = "1006, out of bounds", .words = { "@linked", "sync:3", "nrta:3" }, .model = "oob" },
        { .name = "1201, then 101", .words = { "@linked", "sync:5" }, .environment = { "NEURON_SOFT_FAULT=hbm-ue:at=3" } },
        { .name = "1204 among others", .words = { "@linked", "threads:10" }, .environment = { "NEURON_SOFT_FAULT=nq-overflow:every=4" } },
    };
    /* clang-format on */

    JOBS_CHECK(jobs);
}

/* Everything that can happen to its processes. */
static void executions_are_counted_for_every_process_life_cycle(void **state)
{
    /* clang-format off */
    static const struct job jobs[] = {
        { .name = "the first call on a small stack", .words = { "@linked", "small-stack:32", "sync:2" }, .means = JOB_PRELOAD | JOB_AUDIT },
        { .name = "calls after nrt_close", .words = { "@linked", "after-close:3" } },
        { .name = "executes from atexit", .words = { "@linked", "sync:2", "at-exit" } },
        { .name = "opened by each child", .words = { "@linked", "workers:5" } },
        { .name = "opened by each child, and before", .words = { "@linked", "sync:2", "workers:3", "sync:2" }, .environment = { "NEURON_RT_NUM_CORES=1" } },
        { .name = "a child of the first call", .vendor = "vendor-slow", .words = { "@linked", "fork-in-first-call:300", "sync:2" }, .means = JOB_PRELOAD | JOB_AUDIT },
        { .name = "a child of the first call, dlopen by path", .vendor = "vendor-slow", .words = { "@opens", "path", "@vendor", "fork-in-first-call:300", "sync:2" }, .means = JOB_AUDIT },
        { .name = "a constructor next to the first call", .words = { "@linked", "load-in-first-call:200", "sync:2" }, .environment = { "CLIENT_MODULE=@early.so" } },
        { .name = "children that exec", .words = { "@linked", "sync:2", "exec:5", "sync:2" } },
        { .name = "children that only end", .words = { "@linked", "sync:2", "idlers:200", "sync:2" } },
        { .name = "dlclose and dlopen", .words = { "@opens", "soname", "sync:2", "reopen:5", "sync:2" } },
        { .name = "closed under load", .words = { "@linked", "close-under-load:30" }, .is_random = true },
        { .name = "unloaded under load", .words = { "@linked", "sync:2", "unload-under-load:30" }, .is_random = true },
    };
    /* clang-format on */

    JOBS_CHECK(jobs);
}

/* Executions that do not return have still ended, and so has what they held. */
static void executions_that_do_not_return_are_counted(void **state)
{
    /* clang-format off */
    static const struct job jobs[] = {
        { .name = "exceptions", .vendor = "vendor-inside", .words = { "@through", "sync:2", "throw:3", "sync:2" }, .means = JOB_PRELOAD | JOB_AUDIT },
        { .name = "exceptions, implicit", .vendor = "vendor-inside", .words = { "@through", "throw:3", "async:9" }, .means = JOB_PRELOAD | JOB_AUDIT, .environment = { "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS=63" } },
        { .name = "pthread_exit", .vendor = "vendor-inside", .words = { "@through", "sync:2", "thread-exit:3", "sync:2" }, .means = JOB_PRELOAD | JOB_AUDIT },
        { .name = "pthread_cancel", .vendor = "vendor-inside", .words = { "@through", "sync:2", "cancel:3", "threads:5" }, .means = JOB_PRELOAD | JOB_AUDIT },
        { .name = "pthread_cancel, nrt_init and nrt_close", .vendor = "vendor-inside", .words = { "@through", "cancel-ends:3", "sync:2" }, .means = JOB_PRELOAD | JOB_AUDIT },
    };
    /* clang-format on */

    JOBS_CHECK(jobs);
}

/* Every other tool in its processes. */
static void executions_are_counted_with_other_preloaded_libraries(void **state)
{
    /* clang-format off */
    static const struct job jobs[] = {
        { .name = "another heap", .words = { "@linked", "sync:3", "threads:5", "tensors:4" }, .environment = { "LD_PRELOAD=@heap.so" } },
        { .name = "another heap, implicit", .words = { "@linked", "async:9" }, .environment = { "LD_PRELOAD=@heap.so", "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS=9" } },
        { .name = "a second interposer", .words = { "@linked", "sync:5" }, .environment = { "LD_PRELOAD=@second.so" } },
#ifdef TEST_HAS_ASAN
        { .name = "an address sanitizer", .words = { "@asan", "sync:5", "threads:5" } },
#endif
        { .name = "our own core below, preloaded", .vendor = ".", .words = { "@linked", "sync:5", "nrta:5" } },
        { .name = "our own core below, a plug-in", .vendor = ".", .words = { "python3", PLUGIN_PY, "@plugin.so", "sync:5" } },
        { .name = "our own core below, dlopen", .vendor = ".", .words = { "@opens", "soname", "sync:5", "reopen:2" } },
        { .name = "a shell and its children", .words = { "sh", "-c", "true; $0 sync:3; ls / >/dev/null; $0 sync:2", "@linked" } },
#ifdef TEST_HAS_STATIC
        { .name = "a static program next to it", .words = { "sh", "-c", "$0; $1 sync:3", "@silent", "@linked" } },
#endif
    };
    /* clang-format on */

    JOBS_CHECK(jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(executions_are_counted_however_a_job_links_the_runtime),
        cmocka_unit_test(executions_are_counted_on_every_runtime_release),
        cmocka_unit_test(executions_of_every_kind_and_outcome_are_counted),
        cmocka_unit_test(executions_are_counted_for_every_process_life_cycle),
        cmocka_unit_test(executions_that_do_not_return_are_counted),
        cmocka_unit_test(executions_are_counted_with_other_preloaded_libraries),
    };

    if (test_is_sanitized()) {
        return test_skip("a sanitizer's runtime must be the first library of a process");
    }
    return cmocka_run_group_tests_name("jobs", tests, job_setup, job_teardown);
}
