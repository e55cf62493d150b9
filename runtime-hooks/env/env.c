/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/env/env.h"

#include <errno.h>
#include <stdlib.h>

#include "shared/base/str.h"

const char *ntk_env_text(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

int ntk_env_u64(const char *name, uint64_t *out_value, struct ntk_err *err)
{
    const char *value = ntk_env_text(name);

    if (value && ntk_str_parse_u64(value, out_value) < 0) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s=%s: expected a number", name,
                           value);
    }
    return 0;
}

int ntk_env_bool(const char *name, bool *out_value, struct ntk_err *err)
{
    const char *value = ntk_env_text(name);

    if (value && ntk_str_parse_bool(value, out_value) < 0) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s=%s: expected 0 or 1", name, value);
    }
    return 0;
}
