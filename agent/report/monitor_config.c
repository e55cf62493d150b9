/* SPDX-License-Identifier: MIT */
/* monitor_config - which groups are reported for whom, and how often. */
#include "agent/report/monitor_config.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "shared/base/log.h"
#include "shared/base/str.h"

#define MODULE "config"
#define WHERE_BYTES 96
/* What {m,n} in a tag_filter may multiply to: more makes a matcher of many megabytes. */
#define FILTER_REPEAT_MAX 1000

/* Names of older releases, with what to write instead. */
static const struct {
    const char *name;
    const char *advice;
} historic_names[] = {
    { "inference_stats", "it is called execution_stats now" },
    { "hw_counters", "it is the system metric neuron_hw_counters now" },
    { "nc_counters", "it is called neuroncore_counters now" },
    { "runtime_cpu_usage", "it is called neuron_runtime_vcpu_usage now" },
    { "cpu_usage", "it is the system metric vcpu_usage now" },
};

static void clear(struct ntk_monitor_config *config)
{
    memset(config, 0, sizeof *config);
    for (int i = 0; i < NTK_SYSTEM_GROUP_COUNT; i++) {
        config->system_period[i] = NTK_MONITOR_NOT_ASKED;
    }
}

void ntk_monitor_config_fini(struct ntk_monitor_config *config)
{
    for (size_t i = 0; i < config->filter_count; i++) {
        if (!config->filters[i].all) {
            regfree(&config->filters[i].tag_regex);
        }
    }
    clear(config);
}

void ntk_monitor_config_default(struct ntk_monitor_config *config, uint64_t period_ns)
{
    clear(config);
    config->periods_ns[0] = period_ns;
    config->period_count = 1;
    config->filters[0].all = true; /* every group of it has period 0 */
    config->filter_count = 1;
    for (int i = 0; i < NTK_SYSTEM_GROUP_COUNT; i++) {
        config->system_period[i] = 0;
    }
}

void ntk_monitor_config_set_period(struct ntk_monitor_config *config, uint64_t period_ns)
{
    for (size_t i = 0; i < config->filter_count; i++) {
        for (int k = 0; k < NTK_RUNTIME_GROUP_COUNT; k++) {
            if (config->filters[i].groups.period[k] != NTK_MONITOR_NOT_ASKED) {
                config->filters[i].groups.period[k] = 0;
            }
        }
    }
    for (int k = 0; k < NTK_SYSTEM_GROUP_COUNT; k++) {
        if (config->system_period[k] != NTK_MONITOR_NOT_ASKED) {
            config->system_period[k] = 0;
        }
    }
    config->periods_ns[0] = period_ns;
    config->period_count = 1;
}

/* The smaller of two indices into periods_ns by the period behind them. */
static int shorter(const struct ntk_monitor_config *config, int a, int b)
{
    if (a == NTK_MONITOR_NOT_ASKED || b == NTK_MONITOR_NOT_ASKED) {
        return a == NTK_MONITOR_NOT_ASKED ? b : a;
    }
    return config->periods_ns[a] <= config->periods_ns[b] ? a : b;
}

bool ntk_monitor_config_match(const struct ntk_monitor_config *config, const char *tag,
                              struct ntk_monitor_runtime_groups *out_groups)
{
    bool found = false;

    for (int k = 0; k < NTK_RUNTIME_GROUP_COUNT; k++) {
        out_groups->period[k] = NTK_MONITOR_NOT_ASKED;
    }
    for (size_t i = 0; i < config->filter_count; i++) {
        const struct ntk_monitor_filter *filter = &config->filters[i];
        if (!filter->all && regexec(&filter->tag_regex, tag, 0, NULL, 0) != 0) {
            continue;
        }
        found = true;
        for (int k = 0; k < NTK_RUNTIME_GROUP_COUNT; k++) {
            out_groups->period[k] =
                shorter(config, out_groups->period[k], filter->groups.period[k]);
        }
    }
    return found;
}

/* -- reading the file --------------------------------------------------------------------------- */

