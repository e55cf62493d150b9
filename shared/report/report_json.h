/* SPDX-License-Identifier: MIT */
/*
 * report_json - writes a snapshot as one line of neuron-monitor's JSON, and reads it.
 *
 * The line has the names, types and order of the vendor's report (docs/formats/report.md). Data for
 * which the vendor has no key is in additional keys after them. So readers of the vendor's report
 * are not affected, and our readers get the whole snapshot back: exporters and remote screens need
 * only the line.
 *
 * A group that is absent in the snapshot is not written, so the line shows which groups were due
 * and requested.
 *
 * Owner:   the writer appends to the caller's buffer; the caller owns a snapshot that was read.
 * Threads: any; no state.
 */
#ifndef NTK_SHARED_REPORT_REPORT_JSON_H
#define NTK_SHARED_REPORT_REPORT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_snapshot;

/* Maximum length of a line that is read; real lines are much shorter. */
#define NTK_REPORT_READ_BYTES_MAX (16 * 1024 * 1024)

/* Parts of a report that can be omitted. */
enum ntk_report_omit {
    NTK_REPORT_OMIT_LOADED_MODELS = 1u << 0,   /* key "loaded_models" */
    NTK_REPORT_OMIT_USAGE_BREAKDOWN = 1u << 1, /* key "usage_breakdown" of runtimes and models */
    NTK_REPORT_OMIT_USAGE_DATA = 1u << 2,      /* key "usage_data": each CPU */
    NTK_REPORT_OMIT_PHYSICAL_CORES = 1u << 3,  /* versions of physical cores, such as "v3d" */
    NTK_REPORT_OMIT_EXT = 1u << 4,             /* key "neuron_ext" */
};

struct ntk_report_options {
    bool pretty;           /* indented for users; line_bytes_max is ignored then */
    bool timestamps;       /* write "time_ns" and "sequence" as last keys */
    bool all_cores;        /* write every core of the machine in each runtime, with zeros */
    bool vendor_only;      /* write none of our additional keys */
    unsigned int omit;     /* enum ntk_report_omit */
    size_t line_bytes_max; /* a longer line is rewritten without "neuron_ext"; 0: no limit */
};

/* Parses a list such as "loaded_models,usage_data" to enum ntk_report_omit. Returns -EINVAL with a
 * message that lists the parts. */
int ntk_report_omit_parse(const char *list, unsigned int *out_omit, struct ntk_err *err);

/* Appends the report and '\n'. Returns 0 or -ENOMEM. *out_cut (may be NULL): whether "neuron_ext"
 * was omitted to stay within line_bytes_max. */
int ntk_report_write(const struct ntk_snapshot *snapshot, const struct ntk_report_options *options,
                     struct ntk_buf *out, bool *out_cut);

/* Reads one report, ours or the vendor's. The caller frees *out_snapshot with
 * ntk_snapshot_destroy(). Returns -EBADMSG with a message (and the position of a JSON error) if it
 * is not a report. Skips numbers out of range, tables beyond the snapshot's limits and unknown
 * keys. */
int ntk_report_read(const char *line, size_t line_bytes, struct ntk_snapshot **out_snapshot,
                    struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
