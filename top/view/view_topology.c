/* SPDX-License-Identifier: MIT */
/* view_topology - draws a map of the devices and their links; colours and numbers show the load of
 * each. */
#include <stdio.h>

#include "top/base/format.h"
#include "top/base/graph.h"
#include "top/model/model_alerts.h"
#include "top/model/model_topology.h"
#include "top/view/view.h"
#include "top/view/views.h"

#define CELL_COLUMNS_MIN 9 /* such as "ND15 71%" */
#define CELL_COLUMNS_MAX 44
#define CELL_ROWS_MAX 9
#define LINK_COLUMNS 3 /* 1 if there is little space */
#define NATURAL_ROWS 16

static const char *const heat_names[NTK_TOP_HEAT_COUNT] = {
    [NTK_TOP_HEAT_BUSY] = "Busy",
    [NTK_TOP_HEAT_HBM] = "HBM used",
    [NTK_TOP_HEAT_POWER] = "Power in the last minute",
};

static const char *const shape_names[] = {
    [NTK_TOPOLOGY_NONE] = "",
    [NTK_TOPOLOGY_CHAIN] = ", a chain",
    [NTK_TOPOLOGY_RING] = ", a ring: the last is linked to the first",
    [NTK_TOPOLOGY_TORUS] = ", a torus: edges wrap around",
    [NTK_TOPOLOGY_SWITCH] = ", all linked through a switch",
    [NTK_TOPOLOGY_OTHER] = ", links unknown",
};

struct map {
    enum ntk_topology shape;
    uint32_t count;
    int across; /* cells per line */
    int lines;
    int first_row;
    int first_column;
    int cell_rows;
    int cell_columns;
    int link_columns;
    int link_rows; /* rows between two lines, 0 on a small screen */
};

static bool is_snake(const struct map *map)
{
    return map->shape == NTK_TOPOLOGY_CHAIN || map->shape == NTK_TOPOLOGY_RING;
}

static struct map lay_out(const struct ntk_top_model *model, int row, int rows, int columns)
{
    struct map map = { .shape = ntk_top_model_topology_shape(model),
                       .count = model->device_count,
                       .first_row = row,
                       .link_rows = 1 };
    int room;
    int margins; /* at the top and bottom, for links that leave a torus */

    map.across = map.shape == NTK_TOPOLOGY_TORUS || map.count % NTK_TOPOLOGY_SIDE == 0
                     ? (int)NTK_TOPOLOGY_SIDE
                     : (int)map.count;
    map.link_columns =
        map.across * (CELL_COLUMNS_MIN + LINK_COLUMNS) - LINK_COLUMNS <= columns ? LINK_COLUMNS : 1;
    room = (columns + map.link_columns) / (CELL_COLUMNS_MIN + map.link_columns);
    map.across = map.across > room ? room : map.across;
    map.across = map.across < 1 ? 1 : map.across;
    map.lines = ((int)map.count + map.across - 1) / map.across;
    margins = map.shape == NTK_TOPOLOGY_TORUS ? 2 : 0;
    if (2 * map.lines - 1 + margins > rows) {
        map.link_rows = 0;
        margins = 0;
    }
    map.cell_rows =
        map.lines > 0 ? (rows - margins - (map.lines - 1) * map.link_rows) / map.lines : 1;
    map.cell_rows = map.cell_rows > CELL_ROWS_MAX ? CELL_ROWS_MAX
                    : map.cell_rows < 1           ? 1
                                                  : map.cell_rows;
    map.cell_columns =
        (columns + map.link_columns) / (map.across + (margins > 0)) - map.link_columns;
    map.cell_columns = map.cell_columns > CELL_COLUMNS_MAX   ? CELL_COLUMNS_MAX
                       : map.cell_columns < CELL_COLUMNS_MIN ? CELL_COLUMNS_MIN
                                                             : map.cell_columns;
    map.first_row += margins / 2;
    map.first_column =
        (columns - map.across * (map.cell_columns + map.link_columns) + map.link_columns) / 2;
    map.first_column = map.first_column < 0 ? 0 : map.first_column;
    return map;
}

