/* SPDX-License-Identifier: MIT */
/* diag_write - prints results as a table and as JSON. */
#include <stdio.h>
#include <string.h>

#include "agent/diag/diag.h"
#include "shared/base/bits.h"
#include "shared/base/json.h"
#include "shared/base/text_table.h"
#include "shared/base/units.h"

#define REASON_CELL_BYTES 400u

static const char *const unit_names[NTK_DIAG_UNIT_COUNT] = { "",        "count", "bytes",
                                                             "bytes/s", "s",     "ratio" };

void ntk_diag_format_figure(char *buf, size_t buf_bytes, enum ntk_diag_unit unit, double figure)
{
    char bytes[NTK_UNITS_TEXT_BYTES];

    switch (unit) {
    case NTK_DIAG_BYTES:
    case NTK_DIAG_RATE:
        (void)snprintf(buf, buf_bytes, "%s%s",
                       ntk_units_bytes(bytes, sizeof bytes, (uint64_t)figure),
                       unit == NTK_DIAG_RATE ? "/s" : "");
        break;
    case NTK_DIAG_SECONDS:
        (void)snprintf(buf, buf_bytes, "%.3f s", figure);
        break;
    case NTK_DIAG_RATIO:
        (void)snprintf(buf, buf_bytes, "%.1f%%", figure * 100.0);
        break;
    default:
        (void)snprintf(buf, buf_bytes, "%.0f", figure);
        break;
    }
}

/* ---- lines of the table: equal results of several cores share one ---- */

struct line {
    const struct ntk_diag_result *first;
    const struct ntk_diag_result *worst; /* result with the worst figure */
    size_t results;
    bool is_many_parts, is_many_reasons;
    uint64_t cores[2];
    uint64_t devices;
};

static bool is_alike(const struct ntk_diag_result *a, const struct ntk_diag_result *b)
{
    if (a->test != b->test || a->verdict != b->verdict || (a->core < 0) != (b->core < 0)) {
        return false;
    }
    return a->verdict == NTK_DIAG_PASS ||
           (strcmp(a->part, b->part) == 0 && strcmp(a->reason, b->reason) == 0);
}

static bool is_worse(const struct ntk_diag_result *a, const struct ntk_diag_result *b)
{
    return a->has_figure &&
           (!b->has_figure || (ntk_diag_tests[a->test].more_is_better ? a->figure < b->figure
                                                                      : a->figure > b->figure));
}

/* Groups equal results from `at` on. */
static struct line line_make(const struct ntk_diag *diag, size_t at)
{
    const struct ntk_diag_result *results = diag->results.items;
    struct line line = { .first = &results[at], .worst = &results[at] };

    for (size_t i = at; i < diag->results.count; i++) {
        const struct ntk_diag_result *result = &results[i];

        if (!is_alike(result, line.first)) {
            continue;
        }
        line.results++;
        line.is_many_parts = line.is_many_parts || strcmp(result->part, line.first->part) != 0;
        line.worst = is_worse(result, line.worst) ? result : line.worst;
        line.is_many_reasons =
            line.is_many_reasons || strcmp(result->reason, line.first->reason) != 0;
        if (result->core >= 0 && result->core < 128) {
            ntk_bits_add(line.cores, (size_t)result->core);
        }
        if (result->device >= 0 && result->device < 64) {
            line.devices |= UINT64_C(1) << result->device;
        }
    }
    return line;
}

static bool is_first(const struct ntk_diag *diag, size_t at)
{
    const struct ntk_diag_result *results = diag->results.items;

    for (size_t i = 0; i < at; i++) {
        if (is_alike(&results[i], &results[at])) {
            return false;
        }
    }
    return true;
}

/* Formats bits such as "0-3,5". */
static void ranges_format(char *buf, size_t buf_bytes, const uint64_t *bits, unsigned count)
{
    size_t used = 0;

    buf[0] = '\0';
    for (unsigned i = 0; i < count && used < buf_bytes; i++) {
        unsigned last = i;

        if (!ntk_bits_has(bits, i)) {
            continue;
        }
        while (last + 1 < count && ntk_bits_has(bits, last + 1)) {
            last++;
        }
        used += (size_t)snprintf(buf + used, buf_bytes - used, last > i ? "%s%u-%u" : "%s%u",
                                 used ? "," : "", i, last);
        i = last;
    }
}

static void where_format(char *buf, size_t buf_bytes, const struct line *line)
{
    char ranges[96];
    bool is_one;

    if (line->first->core >= 0) {
        is_one = ntk_bits_count(line->cores, NTK_BITS_WORDS(128)) == 1;
        ranges_format(ranges, sizeof ranges, line->cores, 128);
        (void)snprintf(buf, buf_bytes, is_one ? "core %s" : "cores %s", ranges);
    } else if (line->first->device >= 0) {
        is_one = __builtin_popcountll(line->devices) == 1;
        ranges_format(ranges, sizeof ranges, &line->devices, 64);
        (void)snprintf(buf, buf_bytes, is_one ? "device %s" : "devices %s", ranges);
    } else {
        (void)snprintf(buf, buf_bytes, "machine");
    }
}

