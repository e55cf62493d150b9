/* SPDX-License-Identifier: MIT */
/* driver - whether a machine has a Neuron driver. Uses the C library only. */
#ifndef NTK_SHARED_ABI_DRIVER_H
#define NTK_SHARED_ABI_DRIVER_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_DRIVER_TREE "devices/virtual/neuron_device" /* the driver's devices, below /sys */

/* sys is a folder that replaces /sys. */
static inline bool ntk_driver_is_loaded(const char *sys)
{
    static const char *const signs[] = { NTK_DRIVER_TREE, "module/neuron" };
    size_t i;

    for (i = 0; i < sizeof signs / sizeof *signs; i++) {
        char path[1024];
        struct stat status;
        int length = snprintf(path, sizeof path, "%s/%s", sys, signs[i]);

        if (length > 0 && (size_t)length < sizeof path && stat(path, &status) == 0 &&
            S_ISDIR(status.st_mode)) {
            return true;
        }
    }
    return false;
}

#ifdef __cplusplus
}
#endif
#endif
