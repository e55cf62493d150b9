/* SPDX-License-Identifier: MIT */
/* view_hbm - defines the columns of model_hbm; draws the use of all devices as one bar above
 * them. */
#include <stdio.h>
#include <string.h>

#include "top/base/format.h"
#include "top/model/model_hbm.h"
#include "top/view/view.h"
#include "top/view/views.h"

#define HEAD_ROWS 2
#define HEAD_ROWS_GOOD 12 /* minimum number of body rows: with fewer, the list needs all of them */
#define SERIES_COUNT 6
#define LABEL_CELLS 32
#define LEGEND_GAP 3

#define CATEGORY(symbol, title, help) \
    [NTK_TOP_HBM_CATEGORY_COLUMN(NTK_MEMORY_##symbol)] = { title, help, NTK_TOP_AS_BYTES, 9, 0, 0 }
#define STACK(index)                                                                              \
    [NTK_TOP_HBM_STACK + (index)] = {                                                             \
        "HBM " #index, "memory used on that stack", NTK_TOP_AS_BYTES, 8, 0, NTK_TOP_COLUMN_HIDDEN \
    }

static const struct ntk_top_column items[] = {
    [NTK_TOP_HBM_DEVICE] = { "DEVICE", "Neuron device, or core in it", NTK_TOP_AS_TEXT, 9, 0,
                             NTK_TOP_COLUMN_BY_VALUE },
    [NTK_TOP_HBM_SHARE] = { "%USED", "share of the device's capacity", NTK_TOP_AS_BAR, 6, 20,
                            NTK_TOP_COLUMN_FIRST },
    [NTK_TOP_HBM_USED] = { "USED", "used by all applications, or by the selected one",
                           NTK_TOP_AS_BYTES, 8, 0, 0 },
    [NTK_TOP_HBM_CAPACITY] = { "CAPACITY", "sum of its memory stacks", NTK_TOP_AS_BYTES, 8, 0, 0 },
    [NTK_TOP_HBM_FREE] = { "FREE", "unused capacity", NTK_TOP_AS_BYTES, 8, 0, 0 },
    [NTK_TOP_HBM_PEAK] = { "PEAK", "highest use since neuron-top started", NTK_TOP_AS_BYTES, 8, 0,
                           0 },
    STACK(0),
    STACK(1),
    STACK(2),
    STACK(3),
    CATEGORY(TENSORS, "TENSORS", "tensors"),
    CATEGORY(CONSTANTS, "CONSTANTS", "constants and weights"),
    CATEGORY(MODEL_CODE, "CODE", "model instructions"),
    CATEGORY(UCODE, "UCODE", "engine microcode"),
    CATEGORY(SHARED_SCRATCHPAD, "SHARED SP", "scratchpad that models share"),
    CATEGORY(SCRATCHPAD, "SCRATCH", "scratchpads of individual models"),
    CATEGORY(RUNTIME, "RUNTIME", "the runtime itself"),
    CATEGORY(DMA_RINGS_IO, "RINGS IO", "DMA rings for inputs and outputs"),
    CATEGORY(DMA_RINGS_SPILL, "RINGS SP", "DMA rings for spills"),
    CATEGORY(DMA_RINGS_RUNTIME, "RINGS RT", "DMA rings for the runtime"),
    CATEGORY(DMA_RINGS_COLLECTIVES, "RINGS CC", "DMA rings for collectives"),
    CATEGORY(COLLECTIVES, "COLLECT", "buffers for collectives"),
    CATEGORY(NOTIFICATIONS, "NOTIFY", "notifications and profiler buffers"),
    CATEGORY(DRIVER, "DRIVER", "the driver itself"),
    CATEGORY(UNCATEGORIZED, "UNCATEG", "memory without a category"),
    [NTK_TOP_HBM_OTHER] = { "OTHER", "memory that no application reports", NTK_TOP_AS_BYTES, 8, 0,
                            0 },
};

static const struct ntk_top_columns columns = { items, sizeof items / sizeof *items,
                                                NTK_TOP_HBM_DEVICE };

/* Parts of the bar, in the groups of the first screen. */
static const struct {
    enum ntk_memory_group group; /* NTK_GROUP_COUNT for other memory */
    char letter;                 /* its letter without colours */
    const char *name;
} series[SERIES_COUNT] = {
    { NTK_GROUP_TENSORS, 't', "Tensors" },       { NTK_GROUP_CONSTANTS, 'c', "Constants" },
    { NTK_GROUP_MODEL_CODE, 'm', "Model Code" }, { NTK_GROUP_SCRATCHPAD, 's', "Scratchpad" },
    { NTK_GROUP_RUNTIME, 'r', "Runtime" },       { NTK_GROUP_COUNT, 'o', "Other" },
};

static int head_rows(const struct ntk_top_model *model, int rows, int width)
{
    (void)width;
    return rows >= HEAD_ROWS_GOOD && model->device_count > 0 ? HEAD_ROWS : 0;
}

static void draw_head(const struct ntk_top_model *model, struct ntk_screen *screen, int row,
                      int rows)
{
    struct ntk_top_hbm_sum sum;
    uint64_t bytes[SERIES_COUNT] = { 0 };
    uint64_t total = 0;
    uint64_t whole;
    uint64_t below = 0;
    char used[NTK_TOP_FORMAT_BYTES];
    char capacity[NTK_TOP_FORMAT_BYTES];
    int column = 0;
    int bar;

    (void)rows;
    ntk_top_model_hbm_sum(model, &sum);
    for (int c = 0; c < NTK_TOP_HBM_CATEGORY_COUNT; c++) {
        for (int s = 0; s < SERIES_COUNT; s++) {
            if (series[s].group == ntk_memory_group_of((enum ntk_memory_category)c)) {
                bytes[s] += sum.category[c];
            }
        }
        total += sum.category[c];
    }
    bytes[SERIES_COUNT - 1] = sum.other;
    total += sum.other;

    ntk_screen_format(screen, row, 0, LABEL_CELLS - 1, NTK_STYLE_NORMAL, "%u device%s: %s of %s",
                      sum.device_count, sum.device_count == 1 ? "" : "s",
                      ntk_top_format_bytes(used, sum.used),
                      ntk_top_format_bytes(capacity, sum.capacity));
    bar = screen->columns - LABEL_CELLS;
    whole = sum.capacity.present && sum.capacity.value > total ? sum.capacity.value : total;
    if (sum.used.present && whole > 0) {
        ntk_screen_fill(screen, row, LABEL_CELLS, bar, NTK_STYLE_BAR_EMPTY,
                        screen->has_colour ? '|' : '.');
    }
    for (int s = 0; s < SERIES_COUNT && total > 0; s++) {
        int from = (int)((double)below / (double)whole * bar + 0.5);
        int to = (int)((double)(below + bytes[s]) / (double)whole * bar + 0.5);

        ntk_screen_fill(screen, row, LABEL_CELLS + from, to - from, NTK_STYLE_SERIES + s,
                        screen->has_colour ? '|' : series[s].letter);
        below += bytes[s];
    }
    for (int s = 0; s < SERIES_COUNT; s++) {
        char text[2 * NTK_TOP_FORMAT_BYTES];

        if (bytes[s] == 0) {
            continue;
        }
        (void)snprintf(text, sizeof text, "%s %s", series[s].name,
                       ntk_top_format_bytes(used, (struct ntk_top_bytes){ bytes[s], true }));
        if (column + 2 + (int)strlen(text) > screen->columns) {
            break;
        }
        ntk_screen_format(screen, row + 1, column, 1, NTK_STYLE_SERIES + s, "%c",
                          screen->has_colour ? '|' : series[s].letter);
        column +=
            2 +
            ntk_screen_put(screen, row + 1, column + 2, screen->columns, NTK_STYLE_NORMAL, text) +
            LEGEND_GAP;
    }
    if (total == 0) {
        ntk_screen_put(screen, row + 1, 0, screen->columns, NTK_STYLE_DIM,
                       sum.used.present ? "no memory in use" : "usage unknown");
    }
}

static bool act(struct ntk_top_model *model, int action, int argument)
{
    (void)argument;
    if (action != NTK_TOP_ACTION_TOGGLE_ALL) {
        return false;
    }
    model->hbm_by_core = !model->hbm_by_core;
    ntk_top_model_project_view(model);
    return true;
}

const struct ntk_top_view ntk_top_view_hbm = {
    .columns = &columns,
    .empty = "no device memory is in use",
    .project = ntk_top_model_hbm,
    .act = act,
    .head_rows = head_rows,
    .draw_head = draw_head,
};
