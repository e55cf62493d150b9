/* SPDX-License-Identifier: MIT */
/* critical_path - walks back from the last instruction along the chain of waits. */
#include "profiler/analysis/critical_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/core_signals.h"
#include "profiler/analysis/executions.h"
#include "shared/base/map.h"
#include "shared/base/order.h"
#include "shared/base/vec.h"

struct walk {
    const struct ntk_program *program;
    const struct ntk_trace_core *core;
    size_t core_index;
    const struct ntk_core_dependencies *dependencies;
    struct ntk_long_list steps; /* struct ntk_path_step, from the end to the start */
    int64_t at_ps;              /* everything from here on is in steps */
    bool has_cores;             /* the steps are in several cores */
    int failed;
};

const char *ntk_path_kind_name(enum ntk_path_kind kind)
{
    static const char *const names[NTK_PATH_KIND_COUNT] = { "instruction", "transfer", "latency",
                                                            "wait",        "start",    "end",
                                                            "issue",       "drain" };

    return names[kind];
}

/* Counts one more checked instruction. */
static void passed(const struct walk *walk, size_t looks)
{
    if (looks % NTK_TRACE_LOOKS == NTK_TRACE_LOOKS - 1) {
        ntk_dependencies_give_back(walk->core, walk->dependencies);
        ntk_long_list_give_back(&walk->steps);
    }
}

static const struct ntk_slot_fact *fact_of(const struct walk *walk, uint32_t item)
{
    return ntk_program_fact(walk->program, walk->core_index, &walk->core->instructions[item]);
}

static void turn_to(struct walk *walk, size_t core_index)
{
    walk->core_index = core_index;
    walk->core = &walk->program->trace->cores[core_index];
    walk->dependencies = &walk->dependencies->all[core_index];
}

/* Adds the step from start_ps to the current time, unless it is empty. Returns the step or NULL. */
static struct ntk_path_step *step(struct walk *walk, enum ntk_path_kind kind, uint32_t item,
                                  int64_t start_ps)
{
    if (start_ps >= walk->at_ps) {
        return NULL;
    }
    struct ntk_path_step *new = ntk_long_list_add(&walk->steps, &walk->failed);
    if (!new) {
        return NULL;
    }
    *new = (struct ntk_path_step){ .start_ps = start_ps,
                                   .end_ps = walk->at_ps,
                                   .kind = kind,
                                   .instruction = item,
                                   .layer = NTK_LAYER_RUNTIME,
                                   .core = (uint16_t)walk->core_index };
    if (item != NTK_NO_INDEX) {
        new->layer = fact_of(walk, item)->code->layer;
        const struct ntk_release *release = &walk->dependencies->releases[item];
        if (kind == NTK_PATH_WAIT && release->by_transfer) {
            new->queue =
                ntk_release_queue(walk->program, walk->core_index, walk->dependencies, item);
            new->is_foreign = release->is_foreign;
        }
        new->is_unrecorded = kind == NTK_PATH_WAIT && release->event == NTK_NO_INDEX;
    }
    walk->at_ps = start_ps;
    return new;
}

/* Moves to the instruction that made the change, or started the transfer that made it. */
static uint32_t go_to_maker(struct walk *walk, uint32_t item)
{
    const struct ntk_release *release = &walk->dependencies->releases[item];
    uint32_t by = release->by;
    const char *queue = NULL;
    bool loads_code = false;

    if (release->by_transfer) {
        queue = ntk_release_queue(walk->program, walk->core_index, walk->dependencies, item);
        loads_code = ntk_release_loads_code(walk->dependencies, release);
    }
    bool is_transfer = release->by_transfer;
    size_t by_core = ntk_release_core(walk->core_index, release);
    int64_t end_ps = walk->program->trace->cores[by_core].instructions[by].end_ps;
    if (!is_transfer) {
        struct ntk_path_step *arrival = step(walk, NTK_PATH_LATENCY, item, end_ps);
        if (arrival) {
            arrival->is_arrival = true;
        }
    }
    turn_to(walk, by_core);
    struct ntk_path_step *new = is_transfer ? step(walk, NTK_PATH_TRANSFER, by, end_ps) : NULL;
    if (new) {
        new->queue = queue;
        new->loads_code = loads_code;
    }
    return by;
}

/* Returns true if the path goes from the instruction to an earlier execution: no instruction of its
 * own execution delays it. cause_ps: start of the cause; INT64_MIN: none. */
static bool is_at_border(const struct walk *walk, uint32_t item, int64_t cause_ps)
{
    const struct ntk_execution_borders *borders = &walk->program->borders;
    size_t of = ntk_execution_of(borders, walk->core->instructions[item].start_ps);

    return of > 0 && cause_ps < borders->items[of].start_ps;
}

