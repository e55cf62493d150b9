/* SPDX-License-Identifier: MIT */
/* advice - applies the rules of advice.def, and orders the findings. */
#include "profiler/analysis/advice_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/buf.h"

#define GAIN_LEAST_PS 500 /* 0.001 us, rounded */

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

struct ntk_advice_item *ntk_advice_judge(struct ntk_advice_list *list, enum ntk_advice_rule rule,
                                         double value, double share, const char *format, ...)
{
    bool is_worth_it =
        rules[rule].is_below ? value < rules[rule].threshold : value > rules[rule].threshold;
    va_list arguments;

    /* A few missing records are only a note, at the end of the list. */
    if ((!is_worth_it && rule != NTK_ADVICE_INCOMPLETE) || list->failed) {
        return NULL;
    }
    struct ntk_advice_item *item = ntk_vec_add(&list->items);
    if (!item) {
        list->failed = -ENOMEM;
        return NULL;
    }
    *item = (struct ntk_advice_item){ .rule = rule, .what = rules[rule].what };
    item->value = value;
    item->share = share;
    va_start(arguments, format);
    (void)vsnprintf(item->text, sizeof item->text, format, arguments);
    va_end(arguments);
    return item;
}

void ntk_advice_gain(struct ntk_advice_item *item, double gain, double bound)
{
    if (item) {
        item->has_gain = true;
        item->gain_bound = bound < 0 ? 0 : bound > 1 ? 1 : bound;
        item->gain = gain < 0 ? 0 : gain > item->gain_bound ? item->gain_bound : gain;
    }
}

const char *ntk_advice_lines(const struct ntk_advice_list *list, const struct ntk_line_costs *costs,
                             const char *what, double per_unit, const char *unit, char *buf)
{
    const struct ntk_neff_positions *positions = list->input->program->positions;
    const struct ntk_line_pair *most = positions ? ntk_line_costs_most(costs) : NULL;
    struct ntk_buf text = { 0 };

    buf[0] = '\0';
    if (!most) {
        return buf;
    }
    ntk_buf_add_text(&text, ", most");
    if (most->file) {
        ntk_buf_add_format(&text, " %s ", what);
        ntk_line_name_add(positions, most->file, most->line, &text);
    }
    if (most->by_file) {
        ntk_buf_add_text(&text, " for ");
        ntk_line_name_add(positions, most->by_file, most->by_line, &text);
    }
    ntk_buf_add_format(&text, " (%.*f%s)", per_unit > 1 ? 3 : 0, most->cost / per_unit, unit);
    if (ntk_buf_ok(&text)) {
        snprintf(buf, NTK_ADVICE_LINES_BYTES, "%s", ntk_buf_text_get(&text));
    }
    ntk_buf_fini(&text);
    return buf;
}

/* Returns the time in which the tensor engine of a core executes the program while the core is
 * limited. Without such work, a limit delays nothing. */
static int64_t limited_work_ps(const struct ntk_program *program, size_t index)
{
    const struct ntk_trace_core *core = &program->trace->cores[index];
    int64_t until_ps = INT64_MIN;
    int64_t work_ps = 0;
    size_t t = 0; /* the first limit that may be valid after until_ps */

    ntk_trace_each_instruction(core, one) {
        int64_t from_ps = one->start_ps > until_ps ? one->start_ps : until_ps;

        if (one->engine != NTK_NTFF_ENGINE_TENSOR || ntk_only_waits(one) ||
            one->end_ps <= from_ps) {
            continue;
        }
        const struct ntk_slot_code *code = ntk_program_fact(program, index, one)->code;
        if (code->is_runtime || code->is_transfer) {
            continue;
        }
        while (t + 1 < core->throttle_count && core->throttles[t + 1].time_ps <= from_ps) {
            t++;
        }
        for (size_t i = t; i < core->throttle_count; i++) {
            const struct ntk_trace_throttle *now = &core->throttles[i];
            bool is_last = i + 1 == core->throttle_count;
            int64_t start_ps = now->time_ps > from_ps ? now->time_ps : from_ps;
            int64_t end_ps = is_last || core->throttles[i + 1].time_ps > one->end_ps
                                 ? one->end_ps
                                 : core->throttles[i + 1].time_ps;
            if (now->time_ps >= one->end_ps) {
                break;
            }
            work_ps += now->k < now->n && end_ps > start_ps ? end_ps - start_ps : 0;
        }
        until_ps = one->end_ps;
    }
    return work_ps;
}

