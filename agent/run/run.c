/* SPDX-License-Identifier: MIT */
#include "agent/run/run.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/run/run_program.h"
#include "runtime-hooks/nrt/nrt_search.h"
#include "shared/abi/driver.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"
#include "shared/base/str.h"

#define TAG_BYTES_MAX 255
/* The oldest version with which tests pass. With 2.31 any audit library makes dlmopen() crash. */
#define AUDIT_LIBC_MAJOR 2
#define AUDIT_LIBC_MINOR 36
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND 127

static bool arg_audit;
static const char *arg_tag;
static const char *arg_libnrt;

static const struct ntk_opt option_rows[] = {
    { 0, "audit", 0, NTK_OPT_FLAG, &arg_audit,
      "also use the loader's audit interface, for programs that open libnrt.so.1 by its full path "
      "or with dlmopen" },
    { 0, "tag", "TEXT", NTK_OPT_TEXT, &arg_tag,
      "name the application in reports (NEURON_PROCESS_TAG)" },
    { 0, "libnrt", "FILE", NTK_OPT_TEXT, &arg_libnrt, "wrap this runtime (NEURON_HOOKS_LIBNRT)" },
    NTK_OPT_COMMON_COMPLETION,
    NTK_OPT_COMMON_VERSION,
    NTK_OPT_COMMON_HELP,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-monitor run",
    .usage = "[OPTION]... [--] COMMAND [ARGUMENT]...",
    .summary = "Runs a program with hooks around the vendor's runtime, in the program itself and "
               "in the processes it starts, so that neuron-monitor and neuron-top see its "
               "executions. The program replaces this process.",
    .options = option_rows,
    .stop_at_operand = true,
    .epilogue = "The exit code is that of the command, 127 when it is not found,\n"
                "or 126 when it cannot be run.",
};

/* The two ways to load the hooks: the library, and the variable for the loader. The second
 * redirects calls to the first and has no effect without it. */
static const struct way {
    const char *library;
    const char *variable;
    const char *separators; /* separators in the value of the variable */
} ways[] = {
    { "libneuron-hooks.so", "LD_PRELOAD", " :" },
    { "libneuron-hooks-audit.so", "LD_AUDIT", ":" },
};
#define PRELOAD (&ways[0])

/* ---- the position of our entry ---- */

static bool is_readable(const char *path)
{
    return access(path, R_OK) == 0;
}

/* Finds the hooks: in neuron-hooks below the folder of libraries where this program is installed,
 * in ../lib in a build tree, or where libraries are installed. They are never in a folder of the
 * loader: the hooks have the soname of the runtime, so ldconfig would make them the runtime of
 * every program. */
static bool hooks_find(const struct way *way, char path[PATH_MAX])
{
    char self[PATH_MAX];
    const char *const prefixes[] = { self, "/usr/local", "/usr" };
    ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);

    self[bytes > 0 ? bytes : 0] = '\0';
    for (int i = 0; i < 2 && strrchr(self, '/'); i++) {
        *strrchr(self, '/') = '\0';
    }
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if ((snprintf(path, PATH_MAX, "%s/" NTK_LIBDIR "/neuron-hooks/%s", prefixes[i],
                      way->library) < PATH_MAX &&
             is_readable(path)) ||
            (snprintf(path, PATH_MAX, "%s/lib/%s", prefixes[i], way->library) < PATH_MAX &&
             is_readable(path))) {
            return true;
        }
    }
    return false;
}

/* ---- the environment ---- */

/* Returns true if the list contains the word. */
static bool list_names(const char *list, const char *separators, const char *word)
{
    size_t word_bytes = strlen(word);

    while (list && *list) {
        size_t bytes = strcspn(list, separators);
        if (bytes == word_bytes && memcmp(list, word, bytes) == 0) {
            return true;
        }
        list += bytes + (list[bytes] != '\0');
    }
    return false;
}

/* Adds the hooks after the libraries in the variable, which search for the runtime after
 * themselves. An address sanitizer must be first, or it ends the program. */
static int variable_add(const struct way *way, const char *hooks, const char *sanitizer)
{
    const char *present = getenv(way->variable);
    bool needs_first =
        way == PRELOAD && sanitizer[0] != '\0' && !list_names(present, way->separators, sanitizer);
    char *value = NULL;

    if (list_names(present, way->separators, hooks)) {
        return 0;
    }
    if (asprintf(&value, "%s%s%s%s%s", needs_first ? sanitizer : "", needs_first ? ":" : "",
                 present ? present : "", present && *present ? ":" : "", hooks) < 0) {
        return -ENOMEM;
    }
    int ret = setenv(way->variable, value, 1) == 0 ? 0 : -errno;
    free(value);
    return ret;
}

/* The runtime that the hooks will wrap in the process of the command. */
struct runtime {
    /* "" if none was found; child processes of the command may still find one */
    char path[PATH_MAX];
    bool is_chosen; /* otherwise the hooks would find another runtime */
};

/* Finds the runtime; returns false after reporting that --libnrt has no runtime. */
static bool runtime_find(const struct ntk_run_program *command, const char *hooks,
                         struct runtime *out_runtime)
{
    const char *named = arg_libnrt ? arg_libnrt : getenv("NEURON_HOOKS_LIBNRT");
    bool has_driver = ntk_driver_is_loaded("/sys");
    struct ntk_nrt_search search = { .program = command->path,
                                     .paths = command->paths,
                                     .paths_come_first = command->paths_come_first,
                                     .vendor_comes_first = true,
                                     .skips_software = has_driver,
                                     .hooks = hooks };
    char unchosen[PATH_MAX];

