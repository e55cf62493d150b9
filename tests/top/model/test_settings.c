/* SPDX-License-Identifier: MIT */
/* The settings file: values that are read or reported, and a user's file keeps all other lines. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "tests/support/scratch.h"
#include "top/model/model_processes.h"
#include "top/model/settings.h"
#include "top/view/views.h"
#include "tests/support/unit.h"

static int parse(struct ntk_top_settings *settings, const char *text, struct ntk_err *err)
{
    ntk_top_settings_init(settings, ntk_top_views);
    return ntk_top_settings_parse(settings, text, strlen(text), "x.conf", err);
}

static void settings_lines_are_accepted_in_every_common_form(void **state)
{
    struct ntk_top_settings settings;
    struct ntk_err err = { 0 };

    assert_int_equal(parse(&settings, "", &err), 0);
    assert_int_equal(ntk_top_settings_refresh_ns(&settings), UINT64_C(1000000000));
    assert_true(ntk_top_settings_is(&settings, NTK_TOP_SETTING_MOUSE, "on"));
    assert_int_equal(parse(&settings,
                           "# comment = 3\n\n  refresh=250ms\r\n\tmouse =  off \ncolors = light\n"
                           "view = engines\ntree = expanded\ntree = collapsed",
                           &err),
                     0);
    assert_int_equal(ntk_top_settings_refresh_ns(&settings), UINT64_C(250000000));
    assert_true(ntk_top_settings_is(&settings, NTK_TOP_SETTING_MOUSE, "off"));
    assert_true(ntk_top_settings_is(&settings, NTK_TOP_SETTING_COLOURS, "light"));
    assert_true(ntk_top_settings_is(&settings, NTK_TOP_SETTING_VIEW, "engines"));
    assert_true(ntk_top_settings_is(&settings, NTK_TOP_SETTING_TREE, "collapsed"));
}

static void the_first_invalid_line_is_reported_and_valid_lines_apply(void **state)
{
    static const struct {
        const char *text;
        const char *says;
    } rows[] = {
        { "mouse = off\nrefresh = 1ms\n", "x.conf:2: invalid value for refresh '1ms'" },
        { "mouse = off\nrefresh = 2h\nwhat = 1\n", "x.conf:2: invalid value for refresh '2h'" },
        { "\nmouse = off\ncolour = none\n", "x.conf:3: unknown setting 'colour'" },
        { "mouse = off\nnonsense", "x.conf:2: expected 'name = value', not 'nonsense'" },
        { "mouse = off\n= 3", "x.conf:2: expected 'name = value', not '= 3'" },
        { "tree =\nmouse = off", "x.conf:1: invalid value for tree ''" },
        { "mouse = off\nview = nowhere", "x.conf:2: invalid value for view 'nowhere'" },
        { "mouse = off\ntree = aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
          "x.conf:2: invalid value for tree 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'" },
    };
    struct ntk_top_settings settings;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_err err = { 0 };

        assert_int_equal(parse(&settings, rows[i].text, &err), -EINVAL);
        assert_string_equal(err.text, rows[i].says);
        assert_true(ntk_top_settings_is(&settings, NTK_TOP_SETTING_MOUSE, "off"));
        assert_int_equal(ntk_top_settings_refresh_ns(&settings), UINT64_C(1000000000));
    }
}

static void every_saved_setting_is_read_back_unchanged(void **state)
{
    struct ntk_top_settings settings;

    for (int i = 0; i < NTK_TOP_SETTING_COUNT; i++) {
        enum ntk_top_setting id = (enum ntk_top_setting)i;
        char first[NTK_TOP_SETTING_BYTES];
        int steps = 0;

        ntk_top_settings_init(&settings, ntk_top_views);
        memcpy(first, settings.values[i], sizeof first);
        do {
            struct ntk_buf text = { 0 };
            struct ntk_top_settings again;

            ntk_top_settings_step(&settings, id, 1);
            ntk_top_settings_merge(&settings, "", 0, &text);
            assert_int_equal(parse(&again, ntk_buf_text_get(&text), NULL), 0);
            assert_string_equal(again.values[i], settings.values[i]);
            ntk_buf_fini(&text);
            assert_in_range(++steps, 1, 31);
        } while (strcmp(settings.values[i], first) != 0);
        assert_true(steps >= 2);
        ntk_top_settings_step(&settings, id, 1);
        ntk_top_settings_step(&settings, id, -1);
        assert_string_equal(settings.values[i], first);
    }
    /* From a time that is not a choice, a step leads to the neighbouring choices. */
    assert_int_equal(parse(&settings, "refresh = 1500ms", NULL), 0);
    ntk_top_settings_step(&settings, NTK_TOP_SETTING_REFRESH, 1);
    assert_string_equal(settings.values[NTK_TOP_SETTING_REFRESH], "2s");
}

