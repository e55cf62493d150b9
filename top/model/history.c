/* SPDX-License-Identifier: MIT */
/* history - stores rings of slots, each with its number, so that an old slot is not mistaken for a
 * new one. */
#include "top/model/history.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "shared/base/clock.h"

#define NO_SLOT UINT64_MAX
#define FULL 0.999f /* share above which a slot counts as completely known */

static const struct {
    uint64_t slot_ns;
    uint64_t count;
} shapes[NTK_TOP_HISTORY_GRAINS] = {
    { NTK_NS_PER_SECOND, UINT64_C(960) },
    { 10 * NTK_NS_PER_SECOND, UINT64_C(768) },
    { 120 * NTK_NS_PER_SECOND, UINT64_C(768) },
};

void ntk_top_history_fini(struct ntk_top_history *history)
{
    for (int g = 0; g < NTK_TOP_HISTORY_GRAINS; g++) {
        free(history->grains[g].slots);
        free(history->grains[g].values);
        history->grains[g] = (struct ntk_top_history_grain){ NULL, NULL };
    }
    history->series_count = 0;
}

static int allocate(struct ntk_top_history *history, size_t series_count)
{
    for (int g = 0; g < NTK_TOP_HISTORY_GRAINS && series_count > 0; g++) {
        struct ntk_top_history_grain *grain = &history->grains[g];

        /* Pages that were never written take no memory. */
        grain->slots = calloc(shapes[g].count, sizeof *grain->slots);
        grain->values = calloc(shapes[g].count * series_count, sizeof *grain->values);
        if (!grain->slots || !grain->values) {
            return -ENOMEM;
        }
        for (uint64_t i = 0; i < shapes[g].count; i++) {
            grain->slots[i] = NO_SLOT;
        }
    }
    history->series_count = series_count;
    return 0;
}

int ntk_top_history_reset(struct ntk_top_history *history, size_t series_count)
{
    struct ntk_top_history made = { 0 };

    if (allocate(&made, series_count) < 0) {
        ntk_top_history_fini(&made);
        ntk_top_history_fini(history);
        return -ENOMEM;
    }
    ntk_top_history_fini(history);
    *history = made;
    return 0;
}

/* Returns the values of a slot, cleared if they belonged to another time. */
static struct ntk_top_history_value *take_slot(struct ntk_top_history *history, int g,
                                               uint64_t slot)
{
    struct ntk_top_history_grain *grain = &history->grains[g];
    uint64_t place = slot % shapes[g].count;
    struct ntk_top_history_value *values = grain->values + place * history->series_count;

    if (grain->slots[place] != slot) {
        grain->slots[place] = slot;
        for (size_t s = 0; s < history->series_count; s++) {
            values[s] = (struct ntk_top_history_value){ 0 };
        }
    }
    return values;
}

static void add_to_slot(struct ntk_top_history_value *values, size_t count, const float *add,
                        float share)
{
    for (size_t s = 0; s < count; s++) {
        float room = 1 - values[s].known;
        float part = share < room ? share : room;

        if (isnan(add[s]) || values[s].known >= FULL) {
            continue;
        }
        values[s].mean =
            (values[s].mean * values[s].known + add[s] * part) / (values[s].known + part);
        values[s].known += part;
    }
}

/* Returns true if the slot already has data that is closer to the shown moment, and not after
 * it. */
static bool is_nearer(uint64_t there, uint64_t slot, uint64_t shown_slot)
{
    return there != NO_SLOT && there > slot && there <= shown_slot;
}

static void add(struct ntk_top_history *history, uint64_t end_ns, uint64_t period_ns,
                uint64_t shown_ns, const float *values)
{
    uint64_t start_ns = end_ns > period_ns ? end_ns - period_ns : 0;

    for (int g = 0; g < NTK_TOP_HISTORY_GRAINS && history->series_count > 0; g++) {
        uint64_t slot_ns = shapes[g].slot_ns;
        uint64_t first = start_ns / slot_ns;
        uint64_t last = end_ns / slot_ns;

        if (last - first >= shapes[g].count) {
            first = last - shapes[g].count + 1;
        }
        for (uint64_t slot = first; slot <= last; slot++) {
            uint64_t from = slot * slot_ns > start_ns ? slot * slot_ns : start_ns;
            uint64_t to = (slot + 1) * slot_ns < end_ns ? (slot + 1) * slot_ns : end_ns;
            uint64_t there = history->grains[g].slots[slot % shapes[g].count];

            if (to > from && !is_nearer(there, slot, shown_ns / slot_ns)) {
                add_to_slot(take_slot(history, g, slot), history->series_count, values,
                            (float)(to - from) / (float)slot_ns);
            }
        }
    }
}

void ntk_top_history_add(struct ntk_top_history *history, uint64_t end_ns, uint64_t period_ns,
                         const float *values)
{
    add(history, end_ns, period_ns, 0, values);
}

void ntk_top_history_add_past(struct ntk_top_history *history, uint64_t end_ns, uint64_t period_ns,
                              uint64_t shown_ns, const float *values)
{
    add(history, end_ns, period_ns, shown_ns, values);
}

/* Returns the finest grain that reaches back that far. */
static int grain_of(uint64_t span_ns)
{
    int g = 0;

    while (g + 1 < NTK_TOP_HISTORY_GRAINS && shapes[g].slot_ns * (shapes[g].count - 1) < span_ns) {
        g++;
    }
    return g;
}

static float mean_of(const struct ntk_top_history *history, int g, size_t series, uint64_t from_ns,
                     uint64_t to_ns)
{
    const struct ntk_top_history_grain *grain = &history->grains[g];
    float sum = 0;
    float known = 0;

    for (uint64_t slot = from_ns / shapes[g].slot_ns; slot <= (to_ns - 1) / shapes[g].slot_ns;
         slot++) {
        uint64_t place = slot % shapes[g].count;
        const struct ntk_top_history_value *value =
            &grain->values[place * history->series_count + series];

        if (grain->slots[place] == slot && value->known > 0) {
            sum += value->mean * value->known;
            known += value->known;
        }
    }
    return known > 0 ? sum / known : NAN;
}

void ntk_top_history_read(const struct ntk_top_history *history, size_t series, uint64_t end_ns,
                          uint64_t span_ns, size_t count, float *out)
{
    uint64_t part_ns = count > 0 ? span_ns / count : 0;
    uint64_t last = part_ns > 0 && end_ns > 0 ? (end_ns - 1) / part_ns : 0;
    int g = grain_of(span_ns);

    for (size_t i = 0; i < count; i++) {
        uint64_t back = count - 1 - i;

        out[i] =
            series < history->series_count && part_ns > 0 && last >= back
                ? mean_of(history, g, series, (last - back) * part_ns, (last - back + 1) * part_ns)
                : NAN;
    }
}