static int refuse(struct ntk_err *err, const char *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(struct ntk_err *err, const char *where, const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s: %s", where, text);
}

/* null counts as absent, as it does for the vendor's parser. */
static json_t *member(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);

    return json_is_null(value) ? NULL : value;
}

static void say_unknown_keys(json_t *object, const char *const *known, const char *where)
{
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        bool is_known = false;
        for (const char *const *name = known; *name; name++) {
            is_known = is_known || !strcmp(*name, key);
        }
        if (!is_known) {
            ntk_log_info(MODULE, "%s%sunknown key '%.64s' is ignored", where, *where ? ": " : "",
                         key);
        }
    }
}

/* Leaves *period_ns, the inherited one, where the object has no "period". */
static int read_period(const json_t *object, const char *where, uint64_t *period_ns,
                       struct ntk_err *err)
{
    json_t *value = member(object, "period");
    char path[WHERE_BYTES + 16];

    if (!value) {
        return 0;
    }
    snprintf(path, sizeof path, "%s%speriod", where, *where ? "." : "");
    if (!json_is_string(value)) {
        return refuse(err, path, "a string such as \"5s\" expected");
    }
    const char *text = json_string_value(value);
    uint64_t ns;
    if (ntk_str_parse_duration_ns(text, &ns) < 0) {
        return refuse(err, path, "'%.64s' is no time such as 500ms, 5s or 1m30s", text);
    }
    if (ns > NTK_MONITOR_PERIOD_MAX_NS) {
        return refuse(err, path, "'%.64s' is longer than a day", text);
    }
    if (ns < NTK_MONITOR_PERIOD_MIN_NS) {
        ntk_log_warn(MODULE, "%s: '%.64s' is raised to the shortest period, 100ms", path, text);
        ns = NTK_MONITOR_PERIOD_MIN_NS;
    }
    *period_ns = ns;
    return 0;
}

