/* SPDX-License-Identifier: MIT */
/*
 * units - formats numbers with units for screens. Threads: any.
 */
#ifndef NTK_SHARED_BASE_UNITS_H
#define NTK_SHARED_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_UNITS_TEXT_BYTES 32

/* Formats with 1024-based units: "0B", "512B", "1.5KB", "96.0MB", "12.3GB". Returns buf. */
const char *ntk_units_bytes(char *buf, size_t buf_bytes, uint64_t bytes);
/* Formats as "850ns", "12.3us", "4.56ms" or "1.23s". Returns buf. */
const char *ntk_units_duration(char *buf, size_t buf_bytes, uint64_t ns);
/* Formats with 1000-based units: "950", "12.3k", "4.56M", "1.23G", "7.89T". Returns buf. */
const char *ntk_units_count(char *buf, size_t buf_bytes, double count);

#ifdef __cplusplus
}
#endif
#endif
