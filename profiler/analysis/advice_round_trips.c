/* SPDX-License-Identifier: MIT */
/* advice_round_trips - reports scratch tensors that leave the core and return: the largest ones
 * individually, the others as a sum. */
#include "profiler/analysis/advice_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/units.h"

#define LARGEST 3
#define REST LARGEST
#define GROUPS (LARGEST + 1) /* the largest tensors, and one group for all others */

struct group {
    uint64_t write_bytes, read_bytes;
    size_t count;
    const struct ntk_tensor_row *row;
    int64_t path_ps;  /* time of its transfers on the path */
    int64_t free_ps;  /* part of path_ps in which no engine executes */
    int64_t bound_ps; /* lower bound of the path without these transfers */
    bool is_touched;  /* true if the visited slot touches it */
};

/* Part of the path in transfers started by one slot. */
struct slot_time {
    uint32_t instruction; /* one instruction of the slot */
    int64_t path_ps, free_ps, bound_ps;
};

struct trips {
    struct group groups[GROUPS];
    struct ntk_map of_names; /* maps the name of a tensor to 1 + index in groups */
    struct ntk_vec slots;    /* elements are struct slot_time */
    struct ntk_map of_slots; /* maps a slot to 1 + index in slots */
    int64_t unknown_ps;      /* time in which the path waits for an unknown transfer */
    int failed;
};

static bool is_round_trip(const struct ntk_tensor_row *row)
{
    return strcmp(row->kind, "scratch") == 0 && row->write_bytes && row->read_bytes &&
           !row->is_spill;
}

static void make_groups(struct trips *trips, const struct ntk_tensor_traffic *tensors, double all)
{
    double least = ntk_advice_threshold(NTK_ADVICE_ROUND_TRIP);
    size_t largest = 0;

    for (size_t i = 0; i < tensors->row_count; i++) { /* tensors with the most bytes are first */
        const struct ntk_tensor_row *row = &tensors->rows[i];
        double share = (double)(row->read_bytes + row->write_bytes) / all;

        if (!is_round_trip(row)) {
            continue;
        }
        size_t index = largest < LARGEST && share > least ? largest++ : REST;
        struct group *group = &trips->groups[index];
        group->row = row;
        group->count++;
        group->write_bytes += row->write_bytes;
        group->read_bytes += row->read_bytes;
        if (ntk_map_put(&trips->of_names, row->name, (void *)(uintptr_t)(index + 1)) < 0) {
            trips->failed = -ENOMEM;
        }
    }
}

static struct slot_time *slot_of(struct trips *trips, const struct ntk_trace_core *core,
                                 uint32_t instruction)
{
    const struct ntk_trace_instruction *of = &core->instructions[instruction];
    uint64_t key = (uint64_t)of->engine << 32 | of->slot;
    uintptr_t index = (uintptr_t)ntk_map_get_number(&trips->of_slots, key);
    struct slot_time new = { .instruction = instruction };

    if (!index) {
        index = trips->slots.count + 1;
        if (ntk_vec_push(&trips->slots, &new) < 0 ||
            ntk_map_put_number(&trips->of_slots, key, (void *)index) < 0) {
            trips->failed = -ENOMEM;
            return NULL;
        }
    }
    return ntk_vec_at(&trips->slots, index - 1);
}

/* Adds the path to the slots that started its transfers. */
static void add_path(struct trips *trips, const struct ntk_advice_input *input)
{
    const struct ntk_critical_path *path = input->path;
    const struct ntk_trace *trace = input->program->trace;
    const struct ntk_trace_core *core = &trace->cores[path->core];
    struct ntk_advice_sweep sweep = { 0 };

    for (size_t i = 0; i < path->step_count && !trips->failed; i++) {
        const struct ntk_path_step *step = &path->steps[i];
        int64_t step_ps = step->end_ps - step->start_ps;
        uint32_t begun_by = ntk_advice_transfer_of(input, i);

        ntk_critical_path_passed(trace, path, i);
        trips->unknown_ps += step->kind == NTK_PATH_WAIT && step->queue ? step_ps : 0;
        bool is_of_core = begun_by != NTK_NO_INDEX && step->core == path->core;
        struct slot_time *slot = is_of_core ? slot_of(trips, core, begun_by) : NULL;
        if (slot) {
            bool is_transfer = step->kind == NTK_PATH_TRANSFER;
            slot->bound_ps += step_ps;
            slot->path_ps += is_transfer ? step_ps : 0;
            slot->free_ps += is_transfer ? ntk_advice_free_ps(input, &sweep, step) : 0;
        }
    }
}

