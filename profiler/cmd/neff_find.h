/* SPDX-License-Identifier: MIT */
/*
 * neff_find - finds the NEFF of a capture in the capture's folder.
 *
 * A capture names its NEFF by uuid, whole or the first bytes of it; a file *.neff whose header has
 * that uuid is it. Of several copies, the one with the capture's name, else the first by name. Two
 * different programs that fit what a capture knows of the uuid are none: nothing is guessed.
 *
 * Owner:   the path is the caller's. Threads: any.
 */
#ifndef NTK_PROFILER_CMD_NEFF_FIND_H
#define NTK_PROFILER_CMD_NEFF_FIND_H

#include "shared/base/err.h"
#include "shared/formats/ntff/ntff.h"

/* *out_path (malloc'ed) is NULL if there is none. 0; -ENOENT: there are NEFFs, and a message
 * that says why none of them is taken, which is for a warning; -ENOMEM. */
int ntk_neff_find(const struct ntk_ntff *ntff, const char *ntff_path, char **out_path,
                  struct ntk_err *err);

#endif
