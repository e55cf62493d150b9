/* SPDX-License-Identifier: MIT */
/* Method: a real server with answers that are made part by part, and the client of the project. */
#include "shared/http/http_server.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shared/http/http_client.h"
#include "tests/support/http_ask.h"
#include "tests/support/process.h"
#include "tests/support/unit.h"

#define PART_BYTES 100000 /* more than a block of the server */
#define PARTS 30

struct parts {
    unsigned count;     /* to send */
    unsigned broken_at; /* fails instead of this one; 0: never */
    unsigned empty_at;  /* sends nothing; 0: never */
    unsigned made;
    _Atomic unsigned end_count;
};

static struct parts parts;
static struct ntk_http_server *server;

/* Each part differs from the others. */
static void add_part(struct ntk_buf *out, unsigned number)
{
    for (unsigned i = 0; i < PART_BYTES / 10; i++) {
        ntk_buf_add_format(out, "%09u\n", number * 7919 + i);
    }
}

static int next_part(void *ctx, struct ntk_buf *out)
{
    struct parts *p = ctx;

    p->made++;
    if (p->made == p->broken_at) {
        return -EIO;
    }
    if (p->made != p->empty_at) {
        add_part(out, p->made);
    }
    return p->made < p->count;
}

static void end_parts(void *ctx)
{
    ((struct parts *)ctx)->end_count++;
}

static void answer(const struct ntk_http_request *request, struct ntk_http_response *response,
                   void *ctx)
{
    bool gzip = strcmp(ntk_http_request_path_get(request), "/gzip") == 0;

    (void)ctx;
    response->source = (struct ntk_http_source){ next_part, end_parts, &parts, gzip };
    response->content_encoding = gzip ? "gzip" : NULL;
}

static const struct ntk_http_route routes[] = { { "/*", answer, NULL }, { NULL, NULL, NULL } };

static int set_up(void **state)
{
    const struct ntk_http_options options = { .address = { "127.0.0.1", 0 }, .routes = routes };

    (void)state;
    parts = (struct parts){ .count = PARTS };
    assert_int_equal(ntk_http_server_create(&options, &server, NULL), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ntk_http_server_destroy(server);
    return 0;
}

static int ask(const char *path, struct ntk_http_answer *out)
{
    struct ntk_http_client *client = ntk_http_client_create();
    char url[64];
    const struct ntk_http_question question = { .url = url, .no_proxy = true };

    assert_non_null(client);
    snprintf(url, sizeof url, "http://127.0.0.1:%u%s", ntk_http_server_port_get(server), path);
    int ret = ntk_http_client_ask(client, &question, out, NULL);
    ntk_http_client_destroy(client);
    return ret;
}

static int has_ended(void *ctx)
{
    (void)ctx;
    return parts.end_count > 0;
}

static void assert_whole(const char *path)
{
    struct ntk_http_answer got = { 0 };
    struct ntk_buf expected = { 0 };

    for (unsigned i = 1; i <= PARTS; i++) {
        if (i != parts.empty_at) {
            add_part(&expected, i);
        }
    }
    assert_int_equal(ask(path, &got), 0);
    assert_int_equal(got.status, 200);
    assert_int_equal(got.body.bytes_count, expected.bytes_count);
    assert_memory_equal(got.body.bytes, expected.bytes, expected.bytes_count);
    test_wait_until(has_ended, NULL);
    assert_int_equal(parts.end_count, 1);
    ntk_http_answer_fini(&got);
    ntk_buf_fini(&expected);
}

static void a_client_receives_all_parts(void **state)
{
    (void)state;
    assert_whole("/plain");
}

static void response_parts_are_compressed_as_one_gzip_member(void **state)
{
    (void)state;
    assert_whole("/gzip");
}

static void an_empty_part_does_not_end_the_response(void **state)
{
    (void)state;
    parts.empty_at = 3;
    assert_whole("/plain");
}

static void an_empty_part_does_not_end_the_compressed_response(void **state)
{
    (void)state;
    parts.empty_at = PARTS;
    assert_whole("/gzip");
}

static void the_response_from_a_failing_source_is_incomplete(void **state)
{
    static const char *const paths[] = { "/plain", "/gzip" };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct ntk_http_answer got = { 0 };

        parts = (struct parts){ .count = PARTS, .broken_at = 5 };
        assert_true(ask(paths[i], &got) < 0);
        test_wait_until(has_ended, NULL);
        ntk_http_answer_fini(&got);
    }
}

static void the_source_is_closed_when_its_client_disconnects(void **state)
{
    (void)state;
    parts.count = UINT32_MAX;
    int fd = test_http_connect((uint16_t)ntk_http_server_port_get(server));
    test_http_send(fd, "GET /plain HTTP/1.1\r\nHost: here\r\n\r\n");
    char *begin = test_http_read_until(fd, "\r\n\r\n");
    free(begin);
    close(fd);
    test_wait_until(has_ended, NULL);
    assert_int_equal(parts.end_count, 1);
}

static void a_head_request_produces_no_response_part(void **state)
{
    (void)state;
    int fd = test_http_connect((uint16_t)ntk_http_server_port_get(server));
    test_http_send(fd, "HEAD /plain HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n");
    char *head = test_http_read_until(fd, NULL);
    assert_non_null(strstr(head, "200 OK"));
    free(head);
    close(fd);
    test_wait_until(has_ended, NULL);
    assert_int_equal(parts.made, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        CASE(a_client_receives_all_parts),
        CASE(response_parts_are_compressed_as_one_gzip_member),
        CASE(an_empty_part_does_not_end_the_response),
        CASE(an_empty_part_does_not_end_the_compressed_response),
        CASE(the_response_from_a_failing_source_is_incomplete),
        CASE(the_source_is_closed_when_its_client_disconnects),
        CASE(a_head_request_produces_no_response_part),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
