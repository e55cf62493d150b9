/* SPDX-License-Identifier: MIT */
/* Method: a peer of plain sockets that plays one scripted answer per connection and records the
 * request, on TCP and on a Unix socket. */
#include "shared/http/http_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "tests/support/fake_kubelet.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define ASKED_BYTES 65536

/* Script of the peer for the next connection. */
struct script {
    const char *answer;  /* sent verbatim; NULL: nothing */
    size_t read_bytes;   /* bytes of the request before it answers; 0: to the end of the head */
    size_t repeat_bytes; /* this much more after the answer */
    int is_held;         /* the connection stays open until the test releases it */
};

struct peer {
    int listener;
    int port;
    pthread_t thread;
    struct script script;
    char asked[ASKED_BYTES];
    size_t asked_bytes;
    int release[2]; /* written to release a held connection */
};

static void read_question(struct peer *peer, int fd)
{
    peer->asked_bytes = 0;
    while (peer->asked_bytes < sizeof peer->asked - 1) {
        ssize_t got = recv(fd, peer->asked + peer->asked_bytes,
                           sizeof peer->asked - 1 - peer->asked_bytes, 0);
        if (got <= 0) {
            break;
        }
        peer->asked_bytes += (size_t)got;
        peer->asked[peer->asked_bytes] = '\0';
        if (peer->script.read_bytes ? peer->asked_bytes >= peer->script.read_bytes
                                    : strstr(peer->asked, "\r\n\r\n") != NULL) {
            break;
        }
    }
    peer->asked[peer->asked_bytes] = '\0';
}

static void *serve(void *ctx)
{
    struct peer *peer = ctx;
    int fd = accept(peer->listener, NULL, NULL);
    char block[4096];

    if (fd < 0) {
        return NULL;
    }
    read_question(peer, fd);
    if (peer->script.answer) {
        (void)send(fd, peer->script.answer, strlen(peer->script.answer), MSG_NOSIGNAL);
    }
    memset(block, 'x', sizeof block);
    for (size_t sent = 0; sent < peer->script.repeat_bytes; sent += sizeof block) {
        if (send(fd, block, sizeof block, MSG_NOSIGNAL) < 0) {
            break;
        }
    }
    if (peer->script.is_held) {
        (void)!read(peer->release[0], block, 1);
    }
    close(fd);
    return NULL;
}

static void peer_listen(struct peer *peer, const char *unix_path)
{
    struct sockaddr_in tcp = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_un local = { .sun_family = AF_UNIX };
    socklen_t bytes = sizeof tcp;

    memset(peer, 0, sizeof *peer);
    assert_int_equal(pipe(peer->release), 0);
    if (unix_path) {
        assert_true(strlen(unix_path) < sizeof local.sun_path);
        memcpy(local.sun_path, unix_path, strlen(unix_path));
        peer->listener = socket(AF_UNIX, SOCK_STREAM, 0);
        assert_int_equal(bind(peer->listener, (struct sockaddr *)&local, sizeof local), 0);
    } else {
        peer->listener = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(bind(peer->listener, (struct sockaddr *)&tcp, sizeof tcp), 0);
        assert_int_equal(getsockname(peer->listener, (struct sockaddr *)&tcp, &bytes), 0);
        peer->port = ntohs(tcp.sin_port);
    }
    assert_int_equal(listen(peer->listener, 4), 0);
}

static void peer_play(struct peer *peer, struct script script)
{
    peer->script = script;
    assert_int_equal(pthread_create(&peer->thread, NULL, serve, peer), 0);
}

static void peer_done(struct peer *peer)
{
    assert_int_equal(write(peer->release[1], "x", 1), 1);
    pthread_join(peer->thread, NULL);
    if (!peer->script.is_held) {
        char byte;
        (void)!read(peer->release[0], &byte, 1);
    }
}

static void peer_close(struct peer *peer)
{
    close(peer->listener);
    close(peer->release[0]);
    close(peer->release[1]);
}

