/* SPDX-License-Identifier: MIT */
/* rows_system - creates rows for host and core activity in inspected processes, and for host
 * samples. */
#include "profiler/output/tables/rows_system.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "profiler/output/tables/rows.h"
#include "shared/base/json.h"
#include "shared/base/str.h"
#include "shared/base/timestamp.h"

const char *ntk_rows_system_instance(const struct ntk_system_trace *trace)
{
    return trace->info ? trace->info->instance_id : "";
}

int64_t ntk_rows_system_process(const struct ntk_system_trace *trace)
{
    return trace->info && trace->info->process_id ? ntk_rows_i64(trace->info->process_id)
                                                  : NTK_ABSENT_I64;
}

/* ---- spans and instants ---- */

size_t ntk_rows_system_arguments(const struct ntk_system_event_row *row,
                                 struct ntk_system_argument out[NTK_SYSTEM_ARGUMENTS_MAX])
{
    const struct ntk_system_argument all[] = {
        { "exec_id", NULL, row->exec_id },
        { "nc_timestamp_ns", NULL, row->device_ns },
        { "model_id", NULL, row->model_id },
        { "model_name", row->model, NTK_ABSENT_I64 },
        { "tensor_name", row->tensor, NTK_ABSENT_I64 },
        { "usage", row->usage, NTK_ABSENT_I64 },
        { "hbm_idx", NULL, row->hbm },
        { "allocated_bytes", NULL, row->allocated_bytes },
        { "freed_bytes", NULL, row->freed_bytes },
        { "total_bytes", NULL, row->total_bytes },
        { "usage_type_total_bytes", NULL, row->usage_bytes },
        { "physical_address", row->address, NTK_ABSENT_I64 },
        { "return_code", NULL, row->code },
        { "mark", row->mark, NTK_ABSENT_I64 },
        { "value", NULL, row->value },
        { "size", NULL, row->bytes },
        { "queue", NULL, row->queue },
        { "communicator", row->communicator, NTK_ABSENT_I64 },
        { "sequence", NULL, row->sequence },
        { "operation", row->operation, NTK_ABSENT_I64 },
    };
    size_t count = 0;

    static_assert(sizeof all / sizeof *all + NTK_SYSTEM_EXTRAS_MAX == NTK_SYSTEM_ARGUMENTS_MAX,
                  "room for all");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].text || all[i].number != NTK_ABSENT_I64) {
            out[count++] = all[i];
        }
    }
    for (size_t i = 0; i < row->extra_count; i++) {
        out[count++] = row->extras[i];
    }
    return count;
}

/* Returns NULL if the row has none. */
static const char *attributes_of(const struct ntk_system_event_row *row, struct ntk_buf *buf)
{
    struct ntk_system_argument arguments[NTK_SYSTEM_ARGUMENTS_MAX];
    size_t count = ntk_rows_system_arguments(row, arguments);
    struct ntk_json json;

    ntk_buf_reset(buf);
    ntk_json_init(&json, buf, false);
    ntk_json_object_begin(&json);
    for (size_t i = 0; i < count; i++) {
        if (arguments[i].text) {
            ntk_json_key_text(&json, arguments[i].key, arguments[i].text);
        } else {
            ntk_json_key_i64(&json, arguments[i].key, arguments[i].number);
        }
    }
    if (row->is_partial) {
        ntk_json_key_bool(&json, "is_partial", true);
    }
    ntk_json_object_end(&json);
    return buf->bytes_count > 2 ? ntk_buf_text_get(buf) : NULL;
}

/* Parses a number in canonical form; NTK_ABSENT_I64 for other text. */
static int64_t number_of(const char *text, size_t bytes)
{
    int64_t value = 0;

    if (bytes == 0 || (text[0] == '0' && bytes > 1)) {
        return NTK_ABSENT_I64;
    }
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] < '0' || text[i] > '9' || value > (INT64_MAX - (text[i] - '0')) / 10) {
            return NTK_ABSENT_I64;
        }
        value = 10 * value + (text[i] - '0');
    }
    return value;
}

