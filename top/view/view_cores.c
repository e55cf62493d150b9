/* SPDX-License-Identifier: MIT */
/* view_cores - draws a bar for each logical core, a row or less for each device. */
#include "top/view/view_cores.h"

#include <stdio.h>
#include <string.h>

#include "top/base/format.h"
#include "top/model/model_hbm.h"
#include "top/view/view.h"

#define GROUP_GAP 2
#define CELL_MIN 4         /* a gap and "100" */
#define PERCENT_WIDTH 8    /* such as "[71.19%]" */
#define TERAFLOPS_WIDTH 12 /* such as "[ 9.848TF]" */
#define BAR_MIN 3
#define HBM_BAR_MIN 8
/* minimum width of a bar that keeps its length when the values change their kind */
#define BAR_GOOD 8

/* Positions of the cells of one device. */
struct grid {
    int label_width;
    int group_width;
    int cell_width;  /* includes one blank before it, except for the first */
    int value_width; /* 0: no bar, the value takes the cell */
    int bar_width;
};

static int label_width(const struct ntk_top_model *model)
{
    return model->device_count > 100 ? 6 : model->device_count > 10 ? 5 : 4;
}

int ntk_top_view_cores_groups_max(const struct ntk_top_model *model, int columns)
{
    int cores = model->cores_per_device > 0 ? (int)model->cores_per_device : 1;
    int device_count = model->device_count > 0 ? (int)model->device_count : 1;
    int group_min = label_width(model) + cores * CELL_MIN;
    int groups = (columns + GROUP_GAP) / (group_min + GROUP_GAP);

    return groups < 1 ? 1 : groups > device_count ? device_count : groups;
}

static struct grid grid_make(const struct ntk_top_model *model, int columns, int groups)
{
    struct grid grid = { .label_width = label_width(model) };
    int cores = (int)model->cores_per_device;
    int value_width = model->with_flops ? TERAFLOPS_WIDTH : PERCENT_WIDTH;
    int inner;

    grid.group_width = (columns - (groups - 1) * GROUP_GAP) / groups;
    grid.cell_width = (grid.group_width - grid.label_width + 1) / cores;
    inner = grid.cell_width - 1;
    if (inner - TERAFLOPS_WIDTH >= BAR_GOOD) {
        grid.value_width = value_width;
        grid.bar_width = inner - TERAFLOPS_WIDTH;
    } else if (inner - value_width >= BAR_MIN) {
        grid.value_width = value_width;
        grid.bar_width = inner - value_width;
    }
    return grid;
}

int ntk_top_view_cores_detail(const struct ntk_top_model *model, int columns, int groups)
{
    struct grid grid;

    if (model->cores_per_device == 0) {
        return 0;
    }
    grid = grid_make(model, columns, groups);
    return grid.value_width > 0 ? 2 : grid.cell_width - 1 >= 6 ? 1 : 0;
}

/* Returns the width of a gap and "HBM 12.34%". */
static int hbm_width(const struct ntk_top_model *model)
{
    return (int)strlen(model->memory_type) + 9;
}

bool ntk_top_view_cores_has_room_for_hbm(const struct ntk_top_model *model, int columns)
{
    return model->cores_per_device > 0 &&
           grid_make(model, columns - hbm_width(model), 1).bar_width >= HBM_BAR_MIN;
}

static void draw_cell(const struct ntk_top_model *model, struct ntk_screen *screen, int row,
                      int column, const struct grid *grid, const struct ntk_top_core *core,
                      int selected)
{
    struct ntk_top_number value = model->with_flops ? core->teraflops : core->busy_percent;
    char text[NTK_TOP_FORMAT_BYTES];
    const struct ntk_top_number none = { 0, false };
    int mark_style;
    const char *mark = ntk_top_view_core_mark(core->state, grid->cell_width - 1 < 5, &mark_style);

    if (mark[0] && grid->value_width == 0) {
        ntk_screen_put_right(screen, row, column,
                             grid->cell_width - 1 < 6 ? grid->cell_width - 1 : 6,
                             mark_style | selected, mark);
        return;
    }
    if (grid->value_width == 0) {
        int style = value.present && value.value > 0 ? NTK_STYLE_VALUE : NTK_STYLE_DIM;
        int width = grid->cell_width - 1;

        width = width > TERAFLOPS_WIDTH ? TERAFLOPS_WIDTH : width;
        if (model->with_flops) {
            ntk_top_format_teraflops_short(text, width, value);
        } else {
            ntk_top_format_percent_short(text, width > 6 ? 6 : width, value);
        }
        ntk_screen_put(screen, row, column, grid->cell_width - 1, style | selected, text);
        return;
    }
    ntk_top_view_bar(screen, row, column, grid->bar_width, core->busy_percent, none, selected);
    if (mark[0]) {
        ntk_screen_format(screen, row, column + grid->bar_width, grid->value_width,
                          mark_style | selected, "[%*s]", grid->value_width - 2, mark);
        return;
    }
    if (model->with_flops) {
        ntk_top_format_teraflops(text, value);
    } else {
        ntk_top_format_percent(text, value);
    }
    ntk_screen_format(screen, row, column + grid->bar_width, grid->value_width,
                      NTK_STYLE_NORMAL | selected, "[%s]", text);
}

