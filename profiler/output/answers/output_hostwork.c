/* SPDX-License-Identifier: MIT */
#include "profiler/output/answers/output_hostwork.h"

#include <stdio.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/json.h"
#include "shared/base/text_table.h"
#include "shared/base/units.h"
#include "shared/hostwork/advice.h"

#define BAR_CELLS 30
#define TEXT_BYTES 320
#define STEPS_TEXT 10
#define STACKS_MAX 2000 /* maximum in a recording: the stacks with the most time */

static const char *method_name(const struct ntk_host_records *records)
{
    return records->method == NTK_HOST_METHOD_BPF ? "bpf" : "proc";
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static double seconds(uint64_t ns)
{
    return (double)ns / (double)NTK_NS_PER_SECOND;
}

/* Returns a text such as "loader (4711)"; "-" if unknown. */
static const char *thread_text(const struct ntk_host_records *records, uint32_t tid, char *buf,
                               size_t buf_bytes)
{
    const struct ntk_host_thread *thread = ntk_host_records_thread(records, tid);

    if (tid == 0) {
        (void)snprintf(buf, buf_bytes, "-");
    } else {
        (void)snprintf(buf, buf_bytes, "%s (%u)", thread ? thread->name : "?", tid);
    }
    return buf;
}

/* Returns details beyond the function: the file, the call, the lock holder. */
static const char *detail_text(const struct ntk_host_records *records,
                               const struct ntk_host_row *row, char *buf, size_t buf_bytes)
{
    char holder[TEXT_BYTES];

    if (row->holder != 0) {
        (void)snprintf(buf, buf_bytes, "held by %s",
                       thread_text(records, row->holder, holder, sizeof holder));
    } else if (row->object) {
        (void)snprintf(buf, buf_bytes, "%s %s", row->syscall ? row->syscall : "", row->object);
    } else {
        (void)snprintf(buf, buf_bytes, "%s", row->syscall ? row->syscall : "");
    }
    return buf;
}

static void put_bar(struct ntk_text_table *table, double share)
{
    char bar[BAR_CELLS + 1];
    size_t cells = (size_t)(share / 100 * BAR_CELLS + 0.5);

    cells = cells < BAR_CELLS ? cells : BAR_CELLS;
    memset(bar, '#', cells);
    bar[cells] = '\0';
    ntk_text_table_text(table, bar);
}

static void put_duration(struct ntk_text_table *table, uint64_t ns)
{
    char text[32];

    ntk_text_table_text(table, ntk_units_duration(text, sizeof text, ns));
}

static void put_causes(const struct ntk_host_result *result, struct ntk_buf *out)
{
    static const char *const heads[] = { "IDLE", "TIME", "GAPS", "LONGEST", "", "CAUSE", "" };
    enum ntk_host_cause order[NTK_HOST_CAUSE_COUNT];
    size_t count = ntk_host_result_order(result, order);
    struct ntk_text_table table;

    ntk_text_table_init(&table, 7, 1u << 4 | 1u << 5 | 1u << 6, heads);
    for (size_t i = 0; i < count; i++) {
        const struct ntk_host_share *share = &result->causes[order[i]];
        double part = percent(share->ns, result->idle_ns);
        ntk_text_table_format(&table, "%.1f%%", part);
        put_duration(&table, share->ns);
        ntk_text_table_format(&table, "%u", share->gap_count);
        put_duration(&table, share->longest_ns);
        put_bar(&table, part);
        ntk_text_table_text(&table, ntk_host_cause_name(order[i]));
        ntk_text_table_text(&table, ntk_host_cause_text(order[i]));
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
}

static void put_rows(const struct ntk_hostwork_answer *answer, size_t limit, struct ntk_buf *out)
{
    static const char *const heads[] = { "IDLE",  "TIME",   "GAPS",     "LONGEST",
                                         "CAUSE", "THREAD", "FUNCTION", "DETAIL" };
    const struct ntk_host_result *result = answer->result;
    struct ntk_text_table table;
    char text[TEXT_BYTES];

    ntk_text_table_init(&table, 8, 1u << 4 | 1u << 5 | 1u << 6 | 1u << 7, heads);
    for (size_t i = 0; i < result->rows.count && i < limit; i++) {
        const struct ntk_host_row *row = ntk_vec_at(&result->rows, i);
        ntk_text_table_format(&table, "%.1f%%", percent(row->share.ns, result->idle_ns));
        put_duration(&table, row->share.ns);
        ntk_text_table_format(&table, "%u", row->share.gap_count);
        put_duration(&table, row->share.longest_ns);
        ntk_text_table_text(&table, ntk_host_cause_name(row->cause));
        ntk_text_table_text(&table, thread_text(answer->records, row->tid, text, sizeof text));
        if (row->module[0]) {
            ntk_text_table_format(&table, "%s (%s)", row->function, row->module);
        } else {
            ntk_text_table_text(&table, row->function[0] ? row->function : "-");
        }
        ntk_text_table_text(&table, detail_text(answer->records, row, text, sizeof text));
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
}

static enum ntk_host_cause largest_cause(const struct ntk_host_step *step)
{
    enum ntk_host_cause best = NTK_HOST_UNKNOWN;

    for (int c = 0; c < NTK_HOST_CAUSE_COUNT; c++) {
        best = step->cause_ns[c] > step->cause_ns[best] ? (enum ntk_host_cause)c : best;
    }
    return best;
}

/* Returns true if the step follows the last step of the table (NULL if none), ordered by idle
 * time, then by time. */
static bool is_after(const struct ntk_host_step *last, const struct ntk_host_step *step)
{
    return !last || step->idle_ns < last->idle_ns ||
           (step->idle_ns == last->idle_ns && step > last);
}

/* Writes the steps with the most idle time, by selection sort, because there are few. */
static void put_steps(const struct ntk_host_result *result, struct ntk_buf *out)
{
    static const char *const heads[] = { "STEP", "IDLE", "GAPS", "LONGEST", "CAUSE" };
    struct ntk_text_table table;
    const struct ntk_host_step *last = NULL;

    ntk_buf_add_format(out, "\nSteps with the most idle time (of %zu)\n", result->steps.count);
    ntk_text_table_init(&table, 5, 1u << 4, heads);
    for (size_t i = 0; i < STEPS_TEXT; i++) {
        const struct ntk_host_step *best = NULL;
        ntk_vec_each(const struct ntk_host_step, step, &result->steps) {
            if (is_after(last, step) && step->idle_ns > 0 &&
                (!best || step->idle_ns > best->idle_ns)) {
                best = step;
            }
        }
        if (!best) {
            break;
        }
        last = best;
        ntk_text_table_format(&table, "%llu", (unsigned long long)best->mark->value);
        put_duration(&table, best->idle_ns);
        ntk_text_table_format(&table, "%u", best->gap_count);
        put_duration(&table, best->longest_ns);
        ntk_text_table_text(&table, ntk_host_cause_name(largest_cause(best)));
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
}

static void evidence_text(const struct ntk_hostwork_answer *answer, const struct ntk_host_row *row,
                          char *buf, size_t buf_bytes)
{
    char thread[TEXT_BYTES];
    char detail[TEXT_BYTES];

    (void)snprintf(buf, buf_bytes, "%.0f%% in thread %s%s%s%s%s",
                   percent(row->share.ns, answer->result->idle_ns),
                   thread_text(answer->records, row->tid, thread, sizeof thread),
                   row->function[0] ? ", function " : "", row->function,
                   detail_text(answer->records, row, detail, sizeof detail)[0] ? ": " : "", detail);
}

static void put_advice(const struct ntk_hostwork_answer *answer, struct ntk_buf *out)
{
    struct ntk_host_advice advice[NTK_HOST_CAUSE_COUNT];
    size_t count = ntk_host_advise(answer->result, advice);
    char evidence[3 * TEXT_BYTES];

    for (size_t i = 0; i < count; i++) {
        ntk_buf_add_format(out, "%s%.0f%% of the idle time: %s\n", i == 0 ? "\n" : "",
                           100 * advice[i].share, ntk_host_cause_text(advice[i].cause));
        if (advice[i].evidence) {
            evidence_text(answer, advice[i].evidence, evidence, sizeof evidence);
            ntk_buf_add_text(out, "  evidence: ");
            ntk_buf_add_clean(out, evidence);
            ntk_buf_add_char(out, '\n');
        }
        ntk_buf_add_format(out, "  advice: %s\n", advice[i].text);
    }
}

void ntk_hostwork_text(const struct ntk_hostwork_answer *answer, size_t row_limit,
                       struct ntk_buf *out)
{
    const struct ntk_host_records *records = answer->records;
    const struct ntk_host_result *result = answer->result;
    char observed[32];
    char idle[32];
    char longest[32];

    ntk_buf_add_format(out, "process %u (", answer->pid);
    ntk_buf_add_clean(out, answer->command);
    ntk_buf_add_format(
        out, "), observed for %s: %u core%s, idle %.1f%% (%s in %u gap%s, longest %s)\n",
        ntk_units_duration(observed, sizeof observed, records->end_ns - records->start_ns),
        result->core_count, result->core_count == 1 ? "" : "s",
        percent(result->idle_ns, result->held_ns),
        ntk_units_duration(idle, sizeof idle, result->idle_ns), result->gap_count,
        result->gap_count == 1 ? "" : "s",
        ntk_units_duration(longest, sizeof longest, result->longest_ns));
    if (records->method == NTK_HOST_METHOD_PROC) {
        ntk_buf_add_format(out,
                           "method proc: samples thread states 20 times per second (coarse, no "
                           "native functions)%s%s\n",
                           answer->reason[0] ? "; " : "", answer->reason);
    }
    if (records->lost > 0 || records->stacks_skipped > 0) {
        ntk_buf_add_format(out, "%llu records lost, %llu stacks skipped\n",
                           (unsigned long long)records->lost,
                           (unsigned long long)records->stacks_skipped);
    }
    if (records->unknown_ns > 0) {
        ntk_buf_add_format(out,
                           "execution records are missing for %s; this time counts as neither idle "
                           "nor held\n",
                           ntk_units_duration(observed, sizeof observed, records->unknown_ns));
    }
    if (result->idle_ns == 0) {
        ntk_buf_add_text(out, "the cores had no gaps\n");
        return;
    }
    ntk_buf_add_char(out, '\n');
    put_causes(result, out);
    ntk_buf_add_char(out, '\n');
    put_rows(answer, row_limit, out);
    if (result->steps.count > 0) {
        put_steps(result, out);
    }
    put_advice(answer, out);
}

/* ---- JSON ---- */

static void json_share(struct ntk_json *json, const struct ntk_host_share *share, uint64_t idle_ns)
{
    ntk_json_key_double(json, "percent", percent(share->ns, idle_ns));
    ntk_json_key_double(json, "seconds", seconds(share->ns));
    ntk_json_key_u64(json, "gaps", share->gap_count);
    ntk_json_key_double(json, "longest_seconds", seconds(share->longest_ns));
}

static void json_thread(struct ntk_json *json, const struct ntk_host_records *records,
                        const char *key, uint32_t tid)
{
    const struct ntk_host_thread *thread = ntk_host_records_thread(records, tid);

    if (tid == 0) {
        return;
    }
    ntk_json_key_object_begin(json, key);
    ntk_json_key_u64(json, "tid", tid);
    if (thread) {
        ntk_json_key_u64(json, "pid", thread->pid);
        ntk_json_key_text(json, "name", thread->name);
    }
    ntk_json_object_end(json);
}

static void json_row(struct ntk_json *json, const struct ntk_hostwork_answer *answer,
                     const struct ntk_host_row *row)
{
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "cause", ntk_host_cause_name(row->cause));
    json_share(json, &row->share, answer->result->idle_ns);
    json_thread(json, answer->records, "thread", row->tid);
    if (row->function[0]) {
        ntk_json_key_text(json, "function", row->function);
    }
    if (row->module[0]) {
        ntk_json_key_text(json, "module", row->module);
    }
    if (row->syscall) {
        ntk_json_key_text(json, "syscall", row->syscall);
    }
    if (row->object) {
        ntk_json_key_text(json, "object", row->object);
    }
    json_thread(json, answer->records, "held_by", row->holder);
    ntk_json_object_end(json);
}

static void json_lists(struct ntk_json *json, const struct ntk_hostwork_answer *answer,
                       size_t row_limit)
{
    const struct ntk_host_result *result = answer->result;
    enum ntk_host_cause order[NTK_HOST_CAUSE_COUNT];
    struct ntk_host_advice advice[NTK_HOST_CAUSE_COUNT];
    size_t count = ntk_host_result_order(result, order);
    char evidence[3 * TEXT_BYTES];

    ntk_json_key_array_begin(json, "causes");
    for (size_t i = 0; i < count; i++) {
        ntk_json_object_begin(json);
        ntk_json_key_text(json, "cause", ntk_host_cause_name(order[i]));
        ntk_json_key_text(json, "meaning", ntk_host_cause_text(order[i]));
        json_share(json, &result->causes[order[i]], result->idle_ns);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
    ntk_json_key_array_begin(json, "rows");
    for (size_t i = 0; i < result->rows.count && i < row_limit; i++) {
        json_row(json, answer, ntk_vec_at(&result->rows, i));
    }
    ntk_json_array_end(json);
    ntk_json_key_array_begin(json, "steps");
    ntk_vec_each(const struct ntk_host_step, step, &result->steps) {
        ntk_json_object_begin(json);
        ntk_json_key_u64(json, "step", step->mark->value);
        ntk_json_key_double(json, "idle_seconds", seconds(step->idle_ns));
        ntk_json_key_u64(json, "gaps", step->gap_count);
        ntk_json_key_double(json, "longest_seconds", seconds(step->longest_ns));
        ntk_json_key_text(json, "cause", ntk_host_cause_name(largest_cause(step)));
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
    count = ntk_host_advise(result, advice);
    ntk_json_key_array_begin(json, "advice");
    for (size_t i = 0; i < count; i++) {
        ntk_json_object_begin(json);
        ntk_json_key_text(json, "cause", ntk_host_cause_name(advice[i].cause));
        ntk_json_key_double(json, "percent", 100 * advice[i].share);
        ntk_json_key_text(json, "advice", advice[i].text);
        if (advice[i].evidence) {
            evidence_text(answer, advice[i].evidence, evidence, sizeof evidence);
            ntk_json_key_text(json, "evidence", evidence);
        }
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
}

/* Writes frames from the outermost; the first are the thread and the cause. */
static void json_stack(struct ntk_json *json, const struct ntk_host_records *records,
                       const struct ntk_host_flame *flame)
{
    const struct ntk_host_frame *chain[NTK_HOST_DEPTH_MAX];
    char text[TEXT_BYTES];
    size_t count = 0;

    for (const struct ntk_host_frame *frame = ntk_host_stacks_at(&records->stacks, flame->stack);
         frame && count < NTK_HOST_DEPTH_MAX;
         frame = ntk_host_stacks_at(&records->stacks, frame->parent)) {
        chain[count++] = frame;
    }
    ntk_json_object_begin(json);
    ntk_json_key_double(json, "seconds", seconds(flame->ns));
    ntk_json_key_array_begin(json, "frames");
    ntk_json_text(json, thread_text(records, flame->tid, text, sizeof text));
    ntk_json_text(json, ntk_host_cause_name(flame->cause));
    while (count-- > 0) {
        ntk_json_text(json, chain[count]->name);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}

static void put_json(const struct ntk_hostwork_answer *answers, size_t count, size_t row_limit,
                     bool has_stacks, struct ntk_buf *out)
{
    struct ntk_json json;

    ntk_json_init(&json, out, true);
    ntk_json_object_begin(&json);
    ntk_json_key_array_begin(&json, "processes");
    for (size_t i = 0; i < count; i++) {
        const struct ntk_host_records *records = answers[i].records;
        const struct ntk_host_result *result = answers[i].result;
        ntk_json_object_begin(&json);
        ntk_json_key_u64(&json, "pid", answers[i].pid);
        ntk_json_key_text(&json, "command", answers[i].command);
        ntk_json_key_text(&json, "method", method_name(records));
        if (answers[i].reason[0]) {
            ntk_json_key_text(&json, "reason", answers[i].reason);
        }
        ntk_json_key_double(&json, "observed_seconds",
                            seconds(records->end_ns - records->start_ns));
        ntk_json_key_u64(&json, "cores", result->core_count);
        ntk_json_key_double(&json, "held_seconds", seconds(result->held_ns));
        ntk_json_key_double(&json, "idle_seconds", seconds(result->idle_ns));
        ntk_json_key_double(&json, "idle_percent", percent(result->idle_ns, result->held_ns));
        ntk_json_key_u64(&json, "gaps", result->gap_count);
        ntk_json_key_double(&json, "longest_gap_seconds", seconds(result->longest_ns));
        ntk_json_key_u64(&json, "records", records->events);
        ntk_json_key_u64(&json, "lost", records->lost);
        ntk_json_key_double(&json, "unknown_seconds", seconds(records->unknown_ns));
        ntk_json_key_u64(&json, "stacks_skipped", records->stacks_skipped);
        json_lists(&json, &answers[i], row_limit);
        ntk_json_key_array_begin(&json, "modules");
        ntk_vec_each(const struct ntk_host_build_id, build_id, &records->stacks.build_ids) {
            ntk_json_object_begin(&json);
            ntk_json_key_text(&json, "module", build_id->module);
            ntk_json_key_text(&json, "build_id", build_id->build_id);
            ntk_json_object_end(&json);
        }
        ntk_json_array_end(&json);
        if (has_stacks) {
            ntk_json_key_array_begin(&json, "stacks");
            for (size_t f = 0; f < result->flames.count && f < STACKS_MAX; f++) {
                json_stack(&json, records, ntk_vec_at(&result->flames, f));
            }
            ntk_json_array_end(&json);
        }
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    ntk_buf_add_char(out, '\n');
}

void ntk_hostwork_json(const struct ntk_hostwork_answer *answers, size_t count, size_t row_limit,
                       struct ntk_buf *out)
{
    put_json(answers, count, row_limit, false, out);
}

void ntk_hostwork_file(const struct ntk_hostwork_answer *answer, struct ntk_buf *out)
{
    put_json(answer, 1, NTK_HOSTWORK_FILE_ROWS, true, out);
}
