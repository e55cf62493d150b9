/* SPDX-License-Identifier: MIT */
/* cmd_common - opens files and shows progress and answers, for all subcommands. */
#include "profiler/cmd/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/cmd/cmd_cut.h"
#include "profiler/cmd/neff_find.h"
#include "profiler/output/tables/output_part.h"
#include "shared/base/progress.h"
#include "profiler/system/session_find.h"
#include "shared/base/fs.h"
#include "shared/base/log.h"
#include "shared/base/str.h"
#include "shared/formats/neff/neff_layout.h"
#include "shared/formats/neff/source_text.h"

static enum ntk_metrics_version metrics_version;

static int set_metrics_version(const char *value, struct ntk_err *err)
{
    static const enum ntk_metrics_version versions[] = { NTK_METRICS_2_32, NTK_METRICS_2_28 };

    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        if (strcmp(value, ntk_metrics_version_name(versions[i])) == 0) {
            metrics_version = versions[i];
            return 0;
        }
    }
    return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "expected 2.32 or 2.28");
}

int (*const ntk_profile_on_metrics_version)(const char *value,
                                            struct ntk_err *err) = set_metrics_version;

int ntk_profile_fail(const struct ntk_err *err)
{
    char text[NTK_ERR_TEXT_BYTES + 64];

    fprintf(stderr, "neuron-profile: %s\n", ntk_err_format(err, text, sizeof text));
    return 1;
}

static void show_progress(double share, void *ctx)
{
    ntk_progress_show(ctx, share);
}

static void drop(struct ntk_profile *profile)
{
    ntk_trace_destroy(profile->trace);
    ntk_neff_close(profile->neff);
    ntk_ntff_close(profile->ntff);
    free(profile->ntff_path);
    memset(profile, 0, sizeof *profile);
}

/* Replaces the message if the file is a NEFF, because the two are easily confused. */
static void say_if_neff(const char *path, struct ntk_err *err)
{
    struct ntk_neff_header header;
    uint8_t bytes[NTK_NEFF_HEADER_BYTES];
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd >= 0 && fstat(fd, &status) == 0 && ntk_fs_pread(fd, bytes, sizeof bytes, 0) == 0 &&
        ntk_neff_read_header(bytes, (size_t)status.st_size, &header, NULL) == 0) {
        ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                    "%s is a NEFF, not a capture (NTFF): pass it with -n", path);
    }
    if (fd >= 0) {
        close(fd);
    }
}

/* Replaces the message for files of an inspection folder that are not captures. */
static void say_if_trace(const char *path, struct ntk_err *err)
{
    if (ntk_session_is_trace_file(path)) {
        ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                    "%s is part of a system trace, not a capture (NTFF): pass its folder with -d",
                    path);
    }
}

/* Replaces the message for files that begin with known bytes: files written by view, and compressed
 * captures. */
