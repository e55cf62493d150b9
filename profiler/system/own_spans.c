/* SPDX-License-Identifier: MIT */
#include "profiler/system/own_spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/system/memory_use_name.h"
#include "profiler/system/span_reading.h"
#include "shared/abi/event_abi.h"
#include "shared/base/fs.h"

enum phase {
    PHASE_START,
    PHASE_STOP,
    PHASE_INSTANT,
};

enum {
    IS_SYNC = 1,
    IS_RUN = 2,
    IS_ERROR = 4,
    IS_HARDWARE = 8,
};

/* maximum number of physical cores per logical core: neighbours in their device */
#define CLOCKS_MAX 16U

/* Offset of the host's clock to the clock of each physical core of a logical core; 0 if unknown. */
struct clocks {
    uint32_t nc;
    bool has_sync; /* false: a recording without sync points, where 0 means no clock */
    int64_t ahead_ns[CLOCKS_MAX];
};

struct own_reading {
    struct span_reading base;    /* its trace, spans, and waiting starts */
    struct span_waiting stops;   /* stops that wait for their start */
    struct ntk_vec types, names; /* elements are const char *, from all pieces so far */
    struct ntk_vec flags;        /* elements are uint8_t, by type */
    struct clocks clocks;
    uint32_t last_nc; /* core of the previous piece */
    uint64_t last_lost;
    bool has_piece;
};

static unsigned flags_of(const char *type)
{
    return (strcmp(type, "timestamp_sync_point") == 0 ? IS_SYNC : 0) |
           (strcmp(type, "nc_exec_running") == 0 ? IS_RUN : 0) |
           (strcmp(type, "numerical_err") == 0 ? IS_ERROR : 0) |
           (ntk_system_type_is_hardware(type) ? IS_HARDWARE : 0);
}

static int flags_take(struct own_reading *reading)
{
    while (reading->flags.count < reading->types.count) {
        const char *const *types = reading->types.items;
        uint8_t flags = (uint8_t)flags_of(types[reading->flags.count]);

        if (ntk_vec_push(&reading->flags, &flags) < 0) {
            return -ENOMEM;
        }
    }
    return 0;
}

/* Takes a start or an instant. An error of a run has the time of the core's clock, not the time at
 * which the host noticed it. */
static void clocks_take(struct clocks *clocks, unsigned flags, struct ntk_system_span *span)
{
    if (!(flags & IS_HARDWARE)) {
        return;
    }
    if (clocks->nc != span->nc) {
        *clocks = (struct clocks){ .nc = span->nc };
    }
    int64_t *ahead_ns = &clocks->ahead_ns[span->device_core % CLOCKS_MAX];
    clocks->has_sync = clocks->has_sync || (flags & IS_SYNC);
    span->has_clock_zero = clocks->has_sync && span->device_start_ns == 0;
    if (flags & (IS_SYNC | IS_RUN)) {
        *ahead_ns = (int64_t)(span->start_ns - span->device_start_ns);
    } else if (*ahead_ns && span->device_start_ns && (flags & IS_ERROR)) {
        span->start_ns = span->end_ns = span->device_start_ns + (uint64_t)*ahead_ns;
    }
}

/* Takes texts: the reader owns the texts of a piece, the trace owns texts of spans. */
static int texts_take(struct own_reading *reading, struct ntk_vec *list, char *const *texts,
                      size_t count)
{
    while (list->count < count) {
        char *copy = strdup(texts[list->count]);

        if (!copy || ntk_vec_push(&reading->base.trace->texts, &copy) < 0) {
            free(copy);
            return -ENOMEM;
        }
        if (ntk_vec_push(list, &copy) < 0) {
            return -ENOMEM;
        }
    }
    return 0;
}

static struct ntk_system_span span_of(const struct own_reading *reading,
                                      const NtkNtracePb__Core *core, size_t i)
{
    const char *const *types = reading->types.items;
    const char *const *names = reading->names.items;
    const char *type = types[core->event_type[i]];
    const char *name = core->name[i] > 0 ? names[core->name[i] - 1] : "";

    return (struct ntk_system_span){
        .type = type,
        .name = strncmp(type, "nrt_dma_mem_", 12) == 0 ? ntk_memory_use_name(name) : name,
        .start_ns = core->timestamp_ns[i],
        .end_ns = core->timestamp_ns[i],
        .is_instant = core->phase[i] == PHASE_INSTANT,
        .is_partial = core->phase[i] != PHASE_INSTANT, /* until its other end is found */
        .tracking_id = core->tracking_id[i],
        .exec_id = core->exec_id[i],
        .device_start_ns = core->nc_timestamp_ns[i],
        .device_end_ns = core->nc_timestamp_ns[i],
        .bytes = core->size[i],
        .model_id = core->model_id[i],
        .thread_id = core->thread_id[i],
        .nc = core->nc_idx,
        .worker = core->worker_gid,
        .device_core = core->device_core_idx[i],
        .stack = core->hbm_idx[i],
        .queue = core->n_queue ? core->queue[i] : 0,
        .operation = core->n_operation && core->operation[i] <= NTK_COLLECTIVE_COUNT
                         ? (uint8_t)core->operation[i]
                         : 0,
        .parent = NTK_SYSTEM_NO_PARENT,
    };
}

