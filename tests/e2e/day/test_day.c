/* SPDX-License-Identifier: MIT */
/*
 * A day of an agent: restarts, outages of every output, full disks, steps of the clock and
 * thousands of jobs. What the jobs count is what each output received and what it counted as lost;
 * memory stays flat and the database within its limit.
 *
 * Method: the agent's clock is the test's, so a day takes seconds. The receivers are the test's,
 * too, and decode what they accept.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "tests/e2e/day/day_checks.h"
#include "tests/e2e/day/day_jobs.h"
#include "tests/e2e/day/day_life.h"
#include "tests/e2e/day/day_receivers.h"
#include "tests/support/clock.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define STEP_NS (30 * NTK_NS_PER_SECOND) /* the agent's store period */
#define STEPS_PER_MINUTE 2
#define MINUTES (24 * 60)
#define PERIOD_NS (60 * NTK_NS_PER_SECOND)
#define DB_BYTES (UINT64_C(24) << 20)
/* Between two checks of the limit the database may grow by what a minute writes. */
#define DB_SLACK_BYTES (UINT64_C(1) << 20)
#define JOBS 5000u
#define HEAP_TOLERANCE_PERCENT 5
#define DB_CACHE_BYTES (UINT64_C(4) << 20)
#define HALF_HOUR 30
/* After the first restarts: only an agent that continues restores counters. */
#define EARLY 120
/* Minutes in the longest agent run: WARM with full caches, after a full disk; LATE after outages of
 * every output and 1,300 further jobs. */
#define WARM 720
#define LATE 1090

/* The time in minutes since the start of the day. */
static const struct outage {
    enum day_output output;
    enum day_mode mode;
    unsigned from, to;
} outages[] = {
    { DAY_REMOTE_WRITE, DAY_REFUSES, 90, 150 },
    { DAY_OTLP, DAY_REFUSES, 200, 260 },
    { DAY_TRACES, DAY_BREAKS, 230, 300 },
    { DAY_CLOUDWATCH, DAY_REFUSES, 320, 400 },
    { DAY_S3, DAY_REFUSES, 400, 580 },
    { DAY_REMOTE_WRITE, DAY_BREAKS, 700, 760 },
    { DAY_OTLP, DAY_BREAKS, 750, 800 },
    { DAY_CLOUDWATCH, DAY_BREAKS, 790, 830 },
    { DAY_TRACES, DAY_REFUSES, 900, 930 },
    { DAY_REMOTE_WRITE, DAY_REFUSES, 1000, 1060 },
    { DAY_OTLP, DAY_REFUSES, 1000, 1060 },
    { DAY_TRACES, DAY_REFUSES, 1000, 1060 },
    { DAY_CLOUDWATCH, DAY_REFUSES, 1000, 1060 },
    { DAY_S3, DAY_BREAKS, 1000, 1090 },
    { DAY_REMOTE_WRITE, DAY_REFUSES, 1105, 1120 },
    { DAY_REMOTE_WRITE, DAY_REFUSES, 1200, 1215 },
    { DAY_TRACES, DAY_REFUSES, 1240, 1260 },
};

/* Minutes without a scraper. */
static const struct span {
    unsigned from, to;
} without_scraper[] = { { 62, 120 }, { 500, 720 } },
  full_disks[] = { { 600, 640 }, { 1100, 1150 } };

static const struct step {
    unsigned at;
    int64_t seconds;
} steps[] = { { 450, 3600 }, { 820, -3600 }, { 1020, -45 }, { 1095, 300 }, { 1290, -300 } };

enum end { KILLED, STOPPED };

