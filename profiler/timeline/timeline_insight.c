/* SPDX-License-Identifier: MIT */
#include "profiler/timeline/timeline_insight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/early_changes.h"
#include "profiler/analysis/interval.h"
#include "profiler/analysis/transfers.h"
#include "profiler/output/answers/output_cells.h"
#include "shared/base/bisect.h"
#include "shared/base/map.h"

size_t ntk_timeline_source_of(const struct ntk_timeline *timeline,
                              const struct ntk_timeline_track *track)
{
    const struct ntk_timeline_group *group = ntk_vec_at(&timeline->groups, track->group);

    return group->source;
}

static size_t core_of(const struct ntk_timeline *timeline, const struct ntk_timeline_track *track)
{
    size_t source = ntk_timeline_source_of(timeline, track);

    return (size_t)(track->core - timeline->sources[source].trace->cores);
}

/* ---- positions of trace objects on the timeline ---------------------------------------------- */

/* Finds the slice of a reference: references ascend with the slices of a track, because both are in
 * order of time. */
static const struct ntk_timeline_slice *find_ref(const struct ntk_timeline_track *track,
                                                 uint32_t ref)
{
    size_t low = 0;

    NTK_BISECT(low, track->slice_count, i, track->slices[i].ref < ref);
    return low < track->slice_count && track->slices[low].ref == ref ? &track->slices[low] : NULL;
}

static void put_place(const struct ntk_timeline *timeline, const struct ntk_trace_core *core,
                      enum ntk_timeline_kind kind, uint32_t ref, struct ntk_json *json)
{
    for (size_t t = 0; ref != NTK_NO_INDEX && t < timeline->tracks.count; t++) {
        const struct ntk_timeline_track *track = ntk_timeline_track_get(timeline, t);
        const struct ntk_timeline_slice *slice =
            track->core == core && track->kind == kind ? find_ref(track, ref) : NULL;
        if (slice) {
            ntk_json_object_begin(json);
            ntk_json_key_u64(json, "track", t);
            ntk_json_key_u64(json, "slice", (size_t)(slice - track->slices));
            ntk_json_key_u64(json, "what", slice->what);
            ntk_json_key_u64(json, "lane", slice->lane);
            ntk_json_key_i64(json, "start", slice->start_ps - timeline->begin_ps);
            ntk_json_key_i64(json, "end", slice->end_ps - timeline->begin_ps);
            ntk_json_object_end(json);
            return;
        }
    }
    ntk_json_null(json);
}

static void put_instruction_place(const struct ntk_timeline *timeline,
                                  const struct ntk_trace_core *core, const char *key, uint32_t ref,
                                  struct ntk_json *json)
{
    ntk_json_key(json, key);
    put_place(timeline, core, NTK_TIMELINE_ENGINE, ref, json);
}

/* ---- flows ----------------------------------------------------------------------------------- */

static void put_named(struct ntk_json *json, const char *key, const char *text)
{
    if (text) {
        ntk_json_key_text(json, key, text);
    }
}

/* Writes the transfer that an instruction started, or to which a packet belongs; null if there is
 * none, or its packets are unknown. */
static void put_transfer(const struct ntk_timeline *timeline, const struct ntk_analyses *analyses,
                         const struct ntk_timeline_track *track,
                         const struct ntk_transfer *transfer, struct ntk_json *json)
{
    ntk_json_key(json, "transfer");
    if (!transfer || transfer->packet_count == 0) {
        ntk_json_null(json);
        return;
    }
    const struct ntk_slot_fact *fact =
        ntk_transfer_fact(&analyses->transfers, core_of(timeline, track), transfer);
    ntk_json_object_begin(json);
    ntk_json_key_queue(json, "queue", fact->code->queue);
    if (fact->code->moves) {
        put_named(json, "name", fact->code->moves->name);
        put_named(json, "op", fact->code->moves->op);
        put_named(json, "source", fact->code->moves->sides[NTK_MOVES_SOURCE]);
        put_named(json, "dest", fact->code->moves->sides[NTK_MOVES_DEST]);
    }
    ntk_json_key_u64(json, "count", transfer->packet_count);
    ntk_json_key_u64(json, "bytes", transfer->bytes_count);
    ntk_json_key_i64(json, "duration", transfer->end_ps - transfer->start_ps);
    ntk_json_key(json, "first");
    put_place(timeline, track->core, NTK_TIMELINE_QUEUE, transfer->first, json);
    ntk_json_key(json, "last");
    put_place(timeline, track->core, NTK_TIMELINE_QUEUE, transfer->last, json);
    ntk_json_object_end(json);
}

