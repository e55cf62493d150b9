/* SPDX-License-Identifier: MIT */
/*
 * json_scan - reads JSON without storing it: for members with many million values, if only a few
 * are needed.
 *
 *   for (bool first = true; ntk_json_scan_key(&scan, &first, &key);) {
 *       if (strcmp(key.bytes, "line") == 0) { ntk_json_scan_u32(&scan, &line); }
 *       else { ntk_json_scan_skip(&scan); }
 *   }
 *
 * After the first error every call does nothing and returns false, so a caller checks scan.error
 * once at the end.
 *
 * Owner:   borrows the bytes, which must outlive it.
 * Threads: one at a time per scan.
 */
#ifndef NTK_SHARED_FORMATS_NEFF_JSON_SCAN_H
#define NTK_SHARED_FORMATS_NEFF_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/buf.h"

/* Maximum nesting of objects and arrays; deeper nesting is an error. */
#define NTK_JSON_SCAN_DEPTH_MAX 256

struct ntk_json_scan {
    const uint8_t *bytes;
    size_t count;
    size_t position;
    int depth;
    const char *error; /* NULL if there was none; found at error_position */
    size_t error_position;
};

/* Records a caller's error at the current position; returns false. */
bool ntk_json_scan_fail(struct ntk_json_scan *scan, const char *what);

/* Returns true if the next value begins with this character: '{', '[' or '"'. Consumes nothing. */
bool ntk_json_scan_is(struct ntk_json_scan *scan, char begin);
/* Enters the object; returns true at each key, and false after its end. *first is true before the
 * first key. */
bool ntk_json_scan_key(struct ntk_json_scan *scan, bool *first, struct ntk_buf *out_key);
/* Same, for an array; returns true before each item. */
bool ntk_json_scan_item(struct ntk_json_scan *scan, bool *first);
/* Reads a text into out_text, replacing its content. */
bool ntk_json_scan_text(struct ntk_json_scan *scan, struct ntk_buf *out_text);
/* Reads the bytes of a text (without quotes), a number, true, false or null. */
bool ntk_json_scan_scalar(struct ntk_json_scan *scan, struct ntk_buf *out_text);
/* Reads a non-negative integer; a larger value, or one of another type, is an error. */
bool ntk_json_scan_u64(struct ntk_json_scan *scan, uint64_t max, uint64_t *out_value);
/* Skips any value. */
bool ntk_json_scan_skip(struct ntk_json_scan *scan);
/* Checks that only blanks follow. */
bool ntk_json_scan_end(struct ntk_json_scan *scan);

#endif
