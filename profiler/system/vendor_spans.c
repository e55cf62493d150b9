/* SPDX-License-Identifier: MIT */
/* vendor_spans - the records of the vendor's ntrace.pb paired to spans and sorted by time. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/system/vendor_session.h"
#include "profiler/trace/sorter.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"

#define TEXTS_MAX 65536U
#define TYPES_MAX 1024U /* ids whose name is looked up once */
#define RINGS 65536U
#define RINGS_NOTED_MAX 16U
/* What lists keep on the heap, and how often passes give mapped memory back. */
#define SPANS_HEAP_BYTES ((size_t)24 << 20)
#define OTHERS_HEAP_BYTES ((size_t)12 << 20)
#define SORTER_BYTES ((size_t)24 << 20)
#define EXTRAS_STEP ((size_t)1 << 20)
#define PASS_SPANS 65536U
#define KEY_SLOTS 64U /* more than there are keys */

enum key {
    KEY_NC,
    KEY_WORKER,
    KEY_EXEC,
    KEY_MODEL,
    KEY_DEVICE_CORE,
    KEY_DEVICE_NS,
    KEY_SIZE,
    KEY_QUEUE,
    KEY_HBM,
    KEY_MLA,
    KEY_IS_HBM,
    KEY_ALLOCATED,
    KEY_FREED,
    KEY_TOTAL,
    KEY_USAGE_TOTAL,
    KEY_ADDRESS,
    KEY_CODE,
    KEY_VALUE,
    KEY_OPERATION,
    KEY_NUMBERS, /* those above are numbers */
    KEY_USAGE_TYPE = KEY_NUMBERS,
    KEY_USAGE, /* from here on only our runtime writes them */
    KEY_TENSOR,
    KEY_MARK,
    KEY_COMMUNICATOR,
    KEY_COUNT,
};

static const struct {
    const char *text;
    size_t bytes;
    bool is_kept; /* also among the further keys */
} keys[KEY_COUNT] = {
#define KEY(symbol, text, is_kept) [KEY_##symbol] = { text, sizeof text - 1, is_kept }
    KEY(NC, "nc_idx", false),
    KEY(WORKER, "worker_gid", false),
    KEY(EXEC, "exec_id", false),
    KEY(MODEL, "model_id", false),
    KEY(DEVICE_CORE, "device_core_idx", false),
    KEY(DEVICE_NS, "nc_timestamp_ns", false),
    KEY(SIZE, "size", false),
    KEY(QUEUE, "queue", false),
    KEY(HBM, "hbm_idx", false),
    KEY(MLA, "mla_idx", true),
    KEY(IS_HBM, "is_nc_hbm", true),
    KEY(ALLOCATED, "allocated_bytes", false),
    KEY(FREED, "freed_bytes", false),
    KEY(TOTAL, "total_bytes", false),
    KEY(USAGE_TOTAL, "usage_type_total_bytes", false),
    KEY(ADDRESS, "physical_address", false),
    KEY(CODE, "return_code", false),
    KEY(VALUE, "value", false),
    KEY(OPERATION, "operation_id", false),
    KEY(USAGE_TYPE, "usage_type", false),
    KEY(USAGE, "usage", false),
    KEY(TENSOR, "tensor_name", false),
    KEY(MARK, "mark", false),
    KEY(COMMUNICATOR, "communicator", false),
#undef KEY
};

struct ring {
    uint64_t first, last, count;
};

struct slot { /* of the table of spans that wait for their other end */
    uint64_t tracking_id;
    uint64_t span; /* index + 1; 0: free */
};

struct item { /* of the sorter */
    int64_t start_ns;
    uint64_t tracking_id;
    uint64_t span;
    uint64_t unused;
};

struct reading {
    struct ntk_system_trace *trace;
    struct ntk_long_list spans; /* in the order of the file */
    struct slot *slots;
    size_t slot_count, waiting;
    struct ring *rings;
    const char *types[TYPES_MAX];
    uint8_t key_slots[KEY_SLOTS]; /* key + 1; 0: free */
    /* The values of the keys of the record at hand. */
    uint64_t number[KEY_NUMBERS];
    bool has[KEY_COUNT];
    struct ntk_vendor_trace_text text[KEY_COUNT];
    struct ntk_vendor_trace_record record;
    uint64_t damaged, damaged_at; /* records that are not whole; the first */
    uint64_t skipped_fields, no_time, no_phase, no_start, other_type, backwards;
    struct ntk_err *err;
};

