/* SPDX-License-Identifier: MIT */
/* monitor_config - holds the reported groups, their applications and periods. */
#include "agent/report/monitor_config.h"

#include <stdlib.h>
#include <string.h>

void ntk_monitor_config_init(struct ntk_monitor_config *config)
{
    memset(config, 0, sizeof *config);
    for (int i = 0; i < NTK_SYSTEM_GROUP_COUNT; i++) {
        config->system_period[i] = NTK_MONITOR_NOT_ASKED;
    }
}

void ntk_monitor_config_fini(struct ntk_monitor_config *config)
{
    for (size_t i = 0; i < config->filter_count; i++) {
        if (config->filters[i].kind == NTK_MONITOR_FILTER_TAG) {
            regfree(&config->filters[i].tag_regex);
        }
        free(config->filters[i].address);
    }
    ntk_monitor_config_init(config);
}

void ntk_monitor_config_default(struct ntk_monitor_config *config, uint64_t period_ns)
{
    ntk_monitor_config_init(config);
    config->periods_ns[0] = period_ns;
    config->period_count = 1;
    config->filters[0].kind = NTK_MONITOR_FILTER_ALL; /* every group in it has period 0 */
    config->filter_count = 1;
    for (int i = 0; i < NTK_SYSTEM_GROUP_COUNT; i++) {
        config->system_period[i] = i == NTK_SYSTEM_GROUP_SELF ? NTK_MONITOR_NOT_ASKED : 0;
    }
}

void ntk_monitor_config_set_period(struct ntk_monitor_config *config, uint64_t period_ns)
{
    for (size_t i = 0; i < config->filter_count; i++) {
        for (int k = 0; k < NTK_RUNTIME_GROUP_COUNT; k++) {
            if (config->filters[i].groups.period[k] != NTK_MONITOR_NOT_ASKED) {
                config->filters[i].groups.period[k] = 0;
            }
        }
    }
    for (int k = 0; k < NTK_SYSTEM_GROUP_COUNT; k++) {
        if (config->system_period[k] != NTK_MONITOR_NOT_ASKED) {
            config->system_period[k] = 0;
        }
    }
    config->periods_ns[0] = period_ns;
    config->period_count = 1;
}

int ntk_monitor_config_shorter(const struct ntk_monitor_config *config, int a, int b)
{
    if (a == NTK_MONITOR_NOT_ASKED || b == NTK_MONITOR_NOT_ASKED) {
        return a == NTK_MONITOR_NOT_ASKED ? b : a;
    }
    return config->periods_ns[a] <= config->periods_ns[b] ? a : b;
}

static bool is_match(const struct ntk_monitor_filter *filter, const char *tag)
{
    switch (filter->kind) {
    case NTK_MONITOR_FILTER_TAG:
        return regexec(&filter->tag_regex, tag, 0, NULL, 0) == 0;
    case NTK_MONITOR_FILTER_ADDRESS:
        return !strcmp(filter->address, tag);
    default:
        return true;
    }
}

bool ntk_monitor_config_match(const struct ntk_monitor_config *config, const char *tag,
                              struct ntk_monitor_runtime_groups *out_groups)
{
    bool found = false;

    out_groups->by_address = false;
    for (int k = 0; k < NTK_RUNTIME_GROUP_COUNT; k++) {
        out_groups->period[k] = NTK_MONITOR_NOT_ASKED;
    }
    for (size_t i = 0; i < config->filter_count; i++) {
        const struct ntk_monitor_filter *filter = &config->filters[i];
        if (!is_match(filter, tag)) {
            continue;
        }
        found = true;
        out_groups->by_address |= filter->kind == NTK_MONITOR_FILTER_ADDRESS;
        for (int k = 0; k < NTK_RUNTIME_GROUP_COUNT; k++) {
            out_groups->period[k] =
                ntk_monitor_config_shorter(config, out_groups->period[k], filter->groups.period[k]);
        }
    }
    return found;
}
