/* SPDX-License-Identifier: MIT */
#include "profiler/timeline/timeline_asked.h"

#include <errno.h>
#include <stdlib.h>

#include "shared/base/str.h"

/* Maximum count of numbers in a list of one request; the page only requests rows on the screen. */
#define LIST_MAX 4096

const char *ntk_asked_get(const struct ntk_timeline_query *query, const char *name)
{
    return query->get(name, query->ctx);
}

int ntk_asked_u64(const struct ntk_timeline_query *query, const char *name, uint64_t max,
                  uint64_t *out_value, struct ntk_err *err)
{
    const char *text = ntk_asked_get(query, name);

    if (!text) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "missing %s", name);
    }
    if (ntk_str_parse_u64(text, out_value) < 0 || *out_value > max) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s: expected a number from 0 to %llu",
                           name, (unsigned long long)max);
    }
    return 0;
}

int ntk_asked_list(const struct ntk_timeline_query *query, const char *name, uint32_t **out_values,
                   size_t *out_count, struct ntk_err *err)
{
    const char *text = ntk_asked_get(query, name);

    if (!text) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "missing %s", name);
    }
    uint32_t *values = malloc(LIST_MAX * sizeof *values);
    if (!values) {
        return ntk_err_no_memory(err);
    }
    *out_count = LIST_MAX;
    if (ntk_str_parse_list(text, UINT32_MAX, values, out_count) < 0) {
        free(values);
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "%s: expected at most %d numbers, such as 0,3-7", name, LIST_MAX);
    }
    *out_values = values;
    return 0;
}
