/* SPDX-License-Identifier: MIT */
/* Method: the same reports in every form and in pieces of every size, with bad, long, empty and
 * unterminated ones in between. */
#include "shared/report/report_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/buf.h"
#include "shared/metrics/snapshot.h"
#include "shared/report/report_json.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

static void add_report(struct ntk_buf *lines, uint64_t sequence)
{
    const struct ntk_report_options options = { .timestamps = true };
    struct ntk_snapshot *snapshot = test_idle_snapshot();

    snapshot->sequence = sequence;
    assert_int_equal(ntk_report_write(snapshot, &options, lines, NULL), 0);
    ntk_snapshot_destroy(snapshot);
}

static void add_form(struct ntk_buf *text, uint64_t sequence, bool pretty)
{
    const struct ntk_report_options options = { .timestamps = true, .pretty = pretty };
    struct ntk_snapshot *snapshot = test_idle_snapshot();

    snapshot->sequence = sequence;
    assert_int_equal(ntk_report_write(snapshot, &options, text, NULL), 0);
    ntk_snapshot_destroy(snapshot);
}

struct seen {
    uint64_t sequences[16];
    size_t count;
    size_t bad_count;
    char text[NTK_ERR_TEXT_BYTES];
};

static void take_all(struct ntk_report_stream *stream, struct seen *seen)
{
    struct ntk_snapshot *snapshot;
    struct ntk_err err = { 0 };
    int ret;

    while ((ret = ntk_report_stream_next(stream, &snapshot, &err)) != 0) {
        if (ret < 0) {
            assert_int_equal(ret, -EBADMSG);
            seen->bad_count++;
            memcpy(seen->text, err.text, sizeof seen->text);
            continue;
        }
        assert_true(seen->count < 16);
        seen->sequences[seen->count++] = snapshot->sequence;
        ntk_snapshot_destroy(snapshot);
    }
}

static void read_in_pieces(const struct ntk_buf *text, size_t piece, struct seen *seen)
{
    struct ntk_report_stream *stream = ntk_report_stream_create();

    for (size_t at = 0; at < text->bytes_count; at += piece) {
        size_t rest = text->bytes_count - at;

        assert_int_equal(
            ntk_report_stream_add(stream, text->bytes + at, rest < piece ? rest : piece), 0);
        take_all(stream, seen);
    }
    ntk_report_stream_end(stream);
    take_all(stream, seen);
    ntk_report_stream_destroy(stream);
}

/* Reports 1 to `count`, and `bad_count` texts that are not reports. */
static void check_sequences(const struct ntk_buf *text, size_t piece, size_t count,
                            size_t bad_count)
{
    struct seen seen = { 0 };

    read_in_pieces(text, piece, &seen);
    assert_int_equal(seen.count, count);
    assert_int_equal(seen.bad_count, bad_count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(seen.sequences[i], i + 1);
    }
}

static void check_the_last(const struct ntk_buf *text, uint64_t sequence)
{
    struct seen seen = { 0 };

    read_in_pieces(text, 1 << 20, &seen);
    assert_true(seen.count > 0);
    assert_int_equal(seen.sequences[seen.count - 1], sequence);
}

static void reports_split_into_any_pieces_are_read(void **state)
{
    struct ntk_buf lines = { 0 };

    add_report(&lines, 7);
    ntk_buf_add_text(&lines, "{\"broken\"\n\n\r\n");
    add_report(&lines, 8);
    add_report(&lines, 9);
    lines.bytes_count--; /* the last line does not end */
    for (size_t piece = 1; piece <= lines.bytes_count; piece = piece * 3 / 2 + 1) {
        struct ntk_report_stream *stream = ntk_report_stream_create();
        struct seen seen = { 0 };

        for (size_t at = 0; at < lines.bytes_count; at += piece) {
            size_t rest = lines.bytes_count - at;
            assert_int_equal(
                ntk_report_stream_add(stream, lines.bytes + at, rest < piece ? rest : piece), 0);
            take_all(stream, &seen);
        }
        assert_int_equal(seen.count, 3);
        ntk_report_stream_end(stream);
        take_all(stream, &seen);
        assert_int_equal(seen.count, 3);
        assert_int_equal(seen.sequences[0], 7);
        assert_int_equal(seen.sequences[1], 8);
        assert_int_equal(seen.sequences[2], 9);
        assert_int_equal(seen.bad_count, 1);
        assert_non_null(strstr(seen.text, "skipped line 2: "));
        struct ntk_report_stream_counts counts = ntk_report_stream_counts_get(stream);
        assert_int_equal(counts.line_count, 6);
        assert_int_equal(counts.report_count, 3);
        assert_int_equal(counts.bad_count, 1);
        ntk_report_stream_destroy(stream);
    }
    ntk_buf_fini(&lines);
}

/* The same reports: indented, indented without spaces, concatenated without a line break, as an
 * array, and as records of a JSON text sequence; in pieces of every size. */
