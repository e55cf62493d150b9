/* SPDX-License-Identifier: MIT */
#include "shared/collect/machine.h"

#include <string.h>

struct ntk_machine_answer ntk_machine_of_tree(const struct ntk_device_tree *tree)
{
    struct ntk_machine_answer answer = { ntk_machine_find(tree->machine_type), tree->machine_type };

    if (!answer.machine && tree->device_count > 0) {
        answer.machine = ntk_machine_find_device(tree->devices[0].name);
    }
    return answer;
}

void ntk_machine_hear(struct ntk_machine_answer *answer, const char *type)
{
    const struct ntk_machine *named = answer->type[0] ? NULL : ntk_machine_find(type);

    if (named && (!answer->machine ||
                  strcmp(answer->machine->sysfs_device_name, named->sysfs_device_name) == 0)) {
        *answer = (struct ntk_machine_answer){ named, named->instance_type };
    }
}