static void merges(const char *old, const char *expected)
{
    struct ntk_top_settings settings;
    struct ntk_buf text = { 0 };

    (void)parse(&settings, old, NULL);
    ntk_top_settings_merge(&settings, old, strlen(old), &text);
    assert_string_equal(ntk_buf_text_get(&text), old); /* nothing was changed */
    ntk_buf_fini(&text);
    ntk_top_settings_step(&settings, NTK_TOP_SETTING_MOUSE, 1);
    ntk_top_settings_merge(&settings, old, strlen(old), &text);
    assert_string_equal(ntk_buf_text_get(&text), expected);
    ntk_buf_fini(&text);
}

static void saving_a_setting_changes_only_its_line(void **state)
{
    merges("", "mouse = off\n");
    merges("refresh = 2s", "refresh = 2s\nmouse = off\n");
    merges("# mine\n\nfuture.thing = 7\n  mouse  =  on  \r\nnonsense\n\ttree=expanded\n",
           "# mine\n\nfuture.thing = 7\n  mouse  =  off  \r\nnonsense\n\ttree=expanded\n");
    merges("mouse = off\nmouse = on", "mouse = off\nmouse = off"); /* the last one counts */
    merges("mouse =\n", "mouse =off\n");
    merges("mouse = sometimes\n", "mouse = off\n");
}

/* A list is stored as differences to the program's default. */
static void columns_and_sort_order_of_a_list_are_saved(void **state)
{
    struct ntk_top_settings settings;
    struct ntk_top_table_choice usual;
    struct ntk_top_table_choice choice;
    struct ntk_buf text = { 0 };

    ntk_top_settings_init(&settings, ntk_top_views);
    usual = ntk_top_settings_list_get(&settings, NTK_TOP_VIEW_PROCESSES);
    ntk_top_settings_list_set(&settings, NTK_TOP_VIEW_PROCESSES, &usual);
    ntk_top_settings_merge(&settings, "", 0, &text);
    assert_int_equal(text.bytes_count, 0); /* nothing was chosen */

    choice = usual;
    choice.hidden ^= UINT32_C(1) << NTK_TOP_PROCESSES_USER | UINT32_C(1) << NTK_TOP_PROCESSES_RSS |
                     UINT32_C(1) << NTK_TOP_PROCESSES_LOST;
    choice.sort_column = NTK_TOP_PROCESSES_ERROR_RATE;
    choice.sort_reversed = true;
    ntk_top_settings_list_set(&settings, NTK_TOP_VIEW_PROCESSES, &choice);
    ntk_top_settings_merge(&settings, "# mine\nprocesses.sort = pid\n", 28, &text);
    assert_string_equal(ntk_buf_text_get(&text), "# mine\nprocesses.sort = err/s reversed\n"
                                                 "processes.columns = -user -rss +lost\n");

    assert_int_equal(parse(&settings, ntk_buf_text_get(&text), NULL), 0);
    struct ntk_top_table_choice again =
        ntk_top_settings_list_get(&settings, NTK_TOP_VIEW_PROCESSES);
    assert_int_equal(again.hidden, choice.hidden);
    assert_int_equal(again.sort_column, choice.sort_column);
    assert_true(again.sort_reversed);
    again = ntk_top_settings_list_get(&settings, NTK_TOP_VIEW_MODELS);
    assert_false(again.sort_reversed); /* every list has its own setting */
    ntk_buf_fini(&text);
}

static void every_column_of_a_list_has_a_unique_name(void **state)
{
    for (int v = 0; v < NTK_TOP_VIEW_COUNT; v++) {
        const struct ntk_top_view *view = ntk_top_views[v];

        for (size_t c = 1; view && view->columns && c < view->columns->count; c++) {
            struct ntk_top_table_choice choice;
            struct ntk_top_table_choice again;
            char text[NTK_TOP_CHOICE_BYTES];

            ntk_top_table_choice_init(view->columns, &choice);
            again = choice;
            choice.hidden ^= UINT32_C(1) << c;
            ntk_top_table_choice_write_columns(view->columns, &choice, text);
            assert_true(ntk_top_table_choice_read_columns(view->columns, text, &again));
            assert_int_equal(again.hidden, choice.hidden);
        }
    }
}

static void an_invalid_column_list_is_reported_and_the_default_used(void **state)
{
    static const struct {
        const char *text;
        const char *says;
    } rows[] = {
        { "processes.columns = +what", "x.conf:1: invalid value for processes.columns '+what'" },
        { "processes.columns = user", "x.conf:1: invalid value for processes.columns 'user'" },
        { "processes.columns = -user -",
          "x.conf:1: invalid value for processes.columns '-user -'" },
        { "processes.columns = -pid", "x.conf:1: invalid value for processes.columns '-pid'" },
        { "processes.sort = up", "x.conf:1: invalid value for processes.sort 'up'" },
        { "processes.sort = pid down", "x.conf:1: invalid value for processes.sort 'pid down'" },
        { "processes.sort = pid reversed x",
          "x.conf:1: invalid value for processes.sort 'pid reversed x'" },
        { "main.columns = -x", "x.conf:1: unknown setting 'main.columns'" },
        { "graphs.sort = x", "x.conf:1: unknown setting 'graphs.sort'" },
    };
    struct ntk_top_settings settings;
    struct ntk_top_table_choice usual;

    ntk_top_settings_init(&settings, ntk_top_views);
    usual = ntk_top_settings_list_get(&settings, NTK_TOP_VIEW_PROCESSES);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_err err = { 0 };
        struct ntk_top_table_choice choice;

        assert_int_equal(parse(&settings, rows[i].text, &err), -EINVAL);
        assert_string_equal(err.text, rows[i].says);
        choice = ntk_top_settings_list_get(&settings, NTK_TOP_VIEW_PROCESSES);
        assert_int_equal(choice.hidden, usual.hidden);
        assert_int_equal(choice.sort_column, usual.sort_column);
        assert_false(choice.sort_reversed);
    }
}

