/* SPDX-License-Identifier: MIT */
/*
 * view_overview - draws the machine in one line, then a row per device: its cores, memory and
 * power.
 *
 * A core is a bar if there is space, else a percentage, else one cell with a height by utilization.
 * If devices would leave too few rows to the processes, several devices are drawn in one line.
 */
#include "top/view/view_overview.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/abi/core_number.h"
#include "top/base/format.h"
#include "top/model/model_alerts.h"
#include "top/model/model_hbm.h"
#include "top/view/view.h"
#include "top/view/view_cores.h"

#define FIXED_ROWS 2     /* line of the machine, and the titles */
#define LIST_ROWS_GOOD 7 /* titles and six processes */
#define LIST_ROWS_MIN 3
#define DEVICE_ROWS_MIN 3 /* with fewer rows, too few devices are visible */
#define GROUP_GAP 3
#define LABEL_CELLS 6 /* such as "ND127!" */
#define MEAN_CELLS 7  /* such as " 71.19%" */
#define SHARE_CELLS 7
#define BYTES_CELLS 16 /* such as " 20.2GB/512.0GB" */
#define POWER_CELLS 7
#define BAR_CELLS_MIN 11 /* a gap, a bar of 3 and " 71.2%" */
#define NUMBER_CELLS_MIN 6
#define NUMBER_CELLS_MAX 5 /* such as "71.2%": a second decimal would change at each refresh */
#define GROUP_CELLS_ROOMY 60

/* Positions of the parts of each device, from the first cell of its group. */
struct grid {
    int group_count;
    int group_rows;
    int group_cells;
    int core_cells; /* cells per core */
    int mean_at;    /* -1 if the cores show it themselves */
    int memory_at;
    int memory_cells;
    int power_at;
    bool has_bytes; /* false: a percentage */
};

static int group_cells_min(const struct ntk_top_model *model)
{
    return LABEL_CELLS + (int)model->cores_per_device + MEAN_CELLS + SHARE_CELLS + POWER_CELLS;
}

static int groups_max(const struct ntk_top_model *model, int columns)
{
    int groups = (columns + GROUP_GAP) / (group_cells_min(model) + GROUP_GAP);

    return groups < 1 ? 1 : groups > (int)model->device_count ? (int)model->device_count : groups;
}

static int rows_of(const struct ntk_top_model *model, int groups)
{
    return ((int)model->device_count + groups - 1) / groups;
}

int ntk_top_view_overview_rows(const struct ntk_top_model *model, int rows, int columns)
{
    int most = groups_max(model, columns);
    int room = rows - FIXED_ROWS - LIST_ROWS_MIN;

    if (rows < 1 + LIST_ROWS_MIN) {
        return 0;
    }
    if (model->device_count == 0 || room < DEVICE_ROWS_MIN) {
        return room < 0 || (model->device_count > 0 && room < rows_of(model, most)) ? 1
               : model->device_count == 0                                           ? FIXED_ROWS
                                          : FIXED_ROWS + rows_of(model, most);
    }
    for (int groups = 1; groups < most; groups++) {
        if (FIXED_ROWS + rows_of(model, groups) + LIST_ROWS_GOOD <= rows) {
            return FIXED_ROWS + rows_of(model, groups);
        }
    }
    return FIXED_ROWS + (rows_of(model, most) < room ? rows_of(model, most) : room);
}

static struct grid grid_make(const struct ntk_top_model *model, int columns, int rows)
{
    struct grid grid = { .group_rows = rows, .mean_at = -1 };
    int cores = model->cores_per_device > 0 ? (int)model->cores_per_device : 1;
    int most = groups_max(model, columns);
    int rest;

    grid.group_count = ((int)model->device_count + rows - 1) / rows;
    grid.group_count = grid.group_count > most ? most : grid.group_count;
    grid.group_cells = (columns - (grid.group_count - 1) * GROUP_GAP) / grid.group_count;
    grid.has_bytes = grid.group_cells >= GROUP_CELLS_ROOMY;
    grid.memory_cells = grid.has_bytes ? BYTES_CELLS : SHARE_CELLS;
    grid.power_at = grid.group_cells - POWER_CELLS;
    grid.memory_at = grid.power_at - grid.memory_cells;
    rest = grid.memory_at - LABEL_CELLS;
    grid.core_cells = rest / cores;
    if (grid.core_cells < NUMBER_CELLS_MIN) {
        grid.core_cells = 1;
        grid.mean_at = LABEL_CELLS + cores < grid.memory_at - MEAN_CELLS
                           ? LABEL_CELLS + cores
                           : grid.memory_at - MEAN_CELLS;
    }
    return grid;
}

