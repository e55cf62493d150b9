/* SPDX-License-Identifier: MIT */
/* Any bytes as a configuration file of the daemon, of either kind: rejected with a message, or
 * accepted within limits. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/rtd/rtd_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rtd_config config;
    struct rtd_instance instance;
    struct ntk_err err = { 0 };

    if (rtd_config_parse(&config, (const char *)data, size, &err) < 0) {
        if (err.text[0] == '\0') {
            abort();
        }
    } else if (strnlen(config.unknown, sizeof config.unknown) == sizeof config.unknown ||
               (config.ninfer.is_given && config.ninfer.value == 0)) {
        abort();
    }
    err.text[0] = '\0';
    if (rtd_instance_parse(&instance, (const char *)data, size, &err) < 0) {
        if (err.text[0] == '\0') {
            abort();
        }
    } else if (instance.device_count > RTD_DEVICES_MAX) {
        abort();
    }
    return 0;
}
