/* SPDX-License-Identifier: MIT */
#include "profiler/analysis/system_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/interval.h"
#include "profiler/trace/sorter.h"
#include "shared/base/fs.h"
#include "shared/base/map.h"
#include "shared/base/order.h"
#include "shared/base/vec.h"

#define HEAP_BYTES ((size_t)8 << 20) /* memory per list; longer lists are stored in a file */
/* maximum, because a hostile file may have as many threads as events */
#define THREAD_ROWS_MAX 65536U

static uint64_t duration_ns(const struct ntk_system_span *span)
{
    return span->end_ns - span->start_ns;
}

/* ---- threads ---- */

/* The part of a span that is needed for sorting, because a long trace does not fit in memory. */
struct thread_entry {
    int64_t key; /* thread, type, is_partial: spans with a duration are first */
    uint64_t duration_ns;
};
#define KEY_TYPE_BITS 30
#define KEY_TYPE_MAX ((1U << KEY_TYPE_BITS) - 1)

static int64_t key_of(uint32_t thread, uint32_t type, bool is_partial)
{
    type = type < KEY_TYPE_MAX ? type : KEY_TYPE_MAX;
    return (int64_t)((uint64_t)thread << (KEY_TYPE_BITS + 1) | (uint64_t)type << 1 | is_partial);
}

NTK_ORDER(by_duration, struct thread_entry, NTK_UP(duration_ns));

NTK_ORDER(by_total, struct ntk_system_thread_row,
          NTK_UP(thread_id) NTK_DOWN(total_ns) NTK_TEXT(type));

static void row_make(const struct thread_entry *entries, size_t count, const char *type,
                     struct ntk_system_thread_row *row)
{
    size_t whole = 0;

    *row = (struct ntk_system_thread_row){ .thread_id =
                                               (uint32_t)(entries[0].key >> (KEY_TYPE_BITS + 1)),
                                           .type = type,
                                           .is_hardware = ntk_system_type_is_hardware(type),
                                           .count = count };
    while (whole < count && !(entries[whole].key & 1)) {
        row->total_ns = ntk_count_sum(row->total_ns, entries[whole++].duration_ns);
    }
    row->partial_count = count - whole;
    if (whole > 0) {
        row->median_ns = entries[(whole - 1) / 2].duration_ns;
        row->max_ns = entries[whole - 1].duration_ns;
    }
}

struct types {
    struct ntk_vec names;   /* elements are const char * */
    struct ntk_map indices; /* maps a name to index + 1 */
    const char *last;
    uint32_t last_index;
};

static int type_index(struct types *types, const char *type, uint32_t *out_index)
{
    if (type != types->last) {
        uintptr_t index = (uintptr_t)ntk_map_get(&types->indices, type);

        if (!index) {
            index = types->names.count + 1;
            if (ntk_vec_push(&types->names, &type) < 0 ||
                ntk_map_put(&types->indices, type, (void *)index) < 0) {
                return -ENOMEM;
            }
        }
        types->last = type;
        types->last_index = (uint32_t)index - 1;
    }
    *out_index = types->last_index;
    return 0;
}

static int entries_make(const struct ntk_system_trace *trace, struct types *types,
                        struct ntk_sorter *entries)
{
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct ntk_system_span *span = &trace->spans[i];
        struct thread_entry *entry = ntk_sorter_add(entries);
        uint32_t type = 0;

        if (!entry) {
            return entries->failed;
        }
        if (type_index(types, span->type, &type) < 0) {
            return -ENOMEM;
        }
        *entry = (struct thread_entry){ key_of(span->thread_id, type, span->is_partial),
                                        duration_ns(span) };
        ntk_system_trace_passed(trace, i);
    }
    return 0;
}

static int thread_rows_make(const struct ntk_system_trace *trace, struct ntk_system_tables *tables)
{
    struct types types = { .names = NTK_VEC_INIT(const char *) };
    struct ntk_vec rows = NTK_VEC_INIT(struct ntk_system_thread_row);
    struct ntk_sorted sorted = { 0 };
    struct ntk_sorter sorter;

    ntk_sorter_init(&sorter, sizeof(struct thread_entry), by_duration, HEAP_BYTES,
                    ntk_fs_temporary_folder());
    int ret = entries_make(trace, &types, &sorter);
    ret = ret < 0 ? ret : ntk_sorter_finish(&sorter, HEAP_BYTES, &sorted, NULL);
    const struct thread_entry *entries = sorted.items;
    for (size_t first = 0, end = 0; first < sorted.count && ret == 0; first = end) {
        int64_t group = entries[first].key >> 1;

        while (end < sorted.count && entries[end].key >> 1 == group) {
            end++;
        }
        if (rows.count == THREAD_ROWS_MAX) {
            tables->thread_rows_omitted++;
            continue;
        }
        struct ntk_system_thread_row *row = ntk_vec_add(&rows);
        if (row) {
            row_make(&entries[first], end - first,
                     *(const char **)ntk_vec_at(&types.names, (size_t)(group & KEY_TYPE_MAX)), row);
        }
        ret = row ? 0 : -ENOMEM;
    }
    ntk_vec_sort(&rows, by_total);
    tables->thread_rows = rows.items;
    tables->thread_row_count = rows.count;
    ntk_sorted_fini(&sorted, sizeof(struct thread_entry));
    ntk_sorter_fini(&sorter);
    ntk_vec_fini(&types.names);
    ntk_map_fini(&types.indices);
    return ret;
}

