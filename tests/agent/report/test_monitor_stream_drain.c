/* SPDX-License-Identifier: MIT */
/* How long the exiting agent waits for the reader of stdout. Method: a clock on which every wait
 * ends at once; the reader reads during waits that end at or after its time. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/report/monitor_stream.h"
#include "tests/support/clock.h"
#include "tests/support/unit.h"

#define LIMIT_NS NTK_NS_PER_SECOND
#define NEVER_MS 1000000

struct reader {
    struct test_clock clock;
    int fds[2]; /* the stream's end and the reader's end */
    uint64_t begin_ns;
    uint64_t reads_ms;
    uint64_t stops_ms;
    struct ntk_monitor_stream *stream;
};

static uint64_t ms_of(const struct reader *reader, uint64_t now_ns)
{
    return (now_ns - reader->begin_ns) / NTK_NS_PER_MS;
}

static void pass(void *ctx, uint64_t now_ns)
{
    static char bytes[1 << 16];
    struct reader *reader = ctx;

    while (ms_of(reader, now_ns) >= reader->reads_ms &&
           read(reader->fds[1], bytes, sizeof bytes) > 0) {
    }
}

static bool must_stop(void *ctx)
{
    struct reader *reader = ctx;

    return ms_of(reader, test_clock_now_ns(&reader->clock)) >= reader->stops_ms;
}

/* A stream in which exactly one line is waiting. */
static void reader_open(struct reader *reader, bool is_socket, uint64_t reads_ms, uint64_t stops_ms)
{
    static char line[10000];
    int ends[2];

    *reader = (struct reader){ .reads_ms = reads_ms, .stops_ms = stops_ms };
    test_clock_init(&reader->clock);
    reader->clock.passes_waits = true;
    reader->clock.passed = pass;
    reader->clock.ctx = reader;
    reader->begin_ns = test_clock_now_ns(&reader->clock);
    assert_int_equal(is_socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends), 0);
    reader->fds[0] = ends[1];
    reader->fds[1] = ends[0];
    assert_true(fcntl(reader->fds[1], F_SETFL, O_NONBLOCK) >= 0);
    assert_int_equal(ntk_monitor_stream_create(reader->fds[0], &reader->stream, NULL), 0);
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    while (ntk_monitor_stream_is_empty(reader->stream)) {
        assert_int_equal(ntk_monitor_stream_put(reader->stream, line, sizeof line, false), 0);
    }
}

static void reader_close(struct reader *reader)
{
    ntk_monitor_stream_destroy(reader->stream);
    close(reader->fds[0]);
    close(reader->fds[1]);
    test_clock_fini(&reader->clock);
}

/* How long it took, in milliseconds. */
static uint64_t drain(struct reader *reader, int expected)
{
    assert_int_equal(
        ntk_monitor_stream_drain(reader->stream, &reader->clock.clock, LIMIT_NS, must_stop, reader),
        expected);
    return ms_of(reader, test_clock_now_ns(&reader->clock));
}

static void draining_waits_for_a_slow_reader_until_the_limit(void **state)
{
    static const struct {
        uint64_t reads_ms, stops_ms, ends_ms;
        bool is_written;
    } rows[] = {
        { 0, NEVER_MS, 20, true },           { 961, NEVER_MS, 980, true },
        { 1000, NEVER_MS, 1000, true },      { 1001, NEVER_MS, 1000, false },
        { NEVER_MS, NEVER_MS, 1000, false }, { NEVER_MS, 40, 40, false }, /* a second signal */
        { NEVER_MS, 0, 0, false },
    };

    (void)state;
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        struct reader reader;
        size_t row = i / 2;

        reader_open(&reader, i % 2, rows[row].reads_ms, rows[row].stops_ms);
        assert_int_equal(drain(&reader, 0), rows[row].ends_ms);
        assert_int_equal(ntk_monitor_stream_is_empty(reader.stream), rows[row].is_written);
        reader_close(&reader);
    }
}

static void draining_does_not_wait_for_a_closed_reader(void **state)
{
    (void)state;
    for (int is_socket = 0; is_socket < 2; is_socket++) {
        struct reader reader;

        reader_open(&reader, is_socket, NEVER_MS, NEVER_MS);
        close(reader.fds[1]);
        assert_int_equal(drain(&reader, -EPIPE), 0);
        reader.fds[1] = -1;
        reader_close(&reader);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draining_waits_for_a_slow_reader_until_the_limit),
        cmocka_unit_test(draining_does_not_wait_for_a_closed_reader),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
