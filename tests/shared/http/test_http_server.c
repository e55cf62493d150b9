/* SPDX-License-Identifier: MIT */
/* Method: a real server on a port chosen by the system, and a client of plain sockets. */
#include "shared/http/http_server.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "tests/support/http_ask.h"
#include "tests/support/process.h"
#include "tests/support/unit.h"

struct fixture {
    struct ntk_http_server *server;
    struct ntk_http_body *page;
    struct ntk_http_feed *feed;
};

static struct ntk_http_body *body_of(const char *text)
{
    struct ntk_buf buf = { 0 };

    ntk_buf_add_text(&buf, text);
    struct ntk_http_body *body = ntk_http_body_create(&buf);
    assert_non_null(body);
    return body;
}

static void answer_page(const struct ntk_http_request *request, struct ntk_http_response *response,
                        void *ctx)
{
    struct fixture *f = ctx;

    (void)request;
    response->content_type = "text/html; charset=utf-8";
    response->body = ntk_http_body_ref(f->page);
}

static void answer_echo(const struct ntk_http_request *request, struct ntk_http_response *response,
                        void *ctx)
{
    struct ntk_buf buf = { 0 };
    const char *agent = ntk_http_request_header_get(request, "x-who");
    const char *query = ntk_http_request_query_get(request, "q");

    (void)ctx;
    ntk_buf_add_format(&buf, "%s %s %s", ntk_http_request_path_get(request), agent ? agent : "-",
                       query ? query : "-");
    response->body = ntk_http_body_create(&buf);
}

static void answer_feed(const struct ntk_http_request *request, struct ntk_http_response *response,
                        void *ctx)
{
    struct fixture *f = ctx;

    (void)request;
    response->feed = f->feed;
}

/* The body of a PUT, and how many ended. */
struct kept {
    char bytes[100000];
    _Atomic size_t count;
    size_t announced;
    _Atomic unsigned end_count;
};
static struct kept kept;

static int has_all(void *ctx)
{
    return kept.count >= *(const size_t *)ctx;
}

static int has_ended(void *ctx)
{
    (void)ctx;
    return kept.end_count > 0;
}

static void *begin_upload(const struct ntk_http_request *request, uint64_t bytes_count,
                          struct ntk_http_response *response, void *ctx)
{
    if (ntk_http_request_query_get(request, "refuse") || bytes_count > sizeof kept.bytes) {
        response->status = 400;
        response->text = "not this\n";
        return NULL;
    }
    kept.announced = bytes_count;
    kept.count = 0;
    return ctx;
}

static void take_upload(void *upload, const void *bytes, size_t bytes_count)
{
    struct kept *to = upload;

    memcpy(to->bytes + to->count, bytes, bytes_count);
    to->count += bytes_count;
}

static void finish_upload(void *upload, struct ntk_http_response *response)
{
    const struct kept *of = upload;

    response->text = of->count == of->announced ? "all of it\n" : "a part\n";
}

static void end_upload(void *upload)
{
    ((struct kept *)upload)->end_count++;
}

static const struct ntk_http_upload uploads[] = {
    { "/up", begin_upload, take_upload, finish_upload, end_upload, &kept },
    { 0 },
};

static struct fixture fixture;
static const struct ntk_http_route slow_routes[] = { { NULL, NULL, NULL } };
static const struct ntk_http_route routes[] = {
    { "/", answer_page, &fixture },
    { "/echo/*", answer_echo, NULL },
    { "/feed", answer_feed, &fixture },
    { NULL, NULL, NULL },
};

static int set_up(void **state)
{
    struct ntk_http_options options = { .address = { "127.0.0.1", 0 },
                                        .routes = routes,
                                        .slow_routes = slow_routes,
                                        .uploads = uploads };
    struct ntk_err err = { 0 };

    memset(&kept, 0, sizeof kept);
    memset(&fixture, 0, sizeof fixture);
    fixture.page = body_of("<p>hello</p>");
    assert_int_equal(ntk_http_server_create(&options, &fixture.server, &err), 0);
    fixture.feed = ntk_http_feed_create(fixture.server, "application/jsonl");
    assert_non_null(fixture.feed);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    ntk_http_server_destroy(f->server);
    ntk_http_body_unref(f->page);
    return 0;
}