static void span_end(struct ntk_system_span *span, const struct ntk_system_span *stop)
{
    span->is_partial = false;
    span->end_ns = stop->end_ns;
    span->device_end_ns = stop->device_end_ns;
    ntk_system_span_join(span);
    if (span->exec_id == 0) {
        span->exec_id = stop->exec_id;
    }
    if (span->bytes == 0) {
        span->bytes = stop->bytes;
    }
    if (span->model_id == 0 && stop->model_id) {
        span->model_id = stop->model_id;
        span->name = stop->name;
    }
}

/* Removes and returns the waiting span with this number; NULL if none. */
static struct ntk_system_span *waiting_take(struct own_reading *reading,
                                            struct span_waiting *waiting, uint64_t tracking_id)
{
    struct ntk_system_span *spans = reading->base.spans.items;
    struct span_slot *slot =
        waiting->count > 0 ? ntk_span_waiting_find(waiting, tracking_id) : NULL;

    if (!slot || !slot->span) {
        return NULL;
    }
    struct ntk_system_span *span = &spans[slot->span - 1];
    ntk_span_waiting_remove(waiting, slot);
    return span;
}

/* Adds the span; one end of a longer span waits for the other. If two have the same number, the
 * first keeps waiting; beyond the limit, both ends remain separate. */
static int span_add(struct own_reading *reading, const struct ntk_system_span *span,
                    struct span_waiting *waiting)
{
    int failed = 0;
    struct ntk_system_span *added = ntk_long_list_add(&reading->base.spans, &failed);

    if (!added) {
        return failed;
    }
    *added = *span;
    struct span_slot *slot = waiting ? ntk_span_waiting_find(waiting, span->tracking_id) : NULL;
    if (slot && !slot->span) {
        (void)ntk_span_waiting_put(waiting, slot, span->tracking_id, reading->base.spans.count - 1);
    }
    return waiting && !slot ? -ENOMEM : 0;
}

static int event_take(struct own_reading *reading, const NtkNtracePb__Core *core, size_t i)
{
    struct ntk_system_span span = span_of(reading, core, i);
    struct ntk_system_span *other = NULL;

    if (core->phase[i] != PHASE_STOP) {
        const uint8_t *flags = reading->flags.items;

        clocks_take(&reading->clocks, flags[core->event_type[i]], &span);
    }
    if (core->phase[i] == PHASE_INSTANT) {
        return span_add(reading, &span, NULL);
    }
    if (core->phase[i] == PHASE_STOP) {
        other = waiting_take(reading, &reading->base.waiting, span.tracking_id);
        if (other) {
            span_end(other, &span);
        }
        return other ? 0 : span_add(reading, &span, &reading->stops);
    }
    other = waiting_take(reading, &reading->stops, span.tracking_id);
    if (other) {
        span_end(&span, other);
        *other = span;
    }
    return other ? 0 : span_add(reading, &span, &reading->base.waiting);
}

/* Takes lost events. Pieces of one core have running totals, so the last one is used. */
static void lost_take(struct own_reading *reading, const NtkNtracePb__Core *core)
{
    if (reading->has_piece && reading->last_nc != core->nc_idx) {
        reading->base.trace->lost += reading->last_lost;
    }
    reading->has_piece = true;
    reading->last_nc = core->nc_idx;
    reading->last_lost = core->lost;
}

static int piece_take(const NtkNtracePb__Trace *piece, void *ctx)
{
    struct own_reading *reading = ctx;
    const NtkNtracePb__Core *core = piece->cores[0];
    int ret = texts_take(reading, &reading->types, piece->event_types, piece->n_event_types);

    ret = ret == 0 ? flags_take(reading) : ret;
    ret = ret == 0 ? texts_take(reading, &reading->names, piece->names, piece->n_names) : ret;
    lost_take(reading, core);
    for (size_t i = 0; i < core->n_tracking_id && ret == 0; i++) {
        ret = event_take(reading, core, i);
        if (reading->base.spans.count % NTK_SPAN_PASS == 0) {
            ntk_long_list_give_back(&reading->base.spans);
        }
    }
    return ret;
}

int ntk_own_spans(const char *path, struct ntk_system_trace *trace, struct ntk_err *err)
{
    struct own_reading *reading = calloc(1, sizeof *reading);

    if (!reading) {
        return ntk_err_no_memory(err);
    }
    ntk_span_reading_init(&reading->base, trace, err);
    reading->clocks.nc = UINT32_MAX;
    ntk_vec_init(&reading->types, sizeof(char *));
    ntk_vec_init(&reading->flags, sizeof(uint8_t));
    ntk_vec_init(&reading->names, sizeof(char *));
    int ret = ntk_ntrace_each(path, piece_take, reading, err);
    if (ret < 0 && !err->text[0]) {
        ntk_long_list_err_set(err, ret, ntk_fs_temporary_folder());
    }
    if (ret >= 0) {
        int sorted = ntk_span_reading_sort(&reading->base);

        trace->lost += reading->last_lost;
        ret = sorted < 0 ? sorted : ret;
    } else {
        trace->lost = 0; /* same as a missing file */
    }
    ntk_span_reading_fini(&reading->base);
    ntk_span_waiting_fini(&reading->stops);
    ntk_vec_fini(&reading->types);
    ntk_vec_fini(&reading->flags);
    ntk_vec_fini(&reading->names);
    free(reading);
    return ret;
}
