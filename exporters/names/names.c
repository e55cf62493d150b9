/* SPDX-License-Identifier: MIT */
#include "exporters/names/names.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/str.h"

/* Units that need no suffix in the name. */
#define NTK_METRIC_UNIT_PERCENT NTK_METRIC_UNIT_COUNT
#define NTK_METRIC_UNIT_MICROSECONDS NTK_METRIC_UNIT_COUNT
#define NTK_METRIC_UNIT_ERRORS NTK_METRIC_UNIT_COUNT
#define NTK_METRIC_UNIT_PACKETS NTK_METRIC_UNIT_COUNT
#define NTK_METRIC_UNIT_STATES NTK_METRIC_UNIT_COUNT
/* Units in OTLP, for lists that have them. */
#define UCUM_PERCENT "%"
#define UCUM_MICROSECONDS "us"
#define UCUM_SECONDS "s"
#define UCUM_RATIO "1"
#define UCUM_BYTES "By"
#define UCUM_COUNT "{count}"
#define UCUM_ERRORS "{error}"
#define UCUM_PACKETS "{packet}"
#define UCUM_STATES "1"
#define NTK_METRIC_KIND_UPDOWN NTK_METRIC_KIND_GAUGE
#define IS_UP_DOWN_UPDOWN true
#define IS_UP_DOWN_GAUGE false
#define IS_UP_DOWN_COUNTER false
#define HOW_SUM NTK_NAME_SUM
#define HOW_MEAN NTK_NAME_MEAN
#define HOW_MAX NTK_NAME_MAX
#define HOW_COUNT NTK_NAME_COUNT_POINTS
#define HOW_CORES NTK_NAME_CORES
#define HOW_MINUS NTK_NAME_MINUS
#define HOW_SHARE NTK_NAME_SHARE
#define HOW_NOT NTK_NAME_NOT

unsigned ntk_names_option;

const struct ntk_name_list_row ntk_name_lists[NTK_NAME_LIST_COUNT] = {
#define NTK_NAME_LIST(symbol, row_name, row_text) { row_name, row_text },
#include "exporters/names/names.def"
};

static struct ntk_name_row rows[NTK_NAME_COUNT] = {
#define NTK_NAME(row_list, row_name, row_unit, row_kind, row_source, row_where, row_how,    \
                 row_other, row_scale, row_labels, row_help)                                \
    { .metric = { .origin = NTK_METRIC_ORIGIN_OURS,                                         \
                  .unit = NTK_METRIC_UNIT_##row_unit,                                       \
                  .kind = NTK_METRIC_KIND_##row_kind,                                       \
                  .json_key = "",                                                           \
                  .labels = row_labels,                                                     \
                  .help = row_help },                                                       \
      .list = NTK_NAME_LIST_##row_list,                                                     \
      .dotted = row_name,                                                                   \
      .otlp_unit = NTK_NAME_LIST_##row_list == NTK_NAME_LIST_OTEL ? UCUM_##row_unit : NULL, \
      .is_up_down = IS_UP_DOWN_##row_kind,                                                  \
      .source = NTK_METRIC_##row_source,                                                    \
      .where = row_where,                                                                   \
      .how = HOW_##row_how,                                                                 \
      .other = NTK_METRIC_##row_other,                                                      \
      .scale = row_scale,                                                                   \
      .labels = row_labels },
#include "exporters/names/names.def"
};
const struct ntk_name_absent ntk_names_absent[NTK_NAME_ABSENT_COUNT] = {
#define NTK_NAME_ABSENT(row_list, row_name, row_why) \
    { NTK_NAME_LIST_##row_list, row_name, row_why },
#include "exporters/names/names.def"
};
static const struct {
    const char *label;
    const char *dotted;
} attributes[NTK_NAME_ATTRIBUTE_COUNT] = {
#define NTK_NAME_ATTRIBUTE(row_label, row_dotted) { row_label, row_dotted },
#include "exporters/names/names.def"
};
static char names[NTK_NAME_COUNT][NTK_NAMES_BYTES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Returns the unit that a translation of OTLP to Prometheus appends. */
static const char *unit_of(const struct ntk_name_row *row)
{
    if (!row->otlp_unit) {
        return "";
    }
    return row->metric.unit == NTK_METRIC_UNIT_BYTES   ? "_bytes"
           : row->metric.unit == NTK_METRIC_UNIT_RATIO ? "_ratio"
                                                       : "";
}

/* Builds the names: a counter "a.b" becomes a_b_total. */
static void make_names(void)
{
    for (size_t i = 0; i < NTK_NAME_COUNT; i++) {
        bool has_end = rows[i].metric.kind != NTK_METRIC_KIND_COUNTER ||
                       ntk_str_ends_with(rows[i].dotted, "_total");

        rows[i].is_part = i > 0 && rows[i].list == rows[i - 1].list &&
                          strcmp(rows[i].dotted, rows[i - 1].dotted) == 0;
        snprintf(names[i], sizeof names[i], "%s%s%s", rows[i].dotted, unit_of(&rows[i]),
                 has_end ? "" : "_total");
        for (char *at = names[i]; *at; at++) {
            *at = *at == '.' ? '_' : *at;
        }
        rows[i].metric.name = names[i];
    }
}

const struct ntk_name_row *ntk_name_get(size_t index)
{
    pthread_once(&once, make_names);
    return &rows[index];
}

const struct ntk_name_row *ntk_name_next(const struct ntk_name_row *row)
{
    return row + 1 < rows + NTK_NAME_COUNT ? row + 1 : NULL;
}

const char *ntk_name_attribute(const struct ntk_name_row *row, const char *label)
{
    for (size_t i = 0; row->otlp_unit && i < NTK_NAME_ATTRIBUTE_COUNT; i++) {
        if (strcmp(attributes[i].label, label) == 0) {
            return attributes[i].dotted;
        }
    }
    return label;
}

const struct ntk_name_row *ntk_name_of(const struct ntk_metric_row *metric)
{
    uintptr_t at = (uintptr_t)metric;

    return at >= (uintptr_t)rows && at < (uintptr_t)(rows + NTK_NAME_COUNT)
               ? &rows[(at - (uintptr_t)rows) / sizeof *rows]
               : NULL;
}

int ntk_names_parse(const char *text, unsigned *out_lists, struct ntk_err *err)
{
    uint32_t lists;
    const char *bad = ntk_str_parse_names(text, ntk_name_lists, sizeof *ntk_name_lists,
                                          NTK_NAME_LIST_COUNT, &lists);

    if (bad) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "unknown list '%.*s': expected 'own', 'classic', 'observer', 'mlu' or "
                           "'otel', separated by commas",
                           (int)(strcspn(bad, ",") < 40 ? strcspn(bad, ",") : 40), bad);
    }
    *out_lists = lists;
    return 0;
}

bool ntk_names_have(unsigned lists, bool vendor_only, const struct ntk_metric_row *metric)
{
    const struct ntk_name_row *row = ntk_name_of(metric);
    bool is_vendors = metric->origin == NTK_METRIC_ORIGIN_VENDOR;

    lists = lists ? lists : 1u << NTK_NAME_LIST_OWN;
    if (row) {
        return lists & 1u << row->list;
    }
    return metric->name[0] && ((lists & 1u << NTK_NAME_LIST_OWN && (!vendor_only || is_vendors)) ||
                               (lists & 1u << NTK_NAME_LIST_CLASSIC && is_vendors));
}

static int call(const char *value, struct ntk_err *err)
{
    return ntk_names_parse(value, &ntk_names_option, err);
}

int (*const ntk_names_call)(const char *value, struct ntk_err *err) = call;
