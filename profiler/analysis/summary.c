/* SPDX-License-Identifier: MIT */
/* summary - converts the results of other analyses to the metrics of summary.def. */
#include "profiler/analysis/summary_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/queue_bytes.h"
#include "shared/base/str.h"
#include "shared/formats/neff/neff.h"

static const struct {
    const char *name;
    enum ntk_summary_group group;
    enum ntk_summary_kind kind;
} metrics[NTK_SUMMARY_COUNT] = {
#define NTK_SUMMARY(name, group, kind, meaning) \
    { #name, NTK_SUMMARY_GROUP_##group, NTK_SUMMARY_KIND_##kind },
#include "profiler/analysis/summary.def"
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

static struct ntk_summary_value *summary_present(struct summary_filler *f, enum ntk_summary_id id)
{
    struct ntk_summary_value *value = ntk_vec_at(&f->values, id);

    value->is_present = true;
    return value;
}

void summary_set_count(struct summary_filler *f, enum ntk_summary_id id, uint64_t count)
{
    summary_present(f, id)->count = count;
}

void summary_set_number(struct summary_filler *f, enum ntk_summary_id id, double number)
{
    summary_present(f, id)->number = number;
}

void summary_set_ps(struct summary_filler *f, enum ntk_summary_id id, int64_t ps)
{
    summary_set_number(f, id, (double)ps / PS_PER_SECOND);
}

void summary_set_share(struct summary_filler *f, enum ntk_summary_id id, double part, double whole)
{
    if (whole > 0) {
        summary_set_number(f, id, part / whole);
    }
}

void summary_set_ps_share(struct summary_filler *f, enum ntk_summary_id id, int64_t part_ps,
                          int64_t whole_ps)
{
    summary_set_share(f, id, (double)part_ps / PS_PER_SECOND, (double)whole_ps / PS_PER_SECOND);
}

void summary_set_text(struct summary_filler *f, enum ntk_summary_id id, const char *text)
{
    if (text[0]) {
        struct ntk_summary_value *value = summary_present(f, id);
        ntk_str_copy(value->text, sizeof value->text, text);
    }
}

void summary_set_extra(struct summary_filler *f, enum ntk_summary_group group,
                       enum ntk_summary_kind kind, double number, uint64_t count, const char *name)
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

void summary_set_cycles(struct summary_filler *f, enum ntk_summary_id id, int64_t ps)
{
    float per_ns = (float)((double)f->trace->chip.base_mhz / 1e3);

    if (f->trace->has_chip) {
        summary_set_count(f, id, (uint64_t)((float)ps * per_ns / 1000.0f));
    }
}

void summary_fill_times(struct summary_filler *f, const struct ntk_activity *activity,
                        const struct ntk_transfer_sums *transfers)
{
    const struct ntk_trace *trace = f->trace;
    bool is_2_28 = trace->metrics == NTK_METRICS_2_28;
    uint64_t rows = activity->event_count + activity->packet_count;

    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        rows += activity->engines[e].instruction_count;
    }
    rows += !is_2_28 && transfers->is_known ? transfers->count : 0;
    summary_set_count(f, NTK_SUMMARY_event_count, activity->event_count);
    summary_set_count(f, NTK_SUMMARY_trace_count, rows);
    if (!is_2_28 && activity->has_exec) {
        summary_set_ps(f, NTK_SUMMARY_total_exec_time,
                       activity->exec_end_ps - activity->exec_start_ps);
    }
    /* Collectives count as activity, but their records are not supported yet. */
    if (!trace->has_collectives) {
        summary_set_ps(f, NTK_SUMMARY_total_active_time, activity->total_active_ps);
    }
    if (!trace->has_total) {
        return;
    }
    summary_set_ps(f, NTK_SUMMARY_total_time, trace->total_ps);
    if (!trace->has_collectives) {
        summary_set_ps_share(f, NTK_SUMMARY_total_active_time_percent, activity->total_active_ps,
                             trace->total_ps);
    }
    summary_set_cycles(f, NTK_SUMMARY_neuroncore_cycle_count, trace->total_ps);
}

static void fill_engines(struct summary_filler *f, const struct ntk_activity *activity)
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
        summary_set_count(f, ids[e].count, engine->instruction_count);
        summary_set_ps(f, ids[e].instruction_time, engine->instruction_ps);
        summary_set_ps(f, ids[e].active_time, engine->active_ps);
        if (f->trace->has_total) {
            summary_set_ps_share(f, ids[e].active_share, engine->active_ps, f->trace->total_ps);
        }
    }
    summary_set_count(f, NTK_SUMMARY_matmul_instruction_count, activity->matmul_count);
    summary_set_count(f, NTK_SUMMARY_activate_instruction_count, activity->activate_count);
    summary_set_ps(f, NTK_SUMMARY_activate_instruction_time, activity->activate_ps);
}

