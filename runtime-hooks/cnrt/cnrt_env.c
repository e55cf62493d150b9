/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/cnrt/cnrt_env.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/env/env.h"
#include "runtime-hooks/env/env_soft.h"

#define VISIBLE "MLU_VISIBLE_DEVICES"
#define PREFIX "mlu" /* prefix of the names of machines with cards for this interface */
#define DEFAULT_MACHINE "mlu270"

/* Parses "1", "0,1,2" or "0-2": consecutive devices. */
static int visible_parse(const char *text, uint32_t *out_first, uint32_t *out_count,
                         struct ntk_err *err)
{
    const char *at = text;
    char *end = NULL;
    uint32_t next = 0;

    *out_count = 0;
    for (;;) {
        unsigned long low = strtoul(at, &end, 10);
        unsigned long high = low;

        if (end == at || *at < '0' || *at > '9' || low > NTK_CORE_ANY / 2) {
            break;
        }
        if (*end == '-') {
            at = end + 1;
            high = strtoul(at, &end, 10);
            if (end == at || *at < '0' || *at > '9' || high < low || high > NTK_CORE_ANY / 2) {
                break;
            }
        }
        if (*out_count > 0 && low != next) {
            break;
        }
        *out_first = *out_count > 0 ? *out_first : (uint32_t)low;
        *out_count += (uint32_t)(high - low) + 1;
        next = (uint32_t)high + 1;
        if (*end == '\0') {
            return 0;
        }
        if (*end != ',') {
            break;
        }
        at = end + 1;
    }
    return ntk_err_set(
        err, -EINVAL, NTK_ERR_NO_OFFSET,
        VISIBLE "=%s: invalid device list: expected consecutive devices, such as 0,1 or 0-3", text);
}

/* Chooses the requested machine, or the existing one if it has these cards. */
static int machine_choose(struct ntk_core_machine_options *wanted,
                          struct ntk_core_machine *out_machine, struct ntk_err *err)
{
    int ret = ntk_core_machine_find(wanted, out_machine, err);

    if (ret < 0 || strncmp(out_machine->instance, PREFIX, sizeof PREFIX - 1) == 0) {
        return ret;
    }
    if (wanted->instance.value) {
        return ntk_err_set(
            err, -EINVAL, NTK_ERR_NO_OFFSET,
            "%s=%s has no card for this interface; use a machine such as " DEFAULT_MACHINE,
            wanted->instance.name, wanted->instance.value);
    }
    wanted->instance.value = DEFAULT_MACHINE;
    return ntk_core_machine_find(wanted, out_machine, err);
}

int cnrt_env_options_get(struct ntk_core_options *options, struct ntk_err *err)
{
    struct ntk_core_machine machine = { 0 };
    const char *visible = ntk_env_text(VISIBLE);
    uint32_t first = 0;
    uint32_t count = 0;
    int ret = ntk_env_soft_options_get(options, err);

    ret = ret < 0 ? ret : machine_choose(&options->machine, &machine, err);
    if (ret < 0 || !visible) {
        return ret;
    }
    ret = visible_parse(visible, &first, &count, err);
    if (ret == 0 && (count > machine.device_count || first > machine.device_count - count)) {
        ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                          VISIBLE "=%s: the %s has %u devices, numbered from 0", visible,
                          machine.instance, machine.device_count);
    }
    if (ret == 0) {
        options->exact = true;
        options->first_core = first * machine.cores_per_device / machine.default_lnc;
        options->core_count = count * machine.cores_per_device / machine.default_lnc;
    }
    return ret;
}
