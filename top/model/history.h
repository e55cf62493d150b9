/* SPDX-License-Identifier: MIT */
/*
 * history - stores measurements by time: several series in bounded memory.
 *
 * Time is divided into slots by the clock, not by samples: a value holds for its period, and every
 * slot keeps the time-weighted mean of its values. So the refresh rate changes no graph, a time
 * without a measurement stays empty, and a recording may be read in any direction: data that was
 * seen already is not added again. Three grains of slots reach a quarter of an hour, two hours and
 * a day back; each overwrites its oldest.
 *
 * Owner: init / fini. Threads: one.
 */
#ifndef NTK_TOP_MODEL_HISTORY_H
#define NTK_TOP_MODEL_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NTK_TOP_HISTORY_GRAINS 3

struct ntk_top_history_value {
    float mean;
    float known; /* known share of the slot; 0 if nothing is known */
};

struct ntk_top_history_grain {
    uint64_t *slots;                      /* number of the slot since 1970, by position */
    struct ntk_top_history_value *values; /* indexed by slot, then series */
};

struct ntk_top_history {
    size_t series_count;
    struct ntk_top_history_grain grains[NTK_TOP_HISTORY_GRAINS];
};

/* Accepts a zeroed struct, which has no series. */
void ntk_top_history_fini(struct ntk_top_history *history);
/* Drops all data. Returns 0 or -ENOMEM; after -ENOMEM, no series is left. */
int ntk_top_history_reset(struct ntk_top_history *history, size_t series_count);
/* Adds series_count values for the period that ends at end_ns (since 1970); NAN is unknown. */
void ntk_top_history_add(struct ntk_top_history *history, uint64_t end_ns, uint64_t period_ns,
                         const float *values);
/* Same, for a time before the shown moment: data nearer to that moment is not overwritten. */
void ntk_top_history_add_past(struct ntk_top_history *history, uint64_t end_ns, uint64_t period_ns,
                              uint64_t shown_ns, const float *values);
/*
 * Reads into out[0 .. count) the mean of each of the count equal parts of span_ns before end_ns,
 * NAN if unknown. Parts begin at multiples of their length, so that they stay the same while the
 * end moves; the last one includes the end.
 */
void ntk_top_history_read(const struct ntk_top_history *history, size_t series, uint64_t end_ns,
                          uint64_t span_ns, size_t count, float *out);

#endif
