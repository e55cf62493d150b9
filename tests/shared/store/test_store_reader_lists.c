/* SPDX-License-Identifier: MIT */
/* Processes, models and events of a window, and their unwatched part. */

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/store/retention.h"
#include "shared/store/store.h"
#include "shared/store/store_reader.h"
#include "tests/shared/store/make_snapshot.h"
#include "tests/shared/store/reader_fixture.h"
#include "tests/shared/store/tier_check.h"
#include "tests/support/unit.h"

static int count_process(const struct ntk_store_process *process, void *ctx)
{
    struct ntk_store_process *out = ctx;

    assert_string_equal(process->tag, "trainer");
    assert_string_equal(process->command, "python train.py");
    *out = *process;
    return 0;
}

static int take_name(const char *name, void *ctx)
{
    snprintf(ctx, 64, "%s", name);
    return 0;
}

static void processes_and_models_in_a_window_are_listed(void **state)
{
    struct fixture *f = *state;
    struct ntk_store_filter all = { 0 };
    struct ntk_store_window window = { HOUR_0, HOUR_0 + 200 * SECOND, 0 };
    struct ntk_store_window before = { HOUR_0 - HOUR, HOUR_0, 0 };
    struct ntk_store_process process = { 0 };
    char name[64] = "";
    uint64_t first_ns;
    uint64_t last_ns;

    for (uint64_t i = 1; i <= 150; i++) {
        f->period.completed = 2;
        f->period.latency_ns = 1000;
        f->period.memory_bytes = i == 70 ? 7000 : 10;
        f->period.ended = i == 150;
        f->period.exit = (struct ntk_exit){ i == 150 ? NTK_EXIT_SIGNAL : NTK_EXIT_UNKNOWN, 9 };
        put_at(f, i);
    }
    start_reading(f);
    assert_int_equal(
        ntk_store_reader_processes(f->reader, &all, &window, count_process, &process, NULL), 0);
    assert_int_equal(process.pid, 1077);
    assert_int_equal(process.completed, 600);
    assert_int_equal(process.core_count, 2);
    assert_true(process.has_samples);
    assert_false(process.has_rss);
    assert_int_equal(process.device_bytes_max, 7000);
    assert_int_equal(process.first_seen_ns, HOUR_0 + SECOND);
    assert_int_equal(process.ended_ns, HOUR_0 + 150 * SECOND);
    assert_int_equal(process.exit.kind, NTK_EXIT_SIGNAL);
    assert_int_equal(process.exit.value, 9);
    assert_int_equal(ntk_store_reader_models(f->reader, &all, &window, take_name, name, NULL), 0);
    assert_string_equal(name, "mlp.neff");
    process.pid = 0;
    name[0] = '\0';
    assert_int_equal(
        ntk_store_reader_processes(f->reader, &all, &before, count_process, &process, NULL), 0);
    assert_int_equal(ntk_store_reader_models(f->reader, &all, &before, take_name, name, NULL), 0);
    assert_int_equal(process.pid, 0);
    assert_string_equal(name, "");
    assert_int_equal(ntk_store_reader_span(f->reader, NTK_STORE_SECOND, &first_ns, &last_ns, NULL),
                     0);
    assert_int_equal(first_ns, HOUR_0 + SECOND);
    assert_int_equal(last_ns, HOUR_0 + 150 * SECOND);
    assert_int_equal(ntk_store_reader_span(f->reader, NTK_STORE_HOUR, &first_ns, &last_ns, NULL),
                     -ENODATA);
}

