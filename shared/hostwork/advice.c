/* SPDX-License-Identifier: MIT */
#include "shared/hostwork/advice.h"

static const struct {
    enum ntk_host_cause cause;
    double threshold;
    const char *text;
} table[] = {
#define NTK_HOST_ADVICE(cause, threshold, text) { NTK_HOST_##cause, threshold, text },
#include "shared/hostwork/advice.def"
};

static const struct ntk_host_row *largest_of(const struct ntk_host_result *result,
                                             enum ntk_host_cause cause)
{
    ntk_vec_each(const struct ntk_host_row, row, &result->rows) {
        if (row->cause == cause) {
            return row;
        }
    }
    return NULL;
}

size_t ntk_host_advise(const struct ntk_host_result *result,
                       struct ntk_host_advice out_advice[NTK_HOST_CAUSE_COUNT])
{
    enum ntk_host_cause order[NTK_HOST_CAUSE_COUNT];
    size_t causes = ntk_host_result_order(result, order);
    size_t count = 0;

    if ((double)result->idle_ns <= NTK_HOST_ADVICE_IDLE * (double)result->held_ns) {
        return 0;
    }
    for (size_t i = 0; i < causes; i++) {
        double share = (double)result->causes[order[i]].ns / (double)result->idle_ns;
        for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
            if (table[k].cause == order[i] && share > table[k].threshold) {
                out_advice[count++] = (struct ntk_host_advice){ order[i], share, table[k].text,
                                                                largest_of(result, order[i]) };
            }
        }
    }
    return count;
}
