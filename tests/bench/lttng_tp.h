/* SPDX-License-Identifier: MIT */
/* The tracepoint of lttng_peer.c: seven 64-bit fields, as large as one of our records. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER ntk_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_tp.h"

#if !defined(NTK_TESTS_BENCH_LTTNG_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define NTK_TESTS_BENCH_LTTNG_TP_H

#include <lttng/tracepoint.h>
#include <stdint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(
    ntk_bench, mark,
    LTTNG_UST_TP_ARGS(uint64_t, a, uint64_t, b),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint64_t, f0, a)
        lttng_ust_field_integer(uint64_t, f1, b)
        lttng_ust_field_integer(uint64_t, f2, a)
        lttng_ust_field_integer(uint64_t, f3, b)
        lttng_ust_field_integer(uint64_t, f4, a)
        lttng_ust_field_integer(uint64_t, f5, b)
        lttng_ust_field_integer(uint64_t, f6, a)))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
