/* SPDX-License-Identifier: MIT */
/*
 * neff_find - finds the NEFF of a capture in the capture's folder.
 *
 * A capture has the uuid of its NEFF, or the first bytes of it; the matching file is the *.neff
 * with that uuid in its header. Of several copies, the file with the capture's name is used, else
 * the first by name. If two different programs match a partial uuid, none is used.
 *
 * Owner: the caller frees the path. Threads: any.
 */
#ifndef NTK_PROFILER_CMD_NEFF_FIND_H
#define NTK_PROFILER_CMD_NEFF_FIND_H

#include "shared/base/err.h"
#include "shared/formats/ntff/ntff.h"

/* *out_path (malloc'ed) is NULL if there is none. Returns 0; -ENOENT if there are NEFFs but none is
 * used, with the reason for a warning; -ENOMEM. */
int ntk_neff_find(const struct ntk_ntff *ntff, const char *ntff_path, char **out_path,
                  struct ntk_err *err);

#endif
