/* SPDX-License-Identifier: MIT */
#include "profiler/analysis/system_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t duration_ns(const struct ntk_system_span *span)
{
    return span->end_ns - span->start_ns;
}

/* ---- threads ---- */

/* By thread, type and duration; partial ones last. */
static int by_thread(const void *a, const void *b)
{
    const struct ntk_system_span *x = *(const struct ntk_system_span *const *)a;
    const struct ntk_system_span *y = *(const struct ntk_system_span *const *)b;

    if (x->thread_id != y->thread_id) {
        return x->thread_id < y->thread_id ? -1 : 1;
    }
    int order = strcmp(x->type, y->type);
    if (order != 0) {
        return order;
    }
    if (x->is_partial != y->is_partial) {
        return x->is_partial ? 1 : -1;
    }
    return duration_ns(x) < duration_ns(y) ? -1 : duration_ns(x) > duration_ns(y);
}

static int by_total(const void *a, const void *b)
{
    const struct ntk_system_thread_row *x = a;
    const struct ntk_system_thread_row *y = b;

    if (x->thread_id != y->thread_id) {
        return x->thread_id < y->thread_id ? -1 : 1;
    }
    if (x->total_ns != y->total_ns) {
        return x->total_ns > y->total_ns ? -1 : 1;
    }
    return strcmp(x->type, y->type);
}

static void row_make(const struct ntk_system_span *const *spans, size_t count,
                     struct ntk_system_thread_row *row)
{
    size_t whole = 0;

    *row =
        (struct ntk_system_thread_row){ .thread_id = spans[0]->thread_id,
                                        .type = spans[0]->type,
                                        .is_hardware = ntk_system_type_is_hardware(spans[0]->type),
                                        .count = count };
    while (whole < count && !spans[whole]->is_partial) {
        row->total_ns += duration_ns(spans[whole++]);
    }
    row->partial_count = count - whole;
    if (whole > 0) {
        row->median_ns = duration_ns(spans[(whole - 1) / 2]);
        row->max_ns = duration_ns(spans[whole - 1]);
    }
}

static int thread_rows_make(const struct ntk_system_trace *trace, struct ntk_system_tables *tables)
{
    size_t count = trace->span_count;
    const struct ntk_system_span **spans = calloc(count + 1, sizeof(void *));

    tables->thread_rows = calloc(count + 1, sizeof *tables->thread_rows);
    if (!spans || !tables->thread_rows) {
        free(spans);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        spans[i] = &trace->spans[i];
    }
    qsort(spans, count, sizeof(void *), by_thread);
    for (size_t first = 0, end = 0; first < count; first = end) {
        while (end < count && spans[end]->thread_id == spans[first]->thread_id &&
               strcmp(spans[end]->type, spans[first]->type) == 0) {
            end++;
        }
        row_make(&spans[first], end - first, &tables->thread_rows[tables->thread_row_count++]);
    }
    free(spans);
    qsort(tables->thread_rows, tables->thread_row_count, sizeof *tables->thread_rows, by_total);
    return 0;
}

/* ---- executions ---- */

static const char *const execution_types[] = { "nrt_execute",         "kbl_exec_pre",
                                               "kmgr_exec_core",      "kbl_exec_wait",
                                               "kbl_exec_post",       "nc_exec_running",
                                               "timestamp_sync_point" };
enum step {
    STEP_CALL,
    STEP_CHECK,
    STEP_QUEUE,
    STEP_WAIT,
    STEP_AFTER,
    STEP_RUN,
    STEP_SYNC,
    STEP_COUNT,
};

static enum step step_of(const struct ntk_system_span *span)
{
    for (size_t i = 0; i < STEP_COUNT && span->exec_id != 0; i++) {
        if (strcmp(span->type, execution_types[i]) == 0) {
            return (enum step)i;
        }
    }
    return STEP_COUNT;
}

static int by_execution(const void *a, const void *b)
{
    const struct ntk_system_span *x = *(const struct ntk_system_span *const *)a;
    const struct ntk_system_span *y = *(const struct ntk_system_span *const *)b;

    if (x->exec_id != y->exec_id) {
        return x->exec_id < y->exec_id ? -1 : 1;
    }
    return x < y ? -1 : x > y; /* by start */
}