struct fixture {
    struct peer peer;
    struct ntk_http_client *client;
    struct ntk_http_answer answer;
    struct ntk_err err;
    char url[128];
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    peer_listen(&f->peer, NULL);
    f->client = ntk_http_client_create();
    assert_non_null(f->client);
    (void)snprintf(f->url, sizeof f->url, "http://127.0.0.1:%d/a?token=secret", f->peer.port);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    ntk_http_client_destroy(f->client);
    ntk_http_answer_fini(&f->answer);
    peer_close(&f->peer);
    free(f);
    return 0;
}

static void a_get_request_returns_status_headers_and_body(void **state)
{
    struct fixture *f = *state;
    const char *const headers[] = { "X-Who: test", NULL };
    struct ntk_http_question question = { .url = f->url, .headers = headers };
    char text[8];

    peer_play(&f->peer, (struct script){ "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n"
                                         "X-Long:  abcdefghij \r\n\r\nno\n",
                                         0, 0, 0 });
    assert_int_equal(ntk_http_client_ask(f->client, &question, &f->answer, &f->err), 0);
    peer_done(&f->peer);
    assert_int_equal(f->answer.status, 404);
    assert_true(f->answer.is_sent);
    assert_string_equal(ntk_buf_text_get(&f->answer.body), "no\n");
    assert_true(ntk_http_answer_header_get(&f->answer, "x-long", text, sizeof text));
    assert_string_equal(text, "abcdefg");
    assert_false(ntk_http_answer_header_get(&f->answer, "x-lon", text, sizeof text));
    assert_ptr_equal(strstr(f->peer.asked, "GET /a?token=secret HTTP/1.1\r\n"), f->peer.asked);
    assert_non_null(strstr(f->peer.asked, "\r\nX-Who: test\r\n"));
}

/* The first line of the file at the time of each request; without a file, the request is never
 * sent. */
static void the_token_is_read_from_its_file_for_each_request(void **state)
{
    static const char answer[] = "HTTP/1.1 204 No\r\nConnection: close\r\n\r\n";
    struct fixture *f = *state;
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "token");
    const char *const headers[] = { "X-Who: test", NULL };
    const struct ntk_http_question question = { .url = f->url,
                                                .headers = headers,
                                                .token_file = path };

    assert_int_equal(ntk_http_client_ask(f->client, &question, &f->answer, &f->err), -EIO);
    assert_non_null(strstr(f->err.text, "cannot read the token from '/"));
    assert_int_equal(ntk_fs_write(path, "\n", 1, &f->err), 0);
    assert_int_equal(ntk_http_client_ask(f->client, &question, &f->answer, &f->err), -EIO);
    assert_non_null(strstr(f->err.text, "the first line is empty"));
    assert_int_equal(ntk_fs_write(path, "one\nmore\n", 9, &f->err), 0);
    peer_play(&f->peer, (struct script){ answer, 0, 0, 0 });
    assert_int_equal(ntk_http_client_ask(f->client, &question, &f->answer, &f->err), 0);
    peer_done(&f->peer);
    assert_non_null(strstr(f->peer.asked, "\r\nX-Who: test\r\nAuthorization: Bearer one\r\n"));
    assert_int_equal(ntk_fs_write(path, "two", 3, &f->err), 0);
    peer_play(&f->peer, (struct script){ answer, 0, 0, 0 });
    assert_int_equal(ntk_http_client_ask(f->client, &question, &f->answer, &f->err), 0);
    peer_done(&f->peer);
    assert_non_null(strstr(f->peer.asked, "\r\nAuthorization: Bearer two\r\n"));
    free(path);
    test_scratch_destroy(folder);
}

