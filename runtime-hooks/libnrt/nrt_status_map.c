/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/libnrt/nrt_status_map.h"

#include <assert.h>
#include <stddef.h>

/* The core counts outcomes under the public numbers. */
static_assert((int)NTK_CORE_COMPLETED == (int)NRT_SUCCESS, "status numbers");
static_assert((int)NTK_CORE_FAILED == (int)NRT_FAILURE, "status numbers");
static_assert((int)NTK_CORE_NO_MEMORY == (int)NRT_RESOURCE, "status numbers");
static_assert((int)NTK_CORE_TIMED_OUT == (int)NRT_TIMEOUT, "status numbers");
static_assert((int)NTK_CORE_BAD_INPUT == (int)NRT_EXEC_BAD_INPUT, "status numbers");
static_assert((int)NTK_CORE_NUMERICAL_ERROR == (int)NRT_EXEC_COMPLETED_WITH_NUM_ERR,
              "status numbers");
static_assert((int)NTK_CORE_CPU_NODE_FAILED == (int)NRT_EXEC_COMPLETED_WITH_ERR, "status numbers");
static_assert((int)NTK_CORE_OUT_OF_BOUNDS == (int)NRT_EXEC_OOB, "status numbers");
static_assert((int)NTK_CORE_DEAD == (int)NRT_EXEC_UNIT_UNRECOVERABLE, "status numbers");
static_assert((int)NTK_CORE_COLLECTIVES == (int)NRT_EXEC_HW_ERR_COLLECTIVES, "status numbers");
static_assert((int)NTK_CORE_HBM_ERROR == (int)NRT_EXEC_HW_ERR_HBM_UE, "status numbers");
static_assert((int)NTK_CORE_SRAM_ERROR == (int)NRT_EXEC_HW_ERR_NC_UE, "status numbers");
static_assert((int)NTK_CORE_DMA_ABORT == (int)NRT_EXEC_HW_ERR_DMA_ABORT, "status numbers");
static_assert((int)NTK_CORE_QUEUE_OVERFLOW == (int)NRT_EXEC_SW_NQ_OVERFLOW, "status numbers");
static_assert((int)NTK_CORE_HBM_REPAIRABLE == (int)NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE,
              "status numbers");

NRT_STATUS nrt_status_from_error(int error)
{
    return (NRT_STATUS)ntk_core_status(error);
}

NRT_STATUS nrt_status_from_outcome(enum ntk_core_outcome outcome)
{
    return (NRT_STATUS)outcome;
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
