/* SPDX-License-Identifier: MIT */
/* summary - the results of the other analyses, as the metrics of summary.def. */
#include "profiler/analysis/summary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/dma_traffic.h"
#include "profiler/analysis/engine_activity.h"
#include "profiler/analysis/hbm_traffic.h"
#include "profiler/analysis/matmul_flops.h"
#include "profiler/analysis/onchip_traffic.h"
#include "profiler/analysis/prepared.h"
#include "profiler/analysis/queue_bytes.h"
#include "profiler/analysis/throttling.h"
#include "shared/base/str.h"
#include "shared/base/vec.h"
#include "shared/formats/neff/neff.h"

#define PS_PER_SECOND 1e12

static const struct {
    const char *name;
    enum ntk_summary_group group;
    enum ntk_summary_kind kind;
} metrics[NTK_SUMMARY_COUNT] = {
#define NTK_SUMMARY(name, group, kind, meaning) \
    { #name, NTK_SUMMARY_GROUP_##group, NTK_SUMMARY_KIND_##kind },
#include "profiler/analysis/summary.def"
};

struct filler {
    const struct ntk_trace *trace;
    struct ntk_vec values; /* struct ntk_summary_value, the metrics of the table first */
    int failed;
};

const char *ntk_summary_group_name(enum ntk_summary_group group)
{
    static const char *const names[NTK_SUMMARY_GROUP_COUNT] = { "overall_stats",
                                                                "data_movement",
                                                                "software_data_movement",
                                                                "hardware_data_movement",
                                                                "tensor_engine",
                                                                "vector_engine",
                                                                "scalar_engine",
                                                                "sync_engine",
                                                                "gpsimd_engine",
                                                                "cc_engine",
                                                                "system",
                                                                "throttling_nc0",
                                                                "throttling_nc1" };

    return group < NTK_SUMMARY_GROUP_COUNT ? names[group] : "";
}

/* ---- setting values ---- */

static struct ntk_summary_value *present(struct filler *f, enum ntk_summary_id id)
{
    struct ntk_summary_value *value = ntk_vec_at(&f->values, id);

    value->is_present = true;
    return value;
}

static void set_count(struct filler *f, enum ntk_summary_id id, uint64_t count)
{
    present(f, id)->count = count;
}

static void set_number(struct filler *f, enum ntk_summary_id id, double number)
{
    present(f, id)->number = number;
}

static void set_ps(struct filler *f, enum ntk_summary_id id, int64_t ps)
{
    set_number(f, id, (double)ps / PS_PER_SECOND);
}

/* Absent when there is nothing to divide by. */
static void set_share(struct filler *f, enum ntk_summary_id id, double part, double whole)
{
    if (whole > 0) {
        set_number(f, id, part / whole);
    }
}

/* As a quotient of seconds, which rounds as the vendor's does. */
static void set_ps_share(struct filler *f, enum ntk_summary_id id, int64_t part_ps,
                         int64_t whole_ps)
{
    set_share(f, id, (double)part_ps / PS_PER_SECOND, (double)whole_ps / PS_PER_SECOND);
}

static void set_text(struct filler *f, enum ntk_summary_id id, const char *text)
{
    if (text[0]) {
        struct ntk_summary_value *value = present(f, id);
        ntk_str_copy(value->text, sizeof value->text, text);
    }
}

static void set_extra(struct filler *f, enum ntk_summary_group group, enum ntk_summary_kind kind,
                      double number, uint64_t count, const char *name)
{
    struct ntk_summary_value *value = ntk_vec_add(&f->values);

    if (!value) {
        f->failed = -ENOMEM;
        return;
    }
    *value = (struct ntk_summary_value){
        .group = group, .kind = kind, .is_present = true, .number = number, .count = count
    };
    ntk_str_copy(value->name, sizeof value->name, name);
}

/* ---- the groups ---- */

static void fill_times(struct filler *f, const struct ntk_activity *activity)
{
    const struct ntk_trace *trace = f->trace;
    uint64_t instructions = 0;

    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        instructions += activity->engines[e].instruction_count;
    }
    set_count(f, NTK_SUMMARY_event_count, activity->event_count);
    set_count(f, NTK_SUMMARY_trace_count,
              instructions + activity->event_count + activity->packet_count);
    /* Collectives count as activity, and their records cannot be read yet. */
    if (!trace->has_collectives) {
        set_ps(f, NTK_SUMMARY_total_active_time, activity->total_active_ps);
    }
    if (!trace->has_total) {
        return;
    }
    set_ps(f, NTK_SUMMARY_total_time, trace->total_ps);
    if (!trace->has_collectives) {
        set_ps_share(f, NTK_SUMMARY_total_active_time_percent, activity->total_active_ps,
                     trace->total_ps);
    }
    if (trace->has_chip) {
        __extension__ unsigned __int128 cycles = (unsigned __int128)trace->total_ps;
        set_count(f, NTK_SUMMARY_neuroncore_cycle_count,
                  (uint64_t)(cycles * trace->chip.base_mhz / 1000000));
    }
}

