/* SPDX-License-Identifier: MIT */
/* Any bytes as a configuration file: rejected, or accepted and queried. */
#include <stdint.h>
#include <stdlib.h>

#include "agent/report/monitor_config.h"
#include "shared/base/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ntk_monitor_config config;
    struct ntk_monitor_runtime_groups groups;
    struct ntk_err err = { 0 };

    ntk_log_set_level(NTK_LOG_ERROR);
    if (ntk_monitor_config_parse(&config, (const char *)data, size, &err) < 0) {
        if (err.text[0] == '\0') {
            abort(); /* a rejection has a message */
        }
        return 0;
    }
    if (config.period_count == 0 || config.period_count > NTK_MONITOR_PERIODS_MAX) {
        abort();
    }
    ntk_monitor_config_match(&config, "bert-serve", &groups);
    ntk_monitor_config_match(&config, "", &groups);
    ntk_monitor_config_set_period(&config, NTK_NS_PER_SECOND);
    ntk_monitor_config_fini(&config);
    return 0;
}
