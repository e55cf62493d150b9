/* SPDX-License-Identifier: MIT */
/* neuron-monitor query on a database of the test: all three forms, times, and messages about
 * invalid queries. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/query/query.h"
#include "shared/base/fs.h"
#include "tests/agent/query/query_fixture.h"
#include "tests/shared/store/make_snapshot.h"
#include "tests/support/mixed_snapshot.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define TRY "Try 'neuron-monitor query --help'.\n"

/* 150 s of work, 60 s without an agent, 30 s idle. */
static int set_up(void **state)
{
    struct test_period period = { .latency_ns = 2000000, .memory_bytes = 5 << 20 };

    create_fixture(state);
    struct ntk_store *store = open_store(((struct fixture *)*state)->path);
    for (uint64_t i = 1; i <= 240; i += i == 150 ? 61 : 1) {
        period.time_ns = T0 + i * SECOND;
        period.completed = i <= 150 ? 2 : 0;
        period.memory_bytes = i == 100 ? 9 << 20 : 5 << 20;
        period.with_events = i == 20;
        test_store_put(store, test_make_snapshot(&period));
    }
    close_store(store);
    return 0;
}

#define RUN(...) \
    test_run_program((const char *const[]){ "neuron-monitor", "query", __VA_ARGS__, NULL }, NULL)

#define EXPECT(expected, ...)                   \
    do {                                        \
        struct test_run run = RUN(__VA_ARGS__); \
        assert_string_equal(run.err, "");       \
        assert_string_equal(run.out, expected); \
        assert_int_equal(run.exit_code, 0);     \
        test_run_fini(&run);                    \
    } while (0)

#define EXPECT_ERROR(code, expected, ...)       \
    do {                                        \
        struct test_run run = RUN(__VA_ARGS__); \
        assert_string_equal(run.out, "");       \
        assert_string_equal(run.err, expected); \
        assert_int_equal(run.exit_code, code);  \
        test_run_fini(&run);                    \
    } while (0)

static void the_default_query_output_is_a_table(void **state)
{
    const struct fixture *f = *state;

    EXPECT("model     from                  to                    watched  completed  failed  "
           "unwatched  uncounted    mean     p50     p99\n"
           "mlp.neff  2023-11-14T22:14:00Z  2023-11-14T22:18:00Z     180s        300       0  "
           "        -          0  2.00ms  2.01ms  2.01ms\n"
           "(all)     2023-11-14T22:14:00Z  2023-11-14T22:18:00Z     180s        600       0  "
           "        0          0  2.00ms  2.01ms  2.01ms\n",
           "latency", "--db", f->path, "--percentiles", "50,99");
    EXPECT("tag       pid  peak device memory  peak host memory  peak rss\n"
           "trainer  1077               9.0MB                0B         -\n",
           "memory", "--db", f->path);
    EXPECT("tag       pid  first seen            last seen             ended  exit code  "
           "exit signal  cores  core list  completed  "
           "failed  unwatched  executions counted  hooks  user  container id  command\n"
           "trainer  1077  2023-11-14T22:14:01Z  2023-11-14T22:18:00Z  -              -  "
           "          -      2  4-5              600  "
           "     0          0  -                   -      -     -             python train.py\n",
           "processes", "--db", f->path);
}

/* The last row of the answer to a query. */
static json_t *ask_last_row(const char *question, const char *path)
{
    struct test_run run = RUN(question, "--json", "--db", path);
    json_t *rows = json_loads(run.out, 0, NULL);
    json_t *row = json_incref(json_array_get(rows, json_array_size(rows) - 1));

    json_decref(rows);
    test_run_fini(&run);
    return row;
}

/* The agent starts after 5 executions on each of two cores, and sees 2 on each per second, for
 * three seconds. */
