/* SPDX-License-Identifier: MIT */
/* span_filter - matches words and spans. */
#include "profiler/system/span_filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"
#include "shared/base/units.h"

#define CORE_MAX 65535

/* Returns the next word of a comma-separated list; false at its end. */
static bool word_next(const char **list, const char **out_word, size_t *out_bytes)
{
    while (**list == ',' || **list == ' ') {
        (*list)++;
    }
    *out_word = *list;
    *out_bytes = strcspn(*list, ", ");
    *list += *out_bytes;
    return *out_bytes > 0;
}

static bool is_word(const char *word, size_t bytes_count, const char *text)
{
    return strlen(text) == bytes_count && memcmp(word, text, bytes_count) == 0;
}

static bool is_of_type(const char *word, size_t bytes_count, const char *type)
{
    if (is_word(word, bytes_count, "hardware")) {
        return ntk_system_type_is_hardware(type);
    }
    if (is_word(word, bytes_count, "software")) {
        return !ntk_system_type_is_hardware(type);
    }
    return is_word(word, bytes_count, type);
}

int ntk_span_filter_set(struct ntk_span_filter *filter, const char *cores, const char *types,
                        const char *instances, struct ntk_err *err)
{
    *filter =
        (struct ntk_span_filter){ .types = types, .instances = instances, .to_ns = UINT64_MAX };
    if (!cores) {
        return 0;
    }
    filter->has_cores = true;
    filter->core_count = NTK_SPAN_FILTER_CORES_MAX;
    if (ntk_str_parse_list(cores, CORE_MAX, filter->cores, &filter->core_count) < 0) {
        return ntk_err_set(
            err, -EINVAL, NTK_ERR_NO_OFFSET,
            "invalid core list '%s': expected a list such as 0,2-4 (at most %d cores)", cores,
            NTK_SPAN_FILTER_CORES_MAX);
    }
    return 0;
}

static bool is_wanted_core(const struct ntk_span_filter *filter, uint32_t core)
{
    for (size_t i = 0; i < filter->core_count; i++) {
        if (filter->cores[i] == core) {
            return true;
        }
    }
    return !filter->has_cores;
}

/* Returns true for types in words without ^ (all types if there are none), except for types in
 * words with ^. */
static bool is_wanted_type(const struct ntk_span_filter *filter, const char *type)
{
    const char *list = filter->types;
    const char *word;
    size_t bytes_count;
    bool is_named = false;
    bool has_names = false;

    while (list && word_next(&list, &word, &bytes_count)) {
        if (*word == '^') {
            if (is_of_type(word + 1, bytes_count - 1, type)) {
                return false;
            }
        } else {
            has_names = true;
            is_named = is_named || is_of_type(word, bytes_count, type);
        }
    }
    return is_named || !has_names;
}

static bool is_wanted_instance(const struct ntk_span_filter *filter,
                               const struct ntk_system_trace *trace)
{
    const char *list = filter->instances;
    const char *instance = trace->info ? trace->info->instance_id : "";
    const char *word;
    size_t bytes_count;

    while (list && word_next(&list, &word, &bytes_count)) {
        if (is_word(word, bytes_count, instance)) {
            return true;
        }
    }
    return !filter->instances;
}

/* ---- the window ---- */

static bool has_window(const struct ntk_span_filter *filter)
{
    return filter->from_ns > 0 || filter->to_ns < UINT64_MAX;
}

/* Clips a span to the window; false if it is outside. */
static bool clip(const struct ntk_span_filter *filter, struct ntk_system_span *span)
{
    uint64_t end_ns = span->end_ns;
    uint64_t before_ns = span->start_ns < filter->from_ns ? filter->from_ns - span->start_ns : 0;
    uint64_t after_ns = end_ns > filter->to_ns ? end_ns - filter->to_ns : 0;

    if (span->start_ns >= filter->to_ns || end_ns < filter->from_ns ||
        (before_ns && end_ns == filter->from_ns)) {
        return false;
    }
    span->is_partial = span->is_partial || before_ns || after_ns;
    span->start_ns += before_ns;
    span->end_ns = span->end_ns > filter->to_ns ? filter->to_ns : span->end_ns;
    span->end_ns = span->end_ns < span->start_ns ? span->start_ns : span->end_ns;
    if (span->device_end_ns - span->device_start_ns > before_ns + after_ns) {
        span->device_start_ns += before_ns;
        span->device_end_ns -= after_ns;
    }
    return true;
}

