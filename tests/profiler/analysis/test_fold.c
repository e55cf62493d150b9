/* SPDX-License-Identifier: MIT */
/*
 * Method: sequences with repeats that are known by construction, as tokens of one ps each; long
 * ones must stay within a limit of comparisons that even a slow machine performs in seconds.
 */
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/fold.h"
#include "profiler/trace/trace.h"
#include "tests/support/unit.h"

struct tally {
    struct ntk_fold fold;
    uint64_t iterations;
    uint64_t tokens;
    uint32_t next; /* the next token */
    int64_t last_start_ps[64];
};

static int count(void *ctx, uint32_t body, const struct ntk_fold_token *iteration)
{
    struct tally *tally = ctx;

    tally->iterations++;
    if (body < 64) { /* in order, and not overlapping */
        assert_true(iteration->start_ps >= tally->last_start_ps[body]);
        tally->last_start_ps[body] = iteration->end_ps;
    }
    assert_int_equal(iteration->end_ps - iteration->start_ps, iteration->count);
    return 0;
}

static void begin(struct tally *tally)
{
    static const struct ntk_trace trace = { .list_bytes = (size_t)64 << 20 };

    memset(tally, 0, sizeof *tally);
    assert_int_equal(ntk_fold_init(&tally->fold, &trace, 1, count, tally), 0);
}

static void add(struct tally *tally, uint64_t kind)
{
    struct ntk_fold_token token = { .kind = kind | UINT64_C(1) << 63, /* all bits count */
                                    .start_ps = tally->next,
                                    .end_ps = tally->next + 1,
                                    .first = tally->next,
                                    .count = 1 };

    tally->next++;
    assert_int_equal(ntk_fold_add(&tally->fold, &token), 0);
}

static void add_text(struct tally *tally, const char *text)
{
    for (; *text; text++) {
        add(tally, (uint64_t)*text);
    }
}

/* Iterations of each body, in the order in which they were found: "abab" has one body, twice. */
static void assert_bodies(struct tally *tally, const uint64_t *instances, const size_t *lengths,
                          size_t body_count)
{
    assert_int_equal(ntk_fold_finish(&tally->fold), 0);
    assert_int_equal(tally->fold.bodies.count, body_count);
    for (uint32_t b = 0; b < body_count; b++) {
        const struct ntk_fold_body *body = ntk_fold_body_get(&tally->fold, b);
        assert_int_equal(body->instance_count, instances[b]);
        assert_int_equal(body->node_count, lengths[b]);
    }
    ntk_fold_fini(&tally->fold);
}

#define ASSERT_BODIES(tally, ...)                                                     \
    do {                                                                              \
        const struct {                                                                \
            uint64_t instances;                                                       \
            size_t length;                                                            \
        } expected[] = { __VA_ARGS__ };                                               \
        uint64_t instances[sizeof expected / sizeof *expected];                       \
        size_t lengths[sizeof expected / sizeof *expected];                           \
        for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {             \
            instances[i] = expected[i].instances;                                     \
            lengths[i] = expected[i].length;                                          \
        }                                                                             \
        assert_bodies(tally, instances, lengths, sizeof expected / sizeof *expected); \
    } while (0)

static void a_repeated_body_between_other_tokens_is_found_with_its_count(void **state)
{
    struct tally tally;

    (void)state;
    begin(&tally);
    add_text(&tally, "pqabcabcabcabcxy");

    ASSERT_BODIES(&tally, { 4, 3 });
}

static void nested_repetitions_may_differ_in_length(void **state)
{
    struct tally tally;

    (void)state;
    begin(&tally);
    add_text(&tally, "p"
                     "xaaaay"
                     "xaaay"
                     "xaaaaay"
                     "q");

    ASSERT_BODIES(&tally, { 12, 1 }, { 3, 3 });
}

static void a_body_that_ends_with_a_repetition_has_all_iterations(void **state)
{
    struct tally tally;

    (void)state;
    begin(&tally);
    add_text(&tally, "p"
                     "xcdcdcd"
                     "xcdcd"
                     "xcdcdcdcd"
                     "xcdcdcd"
                     "q");

    ASSERT_BODIES(&tally, { 12, 2 }, { 4, 2 });
}

static void a_repetition_at_the_end_belongs_to_its_body(void **state)
{
    struct tally tally;

    (void)state;
    begin(&tally);
    add_text(&tally, "xaaaxaaaxaaa");

    ASSERT_BODIES(&tally, { 9, 1 }, { 3, 2 });
}

static void three_nested_repetitions_are_found_as_three_loop_bodies(void **state)
{
    struct tally tally;

    (void)state;
    begin(&tally);
    for (int i = 0; i < 5; i++) {
        add_text(&tally, "o");
        for (int j = 0; j < 4; j++) {
            add_text(&tally, "m");
            for (int k = 0; k < 3; k++) {
                add_text(&tally, "st");
            }
            add_text(&tally, "n");
        }
        add_text(&tally, "e");
    }

    ASSERT_BODIES(&tally, { 5 * 4 * 3, 2 }, { 5 * 4, 3 }, { 5, 3 });
}

