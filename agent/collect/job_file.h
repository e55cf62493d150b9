/* SPDX-License-Identifier: MIT */
/*
 * job_file - reads a file in a job-mapping folder: the jobs that hold a device or a core.
 *
 * The format is the same as for other exporters: the file name is the index of a device, or
 * <device>.<core>; the content is one job id per line. As an extension, lines user=..., name=...,
 * partition=... and cluster=... describe the job above them. Other keys are skipped.
 *
 * Owner:   the caller provides the storage.
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
        char texts[NTK_JOB_TEXTS][NTK_JOB_TEXT_BYTES]; /* storage for all texts */
    };
};

struct ntk_job_file {
    struct ntk_job_entry jobs[NTK_JOB_FILE_JOBS_MAX]; /* each id occurs once */
    size_t count;
    /* The last line has no line feed: the other program omits it, or the file is incomplete */
    bool is_unended;
};

/* -EBADMSG with a message and the offset of the line; *out is only set on success. */
int ntk_job_file_read(const char *bytes, size_t bytes_count, struct ntk_job_file *out,
                      struct ntk_err *err);

struct ntk_job_place {
    uint32_t device;
    bool has_core;
    uint32_t core; /* logical core in the device */
};
/* Parses a file name. Returns false if it does not follow the format, or exceeds
 * NTK_SNAPSHOT_DEVICES_MAX or NTK_JOB_FILE_CORES_MAX. */
bool ntk_job_place_parse(const char *name, struct ntk_job_place *out);

#ifdef __cplusplus
}
#endif
#endif
