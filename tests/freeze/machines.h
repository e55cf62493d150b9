/* SPDX-License-Identifier: MIT */
/*
 * machines - a hand-made period for every machine type, busy and idle, the same on every run.
 */
#ifndef NTK_TESTS_FREEZE_MACHINES_H
#define NTK_TESTS_FREEZE_MACHINES_H

#include <stdbool.h>
#include <stddef.h>

struct ntk_snapshot;

extern const char *const test_machine_types[];
extern const size_t test_machine_type_count;

/* Every figure of a snapshot is known, and on a busy machine none is 0. Free with
 * ntk_snapshot_destroy(). */
struct ntk_snapshot *test_machine_snapshot(const char *type, bool is_busy);

#endif
