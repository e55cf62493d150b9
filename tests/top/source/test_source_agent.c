/* SPDX-License-Identifier: MIT */
/* How neuron-top waits for agents, with a clock of the test: the next try after a lost connection,
 * the next request for verdicts. The agent is a thread with prepared answers. */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/clock.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"
#include "top/source/agent_health.h"
#include "top/source/source.h"

#define HEAD "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
#define BUSY "HTTP/1.1 503 no\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
#define REPORT                                                                 \
    "{\"neuron_runtime_data\":[],\"system_data\":null,\"instance_info\":null," \
    "\"neuron_hardware_info\":null,\"time_ns\":1000000000000,\"sequence\":1"
#define VERDICT                                                                   \
    ",\"neuron_ext\":{\"devices\":[{\"neuron_device_index\":0,\"health\":"        \
    "{\"verdict\":\"unhealthy\",\"reasons\":[{\"reason\":\"heartbeat_still\"}]}}" \
    "]}"

struct fixture {
    struct test_clock clock;
    struct ntk_top_source *source;
    struct ntk_snapshot *snapshot;
    int listener;
    pthread_t thread;
    char url[64];
    const char *_Atomic answer;
    atomic_uint asked;
};

static void *serve(void *ctx)
{
    struct fixture *f = ctx;

    for (;;) {
        char asked[4096];
        int fd = accept(f->listener, NULL, NULL);

        if (fd < 0) {
            return NULL; /* the test shut the listener down */
        }
        if (recv(fd, asked, sizeof asked, 0) > 0) {
            const char *answer = atomic_load(&f->answer);

            atomic_fetch_add(&f->asked, 1);
            (void)!send(fd, answer, strlen(answer), MSG_NOSIGNAL);
        }
        close(fd);
    }
}

static void begin(struct fixture *f, const struct sockaddr *address, socklen_t bytes)
{
    f->listener = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(f->listener, address, bytes), 0);
    assert_int_equal(listen(f->listener, 8), 0);
    assert_int_equal(pthread_create(&f->thread, NULL, serve, f), 0);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    test_clock_init(&f->clock);
    atomic_store(&f->answer, BUSY);
    *state = f;
    return test_scratch_set_up(NULL);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    ntk_top_source_close(f->source);
    ntk_snapshot_destroy(f->snapshot);
    shutdown(f->listener, SHUT_RDWR);
    pthread_join(f->thread, NULL);
    close(f->listener);
    test_clock_fini(&f->clock);
    free(f);
    return test_scratch_tear_down(NULL);
}

/* ---- the stream of an agent ---- */

static void open_source(struct fixture *f)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t bytes = sizeof address;
    struct ntk_err err = { 0 };

    begin(f, (const struct sockaddr *)&address, bytes);
    assert_int_equal(getsockname(f->listener, (struct sockaddr *)&address, &bytes), 0);
    (void)snprintf(f->url, sizeof f->url, "http://127.0.0.1:%d", ntohs(address.sin_port));
    const struct ntk_top_remote remote = { .url = f->url, .clock = &f->clock.clock };
    assert_int_equal(ntk_top_source_connect_open(&remote, &f->source, &err), 0);
}

static int has_snapshot(void *ctx)
{
    struct fixture *f = ctx;
    struct pollfd ready = { .fd = f->source->fd, .events = POLLIN };

    if (poll(&ready, 1, 0) > 0) {
        (void)ntk_top_source_take(f->source, &f->snapshot, NULL);
    }
    return f->snapshot != NULL;
}

static void a_lost_agent_is_queried_again_after_a_second(void **state)
{
    struct fixture *f = *state;

    open_source(f);
    for (unsigned int i = 1; i <= 3; i++) {
        assert_int_equal(test_clock_await(&f->clock), NTK_NS_PER_SECOND);
        assert_int_equal(atomic_load(&f->asked), i);
        assert_non_null(strstr(ntk_top_source_note(f->source), ": the agent returned HTTP 503"));
        test_clock_advance(&f->clock, NTK_NS_PER_SECOND - 1);
        assert_int_equal(test_clock_await(&f->clock), 1);
        atomic_store(&f->answer, i == 3 ? HEAD REPORT "}\n" : BUSY);
        test_clock_advance(&f->clock, 1);
    }
    assert_true(test_wait_until(has_snapshot, f));
    assert_int_equal(f->snapshot->realtime_ns, UINT64_C(1000000000000));
}

static void the_status_note_shows_the_age_of_the_last_data(void **state)
{
    struct fixture *f = *state;

    atomic_store(&f->answer, HEAD REPORT "}\n");
    open_source(f);
    assert_int_equal(test_clock_await(&f->clock), NTK_NS_PER_SECOND);
    assert_non_null(strstr(ntk_top_source_note(f->source), "no connection, data is 0s old: "));
    atomic_store(&f->answer, BUSY);
    test_clock_advance(&f->clock, NTK_NS_PER_SECOND);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(test_clock_await(&f->clock), NTK_NS_PER_SECOND);
        test_clock_advance(&f->clock, 10 * NTK_NS_PER_SECOND);
    }
    assert_int_equal(test_clock_await(&f->clock), NTK_NS_PER_SECOND);
    assert_non_null(strstr(ntk_top_source_note(f->source), "no connection, data is 61s old: "));
}

/* ---- verdicts of the agent of this machine ---- */

struct asking {
    struct fixture *f;
    struct ntk_top_agent_health *health;
    struct ntk_device_sample device;
};

static bool is_unhealthy(struct asking *asking)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();

    assert_non_null(snapshot);
    asking->device = (struct ntk_device_sample){ .index = 0 };
    snapshot->devices = &asking->device;
    snapshot->device_count = 1;
    ntk_top_agent_health_fill(asking->health, snapshot);
    bool is = asking->device.verdict == NTK_HEALTH_UNHEALTHY;
    ntk_snapshot_destroy(snapshot);
    return is;
}

static int has_verdict(void *ctx)
{
    return is_unhealthy(ctx);
}

static int has_no_verdict(void *ctx)
{
    return !is_unhealthy(ctx);
}

static void rank_verdicts_are_requested_every_five_seconds(void **state)
{
    struct fixture *f = *state;
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    (void)setenv("NEURON_HOOKS_DIR", test_scratch_folder, 1);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/agent.sock", test_scratch_folder);
    atomic_store(&f->answer, HEAD REPORT VERDICT "}\n");
    begin(f, (const struct sockaddr *)&address, sizeof address);
    struct asking asking = { .f = f, .health = ntk_top_agent_health_create(&f->clock.clock) };
    assert_non_null(asking.health);
    assert_true(test_wait_until(has_verdict, &asking));
    assert_int_equal(atomic_load(&f->asked), 1);
    atomic_store(&f->answer, BUSY);
    test_clock_advance(&f->clock, 5 * NTK_NS_PER_SECOND - 1);
    assert_true(is_unhealthy(&asking));
    assert_int_equal(atomic_load(&f->asked), 1);
    test_clock_advance(&f->clock, 1);
    assert_true(test_wait_until(has_no_verdict, &asking));
    assert_int_equal(atomic_load(&f->asked), 2);
    ntk_top_agent_health_destroy(asking.health);
    (void)unsetenv("NEURON_HOOKS_DIR");
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_lost_agent_is_queried_again_after_a_second),
        CASE(the_status_note_shows_the_age_of_the_last_data),
        CASE(rank_verdicts_are_requested_every_five_seconds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