/* The file itself: created with its folders; a link stays a link; an unreadable path is reported
 * and changes nothing. */
static void a_settings_file_is_created_with_folders_and_links_are_kept(void **state)
{
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "a/b/neuron-top.conf");
    char *link = test_scratch_path(folder, "link.conf");
    struct ntk_top_settings settings;
    struct ntk_err err = { 0 };
    struct stat status;
    uint8_t *bytes = NULL;
    size_t count = 0;

    ntk_top_settings_init(&settings, ntk_top_views);
    ntk_str_copy(settings.path, sizeof settings.path, path);
    assert_int_equal(ntk_top_settings_load(&settings, "x.conf", &err),
                     0); /* a missing file counts as empty */
    assert_int_equal(ntk_top_settings_save(&settings, &err), 0);
    assert_int_equal(stat(path, &status), -1); /* nothing to store */
    ntk_top_settings_step(&settings, NTK_TOP_SETTING_MOUSE, 1);
    assert_int_equal(ntk_top_settings_save(&settings, &err), 0);

    assert_int_equal(symlink(path, link), 0);
    ntk_str_copy(settings.path, sizeof settings.path, link);
    ntk_top_settings_step(&settings, NTK_TOP_SETTING_VALUES, 1);
    assert_int_equal(ntk_fs_write(path, "x.y = 1\nmouse = on\n", 19, &err), 0); /* by another */
    assert_int_equal(ntk_top_settings_save(&settings, &err), 0);
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(ntk_fs_read(path, 1000, &bytes, &count, &err), 0);
    assert_string_equal((const char *)bytes, "x.y = 1\nmouse = on\nvalues = flops\n");
    free(bytes);

    ntk_str_copy(settings.path, sizeof settings.path, "/proc/none/neuron-top.conf");
    ntk_top_settings_step(&settings, NTK_TOP_SETTING_MOUSE, 1);
    assert_true(ntk_top_settings_save(&settings, &err) < 0);
    assert_non_null(strstr(err.text, "/proc/none"));
    settings.path[0] = '\0';
    assert_true(ntk_top_settings_save(&settings, &err) < 0);
    ntk_str_copy(settings.path, sizeof settings.path, folder); /* a folder */
    assert_true(ntk_top_settings_load(&settings, "x.conf", &err) < 0);
    assert_true(ntk_top_settings_save(&settings, &err) < 0);
    free(path);
    free(link);
    test_scratch_destroy(folder);
}

static void the_settings_path_follows_the_xdg_rules(void **state)
{
    char path[64];

    setenv("HOME", "/home/u", 1);
    setenv("XDG_CONFIG_HOME", "/c", 1);
    ntk_top_settings_find_path(path, sizeof path);
    assert_string_equal(path, "/c/neuron-toolkit/neuron-top.conf");
    setenv("XDG_CONFIG_HOME", "relative", 1);
    ntk_top_settings_find_path(path, sizeof path);
    assert_string_equal(path, "/home/u/.config/neuron-toolkit/neuron-top.conf");
    unsetenv("XDG_CONFIG_HOME");
    ntk_top_settings_find_path(path, sizeof path);
    assert_string_equal(path, "/home/u/.config/neuron-toolkit/neuron-top.conf");
    ntk_top_settings_find_path(path, 20);
    assert_string_equal(path, "");
    unsetenv("HOME");
    ntk_top_settings_find_path(path, sizeof path);
    assert_string_equal(path, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_lines_are_accepted_in_every_common_form),
        cmocka_unit_test(the_first_invalid_line_is_reported_and_valid_lines_apply),
        cmocka_unit_test(every_saved_setting_is_read_back_unchanged),
        cmocka_unit_test(saving_a_setting_changes_only_its_line),
        cmocka_unit_test(columns_and_sort_order_of_a_list_are_saved),
        cmocka_unit_test(every_column_of_a_list_has_a_unique_name),
        cmocka_unit_test(an_invalid_column_list_is_reported_and_the_default_used),
        cmocka_unit_test(a_settings_file_is_created_with_folders_and_links_are_kept),
        cmocka_unit_test(the_settings_path_follows_the_xdg_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
