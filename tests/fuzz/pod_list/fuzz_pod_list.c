/* SPDX-License-Identifier: MIT */
/* Any bytes as a kubelet's response: rejected with a message, or rows within their limits. */
#include <stdint.h>
#include <stdlib.h>

#include "agent/collect/pod_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_pod_list list = { 0 };
    struct ntk_err err = { 0 };

    if (ntk_pod_list_read(&list, ntk_pod_resource_default_get(), data, size, &err) < 0) {
        if (err.text[0] == '\0' || list.rows.count > 0) {
            abort();
        }
        return 0;
    }
    ntk_vec_each(const struct ntk_pod_row, row, &list.rows) {
        uint32_t bound = row->kind == NTK_POD_CORE ? NTK_POD_CORES_MAX : NTK_POD_DEVICES_MAX;
        if (row->index >= bound || !row->pod || !row->namespace_name || !row->container) {
            abort();
        }
    }
    ntk_pod_list_fini(&list);
    return 0;
}
