/* SPDX-License-Identifier: MIT */
/* view_graphs - draws the history as graphs: all cores together at the top, a small graph for each
 * core below. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared/base/clock.h"
#include "top/base/format.h"
#include "top/base/graph.h"
#include "top/model/model_graphs.h"
#include "top/view/view.h"
#include "top/view/views.h"

#define GUTTER 9         /* cells of the scale at the left */
#define PANEL_ROWS_MIN 6 /* heading, four rows of the graph, axis */
#define PANEL_COLUMNS_GOOD 50
#define PANEL_GAP 1
#define TICK_CELLS 9 /* minimum number of cells between two times of an axis */
#define CELL_COLUMNS_MIN 20
#define CELL_ROWS_MAX 4
#define LONG_LABEL_COLUMNS 32 /* minimum number of cells for a label such as "ND15 NC1" */
#define NATURAL_ROWS 32

static const struct {
    const char *name;
    int style;
    bool is_heat;
} texts[NTK_TOP_QUANTITY_COUNT] = {
    [NTK_TOP_QUANTITY_BUSY] = { "Busy", 0, true },
    [NTK_TOP_QUANTITY_HBM] = { "HBM used", NTK_STYLE_SERIES + 1, false },
    [NTK_TOP_QUANTITY_EXECUTIONS] = { "Executions/s", NTK_STYLE_SERIES + 3, false },
    [NTK_TOP_QUANTITY_TERAFLOPS] = { "TFLOPS", NTK_STYLE_SERIES + 2, false },
};

struct area {
    int row;
    int column;
    int rows;
    int columns;
};

/* Formats a value in at most 7 cells: a label of a scale, or the number after a graph. */
static const char *format_value(char buf[NTK_TOP_FORMAT_BYTES], enum ntk_top_quantity quantity,
                                struct ntk_top_number number)
{
    double value = number.value;
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

    if (!number.present) {
        return "-";
    }
    switch (quantity) {
    case NTK_TOP_QUANTITY_BUSY:
        (void)snprintf(buf, NTK_TOP_FORMAT_BYTES, "%.*f%%", value < 99.95 ? 1 : 0, value);
        break;
    case NTK_TOP_QUANTITY_HBM:
        return ntk_top_format_bytes(buf, (struct ntk_top_bytes){ (uint64_t)value, true });
    case NTK_TOP_QUANTITY_EXECUTIONS:
        if (value >= 1e6) {
            (void)snprintf(buf, NTK_TOP_FORMAT_BYTES, "%.4gM", value / 1e6);
        } else {
            (void)snprintf(buf, NTK_TOP_FORMAT_BYTES, "%.*f", decimals, value);
        }
        break;
    default:
        if (value > 0 && value < 0.1) {
            value *= 1000;
            decimals = value < 0.0995 ? 4 : value < 9.995 ? 2 : 1;
            (void)snprintf(buf, NTK_TOP_FORMAT_BYTES, "%.*fGF", decimals, value);
        } else {
            (void)snprintf(buf, NTK_TOP_FORMAT_BYTES, "%.*fTF", decimals, value);
        }
        break;
    }
    return buf;
}

static float highest(const float *values, size_t count)
{
    float high = 0;

    for (size_t i = 0; i < count; i++) {
        high = values[i] > high ? values[i] : high;
    }
    return high;
}

/* Returns the value that fills a graph: the maximum for shares of time, else a round number above
 * all values. */
static double scale_of(enum ntk_top_quantity quantity, double high)
{
    return quantity == NTK_TOP_QUANTITY_BUSY
               ? 100
               : ntk_top_graph_round_up(high, quantity == NTK_TOP_QUANTITY_HBM);
}

/* ---- the graph of all cores ---- */

