/* SPDX-License-Identifier: MIT */
/* efa - numbers of the counters of EFA adapters, and which of them are of bytes. */
#ifndef NTK_SHARED_ABI_EFA_H
#define NTK_SHARED_ABI_EFA_H

#include <stdbool.h>

enum ntk_efa_counter {
#define NTK_EFA_COUNTER(symbol, file, unit, is_fault) NTK_EFA_##symbol,
#include "shared/abi/efa.def"
    NTK_EFA_COUNTER_COUNT
};

struct ntk_efa_counter_row {
    const char *name; /* of the file */
    bool is_bytes;
    bool is_fault;
};

/* The row of a counter below NTK_EFA_COUNTER_COUNT. */
static inline struct ntk_efa_counter_row ntk_efa_counter_row(int counter)
{
    enum { ROW_COUNT = 0, ROW_BYTES = 1 };
    static const struct ntk_efa_counter_row rows[NTK_EFA_COUNTER_COUNT] = {
#define NTK_EFA_COUNTER(symbol, file, unit, is_fault) { file, ROW_##unit, is_fault },
#include "shared/abi/efa.def"
    };

    return rows[counter];
}

#endif
