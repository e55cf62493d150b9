/* SPDX-License-Identifier: MIT */
/* otlp_name - returns names and units of families, chosen so that their translation produces the
 * names of Prometheus. */
#include "exporters/otlp/otlp_encode.h"

#include <string.h>

#include "exporters/points/points_walk.h"
#include "shared/base/str.h"

/* The suffix for a unit in the translation to Prometheus. */
static const struct {
    const char *code;
    const char *suffix;
    /* code of the unit if the name lacks the suffix: braces are not translated */
    const char *without;
} units[] = {
    [NTK_METRIC_UNIT_RATIO] = { "1", "_ratio", "" },
    [NTK_METRIC_UNIT_SECONDS] = { "s", "_seconds", "" },
    [NTK_METRIC_UNIT_BYTES] = { "By", "_bytes", "{byte}" },
    [NTK_METRIC_UNIT_COUNT] = { "", "", "{count}" },
    [NTK_METRIC_UNIT_RATE] = { "", "", "" },
    [NTK_METRIC_UNIT_INFO] = { "", "", "" },
};

static bool cut_end(char *name, const char *end)
{
    if (!*end || !ntk_str_ends_with(name, end)) {
        return false;
    }
    name[strlen(name) - strlen(end)] = '\0';
    return true;
}

const char *ntk_otlp_name(const struct ntk_metric_row *row, char name[NTK_OTLP_NAME_BYTES])
{
    const struct ntk_name_row *other = ntk_name_of(row);

    ntk_str_copy(name, NTK_OTLP_NAME_BYTES, other ? other->dotted : row->name);
    if (row->kind == NTK_METRIC_KIND_COUNTER) {
        cut_end(name, "_total");
    }
    if (other) { /* only here does an alternative name have its unit */
        return other->otlp_unit ? other->otlp_unit : units[row->unit].without;
    }
    return cut_end(name, units[row->unit].suffix) ? units[row->unit].code
                                                  : units[row->unit].without;
}