static int connect_to(const struct fixture *f)
{
    return test_http_connect((uint16_t)ntk_http_server_port_get(f->server));
}

static char *ask(const struct fixture *f, const char *request)
{
    int fd = connect_to(f);

    assert_int_equal(write(fd, request, strlen(request)), (ssize_t)strlen(request));
    char *answer = test_http_read_until(fd, NULL);
    close(fd);
    return answer;
}

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part)) {
        fail_msg("'%s' is not in '%s'", part, text);
    }
}

static void a_path_with_a_nul_byte_is_rejected(void **state)
{
    char *answer = ask(*state, "GET /%00.js HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");

    assert_contains(answer, "HTTP/1.1 404 ");
    free(answer);
}

static void an_http_1_1_request_without_a_host_is_rejected(void **state)
{
    char *answer = ask(*state, "GET / HTTP/1.1\r\nConnection: close\r\n\r\n");

    assert_contains(answer, "HTTP/1.1 400 ");
    free(answer);
    answer = ask(*state, "GET / HTTP/1.0\r\n\r\n");
    assert_contains(answer, " 200 ");
    free(answer);
}

static void a_get_request_returns_the_page_with_its_headers(void **state)
{
    char *answer = ask(*state, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");

    assert_contains(answer, "HTTP/1.1 200 ");
    assert_contains(answer, "Content-Type: text/html; charset=utf-8\r\n");
    assert_contains(answer, "Cache-Control: no-store\r\n");
    assert_contains(answer, "X-Content-Type-Options: nosniff\r\n");
    assert_contains(answer, "\r\n\r\n<p>hello</p>");
    free(answer);
}

static void a_head_request_returns_no_body(void **state)
{
    char *answer = ask(*state, "HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");

    assert_contains(answer, "HTTP/1.1 200 ");
    assert_contains(answer, "Content-Length: 12\r\n");
    assert_null(strstr(answer, "hello"));
    free(answer);
}

static void a_handler_receives_path_header_and_query(void **state)
{
    char *answer = ask(*state, "GET /echo/deep?q=a%20b HTTP/1.1\r\nHost: x\r\nX-Who: me\r\n"
                               "Connection: close\r\n\r\n");

    assert_contains(answer, "\r\n\r\n/echo/deep me a b");
    free(answer);
}

static void unsupported_methods_and_paths_are_rejected(void **state)
{
    char *answer = ask(*state, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
                               "Connection: close\r\n\r\nabc");
    assert_contains(answer, "HTTP/1.1 405 ");
    assert_contains(answer, "Allow: GET, HEAD\r\n");
    free(answer);

    answer = ask(*state, "GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_contains(answer, "HTTP/1.1 404 ");
    free(answer);
}

/* A proxy before this server may use the other one. */
static void a_second_host_header_is_rejected(void **state)
{
    static const char *const heads[] = {
        "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nhOST: x\r\nConnection: close\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n",
        "GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
        "PUT /up HTTP/1.1\r\nHost: x\r\nHost: y\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    };

    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        char *answer = ask(*state, heads[i]);

        assert_contains(answer, "HTTP/1.1 400 ");
        assert_contains(answer, "one Host");
        free(answer);
    }
}

/* Sends the head, and count bytes of a body. */
static char *put(const struct fixture *f, const char *path, size_t announced, size_t count)
{
    char head[200];
    char *body = calloc(1, count + 1);
    int fd = connect_to(f);

    assert_non_null(body);
    for (size_t i = 0; i < count; i++) {
        body[i] = (char)('a' + i % 26);
    }
    (void)snprintf(head, sizeof head,
                   "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
                   path, announced);
    test_http_send(fd, head);
    test_http_send(fd, body);
    free(body);
    if (count < announced) { /* disconnects once all of that has been read */
        assert_true(test_wait_until(has_all, &count));
        close(fd);
        return NULL;
    }
    char *answer = test_http_read_until(fd, NULL);
    close(fd);
    return answer;
}

static void an_upload_is_read_completely_and_answered(void **state)
{
    const size_t sizes[] = { 0, 1, 1000, sizeof kept.bytes };

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *answer = put(*state, "/up", sizes[i], sizes[i]);
        assert_contains(answer, "HTTP/1.1 200 ");
        assert_contains(answer, "all of it");
        free(answer);
        assert_int_equal(kept.count, sizes[i]);
        for (size_t k = 0; k < sizes[i]; k++) {
            assert_int_equal(kept.bytes[k], 'a' + k % 26);
        }
    }
    ntk_http_server_destroy(fixture.server); /* the ends of all of them have been called then */
    fixture.server = NULL;
    assert_int_equal(kept.end_count, 4);
}

static void a_rejected_upload_is_read_to_its_end(void **state)
{
    char *answer = put(*state, "/up?refuse=1", 50000, 50000);

    assert_contains(answer, "HTTP/1.1 400 ");
    assert_contains(answer, "not this");
    free(answer);
    answer = put(*state, "/up", sizeof kept.bytes + 1, sizeof kept.bytes + 1);
    assert_contains(answer, "HTTP/1.1 400 ");
    free(answer);
    answer = put(*state, "/upper", 3, 3);
    assert_contains(answer, "HTTP/1.1 405 ");
    free(answer);
    answer = ask(*state, "PUT /up HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                         "Connection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    assert_contains(answer, "HTTP/1.1 411 ");
    free(answer);
    assert_int_equal(kept.end_count, 0);
}

static void the_upload_of_a_disconnected_client_is_ended(void **state)
{
    (void)put(*state, "/up", 1000, 500);
    assert_true(test_wait_until(has_ended, NULL));
    assert_int_equal(kept.end_count, 1);
    assert_int_equal(kept.count, 500);
}

static void a_request_head_beyond_the_limit_does_not_crash_the_server(void **state)
{
    size_t size = 4 * NTK_HTTP_CONNECTION_BYTES;
    char *request = malloc(size + 1);

    memset(request, 'a', size);
    memcpy(request, "GET /", 5);
    request[size] = '\0';
    int fd = connect_to(*state);
    for (size_t sent = 0; sent < size;) {
        ssize_t count = send(fd, request + sent, size - sent, MSG_NOSIGNAL);
        if (count <= 0) {
            break; /* the server has stopped reading */
        }
        sent += (size_t)count;
    }
    shutdown(fd, SHUT_WR);
    free(test_http_read_until(fd, NULL));
    close(fd);
    free(request);

    char *answer = ask(*state, "GET / HTTP/1.0\r\n\r\n");
    assert_contains(answer, "hello");
    free(answer);
}

/* A GET of the page with count times text as its parameters, and a header line of this length. */
static char *ask_with_parameters(const struct fixture *f, const char *text, size_t count,
                                 size_t header_bytes)
{
    struct ntk_buf buf = { 0 };

    ntk_buf_add_text(&buf, "GET /?");
    for (size_t i = 0; i < count; i++) {
        ntk_buf_add_text(&buf, text);
    }
    ntk_buf_add_text(&buf, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: ");
    for (size_t i = 0; i < header_bytes; i++) {
        ntk_buf_add_text(&buf, "x");
    }
    ntk_buf_add_text(&buf, "\r\n\r\n");
    char *answer = ask(f, (const char *)buf.bytes);
    ntk_buf_fini(&buf);
    return answer;
}

static void too_many_or_too_long_parameters_are_answered_with_414(void **state)
{
    static const struct {
        const char *text;
        size_t count;
        size_t header_bytes;
        const char *status;
    } cases[] = {
        { "q=1&", NTK_HTTP_PARAMETERS_MAX - 1, 0, "HTTP/1.1 200 " },
        { "q=1&", NTK_HTTP_PARAMETERS_MAX, 0, "HTTP/1.1 414 " },
        { "q=1&", 500, 0, "HTTP/1.1 414 " }, /* these would fill the memory of the connection */
        { "q&", 3000, 0, "HTTP/1.1 414 " },
        { "&", 5000, 0, "HTTP/1.1 414 " },
        { "q=1&", 5000, 0, "HTTP/1.1 414 " },
        { "qqqqqqqq", NTK_HTTP_URI_BYTES / 8 - 1, 0, "HTTP/1.1 200 " },
        { "qqqqqqqq", NTK_HTTP_URI_BYTES / 8, 0, "HTTP/1.1 414 " },
        { "q=1&", 20000, 0, "HTTP/1.1 414 " }, /* more than the connection accepts */
        { "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq"
          "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq=&",
          NTK_HTTP_PARAMETERS_MAX - 1, 16 * 1024, "HTTP/1.1 200 " },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *answer =
            ask_with_parameters(*state, cases[i].text, cases[i].count, cases[i].header_bytes);
        assert_contains(answer, cases[i].status);
        free(answer);
    }
    char *answer = ask_with_parameters(*state, "q=1&", 500, 0);
    assert_contains(answer, "\r\n\r\nthe address is too long or has too many parameters\n");
    free(answer);
}

/* Around the size that fills the memory of a connection: each has an answer, and from some size on
 * always the same one. */
static void a_request_head_of_any_size_is_answered(void **state)
{
    const char *expected = "HTTP/1.1 200 ";

    for (size_t bytes = 28 * 1024; bytes < 36 * 1024; bytes += 61) {
        char *of_header = ask_with_parameters(*state, "q=1&", 1, bytes);
        char *of_address = ask_with_parameters(*state, "x", bytes, 0);
        if (!strncmp(of_header, "HTTP/1.1 431 ", 13)) {
            expected = "HTTP/1.1 431 ";
        }
        assert_memory_equal(of_header, expected, 13);
        if (strncmp(of_address, "HTTP/1.1 414 ", 13) != 0) { /* no memory is left for its headers */
            assert_memory_equal(of_address, "HTTP/1.1 431 ", 13);
        }
        free(of_header);
        free(of_address);
    }
    assert_string_equal(expected, "HTTP/1.1 431 ");
}

static void a_port_in_use_prints_one_message(void **state)
{
    struct fixture *f = *state;
    struct ntk_http_options options = { .address = { "127.0.0.1", 0 }, .routes = routes };
    struct ntk_http_server *second = NULL;
    struct ntk_err err = { 0 };
    char expected[128];

    options.address.port = ntk_http_server_port_get(f->server);
    snprintf(expected, sizeof expected, "cannot listen on 127.0.0.1 port %u: the port is in use",
             options.address.port);
    assert_int_equal(ntk_http_server_create(&options, &second, &err), -EADDRINUSE);
    assert_null(second);
    assert_string_equal(err.text, expected);
}

static void an_unknown_host_prints_one_message(void **state)
{
    struct ntk_http_options options = { .address = { "256.1.1.1.invalid", 0 }, .routes = routes };
    struct ntk_http_server *second = NULL;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_http_server_create(&options, &second, &err), -EADDRNOTAVAIL);
    assert_contains(err.text, "cannot listen on '256.1.1.1.invalid': ");
}

static void a_feed_returns_the_last_line_and_all_later_ones(void **state)
{
    struct fixture *f = *state;
    struct ntk_http_body *first = body_of("{\"n\":1}\n");
    struct ntk_http_body *second = body_of("{\"n\":2}\n");

    ntk_http_feed_publish(f->feed, first, true);
    int fd = connect_to(f);
    const char request[] = "GET /feed HTTP/1.1\r\nHost: x\r\n\r\n";
    assert_int_equal(write(fd, request, sizeof request - 1), (ssize_t)sizeof request - 1);
    char *answer = test_http_read_until(fd, "{\"n\":1}");
    assert_contains(answer, "Content-Type: application/jsonl\r\n");
    assert_contains(answer, "{\"n\":1}");
    free(answer);
    ntk_http_feed_publish(f->feed, second, true);
    answer = test_http_read_until(fd, "{\"n\":2}");
    assert_contains(answer, "{\"n\":2}");
    free(answer);
    ntk_http_body_unref(first);
    ntk_http_body_unref(second);
    close(fd); /* the server is destroyed while the reader waits */
}

/* Method: a reader that never reads; 256 KiB lines fill its socket, then its queue. */
static void a_slow_reader_of_a_feed_loses_whole_lines_only(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf buf = { 0 };
    int fd = connect_to(f);
    const char request[] = "GET /feed HTTP/1.1\r\nHost: x\r\n\r\n";

    assert_int_equal(write(fd, request, sizeof request - 1), (ssize_t)sizeof request - 1);
    free(test_http_read_until(fd, "\r\n\r\n"));
    ntk_buf_add_fill(&buf, 'x', 256 * 1024);
    ntk_buf_add_char(&buf, '\n');
    struct ntk_http_body *line = ntk_http_body_create(&buf);
    for (int i = 0; i < 4096 && ntk_http_feed_dropped_count(f->feed) == 0; i++) {
        ntk_http_feed_publish(f->feed, line, false);
    }
    assert_true(ntk_http_feed_dropped_count(f->feed) > 0);
    char *answer = ask(f, "GET / HTTP/1.0\r\n\r\n"); /* other requests do not wait for the reader */
    assert_contains(answer, "hello");
    free(answer);
    ntk_http_body_unref(line);
    close(fd);
}

/* ---- many clients, and misbehaving ones ---- */

#define PAGE_REQUEST "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

static void send_text(int fd, const char *text, size_t bytes)
{
    assert_int_equal(send(fd, text, bytes, MSG_NOSIGNAL), (ssize_t)bytes);
}

static void assert_page(int fd)
{
    char *answer = test_http_read_until(fd, NULL);

    assert_contains(answer, "HTTP/1.1 200 ");
    assert_contains(answer, "\r\n\r\n<p>hello</p>");
    free(answer);
    close(fd);
}

/* Method: all have sent requests before the first one reads; a megabyte fills the socket of
 * each. */
static void a_hundred_concurrent_clients_receive_the_complete_page(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf buf = { 0 };
    const size_t page_bytes = 1024 * 1024;
    int fds[100];

    ntk_http_body_unref(f->page);
    ntk_buf_add_fill(&buf, 'x', page_bytes);
    f->page = ntk_http_body_create(&buf);
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        fds[i] = connect_to(f);
        send_text(fds[i], PAGE_REQUEST, sizeof PAGE_REQUEST - 1);
    }
    for (size_t i = sizeof fds / sizeof *fds; i-- > 0;) {
        char *answer = test_http_read_until(fds[i], NULL);
        const char *body = strstr(answer, "\r\n\r\n");

        assert_contains(answer, "HTTP/1.1 200 ");
        assert_non_null(body);
        assert_int_equal(strlen(body + 4), page_bytes);
        assert_int_equal(strspn(body + 4, "x"), page_bytes);
        free(answer);
        close(fds[i]);
    }
}

static void clients_that_send_single_bytes_delay_no_others(void **state)
{
    struct fixture *f = *state;
    int slow[50];

    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
        slow[i] = connect_to(f);
    }
    for (size_t at = 0; at < sizeof PAGE_REQUEST - 1; at++) {
        for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
            send_text(slow[i], PAGE_REQUEST + at, 1);
        }
        int fd = connect_to(f);
        send_text(fd, PAGE_REQUEST, sizeof PAGE_REQUEST - 1);
        assert_page(fd);
    }
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
        assert_page(slow[i]);
    }
}

