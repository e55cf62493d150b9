/* SPDX-License-Identifier: MIT */
/* model_processes - lists the processes that use the cores, and their use. */
#include "top/model/model_processes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "shared/base/clock.h"
#include "shared/base/str.h"
#include "top/base/cells.h"
#include "top/base/format.h"
#include "top/model/model_alerts.h"

#define CONTAINER_CELLS 12 /* characters of the id, as in container tools */
/* Clock tick of /proc: USER_HZ, which is 100 on all machines with devices */
#define TICK_NS (NTK_NS_PER_SECOND / 100)

/* Returns the pod, else the container, else nothing. */
static struct ntk_top_cell where(struct ntk_top_table *table,
                                 const struct ntk_runtime_sample *runtime)
{
    const struct ntk_pod *pod = &runtime->pod;

    if (pod->name[0]) {
        return ntk_top_cell_text(ntk_top_table_text(
            table, "%s%s%s%s%s", pod->namespace_name, pod->namespace_name[0] ? "/" : "", pod->name,
            pod->container_name[0] ? "/" : "", pod->container_name));
    }
    return ntk_top_cell_text(
        runtime->container_id[0]
            ? ntk_top_table_text(table, "%.*s", CONTAINER_CELLS, runtime->container_id)
            : "");
}

/* Returns the start time if both clocks belong to one machine: a report lacks the second clock.
 * Processes that started together, such as the ranks of a job, share the text of `before`. */
static struct ntk_top_cell since(struct ntk_top_table *table, const struct ntk_snapshot *snapshot,
                                 const struct ntk_runtime_sample *runtime,
                                 struct ntk_top_cell before)
{
    uint64_t age_ns = snapshot->monotonic_ns - runtime->start_time * TICK_NS;
    time_t seconds = (time_t)((snapshot->realtime_ns - age_ns) / NTK_NS_PER_SECOND);
    struct ntk_top_cell cell = { 0 };
    struct tm local;
    char text[32];

    if (runtime->start_time == 0 || runtime->start_time > snapshot->monotonic_ns / TICK_NS ||
        age_ns >= snapshot->realtime_ns) {
        return cell;
    }
    if (before.present && before.value == (double)seconds) {
        return before;
    }
    if (localtime_r(&seconds, &local) &&
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local) > 0) {
        cell = ntk_top_cell_text(ntk_top_table_text(table, "%s", text));
        cell.value = (double)seconds;
    }
    return cell;
}

static void fill_work(const struct ntk_snapshot *snapshot, const struct ntk_runtime_sample *runtime,
                      struct ntk_top_cell *cells)
{
    struct ntk_count watched[NTK_OUTCOME_COUNT];
    double rate = 0;
    uint64_t failed = 0;

    if (!(runtime->has & NTK_RUNTIME_HAS_EXECUTIONS)) {
        return;
    }
    ntk_snapshot_watched_outcome(runtime, watched);
    for (int o = 0; o < NTK_OUTCOME_COUNT; o++) {
        rate += ntk_snapshot_rate(snapshot, watched[o]);
        failed += o == NTK_OUTCOME_COMPLETED ? 0 : runtime->outcome[o].total;
    }
    cells[NTK_TOP_PROCESSES_RATE] = ntk_top_cell_number(rate);
    cells[NTK_TOP_PROCESSES_ERRORS] =
        ntk_top_cell_if(runtime->has & NTK_RUNTIME_HAS_TOTALS, (double)failed);
    cells[NTK_TOP_PROCESSES_ERROR_RATE] =
        ntk_top_cell_number(rate - ntk_snapshot_rate(snapshot, watched[NTK_OUTCOME_COMPLETED]));
    cells[NTK_TOP_PROCESSES_QUEUE] =
        ntk_top_cell_if(runtime->has & NTK_RUNTIME_HAS_IN_FLIGHT, (double)runtime->in_flight);
    ntk_top_cells_latency(&runtime->total_latency, &cells[NTK_TOP_PROCESSES_P50],
                          &cells[NTK_TOP_PROCESSES_P99], &cells[NTK_TOP_PROCESSES_MAX]);
    /* A report without histograms has percentiles. */
    for (int p = 0; p < NTK_PERCENTILE_COUNT && runtime->has & NTK_RUNTIME_HAS_PERCENTILES; p++) {
        struct ntk_top_cell cell = ntk_top_cell_number(runtime->total_percentile_ns[p]);

        if (ntk_percentile_list[p] == 50) {
            cells[NTK_TOP_PROCESSES_P50] = cell;
        } else if (ntk_percentile_list[p] == 99) {
            cells[NTK_TOP_PROCESSES_P99] = cell;
        } else if (ntk_percentile_list[p] == 100) {
            cells[NTK_TOP_PROCESSES_MAX] = cell;
        }
    }
}