static void judge_throttling(struct ntk_advice_list *list)
{
    const struct ntk_trace *trace = list->input->program->trace;

    for (size_t c = 0; c < trace->core_count; c++) {
        double work_ps = (double)limited_work_ps(list->input->program, c);
        double share = work_ps / list->total_ps;

        ntk_advice_judge(list, NTK_ADVICE_THROTTLING, share, share,
                         "core %u was throttled while its tensor engine executed, for %.1f%% of "
                         "the execution (%.3f us)",
                         trace->cores[c].ntff->core, 100 * share, work_ps / 1e6);
    }
}

/* These rules have no gain, because they limit what other rules can report. They come first. */
static bool comes_first(const struct ntk_advice_item *item)
{
    return item->rule == NTK_ADVICE_ERRORS ||
           (item->rule == NTK_ADVICE_INCOMPLETE &&
            item->value > rules[NTK_ADVICE_INCOMPLETE].threshold);
}

static int compare(const void *a, const void *b)
{
    const struct ntk_advice_item *x = a;
    const struct ntk_advice_item *y = b;

    if (x->rule != y->rule && (comes_first(x) || comes_first(y))) {
        return comes_first(x) && comes_first(y) ? (int)x->rule - (int)y->rule
               : comes_first(x)                 ? -1
                                                : 1;
    }
    double x_gain = x->has_gain ? x->gain : -1;
    double y_gain = y->has_gain ? y->gain : -1;

    if (x_gain < y_gain || x_gain > y_gain) {
        return x_gain > y_gain ? -1 : 1;
    }
    if (x->share < y->share || x->share > y->share) {
        return x->share > y->share ? -1 : 1;
    }
    return x->rule != y->rule ? (int)x->rule - (int)y->rule : strcmp(x->text, y->text);
}

/* Drops items without a gain, with the precision of outputs. */
static void drop_gainless(struct ntk_advice_list *list)
{
    struct ntk_advice_item *items = list->items.items;
    size_t count = 0;

    for (size_t i = 0; i < list->items.count; i++) {
        if (!items[i].has_gain || items[i].gain_bound * list->total_ps >= GAIN_LEAST_PS) {
            items[count++] = items[i];
        }
    }
    list->items.count = count;
}

int ntk_analysis_advice(const struct ntk_advice_input *input, struct ntk_advice *out_advice)
{
    struct ntk_advice_input known = *input;
    struct ntk_advice_list list = { .input = &known,
                                    .total_ps = (double)input->program->trace->total_ps,
                                    .items = NTK_VEC_INIT(struct ntk_advice_item) };

    if (!input->program->trace->has_total || list.total_ps <= 0) {
        return -ENODATA;
    }
    ntk_advice_errors(&list);
    ntk_advice_incomplete(&list, &known);
    if (known.path) {
        ntk_advice_path(&list);
        ntk_advice_gpsimd(&list);
    }
    if (known.idle) {
        ntk_advice_idle(&list);
    }
    if (known.dma) {
        ntk_advice_dma(&list);
    }
    if (known.tensors) {
        ntk_advice_tensors(&list);
        ntk_advice_round_trips(&list);
    }
    if (known.costs) {
        ntk_advice_tensor_engine(&list);
    }
    judge_throttling(&list);
    ntk_advice_limit_gains(&list);
    if (list.failed) {
        ntk_vec_fini(&list.items);
        return list.failed;
    }
    drop_gainless(&list);
    ntk_advice_caveats(&list);
    ntk_vec_sort(&list.items, compare);
    out_advice->total_ps = list.total_ps;
    out_advice->items = list.items.items;
    out_advice->count = list.items.count;
    return 0;
}

void ntk_advice_fini(struct ntk_advice *advice)
{
    free(advice->items);
    *advice = (struct ntk_advice){ 0 };
}
