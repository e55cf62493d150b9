/* SPDX-License-Identifier: MIT */
/* vendor_spans - pairs the records of the vendor's ntrace.pb to spans. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/system/memory_use_name.h"
#include "profiler/system/vendor_reading.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"

#define OTHERS_HEAP_BYTES ((size_t)12 << 20)

static const char *type_of(struct vendor_reading *reading, uint64_t id)
{
    const struct ntk_system_trace *trace = reading->base.trace;
    char unknown[32];

    if (id < NTK_VENDOR_TYPES_MAX && reading->types[id]) {
        return reading->types[id];
    }
    const char *name = trace->vendor
                           ? ntk_vendor_trace_name_find(trace->vendor, NTK_VENDOR_TRACE_TYPES, id)
                           : NULL;
    if (!name || !name[0]) {
        (void)snprintf(unknown, sizeof unknown, "type%" PRIu64, id);
        name = unknown;
    }
    name = ntk_vendor_session_text(reading->base.trace, name, strlen(name));
    if (id < NTK_VENDOR_TYPES_MAX) {
        reading->types[id] = name;
    }
    return name;
}

static const char *model_of(const struct ntk_system_trace *trace, uint64_t id)
{
    const char *name = id && trace->vendor
                           ? ntk_vendor_trace_name_find(trace->vendor, NTK_VENDOR_TRACE_MODELS, id)
                           : NULL;

    return name ? ntk_str_base_name(name) : "";
}

static bool is_memory(const char *type)
{
    return strncmp(type, "nrt_dma_mem_", 12) == 0;
}

static const char *text_of(struct vendor_reading *reading, enum vendor_key key)
{
    return ntk_vendor_session_text(reading->base.trace, reading->text[key].text,
                                   reading->text[key].bytes);
}

/* Returns the name of a use in outputs. */
static const char *use_of(struct vendor_reading *reading, enum vendor_key key)
{
    const char *word = text_of(reading, key);

    if (word != reading->word) { /* equal texts are stored once */
        reading->word = word;
        reading->use = ntk_memory_use_name(word);
    }
    return reading->use;
}

/* Fills values that both ends may have; the values of the start are used. */
static void span_fill(struct vendor_reading *reading, struct ntk_system_span *span)
{
    struct ntk_system_trace *trace = reading->base.trace;
    static const enum vendor_key names[] = { KEY_USAGE, KEY_TENSOR, KEY_MARK, KEY_COMMUNICATOR,
                                             KEY_USAGE_TYPE };
    static const enum vendor_key sizes[] = { KEY_SIZE, KEY_ALLOCATED, KEY_FREED, KEY_VALUE };

    if (reading->has[KEY_EXEC] && !ntk_system_span_has_exec(span)) {
        span->exec_id = reading->number[KEY_EXEC];
        span->has_exec_zero = span->exec_id == 0;
    }
    if (reading->has[KEY_MODEL] && span->model_id == 0) {
        span->model_id = reading->number[KEY_MODEL];
        span->name = span->name[0] ? span->name : model_of(trace, span->model_id);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names && !span->name[0]; i++) {
        if (reading->has[names[i]]) {
            span->name =
                is_memory(span->type) ? use_of(reading, names[i]) : text_of(reading, names[i]);
        }
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && span->bytes == 0; i++) {
        span->bytes = reading->number[sizes[i]];
    }
    span->sequence = span->sequence ? span->sequence : reading->record.sequence;
    span->device_core = reading->has[KEY_DEVICE_CORE] ? ntk_vendor_key_32(reading, KEY_DEVICE_CORE)
                                                      : span->device_core;
    span->stack = reading->has[KEY_HBM] ? (uint32_t)reading->number[KEY_HBM] : span->stack;
    span->queue = reading->has[KEY_QUEUE] ? (uint32_t)reading->number[KEY_QUEUE] : span->queue;
    span->operation =
        reading->has[KEY_OPERATION] ? (uint8_t)reading->number[KEY_OPERATION] : span->operation;
}

