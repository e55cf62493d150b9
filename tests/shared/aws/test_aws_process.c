/* SPDX-License-Identifier: MIT */
/* Method: lines with quotes of all kinds, and real shell commands. */
#include "shared/aws/aws_process.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/clock.h"
#include "tests/support/unit.h"

static void command_words_are_split_by_the_quoting_rules_of_a_shell(void **state)
{
    static const struct {
        const char *command;
        const char *words; /* with a '|' after each; NULL: rejected */
    } rows[] = {
        { "a", "a|" },
        { "  a\tb  ", "a|b|" },
        { "'a b' \"c d\" e\\ f", "a b|c d|e f|" },
        { "a'b'\"c\"d ''", "abcd||" },
        { "\"a\\\"b\\\\c\\d\" 'x\\y'", "a\"b\\c\\d|x\\y|" },
        { "C:\\x", "C:x|" },
        { "a $(b) ; c > d", "a|$(b)|;|c|>|d|" },
        { "a 'b", NULL },
        { "\"a\\\"", NULL },
        { "", NULL },
        { " \t", NULL },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_err err = { 0 };
        struct ntk_buf all = { 0 };
        char **words = NULL;
        int ret = ntk_aws_process_split(rows[i].command, &words, &err);
        for (size_t j = 0; ret >= 0 && words[j]; j++) {
            ntk_buf_add_format(&all, "%s|", words[j]);
        }
        assert_int_equal(ret, rows[i].words ? 0 : -EINVAL);
        assert_string_equal(rows[i].words ? ntk_buf_text_get(&all) : "",
                            rows[i].words ? rows[i].words : "");
        ntk_buf_fini(&all);
        free(words);
    }
    char many[4 * NTK_AWS_PROCESS_WORDS_MAX];
    struct ntk_err err = { 0 };
    char **words = NULL;
    for (size_t i = 0; i < sizeof many; i++) {
        many[i] = i % 2 ? ' ' : 'a';
    }
    many[sizeof many - 1] = '\0';
    assert_int_equal(ntk_aws_process_split(many, &words, &err), -EINVAL);
    many[2 * NTK_AWS_PROCESS_WORDS_MAX] = '\0';
    assert_int_equal(ntk_aws_process_split(many, &words, &err), 0);
    assert_null(words[NTK_AWS_PROCESS_WORDS_MAX]);
    free(words);
}

static bool is_cancelled(void *ctx)
{
    return atomic_load((atomic_bool *)ctx);
}

/* The pipe is closed by then. */
static bool is_cancelled_later(void *ctx)
{
    return ++*(int *)ctx > 20;
}

static int run(const char *command, uint64_t timeout_ns, bool cancelled, struct ntk_buf *out,
               struct ntk_err *err)
{
    atomic_bool is_over = cancelled;

    return ntk_aws_process_run(command, timeout_ns, is_cancelled, &is_over, out, err);
}

static void output_and_exit_status_of_a_command_are_reported(void **state)
{
    static const struct {
        const char *command;
        int code;
        const char *text; /* what it wrote, or the message */
    } rows[] = {
        { "sh -c 'printf \"a b\"; printf c'", 0, "a bc" },
        { "sh -c 'cat; kill -0 $$ && trap : TERM && kill -TERM $$ && echo yes'", 0, "yes\n" },
        { "sh -c 'echo x; exit 3'", -EIO, "sh: failed with exit code 3" },
        { "sh -c 'kill -9 $$'", -EIO, "sh: failed with signal 9" },
        { "sh -c 'while :; do echo 12345678901234567890; done'", -EMSGSIZE,
          "sh: printed too much output" },
        { "/nothing/there", -ENOENT, "cannot run '/nothing/there': No such file or directory" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_buf out = { 0 };
        struct ntk_err err = { 0 };
        assert_int_equal(run(rows[i].command, UINT64_C(60000000000), false, &out, &err),
                         rows[i].code);
        assert_string_equal(rows[i].code < 0 ? err.text : ntk_buf_text_get(&out), rows[i].text);
        ntk_buf_fini(&out);
    }
}

/* Both calls return long before the command would exit, and the processes that it started end with
 * it. */
static void commands_that_do_not_exit_are_killed(void **state)
{
    struct ntk_buf out = { 0 };
    struct ntk_err err = { 0 };

    assert_int_equal(run("sh -c 'sleep 600 & sleep 600'", 1, false, &out, &err), -ETIMEDOUT);
    assert_string_equal(err.text, "sh: timed out");
    assert_int_equal(run("sh -c 'sleep 600 & sleep 600'", UINT64_C(60000000000), true, &out, &err),
                     -ECANCELED);
    ntk_buf_fini(&out);
}

/* A helper that has written everything but does not exit is not waited for. */
static void commands_that_close_the_pipe_and_continue_are_killed(void **state)
{
    static const char command[] = "sh -c 'exec >&-; sleep 600 & sleep 600'";
    struct ntk_buf out = { 0 };
    struct ntk_err err = { 0 };
    int looks = 0;

    assert_int_equal(
        ntk_aws_process_run(command, UINT64_C(60000000000), is_cancelled_later, &looks, &out, &err),
        -ECANCELED);
    assert_int_equal(run(command, UINT64_C(300000000), false, &out, &err), -ETIMEDOUT);
    assert_string_equal(err.text, "sh: timed out");
    ntk_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(command_words_are_split_by_the_quoting_rules_of_a_shell),
        cmocka_unit_test(output_and_exit_status_of_a_command_are_reported),
        cmocka_unit_test(commands_that_do_not_exit_are_killed),
        cmocka_unit_test(commands_that_close_the_pipe_and_continue_are_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
