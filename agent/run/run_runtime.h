/* SPDX-License-Identifier: MIT */
/*
 * run_runtime - the libnrt.so.1 that a command will find.
 *
 * Threads: one at a time.
 */
#ifndef NTK_AGENT_RUN_RUN_RUNTIME_H
#define NTK_AGENT_RUN_RUN_RUNTIME_H

#include <limits.h>
#include <stdbool.h>

#include "agent/run/run_program.h"

#define NTK_RUN_RUNTIME_NAME "libnrt.so.1"

/* Looks in the places where the loader and the hooks look, in their order: DT_RPATH of the program,
 * LD_LIBRARY_PATH, its DT_RUNPATH, the loader's cache and folders, the vendor's folder. hooks is
 * the file of ours that bears the same name, which does not count. */
bool ntk_run_runtime_find(const struct ntk_run_program *program, const char *hooks,
                          char out_path[PATH_MAX]);
/* Whether it has calls that the hooks do not have, as a later release does. */
bool ntk_run_runtime_has_more(const char *path, const char *hooks);
/* Whether this file is one, and neither the hooks nor a copy of them. */
bool ntk_run_runtime_is_one(const char *path, const char *hooks);

#endif
