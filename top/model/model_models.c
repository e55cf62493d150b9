/* SPDX-License-Identifier: MIT */
/* model_models - lists the work of each loaded model: executions, durations, resources. */
#include "top/model/model_models.h"

#include <errno.h>
#include <string.h>

#include "top/base/cells.h"

static const char *name_of(struct ntk_top_table *table, const struct ntk_model_sample *sample)
{
    const char *name = sample->name[0] ? sample->name : sample->neff_path;
    const char *slash = strrchr(name, '/');

    name = slash && slash[1] ? slash + 1 : name;
    return ntk_top_table_text(table, "%s%s%s", sample->estimated ? "~" : "", name,
                              sample->loaded ? "" : " (unloaded)");
}

/* Returns the logical cores on which it runs, such as "0-1". */
static struct ntk_top_cell cores_of(const struct ntk_top_model *model, struct ntk_top_table *table,
                                    const struct ntk_model_sample *sample)
{
    uint32_t first = sample->core / model->lnc;
    uint32_t last =
        sample->core_count > 0 ? (sample->core + sample->core_count - 1) / model->lnc : first;
    struct ntk_top_cell cell = { 0 };

    if (sample->core_count > 0) {
        cell = ntk_top_cell_text(last > first ? ntk_top_table_text(table, "%u-%u", first, last)
                                              : ntk_top_table_text(table, "%u", first));
        cell.value = first;
    }
    return cell;
}

static void fill(const struct ntk_top_model *model, struct ntk_top_table *table,
                 const struct ntk_runtime_sample *runtime, const struct ntk_model_sample *sample,
                 struct ntk_top_cell *cells)
{
    const struct ntk_snapshot *snapshot = model->snapshot;
    double executions = ntk_snapshot_rate(snapshot, sample->executions);
    double flops = ntk_snapshot_rate(snapshot, sample->effective_flops);
    double peak = model->core_peak_flops / model->lnc * sample->core_count;
    bool has_executions = (sample->has & NTK_MODEL_HAS_EXECUTIONS) != 0;
    bool has_flops = (sample->has & NTK_MODEL_HAS_EFFECTIVE_FLOPS) != 0;
    bool has_totals = has_executions && sample->has & NTK_MODEL_HAS_TOTALS;

    cells[NTK_TOP_MODELS_NAME] = ntk_top_cell_text(name_of(table, sample));
    cells[NTK_TOP_MODELS_APP] = ntk_top_cells_tag(table, runtime);
    cells[NTK_TOP_MODELS_CORES] = cores_of(model, table, sample);
    cells[NTK_TOP_MODELS_RATE] = ntk_top_cell_if(has_executions, executions);
    cells[NTK_TOP_MODELS_ERROR_RATE] =
        ntk_top_cell_if(has_executions, ntk_snapshot_rate(snapshot, sample->errors));
    cells[NTK_TOP_MODELS_ERRORS] = ntk_top_cell_if(has_totals, (double)sample->errors.total);
    cells[NTK_TOP_MODELS_EXECUTIONS] =
        ntk_top_cell_if(has_totals, (double)sample->executions.total);
    cells[NTK_TOP_MODELS_QUEUE] =
        ntk_top_cell_if(sample->has & NTK_MODEL_HAS_IN_FLIGHT, (double)sample->in_flight);
    cells[NTK_TOP_MODELS_FLOPS] = ntk_top_cell_if(has_flops, flops / 1e12);
    cells[NTK_TOP_MODELS_PEAK] =
        ntk_top_cell_if(has_flops && peak > 0, peak > 0 ? 100 * flops / peak : 0);
    ntk_top_cells_latency(&sample->total_latency, &cells[NTK_TOP_MODELS_P50],
                          &cells[NTK_TOP_MODELS_P99], &cells[NTK_TOP_MODELS_MAX]);
    ntk_top_cells_latency(&sample->device_latency, &cells[NTK_TOP_MODELS_DEVICE_P50],
                          &cells[NTK_TOP_MODELS_DEVICE_P99], NULL);
    ntk_top_cells_memory(runtime, sample->id, &cells[NTK_TOP_MODELS_HBM],
                         &cells[NTK_TOP_MODELS_HOST]);
    cells[NTK_TOP_MODELS_ID] = ntk_top_cell_if(sample->id > 0, sample->id);
    cells[NTK_TOP_MODELS_LOADED] =
        ntk_top_cell_if(sample->load_timestamp_ns > 0, (double)sample->load_timestamp_ns);
    cells[NTK_TOP_MODELS_LOAD] = ntk_top_cell_if(sample->load_ns > 0, (double)sample->load_ns);
    cells[NTK_TOP_MODELS_UUID] = ntk_top_cell_text(sample->uuid);
    cells[NTK_TOP_MODELS_PATH] = ntk_top_cell_text(sample->neff_path);
}

int ntk_top_model_models(struct ntk_top_model *model, struct ntk_top_table *table)
{
    const struct ntk_snapshot *snapshot = model->snapshot;

    for (size_t r = 0; r < snapshot->runtime_count; r++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[r];

        if (!ntk_top_model_is_listed(model, r)) {
            continue;
        }
        for (size_t m = 0; m < runtime->model_count; m++) {
            const struct ntk_model_sample *sample = &runtime->models[m];
            struct ntk_top_cell *cells =
                ntk_top_table_add(table, ntk_top_cells_model_key(runtime, sample),
                                  sample->errors.period > 0                ? NTK_TOP_ROW_ERROR
                                  : !sample->loaded || !sample->is_running ? NTK_TOP_ROW_DIM
                                                                           : NTK_TOP_ROW_NORMAL);

            if (!cells) {
                return -ENOMEM;
            }
            ntk_top_table_set_tab(table, r + 1);
            fill(model, table, runtime, sample, cells);
        }
    }
    return 0;
}
