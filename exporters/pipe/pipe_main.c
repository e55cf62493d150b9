/* SPDX-License-Identifier: MIT */
/* pipe_main - the common main function of programs after a pipe. */
#include <unistd.h>

#include "exporters/pipe/pipe.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"

static int run(const struct ntk_pipe_program *program, struct ntk_err *err)
{
    struct ntk_pipe_sink sink = { 0 };
    struct ntk_pipe pipe;

    int ret = ntk_pipe_begin(&pipe, err);
    if (ret < 0) {
        return ret;
    }
    ret = program->open(&sink, err);
    if (ret >= 0) {
        ret = ntk_pipe_run(&pipe, STDIN_FILENO, &sink, err);
    }
    program->close(sink.ctx);
    ntk_pipe_end(&pipe);
    return ret;
}

int ntk_pipe_main(const struct ntk_pipe_program *program, int argc, char **argv)
{
    struct ntk_err err = { 0 };

    ntk_log_set_program(program->opt->name);
    int parsed = ntk_opt_parse_all(program->opt, argc, argv);
    if (parsed < 0) {
        return ntk_opt_exit_code(parsed);
    }
    int code = program->check ? program->check() : 0;
    if (code) {
        return code;
    }
    return run(program, &err) < 0 ? ntk_log_failure(NULL, &err) : 0;
}
