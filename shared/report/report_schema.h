/* SPDX-License-Identifier: MIT */
/*
 * report_schema - the JSON Schema (2020-12) of a report, as this version writes it.
 *
 * It is generated from the tables that write and read the plain keys, and from report.shape.json,
 * which nests their objects and has the computed keys:
 *
 *   "name"                     what $defs has under this name
 *   "fields": [tables]         the keys of these tables (REPORT_TABLES of report_part.h)
 *   "properties": {}           ... and these, which replace rows of the same key
 *   "names": list, "of": x     ... and one key for each word of a list (report_schema.c)
 *   "optional": [keys]         what may be absent, true: all; the tables have it for their rows
 *   "content": {"key key": t}  descriptions of its properties; docs/formats/report.md has them too
 *   "list": x                  an array of x
 *   "by_number": x             an object with numbers as keys
 *   "words": list              one of these texts
 *   anything else              itself
 *
 * Owner:   the caller frees the text with free().
 * Threads: any; no state.
 */
#ifndef NTK_SHARED_REPORT_REPORT_SCHEMA_H
#define NTK_SHARED_REPORT_REPORT_SCHEMA_H

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the schema, which the caller frees with free(). Returns NULL if out of memory. */
char *ntk_report_schema_make(void);

#ifdef __cplusplus
}
#endif
#endif