/* ---- texts and notes ---- */

const char *ntk_vendor_session_text(struct ntk_system_trace *trace, const char *text, size_t bytes)
{
    char buffer[1024];

    bytes = bytes < sizeof buffer ? bytes : sizeof buffer - 1;
    ntk_str_copy_clean(buffer, sizeof buffer, text, bytes);
    char *known = ntk_map_get(&trace->text_indices, buffer);
    if (known || trace->texts.count >= TEXTS_MAX) {
        return known ? known : "";
    }
    char *copy = strdup(buffer);
    if (!copy || ntk_map_put(&trace->text_indices, copy, copy) < 0) {
        free(copy);
        return "";
    }
    if (ntk_vec_push(&trace->texts, &copy) < 0) {
        (void)ntk_map_remove(&trace->text_indices, copy);
        free(copy);
        return "";
    }
    return copy;
}

void ntk_vendor_session_note(struct ntk_system_trace *trace, const char *category,
                             const char *format, ...)
{
    struct ntk_system_note note = { .category = category };
    va_list args;

    va_start(args, format);
    if (vasprintf(&note.text, format, args) < 0) {
        note.text = NULL;
    }
    va_end(args);
    if (note.text && ntk_vec_push(&trace->notes, &note) < 0) {
        free(note.text);
    }
}

