/* SPDX-License-Identifier: MIT */
/*
 * timeline_server COUNT - serves the timeline page of a generated trace. Prints "ADDRESS BUILD_MS",
 * and serves until its stdin ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "profiler/timeline/timeline_serve.h"
#include "shared/base/clock.h"
#include "tests/support/trace_sample.h"

int main(int argc, char **argv)
{
    struct trace_sample *sample = trace_sample_create(argc > 1 ? strtoul(argv[1], NULL, 10) : 1000);
    struct ntk_timeline_source source = { .trace = &sample->trace, .name = "sample" };
    struct ntk_timeline_serve *serve = NULL;
    struct ntk_timeline *timeline = NULL;
    struct ntk_err err = { 0 };
    char byte;
    uint64_t begin_ns = ntk_clock_monotonic_ns();

    if (ntk_timeline_create(&(struct ntk_timeline_options){ .sources = &source, .source_count = 1 },
                            &timeline, &err) < 0 ||
        ntk_timeline_serve_create(
            &(struct ntk_timeline_serve_options){
                .ask = { .timeline = timeline, .title = "sample" } },
            &serve, &err) < 0) {
        (void)fprintf(stderr, "timeline_server: %s\n", err.text);
        return 1;
    }
    printf("http://127.0.0.1:%u/ %llu\n", ntk_timeline_serve_port_get(serve),
           (unsigned long long)(ntk_clock_monotonic_ns() - begin_ns) / 1000000);
    (void)fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    ntk_timeline_serve_destroy(serve);
    ntk_timeline_destroy(timeline);
    trace_sample_destroy(sample);
    return 0;
}
