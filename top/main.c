/* SPDX-License-Identifier: MIT */
/* neuron-top - options, signals and the loop between keys, snapshots and the screen. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "shared/base/buf.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"
#include "shared/base/str.h"
#include "shared/base/timestamp.h"
#include "top/format.h"
#include "top/keys.h"
#include "top/model.h"
#include "top/samples.h"
#include "top/screen.h"
#include "top/source.h"
#include "top/view.h"

#define FIRST_DELAY_NS (200 * NTK_NS_PER_MS) /* between the two samples of the first frame */
#define BATCH_COLUMNS 120
#define UNSET UINT64_MAX

static const char *arg_config;
static uint64_t arg_delay_ns = UNSET;
static bool arg_batch;
static bool arg_once;
static bool arg_json;
static const char *arg_csv;
static bool arg_expand;
static uint64_t arg_count;
static const char *arg_sysfs_root;
static bool arg_ascii;
static bool arg_no_mouse;
static bool arg_stdin;
static const char *arg_from;
static uint64_t arg_at_ns;
static struct ntk_top_remote arg_remote;
static enum ntk_top_view_id arg_view;
static bool arg_has_view;

static int set_at(const char *value, struct ntk_err *err)
{
    return ntk_timestamp_parse(value, &arg_at_ns, err);
}

static int (*const call_at)(const char *, struct ntk_err *) = set_at;

static int set_view(const char *value, struct ntk_err *err)
{
    arg_has_view = true;
    return ntk_top_views_find(value, &arg_view)
               ? 0
               : ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "there is no view \"%s\"", value);
}

static int (*const call_view)(const char *, struct ntk_err *) = set_view;

static const struct ntk_opt options[] = {
    { 'd', "delay", "TIME", NTK_OPT_DURATION, &arg_delay_ns,
      "time between two refreshes, 100ms to 1h (default 1s)" },
    { 'b', "batch", NULL, NTK_OPT_FLAG, &arg_batch, "print frames as text, no terminal needed" },
    { 'n', "count", "N", NTK_OPT_U64, &arg_count, "end after N frames of --batch" },
    { 0, "once", NULL, NTK_OPT_FLAG, &arg_once, "print one frame as text: --batch -n 1" },
    { 0, "json", NULL, NTK_OPT_FLAG, &arg_json, "print each frame as a JSON object, in a line" },
    { 0, "csv", "[=TABLE]", NTK_OPT_TEXT, &arg_csv,
      "print rows of machine (default), devices, cores, applications or models" },
    { 'x', "expand", NULL, NTK_OPT_FLAG, &arg_expand, "start with the whole tree expanded" },
    { 0, "view", "NAME", NTK_OPT_CALL, (void *)(uintptr_t)&call_view, "start with that view:"
#define NTK_TOP_VIEW(id, name, key, keys, title, help) " " #name
#include "top/views.def"
    },
    { 0, "ascii", NULL, NTK_OPT_FLAG, &arg_ascii, "draw with ASCII characters only" },
    { 0, "no-mouse", NULL, NTK_OPT_FLAG, &arg_no_mouse,
      "leave the mouse to the terminal, for marking text" },
    { 0, "config", "FILE", NTK_OPT_TEXT, &arg_config,
      "settings of F2, instead of those below $XDG_CONFIG_HOME or ~/.config" },
    { 0, "stdin", NULL, NTK_OPT_FLAG, &arg_stdin,
      "show what neuron-monitor reports on stdin: ssh HOST neuron-monitor | neuron-top --stdin" },
    { 0, "connect", "URL", NTK_OPT_TEXT, &arg_remote.url,
      "show the machine whose neuron-monitor serves http://HOST:PORT" },
    { 0, "token-file", "FILE", NTK_OPT_TEXT, &arg_remote.token_file, "bearer token for --connect" },
    { 0, "ca-file", "FILE", NTK_OPT_TEXT, &arg_remote.ca_file,
      "PEM of who signed the server's certificate, not the system's" },
    { 0, "from", "FILE", NTK_OPT_TEXT, &arg_from,
      "show what neuron-monitor stored in FILE with --db; [ ] { } < > and space steer" },
    { 0, "at", "TIME", NTK_OPT_CALL, (void *)(uintptr_t)&call_at,
      "where to begin in FILE, such as 2026-11-21T07:30:00Z; default: its beginning" },
    { 0, "sysfs-root", "DIR", NTK_OPT_TEXT, &arg_sysfs_root, "read devices below DIR, not /sys" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-top",
    .usage = "[OPTION]...",
    .summary = "Shows what the NeuronCores of this machine do: utilization, memory, applications.",
    .options = options,
    .epilogue = "Keys are shown in the bottom bar; ? lists all of them. Text frames are as\n"
                "wide as $COLUMNS, else as the terminal, else 120. NO_COLOR=1 turns colours off.",
};

struct run {
    struct ntk_top_source *source;
    struct ntk_top_model *model;
    struct ntk_screen *screen;
    int signal_fd;
    int key_fd;       /* the terminal, when stdin is something else */
    uint64_t next_ns; /* when the source is asked again */
    uint64_t delay_ns;
    bool is_frozen; /* what comes is not shown */
    bool reads_events;
    struct ntk_top_settings settings;
    unsigned int generation;          /* of the settings that are in force */
    char message[NTK_ERR_TEXT_BYTES]; /* of this program, until a key is typed */
};

/* Blocks the signals that end or resize us, so that they arrive between two frames. */
static int signals_take(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGQUIT);
    sigaddset(&set, SIGWINCH);
    (void)signal(SIGPIPE, SIG_IGN);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0) {
        return -1;
    }
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* True when a signal asks us to end. */
static bool signals_say_end(int signal_fd)
{
    struct signalfd_siginfo info;

    while (read(signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo != SIGWINCH) {
            return true;
        }
    }
    return false;
}

