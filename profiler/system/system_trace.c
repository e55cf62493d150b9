/* SPDX-License-Identifier: MIT */
#include "profiler/system/system_trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/system/own_spans.h"
#include "profiler/system/session_find.h"
#include "profiler/system/vendor_session.h"
#include "shared/abi/event_abi.h"
#include "shared/base/fs.h"

bool ntk_system_type_is_hardware(const char *type)
{
    static const char *const types[] = {
        "nc_exec_running", "cc_running",       "cc_exec_barrier",
        "numerical_err",   "nrt_model_switch", "timestamp_sync_point",
        "hw_notify",       "nc_model_switch",  "nc_idle",
    };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i], type) == 0) {
            return true;
        }
    }
    return false;
}

bool ntk_system_type_is_thread_state(const char *type)
{
    return strncmp(type, "thread_", 7) == 0;
}

bool ntk_system_type_is_run(const char *type)
{
    return strcmp(type, "nc_exec_running") == 0 || strcmp(type, "nc_model_switch") == 0;
}

void ntk_system_span_join(struct ntk_system_span *span)
{
    uint64_t end_ns;

    /* The duration must not be negative if the clock was set back. */
    span->end_ns = span->end_ns > span->start_ns ? span->end_ns : span->start_ns;
    if (span->device_end_ns < span->device_start_ns) {
        span->device_end_ns = span->device_start_ns;
    }
    if (span->device_end_ns > span->device_start_ns && ntk_system_type_is_run(span->type) &&
        !__builtin_add_overflow(span->start_ns, span->device_end_ns - span->device_start_ns,
                                &end_ns)) {
        span->end_ns = end_ns;
    }
}

bool ntk_system_span_is_mark(const struct ntk_system_span *span)
{
    return strcmp(span->type, "mark") == 0;
}

bool ntk_system_span_is_collective(const struct ntk_system_span *span)
{
    return span->name[0] &&
           (strcmp(span->type, "cc_running") == 0 || strcmp(span->type, "cc_exec_barrier") == 0);
}

const char *ntk_system_span_operation(const struct ntk_system_span *span)
{
    static const char *const names[] = {
#define NTK_COLLECTIVE(id, symbol, name) [id] = name,
#include "shared/abi/collective.def"
    };

    if (span->operation == 0 && strcmp(span->type, "cc_exec_barrier") == 0) {
        return names[NTK_COLLECTIVE_BARRIER];
    }
    return span->operation ? names[span->operation - 1] : NULL;
}

const char *ntk_system_span_label(const struct ntk_system_span *span)
{
    return span->name[0] && ntk_system_span_is_mark(span) ? span->name : span->type;
}

/* ---- files ---- */

static void warn(struct ntk_system_trace *trace, const struct ntk_err *err)
{
    char text[NTK_ERR_TEXT_BYTES + 64];
    char *copy = strdup(ntk_err_format(err, text, sizeof text));

    if (!copy || ntk_vec_push(&trace->warnings, &copy) < 0) {
        free(copy);
    }
}

/* Returns NULL if the file does not exist. */
static char *file_of(const struct ntk_system_trace *trace, const char *name)
{
    char *path = NULL;

    if (asprintf(&path, "%s/%s", trace->folder, name) < 0) {
        return NULL;
    }
    if (access(path, F_OK) != 0) {
        free(path);
        return NULL;
    }
    return path;
}

#define HEAD_BYTES 256U /* enough to distinguish files of this project and the vendor */

enum file {
    FILE_INFO,
    FILE_TRACE,
    FILE_CPU,
    FILE_MEMORY,
    FILE_COUNT,
};

enum file_state {
    STATE_MISSING,
    STATE_EMPTY,
    STATE_WHOLE,
    STATE_DAMAGED, /* damaged, and reported */
};

/* Reads information; both readers store their data in the trace. */
static int info_read(const char *path, struct ntk_system_trace *trace, struct ntk_err *err)
{
    return ntk_ntrace_read_info(path, &trace->info, err);
}

static int cpu_read(const char *path, struct ntk_system_trace *trace, struct ntk_err *err)
{
    return ntk_ntrace_read_host(path, &trace->cpu, err);
}

static int memory_read(const char *path, struct ntk_system_trace *trace, struct ntk_err *err)
{
    return ntk_ntrace_read_host(path, &trace->memory, err);
}

