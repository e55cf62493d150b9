/* SPDX-License-Identifier: MIT */
/* view - draws the layout of the screen, the title bar, and the panes in order. */
#include "top/view/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/clock.h"
#include "top/base/format.h"
#include "top/model/model_alerts.h"
#include "top/source/hosts.h"
#include "top/view/view_cores.h"

#define SECTION_ROWS 3   /* heading and two rows */
#define TREE_ROWS_GOOD 6 /* with fewer rows in the tree, several devices are drawn in one line */
#define BLANK_ROWS 4
#define TREE_ROWS_TALL 8 /* a tree with this many rows can lose some */
#define MORE_ROWS_MIN 7  /* heading, titles or scale, and some contents */
#define MORE_ROWS_MAX 20
#define HBM_COLUMNS_WIDE 160

static int min(int a, int b)
{
    return a < b ? a : b;
}

/* Takes rows from *rest if there are enough. */
static bool take(int *rest, int rows)
{
    if (*rest < rows) {
        return false;
    }
    *rest -= rows;
    return true;
}

void ntk_top_view_layout(const struct ntk_top_model *model, int rows, int columns, bool with_keys,
                         struct ntk_top_layout *out_layout)
{
    int device_count = model->device_count > 0 ? (int)model->device_count : 1;
    int groups_max = ntk_top_view_cores_groups_max(model, columns);
    /* Used rows: title, heading and names of the cores, heading of the tree, tabs, one bar row,
     * one tree row */
    int rest = rows - 7 - (with_keys ? 1 : 0);
    bool has_blanks = false;
    bool has_vcpu;
    bool has_summary;
    int blanks;
    int row = 1;

    *out_layout = (struct ntk_top_layout){ .alert_row = -1,
                                           .notice_row = -1,
                                           .more_row = -1,
                                           .vcpu_row = -1,
                                           .summary_row = -1,
                                           .keys_row = -1,
                                           .core_rows = 1,
                                           .core_groups = 1,
                                           .tree_rows = 1 };
    if (rest < 0 || columns < NTK_TOP_COLUMNS_MIN) {
        out_layout->is_too_small = true;
        return;
    }
    if (model->alert[0] && take(&rest, 1)) {
        out_layout->alert_row = row++;
    }
    if (model->notice[0] && take(&rest, 1)) {
        out_layout->notice_row = row++;
    }
    has_vcpu = take(&rest, SECTION_ROWS);
    has_summary = take(&rest, SECTION_ROWS);
    if (take(&rest, 2)) {
        out_layout->tree_rows += 2;
    }

    /* Find the fewest groups that leave a tree of a good size; a small tree is better than worse
     * bars. */
    for (int groups = 1; groups <= groups_max; groups++) {
        int more = (device_count + groups - 1) / groups - 1;
        bool next_is_worse =
            groups < groups_max && ntk_top_view_cores_detail(model, columns, groups + 1) <
                                       ntk_top_view_cores_detail(model, columns, groups);

        out_layout->core_groups = groups;
        out_layout->core_rows = 1 + min(more, rest);
        if (more + (next_is_worse ? 0 : 1 + BLANK_ROWS + TREE_ROWS_GOOD - 3) <= rest) {
            break;
        }
    }
    rest -= out_layout->core_rows - 1;
    out_layout->tree_has_titles = out_layout->tree_rows + rest >= TREE_ROWS_GOOD && take(&rest, 1);
    blanks = BLANK_ROWS - (row > 1 ? 1 : 0);
    has_blanks = has_vcpu && has_summary && take(&rest, blanks);
    out_layout->tree_rows += rest;
    if (with_keys && has_blanks && model->device_count > 0 &&
        out_layout->tree_rows - TREE_ROWS_TALL - 1 >= MORE_ROWS_MIN) {
        /* Half of the spare rows of the tree, and at least enough rows to be useful. */
        int spare = out_layout->tree_rows - TREE_ROWS_TALL - 1;

        out_layout->more_rows =
            min(spare, spare / 2 < MORE_ROWS_MIN + 2 ? MORE_ROWS_MIN + 2 : spare / 2);
        out_layout->more_rows = min(out_layout->more_rows, MORE_ROWS_MAX);
        out_layout->tree_rows -= out_layout->more_rows + 1;
    }
    out_layout->has_hbm = with_keys && out_layout->core_groups == 1 &&
                          (columns >= HBM_COLUMNS_WIDE || out_layout->more_rows > 0) &&
                          ntk_top_view_cores_has_room_for_hbm(model, columns);

    if (has_blanks && row == 1) {
        row++;
    }
    out_layout->cores_row = row;
    row += 2 + out_layout->core_rows + (has_blanks ? 1 : 0);
    if (out_layout->more_rows > 0) {
        out_layout->more_row = row;
        row += out_layout->more_rows + 1;
    }
    if (has_vcpu) {
        out_layout->vcpu_row = row;
        row += SECTION_ROWS + (has_blanks ? 1 : 0);
    }
    if (has_summary) {
        out_layout->summary_row = row;
        row += SECTION_ROWS + (has_blanks ? 1 : 0);
    }
    out_layout->tree_row = row;
    out_layout->tabs_row = rows - (with_keys ? 2 : 1);
    out_layout->keys_row = with_keys ? rows - 1 : -1;
}

