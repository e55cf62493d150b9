/* SPDX-License-Identifier: MIT */
/*
 * core_device - the part of the machine that this process holds: its cores, their stacks, their
 * hardware state.
 */
#include "runtime-hooks/core/core_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "runtime-hooks/core/core_debug.h"
#include "runtime-hooks/core/core_publish.h"
#include "runtime-hooks/core/core_trace.h"
#include "shared/base/buf.h"
#include "shared/abi/core_number.h"
#include "shared/base/clock.h"
#include "shared/base/process.h"
#include "shared/base/str.h"
#include "shared/base/units.h"

/* Distance between the seeds of two cores, so that adjacent seeds do not collide. */
#define CORE_SEED_STEP 0x9e3779b9U
/* Maximum time for processes that give way to leave a core, and the polling interval. */
#define YIELD_NS (5 * NTK_NS_PER_SECOND)
#define YIELD_PAUSE_NS 500000L
#define STACK_LEAST_BYTES (16ULL << 20) /* with less, no model would fit */
#define HOLDERS_MAX 3                   /* maximum holders that a message names */

static _Atomic uint32_t next_model_id = NTK_MODEL_ID_FIRST;
static struct ntk_core *forgotten_core;

uint32_t core_model_id_next(void)
{
    return atomic_fetch_add(&next_model_id, 1);
}

/* Puts the name of the setting before the message about an invalid value. */
static int refused(const struct ntk_core_setting *setting, int error, struct ntk_err *err)
{
    if (setting->name) {
        ntk_err_prefix(err, "%s", setting->name);
    }
    return error;
}

static int instance_check(const struct ntk_core_setting *instance, struct ntk_err *err)
{
    char names[NTK_ERR_TEXT_BYTES];

    if (!instance->value || ntk_core_machine_row_find(instance->value)) {
        return 0;
    }
    ntk_core_machine_names(names, sizeof names);
    return refused(instance,
                   ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "unknown machine '%s': expected %s",
                               instance->value, names),
                   err);
}

int ntk_core_machine_find(const struct ntk_core_machine_options *options,
                          struct ntk_core_machine *out_machine, struct ntk_err *err)
{
    char there[64];
    const char *wanted = options->instance.value;
    int ret = instance_check(&options->instance, err);

    if (ret < 0) {
        return ret;
    }
    if (!wanted) {
        wanted = ntk_core_soft_peek(there, sizeof there) ? there : NTK_CORE_DEFAULT_INSTANCE;
    }
    *out_machine = ntk_core_machine_row_find(wanted)->facts;
    return 0;
}

static int machine_open(const struct ntk_core_machine_options *options,
                        struct ntk_core_soft **out_soft,
                        const struct ntk_core_machine_row **out_row, struct ntk_err *err)
{
    const struct ntk_core_soft_options soft = { .instance = options->instance.value,
                                                .new_tree = options->new_tree,
                                                .as_process = true };
    int ret = instance_check(&options->instance, err);

    if (ret == 0) {
        ret = ntk_core_soft_open(&soft, out_soft, err);
    }
    if (ret == 0) {
        *out_row = ntk_core_machine_row_find((*out_soft)->state->header.instance_type);
    }
    return ret;
}

int ntk_core_machine_build(const struct ntk_core_machine_options *options, struct ntk_err *err)
{
    const struct ntk_core_machine_row *row = NULL;
    struct ntk_core_soft *soft = NULL;
    /* Register as a process, so that no other process rebuilds the machine in the meantime. */
    int ret = machine_open(options, &soft, &row, err);

    if (ret == 0) {
        ret = ntk_core_publish_once(soft, row, err);
    }
    ntk_core_soft_close(soft);
    return ret;
}

int ntk_core_machine_remove(struct ntk_err *err)
{
    struct ntk_core_soft *soft = NULL;
    const struct ntk_core_soft_options whatever = { .instance = NULL };
    int ret = ntk_core_soft_open(&whatever, &soft, err);

    if (ret == 0) {
        ret = ntk_core_soft_remove(soft, err);
    }
    if (ret == 0) {
        ret = ntk_core_publish_remove(err);
    }
    ntk_core_soft_close(soft);
    return ret;
}

