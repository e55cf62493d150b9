/* SPDX-License-Identifier: MIT */
/* neuron-cli - manages groups and models of a runtime daemon of the first generation. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/rtd/cli/cli.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"
#include "shared/rpc/rpc_endpoint.h"

#define MODULE ""
#define WAIT_DEFAULT_S 120
#define COMMANDS_MAX 16

static const char *arg_address;
static bool arg_json;
static uint64_t arg_wait_s = WAIT_DEFAULT_S;
static int64_t arg_ncg_id = INT64_MIN;
static bool arg_direct;
static uint64_t arg_timeout_s;
static uint64_t arg_ninfer;

static struct ntk_opt_command commands[COMMANDS_MAX]; /* names for messages */
static char commands_help[COMMANDS_MAX * 100] = "Commands:";

static const struct ntk_opt option_rows[] = {
    { 'a', "address", "ADDRESS", NTK_OPT_TEXT, &arg_address,
      "connect to the daemon at HOST:PORT, unix:PATH or a path (default: $NEURON_RTD_ADDRESS "
      "or " NTK_RPC_ENDPOINT_DEFAULT ")" },
    { 'j', "json", NULL, NTK_OPT_FLAG, &arg_json, "print results as JSON" },
    { 0, "wait", "SECONDS", NTK_OPT_U64, &arg_wait_s,
      "wait up to SECONDS for a response (default 120)", .is_above_zero = true },
    { 0, "ncg-id", "ID", NTK_OPT_I64, &arg_ncg_id,
      "load: use this group; 0 creates a group first; -1 (default) lets the daemon choose and also "
      "starts the model" },
    { 0, "enable-direct-file-load", NULL, NTK_OPT_FLAG, &arg_direct,
      "load: let the daemon read the file itself" },
    { 0, "timeout", "SECONDS", NTK_OPT_U64, &arg_timeout_s,
      "load: limit an inference to SECONDS on the device (default: the daemon's limit)",
      .is_above_zero = true },
    { 0, "ninfer", "N", NTK_OPT_U64, &arg_ninfer,
      "load: set the number of inferences in flight (default: the daemon's setting)",
      .is_above_zero = true },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-cli",
    .usage = "[OPTION]... list-ncg | list-model | reset\n"
             "[OPTION]... create-ncg [NC-COUNT]\n"
             "[OPTION]... destroy-ncg NCG-ID\n"
             "[OPTION]... load FILE.neff\n"
             "[OPTION]... start | stop | unload MODEL-ID",
    .summary = "Shows and changes the groups and models of a first-generation runtime daemon "
               "(neuron-rtd).",
    .options = option_rows,
    .commands = commands,
    .epilogue = commands_help,
};

static const struct cli_command *command_find(const char *name)
{
    for (const struct cli_command *command = cli_commands; command->name; command++) {
        if (strcmp(command->name, name) == 0) {
            return command;
        }
    }
    return NULL;
}

/* Returns 0 or the exit code of a usage error. */
static int usage_check(const struct cli_command *command, int operands, char **argv)
{
    bool is_load = command->run == cli_load;
    uint32_t number;
    struct ntk_err err = { 0 };

    if (operands > (command->operand ? 1 : 0)) {
        return ntk_opt_argument_error(&program, NULL, argv[command->operand ? 1 : 0]);
    }
    if (command->operand && !command->is_optional && operands == 0) {
        return ntk_opt_argument_error(&program, command->operand, NULL);
    }
    if (operands == 1 && !is_load && cli_number(argv[0], &number, &err) < 0) {
        return ntk_opt_usage_error(&program, "%s %s: %s", command->name, command->operand,
                                   err.text);
    }
    if (!is_load && (arg_ncg_id != INT64_MIN || arg_direct || arg_timeout_s || arg_ninfer)) {
        return ntk_opt_usage_error(
            &program,
            "--ncg-id, --enable-direct-file-load, --timeout and --ninfer apply to load only");
    }
    if (arg_ncg_id != INT64_MIN && (arg_ncg_id < -1 || arg_ncg_id > UINT32_MAX)) {
        return ntk_opt_usage_error(&program, "--ncg-id must be between -1 and %u", UINT32_MAX);
    }
    if (arg_timeout_s > UINT32_MAX || arg_ninfer > UINT32_MAX || arg_wait_s > INT32_MAX) {
        return ntk_opt_usage_error(&program, "--timeout, --ninfer and --wait must be at most %d",
                                   INT32_MAX);
    }
    return 0;
}

static int run(const struct cli_command *command, const char *operand, struct ntk_err *err)
{
    const char *named = getenv(NTK_RPC_ENDPOINT_VARIABLE);
    const char *address = arg_address       ? arg_address
                          : named && *named ? named
                                            : NTK_RPC_ENDPOINT_DEFAULT;
    char *endpoint = ntk_rpc_endpoint_make(address);
    struct ntk_buf out = { 0 };
    struct cli cli = {
        .as_json = arg_json,
        .out = &out,
        .ncg_id = arg_ncg_id == INT64_MIN ? -1 : arg_ncg_id,
        .is_direct = arg_direct,
        .timeout_s = arg_timeout_s,
        .ninfer = arg_ninfer,
    };
    int ret = endpoint ? ntk_rpc_client_create(endpoint, (uint32_t)arg_wait_s, &cli.client, err)
                       : ntk_err_no_memory(err);

    ret = ret < 0 ? ret : command->run(&cli, operand, err);
    if (ret == 0 &&
        (fwrite(out.bytes, 1, out.bytes_count, stdout) != out.bytes_count || fflush(stdout) != 0)) {
        ret = ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "cannot write to stdout");
    }
    ntk_rpc_client_destroy(cli.client);
    ntk_buf_fini(&out);
    free(endpoint);
    return ret;
}

int main(int argc, char **argv)
{
    struct ntk_err err = { 0 };

    for (size_t i = 0; cli_commands[i].name && i + 1 < COMMANDS_MAX; i++) {
        size_t used = strlen(commands_help);

        commands[i].name = cli_commands[i].name;
        (void)snprintf(commands_help + used, sizeof commands_help - used, "\n  %-12s %s",
                       cli_commands[i].name, cli_commands[i].help);
    }
    ntk_log_set_program(program.name);
    (void)signal(SIGPIPE, SIG_IGN);
    int first = ntk_opt_parse(&program, argc, argv);
    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    const struct cli_command *command = first < argc ? command_find(argv[first]) : NULL;
    if (!command) {
        return ntk_opt_command_error(&program, first < argc ? argv[first] : NULL);
    }
    int code = usage_check(command, argc - first - 1, argv + first + 1);
    if (code) {
        return code;
    }
    return run(command, first + 1 < argc ? argv[first + 1] : NULL, &err) < 0
               ? ntk_log_failure(MODULE, &err)
               : 0;
}
