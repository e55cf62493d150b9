/* SPDX-License-Identifier: MIT */
#include "shared/formats/ntrace/ntrace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/base/vec.h"
#include "shared/base/write_all.h"
#include "shared/formats/common/protobuf.h"

/* Memory limit for protobuf-c: this plus a multiple of the file size. A valid file takes less,
 * because an entry of a column has at least one byte in the file and at most eight in memory. */
#define UNPACK_BYTES_MIN ((size_t)16 << 20)
#define UNPACK_BYTES_FACTOR 10

int ntk_ntrace_write(const char *path, const ProtobufCMessage *message, struct ntk_err *err)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = malloc(size + 1);

    if (!bytes) {
        return ntk_err_no_memory(err);
    }
    int ret = ntk_fs_write(path, bytes, protobuf_c_message_pack(message, bytes), err);
    free(bytes);
    return ret;
}

/* ---- in pieces ---- */

int ntk_ntrace_writer_begin(struct ntk_ntrace_writer *writer, const char *path, struct ntk_err *err)
{
    *writer = (struct ntk_ntrace_writer){ 0 };
    return ntk_fs_replace_begin(&writer->replace, path, err);
}

int ntk_ntrace_writer_add(struct ntk_ntrace_writer *writer, const ProtobufCMessage *piece,
                          struct ntk_err *err)
{
    int fd = fileno(writer->replace.file);

    if (writer->full) {
        writer->pieces_lost++;
        return writer->full;
    }
    ntk_buf_reset(&writer->packed);
    uint8_t *bytes = ntk_buf_extend(&writer->packed, protobuf_c_message_get_packed_size(piece));
    if (!bytes) {
        return ntk_err_no_memory(err);
    }
    size_t count = protobuf_c_message_pack(piece, bytes);
    int ret = ntk_write_all(fd, bytes, count);
    if (ret == 0) {
        writer->bytes += count;
    } else {
        writer->full = ret;
        writer->pieces_lost++;
        if (ftruncate(fd, (off_t)writer->bytes) < 0) {
            ret = -errno; /* readers then ignore the rest of the piece */
        }
        ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot write '%s': %s", writer->replace.path,
                    strerror(-writer->full));
    }
    return ret;
}

int ntk_ntrace_writer_add_events(struct ntk_ntrace_writer *writer, uint32_t nc, uint32_t worker,
                                 uint64_t lost, const struct ntk_ntrace_event *events, size_t count,
                                 struct ntk_err *err)
{
    NtkNtracePb__Trace trace = NTK_NTRACE_PB__TRACE__INIT;
    NtkNtracePb__Core core = NTK_NTRACE_PB__CORE__INIT;
    NtkNtracePb__Core *list[] = { &core };
    size_t row_bytes = 0;
    bool has_queue = false;
    bool has_operation = false;
    uint8_t *next;

    for (size_t i = 0; i < count; i++) {
        has_queue = has_queue || events[i].queue != 0;
        has_operation = has_operation || events[i].operation != 0;
    }

    core.nc_idx = nc;
    core.worker_gid = worker;
    core.lost = lost;
    trace.cores = list;
    trace.n_cores = 1;
/* 64-bit columns come first, so that each column is aligned. */
#define COLUMNS(COLUMN)                  \
    COLUMN(tracking_id, tracking_id)     \
    COLUMN(timestamp_ns, time_ns)        \
    COLUMN(exec_id, execution_id)        \
    COLUMN(nc_timestamp_ns, device_ns)   \
    COLUMN(size, bytes)                  \
    COLUMN(model_id, model_id)           \
    COLUMN(name, name)                   \
    COLUMN(thread_id, thread_id)         \
    COLUMN(device_core_idx, device_core) \
    COLUMN(hbm_idx, stack)               \
    COLUMN(event_type, kind)             \
    COLUMN(phase, phase)                 \
    COLUMN(queue, queue)                 \
    COLUMN(operation, operation)
#define COLUMN_BYTES(to, from) row_bytes += sizeof *core.to;
    COLUMNS(COLUMN_BYTES)
    ntk_buf_reset(&writer->columns);
    next = ntk_buf_extend(&writer->columns, row_bytes * count + 1);
    if (!next) {
        return ntk_err_no_memory(err);
    }
#define COLUMN_FILL(to, from)            \
    core.to = (void *)next;              \
    core.n_##to = count;                 \
    for (size_t i = 0; i < count; i++) { \
        core.to[i] = events[i].from;     \
    }                                    \
    next += count * sizeof *core.to;
    COLUMNS(COLUMN_FILL)
    core.n_queue = has_queue ? count : 0;
    core.n_operation = has_operation ? count : 0;
#undef COLUMN_FILL
#undef COLUMN_BYTES
#undef COLUMNS
    return ntk_ntrace_writer_add(writer, &trace.base, err);
}