int ntk_top_view_natural_rows(const struct ntk_top_model *model, int columns, bool with_keys)
{
    int device_count = model->device_count > 0 ? (int)model->device_count : 1;
    int node_count = model->nodes.count > 0 ? (int)model->nodes.count : 1;

    if (model->view != NTK_TOP_VIEW_TREE) {
        return ntk_top_view_full_rows(model, columns);
    }
    return 1 + BLANK_ROWS + 2 + device_count + 2 * SECTION_ROWS + 2 +
           (node_count < TREE_ROWS_GOOD ? TREE_ROWS_GOOD : node_count) + 1 + (with_keys ? 1 : 0) +
           (model->alert[0] && model->notice[0] ? 1 : 0);
}

static int bar_cells(struct ntk_top_number percent, int width)
{
    double hundredths = percent.present ? floor(percent.value * 100 + 0.5) : 0;

    hundredths = hundredths > 10000 ? 10000 : hundredths > 0 ? hundredths : 0;
    return (int)(hundredths * width / 10000);
}

void ntk_top_view_bar(struct ntk_screen *screen, int row, int column, int width,
                      struct ntk_top_number user_percent, struct ntk_top_number system_percent,
                      int selected)
{
    int user_cells = bar_cells(user_percent, width);
    int system_cells = bar_cells(system_percent, width);
    /* All cells have the same character if colours distinguish them. */
    char empty = !user_percent.present && !system_percent.present ? ' '
                 : screen->has_colour                             ? '|'
                                                                  : '.';

    if (system_cells > width - user_cells) {
        system_cells = width - user_cells;
    }
    ntk_screen_fill(screen, row, column, user_cells, NTK_STYLE_BAR_USER | selected, '|');
    column += user_cells;
    ntk_screen_fill(screen, row, column, system_cells, NTK_STYLE_BAR_SYSTEM | selected, '|');
    column += system_cells;
    ntk_screen_fill(screen, row, column, width - user_cells - system_cells,
                    NTK_STYLE_BAR_EMPTY | selected, empty);
}

bool ntk_top_view_has_software(const struct ntk_top_model *model)
{
    const struct ntk_snapshot *snapshot = model->snapshot;
    bool has_software = snapshot && snapshot->hardware.software;

    for (size_t i = 0; snapshot && i < snapshot->runtime_count; i++) {
        has_software = has_software || snapshot->runtimes[i].software;
    }
    return has_software;
}

void ntk_top_view_heading(struct ntk_screen *screen, int row, const char *text)
{
    ntk_screen_fill(screen, row, 0, screen->columns, NTK_STYLE_HEADING, ' ');
    ntk_screen_put(screen, row, 0, screen->columns, NTK_STYLE_HEADING, text);
}

const char *ntk_top_view_end(const struct ntk_top_model *model)
{
    return model->is_recording || model->is_behind ? "0s" : "now";
}

const char *ntk_top_view_label(struct ntk_screen *screen, const char *text)
{
    return ntk_top_format_label(screen->label, screen->memory_type, text);
}

void ntk_top_view_title(const struct ntk_top_model *model, struct ntk_screen *screen)
{
    char text[256];
    int width;

    if (model->hosts) {
        (void)snprintf(text, sizeof text, "neuron-top %s: %zu hosts", model->version,
                       model->hosts->count);
    } else {
        (void)snprintf(text, sizeof text, "neuron-top %s running on %s (%s)", model->version,
                       model->host_name[0]     ? model->host_name
                       : model->instance_id[0] ? model->instance_id
                                               : "i-local",
                       ntk_top_view_is_missing(model) ? "unreachable"
                       : model->instance_type[0]      ? model->instance_type
                                                      : "unknown instance type");
    }
    width = ntk_screen_width(screen, text);
    ntk_screen_fill(screen, 0, 0, screen->columns, NTK_STYLE_TITLE, ' ');
    ntk_screen_put(screen, 0, width < screen->columns ? (screen->columns - width) / 2 : 0,
                   screen->columns, NTK_STYLE_TITLE, text);
    width = (screen->columns + width) / 2 + 2; /* the status may begin here */
    if (width + ntk_screen_width(screen, model->status) < screen->columns) {
        ntk_screen_put_right(screen, 0, width, screen->columns - width - 1, NTK_STYLE_TITLE,
                             model->status);
    }
}

