/* SPDX-License-Identifier: MIT */
/* monitor_config_read - reads the configuration file (JSON); error messages have line and key. */
#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/report/monitor_config.h"
#include "agent/report/monitor_filter.h"
#include "shared/base/fs.h"
#include "shared/base/json_place.h"
#include "shared/base/log.h"
#include "shared/base/str.h"

#define MODULE "config"
#define WHERE_BYTES 96

/* The position in the file, and the destination of errors. Positions are paths such as
 * "system_metrics[0].type". */
struct reader {
    struct ntk_monitor_config *config;
    const char *text;
    size_t text_bytes;
    struct ntk_err *err;
};

/* The groups of one of the two scopes. */
struct scope {
    const char *const *names;
    int count;
    const char *const *other_names; /* names in the other scope, for the error message */
    int other_count;
    const char *other_place;
};

static const struct scope runtime_scope = {
    ntk_runtime_group_names, NTK_RUNTIME_GROUP_COUNT, ntk_system_group_names,
    NTK_SYSTEM_GROUP_COUNT,  "system_metrics",
};
static const struct scope system_scope = {
    ntk_system_group_names,  NTK_SYSTEM_GROUP_COUNT,      ntk_runtime_group_names,
    NTK_RUNTIME_GROUP_COUNT, "neuron_runtimes[].metrics",
};

/* Names of older releases and their replacements. */
static const struct {
    const char *name;
    const char *advice;
} historic_names[] = {
    { "inference_stats", "renamed to execution_stats" },
    { "hw_counters", "replaced by the system metric neuron_hw_counters" },
    { "nc_counters", "renamed to neuroncore_counters" },
    { "runtime_cpu_usage", "renamed to neuron_runtime_vcpu_usage" },
    { "cpu_usage", "replaced by the system metric vcpu_usage" },
};

static int refuse(const struct reader *r, const char *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(const struct reader *r, const char *where, const char *format, ...)
{
    unsigned int line = ntk_json_line_of(r->text, r->text_bytes, where, NULL);
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return ntk_err_set(r->err, -EINVAL, NTK_ERR_NO_OFFSET, "line %u: %s%s%s", line, where,
                       *where ? ": " : "", text);
}

/* Appends a key to a path. */
static void step(char *to, size_t to_bytes, const char *where, const char *key)
{
    snprintf(to, to_bytes, "%s%s%s", where, *where ? "." : "", key);
}

/* Returns a member; null counts as missing, like in the vendor's parser. */
static json_t *member(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);

    return json_is_null(value) ? NULL : value;
}

static int check_keys(const struct reader *r, json_t *object, const char *const *known,
                      const char *where)
{
    char allowed[160] = "";
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        const char *const *name = known;
        while (*name && strcmp(*name, key) != 0) {
            name++;
        }
        if (*name) {
            continue;
        }
        for (name = known; *name; name++) {
            size_t used = strlen(allowed);
            snprintf(allowed + used, sizeof allowed - used, "%s%s", used ? ", " : "", *name);
        }
        return ntk_err_set(r->err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "line %u: %s%sunknown key '%.64s'; known keys are %s",
                           ntk_json_line_of(r->text, r->text_bytes, where, key), where,
                           *where ? ": " : "", key, allowed);
    }
    return 0;
}

/* Reads a period; keeps the inherited *period_ns if the object has no "period". */
static int read_period(const struct reader *r, const json_t *object, const char *where,
                       uint64_t *period_ns)
{
    json_t *value = member(object, "period");
    char path[WHERE_BYTES + 16];

    if (!value) {
        return 0;
    }
    step(path, sizeof path, where, "period");
    if (!json_is_string(value)) {
        return refuse(r, path, "expected a string such as \"5s\"");
    }
    const char *text = json_string_value(value);
    uint64_t ns;
    if (ntk_str_parse_duration_ns(text, &ns) < 0) {
        return refuse(r, path, "'%.64s' is not a time such as 500ms, 5s or 1m30s", text);
    }
    if (ns > NTK_MONITOR_PERIOD_MAX_NS) {
        return refuse(r, path, "'%.64s' is longer than a day", text);
    }
    if (ns < NTK_MONITOR_PERIOD_MIN_NS) {
        ntk_log_warn(MODULE, "%s: '%.64s' is too short; using the shortest period, 100ms", path,
                     text);
        ns = NTK_MONITOR_PERIOD_MIN_NS;
    }
    *period_ns = ns;
    return 0;
}

