/* SPDX-License-Identifier: MIT */
#include "profiler/output/answers/output_matched.h"

#include <string.h>

#include "profiler/analysis/comparison.h"
#include "profiler/output/answers/execution_measures.h"
#include "profiler/output/answers/output_analysis.h"
#include "profiler/output/answers/output_cells.h"

static const struct ntk_work_unit *unit_at(const struct ntk_work_units *units, uint32_t unit)
{
    return unit == NTK_WORK_NO_UNIT ? NULL : ntk_vec_at(&units->units, unit);
}

/* ---- text ---- */

static void unit_cells(struct ntk_text_table *table, const struct ntk_work_unit *unit, double ratio)
{
    if (!unit) {
        ntk_cell_dashes(table, 3);
        return;
    }
    ntk_text_table_text(table, unit->name);
    ntk_cell_us(table, unit->time_ps);
    ntk_cell_share(table, ratio, 1);
}

void ntk_output_matched_text(const struct ntk_output_matched *matched, struct ntk_buf *out)
{
    static const char *const heads[] = { "BEFORE", "SUM US", "SHARE", "BECAME",
                                         "AFTER",  "SUM US", "SHARE" };
    const struct ntk_work_match *match = matched->match;
    struct ntk_text_table table;

    if (!ntk_work_match_tells(matched->before, matched->after, match)) {
        return;
    }
    ntk_buf_add_text(out, "\nCorresponding parts, by shape, type and source of data. SUM: time of "
                          "the instructions, including overlaps. SHARE: share of a\n"
                          "part's sum that the other part covers\n");
    ntk_text_table_init(&table, 7, 1u << 0 | 1u << 3 | 1u << 4, heads);
    for (size_t i = 0; i < match->link_count && i < NTK_OUTPUT_ROWS_MAX; i++) {
        const struct ntk_work_link *link = &match->links[i];
        unit_cells(&table, unit_at(matched->before, link->before), link->before_ratio);
        ntk_text_table_text(&table, ntk_work_relation_name(link->relation));
        unit_cells(&table, unit_at(matched->after, link->after), link->after_ratio);
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
    ntk_output_more(out, match->link_count);
}

bool ntk_output_matched_add(const struct ntk_output_matched *matched, const char *key,
                            bool is_after, struct ntk_buf *out)
{
    bool is_found = false;

    for (size_t i = 0; i < matched->match->link_count; i++) {
        const struct ntk_work_link *link = &matched->match->links[i];
        const struct ntk_work_unit *before = unit_at(matched->before, link->before);
        const struct ntk_work_unit *after = unit_at(matched->after, link->after);
        const struct ntk_work_unit *own = is_after ? after : before;
        if (!before || !after || strcmp(own->key, key) != 0) {
            continue;
        }
        ntk_buf_add_text(out, is_found ? ", " : is_after ? "from " : "became ");
        ntk_buf_add_text(out, is_after ? before->name : after->name);
        is_found = true;
    }
    return is_found;
}

/* ---- JSON ---- */

static void unit_json(struct ntk_json *json, const char *key, const struct ntk_work_unit *unit,
                      double ratio)
{
    ntk_json_key(json, key);
    if (!unit) {
        ntk_json_null(json);
        return;
    }
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "name", unit->name);
    ntk_json_key_text(json, "key", unit->key);
    ntk_json_key_text(json, "kind", unit->is_layer ? "layer" : "region");
    ntk_json_key_ns(json, "busy_ns", unit->time_ps);
    ntk_json_key_double(json, "ratio", ratio);
    ntk_json_object_end(json);
}

void ntk_output_matched_json(const struct ntk_output_matched *matched, struct ntk_json *json)
{
    ntk_json_array_begin(json);
    for (size_t i = 0; i < matched->match->link_count; i++) {
        const struct ntk_work_link *link = &matched->match->links[i];

        ntk_json_object_begin(json);
        ntk_json_key_text(json, "relation", ntk_work_relation_name(link->relation));
        unit_json(json, "before", unit_at(matched->before, link->before), link->before_ratio);
        unit_json(json, "after", unit_at(matched->after, link->after), link->after_ratio);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
}

/* ---- two executions ---- */

int ntk_output_compare_json(const struct ntk_analyses *before, const struct ntk_analyses *after,
                            struct ntk_json *json)
{
    struct ntk_execution_measures sides[2] = { 0 };
    struct ntk_work_match match = { 0 };
    struct ntk_comparison comparison = { 0 };
    int ret = ntk_execution_measures_add(&sides[0], before->program->trace, before, NULL, true,
                                         NULL, NULL);

    ret = ret ? ret
              : ntk_execution_measures_add(&sides[1], after->program->trace, after, NULL, true,
                                           NULL, NULL);
    ret = ret ? ret : ntk_analysis_work_match(&sides[0].units, &sides[1].units, &match);
    ret = ret ? ret
              : ntk_analysis_comparison(sides[0].measures.items, sides[0].measures.count,
                                        sides[1].measures.items, sides[1].measures.count,
                                        &comparison);
    if (ret == 0) {
        struct ntk_output_matched matched = { &sides[0].units, &sides[1].units, &match };

        ntk_output_comparison_json(
            &comparison, sides[0].has_units && sides[1].has_units ? &matched : NULL, json);
        ntk_comparison_fini(&comparison);
    }
    ntk_work_match_fini(&match);
    ntk_execution_measures_fini(&sides[0]);
    ntk_execution_measures_fini(&sides[1]);
    return ret;
}