static void fill_engines(struct filler *f, const struct ntk_activity *activity)
{
    static const struct {
        enum ntk_summary_id count, instruction_time, active_time, active_share;
    } ids[NTK_NTFF_ENGINE_COUNT] = {
#define IDS(e)                                                                               \
    { NTK_SUMMARY_##e##_engine_instruction_count, NTK_SUMMARY_##e##_engine_instruction_time, \
      NTK_SUMMARY_##e##_engine_active_time, NTK_SUMMARY_##e##_engine_active_time_percent }
        IDS(tensor), IDS(scalar), IDS(gpsimd), IDS(vector), IDS(sync),
#undef IDS
    };

    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        const struct ntk_engine_activity *engine = &activity->engines[e];
        set_count(f, ids[e].count, engine->instruction_count);
        set_ps(f, ids[e].instruction_time, engine->instruction_ps);
        set_ps(f, ids[e].active_time, engine->active_ps);
        if (f->trace->has_total) {
            set_ps_share(f, ids[e].active_share, engine->active_ps, f->trace->total_ps);
        }
    }
    set_count(f, NTK_SUMMARY_matmul_instruction_count, activity->matmul_count);
    set_count(f, NTK_SUMMARY_activate_instruction_count, activity->activate_count);
    set_ps(f, NTK_SUMMARY_activate_instruction_time, activity->activate_ps);
}

struct dma_ids {
    enum ntk_summary_id time, time_share, packets, packet_share, size, size_share;
};

static void fill_dma_share(struct filler *f, const struct dma_ids *ids,
                           const struct ntk_dma_share *part, const struct ntk_dma_share *all)
{
    set_ps(f, ids->time, part->active_ps);
    set_count(f, ids->packets, part->packet_count);
    set_count(f, ids->size, part->bytes_count);
    set_ps_share(f, ids->time_share, part->active_ps, all->active_ps);
    set_share(f, ids->packet_share, (double)part->packet_count, (double)all->packet_count);
    set_share(f, ids->size_share, (double)part->bytes_count, (double)all->bytes_count);
}

/* Where nothing is prepared the original has two zeros. */
static void fill_prepared(struct filler *f, const struct ntk_dma_traffic *traffic)
{
    struct ntk_prepared prepared = { 0 };

    if (ntk_dma_prepared_packets(traffic) == 0) {
        set_number(f, NTK_SUMMARY_dma_transfer_time, 0);
        set_number(f, NTK_SUMMARY_dma_transfer_average_bytes, 0);
        return;
    }
    int ret = f->trace->neff ? ntk_analysis_prepared(f->trace, &prepared) : 0;
    if (ret < 0) {
        f->failed = ret;
    }
    if (prepared.is_known) {
        set_count(f, NTK_SUMMARY_dma_transfer_count, prepared.count);
        set_count(f, NTK_SUMMARY_dma_transfer_total_bytes, prepared.bytes_count);
        set_ps(f, NTK_SUMMARY_dma_transfer_time, prepared.sum_ps);
        set_number(f, NTK_SUMMARY_dma_transfer_average_bytes,
                   (double)prepared.bytes_count / (double)prepared.count);
    }
}

