/* SPDX-License-Identifier: MIT */
/*
 * trace - holds one execution in memory: the activity of every engine, queue and semaphore, by
 * core.
 *
 * Analyses and outputs read this form, for any kind of file. Times are ps since the start of the
 * execution (t0); every list is sorted by start. Data that the file does not record is absent,
 * never zero: see the has_ fields.
 *
 * A list is an array, and any element may be checked at any time. Long lists are in a mapped
 * temporary file: elements that are read take memory until it is returned. Code that reads a
 * whole list therefore uses ntk_trace_each_*() below or a walk (trace/walk.h), which return the
 * memory of passed elements. Memory use then does not grow with the capture.
 *
 * Owner:   ntk_trace_create_from_ntff() allocates, ntk_trace_destroy() frees. The trace borrows the
 *          struct ntk_ntff and, when given, the struct ntk_neff: both must outlive it.
 * Threads: any; immutable after creation: any number of readers.
 */
#ifndef NTK_PROFILER_TRACE_TRACE_H
#define NTK_PROFILER_TRACE_TRACE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/trace/chip.h"
#include "shared/base/err.h"
#include "shared/formats/neff/metrics_version.h"
#include "shared/formats/ntff/ntff.h"

struct ntk_neff;
struct ntk_neff_subgraph;

#define NTK_TRACE_PS_PER_NS 1000

struct ntk_trace_instruction {
    int64_t start_ps, end_ps;
    uint32_t slot;        /* program counter */
    uint16_t wait_cycles; /* base cycles waited before the start, for semaphores and events */
    uint16_t crc_in, crc_out;
    uint8_t engine; /* enum ntk_ntff_engine */
    uint8_t opcode;
};

enum ntk_trace_dma_class {
    NTK_TRACE_DMA_INSTRUCTION, /* fetches programs and tables */
    NTK_TRACE_DMA_IO, /* inputs, outputs and weights, by the queue's name if its type is unknown */
    /* The classes below are determined by the queue's type in the NEFF. */
    NTK_TRACE_DMA_INPUT,  /* "in", also used by compilers for stores to outputs */
    NTK_TRACE_DMA_OUTPUT, /* "out" */
    NTK_TRACE_DMA_DATA,   /* "data": from the compiler, including constants, spills and reloads */
    NTK_TRACE_DMA_SOFTWARE_DYNAMIC,
    NTK_TRACE_DMA_HARDWARE_DYNAMIC,
    NTK_TRACE_DMA_CLASS_COUNT
};

struct ntk_trace_packet {
    int64_t start_ps, end_ps;
    uint32_t bytes_count;
    uint16_t engine; /* as displayed: 16 * physical core + engine of the core */
    uint16_t crc;
    uint8_t queue;
    uint8_t dma_class; /* enum ntk_trace_dma_class */
};

struct ntk_trace_event {
    int64_t time_ps;
    uint32_t value;
    uint8_t source; /* enum ntk_ntff_engine */
    uint8_t mode;
    uint8_t number;
    bool is_semaphore;
};

struct ntk_trace_throttle {
    int64_t time_ps;
    uint8_t type, k, n;
};

struct ntk_trace_core {
    const struct ntk_ntff_subgraph *ntff;
    /* NULL without a NEFF, or if the subgraph is not in it */
    const struct ntk_neff_subgraph *neff;
    int64_t t0_ps; /* start of the execution on the file's clock */
    size_t instruction_count;
    struct ntk_trace_instruction *instructions;
    size_t packet_count;
    struct ntk_trace_packet *packets;
    size_t event_count;
    struct ntk_trace_event *events;
    /* Records before and after the execution; summaries before version 6 include them. */
    uint64_t more_event_count;
    size_t throttle_count;
    struct ntk_trace_throttle *throttles;
    int64_t end_ps; /* end of the last instruction; 0 without any */
    /* True if the list is in a temporary file; false if on the heap. */
    struct {
        bool instructions, packets, events, throttles;
    } is_mapped;
    /* True if the file is truncated: it announces more records of this kind than it has. */
    struct {
        bool instructions, packets, events;
    } is_cut;
    /* Number of runs of each slot in an engine's program (trace/executed.h); optional in a trace
     * created by a test. */
    bool has_slot_counts;
    uint64_t *slot_counts[NTK_NTFF_ENGINE_COUNT];
    /* Numbers of records without a row. */
    uint64_t outside_window, outside_code, unpaired, unknown;
};

