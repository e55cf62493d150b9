/* SPDX-License-Identifier: MIT */
/* nrt_inspect_config - the settings of an inspection, from calls or the environment. */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_INSPECT_CONFIG_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_INSPECT_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime-hooks/inspect/inspect.h"
#include "runtime-hooks/libnrt/nrt_trace_types.h"

struct nrt_inspect_config {
    struct ntk_inspect_options options; /* excludes common settings and the three settings below */
    char *folder;
    uint64_t types;
    bool enable_inspect;
};

#define NRT_DEFAULT_FOLDER "./output"

/* Replaces the folder and frees the old one. NRT_INVALID: no text; NRT_RESOURCE: out of memory,
 * nothing changed. */
NRT_STATUS nrt_folder_set(char **folder, const char *to);
/* Sets the defaults and frees the old folder. NRT_RESOURCE: out of memory, nothing changed. */
NRT_STATUS nrt_inspect_config_init(struct nrt_inspect_config *config);
/* Returns true if the environment requests an inspection. */
bool nrt_inspect_config_is_wanted(void);
/* Applies NEURON_RT_INSPECT_*. -EINVAL if a value is invalid; -ENOMEM. */
int nrt_inspect_config_from_environment(struct nrt_inspect_config *config, struct ntk_err *err);

#endif
