/* SPDX-License-Identifier: MIT */
/* The option table. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <stdio.h>
#include <unistd.h>

#include "shared/base/err.h"
#include "shared/base/opt.h"
#include "tests/support/unit.h"

static struct {
    bool flag;
    bool other;
    const char *text;
    const char *push;
    uint64_t count;
    uint64_t delay_ns;
} got;

static int call(const char *value, struct ntk_err *err)
{
    return strcmp(value, "good") == 0 ? 0 : ntk_err_set(err, -EINVAL, 0, "it is not good");
}

static int (*call_pointer)(const char *, struct ntk_err *) = call;

static const struct ntk_opt options[] = {
    { 'f', "flag", NULL, NTK_OPT_FLAG, &got.flag, "a flag" },
    { 'o', NULL, NULL, NTK_OPT_FLAG, &got.other, "another" },
    { 't', "text", "TEXT", NTK_OPT_TEXT, &got.text, "some text" },
    { 'n', "count", "N", NTK_OPT_U64, &got.count, "a number" },
    { 'd', "delay", "TIME", NTK_OPT_DURATION, &got.delay_ns, "a time" },
    { 0, "push", "[=URL]", NTK_OPT_TEXT, &got.push, "may have a value" },
    { 'w', "way", "TIME", NTK_OPT_DURATION, &got.delay_ns, "a time", .is_above_zero = true },
    { 0, "fill", "VALUES", NTK_OPT_CHOICE, &got.text, "values", "zeros ones random" },
    { 0, "call", "WORD", NTK_OPT_CALL, &call_pointer, "a call" },
    NTK_OPT_COMMON,
    { 0 },
};

static struct ntk_opt_program program = { "prog", "[OPTION]... FILE", "Does things.", options };

/* Parses a NULL-terminated list with stdout and stderr redirected. */
static int parse_by(int (*function)(const struct ntk_opt_program *, int, char **), char **argv,
                    int *out_argc)
{
    int argc = 0;

    while (argv[argc]) {
        argc++;
    }
    memset(&got, 0, sizeof got);
    fflush(NULL);
    int kept_out = dup(1);
    int kept_err = dup(2);
    assert_non_null(freopen("/dev/null", "w", stdout));
    assert_non_null(freopen("/dev/null", "w", stderr));
    int ret = function(&program, argc, argv);
    fflush(NULL);
    dup2(kept_out, 1);
    dup2(kept_err, 2);
    close(kept_out);
    close(kept_err);
    *out_argc = argc;
    return ret;
}

static int parse(char **argv, int *out_argc)
{
    return parse_by(ntk_opt_parse, argv, out_argc);
}

static void every_option_form_is_accepted_and_operands_keep_their_order(void **state)
{
    char *argv[] = { "prog", "a", "-fo", "--text=x y", "b", "-n12", "-d", "2s", "--", "-z", NULL };
    int argc;

    int first = parse(argv, &argc);
    assert_int_equal(argc - first, 3);
    assert_string_equal(argv[first], "a");
    assert_string_equal(argv[first + 1], "b");
    assert_string_equal(argv[first + 2], "-z");
    assert_true(got.flag && got.other);
    assert_string_equal(got.text, "x y");
    assert_true(got.count == 12 && got.delay_ns == UINT64_C(2000000000));
}

static void an_optional_value_may_be_omitted(void **state)
{
    char *without[] = { "prog", "--push", "operand", NULL };
    char *with[] = { "prog", "--push=http://a=b", NULL };
    int argc;

    assert_int_equal(parse(without, &argc), 2);
    assert_string_equal(got.push, "");
    assert_int_equal(parse(with, &argc), 2);
    assert_string_equal(got.push, "http://a=b");
}

static void unknown_options_are_rejected(void **state)
{
    char *bad[][4] = {
        { "prog", "--nope", NULL },
        { "prog", "-z", NULL },
        { "prog", "-n", NULL },
        { "prog", "--count=x", NULL },
        { "prog", "--flag=1", NULL },
        { "prog", "-n", "-1", NULL },
        { "prog", "--way=0s", NULL },
        { "prog", "--call", "bad", NULL },
        { "prog", "--completion", "csh", NULL },
    };
    int argc;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int ret = parse(bad[i], &argc);
        assert_int_equal(ret, -EINVAL);
        assert_int_equal(ntk_opt_exit_code(ret), 2);
    }
}

