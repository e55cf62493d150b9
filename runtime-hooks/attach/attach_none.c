/* SPDX-License-Identifier: MIT */
/* attach_none - replaces the command in a program that was built without its dependencies. */
#include "runtime-hooks/attach/attach.h"

#include "runtime-hooks/attach/attach_options.h"
#include "shared/base/log.h"

int ntk_attach_main(int argc, char **argv)
{
    struct ntk_attach_arguments arguments;
    struct ntk_err err = { 0 };

    ntk_log_set_program("neuron-monitor");
    int ret = ntk_attach_options_parse(argc, argv, &arguments);
    if (ret != 0) {
        return ret - 1;
    }
    ntk_err_set(&err, -1, NTK_ERR_NO_OFFSET,
                "this program was built without libbpf or a BPF compiler and cannot attach; use "
                "neuron-monitor run to start a job with hooks");
    return ntk_log_failure("attach", &err);
}