static void fill_dma(struct filler *f, const struct ntk_dma_traffic *traffic)
{
#define IDS(k)                                                                        \
    {                                                                                 \
        NTK_SUMMARY_##k##_dma_active_time, NTK_SUMMARY_##k##_dma_active_time_percent, \
            NTK_SUMMARY_##k##_dma_packet_count, NTK_SUMMARY_##k##_dma_packet_percent, \
            NTK_SUMMARY_##k##_dma_size, NTK_SUMMARY_##k##_dma_size_percent            \
    }
    static const struct dma_ids fixed = IDS(static);
    static const struct dma_ids software = IDS(software_dynamic);
    static const struct dma_ids hardware = IDS(hardware_dynamic);
#undef IDS
    const struct ntk_trace *trace = f->trace;

    set_ps(f, NTK_SUMMARY_dma_active_time, traffic->all.active_ps);
    set_ps(f, NTK_SUMMARY_dma_packet_time, traffic->packet_ps);
    set_count(f, NTK_SUMMARY_dma_queue_count, traffic->queue_count);
    if (trace->has_total) {
        set_ps_share(f, NTK_SUMMARY_dma_active_time_percent, traffic->all.active_ps,
                     trace->total_ps);
    }
    if (trace->has_chip) {
        __extension__ unsigned __int128 cycles = (unsigned __int128)traffic->all.active_ps;
        set_count(f, NTK_SUMMARY_dma_active_cycles,
                  (uint64_t)(cycles * trace->chip.base_mhz / 1000000));
    }
    fill_dma_share(f, &fixed, &traffic->fixed, &traffic->all);
    fill_dma_share(f, &software, &traffic->classes[NTK_TRACE_DMA_SOFTWARE_DYNAMIC], &traffic->all);
    fill_dma_share(f, &hardware, &traffic->classes[NTK_TRACE_DMA_HARDWARE_DYNAMIC], &traffic->all);
    /* The vendor adds the two and keeps what overlaps twice. */
    const struct ntk_dma_share *soft = &traffic->classes[NTK_TRACE_DMA_SOFTWARE_DYNAMIC];
    const struct ntk_dma_share *hard = &traffic->classes[NTK_TRACE_DMA_HARDWARE_DYNAMIC];
    set_share(f, NTK_SUMMARY_dynamic_dma_active_time_percent,
              (double)soft->active_ps / PS_PER_SECOND + (double)hard->active_ps / PS_PER_SECOND,
              (double)traffic->all.active_ps / PS_PER_SECOND);
    set_share(f, NTK_SUMMARY_dynamic_dma_packet_percent,
              (double)(soft->packet_count + hard->packet_count), (double)traffic->all.packet_count);
    set_share(f, NTK_SUMMARY_dynamic_dma_size_percent,
              (double)(soft->bytes_count + hard->bytes_count), (double)traffic->all.bytes_count);
    fill_prepared(f, traffic);
    struct ntk_queue_bytes queues;
    ntk_analysis_queue_bytes(trace, &queues);
    if (queues.is_known) {
        set_count(f, NTK_SUMMARY_input_queue_bytes, queues.input_bytes);
        set_count(f, NTK_SUMMARY_output_queue_bytes, queues.output_bytes);
        set_count(f, NTK_SUMMARY_weight_queue_bytes, queues.weight_bytes);
    }
}

struct sizes {
    uint64_t inputs, outputs, weights;
};

/* Every variable once, by name, over all subgraphs. */
static struct sizes neff_sizes(const struct ntk_trace *trace)
{
    struct sizes sizes = { 0 };

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
            sizes.inputs += var->type == NTK_NEFF_VAR_INPUT ? var->bytes_count : 0;
            sizes.outputs += var->type == NTK_NEFF_VAR_OUTPUT ? var->bytes_count : 0;
            sizes.weights += var->type == NTK_NEFF_VAR_FILE ? var->bytes_count : 0;
        }
    }
    return sizes;
}

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