static void executions_before_the_start_of_the_agent_are_reported(void **state)
{
    static const char *const questions[] = { "latency", "executions", "processes" };
    const struct fixture *f = *state;
    struct test_period period = { .latency_ns = 2000000, .completed = 2 };
    char *path = test_scratch_path(f->folder, "late.db");
    struct ntk_store *store = open_store(path);

    for (uint64_t i = 1; i <= 3; i++) {
        period.time_ns = T0 + i * SECOND;
        period.unwatched = i == 1 ? 5 : 0;
        struct ntk_snapshot *snapshot = test_make_snapshot(&period);
        ntk_store_put(store, snapshot);
        ntk_snapshot_destroy(snapshot);
    }
    close_store(store);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        json_t *row = ask_last_row(questions[i], path);
        assert_int_equal(json_integer_value(json_object_get(row, "completed")), 2 * (3 * 2 + 5));
        assert_int_equal(json_integer_value(json_object_get(row, "unwatched")), 2 * 5);
        json_decref(row);
    }
    /* The other cores of the process do not have them either. */
    for (int core = 4; core <= 6; core++) {
        char number[8];
        snprintf(number, sizeof number, "%d", core);
        struct test_run run = RUN("processes", "--json", "--db", path, "--core", number);
        json_t *rows = json_loads(run.out, 0, NULL);
        json_t *row = json_array_get(rows, 0);
        assert_int_equal(json_array_size(rows), core < 6);
        assert_int_equal(json_integer_value(json_object_get(row, "completed")),
                         core < 6 ? 3 * 2 + 5 : 0);
        assert_int_equal(json_integer_value(json_object_get(row, "unwatched")), core < 6 ? 5 : 0);
        json_decref(rows);
        test_run_fini(&run);
    }
    free(path);
}

/* The answers about processes that are watched in three ways. */
static bool is_given_up; /* after the first snapshot the hooks of one process stop counting */
static char *store_mixed(const struct fixture *f, const char *name)
{
    char *path = test_scratch_path(f->folder, name);
    struct ntk_store *store = open_store(path);

    for (uint64_t i = 1; i <= 3; i++) {
        struct ntk_snapshot *snapshot = test_mixed_snapshot();
        snapshot->realtime_ns = T0 + i * SECOND;
        if (is_given_up && i > 1) {
            struct ntk_runtime_sample *runtime = &snapshot->runtimes[MIXED_PRELOADED];
            runtime->executions_counted = NTK_EXECUTIONS_PART;
            runtime->has &= ~(uint32_t)NTK_RUNTIME_HAS_EXECUTIONS;
            runtime->cores[0].has &= ~(uint32_t)NTK_CORE_HAS_EXECUTIONS;
        }
        ntk_store_put(store, snapshot);
        ntk_snapshot_destroy(snapshot);
    }
    close_store(store);
    return path;
}

/* Each of three processes has its own core. */
static void cores_of_a_process_are_those_that_it_held(void **state)
{
    static const char *const tags[] = { "ours", "preloaded", "attached" };
    char *path = store_mixed(*state, "cores.db");
    unsigned int seen = 0;

    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        struct test_run run = RUN("cores", "--json", "--db", path, "--process", tags[i]);
        json_t *rows = json_loads(run.out, 0, NULL);

        assert_int_equal(json_array_size(rows), 1);
        seen |= 1u << json_integer_value(json_object_get(json_array_get(rows, 0), "core"));
        json_decref(rows);
        test_run_fini(&run);
    }
    assert_int_equal(__builtin_popcount(seen), 3);
    free(path);
}

static void counts_of_abandoned_executions_are_marked(void **state)
{
    static const char *const questions[] = { "executions", "processes" };
    static const char *const marks[] = { "\"uncounted\":1,", "\"executions_counted\":\"part\"," };
    is_given_up = true;
    char *path = store_mixed(*state, "given_up.db");

    is_given_up = false;
    for (size_t i = 0; i < 2; i++) {
        struct test_run run = RUN(questions[i], "--json", "--db", path, "--process", "preloaded");
        json_t *rows = json_loads(run.out, 0, NULL);
        const json_t *row = json_array_get(rows, 0);
        char *text = json_dumps(rows, JSON_COMPACT);

        assert_int_equal(json_array_size(rows), 1);
        assert_true(json_integer_value(json_object_get(row, "completed")) > 0);
        if (!strstr(text, marks[i])) {
            fail_msg("no %s in %s", marks[i], text);
        }
        free(text);
        json_decref(rows);
        test_run_fini(&run);
    }
    free(path);
}

static void unreported_memory_is_printed_as_a_dash_and_estimates_with_a_tilde(void **state)
{
    char *path = store_mixed(*state, "mixed.db");

    EXPECT("tag         pid  peak device memory  peak host memory  peak rss\n"
           "ours       7001               3.0GB           384.0MB     1.0GB\n"
           "preloaded  7002              ~3.0GB           256.0MB     1.0GB\n"
           "attached   7003               1.0GB                 -     1.0GB\n",
           "memory", "--db", path);
    EXPECT("tag,pid,peak_device_memory_bytes,memory_estimated,peak_host_memory_bytes,peak_rss_"
           "bytes\r\n"
           "ours,7001,3221225472,false,402653184,1073741824\r\n"
           "preloaded,7002,3221225472,true,268435456,1073741824\r\n"
           "attached,7003,1073741824,false,,1073741824\r\n",
           "memory", "--db", path, "--csv");
    free(path);
}

