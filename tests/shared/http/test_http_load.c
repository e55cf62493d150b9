/* SPDX-License-Identifier: MIT */
/* Method: many clients at once, slow ones and rude ones, against one server on loopback; what a good
 * client gets is compared, how long it takes decides nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/http/http_server.h"
#include "tests/support/http_ask.h"

#define SCRAPERS 100
#define SCRAPES 5
#define SLOW_CLIENTS 200
#define PAGE_BYTES 200000

struct fixture {
    struct ntk_http_server *server;
    struct ntk_http_body *page;
    uint16_t port;
    pthread_mutex_t gate; /* held: slow answers wait */
};

static void answer_page(const struct ntk_http_request *request, struct ntk_http_response *response,
                        void *ctx)
{
    struct fixture *f = ctx;

    (void)request;
    response->body = ntk_http_body_ref(f->page);
}

static void answer_slowly(const struct ntk_http_request *request,
                          struct ntk_http_response *response, void *ctx)
{
    struct fixture *f = ctx;
    const char *name = ntk_http_request_query_get(request, "name");
    struct ntk_buf buf = { 0 };

    pthread_mutex_lock(&f->gate);
    pthread_mutex_unlock(&f->gate);
    ntk_buf_add_format(&buf, "slow %s\n", name ? name : "?");
    response->body = ntk_http_body_create(&buf);
}

static struct fixture fixture;
static const struct ntk_http_route routes[] = { { "/", answer_page, &fixture },
                                                { NULL, NULL, NULL } };
static const struct ntk_http_route slow_routes[] = { { "/slow", answer_slowly, &fixture },
                                                     { NULL, NULL, NULL } };

static int set_up(void **state)
{
    struct ntk_http_options options = { .address = { "127.0.0.1", 0 },
                                        .routes = routes,
                                        .slow_routes = slow_routes };
    struct ntk_buf buf = { 0 };

    ntk_buf_add_fill(&buf, 'x', PAGE_BYTES);
    fixture.page = ntk_http_body_create(&buf);
    pthread_mutex_init(&fixture.gate, NULL);
    assert_int_equal(ntk_http_server_create(&options, &fixture.server, NULL), 0);
    fixture.port = ntk_http_server_port_get(fixture.server);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    ntk_http_server_destroy(f->server);
    ntk_http_body_unref(f->page);
    pthread_mutex_destroy(&f->gate);
    return 0;
}

/* The bytes of the body of whole answers. */
static void *scrape(void *ctx)
{
    struct fixture *f = ctx;
    size_t bytes = 0;

    for (int i = 0; i < SCRAPES; i++) {
        char *text = test_http_get(f->port, "/", "");
        const char *body = strstr(text, "\r\n\r\n");
        bytes += body && strstr(text, "HTTP/1.1 200 ") == text ? strlen(body + 4) : 0;
        free(text);
    }
    return (void *)(uintptr_t)bytes;
}

static void a_hundred_scrapers_get_whole_pages(void **state)
{
    pthread_t threads[SCRAPERS];

    for (size_t i = 0; i < SCRAPERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, scrape, *state), 0);
    }
    for (size_t i = 0; i < SCRAPERS; i++) {
        void *bytes;
        assert_int_equal(pthread_join(threads[i], &bytes), 0);
        assert_int_equal((uintptr_t)bytes, (uintptr_t)SCRAPES * PAGE_BYTES);
    }
}

/* Slow-loris: each sends a part of a head and stays. */
static void clients_that_never_finish_a_request_hold_nobody_up(void **state)
{
    struct fixture *f = *state;
    int fds[SLOW_CLIENTS];

    for (size_t i = 0; i < SLOW_CLIENTS; i++) {
        fds[i] = test_http_connect(f->port);
        test_http_send(fds[i], i % 2 ? "GET / HTTP/1.1\r\nX-" : "G");
    }
    assert_int_equal((uintptr_t)scrape(f), (uintptr_t)SCRAPES * PAGE_BYTES);
    for (size_t i = 0; i < SLOW_CLIENTS; i++) {
        close(fds[i]);
    }
    assert_int_equal((uintptr_t)scrape(f), (uintptr_t)SCRAPES * PAGE_BYTES);
}

static void clients_that_read_nothing_or_hang_up_hold_nobody_up(void **state)
{
    struct fixture *f = *state;
    int fds[50];

    for (size_t i = 0; i < 50; i++) {
        struct linger reset = { .l_onoff = 1 };
        fds[i] = test_http_connect(f->port);
        test_http_send(fds[i], "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        if (i % 2) {
            setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
            close(fds[i]);
        }
    }
    assert_int_equal((uintptr_t)scrape(f), (uintptr_t)SCRAPES * PAGE_BYTES);
    for (size_t i = 0; i < 50; i += 2) {
        close(fds[i]);
    }
}

static void a_slow_answer_holds_up_only_other_slow_ones(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = { "a", "b" };
    int fds[2];
    char text[100];

    pthread_mutex_lock(&f->gate);
    for (int i = 0; i < 2; i++) {
        fds[i] = test_http_connect(f->port);
        snprintf(text, sizeof text,
                 "GET /slow?name=%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                 names[i]);
        test_http_send(fds[i], text);
    }
    assert_int_equal((uintptr_t)scrape(f), (uintptr_t)SCRAPES * PAGE_BYTES);
    pthread_mutex_unlock(&f->gate);
    for (int i = 0; i < 2; i++) {
        char *answer = test_http_read_until(fds[i], NULL);
        snprintf(text, sizeof text, "\r\n\r\nslow %s\n", names[i]);
        assert_non_null(strstr(answer, text));
        free(answer);
        close(fds[i]);
    }
}

static void more_slow_questions_than_may_wait_are_turned_away(void **state)
{
    struct fixture *f = *state;
    /* One is being answered, as many as may wait do, and some more. */
    enum { ALL = NTK_HTTP_SLOW_MAX + 1 + 5 };
    int fds[ALL];
    int turned_away = 0;

    pthread_mutex_lock(&f->gate);
    for (int i = 0; i < ALL; i++) {
        fds[i] = test_http_connect(f->port);
        test_http_send(fds[i],
                       "GET /slow HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    }
    /* Later than every one of them, on the same thread. */
    for (int i = 0; i < 3; i++) {
        free(test_http_get(f->port, "/", ""));
    }
    pthread_mutex_unlock(&f->gate);
    for (int i = 0; i < ALL; i++) {
        char *answer = test_http_read_until(fds[i], NULL);
        bool refused = strstr(answer, "HTTP/1.1 503 ") == answer;
        assert_true(refused || strstr(answer, "HTTP/1.1 200 ") == answer);
        turned_away += refused;
        free(answer);
        close(fds[i]);
    }
    assert_in_range(turned_away, 1, 6); /* 6: before the first one was taken to be answered */
}

static void a_server_that_ends_answers_what_waits(void **state)
{
    struct fixture *f = *state;
    int fds[8];

    for (int i = 0; i < 8; i++) {
        fds[i] = test_http_connect(f->port);
        test_http_send(fds[i], "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    ntk_http_server_destroy(f->server);
    f->server = NULL;
    for (int i = 0; i < 8; i++) {
        free(test_http_read_until(fds[i], NULL)); /* whatever came, it ends */
        close(fds[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_hundred_scrapers_get_whole_pages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(clients_that_never_finish_a_request_hold_nobody_up, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(clients_that_read_nothing_or_hang_up_hold_nobody_up, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_slow_answer_holds_up_only_other_slow_ones, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(more_slow_questions_than_may_wait_are_turned_away, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_server_that_ends_answers_what_waits, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