static void put_transfer_of(const struct ntk_timeline *timeline,
                            const struct ntk_analyses *analyses,
                            const struct ntk_timeline_track *track, uint32_t instruction,
                            struct ntk_json *json)
{
    put_transfer(timeline, analyses, track,
                 instruction == NTK_NO_INDEX
                     ? NULL
                     : ntk_transfer_of_instruction(&analyses->transfers, core_of(timeline, track),
                                                   instruction),
                 json);
}

/* Returns memory to the system occasionally during a pass over all releases. */
static void releases_passed(const struct ntk_core_dependencies *dependencies, size_t item)
{
    if (item % NTK_TRACE_LOOKS == 0) {
        ntk_long_list_give_back(&dependencies->list);
    }
}

/* Writes instructions released by this instruction or by this change; if only its transfer is
 * selected, instructions released by the transfer. */
static void put_releases(const struct ntk_timeline *timeline, const struct ntk_trace_core *core,
                         const struct ntk_core_dependencies *dependencies, uint32_t by,
                         uint32_t event, bool by_transfer, struct ntk_json *json)
{
    uint64_t count = 0;

    ntk_json_key_array_begin(json, by_transfer ? "transfer_releases" : "releases");
    for (size_t i = 0; i < core->instruction_count; i++) {
        const struct ntk_release *release = &dependencies->releases[i];
        releases_passed(dependencies, i);
        if (by != NTK_NO_INDEX ? release->by != by || release->by_transfer != by_transfer ||
                                     release->core_away != 0
                               : release->event != event) {
            continue;
        }
        if (count++ < NTK_TIMELINE_RELEASES_MAX) {
            put_place(timeline, core, NTK_TIMELINE_ENGINE, (uint32_t)i, json);
        }
    }
    ntk_json_array_end(json);
    ntk_json_key_u64(json, by_transfer ? "transfer_release_count" : "release_count", count);
}

static void put_wait(const struct ntk_timeline *timeline, const struct ntk_analyses *analyses,
                     const struct ntk_timeline_track *track, const struct ntk_slot_fact *fact,
                     uint32_t ref, struct ntk_json *json)
{
    const struct ntk_trace_core *core = track->core;
    size_t core_index = core_of(timeline, track);
    const struct ntk_core_dependencies *dependencies = &analyses->dependencies.cores[core_index];
    const struct ntk_release *release = &dependencies->releases[ref];
    static const char *const relations[] = { [NTK_WAIT_NONE] = "",
                                             [NTK_WAIT_AT_LEAST] = ">=",
                                             [NTK_WAIT_EQUAL] = "==",
                                             [NTK_WAIT_SET] = "set",
                                             [NTK_WAIT_CLEAR] = "clear" };

    ntk_json_key_bool(json, "is_wait_known", fact->code->has_sync);
    ntk_json_key(json, "wait");
    if (!fact->code->has_sync || fact->code->wait == NTK_WAIT_NONE) {
        ntk_json_null(json);
        return;
    }
    ntk_json_object_begin(json);
    ntk_json_key_bool(json, "is_event",
                      fact->code->wait == NTK_WAIT_SET || fact->code->wait == NTK_WAIT_CLEAR);
    ntk_json_key_u64(json, "number", fact->code->wait_number);
    ntk_json_key_text(json, "relation", relations[fact->code->wait]);
    ntk_json_key_u64(json, "value", fact->code->wait_value);
    ntk_json_key_bool(json, "by_transfer", release->by_transfer);
    ntk_json_key_queue(json, "queue",
                       release->by_transfer && release->event != NTK_NO_INDEX
                           ? ntk_release_queue(analyses->program, core_index, dependencies, ref)
                           : NULL);
    ntk_json_key(json, "change");
    /* A change that the capture lost has no position. */
    put_place(timeline, core, NTK_TIMELINE_SEMAPHORE,
              release->event == NTK_NO_INDEX
                  ? NTK_NO_INDEX
                  : ntk_early_changes_recorded(&dependencies->lost, core, release->event),
              json);
    const struct ntk_trace *trace = analyses->program->trace;
    put_instruction_place(timeline, &trace->cores[ntk_release_core(core_index, release)], "by",
                          release->by, json);
    bool has_transfer = release->by_transfer && !release->core_away;
    put_transfer_of(timeline, analyses, track, has_transfer ? release->by : NTK_NO_INDEX, json);
    ntk_json_object_end(json);
}

/* Writes the operands of a vendor's instruction. The slice already has the operands in the open
 * encoding. */
static void put_operands(size_t core, const struct ntk_trace_instruction *instruction,
                         const struct ntk_slot_fact *fact, struct ntk_operands *operands,
                         struct ntk_json *json)
{
    struct ntk_operands_text text;