static void line_put(struct ntk_text_table *table, const struct line *line, bool colours)
{
    static const char *const colour[NTK_DIAG_VERDICT_COUNT] = { "\033[2m", "\033[32m", "\033[33m",
                                                                "\033[1;31m" };
    const struct ntk_diag_result *result = line->first;
    const char *name = ntk_diag_tests[result->test].name;
    char test[96];
    char where[128];
    char figure[64] = "";

    where_format(where, sizeof where, line);
    if (line->worst->has_figure) {
        ntk_diag_format_figure(figure, sizeof figure, ntk_diag_tests[result->test].unit,
                               line->worst->figure);
    }
    ntk_text_table_colour(table, colours ? colour[result->verdict] : "",
                          ntk_diag_verdict_names[result->verdict]);
    (void)snprintf(test, sizeof test, "%s%s%s", name,
                   result->part[0] && !line->is_many_parts ? " " : "",
                   line->is_many_parts ? "" : result->part);
    if (line->results > 1) { /* the last line must equal the sum */
        ntk_text_table_format(table, "%s (%zu)", test, line->results);
    } else {
        ntk_text_table_text(table, test);
    }
    ntk_text_table_text(table, where);
    ntk_text_table_text(table, figure);
    ntk_text_table_text(table, line->is_many_reasons ? "" : result->reason);
}

void ntk_diag_write_text(const struct ntk_diag *diag, bool colours, struct ntk_buf *out)
{
    static const char *const heads[] = { "RESULT", "TEST", "WHERE", "FIGURE", "WHY" };
    size_t counts[NTK_DIAG_VERDICT_COUNT] = { 0 };
    struct ntk_text_table table;

    ntk_buf_add_format(out, "Level %u diagnosis of %s%s: %u %s, %u %s%s%s\n\n", diag->plan.level,
                       diag->machine.type[0] ? diag->machine.type : "a machine of unknown type",
                       diag->plan.is_software ? " (software)" : "", diag->machine.device_count,
                       diag->machine.device_count == 1 ? "device" : "devices",
                       diag->machine.core_count, diag->machine.core_count == 1 ? "core" : "cores",
                       diag->machine.runtime[0] ? ", runtime " : "", diag->machine.runtime);
    ntk_text_table_init(&table, 5, 1u << 0 | 1u << 1 | 1u << 2 | 1u << 4, heads);
    table.cell_bytes = REASON_CELL_BYTES;
    for (unsigned test = 0; test < NTK_DIAG_TEST_COUNT; test++) {
        const struct ntk_diag_result *results = diag->results.items;

        for (size_t i = 0; i < diag->results.count; i++) {
            if (results[i].test == test) {
                counts[results[i].verdict]++;
                if (is_first(diag, i)) {
                    struct line line = line_make(diag, i);

                    line_put(&table, &line, colours);
                }
            }
        }
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
    ntk_buf_add_format(out, "\n%s: %zu passed, %zu failed, %zu %s, %zu skipped.\n",
                       ntk_diag_verdict_names[ntk_diag_worst(diag)], counts[NTK_DIAG_PASS],
                       counts[NTK_DIAG_FAIL], counts[NTK_DIAG_WARN],
                       counts[NTK_DIAG_WARN] == 1 ? "warning" : "warnings", counts[NTK_DIAG_SKIP]);
}

void ntk_diag_write_json(const struct ntk_diag *diag, struct ntk_buf *out)
{
    struct ntk_json json;

    ntk_json_init(&json, out, false);
    ntk_json_object_begin(&json);
    ntk_json_key_u64(&json, "level", diag->plan.level);
    ntk_json_key_text(&json, "result", ntk_diag_verdict_names[ntk_diag_worst(diag)]);
    ntk_json_key_text(&json, "machine", diag->machine.type);
    ntk_json_key_bool(&json, "software", diag->plan.is_software);
    ntk_json_key_text(&json, "runtime_version", diag->machine.runtime);
    ntk_json_key_text(&json, "runtime_library", diag->machine.library);
    ntk_json_key_bool(&json, "runtime_software", diag->machine.is_software);
    ntk_json_key_u64(&json, "device_count", diag->machine.device_count);
    ntk_json_key_u64(&json, "core_count", diag->machine.core_count);
    ntk_json_key_array_begin(&json, "tests");
    ntk_vec_each(struct ntk_diag_result, result, &diag->results) {
        const struct ntk_diag_test_row *row = &ntk_diag_tests[result->test];

        ntk_json_object_begin(&json);
        ntk_json_key_text(&json, "test", row->name);
        if (result->part[0]) {
            ntk_json_key_text(&json, "part", result->part);
        }
        ntk_json_key_text(&json, "result", ntk_diag_verdict_names[result->verdict]);
        if (result->device >= 0) {
            ntk_json_key_i64(&json, "device", result->device);
        }
        if (result->core >= 0) {
            ntk_json_key_i64(&json, "core", result->core);
        }
        if (result->has_figure) {
            ntk_json_key_double(&json, "figure", result->figure);
            ntk_json_key_text(&json, "unit", unit_names[row->unit]);
            ntk_json_key_bool(&json, "has_threshold", result->has_threshold);
        }
        ntk_json_key_u64(&json, "took_ns", result->took_ns);
        ntk_json_key_text(&json, "reason", result->reason);
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    ntk_buf_add_char(out, '\n');
}
