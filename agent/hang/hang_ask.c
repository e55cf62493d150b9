/* SPDX-License-Identifier: MIT */
/* hang_ask - runs a subcommand about ranks, from its command line to the exit code. */
#include <stdlib.h>

#include "agent/hang/hang.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"

/* Concludes; machines that did not answer are not judged. */
static int conclude(const struct ntk_hang_question *question, const struct ntk_host *hosts,
                    size_t count, bool is_here)
{
    struct ntk_hang_answer answer = { 0 };
    size_t answers = ntk_hang_answers_say(hosts, count);
    int ret = EXIT_SUCCESS;

    question->answer(hosts, count, &answer);
    if (answers > 0 || *question->is_json) {
        ret = ntk_hang_print(&answer.text);
    }
    ntk_buf_fini(&answer.text);
    if (ret != EXIT_SUCCESS) {
        return ret;
    }
    bool is_blind = answer.saw_nothing && is_here && ntk_hang_has_unreadable(&hosts[0]);
    return answer.found               ? EXIT_FAILURE
           : answers == 0 || is_blind ? NTK_HANG_EXIT_UNKNOWN
                                      : EXIT_SUCCESS;
}

int ntk_hang_ask(const struct ntk_hang_question *question, int argc, char **argv)
{
    const struct ntk_opt_program *program = question->program;
    struct ntk_err err = { 0 };
    int first = ntk_opt_parse(program, argc, argv);

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    ntk_log_set_program(program->name);
    bool is_here = first == argc;
    size_t count = is_here ? 1 : (size_t)(argc - first);
    if (is_here && (question->remote->token_file || question->remote->ca_file)) {
        return ntk_opt_usage_error(program, "--token-file and --ca-file require a HOST");
    }
    struct ntk_host *hosts = ntk_hang_hosts_create(is_here ? NULL : argv + first, count, &err);
    if (!hosts) {
        return ntk_log_failure(NULL, &err);
    }
    int ret = question->look(hosts, count, is_here, &err);
    ret = ret < 0 ? ntk_log_failure(NULL, &err) : conclude(question, hosts, count, is_here);
    ntk_hang_hosts_destroy(hosts, count);
    return ret;
}