int ntk_core_machine_holder(const struct ntk_core_machine *machine, uint32_t device)
{
    struct ntk_core_soft *soft = NULL;
    const struct ntk_core_soft_options whatever = { .instance = NULL };
    struct ntk_err err = { 0 };
    int pid = 0;

    if (ntk_core_soft_open(&whatever, &soft, &err) < 0) {
        return 0;
    }
    for (uint32_t i = 0; i < machine->cores_per_device && pid == 0; i++) {
        pid = ntk_core_soft_holder(soft, ntk_core_number(device, machine->cores_per_device, i));
    }
    ntk_core_soft_close(soft);
    return pid > 0 ? pid : 0;
}

/* Locks all physical cores of the logical core, or none. Returns 1; 0 if another process has one;
 * or -errno. */
static int logical_core_lock(struct ntk_core *core, uint32_t logical)
{
    for (uint32_t i = 0; i < core->lnc; i++) {
        int ret = ntk_core_soft_lock(core->soft, logical * core->lnc + i);

        if (ret != 1) {
            while (i-- > 0) {
                ntk_core_soft_unlock(core->soft, logical * core->lnc + i);
            }
            return ret;
        }
    }
    return 1;
}

static void logical_cores_unlock(struct ntk_core *core, uint32_t first, uint32_t count)
{
    for (uint32_t p = first * core->lnc; p < (first + count) * core->lnc; p++) {
        ntk_core_soft_unlock(core->soft, p);
    }
}

/* Same as ntk_core_soft_holder(), for a logical core. */
static int logical_core_holder(const struct ntk_core *core, uint32_t logical)
{
    int pid = 0;

    for (uint32_t i = 0; i < core->lnc && pid == 0; i++) {
        pid = ntk_core_soft_holder(core->soft, logical * core->lnc + i);
    }
    return pid;
}

/* Waits until processes that give way (the canary of neuron-monitor diag) have left the requested
 * cores. They check for requests after announcing that they give way, and this process checks for
 * them after announcing its request, so neither misses the other. */
static void cores_await(struct ntk_core *core, uint32_t first, uint32_t count)
{
    uint64_t until_ns = ntk_clock_monotonic_ns() + YIELD_NS;
    const struct timespec pause = { .tv_nsec = YIELD_PAUSE_NS };

    while (ntk_core_soft_yields(core->soft, first, count) && ntk_clock_monotonic_ns() < until_ns) {
        (void)nanosleep(&pause, NULL);
    }
}

/* Writes "; nc0-nc1: process 4711 (python3) of alice since ..., nc4: ...", with at most HOLDERS_MAX
 * holders. */
static void holders_format(const struct ntk_core *core, uint32_t from, uint32_t to,
                           struct ntk_buf *out)
{
    uint32_t named = 0;
    uint32_t next;

    for (uint32_t l = from; l < to && named <= HOLDERS_MAX; l = next) {
        int pid = logical_core_holder(core, l);
        struct ntk_process process;
        char text[NTK_PROCESS_TEXT_BYTES] = "a process in another container";
        char last[16] = "";

        next = l + 1;
        while (pid != 0 && next < to && logical_core_holder(core, next) == pid) {
            next++;
        }
        if (pid == 0) {
            continue;
        }
        if (named++ == HOLDERS_MAX) {
            ntk_buf_add_text(out, ", ...");
            break;
        }
        if (pid > 0 && ntk_process_read(NULL, (uint32_t)pid, &process) == 0) {
            const uint64_t *since_ns = &core->soft->state->core[l * core->lnc].owner_since_ns;

            (void)ntk_process_format(&process, ntk_abi_load(since_ns), text, sizeof text);
        } else if (pid > 0) {
            (void)snprintf(text, sizeof text, "process %d", pid);
        }
        if (next > l + 1) {
            (void)snprintf(last, sizeof last, "-nc%u", next - 1);
        }
        ntk_buf_add_format(out, "%s nc%u%s: %s", named > 1 ? "," : ";", l, last, text);
    }
}

