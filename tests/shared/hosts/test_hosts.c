/* SPDX-License-Identifier: MIT */
/* Method: addresses as users type them; then peers of plain sockets on one thread each, that answer
 * with a report, close, send nothing, send something else, or never end. */
#include "shared/hosts/hosts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "tests/support/process.h"
#include "tests/support/unit.h"

#define HEAD "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
#define REPORT                                                                 \
    "{\"neuron_runtime_data\":[],\"system_data\":null,\"instance_info\":null," \
    "\"neuron_hardware_info\":null,\"time_ns\":1000000000000,\"sequence\":1}\n"

struct peer {
    const char *answer; /* NULL: accepts the connection and sends nothing */
    int awaited;        /* until this number of peers has answered; 0: until the client gives up */
    bool is_endless;    /* the answer is followed by spaces until the client is gone */
    bool is_deep;       /* starts with many opening brackets */
    int listener;
    pthread_t thread;
    char name[64];
};

static atomic_int answered;

static int have_answered(void *ctx)
{
    return atomic_load(&answered) >= ((const struct peer *)ctx)->awaited;
}

static void *serve(void *ctx)
{
    struct peer *peer = ctx;
    char asked[4096];
    char fill[4096];
    int fd = accept(peer->listener, NULL, NULL);

    memset(fill, peer->is_deep ? '[' : ' ', sizeof fill);
    if (fd < 0 || recv(fd, asked, sizeof asked, 0) <= 0) {
        return NULL;
    }
    if (peer->awaited) {
        (void)test_wait_until(have_answered, peer);
    } else if (!peer->answer) {
        (void)!recv(fd, asked, sizeof asked, 0);
    } else if (send(fd, peer->answer, strlen(peer->answer), MSG_NOSIGNAL) > 0) {
        for (int i = 0; (peer->is_endless || (peer->is_deep && i < 16)) &&
                        send(fd, fill, sizeof fill, MSG_NOSIGNAL) > 0;
             i++) {
        }
        atomic_fetch_add(&answered, 1);
    }
    close(fd);
    return NULL;
}

static void peer_start(struct peer *peer)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t bytes = sizeof address;

    peer->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(peer->listener, (struct sockaddr *)&address, bytes), 0);
    assert_int_equal(listen(peer->listener, 8), 0);
    assert_int_equal(getsockname(peer->listener, (struct sockaddr *)&address, &bytes), 0);
    snprintf(peer->name, sizeof peer->name, "127.0.0.1:%d", ntohs(address.sin_port));
    assert_int_equal(pthread_create(&peer->thread, NULL, serve, peer), 0);
}

static void peer_end(struct peer *peer)
{
    shutdown(peer->listener, SHUT_RDWR);
    pthread_join(peer->thread, NULL);
    close(peer->listener);
}

static void every_form_of_an_address_refers_to_the_same_agent(void **state)
{
    static const struct {
        const char *name, *url;
    } rows[] = {
        { "node1:9000", "http://node1:9000/api/v1/ranks" },
        { "http://node1:9000", "http://node1:9000/api/v1/ranks" },
        { "http://node1:9000//", "http://node1:9000/api/v1/ranks" },
        { "node1", "http://node1:9482/api/v1/ranks" },
        { "[::1]", "http://[::1]:9482/api/v1/ranks" },
        { "https://node1", "https://node1/api/v1/ranks" },
        { "[::1]:9000", "http://[::1]:9000/api/v1/ranks" },
        { "http://node1/own/path", "http://node1/own/path" },
    };
    static const char *const wrong[] = { "", "node1/path", "ftp://node1", "unix:///run/x" };
    char url[64];
    struct ntk_err err;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(ntk_hosts_url_make(rows[i].name, NTK_HOSTS_RANKS, url, sizeof url, &err),
                         0);
        assert_string_equal(url, rows[i].url);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(ntk_hosts_url_make(wrong[i], NTK_HOSTS_RANKS, url, sizeof url, &err),
                         -EINVAL);
    }
    assert_int_equal(ntk_hosts_url_make("node1:9000", NTK_HOSTS_RANKS, url, 30, &err), -EINVAL);
}

