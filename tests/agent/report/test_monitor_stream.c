/* SPDX-License-Identifier: MIT */
/* Method: pipes, sockets and files as stdout; readers that are slow, gone, or never come. */
#include "agent/report/monitor_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exporters/transport/output_counts.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define LINE_BYTES 40000

static struct ntk_monitor_stream *open_stream(int fd)
{
    struct ntk_monitor_stream *stream = NULL;

    assert_int_equal(ntk_monitor_stream_create(fd, &stream, NULL), 0);
    return stream;
}

/* Writes numbered lines until one is dropped; returns how many were accepted. */
static int fill(struct ntk_monitor_stream *stream, char *line)
{
    int taken = 0;

    memset(line, 'x', LINE_BYTES);
    line[LINE_BYTES - 1] = '\n';
    for (;;) {
        snprintf(line, 16, "%08d", taken);
        line[8] = ' ';
        int ret = ntk_monitor_stream_put(stream, line, LINE_BYTES, false);
        assert_true(ret >= 0);
        if (ret == 1) {
            return taken;
        }
        taken++;
        assert_true(taken < 10000);
    }
}

/* Reads lines until the stream is empty; each must be complete and the next in order. */
static int drain(struct ntk_monitor_stream *stream, int fd)
{
    char *line = malloc(LINE_BYTES);
    size_t used = 0;
    int count = 0;

    fcntl(fd, F_SETFL, O_NONBLOCK);
    for (;;) {
        ssize_t got = read(fd, line + used, LINE_BYTES - used);
        if (got < 0 && ntk_monitor_stream_is_empty(stream)) {
            break;
        }
        if (got < 0) {
            assert_int_equal(ntk_monitor_stream_flush(stream), 0);
            continue;
        }
        used += (size_t)got;
        if (used == LINE_BYTES) {
            assert_int_equal(atoi(line), count);
            assert_int_equal(line[LINE_BYTES - 1], '\n');
            count++;
            used = 0;
        }
    }
    assert_int_equal(used, 0);
    free(line);
    return count;
}

static void check_slow_reader(int write_fd, int read_fd)
{
    struct ntk_monitor_stream *stream = open_stream(write_fd);
    char *line = malloc(LINE_BYTES);
    int flags = fcntl(write_fd, F_GETFL);

    int taken = fill(stream, line);
    assert_true(taken > 1);
    assert_int_equal(ntk_monitor_stream_dropped_count(stream), 1);
    assert_int_equal(drain(stream, read_fd), taken);
    assert_int_equal(ntk_monitor_stream_put(stream, line, LINE_BYTES, false),
                     0);                               /* it accepts lines again */
    assert_int_equal(fcntl(write_fd, F_GETFL), flags); /* others may share this descriptor */
    free(line);
    ntk_monitor_stream_destroy(stream);
}

static void a_slow_reader_of_a_pipe_loses_only_whole_lines(void **state)
{
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    check_slow_reader(fds[1], fds[0]);
    close(fds[0]);
    close(fds[1]);
}

static void a_slow_reader_of_a_socket_loses_only_whole_lines(void **state)
{
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    check_slow_reader(fds[1], fds[0]);
    close(fds[0]);
    close(fds[1]);
}

/* Method: no reader; when the writer exits, the pipe contains complete lines of any length. */
static void a_pipe_contains_only_whole_lines_after_the_writer_exits(void **state)
{
    static const size_t lengths[] = { 100, 4095, 4096, 4097, 5000, 30000, 65536, 65537, 200000 };
    static char line[200000];
    static char got[1 << 20];

    memset(line, 'x', sizeof line);
    for (size_t first = 0; first < sizeof lengths / sizeof *lengths; first++) {
        for (size_t second = 0; second < sizeof lengths / sizeof *lengths; second++) {
            int fds[2];
            bool torn = false;

            assert_int_equal(pipe(fds), 0);
            struct ntk_monitor_stream *stream = open_stream(fds[1]);
            for (int i = 0; i < 40; i++) {
                size_t length = lengths[i % 2 ? second : first];
                line[length - 1] = '\n';
                assert_true(ntk_monitor_stream_put(stream, line, length, false) >= 0);
                line[length - 1] = 'x';
                torn = torn || ntk_monitor_stream_is_torn(stream);
            }
            assert_false(torn);
            ntk_monitor_stream_destroy(stream);
            close(fds[1]);
            ssize_t count = read(fds[0], got, sizeof got);
            assert_true(count > 0);
            assert_int_equal(got[count - 1], '\n');
            close(fds[0]);
        }
    }
}

/* A socket does not show how much room it has, so the stream must know of a line that it wrote in
 * part. */
