/* SPDX-License-Identifier: MIT */
/*
 * report_json - a snapshot as one line of neuron-monitor's JSON, and back.
 *
 * The line has the names, types and order of the vendor's report (docs/formats/report.md). Data
 * without a vendor's key is in additional keys after them, so a reader of the vendor's report is
 * not affected and a reader of ours gets the whole snapshot back: exporters and remote screens only
 * need the line.
 *
 * A group that is absent in the snapshot is not written; this expresses the periods and the choice
 * of groups.
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

/* The longest line that is read; real ones are much shorter. */
#define NTK_REPORT_READ_BYTES_MAX (16 * 1024 * 1024)

/* Parts that can be omitted. */
enum ntk_report_omit {
    NTK_REPORT_OMIT_LOADED_MODELS = 1u << 0,   /* "loaded_models" */
    NTK_REPORT_OMIT_USAGE_BREAKDOWN = 1u << 1, /* "usage_breakdown" of runtimes and models */
    NTK_REPORT_OMIT_USAGE_DATA = 1u << 2,      /* "usage_data": CPU by CPU */
    NTK_REPORT_OMIT_PHYSICAL_CORES = 1u << 3,  /* "v3d" and its like */
    NTK_REPORT_OMIT_EXT = 1u << 4,             /* "neuron_ext" */
};

struct ntk_report_options {
    bool pretty;           /* indented for users; line_bytes_max does not count then */
    bool timestamps;       /* "time_ns" and "sequence" as last keys */
    bool all_cores;        /* every core in the machine in each runtime, with zeros */
    bool vendor_only;      /* none of our additional keys */
    unsigned int omit;     /* enum ntk_report_omit */
    size_t line_bytes_max; /* longer lines are written again without "neuron_ext"; 0: no limit */
};

/* "loaded_models,usage_data" as enum ntk_report_omit. -EINVAL with a message that lists the
 * parts. */
int ntk_report_omit_parse(const char *list, unsigned int *out_omit, struct ntk_err *err);

/* Appends the report and '\n'. 0, or -ENOMEM. *out_cut (may be NULL) shows whether "neuron_ext" was
 * omitted to keep to line_bytes_max. */
int ntk_report_write(const struct ntk_snapshot *snapshot, const struct ntk_report_options *options,
                     struct ntk_buf *out, bool *out_cut);

/* Reads one report; the vendor's own lines are fine too. *out_snapshot is freed with
 * ntk_snapshot_destroy(). -EBADMSG with a message (and the byte where the JSON breaks) for what is
 * not a report; numbers outside their range, tables beyond the snapshot's bounds and unknown keys
 * are skipped. */
int ntk_report_read(const char *line, size_t line_bytes, struct ntk_snapshot **out_snapshot,
                    struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
