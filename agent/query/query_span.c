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

int ntk_query_span_check(const struct ntk_query_span *span, struct ntk_err *err)
{
    uint64_t time_ns;
    int ret = 0;

    if (span->from && span->last_ns) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "--from and --last are mutually exclusive");
    }
    if (span->from) {
        ret = parse("--from", span->from, &time_ns, err);
    }
    if (ret == 0 && span->to) {
        ret = parse("--to", span->to, &time_ns, err);
    }
    return ret;
}

int ntk_query_span_apply(const struct ntk_query_span *span, uint64_t last_ns, uint64_t *from_ns,
                         uint64_t *to_ns, struct ntk_err *err)
{
    int ret = 0;

    if (span->to) {
        ret = parse("--to", span->to, to_ns, err);
        last_ns = *to_ns;
    }
    if (ret == 0 && span->from) {
        ret = parse("--from", span->from, from_ns, err);
    } else if (ret == 0 && span->last_ns) {
        *from_ns = last_ns > span->last_ns ? last_ns - span->last_ns : 0;
    }
    return ret < 0 ? ret
                   : ntk_query_window_check(*from_ns, *to_ns, span->from != NULL, span->to != NULL,
                                            err);
}

int ntk_query_window_check(uint64_t from_ns, uint64_t to_ns, bool has_from, bool has_to,
                           struct ntk_err *err)
{
    char time[NTK_TIMESTAMP_BYTES];

    if (from_ns < to_ns) {
        return 0;
    }
    if (has_from == has_to) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "the window ends before it begins");
    }
    ntk_timestamp_format(has_from ? to_ns : from_ns, time, sizeof time);
    return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                       has_from ? "the window begins after the last row (%s)"
                                : "the window ends before the first row (%s)",
                       time);
}