static void draw_heading(const struct ntk_top_model *model, struct ntk_screen *screen,
                         const struct area *area, enum ntk_top_quantity quantity,
                         const float *values, size_t count)
{
    bool is_chosen = (int)quantity == model->graphs.quantity;
    int style = is_chosen ? NTK_STYLE_HEADING : NTK_STYLE_TITLE;
    struct ntk_top_number now = ntk_top_model_graphs_now(model, quantity, NTK_TOP_GRAPHS_TOTAL);
    struct ntk_top_number limit = ntk_top_model_graphs_limit(model, quantity, NTK_TOP_GRAPHS_TOTAL);
    struct ntk_top_number low = { INFINITY, false };
    struct ntk_top_number high = { 0, false };
    char text[NTK_TOP_FORMAT_BYTES];
    char more[NTK_TOP_FORMAT_BYTES];
    char right[96];
    int end = area->column + area->columns;
    int column = area->column;

    for (size_t i = 0; i < count; i++) {
        if (!isnan(values[i])) {
            low = (struct ntk_top_number){ fmin(low.value, values[i]), true };
            high = (struct ntk_top_number){ fmax(high.value, values[i]), true };
        }
    }
    ntk_screen_fill(screen, area->row, column, area->columns, style, ' ');
    ntk_screen_spot_add(screen, area->row, column, area->columns, NTK_TOP_ACTION_QUANTITY,
                        (int)quantity - model->graphs.quantity);
    column += ntk_screen_format(
        screen, area->row, column, end - column, style, "%s%s %s", is_chosen ? ">" : " ",
        ntk_top_view_label(screen, texts[quantity].name), format_value(text, quantity, now));
    if (limit.present && limit.value > 0 && quantity != NTK_TOP_QUANTITY_BUSY) {
        column += ntk_screen_format(screen, area->row, column, end - column, style, " of %s",
                                    format_value(text, quantity, limit));
        if (now.present) {
            column += ntk_screen_format(screen, area->row, column, end - column, style, ", %.1f%%",
                                        100 * now.value / limit.value);
        }
    }
    if (quantity == NTK_TOP_QUANTITY_BUSY && now.present && ntk_top_view_has_software(model)) {
        column += ntk_screen_put(screen, area->row, column, end - column, style, " of host time");
    }
    (void)snprintf(right, sizeof right, "%s to %s ", format_value(text, quantity, low),
                   format_value(more, quantity, high));
    if (low.present && column + 2 + ntk_screen_width(screen, right) <= end) {
        ntk_screen_put_right(screen, area->row, column, end - column, style, right);
    }
}

static void draw_scale(struct ntk_screen *screen, const struct area *area,
                       enum ntk_top_quantity quantity, double max)
{
    for (int row = 0; row < area->rows; row++) {
        bool is_half = row > 0 && area->rows % 2 == 1 && row == area->rows / 2;
        char text[NTK_TOP_FORMAT_BYTES];
        double value = row == 0 ? max : is_half ? max / 2 : 0;
        bool has_label = row == 0 || is_half || row == area->rows - 1;

        if (has_label) {
            ntk_screen_put_right(
                screen, area->row + row, area->column, GUTTER - 1, NTK_STYLE_DIM,
                format_value(text, quantity, (struct ntk_top_number){ value, true }));
        }
        ntk_screen_put(screen, area->row + row, area->column + GUTTER - 1, 1, NTK_STYLE_DIM,
                       !screen->is_utf8 ? "|"
                       : has_label      ? "┤"
                                        : "│");
    }
}