/* Storage for texts without a member in the row, valid until the next row. */
struct row_texts {
    char address[24];
    struct ntk_buf extras; /* NUL-terminated */
};

/* Returns true for keys of the vendor's files that would contradict keys of this project. */
static bool is_reserved(const struct ntk_system_extra *extra)
{
    static const char *const keys[] = {
        "id",        "parent_id",   "name",        "group",
        "timestamp", "duration",    "instance_id", "process_id",
        "thread_id", "worker_gid",  "lnc_idx",     "nc_idx",
        "exec_id",   "model_id",    "model_name",  "tensor_name",
        "usage",     "size",        "value",       "mark",
        "sequence",  "operation",   "is_partial",  "communicator",
        "hbm_idx",   "return_code", "total_bytes", "device_core_idx",
    };

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strlen(keys[i]) == extra->key_bytes &&
            memcmp(keys[i], extra->key, extra->key_bytes) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_argument(const struct ntk_system_event_row *row, const char *key)
{
    for (size_t i = 0; i < row->extra_count; i++) {
        if (strcmp(row->extras[i].key, key) == 0) {
            return true;
        }
    }
    return false;
}

static void fill_extras(const struct ntk_system_trace *trace, const struct ntk_system_span *span,
                        struct ntk_system_event_row *row, struct row_texts *texts)
{
    struct ntk_system_extra extra = { 0 };

    ntk_buf_reset(&texts->extras);
    /* Texts move while the buffer grows, so store offsets first. */
    while (row->extra_count < NTK_SYSTEM_EXTRAS_MAX && ntk_system_extra_next(trace, span, &extra)) {
        struct ntk_system_argument *argument = &row->extras[row->extra_count++];

        argument->key = (const char *)(uintptr_t)texts->extras.bytes_count;
        ntk_buf_add_text(&texts->extras, is_reserved(&extra) ? "x_" : "");
        ntk_buf_add(&texts->extras, extra.key, extra.key_bytes);
        ntk_buf_add_char(&texts->extras, '\0');
        argument->number = number_of(extra.value, extra.value_bytes);
        argument->text = (const char *)(uintptr_t)texts->extras.bytes_count;
        ntk_buf_add(&texts->extras, extra.value, extra.value_bytes);
        ntk_buf_add_char(&texts->extras, '\0');
    }
    size_t count = ntk_buf_ok(&texts->extras) ? row->extra_count : 0;
    row->extra_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct ntk_system_argument argument = row->extras[i];

        argument.key = texts->extras.bytes + (uintptr_t)argument.key;
        argument.text = argument.number == NTK_ABSENT_I64
                            ? texts->extras.bytes + (uintptr_t)argument.text
                            : NULL;
        /* if start and stop have the key, the argument of the start is used */
        if (!has_argument(row, argument.key)) {
            row->extras[row->extra_count++] = argument;
        }
    }
}

static void fill_memory(const struct ntk_system_memory *memory, struct ntk_system_event_row *row,
                        struct row_texts *texts)
{
    *(memory->is_free ? &row->freed_bytes : &row->allocated_bytes) = ntk_rows_i64(memory->bytes);
    if (memory->has_totals) {
        row->total_bytes = ntk_rows_i64(memory->total_bytes);
        row->usage_bytes = ntk_rows_i64(memory->usage_bytes);
    }
    if (memory->address) {
        (void)snprintf(texts->address, sizeof texts->address, "0x%" PRIx64, memory->address);
        row->address = texts->address;
    }
    row->code = memory->is_free || !memory->has_stopped ? NTK_ABSENT_I64 : (int64_t)memory->code;
}

