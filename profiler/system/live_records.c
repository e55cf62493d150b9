/* SPDX-License-Identifier: MIT */
#include "profiler/system/live_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"
#include "shared/formats/ntrace/ntrace_comm.h"

/* maximum; further names are dropped, because an application may invent any number */
#define NAMES_MAX 65536U

enum type {
    EXECUTE,
    RUNNING,
    ERROR,
    LOAD,
    UNLOAD,
    WRITE,
    READ,
    COPY,
    ALLOCATE,
    FREE,
    MARK,
    START,
    STOP,
    COLLECTIVE,
    BARRIER,
    TYPES
};
static const char *const types[TYPES] = {
    [EXECUTE] = "nrt_execute",
    [RUNNING] = "nc_exec_running",
    [ERROR] = "nrt_error",
    [LOAD] = "nrt_load",
    [UNLOAD] = "nrt_unload",
    [WRITE] = "nrt_tensor_write",
    [READ] = "nrt_tensor_read",
    [COPY] = "nrt_tensor_copy",
    [ALLOCATE] = "nrt_tensor_allocate",
    [FREE] = "nrt_tensor_free",
    [MARK] = "mark",
    [START] = "model_start",
    [STOP] = "model_stop",
    [COLLECTIVE] = "cc_running",
    [BARRIER] = "cc_exec_barrier",
};

/* ---- names ---- */

static uint32_t name_of(struct ntk_live_records *records, const char *text)
{
    uint32_t number = (uint32_t)(uintptr_t)ntk_map_get(&records->names, text);
    char *copy;

    if (number > 0 || !text[0] || records->names.count >= NAMES_MAX) {
        return number;
    }
    number = (uint32_t)records->names.count + 1;
    copy = strdup(text);
    if (!copy || ntk_vec_push(&records->unwritten, &copy) < 0) {
        free(copy);
        records->failed = -ENOMEM;
    } else if (ntk_map_put(&records->names, text, (void *)(uintptr_t)number) < 0) {
        records->failed = -ENOMEM;
    }
    return number;
}

static uint32_t text_of(struct ntk_live_records *records, uint32_t id)
{
    char text[256];

    return ntk_ring_segment_text(records->segment, id, text, sizeof text) > 0
               ? name_of(records, text)
               : 0;
}

static void model_put(struct ntk_live_records *records, uint32_t id, uint32_t name)
{
    if (ntk_map_put_number(&records->models, id, (void *)(uintptr_t)name) < 0) {
        records->failed = -ENOMEM;
    }
}

/* Returns the name of a model that was loaded or unloaded meanwhile. */
static uint32_t loaded_name(struct ntk_live_records *records, uint32_t model_id, uint32_t text_id)
{
    char text[256];
    uint32_t name = 0;

    if (ntk_ring_segment_text(records->segment, text_id, text, sizeof text) > 0) {
        name = name_of(records, ntk_str_base_name(text));
        model_put(records, model_id, name);
    }
    return name;
}

static void models_read(struct ntk_live_records *records)
{
    size_t count = ntk_ring_segment_models(records->segment, records->known, NTK_SEGMENT_MODELS);

    for (size_t i = 0; i < count; i++) {
        const struct ntk_ring_model *model = &records->known[i];

        model_put(records, model->id, name_of(records, ntk_str_base_name(model->name)));
    }
}

/* Returns the name of the communicator in a slot of the segment's table; 0 if unknown, possibly
 * because it is gone. */
static uint32_t comm_name(struct ntk_live_records *records, uint32_t slot)
{
    char text[NTK_NTRACE_COMM_BYTES];

    if (!records->has_comms) {
        records->has_comms = true;
        records->comm_count =
            ntk_ring_segment_comms(records->segment, records->comms, NTK_SEGMENT_COMMS);
    }
    for (size_t i = 0; i < records->comm_count; i++) {
        const struct ntk_ring_comm *comm = &records->comms[i];

        if (comm->slot == slot) {
            ntk_ntrace_comm_write(&(struct ntk_ntrace_comm){ .key = comm->key,
                                                             .rank = comm->rank,
                                                             .rank_count = comm->rank_count,
                                                             .world_rank = comm->world_rank,
                                                             .world_count = comm->world_count },
                                  text);
            return name_of(records, text);
        }
    }
    return 0;
}