static void say_if_other(const char *path, struct ntk_err *err)
{
    static const char what_view_writes[] = "pass the capture that it was made from";
    static const struct {
        const char *begin, *kind, *hint;
    } kinds[] = {
        { "{", "JSON", what_view_writes },
        { "[", "JSON", what_view_writes },
        { "SQLite format 3", "an SQLite database", what_view_writes },
        { "PAR1", "a Parquet table", what_view_writes },
        { "<", "HTML", what_view_writes },
        { "\x1f\x8b", "compressed (gzip)", "decompress it first" },
        { "\x28\xb5\x2f\xfd", "compressed (zstd)", "decompress it first" },
        { "PK\x03\x04", "an archive (zip)", "extract it first" },
    };
    uint8_t bytes[16] = { 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_read = fd >= 0 && ntk_fs_pread(fd, bytes, sizeof bytes, 0) == 0;

    for (size_t i = 0; is_read && i < sizeof kinds / sizeof *kinds; i++) {
        if (memcmp(bytes, kinds[i].begin, strlen(kinds[i].begin)) == 0) {
            ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s is %s, not a capture (NTFF): %s",
                        path, kinds[i].kind, kinds[i].hint);
            break;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
}

void ntk_profile_say_if_ntff(const char *path, struct ntk_err *err)
{
    struct ntk_ntff *ntff;

    if (ntk_ntff_open(path, &ntff, NULL) == 0) {
        ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s is a capture (NTFF), not a NEFF", path);
        ntk_ntff_close(ntff);
    }
}

static int64_t built_s(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 ? (int64_t)status.st_mtime : 0;
}

/* Opens the given NEFF and checks that it belongs to the capture. */
static int open_neff(struct ntk_profile *profile, const char *neff_path, struct ntk_err *err)
{
    int ret = ntk_neff_open(neff_path, &profile->neff, err);

    if (ret < 0) {
        ntk_profile_say_if_ntff(neff_path, err);
        return ret;
    }
    profile->neff_built_s = built_s(neff_path);
    ret = ntk_ntff_check_neff(profile->ntff, profile->neff->header.uuid, err);
    if (ret < 0) {
        ntk_err_prefix(err, "%s", profile->ntff_path);
    }
    if (ret == -ENODATA) { /* a warning: nothing contradicts the NEFF */
        fprintf(stderr, "neuron-profile: %s\n", err->text);
        ret = 0;
    }
    return ret;
}

/* Opens the NEFF in the folder. Problems are only warnings, because the user did not select it. */
static int find_neff(struct ntk_profile *profile, struct ntk_err *err)
{
    char *path = NULL;
    int ret = ntk_neff_find(profile->ntff, profile->ntff_path, &path, err);

    if (ret == 0 && path) {
        ret = ntk_neff_open(path, &profile->neff, err);
        profile->neff_built_s = built_s(path);
        if (ret < 0 && ret != -ENOMEM) {
            fprintf(stderr, "neuron-profile: no NEFF used: %s\n", err->text);
            ret = 0;
        } else if (ret == 0 && isatty(STDERR_FILENO)) {
            fprintf(stderr, "neuron-profile: using the NEFF %s (-n - for none)\n", path);
        }
    } else if (ret == -ENOENT) {
        fprintf(stderr, "neuron-profile: %s: %s\n", profile->ntff_path, err->text);
        ret = 0;
    }
    free(path);
    return ret;
}

int ntk_profile_source_text(const struct ntk_profile *profile, const char *nki_root,
                            const char *framework_root, struct ntk_source_text **out_text)
{
    struct ntk_source_text_options options = { .nki_root = nki_root,
                                               .framework_root = framework_root,
                                               .neff = profile->neff,
                                               .built_s = profile->neff_built_s };
    struct ntk_err err = { 0 };

    return ntk_source_text_create(&options, out_text, &err) < 0 ? ntk_profile_fail(&err) : 0;
}

void ntk_profile_source_text_close(struct ntk_source_text *text)
{
    if (!text) {
        return;
    }
    ntk_vec_each(char *, warning, ntk_source_text_warnings(text)) {
        fprintf(stderr, "neuron-profile: %s\n", *warning);
    }
    ntk_source_text_destroy(text);
}

char *ntk_profile_name(const char *path)
{
    const char *base = ntk_str_base_name(path);
    const char *dot = strrchr(base, '.');

    return dot && dot != base ? strndup(base, (size_t)(dot - base)) : strdup(base);
}

void ntk_profile_take_input(const char *path, const char **session, const char **folder)
{
    struct stat status;

    *(stat(path, &status) == 0 && S_ISDIR(status.st_mode) ? folder : session) = path;
}

char *ntk_profile_session_path(const char *given)
{
    struct ntk_vec files = { 0 };
    struct ntk_err err = { 0 };
    struct stat status;
    char *path = NULL;

    if (stat(given, &status) < 0 || !S_ISDIR(status.st_mode)) {
        path = strdup(given); /* its reader reports the problem */
        if (!path) {
            ntk_err_no_memory(&err);
            (void)ntk_profile_fail(&err);
        }
        return path;
    }
    int ret = ntk_session_files(given, ".ntff", &files);
    if (ret == 0 && files.count == 1) {
        path = *(char **)ntk_vec_at(&files, 0);
        *(char **)ntk_vec_at(&files, 0) = NULL;
    } else if (ret < 0) {
        ntk_err_set(&err, ret, NTK_ERR_NO_OFFSET, "cannot read '%s': %s", given, strerror(-ret));
    } else if (files.count == 0) {
        ntk_err_set(&err, -ENOENT, NTK_ERR_NO_OFFSET, "%s is a folder without captures (*.ntff)",
                    given);
    } else {
        ntk_err_set(
            &err, -EINVAL, NTK_ERR_NO_OFFSET,
            "%s is a folder with %zu captures: name one of them, such as %s; view -d shows all",
            given, files.count, *(char **)ntk_vec_at(&files, 0));
    }
    if (!path) {
        (void)ntk_profile_fail(&err);
    }
    ntk_session_paths_fini(&files);
    return path;
}

int ntk_profile_open_files(const char *ntff_path, const char *neff_path,
                           struct ntk_profile *out_profile)
{
    struct ntk_profile profile = { 0 };
    struct ntk_err err = { 0 };
    int ret = ntk_ntff_open(ntff_path, &profile.ntff, &err);

    if (ret < 0) {
        if (ret == -EBADMSG || ret == -ENOTSUP) {
            say_if_other(ntff_path, &err);
            say_if_trace(ntff_path, &err);
        }
        say_if_neff(ntff_path, &err);
    } else {
        profile.ntff_path = strdup(ntff_path);
        if (!profile.ntff_path) {
            ntk_err_no_memory(&err);
            ret = -ENOMEM;
        }
    }
    if (ret == 0 && !neff_path) {
        ret = find_neff(&profile, &err);
    } else if (ret == 0 && strcmp(neff_path, NTK_PROFILE_NO_NEFF) != 0) {
        ret = open_neff(&profile, neff_path, &err);
    }
    if (ret < 0) {
        drop(&profile);
        return ntk_profile_fail(&err);
    }
    profile.is_incomplete = profile.ntff->warning_count > 0;
    for (size_t i = 0; i < profile.ntff->warning_count; i++) {
        fprintf(stderr, "neuron-profile: %s: %s\n", ntff_path, profile.ntff->warnings[i]);
    }
    *out_profile = profile;
    return 0;
}

static void say_part(const struct ntk_profile *profile)
{
    struct ntk_buf text = { 0 };

    ntk_output_part_text(profile->trace, &text);
    fprintf(stderr, "neuron-profile: %s: only %s\n", profile->ntff_path, ntk_buf_text_get(&text));
    ntk_buf_fini(&text);
}

static int create_trace(const struct ntk_profile *profile, const struct ntk_trace_part *part,
                        struct ntk_trace **out_trace, struct ntk_err *err)
{
    struct ntk_progress progress;
    struct ntk_trace_options options = { .metrics = metrics_version,
                                         .progress = show_progress,
                                         .progress_ctx = &progress,
                                         .part = *part };

    ntk_progress_begin(&progress, "reading records");
    int ret = ntk_trace_create(profile->ntff, profile->neff, &options, out_trace, err);
    ntk_progress_end(&progress);
    return ret;
}

/* Narrows the part to the execution of --execution: its times are known after all records were
 * read. */
static int find_execution(const struct ntk_profile *profile, struct ntk_trace_part *part,
                          struct ntk_err *err)
{
    const struct ntk_trace_part all = { 0 };
    struct ntk_trace *whole = NULL;
    int ret = create_trace(profile, &all, &whole, err);

    if (ret == 0) {
        ret = ntk_cut_to_execution(whole, part, err);
        ntk_trace_destroy(whole);
    }
    return ret;
}

/* Opens a part. code: the result for an empty part. */
static int open_part(const char *ntff_path, const char *neff_path,
                     const struct ntk_trace_part *part, int code_outside,
                     struct ntk_profile *out_profile)
{
    struct ntk_profile profile;
    struct ntk_trace_part narrowed = *part;
    struct ntk_err err = { 0 };
    int code = ntk_profile_open_files(ntff_path, neff_path, &profile);

    if (code) {
        return code;
    }
    int ret = ntk_cut_execution() ? find_execution(&profile, &narrowed, &err) : 0;
    if (ret == 0) {
        ret = create_trace(&profile, &narrowed, &profile.trace, &err);
    }
    if (ret < 0) {
        ntk_err_prefix(&err, "%s", ntff_path);
        drop(&profile);
        return ret == -ERANGE && code_outside != 1 ? code_outside : ntk_profile_fail(&err);
    }
    if (profile.trace->is_part) {
        say_part(&profile);
    }
    /* For a truncated file, the missing part was already reported. */
    if (profile.ntff->has_window && !profile.trace->has_total && !profile.is_incomplete) {
        fprintf(stderr,
                "neuron-profile: %s: no engine recorded anything: no execution ran, or a software "
                "core cannot execute this program (its estimated time is omitted)\n",
                ntff_path);
    }
    *out_profile = profile;
    return 0;
}

int ntk_profile_open(const char *ntff_path, const char *neff_path, struct ntk_profile *out_profile)
{
    struct ntk_trace_part part;
    struct ntk_err err = { 0 };

    return ntk_cut_of_capture(&part, &err) < 0
               ? ntk_profile_fail(&err)
               : open_part(ntff_path, neff_path, &part, 1, out_profile);
}

int ntk_profile_open_part(const char *ntff_path, const char *neff_path,
                          const struct ntk_trace_part *part, struct ntk_profile *out_profile)
{
    return open_part(ntff_path, neff_path, part, NTK_PROFILE_OUTSIDE, out_profile);
}

int ntk_profile_close(struct ntk_profile *profile, int code)
{
    struct ntk_err err = { 0 };

    code = code ? code : profile->is_incomplete;
    if (ntk_ntff_check_whole(profile->ntff, &err) < 0) {
        ntk_err_prefix(&err, "%s", profile->ntff_path);
        code = ntk_profile_fail(&err);
    }
    drop(profile);
    return code;
}

int ntk_profile_can_put(const char *path, struct ntk_err *err)
{
    struct ntk_fs_replace replace;

    /* The reader of a pipe would see its end. */
    if (!path || strcmp(path, "-") == 0 || ntk_fs_may_block(path)) {
        return 0;
    }
    int ret = ntk_fs_replace_begin(&replace, path, err);
    if (ret == 0) {
        ntk_fs_replace_abort(&replace);
    }
    return ret;
}

int ntk_profile_put(const struct ntk_buf *text, const char *path)
{
    struct ntk_err err = { 0 };

    if (!ntk_buf_ok(text)) {
        ntk_err_no_memory(&err);
        return ntk_profile_fail(&err);
    }
    if (path && strcmp(path, "-") != 0) {
        return ntk_fs_write(path, text->bytes, text->bytes_count, &err) < 0 ? ntk_profile_fail(&err)
                                                                            : 0;
    }
    if (fwrite(ntk_buf_text_get(text), 1, text->bytes_count, stdout) != text->bytes_count ||
        fflush(stdout) != 0) {
        if (errno == EPIPE) {
            return 0; /* the reader has closed the pipe */
        }
        ntk_err_set(&err, -errno, NTK_ERR_NO_OFFSET, "cannot write to stdout: %s", strerror(errno));
        return ntk_profile_fail(&err);
    }
    return 0;
}