static int period_index(const struct reader *r, uint64_t period_ns, const char *where)
{
    struct ntk_monitor_config *config = r->config;

    for (size_t i = 0; i < config->period_count; i++) {
        if (config->periods_ns[i] == period_ns) {
            return (int)i;
        }
    }
    if (config->period_count == NTK_MONITOR_PERIODS_MAX) {
        return refuse(r, where, "too many different periods (at most %d)", NTK_MONITOR_PERIODS_MAX);
    }
    config->periods_ns[config->period_count] = period_ns;
    return (int)config->period_count++;
}

static int name_index(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (!strcmp(names[i], name)) {
            return i;
        }
    }
    return -1;
}

static int refuse_type(const struct reader *r, const char *where, const char *type,
                       const struct scope *scope)
{
    char allowed[160] = "";

    if (name_index(scope->other_names, scope->other_count, type) >= 0) {
        return refuse(r, where, "'%.64s' belongs in %s, not here", type, scope->other_place);
    }
    for (size_t i = 0; i < sizeof historic_names / sizeof *historic_names; i++) {
        if (!strcmp(type, historic_names[i].name)) {
            return refuse(r, where, "unknown metric type '%s': %s", type, historic_names[i].advice);
        }
    }
    for (int i = 0; i < scope->count; i++) {
        size_t used = strlen(allowed);
        snprintf(allowed + used, sizeof allowed - used, "%s%s", used ? ", " : "", scope->names[i]);
    }
    return refuse(r, where, "unknown metric type '%.64s'; known types are %s", type, allowed);
}

/* Reads one entry { "type", "period" }; sets periods[] of its group. */
static int read_metric(const struct reader *r, json_t *entry, const char *where, uint64_t period_ns,
                       const struct scope *scope, int *periods)
{
    static const char *const known[] = { "type", "period", NULL };
    char path[WHERE_BYTES + 16];
    int ret;

    if (!json_is_object(entry)) {
        return refuse(r, where, "expected an object");
    }
    ret = check_keys(r, entry, known, where);
    if (ret < 0) {
        return ret;
    }
    json_t *type = member(entry, "type");
    step(path, sizeof path, where, "type");
    if (!json_is_string(type)) {
        return refuse(r, path, type ? "expected a string" : "missing");
    }
    int group = name_index(scope->names, scope->count, json_string_value(type));
    if (group < 0) {
        return refuse_type(r, path, json_string_value(type), scope);
    }
    ret = read_period(r, entry, where, &period_ns);
    if (ret < 0) {
        return ret;
    }
    int index = period_index(r, period_ns, where);
    if (index < 0) {
        return index;
    }
    periods[group] = ntk_monitor_config_shorter(r->config, periods[group], index);
    return 0;
}

