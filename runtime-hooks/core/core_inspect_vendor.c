/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_inspect_vendor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime-hooks/core/core_state.h"
#include "shared/base/fs.h"
#include "shared/base/host.h"
#include "shared/base/map.h"
#include "shared/formats/common/protobuf_write.h"
#include "shared/formats/ntrace/vendor_trace.h"

#define VERSION 2U
#define FLUSH_BYTES ((size_t)1 << 20)
#define MODELS_MAX 65536U
#define RING_OF_CORE 4U
#define OWN_TYPES 1000U /* first id for types that the vendor lacks */

static const struct {
    const char *name, *usage;
} usages[] = {
#define NTK_MEMORY(id, symbol, name, location, folder, breakdown, table, usage) { name, usage },
#include "shared/abi/memory.def"
#undef NTK_MEMORY
};

/* ---- a file of records ---- */

struct stream {
    struct ntk_fs_replace replace;
    struct ntk_buf buf;
    uint64_t written; /* bytes of complete records */
    int full;         /* 0 or -errno */
};

static int stream_begin(struct stream *stream, const char *path, struct ntk_err *err)
{
    *stream = (struct stream){ 0 };
    return ntk_fs_replace_begin(&stream->replace, path, err);
}

/* Writes the buffer if it has at least this many bytes; called between records. */
static void stream_step(struct stream *stream, size_t bytes_min)
{
    FILE *file = stream->replace.file;

    if (stream->buf.bytes_count < bytes_min || stream->buf.bytes_count == 0) {
        return;
    }
    if (!stream->full && ntk_buf_ok(&stream->buf)) {
        if (fwrite(stream->buf.bytes, 1, stream->buf.bytes_count, file) ==
                stream->buf.bytes_count &&
            fflush(file) == 0) {
            stream->written += stream->buf.bytes_count;
        } else {
            stream->full = errno ? -errno : -ENOSPC;
            clearerr(file);
            (void)!ftruncate(fileno(file), (off_t)stream->written);
        }
    }
    ntk_buf_reset(&stream->buf);
}

static int stream_end(struct stream *stream, struct ntk_err *err)
{
    stream_step(stream, 0);
    bool is_whole = ntk_buf_ok(&stream->buf);
    char *path = strdup(stream->replace.path);
    int full = stream->full;
    int ret =
        !is_whole || !path ? ntk_err_no_memory(err) : ntk_fs_replace_commit(&stream->replace, err);

    if (ret == 0 && full) {
        ntk_err_set(err, full, NTK_ERR_NO_OFFSET, "%s: the last records are missing: %s", path,
                    strerror(-full));
        ret = 1;
    }
    ntk_fs_replace_abort(&stream->replace);
    ntk_buf_fini(&stream->buf);
    free(path);
    return ret;
}

/* ---- events ---- */

struct saving {
    struct stream stream;
    const char *const *kind_names;
    struct ntk_core_vendor_trace *trace;
    struct ntk_map model_names; /* ids that are already in the table */
    struct ntk_map open;        /* number of the start record, by our tracking id */
    uint64_t type_of_kind[NTK_CORE_TRACE_KINDS];
    uint32_t nc, worker;
    uint64_t device; /* device of the core */
    /* offset from the host's clock to the clock of each physical core */
    int64_t ahead_ns[NTK_CORE_LNC_MAX];
    uint64_t number;      /* number of the core's last record */
    uint64_t total_bytes; /* total bytes of the core */
    uint64_t usage_bytes[sizeof usages / sizeof *usages];
    int failed;
};

static uint64_t type_id(const char *name, int kind)
{
    size_t count;
    const char *const *types = ntk_vendor_trace_type_names(&count);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(types[i], name) == 0) {
            return i;
        }
    }
    return OWN_TYPES + (uint64_t)kind;
}

static void model_note(struct saving *saving, const struct ntk_ntrace_event *event)
{
    struct ntk_vec *models = &saving->trace->models;

    if (event->model_id == 0 || event->name == 0 || models->count >= MODELS_MAX ||
        ntk_map_get_number(&saving->model_names, event->model_id)) {
        return;
    }
    struct ntk_vendor_trace_name name = { event->model_id,
                                          strdup(ntk_core_trace_name(event->name)) };
    if (!name.text || ntk_vec_push(models, &name) < 0) {
        free(name.text);
        saving->failed = -ENOMEM;
    } else if (ntk_map_put_number(&saving->model_names, event->model_id, saving) < 0) {
        saving->failed = -ENOMEM;
    }
}

