/* SPDX-License-Identifier: MIT */
/* advice - the rules of advice.def, one function for each kind of number. */
#include "profiler/analysis/advice.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/engine_activity.h"
#include "profiler/analysis/instruction_label.h"
#include "profiler/analysis/queue_names.h"
#include "profiler/analysis/throttling.h"
#include "shared/base/map.h"
#include "shared/base/units.h"
#include "shared/base/vec.h"

/* Queues and engines that hardly worked give no advice about how they worked. */
#define SMALL_ACTIVE_RATIO 0.05
#define ACTIVE_RATIO 0.10

static const struct {
    const char *id;
    double threshold;
    bool is_below;
    const char *measured, *what;
} rules[NTK_ADVICE_RULE_COUNT] = {
#define NTK_ADVICE(symbol, id, threshold, measured, what) { id, threshold, false, measured, what },
#define NTK_ADVICE_BELOW(symbol, id, threshold, measured, what) \
    { id, threshold, true, measured, what },
#include "profiler/analysis/advice.def"
};

struct list {
    const struct ntk_advice_input *input;
    double total_ps;
    struct ntk_vec items; /* struct ntk_advice_item */
    int failed;
};

const char *ntk_advice_id(enum ntk_advice_rule rule)
{
    return rules[rule].id;
}

double ntk_advice_threshold(enum ntk_advice_rule rule)
{
    return rules[rule].threshold;
}

const char *ntk_advice_measured(enum ntk_advice_rule rule)
{
    return rules[rule].measured;
}

const char *ntk_advice_what(enum ntk_advice_rule rule)
{
    return rules[rule].what;
}

/* Adds the advice of a rule whose number is beyond its threshold. */
__attribute__((format(printf, 5, 6))) static void judge(struct list *list,
                                                        enum ntk_advice_rule rule, double value,
                                                        double share, const char *format, ...)
{
    bool is_worth_it =
        rules[rule].is_below ? value < rules[rule].threshold : value > rules[rule].threshold;
    va_list arguments;

    if (!is_worth_it || list->failed) {
        return;
    }
    struct ntk_advice_item *item = ntk_vec_add(&list->items);
    if (!item) {
        list->failed = -ENOMEM;
        return;
    }
    item->rule = rule;
    item->value = value;
    item->share = share;
    va_start(arguments, format);
    (void)vsnprintf(item->text, sizeof item->text, format, arguments);
    va_end(arguments);
}

/* ---- lines of the source ---- */

#define LINE_BYTES (NTK_LABEL_BYTES + 64)

typedef double cost_of(const struct ntk_cost_row *row);

static double path_us(const struct ntk_cost_row *row)
{
    return (double)row->path_ps / 1e6;
}

static double transpose_gflops(const struct ntk_cost_row *row)
{
    return (double)row->transpose_flops / 1e9;
}

struct line_cost {
    char *line;
    double cost;
};

/* ", 12.3 us of them at attention.py:394": where instructions of an engine cost most; "" where
 * lines are unknown. Returns buf, of LINE_BYTES. */
static const char *heaviest_line(const struct list *list, unsigned engine, cost_of *cost,
                                 const char *what, char *buf)
{
    const struct ntk_cost_list *all = &list->input->costs->instructions;
    const struct ntk_program *program = list->input->program;
    struct ntk_vec lines = NTK_VEC_INIT(struct line_cost);
    struct ntk_map indices = { 0 };
    const struct line_cost *most = NULL;

    buf[0] = '\0';
    for (size_t i = 0; i < all->count; i++) {
        const struct ntk_cost_row *row = &all->rows[i];
        const struct ntk_slot_fact *fact =
            &program->facts[row->core * NTK_NTFF_ENGINE_COUNT + row->engine][row->slot];
        char line[NTK_LABEL_BYTES];
        if (row->engine != engine || !(cost(row) > 0) ||
            !ntk_label_line(fact, line, sizeof line)[0]) {
            continue;
        }
        uintptr_t index = (uintptr_t)ntk_map_get(&indices, line);
        if (!index) {
            struct line_cost added = { .line = strdup(line) };
            if (!added.line || ntk_vec_push(&lines, &added) < 0 ||
                ntk_map_put(&indices, line, (void *)(uintptr_t)lines.count) < 0) {
                break; /* the hint is as good without */
            }
            index = lines.count;
        }
        ((struct line_cost *)ntk_vec_at(&lines, index - 1))->cost += cost(row);
    }
    ntk_vec_each(const struct line_cost, one, &lines) {
        most = !most || one->cost > most->cost ? one : most;
    }
    if (most) {
        snprintf(buf, LINE_BYTES, ", %.3f%s %s", most->cost, what, most->line);
    }
    ntk_vec_each(struct line_cost, one, &lines) {
        free(one->line);
    }
    ntk_vec_fini(&lines);
    ntk_map_fini(&indices);
    return buf;
}

