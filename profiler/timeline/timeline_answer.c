/* SPDX-License-Identifier: MIT */
#include "profiler/timeline/timeline_answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/interval.h"
#include "profiler/analysis/open_slot.h"
#include "profiler/output/tables/output_part.h"
#include "profiler/timeline/timeline_pyramid.h"
#include "profiler/timeline/timeline_regions.h"
#include "profiler/timeline/timeline_tile.h"
#include "shared/base/json.h"
#include "shared/base/order.h"
#include "shared/formats/neff/isa_text.h"
#include "shared/formats/neff/neff.h"

/* ---- meta ------------------------------------------------------------------------------------ */

static void put_track(const struct ntk_timeline_track *track, struct ntk_json *json)
{
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "name", track->name);
    ntk_json_key_text(json, "kind", ntk_timeline_kind_name(track->kind));
    ntk_json_key_u64(json, "group", track->group);
    ntk_json_key_u64(json, "slices", track->slice_count);
    ntk_json_key_u64(json, "lanes", track->lane_count);
    if (track->kind == NTK_TIMELINE_QUEUE) {
        ntk_json_key_array_begin(json, "engines");
        for (uint32_t i = 0; i < track->lane_count; i++) {
            ntk_json_u64(json, track->lane_ids[i]);
        }
        ntk_json_array_end(json);
    }
    if (ntk_timeline_is_value(track)) {
        ntk_json_key_double(json, "max", track->value_max);
    }
    if (track->unit) {
        ntk_json_key_text(json, "unit", track->unit);
    }
    if (track->help) {
        ntk_json_key_text(json, "help", track->help);
        ntk_json_key_double(json, "scale", track->scale);
    }
    ntk_json_object_end(json);
}

