/* SPDX-License-Identifier: MIT */
/* neuron-profile - main program with one subcommand for each task. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "profiler/cmd/cmd.h"
#include "profiler/output/tables/output_schema.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"

static const struct ntk_opt_command commands[] = {
    { "capture", ntk_cmd_capture },
    { "view", ntk_cmd_view },
    { "query", ntk_cmd_query },
    { "analyze", ntk_cmd_analyze },
    { "lines", ntk_cmd_lines },
    { "diff", ntk_cmd_diff },
    { "baseline", ntk_cmd_baseline },
    { "show-session", ntk_cmd_show_session },
    { "inspect", ntk_cmd_inspect },
    { "trigger", ntk_cmd_trigger },
    { "idle", ntk_cmd_idle },
#ifdef NTK_PROFILE_DAEMON
    { "start-session", ntk_cmd_daemon },
    { "stop-session", ntk_cmd_daemon },
#endif
    { 0 },
};

static bool arg_schema;

static const struct ntk_opt options[] = {
    { 0, "show-profile-schema", NULL, NTK_OPT_FLAG, &arg_schema,
      "print the schema of the tables that view writes, as YAML, and exit" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-profile",
    .usage = "capture -n FILE.neff -s FILE.ntff [OPTION]... [NAME FILE]...\n"
             "view -s FILE.ntff [-n FILE.neff] [OPTION]...\n"
             "view -d FOLDER [OPTION]...\n"
             "query -s FILE.ntff [-n FILE.neff] [OPTION]... SELECT\n"
             "query -d FOLDER [OPTION]... SELECT\n"
             "analyze -s FILE.ntff [-n FILE.neff] [OPTION]... [NAME]...\n"
             "analyze -d FOLDER [OPTION]... [NAME]...\n"
             "lines -s FILE.ntff [-n FILE.neff] [OPTION]...\n"
             "diff [OPTION]... BEFORE AFTER\n"
             "baseline save|check [OPTION]... BASELINE CAPTURE...\n"
             "show-session -s FILE.ntff [OPTION]...\n"
             "show-session -d FOLDER [OPTION]...\n"
#ifdef NTK_PROFILE_DAEMON
             "start-session -s FILE.ntff [-a ADDRESS] MODEL-ID\n"
             "stop-session -s FILE.ntff\n"
#endif
             "inspect [OPTION]... [--] COMMAND [ARGUMENT]...\n"
             "inspect --pid PID [OPTION]...\n"
             "trigger --pid PID | --job NAME [OPTION]...\n"
             "idle --pid PID | --job NAME [OPTION]...",
    .summary = "Records and analyses NeuronCore activity during NEFF execution.",
    .options = options,
    .stop_at_operand = true,
    .epilogue = "capture       execute a NEFF once and record its core in a file (NTFF)\n"
                "view          show a capture or a folder: summary, page, JSON, tables, Perfetto\n"
                "query         run a SELECT on the tables of view\n"
                "analyze       find the cause: advice, waits, critical path, memory, start-up\n"
                "lines         show the cost of source lines and loops\n"
                "diff          show what became slower or faster between captures\n"
                "baseline      save measures of captures, and check later captures against them\n"
                "show-session  list the contents of a capture or a folder\n"
                "inspect       run a program and record the activity of its runtime\n"
                "trigger       record executions of processes that are already running\n"
                "idle          show what host threads do while cores are idle\n\n"
                "neuron-profile COMMAND --help explains a command. neuron-explorer is another\n"
                "name for this program.",
    .commands = commands,
};

static int show_schema(void)
{
    struct ntk_buf text = { 0 };

    ntk_output_schema_yaml(&text);
    int code = ntk_profile_put(&text, NULL);
    ntk_buf_fini(&text);
    return code;
}

int main(int argc, char **argv)
{
    ntk_log_set_program("neuron-profile");
    signal(SIGPIPE, SIG_IGN);
    int first = ntk_opt_parse(&program, argc, argv);
    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (arg_schema) {
        return show_schema();
    }
    return ntk_opt_run_command(&program, argc, argv, first);
}
