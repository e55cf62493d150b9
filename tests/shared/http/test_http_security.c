/* SPDX-License-Identifier: MIT */
/* Method: a configuration file that the test rewrites; tests/exporters/prometheus/pipe.sh tests TLS
 * itself with a real client. */
#include "shared/http/http_security.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "tests/support/clock.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

/* Hash of "s3cret". */
#define HASH "$2b$04$abcdefghijklmnopqrstuuLZYjhNQAOdpbzt4WxWlUHjv1wsyH5DG"

struct fixture {
    char *folder;
    char *path;
    struct ntk_http_security *security;
    char long_user[256];
    char *stack; /* of a thread */
};

/* Checks like a server: passwords that are not cached are computed. */
static int check(struct ntk_http_security *security, const char *user, const char *password)
{
    int ret = ntk_http_security_check(security, user, password);

    return ret == 1 ? ntk_http_security_compute(security, user, password) : ret;
}

static void rewrite(struct fixture *f, const char *text)
{
    assert_int_equal(ntk_fs_write(f->path, text, strlen(text), NULL), 0);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = test_scratch_create();
    f->path = test_scratch_path(f->folder, "web.yml");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    ntk_http_security_close(f->security);
    free(f->path);
    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

static void open_security(struct fixture *f, const char *text)
{
    struct ntk_err err = { 0 };

    rewrite(f, text);
    if (ntk_http_security_open_config(f->path, &f->security, &err) < 0) {
        fail_msg("refused: %s", err.text);
    }
}

static void users_are_authenticated_by_password(void **state)
{
    struct fixture *f = *state;

    open_security(f, "basic_auth_users:\n  me: " HASH "\n");
    assert_false(ntk_http_security_has_tls(f->security));
    for (int i = 0; i < 3; i++) { /* the second time from the cache */
        assert_int_equal(check(f->security, "me", "s3cret"), 0);
        assert_int_equal(check(f->security, "me", "s3cre"), 401);
        assert_int_equal(check(f->security, "me", "x3cret"), 401);
        assert_int_equal(check(f->security, "me", "s3crex"), 401);
        assert_int_equal(check(f->security, "me", ""), 401);
        assert_int_equal(check(f->security, "me\n" HASH "\ns3cret", ""), 401);
        assert_int_equal(check(f->security, "you", "s3cret"), 401);
        assert_int_equal(check(f->security, NULL, NULL), 401);
    }
    char long_password[1024];
    memset(long_password, 'x', sizeof long_password - 1);
    long_password[sizeof long_password - 1] = '\0';
    assert_int_equal(check(f->security, "me", long_password), 401);
}

#define STACK_BYTES (2 << 20) /* also enough for a sanitizer */

/* Deeper in the stack than the code that inspects it afterwards. */
static __attribute__((noinline)) int compute_below(struct fixture *f)
{
    volatile char room[16384];

    room[0] = 0;
    return ntk_http_security_compute(f->security, f->long_user, "s3cret") + room[0];
}

/* Returns 0 if the password is right and no trace of it is left, 1 if the line is left. */
static void *compute_right(void *ctx)
{
    static const char mark[] = "wsyH5DG\ns3cr"; /* end of the hash, start of the password */
    struct fixture *f = ctx;
    intptr_t ret = compute_below(f);

    return (void *)(ret != 0 ? ret : memmem(f->stack, STACK_BYTES, mark, sizeof mark - 1) != NULL);
}

/* A line with a password stays nowhere in memory, even if it is too long for the cache. */
static void a_password_is_wiped_from_the_stack(void **state)
{
    struct fixture *f = *state;
    pthread_attr_t attributes;
    pthread_t thread;
    void *result;
    char text[512];

    /* The password is truncated in the middle. */
    memset(f->long_user, 'u', 256 - 1 - 1 - strlen(HASH) - 1 - 4);
    snprintf(text, sizeof text, "basic_auth_users:\n  %s: " HASH "\n", f->long_user);
    open_security(f, text);
    f->stack = aligned_alloc(4096, STACK_BYTES);
    assert_non_null(f->stack);
    memset(f->stack, 0, STACK_BYTES);
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstack(&attributes, f->stack, STACK_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attributes, compute_right, f), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    pthread_attr_destroy(&attributes);
    assert_int_equal((intptr_t)result, 0);
    free(f->stack);
}

static void a_changed_configuration_file_is_read_again(void **state)
{
    struct fixture *f = *state;

    open_security(f, "");
    assert_int_equal(check(f->security, NULL, NULL), 0);
    rewrite(f, "basic_auth_users:\n  me: " HASH "\n");
    assert_int_equal(check(f->security, NULL, NULL), 401);
    assert_int_equal(check(f->security, "me", "s3cret"), 0);
    rewrite(f, "basic_auth_users:\n  me: nonsense\n");
    assert_int_equal(check(f->security, "me", "s3cret"), 500);
    rewrite(f, "tls_server_config: { cert_file: a, key_file: b }\n");
    assert_int_equal(check(f->security, "me", "s3cret"), 500);
    remove(f->path);
    assert_int_equal(check(f->security, "me", "s3cret"), 500);
    rewrite(f, "basic_auth_users: { you: " HASH " }\n");
    assert_int_equal(check(f->security, "me", "s3cret"), 401);
    assert_int_equal(check(f->security, "you", "s3cret"), 0);
}

static void requests_beyond_the_rate_limit_are_answered_with_status_429(void **state)
{
    struct fixture *f = *state;
    struct test_clock clock;

    test_clock_init(&clock);
    open_security(f, "rate_limit: { interval: 1h, burst: 3 }\n");
    ntk_http_security_set_clock(f->security, &clock.clock);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(check(f->security, NULL, NULL), i < 3 ? 0 : 429);
    }
    test_clock_advance(&clock, 3600 * NTK_NS_PER_SECOND - 1);
    assert_int_equal(check(f->security, NULL, NULL), 429);
    test_clock_advance(&clock, 1);
    assert_int_equal(check(f->security, NULL, NULL), 0);
    assert_int_equal(check(f->security, NULL, NULL), 429);
    test_clock_advance(&clock, 24 * 3600 * NTK_NS_PER_SECOND); /* saves no more than a burst */
    for (int i = 0; i < 4; i++) {
        assert_int_equal(check(f->security, NULL, NULL), i < 3 ? 0 : 429);
    }
    test_clock_fini(&clock);
}