/* Waits, while the slow ones continue slowly, so that they are never idle. */
static bool becomes_readable(int fd, const int *slow, size_t slow_count)
{
    uint64_t end_ns = ntk_clock_monotonic_ns() + test_patience_ns();

    while (ntk_clock_monotonic_ns() < end_ns) {
        struct pollfd ready = { .fd = fd, .events = POLLIN };

        if (poll(&ready, 1, 100) > 0) {
            return true;
        }
        for (size_t k = 0; k < slow_count; k++) {
            (void)send(slow[k], "a", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
    }
    return false;
}

/* Method: more incomplete requests than allowed connections, each one byte at a time, so that
 * none is ever idle. Real requests are answered, each at the cost of the incomplete one that has
 * waited longest. */
static void the_oldest_incomplete_request_is_dropped_for_a_complete_one(void **state)
{
    enum { HALF = NTK_HTTP_CONNECTIONS_MAX + 40, WHOLE = 60, FEEDS = 10 };
    static const char feed_request[] = "GET /feed HTTP/1.1\r\nHost: x\r\n\r\n";
    struct fixture *f = *state;
    static const char half_request[] = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Slow: ";
    struct ntk_http_body *line = body_of("{\"n\":1}\n");
    int feeds[FEEDS];
    int half[HALF];
    char byte;

    for (size_t i = 0; i < FEEDS; i++) { /* the oldest of all, and never truncated */
        feeds[i] = connect_to(f);
        send_text(feeds[i], feed_request, sizeof feed_request - 1);
        free(test_http_read_until(feeds[i], "\r\n\r\n"));
    }
    for (size_t i = 0; i < HALF; i++) {
        half[i] = connect_to(f);
        send_text(half[i], half_request, sizeof half_request - 1);
    }
    for (size_t i = 0; i < WHOLE; i++) {
        int fd = connect_to(f);
        send_text(fd, PAGE_REQUEST, sizeof PAGE_REQUEST - 1);
        assert_true(becomes_readable(fd, half, HALF));
        assert_page(fd);
    }
    assert_true(read(half[0], &byte, 1) <= 0); /* it is dropped instead of waiting */
    send_text(half[HALF - 1], "\r\n\r\n", 4);
    assert_page(half[HALF - 1]);
    ntk_http_feed_publish(f->feed, line, false);
    for (size_t i = 0; i < FEEDS; i++) {
        char *answer = test_http_read_until(feeds[i], "{\"n\":1}");
        assert_contains(answer, "{\"n\":1}");
        free(answer);
        close(feeds[i]);
    }
    for (size_t i = 0; i + 1 < HALF; i++) {
        close(half[i]);
    }
    ntk_http_body_unref(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        CASE(a_get_request_returns_the_page_with_its_headers),
        CASE(a_path_with_a_nul_byte_is_rejected),
        CASE(an_http_1_1_request_without_a_host_is_rejected),
        CASE(a_head_request_returns_no_body),
        CASE(a_handler_receives_path_header_and_query),
        CASE(unsupported_methods_and_paths_are_rejected),
        CASE(a_second_host_header_is_rejected),
        CASE(an_upload_is_read_completely_and_answered),
        CASE(a_rejected_upload_is_read_to_its_end),
        CASE(the_upload_of_a_disconnected_client_is_ended),
        CASE(a_request_head_beyond_the_limit_does_not_crash_the_server),
        CASE(too_many_or_too_long_parameters_are_answered_with_414),
        CASE(a_request_head_of_any_size_is_answered),
        CASE(a_port_in_use_prints_one_message),
        CASE(an_unknown_host_prints_one_message),
        CASE(a_feed_returns_the_last_line_and_all_later_ones),
        CASE(a_slow_reader_of_a_feed_loses_whole_lines_only),
        CASE(a_hundred_concurrent_clients_receive_the_complete_page),
        CASE(clients_that_send_single_bytes_delay_no_others),
        CASE(the_oldest_incomplete_request_is_dropped_for_a_complete_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
