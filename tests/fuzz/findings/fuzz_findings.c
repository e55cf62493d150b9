/* SPDX-License-Identifier: MIT */
/* Any text as a file of findings: every accepted entry is a core of a device. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/collect/findings.h"
#include "shared/device/device.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_finding findings[8];
    char *text = strndup((const char *)data, size);
    size_t count = text ? ntk_findings_parse(text, findings, 8) : 0;

    for (size_t i = 0; i < count; i++) {
        if (findings[i].device >= NTK_DEVICES_MAX || findings[i].core >= NTK_DEVICE_CORES_MAX ||
            findings[i].count == 0) {
            abort();
        }
    }
    free(text);
    return count > 8;
}