/* DMA of all queues together; of one queue alone the share says less the more queues a program
 * has. */
static void judge_path_dma(struct list *list)
{
    const struct ntk_critical_path *path = list->input->path;
    const struct ntk_path_share *most = NULL;
    int64_t dma_ps = 0;
    uint64_t count = 0;
    char name[300];

    for (size_t i = 0; i < path->resources.count; i++) {
        const struct ntk_path_share *of = &path->resources.shares[i];

        if (of->kind == NTK_PATH_TRANSFER || (of->kind == NTK_PATH_WAIT && of->name)) {
            most = most ? most : of; /* the longest comes first */
            dma_ps += of->path_ps;
            count += of->count;
        }
    }
    if (most) {
        double share = (double)dma_ps / list->total_ps;

        ntk_path_resource_name(most, name, sizeof name);
        judge(list, NTK_ADVICE_PATH_DMA, share, share,
              "%.1f %% of the execution waits for DMA: %.3f us in %llu transfers of the critical "
              "path, the largest part (%.3f us) is %s",
              100 * share, (double)dma_ps / 1e6, (unsigned long long)count,
              (double)most->path_ps / 1e6, name);
    }
}

struct path_sum {
    int64_t path_ps;
    uint64_t count;
};

static void judge_path(struct list *list)
{
    const struct ntk_critical_path *path = list->input->path;
    struct path_sum engines[NTK_NTFF_ENGINE_COUNT] = { 0 };
    struct path_sum latency = { 0 };
    struct path_sum runtime = { 0 };

    char line[LINE_BYTES];

    judge_path_dma(list);
    for (size_t i = 0; i < path->step_count; i++) {
        const struct ntk_path_step *step = &path->steps[i];
        struct path_sum *sum = NULL;

        ntk_critical_path_passed(list->input->program->trace, path, i);
        if (step->layer == NTK_LAYER_RUNTIME) {
            sum = &runtime;
        } else if (step->kind == NTK_PATH_INSTRUCTION) {
            sum = &engines[list->input->program->trace->cores[path->core]
                               .instructions[step->instruction]
                               .engine];
        } else if (step->kind == NTK_PATH_LATENCY) {
            sum = &latency;
        }
        if (sum) {
            sum->path_ps += step->end_ps - step->start_ps;
            sum->count++;
        }
    }
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        double share = (double)engines[e].path_ps / list->total_ps;

        judge(list, NTK_ADVICE_PATH_ENGINE, share, share,
              "%.1f %% of the execution is the %s engine: %.3f us in %llu instructions of the "
              "critical path%s",
              100 * share, ntk_ntff_engine_title(e), (double)engines[e].path_ps / 1e6,
              (unsigned long long)engines[e].count,
              heaviest_line(list, e, path_us, " us of them at", line));
    }
    if (latency.count) {
        double share = (double)latency.path_ps / list->total_ps;

        judge(list, NTK_ADVICE_PATH_LATENCY, share, share,
              "%.1f %% of the execution is latency between %llu steps of the critical path: %.3f "
              "us on average",
              100 * share, (unsigned long long)latency.count,
              (double)latency.path_ps / 1e6 / (double)latency.count);
    }
    double share = (double)runtime.path_ps / list->total_ps;
    judge(
        list, NTK_ADVICE_RUNTIME, share, share,
        "%.1f %% of the execution is what the runtime puts before and behind the program: %.3f us",
        100 * share, (double)runtime.path_ps / 1e6);
}

