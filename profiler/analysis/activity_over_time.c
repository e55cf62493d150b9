/* SPDX-License-Identifier: MIT */
/* activity_over_time - takes spans in order of time and adds the uncovered part of each to the
 * pieces that it crosses. */
#include "profiler/analysis/activity_over_time.h"

#include <errno.h>
#include <stdlib.h>

#include "profiler/analysis/queue_names.h"
#include "profiler/trace/walk.h"
#include "shared/base/order.h"

struct row {
    struct ntk_activity_row result;
    int64_t until_ps; /* end of the counted time */
    int64_t busy_ps;
};

/* Adds the part of the span that is not covered by earlier spans of the row. */
static void add(struct row *row, int64_t total_ps, size_t piece_count, int64_t start_ps,
                int64_t end_ps)
{
    double piece_ps = (double)total_ps / (double)piece_count;

    start_ps = start_ps < row->until_ps ? row->until_ps : start_ps;
    end_ps = end_ps > total_ps ? total_ps : end_ps;
    if (start_ps < 0 || end_ps <= start_ps) {
        return;
    }
    row->until_ps = end_ps;
    row->busy_ps += end_ps - start_ps;
    for (size_t p = (size_t)((double)start_ps / piece_ps); p < piece_count; p++) {
        double from =
            piece_ps * (double)p > (double)start_ps ? piece_ps * (double)p : (double)start_ps;
        double to = piece_ps * (double)(p + 1) < (double)end_ps ? piece_ps * (double)(p + 1)
                                                                : (double)end_ps;
        if (from >= (double)end_ps) {
            break;
        }
        /* Rounding may move a start at an edge to the previous piece. */
        row->result.pieces[p] += to > from ? (float)((to - from) / piece_ps) : 0;
    }
}

/* Names the rows: engines of all cores, then queues. */
static void name_rows(struct row *rows, size_t row_count, const struct ntk_trace *trace,
                      const struct ntk_queue_names *names, float *storage, size_t piece_count)
{
    size_t engines = trace->core_count * NTK_NTFF_ENGINE_COUNT;

    for (size_t r = 0; r < row_count; r++) {
        struct ntk_activity_row *row = &rows[r].result;

        row->pieces = storage + r * piece_count;
        if (r < engines) {
            row->core = r / NTK_NTFF_ENGINE_COUNT;
            row->engine = (uint8_t)(r % NTK_NTFF_ENGINE_COUNT);
        } else {
            row->core = names->items[r - engines].core;
            row->engine = NTK_NTFF_ENGINE_AXI;
            row->name = names->items[r - engines].name;
            row->dma_class = names->items[r - engines].dma_class;
        }
    }
}

/* Orders rows as in the file. */
NTK_ORDER(compare, struct ntk_activity_row, NTK_UP(core) NTK_UP(engine) NTK_UP(pieces));

static void walk_spans(const struct ntk_trace *trace, const struct ntk_queue_names *names,
                       struct row *rows, size_t piece_count)
{
    size_t engines = trace->core_count * NTK_NTFF_ENGINE_COUNT;
    struct ntk_walk walk;
    struct ntk_walk_span span;

    ntk_walk_init(&walk, trace, NTK_WALK_INSTRUCTIONS | NTK_WALK_PACKETS);
    while (ntk_walk_next(&walk, &span)) {
        size_t core = (size_t)(span.core - trace->cores);
        size_t row = span.packet ? engines + ntk_queue_names_find(names, core, span.packet)
                                 : core * NTK_NTFF_ENGINE_COUNT + span.instruction->engine;
        if (span.packet || span.instruction->opcode != NTK_NTFF_OPCODE_EVENT_SEMAPHORE) {
            add(&rows[row], trace->total_ps, piece_count, span.start_ps, span.end_ps);
        }
    }
}

int ntk_analysis_activity_over_time(const struct ntk_trace *trace, size_t piece_count,
                                    struct ntk_activity_over_time *out_activity)
{
    struct ntk_activity_over_time result = { .total_ps = trace->total_ps,
                                             .piece_count = piece_count };
    struct ntk_queue_names names;
    struct row *rows = NULL;
    int ret;

    if (!trace->has_total || trace->total_ps <= 0 || piece_count == 0) {
        return -ENODATA;
    }
    ret = ntk_queue_names_init(&names, trace);
    if (ret < 0) {
        return ret;
    }
    size_t row_count = trace->core_count * NTK_NTFF_ENGINE_COUNT + names.count;
    rows = calloc(row_count + 1, sizeof *rows);
    result.rows = calloc(row_count + 1, sizeof *result.rows);
    result.storage = calloc(row_count * piece_count + 1, sizeof *result.storage);
    if (rows && result.rows && result.storage) {
        name_rows(rows, row_count, trace, &names, result.storage, piece_count);
        walk_spans(trace, &names, rows, piece_count);
        for (size_t r = 0; r < row_count; r++) {
            rows[r].result.busy_ratio = (double)rows[r].busy_ps / (double)trace->total_ps;
            if (rows[r].busy_ps) {
                result.rows[result.row_count++] = rows[r].result;
            }
        }
        qsort(result.rows, result.row_count, sizeof *result.rows, compare);
        *out_activity = result;
    } else {
        ntk_activity_over_time_fini(&result);
        ret = -ENOMEM;
    }
    free(rows);
    ntk_queue_names_fini(&names);
    return ret;
}

void ntk_activity_over_time_fini(struct ntk_activity_over_time *activity)
{
    free(activity->rows);
    free(activity->storage);
    *activity = (struct ntk_activity_over_time){ 0 };
}
