/* SPDX-License-Identifier: MIT */
/* view_vcpu - draws two bars: the whole machine, and the applications of the tab; user, then system
 * time. */
#include <stdio.h>

#include "top/base/format.h"
#include "top/view/view.h"

#define LABEL_WIDTH 19
#define VALUE_WIDTH 15 /* such as "[ 0.72%, 9.13%]" */

static void draw_row(struct ntk_screen *screen, int row, const char *label,
                     const struct ntk_top_vcpu *vcpu)
{
    int width = screen->columns - LABEL_WIDTH - VALUE_WIDTH;
    char user[NTK_TOP_FORMAT_BYTES];
    char system[NTK_TOP_FORMAT_BYTES];

    ntk_screen_put(screen, row, 0, LABEL_WIDTH, NTK_STYLE_NORMAL, label);
    ntk_top_view_bar(screen, row, LABEL_WIDTH, width, vcpu->user_percent, vcpu->system_percent, 0);
    ntk_screen_format(screen, row, LABEL_WIDTH + width, VALUE_WIDTH, NTK_STYLE_NORMAL, "[%s,%s]",
                      ntk_top_format_percent(user, vcpu->user_percent),
                      ntk_top_format_percent(system, vcpu->system_percent));
}

void ntk_top_view_vcpu(const struct ntk_top_model *model, struct ntk_screen *screen, int row)
{
    ntk_top_view_heading(screen, row, "vCPU Utilization");
    draw_row(screen, row + 1, "System vCPU Usage", &model->system_vcpu);
    draw_row(screen, row + 2, "Runtime vCPU Usage", &model->runtime_vcpu);
}
