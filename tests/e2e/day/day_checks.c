/* SPDX-License-Identifier: MIT */
/* day_checks - what must hold after the day of an agent. */
#include "tests/e2e/day/day_checks.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

static uint64_t ask_db(const char *db, const char *query)
{
    char command[2048];
    char text[64] = "";

    (void)snprintf(command, sizeof command, "sqlite3 -readonly '%s' \"%s\"", db, query);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    char *line = fgets(text, sizeof text, pipe);
    (void)pclose(pipe);
    return line ? strtoull(text, NULL, 10) : UINT64_MAX;
}

/* Every item that an exporter queued arrived, once, or was counted as lost. The bytes of two
 * requests may be equal: after a step back of the clock a batch has an earlier one's times. */
static int check_items(const struct day_results *day, const char *name, enum day_output output)
{
    const struct day_total *total = day_life_total(day->life, name);
    struct day_got got = day_receivers_got(day->receivers, output);

    assert_non_null(total);
    print_message("%-13s %9" PRIu64 " emitted = %9" PRIu64 " received + %" PRIu64
                  " rejected + %" PRIu64 " lost + %" PRIu64 " killed; %" PRIu64
                  " requests, %" PRIu64 " failures\n",
                  name, total->emitted, got.items, total->refused, total->lost, total->killed,
                  got.requests, got.failures);
    bool is_good = got.items == total->sent && got.invalid == 0 && got.failures > 0 &&
                   total->waiting == 0 &&
                   total->emitted == total->sent + total->refused + total->lost + total->killed;
    if (!is_good) {
        print_message("%s: %" PRIu64 " sent, %" PRIu64 " waiting, %" PRIu64 " requests invalid\n",
                      name, total->sent, total->waiting, got.invalid);
    }
    return is_good;
}

int day_check_executions(const char *name, double got, uint64_t wanted)
{
    if (got != (double)wanted) {
        print_message("%s: %.0f of %" PRIu64 " executions\n", name, got, wanted);
    }
    return got == (double)wanted;
}

/* The last executions of an application may be in the totals of the machine only: if it ends
 * between the last report of a killed agent and that agent's end, or if its last value is lost. */
static int check_applications(const char *name, double got, uint64_t executed, uint64_t unreported,
                              bool has_lost)
{
    bool is_good = got <= (double)executed && (has_lost || got >= (double)(executed - unreported));

    if (!is_good) {
        print_message("%s: %.0f of %" PRIu64 " executions by application, at most %" PRIu64
                      " unreported\n",
                      name, got, executed, unreported);
    }
    return is_good;
}

int day_check_outputs(const struct day_results *day)
{
    static const struct {
        const char *name;
        enum day_output output;
        bool is_difference, is_event; /* of values; else continuous counters */
    } rows[] = { { "remote write", DAY_REMOTE_WRITE, false, false },
                 { "otlp", DAY_OTLP, false, false },
                 { "otlp traces", DAY_TRACES, true, true },
                 { "cloudwatch", DAY_CLOUDWATCH, true, false } };
    uint64_t executed = day->executed;
    int is_good = 1;

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct day_got got = day_receivers_got(day->receivers, rows[i].output);
        uint64_t wanted = executed - (rows[i].is_difference ? day->unreported : 0) -
                          (rows[i].is_event ? day->unseen : 0);
        is_good &= check_items(day, rows[i].name, rows[i].output);
        is_good &= day_check_executions(rows[i].name, got.executions, wanted);
        if (!rows[i].is_difference) {
            bool has_lost = day_life_total(day->life, rows[i].name)->lost > 0;
            is_good &=
                check_applications(rows[i].name, got.of_jobs, executed, day->unreported, has_lost);
            if (has_lost != (rows[i].output == DAY_REMOTE_WRITE)) {
                print_message("%s: values are %slost\n", rows[i].name, has_lost ? "" : "not ");
                is_good = 0;
            }
        }
    }
    return is_good;
}

/* Every part that the agents counted is in the bucket, and the parts hold the rows of the database
 * up to the last archived hour. A killed agent may have sent parts that it had not counted. */
static int check_requests(const struct day_results *day)
{
    const struct day_total *total = day_life_total(day->life, "archive");
    struct day_got got = day_receivers_got(day->receivers, DAY_S3);

    assert_non_null(total);
    print_message("archive       %" PRIu64 " parts sent, %" PRIu64 " requests, %" PRIu64
                  " failures, %" PRIu64 " steps lost\n",
                  total->sent, got.requests, got.failures, total->lost);
    return got.requests >= total->sent && got.failures > 0 && total->lost == 0;
}

/* Checks the archive with DuckDB if it is installed. */
static int check_parts(const struct day_results *day)
{
    char command[2048];
    char text[128] = "";
    const char *root = getenv("NTK_SOURCE_DIR");

    (void)snprintf(command, sizeof command,
                   "test -d '%s/build/tools/npm/node_modules/@duckdb' && node "
                   "'%s/tests/agent/archive/ask.mjs' '%s/build/tools/npm' \"select sum(completed), "
                   "epoch_ns(date_trunc('hour', max(time)) + interval 1 hour) from "
                   "read_parquet('%s/bucket/fleet/execution_sample/**/*.parquet')\"",
                   root, root, root, day->folder);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    char *line = fgets(text, sizeof text, pipe);
    (void)pclose(pipe);
    const char *end = line ? strchr(line, '|') : NULL;
    if (!end) {
        print_message("archive       not read: DuckDB is missing\n");
        return 1;
    }
    char query[256];
    (void)snprintf(query, sizeof query,
                   "SELECT sum(completed) FROM execution_sample WHERE time_ns <= %s", end + 1);
    query[strcspn(query, "\n")] = '\0';
    uint64_t stored = ask_db(day->life->db, query);
    print_message("archive       %s\n", text);
    return day_check_executions("archive", strtod(text, NULL), stored);
}

int day_check_store(const struct day_results *day)
{
    uint64_t executed = day->executed;
    uint64_t stored =
        ask_db(day->life->db, "SELECT (SELECT coalesce(sum(completed), 0) FROM execution_minute) + "
                              "(SELECT coalesce(sum(completed), 0) FROM unwatched)");

    return day_check_executions("database", (double)stored, executed);
}

int day_check_archive(const struct day_results *day)
{
    return check_requests(day) & check_parts(day);
}
