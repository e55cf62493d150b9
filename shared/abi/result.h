/* SPDX-License-Identifier: MIT */
/* result - the numbers of result.def as names: NTK_RESULT_TIMED_OUT and the others. */
#ifndef NTK_SHARED_ABI_RESULT_H
#define NTK_SHARED_ABI_RESULT_H

enum ntk_result {
#define NTK_RESULT(symbol, status, outcome, error_class, counter) NTK_RESULT_##symbol = (status),
#include "shared/abi/result.def"
#undef NTK_RESULT
    /* Not in result.def: a call before initialisation. Runtimes that record it count it as
     * GENERIC. */
    NTK_RESULT_UNINITIALIZED = 13
};

#endif
