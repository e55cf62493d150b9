/* SPDX-License-Identifier: MIT */
/* health_condition - writes a verdict in the format of a custom plug-in for
 * node-problem-detector. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/health/health.h"
#include "shared/base/str.h"

static_assert(NTK_HEALTH_REASON_COUNT <= 32, "reasons are bits of a word");

int ntk_health_reasons_parse(const char *text, uint32_t *out_reasons, struct ntk_err *err)
{
    const char *bad = ntk_str_parse_names(text, ntk_health_reasons, sizeof *ntk_health_reasons,
                                          NTK_HEALTH_REASON_COUNT, out_reasons);

    return bad ? ntk_err_set(err, -EINVAL, (uint64_t)(bad - text),
                             "expected reasons listed in docs/health.md, separated by commas")
               : 0;
}

/* Adds a line, truncated if it is too long. */
static void add_line(struct ntk_buf *out, const char *text)
{
    bool is_long = strlen(text) > NTK_HEALTH_LINE_MAX;
    char line[NTK_HEALTH_LINE_MAX + 1];

    ntk_str_copy_clean(line, is_long ? sizeof line - 3 : sizeof line, text, strlen(text));
    ntk_buf_add_format(out, "%s%s\n", line, is_long ? "..." : "");
}

/* Returns true if a device is unknown to the driver, or if no device exists. */
static bool is_unknown(const struct ntk_host *host)
{
    const struct ntk_health_sample *worst;

    for (size_t i = 0; host->snapshot && i < host->snapshot->device_count; i++) {
        if (ntk_health_driver_verdict(&host->snapshot->devices[i], &worst) == NTK_HEALTH_UNKNOWN) {
            return true;
        }
    }
    return !host->snapshot || host->snapshot->device_count == 0;
}

/* Returns the first reason that counts; NULL if none. */
static const struct ntk_health_sample *problem_find(const struct ntk_host *host, uint32_t reasons,
                                                    const struct ntk_device_sample **out_device)
{
    for (size_t i = 0; host->snapshot && i < host->snapshot->device_count; i++) {
        const struct ntk_device_sample *device = &host->snapshot->devices[i];

        for (size_t k = 0; k < device->health_count; k++) {
            uint32_t reason = device->health[k].reason;

            /* A process proves nothing about the device, unless the user selects a reason for
             * processes. */
            if (reasons & 1u << reason &&
                (reasons != NTK_HEALTH_ALL_REASONS || !ntk_health_reason_is_of_process(reason)) &&
                ntk_health_reasons[reason].verdict == NTK_HEALTH_UNHEALTHY) {
                *out_device = device;
                return &device->health[k];
            }
        }
    }
    return NULL;
}

int ntk_health_write_condition(const struct ntk_host *hosts, size_t count, uint32_t reasons,
                               struct ntk_buf *out)
{
    const struct ntk_host *unknown = NULL;
    char text[512];

    for (size_t h = 0; h < count; h++) {
        const struct ntk_device_sample *device = NULL;
        const struct ntk_health_sample *health = problem_find(&hosts[h], reasons, &device);

        if (health) {
            ntk_health_reason_format(device->index, health->reason, text, sizeof text);
            add_line(out, text);
            return NTK_HEALTH_CONDITION_PROBLEM;
        }
        if (!unknown && is_unknown(&hosts[h])) {
            unknown = &hosts[h];
        }
    }
    if (!unknown) {
        add_line(out, "no Neuron errors");
        return NTK_HEALTH_CONDITION_WELL;
    }
    (void)snprintf(text, sizeof text, "health is unknown: %s",
                   !unknown->snapshot                ? unknown->err.text
                   : unknown->snapshot->device_count ? "a device reports no state"
                                                     : "no Neuron devices");
    add_line(out, text);
    return NTK_HEALTH_CONDITION_UNKNOWN;
}