struct dma_ids {
    enum ntk_summary_id time, time_share, packets, packet_share, size, size_share;
};

static void fill_dma_share(struct summary_filler *f, const struct dma_ids *ids,
                           const struct ntk_dma_share *part, const struct ntk_dma_share *all)
{
    const struct ntk_trace *trace = f->trace;

    summary_set_ps(f, ids->time, part->active_ps);
    summary_set_count(f, ids->packets, part->packet_count);
    summary_set_count(f, ids->size, part->bytes_count);
    if (trace->metrics == NTK_METRICS_2_28) {
        summary_set_ps_share(f, ids->time_share, part->active_ps, all->active_ps);
    } else if (trace->has_total) {
        summary_set_ps_share(f, ids->time_share, part->active_ps, trace->total_ps);
    }
    summary_set_share(f, ids->packet_share, (double)part->packet_count, (double)all->packet_count);
    summary_set_share(f, ids->size_share, (double)part->bytes_count, (double)all->bytes_count);
}

void summary_fill_transfers(struct summary_filler *f, const struct ntk_transfer_sums *transfers)
{
    if (transfers->is_known) {
        summary_set_count(f, NTK_SUMMARY_dma_transfer_count, transfers->count);
        summary_set_count(f, NTK_SUMMARY_dma_transfer_total_bytes, transfers->bytes_count);
        summary_set_number(
            f, NTK_SUMMARY_dma_transfer_average_bytes,
            transfers->count ? (double)transfers->bytes_count / (double)transfers->count : 0);
    }
    if (transfers->is_known && transfers->has_time) {
        summary_set_ps(f, NTK_SUMMARY_dma_transfer_time, transfers->sum_ps);
    }
}

/* Gets prepared transfers, which 2.28 counts; without any there are two zeros. */
static void get_transfers(struct summary_filler *f, const struct ntk_dma_traffic *traffic,
                          struct ntk_transfer_sums *transfers)
{
    bool is_2_28 = f->trace->metrics == NTK_METRICS_2_28;
    int ret = 0;

    *transfers = (struct ntk_transfer_sums){ 0 };
    if (is_2_28 && ntk_dma_prepared_packets(traffic) == 0) {
        summary_set_number(f, NTK_SUMMARY_dma_transfer_time, 0);
        summary_set_number(f, NTK_SUMMARY_dma_transfer_average_bytes, 0);
        return;
    }
    if (!is_2_28 || f->trace->neff) {
        ret = ntk_analysis_transfer_sums(f->trace, f->program, traffic, transfers);
    }
    if (ret < 0) {
        f->failed = ret;
    }
}

/* Fills figures of dynamic DMA; 2.28 adds the shares of the two kinds, so it counts overlaps
 * twice. */
static void fill_dynamic(struct summary_filler *f, const struct ntk_dma_traffic *traffic)
{
    const struct ntk_dma_share *soft = &traffic->classes[NTK_TRACE_DMA_SOFTWARE_DYNAMIC];
    const struct ntk_dma_share *hard = &traffic->classes[NTK_TRACE_DMA_HARDWARE_DYNAMIC];
    double packets = (double)traffic->all.packet_count;
    double bytes = (double)traffic->all.bytes_count;

    if (f->trace->metrics == NTK_METRICS_2_28) {
        summary_set_share(f, NTK_SUMMARY_dynamic_dma_active_time_percent,
                          (double)soft->active_ps / PS_PER_SECOND +
                              (double)hard->active_ps / PS_PER_SECOND,
                          (double)traffic->all.active_ps / PS_PER_SECOND);
        summary_set_share(f, NTK_SUMMARY_dynamic_dma_packet_percent,
                          (double)(soft->packet_count + hard->packet_count), packets);
        summary_set_share(f, NTK_SUMMARY_dynamic_dma_size_percent,
                          (double)(soft->bytes_count + hard->bytes_count), bytes);
        return;
    }
    if (f->trace->has_total) {
        summary_set_ps_share(f, NTK_SUMMARY_dynamic_dma_active_time_percent,
                             traffic->dynamic.active_ps, f->trace->total_ps);
    }
    if (packets > 0) {
        summary_set_number(f, NTK_SUMMARY_dynamic_dma_packet_percent,
                           1 - (double)traffic->fixed.packet_count / packets);
    }
    if (bytes > 0) {
        summary_set_number(f, NTK_SUMMARY_dynamic_dma_size_percent,
                           1 - (double)traffic->fixed.bytes_count / bytes);
    }
}