/* ---- executions ---- */

static const char *const execution_types[] = {
    "nrt_execute",   "kbl_exec_pre",  "kmgr_exec_core",
    "kbl_exec_wait", "kbl_exec_post", "nc_exec_running"
};
enum step {
    STEP_CALL,
    STEP_CHECK,
    STEP_QUEUE,
    STEP_WAIT,
    STEP_AFTER,
    STEP_RUN,
    STEP_COUNT,
};

static enum step step_of(const struct ntk_system_span *span)
{
    for (size_t i = 0; i < STEP_COUNT && ntk_system_span_has_exec(span); i++) {
        if (strcmp(span->type, execution_types[i]) == 0) {
            return (enum step)i;
        }
    }
    return STEP_COUNT;
}

struct execution_entry {
    int64_t key; /* number of the execution, mapped to signed order */
    uint64_t span;
};

static int64_t order_of(uint64_t exec_id)
{
    return (int64_t)(exec_id ^ UINT64_C(1) << 63);
}

NTK_ORDER(by_start, struct execution_entry, NTK_UP(span));

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
        execution->check_ns = ntk_count_sum(execution->check_ns, ns);
        break;
    case STEP_QUEUE:
        execution->queue_ns = ntk_count_sum(execution->queue_ns, ns);
        break;
    case STEP_WAIT:
        execution->wait_ns = ntk_count_sum(execution->wait_ns, ns);
        break;
    case STEP_AFTER:
        execution->after_ns = ntk_count_sum(execution->after_ns, ns);
        break;
    case STEP_RUN: /* the clocks are matched at the start of the run */
        if (execution->device_core_count++ == 0) {
            execution->sync_host_ns = span->start_ns;
            execution->device_start_ns = span->device_start_ns;
            execution->has_clock = ntk_system_span_has_clock(span);
            execution->device_core = span->device_core;
        }
        execution->run_ns = ns > execution->run_ns ? ns : execution->run_ns;
        break;
    case STEP_COUNT:
        break;
    }
}

#define CALL_DEPTH_MAX 8U
#define PASS_EXECUTIONS 1024U
/* maximum checked for device time, because in a hostile file all may have one number */
#define RUNS_MAX 1024U

struct run {
    uint32_t nc;
    uint64_t start_ns, end_ns; /* on the clock of the core */
};

NTK_ORDER(by_core_and_start, struct run, NTK_UP(nc) NTK_UP(start_ns));

/* Returns the device time: physical cores in one step run in parallel, so the longest is used;
 * steps are added. */
static uint64_t device_ns_of(struct run *runs, size_t count)
{
    uint64_t sum_ns = 0;
    uint64_t longest_ns = 0; /* longest run in the step */
    uint64_t until_ns = 0;

    qsort(runs, count, sizeof *runs, by_core_and_start);
    for (size_t i = 0; i < count; i++) {
        const struct run *run = &runs[i];
        uint64_t ns = run->end_ns - run->start_ns;

        if (i == 0 || run->nc != runs[i - 1].nc || run->start_ns >= until_ns) {
            sum_ns = ntk_count_sum(sum_ns, longest_ns);
            longest_ns = 0;
            until_ns = run->end_ns;
        }
        longest_ns = ns > longest_ns ? ns : longest_ns;
        until_ns = run->end_ns > until_ns ? run->end_ns : until_ns;
    }
    return ntk_count_sum(sum_ns, longest_ns);
}

/* Adds a call. Calls in the vendor's files have no number, so the number of checks within them is
 * used. */
static void call_add(const struct ntk_system_trace *trace, const struct ntk_system_span *span,
                     struct ntk_system_execution *execution)
{
    const struct ntk_system_span *call = span;
    enum step step = step_of(span);

