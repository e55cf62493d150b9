/* SPDX-License-Identifier: MIT */
/*
 * job_file - a file of a job-mapping folder: which jobs hold a device or a core.
 *
 * The convention is that of other exporters: the file name is the index of a device, or
 * <device>.<core>; the content is one job id per line. Our extension: lines user=..., name=...,
 * partition=... and cluster=... describe the job above them. Other keys are skipped.
 *
 * Owner:   caller's storage.
 * Threads: any.
 */
#ifndef NTK_AGENT_COLLECT_JOB_FILE_H
#define NTK_AGENT_COLLECT_JOB_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_JOB_FILE_BYTES_MAX 8192
#define NTK_JOB_FILE_JOBS_MAX 16 /* jobs that share a device or a core */
#define NTK_JOB_ID_BYTES 64
#define NTK_JOB_TEXT_BYTES 128 /* longer texts are truncated */
#define NTK_JOB_FILE_CORES_MAX 64

struct ntk_job_entry {
    union {
        struct {
#define NTK_JOB_TEXT(name, ...) char name[NTK_JOB_TEXT_BYTES];
#include "shared/metrics/job.def"
        };
        char texts[NTK_JOB_TEXTS][NTK_JOB_TEXT_BYTES]; /* all of them */
    };
};

struct ntk_job_file {
    struct ntk_job_entry jobs[NTK_JOB_FILE_JOBS_MAX]; /* each id once */
    size_t count;
    /* the last line has no newline: another program omits it, or the file is half-written */
    bool is_unended;
};

/* -EBADMSG with a message and the offset of the line; *out is set on success only. */
int ntk_job_file_read(const char *bytes, size_t bytes_count, struct ntk_job_file *out,
                      struct ntk_err *err);

struct ntk_job_place {
    uint32_t device;
    bool has_core;
    uint32_t core; /* logical, within the device */
};
/* False if the name does not follow the convention, or exceeds NTK_SNAPSHOT_DEVICES_MAX or
 * NTK_JOB_FILE_CORES_MAX. */
bool ntk_job_place_parse(const char *name, struct ntk_job_place *out);

#ifdef __cplusplus
}
#endif
#endif
