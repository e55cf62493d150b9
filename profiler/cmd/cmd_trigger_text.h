/* SPDX-License-Identifier: MIT */
/*
 * cmd_trigger_text - prints lines of neuron-profile trigger, with --host or without it.
 *
 * Threads: any.
 */
#ifndef NTK_PROFILER_CMD_CMD_TRIGGER_TEXT_H
#define NTK_PROFILER_CMD_CMD_TRIGGER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NTK_TRIGGER_RANGE_BYTES 64
/* Writes a text such as "execution 24" or "executions 24 to 26"; returns buf. */
const char *ntk_trigger_executions_text(uint64_t first, uint64_t last, char *buf, size_t buf_bytes);
/* Prints the commands that show the folder, on stderr, because stdout has the recordings. */
void ntk_trigger_say_next(const char *folder, bool has_host_threads);

#endif