static void put_source(const struct ntk_timeline_source *source, struct ntk_json *json)
{
    const struct ntk_trace *trace = source->trace;

    ntk_json_object_begin(json);
    ntk_json_key_text(json, "name", source->name);
    ntk_json_key_text(json, "neff", trace->ntff->neff_name);
    ntk_json_key_bool(json, "has_neff", trace->neff != NULL);
    ntk_json_key_text(json, "instance", trace->ntff->instance_type);
    ntk_json_key_u64(json, "version", trace->ntff->version);
    ntk_json_key_i64(json, "offset", source->offset_ps);
    if (trace->has_total) {
        ntk_json_key_i64(json, "total", trace->total_ps);
    }
    if (trace->has_chip) {
        ntk_json_key_u64(json, "mhz", trace->chip.base_mhz); /* unit of waited cycles */
    }
    ntk_json_key_array_begin(json, "cores");
    for (size_t c = 0; c < trace->core_count; c++) {
        const struct ntk_ntff_subgraph *core = trace->cores[c].ntff;
        ntk_json_object_begin(json);
        ntk_json_key_u64(json, "core", core->core);
        ntk_json_key_object_begin(json, "memory");
        for (size_t m = 0; m < core->memory_count; m++) {
            ntk_json_key_u64(json, core->memory[m].name, core->memory[m].bytes_count);
        }
        ntk_json_object_end(json);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}

/* Returns a number limited to 53 bits, which readers of JSON can represent. */
static int64_t as_read(int64_t span_ps)
{
    int64_t unit = 1;

    while (span_ps / unit >= (INT64_C(1) << 53)) {
        unit *= 2;
    }
    return span_ps / unit * unit;
}

/* Writes a note that the page shows only a part. */
static void put_part(const struct ntk_timeline *timeline, struct ntk_json *json)
{
    struct ntk_buf text = { 0 };

    for (size_t i = 0; i < timeline->source_count && !text.bytes_count; i++) {
        if (timeline->sources[i].trace->is_part) {
            ntk_buf_add_text(&text, "only ");
            ntk_output_part_text(timeline->sources[i].trace, &text);
        }
    }
    ntk_vec_each(struct ntk_timeline_track, track, &timeline->tracks) {
        if (!text.bytes_count && track->host && track->host->is_part) {
            ntk_buf_add_text(&text, "only part of the trace");
        }
    }
    if (text.bytes_count) {
        ntk_json_key_text(json, "part", ntk_buf_text_get(&text));
    }
    ntk_buf_fini(&text);
}

void ntk_timeline_put_meta(const struct ntk_timeline *timeline, const char *title,
                           struct ntk_buf *out)
{
    struct ntk_json json;

    ntk_json_init(&json, out, false);
    ntk_json_object_begin(&json);
    ntk_json_key_text(&json, "title", title);
    ntk_json_key_bool(&json, "compares", timeline->compares);
    ntk_json_key_u64(&json, "tile_version", NTK_TIMELINE_TILE_VERSION);
    ntk_json_key_u64(&json, "tile_buckets", NTK_TIMELINE_TILE_BUCKETS);
    ntk_json_key_i64(&json, "begin", timeline->begin_ps); /* on the execution's clock */
    ntk_json_key_i64(&json, "span", as_read(timeline->end_ps - timeline->begin_ps));
    if (timeline->zero_ns) {
        ntk_json_key_u64(&json, "zero_ns", timeline->zero_ns);
    }
    ntk_json_key_u64(&json, "level_top",
                     ntk_timeline_level_top(timeline->end_ps - timeline->begin_ps));
    ntk_json_key_u64(&json, "slices", timeline->slice_count - timeline->derived_slice_count);
    ntk_timeline_put_busiest(timeline, &json);
    put_part(timeline, &json);
    ntk_json_key_array_begin(&json, "sources");
    for (size_t i = 0; i < timeline->source_count; i++) {
        put_source(&timeline->sources[i], &json);
    }
    ntk_json_array_end(&json);
    ntk_json_key_array_begin(&json, "groups");
    ntk_vec_each(struct ntk_timeline_group, group, &timeline->groups) {
        ntk_json_object_begin(&json);
        ntk_json_key_text(&json, "name", group->name);
        if (group->parent != NTK_TIMELINE_NO_GROUP) {
            ntk_json_key_u64(&json, "parent", group->parent);
        }
        if (group->source != NTK_TIMELINE_NO_SOURCE) {
            ntk_json_key_u64(&json, "source", group->source);
        }
        ntk_json_key_bool(&json, "folded", group->is_folded);
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    ntk_json_key_array_begin(&json, "tracks");
    ntk_vec_each(struct ntk_timeline_track, track, &timeline->tracks) {
        put_track(track, &json);
    }
    ntk_json_array_end(&json);
    ntk_json_key_array_begin(&json, "whats");
    ntk_vec_each(struct ntk_timeline_what, what, &timeline->whats) {
        ntk_json_object_begin(&json);
        ntk_json_key_text(&json, "name", what->name);
        ntk_json_key_text(&json, "family", what->family);
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
}

/* ---- one slice ------------------------------------------------------------------------------- */

/* Writes a row of the details: its name, value and format. */
static void put_row(struct ntk_json *json, const char *name, const char *unit, double value)
{
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "name", name);
    ntk_json_key_text(json, "unit", unit);
    ntk_json_key_double(json, "value", value);
    ntk_json_object_end(json);
}

static void put_text_row(struct ntk_json *json, const char *name, const char *text)
{
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "name", name);
    ntk_json_key_text(json, "unit", "text");
    ntk_json_key_text(json, "value", text);
    ntk_json_object_end(json);
}

static void begin_rows(struct ntk_json *json, const char *title)
{
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "title", title);
    ntk_json_key_array_begin(json, "rows");
}

static void end_rows(struct ntk_json *json)
{
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}

/* Returns the name in the NEFF of an instruction in the open encoding. */
static const char *instruction_name(const struct ntk_trace_core *core, unsigned engine,
                                    const struct ntk_isa_instr *instr)
{
    const struct ntk_neff_engine *from = core->neff ? &core->neff->engines[engine] : NULL;

    return from && instr->name_id > 0 && instr->name_id <= from->name_count
               ? from->names[instr->name_id - 1]
               : NULL;
}

