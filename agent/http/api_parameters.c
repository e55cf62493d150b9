/* SPDX-License-Identifier: MIT */
/* api_parameters - reads the parameters of a query over HTTP. */
#include "agent/http/api_parameters.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "agent/http/api.h"
#include "shared/base/clock.h"
#include "shared/base/str.h"
#include "shared/base/timestamp.h"

/* Maximum length of names of processes and models. */
#define NAME_BYTES_MAX 4096
#define INDEX_MAX UINT16_MAX
/* Minimum step: the step of the finest tier. */
#define STEP_NS_MIN NTK_NS_PER_SECOND
#define STEP_NS_MAX (366 * 24 * 3600 * NTK_NS_PER_SECOND)

static int bad(struct ntk_err *err, const char *what)
{
    return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s", what);
}

static int take_from(const char *value, struct ntk_api_parameters *p, struct ntk_err *err)
{
    p->bounds.has_from = true;
    return ntk_timestamp_parse(value, &p->bounds.from_ns, err);
}

static int take_to(const char *value, struct ntk_api_parameters *p, struct ntk_err *err)
{
    p->bounds.has_to = true;
    return ntk_timestamp_parse(value, &p->bounds.to_ns, err);
}

static int take_duration(const char *value, uint64_t min_ns, uint64_t *out_ns, struct ntk_err *err)
{
    return ntk_str_parse_duration_ns(value, out_ns) == 0 && *out_ns >= min_ns &&
                   *out_ns <= STEP_NS_MAX
               ? 0
               : bad(err, "expected a time from 1s to a year, such as 30s or 5m");
}

static int take_last(const char *value, struct ntk_api_parameters *p, struct ntk_err *err)
{
    return take_duration(value, STEP_NS_MIN, &p->bounds.last_ns, err);
}

static int take_step(const char *value, struct ntk_api_parameters *p, struct ntk_err *err)
{
    return take_duration(value, STEP_NS_MIN, &p->query.window.step_ns, err);
}

static int take_name(const char *value, const char **out_name, struct ntk_err *err)
{
    *out_name = value;
    return value[0] && strlen(value) <= NAME_BYTES_MAX ? 0 : bad(err, "expected a name");
}

static int take_process(const char *value, struct ntk_api_parameters *p, struct ntk_err *err)
{
    return take_name(value, &p->query.filter.process, err);
}

static int take_user(const char *value, struct ntk_api_parameters *p, struct ntk_err *err)
{
    return take_name(value, &p->query.filter.user, err);
}

static int take_job(const char *value, struct ntk_api_parameters *p, struct ntk_err *err)
{
    return take_name(value, &p->query.filter.job, err);
}

static int take_model(const char *value, struct ntk_api_parameters *p, struct ntk_err *err)
{
    return take_name(value, &p->query.filter.model, err);
}

static int take_index(const char *value, uint32_t *out_index, struct ntk_err *err)
{
    uint64_t index;

    if (ntk_str_parse_u64(value, &index) < 0 || index > INDEX_MAX) {
        return bad(err, "expected a number from 0 to 65535");
    }
    *out_index = (uint32_t)index;
    return 0;
}

static int take_core(const char *value, struct ntk_api_parameters *p, struct ntk_err *err)
{
    p->query.filter.has_core = true;
    return take_index(value, &p->query.filter.core, err);
}

static int take_device(const char *value, struct ntk_api_parameters *p, struct ntk_err *err)
{
    p->query.filter.has_device = true;
    return take_index(value, &p->query.filter.device, err);
}

static int take_metric(const char *value, struct ntk_api_parameters *p, struct ntk_err *err)
{
    p->query.metric = ntk_store_metric_find(value);
    return p->query.metric < NTK_STORE_METRIC_COUNT
               ? 0
               : bad(err, "unknown series: /api/v1/machine lists the series");
}

static int take_percentiles(const char *value, struct ntk_api_parameters *p, struct ntk_err *err)
{
    return ntk_query_percentiles_parse(value, &p->query, err);
}

static int take_latency(const char *value, struct ntk_api_parameters *p, struct ntk_err *err)
{
    p->query.device_latency = strcmp(value, "device") == 0;
    return p->query.device_latency || strcmp(value, "total") == 0
               ? 0
               : bad(err, "expected 'total' or 'device'");
}

