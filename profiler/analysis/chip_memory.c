/* SPDX-License-Identifier: MIT */
/* chip_memory - collects lives of values, then sweeps over their starts and ends. */
#include "profiler/analysis/chip_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/trace/sorter.h"
#include "shared/base/order.h"
#include "shared/formats/neff/isa.h"

struct edge {
    int64_t time_ps;
    int32_t bytes; /* bytes added or removed at this time */
    uint32_t layer;
};
static_assert(sizeof(struct edge) == 16 && NTK_ISA_SBUF_PARTITION_BYTES_MAX <= INT32_MAX,
              "a sorter item has 16 or 32 bytes");

/* A heap of lives with the largest product of bytes and time, smallest on top. */
struct heap {
    uint64_t seen_count; /* number of lives so far */
    size_t count;
    struct ntk_chip_life *lives;
};

struct lives {
    const struct ntk_program *program;
    struct ntk_sorter edges[NTK_CHIP_SPACE_COUNT]; /* two edges for each value */
    size_t list_bytes;                             /* memory limit for each list of edges */
    struct heap heaps[NTK_CHIP_SPACE_COUNT];
};

/* ---- lives ---- */

static int add_edge(struct lives *lives, unsigned space, struct edge edge)
{
    struct edge *new = ntk_sorter_add(&lives->edges[space]);

    if (!new) {
        return lives->edges[space].failed;
    }
    *new = edge;
    return 0;
}

static double weight(const struct ntk_chip_life *life)
{
    return (double)(life->high - life->low) * (double)(life->until_ps - life->from_ps);
}

static void swap(struct ntk_chip_life *a, struct ntk_chip_life *b)
{
    struct ntk_chip_life kept = *a;

    *a = *b;
    *b = kept;
}

static void sink(struct heap *heap)
{
    for (size_t at = 0, next = 1; next < heap->count; next = 2 * at + 1) {
        struct ntk_chip_life *lives = heap->lives;
        next += next + 1 < heap->count && weight(&lives[next + 1]) < weight(&lives[next]);
        if (weight(&lives[at]) <= weight(&lives[next])) {
            return;
        }
        swap(&lives[at], &lives[next]);
        at = next;
    }
}

static void tell_life(struct heap *heap, const struct ntk_chip_life *life)
{
    struct ntk_chip_life *lives = heap->lives;

    heap->seen_count++;
    if (heap->count == NTK_CHIP_LIVES_MAX) {
        if (weight(life) > weight(&lives[0])) {
            lives[0] = *life;
            sink(heap);
        }
        return;
    }
    lives[heap->count++] = *life;
    for (size_t at = heap->count - 1; at > 0; at = (at - 1) / 2) {
        if (weight(&lives[(at - 1) / 2]) <= weight(&lives[at])) {
            return;
        }
        swap(&lives[(at - 1) / 2], &lives[at]);
    }
}

static int put_life(void *ctx, enum ntk_chip_space space, const struct ntk_chip_life *life,
                    uint32_t layer)
{
    struct lives *lives = ctx;
    int32_t bytes = (int32_t)(life->high - life->low);

    tell_life(&lives->heaps[space], life);
    int ret = add_edge(lives, space, (struct edge){ life->from_ps, bytes, layer });
    return ret ? ret : add_edge(lives, space, (struct edge){ life->until_ps, -bytes, layer });
}

/* Orders edges; at the same time, ends come before starts. */
NTK_ORDER(compare_edges, struct edge, NTK_UP(bytes));

static int lives_init(struct lives *lives)
{
    const struct ntk_trace *trace = lives->program->trace;
    int ret = 0;

    lives->list_bytes = ntk_trace_list_bytes_get(trace) / NTK_CHIP_SPACE_COUNT;
    for (unsigned s = 0; s < NTK_CHIP_SPACE_COUNT; s++) {
        ntk_sorter_init(&lives->edges[s], sizeof(struct edge), compare_edges, lives->list_bytes,
                        ntk_trace_folder_get(trace));
        lives->heaps[s].lives = calloc(NTK_CHIP_LIVES_MAX, sizeof *lives->heaps[s].lives);
        ret = lives->heaps[s].lives ? ret : -ENOMEM;
    }
    return ret;
}

static void lives_fini(struct lives *lives)
{
    for (unsigned s = 0; s < NTK_CHIP_SPACE_COUNT; s++) {
        ntk_sorter_fini(&lives->edges[s]);
        free(lives->heaps[s].lives);
    }
}

/* ---- the sum of all lives ---- */

NTK_ORDER(compare_parts, struct ntk_chip_memory_part, NTK_DOWN(peak_bytes) NTK_UP(layer));

/* Adds a constant number of bytes from one edge to the next. */
static void put_pieces(struct ntk_chip_memory_space *space, const struct ntk_chip_memory *memory,
                       uint64_t bytes, int64_t from_ps, int64_t until_ps)
{
    double piece_ps = (double)memory->total_ps / (double)memory->piece_count;

    until_ps = until_ps > memory->total_ps ? memory->total_ps : until_ps;
    if (until_ps <= from_ps || from_ps < 0) {
        return;
    }
    space->mean_bytes += (double)bytes * (double)(until_ps - from_ps) / (double)memory->total_ps;
    for (size_t p = (size_t)((double)from_ps / piece_ps);
         p < memory->piece_count && (double)p * piece_ps < (double)until_ps; p++) {
        space->pieces[p] = bytes > space->pieces[p] ? bytes : space->pieces[p];
    }
}

