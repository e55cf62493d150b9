/* SPDX-License-Identifier: MIT */
/*
 * view_overview_line - draws the first line of the overview: figures of the machine. With one
 * application selected, its figures come first, after its name, and those of the machine follow
 * after the word "machine".
 */
#include "top/view/view_overview.h"

#include <stdio.h>
#include <string.h>

#include "top/base/format.h"
#include "top/model/model_hbm.h"
#include "top/model/model_processes.h"
#include "top/view/view.h"

#define TAG_CELLS 20
/* With fewer columns, the machine's health has their place. */
#define TERAFLOPS_COLUMNS_MIN 100
#define HOST_MEMORY_COLUMNS_MIN 120

struct line {
    struct ntk_screen *screen;
    int row;
    int column;
    char owner[TAG_CELLS + 3]; /* written before the first part, such as "7286: "; then "" */
};

/* Draws a label and its value, if both fit. */
static void put_part(struct line *line, const char *label, int style, const char *value)
{
    struct ntk_screen *screen = line->screen;
    int cells = ntk_screen_width(screen, line->owner) + ntk_screen_width(screen, label) +
                ntk_screen_width(screen, value);
    int gap = line->column > 0 ? 3 : 0;

    if (line->column + gap + cells > screen->columns) {
        return;
    }
    line->column += gap;
    line->column +=
        ntk_screen_put(screen, line->row, line->column, cells, NTK_STYLE_HEADING, line->owner);
    line->column += ntk_screen_put(screen, line->row, line->column, cells, NTK_STYLE_NORMAL, label);
    line->column += ntk_screen_put(screen, line->row, line->column, cells, style, value);
    line->owner[0] = '\0';
}

static void put_percent(struct line *line, const char *label, struct ntk_top_number percent)
{
    char text[NTK_TOP_FORMAT_BYTES];

    ntk_top_format_percent_short(text, 6, percent);
    put_part(line, label, NTK_STYLE_VALUE, text + strspn(text, " "));
}

static void put_health(const struct ntk_top_model *model, struct line *line)
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
        put_part(line, "health ", NTK_STYLE_ERROR, text);
    } else if (judged < model->device_count || count[NTK_HEALTH_UNKNOWN] > 0) {
        (void)snprintf(text, sizeof text, "%u of %u unknown",
                       model->device_count - count[NTK_HEALTH_HEALTHY], model->device_count);
        put_part(line, "health ", NTK_STYLE_DIM, text);
    } else if (judged > 0) {
        put_part(line, "health ", NTK_STYLE_VALUE, "good");
    }
}

/* has_capacity: false for an application, because the capacity is the machine's. */
static void put_memory(const struct ntk_top_model *model, struct line *line, bool has_capacity)
{
    struct ntk_top_hbm_sum sum;
    char used[NTK_TOP_FORMAT_BYTES];
    char capacity[NTK_TOP_FORMAT_BYTES];
    char text[2 * NTK_TOP_FORMAT_BYTES + 4];

    ntk_top_model_hbm_sum(model, &sum);
    has_capacity = has_capacity && sum.capacity.present;
    ntk_top_format_bytes(used, sum.used);
    ntk_top_format_bytes(capacity, sum.capacity);
    (void)snprintf(text, sizeof text, "%s%s%s", used, has_capacity ? " of " : "",
                   has_capacity ? capacity : "");
    put_part(line, ntk_top_view_label(line->screen, "HBM "), NTK_STYLE_VALUE, text);
}

static void put_host_memory(const struct ntk_top_model *model, struct line *line)
{
    char text[NTK_TOP_FORMAT_BYTES];

    if (model->memory.host_total.present) {
        put_part(line, "host memory ", NTK_STYLE_VALUE,
                 ntk_top_format_bytes(text, model->memory.host_total));
    }
}

static void put_teraflops(const struct ntk_top_model *model, struct line *line)
{
    char text[NTK_TOP_FORMAT_BYTES];

    if (model->teraflops_total.present) {
        ntk_top_format_teraflops(text, model->teraflops_total);
        put_part(line, "", NTK_STYLE_VALUE, text + strspn(text, " "));
    }
}

static struct ntk_top_number cpu_sum(const struct ntk_top_vcpu *cpu)
{
    return (struct ntk_top_number){ cpu->user_percent.value + cpu->system_percent.value,
                                    cpu->user_percent.present && cpu->system_percent.present,
                                    false };
}

/* Draws the parts that only the machine has. */
static void put_machine(const struct ntk_top_model *model, struct line *line)
{
    char text[NTK_TOP_FORMAT_BYTES];

    put_health(model, line);
    put_percent(line, "CPU ", cpu_sum(&model->system_vcpu));
    (void)snprintf(text, sizeof text, "%zu", model->snapshot ? model->snapshot->runtime_count : 0);
    put_part(line, "processes ", NTK_STYLE_VALUE, text);
}

static void draw_all(const struct ntk_top_model *model, struct line *line)
{
    put_percent(line, "busy ", model->busy_percent_mean);
    put_memory(model, line, true);
    put_machine(model, line);
    put_teraflops(model, line);
    put_host_memory(model, line);
}

static void draw_application(const struct ntk_top_model *model, struct line *line,
                             const struct ntk_runtime_sample *runtime)
{
    (void)snprintf(line->owner, sizeof line->owner, "%.*s: ", TAG_CELLS,
                   ntk_top_model_tab_get(model)->tag);
    put_percent(line, "busy ", ntk_top_model_processes_busy(model, runtime));
    put_memory(model, line, false);
    put_percent(line, "CPU ", cpu_sum(&model->runtime_vcpu));
    if (line->screen->columns >= TERAFLOPS_COLUMNS_MIN) {
        put_teraflops(model, line);
    }
    if (line->screen->columns >= HOST_MEMORY_COLUMNS_MIN) {
        put_host_memory(model, line);
    }
    (void)snprintf(line->owner, sizeof line->owner, "machine: ");
    put_machine(model, line);
}

void ntk_top_view_overview_line(const struct ntk_top_model *model, struct ntk_screen *screen,
                                int row)
{
    const struct ntk_runtime_sample *application = ntk_top_model_tab_runtime(model);
    struct line line = { .screen = screen, .row = row };

    if (application) {
        draw_application(model, &line, application);
    } else {
        draw_all(model, &line);
    }
}