static const char *type_of(struct reading *reading, uint64_t id)
{
    const struct ntk_system_trace *trace = reading->trace;
    char unknown[32];

    if (id < TYPES_MAX && reading->types[id]) {
        return reading->types[id];
    }
    const char *name = trace->vendor
                           ? ntk_vendor_trace_name_find(trace->vendor, NTK_VENDOR_TRACE_TYPES, id)
                           : NULL;
    if (!name || !name[0]) {
        (void)snprintf(unknown, sizeof unknown, "type%" PRIu64, id);
        name = unknown;
    }
    name = ntk_vendor_session_text(reading->trace, name, strlen(name));
    if (id < TYPES_MAX) {
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

/* ---- values ---- */

static bool number_read(struct ntk_vendor_trace_text text, uint64_t *out)
{
    uint64_t value = 0;
    bool is_hex = text.bytes > 2 && text.text[0] == '0' && text.text[1] == 'x';

    if (text.bytes == 0 || text.bytes > 20) {
        return false;
    }
    for (size_t i = is_hex ? 2 : 0; i < text.bytes; i++) {
        char c = text.text[i];
        unsigned digit = c >= '0' && c <= '9'             ? (unsigned)(c - '0')
                         : is_hex && c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : is_hex && c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                          : 16;
        unsigned base = is_hex ? 16 : 10;

        if (digit >= base || value > (UINT64_MAX - digit) / base) {
            return false;
        }
        value = value * base + digit;
    }
    *out = value;
    return true;
}

/* Looked up some times for each record. */
static size_t key_slot(const char *text, size_t bytes)
{
    return (7 * bytes + (uint8_t)text[0] + 3 * (size_t)(uint8_t)text[bytes - 1]) % KEY_SLOTS;
}

static void key_slots_fill(uint8_t slots[KEY_SLOTS])
{
    for (size_t k = 0; k < KEY_COUNT; k++) {
        size_t slot = key_slot(keys[k].text, keys[k].bytes);

        while (slots[slot]) {
            slot = (slot + 1) % KEY_SLOTS;
        }
        slots[slot] = (uint8_t)(k + 1);
    }
}

static enum key key_of(const uint8_t slots[KEY_SLOTS], struct ntk_vendor_trace_text text)
{
    for (size_t slot = key_slot(text.text, text.bytes); slots[slot];
         slot = (slot + 1) % KEY_SLOTS) {
        size_t k = slots[slot] - 1U;

        if (keys[k].bytes == text.bytes && memcmp(keys[k].text, text.text, text.bytes) == 0) {
            return (enum key)k;
        }
    }
    return KEY_COUNT;
}

static int bytes_add(struct ntk_long_list *list, const void *bytes, size_t count)
{
    size_t at = list->count;

    if (at + count > list->capacity) {
        size_t more = list->capacity > EXTRAS_STEP ? list->capacity / 4 : list->capacity + 4096;
        int ret = ntk_long_list_resize(list, list->capacity + count + more);

        if (ret < 0) {
            return ret;
        }
    }
    memcpy((char *)list->items + at, bytes, count);
    list->count = at + count;
    return 0;
}

/* Bytes of the key, bytes of the value, both; a key of no bytes ends the list. */
static int extra_add(struct ntk_system_trace *trace, const struct ntk_vendor_trace_pair *pair)
{
    uint8_t key_bytes = pair->key.bytes < UINT8_MAX ? (uint8_t)pair->key.bytes : UINT8_MAX;
    uint16_t value_bytes =
        pair->value.bytes < UINT16_MAX ? (uint16_t)pair->value.bytes : UINT16_MAX;
    int ret = bytes_add(&trace->extras, &key_bytes, 1);

    ret = ret < 0 ? ret : bytes_add(&trace->extras, &value_bytes, 2);
    ret = ret < 0 ? ret : bytes_add(&trace->extras, pair->key.text, key_bytes);
    return ret < 0 ? ret : bytes_add(&trace->extras, pair->value.text, value_bytes);
}

/* Sorts the keys of the record into known values and further ones, which begin at *out_extra. */
static int keys_take(struct reading *reading, uint64_t *out_extra)
{
    struct ntk_system_trace *trace = reading->trace;
    const struct ntk_vendor_trace_record *record = &reading->record;
    uint64_t extra = trace->extras.count;
    int ret = 0;

    memset(reading->has, 0, sizeof reading->has);
    memset(reading->number, 0, sizeof reading->number);
    for (size_t i = 0; i < record->pair_count && ret == 0; i++) {
        const struct ntk_vendor_trace_pair *pair = &record->pairs[i];
        enum key key = key_of(reading->key_slots, pair->key);
        bool is_taken = key < KEY_COUNT &&
                        (key >= KEY_NUMBERS || number_read(pair->value, &reading->number[key]));

        if (is_taken) {
            reading->has[key] = true;
            reading->text[key] = pair->value;
        }
        /* A queue of 0 is one, and none in the model. */
        if (!is_taken || keys[key].is_kept ||
            (key == KEY_QUEUE && reading->number[key] - 1 >= UINT32_MAX)) {
            ret = extra_add(trace, pair);
        }
    }
    if (ret == 0 && trace->extras.count > extra) {
        ret = bytes_add(&trace->extras, "", 1);
        *out_extra = extra + 1;
    }
    return ret;
}

/* ---- spans ---- */

static uint32_t number_32(const struct reading *reading, enum key key)
{
    return reading->number[key] < UINT32_MAX ? (uint32_t)reading->number[key] : UINT32_MAX;
}

/* What both ends may say; the start's word counts. */
static void span_fill(struct reading *reading, struct ntk_system_span *span)
{
    struct ntk_system_trace *trace = reading->trace;
    static const enum key names[] = { KEY_USAGE, KEY_TENSOR, KEY_MARK, KEY_COMMUNICATOR,
                                      KEY_USAGE_TYPE };
    static const enum key sizes[] = { KEY_SIZE, KEY_ALLOCATED, KEY_FREED, KEY_VALUE };

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
            span->name = ntk_vendor_session_text(trace, reading->text[names[i]].text,
                                                 reading->text[names[i]].bytes);
        }
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && span->bytes == 0; i++) {
        span->bytes = reading->number[sizes[i]];
    }
    span->sequence = span->sequence ? span->sequence : reading->record.sequence;
    span->device_core =
        reading->has[KEY_DEVICE_CORE] ? number_32(reading, KEY_DEVICE_CORE) : span->device_core;
    span->stack = reading->has[KEY_HBM] ? number_32(reading, KEY_HBM) : span->stack;
    span->queue = reading->has[KEY_QUEUE] ? number_32(reading, KEY_QUEUE) : span->queue;
    span->operation = reading->has[KEY_OPERATION] && reading->number[KEY_OPERATION] <= UINT8_MAX
                          ? (uint8_t)reading->number[KEY_OPERATION]
                          : span->operation;
}

