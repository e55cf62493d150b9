/* SPDX-License-Identifier: MIT */
/* Any bytes as a process's cgroups: the result is empty, or a valid container and pod. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/collect/cgroup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_cgroup_place place;
    bool any = ntk_cgroup_parse((const char *)data, size, &place);
    size_t id = strlen(place.container_id);
    size_t uid = strlen(place.pod_uid);

    if (any != (id > 0 || uid > 0) ||
        (id > 0 && !ntk_cgroup_is_container_id(place.container_id, id)) ||
        (uid != 0 && uid != 32 && uid != 36)) {
        abort();
    }
    return 0;
}
