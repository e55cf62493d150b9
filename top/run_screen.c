/* SPDX-License-Identifier: MIT */
/* run_screen - runs the loop of keys, refreshes and the page of settings on a terminal. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/str.h"
#include "top/base/format.h"
#include "top/run.h"
#include "top/view/view.h"

/* Maximum delay of a key by reading a recording's past for graphs. */
#define PAST_SLICE_NS (20 * NTK_NS_PER_MS)

/* Sets the delay, counted from the last refresh; the time may have passed already. */
static void set_delay(struct ntk_top_run *run, uint64_t delay_ns)
{
    char text[NTK_TOP_FORMAT_BYTES];

    run->next_ns =
        run->next_ns + delay_ns > run->delay_ns ? run->next_ns + delay_ns - run->delay_ns : 0;
    run->delay_ns = delay_ns;
    (void)snprintf(run->model->status, sizeof run->model->status, "every %s",
                   ntk_top_format_delay(text, delay_ns));
}

/* Selects the next delay of the list. */
static void change_delay(struct ntk_top_run *run, bool longer)
{
    static const unsigned int steps_ms[] = { 100,   200,   500,   1000,   2000,   5000,
                                             10000, 30000, 60000, 300000, 600000, 3600000 };
    size_t count = sizeof steps_ms / sizeof *steps_ms;

    if (run->source->fd >= 0) {
        return; /* the sender sets the time */
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t step_ns = steps_ms[longer ? i : count - 1 - i] * NTK_NS_PER_MS;

        if (longer ? step_ns > run->delay_ns : step_ns < run->delay_ns) {
            set_delay(run, step_ns);
            return;
        }
    }
}

/* ---- settings ---- */

static struct ntk_screen_look look_of(const struct ntk_top_run *run)
{
    const struct ntk_top_settings *settings = &run->settings;
    const char *no_color = getenv("NO_COLOR");
    bool is_light = ntk_top_settings_is(settings, NTK_TOP_SETTING_COLOURS, "light");
    bool is_contrast = ntk_top_settings_is(settings, NTK_TOP_SETTING_COLOURS, "contrast");

    return (struct ntk_screen_look){
        .scheme = is_light      ? NTK_SCREEN_SCHEME_LIGHT
                  : is_contrast ? NTK_SCREEN_SCHEME_CONTRAST
                                : NTK_SCREEN_SCHEME_VENDOR,
        .no_colour = (no_color && no_color[0]) ||
                     ntk_top_settings_is(settings, NTK_TOP_SETTING_COLOURS, "none"),
        .no_mouse = run->no_mouse || ntk_top_settings_is(settings, NTK_TOP_SETTING_MOUSE, "off"),
        .ascii = run->ascii || ntk_top_settings_is(settings, NTK_TOP_SETTING_CHARACTERS, "ascii"),
    };
}

void ntk_top_run_set_tree(struct ntk_top_run *run)
{
    const struct ntk_top_settings *settings = &run->settings;
    bool is_first = ntk_top_settings_is(settings, NTK_TOP_SETTING_TREE, "first");

    run->model->has_opened_first = !is_first;
    ntk_top_model_expand_all(run->model,
                             ntk_top_settings_is(settings, NTK_TOP_SETTING_TREE, "expanded"));
}

/* Applies changes on the page immediately, except for the view, which is used at the start of the
 * program. */
static void apply_changes(struct ntk_top_run *run)
{
    const struct ntk_top_settings *settings = &run->settings;
    struct ntk_screen_look look = look_of(run);

    if (run->generation == settings->generation) {
        return;
    }
    run->generation = settings->generation;
    ntk_screen_set_look(run->screen, &look);
    switch ((enum ntk_top_setting)settings->row) {
    case NTK_TOP_SETTING_REFRESH:
        set_delay(run, ntk_top_settings_refresh_ns(settings));
        break;
    case NTK_TOP_SETTING_TREE:
        ntk_top_run_set_tree(run);
        break;
    case NTK_TOP_SETTING_VALUES:
        run->model->with_flops = ntk_top_settings_is(settings, NTK_TOP_SETTING_VALUES, "flops");
        break;
    default:
        break;
    }
}

void ntk_top_run_set_lists(struct ntk_top_run *run)
{
    for (int i = 0; i < NTK_TOP_VIEW_COUNT; i++) {
        struct ntk_top_table *table = &run->model->tables[i];

        if (table->columns) {
            struct ntk_top_table_choice choice =
                ntk_top_settings_list_get(&run->settings, (enum ntk_top_view_id)i);

            ntk_top_table_choice_set(table, &choice);
        }
    }
}