static void invalid_queries_are_answered_with_a_message(void **state)
{
    struct fixture *f = *state;
    struct ntk_store_filter all = { 0 };
    struct ntk_store_filter process = { .process = "x'y" };
    struct ntk_store_filter model = { .model = "none" };
    struct ntk_store_filter core = { .has_core = true, .core = 77 };
    struct ntk_store_filter good = {
        .process = "1077", .model = "mlp", .has_core = true, .core = 5
    };
    struct ntk_store_window empty = { HOUR_0, HOUR_0, 0 };
    struct ntk_store_window fine = { HOUR_0, HOUR_0 + HOUR, 1000000 };
    struct ntk_store_window ages = { 1, HOUR_0 + HOUR, 0 };
    struct ntk_store_point *points = NULL;
    struct ntk_err err = { 0 };
    size_t count;

    put_at(f, 1);
    start_reading(f);
    assert_int_equal(ntk_store_reader_check(f->reader, &process, &err), -ENOENT);
    assert_string_equal(err.text, "unknown process 'x'y'");
    assert_int_equal(ntk_store_reader_check(f->reader, &model, &err), -ENOENT);
    assert_string_equal(err.text, "unknown model 'none'");
    assert_int_equal(ntk_store_reader_check(f->reader, &core, &err), -ENOENT);
    assert_string_equal(err.text, "unknown core '77'");
    assert_int_equal(ntk_store_reader_check(f->reader, &good, &err), 0);
    assert_int_equal(ntk_store_reader_series(f->reader, NTK_STORE_UTILIZATION, &all, &empty,
                                             &points, &count, &err),
                     -EINVAL);
    assert_int_equal(ntk_store_reader_series(f->reader, NTK_STORE_UTILIZATION, &all, &fine, &points,
                                             &count, &err),
                     -E2BIG);
    assert_null(points);
    /* A window since 1970 is a normal question. */
    assert_int_equal(ntk_store_reader_series(f->reader, NTK_STORE_UTILIZATION, &all, &ages, &points,
                                             &count, &err),
                     0);
    assert_int_equal(count, 1);
    assert_int_equal(points[0].covered_ns, SECOND);
    free(points);
    assert_int_equal(ntk_store_metric_find("dma_busy_ratio"), NTK_STORE_DMA_BUSY);
    assert_int_equal(ntk_store_metric_find("nonsense"), NTK_STORE_METRIC_COUNT);
}

/* Every metric can be queried from an empty and from a full file. */
static int sum_executions(const struct ntk_store_executions *step, void *ctx)
{
    struct ntk_store_executions *sum = ctx;

    sum->completed += step->completed;
    sum->unwatched += step->unwatched;
    sum->total_latency.count += step->total_latency.count;
    sum->covered_ns += step->covered_ns;
    assert_int_equal(step->outcome[NTK_OUTCOME_COMPLETED], step->completed);
    return 0;
}

static int take_completed(const struct ntk_store_process *process, void *ctx)
{
    *(uint64_t *)ctx += process->completed;
    return 0;
}

/* Method: an agent for 10 s, a gap of 100 s in which 5,000 executions run, then an agent for 130
 * s. */
