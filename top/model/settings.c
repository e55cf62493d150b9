/* SPDX-License-Identifier: MIT */
/* settings - reads and writes the file of the user's preferences, line by line. */
#include "top/model/settings.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "shared/base/str.h"

#define FILE_NAME "neuron-toolkit/neuron-top.conf"
#define CHOICES_MAX 32

static const struct {
    const char *name;
    const char *value;
    const char *choices; /* NULL for the names of the views */
    const char *help;
} rows[NTK_TOP_SETTING_COUNT] = {
#define NTK_TOP_SETTING(id, name, value, choices, help) { name, value, choices, help },
#include "top/model/settings.def"
};

static const char *const list_names[NTK_TOP_LIST_SETTING_COUNT] = {
    [NTK_TOP_LIST_COLUMNS] = "columns",
    [NTK_TOP_LIST_SORT] = "sort",
};

struct span {
    const char *text;
    size_t bytes;
};

/* ---- settings by number: those of the page, then of each view those of its list ---- */

#define NAME_BYTES 40

static const struct ntk_top_columns *columns_of(const struct ntk_top_settings *settings,
                                                enum ntk_top_view_id view)
{
    const struct ntk_top_view *found = settings->views[view];

    return found ? found->columns : NULL;
}

static enum ntk_top_view_id view_at(size_t id)
{
    return (enum ntk_top_view_id)((id - NTK_TOP_SETTING_COUNT) / NTK_TOP_LIST_SETTING_COUNT);
}

static enum ntk_top_list_setting list_at(size_t id)
{
    return (enum ntk_top_list_setting)((id - NTK_TOP_SETTING_COUNT) % NTK_TOP_LIST_SETTING_COUNT);
}

static size_t id_of_list(enum ntk_top_view_id view, enum ntk_top_list_setting list)
{
    return NTK_TOP_SETTING_COUNT + (size_t)view * NTK_TOP_LIST_SETTING_COUNT + list;
}

/* Returns "" for the list of a view without one. */
static void name_at(const struct ntk_top_settings *settings, size_t id, char out[NAME_BYTES])
{
    if (id < NTK_TOP_SETTING_COUNT) {
        ntk_str_copy(out, NAME_BYTES, rows[id].name);
    } else {
        (void)snprintf(out, NAME_BYTES, "%s.%s", ntk_top_views_text_get(view_at(id))->name,
                       list_names[list_at(id)]);
        if (!columns_of(settings, view_at(id))) {
            out[0] = '\0';
        }
    }
}

static char *value_at(struct ntk_top_settings *settings, size_t id, size_t *out_bytes)
{
    if (id < NTK_TOP_SETTING_COUNT) {
        *out_bytes = sizeof settings->values[id];
        return settings->values[id];
    }
    *out_bytes = sizeof settings->lists[view_at(id)][list_at(id)];
    return settings->lists[view_at(id)][list_at(id)];
}

/* ---- choices ---- */