/* One of the three processes counts no executions, so a query of only this one shows none. */
static void uncounted_executions_are_marked_and_not_shown_as_zero(void **state)
{
    static const char *const questions[] = { "executions", "errors", "latency" };
    static const char *const counts[] = { "completed", "transient", "completed" };
    static const char *const metrics[] = { "executions", "errors", "model_executions" };
    char *path = store_mixed(*state, "uncounted.db");

    for (size_t i = 0; i < 3; i++) {
        for (int alone = 0; alone < 3; alone++) {
            static const char *const processes[] = { "", "attached", "preloaded" };
            struct test_run run =
                alone ? RUN(questions[i], "--json", "--db", path, "--process", processes[alone])
                      : RUN(questions[i], "--json", "--db", path);
            json_t *rows = json_loads(run.out, 0, NULL);

            assert_true(json_array_size(rows) > 0);
            for (size_t r = 0; r < json_array_size(rows); r++) {
                const json_t *row = json_array_get(rows, r);
                const char *model = json_string_value(json_object_get(row, "model"));
                bool is_its = alone == 1 || (model && strcmp(model, "whisper") == 0);
                bool has_all = !model || strcmp(model, "(all)") == 0;

                assert_int_equal(json_is_null(json_object_get(row, counts[i])), is_its);
                assert_int_equal(json_integer_value(json_object_get(row, "uncounted")),
                                 is_its || (has_all && alone == 0));
            }
            json_decref(rows);
            test_run_fini(&run);
        }
        struct test_run run =
            RUN("series", "--metric", metrics[i], "--csv", "--db", path, "--process", "attached");
        assert_non_null(strstr(run.out, "Z,3,3,,"));
        test_run_fini(&run);
    }
    free(path);
}

static json_t *ask_first_row(const char *question, const char *path, const char *process)
{
    struct test_run run = RUN(question, "--json", "--db", path, "--process", process);
    json_t *rows = json_loads(run.out, 0, NULL);
    json_t *row = json_incref(json_array_get(rows, 0));

    json_decref(rows);
    test_run_fini(&run);
    return row;
}

/* The name of a model that was loaded before the hooks were is unknown. */
static void an_unknown_model_name_is_shown_as_a_dash(void **state)
{
    const struct fixture *f = *state;
    char *path = test_scratch_path(f->folder, "nameless.db");
    struct ntk_store *store = open_store(path);

    struct ntk_snapshot *snapshot = test_mixed_snapshot();
    snapshot->realtime_ns = T0;
    snapshot->runtimes[MIXED_PRELOADED].models[0].name = "";
    ntk_store_put(store, snapshot);
    ntk_snapshot_destroy(snapshot);
    close_store(store);

    struct test_run run = RUN("latency", "--db", path, "--process", "preloaded");
    assert_non_null(strstr(run.out, "\n-      "));
    test_run_fini(&run);
    json_t *row = ask_first_row("latency", path, "preloaded");
    assert_true(json_is_null(json_object_get(row, "model")));
    json_decref(row);
    free(path);
}

/* Its memory was never observed, so the peak is unknown, although its memory is freed by now. */
static void memory_of_a_process_that_exited_before_it_was_seen_is_unknown(void **state)
{
    const struct fixture *f = *state;
    char *path = test_scratch_path(f->folder, "over.db");
    struct ntk_store *store = open_store(path);

    struct ntk_snapshot *snapshot = test_mixed_snapshot();
    struct ntk_runtime_sample *ours = &snapshot->runtimes[MIXED_OURS];
    snapshot->realtime_ns = T0;
    ours->first = ours->ended = true;
    ours->memory_count = 0;
    ours->has &= ~(uint32_t)NTK_RUNTIME_HAS_RSS;
    ntk_store_put(store, snapshot);
    ntk_snapshot_destroy(snapshot);
    close_store(store);
    EXPECT("tag    pid  peak device memory  peak host memory  peak rss\n"
           "ours  7001                   -                 -         -\n",
           "memory", "--db", path, "--process", "ours");
    free(path);
}

