/* SPDX-License-Identifier: MIT */
/* layout_3 - numbers and layouts of the third generation. */
#ifndef NTK_TESTS_ABI_CNRT_LAYOUT_3_H
#define NTK_TESTS_ABI_CNRT_LAYOUT_3_H

#include "neuware/g3/cnrt.h"

#include "tests/abi/cnrt/layout_common.h"

VALUE(CNRT_RET_ERR_NOT_READY, 632006);
VALUE(CNRT_RET_ERR_QUEUE, 632025);
VALUE(CNRT_RET_ERR_NOTIFIER, 632034);
VALUE(CNRT_RET_ERR_MAP, 632039);
VALUE(CNRT_RET_ERR_UNMAP, 632040);
VALUE(CNRT_RET_ERR_CACHE, 632041);
VALUE(CNRT_RET_ERR_FIND_DEV_ADDR, 632042);
VALUE(CNRT_RET_ERR_KERNEL_VERSION_TOO_HIGH, 632043);
VALUE(CNRT_MEM_TRANS_DIR_PEER2PEER, 4);
VALUE(CNRT_MEM_TRANS_DIR_NODIR, 5);
VALUE(CNRT_FUNC_TYPE_BLOCK, 1);
VALUE(CNRT_FUNC_TYPE_BLOCK0, 1);
VALUE(CNRT_FUNC_TYPE_BLOCK1, 2);
VALUE(CNRT_FUNC_TYPE_UNION1, 4);
VALUE(CNRT_FUNC_TYPE_UNION2, 8);
VALUE(CNRT_FUNC_TYPE_UNION4, 16);
VALUE(CNRT_FUNC_TYPE_UNION8, 32);
VALUE(CNRT_FUNC_TYPE_MUTABLE, -1);
VALUE(CNRT_MEMTYPE_DEV, 2);
VALUE(CNRT_CHANNEL_TYPE_DUPLICATE, -2);
VALUE(CNRT_MLU100, 3);
VALUE(CNRT_1H8MINI, 4);
VALUE(CNRT_MLU270, 5);
VALUE(CNRT_MLU220, 6);
VALUE(CNRT_HWCN, 0x2310);
VALUE(CNRT_TNC, 0x401);
VALUE(CNRT_NTC, 0x041);
VALUE(CNRT_NCDHW, 0x01523);
VALUE(CNRT_NDHWC, 0x05231);
VALUE(CNRT_DHWCN, 0x52310);
VALUE(CNRT_INT4, 0x20);
VALUE(CNRT_INT64, 0x24);
VALUE(CNRT_AUTO, 0x25);
VALUE(CNRT_UINT16, 0x32);
IS(sizeof(cnrtRuntimeContext_t) == 8);
IS(sizeof(cnrtQuantizedParam_t) == 8);
IS(sizeof(cnrtInvokeFuncParam_t) == 24);
AT(cnrtInvokeFuncParam_t, affinity, 8);
AT(cnrtInvokeFuncParam_t, end, 16);
IS(sizeof(cnrtKernelParamsBuffer) == 80);
AT(cnrtKernelParamsBuffer, input_index, 16);
AT(cnrtKernelParamsBuffer, input_num, 24);
AT(cnrtKernelParamsBuffer, output_index, 32);
AT(cnrtKernelParamsBuffer, output_num, 40);
AT(cnrtKernelParamsBuffer, static_index, 48);
AT(cnrtKernelParamsBuffer, static_num, 56);
AT(cnrtKernelParamsBuffer, dim_info, 64);
AT(cnrtKernelParamsBuffer, dim_num, 72);
IS(sizeof(cnrtDeviceInfo_t) == 72);
AT(cnrtDeviceInfo_t, core_version, 64);
AT(cnrtDeviceInfo_t, core_num, 68);
IS(sizeof(cnrtDeviceAffinity_t) == 4100);
AT(cnrtDeviceAffinity_t, cpu_bitmap, 4);

#endif