typedef int read_file(const char *path, struct ntk_system_trace *trace, struct ntk_err *err);
static const struct {
    const char *name;
    read_file *ours, *vendor;
    bool (*is_vendor)(const uint8_t *bytes, size_t count);
} files[FILE_COUNT] = {
    [FILE_INFO] = { "trace_info.pb", info_read, ntk_vendor_session_info, ntk_vendor_trace_is_info },
    [FILE_TRACE] = { "ntrace.pb", ntk_own_spans, ntk_vendor_session_spans,
                     ntk_vendor_trace_is_stream },
    [FILE_CPU] = { "cpu_util.pb", cpu_read, ntk_vendor_session_cpu, ntk_vendor_trace_is_stream },
    [FILE_MEMORY] = { "host_mem.pb", memory_read, ntk_vendor_session_memory,
                      ntk_vendor_trace_is_stream },
};

/* Returns the number of bytes read, or -1. */
static ssize_t head_read(const char *path, uint8_t head[HEAD_BYTES], struct ntk_err *err)
{
    int fd = ntk_fs_open_regular(path, NULL, err);
    ssize_t count = fd >= 0 ? read(fd, head, HEAD_BYTES) : -1;

    if (fd >= 0) {
        if (count < 0) {
            ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot read '%s': %s", path,
                        strerror(errno));
        }
        close(fd);
    }
    return count;
}

/* Reports missing files. A warning reports missing events. A note is information about files that
 * the process may not have written. */
static void missing_tell(struct ntk_system_trace *trace, const enum file_state states[FILE_COUNT])
{
    enum file_state state = states[FILE_TRACE];
    uint64_t counted = trace->vendor ? trace->vendor->record_count : 0;
    const char *folder = trace->folder;
    struct ntk_err err = { 0 };

    if (state == STATE_MISSING && counted > 0) {
        ntk_err_set(&err, -ENODATA, NTK_ERR_NO_OFFSET,
                    "%s/ntrace.pb is missing, but trace_info.pb counts %llu records", folder,
                    (unsigned long long)counted);
    } else if (state != STATE_DAMAGED && counted > trace->record_count) {
        ntk_err_set(&err, -ENODATA, NTK_ERR_NO_OFFSET,
                    "%s/ntrace.pb has %llu records, but trace_info.pb counts %llu", folder,
                    (unsigned long long)trace->record_count, (unsigned long long)counted);
    } else if (state == STATE_EMPTY && !trace->vendor) {
        ntk_err_set(
            &err, -ENODATA, NTK_ERR_NO_OFFSET,
            "%s/ntrace.pb is empty: the process recorded no events, or exited before it wrote them",
            folder);
    } else if (state == STATE_EMPTY) {
        ntk_vendor_session_note(trace, "Missing", "ntrace.pb is empty: no events were recorded");
    }
    if (err.text[0]) {
        warn(trace, &err);
    }
    if (states[FILE_INFO] == STATE_MISSING && trace->span_count > 0) {
        ntk_vendor_session_note(trace, "Missing",
                                "trace_info.pb is missing: %sthe process and the machine are "
                                "unknown",
                                trace->is_vendor ? "event types, model names, " : "");
    }
}

