/* SPDX-License-Identifier: MIT */
/*
 * day_cloudwatch - neuron-monitor | neuron-monitor-cloudwatch without the second program: it reads
 * the agent's lines in the test, by the test's clock.
 *
 * Owner:   day_cloudwatch_start() / _end().
 * Threads: one.
 */
#ifndef NTK_TESTS_E2E_DAY_CLOUDWATCH_H
#define NTK_TESTS_E2E_DAY_CLOUDWATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "exporters/transport/output_counts.h"
#include "tests/support/clock.h"

struct day_cloudwatch;

/* lines_fd: the agent's stdout; closed at the end. */
struct day_cloudwatch *day_cloudwatch_start(int lines_fd, const char *url, const char *spool,
                                            struct test_clock *clock);
/* Reads all waiting lines and returns their number. */
unsigned day_cloudwatch_read(struct day_cloudwatch *cloudwatch);
/* After the agent's end: reads the rest and sends it, or keeps it in the spool. accepts: the
 * service does, so that nothing times out. Fills the counts of the output; returns the number of
 * lines. */
unsigned day_cloudwatch_end(struct day_cloudwatch *cloudwatch, bool accepts,
                            struct ntk_output_counts *counts);

#endif
