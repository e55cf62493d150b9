/* SPDX-License-Identifier: MIT */
#include "shared/metrics/exit.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

/* sigabbrev_np() is newer than the oldest C library that we support. */
static const char *const signal_names[] = {
    [SIGHUP] = "SIGHUP",   [SIGINT] = "SIGINT",   [SIGQUIT] = "SIGQUIT", [SIGILL] = "SIGILL",
    [SIGTRAP] = "SIGTRAP", [SIGABRT] = "SIGABRT", [SIGBUS] = "SIGBUS",   [SIGFPE] = "SIGFPE",
    [SIGKILL] = "SIGKILL", [SIGUSR1] = "SIGUSR1", [SIGSEGV] = "SIGSEGV", [SIGUSR2] = "SIGUSR2",
    [SIGPIPE] = "SIGPIPE", [SIGALRM] = "SIGALRM", [SIGTERM] = "SIGTERM", [SIGXCPU] = "SIGXCPU",
    [SIGXFSZ] = "SIGXFSZ", [SIGSYS] = "SIGSYS",
};

struct ntk_exit ntk_exit_of_status(int wait_status)
{
    if (WIFSIGNALED(wait_status)) {
        return (struct ntk_exit){ NTK_EXIT_SIGNAL, (uint32_t)WTERMSIG(wait_status) };
    }
    return WIFEXITED(wait_status)
               ? (struct ntk_exit){ NTK_EXIT_CODE, (uint32_t)WEXITSTATUS(wait_status) }
               : (struct ntk_exit){ 0 };
}

bool ntk_exit_is_failure(struct ntk_exit how, bool killed)
{
    return how.kind == NTK_EXIT_UNKNOWN ? killed : how.value != 0;
}

const char *ntk_exit_text(struct ntk_exit how, bool killed, char text[NTK_EXIT_TEXT_BYTES])
{
    const char *name =
        how.kind == NTK_EXIT_SIGNAL && how.value < sizeof signal_names / sizeof *signal_names
            ? signal_names[how.value]
            : NULL;

    if (name) {
        (void)snprintf(text, NTK_EXIT_TEXT_BYTES, "killed by %s", name);
    } else if (how.kind == NTK_EXIT_SIGNAL) {
        (void)snprintf(text, NTK_EXIT_TEXT_BYTES, "killed by signal %u", (unsigned int)how.value);
    } else if (how.kind == NTK_EXIT_CODE) {
        (void)snprintf(text, NTK_EXIT_TEXT_BYTES, "exited with code %u", (unsigned int)how.value);
    } else {
        (void)snprintf(text, NTK_EXIT_TEXT_BYTES, "%s", killed ? "killed or crashed" : "");
    }
    return text;
}
