/* SPDX-License-Identifier: MIT */
/*
 * popef_dump - shows the content of PopEF files: options, files, exit code. dump_text.c writes the
 * listing, dump_json.c JSON.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "profiler/popef/dump.h"
#include "shared/base/err.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"

static bool all, metadata, anchors, user_anchors, executables, tensors, feeds, opaques;
static bool is_colored, is_verbose, as_json;

static const struct ntk_opt options[] = {
    { 0, "all", NULL, NTK_OPT_FLAG, &all, "print everything below (default)" },
    { 'm', "metadata", NULL, NTK_OPT_FLAG, &metadata, "print the metadata" },
    { 'a', "anchors", NULL, NTK_OPT_FLAG, &anchors,
      "print anchors (the tensors that the programs read and write)" },
    { 'u', "user-anchors", NULL, NTK_OPT_FLAG, &user_anchors,
      "print anchors that have no data in any tensor or feed of the files" },
    { 'e', "execs", NULL, NTK_OPT_FLAG, &executables, "print executables" },
    { 't', "tensors", NULL, NTK_OPT_FLAG, &tensors, "print tensors" },
    { 'f', "feeds", NULL, NTK_OPT_FLAG, &feeds, "print feeds" },
    { 'o', "opaques", NULL, NTK_OPT_FLAG, &opaques, "print opaque blobs" },
    { 'c', "color", NULL, NTK_OPT_FLAG, &is_colored, "print in colour" },
    { 'j', "json", NULL, NTK_OPT_FLAG, &as_json, "print everything as one JSON object" },
    { 'v', "verbose", NULL, NTK_OPT_FLAG, &is_verbose,
      "log the actions of the library (as with POPEF_LOG_LEVEL=DEBUG)" },
    NTK_OPT_COMMON_COMPLETION,
    NTK_OPT_COMMON_VERSION,
    NTK_OPT_COMMON_HELP,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "popef_dump",
    .usage = "[OPTION]... FILE...",
    .summary = "Shows the contents of PopEF files, without their data.",
    .options = options,
};

static void say(const char *text)
{
    ntk_log_error(NULL, "%s", text);
}

/* Maximum number of reported dangling links per file. */
#define LINKS_SHOWN_MAX 10

static void link_check(const struct popef_reader *reader, const struct popef_blob *blob,
                       const char *executable, size_t *missing_count)
{
    if (popef_reader_find_executable(reader, executable) || (*missing_count)++ >= LINKS_SHOWN_MAX) {
        return;
    }
    if (blob->type == POPEF_BLOB_METADATA) {
        ntk_log_warn(NULL, "%s: metadata refers to the missing executable '%s'",
                     popef_reader_file_name(reader, blob->file), executable);
    } else {
        ntk_log_warn(NULL, "%s: opaque blob '%s' refers to the missing executable '%s'",
                     popef_reader_file_name(reader, blob->file), blob->name, executable);
    }
}

/* Reports dangling links in all readable files. */
static void warn_of_links(const struct popef_reader *reader)
{
    const struct popef_metadata_blob *data;
    const struct popef_opaque *opaque;
    size_t missing_count = 0;

    for (size_t i = 0; (data = popef_reader_metadata(reader, i)); i++) {
        link_check(reader, &data->blob, data->metadata.executable, &missing_count);
    }
    for (size_t i = 0; (opaque = popef_reader_opaque(reader, i)); i++) {
        link_check(reader, &opaque->blob, opaque->executable, &missing_count);
    }
    if (missing_count > LINKS_SHOWN_MAX) {
        ntk_log_warn(NULL, "%zu more references to missing executables",
                     missing_count - LINKS_SHOWN_MAX);
    }
}

/* Writes and empties the buffer; false on failure. */
static bool out_write(struct dump *dump)
{
    bool is_good = ntk_buf_ok(&dump->out);

    if (!is_good) {
        say("out of memory");
    } else if (fwrite(ntk_buf_text_get(&dump->out), 1, dump->out.bytes_count, stdout) !=
                   dump->out.bytes_count ||
               fflush(stdout) != 0) {
        is_good = false;
        if (errno != EPIPE) {
            ntk_log_error(NULL, "cannot write to stdout: %s", strerror(errno));
        }
    }
    ntk_buf_fini(&dump->out);
    return is_good;
}

int main(int argc, char **argv)
{
    struct popef_error err = { 0 };
    struct popef_reader *reader = NULL;
    bool has_failed = false;

    ntk_log_set_program("popef_dump");
    int first = ntk_opt_parse(&program, argc, argv);
    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (first == argc) {
        return ntk_opt_argument_error(&program, "FILE", NULL);
    }
    if (is_verbose) {
        popef_log_set_level(POPEF_LOG_DEBUG);
    }
    all =
        all || !(metadata || anchors || user_anchors || executables || tensors || feeds || opaques);
    if (popef_reader_open(&reader, &err) < 0) {
        say(err.text);
        return 1;
    }
    /* Read all files first, because any file may have the data of an anchor. */
    for (int i = first; i < argc; i++) {
        if (popef_reader_parse_file(reader, argv[i], &err) < 0) {
            say(err.text);
            has_failed = true;
        }
    }
    warn_of_links(reader);

    struct dump dump = {
        .reader = reader,
        .metadata = all || metadata,
        .anchors = all || anchors,
        .user_anchors = user_anchors,
        .executables = all || executables,
        .tensors = all || tensors,
        .feeds = all || feeds,
        .opaques = all || opaques,
        .unknown = all,
        .is_colored = is_colored,
    };
    if (as_json) {
        dump_json(&dump);
        has_failed = !out_write(&dump) || has_failed;
    }
    for (size_t i = 0; !as_json && i < popef_reader_file_count(reader); i++) {
        dump_text_file(&dump, i);
        if (!out_write(&dump)) {
            has_failed = true;
            break;
        }
    }
    popef_reader_close(reader);
    return has_failed ? 1 : 0;
}
