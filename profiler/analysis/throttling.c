/* SPDX-License-Identifier: MIT */
/* throttling - adds up the throttle records of one core. */
#include "profiler/analysis/throttling.h"

#include <string.h>

const char *ntk_throttle_type_name(unsigned type)
{
    static const char *const names[NTK_THROTTLE_TYPES] = {
        "activity_0", "activity_1", "activity_2", "activity_3", "gpio_0",
        "gpio_1",     "gpio_2",     "gpio_3",     "gpio_4",     "gpio_5",
        "gpio_6",     "gpio_7",     "periodic",   "sw_0",       "sw_1",
    };

    return type < NTK_THROTTLE_TYPES ? names[type] : NULL;
}

void ntk_analysis_throttling(const struct ntk_trace_core *core, struct ntk_throttling *out)
{
    memset(out, 0, sizeof *out);
    out->end_ns = core->end_ps / NTK_TRACE_PS_PER_NS;
    for (size_t i = 0; i < core->throttle_count; i++) {
        const struct ntk_trace_throttle *now = &core->throttles[i];
        int64_t until_ps =
            i + 1 < core->throttle_count ? core->throttles[i + 1].time_ps : core->end_ps;
        int64_t duration_ns =
            until_ps > now->time_ps ? (until_ps - now->time_ps) / NTK_TRACE_PS_PER_NS : 0;
        double limit = (double)now->k / now->n;
        if (now->type >= NTK_THROTTLE_TYPES) {
            continue;
        }
        out->is_present = true;
        out->types[now->type].count++;
        out->types[now->type].duration_ns += duration_ns;
        out->types[now->type].limit_ns += (double)duration_ns * limit;
        out->limit_ns += (double)duration_ns * limit;
        out->limited_ns += now->k < now->n ? duration_ns : 0;
    }
}
