/* SPDX-License-Identifier: MIT */
#include "profiler/system/memory_use_name.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *name, *vendor, *ours;
    enum ntk_hbm_type type;
} uses[] = {
#define NTK_MEMORY_USE(symbol, name, vendor, ours, meaning) \
    { name, vendor, ours, NTK_HBM_##symbol },
#include "profiler/system/memory_use.def"
    /* their own Uses that are a type of another name. */
    { "runtime", "", "runtime", NTK_HBM_GENERIC },
    { "driver", "", "driver", NTK_HBM_GENERIC },
    { "xt_cc", "xt cc", "", NTK_HBM_COLLECTIVES },
};
#define USE_COUNT (sizeof uses / sizeof *uses)

const char *ntk_memory_use_name(const char *word)
{
    for (size_t i = 0; i < USE_COUNT && *word; i++) {
        if (strcmp(uses[i].vendor, word) == 0 || strcmp(uses[i].ours, word) == 0) {
            return uses[i].name;
        }
    }
    return word;
}

enum ntk_hbm_type ntk_memory_use_type(const char *name)
{
    for (size_t i = 0; i < USE_COUNT; i++) {
        if (strcmp(uses[i].name, name) == 0) {
            return uses[i].type;
        }
    }
    return NTK_HBM_UNKNOWN;
}
