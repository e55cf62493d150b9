/* SPDX-License-Identifier: MIT */
/* query_parts - common parts of all queries: the query by name, the window, the percentiles. */
#include <errno.h>
#include <string.h>

#include "agent/query/query.h"
#include "shared/base/clock.h"
#include "shared/base/str.h"

const struct ntk_query_question *ntk_query_question_find(const char *name)
{
    for (const struct ntk_query_question *q = ntk_query_questions; q->name; q++) {
        if (strcmp(q->name, name) == 0) {
            return q;
        }
    }
    return NULL;
}

int ntk_query_options_check(const struct ntk_query_question *question,
                            const struct ntk_query *query, uint32_t given,
                            const char *const names[NTK_QUERY_OPTION_COUNT], struct ntk_err *err)
{
    const struct ntk_store_metric_info *metric = NULL;
    uint32_t meant = question->options;

    if (meant & NTK_QUERY_OF_METRIC) {
        metric = &ntk_store_metrics[query->metric];
        meant |= metric->filter_parts;
    }
    uint32_t unused = given & ~meant;
    if (unused) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s does not apply to %s '%s'",
                           names[__builtin_ctz(unused)], metric ? "metric" : "question",
                           metric ? metric->name : question->name);
    }
    if (meant & NTK_QUERY_MODEL_OR_CORE && given & NTK_QUERY_OF_MODEL &&
        given & NTK_QUERY_OF_CORE) {
        return ntk_err_set(
            err, -EINVAL, NTK_ERR_NO_OFFSET,
            "%s and %s are mutually exclusive: the database does not store models per core",
            names[__builtin_ctz(NTK_QUERY_OF_MODEL)], names[__builtin_ctz(NTK_QUERY_OF_CORE)]);
    }
    return 0;
}

int ntk_query_percentiles_parse(const char *value, struct ntk_query *query, struct ntk_err *err)
{
    query->percentile_count = 0;
    while (*value) {
        char number[32];
        size_t length = strcspn(value, ",");
        double percent;
        if (length >= sizeof number || query->percentile_count == NTK_QUERY_PERCENTILES_MAX) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "expected at most %d numbers",
                               NTK_QUERY_PERCENTILES_MAX);
        }
        memcpy(number, value, length);
        number[length] = '\0';
        if (ntk_str_parse_double(number, &percent) < 0 || !(percent >= 0 && percent <= 100)) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                               "expected numbers from 0 to 100, separated by commas");
        }
        if (query->percentile_count > 0 &&
            percent <= query->percentiles[query->percentile_count - 1]) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                               "expected numbers in ascending order");
        }
        query->percentiles[query->percentile_count++] = percent;
        value += length + (value[length] == ',');
    }
    return query->percentile_count > 0
               ? 0
               : ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "missing number");
}

int ntk_query_event_kinds_parse(const char *value, uint32_t *out_kinds, struct ntk_err *err)
{
    const char *bad = NULL;

    if (strcmp(value, "all") == 0) {
        *out_kinds = NTK_STORE_EVENTS_ALL;
    } else {
        bad = ntk_str_parse_names(value, ntk_store_event_names, sizeof *ntk_store_event_names,
                                  NTK_STORE_EVENT_COUNT, out_kinds);
    }
    return bad ? ntk_err_set(err, -EINVAL, (uint64_t)(bad - value),
                             "expected first_seen, end, load, unload, error, alloc, free, "
                             "model_start, model_stop, mark, separated by commas, or all")
               : 0;
}

int ntk_query_window_whole(struct ntk_store_reader *reader, struct ntk_store_window *window,
                           struct ntk_err *err)
{
    static const uint64_t step_ns[NTK_STORE_TIER_COUNT] = {
        NTK_NS_PER_SECOND,
        60 * NTK_NS_PER_SECOND,
        3600 * NTK_NS_PER_SECOND,
    };
    bool has_begin = false;
    int ret = -ENODATA;

    window->from_ns = UINT64_MAX;
    window->to_ns = 0;
    for (int tier = 0; tier < NTK_STORE_TIER_COUNT; tier++) {
        uint64_t first_ns;
        uint64_t last_ns;
        int there =
            ntk_store_reader_span(reader, (enum ntk_store_tier)tier, &first_ns, &last_ns, err);
        if (there == 0) {
            uint64_t start_ns = first_ns - step_ns[tier];
            /* A coarser row may begin long before the data in it. */
            if (!has_begin && start_ns < window->from_ns) {
                window->from_ns = start_ns;
            }
            window->to_ns = last_ns > window->to_ns ? last_ns : window->to_ns;
            ret = 0;
            there = ntk_store_reader_has_all(reader, (enum ntk_store_tier)tier, err);
            has_begin = has_begin || there > 0;
        }
        if (there < 0 && there != -ENODATA) {
            return there;
        }
    }
    return ret;
}

/* Moves the beginning of the window to the end of the nearest row. */
static int move_to_row(struct ntk_store_reader *reader, struct ntk_store_window *window,
                       struct ntk_err *err)
{
    uint64_t row_ns;
    int ret;

    if (window->step_ns > 0) {
        return 0; /* it is widened to whole steps */
    }
    ret = ntk_store_reader_near(reader, window->from_ns, &row_ns, err);
    if (ret < 0) {
        return ret == -ENODATA ? 0 : ret;
    }
    window->from_ns = row_ns < window->to_ns ? row_ns : window->from_ns;
    return 0;
}

int ntk_query_window_narrow(struct ntk_store_reader *reader, const struct ntk_query_bounds *bounds,
                            struct ntk_store_window *window, struct ntk_err *err)
{
    int ret = ntk_query_bounds_apply(bounds, window->to_ns, &window->from_ns, &window->to_ns, err);

    return ret == 0 && bounds->last_ns && !bounds->has_to ? move_to_row(reader, window, err) : ret;
}