/* Reads the files; an unreadable file is a warning. -ENOMEM. */
static int files_read(struct ntk_system_trace *trace, enum file_state states[FILE_COUNT])
{
    int ret = 0;

    for (size_t i = 0; i < FILE_COUNT && ret != -ENOMEM; i++) {
        struct ntk_err err = { 0 };
        uint8_t head[HEAD_BYTES];
        char *path = file_of(trace, files[i].name);

        states[i] = STATE_MISSING;
        if (!path) {
            continue;
        }
        ssize_t count = head_read(path, head, &err);
        bool is_vendor = count >= 0 && files[i].is_vendor(head, (size_t)count);
        if (count == 0 && i == FILE_INFO) {
            ntk_err_set(&err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s is empty", path);
        }
        ret = count < 0 || err.text[0] ? -EIO
              : is_vendor              ? files[i].vendor(path, trace, &err)
                                       : files[i].ours(path, trace, &err);
        trace->is_vendor = trace->is_vendor || (is_vendor && count > 0);
        states[i] = count == 0 ? STATE_EMPTY : ret == 0 ? STATE_WHOLE : STATE_DAMAGED;
        if (ret != 0) {
            warn(trace, &err);
        }
        free(path);
    }
    return ret == -ENOMEM ? ret : 0;
}

/* ---- spans ---- */

/* Open spans of one thread during a pass by start. */
struct open_spans {
    uint32_t thread_id;
    struct ntk_vec stack; /* elements are size_t */
};

static struct ntk_vec *stack_of(struct ntk_vec *threads, uint32_t thread_id)
{
    ntk_vec_each(struct open_spans, thread, threads) {
        if (thread->thread_id == thread_id) {
            return &thread->stack;
        }
    }
    struct open_spans *added = ntk_vec_add(threads);
    if (!added) {
        return NULL;
    }
    added->thread_id = thread_id;
    ntk_vec_init(&added->stack, sizeof(size_t));
    return &added->stack;
}

#define THREADS_MAX 4096U /* maximum, because files may be hostile */

static int nest(struct ntk_system_trace *trace)
{
    struct ntk_vec threads = NTK_VEC_INIT(struct open_spans);
    int ret = 0;

    for (size_t i = 0; i < trace->span_count && ret == 0; i++) {
        struct ntk_system_span *span = &trace->spans[i];
        struct ntk_vec *stack =
            threads.count < THREADS_MAX ? stack_of(&threads, span->thread_id) : NULL;

        if (!stack) {
            ret = threads.count < THREADS_MAX ? -ENOMEM : 0;
            continue;
        }
        while (stack->count > 0) {
            const struct ntk_system_span *open =
                &trace->spans[*(size_t *)ntk_vec_at(stack, stack->count - 1)];

            if (open->end_ns >= span->end_ns) {
                span->parent = *(size_t *)ntk_vec_at(stack, stack->count - 1);
                break;
            }
            if (open->end_ns > span->start_ns) {
                break; /* they overlap, so the later one has no parent */
            }
            ntk_vec_remove(stack, stack->count - 1);
        }
        /* Spans of a core do not contain spans of the thread that collects them. */
        if (!span->is_instant && !span->is_partial && !ntk_system_type_is_hardware(span->type)) {
            ret = ntk_vec_push(stack, &i) < 0 ? -ENOMEM : 0;
        }
        ntk_system_trace_passed(trace, i);
    }
    ntk_vec_each(struct open_spans, thread, &threads) {
        ntk_vec_fini(&thread->stack);
    }
    ntk_vec_fini(&threads);
    return ret;
}

/* Finds the bounds of the inspection, or of the events if trace_info.pb has none. */
static void bounds_find(struct ntk_system_trace *trace)
{
    if (trace->info) {
        trace->begin_ns = trace->info->begin_ns;
        trace->end_ns = trace->info->end_ns;
        return;
    }
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct ntk_system_span *span = &trace->spans[i];

        trace->begin_ns = i == 0 ? span->start_ns : trace->begin_ns;
        trace->end_ns = span->end_ns > trace->end_ns ? span->end_ns : trace->end_ns;
        ntk_system_trace_passed(trace, i);
    }
}

/* Counts the cores of the process from events, because the vendor's trace_info.pb does not record
 * them. */
static void vendor_cores_count(struct ntk_system_trace *trace)
{
    uint32_t last = 0;
    uint32_t first_core = UINT32_MAX;

    for (size_t i = 0; i < trace->span_count; i++) {
        const struct ntk_system_span *span = &trace->spans[i];

        last = span->nc > last ? span->nc : last;
        first_core = span->worker < first_core ? span->worker : first_core;
        ntk_system_trace_passed(trace, i);
    }
    if (trace->info && trace->span_count > 0 && last < UINT32_MAX) {
        trace->info->core_count = last + 1;
        trace->info->first_core = first_core;
    }
}

static void partial_count(struct ntk_system_trace *trace)
{
    for (size_t i = 0; i < trace->span_count; i++) {
        trace->partial_count += trace->spans[i].is_partial;
        ntk_system_trace_passed(trace, i);
    }
}

int ntk_system_trace_open(const char *folder, struct ntk_system_trace **out_trace,
                          struct ntk_err *err)
{
    struct ntk_system_trace *trace = calloc(1, sizeof *trace);
    int ret = 0;

