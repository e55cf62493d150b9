/* SPDX-License-Identifier: MIT */
/*
 * export - prepares a capture for output: the trace, with the results and names that several tables
 * show, computed once; or folders of inspections, with their captures placed in time.
 *
 * Owner:   ntk_export_create() allocates, ntk_export_destroy() frees; the trace, folders and all
 *          texts are borrowed and must outlive it. Threads: one.
 */
#ifndef NTK_PROFILER_OUTPUT_EXPORT_H
#define NTK_PROFILER_OUTPUT_EXPORT_H

#include "profiler/analysis/layer_summary.h"
#include "profiler/analysis/opcode_table.h"
#include "profiler/analysis/program.h"
#include "profiler/analysis/regions.h"
#include "profiler/analysis/source_lines.h"
#include "profiler/analysis/summary.h"
#include "profiler/analysis/transfers.h"
#include "profiler/output/system_view.h"
#include "profiler/trace/trace.h"

#define NTK_EXPORT_SEMAPHORES 256

struct ntk_source_text;
struct ntk_system_grouping;

struct ntk_export_core {
    char path[NTK_NTFF_NAME_BYTES + 1]; /* such as "/sg00" */
    /* Names as shown. */
    const char *queue_names[NTK_NTFF_DMA_ENGINES][NTK_NTFF_DMA_QUEUES];
    const char *semaphore_names[NTK_EXPORT_SEMAPHORES];
    /* First id of each kind; the others follow in order of time. */
    int64_t first_instruction_id, first_packet_id, first_transfer_id;
};

/* A capture in a folder, on the clock of its host. */
struct ntk_export_capture {
    struct ntk_export *export;
    uint64_t start_ns; /* time 0 of the capture since 1970; 0 if unknown */
};

struct ntk_export {
    /* Set for folders, without a trace; of the other members, only the profile's name is set. */
    const struct ntk_system_view *folders;
    size_t folder_count;
    /* captures of all folders, for formats with a timeline */
    const struct ntk_export_capture *captures;
    size_t capture_count;
    const struct ntk_system_grouping *grouping; /* for formats with lines; NULL for the default */
    bool has_memory_tracker;                    /* include the occupation of the state buffer */
    bool has_flows;                             /* includes arrows, if the format has them */
    bool is_pretty;                             /* a JSON profile has indentation */
    unsigned
        /* for rows of instructions and packets: mask of enum ntk_instruction_part, rows.h */
        skipped_parts;

    const struct ntk_trace *trace;
    const char *profile_name; /* such as "run" for "/tmp/run.ntff" */
    const char *path;
    struct ntk_summary summary;
    struct ntk_opcode_table opcodes;
    struct ntk_layer_summary layers;
    struct ntk_regions regions;
    struct ntk_program *program;
    struct ntk_transfers transfers;
    struct ntk_export_core *cores;          /* trace->core_count elements */
    void *texts;                            /* storage of the names */
    struct ntk_source_lines **source_lines; /* *source_lines is NULL if not computed yet */
    struct ntk_source_text *source_text;    /* borrowed, set by the owner; NULL if not shown */
};

/* Returns the cost of source lines, computed at the first call. Returns 0 or -errno. */
int ntk_export_source_lines(const struct ntk_export *export,
                            const struct ntk_source_lines **out_lines);

/* Returns 0 or -errno, as for ntk_long_list_err_set(). */
int ntk_export_create(const struct ntk_trace *trace, const char *profile_name, const char *path,
                      struct ntk_export **out_export);
/* Creates an export only for tables read row by row, such as Instruction and DmaPacket; tables
 * that need a pass over the whole trace are empty. */
int ntk_export_create_rows(const struct ntk_trace *trace, const char *profile_name,
                           const char *path, struct ntk_export **out_export);
/* Creates an export only for tables of source lines: names are also missing. */
int ntk_export_create_lines(const struct ntk_trace *trace, struct ntk_export **out_export);
void ntk_export_destroy(struct ntk_export *export);

#endif