int ntk_ntrace_writer_commit(struct ntk_ntrace_writer *writer, struct ntk_err *err)
{
    int full = writer->full;
    uint64_t lost = writer->pieces_lost;
    char *path = strdup(writer->replace.path);
    int ret = path ? ntk_fs_replace_commit(&writer->replace, err) : ntk_err_no_memory(err);

    if (ret == 0 && full) {
        ntk_err_set(err, full, NTK_ERR_NO_OFFSET, "%s: the last %llu pieces are missing: %s", path,
                    (unsigned long long)lost, strerror(-full));
        ret = 1;
    }
    ntk_ntrace_writer_abort(writer);
    free(path);
    return ret;
}

void ntk_ntrace_writer_abort(struct ntk_ntrace_writer *writer)
{
    ntk_fs_replace_abort(&writer->replace);
    ntk_buf_fini(&writer->packed);
    ntk_buf_fini(&writer->columns);
    *writer = (struct ntk_ntrace_writer){ 0 };
}

/* ---- reading ---- */

/* Unpacks a message. *out_ret 1: truncated. On failure, returns NULL and sets *out_ret to the
 * error. The budget applies only while unpacking, so the message may be freed without it. */
static void *message_unpack(const uint8_t *bytes, size_t count, const char *name,
                            const ProtobufCMessageDescriptor *descriptor, int *out_ret,
                            struct ntk_err *err)
{
    struct ntk_protobuf_budget budget;
    size_t complete = ntk_protobuf_complete_bytes(bytes, count);

    ntk_protobuf_budget_init(&budget, UNPACK_BYTES_MIN + UNPACK_BYTES_FACTOR * complete);
    void *message = complete > 0 || count == 0
                        ? protobuf_c_message_unpack(descriptor, &budget.allocator, complete, bytes)
                        : NULL;
    if (!message) {
        *out_ret = ntk_err_set(err, -EBADMSG, 0, "%s is not an inspection trace", name);
    } else if (complete < count) {
        ntk_err_set(err, -EBADMSG, complete, "%s is truncated: %zu of its %zu bytes are readable",
                    name, complete, count);
        *out_ret = 1;
    } else {
        *out_ret = 0;
    }
    return message;
}

static void *message_read(const char *path, const ProtobufCMessageDescriptor *descriptor,
                          int *out_ret, struct ntk_err *err)
{
    uint8_t *bytes = NULL;
    size_t count = 0;

    *out_ret = ntk_fs_read(path, (size_t)NTK_NTRACE_FILE_BYTES_MAX, &bytes, &count, err);
    if (*out_ret < 0) {
        return NULL;
    }
    void *message = message_unpack(bytes, count, path, descriptor, out_ret, err);
    free(bytes);
    return message;
}

static int version_check(const char *path, uint32_t version, struct ntk_err *err)
{
    if (version == NTK_NTRACE_VERSION) {
        return 0;
    }
    return version == 0
               ? ntk_err_set(err, -EBADMSG, 0, "%s is not an inspection trace", path)
               : ntk_err_set(err, -ENOTSUP, 0, "%s has an unsupported version %u (supported: %u)",
                             path, version, NTK_NTRACE_VERSION);
}

