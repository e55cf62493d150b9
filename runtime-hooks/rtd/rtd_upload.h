/* SPDX-License-Identifier: MIT */
/*
 * rtd_upload - receives a NEFF from a client, or reads it from a file that the client requests,
 * within the limits of the daemon for one upload and for all clients together.
 *
 * Owner:   a zeroed struct with `limits` is an empty upload; rtd_upload_fini() frees it.
 * Threads: one at a time per upload; the shared state of uploads with the same limits is atomic.
 */
#ifndef NTK_RUNTIME_HOOKS_RTD_RTD_UPLOAD_H
#define NTK_RUNTIME_HOOKS_RTD_RTD_UPLOAD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/buf.h"

#define RTD_NEFF_MIB_DEFAULT 2048
#define RTD_NEFF_MIB_MAX (1U << 20)
/* Limit for all uploads together, as a multiple of the largest upload. */
#define RTD_UPLOADS_OF_LARGEST 2

struct rtd_upload_limits {
    uint64_t neff_bytes_max;
    _Atomic uint64_t bytes_now; /* bytes in all uploads */
};

enum rtd_upload_fault {
    RTD_UPLOAD_GOOD,
    RTD_UPLOAD_TOO_LARGE, /* exceeds the limit for one upload */
    RTD_UPLOAD_TOO_MUCH,  /* exceeds the limit for all clients together */
    RTD_UPLOAD_NO_MEMORY,
    RTD_UPLOAD_RELATIVE, /* the path is not absolute */
    RTD_UPLOAD_IRREGULAR,
    RTD_UPLOAD_NO_FILE, /* the file cannot be read; errno has the reason */
};

struct rtd_upload {
    struct rtd_upload_limits *limits;
    enum rtd_upload_fault fault; /* first fault; no data is kept after it */
    int error;                   /* errno for NO_FILE */
    uint64_t bytes_taken;        /* bytes counted in the limit for all uploads */
    struct ntk_buf neff;
};

void rtd_upload_fini(struct rtd_upload *upload);
/* Notes the length that the client states. */
void rtd_upload_announce(struct rtd_upload *upload, uint64_t bytes_count);
void rtd_upload_add(struct rtd_upload *upload, const void *bytes, size_t bytes_count);
/* Replaces earlier additions. The path comes from a client, so opening it must not block, and it
 * must be a regular file. */
void rtd_upload_read_file(struct rtd_upload *upload, const char *path);

#endif