/* Takes the data of an allocation or free from the current end. */
static int memory_take(struct vendor_reading *reading, struct ntk_system_span *span, bool is_stop)
{
    struct ntk_system_trace *trace = reading->base.trace;
    const uint64_t *number = reading->number;
    const bool *has = reading->has;
    int failed = 0;

    if (span->memory == 0) {
        struct ntk_system_memory *added = ntk_long_list_add(&trace->memories, &failed);

        if (!added) {
            return failed;
        }
        *added = (struct ntk_system_memory){
            .usage = "",
            .nc = span->nc,
            .account = NTK_SYSTEM_NO_ACCOUNT,
            .hbm = NTK_SYSTEM_NO_STACK,
            .device = NTK_SYSTEM_NO_STACK,
            .is_free = strcmp(span->type, "nrt_dma_mem_dealloc") == 0,
        };
        span->memory = (uint32_t)trace->memories.count;
    }
    struct ntk_system_memory *memory =
        (struct ntk_system_memory *)trace->memories.items + span->memory - 1;
    if (has[KEY_USAGE_TYPE]) {
        memory->usage = use_of(reading, KEY_USAGE_TYPE);
    }
    memory->hbm = has[KEY_HBM] ? (uint32_t)number[KEY_HBM] : memory->hbm;
    memory->device = has[KEY_MLA] ? (uint32_t)number[KEY_MLA] : memory->device;
    memory->is_host = has[KEY_IS_HBM] ? number[KEY_IS_HBM] == 0 : memory->is_host;
    memory->address = has[KEY_ADDRESS] ? number[KEY_ADDRESS] : memory->address;
    memory->code = has[KEY_CODE] ? ntk_vendor_key_32(reading, KEY_CODE) : memory->code;
    memory->bytes = span->bytes;
    if (is_stop) {
        memory->number = reading->record.number;
        memory->time_ns = reading->record.time_ns;
        memory->has_stopped = true;
        memory->has_totals = has[KEY_TOTAL] && has[KEY_USAGE_TOTAL];
        memory->total_bytes = number[KEY_TOTAL];
        memory->usage_bytes = number[KEY_USAGE_TOTAL];
    }
    return 0;
}

/* Creates a span from the current end; its other end is still missing. */
static int span_begin(struct vendor_reading *reading, const char *type, uint64_t extra,
                      bool is_stop, size_t *out_index)
{
    const struct ntk_vendor_trace_record *record = &reading->record;
    int failed = 0;
    struct ntk_system_span *span = ntk_long_list_add(&reading->base.spans, &failed);

    if (!span) {
        return failed;
    }
    *span = (struct ntk_system_span){
        .type = type,
        .name = "",
        .start_ns = record->time_ns,
        .end_ns = record->time_ns,
        .is_instant = record->phase == NTK_VENDOR_TRACE_INSTANT,
        .is_partial = record->phase != NTK_VENDOR_TRACE_INSTANT,
        .tracking_id = record->tracking_id,
        .device_start_ns = reading->number[KEY_DEVICE_NS],
        .device_end_ns = reading->number[KEY_DEVICE_NS],
        .has_clock_zero = reading->has[KEY_DEVICE_NS] && reading->number[KEY_DEVICE_NS] == 0,
        .thread_id = record->thread_id,
        .nc = ntk_vendor_key_32(reading, KEY_NC),
        .worker = ntk_vendor_key_32(reading, KEY_WORKER),
        .device_core = NTK_SYSTEM_NO_CORE,
        .stack = NTK_SYSTEM_NO_STACK,
        .parent = NTK_SYSTEM_NO_PARENT,
    };
    span->extra[is_stop] = extra;
    span_fill(reading, span);
    *out_index = reading->base.spans.count - 1;
    return is_memory(type) ? memory_take(reading, span, is_stop) : 0;
}

/* Adds the other end of a waiting span; the thread comes from its start. */
static int span_finish(struct vendor_reading *reading, struct ntk_system_span *span, uint64_t extra,
                       bool is_stop)
{
    const struct ntk_vendor_trace_record *record = &reading->record;

    span->is_partial = false;
    span->extra[is_stop] = extra;
    if (is_stop) {
        span->end_ns = record->time_ns;
        span->device_end_ns =
            reading->has[KEY_DEVICE_NS] ? reading->number[KEY_DEVICE_NS] : span->device_start_ns;
    } else {
        span->start_ns = record->time_ns;
        span->device_start_ns = reading->number[KEY_DEVICE_NS];
        span->thread_id = record->thread_id;
    }
    span->has_clock_zero = span->has_clock_zero ||
                           (reading->has[KEY_DEVICE_NS] && reading->number[KEY_DEVICE_NS] == 0);
    reading->backwards += span->end_ns < span->start_ns;
    ntk_system_span_join(span);
    span_fill(reading, span);
    return is_memory(span->type) ? memory_take(reading, span, is_stop) : 0;
}