static void fill_event(const struct ntk_system_trace *trace, size_t index, int64_t first_id,
                       struct ntk_system_event_row *row, struct row_texts *texts)
{
    const struct ntk_system_span *span = &trace->spans[index];
    const struct ntk_system_memory *memory = ntk_system_span_memory(trace, span);
    bool is_hardware = ntk_system_type_is_hardware(span->type);
    bool is_tensor = strncmp(span->type, "nrt_tensor_", 11) == 0 && span->name[0];
    bool is_memory = strncmp(span->type, "nrt_dma_mem_", 12) == 0;
    bool is_mark = ntk_system_span_is_mark(span);
    bool is_collective = ntk_system_span_is_collective(span);
    /* In files of this project a call that queues an execution has its sequence as number. */
    bool is_schedule = strcmp(span->type, "nrta_execute_schedule") == 0 && !span->sequence;
    int64_t number = ntk_system_span_has_exec(span) ? ntk_rows_i64(span->exec_id) : NTK_ABSENT_I64;

    *row = (struct ntk_system_event_row){
        .id = first_id + (int64_t)index,
        .parent_id = span->parent == NTK_SYSTEM_NO_PARENT ? NTK_ABSENT_I64
                                                          : first_id + (int64_t)span->parent,
        .start_ns = ntk_rows_i64(span->start_ns),
        .end_ns = ntk_rows_i64(span->end_ns),
        .duration_ns = ntk_rows_i64(span->end_ns - span->start_ns),
        .name = span->type,
        .source = is_hardware ? "neuron_hw" : "neuron_rt",
        .instance = ntk_rows_system_instance(trace),
        .process = ntk_rows_system_process(trace),
        .thread = span->thread_id,
        .nc = span->nc,
        .worker = span->worker,
        .device_core = is_hardware && span->device_core != NTK_SYSTEM_NO_CORE ? span->device_core
                                                                              : NTK_ABSENT_I64,
        .exec_id = is_collective || is_schedule ? NTK_ABSENT_I64 : number,
        .is_instant = span->is_instant,
        .is_partial = span->is_partial,
        .model_id = span->model_id ? ntk_rows_i64(span->model_id) : NTK_ABSENT_I64,
        .model = span->model_id ? span->name : NULL,
        .tensor = is_tensor ? span->name : NULL,
        .usage = is_memory ? span->name : NULL,
        .mark = is_mark ? span->name : NULL,
        .label = ntk_system_span_label(span),
        .bytes = span->bytes && !is_mark ? ntk_rows_i64(span->bytes) : NTK_ABSENT_I64,
        .value = is_mark ? ntk_rows_i64(span->bytes) : NTK_ABSENT_I64,
        .communicator = is_collective ? span->name : NULL,
        .sequence = is_collective || is_schedule ? number
                    : span->sequence             ? ntk_rows_i64(span->sequence)
                                                 : NTK_ABSENT_I64,
        .operation = span->operation ? ntk_system_span_operation(span) : NULL,
        .queue = span->queue ? span->queue : NTK_ABSENT_I64,
        .device_ns = is_hardware && ntk_system_span_has_clock(span)
                         ? ntk_rows_i64(span->device_start_ns)
                         : NTK_ABSENT_I64,
        .hbm = is_memory && span->stack != NTK_SYSTEM_NO_STACK ? span->stack : NTK_ABSENT_I64,
        .allocated_bytes = NTK_ABSENT_I64,
        .freed_bytes = NTK_ABSENT_I64,
        .total_bytes = NTK_ABSENT_I64,
        .usage_bytes = NTK_ABSENT_I64,
        .code = NTK_ABSENT_I64,
    };
    if (memory) {
        fill_memory(memory, row, texts);
    }
    fill_extras(trace, span, row, texts);
}

