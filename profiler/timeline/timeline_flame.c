/* SPDX-License-Identifier: MIT */
#include "profiler/timeline/timeline_flame.h"

#include <errno.h>

#include "profiler/analysis/flame_stacks.h"
#include "profiler/timeline/timeline_regions.h"
#include "shared/base/map.h"

struct flame_row {
    size_t core;
    uint8_t engine, opcode;
    uint32_t layer;
    uint64_t count;
    int64_t sum_ps;
};

/* Returns the row of an instruction; NULL if out of memory. There are fewer than 2^32 layers and
 * 2^16 cores. */
static struct flame_row *flame_row_of(struct ntk_map *map, struct ntk_vec *rows, size_t core,
                                      const struct ntk_trace_instruction *instruction,
                                      uint32_t layer)
{
    uint64_t key = (uint64_t)core << 48 | (uint64_t)(instruction->engine & 0xff) << 40 |
                   (uint64_t)instruction->opcode << 32 | layer;
    uintptr_t index = (uintptr_t)ntk_map_get_number(map, key); /* index + 1 */

    if (index == 0) {
        struct flame_row *row = ntk_vec_add(rows);
        if (!row || ntk_map_put_number(map, key, (void *)rows->count) < 0) {
            return NULL;
        }
        *row = (struct flame_row){ .core = core,
                                   .engine = instruction->engine,
                                   .opcode = instruction->opcode,
                                   .layer = layer };
        index = rows->count;
    }
    return ntk_vec_at(rows, index - 1);
}

static int flame_core(const struct ntk_analyses *analyses, const struct ntk_trace *trace,
                      size_t core, int64_t from_ps, int64_t to_ps, struct ntk_map *map,
                      struct ntk_vec *rows)
{
    ntk_trace_each_instruction(&trace->cores[core], instruction) {
        int64_t start_ps = instruction->start_ps > from_ps ? instruction->start_ps : from_ps;
        int64_t end_ps = instruction->end_ps < to_ps ? instruction->end_ps : to_ps;
        if (instruction->start_ps >= to_ps) {
            break;
        }
        if (end_ps < start_ps || instruction->engine >= NTK_NTFF_ENGINE_COUNT) {
            continue;
        }
        struct flame_row *row =
            flame_row_of(map, rows, core, instruction,
                         ntk_program_fact(analyses->program, core, instruction)->code->layer);
        if (!row) {
            return -ENOMEM;
        }
        row->count++;
        row->sum_ps = ntk_ps_sum(row->sum_ps, end_ps - start_ps);
    }
    return 0;
}

void ntk_timeline_put_flame(const struct ntk_timeline *timeline, size_t source,
                            const struct ntk_analyses *analyses, int64_t from_ps, int64_t to_ps,
                            struct ntk_buf *out)
{
    const struct ntk_trace *trace = timeline->sources[source].trace;
    int64_t zero_ps = timeline->begin_ps - timeline->sources[source].offset_ps;
    struct ntk_vec rows = NTK_VEC_INIT(struct flame_row);
    struct ntk_map map = { 0 };
    struct ntk_json json;

    for (size_t c = 0; c < trace->core_count; c++) {
        if (flame_core(analyses, trace, c, from_ps + zero_ps, to_ps + zero_ps, &map, &rows) < 0) {
            out->failed = true;
        }
    }
    ntk_json_init(&json, out, false);
    ntk_json_array_begin(&json);
    ntk_vec_each(struct flame_row, row, &rows) {
        char text[NTK_NTFF_NAME_BYTES];
        ntk_json_object_begin(&json);
        ntk_json_key_u64(&json, "core", trace->cores[row->core].ntff->core);
        ntk_json_key_text(&json, "engine", ntk_ntff_engine_title(row->engine));
        ntk_json_key_text(&json, "layer", analyses->program->layers[row->layer]);
        ntk_json_key_text(&json, "operation", ntk_ntff_opcode_name(row->opcode, text, sizeof text));
        ntk_json_key_bool(&json, "is_wait", row->opcode == NTK_NTFF_OPCODE_EVENT_SEMAPHORE);
        ntk_json_key_u64(&json, "count", row->count);
        ntk_json_key_i64(&json, "sum", row->sum_ps);
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    ntk_map_fini(&map);
    ntk_vec_fini(&rows);
}

/* ---- by region and source line ---- */

void ntk_timeline_put_flame_stacks(const struct ntk_timeline *timeline, size_t source,
                                   struct ntk_buf *out)
{
    const struct ntk_timeline_regions *of = timeline->regions[source];
    struct ntk_flame flame = { 0 };
    struct ntk_json json;

    if (ntk_analysis_flame(of->program, &of->regions, &flame) < 0) {
        out->failed = true;
        return;
    }
    ntk_json_init(&json, out, false);
    ntk_json_object_begin(&json);
    ntk_json_key_array_begin(&json, "frames");
    ntk_vec_each(const struct ntk_flame_frame, frame, &flame.frames) {
        ntk_json_array_begin(&json);
        ntk_json_u64(&json, frame->parent);
        ntk_json_text(&json, frame->name);
        ntk_json_array_end(&json);
    }
    ntk_json_array_end(&json);
    ntk_json_key_array_begin(&json, "stacks");
    ntk_vec_each(const struct ntk_flame_stack, stack, &flame.stacks) {
        ntk_json_array_begin(&json);
        ntk_json_u64(&json, stack->frame);
        ntk_json_i64(&json, stack->busy_ns);
        ntk_json_i64(&json, stack->wait_ns);
        ntk_json_u64(&json, stack->instruction_count);
        ntk_json_array_end(&json);
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    ntk_flame_fini(&flame);
}