static void put_number(struct saving *saving, const char *key, uint64_t value)
{
    if (value) {
        ntk_vendor_trace_put_pair_number(&saving->stream.buf, key, value);
    }
}

static size_t usage_find(const char *name)
{
    for (size_t i = 0; i < sizeof usages / sizeof *usages; i++) {
        if (strcmp(usages[i].name, name) == 0) {
            return i;
        }
    }
    return 0;
}

static const char *vendor_usage(size_t usage)
{
    return usages[usage].usage[0] ? usages[usage].usage : "generic";
}

/* Finds the usage that has the total: several of our usages map to one of the vendor's; the first
 * of them has its total. */
static size_t usage_of_total(size_t usage)
{
    size_t first = 0;

    while (strcmp(vendor_usage(first), vendor_usage(usage)) != 0) {
        first++;
    }
    return first;
}

/* Adds the data of a memory event: the start has the request, the stop the result. */
static void put_memory(struct saving *saving, const struct ntk_ntrace_event *event, bool is_start)
{
    struct ntk_buf *buf = &saving->stream.buf;
    const char *name = ntk_core_trace_name(event->name);
    size_t usage = usage_find(name);
    bool is_free = event->kind == NTK_CORE_TRACE_MEMORY_FREE;

    if (is_start) {
        ntk_vendor_trace_put_pair(buf, "usage_type", vendor_usage(usage));
        ntk_vendor_trace_put_pair(buf, "usage", name);
        ntk_vendor_trace_put_pair_number(buf, "hbm_idx", event->stack);
        ntk_vendor_trace_put_pair_number(buf, "mla_idx", saving->device);
        ntk_vendor_trace_put_pair_number(buf, "is_nc_hbm", 1);
        return;
    }
    uint64_t *of_usage = &saving->usage_bytes[usage_of_total(usage)];
    uint64_t less = event->bytes < *of_usage ? event->bytes : *of_usage;
    *of_usage = is_free ? *of_usage - less : *of_usage + event->bytes;
    saving->total_bytes = is_free ? saving->total_bytes - less : saving->total_bytes + event->bytes;
    ntk_vendor_trace_put_pair_number(buf, is_free ? "freed_bytes" : "allocated_bytes",
                                     event->bytes);
    ntk_vendor_trace_put_pair_number(buf, "total_bytes", saving->total_bytes);
    ntk_vendor_trace_put_pair_number(buf, "usage_type_total_bytes", *of_usage);
    if (!is_free) {
        ntk_vendor_trace_put_pair_number(buf, "return_code", 0);
    }
}

static void put_texts(struct saving *saving, const struct ntk_ntrace_event *event)
{
    static const struct {
        uint8_t first, last;
        const char *key;
    } keys[] = {
        { NTK_CORE_TRACE_TENSOR_ALLOCATE, NTK_CORE_TRACE_TENSOR_COPY, "tensor_name" },
        { NTK_CORE_TRACE_MARK, NTK_CORE_TRACE_MARK, "mark" },
        { NTK_CORE_TRACE_CC, NTK_CORE_TRACE_BARRIER, "communicator" },
    };

    for (size_t i = 0; i < sizeof keys / sizeof *keys && event->name; i++) {
        if (event->kind >= keys[i].first && event->kind <= keys[i].last) {
            ntk_vendor_trace_put_pair(&saving->stream.buf, keys[i].key,
                                      ntk_core_trace_name(event->name));
        }
    }
}

