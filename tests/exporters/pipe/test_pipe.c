/* SPDX-License-Identifier: MIT */
/* Method: a real pipe and real signals; the sink counts and fails on command. */
#include "exporters/pipe/pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/buf.h"
#include "shared/metrics/snapshot.h"
#include "shared/report/report_json.h"
#include "tests/support/clock.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

struct counting {
    size_t put_count;
    size_t drain_count;
    size_t drains_wanted; /* calls until nothing is left; SIZE_MAX: never */
    int put_code;         /* what put returns */
    int signal_in_put;    /* raised in each put; 0: none */
    int signal_in_drain;
    size_t at_once_count;
    int at_once_code; /* what an immediate drain returns */
    uint64_t instance_wait_ns;
    const struct ntk_clock *clock;
    char instances[64]; /* the last digit of the instance id per put, '-' without one */
};

static int put(void *ctx, const struct ntk_snapshot *snapshot, struct ntk_err *err)
{
    struct counting *counting = ctx;

    if (counting->put_count < sizeof counting->instances - 1) {
        const char *id = snapshot->instance.id;
        counting->instances[counting->put_count] = id[0] ? id[strlen(id) - 1] : '-';
    }
    counting->put_count++;
    if (counting->signal_in_put) {
        raise(counting->signal_in_put);
    }
    return counting->put_code < 0
               ? ntk_err_set(err, counting->put_code, NTK_ERR_NO_OFFSET, "the sink fails")
               : 0;
}

static int drain(void *ctx, bool in_haste, struct ntk_err *err)
{
    struct counting *counting = ctx;

    counting->drain_count++;
    if (in_haste) {
        counting->at_once_count++;
        return counting->at_once_code < 0 ? ntk_err_set(err, counting->at_once_code,
                                                        NTK_ERR_NO_OFFSET, "something is lost")
                                          : counting->at_once_code;
    }
    if (counting->signal_in_drain) {
        raise(counting->signal_in_drain);
    }
    return counting->drain_count >= counting->drains_wanted;
}

/* Runs the pipe over the text; the writing end stays open if keep_open. */
static int run(const char *text, struct counting *counting, int keep_open, struct ntk_err *err)
{
    const struct ntk_pipe_sink sink = { put, drain, counting, counting->instance_wait_ns,
                                        counting->clock };
    struct ntk_pipe pipe = { -1 };
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(write(fds[1], text, strlen(text)), strlen(text));
    if (!keep_open) {
        close(fds[1]);
    }
    assert_int_equal(ntk_pipe_begin(&pipe, err), 0);
    int ret = ntk_pipe_run(&pipe, fds[0], &sink, err);
    ntk_pipe_end(&pipe);
    close(fds[0]);
    if (keep_open) {
        close(fds[1]);
    }
    return ret;
}

/* One report per letter: from the instance with that digit, '-' from none, '!' if it cannot be
 * known. */
static char *reports_of(const char *instances)
{
    const struct ntk_report_options options = { 0 };
    struct ntk_buf buf = { 0 };

    for (; *instances; instances++) {
        struct ntk_snapshot *snapshot = test_idle_snapshot();
        char id[] = { 'i', '-', *instances, '\0' };
        snapshot->instance.id = *instances == '-' || *instances == '!' ? "" : id;
        snapshot->instance.error = *instances == '!' ? "no response" : "";
        assert_int_equal(ntk_report_write(snapshot, &options, &buf, NULL), 0);
        ntk_snapshot_destroy(snapshot);
    }
    return ntk_buf_take(&buf, NULL);
}

