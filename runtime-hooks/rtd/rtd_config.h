/* SPDX-License-Identifier: MIT */
/*
 * rtd_config - reads the files of the daemon: its configuration, and the file of an instance.
 *
 * The files are JSON; an error message has the line and key of an invalid value. Unknown keys are
 * ignored and reported, because other releases have more keys.
 *
 * Owner:   the caller provides the storage; nothing must be freed.
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
    uint32_t value; /* 0 or 1 for a switch */
};

struct rtd_config {
    struct rtd_config_value timeout_s, ninfer, io_data_host;
    struct rtd_config_value drops_capabilities;
    /* These keys have no effect: this daemon reserves no pages and stores no unpacked files. */
    struct rtd_config_value hugepages, model_cache_count;
    char unknown[RTD_CONFIG_TEXT_BYTES]; /* such as "a.b, c"; "" if none */
};

struct rtd_instance {
    char name[RTD_CONFIG_TEXT_BYTES];
    char endpoint[RTD_CONFIG_TEXT_BYTES]; /* "" if none is given */
    bool has_devices;
    size_t device_count;
    uint32_t devices[RTD_DEVICES_MAX];
    char unknown[RTD_CONFIG_TEXT_BYTES];
};

/* -EINVAL with the position of the error, or -ENOMEM. */
int rtd_config_parse(struct rtd_config *config, const char *text, size_t text_bytes,
                     struct ntk_err *err);
/* Like rtd_config_parse(), or -errno of the file. */
int rtd_config_read(struct rtd_config *config, const char *path, struct ntk_err *err);

int rtd_instance_parse(struct rtd_instance *instance, const char *text, size_t text_bytes,
                       struct ntk_err *err);
/* name: "nrtd0" is RTD_INSTANCE_FOLDER/nrtd0.json; a name with a slash is a path without
 * ".json". */
int rtd_instance_read(struct rtd_instance *instance, const char *name, struct ntk_err *err);

#endif
