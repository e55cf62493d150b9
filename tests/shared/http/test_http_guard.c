/* SPDX-License-Identifier: MIT */
/* Method: a server with a guard on loopback, asked over sockets. */
#include "shared/http/http_guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "tests/support/http_ask.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define TOKEN "0123456789abcdef-token"

struct fixture {
    char *folder;
    char *path;
    struct ntk_http_guard *guard;
    struct ntk_http_server *server;
};

static void answer(const struct ntk_http_request *request, struct ntk_http_response *response,
                   void *ctx)
{
    (void)request;
    (void)ctx;
    response->text = "inside\n";
}

static const struct ntk_http_route routes[] = { { "/*", answer, NULL }, { NULL, NULL, NULL } };

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = test_scratch_create();
    f->path = test_scratch_path(f->folder, "token");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    ntk_http_server_destroy(f->server);
    ntk_http_guard_destroy(f->guard);
    free(f->path);
    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

static void rewrite(struct fixture *f, const char *token)
{
    assert_int_equal(ntk_fs_write(f->path, token, strlen(token), NULL), 0);
}

static uint16_t serve(struct fixture *f, const struct ntk_http_guard_options *guard)
{
    struct ntk_http_options options = { .address = { "127.0.0.1", 0 }, .routes = routes };

    assert_int_equal(ntk_http_guard_create(guard, &f->guard, NULL), 0);
    options.guard = f->guard;
    assert_int_equal(ntk_http_server_create(&options, &f->server, NULL), 0);
    return ntk_http_server_port_get(f->server);
}

static void expect(uint16_t port, const char *path, const char *headers, const char *status)
{
    char *text = test_http_get(port, path, headers);

    if (strncmp(text + strlen("HTTP/1.1 "), status, strlen(status)) != 0) {
        fail_msg("%s with '%s' is answered: %s", path, headers, text);
    }
    free(text);
}

static void host_names_safe_from_dns_rebinding_are_accepted(void **state)
{
    struct fixture *f = *state;
    const struct ntk_http_guard_options options = { .host = "Monitor.example",
                                                    .names = "a.example,b.example" };
    static const char *const known[] = { "localhost",         "LOCALHOST:80",   "x.localhost",
                                         "127.0.0.1",         "127.0.0.1:9",    "[::1]:8080",
                                         "[fe80::1]",         "10.0.0.7",       "a.example:1",
                                         "B.EXAMPLE",         "b.example.:443", "localhost.:443",
                                         "monitor.example:80" };
    static const char *const foreign[] = { "evil.example",
                                           "localhost.evil.example",
                                           "127.0.0.1.evil.example",
                                           "xlocalhost",
                                           ".localhost",
                                           "a.example.evil",
                                           "a",
                                           "",
                                           ":80",
                                           "[::1",
                                           "[::1]evil",
                                           "[]",
                                           "a.example,b.example",
                                           "0x7f.1" };
    char machine[256] = "";
    char longest[2000];

    assert_int_equal(ntk_http_guard_create(&options, &f->guard, NULL), 0);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!ntk_http_guard_knows(f->guard, known[i])) {
            fail_msg("'%s' is not let in", known[i]);
        }
    }
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        if (ntk_http_guard_knows(f->guard, foreign[i])) {
            fail_msg("'%s' is let in", foreign[i]);
        }
    }
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_false(ntk_http_guard_knows(f->guard, longest));
    assert_int_equal(gethostname(machine, sizeof machine - 1), 0);
    if (machine[0]) {
        assert_true(ntk_http_guard_knows(f->guard, machine));
    }
}

static void a_foreign_host_header_is_rejected_on_every_path(void **state)
{
    uint16_t port = serve(*state, &(struct ntk_http_guard_options){ .names = "ok.example" });

    expect(port, "/", "Host: evil.example\r\n", "421");
    expect(port, "/-/healthy", "Host: evil.example\r\n", "421");
    expect(port, "/", "Host: ok.example:1234\r\n", "200");
    expect(port, "/", "Host: 127.0.0.1\r\n", "200");
}

static void a_token_is_required_and_the_cookie_replaces_it(void **state)
{
    struct fixture *f = *state;
    char cookie[200];

    rewrite(f, TOKEN "\n");
    uint16_t port = serve(f, &(struct ntk_http_guard_options){ .token_path = f->path });
    expect(port, "/", "", "401");
    expect(port, "/-/healthy", "", "200");
    expect(port, "/metrics", "Authorization: Bearer " TOKEN "\r\n", "200");
    expect(port, "/", "Authorization: bearer " TOKEN "\r\n", "200");
    expect(port, "/", "Authorization: Bearer " TOKEN "x\r\n", "401");
    expect(port, "/", "Authorization: Bearer 0123456789abcdef\r\n", "401");
    expect(port, "/", "Authorization: Bearer \r\n", "401");
    expect(port, "/", "Authorization: Basic " TOKEN "\r\n", "401");
    expect(port, "/?token=0123456789abcdef", "", "401");
    expect(port, "/?token=", "", "401");
    expect(port, "/?token", "", "401");
    expect(port, "/metrics?token=" TOKEN, "", "401"); /* only the page accepts it in the address */

    char *text = test_http_get(port, "/?token=" TOKEN, "");
    assert_non_null(strstr(text, "HTTP/1.1 303 "));
    assert_non_null(strstr(text, "\r\nLocation: /\r\n"));
    assert_non_null(strstr(text, "; HttpOnly; SameSite=Strict"));
    assert_null(strstr(text, TOKEN));
    char *from = strstr(text, "\r\nSet-Cookie: ");
    assert_non_null(from);
    snprintf(cookie, sizeof cookie, "Cookie: %.*s\r\n",
             (int)strcspn(from + strlen("\r\nSet-Cookie: "), ";"),
             from + strlen("\r\nSet-Cookie: "));
    free(text);
    expect(port, "/api/v1/report", cookie, "200");
    cookie[strlen(cookie) - 3] ^= 1;
    expect(port, "/api/v1/report", cookie, "401");
    cookie[strlen(cookie) - 3] ^= 1;

    rewrite(f, TOKEN "-new");
    expect(port, "/", "Authorization: Bearer " TOKEN "\r\n", "401");
    expect(port, "/", "Authorization: Bearer " TOKEN "-new\r\n", "200");
    expect(port, "/", cookie, "401"); /* the session of the old token has ended */
    assert_int_equal(unlink(f->path), 0);
    expect(port, "/", "Authorization: Bearer " TOKEN "-new\r\n", "500");
}

static void a_guessable_token_is_rejected_with_one_message(void **state)
{
    struct fixture *f = *state;
    const struct ntk_http_guard_options options = { .token_path = f->path };
    static const char *const bad[] = { "", "short", "0123456789 abcdef", "\n0123456789abcdef",
                                       "0123456789abcdef\nmore" };
    struct ntk_err err = { 0 };
    char expected[600];

    snprintf(expected, sizeof expected,
             "%s: invalid token: expected 16 to 256 printable characters without blanks", f->path);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rewrite(f, bad[i]);
        assert_true(ntk_http_guard_create(&options, &f->guard, &err) < 0);
        assert_string_equal(err.text, expected);
        assert_null(f->guard);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(host_names_safe_from_dns_rebinding_are_accepted, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_foreign_host_header_is_rejected_on_every_path, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_token_is_required_and_the_cookie_replaces_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_guessable_token_is_rejected_with_one_message, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