static void unwatched_time_has_empty_values_and_idle_time_has_zeros(void **state)
{
    const struct fixture *f = *state;

    EXPECT(
        "core,from,to,watched_seconds,busy_ratio,busiest_second_ratio,pe_busy_ratio,act_busy_ratio,"
        "pool_busy_ratio,dve_busy_ratio,sp_busy_ratio,dma_busy_ratio,effective_flops_per_second\r\n"
        "4,2023-11-14T22:16:00Z,2023-11-14T22:16:30Z,30,0.5,0.5,,,,,,,\r\n"
        "4,2023-11-14T22:16:30Z,2023-11-14T22:17:00Z,0,,,,,,,,,\r\n"
        "4,2023-11-14T22:17:00Z,2023-11-14T22:17:30Z,0,,,,,,,,,\r\n"
        "4,2023-11-14T22:17:30Z,2023-11-14T22:18:00Z,30,0.5,0.5,,,,,,,\r\n",
        "cores", "--db", f->path, "--csv", "--core", "4", "--last", "2m", "--step", "30s");
    /* Idle counts as zero, unwatched as absent. */
    EXPECT("from                  to                    watched  executions\n"
           "2023-11-14T22:15:00Z  2023-11-14T22:16:00Z      60s           4\n"
           "2023-11-14T22:16:00Z  2023-11-14T22:17:00Z      30s           4\n"
           "2023-11-14T22:17:00Z  2023-11-14T22:18:00Z      30s           0\n",
           "series", "--metric", "executions", "--db", f->path, "--from", "2023-11-14T22:15:00Z",
           "--step", "1m");
}

static void json_output_has_typed_values_and_utc_times(void **state)
{
    const struct fixture *f = *state;
    struct test_run run = RUN("executions", "--json", "--db", f->path, "--step", "60", "--from",
                              "1700000160", "--to", "2023-11-15T00:18:00+02:00");

    assert_int_equal(run.exit_code, 0);
    json_t *rows = json_loads(run.out, 0, NULL);
    assert_int_equal(json_array_size(rows), 2);
    json_t *row = json_array_get(rows, 0);
    assert_string_equal(json_string_value(json_object_get(row, "from")), "2023-11-14T22:16:00Z");
    assert_true(json_number_value(json_object_get(row, "watched_seconds")) == 30);
    assert_int_equal(json_integer_value(json_object_get(row, "completed")), 120);
    assert_true(json_number_value(json_object_get(row, "per_second")) == 4);
    assert_int_equal(json_integer_value(json_object_get(row, "timed_out")), 0);
    json_decref(rows);
    test_run_fini(&run);

    run = RUN("latency", "--json", "--db", f->path, "--from", "2023-11-14T22:17:10Z", "--to",
              "2023-11-14T22:17:20Z");
    rows = json_loads(run.out, 0, NULL);
    row = json_array_get(rows, 0);
    assert_true(json_is_null(json_object_get(row, "completed")));
    assert_true(json_is_null(json_object_get(row, "p99_ns")));
    json_decref(rows);
    test_run_fini(&run);
}

static void events_are_listed_in_time_order(void **state)
{
    const struct fixture *f = *state;

    EXPECT(
        "time                      kind        tag       pid  core  model     what   nrt status  "
        "execution id  bytes  duration  address  name             value\n"
        "2023-11-14T22:14:01Z      first_seen  trainer  1077     -  -         -               -  "
        "           -      -         -  -        python train.py      -\n"
        "2023-11-14T22:14:19.999Z  load        trainer  1077     1  mlp.neff  -            1006  "
        "           -  4.0KB       0ns  -        weights              -\n"
        "2023-11-14T22:14:19.999Z  error       trainer  1077     1  mlp.neff  model        1006  "
        "           0      -         -  -        -                    -\n",
        "events", "--db", f->path);
    EXPECT("time,kind,tag,pid,core,model,what,nrt_status,execution_id,bytes,duration_ns,"
           "address,name,value\r\n"
           "2023-11-14T22:14:20Z,alloc,trainer,1077,1,mlp.neff,tensors,,,4096,,0x0,weights,\r\n",
           "events", "--db", f->path, "--csv", "--kind", "alloc,free");
    EXPECT("time,kind,tag,pid,core,model,what,nrt_status,execution_id,bytes,duration_ns,"
           "address,name,value\r\n"
           "2023-11-14T22:14:19.999Z,error,trainer,1077,1,mlp.neff,model,1006,0,,,,,\r\n",
           "events", "--db", f->path, "--csv", "--newest", "1");
    EXPECT("[]\n", "events", "--db", f->path, "--json", "--core", "5", "--kind", "error");
    EXPECT_ERROR(2,
                 "neuron-monitor query: invalid value 'errors' for --kind (did you mean 'error'?): "
                 "expected first_seen, end, "
                 "load, unload, error, alloc, free, model_start, model_stop, mark, separated by "
                 "commas, or all\n" TRY,
                 "events", "--db", f->path, "--kind", "errors");
    EXPECT_ERROR(2,
                 "neuron-monitor query: invalid value 'x' for --kind: "
                 "expected first_seen, end, load, unload, error, alloc, free, model_start, "
                 "model_stop, mark, separated by commas, or all\n" TRY,
                 "events", "--db", f->path, "--kind",
                 "first_seen,end,load,unload,error,alloc,free,x");
}

