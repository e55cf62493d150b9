/* SPDX-License-Identifier: MIT */
/*
 * view_overview - draws the machine in one line, then a row per device: its cores, memory and
 * power. With one application selected, only its devices have a row, with the memory that it uses,
 * and without power, which is the device's.
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

/* Devices with a row. */
struct shown {
    uint32_t count;
    uint32_t devices[NTK_SNAPSHOT_DEVICES_MAX];
};

/* Positions of the parts of each device, from the first cell of its group. */
struct grid {
    int group_count;
    int group_rows;
    int group_cells;
    int core_cells; /* cells per core */
    int mean_at;    /* -1 if the cores show it themselves */
    int memory_at;
    int memory_cells;
    int power_at;                       /* -1 if it is not shown */
    bool has_bytes;                     /* false: a percentage */
    const struct ntk_top_hbm_use *uses; /* memory of each device */
};

static bool is_of_application(const struct ntk_top_model *model,
                              const struct ntk_runtime_sample *runtime, uint32_t device)
{
    if (ntk_top_model_device_has(model, runtime, device)) {
        return true;
    }
    const struct ntk_top_hbm_use use = ntk_top_model_hbm_device(model, device);
    return use.used.present && use.used.value > 0;
}

/* Finds the devices of the selected application; all devices if they are unknown. */
static struct shown shown_get(const struct ntk_top_model *model)
{
    const struct ntk_runtime_sample *runtime = ntk_top_model_tab_runtime(model);
    struct shown shown = { 0 };

    for (uint32_t d = 0; runtime && d < model->device_count; d++) {
        if (is_of_application(model, runtime, d)) {
            shown.devices[shown.count++] = d;
        }
    }
    for (uint32_t d = 0; shown.count == 0 && d < model->device_count; d++) {
        shown.devices[d] = d;
    }
    shown.count = shown.count > 0 ? shown.count : model->device_count;
    return shown;
}

static bool shows_power(const struct ntk_top_model *model)
{
    return ntk_top_model_tab_get(model)->is_all;
}

static int group_cells_min(const struct ntk_top_model *model)
{
    return LABEL_CELLS + (int)model->cores_per_device + MEAN_CELLS + SHARE_CELLS + POWER_CELLS;
}

static int groups_max(const struct ntk_top_model *model, uint32_t count, int columns)
{
    int groups = (columns + GROUP_GAP) / (group_cells_min(model) + GROUP_GAP);

    return groups < 1 ? 1 : groups > (int)count ? (int)count : groups;
}

static int rows_of(uint32_t count, int groups)
{
    return ((int)count + groups - 1) / groups;
}

int ntk_top_view_overview_rows(const struct ntk_top_model *model, int rows, int columns)
{
    uint32_t count = shown_get(model).count;
    int most = groups_max(model, count, columns);
    int room = rows - FIXED_ROWS - LIST_ROWS_MIN;

    if (rows < 1 + LIST_ROWS_MIN) {
        return 0;
    }
    if (count == 0 || room < DEVICE_ROWS_MIN) {
        return room < 0 || (count > 0 && room < rows_of(count, most)) ? 1
               : count == 0                                           ? FIXED_ROWS
                            : FIXED_ROWS + rows_of(count, most);
    }
    for (int groups = 1; groups < most; groups++) {
        if (FIXED_ROWS + rows_of(count, groups) + LIST_ROWS_GOOD <= rows) {
            return FIXED_ROWS + rows_of(count, groups);
        }
    }
    return FIXED_ROWS + (rows_of(count, most) < room ? rows_of(count, most) : room);
}

