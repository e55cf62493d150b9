/* SPDX-License-Identifier: MIT */
#include "profiler/output/answers/system_analyses.h"

#include "profiler/output/answers/output_host_threads.h"
#include "profiler/output/answers/system_answers.h"

typedef int answer(const struct ntk_system_asked *asked, struct ntk_buf *text,
                   struct ntk_json *json);

static const struct {
    struct ntk_analysis_info info;
    answer *run;
} analyses[] = {
    { { "host-gaps", "Host gaps", "host activity while a core is idle", NULL },
      ntk_output_host_gaps },
    { { "host-threads", "Idle", "host thread activity while cores were idle",
        "requires a recording by neuron-profile idle --record, or trigger --idle" },
      ntk_output_host_threads },
    { { "memory", "Device memory", "device memory over time, its peak, and its use", NULL },
      ntk_output_device_memory },
    { { "executions", "Executions", "submit, queue, device and host time of each execution", NULL },
      ntk_output_executions },
    { { "startup", "Start-up", "time until a device starts working, and load times", NULL },
      ntk_output_startup },
    { { "out-of-memory", "Out of memory", "which allocation failed, and what filled the memory",
        NULL },
      ntk_output_out_of_memory },
    { { "ranks", "Ranks",
        "how far apart ranks start executions and collectives, and which rank is late",
        "requires executions by at least two workers" },
      ntk_output_rank_skew },
    { { "joined", "Joined ranks",
        "compute, communication and wait time of ranks, and their critical path",
        "requires at least two workers with collectives" },
      ntk_output_joined },
};

size_t ntk_system_analyses_count(void)
{
    return sizeof analyses / sizeof *analyses;
}

const struct ntk_analysis_info *ntk_system_analyses_info(size_t index)
{
    return &analyses[index].info;
}

bool ntk_system_analyses_streams(size_t index)
{
    return analyses[index].run == ntk_output_joined;
}

int ntk_system_analyses_put(const struct ntk_system_asked *asked, size_t index,
                            struct ntk_buf *text, struct ntk_json *json)
{
    return analyses[index].run(asked, text, json);
}
