/* SPDX-License-Identifier: MIT */
/*
 * session_find - finds the folders of inspections below a folder.
 *
 * The folder may belong to one inspection, to a process, or be the output folder of many processes:
 * a folder with a trace or a capture belongs to an inspection. Links are not followed.
 *
 * Owner: the caller frees the list. Threads: any.
 */
#ifndef NTK_PROFILER_SYSTEM_SESSION_FIND_H
#define NTK_PROFILER_SYSTEM_SESSION_FIND_H

#include <stdbool.h>

#include "shared/base/err.h"
#include "shared/base/vec.h"

#define NTK_SESSION_FOLDERS_MAX 4096U

/* Returns true if the file is part of a system trace of this project or the vendor, by its name or
 * its first bytes. */
bool ntk_session_is_trace_file(const char *path);

/* Adds paths (char *, malloc'ed) to *out_paths, sorted. -ENOENT with a message if there are
 * none. */
int ntk_session_find(const char *folder, struct ntk_vec *out_paths, struct ntk_err *err);
void ntk_session_paths_fini(struct ntk_vec *paths);
/* Lists the files of a folder with this suffix, sorted; same ownership. */
int ntk_session_files(const char *folder, const char *end, struct ntk_vec *out_paths);
/* Returns the core of a capture in a session folder, relative to its process, from the file name;
 * UINT32_MAX if the name has none. */
uint32_t ntk_session_core_of(const char *path);

#endif
