/* SPDX-License-Identifier: MIT */
/*
 * cmd_trigger_tell - prints the results of requests to processes of this machine.
 *
 * Threads: one, while the requests run in others.
 */
#ifndef NTK_PROFILER_CMD_CMD_TRIGGER_TELL_H
#define NTK_PROFILER_CMD_CMD_TRIGGER_TELL_H

#include "profiler/cmd/cmd_trigger_ask.h"
#include "shared/base/json.h"

/* Prints the results of each user as soon as they are complete, so that no user waits for another,
 * and adds them to the array. Returns the exit code. */
int ntk_trigger_tell_done(struct ntk_trigger_askings *askings, struct ntk_json *json);
/* Reports a failure; returns the exit code. */
int ntk_trigger_tell_failure(const struct ntk_err *err, bool is_json);

#endif