static void put_keys(struct saving *saving, const struct ntk_ntrace_event *event, bool is_start)
{
    struct ntk_buf *buf = &saving->stream.buf;
    bool is_device = event->kind <= NTK_CORE_TRACE_SYNC;
    bool is_collective = event->kind == NTK_CORE_TRACE_CC || event->kind == NTK_CORE_TRACE_BARRIER;

    ntk_vendor_trace_put_pair_number(buf, "nc_idx", saving->nc);
    ntk_vendor_trace_put_pair_number(buf, "worker_gid", saving->worker);
    if (event->kind != NTK_CORE_TRACE_SCHEDULE && (is_start || is_collective)) {
        put_number(saving, "exec_id", event->execution_id);
    }
    if (is_device) { /* needed because a clock may start at any number, including 0 */
        ntk_vendor_trace_put_pair_number(buf, "nc_timestamp_ns", event->device_ns);
    }
    if (is_start || event->kind == NTK_CORE_TRACE_LOAD) {
        put_number(saving, "model_id", event->model_id);
    }
    if (event->kind == NTK_CORE_TRACE_MEMORY_ALLOC || event->kind == NTK_CORE_TRACE_MEMORY_FREE) {
        put_memory(saving, event, is_start);
        return;
    }
    put_number(saving, event->kind == NTK_CORE_TRACE_MARK ? "value" : "size", event->bytes);
    if (!is_start) {
        return;
    }
    if (event->kind == NTK_CORE_TRACE_SYNC) { /* the runs that follow it identify its core */
        ntk_vendor_trace_put_pair_number(buf, "cpu_timestamp_ns", event->time_ns);
    } else if (is_device) {
        ntk_vendor_trace_put_pair_number(buf, "device_core_idx", event->device_core);
    }
    put_number(saving, "queue", event->queue);
    put_number(saving, "operation_id", event->operation);
    put_texts(saving, event);
}

/* The time of an event. Events of a run have the core's time, converted to host time with the
 * preceding sync point, because the host detects their end late. If the filter excludes sync
 * points, the start of the run is used. Collectives have host times, because the core's clock stops
 * during them. */
static uint64_t time_of(struct saving *saving, const struct ntk_ntrace_event *event)
{
    int64_t *ahead_ns = &saving->ahead_ns[event->device_core % NTK_CORE_LNC_MAX];
    bool is_run = event->kind == NTK_CORE_TRACE_RUNNING;

    if (event->kind == NTK_CORE_TRACE_SYNC || (is_run && event->phase == NTK_NTRACE_START)) {
        *ahead_ns = (int64_t)(event->time_ns - event->device_ns);
    }
    return *ahead_ns && (is_run || event->kind == NTK_CORE_TRACE_NUMERICAL)
               ? event->device_ns + (uint64_t)*ahead_ns
               : event->time_ns;
}

static void put_record(struct saving *saving, const struct ntk_ntrace_event *event,
                       enum ntk_vendor_trace_phase phase, uint64_t tracking_id)
{
    struct ntk_vendor_trace_record record = {
        .time_ns = time_of(saving, event),
        .type = saving->type_of_kind[event->kind],
        .number = saving->number,
        .tracking_id = tracking_id,
        .sequence = event->kind == NTK_CORE_TRACE_SCHEDULE ? event->execution_id : 0,
        .thread_id = event->thread_id,
        .phase = (uint8_t)phase,
    };
    size_t begin = ntk_vendor_trace_put_begin(&saving->stream.buf);

    ntk_vendor_trace_put_record(&saving->stream.buf, &record);
    put_keys(saving, event, phase != NTK_VENDOR_TRACE_STOP);
    ntk_vendor_trace_put_end(&saving->stream.buf, begin);
    saving->trace->record_count++;
}

static uint64_t number_next(struct saving *saving)
{
    return ++saving->number;
}

static void event_put(struct saving *saving, const struct ntk_ntrace_event *event)
{
    bool is_memory =
        event->kind == NTK_CORE_TRACE_MEMORY_ALLOC || event->kind == NTK_CORE_TRACE_MEMORY_FREE;
    uint64_t start = number_next(saving);

    model_note(saving, event);
    switch (event->phase) {
    case NTK_NTRACE_START:
        put_record(saving, event, NTK_VENDOR_TRACE_START, start);
        if (ntk_map_put_number(&saving->open, event->tracking_id, (void *)(uintptr_t)start) < 0) {
            saving->failed = -ENOMEM;
        }
        break;
    case NTK_NTRACE_STOP:
        /* If the start was overwritten, use the number before the first one in the ring. */
        start = (uintptr_t)ntk_map_remove_number(&saving->open, event->tracking_id);
        put_record(saving, event, NTK_VENDOR_TRACE_STOP,
                   start ? start : saving->number >> 48 << 48);
        break;
    default:
        /* In the vendor's trace, allocations are spans. */
        put_record(saving, event, is_memory ? NTK_VENDOR_TRACE_START : NTK_VENDOR_TRACE_INSTANT,
                   start);
        if (is_memory) {
            (void)number_next(saving);
            put_record(saving, event, NTK_VENDOR_TRACE_STOP, start);
        }
        break;
    }
    stream_step(&saving->stream, FLUSH_BYTES);
}

