/* SPDX-License-Identifier: MIT */
/* advice_dma - gives advice about the use of engines by queues, spills, and repeated reads. */
#include "profiler/analysis/advice_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/queue_names.h"
#include "shared/base/bisect.h"
#include "shared/base/buf.h"
#include "shared/base/units.h"

/* Writes a name such as "qSyncIO0"; with several cores it includes the core. */
static void queue_name(const struct ntk_trace *trace, const struct ntk_dma_queue_row *row,
                       char *buf, size_t buf_bytes)
{
    char shown[NTK_NTFF_NAME_BYTES];

    ntk_queue_name_show(row->name, row->dma_class, shown, sizeof shown);
    if (trace->core_count > 1) {
        snprintf(buf, buf_bytes, "%s of core %u", shown, trace->cores[row->core].ntff->core);
    } else {
        snprintf(buf, buf_bytes, "%s", shown);
    }
}

/* Cost of a queue's transfers, by the lines that started them. */
struct queue_lines {
    struct ntk_line_costs small; /* number of packets */
    struct ntk_line_costs busy;  /* ps from the first to the last packet */
};

/* Returns the index of the row; rows.row_count if there is none. */
static size_t row_of(const struct ntk_dma_efficiency *dma, const struct ntk_queue_name *name)
{
    size_t i = 0;

    while (i < dma->row_count && (dma->rows[i].core != name->core || !dma->rows[i].name ||
                                  !name->name || strcmp(dma->rows[i].name, name->name) != 0)) {
        i++;
    }
    return i;
}

static void add_transfer(const struct ntk_transfer *transfer, const struct ntk_neff_position *at,
                         bool is_spill, struct queue_lines *queue, struct ntk_line_costs *spill)
{
    if (transfer->bytes_count < (uint64_t)transfer->packet_count * NTK_DMA_SMALL_BYTES) {
        ntk_line_costs_add(&queue->small, at, NULL, transfer->packet_count);
    }
    ntk_line_costs_add(&queue->busy, at, NULL, (double)(transfer->end_ps - transfer->start_ps));
    if (is_spill) {
        ntk_line_costs_add(spill, at, NULL, (double)transfer->bytes_count);
    }
}

/* Adds all transfers with known packets and lines. */
static void add_transfers(struct ntk_advice_list *list, struct queue_lines *queues,
                          struct ntk_line_costs *spill)
{
    const struct ntk_program *program = list->input->program;
    const struct ntk_dma_efficiency *dma = list->input->dma;
    const struct ntk_transfers *transfers = list->input->transfers;
    struct ntk_queue_names names = { 0 };
    size_t *rows = NULL; /* by queue name */

    if (!transfers || !program->positions) {
        return;
    }
    if (ntk_queue_names_init(&names, program->trace) < 0 ||
        !(rows = calloc(names.count + 1, sizeof *rows))) {
        ntk_queue_names_fini(&names);
        list->failed = -ENOMEM;
        return;
    }
    for (size_t n = 0; n < names.count; n++) {
        rows[n] = row_of(dma, &names.items[n]);
    }
    for (size_t c = 0; c < transfers->core_count; c++) {
        const struct ntk_trace_core *core = &program->trace->cores[c];

        for (size_t t = 0; t < transfers->cores[c].count; t++) {
            const struct ntk_transfer *one = &transfers->cores[c].items[t];
            if (t % NTK_TRACE_LOOKS == NTK_TRACE_LOOKS - 1) {
                ntk_transfers_give_back(transfers, c);
                ntk_trace_give_back(core);
            }
            if (one->packet_count == 0) {
                continue;
            }
            size_t row = rows[ntk_queue_names_find(&names, c, &core->packets[one->first])];
            if (row < dma->row_count) {
                add_transfer(
                    one, ntk_program_position(program, c, &core->instructions[one->instruction]),
                    strstr(dma->rows[row].name, "SpillReload") != NULL, &queues[row], spill);
            }
        }
    }
    free(rows);
    ntk_queue_names_fini(&names);
}

/* Returns a text such as "; a.py:30 waits for it (12.345 us)", with the line that waits longest for
 * the transfers of a line. */
static const char *waiting_text(const struct ntk_advice_list *list,
                                const struct ntk_line_pair *reader, char *buf)
{
    const struct ntk_idle_reasons *idle = list->input->idle;
    const struct ntk_line_pair *most = NULL;
    struct ntk_buf name = { 0 };

    buf[0] = '\0';
    for (size_t i = 0; reader && idle && i < idle->engine_count; i++) {
        const struct ntk_line_costs *waits = &idle->engines[i].lines[NTK_NTFF_ENGINE_AXI];
        ntk_vec_each(const struct ntk_line_pair, one, &waits->pairs) {
            bool is_for_it = one->by_file == reader->file && one->by_line == reader->line;
            most = is_for_it && one->file && (!most || one->cost > most->cost) ? one : most;
        }
    }
    if (most) {
        ntk_line_name_add(list->input->program->positions, most->file, most->line, &name);
        snprintf(buf, NTK_ADVICE_LINES_BYTES, "; %s waits for it (%.3f us)",
                 ntk_buf_text_get(&name), most->cost / 1e6);
        ntk_buf_fini(&name);
    }
    return buf;
}

