/* SPDX-License-Identifier: MIT */
/* span_filter - words against spans. */
#include "profiler/system/span_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"

#define CORE_MAX 65535

/* The next word of a comma list; false at its end. */
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
    *filter = (struct ntk_span_filter){ .types = types, .instances = instances };
    if (!cores) {
        return 0;
    }
    filter->has_cores = true;
    filter->core_count = NTK_SPAN_FILTER_CORES_MAX;
    if (ntk_str_parse_list(cores, CORE_MAX, filter->cores, &filter->core_count) < 0) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "'%s' is not a list of cores such as 0,2-4 (at most %d)", cores,
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

/* Whatever a word without ^ names, or all where there is none, but for what the words with ^
 * name. */
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

int ntk_span_filter_apply(const struct ntk_span_filter *filter, struct ntk_system_trace *trace)
{
    bool is_wanted_here = is_wanted_instance(filter, trace);
    size_t kept = 0;

    if (!filter->has_cores && !filter->types && is_wanted_here) {
        return 0;
    }
    /* The new place of each span, or of what was around it. */
    size_t *places = malloc((trace->span_count + 1) * sizeof *places);
    if (!places) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < trace->span_count; i++) {
        struct ntk_system_span span = trace->spans[i];
        size_t parent = span.parent < i ? places[span.parent] : NTK_SYSTEM_NO_PARENT;

        places[i] = parent;
        if (is_wanted_here && is_wanted_core(filter, span.nc) &&
            is_wanted_type(filter, span.type)) {
            places[i] = kept;
            span.parent = parent;
            trace->spans[kept++] = span;
        }
    }
    trace->span_count = kept;
    free(places);
    return 0;
}