    for (size_t depth = 0;
         step == STEP_CHECK && depth < CALL_DEPTH_MAX && call->parent != NTK_SYSTEM_NO_PARENT;
         depth++) {
        call = &trace->spans[call->parent];
        if (strcmp(call->type, execution_types[STEP_CALL]) == 0) {
            execution->start_ns = call->start_ns;
            execution->host_ns = duration_ns(call);
            execution->is_partial = call->is_partial;
            execution->thread_id = call->thread_id;
        }
    }
    if (span->model_id && execution->model_id == 0) {
        execution->model_id = span->model_id;
        execution->model = span->name;
    }
}

static int entries_find(const struct ntk_system_trace *trace, struct ntk_sorter *entries)
{
    for (size_t i = 0; i < trace->span_count; i++) {
        if (step_of(&trace->spans[i]) != STEP_COUNT) {
            struct execution_entry *entry = ntk_sorter_add(entries);

            if (!entry) {
                return entries->failed;
            }
            *entry = (struct execution_entry){ order_of(trace->spans[i].exec_id), i };
        }
        ntk_system_trace_passed(trace, i);
    }
    return 0;
}

static void execution_make(const struct ntk_system_trace *trace,
                           const struct execution_entry *entries, size_t count,
                           struct ntk_system_execution *execution)
{
    const struct ntk_system_span *first = &trace->spans[entries[0].span];
    struct run runs[RUNS_MAX];
    size_t run_count = 0;

    *execution = (struct ntk_system_execution){ .exec_id = first->exec_id,
                                                .model = first->name,
                                                .model_id = first->model_id,
                                                .nc = first->nc,
                                                .thread_id = first->thread_id,
                                                .start_ns = first->start_ns,
                                                .device_core = NTK_SYSTEM_NO_CORE,
                                                .is_partial = true };
    for (size_t i = 0; i < count; i++) {
        const struct ntk_system_span *span = &trace->spans[entries[i].span];

        execution_add(execution, span);
        call_add(trace, span, execution);
        if (step_of(span) == STEP_RUN && run_count < RUNS_MAX) {
            runs[run_count++] =
                (struct run){ span->nc, span->device_start_ns, span->device_end_ns };
        }
    }
    const struct ntk_system_sync *sync =
        ntk_system_sync_find(trace, execution->nc, execution->device_core, execution->sync_host_ns);

    execution->device_ns = device_ns_of(runs, run_count);
    execution->clock_life = sync ? sync->life : 0;
}

static int executions_make(const struct ntk_system_trace *trace, struct ntk_system_tables *tables)
{
    const char *folder = ntk_fs_temporary_folder();
    struct ntk_long_list *executions = &tables->execution_list;
    struct ntk_sorted sorted = { 0 };
    struct ntk_sorter sorter;

    *executions = (struct ntk_long_list){ .item_bytes = sizeof(struct ntk_system_execution),
                                          .heap_bytes_max = HEAP_BYTES,
                                          .folder = folder };
    ntk_sorter_init(&sorter, sizeof(struct execution_entry), by_start, HEAP_BYTES, folder);
    int ret = entries_find(trace, &sorter);
    ret = ret < 0 ? ret : ntk_sorter_finish(&sorter, HEAP_BYTES, &sorted, NULL);
    const struct execution_entry *all = sorted.items;
    for (size_t first = 0, end = 0; first < sorted.count && ret == 0; first = end) {
        struct ntk_system_execution *execution = ntk_long_list_add(executions, &ret);

        if (!execution) {
            break;
        }
        while (end < sorted.count && all[end].key == all[first].key) {
            end++;
        }
        execution_make(trace, &all[first], end - first, execution);
        if (executions->count % PASS_EXECUTIONS == 0) {
            ntk_system_trace_give_back(trace);
            ntk_long_list_give_back(executions);
        }
    }
    ntk_sorted_fini(&sorted, sizeof(struct execution_entry));
    ntk_sorter_fini(&sorter);
    tables->executions = executions->items;
    tables->execution_count = executions->count;
    return ret;
}

int ntk_analysis_system_tables(const struct ntk_system_trace *trace,
                               struct ntk_system_tables *out_tables)
{
    struct ntk_system_tables tables = { .is_vendor = trace->is_vendor,
                                        .process_id = trace->info ? trace->info->process_id : 0 };
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
    ntk_long_list_fini(&tables->execution_list);
    *tables = (struct ntk_system_tables){ 0 };
}

/* Maximum time from the start of a capture's window to the device run in the trace. */
#define CAPTURED_BEFORE_NS 1000000U

/* Returns true if the execution may be that long; the window of an execution that fails immediately
 * is empty. */
static bool can_be_as_long(const struct ntk_system_execution *execution,
                           const struct ntk_system_captured *captured)
{
    return captured->end_ns > captured->start_ns || execution->device_ns == 0;
}