static void the_retry_after_header_is_parsed_as_seconds_or_date(void **state)
{
    struct fixture *f = *state;
    struct ntk_http_question question = { .url = f->url };
    static const struct {
        const char *answer;
        uint64_t seconds_min;
        uint64_t seconds_max;
    } rows[] = {
        { "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", 7, 7 },
        { "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", 0, 0 },
        { "HTTP/1.1 503 Busy\r\nRetry-After: -7\r\nContent-Length: 0\r\n\r\n", 0, 0 },
        { "HTTP/1.1 503 Busy\r\nRetry-After: soon\r\nContent-Length: 0\r\n\r\n", 0, 0 },
        { "HTTP/1.1 503 Busy\r\nRetry-After: Wed, 01 Jan 2020 00:00:00 GMT\r\n"
          "Content-Length: 0\r\n\r\n",
          0, 0 },
        { "HTTP/1.1 503 Busy\r\nRetry-After: Wed, 01 Jan 2098 00:00:00 GMT\r\n"
          "Content-Length: 0\r\n\r\n",
          3600, 3600 },
        { "HTTP/1.1 503 Busy\r\nRetry-After: 99999999999999999999\r\nContent-Length: 0\r\n\r\n", 0,
          3600 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        peer_play(&f->peer, (struct script){ rows[i].answer, 0, 0, 0 });
        assert_int_equal(ntk_http_client_ask(f->client, &question, &f->answer, &f->err), 0);
        peer_done(&f->peer);
        uint64_t seconds = f->answer.retry_after_ns / UINT64_C(1000000000);
        if (seconds < rows[i].seconds_min || seconds > rows[i].seconds_max) {
            fail_msg("row %zu gives %llu s", i, (unsigned long long)seconds);
        }
    }
}

static void a_post_request_is_sent_and_trailers_are_read(void **state)
{
    struct fixture *f = *state;
    const char *const headers[] = { "Content-Type: text/plain", NULL };
    struct ntk_http_question question = { .url = f->url,
                                          .headers = headers,
                                          .body = "a\0b",
                                          .body_bytes = 3,
                                          .user_password = "me:secret" };
    char text[32];

    peer_play(&f->peer,
              (struct script){ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Late\r\n"
                               "\r\n2\r\nok\r\n0\r\nLate: yes\r\n\r\n",
                               0, 0, 0 });
    assert_int_equal(ntk_http_client_ask(f->client, &question, &f->answer, &f->err), 0);
    peer_done(&f->peer);
    assert_int_equal(f->answer.status, 200);
    assert_true(f->answer.is_sent);
    assert_string_equal(ntk_buf_text_get(&f->answer.body), "ok");
    assert_true(ntk_http_answer_header_get(&f->answer, "late", text, sizeof text));
    assert_string_equal(text, "yes");
    assert_ptr_equal(strstr(f->peer.asked, "POST /a"), f->peer.asked);
    assert_non_null(strstr(f->peer.asked, "\r\nAuthorization: Basic bWU6c2VjcmV0\r\n"));
    assert_non_null(strstr(f->peer.asked, "\r\nContent-Length: 3\r\n"));
}

/* Redirects are not followed: the second server would get data meant for the first. */
static void a_redirect_is_returned_and_not_followed(void **state)
{
    struct fixture *f = *state;
    struct ntk_http_question question = { .url = f->url };

    peer_play(&f->peer, (struct script){ "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n"
                                         "Content-Length: 0\r\n\r\n",
                                         0, 0, 0 });
    assert_int_equal(ntk_http_client_ask(f->client, &question, &f->answer, &f->err), 0);
    peer_done(&f->peer);
    assert_int_equal(f->answer.status, 302);
}

static void assert_error(struct fixture *f, const struct ntk_http_question *question, int code,
                         int is_sent, const char *text)
{
    assert_int_equal(ntk_http_client_ask(f->client, question, &f->answer, &f->err), code);
    assert_int_equal(f->answer.status, 0);
    assert_int_equal(f->answer.is_sent, is_sent);
    if (!strstr(f->err.text, text) || strstr(f->err.text, "secret")) {
        fail_msg("said '%s'", f->err.text);
    }
}

static void a_broken_connection_is_reported_as_an_error(void **state)
{
    struct fixture *f = *state;
    char *body = calloc(1, 8 * 1024 * 1024);
    struct ntk_http_question question = { .url = f->url, .body = body, .body_bytes = 100 };

    peer_play(&f->peer, (struct script){ NULL, 0, 0, 0 });
    assert_error(f, &question, -EIO, 1, "http://127.0.0.1:");
    peer_done(&f->peer);
    /* The peer closes before it has read all of a large request. */
    question.body_bytes = (size_t)8 * 1024 * 1024;
    peer_play(&f->peer, (struct script){ NULL, 0, 0, 0 });
    assert_error(f, &question, -EIO, 0, "http://127.0.0.1:");
    peer_done(&f->peer);
    free(body);
    /* Half an answer is an error. */
    question = (struct ntk_http_question){ .url = f->url };
    peer_play(&f->peer,
              (struct script){ "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", 0, 0, 0 });
    assert_error(f, &question, -EIO, 1, "http://127.0.0.1:");
    peer_done(&f->peer);
}

static void responses_beyond_size_or_time_limits_are_errors(void **state)
{
    struct fixture *f = *state;
    struct ntk_http_question question = { .url = f->url, .answer_bytes_max = 10000 };

    peer_play(&f->peer, (struct script){ "HTTP/1.1 200 OK\r\n\r\n", 0, 1 << 20, 0 });
    assert_error(f, &question, -EMSGSIZE, 1, "longer than 10000 bytes");
    peer_done(&f->peer);
    peer_play(&f->peer, (struct script){ "HTTP/1.1 200 OK\r\nX: ", 0, 1 << 20, 0 });
    assert_int_not_equal(ntk_http_client_ask(f->client, &question, &f->answer, &f->err), 0);
    peer_done(&f->peer);
    question.timeout_ns = 50000000;
    peer_play(&f->peer, (struct script){ NULL, 0, 0, 1 });
    assert_error(f, &question, -ETIMEDOUT, 1, "http://127.0.0.1:");
    peer_done(&f->peer);
}

static void invalid_addresses_are_reported_without_credentials(void **state)
{
    struct fixture *f = *state;
    struct ntk_http_question question = { .url = "ftp://127.0.0.1/" };

    assert_error(f, &question, -EINVAL, 0, "ftp://127.0.0.1/");
    question.url = "http://";
    assert_error(f, &question, -EINVAL, 0, "http://");
    question.url = "http://127.0.0.1:1/?x=secret";
    assert_error(f, &question, -ECONNREFUSED, 0, "http://127.0.0.1:1/");
    question.url = "http://me:secret@127.0.0.1:1/";
    assert_error(f, &question, -ECONNREFUSED, 0, "127.0.0.1:1/");
    question.url = "http://me:my@secret@127.0.0.1:1/"; /* an @ in a password is written %40 */
    assert_error(f, &question, -EINVAL, 0, "127.0.0.1:1/: ");
}

struct gathered {
    char text[64];
    size_t bytes_count;
    size_t bytes_wanted;
};

static bool gather(const void *bytes, size_t bytes_count, void *ctx)
{
    struct gathered *gathered = ctx;

    assert_true(gathered->bytes_count + bytes_count < sizeof gathered->text);
    memcpy(gathered->text + gathered->bytes_count, bytes, bytes_count);
    gathered->bytes_count += bytes_count;
    return gathered->bytes_count < gathered->bytes_wanted;
}

static void a_feed_is_delivered_until_the_receiver_cancels(void **state)
{
    struct fixture *f = *state;
    struct gathered gathered = { .bytes_wanted = 5 };
    struct ntk_http_question question = {
        .url = f->url, .timeout_ns = UINT64_MAX, .on_bytes = gather, .ctx = &gathered
    };

    peer_play(&f->peer, (struct script){ "HTTP/1.1 200 OK\r\n\r\nline\n", 0, 0, 1 });
    assert_error(f, &question, -ECANCELED, 1, "cancelled");
    peer_done(&f->peer);
    assert_string_equal(gathered.text, "line\n");
    /* An answer other than 2xx does not go to the feed. */
    peer_play(&f->peer,
              (struct script){ "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy", 0, 0, 0 });
    assert_int_equal(ntk_http_client_ask(f->client, &question, &f->answer, &f->err), 0);
    peer_done(&f->peer);
    assert_string_equal(ntk_buf_text_get(&f->answer.body), "busy");
    assert_int_equal(gathered.bytes_count, 5);
}

static void *cancel_now(void *ctx)
{
    ntk_http_client_cancel(ctx);
    return NULL;
}

/* A cancel while the peer is silent ends the wait; so does one before the request. */
static void a_cancel_ends_a_request_to_a_silent_server(void **state)
{
    struct fixture *f = *state;
    struct ntk_http_question question = { .url = f->url, .timeout_ns = UINT64_MAX };
    pthread_t thread;

    peer_play(&f->peer, (struct script){ NULL, 0, 0, 1 });
    assert_int_equal(pthread_create(&thread, NULL, cancel_now, f->client), 0);
    assert_int_equal(ntk_http_client_ask(f->client, &question, &f->answer, &f->err), -ECANCELED);
    pthread_join(thread, NULL);
    if (f->peer.asked_bytes == 0) { /* cancelled before it connected: the peer still waits */
        assert_int_equal(shutdown(f->peer.listener, SHUT_RD), 0);
    }
    peer_done(&f->peer);
}

/* Request after request to a server that would keep the connection open. */
static void repeated_http2_requests_succeed(void **state)
{
    static const char *const headers[] = { "Content-Type: application/grpc", "TE: trailers", NULL };
    static const char empty_message[5];
    struct fixture *f = *state;
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "kubelet");
    struct fake_kubelet kubelet;
    const struct ntk_http_question question = { .url = "http://localhost/a",
                                                .headers = headers,
                                                .body = empty_message,
                                                .body_bytes = sizeof empty_message,
                                                .unix_socket_path = path,
                                                .http2 = true };
    char text[8];

    fake_kubelet_start(&kubelet, path);
    fake_kubelet_set(&kubelet, FAKE_KUBELET_ANSWERS, "12345", 5);
    for (unsigned i = 1; i <= 3; i++) {
        if (ntk_http_client_ask(f->client, &question, &f->answer, &f->err) < 0) {
            fail_msg("question %u: %s", i, f->err.text);
        }
        assert_int_equal(f->answer.status, 200);
        assert_string_equal(ntk_buf_text_get(&f->answer.body), "12345");
        assert_true(ntk_http_answer_header_get(&f->answer, "grpc-status", text, sizeof text));
    }
    fake_kubelet_stop(&kubelet);
    assert_int_equal(kubelet.questions, 3);
    free(path);
    test_scratch_destroy(folder);
}

