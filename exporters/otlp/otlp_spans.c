/* SPDX-License-Identifier: MIT */
/* otlp_spans - encodes ids, names, status and attributes of spans. */
#include "exporters/otlp/otlp_spans.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/str.h"
#include "shared/metrics/ranks.h"

#define ATTRIBUTES_MAX 32
#define SPAN_NAME_BYTES 160

struct encoder {
    const struct ntk_snapshot *snapshot;
    uint64_t boot; /* hash of the boot id */
    struct ntk_otlp_memory memory;
};

/* -- ids --------------------------------------------------------------------------------------- */

/* Mixes 64 bits with a bijection in which each input bit changes half of the output bits. */
static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) + 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebu;
    return hash ^ hash >> 31;
}

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0;

    for (; *text; text++) {
        hash = mix(hash, (unsigned char)*text);
    }
    return hash;
}

/* Replaces an id of zeros, which is invalid. */
static uint64_t not_zero(uint64_t id)
{
    return id ? id : 1;
}

static uint64_t hash_span(const struct encoder *e, const struct ntk_span *span, uint64_t seed)
{
    uint64_t hash = mix(seed, e->boot);

    hash = mix(hash, span->key.start_time);
    hash = mix(hash, (uint64_t)span->key.uid << 32 | span->key.header_pid);
    return mix(hash, span->kind);
}

/* Returns half of the trace id. The spans of an execution on several cores have its number; others
 * are identified by time. */
static uint64_t trace_half(const struct encoder *e, const struct ntk_span *span, uint64_t seed)
{
    bool is_numbered = span->kind == NTK_EVENT_EXEC && span->number != 0;
    uint64_t hash = mix(hash_span(e, span, seed), is_numbered);

    return mix(hash, is_numbered ? span->number : span->start_ns ^ (uint64_t)span->tid << 48);
}

static uint64_t span_id(const struct encoder *e, const struct ntk_span *span)
{
    uint64_t hash = mix(hash_span(e, span, 3), span->number);

    hash = mix(hash, span->start_ns);
    hash = mix(hash, span->duration_ns);
    return not_zero(mix(hash, (uint64_t)span->core << 32 | span->tid));
}

static ProtobufCBinaryData put_id(struct encoder *e, const uint64_t *halves, size_t count)
{
    uint8_t *bytes = ntk_otlp_take(&e->memory, count * sizeof *halves, 1);

    for (size_t i = 0; bytes && i < count * sizeof *halves; i++) {
        bytes[i] = (uint8_t)(halves[i / 8] >> (56 - i % 8 * 8));
    }
    return (ProtobufCBinaryData){ bytes ? count * sizeof *halves : 0, bytes };
}

static void set_ids(struct encoder *e, const struct ntk_span *span, Ntk__Otlp__Span *to)
{
    const struct ntk_span_parent *parent = &span->parent;
    bool has_parent = (parent->trace_high | parent->trace_low) != 0;
    const uint64_t own[] = { trace_half(e, span, 1), not_zero(trace_half(e, span, 2)) };
    const uint64_t theirs[] = { parent->trace_high, parent->trace_low };
    const uint64_t id = span_id(e, span);

    to->trace_id = put_id(e, has_parent ? theirs : own, 2);
    to->span_id = put_id(e, &id, 1);
    if (has_parent) {
        to->parent_span_id = put_id(e, &parent->span, 1);
    }
    /* Every span that is sent is sampled. */
    to->flags = (has_parent ? parent->flags : 0) | NTK_SPAN_FLAG_SAMPLED;
}

/* -- attributes -------------------------------------------------------------------------------- */

static void add_text(struct encoder *e, Ntk__Otlp__Span *to, const char *name, const char *value)
{
    if (value && value[0]) {
        assert(to->n_attributes < ATTRIBUTES_MAX);
        to->attributes[to->n_attributes++] =
            ntk_otlp_text_attribute(&e->memory, name, ntk_otlp_take_clean(&e->memory, value));
    }
}

static void add_number(struct encoder *e, Ntk__Otlp__Span *to, const char *name, uint64_t value)
{
    assert(to->n_attributes < ATTRIBUTES_MAX);
    to->attributes[to->n_attributes++] = ntk_otlp_number_attribute(&e->memory, name, value);
}

/* Returns NULL if the runtime is not in this snapshot. */
static const struct ntk_runtime_sample *runtime_of(const struct encoder *e,
                                                   const struct ntk_span *span)
{
    for (size_t i = 0; i < e->snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &e->snapshot->runtimes[i];

        if (runtime->header_pid == span->key.header_pid && runtime->uid == span->key.uid &&
            runtime->start_time == span->key.start_time) {
            return runtime;
        }
    }
    return NULL;
}

static void add_job(struct encoder *e, Ntk__Otlp__Span *to, uint32_t logical_core)
{
    const struct ntk_jobs *jobs = &e->snapshot->jobs;

    for (size_t i = 0; i < jobs->count; i++) {
        for (size_t k = 0; k < jobs->rows[i].core_count; k++) {
            if (jobs->rows[i].cores[k] == logical_core) {
                add_text(e, to, "neuron.job.id", jobs->rows[i].id);
                add_text(e, to, "neuron.job.name", jobs->rows[i].name);
                add_text(e, to, "neuron.job.user", jobs->rows[i].user);
                return; /* the first of several processes that share it */
            }
        }
    }
}