static int cores_busy(const struct ntk_core *core, uint32_t from, uint32_t to, uint32_t last,
                      uint32_t free_count, struct ntk_err *err)
{
    struct ntk_buf holders = { 0 };

    holders_format(core, from, to, &holders);
    int ret = ntk_err_set(err, -EBUSY, NTK_ERR_NO_OFFSET,
                          "NeuronCore(s) not available - Requested:nc%u-nc%u Available:%u%s", from,
                          last, free_count, ntk_buf_ok(&holders) ? ntk_buf_text_get(&holders) : "");
    ntk_buf_fini(&holders);
    return ret;
}

/* Chooses and locks the cores first_core .. first_core + core_count - 1. */
static int cores_choose(struct ntk_core *core, struct ntk_err *err)
{
    const struct ntk_core_options *options = &core->options;
    uint32_t total = core->row->facts.device_count * core->row->facts.cores_per_device / core->lnc;
    uint32_t free_count = 0;

    if (options->exact && (options->core_count == 0 || options->first_core >= total ||
                           options->core_count > total - options->first_core)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "NeuronCores %u-%u requested, but %s has %u", options->first_core,
                           options->first_core + options->core_count - 1, core->row->facts.instance,
                           total);
    }
    uint32_t from = options->exact ? options->first_core : 0;
    uint32_t to = options->exact ? options->first_core + options->core_count : total;
    uint32_t wanted = options->core_count;

    /* Find the first sequence of free cores that is long enough or, without a requested number, the
     * longest. */
    for (;;) {
        uint32_t best_first = 0;
        uint32_t best_count = 0;
        uint32_t run = 0;

        free_count = 0;
        for (uint32_t l = from; l < to; l++) {
            run = logical_core_holder(core, l) == 0 ? run + 1 : 0;
            free_count += run > 0 ? 1 : 0;
            if (run > best_count && (wanted == 0 || best_count < wanted)) {
                best_count = run;
                best_first = l + 1 - run;
            }
        }
        if (best_count == 0 || best_count < wanted) {
            break;
        }
        uint32_t locked = 0;
        int ret = 1;
        while (locked < best_count && (ret = logical_core_lock(core, best_first + locked)) == 1) {
            locked++;
        }
        if (locked == best_count) {
            core->first_core = best_first;
            core->core_count = best_count;
            return 0;
        }
        logical_cores_unlock(core, best_first, locked);
        if (ret < 0) {
            return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot lock NeuronCores: %s",
                               strerror(-ret));
        }
        /* Another process took them first: retry. */
    }
    uint32_t last = options->exact ? to - 1 : from + (wanted > 0 ? wanted : 1) - 1;
    return cores_busy(core, from, to, last, free_count, err);
}

static int cores_lock(struct ntk_core *core, struct ntk_err *err)
{
    uint32_t count = core->row->facts.device_count * core->row->facts.cores_per_device;

    ntk_core_soft_want(core->soft, 0, count, true);
    cores_await(core, 0, count);
    int ret = cores_choose(core, err);
    ntk_core_soft_want(core->soft, 0, count, false);
    return ret;
}

/* Reserves address space for a stack, without memory. Under a limit (ulimit -v, valgrind), reserves
 * half of the largest power of two that fits, because the process needs the rest. */
