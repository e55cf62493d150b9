/* SPDX-License-Identifier: MIT */
/*
 * One record of ours against one of LTTng-UST with as many bytes, in turn in one process. Run by
 * bench_hooks_lttng.sh inside a snapshot session.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_tp.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/hooks_so.h"
#include "tests/bench/rounds.h"

#define EVENTS 300000u

static double measure_ours(void *ctx)
{
    uint64_t begin = rounds_cpu_ns();
    uint64_t i;

    (void)ctx;
    for (i = 0; i < EVENTS; i++) {
        bench_so_mark(i, i);
    }
    return (double)(rounds_cpu_ns() - begin) / EVENTS;
}

static double measure_lttng(void *ctx)
{
    uint64_t begin = rounds_cpu_ns();
    uint64_t i;

    (void)ctx;
    for (i = 0; i < EVENTS; i++) {
        lttng_ust_tracepoint(ntk_bench, mark, i, i);
    }
    return (double)(rounds_cpu_ns() - begin) / EVENTS;
}

int main(int argc, char **argv)
{
    struct rounds_subject subjects[] = {
        { .name = "one record of ours", .measure = measure_ours },
        { .name = "one record of LTTng-UST, snapshot mode", .measure = measure_lttng },
    };

    rounds_options(argc, argv);
    if (!lttng_ust_tracepoint_enabled(ntk_bench, mark)) {
        (void)fprintf(stderr, "lttng_peer: no session records the tracepoint\n");
        return 77;
    }
    if (bench_so_attach() != 0) {
        return 1;
    }
    (void)rounds_pin(0);
    rounds_run(subjects, 2, 9);
    rounds_print(&subjects[0], "ns");
    rounds_print(&subjects[1], "ns");
    int good = rounds_print_ratio("E1 ours / LTTng-UST", &subjects[0], &subjects[1], 0.125);
    bench_so_detach();
    return good ? 0 : 1;
}