static const struct ntk_trace *trace_of(const struct ntk_timeline *timeline,
                                        const struct ntk_timeline_track *track)
{
    const struct ntk_timeline_group *group = ntk_vec_at(&timeline->groups, track->group);

    return timeline->sources[group->source].trace;
}

static void put_instruction(const struct ntk_timeline *timeline,
                            const struct ntk_timeline_track *track,
                            const struct ntk_timeline_slice *slice, struct ntk_json *json)
{
    const struct ntk_trace_instruction *from = &track->core->instructions[slice->ref];
    const struct ntk_trace *trace = trace_of(timeline, track);
    struct ntk_isa_instr instr;
    int64_t compiler_pc = ntk_ntff_compiler_pc(track->core->ntff, from->engine, from->slot);

    if (trace->has_chip && trace->chip.base_mhz) {
        put_row(json, "Waited before", "ps", from->wait_cycles * 1e6 / trace->chip.base_mhz);
    } else {
        put_row(json, "Waited before", "cycles", from->wait_cycles);
    }
    end_rows(json);
    begin_rows(json, "Operation");
    put_text_row(json, "Engine", ntk_ntff_engine_title(from->engine));
    put_row(json, "PC", "number", from->slot);
    if (compiler_pc >= 0) {
        put_row(json, "Compiler PC", "number", (double)compiler_pc);
    } else {
        put_text_row(json, "Inserted by", "runtime");
    }
    if (ntk_open_slot_decode(track->core, from, &instr)) {
        struct ntk_buf text = { 0 };
        const char *name = instruction_name(track->core, from->engine, &instr);
        if (name) {
            put_text_row(json, "Name", name);
        }
        ntk_isa_text_print(&instr, &text);
        put_text_row(json, "Instruction", ntk_buf_text_get(&text));
        ntk_buf_fini(&text);
    }
    if (from->crc_in != UINT16_MAX) {
        put_row(json, "CRC in", "hex", from->crc_in);
    }
    if (from->crc_out != UINT16_MAX) {
        put_row(json, "CRC out", "hex", from->crc_out);
    }
}

static void put_packet(const struct ntk_timeline_track *track,
                       const struct ntk_timeline_slice *slice, struct ntk_json *json)
{
    const struct ntk_trace_packet *from = &track->core->packets[slice->ref];
    int64_t ps = from->end_ps - from->start_ps;

    end_rows(json);
    begin_rows(json, "Transfer");
    put_row(json, "Bytes", "bytes", from->bytes_count);
    if (ps > 0) {
        put_row(json, "Rate", "bytes/s", from->bytes_count / ((double)ps * 1e-12));
    }
    put_text_row(json, "Queue", track->name);
    put_row(json, "DMA engine", "number", from->engine);
    put_row(json, "Queue number", "number", from->queue);
    put_text_row(json, "Class", ntk_trace_dma_class_name(from->dma_class));
    put_row(json, "CRC", "hex", from->crc);
}

static const char *mode_name(uint8_t mode)
{
    switch (mode) {
    case NTK_NTFF_MODE_EVENT_CLEAR:
        return "cleared";
    case NTK_NTFF_MODE_EVENT_SET:
        return "set";
    case NTK_NTFF_MODE_SEMAPHORE_INC:
        return "incremented";
    case NTK_NTFF_MODE_SEMAPHORE_DEC:
        return "decremented";
    case NTK_NTFF_MODE_SEMAPHORE_WRITE:
        return "written";
    default:
        return "changed";
    }
}

static void put_event(const struct ntk_timeline_track *track,
                      const struct ntk_timeline_slice *slice, struct ntk_json *json)
{
    const struct ntk_trace_event *from = &track->core->events[slice->ref];

    end_rows(json);
    begin_rows(json, from->is_semaphore ? "Semaphore" : "Event");
    put_row(json, "Number", "number", from->number);
    put_row(json, "Value", "number", from->value);
    put_text_row(json, "How", mode_name(from->mode));
    put_text_row(json, "By", ntk_ntff_source_title(from->source));
}

