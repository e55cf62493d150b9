/* SPDX-License-Identifier: MIT */
/* Method: texts of rules, facts of spans against them, and snapshots that are joined. */
#include "shared/metrics/spans.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/clock.h"
#include "tests/support/unit.h"

static struct ntk_span_rules parse(const char *text)
{
    struct ntk_span_rules rules;
    struct ntk_err err = { 0 };

    if (ntk_span_rules_parse(text, &rules, &err) < 0) {
        fail_msg("%s: %s", text, err.text);
    }
    return rules;
}

static void span_rules_are_a_list_separated_by_commas(void **state)
{
    struct ntk_span_rules rules = parse("");

    (void)state;
    assert_true(rules.failed && rules.parent && rules.slow_ns == NTK_NS_PER_SECOND &&
                rules.every == 0);
    rules = parse("every=7");
    assert_true(!rules.failed && !rules.parent && rules.slow_ns == 0 && rules.every == 7);
    rules = parse("slow=250ms,failed,slow=3ms");
    assert_true(rules.failed && rules.slow_ns == 3 * NTK_NS_PER_MS);
}

static void an_invalid_span_rule_is_rejected_with_the_expected_forms(void **state)
{
    static const char *const texts[] = { "fast",     "failed,",  ",failed", "failed,,parent",
                                         "every",    "every=",   "every=0", "every=-1",
                                         "every=1k", "slow=",    "slow=0s", "slow=1x",
                                         "slow",     "failed=1", "Failed",  " failed" };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct ntk_span_rules rules = { .every = 99 };
        struct ntk_err err = { 0 };

        if (ntk_span_rules_parse(texts[i], &rules, &err) != -EINVAL) {
            fail_msg("'%s' is taken as a rule", texts[i]);
        }
        assert_non_null(
            strstr(err.text, "': expected 'failed', 'slow=TIME', 'parent' or 'every=N'"));
        assert_int_equal(rules.every, 99);
    }
    char text[2000];
    struct ntk_span_rules rules;
    struct ntk_err err = { 0 };
    memset(text, 'e', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(ntk_span_rules_parse(text, &rules, &err), -EINVAL);
}

static void each_span_rule_matches_only_its_condition(void **state)
{
    static const struct {
        const char *rules;
        struct ntk_span_facts facts;
        unsigned why;
    } rows[] = {
        { "failed", { .has_failed = true }, NTK_SPAN_FAILED },
        { "failed", { .duration_ns = UINT64_MAX, .is_parent_sampled = true }, 0 },
        { "slow=1ms", { .duration_ns = NTK_NS_PER_MS - 1, .has_failed = true }, 0 },
        { "slow=1ms", { .duration_ns = NTK_NS_PER_MS }, NTK_SPAN_SLOW },
        { "parent", { .is_parent_sampled = true }, NTK_SPAN_PARENT },
        { "parent", { .has_failed = true, .duration_ns = UINT64_MAX }, 0 },
        { "failed", { .is_load = true }, NTK_SPAN_LOAD },
        { "failed,slow=1s,parent",
          { .has_failed = true, .is_parent_sampled = true, .duration_ns = 2 * NTK_NS_PER_SECOND },
          NTK_SPAN_FAILED | NTK_SPAN_SLOW | NTK_SPAN_PARENT },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_span_rules rules = parse(rows[i].rules);
        uint64_t seen = 0;

        assert_int_equal(ntk_span_rules_match(&rules, &rows[i].facts, &seen), rows[i].why);
    }
}

static void the_first_and_then_every_nth_span_is_sampled(void **state)
{
    const struct ntk_span_facts facts = { 0 };
    struct ntk_span_rules rules = parse("every=3");
    char picture[11] = "";
    uint64_t seen = 0;

    (void)state;
    for (size_t i = 0; i < 10; i++) {
        picture[i] = ntk_span_rules_match(&rules, &facts, &seen) ? 'x' : '.';
    }
    assert_string_equal(picture, "x..x..x..x");
}

static struct ntk_snapshot *snapshot_of(size_t count, uint64_t first, uint64_t lost)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    struct ntk_span *spans = count ? ntk_snapshot_alloc(snapshot, count, sizeof *spans) : NULL;

    for (size_t i = 0; i < count; i++) {
        spans[i] = (struct ntk_span){ .number = first + i,
                                      .model_name = ntk_snapshot_format(snapshot, "m%zu", i % 3) };
    }
    snapshot->spans = spans;
    snapshot->span_count = count;
    snapshot->spans_lost = lost;
    return snapshot;
}

/* Spans that leave are those that came, less those that are counted as lost. */
static void joined_snapshots_keep_spans_up_to_the_limit_and_count_the_rest(void **state)
{
    static const size_t counts[][2] = { { 0, 0 },
                                        { 3, 0 },
                                        { 0, 2 },
                                        { 5, 4 },
                                        { NTK_SNAPSHOT_JOINED_SPANS_MAX, 0 },
                                        { NTK_SNAPSHOT_JOINED_SPANS_MAX - 1, 5 },
                                        { 1, NTK_SNAPSHOT_JOINED_SPANS_MAX } };

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct ntk_snapshot *older = snapshot_of(counts[i][0], 1, 10);
        struct ntk_snapshot *newer = snapshot_of(counts[i][1], counts[i][0] + 1, 7);
        struct ntk_snapshot *both = ntk_snapshot_create();
        size_t all = counts[i][0] + counts[i][1];

        ntk_snapshot_join_spans(both, older, newer);
        assert_int_equal(both->span_count + both->spans_lost, all + 17);
        assert_true(both->span_count <= NTK_SNAPSHOT_JOINED_SPANS_MAX);
        ntk_snapshot_destroy(older);
        ntk_snapshot_destroy(newer);
        for (size_t k = 0; k < both->span_count; k++) { /* the result owns its texts */
            assert_int_equal(both->spans[k].number, k + 1);
            assert_int_equal(both->spans[k].model_name[0], 'm');
        }
        ntk_snapshot_destroy(both);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(span_rules_are_a_list_separated_by_commas),
        cmocka_unit_test(an_invalid_span_rule_is_rejected_with_the_expected_forms),
        cmocka_unit_test(each_span_rule_matches_only_its_condition),
        cmocka_unit_test(the_first_and_then_every_nth_span_is_sampled),
        cmocka_unit_test(joined_snapshots_keep_spans_up_to_the_limit_and_count_the_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