static void unwatched_work_is_counted_but_excluded_from_rates(void **state)
{
    struct fixture *f = *state;
    static const uint64_t steps[] = { 0, 1, 7, 60, 3600 };
    struct ntk_store_filter all = { 0 };
    struct ntk_store_filter core = { .has_core = true, .core = 4 };
    struct ntk_err err = { 0 };
    size_t count;

    f->period.completed = 2;
    f->period.latency_ns = 1000;
    for (uint64_t i = 1; i <= 240; i++) {
        if (i > 10 && i <= 110) {
            continue;
        }
        f->period.unwatched = i == 111 ? 5000 : 0;
        put_at(f, i);
    }
    start_reading(f);

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct ntk_store_window window = { HOUR_0, HOUR_0 + 240 * SECOND, steps[i] * SECOND };
        struct ntk_store_executions sum = { 0 };
        assert_int_equal(
            ntk_store_reader_executions(f->reader, &all, &window, sum_executions, &sum, &err), 0);
        assert_int_equal(sum.completed, 2 * (140 * 2 + 5000)); /* two cores */
        assert_int_equal(sum.unwatched, 2 * 5000);
        assert_int_equal(sum.total_latency.count, sum.completed);
        assert_int_equal(sum.covered_ns, 140 * SECOND);
        sum = (struct ntk_store_executions){ 0 };
        assert_int_equal(
            ntk_store_reader_executions(f->reader, &core, &window, sum_executions, &sum, &err), 0);
        assert_int_equal(sum.completed, 140 * 2 + 5000);
    }
    /* Windows before or after that second contain none of it. */
    struct ntk_store_window before = { HOUR_0, HOUR_0 + 110 * SECOND, 0 };
    struct ntk_store_window after = { HOUR_0 + 111 * SECOND, HOUR_0 + 240 * SECOND, 0 };
    struct ntk_store_executions sum = { 0 };
    assert_int_equal(
        ntk_store_reader_executions(f->reader, &all, &before, sum_executions, &sum, &err), 0);
    assert_int_equal(
        ntk_store_reader_executions(f->reader, &all, &after, sum_executions, &sum, &err), 0);
    assert_int_equal(sum.unwatched, 0);

    for (size_t i = 1; i < sizeof steps / sizeof *steps; i++) {
        static const struct {
            enum ntk_store_metric metric;
            double value;
        } rates[] = { { NTK_STORE_UTILIZATION, 0.5 }, { NTK_STORE_EXECUTIONS, 2 } };
        for (size_t r = 0; r < 2; r++) {
            struct ntk_store_point *points =
                series(f, rates[r].metric, &core, 0, 240, steps[i], &count);
            for (size_t p = 0; p < count; p++) {
                if (points[p].covered_ns > 0) {
                    assert_close(points[p].value, rates[r].value);
                }
            }
            free(points);
        }
    }
    struct ntk_store_window whole = { HOUR_0, HOUR_0 + 240 * SECOND, 0 };
    uint64_t completed = 0;
    assert_int_equal(
        ntk_store_reader_processes(f->reader, &all, &whole, take_completed, &completed, &err), 0);
    assert_int_equal(completed, 2 * (140 * 2 + 5000));

    sqlite3 *db = test_tier_open(f->path);
    assert_int_equal(test_tier_number(db, "SELECT max(busy_ns) FROM core_sample"), SECOND / 2);
    assert_int_equal(test_tier_number(db, "SELECT count(*) FROM unwatched"), 2);
    assert_int_equal(test_tier_number(db, "SELECT min(time_ns) FROM unwatched"),
                     (int64_t)(HOUR_0 + 111 * SECOND));
    assert_int_equal(test_tier_number(db, "SELECT max(completed) FROM core_total"), 140 * 2 + 5000);
    assert_int_equal(test_tier_number(db, "SELECT max(busy_percent) <= 50 FROM core_by_minute"), 1);
    test_tier_check(db);
    sqlite3_close(db);
}

struct seen {
    char text[512];
    uint64_t last_ns;
};

static int see_event(const struct ntk_store_event *event, void *ctx)
{
    struct seen *seen = ctx;
    size_t used = strlen(seen->text);

    assert_true(event->time_ns >= seen->last_ns);
    assert_int_equal(event->pid, 1077);
    seen->last_ns = event->time_ns;
    snprintf(seen->text + used, sizeof seen->text - used, "%s%s", used ? " " : "",
             ntk_store_event_names[event->kind]);
    return 0;
}

static const char *events(struct fixture *f, struct seen *seen, uint64_t from, uint64_t to,
                          const struct ntk_store_filter *filter, uint32_t kinds)
{
    struct ntk_store_window window = { HOUR_0 + from * SECOND, HOUR_0 + to * SECOND, 0 };
    struct ntk_err err = { 0 };

    *seen = (struct seen){ 0 };
    if (ntk_store_reader_events(f->reader, filter, &window, kinds, see_event, seen, &err) < 0) {
        fail_msg("%s", err.text);
    }
    return seen->text;
}

static int see_completed(const struct ntk_store_process *process, void *ctx)
{
    *(uint64_t *)ctx += process->completed;
    return 0;
}