/* Events cost more than counters: they are read from when somebody wants to see them. */
static void ask_for_events(struct run *run)
{
    if (run->model->wants_events && !run->reads_events) {
        run->reads_events = true;
        run->next_ns = 0; /* now */
        if (!ntk_top_source_read_events(run->source)) {
            ntk_str_copy(run->model->events_note, sizeof run->model->events_note,
                         "reports carry no events: see them on the machine itself, or with --from");
        }
    }
}

/* The most urgent line below the title. */
static void set_note(struct run *run)
{
    ntk_top_model_set_note(run->model, run->message[0]  ? run->message
                                       : run->is_frozen ? "frozen"
                                                        : ntk_top_source_note(run->source));
}

/* A snapshot into the model when the source has one: 1 new, 0 none, negative the end. */
static int feed(struct run *run, struct ntk_err *err)
{
    struct ntk_snapshot *snapshot = NULL;
    int ret = ntk_top_source_take(run->source, &snapshot, err);

    /* Who is asked here and now leaves out what it may not read. */
    run->model->is_partial = run->source->fd < 0 && ntk_top_source_note(run->source)[0];
    if (ret > 0 && run->is_frozen) {
        int status = ntk_top_model_observe(run->model, snapshot, err);

        ret = status < 0 ? status : 0;
    } else if (ret > 0) {
        int status = ntk_top_model_update(run->model, snapshot, err);

        ret = status < 0 ? status : 1;
    }
    set_note(run);
    return ret;
}

/* Before the first frame there is nothing to show but what is wrong. */
static int check_first(const struct run *run, bool has_frame, struct ntk_err *err)
{
    const char *note = ntk_top_source_note(run->source);

    return has_frame || run->source->fd < 0 || !note[0]
               ? 0
               : ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "%s", note);
}