/* Goes to the instruction that ended the execution before. */
static uint32_t go_over_border(struct walk *walk, uint32_t item, bool *is_overlapped)
{
    const struct ntk_execution_borders *borders = &walk->program->borders;
    size_t of = ntk_execution_of(borders, walk->core->instructions[item].start_ps);
    const struct ntk_execution_border *before = &borders->items[of - 1];

    step(walk, NTK_PATH_START, NTK_NO_INDEX, before->end_ps);
    *is_overlapped = before->end_ps > walk->at_ps;
    turn_to(walk, before->core);
    return before->item;
}

static int64_t maker_ps(const struct walk *walk, uint32_t item)
{
    const struct ntk_release *release = &walk->dependencies->releases[item];

    return walk->program->trace->cores[ntk_release_core(walk->core_index, release)]
        .instructions[release->by]
        .start_ps;
}

/* Goes from an instruction to its predecessor on the path. The walk reached it at its end, or
 * (is_overlapped) at the start of one that its engine started before that end. */
static uint32_t step_back(struct walk *walk, uint32_t item, bool *is_overlapped)
{
    const struct ntk_trace_instruction *all = walk->core->instructions;
    bool waits_inside = fact_of(walk, item)->code->waits_inside;
    struct ntk_cause cause;

    ntk_cause_get(walk->program, walk->core_index, walk->dependencies, item, walk->at_ps, &cause);
    if (!*is_overlapped) {
        int64_t drain_ps = ntk_executes_until_ps(walk->dependencies, &all[item]);
        step(walk, NTK_PATH_DRAIN, item, drain_ps > cause.own_ps ? drain_ps : cause.own_ps);
    }
    /* If it only waits, and the change was not recorded, its own time is that wait. */
    bool only_waits = cause.is_unknown && waits_inside && ntk_only_waits(&all[item]);
    step(walk, only_waits ? NTK_PATH_WAIT : NTK_PATH_INSTRUCTION, item, cause.own_ps);
    *is_overlapped = false;
    if (cause.is_released) {
        step(walk, NTK_PATH_LATENCY, item, cause.released_ps);
        if (cause.is_known && !is_at_border(walk, item, maker_ps(walk, item))) {
            return go_to_maker(walk, item);
        }
        if (cause.is_known) {
            return go_over_border(walk, item, is_overlapped);
        }
        step(walk, NTK_PATH_WAIT, item, cause.free_ps);
    }
    if (is_at_border(walk, item,
                     cause.holder == NTK_NO_INDEX ? INT64_MIN : all[cause.holder].start_ps)) {
        return go_over_border(walk, item, is_overlapped);
    }
    if (cause.holder == NTK_NO_INDEX) {
        step(walk, NTK_PATH_START, item, 0);
        return NTK_NO_INDEX;
    }
    *is_overlapped = all[cause.holder].end_ps > walk->at_ps;
    step(walk, cause.is_unknown && !waits_inside ? NTK_PATH_WAIT : NTK_PATH_ISSUE, item,
         all[cause.holder].end_ps);
    return cause.holder;
}

void ntk_path_resource_name(const struct ntk_path_share *share, char *buf, size_t buf_bytes)
{
    char queue[NTK_NTFF_NAME_BYTES] = "";
    char of_core[32] = "";

    if (share->name) {
        ntk_ntff_queue_name_show(share->name, queue, sizeof queue);
    }
    if (share->has_cores) {
        snprintf(of_core, sizeof of_core, " of core %u", share->core);
    }

    switch (share->kind) {
    case NTK_PATH_INSTRUCTION:
        snprintf(buf, buf_bytes, "%s engine%s", ntk_ntff_engine_title(share->engine), of_core);
        break;
    case NTK_PATH_TRANSFER:
        if (share->name) {
            snprintf(buf, buf_bytes, "%sDMA queue %s%s",
                     share->slot == NTK_LAYER_RUNTIME ? "runtime: load of the program by " : "",
                     queue, of_core);
        } else {
            snprintf(buf, buf_bytes, "DMA started by %s%s", ntk_ntff_engine_title(share->engine),
                     of_core);
        }
        break;
    case NTK_PATH_LATENCY:
        snprintf(buf, buf_bytes, "semaphore latency");
        break;
    case NTK_PATH_WAIT:
        if (share->name) {
            snprintf(buf, buf_bytes, "wait for DMA queue %s", queue);
        } else if (share->is_foreign) {
            snprintf(buf, buf_bytes, "wait for %s",
                     share->is_not_captured ? "another core, not captured"
                                            : "DMA that no captured instruction started");
        } else {
            snprintf(buf, buf_bytes, "%swait for a semaphore change %s",
                     share->slot == NTK_LAYER_RUNTIME ? "runtime code: " : "",
                     share->is_unrecorded ? "that was not recorded" : "of unknown origin");
        }
        break;
    case NTK_PATH_START:
        snprintf(buf, buf_bytes, "before the first instruction");
        break;
    default:
        snprintf(buf, buf_bytes, "after the last instruction");
        break;
    }
}