static bool is_memory(const char *type)
{
    return strncmp(type, "nrt_dma_mem_", 12) == 0;
}

/* What the end at hand says of an allocation or a free. */
static int memory_take(struct reading *reading, struct ntk_system_span *span, bool is_stop)
{
    struct ntk_system_trace *trace = reading->trace;
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
            .is_free = strcmp(span->type, "nrt_dma_mem_dealloc") == 0,
        };
        span->memory = (uint32_t)trace->memories.count;
    }
    struct ntk_system_memory *memory =
        (struct ntk_system_memory *)trace->memories.items + span->memory - 1;
    if (has[KEY_USAGE_TYPE]) {
        memory->usage = ntk_vendor_session_text(trace, reading->text[KEY_USAGE_TYPE].text,
                                                reading->text[KEY_USAGE_TYPE].bytes);
    }
    memory->hbm = has[KEY_HBM] ? (uint16_t)number[KEY_HBM] : memory->hbm;
    memory->device = has[KEY_MLA] ? (uint16_t)number[KEY_MLA] : memory->device;
    memory->is_host = has[KEY_IS_HBM] ? number[KEY_IS_HBM] == 0 : memory->is_host;
    memory->address = has[KEY_ADDRESS] ? number[KEY_ADDRESS] : memory->address;
    memory->code = has[KEY_CODE] ? number_32(reading, KEY_CODE) : memory->code;
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

/* A span from the end at hand, the other end of which is still missing. */
static int span_begin(struct reading *reading, const char *type, uint64_t extra, bool is_stop,
                      size_t *out_index)
{
    const struct ntk_vendor_trace_record *record = &reading->record;
    int failed = 0;
    struct ntk_system_span *span = ntk_long_list_add(&reading->spans, &failed);

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
        .thread_id = record->thread_id,
        .nc = number_32(reading, KEY_NC),
        .worker = number_32(reading, KEY_WORKER),
        .device_core = NTK_SYSTEM_NO_CORE,
        .parent = NTK_SYSTEM_NO_PARENT,
    };
    span->extra[is_stop] = extra;
    span_fill(reading, span);
    *out_index = reading->spans.count - 1;
    return is_memory(type) ? memory_take(reading, span, is_stop) : 0;
}

static void times_join(struct reading *reading, struct ntk_system_span *span)
{
    if (span->end_ns < span->start_ns) {
        span->end_ns = span->start_ns;
        reading->backwards++;
    }
    if (span->device_end_ns < span->device_start_ns) {
        span->device_end_ns = span->device_start_ns;
    }
}

/* The other end of a span that waits; the thread is that of its start. */
static int span_finish(struct reading *reading, struct ntk_system_span *span, uint64_t extra,
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
    times_join(reading, span);
    span_fill(reading, span);
    return is_memory(span->type) ? memory_take(reading, span, is_stop) : 0;
}

/* ---- those that wait ---- */

