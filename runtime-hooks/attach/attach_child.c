/* SPDX-License-Identifier: MIT */
/* attach_child - runs the command as a child of the agent: a separate program for which the agent
 * never waits. */
#include "runtime-hooks/attach/attach.h"
#include "runtime-hooks/attach/attach_options.h"

int ntk_attach_child_start(struct ntk_child_tied *out_child, struct ntk_err *err)
{
    char *const argv[] = { (char *)"neuron-monitor", (char *)"attach", (char *)"--all",
                           (char *)"--" NTK_ATTACH_CHILD_OPTION, NULL };

    return ntk_child_tied_start(argv, out_child, err);
}