static void invalid_queries_are_rejected_with_one_message(void **state)
{
    const struct fixture *f = *state;
    char text[600];

    EXPECT_ERROR(
        2, "neuron-monitor query: missing argument QUESTION: --help lists the questions\n" TRY,
        "--db", f->path);
    EXPECT_ERROR(
        2, "neuron-monitor query: unknown question 'weather': --help lists the questions\n" TRY,
        "weather", "--db", f->path);
    EXPECT_ERROR(2, "neuron-monitor query: no database: use --db FILE\n" TRY, "latency");
    EXPECT_ERROR(2, "neuron-monitor query: unexpected argument 'x'\n" TRY, "latency", "x", "--db",
                 f->path);
    EXPECT_ERROR(2, "neuron-monitor query: --csv and --json are mutually exclusive\n" TRY,
                 "latency", "--csv", "--json", "--db", f->path);
    EXPECT_ERROR(2,
                 "neuron-monitor query: invalid value 'noon' for --from: expected "
                 "2026-11-21T07:30:00Z, or seconds since the Unix epoch\n" TRY,
                 "latency", "--from", "noon", "--db", f->path);
    EXPECT_ERROR(2, "neuron-monitor query: no metric: use --metric NAME\n" TRY, "series", "--db",
                 f->path);
    snprintf(text, sizeof text, "neuron-monitor query: %s: unknown model 'gpt'\n", f->path);
    EXPECT_ERROR(1, text, "latency", "--model", "gpt", "--db", f->path);
    snprintf(text, sizeof text, "neuron-monitor query: %s: the window ends before it begins\n",
             f->path);
    EXPECT_ERROR(1, text, "latency", "--from", "2033-01-01", "--to", "2032-01-01", "--db", f->path);
    snprintf(
        text, sizeof text,
        "neuron-monitor query: %s: the window begins after the last row (2023-11-14T22:18:00Z)\n",
        f->path);
    EXPECT_ERROR(1, text, "latency", "--from", "2033-01-01", "--db", f->path);
    snprintf(
        text, sizeof text,
        "neuron-monitor query: %s: the window ends before the first row (2023-11-14T22:14:00Z)\n",
        f->path);
    EXPECT_ERROR(1, text, "latency", "--to", "2001-01-01", "--db", f->path);
    EXPECT_ERROR(1, "neuron-monitor query: database '/nonexistent.db' not found\n", "latency",
                 "--db", "/nonexistent.db");
    char *other = test_scratch_path(f->folder, "other.db");
    ntk_fs_write(other, "this is a text file, not a database, and longer than a header", 61, NULL);
    snprintf(text, sizeof text, "neuron-monitor query: %s: not a database\n", other);
    EXPECT_ERROR(1, text, "latency", "--db", other);
    free(other);
}