/* Reads the cores; cores acquired later are counted from the first of the process. */
static void cores_read(struct ntk_live_records *records)
{
    size_t count = ntk_ring_segment_cores(records->segment, records->cores, NTK_SEGMENT_CORES);
    uint32_t first = UINT32_MAX;
    uint32_t last = 0;

    for (size_t i = 0; i < count; i++) {
        const struct ntk_ring_core *core = &records->cores[i];

        records->logical[core->core] = core->logical;
        first = core->logical < first ? core->logical : first;
        last = core->logical > last ? core->logical : last;
    }
    if (count > 0) {
        records->first_logical = records->core_count > 0 ? records->first_logical : first;
        records->core_count = last - records->first_logical + 1;
    }
}

/* ---- the file ---- */

static void names_write(struct ntk_live_records *records)
{
    NtkNtracePb__Trace names = NTK_NTRACE_PB__TRACE__INIT;

    names.names = records->unwritten.items;
    names.n_names = records->unwritten.count;
    if (names.n_names > 0 && !records->failed) {
        records->failed = ntk_ntrace_writer_add(&records->writer, &names.base, records->err);
    }
    ntk_vec_each(char *, name, &records->unwritten) {
        free(*name);
    }
    ntk_vec_clear(&records->unwritten);
}

/* Writes a piece for each core that has events. */
static void pieces_write(struct ntk_live_records *records)
{
    names_write(records);
    for (size_t i = 0; i < records->count && !records->failed; i++) {
        uint32_t nc = records->nc[i];
        size_t of_core = 0;

        for (size_t k = i; k < records->count && nc != UINT32_MAX; k++) {
            if (records->nc[k] == nc) {
                records->of_core[of_core++] = records->event[k];
                records->nc[k] = UINT32_MAX;
            }
        }
        if (of_core > 0) {
            records->failed =
                ntk_ntrace_writer_add_events(&records->writer, nc, records->first_logical + nc, 0,
                                             records->of_core, of_core, records->err);
        }
    }
    records->count = 0;
}

static void event_add(struct ntk_live_records *records, uint16_t core,
                      const struct ntk_ntrace_event *event)
{
    uint32_t logical = core < NTK_SEGMENT_CORES ? records->logical[core] : 0;

    if (records->events == records->events_max) {
        records->beyond++;
        return;
    }
    records->events++;
    if (!records->first_ns || event->time_ns < records->first_ns) {
        records->first_ns = event->time_ns;
    }
    records->event[records->count] = *event;
    /* Events without a core are stored for the first core. */
    records->nc[records->count++] =
        logical > records->first_logical ? logical - records->first_logical : 0;
    if (records->count == NTK_LIVE_PIECE_EVENTS) {
        pieces_write(records);
    }
}

/* ---- records to events ---- */

/* Adds both ends of a span, in which the device's clock advances by `device_ns`. */
static void span_add(struct ntk_live_records *records, uint16_t core, struct ntk_ntrace_event event,
                     uint64_t start_ticks, uint64_t ticks, uint64_t device_ns)
{
    event.tracking_id = ++records->tracking_id;
    event.phase = NTK_NTRACE_START;
    event.time_ns = ntk_ring_segment_realtime_ns(records->segment, start_ticks);
    event_add(records, core, &event);
    event.phase = NTK_NTRACE_STOP;
    event.time_ns = ntk_ring_segment_realtime_ns(records->segment, start_ticks + ticks);
    event.device_ns += device_ns;
    event_add(records, core, &event);
}

static void instant_add(struct ntk_live_records *records, uint16_t core,
                        struct ntk_ntrace_event event, uint64_t ticks)
{
    event.tracking_id = ++records->tracking_id;
    event.phase = NTK_NTRACE_INSTANT;
    event.time_ns = ntk_ring_segment_realtime_ns(records->segment, ticks);
    event_add(records, core, &event);
}

static void engine_take(struct ntk_live_records *records, const struct ntk_slot *slot)
{
    struct ntk_live_began *began = &records->began[slot->thread % NTK_SEGMENT_THREADS];

    if (began->execution_id != slot->word[2] || slot->core < began->first) {
        *began = (struct ntk_live_began){ .execution_id = slot->word[2], .first = slot->core };
    }
    began->ticks = slot->start_ticks;
    if (slot->core - began->first < 64) {
        began->cores |= UINT64_C(1) << (slot->core - began->first);
    }
}

