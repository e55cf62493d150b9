/* SPDX-License-Identifier: MIT */
/*
 * view_summary - draws memory of the tab by purpose, for host and device.
 *
 * A wide screen shows "Name: value" cells like the vendor's tool; a narrower one the same numbers
 * as a table with titles in the heading bar.
 */
#include <stdio.h>

#include "top/base/format.h"
#include "top/view/view.h"

#define TOTAL NTK_TOP_GROUP_COUNT /* the total in the tables below */
#define NONE (-1)

#define WIDE_CELLS 6

static const struct {
    int group;
    const char *name;
} wide[2][WIDE_CELLS] = {
    { { TOTAL, "Total" },
      { NTK_TOP_GROUP_TENSORS, "Tensors" },
      { NTK_TOP_GROUP_CONSTANTS, "Constants" },
      { NTK_TOP_GROUP_DMA_BUFFERS, "DMA Buffers" },
      { NTK_TOP_GROUP_APP_MEMORY, "App. Memory" },
      { NONE, "" } },
    { { TOTAL, "Total" },
      { NTK_TOP_GROUP_TENSORS, "Tensors" },
      { NTK_TOP_GROUP_CONSTANTS, "Constants" },
      { NTK_TOP_GROUP_MODEL_CODE, "Model Code" },
      { NTK_TOP_GROUP_RUNTIME_MEMORY, "Runtime Memory" },
      { NTK_TOP_GROUP_SCRATCHPAD, "Model Scratchpad" } },
};

/* Maximum width of a column, label first: "Runtime Memory: 1023.9MB" and two blanks. */
static const int wide_widths[1 + WIDE_CELLS] = { 20, 16, 18, 20, 22, 26, 25 };
#define WIDE_MIN (20 + 16 + 18 + 20 + 22 + 26 + 25)
#define WIDE_EQUAL (26 * (1 + WIDE_CELLS)) /* width from which all columns are equal */

static const struct {
    int group;
    bool is_host, is_device;
    const char *name;
    const char *short_name;
} table[] = {
    { TOTAL, true, true, "Total", "Total" },
    { NTK_TOP_GROUP_TENSORS, true, true, "Tensors", "Tensors" },
    { NTK_TOP_GROUP_CONSTANTS, true, true, "Constants", "Const." },
    { NTK_TOP_GROUP_DMA_BUFFERS, true, false, "DMA Buffers", "DMA Buf." },
    { NTK_TOP_GROUP_APP_MEMORY, true, false, "App. Memory", "App.Mem." },
    { NTK_TOP_GROUP_MODEL_CODE, false, true, "Model Code", "Code" },
    { NTK_TOP_GROUP_RUNTIME_MEMORY, false, true, "Runtime Mem.", "Runtime" },
    { NTK_TOP_GROUP_SCRATCHPAD, false, true, "Scratchpad", "Scratch" },
};

#define TABLE_COLUMNS ((int)(sizeof table / sizeof *table))
#define TABLE_LABEL 7
#define TABLE_CELL_NAMES 13 /* width from which the long names fit */

static struct ntk_top_bytes value_of(const struct ntk_top_memory *memory, bool is_host, int group)
{
    if (group == TOTAL) {
        return is_host ? memory->host_total : memory->device_total;
    }
    return is_host ? memory->host[group] : memory->device[group];
}

static void draw_wide(const struct ntk_top_model *model, struct ntk_screen *screen, int row)
{
    int spare = (screen->columns - WIDE_MIN) / (1 + WIDE_CELLS);
    bool is_equal = screen->columns >= WIDE_EQUAL;

    ntk_top_view_heading(screen, row, "Memory Usage Summary");
    for (int line = 0; line < 2; line++) {
        int column = 0;

        ntk_screen_put(screen, row + 1 + line, column, wide_widths[0], NTK_STYLE_NORMAL,
                       line == 0 ? "Host Used Memory" : "Device Used Memory");
        column += wide_widths[0] + spare;
        for (int i = 0; i < WIDE_CELLS && wide[line][i].group != NONE; i++) {
            int width = is_equal ? screen->columns / (1 + WIDE_CELLS) : wide_widths[1 + i] + spare;
            char text[NTK_TOP_FORMAT_BYTES];
            int used;

            if (is_equal) {
                column = (1 + i) * screen->columns / (1 + WIDE_CELLS);
            }
            used = ntk_screen_format(screen, row + 1 + line, column, width, NTK_STYLE_NORMAL,
                                     "%s: ", wide[line][i].name);

            ntk_top_format_bytes(text, value_of(&model->memory, line == 0, wide[line][i].group));
            ntk_screen_put(screen, row + 1 + line, column + used, width - used, NTK_STYLE_VALUE,
                           text);
            column += width;
        }
    }
}

static void draw_table(const struct ntk_top_model *model, struct ntk_screen *screen, int row)
{
    int cell = (screen->columns - TABLE_LABEL) / TABLE_COLUMNS;
    int shown = TABLE_COLUMNS;
    int column;

    /* If narrower than "1023.9MB" and a blank, the last columns are dropped. */
    if (cell < 9) {
        cell = 9;
        shown = (screen->columns - TABLE_LABEL) / cell;
    }
    ntk_top_view_heading(screen, row, "Memory");
    ntk_screen_put(screen, row + 1, 0, TABLE_LABEL, NTK_STYLE_NORMAL, "Host");
    ntk_screen_put(screen, row + 2, 0, TABLE_LABEL, NTK_STYLE_NORMAL, "Device");
    column = TABLE_LABEL;
    for (int i = 0; i < shown; i++) {
        const char *name = cell >= TABLE_CELL_NAMES ? table[i].name : table[i].short_name;
        char text[NTK_TOP_FORMAT_BYTES];

        ntk_screen_put_right(screen, row, column, cell, NTK_STYLE_HEADING, name);
        if (table[i].is_host) {
            ntk_top_format_bytes(text, value_of(&model->memory, true, table[i].group));
            ntk_screen_put_right(screen, row + 1, column, cell, NTK_STYLE_VALUE, text);
        }
        if (table[i].is_device) {
            ntk_top_format_bytes(text, value_of(&model->memory, false, table[i].group));
            ntk_screen_put_right(screen, row + 2, column, cell, NTK_STYLE_VALUE, text);
        }
        column += cell;
    }
}

void ntk_top_view_summary(const struct ntk_top_model *model, struct ntk_screen *screen, int row)
{
    if (screen->columns >= WIDE_MIN) {
        draw_wide(model, screen, row);
    } else {
        draw_table(model, screen, row);
    }
}
