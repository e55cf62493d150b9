/* SPDX-License-Identifier: MIT */
/*
 * prometheus_fixture - a page filled from hand-made snapshots, and its text.
 *
 * Owner:   set_up() / tear_down(), for cmocka; what encode() returns is the caller's.
 */
#ifndef NTK_TESTS_EXPORTERS_PROMETHEUS_PROMETHEUS_FIXTURE_H
#define NTK_TESTS_EXPORTERS_PROMETHEUS_PROMETHEUS_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "exporters/prometheus/prometheus_encode.h"
#include "shared/metrics/snapshot.h"
#include "tests/support/unit.h"

#define I_HEAD "instance_id=\"\",instance_name=\"\",instance_type=\"trn2.3xlarge\","
#define TAG "bert \\\"serve\\\""

extern struct ntk_points_page page;
int set_up(void **state);
int tear_down(void **state);
/* A machine outside Kubernetes. */
struct ntk_snapshot *sample(uint32_t lnc);
void update(struct ntk_snapshot *snapshot);
/* The caller frees the result. */
char *encode_as(enum ntk_prometheus_format format, bool vendor_only);
char *encode(bool vendor_only);
void assert_line(const char *text, const char *line);
void assert_no(const char *text, const char *part);
/* The snapshot as a program that reads a pipe gets it. */
struct ntk_snapshot *through_a_pipe(struct ntk_snapshot *snapshot);
struct ntk_snapshot *sample_without_runtimes(void);

#endif