void summary_fill_dma(struct summary_filler *f, const struct ntk_dma_traffic *traffic)
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

    summary_set_ps(f, NTK_SUMMARY_dma_active_time, traffic->all.active_ps);
    summary_set_ps(f, NTK_SUMMARY_dma_packet_time, traffic->packet_ps);
    summary_set_count(f, NTK_SUMMARY_dma_queue_count, traffic->queue_count);
    if (trace->has_total) {
        summary_set_ps_share(f, NTK_SUMMARY_dma_active_time_percent, traffic->all.active_ps,
                             trace->total_ps);
    }
    summary_set_cycles(f, NTK_SUMMARY_dma_active_cycles, traffic->all.active_ps);
    fill_dma_share(f, &fixed, &traffic->fixed, &traffic->all);
    fill_dma_share(f, &software, &traffic->classes[NTK_TRACE_DMA_SOFTWARE_DYNAMIC], &traffic->all);
    fill_dma_share(f, &hardware, &traffic->classes[NTK_TRACE_DMA_HARDWARE_DYNAMIC], &traffic->all);
    fill_dynamic(f, traffic);
}

static void fill_queues(struct summary_filler *f, const struct ntk_dma_traffic *traffic)
{
    struct ntk_queue_bytes queues;

    ntk_analysis_queue_bytes(f->trace, traffic, &queues);
    if (queues.is_known) {
        summary_set_count(f, NTK_SUMMARY_input_queue_bytes, queues.input_bytes);
        summary_set_count(f, NTK_SUMMARY_output_queue_bytes, queues.output_bytes);
        summary_set_count(f, NTK_SUMMARY_weight_queue_bytes, queues.weight_bytes);
    }
}

static void set_version(struct summary_filler *f, enum ntk_summary_id id,
                        const struct ntk_ntff_version *version, bool has_patch, size_t git_digits)
{
    char text[96];

    if (!version->present) {
        return;
    }
    snprintf(text, sizeof text, "%llu.%llu.%llu (%.*s)", (unsigned long long)version->major,
             (unsigned long long)version->minor,
             (unsigned long long)(has_patch ? version->patch : 0), (int)git_digits, version->git);
    summary_set_text(f, id, text);
}

static void fill_system(struct summary_filler *f)
{
    const struct ntk_ntff *ntff = f->trace->ntff;
    uint64_t core_sum = 0;

    for (size_t c = 0; c < f->trace->core_count; c++) {
        core_sum += f->trace->cores[c].ntff->core;
    }
    summary_set_count(f, NTK_SUMMARY_nd_idx, 0); /* captures number cores within their device */
    summary_set_count(f, NTK_SUMMARY_nc_idx, core_sum);
    summary_set_text(f, NTK_SUMMARY_instance_type, ntff->instance_type);
    set_version(f, NTK_SUMMARY_runtime_version, &ntff->runtime, true, 5);
    set_version(f, NTK_SUMMARY_driver_version, &ntff->driver, true, 5);
    set_version(f, NTK_SUMMARY_collectives_version, &ntff->collectives, true, 5);
    if (f->trace->neff) {
        summary_set_text(f, NTK_SUMMARY_compiler_version, f->trace->neff->info.tool_version);
        if (f->trace->metrics != NTK_METRICS_2_28) {
            summary_set_text(f, NTK_SUMMARY_nki_version, f->trace->neff->info.nki_version);
        }
    }
    summary_set_text(f, NTK_SUMMARY_profiler_version, "neuron-profile " NTK_VERSION);
}

static void fill_collectives(struct summary_filler *f)
{
    if (f->trace->has_collectives) {
        return; /* collective records are not supported yet: absent, not zero */
    }
    summary_set_count(f, NTK_SUMMARY_cc_op_count, 0);
    summary_set_number(f, NTK_SUMMARY_cc_op_time, 0);
    summary_set_number(f, NTK_SUMMARY_cc_op_active_time, 0);
    summary_set_number(f, NTK_SUMMARY_cc_op_active_time_percent, 0);
    summary_set_count(f, NTK_SUMMARY_cc_cores_instruction_count, 0);
    summary_set_number(f, NTK_SUMMARY_cc_cores_instruction_time, 0);
    summary_set_number(f, NTK_SUMMARY_cc_cores_instruction_active_time, 0);
    summary_set_number(f, NTK_SUMMARY_cc_cores_instruction_active_time_percent, 0);
}

/* Fills figures that exist only for a partial capture, so that the summary of an execution is
 * unchanged. */