    if (!trace || !(trace->folder = strdup(folder))) {
        free(trace);
        return ntk_err_no_memory(err);
    }
    ntk_vec_init(&trace->warnings, sizeof(char *));
    ntk_vec_init(&trace->notes, sizeof(struct ntk_system_note));
    ntk_vec_init(&trace->texts, sizeof(char *));
    ntk_vec_init(&trace->accounts, sizeof(struct ntk_system_account));
    ret = ntk_session_files(folder, ".ntff", &trace->captures);
    if (ret < 0) {
        ntk_system_trace_close(trace);
        return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot read '%s': %s", folder,
                           strerror(-ret));
    }
    enum file_state states[FILE_COUNT];
    ret = files_read(trace, states);
    if (ret == 0 && trace->is_vendor) {
        ret = ntk_vendor_session_accounts(trace);
        ret = ret == 0 ? ntk_vendor_session_clocks(trace) : ret;
        vendor_cores_count(trace);
    }
    ret = ret == 0 ? nest(trace) : ret;
    partial_count(trace);
    if (ret == 0) {
        missing_tell(trace, states);
    }
    if (ret < 0) {
        ntk_system_trace_close(trace);
        return ntk_long_list_err_set(err, ret, ntk_fs_temporary_folder());
    }
    bounds_find(trace);
    trace->zero_ns = trace->span_count > 0 ? trace->spans[0].start_ns : trace->begin_ns;
    *out_trace = trace;
    return 0;
}

void ntk_system_trace_close(struct ntk_system_trace *trace)
{
    if (!trace) {
        return;
    }
    ntk_ntrace_pb__info__free_unpacked(trace->info, NULL);
    ntk_ntrace_pb__host_samples__free_unpacked(trace->cpu, NULL);
    ntk_ntrace_pb__host_samples__free_unpacked(trace->memory, NULL);
    ntk_session_paths_fini(&trace->captures);
    ntk_session_paths_fini(&trace->warnings);
    if (trace->span_list.items) {
        ntk_long_list_fini(&trace->span_list);
    } else {
        free(trace->spans);
    }
    ntk_long_list_fini(&trace->extras);
    ntk_long_list_fini(&trace->memories);
    ntk_map_fini(&trace->text_indices);
    ntk_session_paths_fini(&trace->texts);
    ntk_vec_each(struct ntk_system_note, note, &trace->notes) {
        free(note->text);
    }
    ntk_vec_fini(&trace->notes);
    ntk_vec_fini(&trace->accounts);
    ntk_vec_fini(&trace->sync_points);
    ntk_vendor_trace_info_free(trace->vendor);
    free(trace->folder);
    free(trace);
}

bool ntk_system_trace_is_absent(const struct ntk_system_trace *trace)
{
    return !trace->info && !trace->vendor && !trace->cpu && !trace->memory &&
           trace->span_count == 0 && trace->record_count == 0 && trace->warnings.count == 0;
}

#define PASS_SPANS 65536U

void ntk_system_trace_give_back(const struct ntk_system_trace *trace)
{
    ntk_long_list_give_back(&trace->span_list);
    ntk_long_list_give_back(&trace->extras);
    ntk_long_list_give_back(&trace->memories);
}

void ntk_system_trace_passed(const struct ntk_system_trace *trace, size_t index)
{
    if (index % PASS_SPANS == PASS_SPANS - 1) {
        ntk_system_trace_give_back(trace);
    }
}

const struct ntk_system_memory *ntk_system_span_memory(const struct ntk_system_trace *trace,
                                                       const struct ntk_system_span *span)
{
    return span->memory ? (const struct ntk_system_memory *)trace->memories.items + span->memory - 1
                        : NULL;
}

/* The format is: length of the key, length of the value, both texts; an empty key ends a list. */
bool ntk_system_extra_next(const struct ntk_system_trace *trace, const struct ntk_system_span *span,
                           struct ntk_system_extra *extra)
{
    const uint8_t *bytes = trace->extras.items;

    if (!extra->is_begun) {
        memcpy(extra->next, span->extra, sizeof extra->next);
        extra->is_begun = true;
    }
    for (size_t end = 0; end < 2; end++) {
        if (extra->next[end] == 0) {
            continue;
        }
        const uint8_t *at = bytes + extra->next[end] - 1;
        uint16_t value_bytes;

        if (at[0] == 0) {
            extra->next[end] = 0;
            continue;
        }
        memcpy(&value_bytes, at + 1, sizeof value_bytes);
        extra->key_bytes = at[0];
        extra->key = (const char *)at + 3;
        extra->value_bytes = value_bytes;
        extra->value = extra->key + extra->key_bytes;
        extra->next[end] += 3 + extra->key_bytes + extra->value_bytes;
        return true;
    }
    return false;
}
