/* SPDX-License-Identifier: MIT */
#include "shared/metrics/stuck.h"

#include <errno.h>

#include "shared/base/order.h"
#include "shared/metrics/ranks.h"

void ntk_stuck_init(struct ntk_stuck *stuck)
{
    ntk_vec_init(&stuck->rows, sizeof(struct ntk_stuck_row));
    stuck->running = 0;
}

void ntk_stuck_fini(struct ntk_stuck *stuck)
{
    ntk_vec_fini(&stuck->rows);
}

/* Returns true if other ranks take part in the runtime's execution. */
static bool runs_with_others(const struct ntk_runtime_sample *runtime)
{
    for (size_t i = 0; i < runtime->rank_count; i++) {
        if (runtime->ranks[i].model_id != 0 && runtime->ranks[i].in_flight > 0) {
            return true;
        }
    }
    return false;
}

int ntk_stuck_add(struct ntk_stuck *stuck, const struct ntk_snapshot *snapshot, const char *host,
                  uint64_t threshold_ns)
{
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];

        if (runtime->ended || runs_with_others(runtime)) {
            continue;
        }
        for (size_t c = 0; c < runtime->core_count; c++) {
            const struct ntk_core_sample *core = &runtime->cores[c];
            struct ntk_stuck_row row = { .host = host, .runtime = runtime, .core = core };

            row.threshold_ns = threshold_ns > 0
                                   ? threshold_ns
                                   : ntk_ranks_limit(core->longest_ns, &row.is_learned);
            stuck->running += core->running_ns > 0;
            if (core->running_ns > 0 &&
                (stuck->longest_ns == 0 ||
                 (double)core->running_ns / (double)row.threshold_ns >
                     (double)stuck->longest_ns / (double)stuck->longest_threshold_ns)) {
                stuck->longest_ns = core->running_ns;
                stuck->longest_threshold_ns = row.threshold_ns;
            }
            if (core->running_ns > row.threshold_ns && ntk_vec_push(&stuck->rows, &row) < 0) {
                return -ENOMEM;
            }
        }
    }
    return 0;
}

NTK_ORDER(compare, struct ntk_stuck_row, NTK_DOWN(core->running_ns));

void ntk_stuck_sort(struct ntk_stuck *stuck)
{
    ntk_vec_sort(&stuck->rows, compare);
}