/* ---- the machine's line ---- */

/* Draws a label and its value, if both fit. */
static void put_part(struct ntk_screen *screen, int row, int *column, const char *label, int style,
                     const char *value)
{
    int cells = ntk_screen_width(screen, label) + ntk_screen_width(screen, value);
    int gap = *column > 0 ? 3 : 0;

    if (*column + gap + cells > screen->columns) {
        return;
    }
    *column += gap;
    *column += ntk_screen_put(screen, row, *column, cells, NTK_STYLE_NORMAL, label);
    *column += ntk_screen_put(screen, row, *column, cells, style, value);
}

static void put_health(const struct ntk_top_model *model, struct ntk_screen *screen, int row,
                       int *column)
{
    uint32_t count[NTK_HEALTH_VERDICT_COUNT] = { 0 };
    uint32_t judged = 0;
    char text[64];

    for (size_t i = 0; model->snapshot && i < model->snapshot->device_count; i++) {
        const struct ntk_device_sample *device = &model->snapshot->devices[i];

        if (device->has & NTK_DEVICE_HAS_HEALTH && device->verdict < NTK_HEALTH_VERDICT_COUNT) {
            judged++;
            count[device->verdict]++;
        }
    }
    if (count[NTK_HEALTH_UNHEALTHY] > 0) {
        (void)snprintf(text, sizeof text, "%u of %u unhealthy", count[NTK_HEALTH_UNHEALTHY],
                       model->device_count);
        put_part(screen, row, column, "health ", NTK_STYLE_ERROR, text);
    } else if (judged < model->device_count || count[NTK_HEALTH_UNKNOWN] > 0) {
        (void)snprintf(text, sizeof text, "%u of %u unknown",
                       model->device_count - count[NTK_HEALTH_HEALTHY], model->device_count);
        put_part(screen, row, column, "health ", NTK_STYLE_DIM, text);
    } else if (judged > 0) {
        put_part(screen, row, column, "health ", NTK_STYLE_VALUE, "good");
    }
}

static void put_memory(const struct ntk_top_model *model, struct ntk_screen *screen, int row,
                       int *column)
{
    struct ntk_top_hbm_sum sum;
    char used[NTK_TOP_FORMAT_BYTES];
    char capacity[NTK_TOP_FORMAT_BYTES];
    char text[2 * NTK_TOP_FORMAT_BYTES + 4];

    ntk_top_model_hbm_sum(model, &sum);
    ntk_top_format_bytes(used, sum.used);
    ntk_top_format_bytes(capacity, sum.capacity);
    (void)snprintf(text, sizeof text, "%s%s%s", used, sum.capacity.present ? " of " : "",
                   sum.capacity.present ? capacity : "");
    put_part(screen, row, column, ntk_top_view_label(screen, "HBM "), NTK_STYLE_VALUE, text);
}

static void draw_machine(const struct ntk_top_model *model, struct ntk_screen *screen, int row)
{
    const struct ntk_top_vcpu *cpu = &model->system_vcpu;
    struct ntk_top_number all = { cpu->user_percent.value + cpu->system_percent.value,
                                  cpu->user_percent.present && cpu->system_percent.present, false };
    size_t count = model->snapshot ? model->snapshot->runtime_count : 0;
    char text[NTK_TOP_FORMAT_BYTES];
    int column = 0;

    ntk_top_format_percent_short(text, 6, model->busy_percent_mean);
    put_part(screen, row, &column, "busy ", NTK_STYLE_VALUE, text + strspn(text, " "));
    put_memory(model, screen, row, &column);
    put_health(model, screen, row, &column);
    ntk_top_format_percent_short(text, 6, all);
    put_part(screen, row, &column, "CPU ", NTK_STYLE_VALUE, text + strspn(text, " "));
    (void)snprintf(text, sizeof text, "%zu", count);
    put_part(screen, row, &column, "processes ", NTK_STYLE_VALUE, text);
    if (model->teraflops_total.present) {
        ntk_top_format_teraflops(text, model->teraflops_total);
        put_part(screen, row, &column, "", NTK_STYLE_VALUE, text + strspn(text, " "));
    }
    if (model->memory.host_total.present) {
        put_part(screen, row, &column, "host memory ", NTK_STYLE_VALUE,
                 ntk_top_format_bytes(text, model->memory.host_total));
    }
}

/* ---- devices ---- */

