/* SPDX-License-Identifier: MIT */
/* model_engines - lists the work of the engines on each core in the period, for the selected
 * application or all. */
#include "top/model/model_engines.h"

#include <errno.h>

#include "top/base/cells.h"
#include "top/base/format.h"
#include "top/model/model_alerts.h"

/* Adds a text such as "train idle 12m" or "train idle 3h". */
static void add_idle(struct ntk_top_table *table, uint64_t idle_ns, struct ntk_top_cell *cell)
{
    char age[NTK_TOP_FORMAT_BYTES];

    if (idle_ns >= NTK_TOP_HELD_IDLE_NS) {
        *cell = ntk_top_cell_text(
            ntk_top_table_text(table, "%s idle %s", cell->text, ntk_top_format_age(age, idle_ns)));
    }
}

/* Fills the application that owns the logical core, the number of others with a part of it, and the
 * time for which the core ran nothing for any of them, as far as they report it. */
static void fill_owner(const struct ntk_top_model *model, struct ntk_top_table *table,
                       uint32_t logical, struct ntk_top_cell *cell)
{
    const struct ntk_snapshot *snapshot = model->snapshot;
    uint64_t idle_ns = UINT64_MAX;
    size_t owner = 0;
    size_t count = 0;

    for (size_t r = 0; r < snapshot->runtime_count; r++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[r];
        const struct ntk_core_sample *core = ntk_top_model_core_of(model, runtime, logical);

        if (core && !runtime->ended) {
            uint64_t its_ns = ntk_top_cells_held_idle_ns(core);

            owner = count++ == 0 ? r : owner;
            idle_ns = its_ns < idle_ns ? its_ns : idle_ns;
        }
    }
    if (count > 0) {
        *cell = ntk_top_cells_tag(table, &snapshot->runtimes[owner]);
        ntk_top_table_set_tab(table, owner + 1);
    }
    if (count > 1) {
        *cell = ntk_top_cell_text(ntk_top_table_text(table, "%s +%zu", cell->text, count - 1));
    }
    if (count > 0) {
        add_idle(table, idle_ns, cell);
    }
}

int ntk_top_model_engines(struct ntk_top_model *model, struct ntk_top_table *table)
{
    const struct ntk_snapshot *snapshot = model->snapshot;
    uint32_t count = model->device_count * model->cores_per_device;
    bool is_all = ntk_top_model_tab_get(model)->is_all;

    for (uint32_t i = 0; i < count; i++) {
        struct ntk_core_sample core;
        bool is_known = ntk_top_model_core_find(model, i, &core);
        enum ntk_top_core_state state = model->cores[i].state;
        struct ntk_top_cell *cells;
        double flops;

        if (!is_known && !is_all) {
            continue; /* the core does not belong to the application */
        }
        if (!is_known) {
            core = (struct ntk_core_sample){ 0 };
        }
        cells = ntk_top_table_add(table, i,
                                  state == NTK_TOP_CORE_DEAD             ? NTK_TOP_ROW_ERROR
                                  : state == NTK_TOP_CORE_STUCK          ? NTK_TOP_ROW_WARNING
                                  : is_known && core.busy_ns.period == 0 ? NTK_TOP_ROW_DIM
                                                                         : NTK_TOP_ROW_NORMAL);
        if (!cells) {
            return -ENOMEM;
        }
        cells[NTK_TOP_ENGINES_CORE] = ntk_top_cell_text(ntk_top_table_text(
            table, "ND%u NC%u%s", i / model->cores_per_device, i % model->cores_per_device,
            ntk_top_model_alerts_word(state, true)));
        cells[NTK_TOP_ENGINES_CORE].value = i;
        cells[NTK_TOP_ENGINES_BUSY] =
            ntk_top_cell_if(core.has & NTK_CORE_HAS_BUSY, 100 * core.utilization);
        cells[NTK_TOP_ENGINES_BUSY].estimated = core.busy_of_calls;
        for (int e = 0; e < NTK_ENGINE_COUNT; e++) {
            cells[NTK_TOP_ENGINES_ENGINE + e] = ntk_top_cell_if(
                core.has & NTK_CORE_HAS_ENGINES,
                100 * ntk_snapshot_engine_share(snapshot, &core, (enum ntk_engine)e));
        }
        flops = ntk_snapshot_rate(snapshot, core.effective_flops);
        cells[NTK_TOP_ENGINES_FLOPS] =
            ntk_top_cell_if(core.has & NTK_CORE_HAS_EFFECTIVE_FLOPS, flops / 1e12);
        cells[NTK_TOP_ENGINES_PEAK] =
            ntk_top_cell_if((core.has & NTK_CORE_HAS_EFFECTIVE_FLOPS) && model->core_peak_flops > 0,
                            model->core_peak_flops > 0 ? 100 * flops / model->core_peak_flops : 0);
        cells[NTK_TOP_ENGINES_HBM_READ] = ntk_top_cell_if(
            core.has & NTK_CORE_HAS_BYTES, ntk_snapshot_rate(snapshot, core.hbm_read_bytes));
        cells[NTK_TOP_ENGINES_HBM_WRITTEN] = ntk_top_cell_if(
            core.has & NTK_CORE_HAS_BYTES, ntk_snapshot_rate(snapshot, core.hbm_written_bytes));
        cells[NTK_TOP_ENGINES_DMA] = ntk_top_cell_if(core.has & NTK_CORE_HAS_BYTES,
                                                     ntk_snapshot_rate(snapshot, core.dma_bytes));
        cells[NTK_TOP_ENGINES_IN_FLIGHT] =
            ntk_top_cell_if(core.has & NTK_CORE_HAS_EXECUTIONS, (double)core.in_flight);
        fill_owner(model, table, i, &cells[NTK_TOP_ENGINES_OWNER]);
    }
    return 0;
}
