/* SPDX-License-Identifier: MIT */
/*
 * view_page - draws all known facts about one application or one model, in sections. Values of
 * lists use their cells, so they have the same form here. Lines that do not fit can be scrolled to;
 * a wide terminal has two columns of sections.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/clock.h"
#include "top/base/cells.h"
#include "top/base/format.h"
#include "top/base/graph.h"
#include "top/model/model_alerts.h"
#include "top/model/model_events.h"
#include "top/model/model_graphs.h"
#include "top/model/model_models.h"
#include "top/model/model_page.h"
#include "top/model/model_processes.h"
#include "top/model/model_tree.h"
#include "top/view/view.h"
#include "top/view/view_table.h"

#define WIDE_COLUMNS 110 /* number of columns from which there are two columns of sections */
#define FACT_CELLS 26    /* a label and a value; a longer text has a separate line */
#define LABEL_CELLS 10
#define SPARK_ROWS 3
#define SPARK_NS (60 * NTK_NS_PER_SECOND)
#define BINS 8
#define EVENTS_SHOWN 8
#define BYTES_CELLS 10
#define GAP 2

/* Position of the next line: lines are counted from the top of the page, and part of it may be
 * scrolled out. */
struct pen {
    struct ntk_screen *screen;
    int top;
    int rows;
    int first;
    int line;
    int column;
    int width;
};

/* A column of a list. */
struct item {
    size_t id;
    int width; /* width in a list inside the page */
    bool is_left;
};

/* Returns the row on the screen, -1 (nothing is drawn) if it is not visible. */
static int row_of(const struct pen *pen, int line)
{
    return line >= pen->first && line < pen->first + pen->rows ? pen->top + line - pen->first : -1;
}

static void say(struct pen *pen, int style, const char *text)
{
    ntk_screen_put(pen->screen, row_of(pen, pen->line++), pen->column + 1, pen->width - 1, style,
                   text);
}

static void heading(struct pen *pen, const char *text)
{
    int row = row_of(pen, pen->line++);

    ntk_screen_fill(pen->screen, row, pen->column, pen->width, NTK_STYLE_HEADING, ' ');
    ntk_screen_put(pen->screen, row, pen->column, pen->width, NTK_STYLE_HEADING, text);
}

/* ---- facts: a title and a cell ---- */

static const struct ntk_top_row *find_row(const struct ntk_top_table *table, uint64_t key)
{
    ntk_vec_each(struct ntk_top_row, row, &table->rows) {
        if (row->key == key) {
            return row;
        }
    }
    return NULL;
}

static void draw_facts(struct pen *pen, const struct ntk_top_table *table, uint64_t key,
                       const struct item *items, size_t count)
{
    const struct ntk_top_row *row = find_row(table, key);
    int per_line = pen->width / FACT_CELLS > 0 ? pen->width / FACT_CELLS : 1;
    int at = 0;

    for (size_t i = 0; row && i < count; i++) {
        const struct ntk_top_column *what = &table->columns->items[items[i].id];
        const struct ntk_top_cell *cell = ntk_top_table_cell_get(table, row, items[i].id);
        bool is_long = what->format == NTK_TOP_AS_TEXT &&
                       what->width + what->width_more >= FACT_CELLS - LABEL_CELLS;
        char buf[NTK_TOP_CELL_BYTES];
        int column;
        int room;

        if (at > 0 && (is_long || at == per_line)) {
            pen->line++;
            at = 0;
        }
        column = pen->column + 1 + at * FACT_CELLS;
        room = (is_long || per_line == 1 ? pen->width - 1 : FACT_CELLS - 1) - LABEL_CELLS;
        ntk_screen_put(pen->screen, row_of(pen, pen->line), column, LABEL_CELLS - 1, NTK_STYLE_DIM,
                       ntk_top_view_label(pen->screen, what->title));
        ntk_screen_put(pen->screen, row_of(pen, pen->line), column + LABEL_CELLS, room,
                       NTK_STYLE_NORMAL, ntk_top_table_cell_text(what, cell, buf));
        at++;
        if (is_long) {
            pen->line++;
            at = 0;
        }
    }
    pen->line += at > 0;
}

