/* SPDX-License-Identifier: MIT */
/*
 * cmd - the subcommands of neuron-profile and their common code.
 *
 * A subcommand gets argv from its own name on and returns the exit code: 0 on success, 1 on
 * failure, 2 for a usage error.
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
/* Implements start-session and stop-session, for a runtime daemon of the first generation; missing
 * in builds without gRPC. */
int ntk_cmd_daemon(int argc, char **argv);

struct ntk_err;

/* Handles --metrics-version: the rules for the figures in all captures that the command opens. It
 * is in the options of each command that shows these figures. */
extern int (*const ntk_profile_on_metrics_version)(const char *value, struct ntk_err *err);
#define NTK_PROFILE_OPT_METRICS_VERSION                                                           \
    {                                                                                             \
        .long_name = "metrics-version", .arg_name = "VERSION", .kind = NTK_OPT_CALL,              \
        .value = (void *)(uintptr_t)&ntk_profile_on_metrics_version,                              \
        .help = "compute metrics like this version of the vendor's tool: 2.32 (default) or 2.28", \
        .choices = "2.32 2.28"                                                                    \
    }

/* An opened capture with its NEFF. */
struct ntk_profile {
    struct ntk_ntff *ntff;
    struct ntk_neff *neff; /* NULL if none was given or found */
    struct ntk_trace *trace;
    char *ntff_path;
    int64_t neff_built_s; /* latest build time since 1970; 0 if unknown */
    /* Parts of the file are missing: the rest is shown, and the exit code is 1 */
    bool is_incomplete;
};

/* Value of neff_path: use no NEFF, even if there is one in the folder of the capture. */
#define NTK_PROFILE_NO_NEFF "-"

/* If neff_path is NULL, uses the matching NEFF in the folder of the capture, see neff_find.h.
 * Warnings about the files are written to stderr, and also progress after two seconds. Returns 0,
 * or 1 after printing a message. */
int ntk_profile_open(const char *ntff_path, const char *neff_path, struct ntk_profile *out_profile);
struct ntk_trace_part;
/* Like ntk_profile_open(), for the part selected by --from, --to, --execution and --core, with a
 * message on stderr. Returns NTK_PROFILE_OUTSIDE if the part is empty. */
int ntk_profile_open_part(const char *ntff_path, const char *neff_path,
                          const struct ntk_trace_part *part, struct ntk_profile *out_profile);
#define NTK_PROFILE_OUTSIDE (-1)
/* Opens only the files: trace is NULL. */
int ntk_profile_open_files(const char *ntff_path, const char *neff_path,
                           struct ntk_profile *out_profile);
/* Returns a name such as "run" for "/tmp/run.ntff", which the caller frees. NULL if out of
 * memory. */
char *ntk_profile_name(const char *path);
/* Takes an input without -s or -d: a folder, or else a capture, even if it does not exist. */
void ntk_profile_take_input(const char *path, const char **session, const char **folder);
/* Returns the capture of -s: the file, or the only capture in a folder. NULL after printing a
 * message; the caller frees the result. */
char *ntk_profile_session_path(const char *given);
/* Closes the profile. Returns `code`, or 1 with a message if parts of the file are missing or it
 * was truncated meanwhile. */
int ntk_profile_close(struct ntk_profile *profile, int code);

struct ntk_source_text;
/* Finds the text of source lines; folders may be NULL. Returns 0, or 1 after printing a message. */
int ntk_profile_source_text(const struct ntk_profile *profile, const char *nki_root,
                            const char *framework_root, struct ntk_source_text **out_text);
/* Closes the source text, and reports problems of files on stderr. */
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
    const char *output; /* NULL for stdout */
    const char *neff;   /* NULL: the files in the folders of the captures, if useful */
    bool ignore_device, ignore_system;
    bool shows_private; /* include addresses and host names */
    /* Filters of the events to show (system/span_filter.h); NULL for all. */
    const char *cores, *types, *instances;
    const struct ntk_system_grouping *grouping; /* for formats with lines; NULL for the default */
    bool has_flows;
    /* Called with the input instead of writing the format. Returns 0 or -errno with a message. */
    int (*ask)(const struct ntk_export *export, const void *ctx, struct ntk_err *err);
    const void *ask_ctx;
};
/* Prints all output; returns the exit code. */
int ntk_profile_folder(const struct ntk_folder_options *options);
/* Prints all captures of one NEFF in the folder in one table; formats are summary-text and
 * summary-json. */
int ntk_profile_ranks(const struct ntk_folder_options *options, const char *neff_path);

/* The timeline page of a capture, or of all captures in a folder. */
struct ntk_page_options {
    const char *session; /* NULL if folder is set */
    const char *folder;
    const char *neff;         /* NULL: those next to the captures */
    const char *compare;      /* another capture, shown below the session; NULL if none */
    const char *compare_neff; /* NULL for neff */
    bool ignore_device, ignore_system;
    uint64_t port;
    bool no_open;
    const char *output;        /* write the page with its data to this file; NULL: serve it */
    uint64_t output_bytes_max; /* maximum size of that file; 0 for the size limit of a mail */
    const char *nki_root, *framework_root; /* folders of source text; NULL if none */
};
/* Serves until SIGINT or SIGTERM, or writes the file. Prints all output; returns the exit code. */
int ntk_profile_page(const struct ntk_page_options *options);

/* Shows the capture on one screen: figures, bars of engines, findings. Appends to output, or prints
 * to stdout if it is NULL. Returns 0, or 1 after printing a message. */
int ntk_profile_brief(const struct ntk_profile *profile, const char *name, const char *output);

/* Writes to the file, or to stdout if path is NULL. Returns 0, or 1 after printing a message. */
int ntk_profile_put(const struct ntk_buf *text, const char *path);
/* Whether ntk_profile_put can create the file: for commands that take long before they write it.
 * Returns 0 (even if path is NULL), or -errno with a message. */
int ntk_profile_can_put(const char *path, struct ntk_err *err);

/* Reads the activity of host threads from the recording in the folder. Returns 0, or 1 with the
 * message printed. */
struct ntk_hostwork_answer;
int ntk_profile_hostwork_write(const struct ntk_hostwork_answer *answer, const char *folder);

/* Replaces the message if the file that was given as a NEFF is a capture. */
void ntk_profile_say_if_ntff(const char *path, struct ntk_err *err);
/* Prints "neuron-profile: <message>" and returns 1. */
int ntk_profile_fail(const struct ntk_err *err);

#endif
