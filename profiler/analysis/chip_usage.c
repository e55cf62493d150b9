/* SPDX-License-Identifier: MIT */
/* chip_usage - keeps the end of use for each cell, and sorts starts and ends. */
#include "profiler/analysis/chip_usage.h"

#include <errno.h>
#include <stdlib.h>

#include "profiler/trace/sorter.h"
#include "shared/formats/neff/isa.h"

/* Parts of memory with a separate count: a partition, or PSUM (cells distinguish its banks). */
enum { PLANE_PSUM = NTK_CHIP_SAMPLES, PLANE_COUNT };
#define EDGES_OF_PSUM NTK_CHIP_SAMPLES /* number of the first bank's edges */
#define UNUSED INT64_MIN

struct edge {
    int64_t time_ps;
    int32_t bytes;  /* bytes added or removed at this time; 0 if a write starts */
    uint32_t place; /* partition, or EDGES_OF_PSUM + bank */
};
static_assert(sizeof(struct edge) == 16, "a sorter item has 16 or 32 bytes");

struct uses {
    const struct ntk_program *program;
    const struct ntk_trace_core *core;
    size_t core_index;
    unsigned spaces;
    bool is_uniform; /* every access covers all partitions, so the first represents them */
    struct ntk_chip_accesses accesses;
    int64_t *ends[PLANE_COUNT]; /* end of use per cell, or UNUSED */
    struct ntk_sorter edges;
    int failed;
};

static const struct ntk_chip_cells *cells_of(const struct uses *uses, unsigned plane)
{
    return &uses->accesses.cells[plane == PLANE_PSUM ? NTK_CHIP_PSUM : NTK_CHIP_SBUF];
}

static int prepare(struct uses *uses)
{
    uses->is_uniform = true;
    ntk_vec_each(const struct ntk_chip_access, access, &uses->accesses.list) {
        if (access->space == NTK_CHIP_SBUF && access->samples != NTK_CHIP_SAMPLES_ALL) {
            uses->is_uniform = false;
        }
    }
    for (unsigned p = 0; p < PLANE_COUNT; p++) {
        const struct ntk_chip_cells *cells = cells_of(uses, p);
        uses->ends[p] = calloc(cells->count + 1, sizeof *uses->ends[p]);
        if (!uses->ends[p]) {
            return -ENOMEM;
        }
        for (size_t c = 0; c < cells->count; c++) {
            uses->ends[p][c] = UNUSED;
        }
    }
    return 0;
}

/* ---- uses ---- */

static void add_edge(struct uses *uses, int64_t time_ps, int64_t bytes, uint32_t place)
{
    struct edge *edge = ntk_sorter_add(&uses->edges);

    if (edge) {
        *edge = (struct edge){ time_ps, (int32_t)bytes, place };
    } else {
        uses->failed = uses->edges.failed;
    }
}

static uint32_t place_of(const struct uses *uses, unsigned plane, size_t cell)
{
    return plane == PLANE_PSUM
               ? EDGES_OF_PSUM + cells_of(uses, plane)->lows[cell] / NTK_ISA_PSUM_BANK_BYTES
               : plane;
}

/* Ends uses of these cells that end before from_ps, and starts a use in all cells without one;
 * returns true if any started. If from_ps is INT64_MAX, ends all and starts none. Neighbours that
 * behave alike are one edge. */
static bool renew(struct uses *uses, unsigned plane, struct ntk_chip_span span, int64_t from_ps)
{
    const struct ntk_chip_cells *cells = cells_of(uses, plane);
    int64_t *ends = uses->ends[plane];
    bool begins = false;

    for (size_t c = span.first; c < span.end;) {
        uint32_t place = place_of(uses, plane, c);
        size_t next = c + 1;
        while (next < span.end && ends[next] == ends[c] && place_of(uses, plane, next) == place) {
            next++;
        }
        int64_t bytes = (int64_t)cells->lows[next] - cells->lows[c];
        if (ends[c] == UNUSED || ends[c] < from_ps) {
            if (ends[c] != UNUSED) {
                add_edge(uses, ends[c], -bytes, place);
            }
            if (from_ps != INT64_MAX) {
                add_edge(uses, from_ps, bytes, place);
                begins = true;
            }
            for (size_t each = c; each < next; each++) {
                ends[each] = UNUSED;
            }
        }
        c = next;
    }
    return begins;
}

/* Extends the current use to a time. */
static void extend(struct uses *uses, unsigned plane, struct ntk_chip_span span, int64_t end_ps)
{
    int64_t *ends = uses->ends[plane];

    for (size_t c = span.first; c < span.end; c++) {
        if (ends[c] != UNUSED && ends[c] < end_ps) {
            ends[c] = end_ps;
        }
    }
}

static void apply(struct uses *uses, size_t index, const struct ntk_trace_instruction *instruction)
{
    const struct ntk_chip_access *access = ntk_vec_at(&uses->accesses.list, index);
    struct ntk_chip_span span = uses->accesses.spans[index];
    bool is_psum = access->space == NTK_CHIP_PSUM;
    unsigned first = is_psum ? PLANE_PSUM : 0;
    unsigned end = is_psum ? PLANE_COUNT : uses->is_uniform ? 1 : NTK_CHIP_SAMPLES;

    bool has_edge = !access->is_write;

    if (!(uses->spaces >> access->space & 1) || !(access->views & NTK_CHIP_AS_REPORTED)) {
        return;
    }
    for (unsigned p = first; p < end; p++) {
        int64_t *ends = uses->ends[p];
        if (!is_psum && !(access->samples >> p & 1)) {
            continue;
        }
        if (access->is_read) {
            extend(uses, p, span, instruction->end_ps);
        }
        if (access->is_write) {
            has_edge = renew(uses, p, span, instruction->start_ps) || has_edge;
            for (size_t c = span.first; c < span.end; c++) {
                ends[c] = ends[c] < instruction->end_ps ? instruction->end_ps : ends[c];
            }
        }
    }
    if (!has_edge) {
        add_edge(uses, instruction->start_ps, 0, is_psum ? EDGES_OF_PSUM : 0);
    }
}

