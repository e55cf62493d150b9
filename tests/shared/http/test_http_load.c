/* SPDX-License-Identifier: MIT */
/* Method: many clients at once, slow and misbehaving ones, against one server on loopback. The
 * answers for well-behaved clients are compared; their duration does not matter. */
#include <arpa/inet.h>
#include <crypt.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/http/http_security.h"
#include "shared/http/http_server.h"
#include "tests/support/http_ask.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define SCRAPERS 100
#define SCRAPES 5
#define SLOW_CLIENTS 200
#define PAGE_BYTES 200000

struct fixture {
    struct ntk_http_server *server;
    struct ntk_http_body *page;
    uint16_t port;
    pthread_mutex_t gate; /* while it is locked, slow answers wait */
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

/* The size of the bodies of complete answers. */
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

static void a_hundred_concurrent_scrapers_receive_complete_pages(void **state)
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

/* Slow-loris: each sends a part of a head and stays connected. */
static void clients_that_never_finish_a_request_delay_no_others(void **state)
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

static void clients_that_stop_reading_or_disconnect_delay_no_others(void **state)
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

/* After everything sent earlier, because it is on the same thread. */
static void all_are_taken(const struct fixture *f)
{
    for (int i = 0; i < 3; i++) {
        free(test_http_get(f->port, "/", ""));
    }
}

static void a_slow_response_delays_only_other_slow_responses(void **state)
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

static void slow_queries_beyond_the_queue_are_rejected(void **state)
{
    struct fixture *f = *state;
    /* One is being answered, the maximum is waiting, and there are a few more. */
    enum { ALL = NTK_HTTP_SLOW_MAX + 1 + 5 };
    int fds[ALL];
    int turned_away = 0;

    pthread_mutex_lock(&f->gate);
    for (int i = 0; i < ALL; i++) {
        fds[i] = test_http_connect(f->port);
        test_http_send(fds[i],
                       "GET /slow HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    }
    all_are_taken(f);
    pthread_mutex_unlock(&f->gate);
    for (int i = 0; i < ALL; i++) {
        char *answer = test_http_read_until(fds[i], NULL);
        bool refused = strstr(answer, "HTTP/1.1 503 ") == answer;
        assert_true(refused || strstr(answer, "HTTP/1.1 200 ") == answer);
        turned_away += refused;
        free(answer);
        close(fds[i]);
    }
    assert_in_range(turned_away, 1, 6); /* 6: before the first one was accepted to be answered */
}

static void a_stopping_server_answers_waiting_requests(void **state)
{
    struct fixture *f = *state;
    int fds[8];

    for (int i = 0; i < 8; i++) {
        fds[i] = test_http_connect(f->port);
        test_http_send(fds[i], "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    all_are_taken(f);
    ntk_http_server_destroy(f->server);
    f->server = NULL;
    for (int i = 0; i < 8; i++) {
        char *answer = test_http_read_until(fds[i], NULL); /* it ends after its answer */
        assert_true(strstr(answer, "HTTP/1.1 200 ") == answer ||
                    strstr(answer, "HTTP/1.1 503 ") == answer);
        free(answer);
        close(fds[i]);
    }
}

/* ---- passwords ---- */

#define GUESSERS 20

struct guessing {
    uint16_t port;
    atomic_uint computed;
    atomic_uint turned_away;
    atomic_uint others;
    atomic_bool is_over;
};

static void *guess(void *ctx)
{
    struct guessing *guessing = ctx;

    while (!atomic_load(&guessing->is_over)) {
        char *text = test_http_get(guessing->port, "/", "Authorization: Basic bWU6d3Jvbmc=\r\n");
        atomic_fetch_add(strstr(text, " 401 ")   ? &guessing->computed
                         : strstr(text, " 429 ") ? &guessing->turned_away
                                                 : &guessing->others,
                         1);
        free(text);
        usleep(10000);
    }
    return NULL;
}

/* At least two wrong passwords were computed, with the rest between them, and most were not. */
static bool is_tried(struct guessing *guessing)
{
    unsigned computed = atomic_load(&guessing->computed);

    return computed >= 2 && atomic_load(&guessing->turned_away) > computed;
}

/* me:s3cret as a server stores it, with the usual cost. */
static void make_config(const char *path)
{
    char salt[CRYPT_GENSALT_OUTPUT_SIZE];
    char text[512];
    struct crypt_data data = { 0 };

    assert_non_null(crypt_gensalt_rn("$2b$", 10, NULL, 0, salt, sizeof salt));
    int count = snprintf(text, sizeof text, "basic_auth_users:\n  me: %s\n",
                         crypt_r("s3cret", salt, &data));
    assert_int_equal(ntk_fs_write(path, text, (size_t)count, NULL), 0);
}

static void wrong_passwords_are_rate_limited_and_do_not_delay_other_clients(void **state)
{
    static const char mine[] = "Authorization: Basic bWU6czNjcmV0\r\n";
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "web.yml");
    struct ntk_http_options options = { .address = { "127.0.0.1", 0 }, .routes = routes };
    struct ntk_http_security *security = NULL;
    struct ntk_http_server *server = NULL;
    struct guessing guessing = { 0 };
    pthread_t threads[GUESSERS];

    make_config(path);
    assert_int_equal(ntk_http_security_open_config(path, &security, NULL), 0);
    options.security = security;
    assert_int_equal(ntk_http_server_create(&options, &server, NULL), 0);
    guessing.port = ntk_http_server_port_get(server);
    char *first = test_http_get(guessing.port, "/", mine);
    assert_non_null(strstr(first, " 200 "));
    free(first);
    for (size_t i = 0; i < GUESSERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, guess, &guessing), 0);
    }
    for (int i = 0; i < 20 || !is_tried(&guessing); i++) {
        char *text = test_http_get(guessing.port, "/", mine);
        assert_non_null(strstr(text, " 200 "));
        free(text);
    }
    atomic_store(&guessing.is_over, true);
    for (size_t i = 0; i < GUESSERS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(atomic_load(&guessing.others), 0);
    ntk_http_server_destroy(server);
    ntk_http_security_close(security);
    free(path);
    test_scratch_destroy(folder);
}

static int connect_from(const char *address, uint16_t port)
{
    struct sockaddr_in from = { .sin_family = AF_INET };
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(inet_pton(AF_INET, address, &from.sin_addr), 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static void clients_with_wrong_passwords_do_not_displace_other_clients(void **state)
{
    enum { GUESSES = 5 }; /* one at work, two wait, the others are too many */
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "web.yml");
    struct ntk_http_options options = { .address = { "", 0 }, .routes = routes };
    struct ntk_http_security *security = NULL;
    struct ntk_http_server *server = NULL;
    int guesses[GUESSES];
    unsigned int turned_away = 0;

    make_config(path);
    assert_int_equal(ntk_http_security_open_config(path, &security, NULL), 0);
    options.security = security;
    assert_int_equal(ntk_http_server_create(&options, &server, NULL), 0);
    uint16_t port = ntk_http_server_port_get(server);
    for (int i = 0; i < GUESSES; i++) {
        guesses[i] = connect_from("127.0.0.2", port);
        test_http_send(guesses[i], "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                                   "Authorization: Basic bWU6d3Jvbmc=\r\n\r\n");
    }
    int mine = connect_from("127.0.0.3", port);
    test_http_send(mine, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                         "Authorization: Basic bWU6czNjcmV0\r\n\r\n");
    char *answer = test_http_read_until(mine, NULL);
    assert_non_null(strstr(answer, " 200 "));
    free(answer);
    close(mine);
    for (int i = 0; i < GUESSES; i++) {
        answer = test_http_read_until(guesses[i], NULL);
        turned_away += strstr(answer, " 429 ") != NULL;
        free(answer);
        close(guesses[i]);
    }
    assert_true(turned_away > 0);
    ntk_http_server_destroy(server);
    ntk_http_security_close(security);
    free(path);
    test_scratch_destroy(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_hundred_concurrent_scrapers_receive_complete_pages,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(clients_that_never_finish_a_request_delay_no_others, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(clients_that_stop_reading_or_disconnect_delay_no_others,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_slow_response_delays_only_other_slow_responses, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(slow_queries_beyond_the_queue_are_rejected, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(clients_with_wrong_passwords_do_not_displace_other_clients,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            wrong_passwords_are_rate_limited_and_do_not_delay_other_clients, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stopping_server_answers_waiting_requests, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