static size_t slot_first(const struct reading *reading, uint64_t tracking_id)
{
    return (size_t)(tracking_id * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (reading->slot_count - 1);
}

static struct slot *slot_find(const struct reading *reading, uint64_t tracking_id)
{
    size_t i = slot_first(reading, tracking_id);

    while (reading->slots[i].span && reading->slots[i].tracking_id != tracking_id) {
        i = (i + 1) & (reading->slot_count - 1);
    }
    return &reading->slots[i];
}

static int slots_grow(struct reading *reading)
{
    size_t count = reading->slot_count;
    struct slot *old = reading->slots;
    struct slot *slots = calloc(count ? 2 * count : 1024, sizeof *slots);

    if (!slots) {
        return -ENOMEM;
    }
    reading->slots = slots;
    reading->slot_count = count ? 2 * count : 1024;
    for (size_t i = 0; i < count; i++) {
        if (old[i].span) {
            *slot_find(reading, old[i].tracking_id) = old[i];
        }
    }
    free(old);
    return 0;
}

/* Closes the gap, so that what was put behind it is still found. */
static void slot_free(struct reading *reading, struct slot *slot)
{
    size_t mask = reading->slot_count - 1;
    size_t hole = (size_t)(slot - reading->slots);
    size_t i = hole;

    reading->waiting--;
    for (;;) {
        i = (i + 1) & mask;
        if (!reading->slots[i].span) {
            break;
        }
        size_t first = slot_first(reading, reading->slots[i].tracking_id);
        if (((i - first) & mask) >= ((i - hole) & mask)) {
            reading->slots[hole] = reading->slots[i];
            hole = i;
        }
    }
    reading->slots[hole].span = 0;
}

/* A span whose type is NULL is dropped when they are sorted. */
static void span_drop(struct ntk_system_span *span)
{
    span->type = NULL;
}

static void number_count(struct reading *reading, uint64_t number)
{
    struct ring *ring = &reading->rings[ntk_vendor_trace_ring(number)];
    uint64_t place = number & ((UINT64_C(1) << 48) - 1);

    ring->first = ring->count == 0 || place < ring->first ? place : ring->first;
    ring->last = place > ring->last ? place : ring->last;
    ring->count++;
}

static int end_take(struct reading *reading, const char *type, uint64_t extra)
{
    const struct ntk_vendor_trace_record *record = &reading->record;
    struct ntk_system_span *spans = reading->spans.items;
    bool is_stop = record->phase == NTK_VENDOR_TRACE_STOP;
    size_t index = 0;
    int ret = reading->waiting >= reading->slot_count / 2 ? slots_grow(reading) : 0;

    if (ret < 0) {
        return ret;
    }
    struct slot *slot = slot_find(reading, record->tracking_id);
    struct ntk_system_span *span = slot->span ? &spans[slot->span - 1] : NULL;
    /* A stop that waits for its start is marked as an instant. The same end again: what waits
     * goes on without its other end. */
    if (span && span->is_instant != is_stop) {
        slot_free(reading, slot);
        if (span->type != type) {
            span_drop(span);
            reading->other_type++;
            return 0;
        }
        span->is_instant = false;
        return span_finish(reading, span, extra, is_stop);
    }
    reading->waiting += !span;
    ret = span_begin(reading, type, extra, is_stop, &index);
    if (ret == 0) {
        slot->tracking_id = record->tracking_id;
        slot->span = index + 1;
        ((struct ntk_system_span *)reading->spans.items)[index].is_instant = is_stop;
    }
    return ret;
}

static int record_take(const uint8_t *bytes, size_t count, uint64_t offset, void *ctx)
{
    struct reading *reading = ctx;
    struct ntk_vendor_trace_record *record = &reading->record;
    uint64_t extra = 0;
    size_t index = 0;

    if (!ntk_vendor_trace_record_read(bytes, count, record)) {
        reading->damaged_at = reading->damaged++ ? reading->damaged_at : offset;
        return 0;
    }
    reading->skipped_fields += record->skipped;
    number_count(reading, record->number);
    if (record->time_ns == 0 || record->phase == NTK_VENDOR_TRACE_NO_PHASE) {
        reading->no_time += record->time_ns == 0;
        reading->no_phase += record->time_ns != 0;
        return 0;
    }
    int ret = keys_take(reading, &extra);
    const char *type = type_of(reading, record->type);
    if (ret == 0) {
        ret = record->phase == NTK_VENDOR_TRACE_INSTANT
                  ? span_begin(reading, type, extra, false, &index)
                  : end_take(reading, type, extra);
    }
    if (reading->spans.count % PASS_SPANS == 0) {
        ntk_long_list_give_back(&reading->spans);
        ntk_long_list_give_back(&reading->trace->extras);
        ntk_long_list_give_back(&reading->trace->memories);
    }
    return ret;
}

/* ---- in order ---- */

static int item_compare(const void *a, const void *b)
{
    const struct item *x = a;
    const struct item *y = b;

    return x->tracking_id < y->tracking_id ? -1 : x->tracking_id > y->tracking_id;
}

/* Stops without a start are dropped, starts without a stop last until the end of the trace. */
static int spans_end(struct reading *reading, struct ntk_sorter *sorter)
{
    struct ntk_system_span *spans = reading->spans.items;
    uint64_t end_ns = reading->trace->vendor ? reading->trace->vendor->end_ns : 0;

    for (size_t i = 0; i < reading->spans.count; i++) {
        struct ntk_system_span *span = &spans[i];

        if (i % PASS_SPANS == PASS_SPANS - 1) {
            ntk_long_list_give_back(&reading->spans);
        }
        if (span->type && span->is_partial && span->is_instant) {
            reading->no_start++;
            span_drop(span);
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
                               .span = i };
    }
    return 0;
}

static int spans_copy(struct reading *reading, const struct ntk_sorted *sorted)
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
        if (i % PASS_SPANS == PASS_SPANS - 1) {
            ntk_long_list_give_back(&reading->spans);
            ntk_long_list_give_back(&trace->span_list);
            ntk_long_items_give_back(sorted->items, sorted->count * sizeof *items,
                                     sorted->is_mapped);
        }
    }
    trace->span_count = sorted->count;
    return 0;
}