static void judge_idle(struct list *list)
{
    const struct ntk_idle_reasons *idle = list->input->idle;
    const struct ntk_trace *trace = list->input->program->trace;
    int64_t most_ps = 1;

    for (size_t i = 0; i < idle->engine_count; i++) {
        most_ps = idle->engines[i].busy_ps > most_ps ? idle->engines[i].busy_ps : most_ps;
    }
    for (size_t i = 0; i < idle->engine_count; i++) {
        const struct ntk_idle_engine *engine = &idle->engines[i];
        int64_t for_ps[NTK_NTFF_ENGINE_AXI + 1] = { 0 };

        for (size_t r = 0; r < engine->row_count; r++) {
            if (engine->rows[r].reason == NTK_IDLE_DMA) {
                for_ps[NTK_NTFF_ENGINE_AXI] += engine->rows[r].idle_ps;
            } else if (engine->rows[r].reason == NTK_IDLE_ENGINE &&
                       engine->rows[r].source < NTK_NTFF_ENGINE_COUNT) {
                for_ps[engine->rows[r].source] += engine->rows[r].idle_ps;
            }
        }
        /* An engine that does little may wait as long as it likes, unless all of them do little. */
        for (unsigned e = 0; e <= NTK_NTFF_ENGINE_AXI; e++) {
            double share = (double)for_ps[e] / list->total_ps;
            double busy = (double)engine->busy_ps / list->total_ps;

            judge(list, NTK_ADVICE_WAIT,
                  busy >= ACTIVE_RATIO || engine->busy_ps == most_ps ? share : 0, share,
                  "%s of core %u works %.1f %% of the execution and waits %.1f %% (%.3f us) for "
                  "%s",
                  ntk_ntff_engine_title(engine->engine), trace->cores[engine->core].ntff->core,
                  100 * busy, 100 * share, (double)for_ps[e] / 1e6,
                  e == NTK_NTFF_ENGINE_AXI ? "DMA" : ntk_ntff_engine_title(e));
        }
    }
    for (size_t c = 0; c < trace->core_count && trace->core_count > 1; c++) {
        int64_t least_ps = INT64_MAX; /* all of its engines have nothing to do for so long */

        for (size_t i = 0; i < idle->engine_count; i++) {
            if (idle->engines[i].core == c &&
                idle->engines[i].reasons_ps[NTK_IDLE_END] < least_ps) {
                least_ps = idle->engines[i].reasons_ps[NTK_IDLE_END];
            }
        }
        if (least_ps < INT64_MAX) {
            double share = (double)least_ps / list->total_ps;

            judge(list, NTK_ADVICE_IDLE_CORE, share, share,
                  "core %u has nothing to do for %.1f %% of the execution (%.3f us)",
                  trace->cores[c].ntff->core, 100 * share, (double)least_ps / 1e6);
        }
    }
}

/* "qSyncIO0"; with several cores also of which. */
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

static void judge_dma(struct list *list)
{
    const struct ntk_dma_efficiency *dma = list->input->dma;
    char name[NTK_NTFF_NAME_BYTES + 32];
    char bytes[NTK_UNITS_TEXT_BYTES];

    for (size_t i = 0; i < dma->row_count; i++) {
        const struct ntk_dma_queue_row *row = &dma->rows[i];
        double share = (double)row->active_ps / list->total_ps;
        uint64_t data = row->packet_count - row->size_counts[NTK_DMA_SIZE_SEMAPHORE];
        uint64_t small = row->size_counts[NTK_DMA_SIZE_POOR] + row->size_counts[NTK_DMA_SIZE_SMALL];

        if (row->dma_class == NTK_TRACE_DMA_INSTRUCTION) {
            continue; /* the runtime's */
        }
        queue_name(list->input->program->trace, row, name, sizeof name);
        if (data && share >= SMALL_ACTIVE_RATIO) {
            judge(list, NTK_ADVICE_SMALL_PACKETS, (double)small / (double)data, share,
                  "%.1f %% of the packets of %s (%llu of %llu) are smaller than %u bytes",
                  100 * (double)small / (double)data, name, (unsigned long long)small,
                  (unsigned long long)data, NTK_DMA_SMALL_BYTES);
        }
        if (row->has_rate && share >= ACTIVE_RATIO) {
            judge(list, NTK_ADVICE_DMA_EFFICIENCY, row->efficiency, share,
                  "%s moved %.1f %% of what its DMA engines could have moved while they worked for "
                  "it (%.3f "
                  "us, all together): %s more",
                  name, 100 * row->efficiency, (double)row->busy_ps / 1e6,
                  ntk_units_bytes(bytes, sizeof bytes, (uint64_t)row->wasted_bytes));
        }
    }
    const struct ntk_hbm_traffic *hbm = list->input->hbm;
    double all = hbm && hbm->is_known ? (double)(hbm->read_bytes + hbm->write_bytes) : 0;
    if (dma->has_spill && all > 0) {
        double ratio = (double)dma->spill_bytes / all;

        judge(list, NTK_ADVICE_SPILL, ratio, (double)dma->spill_active_ps / list->total_ps,
              "%.1f %% of the bytes of device memory (%s) are spilt values, in %.3f us",
              100 * ratio, ntk_units_bytes(bytes, sizeof bytes, dma->spill_bytes),
              (double)dma->spill_active_ps / 1e6);
    }
}

