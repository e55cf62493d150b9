/* SPDX-License-Identifier: MIT */
/*
 * day_agent - the agent with a clock that the test of a day moves: the same loop, collector, store,
 * exporters and archive as in neuron-monitor, with longer periods.
 *
 *   tests_e2e_day_agent NOW_NS WALL_NS THREADS PERIOD_NS DB DB_BYTES ARCHIVE [EXPORTER-OPTION]...
 *
 * Reports go to stdout, commands come over DAY_LINK_FD. THREADS wait by the clock when nothing is
 * due.
 */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "agent/archive/archive.h"
#include "agent/monitor.h"
#include "agent/report/monitor_config.h"
#include "exporters/exporter.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"
#include "tests/e2e/day/day_emitted.h"
#include "tests/e2e/day/day_link.h"
#include "tests/support/clock.h"

#define STORE_PERIOD_NS (30 * NTK_NS_PER_SECOND)
#define PAGE_NS (60 * NTK_NS_PER_SECOND)
#define DRAIN_NS (10 * NTK_NS_PER_SECOND)
/* While the agent stops: how long a sender may be busy before the clock advances regardless. */
#define STOP_WAIT_MS 200

static struct test_clock test_clock;
static size_t thread_count;
static atomic_bool is_drained;

/* -- commands ---------------------------------------------------------------------------------- */

static void answer(void)
{
    struct mallinfo2 heap = mallinfo2();
    struct day_answer answer = { .now_ns = test_clock_now_ns(&test_clock),
                                 .heap_bytes = heap.uordblks + heap.hblkhd };

    answer.output_count = ntk_output_counts_read(answer.outputs);
    answer.emitted_count = day_emitted_read(answer.emitted);
    if (send(DAY_LINK_FD, &answer, sizeof answer, 0) != (ssize_t)sizeof answer) {
        _exit(3);
    }
}

/* Senders get real time for what is queued, and the agent's own limits still pass. */
static void stop(void)
{
    static const struct timespec moment = { .tv_nsec = 1000000 };

    (void)kill(getpid(), SIGTERM);
    for (;;) {
        int ms = 0;
        do {
            (void)nanosleep(&moment, NULL);
        } while (++ms < STOP_WAIT_MS && !atomic_load(&is_drained) &&
                 test_clock_waiting(&test_clock) < thread_count);
        test_clock_advance(&test_clock, test_clock_await(&test_clock));
    }
}

static void *obey(void *ctx)
{
    struct day_command command;

    (void)ctx;
    while (recv(DAY_LINK_FD, &command, sizeof command, 0) == (ssize_t)sizeof command) {
        switch (command.action) {
        case DAY_RUN:
            test_clock_run(&test_clock, (uint64_t)command.ns, thread_count);
            break;
        case DAY_STEP:
            test_clock_step_wall(&test_clock, command.ns);
            break;
        case DAY_STOP:
            stop();
        }
        answer();
    }
    _exit(4); /* the test is gone */
}

/* -- the agent --------------------------------------------------------------------------------- */

static int parse_exporters(int argc, char **argv)
{
    const struct ntk_opt *tables[NTK_EXPORTER_COUNT + 1] = { NULL };

    for (size_t i = 0; i < NTK_EXPORTER_COUNT; i++) {
        tables[i] = ntk_exporters[i]->options;
    }
    struct ntk_opt *options = ntk_opt_join(tables, NTK_EXPORTER_COUNT);
    const struct ntk_opt_program program = {
        .name = "day_agent", .usage = "", .summary = "", .options = options
    };
    int ret = options ? ntk_opt_parse_all(&program, argc, argv) : -1;
    free(options);
    return ret;
}

static int run(struct ntk_monitor_options *options, struct ntk_err *err)
{
    struct ntk_monitor *monitor = NULL;
    pthread_t thread;

    int ret = ntk_monitor_create(options, &monitor, err);
    if (ret < 0) {
        return ret;
    }
    /* After the loop blocked the signals, so that only the loop gets them. */
    if (pthread_create(&thread, NULL, obey, NULL) != 0) {
        return -1;
    }
    ret = ntk_monitor_run(monitor, err);
    atomic_store(&is_drained, true);
    answer();
    int closed = ntk_monitor_destroy(monitor, ret < 0 ? NULL : err);
    return ret < 0 ? ret : closed;
}

int main(int argc, char **argv)
{
    struct ntk_monitor_config config;
    struct ntk_archive_options archive = { .cluster = "day", .clock = &test_clock.clock };
    struct ntk_monitor_options options = { .clock = &test_clock.clock,
                                           .store_period_ns = STORE_PERIOD_NS,
                                           .page_ns_max = PAGE_NS,
                                           .drain_ns_max = DRAIN_NS,
                                           .config = &config,
                                           .archive = &archive };
    struct ntk_err err = { 0 };

    if (argc < 8 || parse_exporters(argc - 7, argv + 7) < 0) {
        return 2;
    }
    ntk_log_set_level(NTK_LOG_INFO); /* the port of the page */
    (void)signal(SIGXFSZ, SIG_IGN);  /* a limit of file sizes plays the full disk */
    test_clock_init(&test_clock);
    test_clock.now_ns = strtoull(argv[1], NULL, 10);
    test_clock.wall_ns = strtoull(argv[2], NULL, 10) - test_clock.now_ns;
    test_clock.wall_read_ns = 1; /* two samples never have the same time, as everywhere */
    thread_count = strtoull(argv[3], NULL, 10);
    ntk_monitor_config_default(&config, strtoull(argv[4], NULL, 10));
    options.db_path = argv[5];
    options.store.keep_bytes = strtoull(argv[6], NULL, 10);
    archive.target.destination = argv[7];
    archive.target.clock = &test_clock.clock;
    for (size_t i = 0; i < NTK_STORE_DATASET_COUNT; i++) {
        archive.wanted[i] = !ntk_store_datasets[i].is_log; /* of events, by the machine's time */
    }
    int ret = run(&options, &err);
    if (ret < 0) {
        (void)fprintf(stderr, "day_agent: %s\n", err.text);
    }
    return ret < 0;
}
