/* SPDX-License-Identifier: MIT */
/*
 * core_outcome - the result of a call: maps errors to outcomes, and outcomes to the numbers in
 * records.
 */
#include "runtime-hooks/core/core_state.h"

#include <errno.h>

enum ntk_core_outcome ntk_core_outcome_of(int error)
{
    static const struct {
        int error;
        enum ntk_core_outcome outcome;
    } outcomes[] = {
        { 0, NTK_CORE_COMPLETED },           { -EINVAL, NTK_CORE_INVALID },
        { -EBADMSG, NTK_CORE_INVALID },      { -EFBIG, NTK_CORE_INVALID },
        { -ERANGE, NTK_CORE_INVALID },       { -EBADF, NTK_CORE_BAD_HANDLE },
        { -ENOMEM, NTK_CORE_NO_MEMORY },     { -ENOSPC, NTK_CORE_NO_MEMORY },
        { -ETIMEDOUT, NTK_CORE_TIMED_OUT },  { -EAGAIN, NTK_CORE_QUEUE_FULL },
        { -ECHRNG, NTK_CORE_TOO_FEW_CORES }, { -ENOTSUP, NTK_CORE_UNSUPPORTED },
        { -ECOMM, NTK_CORE_COLLECTIVES },    { -ESHUTDOWN, NTK_CORE_CLOSED },
        { -ENOTRECOVERABLE, NTK_CORE_DEAD },
    };

    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) {
        if (outcomes[i].error == error) {
            return outcomes[i].outcome;
        }
    }
    return NTK_CORE_FAILED;
}

uint32_t core_status(enum ntk_core_outcome outcome)
{
    static const uint32_t statuses[NTK_CORE_OUTCOMES] = {
#define NTK_RESULT(symbol, status, outcome, error_class, counter) status,
#include "shared/abi/result.def"
#undef NTK_RESULT
    };

    return statuses[outcome];
}