static void judge_tensors(struct list *list)
{
    const struct ntk_tensor_traffic *tensors = list->input->tensors;
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

            judge(list, NTK_ADVICE_RELOAD, row->reload_ratio,
                  dma_share * (double)row->read_bytes / (double)all,
                  "%s %s is read %.2f times: %s of %s", row->kind, row->name, row->reload_ratio,
                  ntk_units_bytes(read, sizeof read, row->read_bytes),
                  ntk_units_bytes(size, sizeof size, row->size_bytes));
        }
    }
}

static void judge_tensor_engine(struct list *list)
{
    const struct ntk_trace *trace = list->input->program->trace;
    const struct ntk_cost_table *costs = list->input->costs;
    uint64_t flops = 0;
    uint64_t transposes = 0;
    char line[LINE_BYTES];
    uint64_t useful = 0; /* as mfu counts them */
    struct ntk_activity activity;

    if (!costs->flops_known) {
        return;
    }
    for (size_t i = 0; i < costs->operations.count; i++) {
        flops += costs->operations.rows[i].flops;
        transposes += costs->operations.rows[i].transpose_flops;
        useful += costs->operations.rows[i].useful_peak_flops;
    }
    ntk_analysis_engine_activity(trace, &activity);
    double active_ps = (double)activity.engines[NTK_NTFF_ENGINE_TENSOR].active_ps;
    double share = active_ps / list->total_ps;
    if (flops) {
        double ratio = (double)transposes / (double)flops;

        judge(list, NTK_ADVICE_TRANSPOSES, ratio, share * ratio,
              "%.1f %% of the operations of the tensor engine move data only (transposes)%s",
              100 * ratio,
              heaviest_line(list, NTK_NTFF_ENGINE_TENSOR, transpose_gflops, " billion of them at",
                            line));
    }
    if (useful && trace->has_chip && share >= ACTIVE_RATIO) {
        double peak = trace->chip.core_flops_per_second * active_ps / 1e12;
        double rate = (double)useful / peak;

        judge(list, NTK_ADVICE_TENSOR_RATE, rate, share,
              "while it works (%.1f %% of the execution), the tensor engine does %.1f %% of the "
              "operations that it could do",
              100 * share, 100 * rate);
    }
}

static void judge_throttling(struct list *list)
{
    const struct ntk_trace *trace = list->input->program->trace;

    for (size_t c = 0; c < trace->core_count; c++) {
        struct ntk_throttling throttling;

        ntk_analysis_throttling(&trace->cores[c], &throttling);
        if (throttling.is_present && throttling.limited_ns > 0) {
            double share = (double)throttling.limited_ns * NTK_TRACE_PS_PER_NS / list->total_ps;

            judge(list, NTK_ADVICE_THROTTLING, share, share,
                  "core %u was held back for %.1f %% of the execution (%.3f us)",
                  trace->cores[c].ntff->core, 100 * share, (double)throttling.limited_ns / 1e3);
        }
    }
}

static int compare(const void *a, const void *b)
{
    const struct ntk_advice_item *x = a;
    const struct ntk_advice_item *y = b;

    if (x->share < y->share || x->share > y->share) {
        return x->share > y->share ? -1 : 1;
    }
    return x->rule != y->rule ? (int)x->rule - (int)y->rule : strcmp(x->text, y->text);
}

int ntk_analysis_advice(const struct ntk_advice_input *input, struct ntk_advice *out_advice)
{
    struct list list = { .input = input,
                         .total_ps = (double)input->program->trace->total_ps,
                         .items = NTK_VEC_INIT(struct ntk_advice_item) };

    if (!input->program->trace->has_total || list.total_ps <= 0) {
        return -ENODATA;
    }
    if (input->path) {
        judge_path(&list);
    }
    if (input->idle) {
        judge_idle(&list);
    }
    if (input->dma) {
        judge_dma(&list);
    }
    if (input->tensors) {
        judge_tensors(&list);
    }
    if (input->costs) {
        judge_tensor_engine(&list);
    }
    judge_throttling(&list);
    if (list.failed) {
        ntk_vec_fini(&list.items);
        return list.failed;
    }
    ntk_vec_sort(&list.items, compare);
    out_advice->items = list.items.items;
    out_advice->count = list.items.count;
    return 0;
}

void ntk_advice_fini(struct ntk_advice *advice)
{
    free(advice->items);
    *advice = (struct ntk_advice){ 0 };
}