static void fill_roofline(struct filler *f, const struct ntk_matmul_flops *flops,
                          const struct ntk_hbm_traffic *hbm)
{
    const struct ntk_trace *trace = f->trace;
    const struct ntk_chip *chip = &trace->chip;
    double seconds = (double)trace->total_ps / PS_PER_SECOND;
    double hbm_bytes = (double)(hbm->read_bytes + hbm->write_bytes);
    double peak_flops = chip->core_flops_per_second * (double)trace->core_count * seconds;
    double stack_bytes = chip->hbm_bytes_per_second * seconds;

    /* Statistics of the compiler are in no NEFF that can be read. */
    set_count(f, NTK_SUMMARY_model_flops, 0);
    set_number(f, NTK_SUMMARY_mfu_hlo_estimated_percent, 0);
    set_number(f, NTK_SUMMARY_mfu_hlo_max_achievable_estimated_percent, 0);
    if (trace->has_chip) {
        set_number(f, NTK_SUMMARY_peak_flops_bandwidth_ratio,
                   chip->core_flops_per_second / chip->hbm_bytes_per_second);
    }
    if (hbm->is_known) {
        set_count(f, NTK_SUMMARY_hbm_read_bytes, hbm->read_bytes);
        set_count(f, NTK_SUMMARY_hbm_write_bytes, hbm->write_bytes);
        if (trace->has_chip && trace->has_total) {
            set_share(f, NTK_SUMMARY_mbu_estimated_percent, hbm_bytes, stack_bytes);
        }
    }
    if (flops->is_known) {
        double useful = (double)(flops->hardware_flops - flops->transpose_flops);
        set_count(f, NTK_SUMMARY_hardware_flops, flops->hardware_flops);
        set_count(f, NTK_SUMMARY_transpose_flops, flops->transpose_flops);
        if (trace->has_chip && trace->has_total) {
            set_share(f, NTK_SUMMARY_hfu_estimated_percent, (double)flops->hardware_flops,
                      peak_flops);
            set_share(f, NTK_SUMMARY_mfu_inst_estimated_percent, useful, peak_flops);
            set_share(f, NTK_SUMMARY_mfu_estimated_percent, useful, peak_flops);
        }
        if (hbm->is_known && hbm_bytes > 0) {
            set_number(f, NTK_SUMMARY_mm_arithmetic_intensity, useful / hbm_bytes);
            if (trace->has_chip) {
                double ratio = chip->core_flops_per_second / chip->hbm_bytes_per_second;
                double most = lesser(1, useful / hbm_bytes / ((double)trace->core_count * ratio));
                set_number(f, NTK_SUMMARY_mfu_inst_max_achievable_estimated_percent, most);
                set_number(f, NTK_SUMMARY_mfu_max_achievable_estimated_percent, most);
            }
        }
    }
    if (trace->neff) {
        struct sizes sizes = neff_sizes(trace);
        set_count(f, NTK_SUMMARY_weight_size_bytes, sizes.weights);
        set_count(f, NTK_SUMMARY_inputs_and_weights_size_bytes, sizes.inputs + sizes.weights);
        set_count(f, NTK_SUMMARY_inputs_outputs_weights_size_bytes,
                  sizes.inputs + sizes.outputs + sizes.weights);
        if (trace->has_chip && trace->has_total) {
            set_share(f, NTK_SUMMARY_mbu_min_read_util_percent,
                      (double)(sizes.inputs + sizes.weights), stack_bytes);
        }
    }
}

static void fill_onchip(struct filler *f, const struct ntk_dma_traffic *dma)
{
    struct ntk_onchip_traffic traffic;

    ntk_analysis_onchip_traffic(f->trace, dma, &traffic);
    if (traffic.is_known) {
        set_count(f, NTK_SUMMARY_sbuf_read_bytes, traffic.sbuf_read_bytes);
        set_count(f, NTK_SUMMARY_sbuf_write_bytes, traffic.sbuf_write_bytes);
        set_count(f, NTK_SUMMARY_psum_read_bytes, traffic.psum_read_bytes);
        set_count(f, NTK_SUMMARY_psum_write_bytes, traffic.psum_write_bytes);
        set_count(f, NTK_SUMMARY_psum_read_sbuf_write_count, traffic.psum_to_sbuf_count);
        set_count(f, NTK_SUMMARY_psum_read_sbuf_write_bytes, traffic.psum_to_sbuf_bytes);
    }
}