static int core_check(const char *path, const NtkNtracePb__Trace *trace,
                      const NtkNtracePb__Core *core, struct ntk_err *err)
{
    size_t n = core->n_tracking_id;
    int is_sound = core->n_timestamp_ns == n && core->n_exec_id == n &&
                   core->n_nc_timestamp_ns == n && core->n_size == n && core->n_model_id == n &&
                   core->n_name == n && core->n_thread_id == n && core->n_device_core_idx == n &&
                   core->n_hbm_idx == n && core->n_event_type == n && core->n_phase == n &&
                   (core->n_queue == n || core->n_queue == 0) &&
                   (core->n_operation == n || core->n_operation == 0);

    for (size_t i = 0; i < n && is_sound; i++) {
        is_sound = core->event_type[i] < trace->n_event_types && core->name[i] <= trace->n_names &&
                   core->phase[i] <= 2;
    }
    return is_sound
               ? 0
               : ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                             "%s: the columns of core %u are inconsistent", path, core->nc_idx);
}

/* Takes ownership of the message, which was read up to cut. */
static int trace_check(NtkNtracePb__Trace *trace, int cut, const char *name,
                       NtkNtracePb__Trace **out_trace, struct ntk_err *err)
{
    int ret = cut;

    if (!trace) {
        return ret;
    }
    int version = version_check(name, trace->version, err);
    ret = version < 0 ? version : ret;
    for (size_t i = 0; i < trace->n_cores && ret >= 0; i++) {
        int sound = core_check(name, trace, trace->cores[i], err);

        ret = sound < 0 ? sound : ret;
    }
    if (ret < 0) {
        ntk_ntrace_pb__trace__free_unpacked(trace, NULL);
        return ret;
    }
    *out_trace = trace;
    return ret;
}

int ntk_ntrace_read(const char *path, NtkNtracePb__Trace **out_trace, struct ntk_err *err)
{
    int ret = 0;
    NtkNtracePb__Trace *trace = message_read(path, &ntk_ntrace_pb__trace__descriptor, &ret, err);

    return trace_check(trace, ret, path, out_trace, err);
}

int ntk_ntrace_read_bytes(const void *bytes, size_t count, const char *name,
                          NtkNtracePb__Trace **out_trace, struct ntk_err *err)
{
    int ret = 0;
    NtkNtracePb__Trace *trace =
        message_unpack(bytes, count, name, &ntk_ntrace_pb__trace__descriptor, &ret, err);

    return trace_check(trace, ret, name, out_trace, err);
}

/* ---- piece by piece ---- */

#define EACH_BYTES_MIN ((size_t)1 << 20)
#define EACH_NAMES_MAX 1048576U
#define EACH_TEXT_BYTES_MAX ((size_t)64 << 20)
#define EACH_TYPES_MAX 256U

struct each {
    const char *path;
    int fd;
    bool is_end;     /* end of the file reached */
    uint64_t before; /* bytes of the file before those in memory */
    uint8_t *bytes;
    size_t count, capacity, at;
    struct ntk_vec types, names; /* elements are char * */
    size_t text_bytes;
    uint32_t version;
    ntk_ntrace_take *take;
    void *ctx;
    struct ntk_err *err;
};

/* Reads more bytes after the unprocessed ones. Returns 0 at the end of the file, or if a record
 * exceeds the maximum. */
