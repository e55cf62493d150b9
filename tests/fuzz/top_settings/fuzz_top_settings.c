/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a settings file: its valid part is read, and a change is written into it. The new
 * file contains the change and is otherwise equivalent to the old one; without a change not a byte
 * differs.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "top/model/settings.h"
#include "top/view/views.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good)
{
    if (!good) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_top_settings before;
    struct ntk_top_settings after;
    struct ntk_buf same = { 0 };
    struct ntk_buf text = { 0 };
    struct ntk_err err = { 0 };
    int id = size > 0 ? data[0] % NTK_TOP_SETTING_COUNT : 0;

    ntk_top_settings_init(&before, ntk_top_views);
    int ret = ntk_top_settings_parse(&before, (const char *)data, size, "file", &err);
    must(ret == 0 || err.text[0]);
    ntk_top_settings_merge(&before, (const char *)data, size, &same);
    must(same.bytes_count == size && (size == 0 || memcmp(same.bytes, data, size) == 0));

    ntk_top_settings_step(&before, (enum ntk_top_setting)id, size % 2 ? 1 : -1);
    struct ntk_top_table_choice choice = ntk_top_settings_list_get(&before, NTK_TOP_VIEW_PROCESSES);
    choice.hidden ^= 1u << (1 + size % 8);
    choice.sort_reversed = !choice.sort_reversed;
    ntk_top_settings_list_set(&before, NTK_TOP_VIEW_PROCESSES, &choice);
    ntk_top_settings_merge(&before, (const char *)data, size, &text);
    ntk_top_settings_init(&after, ntk_top_views);
    (void)ntk_top_settings_parse(&after, ntk_buf_text_get(&text), text.bytes_count, "file", NULL);
    for (int i = 0; i < NTK_TOP_SETTING_COUNT; i++) {
        must(strcmp(before.values[i], after.values[i]) == 0);
    }
    struct ntk_top_table_choice again = ntk_top_settings_list_get(&after, NTK_TOP_VIEW_PROCESSES);
    must(again.hidden == choice.hidden && again.sort_column == choice.sort_column &&
         again.sort_reversed == choice.sort_reversed);
    ntk_buf_fini(&same);
    ntk_buf_fini(&text);
    return 0;
}