static void fill_part(struct summary_filler *f)
{
    const struct ntk_trace *trace = f->trace;

    if (trace->is_part) {
        summary_set_extra(f, NTK_SUMMARY_GROUP_OVERALL, NTK_SUMMARY_KIND_SECONDS,
                          (double)trace->part.from_ps / PS_PER_SECOND, 0, "window_start");
        summary_set_extra(f, NTK_SUMMARY_GROUP_OVERALL, NTK_SUMMARY_KIND_SECONDS,
                          (double)trace->part.to_ps / PS_PER_SECOND, 0, "window_end");
    }
}

static void leave_out(struct summary_filler *f, enum ntk_summary_id first, enum ntk_summary_id last)
{
    for (size_t id = first; id <= last; id++) {
        struct ntk_summary_value *value = ntk_vec_at(&f->values, id);
        value->is_present = false;
    }
}

/* Removes sums of a truncated file, because they would be too low. */
static void leave_out_cut(struct summary_filler *f)
{
    const struct ntk_trace *trace = f->trace;
    bool has_no_packets =
        f->program ? ntk_program_lacks_packets(f->program) : trace->is_cut.packets;

    for (size_t id = 0; id < NTK_SUMMARY_COUNT && trace->core_count == 0; id++) {
        struct ntk_summary_value *value = ntk_vec_at(&f->values, id);
        value->is_present = value->is_present && value->kind == NTK_SUMMARY_KIND_TEXT;
    }
    if (trace->is_cut.instructions || has_no_packets) {
        leave_out(f, NTK_SUMMARY_total_exec_time, NTK_SUMMARY_total_active_time_percent);
    }
    if (trace->is_cut.instructions || trace->is_cut.packets || trace->is_cut.events) {
        leave_out(f, NTK_SUMMARY_trace_count, NTK_SUMMARY_trace_count);
        leave_out(f, NTK_SUMMARY_cc_op_count, NTK_SUMMARY_cc_cores_instruction_active_time_percent);
    }
    if (trace->is_cut.events) {
        leave_out(f, NTK_SUMMARY_event_count, NTK_SUMMARY_event_count);
    }
    if (has_no_packets) {
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

int summary_begin(struct summary_filler *f, const struct ntk_trace *trace)
{
    *f =
        (struct summary_filler){ .trace = trace, .values = NTK_VEC_INIT(struct ntk_summary_value) };
    struct ntk_summary_value *values = ntk_vec_add_many(&f->values, NTK_SUMMARY_COUNT);

    for (size_t i = 0; values && i < NTK_SUMMARY_COUNT; i++) {
        ntk_str_copy(values[i].name, sizeof values[i].name, metrics[i].name);
        values[i].group = metrics[i].group;
        values[i].kind = metrics[i].kind;
    }
    return values ? 0 : -ENOMEM;
}

static int get(const struct ntk_trace *trace, const struct ntk_program *program,
               struct ntk_summary *out_summary)
{
    struct summary_filler f;
    struct ntk_activity activity;
    struct ntk_dma_traffic traffic;
    struct ntk_transfer_sums transfers;
    struct summary_work work;

    if (summary_begin(&f, trace) < 0) {
        return -ENOMEM;
    }
    f.program = program;
    ntk_analysis_activity_and_traffic(trace, &activity, &traffic);
    summary_work_get(trace, &traffic, &work);
    get_transfers(&f, &traffic, &transfers);
    summary_fill_times(&f, &activity, &transfers);
    fill_engines(&f, &activity);
    summary_fill_dma(&f, &traffic);
    summary_fill_transfers(&f, &transfers);
    fill_queues(&f, &traffic);
    summary_fill_work(&f, &work);
    summary_fill_onchip(&f, &traffic);
    fill_system(&f);
    fill_collectives(&f);
    leave_out_cut(&f);
    fill_part(&f);
    summary_fill_throttling(&f);
    if (f.failed) {
        ntk_vec_fini(&f.values);
        return f.failed;
    }
    *out_summary = (struct ntk_summary){ .values = f.values.items,
                                         .value_count = f.values.count,
                                         .uncounted = f.uncounted };
    return 0;
}

int ntk_analysis_summary(const struct ntk_trace *trace, struct ntk_summary *out_summary)
{
    return get(trace, NULL, out_summary);
}

int ntk_analysis_summary_of(const struct ntk_program *program, struct ntk_summary *out_summary)
{
    return get(program->trace, program, out_summary);
}

void ntk_summary_fini(struct ntk_summary *summary)
{
    free(summary->values);
    *summary = (struct ntk_summary){ 0 };
}