static uint32_t last_instruction(const struct ntk_program *program, size_t *out_core)
{
    uint32_t last = NTK_NO_INDEX;
    int64_t end_ps = INT64_MIN;

    for (size_t c = 0; c < program->trace->core_count; c++) {
        const struct ntk_trace_core *core = &program->trace->cores[c];
        ntk_trace_each_instruction(core, instruction) {
            if (instruction->end_ps > end_ps) {
                end_ps = instruction->end_ps;
                last = (uint32_t)(instruction - core->instructions);
                *out_core = c;
            }
        }
    }
    return last;
}

/* ---- shares ---- */

typedef bool share_key(const struct walk *walk, const struct ntk_path_step *step,
                       struct ntk_path_share *out_key);

static void take_instruction(const struct walk *walk, const struct ntk_path_step *step,
                             struct ntk_path_share *key)
{
    if (step->instruction != NTK_NO_INDEX) {
        const struct ntk_trace_instruction *instruction =
            ntk_path_instruction(walk->program->trace, step);
        key->engine = instruction->engine;
        key->opcode = instruction->opcode;
        key->slot = instruction->slot;
    }
}

/* Sets the core of a share, because names of engines and queues repeat in every core. */
static void take_core(const struct walk *walk, const struct ntk_path_step *step,
                      struct ntk_path_share *key)
{
    key->has_cores = walk->has_cores;
    key->core = walk->has_cores ? (uint16_t)walk->program->trace->cores[step->core].ntff->core : 0;
}

static bool resource_key(const struct walk *walk, const struct ntk_path_step *step,
                         struct ntk_path_share *out_key)
{
    struct ntk_path_share of = { 0 };

    take_instruction(walk, step, &of);
    out_key->kind = ntk_path_is_engine(step->kind) ? NTK_PATH_INSTRUCTION : step->kind;
    out_key->name = step->queue;
    out_key->engine = out_key->kind == NTK_PATH_INSTRUCTION || out_key->kind == NTK_PATH_TRANSFER
                          ? of.engine
                          : NTK_NTFF_ENGINE_NONE;
    if (step->loads_code || (step->kind == NTK_PATH_WAIT && !step->queue && !step->is_foreign &&
                             step->layer == NTK_LAYER_RUNTIME)) {
        out_key->slot = NTK_LAYER_RUNTIME;
    }
    out_key->is_unrecorded = step->is_unrecorded;
    if (step->kind == NTK_PATH_WAIT && step->is_foreign) {
        out_key->is_foreign = true;
        out_key->is_not_captured = ntk_core_signals_lack_cores(walk->program->trace);
    }
    if (of.engine != NTK_NTFF_ENGINE_NONE && out_key->engine != NTK_NTFF_ENGINE_NONE) {
        take_core(walk, step, out_key);
    }
    return true;
}

static bool opcode_key(const struct walk *walk, const struct ntk_path_step *step,
                       struct ntk_path_share *out_key)
{
    take_instruction(walk, step, out_key);
    take_core(walk, step, out_key);
    out_key->slot = 0;
    return ntk_path_is_engine(step->kind);
}

static bool instruction_key(const struct walk *walk, const struct ntk_path_step *step,
                            struct ntk_path_share *out_key)
{
    take_instruction(walk, step, out_key);
    take_core(walk, step, out_key);
    return ntk_path_is_engine(step->kind);
}

static bool layer_key(const struct walk *walk, const struct ntk_path_step *step,
                      struct ntk_path_share *out_key)
{
    out_key->name = walk->program->layers[step->layer];
    out_key->slot = step->layer;
    return true;
}

static int compare_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

NTK_ORDER(compare_keys, struct ntk_path_share,
          NTK_UP(kind) NTK_UP(engine) NTK_UP(opcode) NTK_UP(slot) NTK_UP(core) NTK_UP(is_unrecorded)
              NTK_BY(compare_text, name));

NTK_ORDER(compare_shares, struct ntk_path_share, NTK_DOWN(path_ps) NTK_THEN(compare_keys));

/* Returns the key of a share in one table; the NEFF owns names, so equal names in a core have one
 * address. */
static uint64_t key_number(const struct ntk_path_share *share)
{
    uint64_t name = (uint64_t)(uintptr_t)share->name & ((UINT64_C(1) << 48) - 1);
    uint64_t kind = (uint64_t)share->kind << 60 | (uint64_t)(share->engine & 0x3f) << 54 |
                    (uint64_t)(share->core & 0x1f) << 49 | (uint64_t)share->is_foreign << 48;

    return share->name ? kind | name
                       : kind | (uint64_t)share->is_unrecorded << 40 |
                             (uint64_t)share->opcode << 32 | share->slot;
}