/* Judges the small packets of a queue. */
static void judge_small(struct ntk_advice_list *list, const struct ntk_dma_queue_row *row,
                        const char *name, const struct ntk_line_costs *lines)
{
    uint64_t data = row->packet_count - row->size_counts[NTK_DMA_SIZE_SEMAPHORE];
    uint64_t small = row->size_counts[NTK_DMA_SIZE_POOR] + row->size_counts[NTK_DMA_SIZE_SMALL];
    double bytes =
        (double)(row->size_bytes[NTK_DMA_SIZE_POOR] + row->size_bytes[NTK_DMA_SIZE_SMALL]);
    double data_bytes = (double)(row->bytes_count - row->size_bytes[NTK_DMA_SIZE_SEMAPHORE]);
    double time = row->busy_ps > 0 ? (double)row->small_ps / (double)row->busy_ps : 0;
    double active = (double)row->active_ps / list->total_ps;
    double per_second = list->input->dma->engine_bytes_per_second;
    double full_ps = row->has_rate ? bytes / per_second * 1e12 : 0;
    char full[80] = "";
    char mean[NTK_UNITS_TEXT_BYTES];
    char line[NTK_ADVICE_LINES_BYTES];

    if (!data || !small) {
        return;
    }
    double excess = full_ps < (double)row->small_ps ? 1 - full_ps / (double)row->small_ps : 0;
    if (row->has_rate) {
        (void)snprintf(full, sizeof full, ", %.1f times as long as at the full rate",
                       (double)row->small_ps / full_ps);
    }
    struct ntk_advice_item *item = ntk_advice_judge(
        list, NTK_ADVICE_SMALL_PACKETS, (double)small / (double)data, active,
        "%.1f%% of the packets of %s (%llu of %llu) are smaller than %u bytes (%s on average): "
        "they move %.1f%% of its bytes in %.1f%% of its packet time%s%s",
        100 * (double)small / (double)data, name, (unsigned long long)small,
        (unsigned long long)data, NTK_DMA_SMALL_BYTES,
        ntk_units_bytes(mean, sizeof mean, (uint64_t)(bytes / (double)small + 0.5)),
        100 * bytes / data_bytes, 100 * time, full,
        ntk_advice_lines(list, lines, "started at", 1, " packets", line));
    if (list->input->path) { /* gain: half of the bound, which is the full rate for these bytes */
        double on_path = ntk_advice_queue_path(list, row->name);
        double most = active < list->dma.path ? active : list->dma.path;
        ntk_advice_gain(item, on_path * time * excess / 2,
                        (on_path > most ? on_path : most) * time * excess);
        ntk_advice_limit(list, item, 0, NTK_ADVICE_NO_DMA);
    }
}

void ntk_advice_dma(struct ntk_advice_list *list)
{
    const struct ntk_dma_efficiency *dma = list->input->dma;
    char name[NTK_NTFF_NAME_BYTES + 32];
    char bytes[NTK_UNITS_TEXT_BYTES];
    char line[NTK_ADVICE_LINES_BYTES];
    struct queue_lines *queues = calloc(dma->row_count + 1, sizeof *queues);
    struct ntk_line_costs spill = { 0 };

    if (!queues) {
        list->failed = -ENOMEM;
        return;
    }
    add_transfers(list, queues, &spill);
    for (size_t i = 0; i < dma->row_count; i++) {
        const struct ntk_dma_queue_row *row = &dma->rows[i];
        double share = (double)row->active_ps / list->total_ps;

        if (row->dma_class == NTK_TRACE_DMA_INSTRUCTION) {
            continue; /* queues of the runtime */
        }
        queue_name(list->input->program->trace, row, name, sizeof name);
        double on_path = list->input->path ? ntk_advice_queue_path(list, row->name) : 0;
        double most = share < list->dma.path ? share : list->dma.path;
        struct ntk_advice_item *item = NULL;
        if (share >= NTK_ADVICE_SMALL_ACTIVE_RATIO || on_path >= NTK_ADVICE_SMALL_ACTIVE_RATIO) {
            judge_small(list, row, name, &queues[i].small);
        }
        if (row->has_rate && share >= NTK_ADVICE_ACTIVE_RATIO) {
            item = ntk_advice_judge(
                list, NTK_ADVICE_DMA_EFFICIENCY, row->efficiency, share,
                "%s moved %.1f%% of what its DMA engines could have moved in the %.3f us that they "
                "spent on it: %s more was possible%s",
                name, 100 * row->efficiency, (double)row->busy_ps / 1e6,
                ntk_units_bytes(bytes, sizeof bytes, (uint64_t)row->wasted_bytes),
                ntk_advice_lines(list, &queues[i].busy, "started at", 1e6, " us", line));
            if (list->input->path) { /* gain: transfers at the full rate */
                ntk_advice_gain(item, on_path * (1 - row->efficiency), most);
                ntk_advice_limit(list, item, 0, NTK_ADVICE_NO_DMA);
            }
        }
    }
    const struct ntk_hbm_traffic *hbm = list->input->hbm;
    double all = hbm && hbm->is_known ? (double)(hbm->read_bytes + hbm->write_bytes) : 0;
    if (dma->has_spill && all > 0) {
        double ratio = (double)dma->spill_bytes / all;

        struct ntk_advice_item *item = ntk_advice_judge(
            list, NTK_ADVICE_SPILL, ratio, (double)dma->spill_active_ps / list->total_ps,
            "%.1f%% of the device memory traffic (%s) is due to spilled values; their transfers "
            "take %.3f us%s",
            100 * ratio, ntk_units_bytes(bytes, sizeof bytes, dma->spill_bytes),
            (double)dma->spill_active_ps / 1e6,
            ntk_advice_lines(list, &spill, "started at", 1, " bytes", line));
        if (list->input->path) {
            ntk_advice_gain(item, list->spill_dma.free, list->dma_bound);
            ntk_advice_limit(list, item, 0, NTK_ADVICE_NO_DMA);
        }
    }
    for (size_t i = 0; i < dma->row_count; i++) {
        ntk_line_costs_fini(&queues[i].small);
        ntk_line_costs_fini(&queues[i].busy);
    }
    free(queues);
    ntk_line_costs_fini(&spill);
}

