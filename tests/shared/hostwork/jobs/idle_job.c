/* SPDX-License-Identifier: MIT */
#include "tests/shared/hostwork/jobs/idle_job.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "runtime-hooks/hooks/hooks.h"

#define EXECUTION_NS 3000000L

static struct ntk_hooks_model_ref model_ref;
static uint64_t execution, idle_ns, ended_ns;

uint64_t idle_job_now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t idle_job_ended_ns(void)
{
    return ended_ns;
}

int idle_job_begin(void)
{
    struct ntk_hooks_config config = {
        .instance_type = "trn1.2xlarge", .lnc = 1, .device_count = 1, .cores_per_device = 2
    };
    struct ntk_hooks_model model = { .id = 10001, .name = "step", .core = 0, .core_count = 1 };
    char note[256];
    int ret = ntk_hooks_attach(&config, note, sizeof note);

    if (ret == 0) {
        ntk_hooks_core_claim(0, 0, 1);
        ntk_hooks_model_begin(&model, &model_ref);
        ntk_hooks_model_loaded(model_ref, ntk_hooks_now(), 0, 0);
    }
    return ret;
}

void idle_job_execute(void)
{
    struct ntk_hooks_exec exec = {
        .model = model_ref, .execution_id = ++execution, .core = 0, .core_count = 1
    };
    struct timespec pause = { 0, EXECUTION_NS };

    idle_ns += ended_ns > 0 ? idle_job_now_ns() - ended_ns : 0;
    exec.call_start_ticks = ntk_hooks_now();
    exec.core_start_ticks = ntk_hooks_exec_begin(model_ref, 0, 1);
    (void)nanosleep(&pause, NULL);
    ntk_hooks_exec_end(&exec);
    ended_ns = idle_job_now_ns();
}

void idle_job_report(uint64_t cause_ns)
{
    idle_ns += ended_ns > 0 ? idle_job_now_ns() - ended_ns : 0;
    (void)printf("%" PRIu64 " %" PRIu64 "\n", idle_ns, cause_ns);
    (void)fflush(stdout);
}