static void add_place(struct encoder *e, const struct ntk_span *span,
                      const struct ntk_runtime_sample *runtime, Ntk__Otlp__Span *to)
{
    const struct ntk_hardware *hardware = &e->snapshot->hardware;
    uint32_t lnc = runtime && runtime->lnc ? runtime->lnc : hardware->lnc ? hardware->lnc : 1;

    if (span->core == NTK_NO_CORE) {
        return;
    }
    if (hardware->cores_per_device > 0) {
        char *id = ntk_otlp_take(&e->memory, NTK_OTLP_ID_BYTES, 1);
        if (id) {
            ntk_otlp_device_id(e->snapshot, span->core / hardware->cores_per_device, id);
        }
        add_text(e, to, "hw.id", id);
    }
    add_number(e, to, "neuron.core", span->core / lnc);
    add_job(e, to, span->core / lnc);
}

static void add_process(struct encoder *e, const struct ntk_span *span,
                        const struct ntk_runtime_sample *runtime, Ntk__Otlp__Span *to)
{
    add_number(e, to, "process.pid", span->pid);
    if (span->tid != 0) {
        add_number(e, to, "thread.id", span->tid);
    }
    if (!runtime) {
        return;
    }
    add_text(e, to, "neuron.runtime_tag", runtime->tag);
    add_text(e, to, "k8s.pod.name", runtime->pod.name);
    add_text(e, to, "k8s.namespace.name", runtime->pod.namespace_name);
    add_text(e, to, "k8s.container.name", runtime->pod.container_name);
    if (runtime->rank_count > 0) {
        add_number(e, to, "neuron.rank", runtime->ranks[0].world_rank);
        add_number(e, to, "neuron.rank_count", runtime->ranks[0].world_count);
    }
}

static void add_work(struct encoder *e, const struct ntk_span *span, Ntk__Otlp__Span *to)
{
    if (span->model_id != 0) {
        add_text(e, to, "neuron.model.name", span->model_name);
        add_number(e, to, "neuron.model.id", span->model_id);
    }
    switch (span->kind) {
    case NTK_EVENT_EXEC:
        add_number(e, to, "neuron.execution.id", span->number);
        if (span->queue != 0) {
            add_number(e, to, "neuron.queue", span->queue);
        }
        if (span->core_ns != 0) {
            add_number(e, to, "neuron.core_time_ns", span->core_ns);
        }
        break;
    case NTK_EVENT_MODEL_LOAD:
        add_number(e, to, "neuron.model.device_bytes", span->bytes);
        break;
    default:
        add_number(e, to, "neuron.collective.sequence", span->number);
        add_number(e, to, "neuron.collective.bytes", span->bytes);
        add_number(e, to, "neuron.collective.wait_ns", span->core_ns);
        if (span->rank_count > 0) {
            add_number(e, to, "neuron.collective.rank", span->rank);
            add_number(e, to, "neuron.collective.rank_count", span->rank_count);
        }
        break;
    }
}

/* Adds reasons such as "failed,slow". */
static void add_reasons(struct encoder *e, const struct ntk_span *span, Ntk__Otlp__Span *to)
{
    static const char *const words[] = { "failed", "slow", "parent", "every", "load" };
    char *text = ntk_otlp_take(&e->memory, 40, 1);

    for (size_t i = 0; text && i < sizeof words / sizeof *words; i++) {
        if (span->why >> i & 1) {
            strcat(text, text[0] ? "," : "");
            strcat(text, words[i]);
        }
    }
    add_text(e, to, "neuron.sampled_by", text);
}

/* -- spans ------------------------------------------------------------------------------------- */

/* Returns a name such as "hbm_error"; by the conventions "_OTHER" for a status without a name. */
static const char *status_name(struct encoder *e, uint32_t status)
{
    static const struct {
        uint32_t status;
        const char *symbol;
    } rows[] = {
#define NTK_RESULT(row_symbol, row_status, ...) { row_status, #row_symbol },
#include "shared/abi/result.def"
#undef NTK_RESULT
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].status == status) {
            char *name = ntk_otlp_take_text(&e->memory, rows[i].symbol);
            for (char *at = name; at && *at; at++) {
                *at = (char)tolower((unsigned char)*at);
            }
            return name;
        }
    }
    return "_OTHER";
}

static void set_status(struct encoder *e, const struct ntk_span *span, Ntk__Otlp__Span *to)
{
    Ntk__Otlp__SpanStatus *status = ntk_otlp_take(&e->memory, 1, sizeof *status);
    const char *name = status_name(e, span->status);
    char text[64];

    if (span->status == 0 || !status) {
        return; /* unset, because only the application may report OK */
    }
    ntk__otlp__span_status__init(status);
    (void)snprintf(text, sizeof text, "status %u (%s)", (unsigned)span->status, name);
    status->code = NTK__OTLP__STATUS_CODE__FAILED;
    status->message = ntk_otlp_take_text(&e->memory, text);
    to->status = status;
    add_text(e, to, "error.type", name);
    add_number(e, to, "neuron.status", span->status);
}

