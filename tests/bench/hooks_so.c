/* SPDX-License-Identifier: MIT */
#include "tests/bench/hooks_so.h"

#include "runtime-hooks/hooks/hooks.h"

#define EXPORT __attribute__((visibility("default")))

static struct ntk_hooks_model_ref model;

EXPORT int bench_so_attach(void)
{
    struct ntk_hooks_config config = { .lnc = 1, .device_count = 1, .cores_per_device = 2 };
    struct ntk_hooks_model load = { .id = 10001, .name = "bench", .core = 0, .core_count = 1 };
    int ret = ntk_hooks_attach(&config, NULL, 0);

    if (ret == 0) {
        ntk_hooks_core_claim(0, 0, 1);
        ntk_hooks_model_begin(&load, &model);
        ntk_hooks_model_loaded(model, ntk_hooks_now(), 0, 0);
    }
    return ret;
}

EXPORT void bench_so_detach(void)
{
    ntk_hooks_detach();
}

EXPORT void bench_so_nothing(uint64_t a, uint64_t b)
{
    __asm__ volatile("" : : "r"(a), "r"(b));
}

EXPORT void bench_so_mark(uint64_t a, uint64_t b)
{
    ntk_hooks_mark(1, 0, 0, a, b);
}

EXPORT void bench_so_range(const char *name, uint64_t value)
{
    ntk_hooks_mark_text(name, ntk_hooks_mark_begin(), value);
}

static struct ntk_hooks_exec running;

EXPORT void bench_so_execute_begin(uint64_t id)
{
    static const struct ntk_hooks_exec_core did = {
        .engine_busy_ns = { 5, 5, 5, 5, 5, 5 },
        .engine_busy_device_ns = { 5, 5, 5, 5, 5, 5 },
        .engine_instructions = { 1, 1, 1, 1, 1, 1 },
        .flops = 100,
        .effective_flops = 90,
        .hbm_read_bytes = 64,
        .hbm_written_bytes = 64,
        .dma_bytes = 128,
    };

    running = (struct ntk_hooks_exec){ .model = model,
                                       .execution_id = id,
                                       .call_start_ticks = ntk_hooks_now(),
                                       .device_ns = 100,
                                       .core = 0,
                                       .core_count = 1,
                                       .per_core = &did };
    running.core_start_ticks = ntk_hooks_exec_begin(model, 0, 1);
}

EXPORT void bench_so_execute_end(void)
{
    ntk_hooks_exec_end(&running);
}

EXPORT void bench_so_execute(uint64_t id)
{
    bench_so_execute_begin(id);
    bench_so_execute_end();
}
