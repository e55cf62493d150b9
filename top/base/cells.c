/* SPDX-License-Identifier: MIT */
/* cells - creates cells for latencies, cores, names and memory. */
#include "top/base/cells.h"

#include "shared/base/buf.h"
#include "shared/base/str.h"

uint64_t ntk_top_cells_runtime_key(const struct ntk_runtime_sample *runtime)
{
    return ((uint64_t)runtime->uid << 40 ^ runtime->start_time << 24 ^ runtime->header_pid) + 1;
}

uint64_t ntk_top_cells_model_key(const struct ntk_runtime_sample *runtime,
                                 const struct ntk_model_sample *sample)
{
    return ntk_top_cells_runtime_key(runtime) * 1000003 + sample->id;
}

bool ntk_top_cells_has_tag(const struct ntk_runtime_sample *runtime)
{
    uint64_t number;

    return ntk_str_parse_u64(runtime->tag, &number) < 0 ||
           (number != runtime->pid && number != runtime->header_pid);
}

void ntk_top_cells_latency(const struct ntk_histogram *histogram, struct ntk_top_cell *out_p50,
                           struct ntk_top_cell *out_p99, struct ntk_top_cell *out_max)
{
    static const double percents[] = { 50, 99, 100 };
    double ns[3];

    if (ntk_histogram_percentiles(histogram, percents, 3, ns)) {
        *out_p50 = ntk_top_cell_number(ns[0]);
        *out_p99 = ntk_top_cell_number(ns[1]);
        if (out_max) {
            *out_max = ntk_top_cell_number(ns[2]);
        }
    }
}

struct ntk_top_cell ntk_top_cells_cores(struct ntk_top_table *table, uint32_t lnc,
                                        const struct ntk_core_sample *cores, size_t count)
{
    struct ntk_buf text = { 0 };
    struct ntk_top_cell cell = { 0 };

    for (size_t i = 0; i < count;) {
        uint32_t first = cores[i].core / lnc;
        uint32_t last = first;

        while (++i < count && cores[i].core / lnc <= last + 1) {
            last = cores[i].core / lnc;
        }
        if (text.bytes_count > 0) {
            ntk_buf_add_char(&text, ',');
        }
        ntk_buf_add_u64(&text, first);
        if (last > first) {
            ntk_buf_add_char(&text, '-');
            ntk_buf_add_u64(&text, last);
        }
    }
    if (count > 0 && ntk_buf_ok(&text)) {
        cell = ntk_top_cell_text(ntk_top_table_text(table, "%s", ntk_buf_text_get(&text)));
        cell.value = cores[0].core;
    }
    ntk_buf_fini(&text);
    return cell;
}

struct ntk_top_cell ntk_top_cells_tag(struct ntk_top_table *table,
                                      const struct ntk_runtime_sample *runtime)
{
    return ntk_top_cell_text(runtime->tag[0] ? runtime->tag
                                             : ntk_top_table_text(table, "%u", runtime->pid));
}

void ntk_top_cells_memory(const struct ntk_runtime_sample *runtime, uint32_t model_id,
                          struct ntk_top_cell *out_device, struct ntk_top_cell *out_host)
{
    struct ntk_memory_total device;
    struct ntk_memory_total host;

    ntk_snapshot_memory_total(runtime, NTK_MEMORY_ANY, model_id, &host, &device);
    *out_device = ntk_top_cell_if(device.known, (double)device.bytes);
    out_device->estimated = device.estimated;
    *out_host = ntk_top_cell_if(host.known, (double)host.bytes);
}

uint64_t ntk_top_cells_held_idle_ns(const struct ntk_core_sample *core)
{
    return core->has & NTK_CORE_HAS_HELD_IDLE ? core->held_idle_ns : 0;
}