static int sum_up(struct lives *lives, const struct ntk_sorted *sorted,
                  const struct ntk_chip_memory *memory, struct ntk_chip_memory_space *space)
{
    const struct edge *edges = sorted->items;
    size_t layers = lives->program->layer_count;
    int64_t *now = calloc(layers + 1, sizeof *now);
    int64_t *peak = calloc(layers + 1, sizeof *peak);
    int64_t bytes = 0;

    space->pieces = calloc(memory->piece_count, sizeof *space->pieces);
    space->parts = calloc(layers + 1, sizeof *space->parts);
    if (!now || !peak || !space->pieces || !space->parts) {
        free(now);
        free(peak);
        return -ENOMEM;
    }
    for (size_t i = 0; i < sorted->count; i++) {
        const struct edge *edge = &edges[i];
        int64_t next_ps = i + 1 < sorted->count ? edge[1].time_ps : edge->time_ps;

        (void)ntk_trace_scan_step(sorted->is_mapped, edges, edge, edges + sorted->count);
        bytes += edge->bytes;
        now[edge->layer] += edge->bytes;
        if (next_ps == edge->time_ps) {
            continue; /* more changes at this time follow */
        }
        put_pieces(space, memory, (uint64_t)bytes, edge->time_ps, next_ps);
        if ((uint64_t)bytes > space->peak_bytes) {
            space->peak_bytes = (uint64_t)bytes;
            space->peak_ps = edge->time_ps;
            memcpy(peak, now, layers * sizeof *peak);
        }
    }
    for (size_t l = 0; l < layers; l++) {
        if (peak[l] > 0) {
            space->parts[space->part_count++] =
                (struct ntk_chip_memory_part){ (uint32_t)l, (uint64_t)peak[l] };
        }
    }
    qsort(space->parts, space->part_count, sizeof *space->parts, compare_parts);
    free(now);
    free(peak);
    return 0;
}

NTK_ORDER(compare_lives, struct ntk_chip_life, NTK_UP(from_ps) NTK_UP(low));

static void take_lives(struct heap *heap, struct ntk_chip_memory_space *space)
{
    qsort(heap->lives, heap->count, sizeof *heap->lives, compare_lives);
    space->value_count = heap->seen_count;
    space->life_count = heap->count;
    space->lives = heap->lives;
    heap->lives = NULL;
}

int ntk_analysis_chip_memory(const struct ntk_program *program, size_t piece_count,
                             struct ntk_chip_memory *out_memory)
{
    const struct ntk_trace *trace = program->trace;
    struct ntk_chip_memory memory = { .total_ps = trace->total_ps, .piece_count = piece_count };
    int ret = 0;

    if (!trace->has_total || trace->total_ps <= 0 || piece_count == 0) {
        return -ENODATA;
    }
    memory.spaces = calloc(trace->core_count * NTK_CHIP_SPACE_COUNT + 1, sizeof *memory.spaces);
    if (!memory.spaces) {
        return -ENOMEM;
    }
    for (size_t c = 0; c < trace->core_count && ret == 0; c++) {
        struct lives lives = { .program = program };

        ret = lives_init(&lives);
        ret = ret ? ret : ntk_analysis_chip_lives(program, c, put_life, &lives);
        for (unsigned s = 0; s < NTK_CHIP_SPACE_COUNT && ret == 0; s++) {
            struct ntk_chip_memory_space *space = &memory.spaces[memory.space_count];
            struct ntk_sorted sorted = { 0 };
            ret = ntk_sorter_finish(&lives.edges[s], lives.list_bytes, &sorted, NULL);
            if (ret < 0 || sorted.count == 0) {
                continue;
            }
            space->core = c;
            space->space = s;
            space->capacity_bytes = !trace->has_chip     ? 0
                                    : s == NTK_CHIP_SBUF ? trace->chip.sbuf_partition_bytes
                                                         : trace->chip.psum_partition_bytes;
            memory.space_count++;
            take_lives(&lives.heaps[s], space);
            ret = sum_up(&lives, &sorted, &memory, space);
            ntk_sorted_fini(&sorted, sizeof(struct edge));
        }
        lives_fini(&lives);
    }
    if (ret < 0) {
        ntk_chip_memory_fini(&memory);
        return ret;
    }
    *out_memory = memory;
    return 0;
}

void ntk_chip_memory_fini(struct ntk_chip_memory *memory)
{
    for (size_t s = 0; s < memory->space_count; s++) {
        free(memory->spaces[s].pieces);
        free(memory->spaces[s].parts);
        free(memory->spaces[s].lives);
    }
    free(memory->spaces);
    *memory = (struct ntk_chip_memory){ 0 };
}