static const char *span_name(struct encoder *e, const struct ntk_span *span)
{
    const char *verb = span->kind == NTK_EVENT_MODEL_LOAD ? "load" : "execute";
    char text[SPAN_NAME_BYTES]; /* longer names are truncated */

    if (span->kind == NTK_EVENT_COLLECTIVE) {
        return span->operation < NTK_COLLECTIVE_COUNT ? ntk_collective_names[span->operation]
                                                      : "collective";
    }
    (void)snprintf(text, sizeof text, "%s%s%s", verb, span->model_name[0] ? " " : "",
                   span->model_name);
    return ntk_otlp_take_clean(&e->memory, text);
}

/* Creates a span; NULL if out of memory. */
static Ntk__Otlp__Span *make_span(struct encoder *e, const struct ntk_span *span)
{
    const struct ntk_runtime_sample *runtime = runtime_of(e, span);
    Ntk__Otlp__Span *to = ntk_otlp_take(&e->memory, 1, sizeof *to);

    if (!to) {
        return NULL;
    }
    ntk__otlp__span__init(to);
    to->attributes = ntk_otlp_take(&e->memory, ATTRIBUTES_MAX, sizeof(void *));
    if (!to->attributes) {
        return NULL;
    }
    to->name = (char *)(uintptr_t)span_name(e, span);
    to->kind = NTK__OTLP__SPAN_KIND__INTERNAL;
    to->start_time_unix_nano = span->start_ns;
    to->end_time_unix_nano = span->duration_ns < UINT64_MAX - span->start_ns
                                 ? span->start_ns + span->duration_ns
                                 : UINT64_MAX;
    set_ids(e, span, to);
    add_process(e, span, runtime, to);
    add_place(e, span, runtime, to);
    add_work(e, span, to);
    set_status(e, span, to);
    add_reasons(e, span, to);
    return e->memory.is_out ? NULL : to;
}

/* Packs the request; returns 0 or -ENOMEM. */
static int pack(struct encoder *e, Ntk__Otlp__Span **spans, size_t count,
                const struct ntk_otlp_machine *machine, const struct ntk_vec *attributes,
                struct ntk_buf *out)
{
    Ntk__Otlp__TracesRequest request = NTK__OTLP__TRACES_REQUEST__INIT;
    Ntk__Otlp__ResourceSpans resource = NTK__OTLP__RESOURCE_SPANS__INIT;
    Ntk__Otlp__ResourceSpans *resources[] = { &resource };
    Ntk__Otlp__ScopeSpans scope = NTK__OTLP__SCOPE_SPANS__INIT;
    Ntk__Otlp__ScopeSpans *scopes[] = { &scope };

    scope.scope = ntk_otlp_scope(&e->memory);
    scope.spans = spans;
    scope.n_spans = count;
    resource.resource = ntk_otlp_resource(&e->memory, machine, attributes);
    resource.scope_spans = scopes;
    resource.n_scope_spans = 1;
    request.resource_spans = resources;
    request.n_resource_spans = 1;
    void *to = e->memory.is_out
                   ? NULL
                   : ntk_buf_extend(out, ntk__otlp__traces_request__get_packed_size(&request));
    if (!to) {
        return -ENOMEM;
    }
    ntk__otlp__traces_request__pack(&request, to);
    return 0;
}

int ntk_otlp_spans_encode(const struct ntk_snapshot *snapshot,
                          const struct ntk_otlp_machine *machine, const struct ntk_vec *attributes,
                          int (*emit)(struct ntk_buf *request, uint64_t span_count, void *ctx,
                                      struct ntk_err *err),
                          void *ctx, uint64_t *out_lost, struct ntk_err *err)
{
    struct encoder e = { .snapshot = snapshot, .boot = hash_text(snapshot->boot_id) };
    Ntk__Otlp__Span *spans[NTK_OTLP_SPANS_MAX];
    int ret = 0;

    *out_lost = 0;
    for (size_t at = 0; at < snapshot->span_count;) {
        struct ntk_buf request = { 0 };
        size_t count = 0;
        size_t wanted = snapshot->span_count - at;

        wanted = wanted < NTK_OTLP_SPANS_MAX ? wanted : NTK_OTLP_SPANS_MAX;
        while (count < wanted && (spans[count] = make_span(&e, &snapshot->spans[at + count]))) {
            count++;
        }
        int packed =
            count < wanted ? -ENOMEM : pack(&e, spans, count, machine, attributes, &request);
        if (packed < 0) {
            *out_lost += wanted;
            ret = ntk_err_no_memory(err);
        } else {
            int emitted = emit(&request, count, ctx, ret < 0 ? NULL : err);
            ret = ret < 0 ? ret : emitted;
        }
        ntk_buf_fini(&request);
        ntk_otlp_memory_fini(&e.memory);
        at += wanted;
    }
    return ret;
}