static int stack_reserve(struct core_stack *stack, struct ntk_err *err)
{
    const int protection = PROT_READ | PROT_WRITE;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char size[NTK_UNITS_TEXT_BYTES];
    void *bytes = MAP_FAILED;
    uint64_t wanted;

    for (wanted = stack->size; wanted >= STACK_LEAST_BYTES; wanted /= 2) {
        bytes = mmap(NULL, wanted, protection, flags, -1, 0);
        if (bytes != MAP_FAILED) {
            break;
        }
    }
    if (bytes == MAP_FAILED) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET,
                           "cannot reserve %s of address space for an HBM stack: %s",
                           ntk_units_bytes(size, sizeof size, STACK_LEAST_BYTES), strerror(errno));
    }
    if (wanted < stack->size) {
        (void)munmap((char *)bytes + wanted / 2, wanted / 2);
        wanted /= 2;
    }
    stack->bytes = bytes;
    stack->reserved_bytes = wanted;
    (void)madvise(bytes, wanted, MADV_DONTDUMP); /* a core file of 32 GiB would be useless */
    return 0;
}

static int stack_open(struct ntk_core *core, uint32_t device, uint32_t index,
                      struct core_stack **out_stack, struct ntk_err *err)
{
    ntk_vec_each(struct core_stack *, known, &core->stacks) {
        if ((*known)->device == device && (*known)->index == index) {
            *out_stack = *known;
            return 0;
        }
    }
    struct core_stack *stack = calloc(1, sizeof *stack);
    if (!stack) {
        return ntk_err_no_memory(err);
    }
    stack->device = device;
    stack->index = index;
    stack->size = core->row->facts.stack_bytes;
    int ret = stack_reserve(stack, err);
    if (ret < 0) {
        free(stack);
        return ret;
    }
    pthread_mutex_init(&stack->lock, NULL);
    if (ntk_core_heap_init(&stack->heap, stack->reserved_bytes) < 0 ||
        ntk_vec_push(&core->stacks, &stack) < 0) {
        ntk_core_heap_fini(&stack->heap);
        munmap(stack->bytes, stack->reserved_bytes);
        free(stack);
        return ntk_err_no_memory(err);
    }
    *out_stack = stack;
    return 0;
}

/* Sets up the hardware state and microcode of one logical core. */
static int nc_open(struct ntk_core *core, uint32_t nc_index, struct ntk_err *err)
{
    struct core_nc *nc = &core->ncs[nc_index];
    uint32_t per_device = core->row->facts.cores_per_device;
    int ret = 0;

    nc->first_physical = (core->first_core + nc_index) * core->lnc;
    pthread_mutex_init(&nc->execution_lock, NULL);
    for (uint32_t i = 0; i < core->lnc && ret == 0; i++) {
        uint32_t physical = nc->first_physical + i;
        struct core_stack *stack = NULL;

        ret = stack_open(core, physical / per_device,
                         physical % per_device / core->row->cores_per_stack, &stack, err);
        if (ret == 0) {
            nc->stack = nc->stack ? nc->stack : stack;
            ret = ntk_engine_core_create(core->row->facts.generation, &nc->engines[i], err);
        }
        if (ret == 0) {
            /* Each core rounds differently. */
            ntk_engine_core_seed(nc->engines[i],
                                 core->options.rounding_seed + physical * CORE_SEED_STEP);
            struct core_memory_request request = { .physical_core = physical,
                                                   .category = NTK_MEMORY_UCODE,
                                                   .bytes = NTK_CORE_UCODE_BYTES,
                                                   .name = "microcode" };

            ntk_abi_store(&core->soft->state->core[physical].owner_since_ns,
                          ntk_clock_realtime_ns());
            ntk_abi_store(&core->soft->state->core[physical].owner_pid, core->soft->process->pid);
            ntk_hooks_core_claim((uint16_t)physical, core->first_core + nc_index, i == 0);
            ret = core_memory_take(core, &request, &nc->ucode[i], err);
        }
    }
    return ret;
}