/* Returns the choice with that number; false after the last. */
static bool choice_at(enum ntk_top_setting id, size_t index, char *out)
{
    const char *at = rows[id].choices;

    if (!at) {
        if (index < NTK_TOP_VIEW_COUNT) {
            ntk_str_copy(out, NTK_TOP_SETTING_BYTES,
                         ntk_top_views_text_get((enum ntk_top_view_id)index)->name);
        }
        return index < NTK_TOP_VIEW_COUNT;
    }
    for (; index > 0 && *at; index--) {
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    if (!*at) {
        return false;
    }
    (void)snprintf(out, NTK_TOP_SETTING_BYTES, "%.*s", (int)strcspn(at, " "), at);
    return true;
}

static bool is_good_list(const struct ntk_top_settings *settings, size_t id, const char *value)
{
    const struct ntk_top_columns *columns = columns_of(settings, view_at(id));
    struct ntk_top_table_choice choice;

    ntk_top_table_choice_init(columns, &choice);
    return list_at(id) == NTK_TOP_LIST_COLUMNS
               ? ntk_top_table_choice_read_columns(columns, value, &choice)
               : ntk_top_table_choice_read_sort(columns, value, &choice);
}

static bool is_good(const struct ntk_top_settings *settings, size_t number, const char *value)
{
    enum ntk_top_setting id = (enum ntk_top_setting)number;
    char choice[NTK_TOP_SETTING_BYTES];
    uint64_t ns;

    if (number >= NTK_TOP_SETTING_COUNT) {
        return is_good_list(settings, number, value);
    }
    if (id == NTK_TOP_SETTING_REFRESH) {
        return ntk_str_parse_duration_ns(value, &ns) == 0 && ns >= NTK_TOP_DELAY_MIN_NS &&
               ns <= NTK_TOP_DELAY_MAX_NS;
    }
    for (size_t i = 0; choice_at(id, i, choice); i++) {
        if (strcmp(choice, value) == 0) {
            return true;
        }
    }
    return false;
}

void ntk_top_settings_step(struct ntk_top_settings *settings, enum ntk_top_setting id, int step)
{
    char choices[CHOICES_MAX][NTK_TOP_SETTING_BYTES];
    size_t count = 0;
    size_t now = 0;
    uint64_t value_ns = 0;

    while (count < CHOICES_MAX && choice_at(id, count, choices[count])) {
        uint64_t ns = 0;

        /* For a time in the file that is not a choice, use the choice below it. */
        (void)ntk_str_parse_duration_ns(settings->values[id], &value_ns);
        (void)ntk_str_parse_duration_ns(choices[count], &ns);
        if (strcmp(choices[count], settings->values[id]) == 0 ||
            (id == NTK_TOP_SETTING_REFRESH && ns <= value_ns)) {
            now = count;
        }
        count++;
    }
    assert(count > 0);
    now = (step < 0 ? now + count - 1 : now + 1) % count;
    ntk_str_copy(settings->values[id], sizeof settings->values[id], choices[now]);
    settings->changed[id] = true;
    settings->generation++;
}

bool ntk_top_settings_is(const struct ntk_top_settings *settings, enum ntk_top_setting id,
                         const char *choice)
{
    return strcmp(settings->values[id], choice) == 0;
}

uint64_t ntk_top_settings_refresh_ns(const struct ntk_top_settings *settings)
{
    uint64_t ns = 0;

    (void)ntk_str_parse_duration_ns(settings->values[NTK_TOP_SETTING_REFRESH], &ns);
    return ns;
}

struct ntk_top_table_choice ntk_top_settings_list_get(const struct ntk_top_settings *settings,
                                                      enum ntk_top_view_id view)
{
    const struct ntk_top_columns *columns = columns_of(settings, view);
    struct ntk_top_table_choice choice;

    ntk_top_table_choice_init(columns, &choice);
    (void)ntk_top_table_choice_read_columns(columns, settings->lists[view][NTK_TOP_LIST_COLUMNS],
                                            &choice);
    (void)ntk_top_table_choice_read_sort(columns, settings->lists[view][NTK_TOP_LIST_SORT],
                                         &choice);
    return choice;
}

void ntk_top_settings_list_set(struct ntk_top_settings *settings, enum ntk_top_view_id view,
                               const struct ntk_top_table_choice *choice)
{
    const struct ntk_top_columns *columns = columns_of(settings, view);
    struct ntk_top_table_choice kept = ntk_top_settings_list_get(settings, view);

    if (kept.hidden != choice->hidden) {
        ntk_top_table_choice_write_columns(columns, choice,
                                           settings->lists[view][NTK_TOP_LIST_COLUMNS]);
        settings->changed[id_of_list(view, NTK_TOP_LIST_COLUMNS)] = true;
    }
    if (kept.sort_column != choice->sort_column || kept.sort_reversed != choice->sort_reversed) {
        ntk_top_table_choice_write_sort(columns, choice, settings->lists[view][NTK_TOP_LIST_SORT]);
        settings->changed[id_of_list(view, NTK_TOP_LIST_SORT)] = true;
    }
}

const char *ntk_top_settings_name(enum ntk_top_setting id)
{
    return rows[id].name;
}

const char *ntk_top_settings_help(enum ntk_top_setting id)
{
    return rows[id].help;
}

/* ---- lines ---- */

static struct span trimmed(struct span span)
{
    while (span.bytes > 0 && strchr(" \t\r", span.text[0]) && span.text[0]) {
        span.text++;
        span.bytes--;
    }
    while (span.bytes > 0 && strchr(" \t\r", span.text[span.bytes - 1]) &&
           span.text[span.bytes - 1]) {
        span.bytes--;
    }
    return span;
}

/* Takes the next line without its line feed; returns false at the end of the text. */
static bool line_take(struct span *rest, struct span *out_line)
{
    const char *end;

    if (rest->bytes == 0) {
        return false;
    }
    end = memchr(rest->text, '\n', rest->bytes);
    *out_line = (struct span){ rest->text, end ? (size_t)(end - rest->text) : rest->bytes };
    rest->bytes -= out_line->bytes + (end ? 1 : 0);
    rest->text += out_line->bytes + (end ? 1 : 0);
    return true;
}

enum line_kind {
    LINE_EMPTY, /* also a comment */
    LINE_GOOD,
    LINE_UNKNOWN, /* no setting has the name */
    LINE_BAD,
};

/* Parses a line; name and value have no surrounding blanks. */
static enum line_kind line_read(const struct ntk_top_settings *settings, struct span line,
                                struct span *out_name, struct span *out_value, size_t *out_id)
{
    const char *equals;

    line = trimmed(line);
    if (line.bytes == 0 || line.text[0] == '#') {
        return LINE_EMPTY;
    }
    equals = memchr(line.text, '=', line.bytes);
    if (!equals || equals == line.text) {
        return LINE_BAD;
    }
    *out_name = trimmed((struct span){ line.text, (size_t)(equals - line.text) });
    *out_value =
        trimmed((struct span){ equals + 1, line.bytes - (size_t)(equals + 1 - line.text) });
    for (size_t i = 0; i < NTK_TOP_SETTINGS_ALL; i++) {
        char name[NAME_BYTES];

        name_at(settings, i, name);
        if (name[0] && out_name->bytes == strlen(name) &&
            memcmp(out_name->text, name, out_name->bytes) == 0) {
            *out_id = i;
            return LINE_GOOD;
        }
    }
    return LINE_UNKNOWN;
}

/* Keeps the first message. */
static int complain(int ret, const char *name, unsigned int line, const char *what,
                    struct span object, struct ntk_err *err)
{
    char text[64];

    if (ret == 0) {
        ntk_str_copy_clean(text, sizeof text, object.text, object.bytes);
        (void)ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s:%u: %s '%s'", name, line, what,
                          text);
    }
    return -EINVAL;
}

