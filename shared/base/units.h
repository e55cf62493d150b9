/* SPDX-License-Identifier: MIT */
/*
 * units - numbers with units, as screens show them. Threads: any.
 */
#ifndef NTK_SHARED_BASE_UNITS_H
#define NTK_SHARED_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_UNITS_TEXT_BYTES 32

/* 1024-based: "0B", "512B", "1.5KB", "96.0MB", "12.3GB". Returns buf. */
const char *ntk_units_bytes(char *buf, size_t buf_bytes, uint64_t bytes);
/* "850ns", "12.3us", "4.56ms", "1.23s". Returns buf. */
const char *ntk_units_duration(char *buf, size_t buf_bytes, uint64_t ns);
/* 1000-based: "950", "12.3k", "4.56M", "1.23G", "7.89T". Returns buf. */
const char *ntk_units_count(char *buf, size_t buf_bytes, double count);

#ifdef __cplusplus
}
#endif
#endif
