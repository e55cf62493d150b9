/* SPDX-License-Identifier: MIT */
/*
 * day_decode - what requests say about completed executions: the last value of each counter, or
 * sums of differences.
 *
 * Owner:   caller's storage, zeroed is empty; day_values_fini() frees.
 * Threads: one at a time per struct.
 */
#ifndef NTK_TESTS_E2E_DAY_DECODE_H
#define NTK_TESTS_E2E_DAY_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum day_values_kind { DAY_VALUES_MACHINE, DAY_VALUES_JOBS, DAY_VALUES_KINDS };

struct day_values {
    uint64_t items; /* samples, points, spans, metrics */
    struct day_value {
        uint64_t key;      /* hash of its labels; 0: free */
        double value;      /* of this life of the counter */
        double ended;      /* sum of its earlier lives */
        uint64_t start_ms; /* from which it counts */
        uint64_t time_ms;
    } * counters[DAY_VALUES_KINDS];
    double sums[DAY_VALUES_KINDS];
};

void day_values_fini(struct day_values *values);
double day_values_sum(const struct day_values *values, enum day_values_kind kind);

/* False if the bytes cannot be decoded. */
bool day_decode_remote_write(const uint8_t *bytes, size_t bytes_count, struct day_values *values);
bool day_decode_otlp(const uint8_t *bytes, size_t bytes_count, struct day_values *values);
bool day_decode_traces(const uint8_t *bytes, size_t bytes_count, struct day_values *values);
bool day_decode_cloudwatch(const uint8_t *bytes, size_t bytes_count, struct day_values *values);

#endif
