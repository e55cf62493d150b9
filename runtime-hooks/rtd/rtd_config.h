/* SPDX-License-Identifier: MIT */
/*
 * rtd_config - the files of the daemon: its configuration, and that of an instance.
 *
 * JSON; errors name line and key of an invalid value. Unknown keys are ignored and reported,
 * because other releases have more keys.
 *
 * Owner:   caller's storage; nothing to free.
 * Threads: any; no state.
 */
#ifndef NTK_RUNTIME_HOOKS_RTD_RTD_CONFIG_H
#define NTK_RUNTIME_HOOKS_RTD_RTD_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

#define RTD_CONFIG_PATH "/opt/aws/neuron/config/neuron-rtd.config"
#define RTD_INSTANCE_FOLDER "/opt/aws/neuron/bin"
#define RTD_CONFIG_BYTES_MAX (1 << 20)
#define RTD_DEVICES_MAX 64
#define RTD_CONFIG_TEXT_BYTES 256

struct rtd_config_value {
    bool is_given;
    uint32_t value; /* of a switch: 0 or 1 */
};

struct rtd_config {
    struct rtd_config_value timeout_s, ninfer, io_data_host;
    struct rtd_config_value drops_capabilities;
    /* Accepted without effect: this daemon reserves no pages and keeps no unpacked files. */
    struct rtd_config_value hugepages, model_cache_count;
    char unknown[RTD_CONFIG_TEXT_BYTES]; /* "a.b, c"; "" none */
};

struct rtd_instance {
    char name[RTD_CONFIG_TEXT_BYTES];
    char endpoint[RTD_CONFIG_TEXT_BYTES]; /* "" none is given */
    bool has_devices;
    size_t device_count;
    uint32_t devices[RTD_DEVICES_MAX];
    char unknown[RTD_CONFIG_TEXT_BYTES];
};

/* -EINVAL with the position, -ENOMEM. */
int rtd_config_parse(struct rtd_config *config, const char *text, size_t text_bytes,
                     struct ntk_err *err);
/* The same, or -errno of the file. */
int rtd_config_read(struct rtd_config *config, const char *path, struct ntk_err *err);

int rtd_instance_parse(struct rtd_instance *instance, const char *text, size_t text_bytes,
                       struct ntk_err *err);
/* name: "nrtd0" is RTD_INSTANCE_FOLDER/nrtd0.json; with a slash it is a path without ".json". */
int rtd_instance_read(struct rtd_instance *instance, const char *name, struct ntk_err *err);

#endif