static void set_version(struct filler *f, enum ntk_summary_id id,
                        const struct ntk_ntff_version *version, bool has_patch, size_t git_digits)
{
    char text[96];

    if (!version->present) {
        return;
    }
    snprintf(text, sizeof text, "%llu.%llu.%llu (%.*s)", (unsigned long long)version->major,
             (unsigned long long)version->minor,
             (unsigned long long)(has_patch ? version->patch : 0), (int)git_digits, version->git);
    set_text(f, id, text);
}

static void fill_system(struct filler *f)
{
    const struct ntk_ntff *ntff = f->trace->ntff;
    uint64_t core_sum = 0;

    for (size_t c = 0; c < f->trace->core_count; c++) {
        core_sum += f->trace->cores[c].ntff->core;
    }
    set_count(f, NTK_SUMMARY_nd_idx, 0); /* a capture counts cores inside of their device */
    set_count(f, NTK_SUMMARY_nc_idx, core_sum);
    set_text(f, NTK_SUMMARY_instance_type, ntff->instance_type);
    set_version(f, NTK_SUMMARY_runtime_version, &ntff->runtime, true, 5);
    set_version(f, NTK_SUMMARY_driver_version, &ntff->driver, true, 5);
    set_version(f, NTK_SUMMARY_collectives_version, &ntff->collectives, true, 5);
    if (f->trace->neff) {
        set_text(f, NTK_SUMMARY_compiler_version, f->trace->neff->info.tool_version);
    }
    set_text(f, NTK_SUMMARY_profiler_version, "neuron-profile " NTK_VERSION);
}

static void fill_collectives(struct filler *f)
{
    if (f->trace->has_collectives) {
        return; /* their records cannot be read yet: absent, not zero */
    }
    set_count(f, NTK_SUMMARY_cc_op_count, 0);
    set_number(f, NTK_SUMMARY_cc_op_time, 0);
    set_number(f, NTK_SUMMARY_cc_op_active_time, 0);
    set_number(f, NTK_SUMMARY_cc_op_active_time_percent, 0);
    set_count(f, NTK_SUMMARY_cc_cores_instruction_count, 0);
    set_number(f, NTK_SUMMARY_cc_cores_instruction_time, 0);
    set_number(f, NTK_SUMMARY_cc_cores_instruction_active_time, 0);
    set_number(f, NTK_SUMMARY_cc_cores_instruction_active_time_percent, 0);
}

static void fill_throttling(struct filler *f, unsigned nc)
{
    enum ntk_summary_group group = NTK_SUMMARY_GROUP_THROTTLING_NC0 + nc;
    struct ntk_throttling throttling;
    char name[72];

    ntk_analysis_throttling(&f->trace->cores[nc], &throttling);
    if (!throttling.is_present || throttling.end_ns <= 0) {
        return;
    }
    snprintf(name, sizeof name, "throttle_active_nc%u_time_ns", nc);
    set_extra(f, group, NTK_SUMMARY_KIND_COUNT, 0, (uint64_t)throttling.limited_ns, name);
    snprintf(name, sizeof name, "throttle_avg_util_limit_nc%u_percent", nc);
    set_extra(f, group, NTK_SUMMARY_KIND_FRACTION, throttling.limit_ns / (double)throttling.end_ns,
              0, name);
    for (unsigned t = 0; t < NTK_THROTTLE_TYPES; t++) {
        const struct ntk_throttle_type *type = &throttling.types[t];
        if (type->count == 0) {
            continue;
        }
        snprintf(name, sizeof name, "throttle_%s_active_time_nc%u_percent",
                 ntk_throttle_type_name(t), nc);
        set_extra(f, group, NTK_SUMMARY_KIND_FRACTION,
                  (double)type->duration_ns / (double)throttling.end_ns, 0, name);
        if (type->duration_ns > 0) {
            snprintf(name, sizeof name, "throttle_%s_avg_util_limit_nc%u_percent",
                     ntk_throttle_type_name(t), nc);
            set_extra(f, group, NTK_SUMMARY_KIND_FRACTION,
                      type->limit_ns / (double)type->duration_ns, 0, name);
        }
    }
}