static void draw_titles(const struct ntk_top_model *model, struct ntk_screen *screen, int row,
                        const struct grid *grid)
{
    ntk_top_view_heading(screen, row, "");
    for (int group = 0; group < grid->group_count; group++) {
        int left = group * (grid->group_cells + GROUP_GAP);

        ntk_screen_put(screen, row, left, LABEL_CELLS, NTK_STYLE_HEADING, "DEV");
        ntk_screen_put(
            screen, row, left + LABEL_CELLS, grid->memory_at - LABEL_CELLS, NTK_STYLE_HEADING,
            grid->core_cells * (int)model->cores_per_device > (int)strlen("CORES") ? "CORES"
                                                                                   : "NC");
        if (grid->mean_at >= 0) {
            ntk_screen_put_right(screen, row, left + grid->mean_at, MEAN_CELLS, NTK_STYLE_HEADING,
                                 "BUSY");
        }
        ntk_screen_put_right(screen, row, left + grid->memory_at, grid->memory_cells,
                             NTK_STYLE_HEADING, ntk_top_view_label(screen, "HBM"));
        ntk_screen_put_right(screen, row, left + grid->power_at, POWER_CELLS, NTK_STYLE_HEADING,
                             "POWER");
    }
}

/* Returns one cell with the utilization as its height, or as a digit. */
static const char *level_of(const struct ntk_screen *screen, struct ntk_top_number percent)
{
    static const char *const blocks[] = { "\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83",
                                          "\xe2\x96\x84", "\xe2\x96\x85", "\xe2\x96\x86",
                                          "\xe2\x96\x87", "\xe2\x96\x88" };
    static const char *const digits[] = { ".", "1", "2", "3", "4", "5", "6", "7", "8", "9" };
    int level;

    if (!percent.present) {
        return "-";
    }
    if (!screen->is_utf8) {
        level = percent.value > 0 ? 1 + (int)(percent.value * 9 / 100) : 0;
        return digits[level > 9 ? 9 : level];
    }
    level = percent.value > 0 ? (int)(percent.value * 8 / 100) : 0;
    return blocks[level > 7 ? 7 : level];
}

static void draw_core(struct ntk_screen *screen, int row, int column, const struct grid *grid,
                      const struct ntk_top_core *core, int selected)
{
    const struct ntk_top_number none = { 0, false, false };
    bool is_busy = core->busy_percent.present && core->busy_percent.value > 0;
    int style = is_busy ? NTK_STYLE_VALUE : NTK_STYLE_DIM;
    bool is_narrow = grid->core_cells < NUMBER_CELLS_MIN;
    int mark_style;
    const char *mark = ntk_top_view_core_mark(core->state, is_narrow, &mark_style);
    int number_cells =
        grid->core_cells - 1 < NUMBER_CELLS_MAX ? grid->core_cells - 1 : NUMBER_CELLS_MAX;
    int bar = grid->core_cells - 1 - number_cells - 1;
    char text[NTK_TOP_FORMAT_BYTES];

    if (is_narrow) {
        ntk_screen_put(screen, row, column, 1, (mark[0] ? mark_style : style) | selected,
                       mark[0] ? mark : level_of(screen, core->busy_percent));
        return;
    }
    if (grid->core_cells >= BAR_CELLS_MIN) {
        ntk_top_view_bar(screen, row, column, bar, core->busy_percent, none, selected);
        column += bar + 1;
    }
    ntk_top_format_percent_short(text, number_cells, core->busy_percent);
    ntk_screen_put_right(screen, row, column, number_cells,
                         (mark[0] ? mark_style : style) | selected, mark[0] ? mark : text);
}

static void draw_memory(const struct ntk_top_model *model, struct ntk_screen *screen, int row,
                        int column, const struct grid *grid, uint32_t device)
{
    struct ntk_top_bytes used;
    struct ntk_top_bytes capacity;
    char used_text[NTK_TOP_FORMAT_BYTES];
    char capacity_text[NTK_TOP_FORMAT_BYTES];
    char text[2 * NTK_TOP_FORMAT_BYTES + 2];

    ntk_top_model_hbm_device(model, device, &used, &capacity);
    if (grid->has_bytes && capacity.present) {
        (void)snprintf(text, sizeof text, "%s/%s", ntk_top_format_bytes(used_text, used),
                       ntk_top_format_bytes(capacity_text, capacity));
    } else if (grid->has_bytes) {
        ntk_top_format_bytes(text, used);
    } else {
        ntk_top_format_percent_short(text, 6, ntk_top_model_hbm_share(used, capacity));
    }
    ntk_screen_put_right(screen, row, column, grid->memory_cells,
                         used.present && used.value > 0 ? NTK_STYLE_NORMAL : NTK_STYLE_DIM, text);
}

