/* SPDX-License-Identifier: MIT */
/* roofline_points - adds the work of instructions to running regions and to lines. */
#include "profiler/analysis/roofline_points.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/interval.h"
#include "profiler/analysis/regions.h"
#include "profiler/trace/walk.h"
#include "shared/base/map.h"
#include "shared/base/order.h"
#include "shared/base/vec.h"

static bool has_work(const struct ntk_slot_fact *fact)
{
    return fact->code->useful_flops || fact->code->read_bytes || fact->code->write_bytes;
}

static void add_work(struct ntk_roofline_work *work, const struct ntk_slot_fact *fact)
{
    work->flops += fact->code->useful_flops;
    work->weighted_flops += fact->code->useful_flops ? fact->code->adjusted_flops : 0;
    work->bytes += fact->code->read_bytes + fact->code->write_bytes;
}

/* ---- regions ---- */

struct window { /* a region during the walk */
    const struct ntk_region *region;
    const struct ntk_region_instance *instances;
    size_t next;    /* first instance that has not started */
    int64_t end_ps; /* end of the instances that have started */
    struct ntk_roofline_work work;
};

NTK_ORDER(compare_cover, struct window, NTK_DOWN(region->covered_ps) NTK_UP(region));

static void windows_fill(const struct ntk_program *program, struct window *windows, size_t count)
{
    const struct ntk_trace *trace = program->trace;
    struct ntk_walk walk;
    struct ntk_walk_span span;

    ntk_walk_init(&walk, trace, NTK_WALK_INSTRUCTIONS);
    while (ntk_walk_next(&walk, &span)) {
        size_t core = (size_t)(span.core - trace->cores);
        const struct ntk_slot_fact *fact = ntk_program_fact(program, core, span.instruction);

        for (size_t i = 0; has_work(fact) && i < count; i++) {
            struct window *window = &windows[i];
            const struct ntk_region_instance *instances = window->instances;
            unsigned engine = window->region->engine;
            if (window->region->core_index != core ||
                (engine != NTK_NTFF_ENGINE_COUNT && engine != span.instruction->engine)) {
                continue;
            }
            while (window->next < window->region->count &&
                   instances[window->next].start_ps <= span.start_ps) {
                int64_t end_ps = instances[window->next++].end_ps;
                window->end_ps = end_ps > window->end_ps ? end_ps : window->end_ps;
            }
            if (window->next > 0 && span.start_ps < window->end_ps) {
                add_work(&window->work, fact);
            }
        }
    }
}

static int put_regions(const struct ntk_regions *regions, const struct window *windows,
                       size_t count, struct ntk_roofline *roofline)
{
    roofline->regions.rows = calloc(count + 1, sizeof *roofline->regions.rows);
    if (!roofline->regions.rows) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        struct ntk_roofline_row *row = &roofline->regions.rows[roofline->regions.count];

        *row = ntk_roofline_judge(&roofline->ceilings, &windows[i].work,
                                  windows[i].region->covered_ps);
        row->region = (uint32_t)(windows[i].region - regions->regions);
        row->name = strdup(windows[i].region->shown);
        if (!row->name) {
            return -ENOMEM;
        }
        roofline->regions.count++;
    }
    return 0;
}

int ntk_roofline_add_regions(const struct ntk_program *program, struct ntk_roofline *roofline)
{
    struct ntk_regions regions;
    int ret = ntk_analysis_regions(program, &regions);

    if (ret < 0) {
        return ret;
    }
    size_t count = regions.region_count;
    struct window *windows = calloc(count + 1, sizeof *windows);
    if (!windows) {
        ntk_regions_fini(&regions);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        windows[i].region = &regions.regions[i];
        windows[i].instances = ntk_region_instances(&regions, windows[i].region);
    }
    qsort(windows, count, sizeof *windows, compare_cover);
    count = count < NTK_ROOFLINE_REGIONS_MAX ? count : NTK_ROOFLINE_REGIONS_MAX;
    windows_fill(program, windows, count);
    ret = put_regions(&regions, windows, count, roofline);
    free(windows);
    ntk_regions_fini(&regions);
    return ret;
}

/* ---- lines ---- */

struct line {
    uint32_t file, line;
    struct ntk_cover cover;
    struct ntk_roofline_work work;
};

/* Returns NULL if out of memory. */
static struct line *line_of(struct ntk_vec *lines, struct ntk_map *numbers,
                            const struct ntk_neff_position *at)
{
    uint64_t key = (uint64_t)at->file << 32 | at->line;
    uintptr_t number = (uintptr_t)ntk_map_get_number(numbers, key);

    if (number) {
        return ntk_vec_at(lines, number - 1);
    }
    struct line fresh = { .file = at->file, .line = at->line };
    if (ntk_vec_push(lines, &fresh) < 0 ||
        ntk_map_put_number(numbers, key, (void *)(uintptr_t)lines->count) < 0) {
        return NULL;
    }
    return ntk_vec_at(lines, lines->count - 1);
}

NTK_ORDER(compare_time, struct ntk_roofline_row, NTK_DOWN(time_ps) NTK_UP(file) NTK_UP(line));

/* Adds lines; lines without compute or transfers have no point. */
static int put_lines(const struct ntk_vec *lines, struct ntk_roofline *roofline)
{
    roofline->lines.rows = calloc(lines->count + 1, sizeof *roofline->lines.rows);
    if (!roofline->lines.rows) {
        return -ENOMEM;
    }
    ntk_vec_each(const struct line, line, lines) {
        struct ntk_roofline_row *row = &roofline->lines.rows[roofline->lines.count];

        *row = ntk_roofline_judge(&roofline->ceilings, &line->work, line->cover.covered_ps);
        row->file = line->file;
        row->line = line->line;
        roofline->lines.count += row->bound != NTK_ROOFLINE_NONE;
    }
    qsort(roofline->lines.rows, roofline->lines.count, sizeof *roofline->lines.rows, compare_time);
    return 0;
}

int ntk_roofline_add_lines(const struct ntk_program *program, struct ntk_roofline *roofline)
{
    const struct ntk_trace *trace = program->trace;
    struct ntk_vec lines = NTK_VEC_INIT(struct line);
    struct ntk_map numbers = { 0 };
    struct ntk_walk walk;
    struct ntk_walk_span span;
    int ret = 0;

    if (!program->positions) {
        return 0;
    }
    ntk_walk_init(&walk, trace, NTK_WALK_INSTRUCTIONS);
    while (ret == 0 && ntk_walk_next(&walk, &span)) {
        size_t core = (size_t)(span.core - trace->cores);
        const struct ntk_neff_position *at = ntk_program_position(program, core, span.instruction);

        if (!at || !at->file) {
            continue;
        }
        struct line *line = line_of(&lines, &numbers, at);
        if (!line) {
            ret = -ENOMEM;
            break;
        }
        add_work(&line->work, ntk_program_fact(program, core, span.instruction));
        if (span.instruction->opcode != NTK_NTFF_OPCODE_EVENT_SEMAPHORE) {
            ntk_cover_add(&line->cover, span.start_ps, span.end_ps);
        }
    }
    ret = ret ? ret : put_lines(&lines, roofline);
    ntk_map_fini(&numbers);
    ntk_vec_fini(&lines);
    return ret;
}