/* Waits until `until_ns`, a key or a signal. 1 to go on, 0 to end. */
static int wait_until(const struct run *run, uint64_t until_ns, int key_fd, bool *out_key)
{
    uint64_t now_ns = ntk_clock_monotonic_ns();
    uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    struct timespec timeout = { (time_t)(left_ns / NTK_NS_PER_SECOND),
                                (long)(left_ns % NTK_NS_PER_SECOND) };
    struct pollfd fds[] = { { run->signal_fd, POLLIN, 0 },
                            { key_fd, POLLIN, 0 },
                            { run->source->fd, POLLIN, 0 } };

    *out_key = false;
    if (ppoll(fds, 3, run->source->fd >= 0 ? NULL : &timeout, NULL) < 0) {
        return errno == EINTR;
    }
    if ((fds[0].revents && signals_say_end(run->signal_fd)) ||
        (fds[1].revents & (POLLHUP | POLLERR | POLLNVAL))) {
        return 0;
    }
    *out_key = fds[1].revents != 0;
    return 1;
}

/* The first snapshot has nothing to compare with: it is shown when the second is there. */
static int first_sample(struct run *run, struct ntk_err *err)
{
    int ret;

    run->next_ns = ntk_clock_monotonic_ns() + FIRST_DELAY_NS;
    if (run->source->fd >= 0) {
        return 0; /* others compared already */
    }
    ret = feed(run, err);
    return ret < 0 ? ret : 0;
}

/* What --batch prints of the snapshot that the model has. */
static int write_sample(const struct run *run, int columns, bool is_first, struct ntk_err *err)
{
    struct ntk_buf text = { 0 };
    int ret = 0;

    if (arg_json) {
        ntk_top_samples_json(run->model, &text);
    } else if (arg_csv) {
        ntk_top_samples_csv(run->model, ntk_top_samples_table_find(arg_csv), is_first, &text);
    } else {
        ntk_buf_add_text(&text, is_first ? "" : "\n");
        ntk_screen_text_resize(run->screen, ntk_top_view_natural_rows(run->model, columns, false),
                               columns);
        ntk_top_view_draw(run->model, run->screen, false);
        ntk_screen_text_write(run->screen, &text);
    }
    if (!ntk_buf_ok(&text)) {
        ret = ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    } else if (fwrite(text.bytes, 1, text.bytes_count, stdout) != text.bytes_count ||
               fflush(stdout) != 0) {
        ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot write to stdout: %s",
                          strerror(errno));
    }
    ntk_buf_fini(&text);
    return ret;
}

static int batch_columns(void)
{
    const char *text = getenv("COLUMNS");
    struct winsize size;
    uint64_t columns;

    if (text && ntk_str_parse_u64(text, &columns) == 0 && columns >= 1 &&
        columns <= NTK_SCREEN_COLUMNS_MAX) {
        return (int)columns;
    }
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    return BATCH_COLUMNS;
}

static int run_batch(struct run *run, struct ntk_err *err)
{
    int columns = batch_columns();
    bool has_key;
    int ret = ntk_screen_text_create(1, columns, &run->screen, err);

    if (ret < 0) {
        return ret;
    }
    for (uint64_t frame = 0; arg_count == 0 || frame < arg_count;) {
        if (!wait_until(run, run->next_ns, -1, &has_key)) {
            return 0;
        }
        if (run->source->fd < 0 && ntk_clock_monotonic_ns() < run->next_ns) {
            continue; /* a signal that means nothing here */
        }
        run->next_ns = ntk_clock_monotonic_ns() + run->delay_ns;
        ret = feed(run, err);
        if (ret == -ENODATA && frame > 0) {
            return 0;
        }
        ret = ret < 0 ? ret : ret == 0 ? check_first(run, frame > 0, err) : ret;
        if (ret < 0) {
            return ret;
        }
        if (ret == 0) {
            continue;
        }
        ret = write_sample(run, columns, frame == 0, err);
        if (ret < 0) {
            return ret == -EPIPE ? 0 : ret;
        }
        frame++;
    }
    return 0;
}

/* Counted from the last refresh; may be over already. */
static void set_delay(struct run *run, uint64_t delay_ns)
{
    char text[NTK_TOP_FORMAT_BYTES];

    run->next_ns += delay_ns - run->delay_ns;
    run->delay_ns = delay_ns;
    (void)snprintf(run->model->status, sizeof run->model->status, "every %s",
                   ntk_top_format_delay(text, delay_ns));
}