static bool is_in_window(const struct ntk_system_execution *execution,
                         const struct ntk_system_captured *captured)
{
    return execution->device_start_ns >= captured->start_ns &&
           (execution->device_start_ns < captured->end_ns ||
            execution->device_start_ns == captured->start_ns) &&
           execution->device_start_ns - captured->start_ns < CAPTURED_BEFORE_NS &&
           can_be_as_long(execution, captured);
}

/* Returns true if it extends to the end of the window, as in recordings of this project. */
static bool is_window(const struct ntk_system_execution *execution,
                      const struct ntk_system_captured *captured)
{
    return execution->device_start_ns == captured->start_ns &&
           execution->device_ns == captured->end_ns - captured->start_ns;
}

/* Returns true if the execution may match; model numbers are per process. */
static bool can_be(const struct ntk_system_tables *tables,
                   const struct ntk_system_execution *execution,
                   const struct ntk_system_captured *captured)
{
    return (captured->nc == UINT32_MAX || captured->nc == execution->nc) &&
           (tables->is_vendor || captured->model_id == execution->model_id);
}

/* Returns true if the start is known. Recordings of this project without sync points cannot
 * distinguish a clock at 0 from a missing clock. */
static bool has_start(const struct ntk_system_tables *tables,
                      const struct ntk_system_execution *execution)
{
    return execution->has_clock || (!tables->is_vendor && execution->device_core_count > 0);
}

/* Finds the execution by the clock of the core. A reset clock repeats its times, so that two
 * executions may match. */
static const struct ntk_system_execution *captured_at(const struct ntk_system_tables *tables,
                                                      const struct ntk_system_captured *captured,
                                                      const char **out_reason)
{
    const struct ntk_system_execution *found = NULL;

    *out_reason = "the trace contains no execution that starts at the time of the capture";
    for (size_t i = 0; i < tables->execution_count; i++) {
        const struct ntk_system_execution *execution = &tables->executions[i];

        if (!can_be(tables, execution, captured) || !has_start(tables, execution) ||
            !is_in_window(execution, captured)) {
            continue;
        }
        if (found && found->nc == execution->nc && found->clock_life != execution->clock_life) {
            *out_reason =
                "the core was reset, and several executions start at the time of the capture";
            return NULL;
        }
        if (!found || (!is_window(found, captured) && is_window(execution, captured))) {
            found = execution;
        }
    }
    return found;
}

static const struct ntk_system_execution *captured_first(const struct ntk_system_tables *tables,
                                                         const struct ntk_system_captured *captured,
                                                         const char **out_reason)
{
    *out_reason = "its model has no execution on its core in the trace";
    for (size_t i = 0; i < tables->execution_count; i++) {
        const struct ntk_system_execution *execution = &tables->executions[i];

        if (captured->nc != UINT32_MAX && can_be(tables, execution, captured) &&
            (!captured->has_window || can_be_as_long(execution, captured))) {
            return execution;
        }
    }
    return NULL;
}

static bool has_clock(const struct ntk_system_tables *tables,
                      const struct ntk_system_captured *captured)
{
    for (size_t i = 0; i < tables->execution_count; i++) {
        const struct ntk_system_execution *execution = &tables->executions[i];

        if (execution->has_clock && (captured->nc == UINT32_MAX || captured->nc == execution->nc)) {
            return true;
        }
    }
    return false;
}

const struct ntk_system_execution *
ntk_system_tables_captured(const struct ntk_system_tables *tables,
                           const struct ntk_system_captured *captured, const char **out_reason)
{
    const struct ntk_system_execution *found = NULL;
    bool is_known = captured->process_id && tables->process_id && !tables->is_vendor;
    /* In earlier versions of this project's runtime, each window starts at 0. */
    bool is_timed = captured->has_window && (tables->is_vendor || captured->start_ns > 0);
    const char *reason = NULL;

    if (is_known && captured->process_id != tables->process_id) {
        reason = "it belongs to another process";
    } else if (is_timed && has_clock(tables, captured)) {
        found = captured_at(tables, captured, &reason);
    } else if (!tables->is_vendor) {
        found = captured_first(tables, captured, &reason);
    } else {
        reason = captured->has_window ? "the trace contains no clock times for its core"
                                      : "it contains no core clock times";
    }
    if (out_reason) {
        *out_reason = found ? NULL : reason;
    }
    return found;
}

const struct ntk_system_execution *
ntk_system_tables_captured_in(const struct ntk_system_tables *tables, const struct ntk_ntff *ntff,
                              uint32_t nc, const char **out_reason)
{
    const struct ntk_system_captured captured = { .model_id = ntff->model_id,
                                                  .process_id = ntff->process_id,
                                                  .nc = nc,
                                                  .has_window = ntff->has_window,
                                                  .start_ns = ntff->window_start_ps / 1000,
                                                  .end_ns = ntff->window_end_ps / 1000 };

    return ntk_system_tables_captured(tables, &captured, out_reason);
}