int ntk_rows_system_events(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    struct ntk_system_event_row row;
    struct ntk_buf attributes = { 0 };
    struct row_texts texts = { 0 };
    char flow[64];
    int64_t first_id = 1;
    int ret = 0;

    for (size_t f = 0; f < export->folder_count && ret == 0; f++) {
        const struct ntk_system_trace *trace = export->folders[f].trace;
        for (size_t i = 0; i < trace->span_count && ret == 0; i++) {
            fill_event(trace, i, first_id, &row, &texts);
            row.attributes = attributes_of(&row, &attributes);
            if (row.exec_id != NTK_ABSENT_I64) {
                (void)snprintf(flow, sizeof flow, "[\"%" PRId64 ".%" PRId64 "\"]",
                               row.process == NTK_ABSENT_I64 ? 0 : row.process, row.exec_id);
                row.flow = flow;
            }
            ret = ntk_buf_ok(&attributes) ? put(ctx, &row) : -ENOMEM;
            ntk_system_trace_passed(trace, i);
        }
        first_id += (int64_t)trace->span_count;
    }
    ntk_buf_fini(&attributes);
    ntk_buf_fini(&texts.extras);
    return ret;
}

/* ---- host samples ---- */

static int64_t next_sample_ns(const NtkNtracePb__HostSamples *samples, size_t i)
{
    uint64_t this_ns = samples->timestamp_ns[i];
    uint64_t next_ns = i + 1 < samples->n_timestamp_ns ? samples->timestamp_ns[i + 1] : this_ns;

    return ntk_rows_i64(next_ns > this_ns ? next_ns : this_ns);
}

/* Returns a number, because the column is numeric: an identity that is not a number is only in
 * SystemProfileMetadata. */
static int64_t ultraserver_of(const struct ntk_system_trace *trace)
{
    const struct ntk_vendor_trace_info *vendor = trace->vendor;

    return vendor && vendor->ultraserver_index != NTK_VENDOR_TRACE_NO_INDEX
               ? number_of(vendor->ultraserver_id, strlen(vendor->ultraserver_id))
               : NTK_ABSENT_I64;
}

static int64_t ultraserver_index_of(const struct ntk_system_trace *trace)
{
    const struct ntk_vendor_trace_info *vendor = trace->vendor;

    return vendor && vendor->ultraserver_index != NTK_VENDOR_TRACE_NO_INDEX
               ? ntk_rows_i64(vendor->ultraserver_index)
               : NTK_ABSENT_I64;
}

/* Returns the average of all processors at one time. */
static double average_of(const NtkNtracePb__HostSamples *samples, size_t i)
{
    double sum = 0;

    for (size_t c = 0; c < samples->n_cpus; c++) {
        sum += samples->cpus[c]->percent[i];
    }
    return sum / (double)samples->n_cpus;
}

int ntk_rows_system_cpus(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    for (size_t f = 0; f < export->folder_count; f++) {
        const NtkNtracePb__HostSamples *samples = export->folders[f].trace->cpu;
        size_t cpu_count = samples ? samples->n_cpus : 0;
        for (size_t c = 0; cpu_count > 0 && c <= cpu_count; c++) {
            bool is_average = c == cpu_count;
            char number[24];
            (void)snprintf(number, sizeof number, "%zu", c);
            for (size_t i = 0; i < samples->n_timestamp_ns; i++) {
                struct ntk_cpu_row row = {
                    .time_ns = ntk_rows_i64(samples->timestamp_ns[i]),
                    .until_ns = next_sample_ns(samples, i),
                    .cpu = is_average ? "average" : number,
                    .index = is_average ? NTK_ABSENT_I64 : (int64_t)c,
                    .percent = is_average ? average_of(samples, i) : samples->cpus[c]->percent[i],
                    .instance = ntk_rows_system_instance(export->folders[f].trace),
                    .ultraserver = ultraserver_of(export->folders[f].trace),
                    .ultraserver_index = ultraserver_index_of(export->folders[f].trace),
                };
                int ret = put(ctx, &row);
                if (ret < 0) {
                    return ret;
                }
            }
        }
    }
    return 0;
}

