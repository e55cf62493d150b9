/* SPDX-License-Identifier: MIT */
#include "profiler/analysis/baseline.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/trace/trace.h"
#include "shared/base/str.h"

void ntk_baseline_fini(struct ntk_baseline *baseline)
{
    ntk_vec_each(struct ntk_measures, measures, &baseline->executions) {
        ntk_measures_fini(measures);
    }
    ntk_vec_fini(&baseline->executions);
}

/* --- limits ----------------------------------------------------------------------------------- */

static bool find_kind(const char *text, size_t bytes, enum ntk_measure_kind *out_kind)
{
    for (unsigned k = 0; k < NTK_MEASURE_KIND_COUNT; k++) {
        const char *key = ntk_measure_key(k);

        if (strlen(key) == bytes && memcmp(key, text, bytes) == 0) {
            *out_kind = k;
            return true;
        }
    }
    return false;
}

static int bad_kind(const char *text, struct ntk_err *err)
{
    char keys[256] = "";

    for (unsigned k = 0; k < NTK_MEASURE_KIND_COUNT; k++) {
        size_t used = strlen(keys);

        (void)snprintf(keys + used, sizeof keys - used, "%s%s", k ? ", " : "", ntk_measure_key(k));
    }
    return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                       "limit '%s': unknown kind: expected one of %s", text, keys);
}

static bool parse_change(const char *text, struct ntk_baseline_limit *limit)
{
    size_t bytes = strlen(text);
    uint64_t amount = 0;
    char number[32];

    if (bytes > 1 && bytes < sizeof number && text[bytes - 1] == '%') {
        memcpy(number, text, bytes - 1);
        number[bytes - 1] = '\0';
        limit->is_share = true;
        if (ntk_str_parse_double(number, &limit->amount) < 0 || !(limit->amount >= 0) ||
            limit->amount > 1e6) {
            return false;
        }
        limit->amount /= 100;
        return true;
    }
    if (ntk_measure_unit(limit->kind) == NTK_MEASURE_UNIT_SHARE) {
        return false;
    }
    if (ntk_measure_is_time(limit->kind)) {
        /* A number without a unit would mean seconds, a limit that is never reached. */
        if (ntk_str_parse_duration_ns(text, &amount) < 0 ||
            (amount > 0 && isdigit((unsigned char)text[strlen(text) - 1]))) {
            return false;
        }
        limit->amount = (double)amount * NTK_TRACE_PS_PER_NS;
        return true;
    }
    if (ntk_str_parse_bytes(text, &amount) < 0) {
        return false;
    }
    limit->amount = (double)amount;
    return true;
}

int ntk_baseline_limit_parse(const char *text, struct ntk_baseline_limit *out_limit,
                             struct ntk_err *err)
{
    struct ntk_baseline_limit limit = { 0 };
    const char *equals = strrchr(text, '='); /* a name may contain one */
    size_t kind_bytes = strcspn(text, "/=");

    if (!equals) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "limit '%s': missing change: use KIND=CHANGE, such as total=5%%", text);
    }
    if (!find_kind(text, kind_bytes, &limit.kind)) {
        return bad_kind(text, err);
    }
    if (!parse_change(equals + 1, &limit)) {
        static const char *const others[] = { [NTK_MEASURE_UNIT_TIME] = " nor a time such as 2us",
                                              [NTK_MEASURE_UNIT_BYTES] = " nor a size such as 64K",
                                              [NTK_MEASURE_UNIT_SHARE] = "" };
        const char *other = others[ntk_measure_unit(limit.kind)];
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "limit '%s': '%s' is %s a percentage such as 5%%%s", text, equals + 1,
                           other[0] ? "neither" : "not", other);
    }
    if (text[kind_bytes] == '/') {
        limit.name = strndup(text + kind_bytes + 1, (size_t)(equals - text) - kind_bytes - 1);
        if (!limit.name) {
            return ntk_err_no_memory(err);
        }
    }
    *out_limit = limit;
    return 0;
}

/* --- findings --------------------------------------------------------------------------------- */

static bool is_for(const struct ntk_baseline_limit *limit, const struct ntk_comparison_row *row)
{
    return limit->kind == row->kind && (!limit->name || strcmp(limit->name, row->name) == 0 ||
                                        strcmp(limit->name, ntk_comparison_shown(row)) == 0);
}

/* Returns true if a measure has grown beyond the limit. A new measure exceeds every share of its
 * old value. A chip's utilization becomes worse when it decreases. */
static bool has_grown(const struct ntk_comparison_row *row, const struct ntk_baseline_limit *limit)
{
    double room = limit->is_share ? limit->amount * row->before : limit->amount;
    double change = row->after - row->before;

    return (ntk_comparison_more_is_better(row->kind) ? -change : change) > room;
}

static int check_limits_apply(const struct ntk_comparison *comparison,
                              const struct ntk_baseline_limit *limits, size_t limit_count,
                              struct ntk_err *err)
{
    for (size_t l = 0; l < limit_count; l++) {
        bool applies = false;

        for (size_t i = 0; i < comparison->row_count && !applies; i++) {
            applies = is_for(&limits[l], &comparison->rows[i]);
        }
        if (!applies) {
            const char *name = limits[l].name;

            return ntk_err_set(
                err, -ENOENT, NTK_ERR_NO_OFFSET,
                "%s%s%s has a limit, but neither the baseline nor the captures contain it",
                ntk_measure_key(limits[l].kind), name ? "/" : "", name ? name : "");
        }
    }
    return 0;
}

static int unknown_error(const struct ntk_comparison_row *row, struct ntk_err *err)
{
    const char *name = ntk_comparison_shown(row);

    return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "%s/%s has a limit, but %s contain it",
                       ntk_measure_key(row->kind), name,
                       row->has_before ? "the captures do not" : "only the captures");
}

int ntk_baseline_check(const struct ntk_comparison *comparison,
                       const struct ntk_baseline_limit *limits, size_t limit_count,
                       struct ntk_baseline_result *out_result, struct ntk_err *err)
{
    struct ntk_baseline_result result = { 0 };
    int ret = check_limits_apply(comparison, limits, limit_count, err);

    if (ret < 0) {
        return ret;
    }
    result.findings = calloc(comparison->row_count + 1, sizeof *result.findings);
    if (!result.findings) {
        return ntk_err_no_memory(err);
    }
    for (size_t i = 0; i < comparison->row_count; i++) {
        struct ntk_baseline_finding *finding = &result.findings[result.count];

        finding->row = &comparison->rows[i];
        finding->limit = NULL;
        for (size_t l = 0; l < limit_count; l++) {
            finding->limit = is_for(&limits[l], finding->row) ? &limits[l] : finding->limit;
        }
        if (finding->limit && finding->row->is_unknown) {
            ret = unknown_error(finding->row, err);
            ntk_baseline_result_fini(&result);
            return ret;
        }
        if (finding->limit) {
            finding->is_beyond =
                has_grown(finding->row, finding->limit) && ntk_comparison_has_changed(finding->row);
            result.beyond_count += finding->is_beyond;
            result.count++;
        }
    }
    *out_result = result;
    return 0;
}

void ntk_baseline_result_fini(struct ntk_baseline_result *result)
{
    free(result->findings);
    *result = (struct ntk_baseline_result){ 0 };
}