static void put_text_row_if(struct ntk_json *json, const char *name, const char *text)
{
    if (text[0]) {
        put_text_row(json, name, text);
    }
}

static void put_span(const struct ntk_timeline_track *track, const struct ntk_timeline_slice *slice,
                     struct ntk_json *json)
{
    const struct ntk_system_span *from = &track->host->spans[slice->ref];

    if (from->is_partial) {
        put_text_row(json, "Truncated", "one end was not recorded");
    }
    if (from->device_end_ns > from->device_start_ns) {
        put_row(json, "On the device", "ps",
                (double)(from->device_end_ns - from->device_start_ns) * NTK_TRACE_PS_PER_NS);
    }
    end_rows(json);
    begin_rows(json, "Event");
    put_text_row_if(json, "Name", from->name);
    if (ntk_system_span_is_mark(from)) {
        put_row(json, "Number", "number", (double)from->bytes);
    } else if (from->bytes) {
        put_row(json, "Bytes", "bytes", (double)from->bytes);
    }
    if (from->model_id) {
        put_row(json, "Model", "number", from->model_id);
    }
    if (from->exec_id) {
        put_row(json, ntk_system_span_is_collective(from) ? "Number in communicator" : "Execution",
                "number", (double)from->exec_id);
    }
    if (from->queue) {
        put_row(json, "Queue", "number", from->queue);
    }
    put_row(json, "Thread", "number", from->thread_id);
    put_row(json, "Core of the process", "number", from->nc);
    put_row(json, "Worker", "number", from->worker);
}

static void put_sample(const struct ntk_timeline_track *track,
                       const struct ntk_timeline_slice *slice, struct ntk_json *json)
{
    static const struct {
        const char *of_track, *name, *unit;
        double factor;
    } units[] = {
        { "KiB", "Bytes", "bytes", 1024 },
        { "%", "Percent", "number", 1 },
        { "B", "Bytes", "bytes", 1 },
        { "B/s", "Bytes per second", "bytes", 1 },
        { "transfers", "Transfers", "number", 1 },
    };
    double value = track->values[slice->ref] * (track->scale > 0 ? track->scale : 1);

    end_rows(json);
    begin_rows(json, track->help ? "Value" : "Sample");
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        if (strcmp(track->unit, units[u].of_track) == 0) {
            put_row(json, units[u].name, units[u].unit, value * units[u].factor);
        }
    }
    if (track->help) {
        put_text_row(json, "Meaning", track->help);
    }
}

static void put_region(const struct ntk_timeline *timeline, const struct ntk_timeline_track *track,
                       const struct ntk_timeline_slice *slice, struct ntk_json *json)
{
    uint64_t index = 0;
    const struct ntk_region *region = ntk_timeline_region_of(timeline, track, slice, &index);

    if (!region) {
        return;
    }
    end_rows(json);
    begin_rows(json, "Region");
    put_text_row(json, "Kind", ntk_region_kind_name(region->kind));
    put_row(json, "Repetition, from 0", "number", (double)index);
    put_row(json, "Times", "number", (double)region->count);
    put_row(json, "Median", "ps", (double)region->median_ps);
    put_row(json, "Longest", "ps", (double)region->worst_ps);
    put_row(json, "Total", "ps", (double)region->total_ps);
}