struct collected {
    char text[256];
};

static void collect(const char *name, const char *value, void *ctx)
{
    struct collected *collected = ctx;

    (void)snprintf(collected->text, sizeof collected->text, "%s=%s", name, value);
}

static void configured_response_headers_are_listed(void **state)
{
    struct fixture *f = *state;
    struct collected collected = { "" };

    open_security(f, "http_server_config: { headers: { X-Frame-Options: deny } }\n");
    ntk_http_security_headers_each(f->security, collect, &collected);
    assert_string_equal(collected.text, "X-Frame-Options=deny");
}

static void a_missing_or_invalid_configuration_is_reported(void **state)
{
    struct fixture *f = *state;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_http_security_open_config(f->path, &f->security, &err), -ENOENT);
    assert_non_null(strstr(err.text, f->path));
    rewrite(f, "tls_server_config: { cert: x, key: y }\n");
    assert_int_equal(ntk_http_security_open_config(f->path, &f->security, &err), -EINVAL);
    assert_non_null(strstr(err.text, "cannot read the certificate"));
    assert_int_equal(ntk_http_security_open_pair(f->path, f->path, &f->security, &err), -EINVAL);
    assert_non_null(strstr(err.text, "web.yml: cannot read the certificate"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(users_are_authenticated_by_password, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_password_is_wiped_from_the_stack, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_changed_configuration_file_is_read_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(requests_beyond_the_rate_limit_are_answered_with_status_429,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(configured_response_headers_are_listed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_missing_or_invalid_configuration_is_reported, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