/* The next delay of the list. */
static void change_delay(struct run *run, bool longer)
{
    static const unsigned int steps_ms[] = { 100,   200,   500,   1000,   2000,   5000,
                                             10000, 30000, 60000, 300000, 600000, 3600000 };
    size_t count = sizeof steps_ms / sizeof *steps_ms;

    if (run->source->fd >= 0) {
        return; /* who sends says when */
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

static struct ntk_screen_look look_of(const struct ntk_top_settings *settings)
{
    const char *no_color = getenv("NO_COLOR");
    bool is_light = ntk_top_settings_is(settings, NTK_TOP_SETTING_COLOURS, "light");
    bool is_contrast = ntk_top_settings_is(settings, NTK_TOP_SETTING_COLOURS, "contrast");

    return (struct ntk_screen_look){
        .scheme = is_light      ? NTK_SCREEN_SCHEME_LIGHT
                  : is_contrast ? NTK_SCREEN_SCHEME_CONTRAST
                                : NTK_SCREEN_SCHEME_VENDOR,
        .no_colour = (no_color && no_color[0]) ||
                     ntk_top_settings_is(settings, NTK_TOP_SETTING_COLOURS, "none"),
        .no_mouse = arg_no_mouse || ntk_top_settings_is(settings, NTK_TOP_SETTING_MOUSE, "off"),
        .ascii = arg_ascii || ntk_top_settings_is(settings, NTK_TOP_SETTING_CHARACTERS, "ascii"),
    };
}

static void set_tree(struct run *run)
{
    const struct ntk_top_settings *settings = &run->settings;
    bool is_first = ntk_top_settings_is(settings, NTK_TOP_SETTING_TREE, "first");

    run->model->has_opened_first = !is_first;
    ntk_top_model_expand_all(run->model,
                             ntk_top_settings_is(settings, NTK_TOP_SETTING_TREE, "expanded"));
}

/* What was changed on the page is in force at once; the view is where the program starts. */
static void apply_changes(struct run *run)
{
    const struct ntk_top_settings *settings = &run->settings;
    struct ntk_screen_look look = look_of(settings);

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
        set_tree(run);
        break;
    case NTK_TOP_SETTING_VALUES:
        run->model->with_flops = ntk_top_settings_is(settings, NTK_TOP_SETTING_VALUES, "flops");
        break;
    default:
        break;
    }
}

static void save_settings(struct run *run)
{
    struct ntk_err err = { 0 };

    run->message[0] = '\0';
    if (ntk_top_settings_save(&run->settings, &err) < 0) {
        ntk_str_copy(run->message, sizeof run->message, err.text);
    }
    ntk_str_copy(run->settings.notice, sizeof run->settings.notice, run->message);
}

/*
 * Options, then the file, then defaults. Frames for scripts are the same for everyone: they follow a file only when it
 * is named. A named file must be good; of the usual one, what is good is taken and the rest told. 0, or 2 to exit.
 */
static int start_settings(struct run *run)
{
    struct ntk_top_settings *settings = &run->settings;
    struct ntk_err err = { 0 };

    ntk_top_settings_init(settings);
    if (arg_config) {
        ntk_str_copy(settings->path, sizeof settings->path, arg_config);
    } else if (!arg_batch) {
        ntk_top_settings_find_path(settings->path, sizeof settings->path);
    }
    /* The page of settings tells the whole path; a line below the title has no room for it. */
    if (ntk_top_settings_load(settings, arg_config ? arg_config : "neuron-top.conf", &err) < 0) {
        if (arg_config) {
            ntk_log_error("", "%s", err.text);
            return 2;
        }
        ntk_str_copy(run->message, sizeof run->message, err.text);
        ntk_str_copy(settings->notice, sizeof settings->notice, err.text);
    }
    run->delay_ns = arg_delay_ns != UNSET ? arg_delay_ns : ntk_top_settings_refresh_ns(settings);
    return 0;
}

/* How the model begins. */
static void start_model(struct run *run)
{
    const struct ntk_top_settings *settings = &run->settings;
    enum ntk_top_view_id view = arg_view;

    run->model->with_flops = ntk_top_settings_is(settings, NTK_TOP_SETTING_VALUES, "flops");
    set_tree(run);
    if (arg_expand) {
        ntk_top_model_expand_all(run->model, true);
    }
    if (!arg_has_view) {
        (void)ntk_top_views_find(settings->values[NTK_TOP_SETTING_VIEW], &view);
    }
    ntk_top_model_set_view(run->model, view);
    run->model->settings = arg_batch ? NULL : &run->settings;
    run->model->is_report = arg_stdin || arg_remote.url;
}

/* ---- keys ---- */

/* Actions that are not the model's. True when it was one. */
static bool steer(struct run *run, enum ntk_top_action action)
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
        if (!ntk_top_source_control(run->source, rows[i].control) &&
            action == NTK_TOP_ACTION_FREEZE) {
            run->is_frozen = !run->is_frozen;
            set_note(run);
        }
        return true;
    }
    return false;
}