/* Draws a line with the times in the past and the shown moment at its right end. */
static void draw_axis(struct ntk_screen *screen, int row, int column, int width, uint64_t span_ns,
                      const char *end)
{
    static const unsigned int steps_s[] = { 5,   10,   15,   30,   60,    120,   180,   300,  600,
                                            900, 1800, 3600, 7200, 10800, 14400, 21600, 43200 };
    size_t count = sizeof steps_s / sizeof *steps_s;
    uint64_t step_ns = span_ns;

    ntk_screen_put(screen, row, column + GUTTER - 1, 1, NTK_STYLE_DIM, screen->is_utf8 ? "└" : "+");
    column += GUTTER;
    width -= GUTTER;
    for (int i = 0; i < width; i++) {
        ntk_screen_put(screen, row, column + i, 1, NTK_STYLE_DIM, screen->is_utf8 ? "─" : "-");
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t try_ns = steps_s[i] * NTK_NS_PER_SECOND;

        if (try_ns < step_ns && try_ns * (uint64_t)width / span_ns >= TICK_CELLS) {
            step_ns = try_ns;
        }
    }
    for (uint64_t back_ns = step_ns; back_ns <= span_ns; back_ns += step_ns) {
        char text[NTK_TOP_FORMAT_BYTES];
        char label[NTK_TOP_FORMAT_BYTES + 2];
        int at = column + width - (int)(back_ns * (uint64_t)width / span_ns);

        (void)snprintf(label, sizeof label, "-%s", ntk_top_format_delay(text, back_ns));
        ntk_screen_put(screen, row, at, column + width - at, NTK_STYLE_DIM, label);
    }
    ntk_screen_put_right(screen, row, column, width, NTK_STYLE_DIM, end);
}

static void draw_panel(const struct ntk_top_model *model, struct ntk_screen *screen,
                       const struct area *area, enum ntk_top_quantity quantity)
{
    int width = area->columns - GUTTER;
    size_t count = ntk_top_graph_count(screen, width);
    float *values = calloc(count + 1, sizeof *values);
    struct ntk_top_graph graph = { .row = area->row + 1,
                                   .column = area->column + GUTTER,
                                   .rows = area->rows - 2,
                                   .columns = width,
                                   .is_heat = texts[quantity].is_heat,
                                   .style = texts[quantity].style };

    if (values &&
        ntk_top_model_graphs_read(model, quantity, NTK_TOP_GRAPHS_TOTAL, count, values) == 0) {
        graph.max = scale_of(quantity, highest(values, count));
        draw_heading(model, screen, area, quantity, values, count);
        draw_scale(screen, &(struct area){ graph.row, area->column, graph.rows, area->columns },
                   quantity, graph.max);
        ntk_top_graph_draw(screen, &graph, values);
        draw_axis(screen, area->row + area->rows - 1, area->column, area->columns,
                  ntk_top_model_graphs_span_ns(model), ntk_top_view_end(model));
    }
    free(values);
}

/* Draws as many of the quantities as fit, always including the chosen one. */
static void draw_panels(const struct ntk_top_model *model, struct ntk_screen *screen,
                        const struct area *area)
{
    int across = area->columns / PANEL_COLUMNS_GOOD;
    int down = area->rows / PANEL_ROWS_MIN;

    across = across >= 4 ? 4 : across >= 2 ? 2 : 1;
    down = down * across >= NTK_TOP_QUANTITY_COUNT ? NTK_TOP_QUANTITY_COUNT / across : 1;
    for (int i = 0; i < across * down; i++) {
        int left = area->columns * (i % across) / across;
        int right = area->columns * (i % across + 1) / across;
        int top = area->rows * (i / across) / down;
        int bottom = area->rows * (i / across + 1) / down;
        int quantity = across * down == NTK_TOP_QUANTITY_COUNT
                           ? i
                           : (model->graphs.quantity + i) % NTK_TOP_QUANTITY_COUNT;

        draw_panel(model, screen,
                   &(struct area){ area->row + top, area->column + left, bottom - top,
                                   right - left - (i % across + 1 < across ? PANEL_GAP : 0) },
                   (enum ntk_top_quantity)quantity);
    }
}

/* ---- the graphs of the cores ---- */

struct grid {
    size_t count; /* number of cores */
    int across;
    int lines; /* number of lines of cells */
    int cell_rows;
};

/* The fewest cells per line with which all cores fit, preferably with two rows each. */
/* Returns true if lines end at the end of a device: a line has whole devices, or an even part of
 * one. */
static bool is_even(size_t count, int across, int cores_per_device)
{
    return across % cores_per_device == 0 || cores_per_device % across == 0 ||
           (size_t)across >= count;
}