static void follow(struct uses *uses)
{
    ntk_trace_each_instruction(uses->core, instruction) {
        const struct ntk_chip_slot *slot = ntk_chip_slot_of(&uses->accesses, instruction);
        const struct ntk_slot_fact *fact =
            ntk_program_fact(uses->program, uses->core_index, instruction);

        if (fact->code->is_transfer && !fact->code->is_open) {
            continue;
        }
        for (uint32_t a = slot->first; a < slot->first + slot->count; a++) {
            apply(uses, a, instruction);
        }
        if (uses->failed) {
            return;
        }
    }
    for (unsigned p = 0; p < PLANE_COUNT; p++) {
        struct ntk_chip_span all = { 0, (uint32_t)cells_of(uses, p)->count };
        (void)renew(uses, p, all, INT64_MAX);
    }
}

/* ---- rows ---- */

static int put_row(const struct uses *uses, const int64_t *bytes, unsigned space, int64_t time_ps,
                   ntk_chip_usage_put *put, void *ctx)
{
    struct ntk_chip_usage usage = { .space = space, .time_ps = time_ps };
    float of_one = 1.0F / (float)uses->program->trace->chip.sbuf_partition_bytes;
    float sum = 0;

    usage.place_count = space == NTK_CHIP_PSUM ? NTK_CHIP_BANKS : NTK_CHIP_SAMPLES;
    for (unsigned p = 0; p < usage.place_count; p++) {
        if (space == NTK_CHIP_PSUM) {
            usage.places[p] = bytes[EDGES_OF_PSUM + p] > 0;
        } else {
            usage.places[p] = (float)bytes[uses->is_uniform ? 0 : p] * of_one;
        }
        sum += usage.places[p];
    }
    usage.mean = sum / (float)usage.place_count;
    return put(ctx, &usage);
}

static int put_rows(const struct uses *uses, const struct ntk_sorted *sorted,
                    ntk_chip_usage_put *put, void *ctx)
{
    const struct edge *edges = sorted->items;
    const struct edge *end = edges ? edges + sorted->count : NULL;
    int64_t bytes[NTK_CHIP_SAMPLES + NTK_CHIP_BANKS] = { 0 };
    bool has_row[NTK_CHIP_SPACE_COUNT] = { false };
    int ret = 0;

    for (const struct edge *edge = edges;
         sorted->count && ntk_trace_scan_step(sorted->is_mapped, edges, edge, end) && ret == 0;
         edge++) {
        bytes[edge->place] += edge->bytes;
        has_row[edge->place < EDGES_OF_PSUM ? NTK_CHIP_SBUF : NTK_CHIP_PSUM] = true;
        if (edge + 1 < end && edge[1].time_ps == edge->time_ps) {
            continue; /* more changes at this time follow */
        }
        for (unsigned s = 0; s < NTK_CHIP_SPACE_COUNT && ret == 0; s++) {
            if (has_row[s]) {
                ret = put_row(uses, bytes, s, edge->time_ps, put, ctx);
            }
            has_row[s] = false;
        }
    }
    return ret;
}

static int compare_edges(const void *a, const void *b)
{
    (void)a;
    (void)b;
    return 0; /* all changes at one time are one row */
}

static void uses_fini(struct uses *uses)
{
    ntk_sorter_fini(&uses->edges);
    ntk_chip_accesses_fini(&uses->accesses);
    for (unsigned p = 0; p < PLANE_COUNT; p++) {
        free(uses->ends[p]);
    }
}

int ntk_analysis_chip_usage(const struct ntk_program *program, size_t core_index, unsigned spaces,
                            ntk_chip_usage_put *put, void *ctx)
{
    const struct ntk_trace *trace = program->trace;
    size_t list_bytes = ntk_trace_list_bytes_get(trace);
    struct ntk_sorted sorted = { 0 };
    struct uses uses = {
        .program = program,
        .core = &trace->cores[core_index],
        .core_index = core_index,
        .spaces = spaces,
    };

    if (!trace->has_chip) {
        return 0;
    }
    int ret = ntk_chip_accesses_init(&uses.accesses, program, core_index);
    ntk_sorter_init(&uses.edges, sizeof(struct edge), compare_edges, list_bytes,
                    ntk_trace_folder_get(trace));
    if (ret == 0 && (uses.accesses.known_views & NTK_CHIP_AS_REPORTED)) {
        ret = prepare(&uses);
        if (ret == 0) {
            follow(&uses);
            ret = uses.failed;
        }
        if (ret == 0) {
            ret = ntk_sorter_finish(&uses.edges, list_bytes, &sorted, NULL);
        }
        if (ret == 0) {
            ret = put_rows(&uses, &sorted, put, ctx);
            ntk_sorted_fini(&sorted, sizeof(struct edge));
        }
    }
    uses_fini(&uses);
    return ret;
}