int ntk_top_settings_parse(struct ntk_top_settings *settings, const char *text, size_t bytes,
                           const char *name, struct ntk_err *err)
{
    struct span rest = { text, bytes };
    struct span line;
    unsigned int number = 0;
    int ret = 0;

    while (line_take(&rest, &line)) {
        struct span key;
        struct span value;
        size_t id;
        char choice[NTK_TOP_CHOICE_BYTES];

        number++;
        switch (line_read(settings, line, &key, &value, &id)) {
        case LINE_EMPTY:
            break;
        case LINE_BAD:
            ret = complain(ret, name, number, "expected 'name = value', not", line, err);
            break;
        case LINE_UNKNOWN:
            ret = complain(ret, name, number, "unknown setting", key, err);
            break;
        case LINE_GOOD: {
            char what[64] = "";
            char setting[NAME_BYTES];
            size_t room;
            char *to = value_at(settings, id, &room);

            if (value.bytes < room && !memchr(value.text, '\0', value.bytes)) {
                memcpy(choice, value.text, value.bytes);
                choice[value.bytes] = '\0';
                if (is_good(settings, id, choice)) {
                    memcpy(to, choice, value.bytes + 1);
                    break;
                }
            }
            name_at(settings, id, setting);
            (void)snprintf(what, sizeof what, "invalid value for %s", setting);
            ret = complain(ret, name, number, what, value, err);
            break;
        }
        }
    }
    return ret;
}

/* Returns true for the last line with a name, because the last one is used. */
static bool is_last(const struct ntk_top_settings *settings, struct span rest, size_t id)
{
    struct span line;
    struct span name;
    struct span value;
    size_t other;

    while (line_take(&rest, &line)) {
        if (line_read(settings, line, &name, &value, &other) == LINE_GOOD && other == id) {
            return false;
        }
    }
    return true;
}

void ntk_top_settings_merge(struct ntk_top_settings *settings, const char *old, size_t old_bytes,
                            struct ntk_buf *out)
{
    bool written[NTK_TOP_SETTINGS_ALL] = { false };
    struct span rest = { old, old_bytes };
    struct span line;