void ntk_top_view_alert(const struct ntk_top_model *model, struct ntk_screen *screen, int row,
                        bool with_keys)
{
    int column = 0;
    int end = screen->columns;

    if (with_keys) {
        static const char key[] = " !: errors";

        end -= (int)sizeof key - 1;
        ntk_screen_put(screen, row, end, screen->columns - end, NTK_STYLE_KEY, key);
    }
    column = ntk_screen_put(screen, row, 0, end, NTK_STYLE_ERROR, model->alert);
    if (column == end && ntk_screen_width(screen, model->alert) > end) {
        ntk_screen_put(screen, row, end - 1, 1, NTK_STYLE_ERROR,
                       screen->is_utf8 ? "\xe2\x80\xa6" : "~");
    }
    ntk_screen_spot_add(screen, row, 0, screen->columns, NTK_TOP_ACTION_ALERT, 0);
}

const char *ntk_top_view_core_mark(enum ntk_top_core_state state, bool is_short, int *out_style)
{
    *out_style = state == NTK_TOP_CORE_STUCK ? NTK_STYLE_WARNING : NTK_STYLE_ERROR;
    return ntk_top_model_alerts_word(state, is_short);
}

static void draw_too_small(struct ntk_screen *screen, bool with_keys)
{
    char parts[3][48];
    int part_count = with_keys ? 3 : 2;
    int columns = 2 * (part_count - 1);

    snprintf(parts[0], sizeof parts[0], "%d x %d is too small", screen->columns, screen->rows);
    snprintf(parts[1], sizeof parts[1], "need %d x %d", NTK_TOP_COLUMNS_MIN, NTK_TOP_ROWS_MIN);
    snprintf(parts[2], sizeof parts[2], "q: quit");
    for (int i = 0; i < part_count; i++) {
        columns += (int)strlen(parts[i]);
    }
    if (columns <= screen->columns || screen->rows < part_count) {
        ntk_screen_format(screen, 0, 0, screen->columns, NTK_STYLE_WARNING, "%s, %s%s%s", parts[0],
                          parts[1], with_keys ? "; " : "", with_keys ? parts[2] : "");
        return;
    }
    for (int row = 0; row < part_count; row++) {
        ntk_screen_format(screen, row, 0, screen->columns, NTK_STYLE_WARNING, "%s", parts[row]);
    }
}

bool ntk_top_view_is_missing(const struct ntk_top_model *model)
{
    return model->host && !model->host->state.snapshot;
}

/* Draws a machine without known data: no zero, and no statement that it has no devices. */
static void draw_missing(const struct ntk_top_model *model, struct ntk_screen *screen)
{
    const struct ntk_hosts_state *state = &model->host->state;

    ntk_screen_format(screen, 2, 0, screen->columns, NTK_STYLE_WARNING,
                      "%s is unreachable: no response since the first request, %llus ago",
                      model->host_name, (unsigned long long)(state->silent_ns / NTK_NS_PER_SECOND));
    ntk_screen_put(screen, 3, 0, screen->columns, NTK_STYLE_NORMAL,
                   state->trouble[0] ? state->trouble : "waiting for the response");
    ntk_screen_put(screen, 5, 0, screen->columns, NTK_STYLE_DIM,
                   "retrying until it answers; escape: all hosts");
}

void ntk_top_view_draw(struct ntk_top_model *model, struct ntk_screen *screen, bool with_keys)
{
    struct ntk_top_layout layout;

    model->past_ns = 0;
    screen->memory_type = model->memory_type;
    ntk_screen_begin(screen);
    ntk_top_view_layout(model, screen->rows, screen->columns, with_keys, &layout);
    if (layout.is_too_small) {
        draw_too_small(screen, with_keys);
    } else if (model->with_help) {
        ntk_top_view_title(model, screen);
        ntk_top_view_help(model, screen);
    } else if (ntk_top_model_has_settings_open(model)) {
        ntk_top_view_title(model, screen);
        ntk_top_view_settings(model->settings, screen);
    } else if (ntk_top_view_is_missing(model)) {
        ntk_top_view_title(model, screen);
        draw_missing(model, screen);
    } else if (model->view != NTK_TOP_VIEW_TREE) {
        ntk_top_view_full(model, screen, with_keys);
    } else {
        ntk_top_model_set_page(model, (size_t)layout.tree_rows);
        ntk_top_view_title(model, screen);
        if (layout.alert_row >= 0) {
            ntk_top_view_alert(model, screen, layout.alert_row, with_keys);
        }
        if (layout.notice_row >= 0) {
            ntk_screen_put(screen, layout.notice_row, 0, screen->columns, NTK_STYLE_WARNING,
                           model->notice);
        }
        ntk_top_view_cores(model, screen, &layout);
        if (layout.more_row >= 0) {
            ntk_top_view_more(model, screen, layout.more_row, layout.more_rows);
        }
        if (layout.vcpu_row >= 0) {
            ntk_top_view_vcpu(model, screen, layout.vcpu_row);
        }
        if (layout.summary_row >= 0) {
            ntk_top_view_summary(model, screen, layout.summary_row);
        }
        ntk_top_view_tree(model, screen, &layout);
        ntk_top_view_tabs(model, screen, layout.tabs_row);
        if (layout.keys_row >= 0) {
            ntk_top_view_keys(screen, layout.keys_row, NTK_TOP_PLACE_TREE);
        }
    }
    ntk_screen_end(screen);
}