/* Method: processes of two users with the same tag, one after the other. */
static void processes_of_two_users_are_never_summed(void **state)
{
    struct fixture *f = *state;
    struct ntk_store_filter filter = { .process = "trainer" };
    struct ntk_store_window window = { .from_ns = HOUR_0, .to_ns = HOUR_0 + 60 * SECOND };
    struct ntk_err err = { 0 };
    uint64_t completed = 0;

    f->period.latency_ns = 1000;
    for (uint32_t uid = 1; uid <= 2; uid++) {
        f->period.uid = uid;
        f->period.completed = uid;
        put_at(f, 10 * uid);
    }
    start_reading(f);

    assert_int_equal(ntk_store_reader_check(f->reader, &filter, &err), -EINVAL);
    assert_string_equal(err.text,
                        "process 'trainer' belongs to several users (1, 2): select one by user");
    filter.user = "2";
    assert_int_equal(ntk_store_reader_check(f->reader, &filter, &err), 0);
    assert_int_equal(
        ntk_store_reader_processes(f->reader, &filter, &window, see_completed, &completed, &err),
        0);
    assert_int_equal(completed, 2 * 2); /* on each of two cores */
    char name[64] = "";
    filter.model = "mlp"; /* all filters at once */
    assert_int_equal(ntk_store_reader_check(f->reader, &filter, &err), 0);
    assert_int_equal(ntk_store_reader_models(f->reader, &filter, &window, take_name, name, &err),
                     0);
    assert_string_equal(name, "mlp.neff");
    filter.model = NULL;
    filter.user = "3";
    assert_int_equal(ntk_store_reader_check(f->reader, &filter, &err), -ENOENT);
}

/* Method: three logged events in one second, and a process that ended at that time. */
static void events_are_reported_by_time_kind_and_filter(void **state)
{
    struct fixture *f = *state;
    struct ntk_store_filter all = { 0 };
    struct ntk_store_filter core = { .has_core = true, .core = 1 };
    struct ntk_store_filter other_core = { .has_core = true, .core = 2 };
    struct ntk_store_filter trainer = { .process = "trainer", .model = "mlp" };
    struct ntk_store_filter unknown = { .process = "unknown" };
    struct seen seen;

    f->period.memory_bytes = 100;
    put_at(f, 10);
    f->period.with_events = true;
    put_at(f, 20);
    f->period.with_events = false;
    f->period.ended = true;
    put_at(f, 30);
    start_reading(f);

    assert_string_equal(events(f, &seen, 0, 60, &all, NTK_STORE_EVENTS_ALL),
                        "first_seen load error alloc end");
    assert_string_equal(events(f, &seen, 0, 60, &all, 1u << NTK_STORE_EVENT_ERROR), "error");
    assert_string_equal(events(f, &seen, 0, 60, &all, 0), "");
    assert_string_equal(events(f, &seen, 10, 30, &all, NTK_STORE_EVENTS_ALL),
                        "load error alloc end");
    assert_string_equal(events(f, &seen, 20, 29, &all, NTK_STORE_EVENTS_ALL), "");
    assert_string_equal(events(f, &seen, 0, 60, &core, NTK_STORE_EVENTS_ALL), "load error alloc");
    assert_string_equal(events(f, &seen, 0, 60, &other_core, NTK_STORE_EVENTS_ALL), "");
    assert_string_equal(events(f, &seen, 0, 60, &trainer, NTK_STORE_EVENTS_ALL),
                        "load error alloc");
    assert_string_equal(events(f, &seen, 0, 60, &unknown, NTK_STORE_EVENTS_ALL), "");
    all.newest_events = 3;
    assert_string_equal(events(f, &seen, 0, 60, &all, NTK_STORE_EVENTS_ALL), "error alloc end");
    assert_string_equal(events(f, &seen, 0, 29, &all, NTK_STORE_EVENTS_ALL), "load error alloc");
    all.newest_events = 100;
    assert_string_equal(events(f, &seen, 0, 60, &all, NTK_STORE_EVENTS_ALL),
                        "first_seen load error alloc end");
}