/* Finds the position of a device's cell. Chains turn at the end of a line. */
static void find_cell(const struct map *map, uint32_t device, int *out_row, int *out_column)
{
    int line = (int)device / map->across;
    int place = (int)device % map->across;

    if (is_snake(map) && line % 2 == 1) {
        place = map->across - 1 - place;
    }
    *out_row = map->first_row + line * (map->cell_rows + map->link_rows);
    *out_column = map->first_column + place * (map->cell_columns + map->link_columns);
}

static void draw_across(struct ntk_screen *screen, const struct map *map, int row, int column)
{
    ntk_screen_put(screen, row, column, map->link_columns, NTK_STYLE_DIM,
                   screen->is_utf8 ? "───" : "---");
}

static void draw_down(struct ntk_screen *screen, int row, int column)
{
    ntk_screen_put(screen, row, column, 1, NTK_STYLE_DIM, screen->is_utf8 ? "│" : "|");
}

/* Draws the links of a device to the right and down, from its shape; links of a torus also leave at
 * the edges. */
static void draw_links(struct ntk_screen *screen, const struct map *map, uint32_t device)
{
    bool is_torus = map->shape == NTK_TOPOLOGY_TORUS && map->across == (int)NTK_TOPOLOGY_SIDE;
    int row;
    int column;
    int next_row;
    int next_column;
    int middle;

    find_cell(map, device, &row, &column);
    middle = column + map->cell_columns / 2;
    if (is_torus) {
        uint32_t line = device / NTK_TOPOLOGY_SIDE % NTK_TOPOLOGY_SIDE;

        draw_across(screen, map, row, column + map->cell_columns);
        if (device % NTK_TOPOLOGY_SIDE == 0 && column >= map->link_columns) {
            draw_across(screen, map, row, column - map->link_columns);
        }
        if (map->link_rows > 0) {
            draw_down(screen, row + map->cell_rows, middle);
            if (line == 0) {
                draw_down(screen, row - 1, middle);
            }
        }
    } else if (is_snake(map) && device + 1 < map->count) {
        find_cell(map, device + 1, &next_row, &next_column);
        if (next_row == row) {
            draw_across(screen, map, row,
                        (next_column < column ? next_column : column) + map->cell_columns);
        } else if (map->link_rows > 0) {
            draw_down(screen, row + map->cell_rows, middle);
        }
    }
}

static int style_of(struct ntk_top_number percent)
{
    return percent.present ? ntk_top_graph_heat(percent.value / 100) | NTK_STYLE_REVERSED
                           : NTK_STYLE_DIM;
}

/* Draws one row with the cores, each in its colour, with its tenths as a digit, # for all of the
 * time. */
static void draw_cores(const struct ntk_top_model *model, struct ntk_screen *screen, int row,
                       int column, int width, uint32_t device, bool with_digits)
{
    uint32_t count = model->cores_per_device;

    for (uint32_t c = 0; c < count; c++) {
        const struct ntk_top_core *core = &model->cores[device * count + c];
        struct ntk_top_number busy = core->busy_percent;
        int from = width * (int)c / (int)count;
        int to = width * (int)(c + 1) / (int)count;
        int tenths = busy.value > 0 ? (int)(busy.value / 10) : 0;
        int style = style_of(busy);
        int mark_style;
        const char *mark = ntk_top_view_core_mark(core->state, true, &mark_style);
        char digit[2] = { !busy.present ? '-' : tenths > 9 ? '#' : (char)('0' + tenths), '\0' };

        style = mark[0] ? mark_style | NTK_STYLE_REVERSED : style;
        ntk_screen_fill(screen, row, column + from, to - from, style, ' ');
        if (with_digits) {
            ntk_screen_put(screen, row, column + (from + to - 1) / 2, 1, style,
                           mark[0] ? mark : digit);
        }
    }
}

