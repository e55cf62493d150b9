/* SPDX-License-Identifier: MIT */
/* diag_canary - runs programs with known answers on free cores, repeatedly. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/diag/diag.h"
#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "shared/base/json.h"
#include "shared/base/log.h"
#include "shared/base/timestamp.h"

#define LOOK_NS (50 * NTK_NS_PER_MS) /* interval of checks for a request to stop */

static volatile sig_atomic_t is_stopped;
static bool ends_with_stdin;

static void stop(int number)
{
    (void)number;
    is_stopped = 1;
}

struct counts {
    uint64_t passed, failed, owned, given_back;
};

static void result_write_json(const struct ntk_diag_result *result, uint64_t now_ns,
                              struct ntk_buf *out)
{
    struct ntk_json json;

    ntk_json_init(&json, out, false);
    ntk_json_object_begin(&json);
    ntk_json_key_u64(&json, "time_ns", now_ns);
    ntk_json_key_i64(&json, "device", result->device);
    ntk_json_key_i64(&json, "core", result->core);
    ntk_json_key_text(&json, "test", ntk_diag_tests[result->test].name);
    ntk_json_key_text(&json, "part", result->part);
    ntk_json_key_text(&json, "result", ntk_diag_verdict_names[result->verdict]);
    ntk_json_key_u64(&json, "took_ns", result->took_ns);
    ntk_json_key_text(&json, "reason", result->reason);
    ntk_json_object_end(&json);
    ntk_buf_add_char(out, '\n');
}

/* Prints results; in the text form only bad results. */
static int results_tell(const struct ntk_diag *diag, bool json, struct counts *counts)
{
    uint64_t now_ns = ntk_clock_wall_ns(diag->clock);
    struct ntk_buf out = { 0 };
    int ret = 0;

    ntk_vec_each(struct ntk_diag_result, result, &diag->results) {
        counts->passed += result->verdict == NTK_DIAG_PASS;
        counts->failed += result->verdict == NTK_DIAG_FAIL;
        if (json) {
            result_write_json(result, now_ns, &out);
        } else if (result->verdict == NTK_DIAG_FAIL) {
            char time[NTK_TIMESTAMP_BYTES];

            ntk_timestamp_format(now_ns, time, sizeof time);
            ntk_buf_add_format(&out, "%s %s core %d %s %s: %s\n", time,
                               ntk_diag_verdict_names[result->verdict], result->core,
                               ntk_diag_tests[result->test].name, result->part, result->reason);
        }
    }
    bool is_written = ntk_buf_ok(&out) &&
                      (out.bytes_count == 0 || fwrite(out.bytes, out.bytes_count, 1, stdout) == 1);
    if (!is_written || fflush(stdout) != 0) {
        ret = -EIO;
    }
    ntk_buf_fini(&out);
    return ret;
}

static bool continues(void)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    char ignored[64];

    if (ends_with_stdin && poll(&input, 1, 0) > 0 &&
        read(STDIN_FILENO, ignored, sizeof ignored) <= 0) {
        is_stopped = 1;
    }
    return !is_stopped;
}

/* Sleeps until a time, or until stopped. */
static void sleep_until(const struct ntk_clock *clock, uint64_t until_ns)
{
    for (uint64_t now_ns = 0; continues() && now_ns < until_ns; now_ns = ntk_clock_now_ns(clock)) {
        uint64_t look_ns = ntk_clock_now_ns(clock) + LOOK_NS;

        ntk_cond_sleep(clock, look_ns < until_ns ? look_ns : until_ns);
    }
}

static void round_run(struct ntk_diag *diag, uint32_t round, struct counts *counts)
{
    for (size_t i = 0; i < diag->core_count && continues(); i++) {
        struct ntk_diag_work work = { .job = NTK_DIAG_JOB_CANARY,
                                      .core = diag->cores[i],
                                      .round = round };

        if ((diag->owner_of ? diag->owner_of : ntk_diag_owner_of)(&diag->plan, work.core).pid !=
            0) {
            counts->owned++;
            continue;
        }
        ntk_diag_run(diag, &work, 1, 1);
    }
}

int ntk_diag_canary(struct ntk_diag *diag, const struct ntk_diag_canary_options *options)
{
    uint64_t rounds = options->rounds;
    struct sigaction action = { .sa_handler = stop };
    struct counts counts = { 0 };
    uint64_t begun_ns = ntk_clock_now_ns(diag->clock);
    int ret = 0;

    ends_with_stdin = options->ends_with_stdin;
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    if (!diag->is_wanted) {
        diag->is_wanted = ntk_diag_owner_is_wanted;
    }
    if (!diag->plan.is_software && !diag->plan.neff) {
        ntk_log_error(NULL, "only software cores can run the programs with known answers: pass a "
                            "compiled NEFF with --neff");
        return EXIT_FAILURE;
    }
    for (uint64_t round = 0; ret == 0 && !is_stopped && (rounds == 0 || round < rounds); round++) {
        sleep_until(diag->clock, begun_ns + round * options->interval_ns);
        ntk_vec_clear(&diag->results);
        if (!is_stopped) {
            round_run(diag, (uint32_t)round, &counts);
            ntk_diag_findings_keep(diag, false);
            ret = results_tell(diag, options->json, &counts);
        }
    }
    if (!options->json && ret == 0) {
        (void)printf("%" PRIu64 " correct answers, %" PRIu64 " wrong; %" PRIu64
                     " cores skipped because a job held them, %" PRIu64 " released for a job\n",
                     counts.passed, counts.failed, counts.owned, diag->given_back);
    }
    return counts.failed > 0 || ret < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int ntk_diag_canary_start(uint64_t interval_ns, struct ntk_child_tied *out_child,
                          struct ntk_err *err)
{
    char interval[32];
    char *const argv[] = { (char *)"neuron-monitor",
                           (char *)"diag",
                           (char *)"--canary",
                           (char *)"--interval",
                           interval,
                           (char *)"--" NTK_DIAG_CHILD_OPTION,
                           NULL };

    (void)snprintf(interval, sizeof interval, "%" PRIu64 "ns", interval_ns);
    return ntk_child_tied_start(argv, out_child, err);
}