void ntk_top_run_save_settings(struct ntk_top_run *run)
{
    struct ntk_err err = { 0 };

    for (int i = 0; run->model && i < NTK_TOP_VIEW_COUNT; i++) {
        const struct ntk_top_table *table = &run->model->tables[i];

        if (table->columns) {
            struct ntk_top_table_choice choice = ntk_top_table_choice_get(table);

            ntk_top_settings_list_set(&run->settings, (enum ntk_top_view_id)i, &choice);
        }
    }

    run->message[0] = '\0';
    if (ntk_top_settings_save(&run->settings, &err) < 0) {
        ntk_str_copy(run->message, sizeof run->message, err.text);
    }
    ntk_str_copy(run->settings.notice, sizeof run->settings.notice, run->message);
}

/* ---- keys ---- */

/* Controls a source that only has the present: it is frozen, and uses the shown past. */
static void steer_present(struct ntk_top_run *run, enum ntk_top_control control)
{
    switch (control) {
    case NTK_TOP_CONTROL_PAUSE:
        if (run->is_in_past) {
            ntk_top_run_walk(run, 0, 0);
        } else {
            run->is_frozen = !run->is_frozen;
        }
        break;
    case NTK_TOP_CONTROL_BACK:
        ntk_top_run_walk(run, -1, 1);
        break;
    case NTK_TOP_CONTROL_FORWARD:
        ntk_top_run_walk(run, 1, 1);
        break;
    case NTK_TOP_CONTROL_JUMP_BACK:
        ntk_top_run_walk(run, -1, 60 * NTK_NS_PER_SECOND);
        break;
    case NTK_TOP_CONTROL_JUMP_FORWARD:
        ntk_top_run_walk(run, 1, 60 * NTK_NS_PER_SECOND);
        break;
    default:
        break;
    }
}

/* Handles actions that are not for the model. Returns true if it handled the action. */
static bool steer(struct ntk_top_run *run, enum ntk_top_action action)
{
    static const struct {
        enum ntk_top_action action;
        enum ntk_top_control control;
    } rows[] = {
        { NTK_TOP_ACTION_FREEZE, NTK_TOP_CONTROL_PAUSE },
        { NTK_TOP_ACTION_REPLAY_BACK, NTK_TOP_CONTROL_BACK },
        { NTK_TOP_ACTION_REPLAY_FORWARD, NTK_TOP_CONTROL_FORWARD },
        { NTK_TOP_ACTION_REPLAY_JUMP_BACK, NTK_TOP_CONTROL_JUMP_BACK },
        { NTK_TOP_ACTION_REPLAY_JUMP_FORWARD, NTK_TOP_CONTROL_JUMP_FORWARD },
        { NTK_TOP_ACTION_REPLAY_SLOWER, NTK_TOP_CONTROL_SLOWER },
        { NTK_TOP_ACTION_REPLAY_FASTER, NTK_TOP_CONTROL_FASTER },
    };

    if (action == NTK_TOP_ACTION_DELAY_LONGER || action == NTK_TOP_ACTION_DELAY_SHORTER) {
        change_delay(run, action == NTK_TOP_ACTION_DELAY_LONGER);
        return true;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].action != action) {
            continue;
        }
        if (!ntk_top_source_control(run->source, rows[i].control)) {
            steer_present(run, rows[i].control);
        }
        return true;
    }
    if (action == NTK_TOP_ACTION_SIGNAL) {
        ntk_top_run_ask_signal(run);
        return true;
    }
    return false;
}

static enum ntk_top_action find_action(const struct ntk_top_run *run, int key, int *out_argument)
{
    const struct ntk_screen_spot *spot;

    if (key != NTK_SCREEN_KEY_CLICK) {
        return ntk_top_keys_find(key, out_argument);
    }
    spot = ntk_screen_spot_find(run->screen, run->screen->mouse_row, run->screen->mouse_column);
    *out_argument = spot ? spot->argument : 0;
    return spot ? (enum ntk_top_action)spot->action : NTK_TOP_ACTION_NONE;
}

