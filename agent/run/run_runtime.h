/* SPDX-License-Identifier: MIT */
/*
 * run_runtime - whether a command will find a libnrt.so.1.
 *
 * Threads: one at a time.
 */
#ifndef NTK_AGENT_RUN_RUN_RUNTIME_H
#define NTK_AGENT_RUN_RUN_RUNTIME_H

#include <stdbool.h>

#include "agent/run/run_program.h"

#define NTK_RUN_RUNTIME_NAME "libnrt.so.1"

/* In the places where the loader and the hooks look: of the paths in the program, LD_LIBRARY_PATH,
 * the loader's cache and folders, the vendor's folder. hooks is the file of ours that bears the
 * same name, which does not count. */
bool ntk_run_runtime_is_there(const struct ntk_run_program *program, const char *hooks);
/* Whether this file is a library that could be one. */
bool ntk_run_runtime_is_one(const char *path, const char *hooks);

#endif
