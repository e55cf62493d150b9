/* SPDX-License-Identifier: MIT */
/*
 * Method: allocations of one memory written down by hand, in GiB. "w+10" allocates 10 for the use
 * w, "w-10" frees them, "w!10" fails for lack of memory, "w?10" fails for another reason.
 */
#include "profiler/analysis/out_of_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/trace/chip.h"
#include "tests/support/unit.h"

#define GIB (UINT64_C(1) << 30)
#define OPERATIONS 16
#define OTHER_CODE 7

struct written {
    struct ntk_system_trace trace;
    struct ntk_system_memory memories[OPERATIONS];
    struct ntk_system_account account;
    char names[OPERATIONS][2];
    NtkNtracePb__Info info;
};

static const struct {
    const char *what, *script;
    uint64_t base, stack; /* held before the trace; size of the memory: 0 unknown */
    const char *usage;    /* that failed; NULL: nothing did */
    uint64_t size, total, kept, freed, failed_count;
    const char *usages; /* at the failure, largest first */
    bool is_fragmented;
} rows[] = {
    { "nothing fails", "w+10 w-10", 0, 24, NULL, 0, 0, 0, 0, 0, "", false },
    { "the last allocation fails", "w+10 t+8 t!8", 0, 24, "t", 8, 18, 18, 0, 1, "w=10 t=8", false },
    { "the first allocation fails", "w!30", 0, 24, "w", 30, 0, 0, 0, 1, "", false },
    { "freed memory is not held", "w+10 w-10 t+8 t!20", 0, 24, "t", 20, 8, 8, 10, 1, "t=8 w=0",
      false },
    { "there is room: fragmented", "w+10 t!8", 0, 24, "t", 8, 10, 10, 0, 1, "w=10", true },
    { "of another size there would be none", "w+17 t!8", 0, 24, "t", 8, 17, 17, 0, 1, "w=17",
      false },
    { "exactly enough room", "w+16 t!8", 0, 24, "t", 8, 16, 16, 0, 1, "w=16", true },
    { "a machine that is not known", "w+10 t!8", 0, 0, "t", 8, 10, 10, 0, 1, "w=10", false },
    { "memory from before the trace", "w+10 t!8", 12, 24, "t", 8, 22, 10, 0, 1, "unknown=12 w=10",
      false },
    { "the first of several failures", "w+20 t!8 t!9", 0, 24, "t", 8, 20, 20, 0, 2, "w=20", false },
    { "what comes afterwards does not count", "w+20 t!8 w-20 t+9", 0, 24, "t", 8, 20, 20, 0, 1,
      "w=20", false },
    { "another failure before it", "w+20 x?1 t!8", 0, 24, "t", 8, 20, 20, 0, 2, "w=20", false },
    { "only another failure", "w+2 x?1 w+3 x?2", 0, 24, "x", 2, 5, 5, 0, 2, "w=5", false },
    { "a loop that leaks", "a+5 a+6 a-5 a+7 a-6 a+8 t!9", 0, 24, "t", 9, 15, 15, 11, 1, "a=15",
      true },
};

static void read(struct written *w, const char *script, uint64_t base, uint64_t stack)
{
    memset(w, 0, sizeof *w);
    w->info = (NtkNtracePb__Info)NTK_NTRACE_PB__INFO__INIT;
    w->info.instance_type = (char *)(uintptr_t)(stack ? "trn2.3xlarge" : "unknown");
    w->trace.info = &w->info;
    w->account.base_bytes = base * GIB;
    w->trace.accounts = (struct ntk_vec){ &w->account, 1, 1, sizeof w->account };
    for (const char *at = script; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
        size_t i = w->trace.memories.count++;
        uint64_t size = strtoull(at + 2, NULL, 10);
        assert_true(i < OPERATIONS);
        w->names[i][0] = at[0];
        w->memories[i] = (struct ntk_system_memory){
            .number = i,
            .time_ns = 1000 + i,
            .bytes = size * GIB,
            .address = (uint64_t)(unsigned char)at[0] << 32 | size,
            .usage = w->names[i],
            .code = at[1] == '!'   ? NTK_SYSTEM_OUT_OF_MEMORY
                    : at[1] == '?' ? OTHER_CODE
                                   : 0,
            .is_free = at[1] == '-',
            .has_stopped = true,
        };
    }
    w->trace.memories.items = w->memories;
    w->trace.memories.item_bytes = sizeof *w->memories;
}

static void an_out_of_memory_failure_shows_the_memory_contents(void **state)
{
    struct ntk_chip chip;

    (void)state;
    assert_true(ntk_chip_find("trn2.3xlarge", &chip));
    assert_int_equal(chip.hbm_stack_bytes, 24 * GIB);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct written w;
        struct ntk_out_of_memory found;
        char usages[100] = "";

        read(&w, rows[i].script, rows[i].base, rows[i].stack);
        assert_int_equal(ntk_analysis_out_of_memory(&w.trace, &found), 0);
        assert_int_equal(found.is_there, rows[i].usage != NULL);
        for (size_t u = 0; u < found.usage_count; u++) {
            size_t used = strlen(usages);
            bool is_shown = found.usages[u].bytes || strcmp(found.usages[u].usage, "unknown") != 0;
            snprintf(usages + used, sizeof usages - used, is_shown ? "%s%s=%llu" : "",
                     used ? " " : "", found.usages[u].usage,
                     (unsigned long long)(found.usages[u].bytes / GIB));
        }
        if ((found.is_there && strcmp(found.usage, rows[i].usage) != 0) ||
            found.size != rows[i].size * GIB || found.total_bytes != rows[i].total * GIB ||
            found.kept_bytes != rows[i].kept * GIB || found.freed_bytes != rows[i].freed * GIB ||
            found.failed_count != rows[i].failed_count || strcmp(usages, rows[i].usages) != 0 ||
            found.is_fragmented != rows[i].is_fragmented) {
            fail_msg("%s: size %llu, total %llu, kept %llu, freed %llu, failed %llu, %d: %s",
                     rows[i].what, (unsigned long long)(found.size / GIB),
                     (unsigned long long)(found.total_bytes / GIB),
                     (unsigned long long)(found.kept_bytes / GIB),
                     (unsigned long long)(found.freed_bytes / GIB),
                     (unsigned long long)found.failed_count, found.is_fragmented, usages);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_out_of_memory_failure_shows_the_memory_contents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
