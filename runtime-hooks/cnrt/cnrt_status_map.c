/* SPDX-License-Identifier: MIT */
/* cnrt_status_map - maps outcomes of the core to codes, and codes to texts. */
#include "runtime-hooks/cnrt/cnrt_front.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>

static const int codes[] = {
    [NTK_CORE_COMPLETED] = CNRT_OK,
    [NTK_CORE_FAILED] = CNRT_ERR_UNKNOWN,
    [NTK_CORE_INVALID] = CNRT_ERR_INVALID,
    [NTK_CORE_BAD_HANDLE] = CNRT_ERR_INVALID,
    [NTK_CORE_NO_MEMORY] = CNRT_ERR_NOMEM,
    [NTK_CORE_TIMED_OUT] = CNRT_ERR_TIMEOUT,
    [NTK_CORE_HARDWARE_ERROR] = CNRT_ERR_MLU,
    [NTK_CORE_QUEUE_FULL] = CNRT_ERR_AGAIN,
    [NTK_CORE_TOO_FEW_CORES] = CNRT_ERR_NODEV,
    [NTK_CORE_UNSUPPORTED] = CNRT_ERR_UNSUPPORTED,
    [NTK_CORE_CLOSED] = CNRT_ERR_INIT,
    [NTK_CORE_DEAD] = CNRT_ERR_BROKEN,
    [NTK_CORE_BAD_INPUT] = CNRT_ERR_INVALID,
    [NTK_CORE_NUMERICAL_ERROR] = CNRT_ERR_MATH_OVERFLOW,
    [NTK_CORE_CPU_NODE_FAILED] = CNRT_ERR_FUNC_CALL,
    [NTK_CORE_NC_BUSY] = CNRT_ERR_AGAIN,
    [NTK_CORE_OUT_OF_BOUNDS] = CNRT_ERR_OUT_RANGE,
    [NTK_CORE_COLLECTIVES] = CNRT_ERR_MLU,
    [NTK_CORE_HBM_ERROR] = CNRT_ERR_MLU,
    [NTK_CORE_SRAM_ERROR] = CNRT_ERR_ONCHIP_CORE,
    [NTK_CORE_DMA_ABORT] = CNRT_ERR_MEMCPY,
    [NTK_CORE_QUEUE_OVERFLOW] = CNRT_ERR_MLU,
    [NTK_CORE_HBM_REPAIRABLE] = CNRT_ERR_MLU,
    [NTK_CORE_PROXY_FAILED] = CNRT_ERR_SYS,
};
static_assert(sizeof codes / sizeof *codes == NTK_CORE_OUTCOMES, "a code for each outcome");

int cnrt_code_from_outcome(enum ntk_core_outcome outcome)
{
    return codes[outcome];
}

/* Converts an error. For some calls that the core rejects before running, it is more precise than
 * the outcome. */
int cnrt_code_from_error(int error)
{
    switch (-error) {
    case EBUSY:
        return CNRT_ERR_BUSY;
    case EALREADY:
        return CNRT_ERR_EXIST;
    case ENOENT:
        return CNRT_ERR_NO_EXIST;
    case EIO:
        return CNRT_ERR_IO;
    case EACCES:
    case EPERM:
        return CNRT_ERR_ACCES;
    default:
        return codes[ntk_core_outcome_of(error)];
    }
}

enum ntk_core_outcome cnrt_outcome_from_code(int code)
{
    switch (code) {
    case CNRT_OK:
        return NTK_CORE_COMPLETED;
    case CNRT_ERR_NOMEM:
        return NTK_CORE_NO_MEMORY;
    case CNRT_ERR_INVALID:
    case CNRT_ERR_INVALID_POINTER:
    case CNRT_ERR_INVALID_TYPE:
        return NTK_CORE_BAD_INPUT;
    case CNRT_ERR_TIMEOUT:
        return NTK_CORE_TIMED_OUT;
    case CNRT_ERR_OUT_RANGE:
        return NTK_CORE_OUT_OF_BOUNDS;
    case CNRT_ERR_MATH_OVERFLOW:
        return NTK_CORE_NUMERICAL_ERROR;
    default:
        return NTK_CORE_FAILED;
    }
}

static const struct {
    int code;
    const char *text;
} texts[] = {
#define CNRT_CODE_TEXT(value, name, public_name, text) \
    { value, "CNRT_RET_" #public_name ": " text },
    CNRT_CODES(CNRT_CODE_TEXT)
#undef CNRT_CODE_TEXT
};

const char *cnrt_code_text(int code, int generation)
{
    if (generation == 1 && code == CNRT_ERR_QUEUE) {
        return "CNRT_RET_ERR_STREAM: unknown stream";
    }
    if (generation == 1 && code == CNRT_ERR_NOTIFIER) {
        return "CNRT_RET_ERR_EVENT: unknown event, or not placed in a queue";
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (texts[i].code == code) {
            return texts[i].text;
        }
    }
    return "not a CNRT code";
}