static void execution_add(struct ntk_system_execution *execution,
                          const struct ntk_system_span *span)
{
    uint64_t ns = duration_ns(span);

    switch (step_of(span)) {
    case STEP_CALL:
        execution->start_ns = span->start_ns;
        execution->host_ns = ns;
        execution->is_partial = span->is_partial;
        execution->thread_id = span->thread_id;
        execution->model = span->name;
        execution->model_id = span->model_id;
        execution->nc = span->nc;
        break;
    case STEP_CHECK:
        execution->check_ns += ns;
        break;
    case STEP_QUEUE:
        execution->queue_ns += ns;
        break;
    case STEP_WAIT:
        execution->wait_ns += ns;
        break;
    case STEP_AFTER:
        execution->after_ns += ns;
        break;
    case STEP_SYNC:
        if (execution->sync_host_ns == 0) {
            execution->sync_host_ns = span->start_ns;
            execution->device_start_ns = span->device_start_ns;
        }
        break;
    case STEP_RUN:
    case STEP_COUNT:
        break;
    }
}

/* Physical cores of one step begin at one moment of the clock: the longest counts; steps add up. */
static void device_add(struct ntk_system_execution *execution,
                       const struct ntk_system_span *const *spans, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t longest = spans[i]->device_end_ns - spans[i]->device_start_ns;
        bool is_first = true;

        if (step_of(spans[i]) != STEP_RUN) {
            continue;
        }
        execution->device_core_count++;
        for (size_t k = 0; k < count; k++) {
            if (step_of(spans[k]) != STEP_RUN || spans[k]->nc != spans[i]->nc ||
                spans[k]->device_start_ns != spans[i]->device_start_ns) {
                continue;
            }
            uint64_t ns = spans[k]->device_end_ns - spans[k]->device_start_ns;

            is_first = is_first && k >= i;
            longest = ns > longest ? ns : longest;
        }
        execution->device_ns += is_first ? longest : 0;
    }
}

#define SPANS_OF_ONE_MAX 1024U /* looked at for device time: a hostile file gives all one number */

static int executions_make(const struct ntk_system_trace *trace, struct ntk_system_tables *tables)
{
    const struct ntk_system_span **spans = calloc(trace->span_count + 1, sizeof(void *));
    size_t count = 0;

    tables->executions = calloc(trace->span_count + 1, sizeof *tables->executions);
    if (!spans || !tables->executions) {
        free(spans);
        return -ENOMEM;
    }
    for (size_t i = 0; i < trace->span_count; i++) {
        if (step_of(&trace->spans[i]) != STEP_COUNT) {
            spans[count++] = &trace->spans[i];
        }
    }
    qsort(spans, count, sizeof(void *), by_execution);
    for (size_t first = 0, end = 0; first < count; first = end) {
        struct ntk_system_execution *execution = &tables->executions[tables->execution_count++];

        *execution = (struct ntk_system_execution){ .exec_id = spans[first]->exec_id,
                                                    .model = spans[first]->name,
                                                    .model_id = spans[first]->model_id,
                                                    .nc = spans[first]->nc,
                                                    .thread_id = spans[first]->thread_id,
                                                    .start_ns = spans[first]->start_ns,
                                                    .is_partial = true };
        while (end < count && spans[end]->exec_id == execution->exec_id) {
            execution_add(execution, spans[end++]);
        }
        device_add(execution, &spans[first],
                   end - first < SPANS_OF_ONE_MAX ? end - first : SPANS_OF_ONE_MAX);
    }
    free(spans);
    return 0;
}

int ntk_analysis_system_tables(const struct ntk_system_trace *trace,
                               struct ntk_system_tables *out_tables)
{
    struct ntk_system_tables tables = { 0 };
    int ret = thread_rows_make(trace, &tables);

    if (ret == 0) {
        ret = executions_make(trace, &tables);
    }
    if (ret < 0) {
        ntk_system_tables_fini(&tables);
        return ret;
    }
    *out_tables = tables;
    return 0;
}

void ntk_system_tables_fini(struct ntk_system_tables *tables)
{
    free(tables->thread_rows);
    free(tables->executions);
    *tables = (struct ntk_system_tables){ 0 };
}

const struct ntk_system_execution *
ntk_system_tables_captured(const struct ntk_system_tables *tables, uint64_t model_id, uint32_t nc)
{
    for (size_t i = 0; i < tables->execution_count; i++) {
        const struct ntk_system_execution *execution = &tables->executions[i];

        if (execution->model_id == model_id && execution->nc == nc) {
            return execution;
        }
    }
    return NULL;
}
