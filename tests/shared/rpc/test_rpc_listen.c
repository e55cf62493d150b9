/* SPDX-License-Identifier: MIT */
/* Method: addresses that cannot be used, each with its message. */
#include "shared/rpc/rpc_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static void a_socket_path_in_use_is_detected_before_listening(void **state)
{
    char *folder = test_scratch_create();
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct ntk_err err = { 0 };
    char endpoint[300];
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/s", folder);
    (void)snprintf(endpoint, sizeof endpoint, "unix:%s/s", folder);
    assert_int_equal(ntk_rpc_listen_check("127.0.0.1:1", &err), 0);
    assert_int_equal(ntk_rpc_listen_check(endpoint, &err), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(ntk_rpc_listen_check(endpoint, &err), 0); /* nothing listens there yet */
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(ntk_rpc_listen_check(endpoint, &err), -EADDRINUSE);
    assert_non_null(strstr(err.text, "another daemon responds there"));
    close(fd);
    assert_int_equal(ntk_rpc_listen_check("unix:", &err), -EINVAL);
    assert_non_null(strstr(err.text, "missing path"));
    (void)memset(endpoint, 'x', 200);
    (void)memcpy(endpoint, "unix:", strlen("unix:"));
    endpoint[200] = '\0';
    assert_int_equal(ntk_rpc_listen_check(endpoint, &err), -EINVAL);
    assert_non_null(strstr(err.text, "longer than 107 bytes"));
    test_scratch_destroy(folder);
}

static void each_listen_failure_has_a_specific_message(void **state)
{
    char *folder = test_scratch_create();
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t bytes = sizeof address;
    char taken[64], is_folder[300], no_folder[300], is_file[300];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &bytes), 0);
    (void)snprintf(taken, sizeof taken, "127.0.0.1:%d", ntohs(address.sin_port));
    (void)snprintf(is_folder, sizeof is_folder, "unix:%s", folder);
    (void)snprintf(no_folder, sizeof no_folder, "unix:%s/none/s", folder);
    (void)snprintf(is_file, sizeof is_file, "unix:%s/file", folder);
    FILE *file = fopen(is_file + strlen("unix:"), "w");
    assert_non_null(file);
    (void)fclose(file);
    const struct {
        const char *endpoint, *why;
    } cases[] = {
        { taken, "Address already in use" },
        { is_folder, "path exists and is a folder" },
        { no_folder, "No such file or directory" },
        { is_file, "path exists and is not a socket" },
        { "127.0.0.1:x", "Servname not supported" },
        { "192.0.2.1:5555", "Cannot assign requested address" },
        { "[192.0.2.1]:5555", "Cannot assign requested address" },
        { "other:scheme:what:ever:", "" },
        { ":", "" },
        { "no colon", "address in use or not available" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ntk_err err = { 0 };
        char begin[400];

        assert_true(ntk_rpc_listen_why(cases[i].endpoint, &err) < 0);
        (void)snprintf(begin, sizeof begin, "cannot listen on '%s': ", cases[i].endpoint);
        assert_memory_equal(err.text, begin, strlen(begin));
        assert_non_null(strstr(err.text, cases[i].why));
    }
    /* A foreign file is not removed. */
    assert_int_equal(access(is_file + strlen("unix:"), F_OK), 0);
    close(fd);
    test_scratch_destroy(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_socket_path_in_use_is_detected_before_listening),
        cmocka_unit_test(each_listen_failure_has_a_specific_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
