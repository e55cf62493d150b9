/* SPDX-License-Identifier: MIT */
/* cloudwatch_sent - encodes snapshots and collects the requests that CloudWatch would receive, for
 * tests. */
#ifndef NTK_TESTS_EXPORTERS_CLOUDWATCH_SENT_H
#define NTK_TESTS_EXPORTERS_CLOUDWATCH_SENT_H

#include <jansson.h>

#include "exporters/cloudwatch/cloudwatch_data.h"
#include "shared/metrics/snapshot.h"

#define TEST_CLOUDWATCH_MINUTE_MS UINT64_C(1700000040000) /* a full minute */
#define TEST_CLOUDWATCH_TEXT_BYTES 400

/* All requests of a test as a single list of metrics. */
struct test_cloudwatch_sent {
    json_t *metrics; /* Owner: the test */
    size_t request_count;
    size_t largest_bytes;
    size_t most_metrics;
};

/* Owner: the test destroys the snapshot. */
struct ntk_snapshot *test_cloudwatch_sample(uint32_t lnc);
void test_cloudwatch_encode(struct ntk_cloudwatch_data *data, const struct ntk_snapshot *snapshot);
struct test_cloudwatch_sent test_cloudwatch_request(struct ntk_cloudwatch_data *data);

/* "InstanceId=i;..." of a metric. */
void test_cloudwatch_dimensions(const json_t *metric, char text[TEST_CLOUDWATCH_TEXT_BYTES]);
/* Sum and number of the values sent with this name and dimensions. */
double test_cloudwatch_sum(const struct test_cloudwatch_sent *sent, const char *name,
                           const char *dimensions, double *out_count);
void test_cloudwatch_assert_sum(const struct test_cloudwatch_sent *sent, const char *name,
                                const char *dimensions, double sum, double count);

#endif
