/* SPDX-License-Identifier: MIT */
/* layout_1 - numbers and layouts of the first generation. */
#ifndef NTK_TESTS_ABI_CNRT_LAYOUT_1_H
#define NTK_TESTS_ABI_CNRT_LAYOUT_1_H

#include "neuware/g1/cnrt.h"

#include "tests/abi/cnrt/layout_common.h"

VALUE(CNRT_RET_ERR_STREAM, 632025);
VALUE(CNRT_RET_ERR_EVENT, 632034);
VALUE(CNRT_FUNC_TYPE_BLOCK, 0);
VALUE(CNRT_FUNC_TYPE_BLOCK0, 1);
VALUE(CNRT_FUNC_TYPE_BLOCK1, 2);
VALUE(CNRT_FUNC_TYPE_UNION1, 3);
VALUE(CNRT_FUNC_TYPE_UNION2, 4);
VALUE(CNRT_FUNC_TYPE_UNION4, 5);
VALUE(CNRT_FUNC_TYPE_UNION8, 6);
VALUE(CNRT_FUNC_TYPE_MUTABLE, 7);
VALUE(CNRT_MEMTYPE_MAPPED, 2);
VALUE(CNRT_MEMTYPE_WC, 3);
VALUE(CNRT_MEMTYPE_CR, 4);
VALUE(CNRT_MEMTYPE_REG, 5);
VALUE(CNRT_MEMTYPE_DEV, 6);
VALUE(CNRT_UNKNOWN, 2);
VALUE(CNRT_STREAM_PRIORITY_LOW, -16);
VALUE(CNRT_STREAM_PRIORITY_MID, 0);
VALUE(CNRT_STREAM_PRIORITY_HIGH, 16);
VALUE(CNRT_STREAM_ASYNC, 0);
VALUE(CNRT_STREAM_SYNC, 1);
VALUE(CNRT_EVENT_NORMAL, 0);
VALUE(CNRT_EVENT_CROSS_PROCESS, 1);
IS(sizeof(cnrtStream_t) == 8);
IS(sizeof(cnrtEvent_t) == 8);
IS(sizeof(cnrtDataDesc) == 16);
AT(cnrtDataDesc, ptr, 0);
AT(cnrtDataDesc, direction, 8);
AT(cnrtDataDesc, is_mutable, 12);
IS(sizeof(cnrtWeightDesc) == 24);
IS(sizeof(cnrtHardwareVersion_t) == 16);
IS(sizeof(cnrtCap_t) == 8);
IS(sizeof(cnrtKernelParamsBuffer) == 16);
AT(cnrtKernelParamsBuffer, max_param, 8);
AT(cnrtKernelParamsBuffer, cur_param, 12);

#endif