static void nc_close(struct ntk_core *core, struct core_nc *nc)
{
    for (uint32_t i = 0; i < core->lnc; i++) {
        uint32_t physical = nc->first_physical + i;

        core_memory_release(core, &nc->scratchpad[i]);
        if (nc->ucode[i].address) {
            core_memory_release(core, &nc->ucode[i]);
            ntk_hooks_core_release((uint16_t)physical);
            ntk_abi_store(&core->soft->state->core[physical].owner_pid, 0);
        }
        ntk_engine_core_destroy(nc->engines[i]);
    }
    pthread_mutex_destroy(&nc->execution_lock);
}

static void hooks_start(const struct ntk_core *core)
{
    const struct ntk_core_options *options = &core->options;
    char note[NTK_ERR_TEXT_BYTES] = "";
    struct ntk_hooks_config config = {
        .instance_type = core->row->facts.instance,
        .runtime_version = options->runtime_version,
        .framework_version = options->framework_version,
        .fal_version = options->fal_version,
        .framework_type = options->framework,
        .lnc = core->lnc,
        .device_count = core->row->facts.device_count,
        .cores_per_device = core->row->facts.cores_per_device,
        .process_flags = NTK_PROCESS_SOFTWARE_CORE,
    };

    (void)ntk_hooks_attach(&config, note, sizeof note);
    if (note[0] != '\0' && options->warn) {
        options->warn(note);
    }
}

static void aside_tell(const struct ntk_core *core)
{
    char note[NTK_PATH_BYTES + 128];

    (void)snprintf(note, sizeof note,
                   "another user owns the folder of the software machine; using %s",
                   core->soft->folder);
    if (core->options.warn) {
        core->options.warn(note);
    }
}

static int faults_open(const struct ntk_core_setting *setting, struct ntk_core_faults **out_faults,
                       struct ntk_err *err)
{
    int ret = setting->value ? ntk_core_faults_parse(setting->value, out_faults, err) : 0;

    return ret < 0 ? refused(setting, ret, err) : 0;
}

static void core_free(struct ntk_core *core)
{
    ntk_core_debug_close_all();
    for (int sink = 0; sink < NTK_CORE_TRACE_SINKS; sink++) {
        (void)ntk_core_trace_stop((enum ntk_core_trace_sink)sink);
    }
    core_captures_drop(core);
    core_comms_drop(core);
    if (core->ncs) {
        core_recorders_drop(core);
        for (uint32_t i = 0; i < core->core_count; i++) {
            nc_close(core, &core->ncs[i]);
        }
        free(core->ncs);
    }
    core_memlog_finish(core->memlog);
    ntk_hooks_detach();
    ntk_core_publisher_stop(core->publisher);
    ntk_vec_each(struct core_stack *, stack, &core->stacks) {
        ntk_core_heap_fini(&(*stack)->heap);
        pthread_mutex_destroy(&(*stack)->lock);
        munmap((*stack)->bytes, (*stack)->reserved_bytes);
        free(*stack);
    }
    ntk_vec_fini(&core->stacks);
    ntk_vec_fini(&core->models);
    ntk_vec_fini(&core->captures);
    core_memlog_destroy(core->memlog);
    free(core->dump_folder);
    core_usage_destroy(core->usage);
    core_counters_destroy(core->counters);
    ntk_core_faults_destroy(core->faults);
    pthread_mutex_destroy(&core->lock);
    pthread_mutex_destroy(&core->comm_lock);
    ntk_vec_fini(&core->weights);
    pthread_mutex_destroy(&core->weights_lock);
    ntk_core_soft_close(core->soft); /* must be last: frees the cores for other processes */
    free(core);
}

int ntk_core_open(const struct ntk_core_options *options, struct ntk_core **out_core,
                  struct ntk_err *err)
{
    const struct ntk_core_machine_row *row = NULL;
    struct ntk_core_faults *faults = NULL;
    struct ntk_core_soft *soft = NULL;
    struct ntk_err tree_err = { 0 };
    int ret = faults_open(&options->faults, &faults, err);

