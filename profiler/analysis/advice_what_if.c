/* SPDX-License-Identifier: MIT */
/* advice_what_if - limits each estimated gain to the result of a simulation with the change
 * (what_if.h), because rules see only one part of the path, and another part may become critical.
 * */
#include "profiler/analysis/advice_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/what_if.h"

/* Maximum size of a capture; for larger captures each change takes seconds. */
#define INSTRUCTIONS_MAX 1000000
/* Tolerance, because times are whole ps. */
#define ROUNDING 1e-4

struct limit {
    size_t item;
    double other_gain;
    char text[64];
};

void ntk_advice_limit(struct ntk_advice_list *list, const struct ntk_advice_item *item,
                      double other_gain, const char *format, ...)
{
    struct limit limit = { .item = list->items.count - 1, .other_gain = other_gain };
    va_list arguments;

    if (!item || !item->has_gain) {
        return;
    }
    if (!list->limits.item_bytes) {
        ntk_vec_init(&list->limits, sizeof(struct limit));
    }
    va_start(arguments, format);
    (void)vsnprintf(limit.text, sizeof limit.text, format, arguments);
    va_end(arguments);
    if (ntk_vec_push(&list->limits, &limit) < 0) {
        list->failed = -ENOMEM;
    }
}

static bool is_too_large(const struct ntk_trace *trace)
{
    size_t count = 0;

    for (size_t c = 0; c < trace->core_count; c++) {
        count += trace->cores[c].instruction_count;
    }
    return count > INSTRUCTIONS_MAX;
}

/* Computes the time for changes; the same changes for several items are computed once. */
static int time_again(const struct ntk_advice_list *list, struct ntk_what_if_changes *changes,
                      int64_t *gains_ps, size_t *of_limits)
{
    const struct ntk_advice_input *input = list->input;
    const struct limit *limits = list->limits.items;
    size_t count = 0;

    for (size_t i = 0; i < list->limits.count; i++) {
        size_t same = 0;
        while (strcmp(limits[same].text, limits[i].text) != 0) {
            same++;
        }
        if (same < i) {
            of_limits[i] = of_limits[same];
            continue;
        }
        struct ntk_what_if_changes *one = &changes[count];
        *one = (struct ntk_what_if_changes){ 0 };
        bool applies = ntk_what_if_changes_add(one, limits[i].text, NULL) == 0 &&
                       ntk_what_if_changes_check(input->program, one, NULL) == 0;
        of_limits[i] = applies ? count++ : SIZE_MAX;
    }
    return ntk_what_if_gains(input->program, input->transfers, changes, count, gains_ps);
}

void ntk_advice_limit_gains(struct ntk_advice_list *list)
{
    const struct ntk_advice_input *input = list->input;
    size_t count = list->limits.count;

    if (list->failed || count == 0 || !input->path || !input->transfers ||
        is_too_large(input->program->trace)) {
        ntk_vec_fini(&list->limits);
        return;
    }
    struct ntk_what_if_changes *changes = calloc(count, sizeof *changes);
    int64_t *gains_ps = calloc(count, sizeof *gains_ps);
    size_t *of_limits = calloc(count, sizeof *of_limits);
    list->failed =
        changes && gains_ps && of_limits ? time_again(list, changes, gains_ps, of_limits) : -ENOMEM;
    for (size_t i = 0; i < count && list->failed == 0; i++) {
        const struct limit *limit = ntk_vec_at(&list->limits, i);
        struct ntk_advice_item *item = ntk_vec_at(&list->items, limit->item);
        if (of_limits[i] != SIZE_MAX) {
            double gain = (double)gains_ps[of_limits[i]] / list->total_ps + limit->other_gain;
            ntk_advice_gain(item, gain + ROUNDING < item->gain ? gain : item->gain,
                            item->gain_bound);
        }
    }
    free(changes);
    free(gains_ps);
    free(of_limits);
    ntk_vec_fini(&list->limits);
}