static struct grid layout_grid(size_t count, int rows, int columns, int cores_per_device)
{
    struct grid grid = { .count = count };
    int across_max = columns / CELL_COLUMNS_MIN > 0 ? columns / CELL_COLUMNS_MIN : 1;

    for (int want = 2; want >= 1; want--) {
        for (grid.across = 1; grid.across <= across_max; grid.across++) {
            if (!is_even(count, grid.across, cores_per_device)) {
                continue;
            }
            grid.lines = ((int)count + grid.across - 1) / grid.across;
            grid.cell_rows = grid.lines > 0 ? rows / grid.lines : rows;
            if (grid.cell_rows >= want) {
                grid.cell_rows = grid.cell_rows > CELL_ROWS_MAX ? CELL_ROWS_MAX : grid.cell_rows;
                return grid;
            }
        }
    }
    grid.across = across_max;
    while (!is_even(count, grid.across, cores_per_device)) {
        grid.across--;
    }
    grid.lines = ((int)count + grid.across - 1) / grid.across;
    grid.cell_rows = 1;
    return grid;
}

static void draw_cell(const struct ntk_top_model *model, struct ntk_screen *screen,
                      const struct area *area, uint32_t core, double max, const float *values)
{
    enum ntk_top_quantity quantity = (enum ntk_top_quantity)model->graphs.quantity;
    struct ntk_top_number now = ntk_top_model_graphs_now(model, quantity, core);
    uint32_t device = core / model->cores_per_device;
    uint32_t local = core % model->cores_per_device;
    bool is_long = area->columns >= LONG_LABEL_COLUMNS;
    int label = is_long ? 9 : 5;
    int label_style = NTK_STYLE_NORMAL;
    int mark_style;
    const char *mark;
    struct ntk_top_graph graph = { .row = area->row,
                                   .column = area->column + label,
                                   .rows = area->rows,
                                   .columns = area->columns - label - 8,
                                   .max = max,
                                   .is_heat = texts[quantity].is_heat,
                                   .style = texts[quantity].style };
    char text[NTK_TOP_FORMAT_BYTES];

    mark = ntk_top_view_core_mark(model->cores[core].state, false, &mark_style);
    label_style = mark[0] ? mark_style : label_style;
    ntk_screen_format(screen, area->row, area->column, label, label_style,
                      is_long ? "ND%u NC%u" : "%u.%u", (unsigned int)device, (unsigned int)local);
    ntk_top_graph_draw(screen, &graph, values);
    ntk_screen_put_right(screen, area->row, area->column + area->columns - 8, 7,
                         label_style != NTK_STYLE_NORMAL ? label_style
                         : now.present                   ? NTK_STYLE_VALUE
                                                         : NTK_STYLE_DIM,
                         mark[0] ? mark : format_value(text, quantity, now));
}

static int graph_columns(const struct grid *grid, int columns)
{
    int cell = columns / grid->across;

    return cell - (cell >= LONG_LABEL_COLUMNS ? 9 : 5) - 8;
}

