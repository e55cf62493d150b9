/* SPDX-License-Identifier: MIT */
/* hostile_program - valid programs that contain every operation and use every part of the
 * loader. */
#ifndef NTK_TESTS_RUNTIME_HOOKS_ENGINE_HOSTILE_PROGRAM_H
#define NTK_TESTS_RUNTIME_HOOKS_ENGINE_HOSTILE_PROGRAM_H

#include "tests/runtime-hooks/engine/engine_fixture.h"

#define HOSTILE_PARTS 8 /* programs that together contain all operations */

struct ntk_neff_transfer *hostile_group(struct engine_fixture *f);

/* A program of a few operations and a group of descriptors, so that an attempt is short. */
void hostile_make(struct engine_fixture *f, size_t part);

#endif
