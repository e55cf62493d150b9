/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/libnrt/nrt_status_map.h"

#include "shared/abi/result.h"

#include <assert.h>
#include <stddef.h>

#define MAP(X)                                           \
    X(COMPLETED, NRT_SUCCESS)                            \
    X(FAILED, NRT_FAILURE)                               \
    X(INVALID, NRT_INVALID)                              \
    X(BAD_HANDLE, NRT_INVALID_HANDLE)                    \
    X(NO_MEMORY, NRT_RESOURCE)                           \
    X(TIMED_OUT, NRT_TIMEOUT)                            \
    X(HARDWARE_ERROR, NRT_HW_ERROR)                      \
    X(QUEUE_FULL, NRT_QUEUE_FULL)                        \
    X(TOO_FEW_CORES, NRT_LOAD_NOT_ENOUGH_NC)             \
    X(UNSUPPORTED, NRT_UNSUPPORTED_NEFF_VERSION)         \
    X(CLOSED, NRT_CLOSED)                                \
    X(DEAD, NRT_EXEC_UNIT_UNRECOVERABLE)                 \
    X(BAD_INPUT, NRT_EXEC_BAD_INPUT)                     \
    X(NUMERICAL_ERROR, NRT_EXEC_COMPLETED_WITH_NUM_ERR)  \
    X(CPU_NODE_FAILED, NRT_EXEC_COMPLETED_WITH_ERR)      \
    X(NC_BUSY, NRT_EXEC_NC_BUSY)                         \
    X(OUT_OF_BOUNDS, NRT_EXEC_OOB)                       \
    X(COLLECTIVES, NRT_EXEC_HW_ERR_COLLECTIVES)          \
    X(HBM_ERROR, NRT_EXEC_HW_ERR_HBM_UE)                 \
    X(SRAM_ERROR, NRT_EXEC_HW_ERR_NC_UE)                 \
    X(DMA_ABORT, NRT_EXEC_HW_ERR_DMA_ABORT)              \
    X(QUEUE_OVERFLOW, NRT_EXEC_SW_NQ_OVERFLOW)           \
    X(HBM_REPAIRABLE, NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE) \
    X(PROXY_FAILED, NRT_NETWORK_PROXY_FAILURE)

static const NRT_STATUS statuses[] = {
#define ROW(outcome, status) [NTK_CORE_##outcome] = status,
    MAP(ROW)
};
static_assert(sizeof statuses / sizeof *statuses == NTK_CORE_OUTCOMES, "a row for each outcome");

/* Maps an outcome to the same status for callers and for the record. */
#define SAME(outcome, status)                                                               \
    static_assert((int)(status) == (int)NTK_RESULT_##outcome, "result.def has a different " \
                                                              "number");
MAP(SAME)

NRT_STATUS nrt_status_from_outcome(enum ntk_core_outcome outcome)
{
    return statuses[outcome];
}

NRT_STATUS nrt_status_from_error(int error)
{
    return statuses[ntk_core_outcome_of(error)];
}

static const struct {
    NRT_STATUS status;
    const char *name;
} names[] = {
#define NAME(constant)      \
    {                       \
        constant, #constant \
    }
    NAME(NRT_SUCCESS),
    NAME(NRT_FAILURE),
    NAME(NRT_INVALID),
    NAME(NRT_INVALID_HANDLE),
    NAME(NRT_RESOURCE),
    NAME(NRT_TIMEOUT),
    NAME(NRT_HW_ERROR),
    NAME(NRT_QUEUE_FULL),
    NAME(NRT_LOAD_NOT_ENOUGH_NC),
    NAME(NRT_UNSUPPORTED_NEFF_VERSION),
    NAME(NRT_FAIL_HOST_MEM_ALLOC),
    NAME(NRT_UNINITIALIZED),
    NAME(NRT_CLOSED),
    NAME(NRT_QUEUE_EMPTY),
    NAME(NRT_EXEC_UNIT_UNRECOVERABLE),
    NAME(NRT_EXEC_BAD_INPUT),
    NAME(NRT_EXEC_COMPLETED_WITH_NUM_ERR),
    NAME(NRT_EXEC_COMPLETED_WITH_ERR),
    NAME(NRT_EXEC_NC_BUSY),
    NAME(NRT_EXEC_OOB),
    NAME(NRT_COLL_PENDING),
    NAME(NRT_EXEC_HW_ERR_COLLECTIVES),
    NAME(NRT_EXEC_HW_ERR_HBM_UE),
    NAME(NRT_EXEC_HW_ERR_NC_UE),
    NAME(NRT_EXEC_HW_ERR_DMA_ABORT),
    NAME(NRT_EXEC_SW_NQ_OVERFLOW),
    NAME(NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE),
    NAME(NRT_NETWORK_PROXY_FAILURE),
#undef NAME
};

const char *nrt_get_status_as_str(NRT_STATUS status)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].status == status) {
            return names[i].name;
        }
    }
    return "NRT_UNKNOWN";
}
