/* SPDX-License-Identifier: MIT */
/* model_pace - keeps windows of shared/metrics/ranks_pace and their last verdicts. */
#include "top/model/model_pace.h"

#include <errno.h>
#include <stdlib.h>

#include "shared/base/clock.h"
#include "shared/metrics/ranks_pace.h"

#define WINDOW_NS (5 * NTK_NS_PER_SECOND) /* default of neuron-monitor slow */
/* maximum number of slow ranks, one per communicator; further ones have no mark */
#define SLOW_MAX 64

struct slow_rank {
    uint64_t key;
    uint32_t rank;
};

struct ntk_top_pace {
    struct ntk_pace window;
    uint64_t window_ns;
    uint64_t last_ns; /* time of the last snapshot */
    size_t slow_count;
    struct slow_rank slow[SLOW_MAX];
};

void ntk_top_pace_fini(struct ntk_top_pace *pace)
{
    if (pace) {
        ntk_pace_fini(&pace->window);
        free(pace);
    }
}

int ntk_top_pace_dup(const struct ntk_top_pace *pace, struct ntk_top_pace **out_copy)
{
    struct ntk_top_pace *copy = pace ? malloc(sizeof *copy) : NULL;

    *out_copy = copy;
    if (!copy) {
        return pace ? -ENOMEM : 0;
    }
    *copy = *pace;
    ntk_pace_init(&copy->window);
    copy->window_ns = 0;
    return 0;
}

static bool has_ranks(const struct ntk_snapshot *snapshot)
{
    for (size_t r = 0; r < snapshot->runtime_count; r++) {
        if (snapshot->runtimes[r].rank_count > 0) {
            return true;
        }
    }
    return false;
}

static void begin_window(struct ntk_top_pace *pace)
{
    ntk_pace_clear(&pace->window);
    pace->window_ns = 0;
}

static void take_verdicts(struct ntk_top_pace *pace)
{
    pace->slow_count = 0;
    ntk_vec_each(const struct ntk_pace_verdict, verdict, &pace->window.verdicts) {
        if (verdict->slow && pace->slow_count < SLOW_MAX) {
            pace->slow[pace->slow_count++] =
                (struct slow_rank){ verdict->key, verdict->slow->rank };
        }
    }
}

int ntk_top_model_pace_observe(struct ntk_top_model *model)
{
    const struct ntk_snapshot *snapshot = model->snapshot;
    struct ntk_top_pace *pace = model->watch.pace;

    if (!pace && !has_ranks(snapshot)) {
        return 0;
    }
    if (!pace) {
        pace = calloc(1, sizeof *pace);
        if (!pace) {
            return -ENOMEM;
        }
        ntk_pace_init(&pace->window);
        model->watch.pace = pace;
    }
    if (snapshot->realtime_ns < pace->last_ns) { /* a recording was rewound */
        begin_window(pace);
        pace->slow_count = 0;
    }
    pace->last_ns = snapshot->realtime_ns;
    pace->window_ns += snapshot->period_ns;
    int ret = ntk_pace_add(&pace->window, snapshot, "");
    if (ret == 0 && pace->window_ns >= WINDOW_NS) {
        ret = ntk_pace_judge(&pace->window);
        if (ret == 0) {
            take_verdicts(pace);
        }
        begin_window(pace);
    }
    return ret;
}

bool ntk_top_model_pace_is_slow(const struct ntk_top_model *model, uint64_t key, uint32_t rank)
{
    const struct ntk_top_pace *pace = model->watch.pace;

    for (size_t i = 0; pace && i < pace->slow_count; i++) {
        if (pace->slow[i].key == key && pace->slow[i].rank == rank) {
            return true;
        }
    }
    return false;
}
