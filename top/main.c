/* SPDX-License-Identifier: MIT */
/* neuron-top - parses options, applies options and settings to a run, and ends it. */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/memory.h"
#include "shared/base/opt.h"
#include "shared/base/process.h"
#include "shared/base/str.h"
#include "shared/base/timestamp.h"
#include "shared/device/device.h"
#include "shared/http/http_ports.h"
#include "top/model/model_watch.h"
#include "top/model/samples.h"
#include "top/run.h"
#include "top/source/host_list.h"
#include "top/view/views.h"

/* Pause between the two samples of the first frame on a terminal, which the second frame corrects.
 * Frames for scripts cover a whole period each. */
#define FIRST_DELAY_NS (75 * NTK_NS_PER_MS)
#define UNSET UINT64_MAX
#define HEAP_ROOM_BYTES (16 << 20)
#define HEAP_ROOMS 4

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
static const char *arg_hosts; /* file with a list of hosts */
static struct ntk_top_host_list host_list;
static const char *arg_layout;
static enum ntk_top_view_id arg_view;
static bool arg_has_view;

static int set_at(const char *value, struct ntk_err *err)
{
    return ntk_timestamp_parse(value, &arg_at_ns, err);
}

static int (*const call_at)(const char *, struct ntk_err *) = set_at;

static const char view_names[] =
#define NTK_TOP_VIEW(id, name, key, keys, title, help) #name " "
#include "top/base/views.def"
    ;

static int set_view(const char *value, struct ntk_err *err)
{
    arg_has_view = true;
    return ntk_top_views_find(value, &arg_view) ? 0 : ntk_opt_choice_check(view_names, value, err);
}

static int add_host(const char *value, struct ntk_err *err)
{
    return ntk_top_host_list_add(&host_list, value, err);
}

static int (*const call_connect)(const char *, struct ntk_err *) = add_host;

static int (*const call_view)(const char *, struct ntk_err *) = set_view;