static enum ntk_top_action find_action(const struct run *run, int key, int *out_argument)
{
    const struct ntk_screen_spot *spot;

    if (key != NTK_SCREEN_KEY_CLICK) {
        return ntk_top_keys_find(key, out_argument);
    }
    spot = ntk_screen_spot_find(run->screen, run->screen->mouse_row, run->screen->mouse_column);
    *out_argument = spot ? spot->argument : 0;
    return spot ? (enum ntk_top_action)spot->action : NTK_TOP_ACTION_NONE;
}

/* Everything that was typed. False when the user wants to leave. */
static bool handle_keys(struct run *run)
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
        if (key < NTK_SCREEN_KEY_CLICK && ntk_top_model_key(run->model, key)) {
            continue; /* typed into a box */
        }
        action = find_action(run, key, &argument);
        was_open = ntk_top_model_has_settings_open(run->model);
        if ((was_open || !steer(run, action)) &&
            ntk_top_model_act(run->model, action, argument) == NTK_TOP_QUIT) {
            return false;
        }
        apply_changes(run);
        if (was_open && !ntk_top_model_has_settings_open(run->model)) {
            save_settings(run);
        }
    }
    ask_for_events(run);
    set_note(run);
    return true;
}

static int run_screen(struct run *run, struct ntk_err *err)
{
    struct ntk_screen_look look = look_of(&run->settings);
    bool has_frame = false;
    int ret;

    run->key_fd = STDIN_FILENO;
    if (arg_stdin) {
        run->key_fd = open("/dev/tty", O_RDONLY | O_CLOEXEC);
    }
    if (!isatty(run->key_fd) || !isatty(STDOUT_FILENO)) {
        return ntk_err_set(err, -ENOTTY, NTK_ERR_NO_OFFSET,
                           "%s is no terminal; --once or --batch print the screen as text",
                           !isatty(STDOUT_FILENO) ? "stdout"
                           : arg_stdin            ? "/dev/tty"
                                                  : "stdin");
    }
    ret = ntk_screen_curses_create(&look, run->key_fd, &run->screen, err);
    if (ret < 0) {
        return ret;
    }
    for (;;) {
        bool has_key;

        if (!wait_until(run, run->next_ns, run->key_fd, &has_key)) {
            return 0;
        }
        if (has_key && !handle_keys(run)) {
            return 0;
        }
        if (run->source->fd >= 0 || ntk_clock_monotonic_ns() >= run->next_ns) {
            run->next_ns = ntk_clock_monotonic_ns() + run->delay_ns;
            ret = feed(run, err);
            if (ret == -ENODATA && has_frame) {
                return 0; /* the note says why */
            }
            has_frame = has_frame || ret > 0;
            ret = ret < 0 ? ret : check_first(run, has_frame, err);
            if (ret < 0) {
                return ret;
            }
        }
        if (has_frame) {
            ntk_top_view_draw(run->model, run->screen, true);
        }
    }
}

