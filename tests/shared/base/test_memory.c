/* SPDX-License-Identifier: MIT */
/* Method: page faults of a new array, of the same one after it was freed, and of a process that
 * keeps what is freed. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/base/memory.h"
#include "tests/support/unit.h"

#define ARRAY_BYTES ((size_t)64 << 20)
#define HEAP_BYTES ((size_t)100 << 10) /* malloc maps longer arrays separately */
#define FEW_FAULTS 4
#define NEEDED_BYTES ((uint64_t)5 << 30) /* with less, freed memory is returned */

/* Sanitizers replace the allocator. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || !defined(__GLIBC__)
#define HAS_OWN_ALLOCATOR 1
#else
#define HAS_OWN_ALLOCATOR 0
#endif

/* Page faults of allocating and filling an array. */
static long faults_of_array(void)
{
    struct rusage before;
    struct rusage after;

    (void)getrusage(RUSAGE_SELF, &before);
    volatile char *bytes = malloc(ARRAY_BYTES);
    if (!bytes) {
        _exit(2);
    }
    for (size_t i = 0; i < ARRAY_BYTES; i += 4096) {
        bytes[i] = 1;
    }
    free((void *)bytes);
    (void)getrusage(RUSAGE_SELF, &after);
    return after.ru_minflt - before.ru_minflt;
}

/* Runs in a child, because the change is permanent. Exit code 0: the second array reuses memory. */
static int code_of(bool keeps)
{
    int status = 0;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        if (keeps) {
            ntk_memory_keep_freed();
        }
        long first = faults_of_array();
        _exit(faults_of_array() > first / 10);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void retained_memory_is_reused(void **state)
{
    (void)state;
    if (HAS_OWN_ALLOCATOR || ntk_memory_available() < NEEDED_BYTES) {
        skip();
    }
    assert_int_equal(code_of(false), 1);
    assert_int_equal(code_of(true), 0);
}

/* The array remains usable, even if the kernel ignores the hint. */
static void a_large_array_keeps_its_content_after_a_memory_hint(void **state)
{
    char *bytes = malloc(ARRAY_BYTES);

    (void)state;
    assert_non_null(bytes);
    memset(bytes, 'a', ARRAY_BYTES / 2);
    ntk_memory_is_large(bytes, ARRAY_BYTES);
    memset(bytes + ARRAY_BYTES / 2, 'b', ARRAY_BYTES / 2);
    assert_int_equal(bytes[0], 'a');
    assert_int_equal(bytes[ARRAY_BYTES / 2 - 1], 'a');
    assert_int_equal(bytes[ARRAY_BYTES - 1], 'b');
    free(bytes);
    ntk_memory_is_large(NULL, ARRAY_BYTES);
}

/* Returns the page faults of filling a new array, after a hint of its size if is_expected. */
static long faults_of_filling(bool is_expected, char **out_bytes)
{
    struct rusage before;
    struct rusage after;
    char *bytes;

    if (is_expected) {
        ntk_memory_expect(HEAP_BYTES);
    }
    (void)getrusage(RUSAGE_SELF, &before);
    bytes = malloc(HEAP_BYTES);
    assert_non_null(bytes);
    memset(bytes, 'a', HEAP_BYTES);
    (void)getrusage(RUSAGE_SELF, &after);
    *out_bytes = bytes; /* the next array must not get this memory */
    return after.ru_minflt - before.ru_minflt;
}

static void expected_memory_is_filled_without_page_faults(void **state)
{
    char *first;
    char *second;
    long usual = faults_of_filling(false, &first);
    long left = faults_of_filling(true, &second);

    (void)state;
    free(first);
    free(second);
    if (HAS_OWN_ALLOCATOR || usual <= FEW_FAULTS) {
        skip(); /* or the kernel maps many pages per fault */
    }
#ifdef MADV_POPULATE_WRITE
    assert_true(left <= FEW_FAULTS);
#else
    (void)left;
#endif
}

static void available_memory_is_reported(void **state)
{
    (void)state;
    assert_true(ntk_memory_available() > ARRAY_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(retained_memory_is_reused),
        cmocka_unit_test(a_large_array_keeps_its_content_after_a_memory_hint),
        cmocka_unit_test(expected_memory_is_filled_without_page_faults),
        cmocka_unit_test(available_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