static void draw_power(const struct ntk_top_model *model, struct ntk_screen *screen, int row,
                       int column, uint32_t device)
{
    const struct ntk_device_sample *sample = ntk_snapshot_find_device(model->snapshot, device);
    bool has_power = sample && sample->has & NTK_DEVICE_HAS_POWER;
    struct ntk_top_number percent = { has_power ? 100 * sample->power_average : 0, has_power,
                                      false };
    char text[NTK_TOP_FORMAT_BYTES];

    ntk_top_format_percent_short(text, 6, percent);
    ntk_screen_put_right(screen, row, column, POWER_CELLS,
                         has_power ? NTK_STYLE_NORMAL : NTK_STYLE_DIM, text);
}

/* Draws a device; the cores of `selected`, the process under the cursor, have a mark. */
static void draw_device(const struct ntk_top_model *model, struct ntk_screen *screen, int row,
                        int left, const struct grid *grid, uint32_t device,
                        const struct ntk_runtime_sample *selected)
{
    const char *mark = ntk_top_model_alerts_mark(model, device);
    uint32_t first = ntk_core_number(device, model->cores_per_device, 0);
    char text[NTK_TOP_FORMAT_BYTES];

    ntk_screen_format(screen, row, left, LABEL_CELLS,
                      mark[0] == '!'   ? NTK_STYLE_ERROR
                      : mark[0] == '?' ? NTK_STYLE_WARNING
                                       : NTK_STYLE_NORMAL,
                      "ND%u%s", device, mark);
    ntk_screen_spot_add(screen, row, left, grid->memory_at, NTK_TOP_ACTION_VIEW,
                        NTK_TOP_VIEW_ENGINES);
    for (uint32_t c = 0; c < model->cores_per_device; c++) {
        const struct ntk_top_core *core = &model->cores[first + c];

        draw_core(screen, row, left + LABEL_CELLS + (int)c * grid->core_cells, grid, core,
                  selected && ntk_top_model_core_of(model, selected, first + c) ? NTK_STYLE_SELECTED
                                                                                : 0);
    }
    if (grid->mean_at >= 0) {
        struct ntk_top_number mean = ntk_top_model_device_busy(model, device);

        ntk_top_format_percent_short(text, 6, mean);
        ntk_screen_put_right(screen, row, left + grid->mean_at, MEAN_CELLS,
                             mean.present && mean.value > 0 ? NTK_STYLE_NORMAL : NTK_STYLE_DIM,
                             text);
    }
    draw_memory(model, screen, row, left + grid->memory_at, grid, device);
    draw_power(model, screen, row, left + grid->power_at, device);
    ntk_screen_spot_add(screen, row, left + grid->memory_at, grid->memory_cells,
                        NTK_TOP_ACTION_VIEW, NTK_TOP_VIEW_HBM);
}

void ntk_top_view_overview_head(const struct ntk_top_model *model, struct ntk_screen *screen,
                                int row, int rows)
{
    const struct ntk_runtime_sample *selected = ntk_top_model_selected(model);
    int device_count = (int)model->device_count;
    struct grid grid;
    int shown;

    draw_machine(model, screen, row);
    if (rows < FIXED_ROWS) {
        return;
    }
    if (device_count == 0) {
        ntk_screen_put(screen, row + 1, 0, screen->columns, NTK_STYLE_DIM,
                       ntk_top_view_no_device(model));
        return;
    }
    grid = grid_make(model, screen->columns, rows - FIXED_ROWS);
    draw_titles(model, screen, row + 1, &grid);
    shown = grid.group_count * grid.group_rows;
    shown = shown < device_count ? shown - 1 : device_count;
    for (int i = 0; i < shown; i++) {
        draw_device(model, screen, row + FIXED_ROWS + i % grid.group_rows,
                    i / grid.group_rows * (grid.group_cells + GROUP_GAP), &grid, (uint32_t)i,
                    selected);
    }
    if (shown < device_count) {
        ntk_screen_format(screen, row + FIXED_ROWS + grid.group_rows - 1,
                          (grid.group_count - 1) * (grid.group_cells + GROUP_GAP), grid.group_cells,
                          NTK_STYLE_DIM, "and %d more devices (t)", device_count - shown);
    }
}
