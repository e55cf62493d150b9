/* SPDX-License-Identifier: MIT */
/* cnrt_values - sizes of types, and half-precision numbers. Does not require an open library. */
#include "runtime-hooks/cnrt/cnrt_front.h"
#include "runtime-hooks/cnrt/cnrt_half.h"
#include "runtime-hooks/cnrt/cnrt_public.h"

int cnrt_type_bytes(int type)
{
    switch (type) {
    case 0x21: /* INT8 */
    case 0x31: /* UINT8 */
    case 0x41: /* FIX8 */
    case 0x51: /* QUANT8 */
    case 0x61: /* BOOL */
        return 1;
    case 0x12: /* FLOAT16 */
    case 0x22: /* INT16 */
    case 0x32: /* UINT16 */
        return 2;
    case 0x13: /* FLOAT32 */
    case 0x23: /* INT32 */
    case 0x33: /* UINT32 */
        return 4;
    case 0x14: /* FLOAT64 */
    case 0x24: /* INT64 */
        return 8;
    default: /* INVALID, INT4, AUTO */
        return 0;
    }
}

int cnrtDataTypeSize(cnrtDataType_t type)
{
    return cnrt_type_bytes((int)type);
}
CNRT_IN_1(DataTypeSize);

cnrtRet_t cnrtConvertFloatToHalf(uint16_t *half, float value)
{
    if (!half) {
        return cnrt_front_end(CNRT_ERR_INVALID);
    }
    *half = cnrt_half_from_float(value);
    return CNRT_RET_SUCCESS;
}

cnrtRet_t cnrtConvertHalfToFloat(float *value, uint16_t half)
{
    if (!value) {
        return cnrt_front_end(CNRT_ERR_INVALID);
    }
    *value = cnrt_half_to_float(half);
    return CNRT_RET_SUCCESS;
}
