/* SPDX-License-Identifier: MIT */
/* release_segment FOLDER - prints what a reader sees in the segments of processes that have exited,
 * one JSON object per line. */
#include <inttypes.h>
#include <stdio.h>

#include "shared/ring/ring_registry.h"

#define CORES_MAX 64

static void count_events(const struct ntk_ring_segment *segment, const struct ntk_slot *slots,
                         size_t count, void *ctx)
{
    (void)segment;
    (void)slots;
    *(uint64_t *)ctx += count;
}

static void print_segment(struct ntk_ring_segment *segment)
{
    struct ntk_ring_process process;
    struct ntk_ring_core cores[CORES_MAX];
    static struct ntk_ring_model models[NTK_SEGMENT_MODELS];
    size_t core_count = ntk_ring_segment_cores(segment, cores, CORES_MAX);
    size_t model_count = ntk_ring_segment_models(segment, models, NTK_SEGMENT_MODELS);
    uint64_t completed = 0;
    uint64_t executions = 0;
    uint64_t events = 0;

    ntk_ring_segment_process(segment, &process);
    for (size_t i = 0; i < core_count; i++) {
        completed += cores[i].counters.outcome[NTK_OUTCOME_COMPLETED];
    }
    for (size_t i = 0; i < model_count; i++) {
        executions += models[i].executions;
    }
    (void)ntk_ring_segment_drain(segment, 0, count_events, &events);
    (void)printf("{\"command\": \"%s\", \"instance_type\": \"%s\", \"completed\": %" PRIu64
                 ", \"model\": \"%s\", \"model_executions\": %" PRIu64 ", \"events\": %" PRIu64
                 "}\n",
                 process.command, process.instance_type, completed,
                 model_count > 0 ? models[0].name : "", executions, events);
}

int main(int argc, char **argv)
{
    const struct ntk_ring_options options = { .folder = argc == 2 ? argv[1] : "",
                                              .remembers = true,
                                              .from = NTK_RING_FROM_OLDEST };
    struct ntk_ring_registry *registry = NULL;
    struct ntk_ring_poll poll = { 0 };
    struct ntk_err err = { 0 };

    if (ntk_ring_registry_open(&options, &registry, &err) < 0 ||
        ntk_ring_registry_poll(registry, &poll, &err) < 0) {
        (void)fprintf(stderr, "release_segment: %s\n", err.text);
        ntk_ring_registry_close(registry);
        return 1;
    }
    if (poll.ignored > 0) {
        (void)fprintf(stderr, "release_segment: %s\n", poll.reasons[0].text);
    }
    for (size_t i = 0; i < ntk_ring_registry_count(registry); i++) {
        print_segment(ntk_ring_registry_get(registry, i));
    }
    ntk_ring_registry_close(registry);
    return 0;
}
