/* SPDX-License-Identifier: MIT */
/* slice - finds the rows of each list by binary search, because lists are sorted by start. */
#include "profiler/trace/slice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/trace/long_list.h"

#define LISTS 4 /* of a core */

struct slice {
    const struct ntk_trace *trace;
    int64_t from_ps, to_ps;
};

/* The first member of each row is its start. */
static size_t first_at(const char *items, size_t count, size_t item_bytes, int64_t time_ps)
{
    size_t low = 0;

    for (size_t high = count; low < high;) {
        size_t middle = low + (high - low) / 2;
        int64_t start_ps;
        memcpy(&start_ps, items + middle * item_bytes, sizeof start_ps);
        if (start_ps < time_ps) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Copies the rows that start in the slice. Returns the number of rows, or -errno. */
static int copy_rows(const struct slice *slice, const void *items, size_t count, size_t item_bytes,
                     void **out_items, size_t *out_count, bool *out_is_mapped)
{
    size_t first = first_at(items, count, item_bytes, slice->from_ps);
    size_t end = first_at(items, count, item_bytes, slice->to_ps);
    struct ntk_long_list list;

    ntk_long_list_init(&list, slice->trace, item_bytes, LISTS);
    int ret = end > first ? ntk_long_list_resize(&list, end - first) : 0;
    if (ret < 0 || end <= first) {
        return ret;
    }
    memcpy(list.items, (const char *)items + first * item_bytes, (end - first) * item_bytes);
    if (list.is_mapped) {
        close(list.fd); /* the mapping stays */
    }
    *out_items = list.items;
    *out_count = list.count;
    *out_is_mapped = list.is_mapped;
    return 0;
}

static void shift(const struct slice *slice, struct ntk_trace_core *core)
{
    int64_t length_ps = slice->to_ps - slice->from_ps;

    for (size_t i = 0; i < core->instruction_count; i++) {
        struct ntk_trace_instruction *one = &core->instructions[i];
        one->start_ps -= slice->from_ps;
        one->end_ps -= slice->from_ps;
        one->end_ps = one->end_ps > length_ps ? length_ps : one->end_ps;
        core->end_ps = one->end_ps > core->end_ps ? one->end_ps : core->end_ps;
    }
    for (size_t i = 0; i < core->packet_count; i++) {
        struct ntk_trace_packet *one = &core->packets[i];
        one->start_ps -= slice->from_ps;
        one->end_ps -= slice->from_ps;
        one->end_ps = one->end_ps > length_ps ? length_ps : one->end_ps;
    }
    for (size_t i = 0; i < core->event_count; i++) {
        core->events[i].time_ps -= slice->from_ps;
    }
    for (size_t i = 0; i < core->throttle_count; i++) {
        core->throttles[i].time_ps -= slice->from_ps;
    }
}

static int copy_core(const struct slice *slice, const struct ntk_trace_core *from,
                     struct ntk_trace_core *to)
{
    *to = (struct ntk_trace_core){ .ntff = from->ntff,
                                   .neff = from->neff,
                                   .t0_ps = from->t0_ps + slice->from_ps,
                                   .is_cut = from->is_cut };
    int ret =
        copy_rows(slice, from->instructions, from->instruction_count, sizeof *from->instructions,
                  (void **)&to->instructions, &to->instruction_count, &to->is_mapped.instructions);
    ret = ret ? ret
              : copy_rows(slice, from->packets, from->packet_count, sizeof *from->packets,
                          (void **)&to->packets, &to->packet_count, &to->is_mapped.packets);
    ret = ret ? ret
              : copy_rows(slice, from->events, from->event_count, sizeof *from->events,
                          (void **)&to->events, &to->event_count, &to->is_mapped.events);
    ret = ret ? ret
              : copy_rows(slice, from->throttles, from->throttle_count, sizeof *from->throttles,
                          (void **)&to->throttles, &to->throttle_count, &to->is_mapped.throttles);
    shift(slice, to);
    return ret;
}

int ntk_trace_slice_create(const struct ntk_trace *trace, int64_t from_ps, int64_t to_ps,
                           struct ntk_trace **out_slice)
{
    const struct slice slice = { trace, from_ps, to_ps ? to_ps : INT64_MAX };
    struct ntk_trace *copy = calloc(1, sizeof *copy);
    int ret = copy ? 0 : -ENOMEM;

    if (ret == 0) {
        *copy = *trace;
        copy->cores = calloc(trace->core_count + 1, sizeof *copy->cores);
        copy->core_count = copy->cores ? trace->core_count : 0;
        copy->total_ps = (to_ps ? to_ps : trace->total_ps) - from_ps;
        copy->part.total_ps = copy->part.to_ps = copy->total_ps;
        ret = copy->cores ? 0 : -ENOMEM;
    }
    for (size_t c = 0; ret == 0 && c < trace->core_count; c++) {
        ret = copy_core(&slice, &trace->cores[c], &copy->cores[c]);
    }
    if (ret < 0) {
        ntk_trace_destroy(copy);
        return ret;
    }
    *out_slice = copy;
    return 0;
}