/* Notes the state of an account at the start of the window. */
static void note_base(struct ntk_system_trace *trace, const struct ntk_system_span *span)
{
    const struct ntk_system_memory *memory = ntk_system_span_memory(trace, span);

    if (!memory || memory->account == NTK_SYSTEM_NO_ACCOUNT) {
        return;
    }
    struct ntk_system_account *account = ntk_vec_at(&trace->accounts, memory->account);
    account->base_bytes = memory->total_bytes;
    for (size_t u = 0; u < account->usage_count; u++) {
        if (strcmp(account->usages[u].usage, memory->usage) == 0) {
            account->usages[u].base_bytes = memory->usage_bytes;
        }
    }
}

/* Moves the kept samples of a list to its start. */
static void keep(void *items, size_t item_bytes, size_t *count, size_t first, size_t kept)
{
    if (kept && *count >= first + kept) { /* a list may be NULL */
        memmove(items, (char *)items + first * item_bytes, kept * item_bytes);
        *count = kept;
    } else {
        *count = 0;
    }
}

static void cut_samples(const struct ntk_span_filter *filter, NtkNtracePb__HostSamples *samples)
{
    size_t first = 0;
    size_t end = samples ? samples->n_timestamp_ns : 0;

    while (first < end && samples->timestamp_ns[first] < filter->from_ns) {
        first++;
    }
    while (end > first && samples->timestamp_ns[end - 1] >= filter->to_ns) {
        end--;
    }
    if (!samples) {
        return;
    }
    for (size_t c = 0; c < samples->n_cpus; c++) {
        NtkNtracePb__Cpu *cpu = samples->cpus[c];
        keep(cpu->percent, sizeof *cpu->percent, &cpu->n_percent, first, end - first);
    }
    keep(samples->total_bytes, sizeof(uint64_t), &samples->n_total_bytes, first, end - first);
    keep(samples->used_bytes, sizeof(uint64_t), &samples->n_used_bytes, first, end - first);
    keep(samples->process_bytes, sizeof(uint64_t), &samples->n_process_bytes, first, end - first);
    keep(samples->timestamp_ns, sizeof(uint64_t), &samples->n_timestamp_ns, first, end - first);
}

static uint64_t after(uint64_t ns, uint64_t first_ns)
{
    return ns > first_ns ? ns - first_ns : 0;
}

/* Cuts a trace to the window; checks limits and errors. */
static int cut_trace(const struct ntk_span_filter *filter, struct ntk_system_trace *trace)
{
    char begin[NTK_UNITS_TEXT_BYTES];
    char end[NTK_UNITS_TEXT_BYTES];
    struct ntk_system_note note = { .category = "Part" };
    uint64_t first_ns = trace->zero_ns;
    uint64_t begin_ns = filter->from_ns > trace->begin_ns ? filter->from_ns : trace->begin_ns;
    uint64_t end_ns = filter->to_ns < trace->end_ns ? filter->to_ns : trace->end_ns;

    end_ns = end_ns > begin_ns ? end_ns : begin_ns;
    cut_samples(filter, trace->cpu);
    cut_samples(filter, trace->memory);
    if (asprintf(&note.text, "Only a part of the trace is shown: %s to %s after the first event",
                 ntk_units_duration(begin, sizeof begin, after(begin_ns, first_ns)),
                 ntk_units_duration(end, sizeof end, after(end_ns, first_ns))) < 0) {
        return -ENOMEM;
    }
    if (ntk_vec_push(&trace->notes, &note) < 0) {
        free(note.text);
        return -ENOMEM;
    }
    trace->is_part = true;
    trace->zero_ns = filter->from_ns ? filter->from_ns : first_ns;
    trace->begin_ns = begin_ns;
    trace->end_ns = end_ns;
    return 0;
}

int ntk_span_filter_apply(const struct ntk_span_filter *filter, struct ntk_system_trace *trace)
{
    bool is_wanted_here = is_wanted_instance(filter, trace);
    size_t kept = 0;

    trace->zero_ns = filter->first_ns ? filter->first_ns : trace->zero_ns;
    if (!filter->has_cores && !filter->types && is_wanted_here && !has_window(filter)) {
        return 0;
    }
    /* new index of each span, or of its enclosing span */
    size_t *places = malloc((trace->span_count + 1) * sizeof *places);
    if (!places) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < trace->span_count; i++) {
        struct ntk_system_span span = trace->spans[i];
        size_t parent = span.parent < i ? places[span.parent] : NTK_SYSTEM_NO_PARENT;

        places[i] = parent;
        if (is_wanted_here && is_wanted_core(filter, span.nc) &&
            is_wanted_type(filter, span.type) && clip(filter, &span)) {
            places[i] = kept;
            span.parent = parent;
            trace->spans[kept++] = span;
        } else if (span.end_ns <= filter->from_ns) {
            note_base(trace, &span);
        }
        ntk_system_trace_passed(trace, i);
    }
    trace->span_count = kept;
    free(places);
    return has_window(filter) ? cut_trace(filter, trace) : 0;
}
