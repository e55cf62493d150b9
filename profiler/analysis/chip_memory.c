/* SPDX-License-Identifier: MIT */
/* chip_memory - lives of values by block, then one sweep over their begins and ends. */
#include "profiler/analysis/chip_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/dma_traffic.h"
#include "profiler/trace/sorter.h"
#include "shared/formats/neff/isa.h"

#define BLOCKS_MAX (NTK_ISA_SBUF_PARTITION_BYTES_MAX / NTK_CHIP_MEMORY_BLOCK)

struct value { /* in a block */
    bool is_there;
    uint32_t layer;
    int64_t from_ps, until_ps;
};

struct edge {
    int64_t time_ps;
    int32_t bytes; /* more or less from then on */
    uint32_t layer;
};
static_assert(sizeof(struct edge) == 16 && BLOCKS_MAX * NTK_CHIP_MEMORY_BLOCK <= INT32_MAX,
              "a sorter takes items of 16 bytes");

struct lives {
    const struct ntk_program *program;
    const struct ntk_trace_core *core;
    size_t core_index;
    struct ntk_chip_accesses accesses;
    struct ntk_sorter
        edges[NTK_CHIP_SPACE_COUNT];            /* struct edge: two for each value there ever was */
    size_t list_bytes;                          /* of each of edges outside of a file */
    struct value *values[NTK_CHIP_SPACE_COUNT]; /* by block */
    int failed;
};

/* ---- lives ---- */

static void add_edge(struct lives *lives, unsigned space, struct edge edge)
{
    struct edge *new = ntk_sorter_add(&lives->edges[space]);

    if (new) {
        *new = edge;
    } else {
        lives->failed = lives->edges[space].failed;
    }
}

/* The values of blocks first to end are over; neighbours with one life are one pair of edges. */
static void end_values(struct lives *lives, unsigned space, size_t first, size_t end)
{
    struct value *values = lives->values[space];

    for (size_t b = first; b < end;) {
        size_t next = b + 1;
        const struct value *value = &values[b];
        while (next < end && values[next].is_there == value->is_there &&
               values[next].layer == value->layer && values[next].from_ps == value->from_ps &&
               values[next].until_ps == value->until_ps) {
            next++;
        }
        if (value->is_there && value->until_ps > value->from_ps) {
            int32_t bytes = (int32_t)(next - b) * NTK_CHIP_MEMORY_BLOCK;
            add_edge(lives, space, (struct edge){ value->from_ps, bytes, value->layer });
            add_edge(lives, space, (struct edge){ value->until_ps, -bytes, value->layer });
        }
        b = next;
    }
}

static void apply(struct lives *lives, const struct ntk_chip_access *access, uint32_t layer,
                  int64_t end_ps)
{
    size_t first = access->low / NTK_CHIP_MEMORY_BLOCK;
    size_t end = (access->high + NTK_CHIP_MEMORY_BLOCK - 1) / NTK_CHIP_MEMORY_BLOCK;
    struct value *values = lives->values[access->space] + first;

    if (access->is_write && !access->is_read) {
        end_values(lives, access->space, first, end);
    }
    for (size_t b = 0; b < end - first; b++) {
        if (access->is_write && (!access->is_read || !values[b].is_there)) {
            values[b] = (struct value){ true, layer, end_ps, end_ps };
        } else if (values[b].is_there && end_ps > values[b].until_ps) {
            values[b].until_ps = end_ps;
        }
    }
}

/* Of one moment: ends before begins. */
static int compare_edges(const void *a, const void *b)
{
    const struct edge *x = a;
    const struct edge *y = b;

    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static int lives_init(struct lives *lives)
{
    const struct ntk_trace *trace = lives->program->trace;

    lives->list_bytes = ntk_trace_list_bytes_get(trace) / NTK_CHIP_SPACE_COUNT;
    for (unsigned s = 0; s < NTK_CHIP_SPACE_COUNT; s++) {
        ntk_sorter_init(&lives->edges[s], sizeof(struct edge), compare_edges, lives->list_bytes,
                        ntk_trace_folder_get(trace));
        lives->values[s] = calloc(BLOCKS_MAX, sizeof *lives->values[s]);
        lives->failed = lives->values[s] ? lives->failed : -ENOMEM;
    }
    if (lives->failed == 0) {
        lives->failed = ntk_chip_accesses_init(&lives->accesses, lives->program, lives->core_index);
    }
    return lives->failed;
}

static void lives_fini(struct lives *lives)
{
    for (unsigned s = 0; s < NTK_CHIP_SPACE_COUNT; s++) {
        ntk_sorter_fini(&lives->edges[s]);
        free(lives->values[s]);
    }
    ntk_chip_accesses_fini(&lives->accesses);
}

static int follow(struct lives *lives)
{
    if (!lives->accesses.is_known) {
        return -ENODATA;
    }
    ntk_trace_each_instruction(lives->core, instruction) {
        const struct ntk_chip_slot *slot = ntk_chip_slot_of(&lives->accesses, instruction);
        uint32_t layer = ntk_program_fact(lives->program, lives->core_index, instruction)->layer;

        for (uint32_t a = 0; a < slot->count; a++) {
            apply(lives, ntk_vec_at(&lives->accesses.list, slot->first + a), layer,
                  instruction->end_ps);
        }
        if (lives->failed) {
            return lives->failed;
        }
    }
    for (unsigned s = 0; s < NTK_CHIP_SPACE_COUNT; s++) {
        end_values(lives, s, 0, BLOCKS_MAX);
    }
    return lives->failed;
}

/* ---- the sum of all lives ---- */

static int compare_parts(const void *a, const void *b)
{
    const struct ntk_chip_memory_part *x = a;
    const struct ntk_chip_memory_part *y = b;

    if (x->peak_bytes != y->peak_bytes) {
        return x->peak_bytes > y->peak_bytes ? -1 : 1;
    }
    return x->layer < y->layer ? -1 : x->layer > y->layer;
}

/* So many bytes from one edge to the next. */
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
            continue; /* more happens at this moment */
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

int ntk_analysis_chip_memory(const struct ntk_program *program, size_t piece_count,
                             struct ntk_chip_memory *out_memory)
{
    const struct ntk_trace *trace = program->trace;
    struct ntk_chip_memory memory = { .total_ps = trace->total_ps, .piece_count = piece_count };
    struct ntk_dma_traffic dma;
    int ret = 0;

    if (!trace->has_total || trace->total_ps <= 0 || piece_count == 0) {
        return -ENODATA;
    }
    ntk_analysis_dma_traffic(trace, &dma);
    memory.spaces = calloc(trace->core_count * NTK_CHIP_SPACE_COUNT + 1, sizeof *memory.spaces);
    if (!memory.spaces) {
        return -ENOMEM;
    }
    for (size_t c = 0; c < trace->core_count && ret == 0; c++) {
        struct lives lives = { .program = program, .core = &trace->cores[c], .core_index = c };

        ret = lives_init(&lives);
        /* Nobody says where a vendor's prepared queues put what they load. */
        if (ret == 0 && lives.accesses.has_vendor && ntk_dma_prepared_packets(&dma)) {
            ret = -ENODATA;
        }
        ret = ret ? ret : follow(&lives);
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
    }
    free(memory->spaces);
    *memory = (struct ntk_chip_memory){ 0 };
}
