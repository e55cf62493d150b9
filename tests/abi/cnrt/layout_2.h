/* SPDX-License-Identifier: MIT */
/* layout_2 - numbers and layouts of the second generation. */
#ifndef NTK_TESTS_ABI_CNRT_LAYOUT_2_H
#define NTK_TESTS_ABI_CNRT_LAYOUT_2_H

#include "neuware/g2/cnrt.h"

#include "tests/abi/cnrt/layout_common.h"

VALUE(CNRT_RET_ERR_QUEUE, 632025);
VALUE(CNRT_RET_ERR_NOTIFIER, 632034);
VALUE(CNRT_MEM_TRANS_DIR_NODIR, 4);
VALUE(CNRT_FUNC_TYPE_BLOCK, 1);
VALUE(CNRT_FUNC_TYPE_UNION1, 4);
VALUE(CNRT_FUNC_TYPE_UNION2, 5);
VALUE(CNRT_FUNC_TYPE_UNION4, 6);
VALUE(CNRT_FUNC_TYPE_UNION8, 7);
VALUE(CNRT_FUNC_TYPE_MUTABLE, 8);
VALUE(CNRT_MEMTYPE_DEV, 2);
VALUE(CNRT_HWCN, 0x2310);
IS(sizeof(cnrtQueue_t) == 8);
IS(sizeof(cnrtNotifier_t) == 8);
IS(sizeof(cnrtInvokeFuncParam_t) == 24);
AT(cnrtInvokeFuncParam_t, data_parallelism, 0);
AT(cnrtInvokeFuncParam_t, affinity, 8);
AT(cnrtInvokeFuncParam_t, end, 16);
IS(sizeof(cnrtInitFuncParam_t) == 32);
AT(cnrtInitFuncParam_t, muta, 0);
AT(cnrtInitFuncParam_t, data_parallelism, 8);
AT(cnrtInitFuncParam_t, affinity, 16);
AT(cnrtInitFuncParam_t, end, 24);
IS(sizeof(*(cnrtDataDescArray_t)0) == 8); /* pointers to pointers */

#endif