    if (named && ntk_nrt_is_runtime(named, hooks)) {
        out_runtime->is_chosen = arg_libnrt != NULL;
        return ntk_str_copy(out_runtime->path, PATH_MAX, named);
    }
    if (arg_libnrt) {
        ntk_log_warn(NULL, "%s is not a " NTK_NRT_SONAME ": %s runs without hooks", arg_libnrt,
                     command->path);
        return false;
    }
    bool is_found = ntk_nrt_search(&search, out_runtime->path);
    search.skips_software = false;
    bool is_software =
        has_driver && ntk_nrt_search(&search, unchosen) && ntk_nrt_is_software(unchosen);
    out_runtime->is_chosen = is_found && is_software;
    if (is_software && !is_found) {
        ntk_log_warn(NULL,
                     "%s is the software runtime, but this machine has a Neuron driver: "
                     "install the vendor's runtime, or use --libnrt",
                     unchosen);
    } else if (!is_found) {
        out_runtime->path[0] = '\0';
        ntk_log_warn(NULL,
                     NTK_NRT_SONAME " not found for %s: the program and its child processes get "
                                    "hooks only if they find this library (or use --libnrt)",
                     command->path);
    }
    return true;
}

/* Adds the hooks to the environment. Before a runtime with calls that the hooks lack, also adds
 * this runtime: a program that binds all its calls at start then finds the newer calls. */
static bool environment_set(const struct ntk_run_program *command, char hooks[][PATH_MAX],
                            size_t way_count, const struct runtime *runtime)
{
    /* Children may have a different working folder. */
    char *whole = runtime->path[0] ? realpath(runtime->path, NULL) : NULL;
    bool is_set = runtime->path[0] == '\0' || whole;
    bool is_behind =
        whole && !strpbrk(whole, PRELOAD->separators) && ntk_nrt_has_more(runtime->path, hooks[0]);

    if (whole && runtime->is_chosen) {
        is_set = setenv("NEURON_HOOKS_LIBNRT", whole, 1) == 0;
    }
    for (size_t i = 0; is_set && i < way_count; i++) {
        is_set = variable_add(&ways[i], hooks[i], command->sanitizer) == 0;
    }
    is_set = is_set && (!is_behind || variable_add(PRELOAD, whole, "") == 0);
    free(whole);
    return is_set;
}

/* Sets the variables that load the hooks, or reports the reason why it cannot. */
static void hooks_put(const struct ntk_run_program *command)
{
    static char hooks[2][PATH_MAX];
    static struct runtime runtime;
    size_t way_count = arg_audit ? 2 : 1;
    const char *obstacle = ntk_run_program_obstacle(command);

    if (obstacle) {
        ntk_log_warn(NULL, "%s %s: it runs without hooks", command->path, obstacle);
        return;
    }
    for (size_t i = 0; i < way_count; i++) {
        if (!hooks_find(&ways[i], hooks[i])) {
            ntk_log_warn(NULL, "%s is not installed: %s runs without hooks", ways[i].library,
                         command->path);
            return;
        }
        if (strpbrk(hooks[i], PRELOAD->separators)) {
            ntk_log_warn(NULL,
                         "the loader does not accept paths with blanks or colons, such as %s: %s "
                         "runs without hooks",
                         hooks[i], command->path);
            return;
        }
    }
    if (command->loader[0] == '\0' && !ntk_run_program_is_loader(command)) {
        ntk_log_warn(NULL, "%s is statically linked: only processes that it starts get hooks",
                     command->path);
    } else if (!runtime_find(command, hooks[0], &runtime)) {
        return;
    }
    if (!environment_set(command, hooks, way_count, &runtime)) {
        ntk_log_warn(NULL, "out of memory: %s runs without hooks", command->path);
    }
}

static bool libc_can_audit(void)
{
    int major = 0;
    int minor = 0;

    return sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor) == 2 &&
           (major > AUDIT_LIBC_MAJOR || (major == AUDIT_LIBC_MAJOR && minor >= AUDIT_LIBC_MINOR));
}

int ntk_run_main(int argc, char **argv)
{
    static struct ntk_run_program command;
    struct ntk_err err = { 0 };

    ntk_log_set_program(program.name);
    int first = ntk_opt_parse(&program, argc, argv);
    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (first >= argc) {
        return ntk_opt_argument_error(&program, "COMMAND", NULL);
    }
    if (arg_tag && strlen(arg_tag) > TAG_BYTES_MAX) {
        return ntk_opt_usage_error(&program, "--tag is longer than %d bytes", TAG_BYTES_MAX);
    }
    if (arg_audit && !libc_can_audit()) {
        ntk_log_error(NULL,
                      "--audit requires glibc %d.%d or later: with glibc %s, programs that call "
                      "dlmopen can crash",
                      AUDIT_LIBC_MAJOR, AUDIT_LIBC_MINOR, gnu_get_libc_version());
        return EXIT_NOT_EXECUTABLE;
    }
    int ret = ntk_run_program_find(argv[first], &command, &err);
    if (ret < 0) {
        (void)ntk_log_failure(NULL, &err);
        return ret == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
    }
    if (arg_tag) {
        (void)setenv("NEURON_PROCESS_TAG", arg_tag, 1);
    }
    hooks_put(&command);
    execvp(argv[first], argv + first);
    int error = errno;
    ntk_log_error(NULL, "cannot run '%s': %s", argv[first], strerror(error));
    return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}