static void core_put(struct saving *saving, enum ntk_core_trace_sink sink,
                     const struct ntk_core *core, uint32_t nc, struct ntk_ntrace_event *events)
{
    uint64_t position = 0;
    /* bounded, so that it does not block on a core that still records */
    uint64_t room = NTK_CORE_TRACE_EVENTS_MAX;
    size_t count = CORE_INSPECT_PIECE_EVENTS;
    bool is_first = true;

    saving->nc = nc;
    saving->worker = ntk_core_global(core, nc);
    saving->device = (uint64_t)saving->worker * ntk_core_lnc(core) /
                     ntk_core_machine_get(core)->cores_per_device;
    saving->number = (uint64_t)nc * RING_OF_CORE << 48;
    saving->total_bytes = 0;
    memset(saving->ahead_ns, 0, sizeof saving->ahead_ns);
    memset(saving->usage_bytes, 0, sizeof saving->usage_bytes);
    while (count == CORE_INSPECT_PIECE_EVENTS && room >= CORE_INSPECT_PIECE_EVENTS &&
           !saving->failed) {
        uint64_t lost = 0;

        count = ntk_core_trace_copy(sink, nc, &position, events, CORE_INSPECT_PIECE_EVENTS, &lost);
        room -= count;
        saving->number += is_first ? lost : 0; /* readers count missing numbers as lost */
        is_first = false;
        for (size_t i = 0; i < count && !saving->failed; i++) {
            event_put(saving, &events[i]);
        }
    }
}

void ntk_core_vendor_trace_fini(struct ntk_core_vendor_trace *trace)
{
    ntk_vec_each(struct ntk_vendor_trace_name, name, &trace->models) {
        free(name->text);
    }
    ntk_vec_fini(&trace->models);
    *trace = (struct ntk_core_vendor_trace){ 0 };
}

int ntk_core_vendor_trace_save(const struct ntk_core *core, enum ntk_core_trace_sink sink,
                               const char *const *kind_names, const char *path,
                               struct ntk_core_vendor_trace *out_trace, struct ntk_err *err)
{
    struct saving *saving = calloc(1, sizeof *saving);
    struct ntk_ntrace_event *events = calloc(CORE_INSPECT_PIECE_EVENTS, sizeof *events);
    int ret =
        !saving || !events ? ntk_err_no_memory(err) : stream_begin(&saving->stream, path, err);

    if (!saving || ret < 0) {
        free(saving);
        free(events);
        return ret;
    }
    ntk_vec_init(&out_trace->models, sizeof(struct ntk_vendor_trace_name));
    saving->kind_names = kind_names;
    saving->trace = out_trace;
    for (int kind = 0; kind < NTK_CORE_TRACE_KINDS; kind++) {
        saving->type_of_kind[kind] = type_id(kind_names[kind], kind);
    }
    uint32_t core_count = ntk_core_trace_core_count(sink);
    for (uint32_t nc = 0; nc < core_count && !saving->failed; nc++) {
        core_put(saving, sink, core, nc, events);
    }
    if (saving->failed) {
        saving->stream.buf.failed = true;
    }
    ret = stream_end(&saving->stream, err);
    ntk_map_fini(&saving->model_names);
    ntk_map_fini(&saving->open);
    free(saving);
    free(events);
    return ret;
}

/* ---- trace_info.pb ---- */

static int name_add(struct ntk_vec *table, uint64_t id, const char *text)
{
    struct ntk_vendor_trace_name name = { id, (char *)text };

    return ntk_vec_push(table, &name);
}

int ntk_core_vendor_info_save(const struct ntk_core *core, const struct ntk_core_inspect_info *info,
                              const char *const *kind_names,
                              const struct ntk_core_vendor_trace *trace, const char *path,
                              struct ntk_err *err)
{
    struct ntk_host host;
    struct ntk_buf buf = { 0 };
    size_t count = 0;
    int failed = 0;

