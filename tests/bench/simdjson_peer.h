/* SPDX-License-Identifier: MIT */
/* simdjson_peer - reads the events of a Chrome trace with simdjson's DOM parser. */
#ifndef NTK_TESTS_BENCH_SIMDJSON_PEER_H
#define NTK_TESTS_BENCH_SIMDJSON_PEER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counts the events and sums up their ends in us. Returns 0, or -1 if the file does not exist or is
 * not a Chrome trace. */
int simdjson_peer_read(const char *path, uint64_t *out_events, uint64_t *out_sum);

#ifdef __cplusplus
}
#endif
#endif