int ntk_timeline_put_slice(const struct ntk_timeline *timeline, uint64_t track_index,
                           uint64_t slice_index, struct ntk_buf *out, struct ntk_err *err)
{
    const struct ntk_timeline_track *track =
        ntk_timeline_track_with(timeline, track_index, slice_index, err);

    if (!track) {
        return -ENOENT;
    }
    struct ntk_json json;
    const struct ntk_timeline_slice *slice = &track->slices[slice_index];
    const struct ntk_timeline_what *what = ntk_vec_at(&timeline->whats, slice->what);
    ntk_json_init(&json, out, false);
    ntk_json_object_begin(&json);
    ntk_json_key_u64(&json, "track", track_index);
    ntk_json_key_u64(&json, "slice", slice_index);
    ntk_json_key_text(&json, "name", what->name);
    ntk_json_key_u64(&json, "what", slice->what);
    ntk_json_key_u64(&json, "lane", slice->lane);
    ntk_json_key_i64(&json, "start", slice->start_ps - timeline->begin_ps);
    ntk_json_key_i64(&json, "end", slice->end_ps - timeline->begin_ps);
    ntk_json_key_array_begin(&json, "groups");
    begin_rows(&json, "Timing");
    put_row(&json, "Start", "ps", (double)slice->start_ps);
    put_row(&json, "End", "ps", (double)slice->end_ps);
    put_row(&json, ntk_timeline_is_value(track) ? "Valid for" : "Duration", "ps",
            (double)(slice->end_ps - slice->start_ps));
    switch (track->kind) {
    case NTK_TIMELINE_ENGINE:
        put_instruction(timeline, track, slice, &json);
        break;
    case NTK_TIMELINE_QUEUE:
        put_packet(track, slice, &json);
        break;
    case NTK_TIMELINE_SEMAPHORE:
        put_event(track, slice, &json);
        break;
    case NTK_TIMELINE_HOST:
        put_span(track, slice, &json);
        break;
    case NTK_TIMELINE_COUNTER:
        put_sample(track, slice, &json);
        break;
    case NTK_TIMELINE_REGION:
        put_region(timeline, track, slice, &json);
        break;
    case NTK_TIMELINE_RATE:
    case NTK_TIMELINE_RANK:
    case NTK_TIMELINE_KIND_COUNT:
        break;
    }
    end_rows(&json);
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    return 0;
}

/* ---- statistics of a range ------------------------------------------------------------------- */

struct what_sum {
    uint64_t count;
    int64_t sum_ps, longest_ps;
    double bytes;
};

struct stats {
    const struct ntk_timeline_track *track;
    int64_t from_ps, to_ps;
    struct what_sum *sums; /* by what */
    uint64_t count;
    double bytes;
    struct ntk_cover busy; /* busy time of all lanes */
};

static int stats_add(size_t index, const struct ntk_timeline_slice *slice, void *ctx)
{
    struct stats *stats = ctx;
    int64_t start_ps = slice->start_ps > stats->from_ps ? slice->start_ps : stats->from_ps;
    int64_t end_ps = slice->end_ps < stats->to_ps ? slice->end_ps : stats->to_ps;
    int64_t whole_ps = slice->end_ps - slice->start_ps;
    struct what_sum *sum = &stats->sums[slice->what];

    (void)index;
    sum->count++;
    stats->count++;
    sum->sum_ps = ntk_ps_sum(sum->sum_ps, end_ps - start_ps);
    sum->longest_ps = whole_ps > sum->longest_ps ? whole_ps : sum->longest_ps;
    if (stats->track->kind == NTK_TIMELINE_QUEUE) {
        double share = whole_ps > 0 ? (double)(end_ps - start_ps) / (double)whole_ps : 1.0;
        double bytes = ntk_timeline_slice_value(stats->track, slice) * share;
        sum->bytes += bytes;
        stats->bytes += bytes;
    }
    if (!slice->is_wait) {
        ntk_cover_add(&stats->busy, start_ps, end_ps);
    }
    return 0;
}

static void put_stats_track(const struct ntk_timeline *timeline, size_t index, struct stats *stats,
                            struct ntk_json *json)
{
    double range_ps = (double)(stats->to_ps - stats->from_ps);

