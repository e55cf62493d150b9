/* SPDX-License-Identifier: MIT */
/* span_order - sorts spans of a trace by start, complete and partial ones. */
#include "profiler/system/span_reading.h"
#include "profiler/trace/sorter.h"
#include "shared/base/fs.h"
#include "shared/base/order.h"

#define SORTER_BYTES ((size_t)24 << 20)

struct item { /* item of the sorter */
    int64_t start_ns;
    uint64_t tracking_id;
    uint64_t span;
    uint64_t whole_start_ns; /* allows sorting of times beyond INT64_MAX */
};

NTK_ORDER(item_compare, struct item, NTK_UP(whole_start_ns) NTK_UP(tracking_id));

/* Drops stops without a start; a start without a stop lasts until the end of the trace. */
static int spans_end(struct span_reading *reading, struct ntk_sorter *sorter)
{
    struct ntk_system_span *spans = reading->spans.items;
    uint64_t end_ns = reading->trace->vendor ? reading->trace->vendor->end_ns : 0;

    for (size_t i = 0; i < reading->spans.count; i++) {
        struct ntk_system_span *span = &spans[i];

        if (i % NTK_SPAN_PASS == NTK_SPAN_PASS - 1) {
            ntk_long_list_give_back(&reading->spans);
        }
        if (span->type && span->is_partial && span->is_instant) {
            reading->no_start++;
            span->type = NULL;
        }
        if (!span->type) {
            continue;
        }
        if (span->is_partial && end_ns > span->start_ns) {
            span->end_ns = end_ns;
        }
        struct item *item = ntk_sorter_add(sorter);
        if (!item) {
            return sorter->failed;
        }
        *item = (struct item){ .start_ns = span->start_ns <= INT64_MAX ? (int64_t)span->start_ns
                                                                       : INT64_MAX,
                               .tracking_id = span->tracking_id,
                               .span = i,
                               .whole_start_ns = span->start_ns };
    }
    return 0;
}

static int spans_copy(struct span_reading *reading, const struct ntk_sorted *sorted)
{
    struct ntk_system_trace *trace = reading->trace;
    const struct item *items = sorted->items;
    const struct ntk_system_span *from = reading->spans.items;
    int ret = ntk_long_list_resize(&trace->span_list, sorted->count > 0 ? sorted->count : 1);

    if (ret < 0) {
        return ret;
    }
    trace->spans = trace->span_list.items;
    for (size_t i = 0; i < sorted->count; i++) {
        trace->spans[i] = from[items[i].span];
        if (i % NTK_SPAN_PASS == NTK_SPAN_PASS - 1) {
            ntk_long_list_give_back(&reading->spans);
            ntk_long_list_give_back(&trace->span_list);
            ntk_long_items_give_back(sorted->items, sorted->count * sizeof *items,
                                     sorted->is_mapped);
        }
    }
    trace->span_count = sorted->count;
    return 0;
}

static void list_init(struct ntk_long_list *list)
{
    *list = (struct ntk_long_list){ .item_bytes = sizeof(struct ntk_system_span),
                                    .heap_bytes_max = NTK_SPAN_HEAP_BYTES,
                                    .folder = ntk_fs_temporary_folder() };
}

void ntk_span_reading_init(struct span_reading *reading, struct ntk_system_trace *trace,
                           struct ntk_err *err)
{
    *reading = (struct span_reading){ .trace = trace, .err = err };
    list_init(&reading->spans);
    list_init(&trace->span_list);
}

void ntk_span_reading_fini(struct span_reading *reading)
{
    ntk_long_list_fini(&reading->spans);
    ntk_span_waiting_fini(&reading->waiting);
}

int ntk_span_reading_sort(struct span_reading *reading)
{
    struct ntk_sorter sorter;
    struct ntk_sorted sorted = { 0 };
    const char *folder = ntk_fs_temporary_folder();

    ntk_sorter_init(&sorter, sizeof(struct item), item_compare, SORTER_BYTES, folder);
    int ret = spans_end(reading, &sorter);
    ret = ret < 0 && ret != sorter.failed
              ? ret
              : ntk_sorter_finish(&sorter, SORTER_BYTES, &sorted, reading->err);
    if (ret == 0) {
        ret = spans_copy(reading, &sorted);
        if (ret < 0) {
            ntk_long_list_err_set(reading->err, ret, folder);
        }
    }
    ntk_sorted_fini(&sorted, sizeof(struct item));
    ntk_sorter_fini(&sorter);
    return ret;
}