/* A silently ignored option would produce output that appears to respect it. */
static void an_option_that_does_not_apply_to_the_query_is_rejected(void **state)
{
    static const struct {
        const char *question;
        const char *option;
        const char *value;
        const char *sentence; /* NULL: the option applies */
    } rows[] = {
        { "memory", "--device", "0", "--device does not apply to question 'memory'" },
        { "health", "--model", "mlp", "--model does not apply to question 'health'" },
        { "processes", "--core", "4", NULL },
        { "executions", "--kind", "error", "--kind does not apply to question 'executions'" },
        { "executions", "--percentiles", "50",
          "--percentiles does not apply to question 'executions'" },
        { "errors", "--newest", "3", "--newest does not apply to question 'errors'" },
        { "processes", "--step", "1m", "--step does not apply to question 'processes'" },
        { "latency", "--metric", "vcpu", "--metric does not apply to question 'latency'" },
        { "series --metric vcpu", "--core", "4", "--core does not apply to metric 'vcpu'" },
        { "series --metric executions", "--model", "mlp",
          "--model does not apply to metric 'executions'" },
        { "series --metric executions", "--core", "4", NULL },
        { "series --metric model_executions", "--model", "mlp", NULL },
        { "latency --model mlp", "--core", "4",
          "--model and --core are mutually exclusive: the database does not store models per "
          "core" },
        { "events --model mlp", "--core", "4", NULL },
        { "cores", "--core", "-1",
          "invalid value '-1' for --core: expected a number from 0 to 65535" },
    };
    const struct fixture *f = *state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char question[64];
        char expected[256];
        snprintf(question, sizeof question, "%s", rows[i].question);
        char *option = strchr(question, ' ');
        char *value = option ? strchr(option + 1, ' ') : NULL;
        if (value) {
            *option++ = *value++ = '\0';
        }
        struct test_run run =
            RUN(question, "--csv", "--db", f->path, rows[i].option, rows[i].value, option, value);
        snprintf(expected, sizeof expected, "neuron-monitor query: %s\n" TRY,
                 rows[i].sentence ? rows[i].sentence : "");
        assert_string_equal(run.err, rows[i].sentence ? expected : "");
        assert_int_equal(run.exit_code, rows[i].sentence ? 2 : 0);
        assert_true(rows[i].sentence ? run.out[0] == '\0' : run.out[0] != '\0');
        test_run_fini(&run);
    }
}

static void every_metric_is_listed_and_queryable(void **state)
{
    const struct fixture *f = *state;
    struct test_run run = RUN("--metric", "help");

    assert_int_equal(run.exit_code, 0);
    /* The units are below each other. */
    size_t unit_at = strcspn(run.out, " ") + strspn(strchr(run.out, ' '), " ");
    for (int i = 0; i < NTK_STORE_METRIC_COUNT; i++) {
        char start[64];
        snprintf(start, sizeof start, "\n%s ", ntk_store_metrics[i].name);
        const char *line = i == 0 ? run.out : strstr(run.out, start) + 1;
        assert_memory_equal(line, start + 1, strlen(start + 1));
        assert_int_equal(line[unit_at - 1], ' ');
        assert_memory_equal(line + unit_at, ntk_store_metrics[i].unit,
                            strlen(ntk_store_metrics[i].unit));
        struct test_run asked =
            RUN("series", "--metric", ntk_store_metrics[i].name, "--db", f->path);
        assert_int_equal(asked.exit_code, 0);
        assert_string_equal(asked.err, "");
        test_run_fini(&asked);
    }
    test_run_fini(&run);
}

/* The record of a fault has no class, because the failed execution has a row, too. */
static void an_error_without_a_class_is_reported_as_fault_or_by_its_outcome(void **state)
{
    static const struct {
        uint32_t status;
        const char *expected;
    } rows[] = { { 5, "fault" }, { 1201, "fault" }, { 1002, "incorrect_input" } };
    const struct fixture *f = *state;
    struct test_period period = { .with_events = true };
    char *path = test_scratch_path(f->folder, "classless.db");
    struct ntk_store *store = open_store(path);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        period.time_ns = T0 + (i + 1) * SECOND;
        struct ntk_snapshot *snapshot = test_make_snapshot(&period);
        snapshot->events[1].error_class = NTK_ERROR_CLASS_NONE;
        snapshot->events[1].status = rows[i].status;
        test_store_put(store, snapshot);
    }
    close_store(store);
    struct test_run run = RUN("events", "--kind", "error", "--json", "--db", path);
    json_t *errors = json_loads(run.out, 0, NULL);
    assert_int_equal(json_array_size(errors), sizeof rows / sizeof *rows);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_string_equal(json_string_value(json_object_get(json_array_get(errors, i), "what")),
                            rows[i].expected);
    }
    json_decref(errors);
    test_run_fini(&run);
    free(path);
}