    if (!operands || fact->code->is_open || !ntk_operands_get(operands, core, instruction, &text)) {
        return;
    }
    ntk_json_key_text(json, "operands", text.operands + strspn(text.operands, " "));
    if (text.compiler_operands && !fact->code->is_runtime) {
        ntk_json_key_text(json, "compiler_opcode", text.operation);
        ntk_json_key_text(json, "compiler_operands",
                          text.compiler_operands + strspn(text.compiler_operands, " "));
    }
}

/* Writes the predecessors according to the compiler, and their last execution. */
static void put_predecessors(const struct ntk_timeline *timeline,
                             const struct ntk_analyses *analyses,
                             const struct ntk_timeline_track *track, uint32_t ref,
                             struct ntk_json *json)
{
    size_t core = core_of(timeline, track);
    const struct ntk_neff_debug *names = analyses->program->names[core];
    const struct ntk_neff_debug_instruction *self =
        ntk_program_fact(analyses->program, core, &track->core->instructions[ref])->named;
    const struct ntk_neff_predecessor *list = &names->predecessors[self->predecessor_first];
    const struct ntk_neff_debug_instruction *named[NTK_TIMELINE_PREDECESSORS_MAX];
    uint32_t refs[NTK_TIMELINE_PREDECESSORS_MAX];
    size_t count = self->predecessor_count < NTK_TIMELINE_PREDECESSORS_MAX
                       ? self->predecessor_count
                       : NTK_TIMELINE_PREDECESSORS_MAX;
    size_t missing = 0;

    for (size_t p = 0; p < count; p++) {
        named[p] = ntk_neff_debug_find(names, list[p].bir_id);
        refs[p] = NTK_NO_INDEX;
        missing += named[p] != NULL;
    }
    for (uint32_t i = ref; i-- > 0 && missing;) {
        const struct ntk_slot_fact *fact =
            ntk_program_fact(analyses->program, core, &track->core->instructions[i]);
        for (size_t p = 0; fact->named && p < count; p++) {
            if (named[p] == fact->named && refs[p] == NTK_NO_INDEX) {
                refs[p] = i;
                missing--;
            }
        }
        if ((ref - i) % NTK_TRACE_LOOKS == 0) {
            ntk_trace_give_back(track->core);
        }
    }
    ntk_json_key_array_begin(json, "predecessors");
    for (size_t p = 0; p < count; p++) {
        ntk_json_object_begin(json);
        ntk_json_key_text(json, "kind", ntk_neff_predecessor_kind_name(list[p].kind));
        ntk_json_key_text(json, "name", named[p] ? named[p]->name : NULL);
        put_instruction_place(timeline, track->core, "last", refs[p], json);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
    ntk_json_key_u64(json, "predecessor_count", self->predecessor_count);
}

static void put_instruction_flows(const struct ntk_timeline *timeline,
                                  const struct ntk_analyses *analyses,
                                  struct ntk_operands *operands,
                                  const struct ntk_timeline_track *track, uint32_t ref,
                                  struct ntk_json *json)
{
    size_t core = core_of(timeline, track);
    const struct ntk_core_dependencies *dependencies = &analyses->dependencies.cores[core];
    const struct ntk_release *release = &dependencies->releases[ref];
    const struct ntk_slot_fact *fact =
        ntk_program_fact(analyses->program, core, &track->core->instructions[ref]);

    ntk_json_key_text(json, "layer",
                      fact->code->layer > NTK_LAYER_RUNTIME
                          ? analyses->program->layers[fact->code->layer]
                          : NULL);
    if (fact->code->has_flops) {
        ntk_json_key_u64(json, "flops", fact->code->flops);
    }
    if (fact->named) {
        ntk_json_key_text(json, "name", fact->named->name);
        ntk_json_key_text(json, "tensor", fact->named->penguin_text);
    }
    if (fact->named && fact->named->predecessor_count) {
        put_predecessors(timeline, analyses, track, ref, json);
    }
    put_operands(core, &track->core->instructions[ref], fact, operands, json);
    put_instruction_place(timeline, track->core, "previous", release->previous, json);
    put_wait(timeline, analyses, track, fact, ref, json);
    if (fact->code->is_transfer) {
        put_transfer_of(timeline, analyses, track, ref, json);
        put_releases(timeline, track->core, dependencies, ref, NTK_NO_INDEX, true, json);
    }
    put_releases(timeline, track->core, dependencies, ref, NTK_NO_INDEX, false, json);
}

/* Writes the instruction that started a packet's transfer, and the instructions released by the
 * transfer. */
static void put_packet_flows(const struct ntk_timeline *timeline,
                             const struct ntk_analyses *analyses,
                             const struct ntk_timeline_track *track, uint32_t ref,
                             struct ntk_json *json)
{
    size_t core = core_of(timeline, track);
    const struct ntk_transfer *transfer = ntk_transfer_of_packet(&analyses->transfers, core, ref);
    uint32_t by = transfer ? transfer->instruction : NTK_NO_INDEX;