    ntk_host_get(&host);
    struct ntk_vendor_trace_info message = {
        .version = VERSION,
        .process_id = (uint64_t)getpid(),
        .session_id = info->session_id,
        .begin_ns = info->begin_ns,
        .end_ns = info->end_ns,
        .record_count = trace ? trace->record_count : 0,
        .lnc = ntk_core_lnc(core),
        .instance_id = (char *)info->instance_id,
        .instance_type = (char *)ntk_core_machine_get(core)->instance,
        .host_name = host.name,
        .processor_count = (uint64_t)sysconf(_SC_NPROCESSORS_CONF),
        .memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE),
        .ultraserver_index = NTK_VENDOR_TRACE_NO_INDEX,
    };
    for (size_t t = 0; t < NTK_VENDOR_TRACE_TABLES; t++) {
        ntk_vec_init(&message.tables[t], sizeof(struct ntk_vendor_trace_name));
    }
    struct ntk_vec *types = &message.tables[NTK_VENDOR_TRACE_TYPES];
    const char *const *names = ntk_vendor_trace_type_names(&count);
    for (size_t i = 0; i < count; i++) {
        failed |= name_add(types, i, names[i]);
    }
    for (int kind = 0; kind < NTK_CORE_TRACE_KINDS; kind++) {
        uint64_t id = type_id(kind_names[kind], kind);

        failed |= id >= OWN_TYPES ? name_add(types, id, kind_names[kind]) : 0;
    }
    failed |= name_add(&message.tables[NTK_VENDOR_TRACE_MODELS], 0, "invalid_interned_string");
    for (size_t i = 0; trace && i < trace->models.count; i++) {
        failed |=
            ntk_vec_push(&message.tables[NTK_VENDOR_TRACE_MODELS], ntk_vec_at(&trace->models, i));
    }
    names = ntk_vendor_trace_usage_names(&count);
    for (size_t i = 0; i < count; i++) {
        failed |= name_add(&message.tables[NTK_VENDOR_TRACE_USAGES], i, names[i]);
    }
    failed |= name_add(&message.tables[NTK_VENDOR_TRACE_ERRORS], 0, "SUCCESS");
    failed |= name_add(&message.tables[NTK_VENDOR_TRACE_ERRORS], 12, "OUT_OF_MEMORY");
    ntk_vendor_trace_put_info(&buf, &message);
    int ret = failed || !ntk_buf_ok(&buf) ? ntk_err_no_memory(err)
                                          : ntk_fs_write(path, buf.bytes, buf.bytes_count, err);
    for (size_t t = 0; t < NTK_VENDOR_TRACE_TABLES; t++) {
        ntk_vec_fini(&message.tables[t]); /* the texts are borrowed */
    }
    ntk_buf_fini(&buf);
    return ret;
}

/* ---- the host ---- */

int ntk_core_vendor_cpu_save(const uint64_t *times_ns, size_t count, const double *percent,
                             uint32_t cpu_count, const char *path, struct ntk_err *err)
{
    struct stream stream;
    int ret = stream_begin(&stream, path, err);

    for (size_t i = 0; i < count && ret == 0; i++) {
        for (uint32_t c = 0; c < cpu_count; c++) {
            size_t begin = ntk_vendor_trace_put_begin(&stream.buf);

            ntk_protobuf_put_float(&stream.buf, 1, (float)percent[i * cpu_count + c]);
            ntk_protobuf_put_number(&stream.buf, 2, times_ns[i]);
            ntk_protobuf_put_number(&stream.buf, 3, c);
            ntk_vendor_trace_put_end(&stream.buf, begin);
            stream_step(&stream, FLUSH_BYTES);
        }
    }
    return ret < 0 ? ret : stream_end(&stream, err);
}

int ntk_core_vendor_memory_save(const uint64_t *times_ns, size_t count, const uint64_t *used_bytes,
                                size_t stride, const char *path, struct ntk_err *err)
{
    struct stream stream;
    int ret = stream_begin(&stream, path, err);

    for (size_t i = 0; i < count && ret == 0; i++) {
        size_t begin = ntk_vendor_trace_put_begin(&stream.buf);

        ntk_protobuf_put_number(&stream.buf, 1, used_bytes[i * stride]);
        ntk_protobuf_put_number(&stream.buf, 2, times_ns[i]);
        ntk_vendor_trace_put_end(&stream.buf, begin);
        stream_step(&stream, FLUSH_BYTES);
    }
    return ret < 0 ? ret : stream_end(&stream, err);
}