    ntk_json_object_begin(json);
    ntk_json_key_u64(json, "track", index);
    ntk_json_key_u64(json, "count", stats->count);
    ntk_json_key_double(json, "busy",
                        range_ps > 0.0 ? (double)stats->busy.covered_ps / range_ps : 0.0);
    if (stats->track->kind == NTK_TIMELINE_QUEUE) {
        ntk_json_key_double(json, "bytes", stats->bytes);
    }
    ntk_json_key_array_begin(json, "whats");
    for (size_t w = 0; w < timeline->whats.count; w++) {
        const struct what_sum *sum = &stats->sums[w];
        if (sum->count == 0) {
            continue;
        }
        ntk_json_object_begin(json);
        ntk_json_key_u64(json, "what", w);
        ntk_json_key_u64(json, "count", sum->count);
        ntk_json_key_i64(json, "sum", sum->sum_ps);
        ntk_json_key_i64(json, "longest", sum->longest_ps);
        if (stats->track->kind == NTK_TIMELINE_QUEUE) {
            ntk_json_key_double(json, "bytes", sum->bytes);
        }
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}

int ntk_timeline_put_stats(const struct ntk_timeline *timeline, int64_t from_ps, int64_t to_ps,
                           struct ntk_buf *out)
{
    struct ntk_json json;
    struct what_sum *sums = calloc(timeline->whats.count + 1, sizeof *sums);

    if (!sums) {
        out->failed = true;
        return -ENOMEM;
    }
    ntk_json_init(&json, out, false);
    ntk_json_object_begin(&json);
    ntk_json_key_i64(&json, "from", from_ps);
    ntk_json_key_i64(&json, "to", to_ps);
    ntk_json_key_array_begin(&json, "tracks");
    for (size_t t = 0; t < timeline->tracks.count; t++) {
        const struct ntk_timeline_track *track = ntk_timeline_track_get(timeline, t);
        struct stats stats = { .track = track,
                               .from_ps = from_ps + timeline->begin_ps,
                               .to_ps = to_ps + timeline->begin_ps,
                               .sums = sums };
        if (ntk_timeline_is_value(track) || track->kind == NTK_TIMELINE_RATE) {
            continue;
        }
        memset(sums, 0, timeline->whats.count * sizeof *sums);
        (void)ntk_timeline_slices_each(track, stats.from_ps, stats.to_ps, stats_add, &stats);
        if (stats.count > 0) {
            put_stats_track(timeline, t, &stats, &json);
        }
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    free(sums);
    return 0;
}

/* ---- hits of a search ------------------------------------------------------------------------ */

struct hit {
    int64_t start_ps, end_ps;
    uint32_t track, slice;
};

NTK_ORDER(compare_hits, struct hit, NTK_UP(start_ps) NTK_UP(track) NTK_UP(slice));

/* Returns true if an instruction comes from the line. */
static bool is_of_line(const struct ntk_timeline_wanted *wanted, const struct ntk_trace_core *core,
                       uint32_t ref)
{
    const struct ntk_trace *trace = wanted->program->trace;

    if (core < trace->cores || core >= trace->cores + trace->core_count) {
        return false;
    }
    const struct ntk_neff_position *at = ntk_program_position(
        wanted->program, (size_t)(core - trace->cores), &core->instructions[ref]);
    return at && at->file == wanted->file && at->line == wanted->line;
}

static bool is_hit(const struct ntk_timeline_wanted *wanted, const struct ntk_timeline_track *track,
                   const struct ntk_timeline_slice *slice)
{
    return (wanted->whats && wanted->whats[slice->what] &&
            !ntk_timeline_is_counter_of_core(track)) ||
           (wanted->has_pc && track->kind == NTK_TIMELINE_ENGINE &&
            track->core->instructions[slice->ref].slot == wanted->pc) ||
           (wanted->program && track->kind == NTK_TIMELINE_ENGINE &&
            is_of_line(wanted, track->core, slice->ref));
}

/* Lists the part of a track that may be among the listed hits: its first or last hits. */
static void list_hits(const struct ntk_timeline *timeline, uint32_t index,
                      const struct ntk_timeline_wanted *wanted, int64_t from_ps, bool is_back,
                      struct ntk_vec *hits)
{
    const struct ntk_timeline_track *track = ntk_timeline_track_get(timeline, index);
    size_t taken = 0;

