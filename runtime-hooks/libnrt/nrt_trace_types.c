/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/libnrt/nrt_trace_types.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum group {
    HARDWARE,
    SOFTWARE,
};

#define KIND_NONE (-1)
#define NTK_CORE_TRACE_NONE KIND_NONE

static const struct {
    const char *name;
    enum group group;
    int kind;
} types[] = {
#define NRT_TRACE_TYPE(name, group, kind) { name, group, (int)NTK_CORE_TRACE_##kind },
#include "runtime-hooks/libnrt/nrt_trace_types.def"
#undef NRT_TRACE_TYPE
};

#define TYPE_COUNT (sizeof types / sizeof *types)
static_assert(TYPE_COUNT < 64, "a set is one word");

/* Spellings used by other releases. */
static const struct {
    const char *word;
    const char *name;
} spellings[] = {
    { "nc_model_switch", "nrt_model_switch" },
    { "model_load", "nrt_load" },
    { "runtime_execute", "nrt_execute" },
    { "device_exec", "nc_exec_running" },
    { "tensor_read", "nrt_tensor_read" },
    { "tensor_write", "nrt_tensor_write" },
    { "cc_exec", "cc_running" },
    { "exec_consume_pool_stdio", "exec_consume_gpsimd_stdio" },
};

uint64_t nrt_trace_types_all(void)
{
    return (UINT64_C(1) << TYPE_COUNT) - 1;
}

static uint64_t types_of_word(const char *word)
{
    uint64_t found = 0;

    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        if (strcmp(spellings[i].word, word) == 0) {
            word = spellings[i].name;
        }
    }
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        bool is_group = strcmp(word, types[i].group == HARDWARE ? "hardware" : "software") == 0;

        if (is_group || strcmp(word, types[i].name) == 0) {
            found |= UINT64_C(1) << i;
        }
    }
    return found;
}

bool nrt_trace_types_set(uint64_t *set, const char *word, bool enabled)
{
    uint64_t named = types_of_word(word);

    *set = enabled ? *set | named : *set & ~named;
    return named != 0;
}

bool nrt_trace_types_parse(const char *list, uint64_t *out_types, char *out_word, size_t word_bytes)
{
    uint64_t set = *list == '^' ? nrt_trace_types_all() : 0;

    while (*list) {
        size_t length = strcspn(list, ",");
        bool enabled = *list != '^';
        size_t start = enabled ? 0 : 1;
        size_t kept = length - start < word_bytes - 1 ? length - start : word_bytes - 1;

        memcpy(out_word, list + start, kept);
        out_word[kept] = '\0';
        if (strcmp(out_word, "all") == 0 || strcmp(out_word, "*") == 0) {
            set = enabled ? nrt_trace_types_all() : 0;
        } else if (!nrt_trace_types_set(&set, out_word, enabled)) {
            return false;
        }
        list += length;
        list += *list == ',';
    }
    *out_types = set;
    return true;
}

uint64_t nrt_trace_types_kinds(uint64_t set)
{
    uint64_t kinds = 0;

    for (size_t i = 0; i < TYPE_COUNT; i++) {
        if (((set >> i) & 1) && types[i].kind != KIND_NONE) {
            kinds |= UINT64_C(1) << types[i].kind;
        }
    }
    return kinds;
}

static const char *kind_names[NTK_CORE_TRACE_KINDS];

/* Fills the names; a kind has the name in its first row. */
static void kind_names_fill(void)
{
    for (int kind = 0; kind < NTK_CORE_TRACE_KINDS; kind++) {
        kind_names[kind] = "";
        for (size_t i = TYPE_COUNT; i-- > 0;) {
            if (types[i].kind == kind) {
                kind_names[kind] = types[i].name;
            }
        }
    }
}

const char *const *nrt_trace_kind_names(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, kind_names_fill);
    return kind_names;
}

void nrt_trace_names_free(const char **names, size_t count)
{
    if (names) {
        for (size_t i = 0; i < count; i++) {
            free((void *)names[i]);
        }
        free((void *)names);
    }
}