/* Drops a span: sorting removes spans with type NULL. */
static void span_drop(struct ntk_system_span *span)
{
    span->type = NULL;
}

static int end_take(struct vendor_reading *reading, const char *type, uint64_t extra)
{
    const struct ntk_vendor_trace_record *record = &reading->record;
    struct ntk_system_span *spans = reading->base.spans.items;
    bool is_stop = record->phase == NTK_VENDOR_TRACE_STOP;
    size_t index = 0;
    int ret = 0;
    struct span_slot *slot = ntk_span_waiting_find(&reading->base.waiting, record->tracking_id);

    if (!slot) {
        return -ENOMEM;
    }
    struct ntk_system_span *span = slot->span ? &spans[slot->span - 1] : NULL;
    /* A stop that waits for its start is marked as an instant. If the same end is repeated, the
     * waiting span stays partial. */
    if (span && span->is_instant != is_stop) {
        ntk_span_waiting_remove(&reading->base.waiting, slot);
        if (span->type != type) {
            span_drop(span);
            reading->other_type++;
            return 0;
        }
        span->is_instant = false;
        return span_finish(reading, span, extra, is_stop);
    }
    ret = span_begin(reading, type, extra, is_stop, &index);
    if (ret == 0) {
        reading->too_many +=
            !ntk_span_waiting_put(&reading->base.waiting, slot, record->tracking_id, index);
        ((struct ntk_system_span *)reading->base.spans.items)[index].is_instant = is_stop;
    }
    return ret;
}

static int record_take(const uint8_t *bytes, size_t count, uint64_t offset, void *ctx)
{
    struct vendor_reading *reading = ctx;
    struct ntk_vendor_trace_record *record = &reading->record;
    uint64_t extra = 0;
    size_t index = 0;

    if (!ntk_vendor_trace_record_read(bytes, count, record)) {
        reading->damaged_at = reading->damaged++ ? reading->damaged_at : offset;
        return 0;
    }
    reading->skipped_fields += record->skipped;
    ntk_vendor_number_count(reading, record->number);
    if (record->time_ns == 0 || record->phase == NTK_VENDOR_TRACE_NO_PHASE) {
        reading->no_time += record->time_ns == 0;
        reading->no_phase += record->time_ns != 0;
        return 0;
    }
    int ret = ntk_vendor_keys_take(reading, &extra);
    const char *type = type_of(reading, record->type);
    if (ret == 0) {
        ret = record->phase == NTK_VENDOR_TRACE_INSTANT
                  ? span_begin(reading, type, extra, false, &index)
                  : end_take(reading, type, extra);
    }
    if (reading->base.spans.count % NTK_SPAN_PASS == 0) {
        ntk_long_list_give_back(&reading->base.spans);
        ntk_long_list_give_back(&reading->base.trace->extras);
        ntk_long_list_give_back(&reading->base.trace->memories);
    }
    return ret;
}

static void list_init(struct ntk_long_list *list, size_t item_bytes)
{
    *list = (struct ntk_long_list){ .item_bytes = item_bytes,
                                    .heap_bytes_max = OTHERS_HEAP_BYTES,
                                    .folder = ntk_fs_temporary_folder() };
}

int ntk_vendor_session_spans(const char *path, struct ntk_system_trace *trace, struct ntk_err *err)
{
    struct vendor_reading *reading = calloc(1, sizeof *reading);
    int ret;

    if (!reading || !(reading->rings = calloc(NTK_VENDOR_RINGS, sizeof *reading->rings))) {
        free(reading);
        return ntk_err_no_memory(err);
    }
    ntk_span_reading_init(&reading->base, trace, err);
    ntk_vendor_keys_init(reading);
    list_init(&trace->extras, 1);
    list_init(&trace->memories, sizeof(struct ntk_system_memory));
    ret = ntk_vendor_trace_each(path, record_take, reading, err);
    if (ret < 0 && !err->text[0]) {
        ntk_long_list_err_set(err, ret, ntk_fs_temporary_folder());
    }
    if (ret >= 0) {
        struct ntk_err cut = *err; /* report truncation only without another error */
        int sorted = ntk_span_reading_sort(&reading->base);

        ret = sorted < 0 ? sorted : ret;
        if (sorted == 0) {
            *err = cut;
            ntk_vendor_losses_note(reading);
        }
    }
    ntk_span_reading_fini(&reading->base);
    free(reading->rings);
    free(reading);
    return ret;
}