int ntk_rows_system_host_memory(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    for (size_t f = 0; f < export->folder_count; f++) {
        const NtkNtracePb__HostSamples *samples = export->folders[f].trace->memory;
        for (size_t i = 0; samples && i < samples->n_total_bytes; i++) {
            double total = (double)samples->total_bytes[i];
            struct ntk_host_memory_row row = {
                .time_ns = ntk_rows_i64(samples->timestamp_ns[i]),
                .until_ns = next_sample_ns(samples, i),
                .used_bytes = ntk_rows_i64(samples->used_bytes[i]),
                .used_percent =
                    total > 0 ? 100.0 * (double)samples->used_bytes[i] / total : NTK_ABSENT_F64,
                .instance = ntk_rows_system_instance(export->folders[f].trace),
                .ultraserver = ultraserver_of(export->folders[f].trace),
                .ultraserver_index = ultraserver_index_of(export->folders[f].trace),
            };
            int ret = put(ctx, &row);
            if (ret < 0) {
                return ret;
            }
        }
    }
    return 0;
}

/* ---- the run ---- */

static void include(uint64_t time_ns, uint64_t *first_ns, uint64_t *last_ns)
{
    if (time_ns) {
        *first_ns = !*first_ns || time_ns < *first_ns ? time_ns : *first_ns;
        *last_ns = time_ns > *last_ns ? time_ns : *last_ns;
    }
}

static void include_samples(const NtkNtracePb__HostSamples *samples, uint64_t *first_ns,
                            uint64_t *last_ns)
{
    if (samples && samples->n_timestamp_ns) {
        include(samples->timestamp_ns[0], first_ns, last_ns);
        include(samples->timestamp_ns[samples->n_timestamp_ns - 1], first_ns, last_ns);
    }
}

static void bounds(const struct ntk_export *export, uint64_t *first_ns, uint64_t *last_ns)
{
    *first_ns = 0;
    *last_ns = 0;
    for (size_t f = 0; f < export->folder_count; f++) {
        const struct ntk_system_trace *trace = export->folders[f].trace;
        for (size_t i = 0; i < trace->span_count; i++) {
            include(trace->spans[i].start_ns, first_ns, last_ns);
            include(trace->spans[i].end_ns, first_ns, last_ns);
            ntk_system_trace_passed(trace, i);
        }
        include_samples(trace->cpu, first_ns, last_ns);
        include_samples(trace->memory, first_ns, last_ns);
    }
    for (size_t c = 0; c < export->capture_count; c++) {
        include(export->captures[c].start_ns, first_ns, last_ns);
    }
}

int64_t ntk_rows_system_first_ns(const struct ntk_export *export)
{
    uint64_t first_ns;
    uint64_t last_ns;

    bounds(export, &first_ns, &last_ns);
    return ntk_rows_i64(first_ns);
}

int64_t ntk_rows_system_offset_ns(const struct ntk_export_capture *capture, int64_t first_ns)
{
    int64_t offset_ns = ntk_rows_i64(capture->start_ns) - first_ns;

    /* If it is farther away, it is not part of this run; its times must also fit. */
    return capture->start_ns && offset_ns < INT64_MAX / 2 ? offset_ns : 0;
}

static void fill_machine(const struct ntk_system_view *view, struct ntk_system_metadata_row *row)
{
    const NtkNtracePb__Info *info = view->trace->info;
    const struct ntk_vendor_trace_info *vendor = view->trace->vendor;

    if (info) {
        row->instance_type = info->instance_type[0] ? info->instance_type : NULL;
        row->lnc = info->lnc ? info->lnc : NTK_ABSENT_I64;
    }
    if (vendor) {
        row->trace_version = ntk_rows_i64(vendor->version);
        if (vendor->ultraserver_index != NTK_VENDOR_TRACE_NO_INDEX) {
            row->ultraserver = vendor->ultraserver_id;
            row->ultraserver_type = vendor->ultraserver_type[0] ? vendor->ultraserver_type : NULL;
            row->ultraserver_size = ntk_rows_i64(vendor->ultraserver_size);
            row->ultraserver_index = ntk_rows_i64(vendor->ultraserver_index);
        }
        if (view->shows_private) {
            row->ip_address = vendor->ip_address;
            row->host_name = vendor->host_name;
        }
    }
}

