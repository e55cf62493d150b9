/* SPDX-License-Identifier: MIT */
/* simdjson_peer - events of a Chrome trace, with their times, by simdjson's DOM parser. */
#ifndef NTK_TESTS_BENCH_SIMDJSON_PEER_H
#define NTK_TESTS_BENCH_SIMDJSON_PEER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many events there are, and the sum of their ends in us. 0, or -1: no such file, or not one of
 * those. */
int simdjson_peer_read(const char *path, uint64_t *out_events, uint64_t *out_sum);

#ifdef __cplusplus
}
#endif
#endif
