/* SPDX-License-Identifier: MIT */
/* How a process exited, in words; statuses are made as the kernel encodes them. */
#include <signal.h>

#include "shared/metrics/exit.h"
#include "tests/support/unit.h"

static void exit_codes_and_signals_are_distinguished(void **state)
{
    struct ntk_exit code = ntk_exit_of_status(3 << 8);
    struct ntk_exit killed = ntk_exit_of_status(SIGSEGV | 0x80); /* with a core dump */

    (void)state;
    assert_int_equal(code.kind, NTK_EXIT_CODE);
    assert_int_equal(code.value, 3);
    assert_int_equal(killed.kind, NTK_EXIT_SIGNAL);
    assert_int_equal(killed.value, SIGSEGV);
    assert_int_equal(ntk_exit_of_status(SIGSTOP << 8 | 0x7f).kind, NTK_EXIT_UNKNOWN);
}

static void the_text_for_an_exit_contains_only_known_facts(void **state)
{
    static const struct {
        struct ntk_exit how;
        bool killed;
        bool is_failure;
        const char *text;
    } rows[] = {
        { { NTK_EXIT_UNKNOWN, 0 }, false, false, "" },
        { { NTK_EXIT_UNKNOWN, 0 }, true, true, "killed or crashed" },
        { { NTK_EXIT_CODE, 0 }, false, false, "exited with code 0" },
        { { NTK_EXIT_CODE, 0 }, true, false, "exited with code 0" },
        { { NTK_EXIT_CODE, 255 }, false, true, "exited with code 255" },
        { { NTK_EXIT_SIGNAL, SIGKILL }, true, true, "killed by SIGKILL" },
        { { NTK_EXIT_SIGNAL, 34 }, true, true, "killed by signal 34" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[NTK_EXIT_TEXT_BYTES];

        assert_string_equal(ntk_exit_text(rows[i].how, rows[i].killed, text), rows[i].text);
        assert_int_equal(ntk_exit_is_failure(rows[i].how, rows[i].killed), rows[i].is_failure);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_codes_and_signals_are_distinguished),
        cmocka_unit_test(the_text_for_an_exit_contains_only_known_facts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
