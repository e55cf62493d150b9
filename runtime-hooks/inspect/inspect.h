/* SPDX-License-Identifier: MIT */
/*
 * inspect - records the system trace, device profiles and host activity over a period, as files in
 * one folder.
 *
 * docs/formats/system-trace.md describes the content of the files. A process has at most one
 * inspection at a time. A failure during recording is logged and the job continues without the
 * inspection.
 *
 * Owner:   arguments are copied except kind_names and runtime_version, which must be static.
 * Threads: any, between ntk_core_open() and ntk_core_close(); ntk_inspect_forget() in the child of
 *          a fork.
 */
#ifndef NTK_RUNTIME_HOOKS_INSPECT_INSPECT_H
#define NTK_RUNTIME_HOOKS_INSPECT_INSPECT_H

#include "runtime-hooks/core/core_trace.h"
#include "runtime-hooks/core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_INSPECT_CORES 1024U /* cores with a higher number are always recorded */

enum ntk_inspect_activity {
    NTK_INSPECT_SYSTEM_PROFILE = 1,
    NTK_INSPECT_DEVICE_PROFILE = 2,
    NTK_INSPECT_HOST_MEMORY = 4,
    NTK_INSPECT_CPU_UTIL = 8,
    NTK_INSPECT_ALL_ACTIVITIES = 15,
};

enum ntk_inspect_device {
    NTK_INSPECT_BY_MODEL,   /* one execution of every model */
    NTK_INSPECT_BY_SESSION, /* all executions of every core, from start to end */
};

/* The step at which something failed. */
enum ntk_inspect_step {
    NTK_INSPECT_STEP_BEGIN,
    NTK_INSPECT_STEP_LOAD,
    NTK_INSPECT_STEP_EXECUTE,
    NTK_INSPECT_STEP_STOP,
    NTK_INSPECT_STEPS,
};

struct ntk_inspect_options {
    uint64_t session_id;
    const char *folder; /* the inspection creates a subfolder in it */
    uint32_t activities;
    enum ntk_inspect_device device;
    bool records; /* false: write nothing until an execution fails */
    bool on_fail; /* write failed executions */
    bool core_enabled[NTK_INSPECT_CORES];
    uint64_t trace_kinds; /* bits of enum ntk_core_trace_kind */
    uint64_t events_per_core;
    bool is_vendor;                         /* .pb files in the layout of the vendor's runtime */
    struct ntk_core_recorder_bounds bounds; /* limits for recordings */

    const char *const *kind_names; /* names of trace kinds, by number */
    const char *runtime_version;
    /* Reports a step. error: -errno, or 0 for information only. */
    void (*tell)(enum ntk_inspect_step step, int error, const char *sentence);
};

/* Returns true if the inspection records whole cores; only then do its limits matter. */
bool ntk_inspect_has_recordings(const struct ntk_inspect_options *options);
/* -EINVAL: an inspection is already on, or the path of the folder is too long. */
int ntk_inspect_begin(struct ntk_core *core, const struct ntk_inspect_options *options,
                      struct ntk_err *err);
/* Stops the inspection and writes its files. Returns 0 or the first failure, which was logged. */
int ntk_inspect_stop(struct ntk_core *core);
/* Called before the core is closed: stops a running inspection and continuous profiling, drops
 * sessions and forgets all models. */
void ntk_inspect_closing(struct ntk_core *core);
void ntk_inspect_forget(void);

/* Reports loaded and unloaded models, even while no inspection is on. neff is copied to the
 * folder. */
void ntk_inspect_model_loaded(struct ntk_core_model *model, const void *neff, size_t bytes);
void ntk_inspect_model_unloading(struct ntk_core *core, struct ntk_core_model *model);
/* Reports a failed execution of the model. */
void ntk_inspect_execution_failed(struct ntk_core *core, struct ntk_core_model *model);

/* Returns true while the device is recorded. */
bool ntk_inspect_records_device(void);
/* Returns the folder for inspections of this process below `folder`; -ENAMETOOLONG if it does not
 * fit. */
int ntk_inspect_instance_folder(const char *folder, char *out_path, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
