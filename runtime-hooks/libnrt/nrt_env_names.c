/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/libnrt/nrt_env_names.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "runtime-hooks/libnrt/nrt_log.h"

#define NAME_BYTES 128

enum use {
    HONOURED = NRT_ENV_HONOURED,
    IGNORED = NRT_ENV_IGNORED,
};

static const struct {
    const char *name;
    enum use use;
} variables[] = {
#define NRT_ENV(name, use) { #name, use },
#include "runtime-hooks/libnrt/nrt_env.def"
#undef NRT_ENV
};

/* Only the runtime uses names with these prefixes. */
static const char *const families[] = { "NEURON_RT_", "NEURON_SOFT_", "NEURON_HOOKS" };

enum nrt_env_use nrt_env_use_get(const char *name)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        if (strcmp(variables[i].name, name) == 0) {
            return (enum nrt_env_use)variables[i].use;
        }
    }
    return NRT_ENV_UNKNOWN;
}

void nrt_env_each(void (*line)(const char *assignment, void *ctx), void *ctx)
{
    static const char prefix[] = "NEURON_";
    int count = 0;

    for (char **entry = environ; entry && *entry && count < NRT_ENV_LINES_MAX; entry++) {
        if (strncmp(*entry, prefix, sizeof prefix - 1) == 0) {
            line(*entry, ctx);
            count++;
        }
    }
}

static bool is_of_a_family(const char *name)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (strncmp(name, families[i], strlen(families[i])) == 0) {
            return true;
        }
    }
    return false;
}

static void tell(const char *assignment, void *ctx)
{
    size_t bytes = strcspn(assignment, "=");
    char name[NAME_BYTES];

    (void)ctx;
    if (bytes >= sizeof name) {
        return; /* longer than all known names */
    }
    memcpy(name, assignment, bytes);
    name[bytes] = '\0';
    switch (nrt_env_use_get(name)) {
    case NRT_ENV_HONOURED:
        break;
    case NRT_ENV_IGNORED:
        nrt_log_info("nrt_init", "%s has no effect on software NeuronCores", name);
        break;
    case NRT_ENV_UNKNOWN:
        if (is_of_a_family(name)) {
            nrt_log_write(NRT_LOG_NRT, NRT_LOG_WARN, "nrt_init", "unknown variable '%s'", name);
        }
        break;
    }
}

void nrt_env_tell(void)
{
    nrt_env_each(tell, NULL);
}