/* Method: the headings of each question and metric, which are at least two blanks apart. */
static void table_headings_are_unique(void **state)
{
    const struct fixture *f = *state;
    size_t metric = 0;

    for (const struct ntk_query_question *q = ntk_query_questions; q->name; q++) {
        bool is_series = strcmp(q->name, "series") == 0;
        struct test_run run =
            is_series ? RUN(q->name, "--db", f->path, "--metric", ntk_store_metrics[metric].name)
                      : RUN(q->name, "--db", f->path);
        char *headings[NTK_QUERY_COLUMNS_MAX];
        size_t count = 0;

        assert_int_equal(run.exit_code, 0);
        run.out[strcspn(run.out, "\n")] = '\0';
        for (char *at = run.out + strspn(run.out, " "); *at;) {
            char *end = strstr(at, "  ");
            char *next = end ? end + strspn(end, " ") : at + strlen(at);
            if (end) {
                *end = '\0';
            }
            for (size_t i = 0; i < count; i++) {
                if (strcmp(headings[i], at) == 0) {
                    fail_msg("question '%s' has two columns named '%s'", q->name, at);
                }
            }
            assert_true(count < NTK_QUERY_COLUMNS_MAX);
            headings[count++] = at;
            at = next;
        }
        assert_true(count > 2);
        test_run_fini(&run);
        q -= is_series && ++metric < NTK_STORE_METRIC_COUNT;
    }
    assert_int_equal(metric, NTK_STORE_METRIC_COUNT);
}

/* Names are never cut: keys for programs and headings for users are complete. */
static void metric_names_in_output_are_never_truncated(void **state)
{
    const struct fixture *f = *state;

    for (int i = 0; i < NTK_STORE_METRIC_COUNT; i++) {
        char key[128];
        struct test_run run =
            RUN("series", "--metric", ntk_store_metrics[i].name, "--db", f->path, "--csv");
        snprintf(key, sizeof key, ",%s,largest_%s\r\n", ntk_store_metrics[i].name,
                 ntk_store_metrics[i].name);
        assert_non_null(strstr(run.out, key));
        test_run_fini(&run);
    }
}

/* The largest second of several cores is unknown: users see the column only for one core. */
static void a_column_without_values_is_omitted(void **state)
{
    const struct fixture *f = *state;

    EXPECT("from                  to                    watched  utilization\n"
           "2023-11-14T22:14:00Z  2023-11-14T22:18:00Z     180s       100.0%\n",
           "series", "--metric", "utilization", "--db", f->path);
    EXPECT(
        "from                  to                    watched  utilization  largest utilization\n"
        "2023-11-14T22:14:00Z  2023-11-14T22:18:00Z     180s        50.0%                50.0%\n",
        "series", "--metric", "utilization", "--db", f->path, "--core", "4");
    struct test_run run = RUN("series", "--metric", "utilization", "--db", f->path, "--json");
    assert_non_null(strstr(run.out, "\"largest_utilization\""));
    test_run_fini(&run);
}

/* The agent watches for 100 s, and the process runs for 20 s of them, across a minute. */
static void rates_of_a_process_cover_only_its_running_time(void **state)
{
    static const struct {
        const char *question;
        const char *key;
        double value;
    } rows[] = {
        { "executions", "per_second", 2 * 3 },
        { "cores", "busy_ratio", 0.5 },
        { "executions", "running_seconds", 20 },
        { "executions", "watched_seconds", 100 },
    };
    const struct fixture *f = *state;
    struct test_period period = { .latency_ns = 2000000, .completed = 3 };
    char *path = test_scratch_path(f->folder, "short.db");
    struct ntk_store *store = open_store(path);

    for (uint64_t i = 1; i <= 100; i++) {
        period.time_ns = T0 + i * SECOND;
        struct ntk_snapshot *snapshot = test_make_snapshot(&period);
        snapshot->runtime_count = i > 50 && i <= 70;
        test_store_put(store, snapshot);
    }
    close_store(store);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *row = ask_first_row(rows[i].question, path, "trainer");
        double value = json_number_value(json_object_get(row, rows[i].key));
        if (value != rows[i].value) {
            fail_msg("%s: %s is %g, not %g", rows[i].question, rows[i].key, value, rows[i].value);
        }
        json_decref(row);
    }
    /* Over all processes the divisor is the time of the agent. */
    json_t *row = ask_last_row("executions", path);
    assert_true(json_number_value(json_object_get(row, "per_second")) == 1.2);
    assert_null(json_object_get(row, "running_seconds"));
    json_decref(row);
    /* A step without the process has no rate. */
    EXPECT("from                  to                    watched  running  executions\n"
           "2023-11-14T22:14:00Z  2023-11-14T22:14:20Z      20s       0s           -\n"
           "2023-11-14T22:14:20Z  2023-11-14T22:14:40Z      20s       0s           -\n"
           "2023-11-14T22:14:40Z  2023-11-14T22:15:00Z      20s      10s           6\n"
           "2023-11-14T22:15:00Z  2023-11-14T22:15:20Z      20s      10s           6\n"
           "2023-11-14T22:15:20Z  2023-11-14T22:15:40Z      20s       0s           -\n",
           "series", "--metric", "executions", "--db", path, "--step", "20s", "--process",
           "trainer");
    free(path);
}