static int check_arguments(void)
{
    if (arg_delay_ns != UNSET &&
        (arg_delay_ns < NTK_TOP_DELAY_MIN_NS || arg_delay_ns > NTK_TOP_DELAY_MAX_NS)) {
        return ntk_opt_usage_error(&program, "--delay must be between 100ms and 1h");
    }
    if (arg_json && arg_csv) {
        return ntk_opt_usage_error(&program, "--json and --csv exclude each other");
    }
    if (arg_csv && ntk_top_samples_table_find(arg_csv) < 0) {
        return ntk_opt_usage_error(&program,
                                   "--csv has no table \"%s\"; machine, devices, cores, "
                                   "applications, models are there",
                                   arg_csv);
    }
    arg_batch = arg_batch || arg_json || arg_csv;
    if (arg_count > 0 && !arg_batch && !arg_once) {
        return ntk_opt_usage_error(&program, "--count needs --batch");
    }
    if (arg_stdin + (arg_remote.url != NULL) + (arg_from != NULL) + (arg_sysfs_root != NULL) > 1) {
        return ntk_opt_usage_error(
            &program, "--stdin, --connect, --from and --sysfs-root exclude each other");
    }
    if (arg_at_ns && !arg_from) {
        return ntk_opt_usage_error(&program, "--at needs --from");
    }
    if (!arg_remote.url && (arg_remote.token_file || arg_remote.ca_file)) {
        return ntk_opt_usage_error(&program, "--token-file and --ca-file need --connect");
    }
    if (arg_once) {
        arg_batch = true;
        arg_count = 1;
    }
    return 0;
}

static int open_source(struct ntk_top_source **out_source, struct ntk_err *err)
{
    if (arg_remote.url) {
        return ntk_top_source_connect_open(&arg_remote, out_source, err);
    }
    if (arg_from) {
        return ntk_top_source_replay_open(arg_from, arg_at_ns, out_source, err);
    }
    if (arg_stdin) {
        return ntk_top_source_stream_open(STDIN_FILENO, out_source, err);
    }
    return ntk_top_source_live_open(arg_sysfs_root, out_source, err);
}

int main(int argc, char **argv)
{
    struct run run = { .signal_fd = -1, .key_fd = -1 };
    struct ntk_err err = { 0 };
    int first;
    int ret;

    ntk_log_set_program("neuron-top");
    first = ntk_opt_parse(&program, argc, argv);
    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (first < argc) {
        return ntk_opt_usage_error(&program, "unexpected argument \"%s\"", argv[first]);
    }
    ret = check_arguments();
    ret = ret != 0 ? ret : start_settings(&run);
    if (ret != 0) {
        return ret;
    }
    (void)setlocale(LC_CTYPE, "");

    run.signal_fd = signals_take();
    if (run.signal_fd < 0) {
        ret = ntk_err_set(&err, -errno, NTK_ERR_NO_OFFSET, "cannot watch signals: %s",
                          strerror(errno));
        goto out;
    }
    ret = ntk_top_model_create(&run.model, &err);
    if (ret < 0) {
        goto out;
    }
    start_model(&run);
    ret = open_source(&run.source, &err);
    if (ret < 0) {
        goto out;
    }
    ask_for_events(&run);
    ret = first_sample(&run, &err);
    if (ret < 0) {
        goto out;
    }
    ret = arg_batch ? run_batch(&run, &err) : run_screen(&run, &err);

out:
    ntk_screen_destroy(run.screen); /* the terminal first, then sentences */
    save_settings(&run);            /* of a page that was left with the program */
    if (run.message[0]) {
        ntk_log_warn("", "%s", run.message);
    }
    if (ret >= 0 && run.source && !run.source->ops->control && ntk_top_source_note(run.source)[0]) {
        ntk_log_warn("", "%s", ntk_top_source_note(run.source));
    }
    ntk_top_source_close(run.source);
    ntk_top_model_destroy(run.model);
    if (run.signal_fd >= 0) {
        close(run.signal_fd);
    }
    if (ret < 0) {
        ntk_log_error("", "%s", err.text);
        return 1;
    }
    return 0;
}