static int period_index(struct ntk_monitor_config *config, uint64_t period_ns, const char *where,
                        struct ntk_err *err)
{
    for (size_t i = 0; i < config->period_count; i++) {
        if (config->periods_ns[i] == period_ns) {
            return (int)i;
        }
    }
    if (config->period_count == NTK_MONITOR_PERIODS_MAX) {
        return refuse(err, where, "more than %d different periods", NTK_MONITOR_PERIODS_MAX);
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

static int refuse_type(struct ntk_err *err, const char *where, const char *type,
                       const char *const *names, int count, bool is_of_other_scope)
{
    char allowed[160] = "";

    if (is_of_other_scope) {
        return refuse(err, where, "'%.64s' does not belong here but into %s", type,
                      names == ntk_runtime_group_names ? "system_metrics"
                                                       : "neuron_runtimes[].metrics");
    }
    for (size_t i = 0; i < sizeof historic_names / sizeof *historic_names; i++) {
        if (!strcmp(type, historic_names[i].name)) {
            return refuse(err, where, "unknown metric type '%s': %s", type,
                          historic_names[i].advice);
        }
    }
    for (int i = 0; i < count; i++) {
        size_t used = strlen(allowed);
        snprintf(allowed + used, sizeof allowed - used, "%s%s", used ? ", " : "", names[i]);
    }
    return refuse(err, where, "unknown metric type '%.64s'; known are %s", type, allowed);
}

/* One array of { "type", "period" }: fills periods[] of the scope whose names are given. */
static int read_metrics(struct ntk_monitor_config *config, json_t *array, const char *where,
                        uint64_t period_ns, const char *const *names, int count, int *periods,
                        struct ntk_err *err)
{
    static const char *const known[] = { "type", "period", NULL };
    const char *const *others =
        names == ntk_runtime_group_names ? ntk_system_group_names : ntk_runtime_group_names;
    int other_count =
        names == ntk_runtime_group_names ? NTK_SYSTEM_GROUP_COUNT : NTK_RUNTIME_GROUP_COUNT;
    json_t *entry;
    size_t i;

    if (!json_is_array(array)) {
        return refuse(err, where, "an array expected");
    }
    json_array_foreach(array, i, entry)
    {
        char path[WHERE_BYTES];
        uint64_t own_ns = period_ns;
        snprintf(path, sizeof path, "%.64s[%zu]", where, i);
        if (!json_is_object(entry)) {
            return refuse(err, path, "an object expected");
        }
        say_unknown_keys(entry, known, path);
        json_t *type = member(entry, "type");
        if (!json_is_string(type)) {
            return refuse(err, path, type ? "type must be a string" : "type is missing");
        }
        int group = name_index(names, count, json_string_value(type));
        if (group < 0) {
            return refuse_type(err, path, json_string_value(type), names, count,
                               name_index(others, other_count, json_string_value(type)) >= 0);
        }
        int ret = read_period(entry, path, &own_ns, err);
        if (ret < 0) {
            return ret;
        }
        int index = period_index(config, own_ns, path, err);
        if (index < 0) {
            return index;
        }
        periods[group] = shorter(config, periods[group], index);
    }
    return 0;
}

/* The end of the bracket expression that starts at `at`, or of the text. */
static const char *bracket_end(const char *at)
{
    at += at[1] == '^' ? 2 : 1;
    at += *at == ']' ? 1 : 0; /* first of all it stands for itself */
    return at + strcspn(at, "]");
}

/* The largest number between the braces that start at *at; *at goes to the closing one. */
static uint64_t largest_bound(const char **at)
{
    uint64_t largest = 1;

    for (; **at && **at != '}'; (*at)++) {
        if (**at >= '0' && **at <= '9') {
            char *end;
            uint64_t number = strtoull(*at, &end, 10);
            largest = number > largest ? number : largest;
            *at = end - 1;
        }
    }
    return largest;
}

/* Refuses what regcomp or regexec would need unbounded memory or time for. The C library writes out
 * what a repetition repeats, so repetitions multiply where they are nested or follow each other. */
static int check_filter(const char *pattern, const char *where, struct ntk_err *err)
{
    uint64_t repeats = 1;
    char before = '\0'; /* the token before: a literal, ')' or the sign of a repetition */

    if (strlen(pattern) > NTK_MONITOR_FILTER_BYTES_MAX) {
        return refuse(err, where, "longer than %d bytes", NTK_MONITOR_FILTER_BYTES_MAX);
    }
    for (const char *at = pattern; *at; at++) {
        char token = *at;
        if (*at == '\\' && at[1]) {
            at++;
            token = 'x';
            if (*at >= '1' && *at <= '9') {
                return refuse(err, where, "'\\%c' (a back reference) is not supported", *at);
            }
        } else if (*at == '[') {
            at = bracket_end(at);
            token = 'x';
        } else if (strchr("*+?{", *at)) {
            if (before && strchr("*+?{", before)) {
                return refuse(err, where, "a repetition of a repetition is not supported");
            }
            uint64_t factor = before == ')' ? 2 : 1;
            uint64_t bound = *at == '{' ? largest_bound(&at) : 1;
            repeats *= bound > FILTER_REPEAT_MAX ? FILTER_REPEAT_MAX + 1
                       : bound > factor          ? bound
                                                 : factor;
            if (repeats > FILTER_REPEAT_MAX) {
                return refuse(err, where, "the repetitions multiply to more than %d",
                              FILTER_REPEAT_MAX);
            }
        }
        before = token;
        if (!*at) {
            break;
        }
    }
    return 0;
}

static int read_filter(struct ntk_monitor_filter *filter, const json_t *entry, const char *where,
                       struct ntk_err *err)
{
    json_t *value = member(entry, "tag_filter");
    char path[WHERE_BYTES + 16];

    if (!value) {
        filter->all = true;
        return 0;
    }
    snprintf(path, sizeof path, "%s.tag_filter", where);
    if (!json_is_string(value)) {
        return refuse(err, path, "a string expected");
    }
    int ret = check_filter(json_string_value(value), path, err);
    if (ret < 0) {
        return ret;
    }
    int code = regcomp(&filter->tag_regex, json_string_value(value), REG_EXTENDED | REG_NOSUB);
    if (code != 0) {
        char text[128];
        regerror(code, &filter->tag_regex, text, sizeof text);
        return refuse(err, path, "'%.64s' is no regular expression: %s", json_string_value(value),
                      text);
    }
    return 0;
}

static int read_runtime(struct ntk_monitor_config *config, json_t *entry, size_t index,
                        uint64_t period_ns, struct ntk_err *err)
{
    static const char *const known[] = { "tag_filter", "address", "period", "metrics", NULL };
    char where[WHERE_BYTES];
    char metrics_where[WHERE_BYTES];

    snprintf(where, sizeof where, "neuron_runtimes[%zu]", index);
    snprintf(metrics_where, sizeof metrics_where, "neuron_runtimes[%zu].metrics", index);
    if (!json_is_object(entry)) {
        return refuse(err, where, "an object expected");
    }
    if (config->filter_count == NTK_MONITOR_FILTERS_MAX) {
        return refuse(err, "neuron_runtimes", "more than %d entries", NTK_MONITOR_FILTERS_MAX);
    }
    say_unknown_keys(entry, known, where);
    if (member(entry, "address")) {
        ntk_log_warn(MODULE, "%s.address is ignored: there is no daemon to ask", where);
    }
    struct ntk_monitor_filter *filter = &config->filters[config->filter_count];
    int ret = read_filter(filter, entry, where, err);
    if (ret < 0) {
        return ret;
    }
    config->filter_count++; /* from here on _fini frees the regex */
    for (int k = 0; k < NTK_RUNTIME_GROUP_COUNT; k++) {
        filter->groups.period[k] = NTK_MONITOR_NOT_ASKED;
    }
    ret = read_period(entry, where, &period_ns, err);
    json_t *metrics = member(entry, "metrics");
    if (ret < 0 || !metrics) {
        return ret;
    }
    return read_metrics(config, metrics, metrics_where, period_ns, ntk_runtime_group_names,
                        NTK_RUNTIME_GROUP_COUNT, filter->groups.period, err);
}

static int read_root(struct ntk_monitor_config *config, json_t *root, struct ntk_err *err)
{
    static const char *const known[] = { "period", "neuron_runtimes", "system_metrics", "k8s_info",
                                         NULL };
    uint64_t period_ns = NTK_MONITOR_PERIOD_DEFAULT_NS;
    json_t *entry;
    size_t i;

    if (!json_is_object(root)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "a JSON object expected");
    }
    say_unknown_keys(root, known, "");
    int ret = read_period(root, "", &period_ns, err);
    if (ret < 0) {
        return ret;
    }
    json_t *runtimes = member(root, "neuron_runtimes");
    if (runtimes && !json_is_array(runtimes)) {
        return refuse(err, "neuron_runtimes", "an array expected");
    }
    json_array_foreach(runtimes, i, entry)
    {
        ret = read_runtime(config, entry, i, period_ns, err);
        if (ret < 0) {
            return ret;
        }
    }
    json_t *metrics = member(root, "system_metrics");
    if (metrics) {
        ret = read_metrics(config, metrics, "system_metrics", period_ns, ntk_system_group_names,
                           NTK_SYSTEM_GROUP_COUNT, config->system_period, err);
        if (ret < 0) {
            return ret;
        }
    }
    /* A file that asks for nothing still gets its reports, with the two groups that always stand. */
    ret = config->period_count == 0 ? period_index(config, period_ns, "period", err) : 0;
    return ret < 0 ? ret : 0;
}

int ntk_monitor_config_parse(struct ntk_monitor_config *config, const char *text, size_t text_bytes,
                             struct ntk_err *err)
{
    json_error_t at;

    clear(config);
    if (text_bytes == 0) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "the file is empty");
    }
    json_t *root = json_loadb(text, text_bytes, 0, &at);
    if (!root) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "line %d, column %d: %s", at.line,
                           at.column, at.text);
    }
    int ret = read_root(config, root, err);
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

    clear(config);
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
