/* SPDX-License-Identifier: MIT */
/*
 * format - numbers in the form that neuron-top shows; a number keeps its width while it changes.
 * Threads: any.
 */
#ifndef NTK_TOP_BASE_FORMAT_H
#define NTK_TOP_BASE_FORMAT_H

#include <stddef.h>

#include "top/base/value.h"

#define NTK_TOP_FORMAT_BYTES 32

/* " 0.00%", "71.19%", "  100%", estimated "~71.2%"; "     -" when absent. Returns buf. */
const char *ntk_top_format_percent(char *buf, struct ntk_top_number percent);
/* "   9.848TF", 10 wide; dash when absent. */
const char *ntk_top_format_teraflops(char *buf, struct ntk_top_number teraflops);
/* At most width cells, 3 or more, right-aligned: as many digits as fit. */
const char *ntk_top_format_percent_short(char *buf, int width, struct ntk_top_number percent);
const char *ntk_top_format_teraflops_short(char *buf, int width, struct ntk_top_number teraflops);
/* 1024-based with one decimal: "0.0B", "441.8MB", estimated "~442MB"; "-" when absent. */
const char *ntk_top_format_bytes(char *buf, struct ntk_top_bytes bytes);
/* Whole milliseconds in the largest unit without a fraction: "200ms", "1500ms", "2s", "5m",
 * "1h". */
const char *ntk_top_format_delay(char *buf, uint64_t delay_ns);

/* An age in one unit, without the remainder: "12s", "119m", "47h", "3d". */
const char *ntk_top_format_age(char *buf, uint64_t age_ns);

/* text, with memory_type instead of the first "HBM": labels are written for machines with HBM.
 * Returns text itself or buf. */
#define NTK_TOP_LABEL_BYTES 128
const char *ntk_top_format_label(char buf[NTK_TOP_LABEL_BYTES], const char *memory_type,
                                 const char *text);

#endif