static void control_bytes_in_stored_strings_are_replaced(void **state)
{
    struct ntk_query_table table;
    struct ntk_buf out = { 0 };

    ntk_query_table_init(&table);
    ntk_query_table_add_column(&table, NTK_QUERY_TEXT, "tag");
    ntk_query_table_add_column(&table, NTK_QUERY_BYTES, "size_bytes");
    ntk_query_table_add_text(&table, "a\x1b[2J,\"b\"\n");
    ntk_query_table_add_count(&table, true, UINT64_MAX);
    ntk_query_table_add_text(&table, NULL);
    ntk_query_table_add_number(&table, false, 0);
    ntk_query_table_write(&table, NTK_QUERY_FORM_CSV, &out);
    assert_string_equal(ntk_buf_text_get(&out),
                        "tag,size_bytes\r\n\"a\xef\xbf\xbd[2J,\"\"b\"\"\xef\xbf\xbd\","
                        "18446744073709551615\r\n,\r\n");
    ntk_buf_reset(&out);
    ntk_query_table_write(&table, NTK_QUERY_FORM_JSON, &out);
    json_t *rows = json_loads(ntk_buf_text_get(&out), JSON_DECODE_INT_AS_REAL, NULL);
    assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "tag")),
                        "a\x1b[2J,\"b\"\n");
    assert_true(json_is_null(json_object_get(json_array_get(rows, 1), "size_bytes")));
    json_decref(rows);
    ntk_buf_reset(&out);
    ntk_query_table_write(&table, NTK_QUERY_FORM_TABLE, &out);
    assert_null(strchr(ntk_buf_text_get(&out), '\x1b'));
    ntk_buf_fini(&out);
    ntk_query_table_fini(&table);
}

static void rates_below_one_are_not_rounded_to_zero(void **state)
{
    struct ntk_query_table table;
    struct ntk_buf out = { 0 };

    (void)state;
    ntk_query_table_init(&table);
    ntk_query_table_add_column(&table, NTK_QUERY_NUMBER, "per_second");
    ntk_query_table_add_number(&table, true, 3 / 62.0);
    ntk_query_table_add_number(&table, true, 4);
    ntk_query_table_add_number(&table, true, 1.5e9);
    ntk_query_table_write(&table, NTK_QUERY_FORM_TABLE, &out);
    assert_non_null(strstr(ntk_buf_text_get(&out), "0.0484\n"));
    assert_non_null(strstr(ntk_buf_text_get(&out), " 4\n"));
    assert_non_null(strstr(ntk_buf_text_get(&out), "1.50G\n"));
    ntk_buf_fini(&out);
    ntk_query_table_fini(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_below_one_are_not_rounded_to_zero),
        cmocka_unit_test(the_default_query_output_is_a_table),
        cmocka_unit_test(executions_before_the_start_of_the_agent_are_reported),
        cmocka_unit_test(unreported_memory_is_printed_as_a_dash_and_estimates_with_a_tilde),
        cmocka_unit_test(uncounted_executions_are_marked_and_not_shown_as_zero),
        cmocka_unit_test(cores_of_a_process_are_those_that_it_held),
        cmocka_unit_test(counts_of_abandoned_executions_are_marked),
        cmocka_unit_test(an_unknown_model_name_is_shown_as_a_dash),
        cmocka_unit_test(memory_of_a_process_that_exited_before_it_was_seen_is_unknown),
        cmocka_unit_test(unwatched_time_has_empty_values_and_idle_time_has_zeros),
        cmocka_unit_test(json_output_has_typed_values_and_utc_times),
        cmocka_unit_test(events_are_listed_in_time_order),
        cmocka_unit_test(invalid_queries_are_rejected_with_one_message),
        cmocka_unit_test(an_option_that_does_not_apply_to_the_query_is_rejected),
        cmocka_unit_test(every_metric_is_listed_and_queryable),
        cmocka_unit_test(control_bytes_in_stored_strings_are_replaced),
        cmocka_unit_test(table_headings_are_unique),
        cmocka_unit_test(an_error_without_a_class_is_reported_as_fault_or_by_its_outcome),
        cmocka_unit_test(metric_names_in_output_are_never_truncated),
        cmocka_unit_test(a_column_without_values_is_omitted),
        cmocka_unit_test(rates_of_a_process_cover_only_its_running_time),
    };

    return cmocka_run_group_tests(tests, set_up, destroy_fixture);
}