static bool runs_in(const struct ntk_trace_core *core, const struct ntk_execution_borders *borders,
                    size_t execution)
{
    const struct ntk_trace_instruction *all = core->instructions;
    int64_t from_ps = execution ? borders->items[execution].start_ps : INT64_MIN;
    size_t first = 0;

    NTK_BISECT(first, core->instruction_count, i, all[i].start_ps < from_ps);
    return first < core->instruction_count &&
           ntk_execution_of(borders, all[first].start_ps) == execution;
}

/* Returns the number of executions of the model with the NEFF. Others do not read its tensors. */
static uint64_t executions_of_neff(const struct ntk_program *program)
{
    const struct ntk_trace *trace = program->trace;
    uint64_t count = 0;

    for (size_t i = 0; i < program->borders.count; i++) {
        bool is_of_neff = false;

        for (size_t c = 0; c < trace->core_count && !is_of_neff; c++) {
            is_of_neff = trace->cores[c].neff && runs_in(&trace->cores[c], &program->borders, i);
        }
        count += is_of_neff;
    }
    return count ? count : program->execution_count;
}

void ntk_advice_tensors(struct ntk_advice_list *list)
{
    const struct ntk_tensor_traffic *tensors = list->input->tensors;
    /* Each execution has to read its inputs once. */
    uint64_t executions = executions_of_neff(list->input->program);
    uint64_t all = 0;

    for (size_t i = 0; i < tensors->row_count; i++) {
        all += tensors->rows[i].read_bytes + tensors->rows[i].write_bytes;
    }
    for (size_t i = 0; i < tensors->row_count && list->input->dma; i++) {
        const struct ntk_tensor_row *row = &tensors->rows[i];
        bool is_given = strcmp(row->kind, "input") == 0 || strcmp(row->kind, "weight") == 0;
        double dma_share = (double)list->input->dma->total.active_ps / list->total_ps;

        if (is_given && row->has_reload && all) {
            char read[NTK_UNITS_TEXT_BYTES];
            char size[NTK_UNITS_TEXT_BYTES];
            char line[NTK_ADVICE_LINES_BYTES];
            char waiting[NTK_ADVICE_LINES_BYTES];

            double ratio = row->reload_ratio / (double)executions;
            struct ntk_advice_item *item = ntk_advice_judge(
                list, NTK_ADVICE_RELOAD, ratio, dma_share * (double)row->read_bytes / (double)all,
                "%s %s is read %.2f times%s: %s of %s%s%s", row->kind, row->name, ratio,
                executions > 1 ? " per execution" : "",
                ntk_units_bytes(read, sizeof read, row->read_bytes),
                ntk_units_bytes(size, sizeof size, row->size_bytes),
                ntk_advice_lines(list, &row->readers, "at", 1, " bytes", line),
                waiting_text(list, ntk_line_costs_most(&row->readers), waiting));
            if (list->input->path) { /* it is loaded once */
                ntk_advice_gain(
                    item, list->dma.free * (double)row->read_bytes / (double)all * (1 - 1 / ratio),
                    list->dma_bound);
                ntk_advice_limit(list, item, 0, NTK_ADVICE_NO_DMA);
            }
        }
    }
}