static int add_up(const struct walk *walk, share_key *key, struct ntk_path_table *out)
{
    struct ntk_vec shares = NTK_VEC_INIT(struct ntk_path_share);
    struct ntk_map indices = { 0 }; /* index + 1 */
    const struct ntk_path_step *steps = walk->steps.items;
    int ret = 0;

    for (size_t i = 0; i < walk->steps.count; i++) {
        const struct ntk_path_step *step = &steps[i];
        int64_t step_ps = step->end_ps - step->start_ps;
        struct ntk_path_share share = { .count = 1,
                                        .path_ps = step_ps,
                                        .issue_ps = step->kind == NTK_PATH_ISSUE ? step_ps : 0,
                                        .drain_ps = step->kind == NTK_PATH_DRAIN ? step_ps : 0 };
        passed(walk, i);
        if (!key(walk, step, &share)) {
            continue;
        }
        uintptr_t index = (uintptr_t)ntk_map_get_number(&indices, key_number(&share));
        if (index) {
            struct ntk_path_share *known = ntk_vec_at(&shares, index - 1);
            known->count++;
            known->path_ps += share.path_ps;
            known->issue_ps += share.issue_ps;
            known->drain_ps += share.drain_ps;
        } else if (ntk_vec_push(&shares, &share) < 0 ||
                   ntk_map_put_number(&indices, key_number(&share),
                                      (void *)(uintptr_t)shares.count) < 0) {
            ret = -ENOMEM;
            break;
        }
    }
    ntk_map_fini(&indices);
    if (ret < 0) {
        ntk_vec_fini(&shares);
        return ret;
    }
    ntk_vec_sort(&shares, compare_shares);
    out->shares = shares.items;
    out->count = shares.count;
    return 0;
}

static void reverse(const struct ntk_long_list *steps)
{
    struct ntk_path_step *items = steps->items;

    for (size_t i = 0; i < steps->count / 2; i++) {
        struct ntk_path_step other = items[i];
        items[i] = items[steps->count - 1 - i];
        items[steps->count - 1 - i] = other;
        if (i % NTK_TRACE_LOOKS == NTK_TRACE_LOOKS - 1) {
            ntk_long_list_give_back(steps);
        }
    }
}

int ntk_analysis_critical_path(const struct ntk_program *program,
                               const struct ntk_dependencies *dependencies,
                               struct ntk_critical_path *out_path)
{
    const struct ntk_trace *trace = program->trace;
    struct walk walk = { .program = program };
    struct ntk_critical_path path = { .total_ps = trace->total_ps };
    uint32_t item;
    size_t looks = 0;

    if (!trace->has_total || trace->total_ps <= 0) {
        return -ENODATA;
    }
    ntk_long_list_init(&walk.steps, trace, sizeof(struct ntk_path_step), 1);
    walk.at_ps = trace->total_ps;
    item = last_instruction(program, &path.core);
    if (item != NTK_NO_INDEX) {
        walk.core_index = path.core;
        walk.core = &trace->cores[path.core];
        walk.dependencies = &dependencies->cores[path.core];
        step(&walk, NTK_PATH_END, NTK_NO_INDEX, walk.core->instructions[item].end_ps);
    }
    bool is_overlapped = false;
    while (item != NTK_NO_INDEX && walk.at_ps > 0 && !walk.failed) {
        item = step_back(&walk, item, &is_overlapped);
        walk.has_cores = walk.has_cores || walk.core_index != path.core;
        passed(&walk, looks++);
    }
    step(&walk, NTK_PATH_START, NTK_NO_INDEX, 0);
    reverse(&walk.steps);
    path.list = walk.steps;
    path.steps = walk.steps.items;
    path.step_count = walk.steps.count;
    path.has_cores = walk.has_cores;
    for (size_t i = 0; i < path.step_count; i++) {
        path.kinds_ps[path.steps[i].kind] += path.steps[i].end_ps - path.steps[i].start_ps;
        ntk_critical_path_passed(trace, &path, i);
    }
    int ret = walk.failed;
    ret = ret ? ret : add_up(&walk, resource_key, &path.resources);
    ret = ret ? ret : add_up(&walk, opcode_key, &path.opcodes);
    ret = ret ? ret : add_up(&walk, instruction_key, &path.instructions);
    ret = ret ? ret : add_up(&walk, layer_key, &path.layers);
    if (ret < 0) {
        ntk_critical_path_fini(&path);
        return ret;
    }
    *out_path = path;
    return 0;
}

void ntk_critical_path_fini(struct ntk_critical_path *path)
{
    ntk_long_list_fini(&path->list);
    free(path->resources.shares);
    free(path->opcodes.shares);
    free(path->instructions.shares);
    free(path->layers.shares);
    *path = (struct ntk_critical_path){ 0 };
}
