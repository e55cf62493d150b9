/* SPDX-License-Identifier: MIT */
#include "agent/hang/captures.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shared/base/child.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/log.h"
#include "shared/base/str.h"
#include "shared/metrics/percentile.h"

#define MODULE "captures"
#define EVERY_NS (600 * NTK_NS_PER_SECOND)
#define FAILED_SHARE 10        /* of that, after one that failed */
#define P99_EXECUTIONS_MIN 20U /* of a period: with fewer it is the slowest one */
#define STAMP_BYTES 16         /* 20261124T010000Z, which begins the name of each folder */

const char *const ntk_captures_reason_names[NTK_CAPTURES_REASON_COUNT] = { "hang", "slow", "stuck",
                                                                           "ecc", "p99" };

struct ntk_captures {
    const struct ntk_captures_options *options;
    uint64_t every_ns, keep_bytes;
    char program[PATH_MAX];
    uint64_t taken_ns[NTK_CAPTURES_REASON_COUNT]; /* 0: never */
    uint64_t left_out[NTK_CAPTURES_REASON_COUNT]; /* since */
    size_t process_count;                         /* of the last period */
    pid_t running;                                /* 0: none */
    enum ntk_captures_reason running_reason;
    char folder[PATH_MAX]; /* of that */
};

/* ---- options --------------------------------------------------------------------------------- */

static int reason_parse(char *word, struct ntk_captures_options *options, struct ntk_err *err)
{
    char *value = strchr(word, '=');
    enum ntk_captures_reason reason = 0;

    if (value) {
        *value++ = '\0';
    }
    while (reason < NTK_CAPTURES_REASON_COUNT &&
           strcmp(word, ntk_captures_reason_names[reason]) != 0) {
        reason++;
    }
    if (reason == NTK_CAPTURES_REASON_COUNT) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "'%s' is no reason; there are hang, slow, stuck, ecc and p99=TIME",
                           word);
    }
    if ((value != NULL) != (reason == NTK_CAPTURES_P99) ||
        (value &&
         (ntk_str_parse_duration_ns(value, &options->p99_ns) < 0 || options->p99_ns == 0))) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           reason == NTK_CAPTURES_P99 ? "p99 needs a time, such as p99=50ms"
                                                      : "'%s' takes no value",
                           word);
    }
    options->is_wanted[reason] = true;
    return 0;
}

int ntk_captures_parse(const char *list, struct ntk_captures_options *options, struct ntk_err *err)
{
    char *copy = strdup(list);
    char *save = NULL;
    int ret = copy ? 0 : ntk_err_no_memory(err);

    if (ret == 0 && !list[0]) {
        ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                          "reasons are missing; there are hang, slow, stuck, ecc and p99=TIME");
    }
    for (char *word = copy ? strtok_r(copy, ",", &save) : NULL; word && ret == 0;
         word = strtok_r(NULL, ",", &save)) {
        ret = reason_parse(word, options, err);
    }
    free(copy);
    return ret;
}

/* ---- room ------------------------------------------------------------------------------------ */

static _Thread_local uint64_t counted_bytes;

static int count_file(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)path;
    (void)where;
    counted_bytes += type == FTW_F ? (uint64_t)status->st_blocks * 512 : 0;
    return 0;
}

static uint64_t bytes_of(const char *path)
{
    counted_bytes = 0;
    (void)nftw(path, count_file, 8, FTW_PHYS);
    return counted_bytes;
}

/* Only what an agent has made, by its name: "20261124T010000Z-hang". */
static int is_ours(const struct dirent *entry)
{
    const char *name = entry->d_name;
    size_t digits = strspn(name, "0123456789");

    return digits == 8 && name[8] == 'T' && strspn(name + 9, "0123456789") == 6 &&
           name[15] == 'Z' && name[STAMP_BYTES] == '-';
}