struct ntk_top_number ntk_top_model_processes_busy(const struct ntk_top_model *model,
                                                   const struct ntk_runtime_sample *runtime)
{
    struct ntk_top_number busy = { 0 };
    size_t count = 0;

    for (size_t c = 0; runtime->has & NTK_RUNTIME_HAS_CORES && c < runtime->core_count; c++) {
        const struct ntk_core_sample *core = &runtime->cores[c];

        if (core->has & NTK_CORE_HAS_BUSY &&
            ntk_top_model_alerts_core(model, core->core / model->lnc) != NTK_TOP_CORE_DEAD) {
            busy.value += 100 * core->utilization;
        }
        count += (core->has & NTK_CORE_HAS_BUSY) != 0;
        busy.estimated = busy.estimated || core->busy_of_calls;
    }
    busy.present = count > 0;
    busy.value = count > 0 ? busy.value / (double)count : 0;
    return busy;
}

static void fill_cores(struct ntk_top_model *model, struct ntk_top_table *table,
                       const struct ntk_runtime_sample *runtime, struct ntk_top_cell *cells)
{
    struct ntk_top_number busy = ntk_top_model_processes_busy(model, runtime);
    double flops = 0;
    bool has_flops = false;

    if (!(runtime->has & NTK_RUNTIME_HAS_CORES)) {
        return;
    }
    for (size_t c = 0; c < runtime->core_count; c++) {
        const struct ntk_core_sample *core = &runtime->cores[c];

        if (core->has & NTK_CORE_HAS_EFFECTIVE_FLOPS) {
            has_flops = true;
            flops +=
                ntk_snapshot_rate(model->snapshot, ntk_snapshot_watched_core(core).effective_flops);
        }
    }
    cells[NTK_TOP_PROCESSES_CORES] =
        ntk_top_cells_cores(table, model->lnc, runtime->cores, runtime->core_count);
    cells[NTK_TOP_PROCESSES_BUSY] = ntk_top_cell_if(busy.present, busy.value);
    cells[NTK_TOP_PROCESSES_BUSY].estimated = busy.estimated;
    cells[NTK_TOP_PROCESSES_FLOPS] = ntk_top_cell_if(has_flops, flops / 1e12);
}

/* Returns the place of its hooks, and facts that are unknown to them. */
static struct ntk_top_cell hooks(struct ntk_top_table *table,
                                 const struct ntk_runtime_sample *runtime)
{
    static const char *const counted[NTK_EXECUTIONS_COUNTED_COUNT] = {
        [NTK_EXECUTIONS_ALL] = "",
        [NTK_EXECUTIONS_PART] = ", executions partly counted",
        [NTK_EXECUTIONS_NONE] = ", executions not counted",
    };

    if (!runtime->cores_guessed && runtime->executions_counted == NTK_EXECUTIONS_ALL) {
        return ntk_top_cell_text(ntk_hooks_kind_names[runtime->hooks]);
    }
    return ntk_top_cell_text(ntk_top_table_text(
        table, "%s%s%s", ntk_hooks_kind_names[runtime->hooks],
        runtime->cores_guessed ? ", cores guessed" : "", counted[runtime->executions_counted]));
}

/* Returns the problems of its cores, worst first, with their duration: "dead 12s", "stuck 3m",
 * "idle 2h" if it holds cores and runs nothing. */
static struct ntk_top_cell state(const struct ntk_top_model *model, struct ntk_top_table *table,
                                 const struct ntk_runtime_sample *runtime,
                                 enum ntk_top_core_state *out_worst)
{
    uint64_t now_ns = model->snapshot->realtime_ns;
    uint64_t idle_ns = UINT64_MAX;
    uint64_t since_ns = 0;
    char age[NTK_TOP_FORMAT_BYTES];

