/* SPDX-License-Identifier: MIT */
/* chip_memory - lives of values by block, then one sweep over their begins and ends. */
#include "profiler/analysis/chip_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/dma_group.h"
#include "profiler/analysis/open_slot.h"
#include "profiler/trace/sorter.h"
#include "shared/base/vec.h"
#include "shared/formats/neff/neff.h"

#define BLOCKS_MAX (NTK_ISA_SBUF_PARTITION_BYTES_MAX / NTK_CHIP_MEMORY_BLOCK)

/* What an instruction does to a range of blocks. */
struct access {
    uint16_t first, count;
    uint8_t space;
    bool is_write, is_read; /* both: it adds to what is there */
};

struct slot {
    bool is_known, has_run;
    uint32_t first, count; /* in accesses */
};

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
    struct slot *slots[NTK_NTFF_ENGINE_COUNT];
    struct ntk_vec accesses; /* struct access */
    struct ntk_sorter
        edges[NTK_CHIP_SPACE_COUNT];            /* struct edge: two for each value there ever was */
    size_t list_bytes;                          /* of each of edges outside of a file */
    struct value *values[NTK_CHIP_SPACE_COUNT]; /* by block */
    int failed;
};

const char *ntk_chip_space_name(enum ntk_chip_space space)
{
    return space == NTK_CHIP_SBUF ? "sbuf" : "psum";
}

/* ---- what instructions touch ---- */

static void add_access(struct lives *lives, unsigned space, uint64_t low, uint64_t high,
                       bool is_write, bool is_read)
{
    uint64_t first = low / NTK_CHIP_MEMORY_BLOCK;
    uint64_t end = (high + NTK_CHIP_MEMORY_BLOCK - 1) / NTK_CHIP_MEMORY_BLOCK;

    end = end > BLOCKS_MAX ? BLOCKS_MAX : end;
    if (first >= end) {
        return;
    }
    struct access access = { (uint16_t)first, (uint16_t)(end - first), (uint8_t)space, is_write,
                             is_read };
    if (ntk_vec_push(&lives->accesses, &access) < 0) {
        lives->failed = -ENOMEM;
    }
}

static void add_operand(struct lives *lives, const struct ntk_isa_operand *operand, bool is_write,
                        bool is_read)
{
    int64_t low;
    int64_t high;

    if (operand->space != NTK_ISA_SPACE_SBUF && operand->space != NTK_ISA_SPACE_PSUM) {
        return;
    }
    ntk_isa_operand_extent(operand, &low, &high);
    add_access(lives, operand->space == NTK_ISA_SPACE_SBUF ? NTK_CHIP_SBUF : NTK_CHIP_PSUM,
               low < 0 ? 0 : (uint64_t)low, high < 0 ? 0 : (uint64_t)high, is_write, is_read);
}

/* A side of a prepared transfer: steps of whole partitions do not lengthen what is touched in
 * each. */
static void add_pattern(struct lives *lives, const struct ntk_neff_subgraph *neff,
                        const struct ntk_neff_pattern *pattern, bool is_write)
{
    const uint64_t most = NTK_NEFF_SBUF_PARTITION_STEP;
    uint64_t low = pattern->offset % most;
    uint64_t length = pattern->dim_count ? pattern->sizes[0] : 0;

    if (pattern->var >= neff->var_count ||
        neff->vars[pattern->var].type != NTK_NEFF_VAR_STATE_BUFFER) {
        return;
    }
    length = length > most ? most : length;
    for (uint32_t d = 1; d < pattern->dim_count; d++) {
        /* A dimension of one element may have any step, also the one whose opposite no int64_t
         * holds. */
        uint64_t step =
            pattern->steps[d] < 0 ? -(uint64_t)pattern->steps[d] : (uint64_t)pattern->steps[d];
        if (step < most && pattern->sizes[d] > 1 && pattern->sizes[d] < most) {
            length += (pattern->sizes[d] - 1) * step;
            length = length > most ? most : length;
        }
    }
    add_access(lives, NTK_CHIP_SBUF, low, low + length, is_write, !is_write);
}