    put_instruction_place(timeline, track->core, "by", by, json);
    put_transfer(timeline, analyses, track, transfer, json);
    if (by != NTK_NO_INDEX) {
        put_releases(timeline, track->core, &analyses->dependencies.cores[core], by, NTK_NO_INDEX,
                     true, json);
    }
}

static void put_change_flows(const struct ntk_timeline *timeline,
                             const struct ntk_analyses *analyses,
                             const struct ntk_timeline_track *track, uint32_t ref,
                             struct ntk_json *json)
{
    size_t core_index = core_of(timeline, track);
    const struct ntk_core_dependencies *dependencies = &analyses->dependencies.cores[core_index];
    uint32_t event = ntk_early_changes_index(&dependencies->lost, track->core, ref);
    struct ntk_release release = { .by = NTK_NO_INDEX };

    for (size_t i = 0; i < track->core->instruction_count && release.by == NTK_NO_INDEX; i++) {
        releases_passed(dependencies, i);
        release = dependencies->releases[i].event == event ? dependencies->releases[i] : release;
    }
    put_instruction_place(timeline,
                          &analyses->program->trace->cores[ntk_release_core(core_index, &release)],
                          "by", release.by, json);
    if (track->core->events[ref].source == NTK_NTFF_ENGINE_AXI) {
        put_transfer_of(timeline, analyses, track, release.core_away ? NTK_NO_INDEX : release.by,
                        json);
    }
    put_releases(timeline, track->core, dependencies, NTK_NO_INDEX, event, false, json);
}

int ntk_timeline_put_flows(const struct ntk_timeline *timeline, const struct ntk_analyses *analyses,
                           struct ntk_operands *operands, uint64_t track_index,
                           uint64_t slice_index, struct ntk_buf *out, struct ntk_err *err)
{
    const struct ntk_timeline_track *track =
        ntk_timeline_track_with(timeline, track_index, slice_index, err);

    if (!track) {
        return -ENOENT;
    }
    struct ntk_json json;
    ntk_json_init(&json, out, false);
    uint32_t ref = track->slices[slice_index].ref;
    ntk_json_object_begin(&json);
    if (track->kind == NTK_TIMELINE_ENGINE) {
        put_instruction_flows(timeline, analyses, operands, track, ref, &json);
    } else if (track->kind == NTK_TIMELINE_QUEUE) {
        put_packet_flows(timeline, analyses, track, ref, &json);
    } else if (track->kind == NTK_TIMELINE_SEMAPHORE) {
        put_change_flows(timeline, analyses, track, ref, &json);
    }
    ntk_json_object_end(&json);
    return 0;
}

/* ---- critical path --------------------------------------------------------------------------- */

static void put_step(const struct ntk_timeline *timeline, const struct ntk_trace_core *core,
                     const struct ntk_path_step *step, int64_t zero_ps, struct ntk_json *json)
{
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "kind", ntk_path_kind_name(step->kind));
    ntk_json_key_i64(json, "start", step->start_ps - zero_ps);
    ntk_json_key_i64(json, "end", step->end_ps - zero_ps);
    if (step->kind == NTK_PATH_TRANSFER) {
        ntk_json_key_queue(json, "queue", step->queue);
    }
    put_instruction_place(timeline, core, "at", step->instruction, json);
    ntk_json_object_end(json);
}

void ntk_timeline_put_path(const struct ntk_timeline *timeline, size_t source,
                           const struct ntk_analyses *analyses, int64_t from_ps, int64_t to_ps,
                           struct ntk_buf *out)
{
    const struct ntk_critical_path *path = &analyses->path;
    int64_t zero_ps = timeline->begin_ps - timeline->sources[source].offset_ps;
    struct ntk_json json;
    uint64_t count = 0;

    ntk_json_init(&json, out, false);
    if (!analyses->has_path) {
        ntk_json_null(&json);
        return;
    }
    const struct ntk_trace_core *cores = timeline->sources[source].trace->cores;
    ntk_json_object_begin(&json);
    ntk_json_key_u64(&json, "core", cores[path->core].ntff->core);
    ntk_json_key_array_begin(&json, "steps");
    for (size_t i = 0; i < path->step_count; i++) {
        const struct ntk_path_step *step = &path->steps[i];
        ntk_critical_path_passed(timeline->sources[source].trace, path, i);
        if (step->end_ps - zero_ps < from_ps || step->start_ps - zero_ps >= to_ps) {
            continue;
        }
        if (count++ < NTK_TIMELINE_STEPS_MAX) {
            put_step(timeline, &cores[step->core], step, zero_ps, &json);
        }
    }
    ntk_json_array_end(&json);
    ntk_json_key_u64(&json, "count", count);
    ntk_json_object_end(&json);
}
