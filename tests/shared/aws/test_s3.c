/* SPDX-License-Identifier: MIT */
/* Method: a server on loopback that is busy for the first requests, and a clock on which waits end
 * at once. */
#include "shared/aws/s3.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "shared/http/http_server.h"
#include "tests/support/clock.h"
#include "tests/support/unit.h"

struct fixture {
    struct test_clock clock;
    struct ntk_http_route none[1];
    struct ntk_http_upload uploads[2];
    struct ntk_http_server *server;
    struct ntk_s3 *s3;
    atomic_int busy; /* requests that will still get 503 */
    atomic_int asked;
    atomic_bool checks_time; /* in signatures; the test's clock is years behind */
};

static bool is_signed_now(const struct ntk_http_request *request)
{
    struct tm signed_at = { 0 };
    const char *date = ntk_http_request_header_get(request, "x-amz-date");

    return date && strptime(date, "%Y%m%dT%H%M%SZ", &signed_at) &&
           llabs((long long)(timegm(&signed_at) - time(NULL))) < 300;
}

static void *answer(const struct ntk_http_request *request, uint64_t bytes_count,
                    struct ntk_http_response *response, void *ctx)
{
    struct fixture *f = ctx;

    (void)bytes_count;
    atomic_fetch_add(&f->asked, 1);
    response->status = atomic_fetch_sub(&f->busy, 1) > 0 ? 503 : 200;
    response->text = "";
    if (atomic_load(&f->checks_time) && !is_signed_now(request)) {
        response->status = 403;
        response->text = "<Error><Code>RequestTimeTooSkewed</Code></Error>";
    }
    return NULL;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    const struct ntk_http_options http = { .address = { "127.0.0.1", 0 },
                                           .routes = f->none,
                                           .slow_routes = f->none,
                                           .uploads = f->uploads };
    char endpoint[64];

    test_clock_init(&f->clock);
    f->clock.passes_waits = true;
    f->uploads[0] = (struct ntk_http_upload){ .path = "/bucket/part", .begin = answer, .ctx = f };
    assert_int_equal(ntk_http_server_create(&http, &f->server, NULL), 0);
    (void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u",
                   ntk_http_server_port_get(f->server));
    setenv("AWS_ACCESS_KEY_ID", "key", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    const struct ntk_s3_options options = { .place = "s3://bucket",
                                            .endpoint_url = endpoint,
                                            .region = "us-east-1",
                                            .clock = &f->clock.clock };
    struct ntk_err err = { 0 };
    if (ntk_s3_create(&options, &f->s3, &err) < 0) {
        fail_msg("%s", err.text);
    }
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    ntk_s3_destroy(f->s3);
    ntk_http_server_destroy(f->server);
    test_clock_fini(&f->clock);
    free(f);
    return 0;
}

/* How long a put waits while this number of requests finds the server busy. */
static uint64_t waited_ns(struct fixture *f, int busy, int expected)
{
    uint64_t begin_ns = test_clock_now_ns(&f->clock);
    struct ntk_err err = { 0 };

    atomic_store(&f->busy, busy);
    atomic_store(&f->asked, 0);
    int ret = ntk_s3_put(f->s3, "part", "x", 1, false, &err);
    if (ret != expected) {
        fail_msg("%d: %s", ret, err.text);
    }
    return test_clock_now_ns(&f->clock) - begin_ns;
}

static void a_request_to_a_busy_server_is_retried_with_doubling_pauses(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(waited_ns(f, 0, 0), 0);
    assert_int_equal(waited_ns(f, 1, 0), NTK_S3_PAUSE_NS);
    assert_int_equal(waited_ns(f, 3, 0), 7 * NTK_S3_PAUSE_NS);
    assert_int_equal(atomic_load(&f->asked), 4);
}

static void a_request_fails_after_the_maximum_number_of_retries(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(waited_ns(f, 100, -EIO), 15 * NTK_S3_PAUSE_NS);
    assert_int_equal(atomic_load(&f->asked), NTK_S3_TRIES);
}

static void a_wrong_clock_is_corrected_by_the_date_of_the_server(void **state)
{
    struct fixture *f = *state;

    atomic_store(&f->checks_time, true);
    assert_int_equal(waited_ns(f, 0, 0), 0);
    assert_int_equal(atomic_load(&f->asked), 2);
    assert_int_equal(waited_ns(f, 0, 0), 0);
    assert_int_equal(atomic_load(&f->asked), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        CASE(a_request_to_a_busy_server_is_retried_with_doubling_pauses),
        CASE(a_request_fails_after_the_maximum_number_of_retries),
        CASE(a_wrong_clock_is_corrected_by_the_date_of_the_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