/* Handles all typed keys. Returns false if the user leaves. */
static bool handle_keys(struct ntk_top_run *run)
{
    int pending = 0;
    int key;

    if (ioctl(run->key_fd, FIONREAD, &pending) == 0 && pending == 0) {
        return false; /* readable and empty: the end of the terminal */
    }
    while ((key = ntk_screen_key_take(run->screen)) != NTK_SCREEN_KEY_NONE) {
        int argument = 0;
        enum ntk_top_action action;
        bool was_open;

        run->message[0] = '\0';
        if (run->signalled.pid > 0) {
            ntk_top_run_send_signal(run, key);
            continue;
        }
        if (key < NTK_SCREEN_KEY_CLICK && ntk_top_model_key(run->model, key)) {
            continue; /* typed into a box */
        }
        action = find_action(run, key, &argument);
        if (action == NTK_TOP_ACTION_CAPTURE) {
            if (!ntk_top_run_capture(run)) {
                return false;
            }
            break; /* keys typed in the meantime were for the other program */
        }
        if (action == NTK_TOP_ACTION_BACK && ntk_top_run_close_host(run)) {
            break;
        }
        if (action == NTK_TOP_ACTION_VIEW && argument == NTK_TOP_VIEW_HOSTS &&
            ntk_top_run_show_hosts(run)) {
            break;
        }
        was_open = ntk_top_model_has_settings_open(run->model);
        if ((was_open || !steer(run, action)) &&
            ntk_top_model_act(run->model, action, argument) == NTK_TOP_QUIT) {
            return false;
        }
        if (run->model->host_wanted > 0 && ntk_top_run_open_host(run)) {
            break;
        }
        apply_changes(run);
        if (was_open && !ntk_top_model_has_settings_open(run->model)) {
            ntk_top_run_save_settings(run);
        }
    }
    ntk_top_run_ask_for_more(run);
    ntk_top_run_set_note(run);
    return true;
}

/* Returns true if the source is read between two frames, because the next frame would be late. */
static bool looks_between(const struct ntk_top_run *run)
{
    return run->source->ops->has_news &&
           (run->reads_events || run->delay_ns > NTK_TOP_SOURCE_RARE_NS);
}

/* Returns the time of the next frame, or of the next check if an earlier frame is needed. */
static uint64_t next_look_ns(const struct ntk_top_run *run)
{
    uint64_t look_ns = ntk_clock_monotonic_ns() + NTK_TOP_SOURCE_LOOK_NS;

    return looks_between(run) && look_ns < run->next_ns ? look_ns : run->next_ns;
}

/* Returns true after a resize; also checked between two refreshes, because its signal may arrive at
 * any time. */
static bool is_resized(const struct ntk_screen *screen)
{
    struct winsize size;

    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
           (size.ws_row != screen->rows || size.ws_col != screen->columns);
}

int ntk_top_run_screen(struct ntk_top_run *run, struct ntk_err *err)
{
    struct ntk_screen_look look = look_of(run);
    bool has_frame = false;
    int ret;

    run->key_fd = STDIN_FILENO;
    if (run->is_stdin_taken) {
        run->key_fd = open("/dev/tty", O_RDONLY | O_CLOEXEC);
    }
    if (!isatty(run->key_fd) || !isatty(STDOUT_FILENO)) {
        return ntk_err_set(
            err, -ENOTTY, NTK_ERR_NO_OFFSET,
            "%s is not a terminal: use --once or --batch to print the screen as text",
            !isatty(STDOUT_FILENO) ? "stdout"
            : run->is_stdin_taken  ? "/dev/tty"
                                   : "stdin");
    }
    ret = ntk_screen_curses_create(&look, run->key_fd, &run->screen, err);
    if (ret < 0) {
        return ret;
    }
    for (;;) {
        bool has_key;

        if (!ntk_top_run_wait_until(run, next_look_ns(run), run->key_fd, &has_key)) {
            return 0;
        }
        if (looks_between(run) && ntk_clock_monotonic_ns() < run->next_ns &&
            ntk_top_source_has_news(run->source)) {
            run->next_ns = 0;
        }
        if (has_key && !handle_keys(run)) {
            return 0;
        }
        /* A frame depends only on the model: without a change it would be equal. */
        bool has_change = has_key || run->has_more_past || is_resized(run->screen);

        if (run->source->fd >= 0 || ntk_clock_monotonic_ns() >= run->next_ns) {
            ntk_top_run_plan_next(run);
            ret = ntk_top_run_feed(run, err);
            has_change = true;
            if (ret == -ENODATA && has_frame) {
                return 0; /* the note has the reason */
            }
            has_frame = has_frame || ret > 0;
            ret = ret < 0 ? ret : ntk_top_run_check_first(run, has_frame, err);
            if (ret < 0) {
                return ret;
            }
        }
        if (has_frame && has_change) {
            ntk_top_view_draw(run->model, run->screen, true);
            run->has_more_past = ntk_top_run_take_past(run, PAST_SLICE_NS);
        }
    }
}
