/* SPDX-License-Identifier: MIT */
#include "profiler/output/tables/table.h"

const char *ntk_column_type_name(enum ntk_column_kind kind)
{
    switch (kind) {
    case NTK_COLUMN_I64:
    case NTK_COLUMN_I32:
        return "integer";
    case NTK_COLUMN_F64:
    case NTK_COLUMN_F32:
        return "number";
    case NTK_COLUMN_BOOL:
        return "boolean";
    default:
        return "string";
    }
}