/* The oldest go, as their names tell, until the rest is within the bound; the last one stays. */
void ntk_captures_make_room(const struct ntk_captures_options *options)
{
    uint64_t keep_bytes = options->keep_bytes > 0 ? options->keep_bytes : NTK_CAPTURES_KEEP_BYTES;
    struct dirent **entries = NULL;
    int count = scandir(options->folder, &entries, is_ours, alphasort);
    uint64_t bytes = 0;

    for (int i = count - 1; i >= 0; i--) {
        char path[PATH_MAX];
        struct ntk_err err = { 0 };

        if ((size_t)snprintf(path, sizeof path, "%s/%s", options->folder, entries[i]->d_name) <
            sizeof path) {
            bytes += bytes_of(path);
            if (bytes > keep_bytes && i < count - 1 && ntk_fs_remove_tree(path, &err) < 0) {
                ntk_log_warn(MODULE, "%s", err.text);
            }
        }
        free(entries[i]);
    }
    free(entries);
}

int ntk_captures_make_folder(const struct ntk_captures_options *options, const char *what,
                             char *buf, size_t buf_bytes, struct ntk_err *err)
{
    time_t now = time(NULL);
    char stamp[32];
    struct tm utc;

    gmtime_r(&now, &utc);
    (void)strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &utc);
    if ((size_t)snprintf(buf, buf_bytes, "%s/%s-%s", options->folder, stamp, what) >= buf_bytes) {
        return ntk_err_set(err, -ENAMETOOLONG, NTK_ERR_NO_OFFSET, "%s is too long a name",
                           options->folder);
    }
    return ntk_fs_make_folders(buf, 0755, err);
}

/* ---- a run ----------------------------------------------------------------------------------- */

int ntk_captures_create(const struct ntk_captures_options *options,
                        struct ntk_captures **out_captures, struct ntk_err *err)
{
    struct ntk_captures *captures = calloc(1, sizeof *captures);

    if (!captures) {
        return ntk_err_no_memory(err);
    }
    int ret = ntk_fs_make_folders(options->folder, 0755, err);
    if (ret < 0) {
        free(captures);
        return ret;
    }
    captures->options = options;
    captures->every_ns = options->every_ns > 0 ? options->every_ns : EVERY_NS;
    captures->keep_bytes = options->keep_bytes > 0 ? options->keep_bytes : NTK_CAPTURES_KEEP_BYTES;
    ntk_child_program_beside("neuron-profile", captures->program, sizeof captures->program);
    *out_captures = captures;
    return 0;
}

void ntk_captures_destroy(struct ntk_captures *captures)
{
    free(captures);
}

/* Where nothing goes on there is nothing to wait for but the time before. */
static const char *timeout_of(enum ntk_captures_reason reason)
{
    return reason == NTK_CAPTURES_HANG || reason == NTK_CAPTURES_STUCK ? "3s" : "20s";
}

/* As much as the whole may have, for the processes that there are. */
static int run(struct ntk_captures *captures, enum ntk_captures_reason reason, const char *job,
               const char *pid)
{
    char log[PATH_MAX + 16];
    char size[24];

    (void)snprintf(log, sizeof log, "%s/trigger.log", captures->folder);
    (void)snprintf(size, sizeof size, "%" PRIu64,
                   captures->keep_bytes / (captures->process_count + 1) + 1);
    char *const argv[] = { (char *)"neuron-profile",
                           (char *)"trigger",
                           (char *)(job[0] ? "--job" : "--pid"),
                           (char *)(job[0] ? job : pid),
                           (char *)"--executions",
                           (char *)"3",
                           (char *)"--size",
                           size,
                           (char *)"--timeout",
                           (char *)timeout_of(reason),
                           (char *)"--output",
                           captures->folder,
                           NULL };
    struct ntk_child child = {
        .program = captures->program, .argv = argv, .has_files = true, .takes_errors = true
    };
    child.output = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (child.output < 0) {
        return -errno;
    }
    int ret = ntk_child_start(&child, &captures->running);
    close(child.output);
    if (ret < 0) {
        captures->running = 0;
    }
    return ret;
}

