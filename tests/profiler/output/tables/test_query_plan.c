/* SPDX-License-Identifier: MIT */
/*
 * Method: planned statements, as the text that remains for SQLite, and statements that are not
 * planned. tests/profiler/output/query.sh checks that both ways return the same rows.
 */
#include <string.h>

#include "profiler/output/tables/query_plan.h"
#include "profiler/output/tables/tables.h"
#include "tests/support/unit.h"

static int make(const char *sql, struct ntk_query_plan *plan)
{
    size_t count;
    const struct ntk_table *tables = ntk_tables_schema(&count);

    *plan = (struct ntk_query_plan){ 0 };
    return ntk_query_plan_make(tables, count, sql, plan);
}

static void expect(const char *sql, size_t keys, size_t partials, const char *wanted)
{
    struct ntk_query_plan plan;

    assert_int_equal(make(sql, &plan), 1);
    assert_string_equal(plan.sql, wanted);
    assert_int_equal(plan.key_count, keys);
    assert_int_equal(plan.partial_count, partials);
    ntk_query_plan_fini(&plan);
}

static void aggregate_calls_are_rewritten_to_sums_of_partial_values(void **state)
{
    (void)state;
    expect("SELECT count(*) FROM Instruction", 0, 1,
           "SELECT coalesce(sum(\"ntk 0\"),0) AS \"count(*)\" FROM Instruction");
    expect("select opcode, sum(duration_ns)/1e3 AS us from instruction group by opcode;", 1, 1,
           "select opcode, sum(\"ntk 0\")/1e3 AS us from instruction group by opcode");
    expect("SELECT engine e, avg( duration_ns ) FROM Instruction WHERE pc > 3 GROUP BY e", 2, 2,
           "SELECT engine e, (total(\"ntk 0\")/sum(\"ntk 1\")) AS \"avg( duration_ns )\" FROM "
           "Instruction WHERE pc > 3 GROUP BY e");
    expect("SELECT max(start_ts) - min(start_ts) span FROM Instruction", 0, 2,
           "SELECT max(\"ntk 0\") - min(\"ntk 1\") span FROM Instruction");
    /* One partial value per call, however often it appears. */
    expect("SELECT count(*) n FROM Instruction GROUP BY engine HAVING count(*) > 2 ORDER BY "
           "count(*)",
           1, 1,
           "SELECT coalesce(sum(\"ntk 0\"),0) n FROM Instruction GROUP BY engine HAVING "
           "coalesce(sum(\"ntk 0\"),0) > 2 ORDER BY coalesce(sum(\"ntk 0\"),0)");
}

static void strings_and_distinct_values_are_grouping_keys(void **state)
{
    (void)state;
    expect("SELECT min(opcode), count(DISTINCT engine) FROM Instruction", 2, 0,
           "SELECT min(opcode), count(DISTINCT engine) FROM Instruction");
    expect("SELECT DISTINCT engine, opcode FROM Instruction WHERE opcode LIKE 'M''%'", 2, 0,
           "SELECT DISTINCT engine, opcode FROM Instruction WHERE opcode LIKE 'M''%'");
    expect("SELECT duration_ns / 10, count(*) n FROM Instruction GROUP BY duration_ns/10", 1, 1,
           "SELECT duration_ns / 10, coalesce(sum(\"ntk 0\"),0) n FROM Instruction GROUP BY "
           "duration_ns/10");
}

static void ambiguous_aggregates_are_not_rewritten(void **state)
{
    static const char *const statements[] = {
        "SELECT opcode FROM Instruction",
        "SELECT * FROM Instruction",
        "SELECT count(*), * FROM Instruction",
        "SELECT engine, count(*) FROM Instruction",
        "SELECT engine, opcode, count(*) FROM Instruction GROUP BY engine",
        "SELECT duration_ns, count(*) FROM Instruction GROUP BY duration_ns / 10",
        "SELECT opcode, max(duration_ns) FROM Instruction",
        "SELECT count(*) FROM Instruction GROUP BY engine ORDER BY opcode",
        "SELECT count(*) FROM Instruction GROUP BY engine HAVING opcode = 'NOP'",
        "SELECT sum(throughput) FROM DmaPacket",
        "SELECT avg(throughput) FROM DmaPacket",
        "SELECT sum(duration_ns + 1) FROM Instruction",
        "SELECT count(*) FILTER (WHERE pc > 1) FROM Instruction",
        "SELECT sum(duration_ns) OVER (ORDER BY id) FROM Instruction",
        "SELECT group_concat(opcode) FROM Instruction",
        "SELECT count(*) FROM Instruction i",
        "SELECT count(*) FROM Instruction, DmaPacket",
        "SELECT count(*) FROM Instruction JOIN DmaPacket USING (id)",
        "SELECT count(*) FROM (SELECT * FROM Instruction)",
        "SELECT count(*) FROM Instruction WHERE pc IN (SELECT 1)",
        "SELECT count(*) FROM Instruction UNION SELECT 1",
        "SELECT count(*) FROM nowhere",
        "SELECT count(nothing) FROM Instruction",
        "SELECT sum(duration_ns) AS pc FROM Instruction",
        "SELECT Instruction.engine, count(*) FROM Instruction GROUP BY 1",
        "SELECT count(*) FROM Instruction WHERE \"engine\" = 'x'",
        "SELECT count(*) FROM Instruction -- all",
        "SELECT count(*) FROM Instruction /* all */",
        "SELECT count(*) FROM Instruction GROUP BY 7",
        "SELECT rowid, count(*) FROM Instruction GROUP BY rowid",
        "SELECT random(), count(*) FROM Instruction",
        "WITH a AS (SELECT 1) SELECT count(*) FROM Instruction",
        "SELECT count(*) FROM Instruction WHERE opcode = ?",
        "SELECT count(*) FROM Instruction WHERE opcode = 'a",
        "SELECT count(*) FROM Instruction)",
        "SELECT FROM Instruction",
        "SELECT",
        "",
        ";",
    };

    (void)state;
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        struct ntk_query_plan plan;
        int ret = make(statements[i], &plan);
        if (ret != 0) {
            fail_msg("%s: %s", statements[i], plan.sql);
        }
    }
}

/* More tokens, columns and calls than a statement is likely to have. */
static void too_long_statements_are_not_rewritten(void **state)
{
    char sql[8192] = "SELECT count(*)";
    struct ntk_query_plan plan;

    (void)state;
    while (strlen(sql) < sizeof sql - 64) {
        strcat(sql, ",count(*)");
    }
    strcat(sql, " FROM Instruction");
    assert_int_equal(make(sql, &plan), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aggregate_calls_are_rewritten_to_sums_of_partial_values),
        cmocka_unit_test(strings_and_distinct_values_are_grouping_keys),
        cmocka_unit_test(ambiguous_aggregates_are_not_rewritten),
        cmocka_unit_test(too_long_statements_are_not_rewritten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
