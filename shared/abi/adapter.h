/* SPDX-License-Identifier: MIT */
/* adapter - ports of network adapters and their counters, the rows of adapter.def. */
#ifndef NTK_SHARED_ABI_ADAPTER_H
#define NTK_SHARED_ABI_ADAPTER_H

#include <assert.h>
#include <stdint.h>

enum ntk_adapter {
#define NTK_ADAPTER(family, word) NTK_ADAPTER_##family,
#include "shared/abi/adapter.def"
    NTK_ADAPTER_COUNT
};
/* The counters of all families. Those of one family run from its _FIRST up to, but not including,
 * its _END. */
enum ntk_adapter_counter {
#define NTK_ADAPTER(family, word) \
    NTK_##family##_FIRST, NTK_##family##_BEFORE = NTK_##family##_FIRST - 1,
#define NTK_ADAPTER_COUNTER(family, symbol, ...) NTK_##family##_##symbol,
#define NTK_ADAPTER_END(family) NTK_##family##_END, NTK_##family##_LAST = NTK_##family##_END - 1,
#include "shared/abi/adapter.def"
    NTK_ADAPTER_COUNTERS
};
static_assert(NTK_ADAPTER_COUNTERS <= 64, "bits of has");

#define NTK_ADAPTER_NAME_BYTES 64 /* the kernel's limit for adapter names */

/* A port, and its counters since its adapter's driver was loaded. */
struct ntk_adapter_port {
    enum ntk_adapter family;
    uint32_t port;
    char device[NTK_ADAPTER_NAME_BYTES];
    uint64_t has; /* bits by enum ntk_adapter_counter: some adapters lack counters */
    uint64_t counter[NTK_ADAPTER_COUNTERS];
};

#endif