NRT_STATUS nrt_trace_names_dup(const char *const *names, size_t count, const char ***out_names)
{
    const char **copies = calloc(count + 1, sizeof(const char *));

    if (!copies) {
        return NRT_RESOURCE;
    }
    for (size_t i = 0; i < count; i++) {
        copies[i] = strdup(names[i]);
        if (!copies[i]) {
            nrt_trace_names_free(copies, i);
            return NRT_RESOURCE;
        }
    }
    *out_names = copies;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_trace_types_list(uint64_t set, const char ***out_names, size_t *out_count)
{
    const char *names[TYPE_COUNT];
    size_t count = 0;

    for (size_t i = 0; i < TYPE_COUNT; i++) {
        if ((set >> i) & 1) {
            names[count++] = types[i].name;
        }
    }
    NRT_STATUS status = nrt_trace_names_dup(names, count, out_names);
    if (status == NRT_SUCCESS) {
        *out_count = count;
    }
    return status;
}

static void model_write(struct ntk_json *json, const struct ntk_ntrace_event *event)
{
    ntk_json_key_u64(json, "model_id", event->model_id);
    ntk_json_key_text(json, "model_name", ntk_core_trace_name(event->name));
}

/* Writes the keys of "data" by kind. */
static void data_write(struct ntk_json *json, const struct ntk_ntrace_event *event)
{
    switch ((enum ntk_core_trace_kind)event->kind) {
    case NTK_CORE_TRACE_RUNNING:
        if (event->phase == NTK_NTRACE_START) {
            ntk_json_key_u64(json, "exec_id", event->execution_id);
            ntk_json_key_u64(json, "device_core_idx", event->device_core);
        }
        ntk_json_key_u64(json, "nc_timestamp_ns", event->device_ns);
        break;
    case NTK_CORE_TRACE_SYNC:
        ntk_json_key_u64(json, "exec_id", event->execution_id);
        ntk_json_key_u64(json, "device_core_idx", event->device_core);
        ntk_json_key_u64(json, "cpu_timestamp_ns", event->time_ns);
        ntk_json_key_u64(json, "nc_timestamp_ns", event->device_ns);
        break;
    case NTK_CORE_TRACE_NUMERICAL:
    case NTK_CORE_TRACE_SWITCH:
        ntk_json_key_u64(json, "exec_id", event->execution_id);
        ntk_json_key_u64(json, "device_core_idx", event->device_core);
        ntk_json_key_u64(json, "nc_timestamp_ns", event->device_ns);
        model_write(json, event);
        break;
    case NTK_CORE_TRACE_CC:
    case NTK_CORE_TRACE_BARRIER:
        ntk_json_key_u64(json, "nc_timestamp_ns", event->device_ns);
        if (event->bytes > 0) {
            ntk_json_key_u64(json, "size", event->bytes);
        }
        break;
    case NTK_CORE_TRACE_LOAD:
    case NTK_CORE_TRACE_UNLOAD:
    case NTK_CORE_TRACE_SUBMIT:
        model_write(json, event);
        break;
    case NTK_CORE_TRACE_SCHEDULE:
        if (event->phase == NTK_NTRACE_STOP) { /* the values are unknown before the end */
            ntk_json_key_u64(json, "nrt_sequence_id", event->execution_id);
        }
        model_write(json, event);
        break;
    case NTK_CORE_TRACE_EXECUTE:
    case NTK_CORE_TRACE_EXEC_PRE:
    case NTK_CORE_TRACE_EXEC_DISPATCH:
    case NTK_CORE_TRACE_EXEC_WAIT:
    case NTK_CORE_TRACE_EXEC_POST:
        ntk_json_key_u64(json, "exec_id", event->execution_id);
        model_write(json, event);
        break;
    case NTK_CORE_TRACE_TENSOR_ALLOCATE:
    case NTK_CORE_TRACE_TENSOR_FREE:
    case NTK_CORE_TRACE_TENSOR_READ:
    case NTK_CORE_TRACE_TENSOR_WRITE:
    case NTK_CORE_TRACE_TENSOR_COPY:
        ntk_json_key_u64(json, "size", event->bytes);
        ntk_json_key_text(json, "tensor_name", ntk_core_trace_name(event->name));
        break;
    case NTK_CORE_TRACE_COPY_IN:
    case NTK_CORE_TRACE_COPY_OUT:
        ntk_json_key_u64(json, "size", event->bytes);
        break;
    case NTK_CORE_TRACE_MEMORY_ALLOC:
    case NTK_CORE_TRACE_MEMORY_FREE:
        ntk_json_key_u64(json, "size", event->bytes);
        ntk_json_key_text(json, "usage", ntk_core_trace_name(event->name));
        ntk_json_key_u64(json, "hbm_idx", event->stack);
        break;
    case NTK_CORE_TRACE_MARK:
        ntk_json_key_text(json, "mark", ntk_core_trace_name(event->name));
        ntk_json_key_u64(json, "value", event->bytes);
        break;
    case NTK_CORE_TRACE_KINDS:
        break;
    }
}

void nrt_trace_event_write(struct ntk_json *json, const struct ntk_ntrace_event *event, uint32_t nc,
                           uint32_t worker)
{
    static const char *const phases[] = { "start", "stop", "instant" };

    ntk_json_object_begin(json);
    ntk_json_key_text(json, "event_type", nrt_trace_kind_names()[event->kind]);
    ntk_json_key_text(json, "phase", phases[event->phase]);
    ntk_json_key_u64(json, "tracking_id", event->tracking_id);
    ntk_json_key_u64(json, "nc_idx", nc);
    ntk_json_key_u64(json, "timestamp_ns", event->time_ns);
    ntk_json_key_object_begin(json, "data");
    data_write(json, event);
    ntk_json_object_end(json);
    ntk_json_key_u64(json, "process_id", (uint64_t)getpid());
    ntk_json_key_u64(json, "thread_id", event->thread_id);
    ntk_json_key_u64(json, "worker_gid", worker);
    ntk_json_object_end(json);
}
