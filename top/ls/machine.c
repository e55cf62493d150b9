/* SPDX-License-Identifier: MIT */
/* machine - manages the plain data between reading and printing. */
#include "top/ls/machine.h"

#include <stdlib.h>
#include <string.h>

void ntk_ls_machine_fini(struct ntk_ls_machine *machine)
{
    free(machine->devices);
    free(machine->pci);
    ntk_snapshot_destroy(machine->judged);
    ntk_vec_fini(&machine->processes);
    memset(machine, 0, sizeof *machine);
}

const char *ntk_ls_process_version(const struct ntk_ls_process *process)
{
    return process->is_runtime ? process->runtime_version : "NA";
}