    *out_worst = NTK_TOP_CORE_GOOD;
    if (runtime->ended) {
        return ntk_top_cell_text(!ntk_exit_is_failure(runtime->exit, runtime->killed) ? "ended"
                                 : runtime->exit.kind == NTK_EXIT_CODE                ? "failed"
                                                                                      : "killed");
    }
    for (size_t c = 0; c < runtime->core_count; c++) {
        const struct ntk_core_sample *core = &runtime->cores[c];
        uint32_t logical = core->core / model->lnc;
        enum ntk_top_core_state found = ntk_top_model_alerts_core(model, logical);
        uint64_t found_ns = ntk_top_model_alerts_since(model, logical);
        uint64_t its_idle_ns = ntk_top_cells_held_idle_ns(core);

        if (found > *out_worst || (found == *out_worst && found_ns < since_ns)) {
            *out_worst = found;
            since_ns = found_ns;
        }
        idle_ns = its_idle_ns < idle_ns ? its_idle_ns : idle_ns;
    }
    if (*out_worst != NTK_TOP_CORE_GOOD) {
        return ntk_top_cell_text(
            ntk_top_table_text(table, "%s %s", ntk_top_model_alerts_word(*out_worst, false),
                               ntk_top_format_age(age, now_ns > since_ns ? now_ns - since_ns : 0)));
    }
    if (runtime->core_count > 0 && idle_ns >= NTK_TOP_HELD_IDLE_NS) {
        return ntk_top_cell_text(
            ntk_top_table_text(table, "idle %s", ntk_top_format_age(age, idle_ns)));
    }
    return ntk_top_cell_text("");
}

/* Returns the tag, if the application has set one; the default is the process id, which has a
 * column. */
static struct ntk_top_cell tag(const struct ntk_runtime_sample *runtime)
{
    return ntk_top_cell_text(ntk_top_cells_has_tag(runtime) ? runtime->tag : "");
}

static bool has_failed(const struct ntk_runtime_sample *runtime)
{
    return runtime->has & NTK_RUNTIME_HAS_EXECUTIONS &&
           ntk_snapshot_outcome_sum(runtime->outcome) >
               runtime->outcome[NTK_OUTCOME_COMPLETED].period;
}

int ntk_top_model_processes(struct ntk_top_model *model, struct ntk_top_table *table)
{
    const struct ntk_snapshot *snapshot = model->snapshot;
    struct ntk_top_cell begin = { 0 };

    for (size_t r = 0; r < snapshot->runtime_count; r++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[r];
        enum ntk_top_core_state worst;
        struct ntk_top_cell what;
        struct ntk_top_cell *cells;

        if (!ntk_top_model_is_listed(model, r)) {
            continue;
        }
        what = state(model, table, runtime, &worst);
        cells = ntk_top_table_add(
            table, ntk_top_cells_runtime_key(runtime),
            runtime->error[0] || worst == NTK_TOP_CORE_STUCK    ? NTK_TOP_ROW_WARNING
            : has_failed(runtime) || worst == NTK_TOP_CORE_DEAD ? NTK_TOP_ROW_ERROR
            : runtime->ended                                    ? NTK_TOP_ROW_DIM
                                                                : NTK_TOP_ROW_NORMAL);
        if (!cells) {
            return -ENOMEM;
        }
        ntk_top_table_set_tab(table, r + 1);
        cells[NTK_TOP_PROCESSES_PID] = ntk_top_cell_if(runtime->pid > 0, runtime->pid);
        cells[NTK_TOP_PROCESSES_USER] = ntk_top_cell_text(runtime->user);
        cells[NTK_TOP_PROCESSES_TAG] = tag(runtime);
        cells[NTK_TOP_PROCESSES_STATE] = what;
        cells[NTK_TOP_PROCESSES_CPU] = ntk_top_cell_if(
            runtime->has & NTK_RUNTIME_HAS_CPU, 100 * (runtime->vcpu_user + runtime->vcpu_system));
        cells[NTK_TOP_PROCESSES_RSS] =
            ntk_top_cell_if(runtime->has & NTK_RUNTIME_HAS_RSS, (double)runtime->rss_bytes);
        cells[NTK_TOP_PROCESSES_SINCE] = begin = since(table, snapshot, runtime, begin);
        cells[NTK_TOP_PROCESSES_WHERE] = where(table, runtime);
        cells[NTK_TOP_PROCESSES_HOOKS] = hooks(table, runtime);
        cells[NTK_TOP_PROCESSES_LOST] =
            ntk_top_cell_if(runtime->has & NTK_RUNTIME_HAS_TOTALS && model->wants_events,
                            (double)runtime->events_lost.total);
        cells[NTK_TOP_PROCESSES_VERSION] = ntk_top_cell_text(runtime->runtime_version);
        cells[NTK_TOP_PROCESSES_COMMAND] = ntk_top_cell_text(runtime->command);
        ntk_top_cells_memory(runtime, NTK_MEMORY_ANY, &cells[NTK_TOP_PROCESSES_HBM],
                             &cells[NTK_TOP_PROCESSES_HOST]);
        fill_work(snapshot, runtime, cells);
        fill_cores(model, table, runtime, cells);
    }
    return 0;
}
