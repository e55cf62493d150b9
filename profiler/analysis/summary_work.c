/* SPDX-License-Identifier: MIT */
/* summary_work - compares operations and bytes with the peaks of the chip. */
#include "profiler/analysis/summary_private.h"

#include "profiler/analysis/onchip_traffic.h"
#include "shared/formats/neff/neff.h"

/* Adds every variable once, by name, over all subgraphs. */
static void get_sizes(const struct ntk_trace *trace, struct summary_work *work)
{
    for (size_t c = 0; c < trace->core_count; c++) {
        const struct ntk_neff_subgraph *subgraph = trace->cores[c].neff;
        for (uint32_t v = 0; subgraph && v < subgraph->var_count; v++) {
            const struct ntk_neff_var *var = &subgraph->vars[v];
            bool is_known = false;
            for (size_t b = 0; b < c && !is_known; b++) {
                is_known =
                    trace->cores[b].neff && (trace->cores[b].neff == subgraph ||
                                             ntk_neff_var_by_name(trace->cores[b].neff, var->name));
            }
            if (is_known) {
                continue;
            }
            work->inputs += var->type == NTK_NEFF_VAR_INPUT ? var->bytes_count : 0;
            work->outputs += var->type == NTK_NEFF_VAR_OUTPUT ? var->bytes_count : 0;
            work->weights += var->type == NTK_NEFF_VAR_FILE ? var->bytes_count : 0;
        }
    }
}

void summary_work_get(const struct ntk_trace *trace, const struct ntk_dma_traffic *traffic,
                      struct summary_work *out_work)
{
    uint64_t macs = 0;

    *out_work = (struct summary_work){ .has_sizes = trace->neff != NULL };
    ntk_analysis_matmul_flops(trace, &out_work->flops);
    ntk_analysis_hbm_traffic(trace, traffic, &out_work->hbm);
    if (trace->neff) {
        get_sizes(trace, out_work);
    }
    if (trace->neff && ntk_neff_model_macs(trace->neff, &macs)) {
        out_work->model_flops = 2 * macs;
    }
}

/* Fills hfu as a product with a 32-bit reciprocal, 2.4e-8 below the quotient. */
static void fill_hfu(struct summary_filler *f, uint64_t flops, double seconds)
{
    const struct ntk_trace *trace = f->trace;
    double per_peak = (double)(float)(1e12 / trace->chip.core_flops_per_second);

    summary_set_number(f, NTK_SUMMARY_hfu_estimated_percent,
                       (double)(float)flops / 1e12 / seconds * per_peak /
                           (double)trace->core_count);
}

static double most(double intensity, double ratio)
{
    return intensity / ratio < 1 ? intensity / ratio : 1;
}

/* Fills the limit by arithmetic intensity, for instructions and for the model. */
static void fill_most(struct summary_filler *f, const struct summary_work *work, double useful)
{
    const struct ntk_chip *chip = &f->trace->chip;
    double bytes = (double)(work->hbm.read_bytes + work->hbm.write_bytes);
    double ratio =
        (double)f->trace->core_count * (chip->core_flops_per_second / chip->hbm_bytes_per_second);
    double of_model = work->model_flops ? most((double)work->model_flops / bytes, ratio) : 0;

    if (!work->hbm.is_known || bytes <= 0) {
        return;
    }
    if (work->model_flops && f->trace->has_chip) {
        summary_set_number(f, NTK_SUMMARY_mfu_hlo_max_achievable_estimated_percent, of_model);
        summary_set_number(f, NTK_SUMMARY_mfu_max_achievable_estimated_percent, of_model);
    }
    if (!work->flops.is_known) {
        return;
    }
    summary_set_number(f, NTK_SUMMARY_mm_arithmetic_intensity, useful / bytes);
    if (f->trace->has_chip) {
        double of_instructions = most(useful / bytes, ratio);
        summary_set_number(f, NTK_SUMMARY_mfu_inst_max_achievable_estimated_percent,
                           of_instructions);
        summary_set_number(f, NTK_SUMMARY_mfu_max_achievable_estimated_percent,
                           work->model_flops ? of_model : of_instructions);
    }
}