static ssize_t each_fill(struct each *each)
{
    if (each->at) {
        memmove(each->bytes, each->bytes + each->at, each->count - each->at);
    }
    each->before += each->at;
    each->count -= each->at;
    each->at = 0;
    if (each->count == each->capacity) {
        size_t capacity = each->capacity > 0 ? 2 * each->capacity : EACH_BYTES_MIN;
        uint8_t *bytes =
            capacity <= NTK_NTRACE_PIECE_BYTES_MAX ? realloc(each->bytes, capacity) : NULL;

        if (!bytes) {
            return capacity <= NTK_NTRACE_PIECE_BYTES_MAX ? -ENOMEM : 0;
        }
        each->bytes = bytes;
        each->capacity = capacity;
    }
    ssize_t n;
    do {
        n = read(each->fd, each->bytes + each->count, each->capacity - each->count);
    } while (n < 0 && errno == EINTR);
    each->count += n > 0 ? (size_t)n : 0;
    each->is_end = n == 0;
    return n < 0 ? -errno : n;
}

static int text_add(struct each *each, struct ntk_vec *list, size_t max,
                    const struct ntk_protobuf_field *field)
{
    char *text = list->count < max && each->text_bytes < EACH_TEXT_BYTES_MAX
                     ? strndup((const char *)field->bytes, field->bytes_count)
                     : NULL;

    if (list->count >= max || each->text_bytes >= EACH_TEXT_BYTES_MAX) {
        return ntk_err_set(each->err, -EFBIG, NTK_ERR_NO_OFFSET, "%s has too many names",
                           each->path);
    }
    each->text_bytes += field->bytes_count;
    if (!text || ntk_vec_push(list, &text) < 0) {
        free(text);
        return ntk_err_no_memory(each->err);
    }
    return 0;
}

static int core_take(struct each *each, const struct ntk_protobuf_field *field)
{
    struct ntk_protobuf_budget budget;
    NtkNtracePb__Trace trace = NTK_NTRACE_PB__TRACE__INIT;
    int ret = version_check(each->path, each->version, each->err);

    if (ret < 0) {
        return ret;
    }
    ntk_protobuf_budget_init(&budget, UNPACK_BYTES_MIN + UNPACK_BYTES_FACTOR * field->bytes_count);
    NtkNtracePb__Core *core =
        ntk_ntrace_pb__core__unpack(&budget.allocator, field->bytes_count, field->bytes);
    if (!core) {
        return ntk_err_set(each->err, -EBADMSG, each->before + each->at,
                           "%s is not an inspection trace", each->path);
    }
    trace.version = each->version;
    trace.event_types = each->types.items;
    trace.n_event_types = each->types.count;
    trace.names = each->names.items;
    trace.n_names = each->names.count;
    trace.cores = &core;
    trace.n_cores = 1;
    ret = core_check(each->path, &trace, core, each->err);
    ret = ret < 0 ? ret : each->take(&trace, each->ctx);
    ntk_ntrace_pb__core__free_unpacked(core, &budget.allocator);
    return ret;
}

static int field_take(struct each *each, const struct ntk_protobuf_field *field)
{
    switch (field->number) {
    case 1:
        each->version = (uint32_t)field->value;
        return 0;
    case 2:
        return field->bytes ? text_add(each, &each->types, EACH_TYPES_MAX, field) : 0;
    case 3:
        return field->bytes ? text_add(each, &each->names, EACH_NAMES_MAX, field) : 0;
    case 4:
        return field->bytes ? core_take(each, field) : 0;
    default:
        return 0;
    }
}

static int each_run(struct each *each)
{
    struct ntk_protobuf_field field;
    ssize_t n = 1;
    int ret = 0;

    while (n > 0 && ret >= 0) {
        n = each_fill(each);
        size_t next = each->at;
        while (ret >= 0 && ntk_protobuf_next(each->bytes, each->count, &next, &field)) {
            ret = field_take(each, &field);
            each->at = next;
        }
    }
    if (n < 0) {
        return ntk_err_set(each->err, (int)n, NTK_ERR_NO_OFFSET, "cannot read '%s': %s", each->path,
                           strerror((int)-n));
    }
    if (ret < 0) {
        return ret;
    }
    ret = version_check(each->path, each->version, each->err);
    if (ret == 0 && each->at < each->count) {
        uint64_t whole = each->before + each->at;

        ntk_err_set(each->err, -EBADMSG, whole, "%s is truncated: %llu bytes are readable",
                    each->path, (unsigned long long)whole);
        return 1;
    }
    return ret;
}

