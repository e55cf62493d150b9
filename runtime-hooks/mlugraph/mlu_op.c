/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/mlugraph/mlu_op.h"

#include <stddef.h>
#include <string.h>

#include "runtime-hooks/mlugraph/mlu_op_variant.h"
#include "shared/base/str.h"

static const struct mlu_op ops[] = {
#define MLU_OP(name, kind, variant, roles, input_count_min, output_count, arguments) \
    { name, MLU_OP_##kind, variant, roles, input_count_min, output_count, arguments },
#include "runtime-hooks/mlugraph/mlu_op.def"
#undef MLU_OP
};

const struct mlu_op *mlu_op_find(const char *name)
{
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (strcmp(ops[i].name, name) == 0) {
            return &ops[i];
        }
    }
    return NULL;
}

static bool takes_any_number(const struct mlu_op *op)
{
    return op->roles[strlen(op->roles) - 1] == '+';
}

enum mlu_role mlu_op_role(const struct mlu_op *op, uint32_t input)
{
    if (takes_any_number(op)) {
        return MLU_ROLE_DATA;
    }
    switch (input < strlen(op->roles) ? op->roles[input] : 'd') {
    case 'w':
        return MLU_ROLE_WEIGHT;
    case 's':
        return MLU_ROLE_STATE;
    case 'i':
        return MLU_ROLE_IGNORED;
    default:
        return MLU_ROLE_DATA;
    }
}

uint32_t mlu_op_input_count_max(const struct mlu_op *op)
{
    return takes_any_number(op) ? UINT32_MAX : (uint32_t)strlen(op->roles);
}

void mlu_op_argument(const struct mlu_op *op, uint32_t input, char *to, uint32_t to_bytes)
{
    const char *at = op->arguments;

    for (uint32_t i = 0; i < input && *at; i++) {
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    size_t length = strcspn(at, " ");
    if (length >= to_bytes) {
        length = to_bytes - 1;
    }
    memcpy(to, at, length);
    to[length] = '\0';
}