static int spans_sort(struct reading *reading)
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

/* ---- what is not as it should be ---- */

static void lost_count(struct reading *reading)
{
    size_t noted = 0;

    for (unsigned r = 0; r < RINGS; r++) {
        const struct ring *ring = &reading->rings[r];
        uint64_t lost = ring->count > 0 && ring->last >= ring->count ? ring->last - ring->count : 0;

        reading->trace->lost += lost;
        if (lost > 0 && noted++ < RINGS_NOTED_MAX) {
            ntk_vendor_session_note(reading->trace, "Lost events",
                                    "ring %u lost %" PRIu64 " records, %" PRIu64
                                    " of them before its first",
                                    r, lost, ring->first > 0 ? ring->first - 1 : 0);
        }
    }
}

static void counts_note(struct reading *reading)
{
    const struct {
        uint64_t count;
        const char *what;
    } counts[] = {
        { reading->skipped_fields, "fields of an unexpected kind were skipped" },
        { reading->no_time, "records have no time and were dropped" },
        { reading->no_phase, "records are neither start, stop nor instant and were dropped" },
        { reading->no_start, "stops have no start and were dropped" },
        { reading->other_type,
          "spans end with another type than they start with and were dropped" },
        { reading->backwards, "spans stop before they start; their duration is 0" },
    };

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (counts[i].count > 0) {
            ntk_vendor_session_note(reading->trace, "Damage", "%" PRIu64 " %s", counts[i].count,
                                    counts[i].what);
        }
    }
    if (reading->damaged > 0) {
        ntk_vendor_session_note(reading->trace, "Damage",
                                "%" PRIu64 " records are not whole and were dropped, the first "
                                "at offset %" PRIu64,
                                reading->damaged, reading->damaged_at);
    }
}

static void list_init(struct ntk_long_list *list, size_t item_bytes, size_t heap_bytes)
{
    *list = (struct ntk_long_list){ .item_bytes = item_bytes,
                                    .heap_bytes_max = heap_bytes,
                                    .folder = ntk_fs_temporary_folder() };
}

int ntk_vendor_session_spans(const char *path, struct ntk_system_trace *trace, struct ntk_err *err)
{
    struct reading *reading = calloc(1, sizeof *reading);
    int ret;

    if (!reading || !(reading->rings = calloc(RINGS, sizeof *reading->rings))) {
        free(reading);
        return ntk_err_no_memory(err);
    }
    reading->trace = trace;
    reading->err = err;
    key_slots_fill(reading->key_slots);
    list_init(&reading->spans, sizeof(struct ntk_system_span), SPANS_HEAP_BYTES);
    list_init(&trace->span_list, sizeof(struct ntk_system_span), SPANS_HEAP_BYTES);
    list_init(&trace->extras, 1, OTHERS_HEAP_BYTES);
    list_init(&trace->memories, sizeof(struct ntk_system_memory), OTHERS_HEAP_BYTES);
    ret = ntk_vendor_trace_each(path, record_take, reading, err);
    if (ret < 0 && !err->text[0]) {
        ntk_long_list_err_set(err, ret, ntk_fs_temporary_folder());
    }
    if (ret >= 0) {
        struct ntk_err cut = *err; /* a file that is cut off is told when all else went well */
        int sorted = spans_sort(reading);

        ret = sorted < 0 ? sorted : ret;
        if (sorted == 0) {
            *err = cut;
            lost_count(reading);
            counts_note(reading);
        }
    }
    ntk_long_list_fini(&reading->spans);
    free(reading->slots);
    free(reading->rings);
    free(reading);
    return ret;
}
