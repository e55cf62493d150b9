/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/core/core_publish.h"
#include "runtime-hooks/core/core_state.h"
#include "runtime-hooks/core/core_trace.h"
#include "shared/base/clock.h"
#include "shared/base/str.h"

/* The shortest run on the device: it starts and reports its end. */
#define LAUNCH_NS 1000U

struct ntk_core_kernel {
    struct ntk_core *core;
    _Atomic uint32_t turn; /* core at which the next search starts */
    uint32_t nc;
    uint32_t id;
    uint32_t name_id;
    uint64_t code_bytes;
    struct ntk_hooks_model_ref hook;
    struct core_allocation code; /* accounted memory */
    char name[NTK_CORE_NAME_BYTES];
};

/* A run that holds its cores. */
struct running {
    struct ntk_core_kernel *kernel;
    uint32_t first_nc, width;
    uint16_t queue;
    uint64_t id;
    struct ntk_err *err;
};

int ntk_core_kernel_create(struct ntk_core *core, const struct ntk_core_kernel_options *options,
                           struct ntk_core_kernel **out_kernel, struct ntk_err *err)
{
    if (options->nc >= core->core_count) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "unknown core %u: the process has %u",
                           options->nc, core->core_count);
    }
    struct ntk_core_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel) {
        return ntk_err_no_memory(err);
    }
    kernel->core = core;
    kernel->nc = options->nc;
    kernel->id = core_model_id_next();
    kernel->code_bytes = options->code_bytes;
    (void)ntk_str_copy(kernel->name, sizeof kernel->name, options->name ? options->name : "");
    kernel->name_id = ntk_hooks_name(kernel->name);

    struct ntk_hooks_model hook = {
        .id = kernel->id,
        .name = kernel->name,
        .core = (uint16_t)core->ncs[options->nc].first_physical,
        .core_count = (uint16_t)core->lnc,
        .flags = NTK_PROCESS_MODEL_FLOPS,
    };
    uint64_t start_ticks = options->begin_ticks ? options->begin_ticks : ntk_hooks_now();

    ntk_hooks_model_begin(&hook, &kernel->hook);
    if (kernel->code_bytes > 0) {
        struct core_memory_request request = {
            .physical_core = core->ncs[options->nc].first_physical,
            .category = NTK_MEMORY_HOST_APPLICATION,
            .bytes = kernel->code_bytes,
            .name = "instructions",
            .model = kernel->hook,
            .model_name = kernel->name,
        };

        core_memory_count(core, &request, kernel, &kernel->code);
    }
    ntk_hooks_model_loaded(kernel->hook, start_ticks, core_status(NTK_CORE_COMPLETED), 0);
    *out_kernel = kernel;
    return 0;
}

void ntk_core_kernel_drop(struct ntk_core_kernel *kernel)
{
    if (!kernel) {
        return;
    }
    uint64_t start_ticks = ntk_hooks_now();
    core_memory_release(kernel->core, &kernel->code);
    ntk_hooks_model_unloaded(kernel->hook, start_ticks, core_status(NTK_CORE_COMPLETED));
    free(kernel);
}

/* --- cores ------------------------------------------------------------------------------------ */

/* Locks the cores in ascending order, like all users of several cores. */
static bool cores_lock(struct ntk_core *core, uint32_t first, uint32_t width, bool waits)
{
    for (uint32_t i = 0; i < width; i++) {
        pthread_mutex_t *lock = &core->ncs[first + i].execution_lock;

        if (waits) {
            pthread_mutex_lock(lock);
        } else if (pthread_mutex_trylock(lock) != 0) {
            while (i-- > 0) {
                pthread_mutex_unlock(&core->ncs[first + i].execution_lock);
            }
            return false;
        }
    }
    return true;
}

static void cores_unlock(struct ntk_core *core, uint32_t first, uint32_t width)
{
    for (uint32_t i = width; i-- > 0;) {
        pthread_mutex_unlock(&core->ncs[first + i].execution_lock);
    }
}

static uint32_t cores_hold(struct ntk_core_kernel *kernel, const struct ntk_core_kernel_run *run)
{
    uint32_t turn = atomic_fetch_add_explicit(&kernel->turn, 1, memory_order_relaxed);

    for (uint32_t i = 0; i < run->first_nc_count; i++) {
        if (cores_lock(kernel->core, run->first_ncs[i], run->width, false)) {
            return run->first_ncs[i];
        }
    }
    uint32_t first = run->first_ncs[turn % run->first_nc_count];
    (void)cores_lock(kernel->core, first, run->width, true);
    return first;
}

/* --- time on the device ----------------------------------------------------------------------- */

/* Returns amount / per_second as nanoseconds, rounded up. */
static uint64_t ns_of(double amount, double per_second)
{
    double ns = amount / per_second * 1e9;

    return ns < 1e18 ? (uint64_t)ns + (amount > 0 && ns > (double)(uint64_t)ns ? 1 : 0)
                     : UINT64_C(1000000000000000000);
}

