/* SPDX-License-Identifier: MIT */
/* fuzz_joined - any bytes as the events of a few ranks on two machines: the analysis terminates,
 * the parts of a rank add up to its span, causes add up to its wait, and the path is as long as its
 * parts. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/joined.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SPAN_BYTES 12
#define SPANS_MAX 512
#define TRACES 3

static int segment(size_t rank, enum ntk_joined_part part, int64_t start_ns, int64_t end_ns,
                   void *ctx)
{
    (void)rank;
    if (part >= NTK_JOINED_PART_COUNT || end_ns <= start_ns) {
        abort();
    }
    ++*(size_t *)ctx;
    return 0;
}

static void span_fill(const uint8_t *bytes, struct ntk_system_span *out)
{
    static const char *const names[] = {
        "",
        "comm 000000000000000a rank 0 of 2, 0 of 4 in all",
        "comm 000000000000000b rank 1 of 3, 2 of 4 in all",
        "comm 000000000000000a rank 1 of 2, 1 of 4 in all",
    };
    static const char *const types[] = { "cc_running", "nc_exec_running", "cc_exec_barrier",
                                         "cc_running" };
    uint32_t start;
    uint16_t length;

    memcpy(&start, bytes + 4, sizeof start);
    memcpy(&length, bytes + 8, sizeof length);
    *out = (struct ntk_system_span){ .type = types[bytes[0] & 3],
                                     .name = names[bytes[0] >> 2 & 3],
                                     .worker = bytes[1] & 7,
                                     .device_core = bytes[1] >> 7,
                                     .exec_id = bytes[2] & 31,
                                     /* sometimes at the largest possible time */
                                     .start_ns = (uint64_t)start << (bytes[3] % 34),
                                     .end_ns = 0 };
    out->end_ns = out->start_ns + ((uint64_t)length << (bytes[10] % 48));
}

static void check(const struct ntk_joined *joined)
{
    uint64_t path_ns = 0;

    for (size_t r = 0; r < joined->rank_count && !joined->unknown; r++) {
        const struct ntk_joined_rank *rank = &joined->ranks[r];
        uint64_t parts_ns = 0;
        uint64_t causes_ns = 0;

        for (unsigned p = 0; p < NTK_JOINED_PART_COUNT; p++) {
            parts_ns += rank->part_ns[p];
            path_ns += rank->path_ns[p];
        }
        for (unsigned c = 0; c < NTK_JOINED_CAUSE_COUNT; c++) {
            causes_ns += rank->cause_ns[c];
        }
        if (parts_ns != rank->span_ns || causes_ns != rank->waited_ns) {
            abort();
        }
    }
    if (!joined->unknown && path_ns != joined->total_ns) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ntk_system_span spans[TRACES][SPANS_MAX];
    NtkNtracePb__Info hosts[TRACES] = { { .boot_id = (char *)"a", .host_name = (char *)"" },
                                        { .boot_id = (char *)"b", .host_name = (char *)"b" },
                                        { .boot_id = (char *)"a", .host_name = (char *)"" } };
    struct ntk_system_trace traces[TRACES] = { 0 };
    const struct ntk_system_trace *list[TRACES];
    struct ntk_joined joined = { 0 };
    size_t segments = 0;
    struct ntk_joined_options options = { .change_count = 1,
                                          .changes = { { .part = NTK_JOINED_LINK, .speed = 0 } },
                                          .segment = segment,
                                          .path = segment,
                                          .ctx = &segments };

    for (size_t t = 0; t < TRACES; t++) {
        traces[t].spans = spans[t];
        traces[t].info = &hosts[t];
        list[t] = &traces[t];
    }
    for (size_t at = 0; at + SPAN_BYTES <= size; at += SPAN_BYTES) {
        struct ntk_system_trace *trace = &traces[data[at + 11] % TRACES];

        if (trace->span_count < SPANS_MAX) {
            span_fill(data + at, &trace->spans[trace->span_count++]);
        }
    }
    if (ntk_analysis_joined(list, TRACES, &options, &joined) == 0) {
        check(&joined);
        ntk_joined_fini(&joined);
    }
    return 0;
}