#define FACTS(pen, model, view, key, items)                            \
    draw_facts(pen, &(model)->tables[NTK_TOP_VIEW_##view], key, items, \
               sizeof(items) / sizeof *(items))

/* ---- rows of a list ---- */

static void draw_list_line(struct pen *pen, const struct ntk_top_table *table,
                           const struct ntk_top_row *row, const struct item *items, size_t count)
{
    int end = pen->column + pen->width;
    int column = pen->column + 1;

    for (size_t i = 0; i < count && column < end; i++) {
        const struct ntk_top_column *what = &table->columns->items[items[i].id];
        int width = i + 1 == count || column + items[i].width > end ? end - column : items[i].width;
        char buf[NTK_TOP_CELL_BYTES];
        const struct ntk_top_cell *cell =
            row ? ntk_top_table_cell_get(table, row, items[i].id) : NULL;
        const char *text = row ? ntk_top_table_cell_text(what, cell, buf)
                               : ntk_top_view_label(pen->screen, what->title);
        int style = row ? ntk_top_view_table_cell_style(row, what, cell) : NTK_STYLE_DIM;

        if (items[i].is_left) {
            ntk_screen_put(pen->screen, row_of(pen, pen->line), column, width, style, text);
        } else if (width == items[i].width) {
            ntk_screen_put_right(pen->screen, row_of(pen, pen->line), column, width, style, text);
        }
        column += width + GAP;
    }
    pen->line++;
}

/* Draws rows of the application, in their original order. */
static void draw_list(struct pen *pen, const struct ntk_top_table *table, size_t tab,
                      const struct item *items, size_t count, int rows_max, const char *nothing)
{
    int shown = 0;

    ntk_vec_each(struct ntk_top_row, row, &table->rows) {
        if (row->tab != tab || shown == rows_max) {
            continue;
        }
        if (shown++ == 0) {
            draw_list_line(pen, table, NULL, items, count);
        }
        draw_list_line(pen, table, row, items, count);
    }
    if (shown == 0) {
        say(pen, NTK_STYLE_DIM, nothing);
    }
}

/* ---- sections ---- */

static void draw_application(struct pen *pen, struct ntk_top_model *model,
                             const struct ntk_top_page_of *of)
{
    static const struct item items[] = {
        { .id = NTK_TOP_PROCESSES_PID },     { .id = NTK_TOP_PROCESSES_USER },
        { .id = NTK_TOP_PROCESSES_CPU },     { .id = NTK_TOP_PROCESSES_RSS },
        { .id = NTK_TOP_PROCESSES_VERSION }, { .id = NTK_TOP_PROCESSES_TAG },
        { .id = NTK_TOP_PROCESSES_SINCE },   { .id = NTK_TOP_PROCESSES_WHERE },
        { .id = NTK_TOP_PROCESSES_HOOKS },   { .id = NTK_TOP_PROCESSES_COMMAND },
    };

    FACTS(pen, model, PROCESSES, ntk_top_cells_runtime_key(of->runtime), items);
}

static void draw_model(struct pen *pen, struct ntk_top_model *model,
                       const struct ntk_top_page_of *of)
{
    static const struct item items[] = {
        { .id = NTK_TOP_MODELS_ID },   { .id = NTK_TOP_MODELS_CORES },
        { .id = NTK_TOP_MODELS_LOAD }, { .id = NTK_TOP_MODELS_LOADED },
        { .id = NTK_TOP_MODELS_NAME }, { .id = NTK_TOP_MODELS_PATH },
        { .id = NTK_TOP_MODELS_UUID },
    };

    FACTS(pen, model, MODELS, ntk_top_cells_model_key(of->runtime, of->model), items);
}

/* Draws a bar for each logical core: of the application, or of the model. */
static void draw_cores(struct pen *pen, struct ntk_top_model *model,
                       const struct ntk_top_page_of *of)
{
    const struct ntk_runtime_sample *runtime = of->runtime;
    uint32_t cores[NTK_TOP_GRAPHS_CORES_MAX];
    size_t count = ntk_snapshot_logical_list(runtime->cores, runtime->core_count, model->lnc, cores,
                                             NTK_TOP_GRAPHS_CORES_MAX);
    int per_line = pen->width / FACT_CELLS > 0 ? pen->width / FACT_CELLS : 1;
    int cells = pen->width / per_line;
    int at = 0;

    count = count < NTK_TOP_GRAPHS_CORES_MAX ? count : NTK_TOP_GRAPHS_CORES_MAX;
    for (size_t i = 0; i < count; i++) {
        struct ntk_core_sample core;
        struct ntk_top_number busy = { 0 };
        char text[NTK_TOP_FORMAT_BYTES];
        int column = pen->column + 1 + at * cells;
        int row;
        int used;

        if ((of->model && (cores[i] < of->model->core / model->lnc ||
                           cores[i] * model->lnc >= of->model->core + of->model->core_count)) ||
            !ntk_snapshot_watched_logical_core(runtime->cores, runtime->core_count, model->lnc,
                                               cores[i], &core)) {
            continue;
        }
        if (core.has & NTK_CORE_HAS_BUSY) {
            bool is_dead = ntk_top_model_alerts_core(model, cores[i]) == NTK_TOP_CORE_DEAD;

            busy = (struct ntk_top_number){ is_dead ? 0 : 100 * core.utilization, true,
                                            core.busy_of_calls };
        }
        row = row_of(pen, pen->line);
        used = model->cores_per_device > 0
                   ? ntk_screen_format(pen->screen, row, column, cells, NTK_STYLE_NORMAL,
                                       "ND%u NC%u", (unsigned)(cores[i] / model->cores_per_device),
                                       (unsigned)(cores[i] % model->cores_per_device))
                   : ntk_screen_format(pen->screen, row, column, cells, NTK_STYLE_NORMAL, "NC%u",
                                       (unsigned)cores[i]);
        used = used < LABEL_CELLS ? LABEL_CELLS : used + 1;
        ntk_top_format_percent(text, busy);
        ntk_top_view_bar(pen->screen, row, column + used, cells - used - 9, busy,
                         (struct ntk_top_number){ 0 }, 0);
        ntk_screen_put_right(pen->screen, row, column + cells - 9, 7, NTK_STYLE_VALUE, text);
        if (++at == per_line) {
            at = 0;
            pen->line++;
        }
    }
    pen->line += at > 0;
    if (count == 0) {
        say(pen, NTK_STYLE_DIM, "-");
    }
}

/* Draws failures, by outcome and by class, without zeros. */
static void draw_failure(struct pen *pen, const struct ntk_snapshot *snapshot, bool has_total,
                         const char *kind, const char *name, struct ntk_count count, int *shown)
{
    char total[NTK_TOP_FORMAT_BYTES] = "-";
    int row;

    if (count.period == 0 && (!has_total || count.total == 0)) {
        return;
    }
    row = row_of(pen, pen->line++);
    if (has_total) {
        (void)snprintf(total, sizeof total, "%llu", (unsigned long long)count.total);
    }
    ntk_screen_format(pen->screen, row, pen->column + 1, pen->width - 1,
                      count.period > 0 ? NTK_STYLE_ERROR : NTK_STYLE_NORMAL,
                      "%s %s: %.1f/s, %s in total", kind, name, ntk_snapshot_rate(snapshot, count),
                      total);
    (*shown)++;
}

static void draw_executions(struct pen *pen, struct ntk_top_model *model,
                            const struct ntk_top_page_of *of)
{
    static const struct item items[] = {
        { .id = NTK_TOP_PROCESSES_RATE },   { .id = NTK_TOP_PROCESSES_ERROR_RATE },
        { .id = NTK_TOP_PROCESSES_ERRORS }, { .id = NTK_TOP_PROCESSES_QUEUE },
        { .id = NTK_TOP_PROCESSES_FLOPS },  { .id = NTK_TOP_PROCESSES_P50 },
        { .id = NTK_TOP_PROCESSES_P99 },    { .id = NTK_TOP_PROCESSES_MAX },
    };
    const struct ntk_runtime_sample *runtime = of->runtime;
    bool has_total = (runtime->has & NTK_RUNTIME_HAS_TOTALS) != 0;
    struct ntk_count watched[NTK_OUTCOME_COUNT];
    int shown = 0;

    FACTS(pen, model, PROCESSES, ntk_top_cells_runtime_key(runtime), items);
    if (!(runtime->has & NTK_RUNTIME_HAS_EXECUTIONS)) {
        return;
    }
    ntk_snapshot_watched_outcome(runtime, watched);
    for (int o = 0; o < NTK_OUTCOME_COUNT; o++) {
        if (o != NTK_OUTCOME_COMPLETED) {
            draw_failure(pen, model->snapshot, has_total, "outcome", ntk_outcome_names[o],
                         watched[o], &shown);
        }
    }
    for (int c = 0; c < NTK_ERROR_CLASS_COUNT; c++) {
        draw_failure(pen, model->snapshot, has_total, "error", ntk_error_class_names[c],
                     runtime->error_class[c], &shown);
    }
    if (shown == 0) {
        say(pen, NTK_STYLE_DIM,
            has_total ? "no failed executions since it started" : "no recent failed executions");
    }
}

static void draw_model_executions(struct pen *pen, struct ntk_top_model *model,
                                  const struct ntk_top_page_of *of)
{
    static const struct item items[] = {
        { .id = NTK_TOP_MODELS_RATE },       { .id = NTK_TOP_MODELS_EXECUTIONS },
        { .id = NTK_TOP_MODELS_ERROR_RATE }, { .id = NTK_TOP_MODELS_ERRORS },
        { .id = NTK_TOP_MODELS_QUEUE },      { .id = NTK_TOP_MODELS_FLOPS },
        { .id = NTK_TOP_MODELS_PEAK },       { .id = NTK_TOP_MODELS_P50 },
        { .id = NTK_TOP_MODELS_P99 },        { .id = NTK_TOP_MODELS_MAX },
        { .id = NTK_TOP_MODELS_DEVICE_P50 }, { .id = NTK_TOP_MODELS_DEVICE_P99 },
    };

    FACTS(pen, model, MODELS, ntk_top_cells_model_key(of->runtime, of->model), items);
}

/* Draws executions per second of the application's cores in the last minute; the sum of the known
 * values. */
static void draw_minute(struct pen *pen, struct ntk_top_model *model,
                        const struct ntk_top_page_of *of)
{
    struct ntk_top_graph graph = { .column = pen->column + 1 + LABEL_CELLS,
                                   .rows = SPARK_ROWS,
                                   .columns = pen->width - 1 - LABEL_CELLS,
                                   .style = NTK_STYLE_BAR_USER };
    size_t count = ntk_top_graph_count(pen->screen, graph.columns);
    float *sums = calloc(2 * count + 2, sizeof *sums);
    float *one = sums ? sums + count + 1 : NULL;
    uint32_t cores[NTK_TOP_GRAPHS_CORES_MAX];
    size_t core_count = ntk_snapshot_logical_list(of->runtime->cores, of->runtime->core_count,
                                                  model->lnc, cores, NTK_TOP_GRAPHS_CORES_MAX);
    int bottom = pen->line + SPARK_ROWS - 1;
    float most = -1; /* nothing is known */

    model->past_ns = SPARK_NS;
    for (size_t i = 0; sums && i < count; i++) {
        sums[i] = NAN;
    }
    core_count = core_count < NTK_TOP_GRAPHS_CORES_MAX ? core_count : NTK_TOP_GRAPHS_CORES_MAX;
    for (size_t c = 0; sums && c < core_count; c++) {
        if (cores[c] >= model->graphs.core_count ||
            ntk_top_model_graphs_read_span(model, NTK_TOP_QUANTITY_EXECUTIONS, cores[c], SPARK_NS,
                                           count, one) < 0) {
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            sums[i] = isnan(one[i]) ? sums[i] : isnan(sums[i]) ? one[i] : sums[i] + one[i];
            most = isnan(sums[i]) || sums[i] < most ? most : sums[i];
        }
    }
    if (most < 0) {
        free(sums);
        say(pen, NTK_STYLE_DIM, "-");
        return;
    }
    graph.row = row_of(pen, pen->line);
    graph.max = ntk_top_graph_round_up(most > 0 ? (double)most : 1, false);
    /* A graph is drawn only if it is completely visible. */
    if (graph.columns > 0 && graph.row >= 0 && row_of(pen, bottom) >= 0) {
        ntk_screen_format(pen->screen, graph.row, pen->column + 1, LABEL_CELLS - 1, NTK_STYLE_DIM,
                          "%g/s", graph.max);
        ntk_screen_put(pen->screen, row_of(pen, bottom), pen->column + 1, LABEL_CELLS - 1,
                       NTK_STYLE_DIM, "0/s");
        ntk_top_graph_draw(pen->screen, &graph, sums);
    }
    pen->line = bottom + 1;
    free(sums);
}

/* Draws counts of the last period in intervals of equal ratio between the shortest and the
 * longest. */
static void draw_histogram(struct pen *pen, struct ntk_top_model *model,
                           const struct ntk_top_page_of *of)
{
    static const struct ntk_top_column duration = { .format = NTK_TOP_AS_DURATION };
    const struct ntk_histogram *histogram = &of->model->total_latency;
    uint64_t counts[BINS] = { 0 };
    uint64_t most = 0;
    double low;
    double ratio;
    int bins;

    (void)model;
    if (histogram->entry_count == 0) {
        say(pen, NTK_STYLE_DIM, "-");
        return;
    }
    low = ntk_histogram_bucket_middle(histogram->entries[0].bucket);
    low = low > 0 ? low : 1;
    ratio =
        ntk_histogram_bucket_middle(histogram->entries[histogram->entry_count - 1].bucket) / low;
    bins = ratio > 1 ? BINS : 1;
    for (size_t i = 0; i < histogram->entry_count; i++) {
        double at = ntk_histogram_bucket_middle(histogram->entries[i].bucket) / low;
        int bin = bins > 1 && at > 1 ? (int)(log(at) / log(ratio) * bins) : 0;

        bin = bin < bins ? bin : bins - 1;
        counts[bin] += histogram->entries[i].count;
        most = counts[bin] > most ? counts[bin] : most;
    }
    for (int b = 0; b < bins; b++) {
        struct ntk_top_cell edge = { .present = true, .value = low * pow(ratio, (double)b / bins) };
        char buf[NTK_TOP_CELL_BYTES];
        int row = row_of(pen, pen->line++);
        int room = pen->width - 2 * LABEL_CELLS;
        int cells = most > 0 ? (int)ceil((double)counts[b] / (double)most * room) : 0;

        ntk_screen_put_right(pen->screen, row, pen->column + 1, LABEL_CELLS - 2, NTK_STYLE_DIM,
                             ntk_top_table_cell_text(&duration, &edge, buf));
        ntk_screen_fill(pen->screen, row, pen->column + LABEL_CELLS, cells, NTK_STYLE_BAR_USER,
                        '|');
        ntk_screen_format(pen->screen, row, pen->column + LABEL_CELLS + room + 1, LABEL_CELLS - 1,
                          NTK_STYLE_VALUE, "%llu", (unsigned long long)counts[b]);
    }
}

/* ---- memory ---- */

struct usage {
    uint64_t now[2]; /* by enum ntk_memory_location */
    uint64_t peak[2];
    bool is_used;
    bool is_estimated;     /* for the device */
    bool is_unreported[2]; /* nothing is reported, which is incomplete */
};

static void add_usage(struct usage *usage, const struct ntk_memory_sample *row)
{
    int side = row->location == NTK_MEMORY_HOST ? NTK_MEMORY_HOST : NTK_MEMORY_DEVICE;

    usage->now[side] += row->current_bytes;
    usage->peak[side] += row->peak_bytes;
    usage->is_used = usage->is_used || row->current_bytes > 0 || row->peak_bytes > 0;
}

/* Draws a row; if now is NULL, the titles. A peak below the current value was not reported. */
static void draw_usage(struct pen *pen, const char *name, const struct usage *now,
                       const struct usage *peak)
{
    static const char *const titles[] = { "DEVICE", "PEAK", "HOST", "PEAK" };
    static const int sides[] = { NTK_MEMORY_DEVICE, NTK_MEMORY_HOST };
    int row = row_of(pen, pen->line++);
    int column = pen->column + pen->width - 4 * BYTES_CELLS;
    int style = now ? NTK_STYLE_NORMAL : NTK_STYLE_DIM;

    column = column < pen->column + 1 ? pen->column + 1 : column;
    if (column > pen->column + 1) {
        ntk_screen_put(pen->screen, row, pen->column + 1, column - pen->column - 1, style, name);
    }
    for (int i = 0; i < 4; i++) {
        struct ntk_top_bytes bytes = { 0 };
        char buf[NTK_TOP_FORMAT_BYTES];

        if (now) {
            int side = sides[i / 2];

            bytes.value = i % 2 == 0 ? now->now[side] : peak->peak[side];
            bytes.present =
                !now->is_unreported[side] && (i % 2 == 0 || bytes.value >= now->now[side]);
            bytes.estimated = side == NTK_MEMORY_DEVICE && now->is_estimated;
        }
        ntk_screen_put_right(pen->screen, row, column + i * BYTES_CELLS, BYTES_CELLS - 1, style,
                             now ? ntk_top_format_bytes(buf, bytes) : titles[i]);
    }
}

/* Draws memory: for a model its rows; for an application the peaks of sums, if they are
 * reported. */
static void draw_memory(struct pen *pen, struct ntk_top_model *model,
                        const struct ntk_top_page_of *of)
{
    const struct ntk_runtime_sample *runtime = of->runtime;
    struct usage now[NTK_TOP_GROUP_COUNT + 1] = { 0 };
    struct usage peak[NTK_TOP_GROUP_COUNT + 1] = { 0 };
    struct ntk_memory_total total[2]; /* by enum ntk_memory_location */

    bool is_estimated =
        ntk_snapshot_memory_is_estimated(runtime, of->model ? of->model->id : NTK_MEMORY_ANY);

    (void)model;
    if (!(runtime->has & NTK_RUNTIME_HAS_MEMORY)) {
        say(pen, NTK_STYLE_DIM, "-");
        return;
    }
    for (int pass = 0; pass < 2; pass++) {
        bool is_summed = pass == 1 && !of->model;
        const struct ntk_memory_sample *rows =
            is_summed ? runtime->memory_by_category : runtime->memory;
        size_t count = is_summed ? runtime->memory_by_category_count : runtime->memory_count;

        for (size_t i = 0; i < count; i++) {
            enum ntk_top_group group;

            if (rows[i].category >= NTK_MEMORY_CATEGORY_COUNT ||
                (of->model && rows[i].model_id != of->model->id)) {
                continue;
            }
            group = ntk_top_model_group_of(
                ntk_memory_group_of((enum ntk_memory_category)rows[i].category));
            if (rows[i].category == NTK_MEMORY_UNCATEGORIZED && is_estimated) {
                now[NTK_TOP_GROUP_COUNT].is_estimated = true; /* its purpose is unknown */
            } else {
                add_usage(pass == 0 ? &now[group] : &peak[group], &rows[i]);
            }
            add_usage(pass == 0 ? &now[NTK_TOP_GROUP_COUNT] : &peak[NTK_TOP_GROUP_COUNT], &rows[i]);
        }
    }
    ntk_snapshot_memory_total(runtime, NTK_MEMORY_ANY, of->model ? of->model->id : NTK_MEMORY_ANY,
                              &total[NTK_MEMORY_HOST], &total[NTK_MEMORY_DEVICE]);
    for (int side = 0; side < 2; side++) {
        now[NTK_TOP_GROUP_COUNT].is_unreported[side] = !total[side].known;
    }
    draw_usage(pen, "", NULL, NULL);
    for (int g = 0; g <= NTK_TOP_GROUP_COUNT; g++) {
        bool is_sum = g == NTK_TOP_GROUP_COUNT;

        if (is_sum) {
            /* The parts need not have had their peaks at the same time. */
            memset(peak[g].peak, 0, sizeof peak[g].peak);
        }
        if (is_sum || now[g].is_used || peak[g].is_used) {
            draw_usage(pen, is_sum ? "in total" : ntk_top_model_group_name((enum ntk_top_group)g),
                       &now[g], &peak[g]);
        }
    }
}

static void draw_models(struct pen *pen, struct ntk_top_model *model,
                        const struct ntk_top_page_of *of)
{
    static const struct item items[] = {
        { NTK_TOP_MODELS_RATE, 8, false }, { NTK_TOP_MODELS_P50, 7, false },
        { NTK_TOP_MODELS_P99, 7, false },  { NTK_TOP_MODELS_HBM, 8, false },
        { NTK_TOP_MODELS_CORES, 5, true }, { NTK_TOP_MODELS_NAME, 24, true },
    };

    draw_list(pen, &model->tables[NTK_TOP_VIEW_MODELS], of->tab, items,
              sizeof items / sizeof *items, (int)of->runtime->model_count, "no model is loaded");
}

static void draw_events(struct pen *pen, struct ntk_top_model *model,
                        const struct ntk_top_page_of *of)
{
    static const struct item items[] = {
        { NTK_TOP_EVENTS_TIME, 12, true }, { NTK_TOP_EVENTS_KIND, 8, true },
        { NTK_TOP_EVENTS_CORE, 8, true },  { NTK_TOP_EVENTS_BYTES, 8, false },
        { NTK_TOP_EVENTS_WHAT, 22, true }, { NTK_TOP_EVENTS_NAME, 24, true },
    };

    draw_list(pen, &model->tables[NTK_TOP_VIEW_EVENTS], of->tab, items,
              sizeof items / sizeof *items, EVENTS_SHOWN,
              model->events_note[0] ? model->events_note : "no events recorded");
}

enum flow {
    FLOW_LEFT,
    FLOW_RIGHT,
    FLOW_ACROSS, /* below both */
};

#define OF_APPLICATION 1u
#define OF_MODEL 2u

static const struct {
    const char *title;
    unsigned pages;
    enum flow flow;
    void (*draw)(struct pen *pen, struct ntk_top_model *model, const struct ntk_top_page_of *of);
} sections[] = {
    { NULL, OF_MODEL, FLOW_LEFT, draw_model },
    { "Process", OF_MODEL, FLOW_LEFT, draw_application },
    { NULL, OF_APPLICATION, FLOW_LEFT, draw_application },
    { "Cores", OF_APPLICATION | OF_MODEL, FLOW_LEFT, draw_cores },
    { "Executions", OF_APPLICATION, FLOW_RIGHT, draw_executions },
    { "Executions", OF_MODEL, FLOW_RIGHT, draw_model_executions },
    { "Executions in the last minute", OF_APPLICATION, FLOW_RIGHT, draw_minute },
    { "Latency of recent executions", OF_MODEL, FLOW_RIGHT, draw_histogram },
    { "Memory", OF_APPLICATION | OF_MODEL, FLOW_RIGHT, draw_memory },
    { "Models", OF_APPLICATION, FLOW_ACROSS, draw_models },
    { "Last events", OF_APPLICATION, FLOW_ACROSS, draw_events },
};

/* Draws the sections; returns the number of lines of the page. */
static int draw_sections(struct pen *pen, struct ntk_top_model *model,
                         const struct ntk_top_page_of *of)
{
    int width = pen->screen->columns;
    int half = width / 2;
    bool is_wide = width >= WIDE_COLUMNS;
    int lines[2] = { pen->line, pen->line };

    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        enum flow flow = is_wide ? sections[i].flow : FLOW_ACROSS;
        int deepest = lines[0] > lines[1] ? lines[0] : lines[1];

        if (!(sections[i].pages & (model->page.is_of_model ? OF_MODEL : OF_APPLICATION))) {
            continue;
        }
        pen->column = flow == FLOW_RIGHT ? half + 1 : 0;
        pen->width = flow == FLOW_ACROSS ? width : flow == FLOW_LEFT ? half : width - half - 1;
        pen->line = flow == FLOW_ACROSS ? deepest : lines[flow];
        if (sections[i].title) {
            heading(pen, sections[i].title);
        }
        sections[i].draw(pen, model, of);
        if (flow == FLOW_ACROSS) {
            lines[0] = lines[1] = pen->line;
        } else {
            lines[flow] = pen->line;
        }
    }
    return lines[0] > lines[1] ? lines[0] : lines[1];
}

