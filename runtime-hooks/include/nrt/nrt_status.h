/* SPDX-License-Identifier: MIT */
/*
 * nrt_status - the result of every call of libnrt.
 *
 * Names and values are those of the vendor's library, so that programs written for it compile and
 * run unchanged.
 */
#ifndef NRT_NRT_STATUS_H
#define NRT_NRT_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    NRT_SUCCESS = 0,
    NRT_FAILURE = 1,        /* unspecified failure */
    NRT_INVALID = 2,        /* invalid argument or NEFF */
    NRT_INVALID_HANDLE = 3, /* an unknown or closed handle */
    NRT_RESOURCE = 4,       /* out of memory or another resource */
    NRT_TIMEOUT = 5,        /* an execution or a wait timed out */
    NRT_HW_ERROR = 6,       /* hardware failure */
    NRT_QUEUE_FULL = 7,     /* try again later */
    NRT_LOAD_NOT_ENOUGH_NC = 9,
    NRT_UNSUPPORTED_NEFF_VERSION = 10,
    NRT_FAIL_HOST_MEM_ALLOC = 11, /* for old programs, never returned */
    NRT_UNINITIALIZED = 13,       /* nrt_init() has not been called */
    NRT_CLOSED = 14,              /* nrt_close() has been called */
    NRT_QUEUE_EMPTY = 15,
    NRT_EXEC_UNIT_UNRECOVERABLE = 101,
    NRT_EXEC_BAD_INPUT = 1002,
    NRT_EXEC_COMPLETED_WITH_NUM_ERR = 1003, /* completed, but the results contain NaN */
    NRT_EXEC_COMPLETED_WITH_ERR = 1004,
    NRT_EXEC_NC_BUSY = 1005,
    NRT_EXEC_OOB = 1006, /* indirect access out of bounds */
    NRT_OOB = 1006,      /* older name of NRT_EXEC_OOB */
    NRT_COLL_PENDING = 1100,
    NRT_EXEC_HW_ERR_COLLECTIVES = 1200,
    NRT_EXEC_HW_ERR_HBM_UE = 1201,
    NRT_EXEC_HW_ERR_NC_UE = 1202,
    NRT_EXEC_HW_ERR_DMA_ABORT = 1203,
    NRT_EXEC_SW_NQ_OVERFLOW = 1204,
    NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE = 1205,
    NRT_NETWORK_PROXY_FAILURE = 1206,
} NRT_STATUS;

/* Returns the name of the constant, "NRT_UNKNOWN" for any other number. The string is static. */
const char *nrt_get_status_as_str(NRT_STATUS status);

#ifdef __cplusplus
}
#endif
#endif
