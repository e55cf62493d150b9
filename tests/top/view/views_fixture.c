/* SPDX-License-Identifier: MIT */
/* views_fixture - a view of a scene, keys pressed in it, and its screen as text. */
#include "tests/top/view/views_fixture.h"

#include <stdio.h>

#include "tests/support/unit.h"
#include "top/view/view.h"

struct ntk_top_model *open_view(const struct scene *scene, enum ntk_top_view_id view)
{
    struct ntk_top_model *model = scene_model(scene);

    ntk_top_model_set_view(model, view);
    return model;
}

void press(struct ntk_top_model *model, int key)
{
    int argument = 0;
    enum ntk_top_action action;

    if (!ntk_top_model_key(model, key)) {
        action = ntk_top_keys_find(key, &argument);
        ntk_top_model_act(model, action, argument);
    }
}

void type(struct ntk_top_model *model, const char *text)
{
    for (; *text; text++) {
        press(model, *text);
    }
}

void golden(struct ntk_top_model *model, int columns, int rows, const char *what)
{
    char name[128];

    (void)snprintf(name, sizeof name, "%s_%s_%dx%d", ntk_top_views_text_get(model->view)->name,
                   what, columns, rows);
    scene_assert_screen(model, rows, columns, true, name);
}