int ntk_ntrace_each(const char *path, ntk_ntrace_take *take, void *ctx, struct ntk_err *err)
{
    struct each each = { .path = path, .take = take, .ctx = ctx, .err = err };

    each.fd = ntk_fs_open_regular(path, NULL, err);
    if (each.fd < 0) {
        return each.fd;
    }
    ntk_vec_init(&each.types, sizeof(char *));
    ntk_vec_init(&each.names, sizeof(char *));
    int ret = each_run(&each);
    ntk_vec_each(char *, type, &each.types) {
        free(*type);
    }
    ntk_vec_each(char *, name, &each.names) {
        free(*name);
    }
    ntk_vec_fini(&each.types);
    ntk_vec_fini(&each.names);
    free(each.bytes);
    close(each.fd);
    return ret;
}

static int info_check(NtkNtracePb__Info *info, int cut, const char *name,
                      NtkNtracePb__Info **out_info, struct ntk_err *err)
{
    if (!info) {
        return cut;
    }
    int version = version_check(name, info->version, err);
    if (version < 0) {
        ntk_ntrace_pb__info__free_unpacked(info, NULL);
        return version;
    }
    *out_info = info;
    return cut;
}

int ntk_ntrace_read_info(const char *path, NtkNtracePb__Info **out_info, struct ntk_err *err)
{
    int ret = 0;
    NtkNtracePb__Info *info = message_read(path, &ntk_ntrace_pb__info__descriptor, &ret, err);

    return info_check(info, ret, path, out_info, err);
}

int ntk_ntrace_read_info_bytes(const void *bytes, size_t count, const char *name,
                               NtkNtracePb__Info **out_info, struct ntk_err *err)
{
    int ret = 0;
    NtkNtracePb__Info *info =
        message_unpack(bytes, count, name, &ntk_ntrace_pb__info__descriptor, &ret, err);

    return info_check(info, ret, name, out_info, err);
}

/* Returns true if all existing columns have an entry per sample. */
static bool host_is_sound(const NtkNtracePb__HostSamples *samples)
{
    size_t n = samples->n_timestamp_ns;

    if (samples->n_total_bytes != samples->n_used_bytes ||
        samples->n_total_bytes != samples->n_process_bytes ||
        (samples->n_total_bytes != 0 && samples->n_total_bytes != n)) {
        return false;
    }
    for (size_t i = 0; i < samples->n_cpus; i++) {
        if (samples->cpus[i]->n_percent != n) {
            return false;
        }
    }
    return true;
}

static int host_check(NtkNtracePb__HostSamples *samples, int cut, const char *name,
                      NtkNtracePb__HostSamples **out_samples, struct ntk_err *err)
{
    if (!samples) {
        return cut;
    }
    int ret = version_check(name, samples->version, err);
    if (ret == 0 && !host_is_sound(samples)) {
        ret =
            ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s: the columns are inconsistent", name);
    }
    if (ret < 0) {
        ntk_ntrace_pb__host_samples__free_unpacked(samples, NULL);
        return ret;
    }
    *out_samples = samples;
    return cut;
}

int ntk_ntrace_read_host(const char *path, NtkNtracePb__HostSamples **out_samples,
                         struct ntk_err *err)
{
    int ret = 0;
    NtkNtracePb__HostSamples *samples =
        message_read(path, &ntk_ntrace_pb__host_samples__descriptor, &ret, err);

    return host_check(samples, ret, path, out_samples, err);
}

int ntk_ntrace_read_host_bytes(const void *bytes, size_t count, const char *name,
                               NtkNtracePb__HostSamples **out_samples, struct ntk_err *err)
{
    int ret = 0;
    NtkNtracePb__HostSamples *samples =
        message_unpack(bytes, count, name, &ntk_ntrace_pb__host_samples__descriptor, &ret, err);

    return host_check(samples, ret, name, out_samples, err);
}
