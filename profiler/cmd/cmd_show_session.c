/* SPDX-License-Identifier: MIT */
/*
 * cmd_show_session - prints the content of a capture file: a row per core, engine and opcode;
 * optionally every instruction and record.
 */

#include "profiler/cmd/cmd.h"

#include <stdlib.h>
#include "profiler/output/answers/output_records.h"
#include "profiler/output/output.h"
#include "shared/base/opt.h"

static const char *arg_session;
static const char *arg_neff;
static const char *arg_folder;
static bool arg_json;
static bool arg_instructions;
static bool arg_trace;
static bool arg_dma;
static bool arg_errors;

static const struct ntk_opt options[] = {
    { 's', "session-file", "FILE", NTK_OPT_TEXT, &arg_session,
      "read this capture, or the capture in this folder" },
    { 'd', "session-dir", "FOLDER", NTK_OPT_TEXT, &arg_folder,
      "read the inspection folders in and below FOLDER instead of a capture" },
    { 'n', "neff-path", "FILE", NTK_OPT_TEXT, &arg_neff,
      "check that the capture belongs to this NEFF" },
    { 'j', "json", NULL, NTK_OPT_FLAG, &arg_json, "print JSON" },
    { 'i', "show-instructions", NULL, NTK_OPT_FLAG, &arg_instructions,
      "print each instruction of the execution instead of the tables" },
    { 0, "show-trace", NULL, NTK_OPT_FLAG, &arg_trace,
      "print the instruction, semaphore and throttling records as stored in the file, instead "
      "of the tables" },
    { 0, "show-dma", NULL, NTK_OPT_FLAG, &arg_dma, "print the DMA records instead of the tables" },
    { 'e', "show-errors", NULL, NTK_OPT_FLAG, &arg_errors,
      "print the error records instead of the tables; with -j, both" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-profile show-session",
    .usage = "[-s] FILE.ntff [-n FILE.neff] [OPTION]...\n"
             "[-d] FOLDER [OPTION]...",
    .summary = "Lists the contents of a capture from any machine: cores, engines, opcodes, memory.",
    .options = options,
};

/* Prints the list; returns the exit code. */
static int list(const struct ntk_profile *profile)
{
    unsigned what = (arg_trace ? NTK_RECORDS_TRACE : 0) | (arg_dma ? NTK_RECORDS_DMA : 0) |
                    (arg_errors ? NTK_RECORDS_ERRORS : 0);
    struct ntk_sink sink = { 0 };
    struct ntk_err err = { 0 };
    int ret = ntk_sink_open(&sink, "-", &err);

    if (ret == 0 && arg_instructions) {
        ret = ntk_output_instructions(profile->trace, &sink);
    }
    if (ret == 0 && what) {
        ret = ntk_output_records(profile->ntff, what, &sink);
    }
    if (ret < 0 && !sink.failed) {
        sink.failed = ret;
    }
    return ntk_sink_commit(&sink, &err) < 0 ? ntk_profile_fail(&err) : 0;
}

int ntk_cmd_show_session(int argc, char **argv)
{
    struct ntk_profile profile = { 0 };
    struct ntk_opcode_table opcodes = { 0 };
    struct ntk_buf text = { 0 };
    int first = ntk_opt_parse(&program, argc, argv);
    bool is_list = arg_instructions || arg_trace || arg_dma || (arg_errors && !arg_json);
    int code;

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (first < argc && !arg_session && !arg_folder) {
        ntk_profile_take_input(argv[first++], &arg_session, &arg_folder);
    }
    if (first < argc) {
        return ntk_opt_argument_error(&program, NULL, argv[first]);
    }
    if (arg_folder && !arg_session && !arg_neff) {
        return ntk_profile_folder(&(struct ntk_folder_options){
            .folder = arg_folder, .format = arg_json ? "summary-json" : "summary-text" });
    }
    if (arg_folder) {
        return ntk_opt_usage_error(&program, "-d cannot be combined with -s or -n");
    }
    if (!arg_session) {
        return ntk_opt_usage_error(&program, "no capture: use -s FILE or -d FOLDER");
    }
    if (is_list && arg_json) {
        return ntk_opt_usage_error(&program, "-j can list only errors (--show-errors); use "
                                             "neuron-profile view --output-format json");
    }
    char *path = ntk_profile_session_path(arg_session);
    const char *neff = arg_neff ? arg_neff : NTK_PROFILE_NO_NEFF; /* the NEFF is not needed here */
    code = !path                          ? 1
           : is_list && !arg_instructions ? ntk_profile_open_files(path, neff, &profile)
                                          : ntk_profile_open(path, neff, &profile);
    free(path);
    if (code) {
        return code;
    }
    if (is_list) {
        return ntk_profile_close(&profile, list(&profile));
    }
    if (ntk_analysis_opcode_table(profile.trace, &opcodes) < 0) {
        text.failed = true;
    } else if (arg_json) {
        ntk_output_session_json(profile.trace, &opcodes, arg_errors, &text);
    } else {
        ntk_output_session_text(profile.trace, &opcodes, &text);
    }
    code = ntk_profile_put(&text, NULL);
    ntk_buf_fini(&text);
    ntk_opcode_table_fini(&opcodes);
    return ntk_profile_close(&profile, code);
}