static void two_repetitions_inside_a_body_do_not_split_it(void **state)
{
    struct tally tally;

    (void)state;
    begin(&tally);
    for (int i = 0; i < 6; i++) {
        add_text(&tally, "stststuvwvwz");
    }

    ASSERT_BODIES(&tally, { 18, 2 }, { 12, 2 }, { 6, 4 });
}

static void a_program_without_repetitions_has_no_body(void **state)
{
    struct tally tally;

    (void)state;
    begin(&tally);
    add_text(&tally, "abcdefghbadcaabb");
    assert_int_equal(ntk_fold_finish(&tally.fold), 0);

    assert_int_equal(tally.fold.bodies.count, 0);
    ntk_fold_fini(&tally.fold);
}

static void equal_loop_bodies_at_two_positions_are_found_as_one_body(void **state)
{
    struct tally tally;

    (void)state;
    begin(&tally);
    add_text(&tally, "ababab--ababc");

    ASSERT_BODIES(&tally, { 5, 2 });
}

/* ---- hostile ---- */

#define MANY 1000000

static void a_million_equal_tokens_are_folded_into_one_body(void **state)
{
    struct tally tally;

    (void)state;
    begin(&tally);
    for (int i = 0; i < MANY; i++) {
        add(&tally, 7);
    }
    assert_true(tally.fold.nodes.count < 8);

    ASSERT_BODIES(&tally, { MANY, 1 });
}

static void a_million_different_tokens_have_no_repeated_body(void **state)
{
    struct tally tally;

    (void)state;
    begin(&tally);
    for (int i = 0; i < MANY; i++) {
        add(&tally, (uint64_t)i + 1);
    }
    assert_int_equal(ntk_fold_finish(&tally.fold), 0);

    assert_int_equal(tally.iterations, 0);
    ntk_fold_fini(&tally.fold);
}

/* f(n) = f(n - 1) f(n - 2): squares start nearly everywhere, and so do cubes. */
static void folding_time_of_a_fibonacci_word_is_bounded(void **state)
{
    struct tally tally;
    size_t length = 2;
    size_t shorter = 1;
    char *word = malloc(2 * (size_t)MANY);

    (void)state;
    assert_non_null(word);
    word[0] = 'a';
    word[1] = 'b';
    while (length < MANY) {
        memcpy(word + length, word, shorter);
        size_t before = length;
        length += shorter;
        shorter = before;
    }
    begin(&tally);
    for (size_t i = 0; i < MANY; i++) {
        add(&tally, (uint64_t)word[i]);
    }
    free(word);
    assert_int_equal(ntk_fold_finish(&tally.fold), 0);

    assert_true(tally.iterations < 4 * (uint64_t)MANY);
    ntk_fold_fini(&tally.fold);
}

/* Thue-Morse: has squares, no cubes, and defeats hashes modulo powers of two. */
static void folding_time_of_a_thue_morse_word_is_bounded(void **state)
{
    struct tally tally;

    (void)state;
    begin(&tally);
    for (uint32_t i = 0; i < MANY; i++) {
        add(&tally, 1 + (uint64_t)(__builtin_popcount(i) & 1));
    }
    assert_int_equal(ntk_fold_finish(&tally.fold), 0);

    assert_true(tally.iterations < 4 * (uint64_t)MANY);
    ntk_fold_fini(&tally.fold);
}

static void bodies_beyond_the_limit_are_counted(void **state)
{
    struct tally tally;

    (void)state;
    begin(&tally);
    for (uint64_t i = 0; i < NTK_FOLD_BODIES_MAX + 10; i++) {
        for (int k = 0; k < 2; k++) {
            add(&tally, 2 * i + 2);
            add(&tally, 2 * i + 3);
        }
    }
    assert_int_equal(ntk_fold_finish(&tally.fold), 0);

    assert_int_equal(tally.fold.bodies.count, NTK_FOLD_BODIES_MAX);
    assert_int_equal(tally.fold.omitted, 10);
    ntk_fold_fini(&tally.fold);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_repeated_body_between_other_tokens_is_found_with_its_count),
        cmocka_unit_test(nested_repetitions_may_differ_in_length),
        cmocka_unit_test(a_body_that_ends_with_a_repetition_has_all_iterations),
        cmocka_unit_test(a_repetition_at_the_end_belongs_to_its_body),
        cmocka_unit_test(three_nested_repetitions_are_found_as_three_loop_bodies),
        cmocka_unit_test(two_repetitions_inside_a_body_do_not_split_it),
        cmocka_unit_test(a_program_without_repetitions_has_no_body),
        cmocka_unit_test(equal_loop_bodies_at_two_positions_are_found_as_one_body),
        cmocka_unit_test(a_million_equal_tokens_are_folded_into_one_body),
        cmocka_unit_test(a_million_different_tokens_have_no_repeated_body),
        cmocka_unit_test(folding_time_of_a_fibonacci_word_is_bounded),
        cmocka_unit_test(folding_time_of_a_thue_morse_word_is_bounded),
        cmocka_unit_test(bodies_beyond_the_limit_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