static bool add_group(struct lives *lives, unsigned engine, const struct ntk_isa_instr *instr)
{
    const struct ntk_neff_subgraph *neff = lives->core->neff;
    const struct ntk_neff_dma_group *group;
    uint32_t index = 0;
    bool is_found = false;

    while ((group = ntk_dma_group_next(lives->core, engine, instr, &index)) != NULL) {
        is_found = true;
        for (uint32_t t = 0; t < group->transfer_count; t++) {
            for (uint32_t s = 0; s < group->transfers[t].source_count; s++) {
                add_pattern(lives, neff, &group->transfers[t].from[s], false);
            }
            add_pattern(lives, neff, &group->transfers[t].to, true);
        }
    }
    return is_found;
}

/* Sources before destinations: an instruction reads what was there before it. */
static void learn(struct lives *lives, const struct ntk_trace_instruction *instruction,
                  struct slot *slot)
{
    struct ntk_isa_instr open;

    slot->has_run = true;
    slot->first = (uint32_t)lives->accesses.count;
    if (ntk_program_fact(lives->program, lives->core_index, instruction)->is_runtime) {
        slot->is_known = true;
    } else if (ntk_open_slot_decode(lives->core, instruction, &open)) {
        bool adds = (open.op_flags & NTK_ISA_OPF_ACCUMULATE) != 0;
        slot->is_known =
            open.op != NTK_ISA_OP_DMA_TRIGGER || add_group(lives, instruction->engine, &open);
        for (int o = 0; o < NTK_ISA_OPERAND_COUNT; o++) {
            if (o != NTK_ISA_DST && o != NTK_ISA_DST2) {
                add_operand(lives, &open.operand[o], false, true);
            }
        }
        add_operand(lives, &open.operand[NTK_ISA_DST], true, adds);
        add_operand(lives, &open.operand[NTK_ISA_DST2], true, adds);
    }
    slot->count = (uint32_t)lives->accesses.count - slot->first;
}

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

static void apply(struct lives *lives, const struct access *access, uint32_t layer, int64_t end_ps)
{
    struct value *values = lives->values[access->space] + access->first;

    if (access->is_write && !access->is_read) {
        end_values(lives, access->space, access->first, (size_t)access->first + access->count);
    }
    for (size_t b = 0; b < access->count; b++) {
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
    ntk_vec_init(&lives->accesses, sizeof(struct access));
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        const struct ntk_ntff_buffer *buffer = lives->core->ntff->engine_buffers[e];
        size_t slots = buffer ? buffer->code_bytes / NTK_NTFF_SLOT_BYTES : 0;
        lives->slots[e] = calloc(slots + 1, sizeof *lives->slots[e]);
        lives->failed = lives->slots[e] ? lives->failed : -ENOMEM;
    }
    return lives->failed;
}

static void lives_fini(struct lives *lives)
{
    for (unsigned s = 0; s < NTK_CHIP_SPACE_COUNT; s++) {
        ntk_sorter_fini(&lives->edges[s]);
        free(lives->values[s]);
    }
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        free(lives->slots[e]);
    }
    ntk_vec_fini(&lives->accesses);
}

static int follow(struct lives *lives)
{
    ntk_trace_each_instruction(lives->core, instruction) {
        struct slot *slot = &lives->slots[instruction->engine][instruction->slot];
        uint32_t layer = ntk_program_fact(lives->program, lives->core_index, instruction)->layer;

        if (!slot->has_run) {
            learn(lives, instruction, slot);
        }
        if (!slot->is_known || lives->failed) {
            return lives->failed ? lives->failed : -ENODATA;
        }
        for (uint32_t a = 0; a < slot->count; a++) {
            apply(lives, ntk_vec_at(&lives->accesses, slot->first + a), layer, instruction->end_ps);
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
    int ret = 0;

    if (!trace->has_total || trace->total_ps <= 0 || piece_count == 0) {
        return -ENODATA;
    }
    memory.spaces = calloc(trace->core_count * NTK_CHIP_SPACE_COUNT + 1, sizeof *memory.spaces);
    if (!memory.spaces) {
        return -ENOMEM;
    }
    for (size_t c = 0; c < trace->core_count && ret == 0; c++) {
        struct lives lives = { .program = program, .core = &trace->cores[c], .core_index = c };

        ret = lives_init(&lives);
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
