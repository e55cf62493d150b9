/* SPDX-License-Identifier: MIT */
/* The progress bar, with a clock and a stream of the test. */
#include <stdio.h>
#include <stdlib.h>

#include "shared/base/progress.h"
#include "shared/base/clock.h"
#include "tests/support/unit.h"

static uint64_t now_ns;

static uint64_t test_clock(void)
{
    return now_ns;
}

struct screen {
    char *text;
    size_t bytes_count;
    FILE *to;
};

static struct ntk_progress begin(struct screen *screen, bool is_terminal)
{
    struct ntk_progress progress;

    *screen = (struct screen){ 0 };
    screen->to = open_memstream(&screen->text, &screen->bytes_count);
    assert_non_null(screen->to);
    ntk_progress_begin(&progress, "executing");
    now_ns = progress.start_ns;
    progress.is_terminal = is_terminal;
    progress.to = screen->to;
    progress.now_ns = test_clock;
    return progress;
}

static void expect(struct screen *screen, const char *text)
{
    fclose(screen->to);
    assert_string_equal(screen->text, text);
    free(screen->text);
}

static void work_under_two_seconds_shows_no_progress_bar(void **state)
{
    struct screen screen;
    struct ntk_progress progress = begin(&screen, true);

    ntk_progress_show(&progress, 0.1);
    now_ns += 2 * NTK_NS_PER_SECOND - 1;
    ntk_progress_show(&progress, 0.9);
    ntk_progress_end(&progress);
    expect(&screen, "");
}

static void work_beyond_the_delay_shows_a_progress_bar_that_disappears(void **state)
{
    struct screen screen;
    struct ntk_progress progress = begin(&screen, true);

    now_ns += 2 * NTK_NS_PER_SECOND;
    ntk_progress_show(&progress, 0.5);
    ntk_progress_end(&progress);
    ntk_progress_end(&progress);
    expect(&screen, "\rexecuting [###############...............]  50 %\r\033[K");
}

static void an_environment_variable_shows_the_bar_without_delay(void **state)
{
    struct screen screen;

    (void)state;
    setenv("NEURON_PROGRESS", "always", 1);
    struct ntk_progress progress = begin(&screen, true);
    unsetenv("NEURON_PROGRESS");
    ntk_progress_show(&progress, 0);
    ntk_progress_show(&progress, 1);
    ntk_progress_end(&progress);
    expect(&screen, "\rexecuting [..............................]   0 %"
                    "\rexecuting [##############################] 100 %\r\033[K");
    assert_false(begin(&screen, false).is_forced);
    fclose(screen.to);
    free(screen.text);
}

static void the_progress_bar_is_drawn_ten_times_per_second(void **state)
{
    struct screen screen;
    struct ntk_progress progress = begin(&screen, true);

    now_ns += 3 * NTK_NS_PER_SECOND;
    ntk_progress_show(&progress, 0);
    now_ns += 99 * NTK_NS_PER_MS;
    ntk_progress_show(&progress, 0.5);
    now_ns += NTK_NS_PER_MS;
    ntk_progress_show(&progress, 1);
    expect(&screen, "\rexecuting [..............................]   0 %"
                    "\rexecuting [##############################] 100 %");
}

static void without_a_terminal_no_bar_is_drawn(void **state)
{
    struct screen screen;
    struct ntk_progress progress = begin(&screen, false);

    now_ns += 60 * NTK_NS_PER_SECOND;
    ntk_progress_show(&progress, 0.5);
    ntk_progress_end(&progress);
    expect(&screen, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_under_two_seconds_shows_no_progress_bar),
        cmocka_unit_test(work_beyond_the_delay_shows_a_progress_bar_that_disappears),
        cmocka_unit_test(an_environment_variable_shows_the_bar_without_delay),
        cmocka_unit_test(the_progress_bar_is_drawn_ten_times_per_second),
        cmocka_unit_test(without_a_terminal_no_bar_is_drawn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