static const struct ntk_opt options[] = {
    { 'd', "delay", "TIME", NTK_OPT_DURATION, &arg_delay_ns,
      "refresh every TIME, 100ms to 1h (default 1s)" },
    { 'b', "batch", NULL, NTK_OPT_FLAG, &arg_batch, "print frames as text, without a terminal" },
    { 'n', "count", "N", NTK_OPT_U64, &arg_count, "exit after N frames of --batch",
      .is_above_zero = true },
    { 0, "once", NULL, NTK_OPT_FLAG, &arg_once,
      "print one frame as text, over one period (-d); same as --batch -n 1" },
    { 0, "json", NULL, NTK_OPT_FLAG, &arg_json, "print each frame as a JSON object, one per line" },
    { 0, "csv", "[=TABLE]", NTK_OPT_CHOICE, &arg_csv,
      "print rows of machine (default), devices, cores, applications or models",
      "machine devices cores applications models" },
    { 'x', "expand", NULL, NTK_OPT_FLAG, &arg_expand, "start with the whole tree expanded" },
    { 0, "layout", "NAME", NTK_OPT_CHOICE, &arg_layout,
      "show as the first screen: overview (devices and processes; default on a terminal) or "
      "vendor (default of --once and --batch)",
      NTK_TOP_LAYOUTS },
    { 0, "view", "NAME", NTK_OPT_CALL, (void *)(uintptr_t)&call_view, "start with this view:"
#define NTK_TOP_VIEW(id, name, key, keys, title, help) " " #name
#include "top/base/views.def"
      ,
      view_names },
    { 0, "ascii", NULL, NTK_OPT_FLAG, &arg_ascii, "draw with ASCII characters only" },
    { 0, "no-mouse", NULL, NTK_OPT_FLAG, &arg_no_mouse,
      "leave the mouse to the terminal, to select text" },
    { 0, "config", "FILE", NTK_OPT_TEXT, &arg_config,
      "read the F2 settings from FILE and store them there (default: below $XDG_CONFIG_HOME or "
      "~/.config)" },
    { 0, "stdin", NULL, NTK_OPT_FLAG, &arg_stdin,
      "show neuron-monitor reports from stdin: ssh HOST neuron-monitor | neuron-top --stdin" },
    { 0, "connect", "URL", NTK_OPT_CALL, (void *)(uintptr_t)&call_connect,
      "show the machine of the neuron-monitor at this URL, or HOST[:PORT] (default "
      "port " NTK_HTTP_PORT_TEXT(
          NTK_HTTP_PORT_AGENT) "); may be repeated to list several machines, worst first" },
    { 0, "hosts", "FILE", NTK_OPT_TEXT, &arg_hosts,
      "also show the machines in FILE: one per line; # starts a comment" },
    { 0, "token-file", "FILE", NTK_OPT_TEXT, &arg_remote.token_file,
      "read the bearer token for --connect and --hosts from FILE" },
    { 0, "ca-file", "FILE", NTK_OPT_TEXT, &arg_remote.ca_file,
      "trust the certificate authorities in this PEM file (default: those of the system)" },
    { 0, "from", "FILE", NTK_OPT_TEXT, &arg_from,
      "show the history that neuron-monitor --db stored in FILE; navigate with [ ] { } < > and "
      "space" },
    { 0, "at", "TIME", NTK_OPT_CALL, (void *)(uintptr_t)&call_at,
      "start at TIME in FILE, such as 2026-11-21T07:30:00Z (default: its start)" },
    { 0, "sysfs-root", "FOLDER", NTK_OPT_TEXT, &arg_sysfs_root,
      "read devices below FOLDER (default /sys)" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-top",
    .usage = "[OPTION]...",
    .summary = "Shows NeuronCore activity on this machine: utilization, memory, applications.",
    .options = options,
    .epilogue = "The bottom bar shows the main keys; ? lists all keys. The width of text frames\n"
                "is $COLUMNS or the width of the terminal, or 120 columns if both are unknown.\n"
                "NO_COLOR=1 turns colours off.",
};

/* Takes two snapshots: the first has nothing to compare with, so the second is shown. */
static int first_sample(struct ntk_top_run *run, struct ntk_err *err)
{
    int ret;

    run->next_ns = ntk_clock_monotonic_ns() + (arg_batch ? run->delay_ns : FIRST_DELAY_NS);
    if (run->source->fd >= 0) {
        return 0; /* other sources have already compared */
    }
    ret = ntk_top_run_feed(run, err);
    if (ret > 0) {
        ntk_top_model_leave(run->model, run->model->snapshot); /* the past begins after it */
    }
    return ret < 0 ? ret : 0;
}

/*
 * Applies options, then the file, then defaults. Frames for scripts are the same for every user:
 * they use a file only if it is an option. A file in an option must be valid; from the default
 * file, the valid lines are used and the others reported. Returns 0, or 2 to exit.
 */
static int start_settings(struct ntk_top_run *run)
{
    struct ntk_top_settings *settings = &run->settings;
    struct ntk_err err = { 0 };

    ntk_top_settings_init(settings, ntk_top_views);
    if (arg_config) {
        ntk_str_copy(settings->path, sizeof settings->path, arg_config);
    } else if (!arg_batch) {
        ntk_top_settings_find_path(settings->path, sizeof settings->path);
    }
    /* The page of settings shows the whole path; the line below the title does not have enough
     * space for it. */
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

/* Sets the initial state of the model. */
static void start_model(struct ntk_top_run *run)
{
    const struct ntk_top_settings *settings = &run->settings;
    const char *layout = arg_layout  ? arg_layout
                         : arg_batch ? "vendor"
                                     : settings->values[NTK_TOP_SETTING_LAYOUT];
    enum ntk_top_view_id view = arg_view;

    if (!arg_batch) { /* text frames have no key that opens it */
        (void)ntk_process_user(geteuid(), run->model->my_user, sizeof run->model->my_user);
    }
    run->model->first_view =
        strcmp(layout, "vendor") == 0 ? NTK_TOP_VIEW_TREE : NTK_TOP_VIEW_OVERVIEW;
    run->model->with_flops = ntk_top_settings_is(settings, NTK_TOP_SETTING_VALUES, "flops");
    ntk_top_run_set_tree(run);
    ntk_top_run_set_lists(run);
    if (arg_expand) {
        ntk_top_model_expand_all(run->model, true);
    }
    if (!arg_has_view) {
        (void)ntk_top_views_find(settings->values[NTK_TOP_SETTING_VIEW], &view);
        /* The overview replaces the first screen of the layout; -x applies to the tree. */
        view = view != NTK_TOP_VIEW_OVERVIEW ? view
               : arg_expand                  ? NTK_TOP_VIEW_TREE
                                             : run->model->first_view;
    }
    run->model->hosts = ntk_top_source_hosts_get(run->source);
    run->model->has_utf8 = !arg_ascii && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    ntk_top_model_set_view(run->model, view);
    run->model->settings = arg_batch ? NULL : &run->settings;
    run->model->is_report = arg_stdin || host_list.count > 0 || arg_from;
    run->model->is_recording = arg_from != NULL;
}

/*
 * Configures malloc. A snapshot is freed and the next one allocated: memory returned to the kernel
 * in between would be mapped again page by page. Snapshots of the past stay; their memory comes in
 * large pages where those are cheap, because with 120 processes the faults took a tenth of the CPU
 * time.
 */
static void prepare_heap(void)
{
    char *rooms[HEAP_ROOMS];

    (void)mallopt(M_TRIM_THRESHOLD, 2 * HEAP_ROOMS * HEAP_ROOM_BYTES);
    (void)mallopt(M_MMAP_THRESHOLD, 2 * HEAP_ROOM_BYTES);
    for (size_t i = 0; i < HEAP_ROOMS; i++) {
        rooms[i] = arg_batch ? NULL : malloc(HEAP_ROOM_BYTES);
        ntk_memory_is_large(rooms[i], HEAP_ROOM_BYTES);
    }
    for (size_t i = 0; i < HEAP_ROOMS; i++) {
        free(rooms[i]);
    }
}

static int check_arguments(void)
{
    if (arg_delay_ns != UNSET &&
        (arg_delay_ns < NTK_TOP_DELAY_MIN_NS || arg_delay_ns > NTK_TOP_DELAY_MAX_NS)) {
        return ntk_opt_usage_error(&program, "--delay must be between 100ms and 1h");
    }
    if (arg_json && arg_csv) {
        return ntk_opt_usage_error(&program, "--json and --csv are mutually exclusive");
    }
    arg_batch = arg_batch || arg_json || arg_csv;
    if (arg_count > 0 && !arg_batch && !arg_once) {
        return ntk_opt_usage_error(&program, "--count requires --batch");
    }
    if (arg_stdin + (host_list.count > 0) + (arg_from != NULL) + (arg_sysfs_root != NULL) > 1) {
        return ntk_opt_usage_error(
            &program,
            "--stdin, --connect (with --hosts), --from and --sysfs-root are mutually exclusive");
    }
    if (arg_at_ns && !arg_from) {
        return ntk_opt_usage_error(&program, "--at requires --from");
    }
    if (host_list.count > 1 && arg_csv) {
        return ntk_opt_usage_error(&program,
                                   "--csv supports only one machine; use --json for several");
    }
    if (arg_has_view && arg_view == NTK_TOP_VIEW_HOSTS && host_list.count < 2) {
        return ntk_opt_usage_error(&program,
                                   "--view hosts requires several machines: use --connect "
                                   "repeatedly, or --hosts");
    }
    if (host_list.count == 0 && (arg_remote.token_file || arg_remote.ca_file)) {
        return ntk_opt_usage_error(&program,
                                   "--token-file and --ca-file require --connect or --hosts");
    }
    if (arg_once) {
        arg_batch = true;
        arg_count = 1;
    }
    return 0;
}

static int open_source(struct ntk_top_source **out_source, struct ntk_err *err)
{
    if (host_list.count > 1) {
        return ntk_top_source_hosts_open((const char *const *)host_list.names, host_list.count,
                                         &arg_remote, arg_batch, out_source, err);
    }
    if (host_list.count == 1) {
        arg_remote.url = host_list.names[0];
        return ntk_top_source_connect_open(&arg_remote, out_source, err);
    }
    if (arg_from) {
        return ntk_top_source_replay_open(arg_from, arg_at_ns, out_source, err);
    }
    if (arg_stdin) {
        return ntk_top_source_stream_open(STDIN_FILENO, out_source, err);
    }
    int ret = arg_sysfs_root ? 0 : ntk_device_soft_make(err);
    if (ret < 0) {
        return ret;
    }
    return ntk_top_source_live_open(arg_sysfs_root, out_source, err);
}

int main(int argc, char **argv)
{
    struct ntk_top_run run = { .signal_fd = -1, .key_fd = -1 };
    struct ntk_err err = { 0 };
    int first;
    int ret;

    ntk_log_set_program("neuron-top");
    first = ntk_opt_parse(&program, argc, argv);
    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (first < argc) {
        return ntk_opt_argument_error(&program, NULL, argv[first]);
    }
    if (arg_remote.token_file) {
        ntk_memory_forbid_cores();
    }
    if (arg_hosts && ntk_top_host_list_read(&host_list, arg_hosts, &err) < 0) {
        ntk_log_error("", "%s", err.text);
        ntk_top_host_list_fini(&host_list);
        return 1;
    }
    ret = check_arguments();
    run.count = arg_count;
    run.json = arg_json;
    run.csv = arg_csv;
    run.no_mouse = arg_no_mouse;
    run.ascii = arg_ascii;
    run.is_stdin_taken = arg_stdin;
    ret = ret != 0 ? ret : start_settings(&run);
    if (ret != 0) {
        return ret;
    }
    (void)setlocale(LC_CTYPE, "");
    prepare_heap();

    run.signal_fd = ntk_top_run_signals_take();
    if (run.signal_fd < 0) {
        ret = ntk_err_set(&err, -errno, NTK_ERR_NO_OFFSET, "cannot watch signals: %s",
                          strerror(errno));
        goto out;
    }
    ret = ntk_top_model_create(ntk_top_views, &run.model, &err);
    if (ret < 0) {
        goto out;
    }
    ret = open_source(&run.source, &err);
    if (ret < 0) {
        goto out;
    }
    start_model(&run);
    ntk_top_run_ask_for_more(&run);
    ret = first_sample(&run, &err);
    if (ret < 0) {
        goto out;
    }
    ret = arg_batch ? ntk_top_run_batch(&run, &err) : ntk_top_run_screen(&run, &err);

out:
    ntk_screen_destroy(run.screen);  /* restores the terminal before any message */
    ntk_top_run_save_settings(&run); /* includes settings of a page that was open at the exit */
    if (run.message[0]) {
        ntk_log_warn("", "%s", run.message);
    }
    if (ret >= 0 && run.source && !run.source->ops->control && ntk_top_source_note(run.source)[0]) {
        ntk_log_warn("", "%s", ntk_top_source_note(run.source));
    }
    ntk_top_past_fini(&run.past);
    ntk_top_source_close(run.source);
    ntk_top_model_destroy(run.model);
    ntk_top_model_destroy(run.hosts_model);
    ntk_top_host_list_fini(&host_list);
    if (run.signal_fd >= 0) {
        close(run.signal_fd);
    }
    if (ret < 0) {
        ntk_log_error("", "%s", err.text);
        return 1;
    }
    return 0;
}
