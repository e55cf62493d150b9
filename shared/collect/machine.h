/* SPDX-License-Identifier: MIT */
/*
 * machine - the identity of this machine: one answer for all programs.
 *
 * The device tree comes first: the software machine has its type there, other machines in the
 * firmware. Then a process may name the type of its machine, if that belongs to the tree's family.
 * Else only the family is known.
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
    const struct ntk_machine *machine; /* of the type, else one of the family; NULL unknown */
    const char *type;                  /* "trn1.32xlarge"; "" unknown */
};

struct ntk_machine_answer ntk_machine_of_tree(const struct ntk_device_tree *tree);
/* A process reports this instance type. */
void ntk_machine_hear(struct ntk_machine_answer *answer, const char *type);

#ifdef __cplusplus
}
#endif
#endif