/* A minute without an agent follows where has_gap: jobs continue and are killed in it. */
static const struct restart {
    unsigned at;
    enum end end;
    bool has_gap;
} restarts[] = {
    { 65, STOPPED, false },  { 75, KILLED, false },    { 85, KILLED, true },
    { 100, KILLED, false },  { 130, STOPPED, false },  { 170, STOPPED, true },
    { 210, KILLED, false },  { 240, STOPPED, false },  { 330, KILLED, true },
    { 350, STOPPED, false }, { 1160, KILLED, false },  { 1170, STOPPED, true },
    { 1190, KILLED, true },  { 1210, STOPPED, false }, { 1250, KILLED, false },
    { 1270, STOPPED, true }, { 1300, KILLED, false },  { 1330, STOPPED, false },
    { 1350, KILLED, true },  { 1380, STOPPED, false },
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

struct fixture {
    char *folder;
    struct day_jobs *jobs;
    struct day_receivers *receivers;
    struct test_clock clock;
    struct day_life life;
    uint32_t random;
    unsigned ages[DAY_JOBS_AT_ONCE]; /* steps that the job of a slot has left */
    uint64_t db_bytes_max;
    uint64_t scraped; /* the last total */
    unsigned scrapes;
    uint64_t heap_bytes[MINUTES + 1];
    uint64_t seen_lines, reported; /* executions before the last report */
    uint64_t unreported;           /* executions that killed agents had not reported */
    uint64_t unseen;               /* executions without an agent */
};

/* -- jobs -------------------------------------------------------------------------------------- */

static unsigned random_below(struct fixture *f, unsigned bound)
{
    f->random = f->random * 1103515245u + 12345u;
    return (f->random >> 16) % bound;
}

/* Half of the jobs share a few tags, the others have none. */
static void begin_job(struct fixture *f, size_t slot)
{
    char tag[16];

    (void)snprintf(tag, sizeof tag, "team-%u", random_below(f, 6));
    day_jobs_begin(f->jobs, slot, random_below(f, 2) ? tag : NULL);
    f->ages[slot] = 1 + random_below(f, 5);
}

/* Without an agent no job begins, and those that end are killed: an orderly end leaves nothing. */
static void step_jobs(struct fixture *f, unsigned wanted)
{
    for (size_t i = 0; i < DAY_JOBS_AT_ONCE; i++) {
        if (day_jobs_runs(f->jobs, i)) {
            day_jobs_execute(f->jobs, i, 1 + random_below(f, 11));
            f->ages[i]--;
        }
        bool is_killed = random_below(f, 4) == 0;
        if (day_jobs_runs(f->jobs, i) && f->ages[i] == 0) {
            day_jobs_end(f->jobs, i, is_killed || !f->life.pid);
        }
        if (!day_jobs_runs(f->jobs, i) && f->life.pid && day_jobs_begun(f->jobs) < wanted) {
            begin_job(f, i);
        }
    }
}

/* -- the events of a minute ------------------------------------------------------------------ */

static bool is_within(const struct span *spans, size_t count, unsigned minute)
{
    for (size_t i = 0; i < count; i++) {
        if (minute >= spans[i].from && minute < spans[i].to) {
            return true;
        }
    }
    return false;
}

static void set_modes(struct fixture *f, unsigned minute)
{
    enum day_mode modes[DAY_OUTPUT_COUNT] = { DAY_ACCEPTS };

    for (size_t i = 0; i < COUNT(outages); i++) {
        if (minute >= outages[i].from && minute < outages[i].to) {
            modes[outages[i].output] = outages[i].mode;
        }
    }
    for (size_t i = 0; i < DAY_OUTPUT_COUNT; i++) {
        day_receivers_set_mode(f->receivers, (enum day_output)i, modes[i]);
    }
    f->life.is_cloudwatch_down = modes[DAY_CLOUDWATCH] != DAY_ACCEPTS;
}

static void note_reports(struct fixture *f)
{
    if (f->life.line_count > f->seen_lines) {
        f->seen_lines = f->life.line_count;
        f->reported = day_jobs_executed(f->jobs);
    }
}

static void run_step(struct fixture *f, unsigned wanted)
{
    step_jobs(f, wanted);
    day_life_run(&f->life, STEP_NS);
    note_reports(f);
}

static void restart(struct fixture *f, const struct restart *restart, unsigned wanted)
{
    if (restart->end == KILLED) {
        day_life_kill(&f->life);
        note_reports(f);
        f->unreported += day_jobs_executed(f->jobs) - f->reported;
    } else {
        assert_int_equal(day_life_stop(&f->life), 0);
        note_reports(f);
    }
    uint64_t before = day_jobs_executed(f->jobs);
    for (unsigned i = 0; restart->has_gap && i < STEPS_PER_MINUTE; i++) {
        run_step(f, wanted);
    }
    f->unseen += day_jobs_executed(f->jobs) - before;
    day_life_begin(&f->life);
}

static double page_value(const char *page, const char *name, const char *label)
{
    size_t length = strlen(name);

    for (const char *line = page; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *end = strchr(line, '\n');
        const char *at = strstr(line, label);
        if (strncmp(line, name, length) == 0 && at && end && at < end) {
            const char *value = strstr(at, "} ");
            return value ? strtod(value + 2, NULL) : -1;
        }
    }
    return -1;
}

static void scrape(struct fixture *f, unsigned minute)
{
    day_life_scrape(&f->life);
    day_life_scraped(&f->life);
    note_reports(f);
    double value =
        page_value(f->life.page, "neuron_executions_total{", "status_type=\"completed\"");
    if (value < (double)f->scraped || value > (double)day_jobs_executed(f->jobs)) {
        print_message("minute %u: the page has %.0f, before %" PRIu64 ", executed %" PRIu64 "\n",
                      minute, value, f->scraped, day_jobs_executed(f->jobs));
    }
    assert_true(value >= (double)f->scraped && value <= (double)day_jobs_executed(f->jobs));
    f->scraped = (uint64_t)value;
    f->scrapes++;
}

static uint64_t file_bytes(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
}

static void run_minute(struct fixture *f, unsigned minute)
{
    unsigned wanted = (unsigned)((uint64_t)JOBS * (minute + 1) / MINUTES);

    set_modes(f, minute);
    for (size_t i = 0; i < COUNT(steps); i++) {
        if (steps[i].at == minute) {
            day_life_step(&f->life, steps[i].seconds * (int64_t)NTK_NS_PER_SECOND);
        }
    }
    day_life_set_full(&f->life, is_within(full_disks, COUNT(full_disks), minute));
    for (size_t i = 0; i < COUNT(restarts); i++) {
        if (restarts[i].at == minute) {
            restart(f, &restarts[i], wanted);
        }
    }
    for (unsigned i = 0; i < STEPS_PER_MINUTE; i++) {
        run_step(f, wanted);
    }
    if (minute % 5 == 0 && !is_within(without_scraper, COUNT(without_scraper), minute)) {
        scrape(f, minute);
    }
    uint64_t bytes = file_bytes(f->life.db);
    f->db_bytes_max = bytes > f->db_bytes_max ? bytes : f->db_bytes_max;
    f->heap_bytes[minute + 1] = day_life_heap_bytes(&f->life);
}

/* -- what must hold ---------------------------------------------------------------------------- */

/* The least of half an hour: requests in progress take more. */
static uint64_t heap_until(const struct fixture *f, unsigned minute)
{
    uint64_t least = f->heap_bytes[minute];

    for (unsigned i = minute - HALF_HOUR + 1; i < minute; i++) {
        least = f->heap_bytes[i] && f->heap_bytes[i] < least ? f->heap_bytes[i] : least;
    }
    return least;
}

/* SQLite's cache is empty at first and full after some hours. */
static bool is_flat(const struct fixture *f, unsigned from, unsigned to, uint64_t cache_bytes)
{
    uint64_t before = heap_until(f, from);
    uint64_t after = heap_until(f, to);
    bool is_good = before > 0 && after > 0 && /* an agent ran then */
                   after <= before + cache_bytes + before * HEAP_TOLERANCE_PERCENT / 100;

    print_message("memory        %" PRIu64 " KiB until minute %u, %" PRIu64 " until %u%s\n",
                  before / 1024, from, after / 1024, to, is_good ? "" : ": too much");
    return is_good;
}

/* -- the day ----------------------------------------------------------------------------------- */

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    test_scratch_in_memory();
    f->folder = test_scratch_create();
    char *hooks = test_scratch_path(f->folder, "hooks");
    (void)setenv("NEURON_HOOKS_DIR", hooks, 1);
    free(hooks);
    f->jobs = day_jobs_start(); /* before there are threads */
    f->receivers = day_receivers_start(f->folder);
    test_clock_init(&f->clock);
    /* A full hour that has not started, so that jobs are older than the day. */
    f->clock.wall_ns =
        (ntk_clock_realtime_ns() / (3600 * NTK_NS_PER_SECOND) + 1) * 3600 * NTK_NS_PER_SECOND -
        f->clock.now_ns;
    f->random = 1;
    f->life = (struct day_life){ .folder = f->folder,
                                 .port = day_receivers_port(f->receivers),
                                 .period_ns = PERIOD_NS,
                                 .db_bytes = DB_BYTES,
                                 .clock = &f->clock };
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    day_life_fini(&f->life);
    day_jobs_stop(f->jobs);
    day_receivers_stop(f->receivers);
    test_clock_fini(&f->clock);
    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

static void all_data_of_a_day_is_stored_or_counted_as_lost(void **state)
{
    struct fixture *f = *state;

    day_life_begin(&f->life);
    day_life_run(&f->life, STEP_NS); /* it observes from here */
    for (unsigned minute = 0; minute < MINUTES; minute++) {
        run_minute(f, minute);
    }
    for (size_t i = 0; i < DAY_JOBS_AT_ONCE; i++) {
        if (day_jobs_runs(f->jobs, i)) {
            day_jobs_end(f->jobs, i, false);
        }
    }
    day_life_run(&f->life, 5 * PERIOD_NS);
    note_reports(f);
    scrape(f, MINUTES);
    assert_int_equal(day_life_stop(&f->life), 0);
    day_life_add_own(&f->life);
    const struct day_results day = { .life = &f->life,
                                     .receivers = f->receivers,
                                     .folder = f->folder,
                                     .executed = day_jobs_executed(f->jobs),
                                     .unreported = f->unreported,
                                     .unseen = f->unseen };
    print_message("%zu jobs, %" PRIu64 " executions (%" PRIu64
                  " not reported by killed agents), %u scrapes\n",
                  day_jobs_begun(f->jobs), day_jobs_executed(f->jobs), f->unreported, f->scrapes);
    int is_good = day_check_outputs(&day) & day_check_store(&day) & day_check_archive(&day);
    print_message("database      at most %" PRIu64 " KiB of %" PRIu64 "\n", f->db_bytes_max / 1024,
                  DB_BYTES / 1024);
    is_good &= f->db_bytes_max < DB_BYTES + DB_SLACK_BYTES;
    is_good &= day_check_executions("page", (double)f->scraped, day_jobs_executed(f->jobs));
    is_good &= is_flat(f, EARLY, MINUTES, DB_CACHE_BYTES);
    is_good &= is_flat(f, WARM, LATE, 0);
    assert_true(is_good);
    assert_int_equal(day_jobs_begun(f->jobs), JOBS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_data_of_a_day_is_stored_or_counted_as_lost, set_up,
                                        tear_down),
    };
    static const char *const environment[][2] = {
        { "AWS_ACCESS_KEY_ID", "AKIDEXAMPLE" }, { "AWS_SECRET_ACCESS_KEY", "secret" },
        { "AWS_REGION", "eu-west-1" },          { "AWS_DISABLE_REQUEST_COMPRESSION", "true" },
        { "AWS_CONFIG_FILE", "/dev/null" },     { "AWS_SHARED_CREDENTIALS_FILE", "/dev/null" }
    };

    if (system("command -v sqlite3 >/dev/null") != 0) {
        return test_skip("sqlite3 is missing");
    }
    for (size_t i = 0; i < COUNT(environment); i++) {
        (void)setenv(environment[i][0], environment[i][1], 1);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