/* Reports before the answer get its name; without an answer, no report is held back forever. */
static void the_first_reports_wait_for_instance_metadata(void **state)
{
    static const char *const rows[][2] = {
        { "--77", "7777" }, { "7-7", "7-7" }, { "--!7", "---7" }, { "--", "--" }, { "", "" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct counting counting = { .drains_wanted = 1,
                                     .instance_wait_ns = UINT64_C(3600000000000) };
        struct ntk_err err = { 0 };
        char *text = reports_of(rows[i][0]);
        (void)run(text ? text : "", &counting, 0, &err);
        assert_string_equal(counting.instances, rows[i][1]);
        assert_int_equal(counting.put_count, strlen(rows[i][1]));
        free(text);
    }
}

/* The input stays open and silent: waiting reports are passed on when the time is up. */
static void reports_wait_for_instance_metadata_until_the_limit(void **state)
{
    struct test_clock clock;
    struct counting counting = { .drains_wanted = 1,
                                 .instance_wait_ns = 3600 * NTK_NS_PER_SECOND,
                                 .clock = &clock.clock,
                                 .signal_in_put = SIGTERM };
    struct ntk_err err = { 0 };
    char *text = reports_of("-");

    test_clock_init(&clock);
    clock.passes_waits = true;
    uint64_t begin_ns = test_clock_now_ns(&clock);
    assert_int_equal(run(text, &counting, 1, &err), 0);
    assert_string_equal(counting.instances, "-");
    assert_int_equal(test_clock_now_ns(&clock) - begin_ns, counting.instance_wait_ns);
    test_clock_fini(&clock);
    free(text);
}

static char *reports(size_t count)
{
    const struct ntk_report_options options = { 0 };
    struct ntk_snapshot *snapshot = test_idle_snapshot();
    struct ntk_buf buf = { 0 };

    for (size_t i = 0; i < count; i++) {
        assert_int_equal(ntk_report_write(snapshot, &options, &buf, NULL), 0);
    }
    ntk_snapshot_destroy(snapshot);
    return ntk_buf_take(&buf, NULL);
}

static void every_report_until_the_end_of_input_is_delivered(void **state)
{
    struct counting counting = { .drains_wanted = 3 };
    struct ntk_err err = { 0 };
    char *text = reports(3);

    assert_int_equal(run(text, &counting, 0, &err), 0);
    assert_int_equal(counting.put_count, 3);
    assert_int_equal(counting.drain_count, 3);
    free(text);
}

static void a_failing_sink_receives_every_report(void **state)
{
    struct counting counting = { .drains_wanted = 1, .put_code = -EIO };
    struct ntk_err err = { 0 };
    char *text = reports(3);

    assert_int_equal(run(text, &counting, 0, &err), 0);
    assert_int_equal(counting.put_count, 3);
    free(text);
}

static void input_without_a_report_is_an_error(void **state)
{
    static const char *const inputs[] = { "", "\n", "nonsense\n[1]\n" };

    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        struct counting counting = { .drains_wanted = 1 };
        struct ntk_err err = { 0 };

        assert_int_equal(run(inputs[i], &counting, 0, &err), -ENODATA);
        assert_int_equal(counting.put_count, 0);
        assert_non_null(strstr(err.text, "ended without a neuron-monitor report"));
    }
}

static void a_signal_ends_the_exporter_after_draining(void **state)
{
    struct counting counting = { .drains_wanted = 2, .signal_in_put = SIGTERM };
    struct ntk_err err = { 0 };
    char *text = reports(1);

    assert_int_equal(run(text, &counting, 1, &err), 0);
    assert_int_equal(counting.put_count, 1);
    assert_int_equal(counting.drain_count, 2);
    free(text);
}

static void a_second_signal_ends_draining(void **state)
{
    static const int codes[] = { 1, -EINTR }; /* safe, not safe */
    char *text = reports(1);

    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        struct counting counting = { .drains_wanted = SIZE_MAX,
                                     .signal_in_drain = SIGINT,
                                     .at_once_code = codes[i] };
        struct ntk_err err = { 0 };
        assert_int_equal(run(text, &counting, 0, &err), codes[i] < 0 ? codes[i] : 0);
        assert_string_equal(err.text, codes[i] < 0 ? "something is lost" : "");
        assert_int_equal(counting.at_once_count, 1);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_report_until_the_end_of_input_is_delivered),
        cmocka_unit_test(the_first_reports_wait_for_instance_metadata),
        cmocka_unit_test(reports_wait_for_instance_metadata_until_the_limit),
        cmocka_unit_test(a_failing_sink_receives_every_report),
        cmocka_unit_test(input_without_a_report_is_an_error),
        cmocka_unit_test(a_signal_ends_the_exporter_after_draining),
        cmocka_unit_test(a_second_signal_ends_draining),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
