/* SPDX-License-Identifier: MIT */
/* dma_efficiency - adds up sizes and times of packets by queue. */
#include "profiler/analysis/dma_efficiency.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/interval.h"
#include "profiler/analysis/queue_names.h"
#include "profiler/trace/walk.h"

const char *ntk_dma_size_name(enum ntk_dma_size size)
{
    static const char *const names[NTK_DMA_SIZE_COUNT] = { "semaphore", "below_256", "below_2048",
                                                           "below_4096", "from_4096" };

    return names[size];
}

static enum ntk_dma_size size_of(uint32_t bytes_count)
{
    return bytes_count <= NTK_DMA_SEMAPHORE_BYTES ? NTK_DMA_SIZE_SEMAPHORE
           : bytes_count < NTK_DMA_POOR_BYTES     ? NTK_DMA_SIZE_POOR
           : bytes_count < NTK_DMA_SMALL_BYTES    ? NTK_DMA_SIZE_SMALL
           : bytes_count < NTK_DMA_FULL_BYTES     ? NTK_DMA_SIZE_MEDIUM
                                                  : NTK_DMA_SIZE_FULL;
}

static void add(struct ntk_dma_queue_row *row, struct ntk_cover *cover,
                const struct ntk_trace_packet *packet)
{
    enum ntk_dma_size size = size_of(packet->bytes_count);

    row->dma_class = packet->dma_class;
    row->packet_count++;
    row->bytes_count += packet->bytes_count;
    row->size_counts[size]++;
    row->size_bytes[size] += packet->bytes_count;
    if (size == NTK_DMA_SIZE_POOR || size == NTK_DMA_SIZE_SMALL) {
        row->small_ps = ntk_ps_sum(row->small_ps, packet->end_ps - packet->start_ps);
    }
    ntk_cover_add(cover, packet->start_ps, packet->end_ps);
}

static void finish(struct ntk_dma_queue_row *row, const struct ntk_cover *cover)
{
    row->active_ps = cover->covered_ps;
    row->busy_ps = cover->sum_ps;
}

static void rate(struct ntk_dma_queue_row *row, double bytes_per_second)
{
    double most_bytes = (double)row->busy_ps / 1e12 * bytes_per_second;

    row->has_rate = most_bytes > 0;
    if (row->has_rate) {
        row->wasted_bytes = most_bytes - (double)row->bytes_count;
        /* Packets of devices may exceed the rate, because without the NEFF the published rate is
         * used. */
        row->wasted_bytes = row->wasted_bytes < 0 ? 0 : row->wasted_bytes;
        row->efficiency = (double)row->bytes_count / ((double)row->bytes_count + row->wasted_bytes);
    }
}

static int compare(const void *a, const void *b)
{
    const struct ntk_dma_queue_row *x = a;
    const struct ntk_dma_queue_row *y = b;

    if (x->active_ps != y->active_ps) {
        return x->active_ps > y->active_ps ? -1 : 1;
    }
    if (x->core != y->core) {
        return x->core < y->core ? -1 : 1;
    }
    if (x->name && y->name) {
        return strcmp(x->name, y->name);
    }
    return x->name ? -1 : y->name ? 1 : (int)x->dma_class - (int)y->dma_class;
}

struct sums {
    struct ntk_queue_names names;
    struct ntk_dma_queue_row *rows; /* by index of the name */
    struct ntk_cover *covers;
    struct ntk_cover spill;
    uint32_t *engines;
    bool *are_spills;
};

static int sums_init(struct sums *sums, const struct ntk_trace *trace)
{
    int ret = ntk_queue_names_init(&sums->names, trace);

    if (ret < 0) {
        return ret;
    }
    sums->rows = calloc(sums->names.count + 1, sizeof *sums->rows);
    sums->covers = calloc(sums->names.count + 1, sizeof *sums->covers);
    sums->engines = calloc(sums->names.count + 1, sizeof *sums->engines);
    sums->are_spills = calloc(sums->names.count + 1, sizeof *sums->are_spills);
    if (!sums->rows || !sums->covers || !sums->engines || !sums->are_spills) {
        return -ENOMEM;
    }
    for (size_t r = 0; r < sums->names.count; r++) {
        const char *name = sums->names.items[r].name;
        sums->rows[r].core = sums->names.items[r].core;
        sums->rows[r].name = name;
        sums->are_spills[r] = name && strstr(name, "SpillReload");
    }
    return 0;
}

int ntk_analysis_dma_efficiency(const struct ntk_trace *trace,
                                struct ntk_dma_efficiency *out_efficiency)
{
    struct ntk_dma_efficiency result = {
        .engine_bytes_per_second = trace->has_chip ? trace->chip.dma_bytes_per_second : 0
    };
    struct sums sums = { 0 };
    struct ntk_cover all = { 0 };
    struct ntk_walk walk;
    struct ntk_walk_span span;
    uint32_t all_engines = 0;
    int ret = sums_init(&sums, trace);

    if (ret == 0) {
        ntk_walk_init(&walk, trace, NTK_WALK_PACKETS);
    }
    while (ret == 0 && ntk_walk_next(&walk, &span)) {
        size_t row =
            ntk_queue_names_find(&sums.names, (size_t)(span.core - trace->cores), span.packet);

        add(&sums.rows[row], &sums.covers[row], span.packet);
        add(&result.total, &all, span.packet);
        if (sums.are_spills[row]) {
            ntk_cover_add(&sums.spill, span.packet->start_ps, span.packet->end_ps);
        }
        sums.engines[row] |= 1u << span.packet->engine % NTK_NTFF_DMA_ENGINES;
        all_engines |= 1u << span.packet->engine % NTK_NTFF_DMA_ENGINES;
    }
    for (size_t r = 0; ret == 0 && r < sums.names.count; r++) {
        struct ntk_dma_queue_row *row = &sums.rows[r];

        if (sums.are_spills[r]) {
            result.has_spill = true;
            result.spill_bytes += row->bytes_count - row->size_bytes[NTK_DMA_SIZE_SEMAPHORE];
        }
        if (row->packet_count) {
            finish(row, &sums.covers[r]);
            rate(row, result.engine_bytes_per_second);
            result.total.has_rate = result.total.has_rate || row->has_rate;
            result.total.wasted_bytes += row->wasted_bytes;
            row->engine_count = (unsigned)__builtin_popcount(sums.engines[r]);
            sums.rows[result.row_count++] = *row;
        }
    }
    ntk_queue_names_fini(&sums.names);
    free(sums.covers);
    free(sums.engines);
    free(sums.are_spills);
    if (ret < 0) {
        free(sums.rows);
        return ret;
    }
    result.spill_active_ps = sums.spill.covered_ps;
    finish(&result.total, &all);
    if (result.total.has_rate) {
        result.total.efficiency = (double)result.total.bytes_count /
                                  ((double)result.total.bytes_count + result.total.wasted_bytes);
    }
    result.total.engine_count = (unsigned)__builtin_popcount(all_engines);
    result.rows = sums.rows;
    qsort(result.rows, result.row_count, sizeof *result.rows, compare);
    *out_efficiency = result;
    return 0;
}

void ntk_dma_efficiency_fini(struct ntk_dma_efficiency *efficiency)
{
    free(efficiency->rows);
    *efficiency = (struct ntk_dma_efficiency){ 0 };
}
