/* SPDX-License-Identifier: MIT */
/*
 * history - what was measured, by time: a bounded memory of some number of series.
 *
 * Time is cut into slots that lie where the clock says, not where samples came: a value holds for
 * the period that it was measured over, and every slot keeps the mean by time of what fell into it.
 * So refreshing faster or slower changes no graph, a time without a measurement stays empty, and a
 * recording may be walked in any direction: what was seen already is not added again. Three grains
 * of slots reach a quarter of an hour, two hours and a day back; each overwrites its oldest.
 *
 * Owner:   init / fini. Threads: one.
 */
#ifndef NTK_TOP_MODEL_HISTORY_H
#define NTK_TOP_MODEL_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NTK_TOP_HISTORY_GRAINS 3

struct ntk_top_history_value {
    float mean;
    float known; /* share of the slot that it is of; 0: nothing is known */
};

struct ntk_top_history_grain {
    uint64_t *slots;                      /* number since 1970 of the slot that is there */
    struct ntk_top_history_value *values; /* by slot, then series */
};

struct ntk_top_history {
    size_t series_count;
    struct ntk_top_history_grain grains[NTK_TOP_HISTORY_GRAINS];
};

/* Zeroed is fine too: it has no series. */
void ntk_top_history_fini(struct ntk_top_history *history);
/* Forgets everything. 0 or -ENOMEM, which leaves it without series. */
int ntk_top_history_reset(struct ntk_top_history *history, size_t series_count);
/* series_count values that hold for the period that ends at end_ns (since 1970); NAN is
 * unknown. */
void ntk_top_history_add(struct ntk_top_history *history, uint64_t end_ns, uint64_t period_ns,
                         const float *values);
/* The same of a time before the moment that is shown: what is nearer to that is not overwritten. */
void ntk_top_history_add_past(struct ntk_top_history *history, uint64_t end_ns, uint64_t period_ns,
                              uint64_t shown_ns, const float *values);
/*
 * out[0 .. count) is the mean of each of the count equal parts of span_ns before end_ns, NAN where
 * nothing is known. Parts begin at multiples of their length, so that they stay as they are while
 * the end moves on; the last one holds the end.
 */
void ntk_top_history_read(const struct ntk_top_history *history, size_t series, uint64_t end_ns,
                          uint64_t span_ns, size_t count, float *out);

#endif