/* Describes the work of one physical core as a run of its engines. */
static void result_fill(const struct ntk_core *core, const struct ntk_core_kernel_work *work,
                        uint32_t core_count, double share, const struct core_slowness *slowness,
                        struct ntk_engine_result *out_result)
{
    const struct ntk_engine_core_spec *spec = ntk_engine_core_spec_get(core->row->facts.generation);
    double lanes_per_second = (double)spec->partition_count * spec->clock_mhz[NTK_ENGINE_DVE] * 1e6;
    uint64_t bytes = (work->read_bytes + work->written_bytes) / core_count;
    struct ntk_engine_result result = {
        .outcome = NTK_RUN_OK,
        .duration_ns = LAUNCH_NS,
        .flops = work->flops / core_count,
        .effective_flops = work->flops / core_count,
        .hbm_read_bytes = work->read_bytes / core_count,
        .hbm_write_bytes = work->written_bytes / core_count,
        .dma_bytes = bytes,
        .fault_engine = NTK_ENGINE_COUNT,
    };

    share /= slowness->core;
    result.busy_ns[NTK_ENGINE_PE] = ns_of((double)result.flops, spec->tensor_peak_flops * share);
    result.busy_ns[NTK_ENGINE_DVE] =
        ns_of((double)work->vector_elements / core_count, lanes_per_second * share);
    /* Cores that run at the same time share their memory bandwidth. */
    result.busy_ns[NTK_ENGINE_DMA] = ns_of((double)(work->read_bytes + work->written_bytes),
                                           spec->hbm_bytes_per_second / slowness->hbm);
    result.instruction_count[NTK_ENGINE_PE] = work->flops > 0 ? 1 : 0;
    result.instruction_count[NTK_ENGINE_DVE] = work->vector_elements > 0 ? 1 : 0;
    result.dma_transfer_count = (work->read_bytes > 0 ? 1 : 0) + (work->written_bytes > 0 ? 1 : 0);
    for (size_t e = 0; e < NTK_ENGINE_COUNT; e++) {
        if (result.busy_ns[e] + LAUNCH_NS > result.duration_ns) {
            result.duration_ns = result.busy_ns[e] + LAUNCH_NS;
        }
    }
    result.duration_ns += slowness->pause_ns;
    *out_result = result;
}

/* --- runs ------------------------------------------------------------------------------------- */

static struct ntk_core_trace_data trace_data(const struct running *running)
{
    return (struct ntk_core_trace_data){ .execution_id = running->id,
                                         .model_id = running->kernel->id,
                                         .queue = running->queue,
                                         .name = running->kernel->name };
}

static void trace_running_begin(const struct running *running, struct ntk_core_trace_span *span)
{
    const struct ntk_core *core = running->kernel->core;
    const struct core_nc *nc = &core->ncs[running->first_nc];
    struct ntk_core_trace_data data = trace_data(running);
    const struct ntk_core_trace_note notes[] = {
        { NTK_NTRACE_INSTANT, NTK_CORE_TRACE_SYNC, NULL },
        { NTK_NTRACE_START, NTK_CORE_TRACE_RUNNING, span },
    };

    data.device_ns = nc->device_clock_ns;
    data.device_core = (uint16_t)(nc->first_physical % core->row->facts.cores_per_device);
    if (ntk_core_trace_is_on()) {
        ntk_core_trace_moment(running->first_nc, &data, notes, 2);
    }
}

static void trace_running_end(const struct running *running, const struct ntk_core_trace_span *span,
                              uint64_t device_ns)
{
    const struct ntk_core *core = running->kernel->core;
    const struct core_nc *nc = &core->ncs[running->first_nc];
    struct ntk_core_trace_data data = trace_data(running);

    data.device_ns = nc->device_clock_ns + device_ns;
    data.device_core = (uint16_t)(nc->first_physical % core->row->facts.cores_per_device);
    ntk_core_trace_span_end(span, &data);
}

/* Returns the outcome of an execution with the hardware faults that strike its cores. */
static enum ntk_core_outcome faults_check(const struct running *running,
                                          struct core_slowness *slowness)
{
    struct ntk_core *core = running->kernel->core;
    struct core_hardware_subject subject = { .model_name = running->kernel->name,
                                             .model = running->kernel->hook,
                                             .execution_id = running->id };
    enum ntk_core_outcome outcome = NTK_CORE_COMPLETED;

    for (uint32_t i = 0; i < running->width && outcome == NTK_CORE_COMPLETED; i++) {
        outcome = core_hardware_check(core, &core->ncs[running->first_nc + i], &subject, slowness,
                                      running->err);
    }
    return outcome;
}

