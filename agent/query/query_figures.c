/* SPDX-License-Identifier: MIT */
#include "agent/query/query_figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/query/query_steps.h"
#include "shared/base/order.h"

/* Maximum number of listed cores: more than the largest machine has. */
#define CORES_MAX 1024

/* ---- cores ---- */

static const struct {
    enum ntk_store_metric metric;
    enum ntk_query_kind kind;
    const char *name;
} core_columns[] = {
    { NTK_STORE_UTILIZATION, NTK_QUERY_RATIO, "busy_ratio" },
    { NTK_STORE_PE_BUSY, NTK_QUERY_RATIO, "pe_busy_ratio" },
    { NTK_STORE_ACT_BUSY, NTK_QUERY_RATIO, "act_busy_ratio" },
    { NTK_STORE_POOL_BUSY, NTK_QUERY_RATIO, "pool_busy_ratio" },
    { NTK_STORE_DVE_BUSY, NTK_QUERY_RATIO, "dve_busy_ratio" },
    { NTK_STORE_SP_BUSY, NTK_QUERY_RATIO, "sp_busy_ratio" },
    { NTK_STORE_DMA_BUSY, NTK_QUERY_RATIO, "dma_busy_ratio" },
    { NTK_STORE_FLOPS, NTK_QUERY_NUMBER, "effective_flops_per_second" },
};
#define CORE_COLUMNS (sizeof core_columns / sizeof *core_columns)

static int add_core(const struct ntk_query *query, uint32_t core, struct ntk_query_table *table,
                    struct ntk_err *err)
{
    struct ntk_store_point *points[CORE_COLUMNS] = { NULL };
    struct ntk_store_filter filter = query->filter;
    size_t count = SIZE_MAX; /* length of the shortest */
    int ret = 0;

    filter.has_core = true;
    filter.core = core;
    for (size_t c = 0; ret == 0 && c < CORE_COLUMNS; c++) {
        size_t found = 0;
        ret = ntk_store_reader_series(query->reader, core_columns[c].metric, &filter,
                                      &query->window, &points[c], &found, err);
        count = found < count ? found : count;
    }
    for (size_t i = 0; ret == 0 && i < count; i++) {
        const struct ntk_store_point *busy = &points[0][i];
        ntk_query_table_add_count(table, true, core);
        ntk_query_add_point_step(query, table, busy);
        ntk_query_table_add_number(table, busy->has_value, busy->value);
        ntk_query_table_add_number(table, busy->has_largest, busy->largest);
        for (size_t c = 1; c < CORE_COLUMNS; c++) {
            const struct ntk_store_point *point = &points[c][i];
            bool is_same = point->start_ns == busy->start_ns && point->end_ns == busy->end_ns;
            ntk_query_table_add_number(table, is_same && point->has_value, point->value);
        }
    }
    for (size_t c = 0; c < CORE_COLUMNS; c++) {
        free(points[c]);
    }
    return ret;
}

struct core_list {
    uint32_t cores[CORES_MAX];
    size_t count;
};

static int take_core(size_t column_count, const char *const *names, const char *const *values,
                     void *ctx)
{
    struct core_list *list = ctx;
    (void)column_count;
    (void)names;

    if (list->count < CORES_MAX && values[0]) {
        list->cores[list->count++] = (uint32_t)strtoul(values[0], NULL, 10);
    }
    return 0;
}

NTK_ORDER_NUMBERS(compare_cores, uint32_t);

/* Adds the cores of a process that are not in the list yet. */
static int take_process(const struct ntk_store_process *process, void *ctx)
{
    struct core_list *list = ctx;
    char *at = (char *)(uintptr_t)(process->cores ? process->cores : "");

    while (*at && list->count < CORES_MAX) {
        uint32_t core = (uint32_t)strtoul(at, &at, 10);

        if (!bsearch(&core, list->cores, list->count, sizeof core, compare_cores)) {
            list->cores[list->count++] = core;
            qsort(list->cores, list->count, sizeof core, compare_cores);
        }
        at += strcspn(at, ",");
        at += *at == ',';
    }
    return 0;
}

/* All cores that were ever in use or, with a process or user, those of the selected processes. */
static int list_cores(const struct ntk_query *query, struct core_list *list, struct ntk_err *err)
{
    list->count = 0;
    if (query->filter.process || query->filter.user) {
        return ntk_store_reader_processes(query->reader, &query->filter, &query->window,
                                          take_process, list, err);
    }
    return ntk_store_reader_query(
        query->reader, "SELECT DISTINCT core FROM core_total ORDER BY core", take_core, list, err);
}

int ntk_query_answer_cores(const struct ntk_query *query, struct ntk_query_table *table,
                           struct ntk_err *err)
{
    struct core_list list = { .cores = { query->filter.core }, .count = 1 };
    int ret = 0;

    ntk_query_table_add_column(table, NTK_QUERY_COUNT, "core");
    ntk_query_rate_columns(query, table);
    for (size_t c = 0; c < CORE_COLUMNS; c++) {
        ntk_query_table_add_column(table, core_columns[c].kind, core_columns[c].name);
        if (c == 0) {
            ntk_query_table_add_column(table, NTK_QUERY_RATIO, "busiest_second_ratio");
        }
    }
    if (!query->filter.has_core) {
        ret = list_cores(query, &list, err);
    }
    for (size_t i = 0; ret == 0 && i < list.count; i++) {
        ret = add_core(query, list.cores[i], table, err);
    }
    return ret;
}

/* ---- any figure ---- */

static enum ntk_query_kind kind_of(const char *unit)
{
    return strcmp(unit, "ratio") == 0   ? NTK_QUERY_RATIO
           : strcmp(unit, "bytes") == 0 ? NTK_QUERY_BYTES
                                        : NTK_QUERY_NUMBER;
}

int ntk_query_answer_series(const struct ntk_query *query, struct ntk_query_table *table,
                            struct ntk_err *err)
{
    const struct ntk_store_metric_info *info = &ntk_store_metrics[query->metric];
    struct ntk_store_point *points;
    char name[NTK_QUERY_NAME_BYTES];
    size_t count;

    ntk_query_rate_columns(query, table);
    ntk_query_table_add_column(table, kind_of(info->unit), info->name);
    snprintf(name, sizeof name, "largest_%s", info->name);
    ntk_query_table_add_optional_column(table, kind_of(info->unit), name);
    int ret = ntk_store_reader_series(query->reader, query->metric, &query->filter, &query->window,
                                      &points, &count, err);
    if (ret < 0) {
        return ret;
    }
    for (size_t i = 0; i < count; i++) {
        ntk_query_add_point_step(query, table, &points[i]);
        ntk_query_table_add_number(table, points[i].has_value, points[i].value);
        ntk_query_table_add_number(table, points[i].has_largest, points[i].largest);
    }
    free(points);
    return 0;
}
