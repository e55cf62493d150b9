/* SPDX-License-Identifier: MIT */
/* outputs - feeds the exporters. */
#include "agent/outputs/outputs.h"

#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "shared/base/log.h"

/* Interval of checks for unsent data. */
#define DRAIN_STEP_NS (20 * NTK_NS_PER_MS)

int ntk_outputs_open(struct ntk_outputs *outputs, const struct ntk_exporter_options *options,
                     bool with_pages, struct ntk_err *err)
{
    for (size_t i = 0; i < NTK_EXPORTER_COUNT; i++) {
        const struct ntk_exporter *exporter = ntk_exporters[i];
        struct ntk_output *output = &outputs->rows[outputs->count];
        int ret = exporter->is_asked(err);
        if (ret > 0 || (ret == 0 && with_pages && exporter->path)) {
            ret = exporter->create(options, &output->state, err);
            output->exporter = exporter;
            outputs->count += ret >= 0;
        }
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}

const struct ntk_span_rules *ntk_outputs_span_rules(void)
{
    for (size_t i = 0; i < NTK_EXPORTER_COUNT; i++) {
        const struct ntk_span_rules *rules =
            ntk_exporters[i]->span_rules ? ntk_exporters[i]->span_rules() : NULL;
        if (rules) {
            return rules;
        }
    }
    return NULL;
}

void ntk_outputs_put(struct ntk_outputs *outputs, const struct ntk_snapshot *snapshot, bool is_page)
{
    for (size_t i = 0; i < outputs->count; i++) {
        struct ntk_output *output = &outputs->rows[i];
        struct ntk_err err = { 0 };
        if (is_page != (output->exporter->path != NULL)) {
            continue;
        }
        int ret = output->exporter->put(output->state, snapshot, &err);
        if (ret < 0 && !output->said) {
            ntk_log_warn(output->exporter->name, "%s", err.text);
        }
        output->said = ret < 0;
    }
}

bool ntk_outputs_have_pages(const struct ntk_outputs *outputs)
{
    for (size_t i = 0; i < outputs->count; i++) {
        if (outputs->rows[i].exporter->path) {
            return true;
        }
    }
    return false;
}

bool ntk_outputs_are_stale(const struct ntk_outputs *outputs)
{
    for (size_t i = 0; i < outputs->count; i++) {
        const struct ntk_output *output = &outputs->rows[i];
        if (output->exporter->is_stale && output->exporter->is_stale(output->state)) {
            return true;
        }
    }
    return false;
}

void ntk_outputs_resume(struct ntk_outputs *outputs, const struct ntk_snapshot *totals)
{
    for (size_t i = 0; i < outputs->count; i++) {
        struct ntk_output *output = &outputs->rows[i];
        struct ntk_err err = { 0 };
        if (output->exporter->resume && output->exporter->resume(output->state, totals, &err) < 0) {
            ntk_log_warn(output->exporter->name, "counters restart from zero: %s", err.text);
        }
    }
}

int ntk_outputs_drain(struct ntk_outputs *outputs, bool (*is_in_haste)(void *ctx), void *ctx,
                      struct ntk_err *err)
{
    uint64_t end_ns = ntk_clock_now_ns(outputs->clock) + NTK_OUTPUTS_DRAIN_NS;
    bool is_done[NTK_EXPORTER_COUNT] = { false };
    size_t left = outputs->count;
    int first = 0;

    while (left > 0) {
        bool in_haste = is_in_haste(ctx) || ntk_clock_now_ns(outputs->clock) >= end_ns;

        for (size_t i = 0; i < outputs->count; i++) {
            const struct ntk_output *output = &outputs->rows[i];
            struct ntk_err cause = { 0 };
            int ret = 1;

            if (is_done[i] ||
                (output->exporter->drain &&
                 (ret = output->exporter->drain(output->state, in_haste, &cause)) == 0)) {
                continue;
            }
            is_done[i] = true;
            left--;
            if (ret < 0 && first < 0) {
                ntk_log_warn(output->exporter->name, "%s", cause.text);
            } else if (ret < 0) {
                first = ret;
                *err = cause;
            }
        }
        if (left > 0) {
            ntk_cond_sleep(outputs->clock, ntk_clock_now_ns(outputs->clock) + DRAIN_STEP_NS);
        }
    }
    return first;
}

void ntk_outputs_fini(struct ntk_outputs *outputs)
{
    for (size_t i = 0; i < outputs->count; i++) {
        outputs->rows[i].exporter->destroy(outputs->rows[i].state);
    }
    outputs->count = 0;
}
