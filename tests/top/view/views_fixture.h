/* SPDX-License-Identifier: MIT */
/*
 * views_fixture - a view of a scene, keys pressed in it, and its screen as text:
 * golden/<view>_<scene>_<columns>x<rows>.txt.
 */
#ifndef NTK_TESTS_TOP_VIEWS_FIXTURE_H
#define NTK_TESTS_TOP_VIEWS_FIXTURE_H

#include "tests/top/scene.h"
#include "top/view/views.h"

#define ONE_MACHINE_COUNT NTK_TOP_VIEW_HOSTS /* the last view is for several machines */

struct ntk_top_model *open_view(const struct scene *scene, enum ntk_top_view_id view);
void press(struct ntk_top_model *model, int key);
void type(struct ntk_top_model *model, const char *text);
void golden(struct ntk_top_model *model, int columns, int rows, const char *what);

#endif