static int read_metrics(const struct reader *r, json_t *array, const char *where,
                        uint64_t period_ns, const struct scope *scope, int *periods)
{
    json_t *entry;
    size_t i;

    if (!json_is_array(array)) {
        return refuse(r, where, "expected an array");
    }
    json_array_foreach(array, i, entry)
    {
        char path[WHERE_BYTES];
        snprintf(path, sizeof path, "%.64s[%zu]", where, i);
        int ret = read_metric(r, entry, path, period_ns, scope, periods);
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}

static int read_address(const struct reader *r, struct ntk_monitor_filter *filter,
                        const json_t *address, const char *where)
{
    const char *text = json_string_value(address);

    if (!text || text[0] == '\0' || strlen(text) != json_string_length(address)) {
        return refuse(r, where, "expected the endpoint of a daemon, such as unix:/run/neuron.sock");
    }
    filter->kind = NTK_MONITOR_FILTER_ADDRESS;
    filter->address = strdup(text);
    return filter->address ? 0 : ntk_err_no_memory(r->err);
}

static int read_filter(const struct reader *r, struct ntk_monitor_filter *filter,
                       const json_t *entry, const char *where)
{
    json_t *value = member(entry, "tag_filter");
    json_t *address = member(entry, "address");
    char path[WHERE_BYTES + 16];
    struct ntk_err why = { 0 };

    if (address) {
        step(path, sizeof path, where, "address");
        return value ? refuse(r, path, "expected either a tag_filter or an address")
                     : read_address(r, filter, address, path);
    }
    filter->kind = value ? NTK_MONITOR_FILTER_TAG : NTK_MONITOR_FILTER_ALL;
    if (!value) {
        return 0;
    }
    step(path, sizeof path, where, "tag_filter");
    if (!json_is_string(value)) {
        return refuse(r, path, "expected a string");
    }
    if (ntk_monitor_filter_compile(json_string_value(value), &filter->tag_regex, &why) < 0) {
        return refuse(r, path, "%s", why.text);
    }
    return 0;
}

static int read_runtime(const struct reader *r, json_t *entry, size_t index, uint64_t period_ns)
{
    static const char *const known[] = { "tag_filter", "address", "period", "metrics", NULL };
    struct ntk_monitor_config *config = r->config;
    char where[WHERE_BYTES];
    char metrics_where[WHERE_BYTES];

    snprintf(where, sizeof where, "neuron_runtimes[%zu]", index);
    snprintf(metrics_where, sizeof metrics_where, "neuron_runtimes[%zu].metrics", index);
    if (!json_is_object(entry)) {
        return refuse(r, where, "expected an object");
    }
    if (config->filter_count == NTK_MONITOR_FILTERS_MAX) {
        return refuse(r, where, "too many entries (at most %d)", NTK_MONITOR_FILTERS_MAX);
    }
    int ret = check_keys(r, entry, known, where);
    if (ret < 0) {
        return ret;
    }
    struct ntk_monitor_filter *filter = &config->filters[config->filter_count];
    ret = read_filter(r, filter, entry, where);
    if (ret < 0) {
        return ret;
    }
    config->filter_count++; /* from now on _fini frees the regex */
    for (int k = 0; k < NTK_RUNTIME_GROUP_COUNT; k++) {
        filter->groups.period[k] = NTK_MONITOR_NOT_ASKED;
    }
    ret = read_period(r, entry, where, &period_ns);
    json_t *metrics = member(entry, "metrics");
    if (ret < 0 || !metrics) {
        return ret;
    }
    return read_metrics(r, metrics, metrics_where, period_ns, &runtime_scope,
                        filter->groups.period);
}

static int read_root(const struct reader *r, json_t *root)
{
    static const char *const known[] = { "period", "neuron_runtimes", "system_metrics", "k8s_info",
                                         NULL };
    uint64_t period_ns = NTK_MONITOR_PERIOD_DEFAULT_NS;
    json_t *entry;
    size_t i;

    if (!json_is_object(root)) {
        return refuse(r, "", "expected a JSON object");
    }
    int ret = check_keys(r, root, known, "");
    if (ret == 0) {
        ret = read_period(r, root, "", &period_ns);
    }
    if (ret < 0) {
        return ret;
    }
    json_t *runtimes = member(root, "neuron_runtimes");
    if (runtimes && !json_is_array(runtimes)) {
        return refuse(r, "neuron_runtimes", "expected an array");
    }
    json_array_foreach(runtimes, i, entry)
    {
        ret = read_runtime(r, entry, i, period_ns);
        if (ret < 0) {
            return ret;
        }
    }
    json_t *metrics = member(root, "system_metrics");
    if (metrics) {
        ret = read_metrics(r, metrics, "system_metrics", period_ns, &system_scope,
                           r->config->system_period);
        if (ret < 0) {
            return ret;
        }
    }
    json_t *k8s_info = member(root, "k8s_info");
    if (k8s_info && !json_is_boolean(k8s_info)) {
        return refuse(r, "k8s_info", "expected true or false");
    }
    r->config->k8s_info = json_is_true(k8s_info);
    /* A file without requested groups still produces reports with the two fixed groups. */
    ret = r->config->period_count == 0 ? period_index(r, period_ns, "period") : 0;
    return ret < 0 ? ret : 0;
}

int ntk_monitor_config_parse(struct ntk_monitor_config *config, const char *text, size_t text_bytes,
                             struct ntk_err *err)
{
    const struct reader reader = { config, text, text_bytes, err };
    json_error_t at;

    ntk_monitor_config_init(config);
    if (text_bytes == 0) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "the file is empty");
    }
    json_t *root = json_loadb(text, text_bytes, JSON_REJECT_DUPLICATES, &at);
    if (!root) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "line %d, column %d: %s", at.line,
                           at.column, at.text);
    }
    int ret = read_root(&reader, root);
    json_decref(root);
    if (ret < 0) {
        ntk_monitor_config_fini(config);
    }
    return ret;
}

int ntk_monitor_config_read(struct ntk_monitor_config *config, const char *path,
                            struct ntk_err *err)
{
    uint8_t *text = NULL;
    size_t text_bytes;

    ntk_monitor_config_init(config);
    int ret = ntk_fs_read(path, NTK_MONITOR_CONFIG_BYTES_MAX, &text, &text_bytes, err);
    if (ret < 0) {
        return ret;
    }
    ret = ntk_monitor_config_parse(config, (const char *)text, text_bytes, err);
    if (ret < 0) {
        ntk_err_prefix(err, "%s", path);
    }
    free(text);
    return ret;
}
