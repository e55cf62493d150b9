/* SPDX-License-Identifier: MIT */
/* Method: a datagram socket of the test acts as the service manager. */
#include "shared/base/service_notify.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static int listen_at(const char *name)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    size_t length = strlen(name);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    memcpy(address.sun_path, name, length);
    if (name[0] == '@') {
        address.sun_path[0] = '\0';
    }
    assert_int_equal(bind(fd, (const struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)),
                     0);
    return fd;
}

static const char *hear(int fd, char *line, size_t line_bytes)
{
    ssize_t got = recv(fd, line, line_bytes - 1, 0);

    line[got < 0 ? 0 : got] = '\0';
    return line;
}

static void check_conversation(const char *name)
{
    struct ntk_service *service = NULL;
    struct ntk_err err = { 0 };
    char line[512];
    int fd = listen_at(name);

    setenv("NOTIFY_SOCKET", name, 1);
    assert_int_equal(ntk_service_create(&service, &err), 0);
    assert_non_null(service);
    assert_null(getenv("NOTIFY_SOCKET"));
    assert_int_equal(ntk_service_feed_period_ns(service), 0);
    assert_string_equal(hear(fd, line, sizeof line), "");
    ntk_service_ready(service, "collecting");
    assert_string_equal(hear(fd, line, sizeof line), "READY=1\nSTATUS=collecting\n");
    ntk_service_feed(service);
    assert_string_equal(hear(fd, line, sizeof line), "WATCHDOG=1\n");
    ntk_service_reloading(service);
    assert_ptr_equal(strstr(hear(fd, line, sizeof line), "RELOADING=1\nMONOTONIC_USEC="), line);
    ntk_service_stopping(service);
    assert_string_equal(hear(fd, line, sizeof line), "STOPPING=1\n");
    close(fd);
    ntk_service_feed(service); /* no service manager gets it */
    ntk_service_destroy(service);
}

static void states_are_sent_to_the_service_manager(void **state)
{
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "notify");
    char name[64];

    check_conversation(path);
    (void)snprintf(name, sizeof name, "@ntk-test-notify-%d", (int)getpid());
    check_conversation(name);
    free(path);
    test_scratch_destroy(folder);
}

static void the_watchdog_period_is_half_of_its_timeout(void **state)
{
    static const struct {
        const char *usec;
        int pid_offset; /* WATCHDOG_PID is our pid plus this; -1: not set */
        int ret;
        uint64_t period_ns;
    } cases[] = {
        { "30000000", 0, 0, 15000000000 },
        { "30000000", -1, 0, 15000000000 },
        { "30000000", 1, 0, 0 },
        { "3s", 0, -EINVAL, 0 },
        { "0", 0, -EINVAL, 0 },
        { "18446744073709551615", 0, -EINVAL, 0 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ntk_service *service = NULL;
        struct ntk_err err = { 0 };
        char pid[32];

        setenv("NOTIFY_SOCKET", "/nowhere", 1);
        setenv("WATCHDOG_USEC", cases[i].usec, 1);
        (void)snprintf(pid, sizeof pid, "%d", (int)getpid() + cases[i].pid_offset);
        if (cases[i].pid_offset < 0) {
            unsetenv("WATCHDOG_PID");
        } else {
            setenv("WATCHDOG_PID", pid, 1);
        }
        assert_int_equal(ntk_service_create(&service, &err), cases[i].ret);
        assert_int_equal(ntk_service_feed_period_ns(service), cases[i].period_ns);
        ntk_service_destroy(service);
    }
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

static void no_service_manager_is_accepted_and_invalid_sockets_are_rejected(void **state)
{
    static const char *const bad[] = { "relative", "/", "@" };
    struct ntk_service *service = NULL;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_service_create(&service, &err), 0);
    assert_null(service);
    ntk_service_ready(service, "ignored");
    ntk_service_destroy(service);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("NOTIFY_SOCKET", bad[i], 1);
        assert_int_equal(ntk_service_create(&service, &err), -EINVAL);
        assert_non_null(strstr(err.text, bad[i]));
    }
    unsetenv("NOTIFY_SOCKET");
}

struct hearing {
    int fd;
    const char *line; /* the test waits for it, so the datagram must start with it */
};

static int has_heard(void *ctx)
{
    const struct hearing *hearing = ctx;
    char line[512];

    while (*hear(hearing->fd, line, sizeof line)) {
        if (!strncmp(line, hearing->line, strlen(hearing->line))) {
            return 1;
        }
    }
    return 0;
}

static void the_agent_notifies_the_manager_of_start_watchdog_and_stop(void **state)
{
    static const char *const argv[] = { "neuron-monitor", "--quiet", NULL };
    static const char *const expected[] = { "READY=1\n", "WATCHDOG=1\n", "WATCHDOG=1\n" };
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "notify");
    struct hearing hearing = { .fd = listen_at(path) };
    char socket_variable[256];
    char hooks_variable[256];

    (void)snprintf(socket_variable, sizeof socket_variable, "NOTIFY_SOCKET=%s", path);
    (void)snprintf(hooks_variable, sizeof hooks_variable, "NEURON_HOOKS_DIR=%s", folder);
    const char *environment[] = { socket_variable, hooks_variable, "WATCHDOG_USEC=40000", NULL };
    pid_t pid = test_start_program(argv, environment, NULL);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        hearing.line = expected[i];
        assert_true(test_wait_until(has_heard, &hearing));
    }
    assert_int_equal(test_stop_program(pid, SIGTERM), 0);
    hearing.line = "STOPPING=1\n";
    assert_true(has_heard(&hearing));
    close(hearing.fd);
    free(path);
    test_scratch_destroy(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_are_sent_to_the_service_manager),
        cmocka_unit_test(the_watchdog_period_is_half_of_its_timeout),
        cmocka_unit_test(no_service_manager_is_accepted_and_invalid_sockets_are_rejected),
        cmocka_unit_test(the_agent_notifies_the_manager_of_start_watchdog_and_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
