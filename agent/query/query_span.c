/* SPDX-License-Identifier: MIT */
#include "agent/query/query_span.h"

#include <errno.h>

#include "shared/base/timestamp.h"

static int parse(const char *name, const char *text, uint64_t *out_ns, struct ntk_err *err)
{
    int ret = ntk_timestamp_parse(text, out_ns, err);

    if (ret < 0) {
        ntk_err_prefix(err, "invalid value '%s' for %s", text, name);
    }
    return ret;
}

int ntk_query_span_parse(const struct ntk_query_span *span, struct ntk_query_bounds *out_bounds,
                         struct ntk_err *err)
{
    struct ntk_query_bounds bounds = { .has_from = span->from != NULL,
                                       .has_to = span->to != NULL,
                                       .last_ns = span->last_ns };
    int ret = 0;

    if (span->from && span->last_ns) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "--from and --last are mutually exclusive");
    }
    if (span->from) {
        ret = parse("--from", span->from, &bounds.from_ns, err);
    }
    if (ret == 0 && span->to) {
        ret = parse("--to", span->to, &bounds.to_ns, err);
    }
    if (ret == 0) {
        *out_bounds = bounds;
    }
    return ret;
}

int ntk_query_bounds_apply(const struct ntk_query_bounds *bounds, uint64_t newest_ns,
                           uint64_t *from_ns, uint64_t *to_ns, struct ntk_err *err)
{
    char time[NTK_TIMESTAMP_BYTES];

    if (bounds->has_to) {
        *to_ns = newest_ns = bounds->to_ns;
    }
    if (bounds->has_from) {
        *from_ns = bounds->from_ns;
    } else if (bounds->last_ns) {
        *from_ns = newest_ns > bounds->last_ns ? newest_ns - bounds->last_ns : 0;
    }
    if (*from_ns < *to_ns) {
        return 0;
    }
    if (bounds->has_from == bounds->has_to) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "the window ends before it begins");
    }
    ntk_timestamp_format(bounds->has_from ? *to_ns : *from_ns, time, sizeof time);
    return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                       bounds->has_from ? "the window begins after the last row (%s)"
                                        : "the window ends before the first row (%s)",
                       time);
}
