/* SPDX-License-Identifier: MIT */
#include "profiler/cmd/cmd_cut.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "profiler/analysis/executions.h"
#include "profiler/system/session_find.h"
#include "shared/base/buf.h"
#include "shared/base/clock.h"
#include "shared/base/str.h"
#include "shared/base/timestamp.h"
#include "shared/base/units.h"

/* A number without a unit is in seconds: since the start if below this limit, else since 1970. */
#define SECONDS_SINCE_1970_MIN 100000000

struct moment {
    const char *text; /* NULL if not given */
    uint64_t ns;
    bool is_absolute; /* true: since 1970 */
};

static struct moment from, to;
static const char *execution_text; /* NULL if not given */
static uint64_t execution;         /* from 1 */
static const char *core_list;
static uint32_t cores[NTK_SPAN_FILTER_CORES_MAX];
static size_t core_count;

static int check_exclusive(struct ntk_err *err)
{
    return execution_text && (from.text || to.text)
               ? ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                             "--execution cannot be combined with --from or --to")
               : 0;
}

static int moment_set(struct moment *moment, const char *text, struct ntk_err *err)
{
    moment->text = text;
    moment->is_absolute =
        ntk_str_parse_duration_ns(text, &moment->ns) < 0 ||
        (!strpbrk(text, "hmsun") && moment->ns >= SECONDS_SINCE_1970_MIN * NTK_NS_PER_SECOND);
    if (moment->is_absolute && ntk_timestamp_parse(text, &moment->ns, NULL) < 0) {
        return ntk_err_set(
            err, -EINVAL, NTK_ERR_NO_OFFSET,
            "expected a duration after the start, such as 300ns, 20us, 1.5ms or 2s (a plain number "
            "is in seconds), or, with -d, a point in time, such as 2026-11-21T07:30:00Z");
    }
    if (moment == &to && !to.is_absolute && to.ns == 0) { /* 0 means the end, below */
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "--to must be after the start");
    }
    if (from.text && to.text && from.is_absolute == to.is_absolute && from.ns >= to.ns) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "--to must be after --from");
    }
    return check_exclusive(err);
}

static int set_from(const char *value, struct ntk_err *err)
{
    return moment_set(&from, value, err);
}

static int set_to(const char *value, struct ntk_err *err)
{
    return moment_set(&to, value, err);
}

static int set_execution(const char *value, struct ntk_err *err)
{
    if (ntk_str_parse_u64(value, &execution) < 0 || execution == 0) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "expected an execution number, 1 or greater");
    }
    execution_text = value;
    return check_exclusive(err);
}

static int set_core(const char *value, struct ntk_err *err)
{
    core_list = value;
    core_count = NTK_SPAN_FILTER_CORES_MAX;
    if (ntk_str_parse_list(value, NTK_CUT_CORE_MAX, cores, &core_count) < 0) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "expected core numbers, such as 0,2-4 (at most %d, each at most %u)",
                           NTK_SPAN_FILTER_CORES_MAX, NTK_CUT_CORE_MAX);
    }
    return 0;
}

int (*const ntk_cut_on_from)(const char *value, struct ntk_err *err) = set_from;
int (*const ntk_cut_on_to)(const char *value, struct ntk_err *err) = set_to;
int (*const ntk_cut_on_execution)(const char *value, struct ntk_err *err) = set_execution;
int (*const ntk_cut_on_core)(const char *value, struct ntk_err *err) = set_core;

const char *ntk_cut_from(void)
{
    return from.text;
}

const char *ntk_cut_to(void)
{
    return to.text;
}

const char *ntk_cut_execution(void)
{
    return execution_text;
}

bool ntk_cut_has_times(void)
{
    return from.text || to.text;
}

bool ntk_cut_is_given(void)
{
    return ntk_cut_has_times() || execution_text || core_list;
}

const char *ntk_cut_cores(void)
{
    return core_list;
}

bool ntk_cut_has_core(uint32_t core)
{
    bool is_there = !core_list;

    for (size_t i = 0; i < core_count && !is_there; i++) {
        is_there = cores[i] == core;
    }
    return is_there;
}

static int64_t ps_of(uint64_t ns)
{
    return ns > INT64_MAX / NTK_TRACE_PS_PER_NS ? INT64_MAX : (int64_t)ns * NTK_TRACE_PS_PER_NS;
}

int ntk_cut_of_capture(struct ntk_trace_part *out_part, struct ntk_err *err)
{
    const char *since_1970 = from.is_absolute ? from.text : to.is_absolute ? to.text : NULL;

    if (since_1970) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "'%s' is a point in time: for a capture, --from and --to are durations "
                           "after the start of the execution, such as 1.5ms",
                           since_1970);
    }
    *out_part = (struct ntk_trace_part){ .from_ps = ps_of(from.ns),
                                         .to_ps = to.text ? ps_of(to.ns) : 0,
                                         .cores = core_list ? cores : NULL,
                                         .core_count = core_count };
    return 0;
}

int ntk_cut_to_execution(const struct ntk_trace *whole, struct ntk_trace_part *part,
                         struct ntk_err *err)
{
    struct ntk_execution_borders borders;
    uint64_t recorded;

    if (ntk_execution_borders_find(whole, &recorded, &borders) < 0) {
        return ntk_err_no_memory(err);
    }
    size_t count = ntk_execution_known_count(&borders);
    if (execution > count) {
        ntk_execution_borders_fini(&borders);
        return ntk_err_set(err, -ERANGE, NTK_ERR_NO_OFFSET,
                           "--execution %s: the capture has %zu known execution%s", execution_text,
                           count, count > 1 ? "s" : "");
    }
    ntk_execution_window(&borders, (size_t)execution - 1, &part->from_ps, &part->to_ps);
    ntk_execution_borders_fini(&borders);
    return 0;
}