static struct grid grid_make(const struct ntk_top_model *model, uint32_t count, int columns,
                             int rows)
{
    struct grid grid = { .group_rows = rows, .mean_at = -1 };
    int cores = model->cores_per_device > 0 ? (int)model->cores_per_device : 1;
    int most = groups_max(model, count, columns);
    int rest;

    grid.group_count = ((int)count + rows - 1) / rows;
    grid.group_count = grid.group_count > most ? most : grid.group_count;
    grid.group_cells = (columns - (grid.group_count - 1) * GROUP_GAP) / grid.group_count;
    grid.has_bytes = grid.group_cells >= GROUP_CELLS_ROOMY;
    grid.memory_cells = grid.has_bytes ? BYTES_CELLS : SHARE_CELLS;
    grid.power_at = shows_power(model) ? grid.group_cells - POWER_CELLS : -1;
    grid.memory_at = (shows_power(model) ? grid.power_at : grid.group_cells) - grid.memory_cells;
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
        if (grid->power_at >= 0) {
            ntk_screen_put_right(screen, row, left + grid->power_at, POWER_CELLS, NTK_STYLE_HEADING,
                                 "POWER");
        }
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

static void draw_memory(struct ntk_screen *screen, int row, int column, const struct grid *grid,
                        const struct ntk_top_hbm_use *use)
{
    char used_text[NTK_TOP_FORMAT_BYTES];
    char capacity_text[NTK_TOP_FORMAT_BYTES];
    char text[2 * NTK_TOP_FORMAT_BYTES + 2];

    if (grid->has_bytes && use->capacity.present) {
        (void)snprintf(text, sizeof text, "%s/%s", ntk_top_format_bytes(used_text, use->used),
                       ntk_top_format_bytes(capacity_text, use->capacity));
    } else if (grid->has_bytes) {
        ntk_top_format_bytes(text, use->used);
    } else {
        ntk_top_format_percent_short(text, 6, ntk_top_model_hbm_share(use->used, use->capacity));
    }
    ntk_screen_put_right(
        screen, row, column, grid->memory_cells,
        use->used.present && use->used.value > 0 ? NTK_STYLE_NORMAL : NTK_STYLE_DIM, text);
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
    draw_memory(screen, row, left + grid->memory_at, grid, &grid->uses[device]);
    if (grid->power_at >= 0) {
        draw_power(model, screen, row, left + grid->power_at, device);
    }
    ntk_screen_spot_add(screen, row, left + grid->memory_at, grid->memory_cells,
                        NTK_TOP_ACTION_VIEW, NTK_TOP_VIEW_HBM);
}

void ntk_top_view_overview_head(const struct ntk_top_model *model, struct ntk_screen *screen,
                                int row, int rows)
{
    const struct ntk_runtime_sample *selected = ntk_top_model_selected(model);
    const struct shown shown = shown_get(model);
    struct ntk_top_hbm_use uses[NTK_SNAPSHOT_DEVICES_MAX];
    struct grid grid;
    int drawn;

    ntk_top_view_overview_line(model, screen, row);
    if (rows < FIXED_ROWS) {
        return;
    }
    if (shown.count == 0) {
        ntk_screen_put(screen, row + 1, 0, screen->columns, NTK_STYLE_DIM,
                       ntk_top_view_no_device(model));
        return;
    }
    grid = grid_make(model, shown.count, screen->columns, rows - FIXED_ROWS);
    ntk_top_model_hbm_devices(model, uses);
    grid.uses = uses;
    draw_titles(model, screen, row + 1, &grid);
    drawn = grid.group_count * grid.group_rows;
    drawn = drawn < (int)shown.count ? drawn - 1 : (int)shown.count;
    for (int i = 0; i < drawn; i++) {
        draw_device(model, screen, row + FIXED_ROWS + i % grid.group_rows,
                    i / grid.group_rows * (grid.group_cells + GROUP_GAP), &grid, shown.devices[i],
                    selected);
    }
    if (drawn < (int)shown.count) {
        ntk_screen_format(screen, row + FIXED_ROWS + grid.group_rows - 1,
                          (grid.group_count - 1) * (grid.group_cells + GROUP_GAP), grid.group_cells,
                          NTK_STYLE_DIM, "and %d more devices (t)", (int)shown.count - drawn);
    }
}