/* The selected part of an execution; zeroed for all of it. */
struct ntk_trace_part {
    int64_t from_ps, to_ps; /* since its start; to_ps 0 means to its end */
    const uint32_t *cores;  /* physical cores in their device; NULL for all */
    size_t core_count;
};

struct ntk_trace {
    const struct ntk_ntff *ntff;
    const struct ntk_neff *neff;      /* NULL if none given */
    enum ntk_metrics_version metrics; /* version of the rules for its figures */
    bool has_total;                   /* the file has the execution's length and its records */
    int64_t total_ps;
    bool has_chip;
    struct ntk_chip chip;
    struct {
        bool instructions, packets, events;
    } is_cut;             /* true for any core, or if the file lists no core */
    bool has_collectives; /* there are collectives core records, which are not supported yet */
    size_t core_count;
    struct ntk_trace_core *cores;
    /* Set if only a window or some cores are shown: time 0 is the start of the window, the total
     * its length. */
    bool is_part;
    struct {
        int64_t from_ps, to_ps; /* range since the start of the execution */
        int64_t total_ps;       /* length of the execution, if has_total */
        bool is_open;           /* the part extends to its end */
    } part;
    /* For long lists of analyses (trace/long_list.h), as in struct ntk_trace_options; 0 and NULL
     * for the defaults. */
    size_t list_bytes;
    const char *folder; /* borrowed */
};

/* Called occasionally with the completed share, 0 to 1. */
typedef void ntk_trace_progress(double share, void *ctx);

struct ntk_trace_options {
    enum ntk_metrics_version metrics;
    ntk_trace_progress *progress; /* NULL if not needed */
    void *progress_ctx;
    /* size above which a list is stored in a temporary file; 0: depends on the machine */
    size_t list_bytes;
    /* folder of that file, borrowed by the trace; NULL for $TMPDIR, else /var/tmp */
    const char *folder;
    struct ntk_trace_part part;
};

/* Default size of a list: 1 / NTK_TRACE_LIST_SHARE of the available memory, within these bounds. A
 * list in a file costs about as much to write as to read from the capture. */
#define NTK_TRACE_LIST_BYTES ((size_t)32 << 20)
#define NTK_TRACE_LIST_BYTES_MAX ((size_t)160 << 20)
#define NTK_TRACE_LIST_SHARE 32
/* Maximum heap size of all lists, as a multiple of this size, because captures have up to 64
 * cores. */
#define NTK_TRACE_HEAP_LISTS 4
/* Maximum number of records per core that wait for the other end of their span; further ones are
 * omitted and counted as unpaired. */
#define NTK_TRACE_WAITING_MAX ((uint32_t)4 << 20)

/* neff may be NULL; else it must belong to the capture (-ENOEXEC). */
int ntk_trace_create_from_ntff(const struct ntk_ntff *ntff, const struct ntk_neff *neff,
                               ntk_trace_progress *progress, void *progress_ctx,
                               struct ntk_trace **out_trace, struct ntk_err *err);
/*
 * Same, with options, which may be NULL.
 *
 * Options can select a window. A row is in the window if their times overlap. A point in time is in
 * the window from its start to just before its end; a window up to the end of the execution also
 * contains this end. A row that crosses an end is clipped. A clipped packet keeps a share of its
 * bytes, so the bytes of adjacent windows add up. The wait of an instruction belongs to the window
 * in which the instruction starts. Memory grows with the window, but the function reads all
 * records, because only they show what was in progress when the window begins. -ERANGE: the window
 * is empty; -ENOENT: unknown core.
 */
int ntk_trace_create(const struct ntk_ntff *ntff, const struct ntk_neff *neff,
                     const struct ntk_trace_options *options, struct ntk_trace **out_trace,
                     struct ntk_err *err);
void ntk_trace_destroy(struct ntk_trace *trace);

