/* SPDX-License-Identifier: MIT */
/*
 * continuous - keeps the latest execution of every core, and writes it to a file on request.
 *
 * At most NTK_CONTINUOUS_FILES files per core are kept; older files of this runtime are removed.
 *
 * Threads: any, between ntk_core_open() and ntk_core_close(). ntk_inspect_closing() stops the
 *          recording.
 */
#ifndef NTK_RUNTIME_HOOKS_INSPECT_CONTINUOUS_H
#define NTK_RUNTIME_HOOKS_INSPECT_CONTINUOUS_H

#include "runtime-hooks/core/core.h"

#define NTK_CONTINUOUS_FILES 16U

/* -EINVAL: recording is already on, or an inspection records the device. */
int ntk_continuous_start(struct ntk_core *core, const struct ntk_core_recorder_bounds *bounds,
                         struct ntk_err *err);
/* Writes to the folder of this process below `folder`, which is created. Returns the same as
 * ntk_core_recorder_save(); -EINVAL: recording is off, or the path is too long. */
int ntk_continuous_save(struct ntk_core *core, uint32_t nc, const char *folder,
                        struct ntk_err *err);
/* -ENOENT: recording is off. */
int ntk_continuous_stop(struct ntk_core *core, struct ntk_err *err);

/* For inspect.c: stops recorders when their cores close; also called in the child of a fork. */
void ntk_continuous_closing(void);
void ntk_continuous_forget(void);

#endif