static void a_request_over_a_unix_socket_succeeds(void **state)
{
    struct fixture *f = *state;
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "s");
    struct ntk_http_question question = { .url = "http://localhost/list",
                                          .unix_socket_path = path };
    struct peer *peer = calloc(1, sizeof *peer);

    peer_listen(peer, path);
    peer_play(peer, (struct script){ "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 0, 0, 0 });
    assert_int_equal(ntk_http_client_ask(f->client, &question, &f->answer, &f->err), 0);
    peer_done(peer);
    assert_string_equal(ntk_buf_text_get(&f->answer.body), "ok");
    assert_non_null(strstr(peer->asked, "Host: localhost\r\n"));
    peer_close(peer);
    free(peer);
    free(path);
    test_scratch_destroy(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_get_request_returns_status_headers_and_body, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_token_is_read_from_its_file_for_each_request, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_retry_after_header_is_parsed_as_seconds_or_date, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_post_request_is_sent_and_trailers_are_read, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_redirect_is_returned_and_not_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_broken_connection_is_reported_as_an_error, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(responses_beyond_size_or_time_limits_are_errors, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(invalid_addresses_are_reported_without_credentials, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_feed_is_delivered_until_the_receiver_cancels, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_cancel_ends_a_request_to_a_silent_server, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_request_over_a_unix_socket_succeeds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(repeated_http2_requests_succeed, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