/* Returns true if the trace has less time than its capture. A part may lack only cores. */
static inline bool ntk_trace_has_window(const struct ntk_trace *trace)
{
    return trace->is_part && (trace->part.from_ps > 0 || !trace->part.is_open);
}

/* Returns true if a moment since time 0 of the trace is in the part. */
static inline bool ntk_trace_has_moment(const struct ntk_trace *trace, int64_t time_ps)
{
    return (trace->part.from_ps == 0 || time_ps >= 0) &&
           (!trace->is_part || trace->part.is_open ||
            time_ps < trace->part.to_ps - trace->part.from_ps);
}

/* Converts the index of a core in the trace to its index in the capture; they differ if cores are
 * missing. */
size_t ntk_trace_core_number(const struct ntk_trace *trace, size_t core_index);
/* Converts the index in the capture back. */
size_t ntk_trace_core_place(const struct ntk_trace *trace, size_t number);

/* Return effective values: never 0 or NULL. */
size_t ntk_trace_list_bytes_get(const struct ntk_trace *trace);
const char *ntk_trace_folder_get(const struct ntk_trace *trace);

/* ---- matching starts and ends ---- */

/*
 *   ntk_trace_each_instruction(core, instruction) {      // const struct ntk_trace_instruction *
 *       ... instruction->start_ps ...                    // index: instruction - core->instructions
 *   }
 *
 * Passed elements stay valid; using one again reads it again. break and continue are allowed.
 */
#define ntk_trace_each_instruction(core, name) \
    NTK_TRACE_EACH(struct ntk_trace_instruction, name, core, instructions, instruction_count)
#define ntk_trace_each_packet(core, name) \
    NTK_TRACE_EACH(struct ntk_trace_packet, name, core, packets, packet_count)
#define ntk_trace_each_event(core, name) \
    NTK_TRACE_EACH(struct ntk_trace_event, name, core, events, event_count)

#define NTK_TRACE_SCAN_BYTES ((size_t)512 << 10)
static_assert(NTK_TRACE_SCAN_BYTES % sizeof(struct ntk_trace_instruction) == 0 &&
                  NTK_TRACE_SCAN_BYTES % sizeof(struct ntk_trace_packet) == 0 &&
                  NTK_TRACE_SCAN_BYTES % sizeof(struct ntk_trace_event) == 0,
              "a scan returns whole elements");

/* Returns memory of whole pages between two addresses of a mapped file to the system: the content
 * stays in the file, and a later access maps it again. */
void ntk_trace_pages_give_back(const void *first, const void *end);

/* Returns memory of the second-to-last whole piece of a scan to the system; not for the heap. */
void ntk_trace_scan_give_back(const void *first, size_t passed_bytes);

static inline bool ntk_trace_scan_step(bool is_mapped, const void *first, const void *at,
                                       const void *end)
{
    size_t passed_bytes = (size_t)((const char *)at - (const char *)first);

    if (is_mapped && passed_bytes && passed_bytes % NTK_TRACE_SCAN_BYTES == 0) {
        ntk_trace_scan_give_back(first, passed_bytes);
    }
    return at != end;
}

#define NTK_TRACE_EACH(type, name, core, list, list_count)                                     \
    for (const type *name = (core)->list;                                                      \
         (core)->list_count && ntk_trace_scan_step((core)->is_mapped.list, (core)->list, name, \
                                                   (core)->list + (core)->list_count);         \
         name++)

/* ---- random access ---- */

/* Number of reads after which a caller with random access returns the memory of all lists of the
 * core. If accesses are close in time, memory is bounded. */
#define NTK_TRACE_LOOKS ((size_t)16 << 10)
void ntk_trace_give_back(const struct ntk_trace_core *core);

/* Returns a name such as "instruction" or "io". */
const char *ntk_trace_dma_class_name(unsigned dma_class);

/* Returns true if its transfers are in the NEFF: their descriptors were created before the run. */
static inline bool ntk_trace_is_prepared(unsigned dma_class)
{
    return dma_class >= NTK_TRACE_DMA_IO && dma_class <= NTK_TRACE_DMA_DATA;
}

#endif
