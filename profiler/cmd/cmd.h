/* SPDX-License-Identifier: MIT */
/*
 * cmd - the subcommands of neuron-profile and their common code.
 *
 * A subcommand gets argv from its own name on and returns the exit code: 0 done, 1 failed, 2 usage.
 *
 * Owner:   the caller frees texts with free(), and results of an _open with the matching _close.
 */
#ifndef NTK_PROFILER_CMD_CMD_H
#define NTK_PROFILER_CMD_CMD_H

#include <stdbool.h>
#include <stddef.h>

#include "profiler/trace/trace.h"
#include "shared/base/buf.h"
#include "shared/formats/neff/neff.h"

int ntk_cmd_capture(int argc, char **argv);
int ntk_cmd_analyze(int argc, char **argv);
int ntk_cmd_lines(int argc, char **argv);
int ntk_cmd_diff(int argc, char **argv);
int ntk_cmd_baseline(int argc, char **argv);
int ntk_cmd_view(int argc, char **argv);
int ntk_cmd_query(int argc, char **argv);
int ntk_cmd_show_session(int argc, char **argv);
int ntk_cmd_inspect(int argc, char **argv);
int ntk_cmd_trigger(int argc, char **argv);
int ntk_cmd_idle(int argc, char **argv);
/* start-session and stop-session, for a runtime daemon of the first generation; missing in builds
 * without gRPC. */
int ntk_cmd_daemon(int argc, char **argv);

struct ntk_err;

/* --metrics-version: the rules for the figures in all captures that the command opens. A row in the
 * options of each command that shows such figures. */
extern int (*const ntk_profile_on_metrics_version)(const char *value, struct ntk_err *err);
#define NTK_PROFILE_OPT_METRICS_VERSION                                                           \
    {                                                                                             \
        .long_name = "metrics-version", .arg_name = "VERSION", .kind = NTK_OPT_CALL,              \
        .value = (void *)(uintptr_t)&ntk_profile_on_metrics_version,                              \
        .help = "compute metrics like this version of the vendor's tool: 2.32 (default) or 2.28", \
        .choices = "2.32 2.28"                                                                    \
    }

/* A capture with its NEFF, opened and paired. */
struct ntk_profile {
    struct ntk_ntff *ntff;
    struct ntk_neff *neff; /* NULL: none given, none found */
    struct ntk_trace *trace;
    char *ntff_path;
    int64_t neff_built_s; /* since 1970, the latest; 0: unknown */
    /* parts of the file are missing: the rest is shown, the exit code is 1 */
    bool is_incomplete;
};

/* Value of neff_path: use no NEFF, even if one is next to the capture. */
#define NTK_PROFILE_NO_NEFF "-"

/* neff_path NULL: the matching one next to the capture, see neff_find.h. Warnings about the files
 * go to stderr; progress too, after two seconds. 0, or 1 after printing a message. */
int ntk_profile_open(const char *ntff_path, const char *neff_path, struct ntk_profile *out_profile);
struct ntk_trace_part;
/* Same, for the part selected by --from, --to and --core, with a message on stderr.
 * NTK_PROFILE_OUTSIDE: the part is empty. */
int ntk_profile_open_part(const char *ntff_path, const char *neff_path,
                          const struct ntk_trace_part *part, struct ntk_profile *out_profile);
#define NTK_PROFILE_OUTSIDE (-1)
/* Opens only the files: trace is NULL. */
int ntk_profile_open_files(const char *ntff_path, const char *neff_path,
                           struct ntk_profile *out_profile);
/* "run" for "/tmp/run.ntff". NULL: out of memory; the caller frees it. */
char *ntk_profile_name(const char *path);
/* Takes an input that is given without -s or -d: a folder, or else a capture, whether it exists or
 * not. */
void ntk_profile_take_input(const char *path, const char **session, const char **folder);
/* The capture of -s: the file, or the only capture of a folder. NULL after printing a message; the
 * caller frees it. */
char *ntk_profile_session_path(const char *given);
/* Closes it. Returns `code`, or 1 with a message if parts of the file are missing or it was
 * truncated meanwhile. */
