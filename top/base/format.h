/* SPDX-License-Identifier: MIT */
/*
 * format - formats numbers for neuron-top; a number keeps its width while it changes.
 * Threads: any.
 */
#ifndef NTK_TOP_BASE_FORMAT_H
#define NTK_TOP_BASE_FORMAT_H

#include <stddef.h>

#include "top/base/value.h"

#define NTK_TOP_FORMAT_BYTES 32

/* Formats a percentage such as " 0.00%", "71.19%" or " 100%", estimated "~71.2%"; " -" if absent.
 * Returns buf. */
const char *ntk_top_format_percent(char *buf, struct ntk_top_number percent);
/* Formats teraflops such as " 9.848TF", 10 characters wide; a dash if absent. */
const char *ntk_top_format_teraflops(char *buf, struct ntk_top_number teraflops);
/* Formats a percentage in at most width cells, 3 or more, right-aligned: as many digits as fit. */
const char *ntk_top_format_percent_short(char *buf, int width, struct ntk_top_number percent);
const char *ntk_top_format_teraflops_short(char *buf, int width, struct ntk_top_number teraflops);
/* Formats bytes with 1024-based units and one decimal, such as "0.0B" or "441.8MB", estimated
 * "~442MB"; "-" if absent. */
const char *ntk_top_format_bytes(char *buf, struct ntk_top_bytes bytes);
/* Formats whole milliseconds in the largest unit without a fraction: "200ms", "1500ms", "2s", "5m",
 * "1h". */
const char *ntk_top_format_delay(char *buf, uint64_t delay_ns);

/* Formats a moment as a local time such as "18:02:11"; "" if it cannot be converted. */
const char *ntk_top_format_clock(char *buf, uint64_t realtime_ns);

/* Formats an age in one unit, without the remainder, such as "12s", "119m", "47h" or "3d". */
const char *ntk_top_format_age(char *buf, uint64_t age_ns);

/* Replaces the first "HBM" in text with memory_type, because labels are written for machines with
 * HBM. Returns text itself or buf. */
#define NTK_TOP_LABEL_BYTES 128
const char *ntk_top_format_label(char buf[NTK_TOP_LABEL_BYTES], const char *memory_type,
                                 const char *text);

#endif
