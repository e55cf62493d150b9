/* SPDX-License-Identifier: MIT */
/*
 * monitor_like - reads its own process through the static datastore library while the runtime is
 * also linked.
 */
#include <nrt/nds/neuron_ds.h>
#include <nrt/nrt.h>
#include <stdio.h>

int main(void)
{
    ndl_device_t device = { .device_index = 0 };
    nds_instance_t *inst = NULL;
    uint64_t version = 0;

    if (nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") != NRT_SUCCESS ||
        nds_open(&device, 0, &inst) != 0 ||
        nds_get_nd_counter(inst, NDS_ND_COUNTER_RUNTIME_VERSION, &version) != 0) {
        return 1;
    }
    printf("%u.%u\n", (unsigned)(version >> 40), (unsigned)(version >> 32 & 0xff));
    nds_close(inst);
    nrt_close();
    return 0;
}