int ntk_profile_close(struct ntk_profile *profile, int code);

struct ntk_source_text;
/* Finds the text of source lines; folders may be NULL. 0, or 1 after printing a message. */
int ntk_profile_source_text(const struct ntk_profile *profile, const char *nki_root,
                            const char *framework_root, struct ntk_source_text **out_text);
/* Closes it, and reports problems of files on stderr. */
void ntk_profile_source_text_close(struct ntk_source_text *text);
#define NTK_OPT_SOURCE_ROOTS(nki, framework)                                                      \
    { 0,        "nki-source-root",                                                                \
      "FOLDER", NTK_OPT_TEXT,                                                                     \
      nki,      "show source lines of kernels, read from FOLDER (default: the recorded paths)" }, \
    {                                                                                             \
        0, "framework-source-root", "FOLDER", NTK_OPT_TEXT, framework,                            \
            "also show the source lines of the program around the kernels"                        \
    }

#define NTK_OPT_MEMORY_TRACKER(value)                                                            \
    {                                                                                            \
        0, "enable-memory-tracker", NULL, NTK_OPT_FLAG, value,                                   \
            "fill the SbufAllocation table of a capture: the contents of the state buffer over " \
            "time"                                                                               \
    }

struct ntk_system_grouping;
struct ntk_export;
struct ntk_err;

/* The folders of inspections below a folder. */
struct ntk_folder_options {
    const char *folder;
    const char *format; /* "summary-text", "summary-json" or one of output/export_to.h */
    const char *output; /* NULL: stdout */
    const char *neff;   /* NULL: those next to the captures, if useful */
    bool ignore_device, ignore_system;
    bool shows_private; /* include addresses and host names */
    /* Filters of the events to show (system/span_filter.h); NULL: all. */
    const char *cores, *types, *instances;
    const struct ntk_system_grouping *grouping; /* of formats with lines; NULL: the default */
    bool has_flows;
    /* Called instead of writing the format, with its input. 0 or -errno with a message. */
    int (*ask)(const struct ntk_export *export, const void *ctx, struct ntk_err *err);
    const void *ask_ctx;
};
/* Prints everything; returns the exit code. */
int ntk_profile_folder(const struct ntk_folder_options *options);
/* All captures of one NEFF in the folder, side by side; formats summary-text and summary-json. */
int ntk_profile_ranks(const struct ntk_folder_options *options, const char *neff_path);

/* The timeline page of a capture, or of all captures in a folder. */
struct ntk_page_options {
    const char *session; /* NULL: folder */
    const char *folder;
    const char *neff;         /* NULL: those next to the captures */
    const char *compare;      /* another capture, shown below the session; NULL: none */
    const char *compare_neff; /* NULL: neff */
    bool ignore_device, ignore_system;
    uint64_t port;
    bool no_open;
    const char *output;        /* write the page with its data to this file; NULL: serve it */
    uint64_t output_bytes_max; /* of that file; 0: the size limit of a mail */
    const char *nki_root, *framework_root; /* folders of source text; NULL: none */
};
/* Serves until SIGINT or SIGTERM, or writes the file. Prints everything; returns the exit code. */
int ntk_profile_page(const struct ntk_page_options *options);

/* The capture on one screen: figures, bars of engines, findings. Appends to output, or prints to
 * stdout if NULL. 0, or 1 after printing a message. */
int ntk_profile_brief(const struct ntk_profile *profile, const char *name, const char *output);

/* Writes to the file, or to stdout if path is NULL. 0, or 1 after printing a message. */
int ntk_profile_put(const struct ntk_buf *text, const char *path);

/* What host threads of a process did, next to the recording in the folder. 0, or 1 with the message
 * printed. */
struct ntk_hostwork_answer;
int ntk_profile_hostwork_write(const struct ntk_hostwork_answer *answer, const char *folder);

/* Replaces the message if the file given as a NEFF is a capture. */
void ntk_profile_say_if_ntff(const char *path, struct ntk_err *err);
/* Prints "neuron-profile: <message>" and returns 1. */
int ntk_profile_fail(const struct ntk_err *err);

#endif
