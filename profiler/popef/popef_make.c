/* SPDX-License-Identifier: MIT */
/* popef_make - creates PopEF files: the subcommands and their options. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/popef/make.h"
#include "shared/base/fs.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"

#define DESCRIPTION_BYTES_MAX ((size_t)256 << 20)

static const char *output;

static const struct ntk_opt create_options[] = {
    { 'o', "output", "FILE", NTK_OPT_TEXT, &output, "write to FILE" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program create_program = {
    .name = "popef_make create",
    .usage = "-o FILE DESCRIPTION",
    .summary = "Writes a PopEF file from a JSON description.",
    .options = create_options,
};

static const struct ntk_opt append_options[] = { NTK_OPT_COMMON, { 0 } };

static const struct ntk_opt_program append_program = {
    .name = "popef_make append",
    .usage = "DESCRIPTION FILE",
    .summary = "Appends the blobs of a description to a PopEF file.",
    .options = append_options,
};

int make_fail(const struct ntk_err *err)
{
    return ntk_log_failure(NULL, err);
}

/* Returns the folder of a path; the caller frees it with free(). */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
}

static int make(const char *path, const char *to, enum popef_writer_mode mode)
{
    struct make_description description = { 0 };
    struct ntk_err err = { 0 };
    uint8_t *text = NULL;
    size_t count = 0;
    char *folder = folder_of(path);
    int ret = folder ? ntk_fs_read(path, DESCRIPTION_BYTES_MAX, &text, &count, &err)
                     : ntk_err_no_memory(&err);

    if (ret == 0) {
        ret = make_description_read((const char *)text, count, folder, &description, &err);
        if (ret < 0) {
            ntk_err_prefix(&err, "%s", path);
        }
    }
    if (ret == 0) {
        ret = make_write(&description, to, mode, &err);
        make_description_fini(&description);
    }
    free(text);
    free(folder);
    return ret < 0 ? make_fail(&err) : 0;
}

static int command_create(int argc, char **argv)
{
    int first = ntk_opt_parse(&create_program, argc, argv);

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (argc - first != 1) {
        return ntk_opt_argument_error(&create_program, "DESCRIPTION",
                                      argc == first ? NULL : argv[first + 1]);
    }
    if (!output) {
        return ntk_opt_usage_error(&create_program, "no output: use --output FILE");
    }
    return make(argv[first], output, POPEF_WRITER_CREATE);
}

static int command_append(int argc, char **argv)
{
    int first = ntk_opt_parse(&append_program, argc, argv);

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (argc - first != 2) {
        return ntk_opt_argument_error(&append_program, argc == first ? "DESCRIPTION" : "FILE",
                                      argc - first < 2 ? NULL : argv[first + 2]);
    }
    return make(argv[first], argv[first + 1], POPEF_WRITER_APPEND);
}

static const struct ntk_opt_command commands[] = {
    { "create", command_create },
    { "append", command_append },
    { "example", make_example },
    { 0 },
};

static const struct ntk_opt main_options[] = { NTK_OPT_COMMON, { 0 } };

static const struct ntk_opt_program main_program = {
    .name = "popef_make",
    .usage = "create -o FILE DESCRIPTION\nappend DESCRIPTION FILE\nexample NAME -o FILE",
    .summary = "Creates PopEF files from NEFFs, arrays and metadata.",
    .options = main_options,
    .stop_at_operand = true,
    .epilogue = "Each subcommand has its own --help.",
    .commands = commands,
};

int main(int argc, char **argv)
{
    ntk_log_set_program("popef_make");
    int first = ntk_opt_parse(&main_program, argc, argv);
    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    return ntk_opt_run_command(&main_program, argc, argv, first);
}