static void draw_heading(const struct ntk_top_model *model, struct ntk_screen *screen, int row,
                         int first, int last)
{
    static const char host_time[] = "software cores: host time";
    char text[256];
    char all[256 + sizeof host_time] = "";
    int used;
    char mean[NTK_TOP_FORMAT_BYTES];
    char total[NTK_TOP_FORMAT_BYTES];
    const char *gap = model->core_version[0] ? " " : "";

    if (model->device_count == 0) {
        (void)snprintf(text, sizeof text, "NeuronCore Utilization");
    } else if (model->with_flops) {
        (void)snprintf(text, sizeof text, "NeuronCore%s%s Utilization (Avg: %s | Total: %s)", gap,
                       model->core_version, ntk_top_format_teraflops(mean, model->teraflops_mean),
                       ntk_top_format_teraflops(total, model->teraflops_total));
    } else {
        (void)snprintf(text, sizeof text, "NeuronCore%s%s Utilization (Avg: %s)", gap,
                       model->core_version, ntk_top_format_percent(mean, model->busy_percent_mean));
    }
    ntk_top_view_heading(screen, row, text);
    used = ntk_screen_width(screen, text) + 2;
    text[0] = '\0';
    if (model->device_count > 0 && last - first < (int)model->device_count) {
        (void)snprintf(text, sizeof text, "ND%d-ND%d of %u", first, last - 1, model->device_count);
    }
    if (model->device_count > 0 && ntk_top_view_has_software(model)) {
        (void)snprintf(all, sizeof all, "%s%s%s", host_time, text[0] ? "  " : "", text);
    }
    if (all[0] && used + ntk_screen_width(screen, all) <= screen->columns) {
        ntk_screen_put_right(screen, row, 0, screen->columns, NTK_STYLE_HEADING, all);
    } else {
        ntk_screen_put_right(screen, row, 0, screen->columns, NTK_STYLE_HEADING, text);
    }
}

const char *ntk_top_view_no_device(const struct ntk_top_model *model)
{
    const char *reason = model->snapshot ? model->snapshot->hardware.error : "";

    return reason[0] && strcmp(reason, model->notice) != 0 ? reason : "no Neuron device";
}

void ntk_top_view_cores(const struct ntk_top_model *model, struct ntk_screen *screen,
                        const struct ntk_top_layout *layout)
{
    const struct ntk_top_node *cursor = ntk_top_model_cursor_get(model);
    int device_count = (int)model->device_count;
    int cores = (int)model->cores_per_device;
    int shown = layout->core_rows * layout->core_groups;
    int first = 0;
    int last;
    struct grid grid;
    struct ntk_top_hbm_use uses[NTK_SNAPSHOT_DEVICES_MAX];

    /* If not all devices fit, show the page with the selected one. */
    if (shown < device_count && cursor && cursor->device_index >= 0) {
        first = cursor->device_index / shown * shown;
    }
    last = first + shown < device_count ? first + shown : device_count;
    draw_heading(model, screen, layout->cores_row, first, last);
    if (device_count == 0 || cores == 0) {
        ntk_screen_put(screen, layout->cores_row + 1, 0, screen->columns, NTK_STYLE_DIM,
                       ntk_top_view_no_device(model));
        return;
    }

    grid = grid_make(model, screen->columns - (layout->has_hbm ? hbm_width(model) : 0),
                     layout->core_groups);
    for (int group = 0; group < layout->core_groups; group++) {
        int left = group * (grid.group_width + GROUP_GAP);

        for (int c = 0; c < cores; c++) {
            char name[16];
            int length = snprintf(name, sizeof name, "NC%d", c);
            int width = grid.value_width ? grid.bar_width + grid.value_width : grid.cell_width - 1;
            int column = left + grid.label_width + c * grid.cell_width;

            if (grid.value_width == 0 && width > 6 && !model->with_flops) {
                width = 6;
            }
            if (length > width) {
                (void)snprintf(name, sizeof name, "%d", c);
                length = ntk_screen_width(screen, name);
            }
            column += grid.value_width ? (width - length) / 2 : width - length;
            ntk_screen_put(screen, layout->cores_row + 1, column, width, NTK_STYLE_NORMAL, name);
        }
    }
    if (layout->has_hbm) {
        ntk_top_model_hbm_devices(model, uses);
    }
    for (int device = first; device < last; device++) {
        int group = (device - first) / layout->core_rows;
        int row = layout->cores_row + 2 + (device - first) % layout->core_rows;
        int left = group * (grid.group_width + GROUP_GAP);

        ntk_screen_format(screen, row, left, grid.label_width, NTK_STYLE_NORMAL, "ND%d", device);
        if (layout->has_hbm) {
            const struct ntk_top_hbm_use *use = &uses[device];
            char text[NTK_TOP_FORMAT_BYTES];

            ntk_top_format_percent(text, ntk_top_model_hbm_share(use->used, use->capacity));
            ntk_screen_format(screen, row, screen->columns - hbm_width(model) + 2,
                              hbm_width(model) - 2, NTK_STYLE_NORMAL, "%s %s", model->memory_type,
                              text);
        }
        for (int c = 0; c < cores; c++) {
            bool is_selected = cursor && cursor->device_index == device &&
                               (cursor->kind != NTK_TOP_NODE_CORE || cursor->core_index == c);

            draw_cell(model, screen, row, left + grid.label_width + c * grid.cell_width, &grid,
                      &model->cores[device * cores + c], is_selected ? NTK_STYLE_SELECTED : 0);
        }
    }
}