    if (ret == 0) {
        ret = machine_open(&options->machine, &soft, &row, err);
    }
    /* Allocated after the machine was opened: the process then has no other machine that
     * core_free() could stop hooks and traces of. */
    struct ntk_core *core = ret == 0 ? calloc(1, sizeof *core) : NULL;
    if (!core) {
        ntk_core_faults_destroy(faults);
        ntk_core_soft_close(soft);
        return ret < 0 ? ret : ntk_err_no_memory(err);
    }
    core->options = *options;
    core->faults = faults;
    core->soft = soft;
    core->row = row;
    pthread_mutex_init(&core->lock, NULL);
    pthread_mutex_init(&core->comm_lock, NULL);
    pthread_mutex_init(&core->weights_lock, NULL);
    ntk_vec_init(&core->weights, sizeof(struct core_weight *));
    ntk_vec_init(&core->stacks, sizeof(struct core_stack *));
    ntk_vec_init(&core->models, sizeof(struct ntk_core_model *));
    ntk_vec_init(&core->captures, sizeof(struct core_capture *));
    if (core->soft->is_aside) {
        aside_tell(core);
    }
    core->lnc = options->lnc > 0 ? options->lnc : core->row->facts.default_lnc;
    if (core->lnc > core->row->facts.largest_lnc) {
        ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                          "%s does not support logical cores of %u physical cores",
                          core->row->facts.instance, core->lnc);
        goto out;
    }
    if (core->row->facts.generation >= 3 && core->lnc == 1) {
        core->options.contiguous_scratchpad = false;
    }
    ret = cores_lock(core, err);
    if (ret < 0) {
        goto out;
    }
    core->usage = core_usage_create();
    core->memlog = core_memlog_create(options->memlog_entries);
    core->dump_folder = strdup(options->dump_folder ? options->dump_folder : "/tmp");
    core->counters = core_counters_create(core->core_count);
    if (!core->dump_folder || !core->counters) {
        ret = ntk_err_no_memory(err);
        goto out;
    }
    core_comms_sweep(core);
    hooks_start(core);
    core->ncs = calloc(core->core_count, sizeof *core->ncs);
    if (!core->ncs) {
        ret = ntk_err_no_memory(err);
        goto out;
    }
    for (uint32_t i = 0; i < core->core_count && ret == 0; i++) {
        ret = nc_open(core, i, err);
    }
    if (ret < 0) {
        goto out;
    }
    if (ntk_core_publisher_start(core->soft, core->row, &core->publisher, &tree_err) < 0 &&
        options->warn) {
        options->warn(tree_err.text);
    }
    *out_core = core;
    core = NULL;

out:
    if (core) {
        core_free(core);
    }
    return ret;
}

void ntk_core_close(struct ntk_core *core)
{
    if (core) {
        core_free(core);
    }
}

void ntk_core_forget_after_fork(struct ntk_core *core)
{
    if (!core) {
        return;
    }
    core_tensor_forget();
    ntk_vec_each(struct core_stack *, stack, &core->stacks) {
        munmap((*stack)->bytes, (*stack)->reserved_bytes);
    }
    ntk_core_soft_forget(core->soft);
    core->soft = NULL;
    /* The rest is a snapshot of the parent's state, with locks that missing threads may hold. It
     * only stays reachable. */
    forgotten_core = core;
}

const struct ntk_core_machine *ntk_core_machine_get(const struct ntk_core *core)
{
    return &core->row->facts;
}

uint32_t ntk_core_count(const struct ntk_core *core)
{
    return core->core_count;
}

const char *ntk_core_driver_version(const struct ntk_core *core)
{
    return ntk_core_publish_driver(core->soft);
}

uint32_t ntk_core_lnc(const struct ntk_core *core)
{
    return core->lnc;
}

uint64_t ntk_core_device_clock_ns(const struct ntk_core *core, uint32_t nc)
{
    return nc < core->core_count
               ? atomic_load_explicit(&core->ncs[nc].device_clock_ns, memory_order_relaxed)
               : 0;
}

uint32_t ntk_core_global(const struct ntk_core *core, uint32_t nc)
{
    return core->first_core + nc;
}
