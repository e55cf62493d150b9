/* SPDX-License-Identifier: MIT */
/* Method: a datagram socket of the test acts as the syslog service, and a file as the console. */
#include "runtime-hooks/rtd/rtd_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static int listen_at(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_true(fd >= 0 && strlen(path) < sizeof address.sun_path);
    memcpy(address.sun_path, path, strlen(path));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* The text after "nrtd[PID]: ", and the number before the date; "" if nothing was received. */
static const char *heard(int fd, int *out_priority)
{
    static char line[2048];
    char ident[64];
    ssize_t bytes = recv(fd, line, sizeof line - 1, 0);

    if (bytes < 0) {
        return "";
    }
    line[bytes] = '\0';
    assert_int_equal(sscanf(line, "<%d>", out_priority), 1);
    (void)snprintf(ident, sizeof ident, " nrtd[%d]: ", (int)getpid());
    const char *text = strstr(line, ident);
    assert_non_null(text);
    return text + strlen(ident);
}

struct console {
    FILE *file;
    int saved;
};

static struct console console_begin(void)
{
    struct console console = { tmpfile(), dup(STDERR_FILENO) };

    assert_non_null(console.file);
    dup2(fileno(console.file), STDERR_FILENO);
    return console;
}

static void console_end(struct console *console, char *out, size_t out_bytes)
{
    dup2(console->saved, STDERR_FILENO);
    close(console->saved);
    rewind(console->file);
    out[fread(out, 1, out_bytes - 1, console->file)] = '\0';
    (void)fclose(console->file);
}

static void log_lines_have_the_syslog_format(void **state)
{
    const struct tm when = { .tm_mon = 10, .tm_mday = 3, .tm_hour = 4, .tm_min = 5, .tm_sec = 9 };
    char out[128] = "";

    assert_int_equal(rtd_log_format(out, sizeof out, NTK_LOG_INFO, &when, 42, "rtd",
                                    "[NRTD:RunServer] Server listening on unix:/run/neuron.sock"),
                     88);
    assert_string_equal(out, "<30>Nov  3 04:05:09 nrtd[42]: [NRTD:RunServer] Server listening on "
                             "unix:/run/neuron.sock");
    (void)rtd_log_format(out, sizeof out, NTK_LOG_ERROR, &when, 42, "rpc", "no memory");
    assert_string_equal(out, "<27>Nov  3 04:05:09 nrtd[42]: rpc: no memory");
    (void)rtd_log_format(out, sizeof out, NTK_LOG_WARN, &when, 42, NULL, "x");
    assert_string_equal(out, "<28>Nov  3 04:05:09 nrtd[42]: x");
    (void)rtd_log_format(out, sizeof out, NTK_LOG_TRACE, &when, 42, "", "x");
    assert_string_equal(out, "<31>Nov  3 04:05:09 nrtd[42]: x");
    assert_int_equal(rtd_log_format(out, 20, NTK_LOG_DEBUG, &when, 42, "", "cut"), 19);
    assert_string_equal(out, "<31>Nov  3 04:05:09");
}

static void log_lines_are_sent_to_syslog_and_on_request_to_the_console(void **state)
{
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "log");
    char out[512];
    char expected[512];
    int fd = listen_at(path);
    int priority = 0;
    struct console console = console_begin();

    rtd_log_open(path, 5, false);
    ntk_log_info("rtd", "[NRTD:sig_act] SIG: 15");
    ntk_log_debug("rtd", "too much");
    rtd_log_console();
    ntk_log_error("rtd", "last words");
    rtd_log_close();
    console_end(&console, out, sizeof out);
    assert_string_equal(heard(fd, &priority), "[NRTD:sig_act] SIG: 15");
    assert_int_equal(priority, 30);
    assert_string_equal(heard(fd, &priority), "rtd: last words");
    assert_int_equal(priority, 27);
    assert_string_equal(heard(fd, &priority), "");
    (void)snprintf(expected, sizeof expected, "nrtd[%d]: rtd: last words\n", (int)getpid());
    assert_string_equal(out, expected);
    close(fd);
    free(path);
    test_scratch_destroy(folder);
}

static void daemon_log_levels_select_syslog_priorities(void **state)
{
    static const int heard_of[] = { [3] = 1, [4] = 2, [5] = 3, [6] = 4, [7] = 5 };
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "log");
    int fd = listen_at(path);

    for (int level = RTD_LOG_LEVEL_MIN; level <= RTD_LOG_LEVEL_MAX; level++) {
        int lines = 0;
        int priority = 0;

        rtd_log_open(path, level, false);
        ntk_log_error("", "e");
        ntk_log_warn("", "w");
        ntk_log_info("", "i");
        ntk_log_debug("", "d");
        ntk_log_trace("", "t");
        rtd_log_close();
        while (heard(fd, &priority)[0]) {
            lines++;
        }
        assert_int_equal(lines, heard_of[level]);
    }
    close(fd);
    free(path);
    test_scratch_destroy(folder);
}

/* Tested without a service, and with a hanging one with a full queue. */
static void log_lines_rejected_by_syslog_are_printed_on_the_console(void **state)
{
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "log");
    char out[65536];
    int fd = -1;
    size_t lines = 0;
    int priority;
    struct console console = console_begin();

    rtd_log_open(path, 5, false);
    ntk_log_info("", "no service");
    fd = listen_at(path);
    for (int i = 0; i < 1000; i++) {
        ntk_log_info("", "line");
    }
    rtd_log_close();
    console_end(&console, out, sizeof out);
    assert_non_null(strstr(out, "no service\n"));
    for (const char *at = out; (at = strstr(at, "line\n")); at++) {
        lines++;
    }
    assert_true(lines > 0);
    while (heard(fd, &priority)[0]) {
        lines++;
    }
    assert_int_equal(lines, 1000);
    close(fd);
    free(path);
    test_scratch_destroy(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_lines_have_the_syslog_format),
        cmocka_unit_test(log_lines_are_sent_to_syslog_and_on_request_to_the_console),
        cmocka_unit_test(daemon_log_levels_select_syslog_priorities),
        cmocka_unit_test(log_lines_rejected_by_syslog_are_printed_on_the_console),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