static void execution_take(struct ntk_live_records *records, const struct ntk_slot *slot,
                           struct ntk_ntrace_event event)
{
    struct ntk_live_began *began = &records->began[slot->thread % NTK_SEGMENT_THREADS];
    uint32_t cores_per_device =
        records->process.cores_per_device > 0 ? records->process.cores_per_device : 1;

    event.execution_id = slot->word[2];
    event.queue = (uint16_t)NTK_EXEC_QUEUE(slot->flags);
    event.kind = EXECUTE;
    records->executions++;
    span_add(records, slot->core, event, slot->start_ticks, slot->word[0], 0);
    if (NTK_WORD_HI(slot->word[1]) != 0) {
        event.kind = ERROR;
        instant_add(records, slot->core, event, slot->start_ticks + slot->word[0]);
    }
    if (began->execution_id == slot->word[2] && began->cores != 0) {
        event.kind = RUNNING;
        event.device_ns = records->device_ns[began->first];
        for (uint16_t i = 0; i < 64; i++) {
            if (began->cores >> i & 1) {
                event.device_core = (uint16_t)((began->first + i) % cores_per_device);
                span_add(records, slot->core, event, began->ticks, slot->word[3], slot->word[4]);
            }
        }
        records->device_ns[began->first] += slot->word[4];
        *began = (struct ntk_live_began){ 0 };
    }
}

static void slot_take(struct ntk_live_records *records, const struct ntk_slot *slot)
{
    static const uint8_t transfers[NTK_TRANSFER_COUNT] = {
        [NTK_TRANSFER_HOST_TO_DEVICE] = WRITE,
        [NTK_TRANSFER_DEVICE_TO_HOST] = READ,
        [NTK_TRANSFER_DEVICE_TO_DEVICE] = COPY,
        [NTK_TRANSFER_HOST_TO_HOST] = COPY,
    };
    struct ntk_ring_thread thread;
    struct ntk_ntrace_event event = { .model_id = NTK_WORD_LO(slot->word[1]) };

    if (slot->kind == NTK_EVENT_ENGINE) {
        if (slot->core < NTK_SEGMENT_CORES) {
            engine_take(records, slot);
        }
        return;
    }
    ntk_ring_segment_thread(records->segment, slot, &thread);
    event.thread_id = thread.tid;
    event.name = (uint32_t)(uintptr_t)ntk_map_get_number(&records->models, event.model_id);
    switch (slot->kind) {
    case NTK_EVENT_EXEC:
        execution_take(records, slot, event);
        break;
    case NTK_EVENT_TRANSFER:
        if (slot->flags < NTK_TRANSFER_COUNT) {
            event.kind = transfers[slot->flags];
            event.name = text_of(records, NTK_WORD_HI(slot->word[1]));
            event.bytes = slot->word[2];
            span_add(records, slot->core, event, slot->start_ticks, slot->word[0], 0);
        }
        break;
    case NTK_EVENT_MEM_ALLOC:
    case NTK_EVENT_MEM_FREE:
        /* Other memory would appear as the total, without earlier allocations. */
        if (NTK_WORD_LO(slot->word[4]) == NTK_MEMORY_TENSORS) {
            event.kind = slot->kind == NTK_EVENT_MEM_ALLOC ? ALLOCATE : FREE;
            event.name = text_of(records, NTK_WORD_HI(slot->word[1]));
            event.bytes = slot->word[3];
            instant_add(records, slot->core, event, slot->start_ticks);
        }
        break;
    case NTK_EVENT_MODEL_LOAD:
    case NTK_EVENT_MODEL_UNLOAD:
    case NTK_EVENT_MODEL_START:
    case NTK_EVENT_MODEL_STOP:
        event.kind = slot->kind == NTK_EVENT_MODEL_LOAD     ? LOAD
                     : slot->kind == NTK_EVENT_MODEL_UNLOAD ? UNLOAD
                     : slot->kind == NTK_EVENT_MODEL_START  ? START
                                                            : STOP;
        event.name = loaded_name(records, event.model_id, NTK_WORD_LO(slot->word[3]));
        span_add(records, slot->core, event, slot->start_ticks, slot->word[0], 0);
        break;
    case NTK_EVENT_COLLECTIVE:
        event.kind = (slot->flags & 0xff) == NTK_COLLECTIVE_BARRIER ? BARRIER : COLLECTIVE;
        event.name = comm_name(records, NTK_WORD_LO(slot->word[1]));
        event.execution_id = slot->word[2];
        event.model_id = 0;
        event.bytes = slot->word[3];
        if ((slot->flags & 0xff) < NTK_COLLECTIVE_COUNT) {
            event.operation = (uint8_t)((slot->flags & 0xff) + 1);
        }
        span_add(records, slot->core, event, slot->start_ticks, slot->word[0], 0);
        break;
    case NTK_EVENT_MARK:
        event.kind = MARK;
        event.name = text_of(records, NTK_WORD_LO(slot->word[1]));
        event.model_id = 0;
        event.bytes = slot->word[2];
        if (slot->word[0] == 0) {
            instant_add(records, slot->core, event, slot->start_ticks);
        } else {
            span_add(records, slot->core, event, slot->start_ticks, slot->word[0], 0);
        }
        break;
    default:
        break;
    }
}

