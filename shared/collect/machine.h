/* SPDX-License-Identifier: MIT */
/*
 * machine - the identity of this machine, the same for all programs.
 *
 * The device tree comes first: it has the type of a software machine; for other machines, the
 * firmware has it. Next, a process may report its machine's type, if that belongs to the tree's
 * family. Otherwise only the family is known.
 *
 * Owner:   plain data; the type is borrowed from the tree or the process that named it.
 * Threads: any.
 */
#ifndef NTK_SHARED_COLLECT_MACHINE_H
#define NTK_SHARED_COLLECT_MACHINE_H

#include "shared/device/device.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_machine_answer {
    /* the machine of this type, else one of the family; NULL: unknown */
    const struct ntk_machine *machine;
    const char *type; /* such as "trn1.32xlarge"; "" if unknown */
};

struct ntk_machine_answer ntk_machine_of_tree(const struct ntk_device_tree *tree);
/* Records the instance type that a process reports. */
void ntk_machine_hear(struct ntk_machine_answer *answer, const char *type);

#ifdef __cplusplus
}
#endif
#endif