static void touch(const struct ntk_neff_var *var, bool is_write, uint64_t bytes_count, void *ctx)
{
    struct trips *trips = ctx;

    (void)is_write;
    (void)bytes_count;
    uintptr_t index = var ? (uintptr_t)ntk_map_get(&trips->of_names, var->name) : 0;

    if (index) {
        trips->groups[index - 1].is_touched = true;
    }
}

/* Distributes times: a transfer of several tensors counts for each of them, but once in the sum of
 * the others. */
static void share_out(struct trips *trips, const struct ntk_trace *trace,
                      const struct ntk_trace_core *core)
{
    ntk_vec_each(const struct slot_time, slot, &trips->slots) {
        ntk_hbm_traffic_visit(trace, core, &core->instructions[slot->instruction], touch, trips);
        for (size_t g = 0; g < GROUPS; g++) {
            struct group *group = &trips->groups[g];
            if (group->is_touched) {
                group->path_ps += slot->path_ps;
                group->free_ps += slot->free_ps;
                group->bound_ps += slot->bound_ps;
            }
            group->is_touched = false;
        }
    }
}

static void judge(struct ntk_advice_list *list, const struct trips *trips,
                  const struct group *group, double all)
{
    double value = (double)(group->write_bytes + group->read_bytes) / all;
    double active = (double)list->input->dma->total.active_ps / list->total_ps;
    char name[120];
    char written[NTK_UNITS_TEXT_BYTES];
    char read[NTK_UNITS_TEXT_BYTES];
    char on_path[100] = "";
    char line[NTK_ADVICE_LINES_BYTES] = "";

    if (group->count == 1) {
        snprintf(name, sizeof name, "scratch tensor %.80s is", group->row->name);
        ntk_advice_lines(list, &group->row->readers, "read at", 1, " bytes", line);
    } else {
        snprintf(name, sizeof name, "%zu %sscratch tensors are", group->count,
                 trips->groups[0].count ? "more " : "");
    }
    if (list->input->path) {
        snprintf(on_path, sizeof on_path, "; its transfers take %.3f us of the critical path",
                 (double)group->path_ps / 1e6);
    }
    struct ntk_advice_item *item = ntk_advice_judge(
        list, NTK_ADVICE_ROUND_TRIP, value, active * value,
        "%s written to device memory (%s) and read back (%s): %.1f%% of the traffic%s%s", name,
        ntk_units_bytes(written, sizeof written, group->write_bytes),
        ntk_units_bytes(read, sizeof read, group->read_bytes), 100 * value, on_path, line);
    if (list->input->path) {
        ntk_advice_gain(item, (double)group->free_ps / list->total_ps,
                        (double)(group->bound_ps + trips->unknown_ps) / list->total_ps);
        ntk_advice_limit(list, item, 0, NTK_ADVICE_NO_DMA);
    }
}

void ntk_advice_round_trips(struct ntk_advice_list *list)
{
    const struct ntk_advice_input *input = list->input;
    const struct ntk_trace *trace = input->program->trace;
    struct trips trips = { .slots = NTK_VEC_INIT(struct slot_time) };
    double all = 0;

    for (size_t i = 0; i < input->tensors->row_count; i++) {
        all += (double)(input->tensors->rows[i].read_bytes + input->tensors->rows[i].write_bytes);
    }
    if (all > 0 && input->dma) {
        make_groups(&trips, input->tensors, all);
    }
    if (trips.of_names.count && input->path) {
        add_path(&trips, input);
        share_out(&trips, trace, &trace->cores[input->path->core]);
    }
    list->failed = list->failed ? list->failed : trips.failed;
    for (size_t g = 0; g < GROUPS; g++) {
        if (trips.groups[g].count) {
            judge(list, &trips, &trips.groups[g], all);
        }
    }
    ntk_map_fini(&trips.of_names);
    ntk_map_fini(&trips.of_slots);
    ntk_vec_fini(&trips.slots);
}
