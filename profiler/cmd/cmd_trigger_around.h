/* SPDX-License-Identifier: MIT */
/*
 * cmd_trigger_around - saves the time around the executions of a trigger: events that the
 * rings of a process still have, and if requested the activity of its host threads.
 *
 * Owner:   _begin() allocates, _destroy() frees. Threads: one at a time per object.
 */
#ifndef NTK_PROFILER_CMD_CMD_TRIGGER_AROUND_H
#define NTK_PROFILER_CMD_CMD_TRIGGER_AROUND_H

#include "profiler/system/trigger.h"

struct ntk_trigger_around;

/* watches: host threads of the targets are observed from now on. A target that cannot be observed
 * is reported, and *out_code becomes 1. Returns NULL if out of memory. */
struct ntk_trigger_around *ntk_trigger_around_begin(const struct ntk_trigger_target *targets,
                                                    size_t count, bool watches, int *out_code);
/* Must be called several times per second. */
void ntk_trigger_around_poll(struct ntk_trigger_around *around);
/* The folder for the activity of the process, below the given one, free() it; NULL with a message.
 * */
char *ntk_trigger_around_save(struct ntk_trigger_around *around,
                              const struct ntk_trigger_target *target, const char *folder,
                              struct ntk_err *err);
void ntk_trigger_around_destroy(struct ntk_trigger_around *around);

#endif