/* Only of a part, so that the summary of an execution stays as it is. */
static void fill_part(struct filler *f)
{
    const struct ntk_trace *trace = f->trace;

    if (trace->is_part) {
        set_extra(f, NTK_SUMMARY_GROUP_OVERALL, NTK_SUMMARY_KIND_SECONDS,
                  (double)trace->part.from_ps / PS_PER_SECOND, 0, "window_start");
        set_extra(f, NTK_SUMMARY_GROUP_OVERALL, NTK_SUMMARY_KIND_SECONDS,
                  (double)trace->part.to_ps / PS_PER_SECOND, 0, "window_end");
    }
}

static void leave_out(struct filler *f, enum ntk_summary_id first, enum ntk_summary_id last)
{
    for (size_t id = first; id <= last; id++) {
        struct ntk_summary_value *value = ntk_vec_at(&f->values, id);
        value->is_present = false;
    }
}

/* What records in a file that was cut off add up to is less than there was: absent, not less. */
static void leave_out_cut(struct filler *f)
{
    const struct ntk_trace *trace = f->trace;

    if (trace->is_cut.instructions || trace->is_cut.packets) {
        leave_out(f, NTK_SUMMARY_total_active_time, NTK_SUMMARY_total_active_time_percent);
    }
    if (trace->is_cut.instructions || trace->is_cut.packets || trace->is_cut.events) {
        leave_out(f, NTK_SUMMARY_trace_count, NTK_SUMMARY_trace_count);
    }
    if (trace->is_cut.events) {
        leave_out(f, NTK_SUMMARY_event_count, NTK_SUMMARY_event_count);
    }
    if (trace->is_cut.packets) {
        leave_out(f, NTK_SUMMARY_dma_active_time, NTK_SUMMARY_dma_packet_time);
        leave_out(f, NTK_SUMMARY_dma_transfer_count, NTK_SUMMARY_hardware_dynamic_dma_size_percent);
    }
    if (trace->is_cut.instructions) {
        leave_out(f, NTK_SUMMARY_tensor_engine_instruction_count,
                  NTK_SUMMARY_matmul_instruction_count);
        leave_out(f, NTK_SUMMARY_vector_engine_instruction_count,
                  NTK_SUMMARY_gpsimd_engine_active_time_percent);
    }
}

int ntk_analysis_summary(const struct ntk_trace *trace, struct ntk_summary *out_summary)
{
    struct filler f = { .trace = trace, .values = NTK_VEC_INIT(struct ntk_summary_value) };
    struct ntk_activity activity;
    struct ntk_dma_traffic traffic;
    struct ntk_matmul_flops flops;
    struct ntk_hbm_traffic hbm;
    struct ntk_summary_value *values = ntk_vec_add_many(&f.values, NTK_SUMMARY_COUNT);

    if (!values) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < NTK_SUMMARY_COUNT; i++) {
        ntk_str_copy(values[i].name, sizeof values[i].name, metrics[i].name);
        values[i].group = metrics[i].group;
        values[i].kind = metrics[i].kind;
    }
    ntk_analysis_engine_activity(trace, &activity);
    ntk_analysis_dma_traffic(trace, &traffic);
    ntk_analysis_matmul_flops(trace, &flops);
    ntk_analysis_hbm_traffic(trace, &traffic, &hbm);
    fill_times(&f, &activity);
    fill_engines(&f, &activity);
    fill_dma(&f, &traffic);
    fill_roofline(&f, &flops, &hbm);
    fill_onchip(&f, &traffic);
    fill_system(&f);
    fill_collectives(&f);
    leave_out_cut(&f);
    fill_part(&f);
    for (unsigned nc = 0; nc < 2 && nc < trace->core_count; nc++) {
        fill_throttling(&f, nc);
    }
    if (f.failed) {
        ntk_vec_fini(&f.values);
        return f.failed;
    }
    out_summary->values = f.values.items;
    out_summary->value_count = f.values.count;
    return 0;
}

void ntk_summary_fini(struct ntk_summary *summary)
{
    free(summary->values);
    *summary = (struct ntk_summary){ 0 };
}