    while (line_take(&rest, &line)) {
        struct span name;
        struct span value;
        size_t id;
        size_t room;
        bool has_end = line.text + line.bytes < old + old_bytes;

        if (line_read(settings, line, &name, &value, &id) == LINE_GOOD && settings->changed[id] &&
            is_last(settings, rest, id)) {
            ntk_buf_add(out, line.text, (size_t)(value.text - line.text));
            ntk_buf_add_text(out, value_at(settings, id, &room));
            ntk_buf_add(out, value.text + value.bytes,
                        (size_t)(line.text + line.bytes - value.text - value.bytes));
            written[id] = true;
        } else {
            ntk_buf_add(out, line.text, line.bytes);
        }
        if (has_end || rest.bytes > 0) {
            ntk_buf_add_char(out, '\n');
        }
    }
    for (size_t i = 0; i < NTK_TOP_SETTINGS_ALL; i++) {
        if (settings->changed[i] && !written[i]) {
            char name[NAME_BYTES];
            size_t room;

            name_at(settings, i, name);
            if (out->bytes_count > 0 && out->bytes[out->bytes_count - 1] != '\n') {
                ntk_buf_add_char(out, '\n');
            }
            ntk_buf_add_format(out, "%s = %s\n", name, value_at(settings, i, &room));
        }
    }
}

/* ---- the file ---- */

void ntk_top_settings_init(struct ntk_top_settings *settings,
                           const struct ntk_top_view *const *views)
{
    memset(settings, 0, sizeof *settings);
    settings->views = views;
    for (int i = 0; i < NTK_TOP_SETTING_COUNT; i++) {
        ntk_str_copy(settings->values[i], sizeof settings->values[i], rows[i].value);
    }
}

void ntk_top_settings_find_path(char *path, size_t path_bytes)
{
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    int length = -1;

    if (config && config[0] == '/') { /* the specification requires that others are ignored */
        length = snprintf(path, path_bytes, "%s/" FILE_NAME, config);
    } else if (home && home[0] == '/') {
        length = snprintf(path, path_bytes, "%s/.config/" FILE_NAME, home);
    }
    if (length < 0 || (size_t)length >= path_bytes) {
        path[0] = '\0';
    }
}

static int read_file(const char *path, uint8_t **out_bytes, size_t *out_count, struct ntk_err *err)
{
    int ret = ntk_fs_read(path, NTK_TOP_SETTINGS_FILE_MAX, out_bytes, out_count, err);

    if (ret == -ENOENT || ret == -ENOTDIR) {
        *out_bytes = NULL;
        *out_count = 0;
        return 0;
    }
    return ret;
}

int ntk_top_settings_load(struct ntk_top_settings *settings, const char *name, struct ntk_err *err)
{
    uint8_t *bytes = NULL;
    size_t count = 0;
    int ret;

    if (!settings->path[0]) {
        return 0;
    }
    ret = read_file(settings->path, &bytes, &count, err);
    if (ret == 0 && count > 0) {
        ret = ntk_top_settings_parse(settings, (const char *)bytes, count, name, err);
    }
    free(bytes);
    return ret;
}

static bool has_changes(const struct ntk_top_settings *settings)
{
    for (size_t i = 0; i < NTK_TOP_SETTINGS_ALL; i++) {
        if (settings->changed[i]) {
            return true;
        }
    }
    return false;
}

static int make_folder_of(const char *path, struct ntk_err *err)
{
    char folder[4096];
    char *slash;

    ntk_str_copy(folder, sizeof folder, path);
    slash = strrchr(folder, '/');
    if (!slash || slash == folder) {
        return 0;
    }
    *slash = '\0';
    return ntk_fs_make_folders(folder, 0700, err);
}

int ntk_top_settings_save(struct ntk_top_settings *settings, struct ntk_err *err)
{
    struct ntk_buf text = { 0 };
    uint8_t *bytes = NULL;
    size_t count = 0;
    char *real = NULL;
    int ret;

    if (!has_changes(settings)) {
        return 0;
    }
    if (!settings->path[0]) {
        return ntk_err_set(
            err, -ENOENT, NTK_ERR_NO_OFFSET,
            "cannot save the settings: set XDG_CONFIG_HOME or HOME to an absolute path");
    }
    ret = read_file(settings->path, &bytes, &count, err);
    if (ret < 0) {
        goto out;
    }
    ret = make_folder_of(settings->path, err);
    if (ret < 0) {
        goto out;
    }
    ntk_top_settings_merge(settings, (const char *)bytes, count, &text);
    if (!ntk_buf_ok(&text)) {
        ret = ntk_err_no_memory(err);
        goto out;
    }
    real = realpath(settings->path, NULL); /* a link remains a link */
    ret = ntk_fs_write(real ? real : settings->path, text.bytes, text.bytes_count, err);
    if (ret == 0) {
        memset(settings->changed, 0, sizeof settings->changed);
    }

out:
    free(real);
    free(bytes);
    ntk_buf_fini(&text);
    return ret;
}