    for (size_t n = 0; n < track->slice_count && taken < NTK_TIMELINE_HITS_MAX; n++) {
        size_t i = is_back ? track->slice_count - 1 - n : n;
        const struct ntk_timeline_slice *slice = &track->slices[i];
        ntk_timeline_pass(track, i, is_back);
        if (is_hit(wanted, track, slice) && (slice->start_ps < from_ps) == is_back) {
            struct hit hit = { slice->start_ps, slice->end_ps, index, (uint32_t)i };
            taken++;
            (void)ntk_vec_push(hits, &hit);
        }
    }
}

/* Counts events, or repeated regions, which are not events of the capture. */
static void count_hits(const struct ntk_timeline *timeline,
                       const struct ntk_timeline_wanted *wanted, bool is_of_regions,
                       uint64_t counts[NTK_TIMELINE_HIT_BUCKETS])
{
    double bucket_ps =
        (double)(timeline->end_ps - timeline->begin_ps + 1) / NTK_TIMELINE_HIT_BUCKETS;
    const size_t last = NTK_TIMELINE_HIT_BUCKETS - 1;

    ntk_vec_each(struct ntk_timeline_track, track, &timeline->tracks) {
        bool is_counted = (track->kind == NTK_TIMELINE_REGION) == is_of_regions;
        for (size_t i = 0; is_counted && i < track->slice_count; i++) {
            if (is_hit(wanted, track, &track->slices[i])) {
                int64_t at_ps = track->slices[i].start_ps - timeline->begin_ps;
                size_t bucket = (size_t)((double)at_ps / bucket_ps);
                counts[bucket < last ? bucket : last]++; /* beyond 2^53 ps adding 1 has no effect */
            }
            ntk_timeline_pass(track, i, false);
        }
    }
}

int ntk_timeline_put_hits(const struct ntk_timeline *timeline,
                          const struct ntk_timeline_wanted *wanted, int64_t from_ps, bool is_back,
                          struct ntk_buf *out)
{
    uint64_t counts[2][NTK_TIMELINE_HIT_BUCKETS] = { { 0 } };
    struct ntk_vec hits = NTK_VEC_INIT(struct hit);
    struct ntk_json json;
    uint64_t totals[2] = { 0 };

    for (int of = 0; of < 2; of++) {
        count_hits(timeline, wanted, of == 1, counts[of]);
        for (size_t i = 0; i < NTK_TIMELINE_HIT_BUCKETS; i++) {
            totals[of] += counts[of][i];
        }
    }
    for (size_t t = 0; t < timeline->tracks.count; t++) {
        list_hits(timeline, (uint32_t)t, wanted, from_ps + timeline->begin_ps, is_back, &hits);
    }
    ntk_vec_sort(&hits, compare_hits);
    ntk_json_init(&json, out, false);
    ntk_json_object_begin(&json);
    ntk_json_key_array_begin(&json, "counts");
    for (size_t i = 0; i < NTK_TIMELINE_HIT_BUCKETS; i++) {
        ntk_json_u64(&json, counts[totals[0] == 0][i]);
    }
    ntk_json_array_end(&json);
    ntk_json_key_u64(&json, "total", totals[0]);
    ntk_json_key_u64(&json, "repetitions", totals[1]);
    ntk_json_key_array_begin(&json, "hits");
    size_t shown = hits.count < NTK_TIMELINE_HITS_MAX ? hits.count : NTK_TIMELINE_HITS_MAX;
    size_t first = is_back ? hits.count - shown : 0;
    for (size_t i = first; i < first + shown; i++) {
        const struct hit *hit = ntk_vec_at(&hits, i);
        const struct ntk_timeline_track *track = ntk_timeline_track_get(timeline, hit->track);
        ntk_json_object_begin(&json);
        ntk_json_key_u64(&json, "track", hit->track);
        ntk_json_key_u64(&json, "slice", hit->slice);
        ntk_json_key_i64(&json, "start", hit->start_ps - timeline->begin_ps);
        ntk_json_key_i64(&json, "end", hit->end_ps - timeline->begin_ps);
        ntk_json_key_u64(&json, "what", track->slices[hit->slice].what);
        ntk_json_key_u64(&json, "lane", track->slices[hit->slice].lane);
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    ntk_vec_fini(&hits);
    return 0;
}
