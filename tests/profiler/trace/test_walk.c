/* SPDX-License-Identifier: MIT */
/* Method: generated lists from a seed, sorted; a walk must have the same result as sorting all of
 * them at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/trace/walk.h"
#include "tests/support/unit.h"

#define CORES 3
#define SPANS_MAX 200

static uint32_t seed = 7;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

static void fill(struct ntk_trace_core *core)
{
    int64_t now_ps = -20;

    core->instruction_count = draw(SPANS_MAX);
    core->instructions = calloc(SPANS_MAX, sizeof *core->instructions);
    for (size_t i = 0; i < core->instruction_count; i++) {
        now_ps += draw(4);
        core->instructions[i].start_ps = now_ps;
        core->instructions[i].end_ps = now_ps + draw(30);
    }
    now_ps = 0;
    core->packet_count = draw(SPANS_MAX);
    core->packets = calloc(SPANS_MAX, sizeof *core->packets);
    for (size_t i = 0; i < core->packet_count; i++) {
        now_ps += draw(4);
        core->packets[i].start_ps = now_ps;
        core->packets[i].end_ps = now_ps + draw(30);
    }
}

static void a_walk_visits_every_span_once_in_time_order(void **state)
{
    for (int round = 0; round < 50; round++) {
        struct ntk_trace_core cores[CORES] = { 0 };
        struct ntk_trace trace = { .core_count = CORES, .cores = cores };
        struct ntk_walk walk;
        struct ntk_walk_span span;
        size_t expected = 0;
        size_t count = 0;
        size_t instructions[CORES] = { 0 };
        size_t packets[CORES] = { 0 };
        int64_t before_ps = INT64_MIN;

        for (size_t c = 0; c < CORES; c++) {
            fill(&cores[c]);
            expected += cores[c].instruction_count + cores[c].packet_count;
        }
        ntk_walk_init(&walk, &trace, NTK_WALK_INSTRUCTIONS | NTK_WALK_PACKETS);
        while (ntk_walk_next(&walk, &span)) {
            size_t c = (size_t)(span.core - cores);
            assert_true(span.start_ps >= before_ps);
            before_ps = span.start_ps;
            if (span.instruction) {
                assert_null(span.packet);
                assert_ptr_equal(span.instruction, &cores[c].instructions[instructions[c]++]);
                assert_int_equal(span.end_ps, span.instruction->end_ps);
            } else {
                assert_ptr_equal(span.packet, &cores[c].packets[packets[c]++]);
                assert_int_equal(span.end_ps, span.packet->end_ps);
            }
            count++;
        }
        assert_int_equal(count, expected);
        for (size_t c = 0; c < CORES; c++) {
            free(cores[c].instructions);
            free(cores[c].packets);
        }
    }
}

/* Pages of [first, first + bytes) that are mapped in, according to the kernel. */
static size_t resident_bytes(const void *first)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[512];
    char begin[32];
    bool is_ours = false;
    size_t kib = 0;

    assert_non_null(file);
    snprintf(begin, sizeof begin, "%lx-", (unsigned long)(uintptr_t)first);
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, begin, strlen(begin)) == 0) {
            is_ours = true;
        } else if (is_ours && sscanf(line, "Rss: %zu kB", &kib) == 1) {
            break;
        }
    }
    fclose(file);
    assert_true(is_ours);
    return kib * 1024;
}

static void a_scan_of_a_mapped_list_releases_earlier_pages(void **state)
{
    const size_t bytes_count = 32 * NTK_TRACE_SCAN_BYTES;
    FILE *file = tmpfile();
    uint8_t page[4096] = { 0 };
    size_t count = 0;
    int64_t sum = 0;

    assert_non_null(file);
    page[0] = 1;
    for (size_t at = 0; at < bytes_count; at += sizeof page) {
        assert_int_equal(fwrite(page, sizeof page, 1, file), 1);
    }
    assert_int_equal(fflush(file), 0);
    void *mapped = mmap(NULL, bytes_count, PROT_READ, MAP_SHARED, fileno(file), 0);
    assert_ptr_not_equal(mapped, MAP_FAILED);
    struct ntk_trace_core core = { .instructions = mapped,
                                   .instruction_count =
                                       bytes_count / sizeof(struct ntk_trace_instruction),
                                   .is_mapped.instructions = true };
    for (int round = 0; round < 2; round++) {
        count = 0;
        sum = 0;
        ntk_trace_each_instruction(&core, instruction) {
            sum += instruction->start_ps;
            count++;
        }
        assert_int_equal(count, core.instruction_count);
        assert_int_equal(sum, bytes_count / sizeof page);
        /* The kernel may map four pieces at once. */
        assert_true(resident_bytes(mapped) <= 8 * NTK_TRACE_SCAN_BYTES);
    }
    munmap(mapped, bytes_count);
    fclose(file);
}

static void a_walk_over_an_empty_list_visits_no_span(void **state)
{
    struct ntk_trace_core core = { .is_mapped.packets = true };
    struct ntk_trace trace = { .core_count = 1, .cores = &core };
    struct ntk_walk walk;
    struct ntk_walk_span span;

    ntk_trace_each_packet(&core, packet) {
        fail_msg("%p", (const void *)packet);
    }
    ntk_walk_init(&walk, &trace, NTK_WALK_INSTRUCTIONS | NTK_WALK_PACKETS);
    assert_false(ntk_walk_next(&walk, &span));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walk_visits_every_span_once_in_time_order),
        cmocka_unit_test(a_scan_of_a_mapped_list_releases_earlier_pages),
        cmocka_unit_test(a_walk_over_an_empty_list_visits_no_span),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
