/* SPDX-License-Identifier: MIT */
/* comparison - compares the same measures of two sides. */
#include "profiler/analysis/comparison.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/rank_test.h"

/* Collects one value per execution that records the measure; returns their number. */
static size_t collect(const struct ntk_measures *side, size_t count, enum ntk_measure_kind kind,
                      const char *name, double *out_values, bool *out_has_any)
{
    size_t value_count = 0;

    *out_has_any = false;
    for (size_t i = 0; i < count; i++) {
        const struct ntk_measure *measure = ntk_measures_find(&side[i], kind, name);
        if (!ntk_measures_is_unknown(&side[i], kind, name)) {
            out_values[value_count++] = measure ? measure->value : 0;
            *out_has_any = *out_has_any || measure;
        }
    }
    return value_count;
}

/* Adds rows for the names of one side; `names` holds the names with a row. */
static int add_names(struct ntk_vec *rows, struct ntk_measures *names,
                     const struct ntk_measures *side, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ntk_vec_each(const struct ntk_measure, measure, &side[i].items) {
            struct ntk_comparison_row row = { .kind = measure->kind,
                                              .name = measure->name,
                                              .shown = ntk_measure_shown(measure) };
            if (ntk_measures_find(names, measure->kind, measure->name)) {
                continue;
            }
            if (ntk_measures_add(names, measure->kind, measure->name, 0) < 0 ||
                ntk_vec_push(rows, &row) < 0) {
                return -ENOMEM;
            }
        }
    }
    return 0;
}

static double size_of_change(const struct ntk_comparison_row *row)
{
    return row->is_unknown ? 0 : fabs(row->after - row->before);
}

static int compare_rows(const void *a, const void *b)
{
    const struct ntk_comparison_row *x = a;
    const struct ntk_comparison_row *y = b;
    double x_change = size_of_change(x);
    double y_change = size_of_change(y);

    if (x->kind != y->kind) {
        return x->kind < y->kind ? -1 : 1;
    }
    if (x_change < y_change || x_change > y_change) {
        return x_change > y_change ? -1 : 1;
    }
    return strcmp(x->name, y->name);
}

/* With fewer values on a side the test has no p below the rate, or hardly any for unequal sides. */
static bool are_enough(size_t before_count, size_t after_count)
{
    return before_count >= NTK_COMPARISON_COUNT_MIN && after_count >= NTK_COMPARISON_COUNT_MIN;
}

static bool is_tested(const struct ntk_comparison_row *row)
{
    return row->can_tell && ntk_comparison_differs(row);
}

/* The length of the execution is a question by itself: thousands of other measures that vary would
 * hide any change of it. */
static int select_significant(struct ntk_vec *rows)
{
    double *p = calloc(rows->count + 1, sizeof *p);
    bool *is_significant = calloc(rows->count + 1, sizeof *is_significant);
    int ret = p && is_significant ? 0 : -ENOMEM;

    for (size_t i = 0; i < rows->count && ret == 0; i++) {
        const struct ntk_comparison_row *row = ntk_vec_at(rows, i);
        p[i] = is_tested(row) && row->kind != NTK_MEASURE_TOTAL ? row->p : 2; /* not tested */
    }
    if (ret == 0) {
        ret = ntk_rank_test_select(p, rows->count, NTK_COMPARISON_FALSE_RATE, is_significant);
    }
    for (size_t i = 0; i < rows->count && ret == 0; i++) {
        struct ntk_comparison_row *row = ntk_vec_at(rows, i);
        row->is_significant = row->kind == NTK_MEASURE_TOTAL
                                  ? is_tested(row) && row->p <= NTK_COMPARISON_FALSE_RATE
                                  : is_significant[i];
    }
    free(p);
    free(is_significant);
    return ret;
}

const char *ntk_comparison_verdict_name(enum ntk_comparison_verdict verdict)
{
    static const char *const names[NTK_COMPARISON_VERDICT_COUNT] = { "same", "chance", "parts",
                                                                     "slower", "faster" };

    return names[verdict];
}

bool ntk_comparison_has_changed(const struct ntk_comparison_row *row)
{
    bool are_apart = row->before_most < row->after_least || row->after_most < row->before_least;

    return row->can_tell ? row->is_significant : ntk_comparison_differs(row) && are_apart;
}

/* Finds the greatest change of the kind, in one direction (1, -1) or either (0). */
static const struct ntk_comparison_row *find_most(const struct ntk_comparison *comparison,
                                                  enum ntk_measure_kind kind, int direction)
{
    for (size_t i = 0; i < comparison->row_count; i++) {
        const struct ntk_comparison_row *row = &comparison->rows[i];
        double change = direction ? direction * (row->after - row->before) : 1;
        if (row->kind == kind && ntk_comparison_has_changed(row) && change > 0) {
            return row; /* rows of a kind are in this order */
        }
    }
    return NULL;
}

/* Judges if the programs are related. Names in parentheses ("(no layer)") may occur in any
 * program. */