int ntk_rows_system_metadata(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    uint64_t first_ns;
    uint64_t last_ns;
    char first[NTK_TIMESTAMP_BYTES];
    char last[NTK_TIMESTAMP_BYTES];
    char first_number[24];
    char last_number[24];
    struct ntk_system_metadata_row row = { .ntff_version = NTK_ABSENT_I64,
                                           .lnc = NTK_ABSENT_I64,
                                           .trace_version = NTK_ABSENT_I64,
                                           .ultraserver_size = NTK_ABSENT_I64,
                                           .ultraserver_index = NTK_ABSENT_I64 };

    bounds(export, &first_ns, &last_ns);
    if (first_ns) {
        ntk_timestamp_format(first_ns, first, sizeof first);
        ntk_timestamp_format(last_ns, last, sizeof last);
        (void)snprintf(first_number, sizeof first_number, "%" PRIu64, first_ns);
        (void)snprintf(last_number, sizeof last_number, "%" PRIu64, last_ns);
        row.first = first;
        row.last = last;
        row.first_ns = first_number;
        row.last_ns = last_number;
    }
    if (export->folder_count > 0) {
        fill_machine(&export->folders[0], &row);
    }
    for (size_t f = 0; f < export->folder_count; f++) {
        if (export->folders[f].capture_count) {
            row.ntff_version = export->folders[f].captures[0].version;
            break;
        }
    }
    return put(ctx, &row);
}

int ntk_rows_system_device_profiles(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    int ret = 0;

    for (size_t f = 0; f < export->folder_count; f++) {
        const struct ntk_system_view *folder = &export->folders[f];
        for (size_t c = 0; c < folder->capture_count && ret == 0; c++) {
            const struct ntk_system_capture *capture = &folder->captures[c];
            const NtkNtracePb__Info *info = folder->trace->info;
            struct ntk_device_profile_row row = {
                .name = ntk_str_base_name(capture->path),
                .instance = ntk_rows_system_instance(folder->trace),
                .process = capture->process_id ? ntk_rows_i64(capture->process_id)
                                               : ntk_rows_system_process(folder->trace),
                .nc = capture->nc == UINT32_MAX ? NTK_ABSENT_I64 : capture->nc,
                .session =
                    info && capture->is_session ? ntk_rows_i64(info->session_id) : NTK_ABSENT_I64,
                .model = capture->model_id,
            };
            ret = put(ctx, &row);
        }
    }
    return ret;
}

int ntk_rows_system_warnings(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    int ret = 0;

    for (size_t f = 0; f < export->folder_count; f++) {
        const struct ntk_system_trace *trace = export->folders[f].trace;
        ntk_vec_each(char *, message, &trace->warnings) {
            struct ntk_warning_row row = { .message = *message, .category = "File" };
            ret = ret == 0 ? put(ctx, &row) : ret;
        }
        ntk_vec_each(const struct ntk_system_note, note, &trace->notes) {
            struct ntk_warning_row row = { .message = note->text, .category = note->category };
            ret = ret == 0 ? put(ctx, &row) : ret;
        }
        if (trace->lost && ret == 0) {
            char message[128];
            (void)snprintf(message, sizeof message,
                           "%" PRIu64 " events were overwritten before they could be saved",
                           trace->lost);
            struct ntk_warning_row row = { .message = message, .category = "Lost events" };
            ret = put(ctx, &row);
        }
    }
    return ret;
}
