/* SPDX-License-Identifier: MIT */
/*
 * A program that opens libnrt.so.1 with dlopen() and closes it at any time, any number of times.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define CYCLES 8
#define ADDRESS_SPACE_MB 8 /* maximum growth over all cycles together */

typedef int call_init(int framework, const char *framework_version, const char *fal_version);
typedef int call_close(void);

struct library {
    void *handle;
    call_init *init;
    call_close *close;
};

static int set_up(void **state)
{
    char *folder = test_scratch_create();

    setenv("NEURON_HOOKS_DIR", folder, 1);
    setenv("NEURON_SOFT_INSTANCE", "trn1.2xlarge", 1);
    setenv("NEURON_RT_LOG_LEVEL", "QUIET", 1);
    unsetenv("OPENBLAS_NUM_THREADS"); /* normally not set */
    *state = folder;
    return 0;
}

static int tear_down(void **state)
{
    test_scratch_destroy(*state);
    return 0;
}

/* Opens the library in a child process to call its symbols. */
static struct library library_open(void)
{
    struct library library = { 0 };
    char *path = test_scratch_path(getenv("NTK_LIB_DIR"), "libnrt.so.1");

    library.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library.handle) {
        fprintf(stderr, "%s\n", dlerror());
        _exit(99);
    }
    *(void **)&library.init = dlsym(library.handle, "nrt_init");
    *(void **)&library.close = dlsym(library.handle, "nrt_close");
    free(path);
    return library;
}

static size_t thread_count(void)
{
    DIR *tasks = opendir("/proc/self/task");
    size_t count = 0;

    for (const struct dirent *entry; tasks && (entry = readdir(tasks)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    if (tasks) {
        closedir(tasks);
    }
    return count;
}

static long address_space_mb(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    long pages = 0;

    if (!file || fscanf(file, "%ld", &pages) != 1) {
        _exit(98);
    }
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE) >> 20;
}

/* How often the other threads of this process have gone to sleep. */
static long wakes_of_others(void)
{
    DIR *tasks = opendir("/proc/self/task");
    long all = 0;

    for (const struct dirent *entry; tasks && (entry = readdir(tasks)) != NULL;) {
        char path[300];
        char line[128];
        long wakes = 0;

        (void)snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        FILE *file = atoi(entry->d_name) != getpid() ? fopen(path, "re") : NULL;
        while (file && fgets(line, sizeof line, file)) {
            (void)sscanf(line, "voluntary_ctxt_switches: %ld", &wakes);
        }
        if (file) {
            fclose(file);
        }
        all += wakes;
    }
    if (tasks) {
        closedir(tasks);
    }
    return all;
}

/* The thread that publishes the tree has run rounds. */
static int have_gone_on(void *ctx)
{
    return wakes_of_others() >= *(const long *)ctx + 2;
}

static int in_child(int (*body)(void))
{
    int status = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm((unsigned)(test_patience_ns() / NTK_NS_PER_SECOND));
        _exit(body());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static int close_without_end(void)
{
    struct library library = library_open();

    if (library.init(1, "", "") != 0) {
        return 2;
    }
    dlclose(library.handle);
    long before = wakes_of_others();
    return test_wait_until(have_gone_on, &before) ? 0 : 3;
}

static void dlclose_without_nrt_close_keeps_code_of_running_threads(void **state)
{
    assert_int_equal(in_child(close_without_end), 0);
}

static int go_round(void)
{
    long before = 0;

    for (int i = 0; i < CYCLES; i++) {
        struct library library = library_open();

        if (library.init(1, "", "") != 0 || library.close() != 0) {
            return 2;
        }
        dlclose(library.handle);
        if (i == 1) { /* one-time allocations of the first cycles stay */
            before = address_space_mb();
        }
    }
    return address_space_mb() - before <= ADDRESS_SPACE_MB ? 0 : 3;
}

static void repeated_dlopen_and_dlclose_leak_no_address_space(void **state)
{
    assert_int_equal(in_child(go_round), 0);
}

static int count_threads(void)
{
    struct library library = library_open();

    if (thread_count() != 1) {
        return 2;
    }
    if (library.init(1, "", "") != 0) {
        return 3;
    }
    if (thread_count() != 3) { /* one publishes the tree, one waits for requests of others */
        return 4;
    }
    if (library.close() != 0) {
        return 5;
    }
    return thread_count() == 1 ? 0 : 6;
}

static void runtime_threads_exist_only_between_init_and_close(void **state)
{
    assert_int_equal(in_child(count_threads), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(dlclose_without_nrt_close_keeps_code_of_running_threads),
        TEST(repeated_dlopen_and_dlclose_leak_no_address_space),
        TEST(runtime_threads_exist_only_between_init_and_close),
    };

    if (test_is_sanitized()) {
        return test_skip("a sanitizer's runtime must be the first library of a process");
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