static void draw_grid(struct ntk_top_model *model, struct ntk_screen *screen,
                      const struct area *area, const uint32_t *cores, const struct grid *grid)
{
    enum ntk_top_quantity quantity = (enum ntk_top_quantity)model->graphs.quantity;
    int cell_columns = area->columns / grid->across;
    size_t values_count = ntk_top_graph_count(screen, graph_columns(grid, area->columns));
    float *values = calloc(grid->count * values_count + 1, sizeof *values);
    size_t page = (size_t)((area->rows - 1) / grid->cell_rows);
    size_t last = (size_t)grid->lines > page ? (size_t)grid->lines - page : 0;
    size_t first_core;
    size_t end_core;
    char span[NTK_TOP_FORMAT_BYTES];
    char top[NTK_TOP_FORMAT_BYTES];
    char place[64];
    double max;

    model->graphs.page = page;
    model->graphs.first = model->graphs.first < last ? model->graphs.first : last;
    first_core = model->graphs.first * (size_t)grid->across;
    end_core = first_core + page * (size_t)grid->across;
    end_core = end_core < grid->count ? end_core : grid->count;
    if (!values) {
        return;
    }
    for (size_t i = 0; i < grid->count; i++) {
        (void)ntk_top_model_graphs_read(model, quantity, cores[i], values_count,
                                        values + i * values_count);
    }
    max = scale_of(quantity, highest(values, grid->count * values_count));
    ntk_screen_fill(screen, area->row, area->column, area->columns, NTK_STYLE_HEADING, ' ');
    ntk_screen_format(screen, area->row, area->column, area->columns, NTK_STYLE_HEADING,
                      " %s of each core%s, the last %s (z/Z), 0 to %s",
                      ntk_top_view_label(screen, texts[quantity].name),
                      cell_columns < LONG_LABEL_COLUMNS ? " (device.core)" : "",
                      ntk_top_format_delay(span, ntk_top_model_graphs_span_ns(model)),
                      format_value(top, quantity, (struct ntk_top_number){ max, true }));
    if (last > 0) {
        (void)snprintf(place, sizeof place, "%zu-%zu of %zu ", first_core + 1, end_core,
                       grid->count);
        ntk_screen_put_right(screen, area->row, area->column, area->columns, NTK_STYLE_HEADING,
                             place);
    }
    for (size_t i = first_core; i < end_core; i++) {
        int line = (int)((i - first_core) / (size_t)grid->across);
        int across = (int)((i - first_core) % (size_t)grid->across);

        draw_cell(model, screen,
                  &(struct area){ area->row + 1 + line * grid->cell_rows,
                                  area->column + across * cell_columns, grid->cell_rows,
                                  cell_columns },
                  cores[i], max, values + i * values_count);
    }
    free(values);
}

static void draw(struct ntk_top_model *model, struct ntk_screen *screen, int row, int rows)
{
    uint32_t cores[NTK_TOP_GRAPHS_CORES_MAX];
    size_t count = model->snapshot ? ntk_top_model_graphs_cores(model, cores) : 0;
    struct area panels = { row, 0, rows, screen->columns };
    struct area cells = { row + rows, 0, 0, screen->columns };
    struct grid grid = { 0 };
    int above = rows * 2 / 5;

    above = above < PANEL_ROWS_MIN ? PANEL_ROWS_MIN : above;
    if (count > 0 && rows - above >= 2) {
        grid = layout_grid(count, rows - above - 1, screen->columns, (int)model->cores_per_device);
        cells.rows = 1 + grid.lines * grid.cell_rows;
        cells.rows = cells.rows < rows - above ? cells.rows : rows - above;
        cells.row = row + rows - cells.rows;
        panels.rows = rows - cells.rows;
    }
    if (panels.rows < 3) {
        return; /* heading, graph, axis */
    }
    draw_panels(model, screen, &panels);
    if (cells.rows > 0) {
        draw_grid(model, screen, &cells, cores, &grid);
    }
}

/* Returns the preferred number of rows without a terminal. */
static int natural_rows(const struct ntk_top_model *model, int rows, int columns)
{
    uint32_t cores[NTK_TOP_GRAPHS_CORES_MAX];
    size_t count = model->snapshot ? ntk_top_model_graphs_cores(model, cores) : 0;
    int across = columns / CELL_COLUMNS_MIN > 0 ? columns / CELL_COLUMNS_MIN : 1;
    int lines = ((int)count + across - 1) / across;
    int wanted = NATURAL_ROWS + (lines > NATURAL_ROWS / 2 ? 2 * lines - NATURAL_ROWS : 0);

    return wanted < rows ? wanted : rows;
}

const struct ntk_top_view ntk_top_view_graphs = {
    .observe = ntk_top_model_graphs_observe,
    .project = ntk_top_model_graphs_project,
    .act = ntk_top_model_graphs_act,
    .head_rows = natural_rows,
    .draw = draw,
};