static void a_choice_option_accepts_only_its_listed_words(void **state)
{
    char *good[] = { "prog", "--fill", "ones", NULL };
    char *bad[][4] = {
        { "prog", "--fill", "one", NULL },
        { "prog", "--fill", "Ones", NULL },
        { "prog", "--fill", "ones random", NULL },
        { "prog", "--fill", "", NULL },
    };
    int argc;

    assert_int_equal(parse(good, &argc), 3);
    assert_string_equal(got.text, "ones");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(parse(bad[i], &argc), -EINVAL);
    }
}

static int run_last(int argc, char **argv)
{
    return strcmp(argv[0], "last") == 0 ? 40 + argc : -1;
}

static void a_command_is_run_with_the_arguments_that_follow_it(void **state)
{
    static const struct ntk_opt_command commands[] = { { "first", NULL },
                                                       { "last", run_last },
                                                       { 0 } };
    struct ntk_opt_program with = program;
    char *argv[] = { "prog", "last", "-x", NULL };

    with.commands = commands;
    assert_int_equal(ntk_opt_run_command(&with, 3, argv, 1), 42);
    argv[1] = "lst";
    assert_int_equal(ntk_opt_run_command(&with, 3, argv, 1), 2);
    assert_int_equal(ntk_opt_run_command(&with, 1, argv, 1), 2); /* none */
}

static void operands_are_rejected_by_a_program_that_accepts_none(void **state)
{
    static char *lists[][4] = {
        { "prog", "--flag", NULL },       { "prog", "--flag", "word", NULL },
        { "prog", "--", "--flag", NULL }, { "prog", "--nope", NULL },
        { "prog", "--help", NULL },
    };
    static const int expected[] = { 0, -EINVAL, -EINVAL, -EINVAL, -ECANCELED };
    int argc;

    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(parse_by(ntk_opt_parse_all, lists[i], &argc), expected[i]);
    }
}

static void help_version_and_completion_exit_with_0(void **state)
{
    char *asked[][4] = {
        { "prog", "--help", NULL },
        { "prog", "--version", NULL },
        { "prog", "--completion", "zsh", NULL },
        { "prog", "--completion=fish", NULL },
    };
    int argc;

    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        assert_int_equal(ntk_opt_exit_code(parse(asked[i], &argc)), 0);
    }
}

static void parsing_stops_at_the_first_operand_on_request(void **state)
{
    char *argv[] = { "prog", "-f", "verb", "-n", "5", NULL };
    int argc;

    program.stop_at_operand = true;
    int first = parse(argv, &argc);
    program.stop_at_operand = false;
    assert_int_equal(first, 2);
    assert_true(got.flag && got.count == 0);
}

/* Rows in the order of the tables; a table without rows adds nothing. */
static void joined_option_tables_behave_like_one_table(void **state)
{
    static bool first;
    static bool second;
    static const struct ntk_opt first_rows[] = { { 0, "first", 0, NTK_OPT_FLAG, &first, "" },
                                                 { 0 } };
    static const struct ntk_opt second_rows[] = { { 0, "second", 0, NTK_OPT_FLAG, &second, "" },
                                                  { 0 } };
    const struct ntk_opt *const tables[] = { first_rows, NULL, second_rows };
    struct ntk_opt *rows = ntk_opt_join(tables, 3);
    const struct ntk_opt_program joined = {
        .name = "joined", .usage = "", .summary = "", .options = rows
    };

    assert_string_equal(rows[0].long_name, "first");
    assert_string_equal(rows[1].long_name, "second");
    assert_int_equal(rows[2].kind, NTK_OPT_END);
    assert_int_equal(ntk_opt_parse(&joined, 2, (char *[]){ "joined", "--second", NULL }), 2);
    assert_true(second);
    assert_false(first);
    free(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_form_is_accepted_and_operands_keep_their_order),
        cmocka_unit_test(an_optional_value_may_be_omitted),
        cmocka_unit_test(unknown_options_are_rejected),
        cmocka_unit_test(a_choice_option_accepts_only_its_listed_words),
        cmocka_unit_test(a_command_is_run_with_the_arguments_that_follow_it),
        cmocka_unit_test(operands_are_rejected_by_a_program_that_accepts_none),
        cmocka_unit_test(help_version_and_completion_exit_with_0),
        cmocka_unit_test(parsing_stops_at_the_first_operand_on_request),
        cmocka_unit_test(joined_option_tables_behave_like_one_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
