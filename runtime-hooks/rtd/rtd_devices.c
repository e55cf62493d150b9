/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/rtd/rtd_devices.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/str.h"

/* Parses an address; requires digits, because "%x:%x:%x.%x" accepts signs and blanks. */
static bool is_address(const char *text, unsigned *out_domain, unsigned *out_bus,
                       unsigned *out_device, unsigned *out_function)
{
    int end = 0;

    *out_domain = 0;
    if (strspn(text, "0123456789abcdefABCDEF:.") != strlen(text)) {
        return false;
    }
    if (sscanf(text, "%4x:%2x:%2x.%1x%n", out_domain, out_bus, out_device, out_function, &end) ==
            4 &&
        text[end] == '\0') {
        return true;
    }
    *out_domain = 0;
    return sscanf(text, "%2x:%2x.%1x%n", out_bus, out_device, out_function, &end) == 3 &&
           text[end] == '\0';
}

int rtd_devices_add_bdf(struct rtd_devices *devices, const char *text, struct ntk_err *err)
{
    unsigned domain;
    unsigned bus;
    unsigned device;
    unsigned function;

    if (!is_address(text, &domain, &bus, &device, &function)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "'%.60s': not a PCI address such as 0000:10:1c.0", text);
    }
    if (devices->count >= RTD_DEVICES_MAX) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "too many devices (at most %d)",
                           RTD_DEVICES_MAX);
    }
    (void)snprintf(devices->bdfs[devices->count], NTK_CORE_BDF_BYTES, "%04x:%02x:%02x.%x",
                   domain & 0xffff, bus & 0xff, device & 0xff, function & 0xf);
    devices->indexes[devices->count++] = UINT32_MAX;
    devices->is_given = true;
    return 0;
}

void rtd_devices_set(struct rtd_devices *devices, const uint32_t *indexes, size_t count)
{
    *devices = (struct rtd_devices){ .is_given = true, .count = count };
    memcpy(devices->indexes, indexes, count * sizeof *indexes);
}

/* Finds the number of an address; -ENODEV if there is none. */
static int find(struct rtd_devices *devices, size_t at, const struct ntk_core_machine *machine,
                struct ntk_err *err)
{
    char bdf[NTK_CORE_BDF_BYTES];

    for (uint32_t d = 0; d < machine->device_count && devices->indexes[at] == UINT32_MAX; d++) {
        ntk_core_machine_bdf(d, bdf);
        if (strcmp(bdf, devices->bdfs[at]) == 0) {
            devices->indexes[at] = d;
        }
    }
    if (devices->indexes[at] == UINT32_MAX) {
        return ntk_err_set(err, -ENODEV, NTK_ERR_NO_OFFSET, "the machine (%s) has no device %s",
                           machine->instance, devices->bdfs[at]);
    }
    if (devices->indexes[at] >= machine->device_count) {
        return ntk_err_set(err, -ENODEV, NTK_ERR_NO_OFFSET, "the machine (%s) has no device %u",
                           machine->instance, devices->indexes[at]);
    }
    return 0;
}

static void sort(struct rtd_devices *devices)
{
    for (size_t i = 1; i < devices->count; i++) {
        uint32_t index = devices->indexes[i];
        size_t at = i;

        for (; at > 0 && devices->indexes[at - 1] > index; at--) {
            devices->indexes[at] = devices->indexes[at - 1];
        }
        devices->indexes[at] = index;
    }
}

static int gap(const struct ntk_core_machine *machine, uint32_t a, uint32_t b, struct ntk_err *err)
{
    char first[NTK_CORE_BDF_BYTES];
    char second[NTK_CORE_BDF_BYTES];
    char missing[48];

    ntk_core_machine_bdf(a, first);
    ntk_core_machine_bdf(b, second);
    if (a == b) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "duplicate device %u (%s)", a, first);
    }
    if (b == a + 1) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "devices %u (%s) and %u (%s) are not adjacent on %s", a, first, b,
                           second, machine->instance);
    }
    (void)snprintf(missing, sizeof missing, b - a == 2 ? "device %u is" : "devices %u to %u are",
                   a + 1, b - 1);
    return ntk_err_set(
        err, -EINVAL, NTK_ERR_NO_OFFSET,
        "the devices of one daemon must be adjacent: between %u (%s) and %u (%s), %s missing", a,
        first, b, second, missing);
}

int rtd_devices_settle(struct rtd_devices *devices, const struct ntk_core_machine *machine,
                       struct ntk_err *err)
{
    if (!devices->is_given) {
        for (uint32_t d = 0; d < machine->device_count && d < RTD_DEVICES_MAX; d++) {
            devices->indexes[devices->count++] = d;
        }
        return 0;
    }
    for (size_t i = 0; i < devices->count; i++) {
        int ret = find(devices, i, machine, err);

        if (ret < 0) {
            return ret;
        }
    }
    sort(devices);
    for (size_t i = 1; i < devices->count; i++) {
        uint32_t before = devices->indexes[i - 1];

        if (devices->indexes[i] != before + 1 ||
            !ntk_core_machine_has_link(machine, before, before + 1)) {
            return gap(machine, before, devices->indexes[i], err);
        }
    }
    return 0;
}