static void a_partly_written_line_is_detected(void **state)
{
    int fds[2];
    char *line = malloc(LINE_BYTES);

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    struct ntk_monitor_stream *stream = open_stream(fds[1]);
    assert_false(ntk_monitor_stream_is_torn(stream));
    (void)fill(stream, line);
    assert_true(ntk_monitor_stream_is_torn(stream) || ntk_monitor_stream_waits_for_out(stream));
    (void)drain(stream, fds[0]);
    assert_false(ntk_monitor_stream_is_torn(stream));
    ntk_monitor_stream_destroy(stream);
    free(line);
    close(fds[0]);
    close(fds[1]);
}

static void a_report_line_is_kept_while_the_disk_is_full(void **state)
{
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

    if (fd < 0) {
        skip();
    }
    struct ntk_monitor_stream *stream = open_stream(fd);
    assert_int_equal(ntk_monitor_stream_put(stream, "a\n", 2, false), -ENOSPC);
    assert_false(ntk_monitor_stream_is_empty(stream));
    assert_int_equal(ntk_monitor_stream_flush(stream), -ENOSPC);
    for (int i = 0; i < 2 * NTK_MONITOR_STREAM_LINES_MAX; i++) {
        assert_int_equal(ntk_monitor_stream_put(stream, "b\n", 2, false), -ENOSPC);
    }
    assert_int_equal(ntk_monitor_stream_dropped_count(stream), NTK_MONITOR_STREAM_LINES_MAX + 1);
    ntk_monitor_stream_destroy(stream);
    close(fd);
}

static void a_closed_report_reader_is_reported_as_an_error(void **state)
{
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    struct ntk_monitor_stream *stream = open_stream(fds[1]);
    close(fds[0]);
    assert_int_equal(ntk_monitor_stream_put(stream, "x\n", 2, false), -EPIPE);
    ntk_monitor_stream_destroy(stream);
    close(fds[1]);
}

static void a_line_larger_than_the_queue_is_accepted_if_the_queue_is_empty(void **state)
{
    int fds[2];
    size_t size = 2 * NTK_MONITOR_STREAM_BYTES_MAX;
    struct ntk_output_counts rows[NTK_OUTPUT_COUNTS_MAX];
    char *line = calloc(1, size);
    size_t got = 0;

    assert_int_equal(pipe(fds), 0);
    struct ntk_monitor_stream *stream = open_stream(fds[1]);
    assert_int_equal(ntk_monitor_stream_put(stream, line, size, false), 0);
    assert_int_equal(ntk_monitor_stream_put(stream, line, 10, true), 1);
    assert_int_equal(ntk_output_counts_read(rows), 1);
    assert_string_equal(rows[0].name, "stdout");
    assert_int_equal(rows[0].sent_items, 0);
    assert_int_equal(rows[0].memory_items, 1);
    assert_int_equal(rows[0].lost_items, 1);
    assert_int_equal(rows[0].cut_items, 1);
    while (got < size) {
        ssize_t count = read(fds[0], line, size);
        assert_true(count > 0);
        got += (size_t)count;
        assert_int_equal(ntk_monitor_stream_flush(stream), 0);
    }
    assert_true(ntk_monitor_stream_is_empty(stream));
    assert_int_equal(ntk_output_counts_read(rows), 1);
    assert_int_equal(rows[0].sent_items, 1);
    assert_int_equal(rows[0].memory_items, 0);
    ntk_monitor_stream_destroy(stream);
    assert_int_equal(ntk_output_counts_read(rows), 0);
    free(line);
    close(fds[0]);
    close(fds[1]);
}

static void lines_are_appended_to_an_existing_file(void **state)
{
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "out");
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    char text[16] = "";

    assert_int_equal(write(fd, "a\n", 2), 2);
    struct ntk_monitor_stream *stream = open_stream(fd);
    assert_int_equal(ntk_monitor_stream_put(stream, "b\n", 2, false), 0);
    assert_int_equal(ntk_monitor_stream_put(stream, "c\n", 2, false), 0);
    assert_int_equal(pread(fd, text, sizeof text, 0), 6);
    assert_string_equal(text, "a\nb\nc\n");
    ntk_monitor_stream_destroy(stream);
    close(fd);
    free(path);
    test_scratch_destroy(folder);
}

static void a_closed_stdout_prints_one_message(void **state)
{
    struct ntk_monitor_stream *stream = NULL;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_monitor_stream_create(9999, &stream, &err), -EBADF);
    assert_string_equal(err.text, "cannot write to stdout: Bad file descriptor");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_reader_of_a_pipe_loses_only_whole_lines),
        cmocka_unit_test(a_slow_reader_of_a_socket_loses_only_whole_lines),
        cmocka_unit_test(a_pipe_contains_only_whole_lines_after_the_writer_exits),
        cmocka_unit_test(a_partly_written_line_is_detected),
        cmocka_unit_test(a_report_line_is_kept_while_the_disk_is_full),
        cmocka_unit_test(a_closed_report_reader_is_reported_as_an_error),
        cmocka_unit_test(a_line_larger_than_the_queue_is_accepted_if_the_queue_is_empty),
        cmocka_unit_test(lines_are_appended_to_an_existing_file),
        cmocka_unit_test(a_closed_stdout_prints_one_message),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
