/* SPDX-License-Identifier: MIT */
/* output_brief - writes one execution for one screen: ten figures, a bar per engine, three
 * findings. */
#include <stdio.h>

#include "profiler/output/answers/output_analysis.h"
#include "shared/base/units.h"

#define LABEL_WIDTH 28
#define BAR_CELLS 40
#define FINDINGS 3
#define NONE NTK_SUMMARY_COUNT

/* A figure: its metric, and a second metric that explains it. */
static const struct figure {
    const char *label;
    enum ntk_summary_id first;
    const char *relation;       /* text after the second metric */
    enum ntk_summary_id second; /* NONE if there is only the first */
} figures[] = {
    { "Duration on the device", NTK_SUMMARY_total_time, "", NONE },
    { "Engines or DMA active", NTK_SUMMARY_total_active_time, "of the duration",
      NTK_SUMMARY_total_active_time_percent },
    { "Model FLOPs (MFU)", NTK_SUMMARY_mfu_estimated_percent, "of the peak", NONE },
    { "All FLOPs (HFU)", NTK_SUMMARY_hfu_estimated_percent, "of the peak", NONE },
    { "Device memory traffic (MBU)", NTK_SUMMARY_mbu_estimated_percent,
      "of the peak of one memory stack", NONE },
    { "Tensor engine operations", NTK_SUMMARY_hardware_flops, "in transposes",
      NTK_SUMMARY_transpose_flops },
    { "Read from device memory", NTK_SUMMARY_hbm_read_bytes, "of inputs and weights in the NEFF",
      NTK_SUMMARY_inputs_and_weights_size_bytes },
    { "Written to device memory", NTK_SUMMARY_hbm_write_bytes, "", NONE },
    { "Spilled to device memory", NTK_SUMMARY_spill_save_bytes, "read back",
      NTK_SUMMARY_spill_reload_bytes },
    { "DMA transfers", NTK_SUMMARY_dma_transfer_count, "in total",
      NTK_SUMMARY_dma_transfer_total_bytes },
};

static const struct bar {
    const char *label;
    enum ntk_summary_id share;
} bars[] = {
    { "Tensor", NTK_SUMMARY_tensor_engine_active_time_percent },
    { "Vector", NTK_SUMMARY_vector_engine_active_time_percent },
    { "Scalar", NTK_SUMMARY_scalar_engine_active_time_percent },
    { "GpSimd", NTK_SUMMARY_gpsimd_engine_active_time_percent },
    { "Sync", NTK_SUMMARY_sync_engine_active_time_percent },
    { "DMA", NTK_SUMMARY_dma_active_time_percent },
    { "Collectives", NTK_SUMMARY_cc_op_active_time_percent },
};

static const char *value_text(const struct ntk_summary_value *value, char *buf, size_t buf_bytes)
{
    switch (value->kind) {
    case NTK_SUMMARY_KIND_SECONDS:
        (void)snprintf(buf, buf_bytes, "%.3f us", value->number * 1e6);
        return buf;
    case NTK_SUMMARY_KIND_FRACTION:
        (void)snprintf(buf, buf_bytes, "%.2f%%", value->number * 100);
        return buf;
    case NTK_SUMMARY_KIND_BYTES:
        return ntk_units_bytes(buf, buf_bytes, value->count);
    case NTK_SUMMARY_KIND_TEXT:
        return value->text;
    default:
        return ntk_units_count(buf, buf_bytes, (double)value->count);
    }
}

static void add_figure(const struct ntk_summary *summary, const struct figure *figure,
                       struct ntk_buf *out)
{
    const struct ntk_summary_value *first = &summary->values[figure->first];
    char text[NTK_UNITS_TEXT_BYTES];

    ntk_buf_add_format(out, "%-*s %14s", LABEL_WIDTH, figure->label,
                       first->is_present ? value_text(first, text, sizeof text) : "unknown");
    if (first->is_present && figure->second == NONE) {
        ntk_buf_add_format(out, "%s%s", *figure->relation ? " " : "", figure->relation);
    } else if (first->is_present && summary->values[figure->second].is_present) {
        ntk_buf_add_format(out, ", %s %s",
                           value_text(&summary->values[figure->second], text, sizeof text),
                           figure->relation);
    }
    ntk_buf_add_char(out, '\n');
}

/* Adds a bar; any share above 0 is visible. */
static void add_bar(const struct ntk_summary *summary, const struct bar *bar, struct ntk_buf *out)
{
    const struct ntk_summary_value *share = &summary->values[bar->share];
    size_t cells = share->number >= 1  ? BAR_CELLS
                   : share->number > 0 ? (size_t)(share->number * BAR_CELLS + 0.5)
                                       : 0;

    cells += cells == 0 && share->number > 0;
    ntk_buf_add_format(out, "%-12s |", bar->label);
    ntk_buf_add_fill(out, '#', cells);
    ntk_buf_add_fill(out, ' ', BAR_CELLS - cells);
    ntk_buf_add_format(out, "| %6.2f%%\n", share->number * 100);
}

/* Adds bars; unknown ones are listed in the heading, because absent is not zero. */
static void add_bars(const struct ntk_summary *summary, struct ntk_buf *out)
{
    size_t unknown = 0;

    ntk_buf_add_text(out, "\nActive on any core, share of the duration");
    for (size_t i = 0; i < sizeof bars / sizeof *bars; i++) {
        if (!summary->values[bars[i].share].is_present) {
            ntk_buf_add_format(out, "%s%s", unknown++ ? ", " : " (unknown: ", bars[i].label);
        }
    }
    ntk_buf_add_text(out, unknown ? ")\n" : "\n");
    for (size_t i = 0; i < sizeof bars / sizeof *bars; i++) {
        if (summary->values[bars[i].share].is_present) {
            add_bar(summary, &bars[i], out);
        }
    }
}

void ntk_output_brief(const char *name, const char *path, uint64_t execution_count,
                      const struct ntk_summary *summary, const struct ntk_advice *advice,
                      struct ntk_buf *out)
{
    const struct ntk_summary_value *machine = &summary->values[NTK_SUMMARY_instance_type];

    ntk_buf_add_format(out, "%s%s%s\n\n", name, machine->is_present ? " on a " : "",
                       machine->is_present ? machine->text : "");
    if (execution_count > 1) {
        ntk_buf_add_format(out, "%-*s %14llu, figures cover all of them together\n", LABEL_WIDTH,
                           "Executions", (unsigned long long)execution_count);
    }
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        add_figure(summary, &figures[i], out);
    }
    add_bars(summary, out);
    ntk_buf_add_text(out, "\nFindings\n");
    if (!advice) {
        ntk_buf_add_text(out, "unknown: the capture does not contain the execution time\n");
        return;
    }
    struct ntk_advice few = *advice;

    few.count = few.count < FINDINGS ? few.count : FINDINGS;
    ntk_output_advice_text(&few, out);
    if (advice->count > few.count) {
        ntk_buf_add_format(out, "%zu more findings", advice->count - few.count);
    }
    ntk_buf_add_format(out, "%s:\n  neuron-profile analyze -s %s\n",
                       advice->count > few.count ? " and all tables" : "All tables", path);
}