/* The caller holds the cores. */
static enum ntk_core_outcome run_held(const struct running *running,
                                      const struct ntk_core_kernel_run *run)
{
    struct ntk_core_kernel *kernel = running->kernel;
    struct ntk_core *core = kernel->core;
    uint32_t physical_count = running->width * core->lnc;
    struct ntk_hooks_exec_core per_core[NTK_SEGMENT_CORES];
    struct ntk_core_kernel_work work = { 0 };
    struct ntk_engine_result results[NTK_CORE_LNC_MAX] = { { 0 } }; /* all with the same content */
    const struct ntk_engine_result *result = &results[0];
    struct ntk_core_trace_span span = { 0 };
    enum ntk_core_outcome outcome = NTK_CORE_COMPLETED;
    struct core_slowness slowness = CORE_SLOWNESS_NONE;
    struct ntk_hooks_exec exec = {
        .model = kernel->hook,
        .execution_id = running->id,
        .call_start_ticks = run->asked_ticks ? run->asked_ticks : ntk_hooks_now(),
        .core = (uint16_t)core->ncs[running->first_nc].first_physical,
        .core_count = (uint16_t)physical_count,
        .queue = running->queue,
        .per_core = per_core,
    };

    exec.core_start_ticks = ntk_hooks_exec_begin(kernel->hook, exec.core, exec.core_count);
    for (uint32_t i = 0; i < running->width; i++) {
        core_counters_begin(core->counters, running->first_nc + i, exec.core_start_ticks);
    }
    uint64_t start_ns = core->options.is_paced ? ntk_clock_now_ns(core->options.clock) : 0;
    if (ntk_core_trace_is_on()) {
        trace_running_begin(running, &span);
    }
    if (core->faults) {
        outcome = faults_check(running, &slowness);
        core_pause(core->options.clock, slowness.pause_ns);
    }
    bool is_fault = outcome != NTK_CORE_COMPLETED;
    if (!is_fault) {
        core_code_tell(core->ncs[running->first_nc].first_physical, kernel->hook, kernel->name_id,
                       kernel->code_bytes);
        outcome = run->compute(run->ctx, &work, running->err);
    }
    for (uint32_t i = 0; i < core->lnc; i++) {
        result_fill(core, &work, physical_count, run->share, &slowness, &results[i]);
    }
    if (core->options.is_paced) {
        core_pace(core->options.clock, start_ns, result->duration_ns);
    }
    trace_running_end(running, &span, result->duration_ns);
    exec.core_end_ticks = ntk_hooks_now();
    uint64_t host_ns = ntk_hooks_ticks_to_ns(exec.core_end_ticks - exec.core_start_ticks);
    for (uint32_t i = 0; i < physical_count; i++) {
        core_exec_core_fill(&per_core[i], result, host_ns);
        core_driver_count(core, exec.core + i, result, host_ns, i == 0, outcome);
    }
    for (uint32_t i = 0; i < running->width; i++) {
        core->ncs[running->first_nc + i].device_clock_ns += result->duration_ns;
        core_counters_end(core->counters, running->first_nc + i, results, core->lnc, host_ns);
    }
    if (is_fault) {
        ntk_core_publish_fault(core->soft);
    }
    exec.device_ns = result->duration_ns;
    exec.status = core_status(outcome);
    ntk_hooks_exec_end(&exec);
    return outcome;
}

static int run_check(const struct ntk_core_kernel *kernel, const struct ntk_core_kernel_run *run,
                     struct ntk_err *err)
{
    uint32_t core_count = kernel->core->core_count;

    if (!(run->share > 0) || run->share > 1) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "%s: the share of its cores must be above 0 and at most 1",
                           kernel->name);
    }
    for (uint32_t i = 0; i < run->first_nc_count; i++) {
        if (run->width == 0 || run->width > core_count ||
            run->first_ncs[i] > core_count - run->width) {
            return ntk_err_set(
                err, -EINVAL, NTK_ERR_NO_OFFSET,
                "%u cores requested, starting at core %u, but the process has only %u", run->width,
                run->first_ncs[i], core_count);
        }
    }
    return run->first_nc_count > 0 ? 0
                                   : ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                                                 "'%s' has no cores to run on", kernel->name);
}

int ntk_core_kernel_run(struct ntk_core_kernel *kernel, const struct ntk_core_kernel_run *run,
                        enum ntk_core_outcome *out_outcome, struct ntk_err *err)
{
    struct ntk_core *core = kernel->core;
    int ret = run_check(kernel, run, err);

    if (ret < 0) {
        return ret;
    }
    struct running running = {
        .kernel = kernel,
        .width = run->width,
        .queue = run->queue,
        .id = core_execution_begin(core),
        .err = err,
    };
    struct ntk_core_trace_span span = { 0 };
    struct ntk_core_trace_data data = trace_data(&running);

    if (ntk_core_trace_is_on()) {
        ntk_core_trace_span_begin(&span, NTK_CORE_TRACE_EXECUTE, run->first_ncs[0], &data);
    }
    running.first_nc = cores_hold(kernel, run);
    *out_outcome = run_held(&running, run);
    cores_unlock(core, running.first_nc, run->width);
    ntk_core_trace_span_end(&span, &data);
    core_execution_end(core, running.id);
    return 0;
}