/* Method: one in each second; the recording returns them unchanged. */
static void model_start_and_stop_events_are_stored(void **state)
{
    static const uint16_t kinds[] = { NTK_EVENT_MODEL_LOAD, NTK_EVENT_MODEL_START,
                                      NTK_EVENT_MODEL_STOP, NTK_EVENT_MODEL_UNLOAD };
    struct fixture *f = *state;
    struct ntk_store_filter all = { 0 };
    uint32_t of_models = ~(NTK_STORE_EVENTS_MEMORY | 1u << NTK_STORE_EVENT_ERROR);
    struct seen seen;

    f->period.with_events = true;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        f->period.model_event = kinds[i];
        put_at(f, 10 * (i + 1));
    }
    start_reading(f);

    assert_string_equal(events(f, &seen, 0, 60, &all, of_models),
                        "load first_seen model_start model_stop unload");
    assert_string_equal(events(f, &seen, 0, 60, &all, 1u << NTK_STORE_EVENT_MODEL_STOP),
                        "model_stop");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct ntk_snapshot *snapshot = NULL;
        struct ntk_err err = { 0 };
        size_t count = 0;

        if (ntk_store_reader_snapshot_at(f->reader, HOUR_0 + 10 * (i + 1) * SECOND, &snapshot,
                                         &err) < 0) {
            fail_msg("%s", err.text);
        }
        for (size_t e = 0; e < snapshot->event_count; e++) {
            count += snapshot->events[e].kind == kinds[i];
        }
        assert_int_equal(count, 1);
        assert_int_equal(snapshot->event_count, 3);
        ntk_snapshot_destroy(snapshot);
    }
}

/* Copies of the first process, each one second older, with its counts. */
static void add_processes(const char *path, int count)
{
    static const char *const steps[] = {
        "BEGIN",
        "CREATE TEMP TABLE p AS SELECT * FROM process LIMIT 1",
        "CREATE TEMP TABLE c AS SELECT * FROM core_total WHERE process_id IN"
        " (SELECT process_id FROM p)",
    };
    static const char *const copy[] = {
        "UPDATE p SET process_id = process_id + 1, header_pid = header_pid + 1,"
        " first_seen_ns = first_seen_ns - 1000000000, last_seen_ns = last_seen_ns - 1000000000",
        "UPDATE c SET process_id = process_id + 1",
        "INSERT INTO process SELECT * FROM p",
        "INSERT INTO core_total SELECT * FROM c",
    };
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    for (size_t i = 0; i < 3 + 4 * (size_t)count; i++) {
        const char *sql = i < 3 ? steps[i] : copy[(i - 3) % 4];
        if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
            fail_msg("%s: %s", sql, sqlite3_errmsg(db));
        }
    }
    assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void machine_totals_include_unlisted_processes(void **state)
{
    struct fixture *f = *state;
    struct ntk_snapshot *few;
    struct ntk_snapshot *many;

    f->period.completed = 5;
    f->period.latency_ns = 1000;
    put_at(f, 10);
    start_reading(f);
    assert_int_equal(ntk_store_reader_totals_snapshot(f->reader, true, &few, NULL), 0);
    add_processes(f->path, 5000);
    assert_int_equal(ntk_store_reader_totals_snapshot(f->reader, true, &many, NULL), 0);
    assert_int_equal(many->runtime_count, 4096);
    assert_int_equal(many->outcome[NTK_OUTCOME_COMPLETED].period,
                     5001 * few->outcome[NTK_OUTCOME_COMPLETED].period);
    assert_int_equal(many->outcome[NTK_OUTCOME_COMPLETED].period,
                     5001 * few->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].period);
    assert_int_equal(many->realtime_ns, few->realtime_ns);
    assert_in_range(many->period_ns, few->period_ns + 5000 * SECOND - 1,
                    few->period_ns + 5000 * SECOND);
    ntk_snapshot_destroy(few);
    ntk_snapshot_destroy(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(processes_and_models_in_a_window_are_listed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(invalid_queries_are_answered_with_a_message, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(unwatched_work_is_counted_but_excluded_from_rates, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(processes_of_two_users_are_never_summed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(events_are_reported_by_time_kind_and_filter, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(model_start_and_stop_events_are_stored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(machine_totals_include_unlisted_processes, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
