/* SPDX-License-Identifier: MIT */
/* neuron-packager - shows, unpacks and creates NEFFs: the subcommands and their options. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "profiler/packager/packager.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"
#include "shared/formats/ntff/ntff.h"

static const struct ntk_opt_command commands[] = {
    { "info", packager_info },       { "unpack", packager_unpack },
    { "create", packager_create },   { "optimize", packager_optimize },
    { "example", packager_example }, { "disasm", packager_disasm },
    { "asm", packager_asm },         { 0 },
};

static const struct ntk_opt main_options[] = { NTK_OPT_COMMON, { 0 } };

static const struct ntk_opt_program main_program = {
    .name = "neuron-packager",
    .usage = "info FILE\nunpack [-o FOLDER] FILE\ncreate -i FOLDER -o FILE\noptimize -o FILE "
             "FILE\nexample NAME -o FILE\n"
             "disasm [-o FILE] FILE\nasm -o PATH LISTING",
    .summary = "Shows, unpacks and creates NEFFs, the programs of NeuronCores.",
    .options = main_options,
    .stop_at_operand = true,
    .epilogue = "Each subcommand has its own --help.",
    .commands = commands,
};

int packager_fail(const struct ntk_err *err)
{
    char text[NTK_ERR_TEXT_BYTES + 64];

    fprintf(stderr, "neuron-packager: %s\n", ntk_err_format(err, text, sizeof text));
    return 1;
}

/* Returns true for a capture, because users confuse the two kinds of files. */
static bool is_capture(const char *path)
{
    struct ntk_ntff *ntff = NULL;
    bool is_ntff = ntk_ntff_open(path, &ntff, NULL) == 0;

    ntk_ntff_close(ntff);
    return is_ntff;
}

const char *packager_parse_file(const struct ntk_opt_program *program, int argc, char **argv,
                                int *out_code)
{
    int first = ntk_opt_parse(program, argc, argv);

    if (first < 0) {
        *out_code = ntk_opt_exit_code(first);
        return NULL;
    }
    if (argc - first != 1) {
        *out_code = ntk_opt_argument_error(program, "FILE", argc == first ? NULL : argv[first + 1]);
        return NULL;
    }
    if (is_capture(argv[first])) {
        fprintf(stderr,
                "neuron-packager: %s is a capture (NTFF), not a NEFF: use neuron-profile view -s\n",
                argv[first]);
        *out_code = 1;
        return NULL;
    }
    return argv[first];
}

int main(int argc, char **argv)
{
    int first = ntk_opt_parse(&main_program, argc, argv);

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    return ntk_opt_run_command(&main_program, argc, argv, first);
}