static void reports_in_every_json_form_are_read(void **state)
{
    static const char *const before[] = { "", "", "[", "\x1e" };
    static const char *const between[] = { "\n", "", ",\n", "\n\x1e" };
    static const char *const after[] = { "\n", "", "]\n", "\n" };

    (void)state;
    for (size_t form = 0; form < 8; form++) {
        const struct ntk_report_options options = { .timestamps = true, .pretty = form >= 4 };
        struct ntk_buf text = { 0 };

        ntk_buf_add_text(&text, before[form % 4]);
        for (uint64_t sequence = 1; sequence <= 3; sequence++) {
            struct ntk_snapshot *snapshot = test_sample_snapshot(1);

            snapshot->sequence = sequence;
            ntk_buf_add_text(&text, sequence > 1 ? between[form % 4] : "");
            assert_int_equal(ntk_report_write(snapshot, &options, &text, NULL), 0);
            while (text.bytes[text.bytes_count - 1] == '\n') {
                text.bytes_count--;
            }
            ntk_snapshot_destroy(snapshot);
        }
        ntk_buf_add_text(&text, after[form % 4]);
        for (size_t piece = 1; piece <= text.bytes_count; piece = piece * 3 + 1) {
            check_sequences(&text, piece, 3, 0);
        }
        ntk_buf_fini(&text);
    }
}

/* A killed writer leaves a partial report; the next report is still read. */
static void the_report_after_a_truncated_one_is_read(void **state)
{
    struct ntk_buf whole = { 0 };

    (void)state;
    for (int pretty = 0; pretty < 2; pretty++) {
        const struct ntk_report_options options = { .timestamps = true, .pretty = pretty };
        struct ntk_snapshot *snapshot = test_sample_snapshot(1);

        assert_int_equal(ntk_report_write(snapshot, &options, &whole, NULL), 0);
        ntk_snapshot_destroy(snapshot);
        for (size_t cut = 2; cut + 3 < whole.bytes_count; cut += cut < 200 ? 1 : 149) {
            for (int line_break = 0; line_break < 2; line_break++) {
                struct ntk_buf text = { 0 };

                ntk_buf_add(&text, whole.bytes, cut);
                /* Inside a string, or before the value of a key, only a line break shows the
                 * truncation. */
                ntk_buf_add_text(&text, line_break ? "\n" : "");
                for (uint64_t sequence = 1; sequence <= 2; sequence++) {
                    add_form(&text, sequence, pretty);
                }
                if (line_break) {
                    check_sequences(&text, 1 << 20, 2, 1);
                } else {
                    check_the_last(&text, 2);
                }
                ntk_buf_fini(&text);
            }
        }
        ntk_buf_fini(&whole);
    }
}

static void an_endless_line_is_skipped_with_one_message(void **state)
{
    struct ntk_report_stream *stream = ntk_report_stream_create();
    struct ntk_buf lines = { 0 };
    struct seen seen = { 0 };
    static char block[1024 * 1024];

    memset(block, 'x', sizeof block);
    for (size_t i = 0; i < 3 * (size_t)NTK_REPORT_READ_BYTES_MAX / sizeof block; i++) {
        assert_int_equal(ntk_report_stream_add(stream, block, sizeof block), 0);
        take_all(stream, &seen);
    }
    assert_int_equal(seen.bad_count, 1); /* reported once */
    assert_non_null(strstr(seen.text, "skipped line 1: longer than"));
    ntk_buf_add_text(&lines, "its end\n");
    add_report(&lines, 3);
    assert_int_equal(ntk_report_stream_add(stream, lines.bytes, lines.bytes_count), 0);
    take_all(stream, &seen);
    assert_int_equal(seen.bad_count, 1);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.sequences[0], 3);
    ntk_buf_fini(&lines);
    ntk_report_stream_destroy(stream);
}

static void reports_are_read_from_a_descriptor(void **state)
{
    struct ntk_report_stream *stream = ntk_report_stream_create();
    struct ntk_buf lines = { 0 };
    struct ntk_err err = { 0 };
    struct seen seen = { 0 };
    int fds[2];

    add_report(&lines, 1);
    assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
    assert_int_equal(ntk_report_stream_fill(stream, fds[0], &err), -EAGAIN);
    assert_int_equal(write(fds[1], lines.bytes, lines.bytes_count), lines.bytes_count);
    assert_int_equal(ntk_report_stream_fill(stream, fds[0], &err), lines.bytes_count);
    take_all(stream, &seen);
    assert_int_equal(seen.count, 1);
    close(fds[1]);
    assert_int_equal(ntk_report_stream_fill(stream, fds[0], &err), 0);
    close(fds[0]);
    assert_int_equal(ntk_report_stream_fill(stream, fds[0], &err), -EBADF);
    assert_non_null(strstr(err.text, "report stream: "));
    ntk_buf_fini(&lines);
    ntk_report_stream_destroy(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_split_into_any_pieces_are_read),
        cmocka_unit_test(reports_in_every_json_form_are_read),
        cmocka_unit_test(the_report_after_a_truncated_one_is_read),
        cmocka_unit_test(an_endless_line_is_skipped_with_one_message),
        cmocka_unit_test(reports_are_read_from_a_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
