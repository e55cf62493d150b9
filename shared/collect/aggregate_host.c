/* SPDX-License-Identifier: MIT */
/* aggregate_host - turns ticks of host CPUs into shares, and reports host memory. */
#include <string.h>

#include "shared/collect/aggregate_state.h"

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

void ntk_aggregate_system(struct ntk_aggregate *aggregate, const struct ntk_system_reading *reading)
{
    size_t count =
        reading->cpu_count < NTK_AGGREGATE_CPUS_MAX ? reading->cpu_count : NTK_AGGREGATE_CPUS_MAX;

    aggregate->system = *reading;
    aggregate->system.cpu_error = ntk_snapshot_text(aggregate->pending, reading->cpu_error);
    aggregate->system.memory_error = ntk_snapshot_text(aggregate->pending, reading->memory_error);
    ntk_vec_clear(&aggregate->system_cpus);
    for (size_t i = 0; i < count; i++) {
        ntk_vec_push(&aggregate->system_cpus, &reading->cpus[i]);
    }
    if (!aggregate->self_user_base_ns && !aggregate->self_system_base_ns) {
        aggregate->self_user_base_ns = reading->self_user_ns;
        aggregate->self_system_base_ns = reading->self_system_ns;
    }
    aggregate->has_system = true;
    if (!aggregate->has_system_base && (reading->has & NTK_SYSTEM_HAS_CPU)) {
        aggregate->system_average_base = reading->average;
        memcpy(aggregate->system_figures_base, reading->figures, sizeof reading->figures);
        for (size_t i = 0; i < count; i++) {
            ntk_vec_push(&aggregate->system_base, &reading->cpus[i]);
        }
        aggregate->has_system_base = true;
    }
}

/* Ticks never decrease, except when the kernel corrects idle and io_wait: then the difference is
 * 0. */
static void cpu_shares(const struct ntk_cpu_reading *now, const struct ntk_cpu_reading *before,
                       double share[NTK_CPU_FIELD_COUNT])
{
    uint64_t ticks[NTK_CPU_FIELD_COUNT];
    uint64_t whole =
        now->other_ticks > before->other_ticks ? now->other_ticks - before->other_ticks : 0;

    for (size_t i = 0; i < NTK_CPU_FIELD_COUNT; i++) {
        ticks[i] = now->ticks[i] > before->ticks[i] ? now->ticks[i] - before->ticks[i] : 0;
        whole += ticks[i];
    }
    for (size_t i = 0; i < NTK_CPU_FIELD_COUNT; i++) {
        share[i] = whole == 0 ? 0 : (double)ticks[i] / (double)whole;
    }
}

static const struct ntk_cpu_reading *find_cpu(const struct ntk_vec *cpus, size_t hint, uint32_t cpu)
{
    const struct ntk_cpu_reading *rows = cpus->items;

    if (hint < cpus->count && rows[hint].cpu == cpu) {
        return &rows[hint];
    }
    for (size_t i = 0; i < cpus->count; i++) {
        if (rows[i].cpu == cpu) {
            return &rows[i];
        }
    }
    return NULL;
}

/* The collector's share of all CPUs, computed like the usage of runtimes. */
static double self_share(uint64_t now_ns, uint64_t *base_ns, double whole_ns)
{
    uint64_t ns = ntk_aggregate_advance(now_ns, *base_ns);

    *base_ns = now_ns;
    return whole_ns > 0 && (double)ns < whole_ns ? (double)ns / whole_ns : whole_ns > 0;
}

static void build_self(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot)
{
    const struct ntk_system_reading *now = &aggregate->system;
    double whole_ns = (double)snapshot->period_ns *
                      (double)(aggregate->system_cpus.count > 0 ? aggregate->system_cpus.count : 1);
    struct ntk_system_sample *out = &snapshot->system;

    out->self_vcpu_user = self_share(now->self_user_ns, &aggregate->self_user_base_ns, whole_ns);
    out->self_vcpu_system =
        self_share(now->self_system_ns, &aggregate->self_system_base_ns, whole_ns);
    out->self_memory_bytes = now->self_memory_bytes;
}

void ntk_aggregate_build_system(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot)
{
    const struct ntk_system_reading *now = &aggregate->system;
    struct ntk_system_sample *out = &snapshot->system;

    if (!aggregate->has_system) {
        return;
    }
    out->has = now->has;
    out->cpu_error = or_empty(now->cpu_error);
    out->memory_error = or_empty(now->memory_error);
    for (size_t i = 0; i < NTK_SYSTEM_FIGURES; i++) {
        out->figures[i] = ntk_system_rows[i].is_counter ? 0 : now->figures[i];
    }
    build_self(aggregate, snapshot);
    if ((now->has & NTK_SYSTEM_HAS_CPU) && aggregate->has_system_base) {
        const struct ntk_cpu_reading *cpus = aggregate->system_cpus.items;

        cpu_shares(&now->average, &aggregate->system_average_base, out->average);
        out->cpus = ntk_snapshot_alloc(snapshot, aggregate->system_cpus.count, sizeof *out->cpus);
        out->cpu_count = out->cpus ? aggregate->system_cpus.count : 0;
        for (size_t i = 0; i < out->cpu_count; i++) {
            const struct ntk_cpu_reading *before =
                find_cpu(&aggregate->system_base, i, cpus[i].cpu);

            out->cpus[i].cpu = cpus[i].cpu;
            cpu_shares(&cpus[i], before ? before : &cpus[i], out->cpus[i].share);
        }
        for (size_t i = 0; i < NTK_SYSTEM_FIGURES; i++) {
            if (ntk_system_rows[i].is_counter) {
                out->figures[i] =
                    ntk_aggregate_advance(now->figures[i], aggregate->system_figures_base[i]);
            }
        }
        aggregate->system_average_base = now->average;
        memcpy(aggregate->system_figures_base, now->figures, sizeof now->figures);
        ntk_vec_clear(&aggregate->system_base);
        for (size_t i = 0; i < aggregate->system_cpus.count; i++) {
            ntk_vec_push(&aggregate->system_base, &cpus[i]);
        }
    } else {
        out->has &= ~(uint32_t)(NTK_SYSTEM_HAS_CPU | NTK_SYSTEM_HAS_CONTEXT_SWITCHES);
    }
    aggregate->has_system = false;
}

void ntk_aggregate_set_ports(struct ntk_aggregate *aggregate, const struct ntk_adapter_port *ports,
                             size_t count)
{
    ntk_snapshot_set_ports(aggregate->pending, ports, count);
}