static void draw_device(const struct ntk_top_model *model, struct ntk_screen *screen,
                        const struct map *map, uint32_t device)
{
    enum ntk_top_heat heat = (enum ntk_top_heat)model->heat;
    struct ntk_top_number percent = ntk_top_model_topology_heat(model, heat, device);
    int style = style_of(percent);
    int is_wide = map->cell_columns > CELL_COLUMNS_MIN + 3;
    char text[NTK_TOP_FORMAT_BYTES] = "-";
    int row;
    int column;

    find_cell(map, device, &row, &column);
    for (int i = 0; i < map->cell_rows; i++) {
        ntk_screen_fill(screen, row + i, column, map->cell_columns, style, ' ');
    }
    for (int i = 1; heat == NTK_TOP_HEAT_BUSY && i < map->cell_rows; i++) {
        draw_cores(model, screen, row + i, column, map->cell_columns, device, i == 1);
    }
    if (percent.present) {
        (void)snprintf(text, sizeof text, "%.*f%%", is_wide, percent.value);
    }
    ntk_screen_format(screen, row, column + is_wide, map->cell_columns - is_wide, style, "ND%u%s",
                      (unsigned int)device, ntk_top_model_alerts_mark(model, device));
    ntk_screen_put_right(screen, row, column + 4, map->cell_columns - 4 - is_wide, style, text);
}

static void draw_heading(const struct ntk_top_model *model, struct ntk_screen *screen, int row,
                         enum ntk_topology shape)
{
    int column = screen->columns - NTK_STYLE_HEAT_LEVELS * 2 - 6;
    const struct ntk_top_tab *tab = ntk_top_model_tab_get(model);
    bool is_busy = model->heat == NTK_TOP_HEAT_BUSY;
    char of[64] = "of each device";
    char text[192];

    if (!tab->is_all && is_busy) {
        (void)snprintf(of, sizeof of, "of %.20s on each device", tab->tag);
    } else if (!tab->is_all && model->heat == NTK_TOP_HEAT_HBM) {
        (void)snprintf(of, sizeof of, "of each device by all applications");
    }
    (void)snprintf(
        text, sizeof text, " %s%s %s%s", ntk_top_view_label(screen, heat_names[model->heat]),
        is_busy && ntk_top_view_has_software(model) ? " (host time)" : "", of, shape_names[shape]);
    ntk_top_view_heading(screen, row, text);
    if (column < ntk_screen_width(screen, text) + 4 || !screen->has_colour) {
        return;
    }
    ntk_screen_put(screen, row, column - 3, 3, NTK_STYLE_HEADING, "0% ");
    for (int i = 0; i < NTK_STYLE_HEAT_LEVELS; i++) {
        ntk_screen_fill(screen, row, column + 2 * i, 2, (NTK_STYLE_HEAT + i) | NTK_STYLE_REVERSED,
                        ' ');
    }
    ntk_screen_put(screen, row, column + 2 * NTK_STYLE_HEAT_LEVELS, 6, NTK_STYLE_HEADING, " 100%");
}

static void draw(struct ntk_top_model *model, struct ntk_screen *screen, int row, int rows)
{
    struct map map;

    if (rows < 2) {
        return;
    }
    map = lay_out(model, row + 1, rows - 1, screen->columns);
    draw_heading(model, screen, row, map.shape);
    if (map.count == 0) {
        ntk_screen_put(screen, row + 1, 1, screen->columns, NTK_STYLE_DIM, "no devices");
    }
    for (uint32_t d = 0; d < map.count; d++) {
        int cell_row;
        int cell_column;

        find_cell(&map, d, &cell_row, &cell_column);
        if (cell_row + map.cell_rows > row + rows) {
            ntk_screen_fill(screen, row + rows - 1, 0, screen->columns, NTK_STYLE_NORMAL, ' ');
            ntk_screen_format(screen, row + rows - 1, 0, screen->columns, NTK_STYLE_WARNING,
                              "no room for ND%u to ND%u", (unsigned int)d,
                              (unsigned int)(map.count - 1));
            break;
        }
        draw_device(model, screen, &map, d);
        if (cell_row + map.cell_rows < row + rows) {
            draw_links(screen, &map, d);
        }
    }
}

static int natural_rows(const struct ntk_top_model *model, int rows, int columns)
{
    (void)model;
    (void)columns;
    return NATURAL_ROWS < rows ? NATURAL_ROWS : rows;
}

const struct ntk_top_view ntk_top_view_topology = {
    .act = ntk_top_model_topology_act,
    .head_rows = natural_rows,
    .draw = draw,
};