static void fill_flops(struct summary_filler *f, const struct summary_work *work, double seconds)
{
    const struct ntk_matmul_flops *flops = &work->flops;
    bool is_adjusted = f->trace->metrics != NTK_METRICS_2_28;
    double peak = f->trace->chip.core_flops_per_second * (double)f->trace->core_count * seconds;
    double useful = (double)(flops->hardware_flops - flops->transpose_flops);
    bool has_peak = f->trace->has_chip && f->trace->has_total && peak > 0;

    if (has_peak && work->model_flops) {
        summary_set_share(f, NTK_SUMMARY_mfu_hlo_estimated_percent, (double)work->model_flops,
                          peak);
        summary_set_share(f, NTK_SUMMARY_mfu_estimated_percent, (double)work->model_flops, peak);
    }
    if (!flops->is_known) {
        return;
    }
    summary_set_count(f, NTK_SUMMARY_hardware_flops, flops->hardware_flops);
    summary_set_count(f, NTK_SUMMARY_transpose_flops, flops->transpose_flops);
    if (is_adjusted && flops->has_adjusted) {
        useful = (double)(flops->adjusted_hardware_flops - flops->adjusted_transpose_flops);
        summary_set_count(f, NTK_SUMMARY_adjusted_hardware_flops, flops->adjusted_hardware_flops);
        summary_set_count(f, NTK_SUMMARY_adjusted_transpose_flops, flops->adjusted_transpose_flops);
    }
    if (has_peak && (!is_adjusted || flops->has_adjusted)) {
        fill_hfu(f, is_adjusted ? flops->adjusted_hardware_flops : flops->hardware_flops, seconds);
        summary_set_share(f, NTK_SUMMARY_mfu_inst_estimated_percent, useful, peak);
        if (!work->model_flops) {
            summary_set_share(f, NTK_SUMMARY_mfu_estimated_percent, useful, peak);
        }
    }
}

static void fill_hbm(struct summary_filler *f, const struct ntk_hbm_traffic *hbm, double seconds)
{
    const struct ntk_trace *trace = f->trace;

    if (!hbm->is_known) {
        return;
    }
    summary_set_count(f, NTK_SUMMARY_hbm_read_bytes, hbm->read_bytes);
    summary_set_count(f, NTK_SUMMARY_hbm_write_bytes, hbm->write_bytes);
    if (hbm->has_spills && trace->metrics != NTK_METRICS_2_28) {
        summary_set_count(f, NTK_SUMMARY_spill_save_bytes, hbm->save_bytes);
        summary_set_count(f, NTK_SUMMARY_spill_reload_bytes, hbm->reload_bytes);
    }
    if (trace->has_chip && trace->has_total && seconds > 0) {
        summary_set_share(f, NTK_SUMMARY_mbu_estimated_percent,
                          (double)(hbm->read_bytes + hbm->write_bytes) / seconds,
                          trace->chip.hbm_bytes_per_second);
    }
}

static void fill_sizes(struct summary_filler *f, const struct summary_work *work, double seconds)
{
    const struct ntk_trace *trace = f->trace;
    uint64_t read_once = work->inputs + work->weights;

    summary_set_count(f, NTK_SUMMARY_weight_size_bytes, work->weights);
    summary_set_count(f, NTK_SUMMARY_inputs_and_weights_size_bytes, read_once);
    summary_set_count(f, NTK_SUMMARY_inputs_outputs_weights_size_bytes, read_once + work->outputs);
    if (trace->has_chip && trace->has_total && seconds > 0) {
        summary_set_share(f, NTK_SUMMARY_mbu_min_read_util_percent, (double)read_once / seconds,
                          trace->chip.hbm_bytes_per_second);
    }
}

void summary_fill_work(struct summary_filler *f, const struct summary_work *work)
{
    const struct ntk_chip *chip = &f->trace->chip;
    double seconds = (double)f->trace->total_ps / PS_PER_SECOND;

    summary_set_count(f, NTK_SUMMARY_model_flops, work->model_flops);
    if (!work->model_flops) {
        summary_set_number(f, NTK_SUMMARY_mfu_hlo_estimated_percent, 0);
        summary_set_number(f, NTK_SUMMARY_mfu_hlo_max_achievable_estimated_percent, 0);
    }
    if (f->trace->has_chip) {
        summary_set_number(f, NTK_SUMMARY_peak_flops_bandwidth_ratio,
                           chip->core_flops_per_second / chip->hbm_bytes_per_second);
    }
    fill_hbm(f, &work->hbm, seconds);
    fill_flops(f, work, seconds);
    /* Intensities use unadjusted operations in all versions. */
    fill_most(f, work, (double)(work->flops.hardware_flops - work->flops.transpose_flops));
    if (work->has_sizes) {
        fill_sizes(f, work, seconds);
    }
}

void summary_fill_onchip(struct summary_filler *f, const struct ntk_dma_traffic *dma)
{
    struct ntk_onchip_traffic traffic;

    ntk_analysis_onchip_traffic(f->trace, dma, &traffic);
    f->uncounted = traffic.uncounted;
    if (traffic.sbuf_is_known) {
        summary_set_count(f, NTK_SUMMARY_sbuf_read_bytes, traffic.sbuf_read_bytes);
        summary_set_count(f, NTK_SUMMARY_sbuf_write_bytes, traffic.sbuf_write_bytes);
    }
    if (traffic.psum_is_known) {
        summary_set_count(f, NTK_SUMMARY_psum_read_bytes, traffic.psum_read_bytes);
        summary_set_count(f, NTK_SUMMARY_psum_write_bytes, traffic.psum_write_bytes);
        summary_set_count(f, NTK_SUMMARY_psum_read_sbuf_write_count, traffic.psum_to_sbuf_count);
        summary_set_count(f, NTK_SUMMARY_psum_read_sbuf_write_bytes, traffic.psum_to_sbuf_bytes);
    }
}