/* The responses of hosts that answer are read in every case; each of the others has a message. */
static void hostile_and_silent_hosts_do_not_block_other_hosts(void **state)
{
    struct peer peers[] = {
        { .answer = HEAD REPORT },
        { .awaited = 6 },
        { .answer = HEAD "not JSON" },
        { .answer = HEAD, .is_endless = true },
        { .answer = HEAD, .is_deep = true },
        { .answer = "HTTP/1.1 401 no\r\nContent-Length: 0\r\n\r\n" },
        { .answer = "garbage without a status\n" },
    };
    static const char *const sentences[] = {
        "", "", "", "longer than", "depth", "--token-file", "",
    };
    enum { COUNT = sizeof peers / sizeof *peers };
    struct ntk_host hosts[COUNT + 1] = { 0 };
    const struct ntk_hosts_remote remote = { .timeout_ns = test_patience_ns() };
    struct ntk_err err = { 0 };

    (void)state;
    atomic_store(&answered, 0);
    for (size_t i = 0; i < COUNT; i++) {
        peer_start(&peers[i]);
        ntk_host_set(&hosts[i], peers[i].name);
    }
    ntk_host_set(&hosts[COUNT], "127.0.0.1:1"); /* no peer is there */
    assert_int_equal(ntk_hosts_ask(hosts, COUNT + 1, NTK_HOSTS_REPORT, &remote, &err), 0);
    assert_non_null(hosts[0].snapshot);
    assert_true(hosts[0].clock.error_ns == NTK_RANKS_CLOCK_UNKNOWN); /* no time was reported */
    for (size_t i = 1; i <= COUNT; i++) {
        assert_null(hosts[i].snapshot);
        assert_true(hosts[i].err.text[0]);
        if (i < COUNT && !strstr(hosts[i].err.text, sentences[i])) {
            fail_msg("host %zu: %s", i, hosts[i].err.text);
        }
    }
    for (size_t i = 0; i <= COUNT; i++) {
        ntk_host_fini(&hosts[i]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        peer_end(&peers[i]);
    }
}

static void a_host_that_does_not_answer_is_abandoned(void **state)
{
    struct peer peer = { .answer = NULL };
    struct ntk_host host = { 0 };
    const struct ntk_hosts_remote remote = { .timeout_ns = 50 * NTK_NS_PER_MS };
    struct ntk_err err = { 0 };

    (void)state;
    peer_start(&peer);
    ntk_host_set(&host, peer.name);
    assert_int_equal(ntk_hosts_ask(&host, 1, NTK_HOSTS_REPORT, &remote, &err), 0);
    assert_null(host.snapshot);
    assert_non_null(strstr(host.err.text, "timed out"));
    ntk_host_fini(&host);
    peer_end(&peer);
}

/* The head of an answer given at this second. */
static struct ntk_http_answer answer_of(uint64_t second)
{
    struct ntk_http_answer answer = { .status = 200 };
    time_t time = (time_t)second;
    struct tm parts;
    char line[80];

    strftime(line, sizeof line, "date: %a, %d %b %Y %H:%M:%S GMT\n", gmtime_r(&time, &parts));
    ntk_buf_add(&answer.head, line, strlen(line));
    return answer;
}

/* Method: every combination of clock, age of the report and delay in both directions, for an agent
 * that is ahead by a known time. The range always covers the report, and is never wider than a
 * second, a tick and the delay. */
static void the_uncertainty_of_a_clock_covers_the_age_of_the_report(void **state)
{
    static const int64_t aheads[] = { 0, 1, -1, 499999999, -3600000000000, 86400123456789 };
    static const uint64_t ages[] = { 0, 1000000, 999999999, 5 * NTK_NS_PER_SECOND,
                                     3600 * NTK_NS_PER_SECOND };
    static const uint64_t ways[] = { 0, 1000000, 2500000000 };
    const uint64_t asked_ns = UINT64_C(1764000000123456789);

    (void)state;
    for (size_t i = 0; i < 6 * 5 * 3 * 3; i++) {
        int64_t ahead_ns = aheads[i % 6];
        uint64_t way_ns = ways[i / 30 % 3];
        uint64_t given_ns = asked_ns + way_ns * (i / 90) / 2; /* early, in the middle or late */
        uint64_t its_ns = given_ns + (uint64_t)ahead_ns;
        struct ntk_snapshot snapshot = { .realtime_ns = its_ns - ages[i / 6 % 5],
                                         .period_ns = NTK_NS_PER_MS };
        struct ntk_http_answer answer = answer_of(its_ns / NTK_NS_PER_SECOND);
        struct ntk_ranks_clock clock =
            ntk_hosts_clock(&snapshot, &answer, asked_ns, asked_ns + way_ns);
        int64_t off_ns = clock.ahead_ns - ahead_ns;

        if ((uint64_t)(off_ns < 0 ? -off_ns : off_ns) > clock.error_ns ||
            clock.error_ns > (1020 * NTK_NS_PER_MS + way_ns) / 2 + 1) {
            fail_msg("case %zu: ahead %lld, not %lld, give or take %llu", i,
                     (long long)clock.ahead_ns, (long long)ahead_ns,
                     (unsigned long long)clock.error_ns);
        }
        ntk_http_answer_fini(&answer);
    }
}

static void the_clock_error_of_a_response_without_a_date_is_unknown(void **state)
{
    static const char *const heads[] = { "", "date: \n", "date: yesterday\n",
                                         "date: Tue, 24 Nov 2026 04:00:00\n" };

    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct ntk_snapshot snapshot = { .realtime_ns = 1, .period_ns = 1 };
        struct ntk_http_answer answer = { .status = 200 };

        ntk_buf_add(&answer.head, heads[i], strlen(heads[i]));
        assert_true(ntk_hosts_clock(&snapshot, &answer, 5, 6).error_ns == NTK_RANKS_CLOCK_UNKNOWN);
        ntk_http_answer_fini(&answer);
    }
}

/* Far more hosts than are asked at once. */
static void every_host_of_a_large_set_is_queried(void **state)
{
    enum { COUNT = 200 };
    struct ntk_host hosts[COUNT] = { 0 };
    const struct ntk_hosts_remote remote = { .timeout_ns = 5 * NTK_NS_PER_SECOND };
    struct ntk_err err = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        ntk_host_set(&hosts[i], i % 2 == 0 ? "127.0.0.1:1" : "no/address");
    }
    assert_int_equal(ntk_hosts_ask(hosts, COUNT, NTK_HOSTS_RANKS, &remote, &err), 0);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(hosts[i].err.text[0]);
        ntk_host_fini(&hosts[i]);
    }
    assert_int_equal(ntk_hosts_ask(NULL, 0, NTK_HOSTS_RANKS, &remote, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_an_address_refers_to_the_same_agent),
        cmocka_unit_test(hostile_and_silent_hosts_do_not_block_other_hosts),
        cmocka_unit_test(a_host_that_does_not_answer_is_abandoned),
        cmocka_unit_test(the_uncertainty_of_a_clock_covers_the_age_of_the_report),
        cmocka_unit_test(the_clock_error_of_a_response_without_a_date_is_unknown),
        cmocka_unit_test(every_host_of_a_large_set_is_queried),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