void ntk_captures_take(struct ntk_captures *captures, enum ntk_captures_reason reason,
                       const char *job, uint32_t pid)
{
    uint64_t now_ns = ntk_clock_monotonic_ns();
    struct ntk_err err = { 0 };
    char pid_text[16];

    if (!captures || !captures->options->is_wanted[reason]) {
        return;
    }
    if (captures->running > 0 || (captures->taken_ns[reason] > 0 &&
                                  now_ns - captures->taken_ns[reason] < captures->every_ns)) {
        captures->left_out[reason]++;
        return;
    }
    (void)snprintf(pid_text, sizeof pid_text, "%u", pid);
    int ret = ntk_captures_make_folder(captures->options, ntk_captures_reason_names[reason],
                                       captures->folder, sizeof captures->folder, &err);
    if (ret == 0 && (ret = run(captures, reason, job, pid_text)) < 0) {
        ntk_err_set(&err, ret, NTK_ERR_NO_OFFSET, "cannot run %s: %s", captures->program,
                    strerror(-ret));
    }
    captures->taken_ns[reason] = now_ns;
    captures->running_reason = reason;
    if (ret < 0) {
        struct ntk_err ignored = { 0 };

        (void)ntk_fs_remove_tree(captures->folder, &ignored);
        ntk_log_warn(MODULE, "nothing is kept of what happened (%s): %s",
                     ntk_captures_reason_names[reason], err.text);
        return;
    }
    ntk_log_warn(MODULE, "%s: %s %s is captured to %s", ntk_captures_reason_names[reason],
                 job[0] ? "the job at" : "process", job[0] ? job : pid_text, captures->folder);
    if (captures->left_out[reason] > 0) {
        ntk_log_warn(MODULE, "%s: since the capture before, %llu times more it was not captured",
                     ntk_captures_reason_names[reason],
                     (unsigned long long)captures->left_out[reason]);
    }
    captures->left_out[reason] = 0;
}

/* ---- each period ----------------------------------------------------------------------------- */

/* What could not be had is tried again sooner. */
static void fail_note(struct ntk_captures *captures, enum ntk_captures_reason reason)
{
    uint64_t less_ns = captures->every_ns - captures->every_ns / FAILED_SHARE;

    captures->taken_ns[reason] -=
        captures->taken_ns[reason] > less_ns ? less_ns : captures->taken_ns[reason] - 1;
}

static void run_look(struct ntk_captures *captures)
{
    int status = 0;

    if (captures->running > 0 && waitpid(captures->running, &status, WNOHANG) != 0) {
        captures->running = 0;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            ntk_log_warn(MODULE, "not all of it could be had: %s/trigger.log", captures->folder);
            fail_note(captures, captures->running_reason);
        }
        ntk_captures_make_room(captures->options);
    }
}

static bool has_error(const struct ntk_device_sample *device)
{
    return device->ecc[NTK_ECC_MEM_UNCORRECTED].period > 0 ||
           device->ecc[NTK_ECC_SRAM_UNCORRECTED].period > 0 ||
           device->ecc[NTK_ECC_MEM_REPAIRABLE].period > 0;
}

/* The first process with a core of the device. */
static uint32_t user_of(const struct ntk_snapshot *snapshot, const struct ntk_device_sample *device)
{
    uint32_t per_device = snapshot->hardware.cores_per_device;

    for (size_t i = 0; i < snapshot->runtime_count && per_device > 0; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];

        for (size_t c = 0; c < runtime->core_count && !runtime->ended; c++) {
            if (runtime->cores[c].core / per_device == device->index) {
                return runtime->pid;
            }
        }
    }
    return 0;
}

void ntk_captures_look(struct ntk_captures *captures, const struct ntk_snapshot *snapshot)
{
    if (!captures) {
        return;
    }
    run_look(captures);
    captures->process_count = snapshot->runtime_count;
    for (size_t i = 0; i < snapshot->device_count && captures->options->is_wanted[NTK_CAPTURES_ECC];
         i++) {
        uint32_t pid =
            has_error(&snapshot->devices[i]) ? user_of(snapshot, &snapshot->devices[i]) : 0;

        if (pid > 0) {
            ntk_captures_take(captures, NTK_CAPTURES_ECC, "", pid);
        }
    }
    for (size_t i = 0;
         i < snapshot->runtime_count && captures->options->is_wanted[NTK_CAPTURES_P99]; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];
        double p99_ns = 0;

        if (!runtime->ended && runtime->total_latency.count >= P99_EXECUTIONS_MIN &&
            ntk_histogram_percentile(&runtime->total_latency, 99, &p99_ns) &&
            p99_ns > (double)captures->options->p99_ns) {
            ntk_captures_take(captures, NTK_CAPTURES_P99, "", runtime->pid);
        }
    }
}