static int take_kind(const char *value, struct ntk_api_parameters *p, struct ntk_err *err)
{
    return ntk_query_event_kinds_parse(value, &p->query.event_kinds, err);
}

static int take_newest(const char *value, struct ntk_api_parameters *p, struct ntk_err *err)
{
    uint64_t *newest = &p->query.filter.newest_events;

    return ntk_str_parse_u64(value, newest) == 0 && *newest > 0 && *newest <= NTK_API_ROWS_MAX
               ? 0
               : ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "expected a number from 1 to %d",
                             NTK_API_ROWS_MAX);
}

static const struct {
    const char *name;
    int (*take)(const char *value, struct ntk_api_parameters *p, struct ntk_err *err);
} rows[] = {
    /* Rows in the order of the bits of ntk_query_option. */
    { "process", take_process },
    { "model", take_model },
    { "core", take_core },
    { "device", take_device },
    { "step", take_step },
    { "metric", take_metric },
    { "kind", take_kind },
    { "newest", take_newest },
    { "percentiles", take_percentiles },
    { "latency", take_latency },
    { "job", take_job },
    /* Parameters for queries about processes. */
    { "user", take_user },
    /* Parameters for all queries. */
    { "from", take_from },
    { "to", take_to },
    { "last", take_last },
};
static_assert(NTK_QUERY_OF_PROCESS == 1u << 0 && NTK_QUERY_OF_JOB == 1u << 10,
              "the rows of a question's options are indexed by their bits");

struct walk {
    struct ntk_api_parameters *parameters;
    struct ntk_err *err;
};

static int take(const char *name, const char *value, void *ctx)
{
    struct walk *walk = ctx;
    char shown[32];

    ntk_str_copy_clean(shown, sizeof shown, name, strlen(name));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name) != 0) {
            continue;
        }
        if (walk->parameters->seen & 1u << i) {
            return ntk_err_set(walk->err, -EINVAL, NTK_ERR_NO_OFFSET, "duplicate parameter '%s'",
                               shown);
        }
        walk->parameters->seen |= 1u << i;
        int ret = value ? rows[i].take(value, walk->parameters, walk->err)
                        : bad(walk->err, "missing value");
        if (ret < 0) {
            ntk_err_prefix(walk->err, "%s", shown);
        }
        return ret;
    }
    return ntk_err_set(walk->err, -EINVAL, NTK_ERR_NO_OFFSET, "unknown parameter '%s'", shown);
}

int ntk_api_parameters_check(const struct ntk_api_parameters *parameters,
                             const struct ntk_query_question *question, struct ntk_err *err)
{
    const char *names[NTK_QUERY_OPTION_COUNT];

    if (question->options & NTK_QUERY_OF_METRIC && !(parameters->seen & NTK_QUERY_OF_METRIC)) {
        return bad(err, "missing parameter 'metric': /api/v1/machine lists the values");
    }
    for (size_t i = 0; i < NTK_QUERY_OPTION_COUNT; i++) {
        names[i] = rows[i].name;
    }
    return ntk_query_options_check(question, &parameters->query,
                                   (parameters->seen & ((1u << NTK_QUERY_OPTION_COUNT) - 1)) |
                                       (parameters->query.filter.user ? NTK_QUERY_OF_PROCESS : 0u),
                                   names, err);
}

int ntk_api_parameters_read(const struct ntk_http_request *request,
                            struct ntk_api_parameters *parameters, struct ntk_err *err)
{
    struct walk walk = { .parameters = parameters, .err = err };

    *parameters = (struct ntk_api_parameters){
        .query = { .metric = NTK_STORE_METRIC_COUNT,
                   .percentiles = { 50, 90, 99, 100 },
                   .percentile_count = 4,
                   .event_kinds = NTK_QUERY_EVENT_KINDS },
    };
    int ret = ntk_http_request_query_each(request, take, &walk);
    if (ret == 0 && parameters->bounds.has_from && parameters->bounds.last_ns) {
        ret = bad(err, "'from' and 'last' are mutually exclusive");
    }
    return ret;
}