static void batch_take(const struct ntk_ring_segment *segment, const struct ntk_slot *slots,
                       size_t count, void *ctx)
{
    struct ntk_live_records *records = ctx;

    (void)segment;
    for (size_t i = 0; i < count && !records->failed; i++) {
        slot_take(records, &slots[i]);
    }
}

void ntk_live_records_begin(struct ntk_live_records *records)
{
    NtkNtracePb__Trace head = NTK_NTRACE_PB__TRACE__INIT;

    head.version = NTK_NTRACE_VERSION;
    head.event_types = (char **)types;
    head.n_event_types = TYPES;
    ntk_vec_init(&records->unwritten, sizeof(char *));
    records->failed = ntk_ntrace_writer_add(&records->writer, &head.base, records->err);
    records->type_count = TYPES;
    ntk_live_records_look(records);
}

uint8_t ntk_live_records_types(struct ntk_live_records *records, const char *const *names,
                               size_t count)
{
    NtkNtracePb__Trace more = NTK_NTRACE_PB__TRACE__INIT;
    uint8_t first = (uint8_t)records->type_count;

    pieces_write(records);
    more.event_types = (char **)names;
    more.n_event_types = count;
    if (!records->failed) {
        records->failed = ntk_ntrace_writer_add(&records->writer, &more.base, records->err);
    }
    records->type_count += (uint32_t)count;
    return first;
}

void ntk_live_records_span(struct ntk_live_records *records, uint16_t core, uint8_t kind,
                           uint32_t thread_id, const char *name, uint64_t start_ns, uint64_t end_ns)
{
    struct ntk_ntrace_event event = { .tracking_id = ++records->tracking_id,
                                      .time_ns = start_ns,
                                      .name = name_of(records, name),
                                      .thread_id = thread_id,
                                      .kind = kind,
                                      .phase = NTK_NTRACE_START };

    event_add(records, core, &event);
    event.phase = NTK_NTRACE_STOP;
    event.time_ns = end_ns;
    event_add(records, core, &event);
}

void ntk_live_records_look(struct ntk_live_records *records)
{
    models_read(records);
    cores_read(records);
}

void ntk_live_records_drain(struct ntk_live_records *records)
{
    records->has_comms = false; /* the table is read again at the next operation */
    (void)ntk_ring_segment_drain(records->segment, 0, batch_take, records);
}

void ntk_live_records_end(struct ntk_live_records *records, uint64_t lost)
{
    pieces_write(records);
    if (!records->failed) { /* writes at least one piece, which is for all cores */
        records->failed =
            ntk_ntrace_writer_add_events(&records->writer, 0, records->first_logical,
                                         lost + records->beyond, NULL, 0, records->err);
    }
    if (records->failed == -ENOMEM) {
        ntk_err_no_memory(records->err);
    }
}

void ntk_live_records_fini(struct ntk_live_records *records)
{
    ntk_vec_each(char *, name, &records->unwritten) {
        free(*name);
    }
    ntk_vec_fini(&records->unwritten);
    ntk_map_fini(&records->names);
    ntk_map_fini(&records->models);
    ntk_ntrace_writer_abort(&records->writer);
}