bool ntk_cut_of_placed(const struct ntk_span_filter *filter, uint64_t start_ns,
                       struct ntk_trace_part *out_part)
{
    *out_part = (struct ntk_trace_part){ 0 };
    if (filter->to_ns <= start_ns) {
        return false;
    }
    out_part->from_ps = filter->from_ns > start_ns ? ps_of(filter->from_ns - start_ns) : 0;
    out_part->to_ps = filter->to_ns < UINT64_MAX ? ps_of(filter->to_ns - start_ns) : 0;
    return true;
}

static uint64_t ns_of(const struct moment *moment, uint64_t first_ns)
{
    uint64_t ns = moment->ns;

    if (!moment->is_absolute && __builtin_add_overflow(first_ns, moment->ns, &ns)) {
        return UINT64_MAX;
    }
    return ns;
}

static bool has_core(const struct ntk_cut_extent *extent, uint32_t core)
{
    return core <= NTK_CUT_CORE_MAX && extent->cores[core / 8] >> core % 8 & 1;
}

static void add_core(struct ntk_cut_extent *extent, uint32_t core)
{
    if (core <= NTK_CUT_CORE_MAX) {
        extent->cores[core / 8] |= (uint8_t)(1U << core % 8);
    }
}

void ntk_cut_extent_add(struct ntk_cut_extent *extent, const struct ntk_system_trace *trace)
{
    uint32_t listed = trace->info ? trace->info->core_count : 0;

    for (size_t i = 0; i < trace->span_count; i++) {
        const struct ntk_system_span *span = &trace->spans[i];
        bool is_first = i == 0 && (!extent->first_ns || span->start_ns < extent->first_ns);

        extent->first_ns = is_first ? span->start_ns : extent->first_ns;
        extent->last_ns = span->end_ns > extent->last_ns ? span->end_ns : extent->last_ns;
        add_core(extent, span->nc);
        ntk_system_trace_passed(trace, i);
    }
    for (uint32_t core = 0; core < listed && core <= NTK_CUT_CORE_MAX; core++) {
        add_core(extent, core);
    }
    ntk_vec_each(char *, capture, &trace->captures) {
        add_core(extent, ntk_session_core_of(*capture));
    }
}

/* Appends cores such as "0-3,8". */
static void cores_put(const struct ntk_cut_extent *extent, struct ntk_buf *text)
{
    for (uint32_t first = 0; first <= NTK_CUT_CORE_MAX; first++) {
        uint32_t last = first;

        if (!has_core(extent, first)) {
            continue;
        }
        while (has_core(extent, last + 1)) {
            last++;
        }
        ntk_buf_add_format(text, "%s%" PRIu32, text->bytes_count ? "," : "", first);
        if (last > first) {
            ntk_buf_add_format(text, "%c%" PRIu32, last == first + 1 ? ',' : '-', last);
        }
        first = last;
    }
}

/* Checks --core; as with a capture, one existing core is enough. */
static int check_cores(const struct ntk_cut_extent *extent, struct ntk_err *err)
{
    struct ntk_buf text = { 0 };
    bool is_there = !core_list;
    int ret = 0;

    for (size_t i = 0; i < core_count && !is_there; i++) {
        is_there = has_core(extent, cores[i]);
    }
    if (!is_there) {
        cores_put(extent, &text);
        ret = ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "unknown core: the folder has %s",
                          text.bytes_count ? ntk_buf_text_get(&text) : "none");
    }
    ntk_buf_fini(&text);
    return ret;
}

int ntk_cut_of_traces(const struct ntk_cut_extent *extent, struct ntk_span_filter *filter,
                      struct ntk_err *err)
{
    uint64_t from_ns = from.text ? ns_of(&from, extent->first_ns) : 0;
    uint64_t to_ns = to.text ? ns_of(&to, extent->first_ns) : UINT64_MAX;
    int ret = check_cores(extent, err);

    if (ret < 0) {
        return ret;
    }
    if (execution_text) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "--execution requires one capture: pass it with -s");
    }
    filter->first_ns = extent->first_ns;
    filter->from_ns = from_ns > extent->first_ns ? from_ns : 0;
    filter->to_ns = to_ns < extent->last_ns ? to_ns : UINT64_MAX;
    if (filter->from_ns > extent->last_ns || filter->to_ns <= extent->first_ns) {
        char length[NTK_UNITS_TEXT_BYTES];
        return ntk_err_set(
            err, -ERANGE, NTK_ERR_NO_OFFSET,
            "no events between --from and --to: both are relative to the first event, and the last "
            "event ends %s after it",
            ntk_units_duration(length, sizeof length, extent->last_ns - extent->first_ns));
    }
    return 0;
}

int ntk_cut_of_folders(const struct ntk_vec *folders, struct ntk_span_filter *filter,
                       struct ntk_err *err)
{
    struct ntk_cut_extent extent = { 0 };
    int ret = 0;

    ntk_vec_each(char *, folder, folders) {
        struct ntk_system_trace *trace = NULL;
        ret = ret ? ret : ntk_system_trace_open(*folder, &trace, err);
        if (ret == 0) {
            ntk_cut_extent_add(&extent, trace);
            ntk_system_trace_close(trace);
        }
    }
    return ret ? ret : ntk_cut_of_traces(&extent, filter, err);
}
