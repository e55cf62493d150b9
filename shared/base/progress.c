/* SPDX-License-Identifier: MIT */
/* progress - a progress bar on stderr. */
#include "shared/base/progress.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/clock.h"

#define QUIET_NS (2 * NTK_NS_PER_SECOND)
#define STEP_NS (100 * NTK_NS_PER_MS)
#define BAR_CELLS 30

void ntk_progress_begin(struct ntk_progress *progress, const char *what)
{
    const char *when = getenv("NEURON_PROGRESS");
    bool is_forced = when && strcmp(when, "always") == 0;

    *progress = (struct ntk_progress){ .what = what,
                                       .start_ns = ntk_clock_monotonic_ns(),
                                       .is_terminal = is_forced || isatty(STDERR_FILENO) == 1,
                                       .is_forced = is_forced,
                                       .to = stderr,
                                       .now_ns = ntk_clock_monotonic_ns };
}

void ntk_progress_show(struct ntk_progress *progress, double share)
{
    char bar[BAR_CELLS + 1];

    if (!progress) {
        return;
    }
    uint64_t now_ns = progress->now_ns();
    bool is_early = now_ns - progress->start_ns < QUIET_NS || now_ns - progress->last_ns < STEP_NS;

    if (!progress->is_terminal || (is_early && !progress->is_forced)) {
        return;
    }
    for (int i = 0; i < BAR_CELLS; i++) {
        bar[i] = (double)i < share * BAR_CELLS ? '#' : '.';
    }
    bar[BAR_CELLS] = 0;
    fprintf(progress->to, "\r%s [%s] %3.0f %%", progress->what, bar, 100 * share);
    progress->last_ns = now_ns;
    progress->is_shown = true;
}

void ntk_progress_end(struct ntk_progress *progress)
{
    if (progress->is_shown) {
        fputs("\r\033[K", progress->to);
    }
    progress->is_shown = false;
}