static void judge_relation(struct ntk_comparison *comparison)
{
    size_t all = 0;

    for (size_t i = 0; i < comparison->row_count; i++) {
        const struct ntk_comparison_row *row = &comparison->rows[i];
        if (ntk_comparison_is_own(row->kind) && row->name[0] != '(' && !row->is_unknown) {
            all++;
            comparison->own_before_count += row->has_before;
            comparison->own_after_count += row->has_after;
            comparison->own_common_count += row->has_before && row->has_after;
        }
    }
    comparison->is_unrelated =
        comparison->own_before_count && comparison->own_after_count &&
        (double)comparison->own_common_count < NTK_COMPARISON_UNRELATED_RATIO * (double)all;
}

static void judge(struct ntk_comparison *comparison)
{
    bool differs = false;

    for (size_t i = 0; i < comparison->row_count; i++) {
        const struct ntk_comparison_row *row = &comparison->rows[i];
        comparison->total = row->kind == NTK_MEASURE_TOTAL ? row : comparison->total;
        comparison->changed_count += ntk_comparison_has_changed(row);
        comparison->unknown_count += row->is_unknown;
        differs = differs || ntk_comparison_differs(row);
    }
    const struct ntk_comparison_row *total = comparison->total;
    int direction = 0;
    if (total && ntk_comparison_has_changed(total)) {
        direction = total->after > total->before ? 1 : -1;
        comparison->verdict = direction > 0 ? NTK_COMPARISON_SLOWER : NTK_COMPARISON_FASTER;
    } else if (comparison->changed_count || (total && total->is_unknown)) {
        comparison->verdict = NTK_COMPARISON_PARTS;
    } else {
        comparison->verdict = differs ? NTK_COMPARISON_CHANCE : NTK_COMPARISON_SAME;
    }
    comparison->most = find_most(comparison, NTK_MEASURE_LAYER, direction);
    if (!comparison->most) {
        comparison->most = find_most(comparison, NTK_MEASURE_RESOURCE, direction);
    }
}

int ntk_analysis_comparison(const struct ntk_measures *before, size_t before_count,
                            const struct ntk_measures *after, size_t after_count,
                            struct ntk_comparison *out_comparison)
{
    struct ntk_comparison result = { .before_count = before_count, .after_count = after_count };
    struct ntk_vec rows = NTK_VEC_INIT(struct ntk_comparison_row);
    struct ntk_measures names = { 0 };
    double *values = calloc(before_count + after_count + 1, sizeof *values);
    double *after_values = values ? values + before_count : NULL;
    int ret = values ? 0 : -ENOMEM;

    result.can_tell = are_enough(before_count, after_count);
    ret = ret ? ret : add_names(&rows, &names, before, before_count);
    ret = ret ? ret : add_names(&rows, &names, after, after_count);
    for (size_t i = 0; i < rows.count && ret == 0 && before_count && after_count; i++) {
        struct ntk_comparison_row *row = ntk_vec_at(&rows, i);
        size_t known_before =
            collect(before, before_count, row->kind, row->name, values, &row->has_before);
        for (size_t a = 0; a < after_count; a++) {
            const struct ntk_measure *later = ntk_measures_find(&after[a], row->kind, row->name);
            row->shown = later ? ntk_measure_shown(later) : row->shown;
        }
        size_t known_after =
            collect(after, after_count, row->kind, row->name, after_values, &row->has_after);
        row->is_unknown = !known_before || !known_after;
        row->has_p = known_before > 1 && known_after > 1;
        row->can_tell = are_enough(known_before, known_after);
        if (row->has_p) {
            ret = ntk_rank_test(values, known_before, after_values, known_after, &row->p);
        }
        row->before = ntk_spread_median(values, known_before); /* sorts them */
        row->before_least = values[0];
        row->before_most = values[known_before ? known_before - 1 : 0];
        row->after = ntk_spread_median(after_values, known_after);
        row->after_least = after_values[0];
        row->after_most = after_values[known_after ? known_after - 1 : 0];
    }
    free(values);
    ntk_measures_fini(&names);
    ret = ret ? ret : select_significant(&rows);
    ret = ret ? ret : ntk_spread_find(before, before_count, &result.spread_before);
    ret = ret ? ret : ntk_spread_find(after, after_count, &result.spread_after);
    if (ret < 0) {
        ntk_spread_fini(&result.spread_before);
        ntk_vec_fini(&rows);
        return ret;
    }
    ntk_vec_sort(&rows, compare_rows);
    result.rows = rows.items;
    result.row_count = rows.count;
    judge(&result);
    judge_relation(&result);
    *out_comparison = result;
    return 0;
}

bool ntk_comparison_share(const struct ntk_comparison *comparison,
                          const struct ntk_comparison_row *row, bool is_after, double *out_share)
{
    const struct ntk_comparison_row *total = comparison->total;
    double whole = total ? (is_after ? total->after : total->before) : 0;

    if (!ntk_measure_is_time(row->kind) || row->kind == NTK_MEASURE_REGION || row == total ||
        whole <= 0 || !(is_after ? row->has_after : row->has_before)) {
        return false;
    }
    *out_share = (is_after ? row->after : row->before) / whole;
    return true;
}

void ntk_comparison_fini(struct ntk_comparison *comparison)
{
    free(comparison->rows);
    ntk_spread_fini(&comparison->spread_before);
    ntk_spread_fini(&comparison->spread_after);
    *comparison = (struct ntk_comparison){ 0 };
}