void ntk_top_view_page(struct ntk_top_model *model, struct ntk_screen *screen, int row, int rows)
{
    struct ntk_top_page *page = &model->page;
    struct ntk_top_page_of of = ntk_top_model_page_find(model);
    struct pen pen = { .screen = screen, .top = row, .rows = 1, .width = screen->columns };
    char text[NTK_TOP_TAB_TEXT_BYTES + 64];
    size_t last;
    int lines;

    (void)snprintf(text, sizeof text, "%s %s%s", page->is_of_model ? "Model" : "Application",
                   page->name, of.runtime && of.runtime->ended ? " (ended)" : "");
    if (rows <= 1 || !of.runtime || (page->is_of_model && !of.model)) {
        heading(&pen, text);
        pen.rows = rows > 1 ? rows : 1;
        say(&pen, NTK_STYLE_WARNING,
            page->is_of_model && of.runtime ? "no longer loaded; esc: back" : "exited; esc: back");
        return;
    }
    ntk_top_model_project_list(model, NTK_TOP_VIEW_PROCESSES);
    ntk_top_model_project_list(model, NTK_TOP_VIEW_MODELS);
    if (!page->is_of_model) {
        ntk_top_model_project_list(model, NTK_TOP_VIEW_EVENTS);
    }
    /* Without rows nothing is drawn, so this measures the page. */
    pen.rows = 0;
    lines = draw_sections(&pen, model, &of);
    page->rows = (size_t)(rows - 1);
    last = lines > rows - 1 ? (size_t)(lines - (rows - 1)) : 0;
    page->first = page->first < last ? page->first : last;
    pen = (struct pen){
        .screen = screen, .top = row + 1, .rows = rows - 1, .first = (int)page->first
    };
    (void)draw_sections(&pen, model, &of);
    pen = (struct pen){ .screen = screen, .top = row, .rows = 1, .width = screen->columns };
    heading(&pen, text);
    if (last > 0) {
        (void)snprintf(text, sizeof text, "%zu-%zu of %d ", page->first + 1,
                       page->first + page->rows, lines);
        ntk_screen_put_right(screen, row, 0, screen->columns, NTK_STYLE_HEADING, text);
    }
}
