/* SPDX-License-Identifier: MIT */
/*
 * ntff - reads and writes device captures (NTFF), the file format for recorded engine activity.
 *
 * A capture is a small header, a protobuf message and sections of 16-byte records: one record for
 * each start and end of an instruction, each change of a semaphore, each start and end of a DMA
 * packet. docs/formats/ntff.md describes it. The reader opens versions 4, 5 and 6 and returns the
 * intact part of a damaged file; the writer writes version 6. The profiler does the analysis, such
 * as pairing records into spans.
 *
 * Errors when opening: -EBADMSG for another format or an unreadable file, -ENOTSUP for another
 * version.
 * Owner:   ntk_ntff_open*() allocates, ntk_ntff_close() frees; everything in the struct is borrowed
 *          and lives as long. The file stays mapped.
 * Threads: several threads may read one struct ntk_ntff. A writer belongs to one thread at a time.
 */
#ifndef NTK_SHARED_FORMATS_NTFF_NTFF_H
#define NTK_SHARED_FORMATS_NTFF_NTFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_NTFF_VERSION_MIN 4
#define NTK_NTFF_VERSION_MAX 6
#define NTK_NTFF_VERSION_WRITTEN 6
#define NTK_NTFF_SLOT_BYTES 64
#define NTK_NTFF_UUID_BYTES 16
#define NTK_NTFF_DMA_ENGINES 16 /* DMA engines per physical core */
#define NTK_NTFF_DMA_QUEUES 16  /* DMA queues per DMA engine */
#define NTK_NTFF_SUBGRAPHS_MAX 64
#define NTK_NTFF_WARNINGS_MAX 32
#define NTK_NTFF_NAME_BYTES 256

/* The engines that execute instructions; the numbers are the same as everywhere in the project. */
enum ntk_ntff_engine {
    NTK_NTFF_ENGINE_TENSOR = 0,
    NTK_NTFF_ENGINE_SCALAR = 1,
    NTK_NTFF_ENGINE_GPSIMD = 2,
    NTK_NTFF_ENGINE_VECTOR = 3,
    NTK_NTFF_ENGINE_SYNC = 4,
    NTK_NTFF_ENGINE_COUNT = 5,
    NTK_NTFF_ENGINE_AXI = 5, /* as the source of a semaphore change: DMA and everything else */
    NTK_NTFF_ENGINE_NONE = 255,
};

enum ntk_ntff_memory_type {
#define NTK_NTFF_MEMORY(number, id, text, shown) NTK_NTFF_MEMORY_##id = (number),
#include "shared/formats/ntff/ntff_memory.def"
    NTK_NTFF_MEMORY_COUNT
};

enum ntk_ntff_opcode {
#define NTK_NTFF_OPCODE(byte, id, name) NTK_NTFF_OPCODE_##id = (byte),
#include "shared/formats/ntff/ntff_opcode.def"
};

/* How a semaphore or event changes; the values are the bytes in records. */
enum ntk_ntff_event_mode {
    NTK_NTFF_MODE_EVENT_CLEAR = 0x07,
    NTK_NTFF_MODE_EVENT_SET = 0xf1,
    NTK_NTFF_MODE_SEMAPHORE_INC = 0xf3,
    NTK_NTFF_MODE_SEMAPHORE_DEC = 0xf4,
    NTK_NTFF_MODE_SEMAPHORE_WRITE = 0xf9,
};

enum ntk_ntff_queue_type {
    NTK_NTFF_QUEUE_UNKNOWN = 0,
    NTK_NTFF_QUEUE_WEIGHTS = 2,
    NTK_NTFF_QUEUE_IO = 3,
};

enum ntk_ntff_section_type {
    NTK_NTFF_SECTION_INSTRUCTION = 0,
    NTK_NTFF_SECTION_EVENT = 1,
    NTK_NTFF_SECTION_ERROR = 2,
    NTK_NTFF_SECTION_DMA = 4,
    NTK_NTFF_SECTION_THROTTLE = 5,
};

enum ntk_ntff_block {
    NTK_NTFF_BLOCK_CORE = 0,
    NTK_NTFF_BLOCK_DMA = 1,
    NTK_NTFF_BLOCK_CC = 2, /* collectives cores: their records are unknown */
};

enum ntk_ntff_error_kind {                               /* errors of our software core */
                           NTK_NTFF_ERROR_NUMERICAL = 1, /* an instruction wrote a NaN */
                           /* an access exceeded a variable; the run ended */
                           NTK_NTFF_ERROR_OUT_OF_BOUNDS,
                           /* The instruction waits for a signal that never comes. */
                           NTK_NTFF_ERROR_DEADLOCK,
                           NTK_NTFF_ERROR_TIMEOUT,
                           NTK_NTFF_ERROR_COUNT
};
const char *ntk_ntff_mode_name(unsigned mode);
/* Such as "NaN written"; "?" for other values. */
const char *ntk_ntff_error_name(unsigned kind);

/* "tensor" "scalar" "gpsimd" "vector" "sync"; "?" for other values. The second function returns the
 * form for titles: "Tensor". */
const char *ntk_ntff_engine_name(unsigned engine);
const char *ntk_ntff_engine_title(unsigned engine);
/* The maker of a change or error: the title of an engine, or "DMA". */
const char *ntk_ntff_source_title(unsigned source);
/* Such as "MATMUL"; bytes without a name are printed as "OP_0x7f" into buf (at least 8 bytes). */
const char *ntk_ntff_opcode_name(uint8_t opcode, char *buf, size_t buf_bytes);
/* The displayed name of a memory usage type; NULL if the number is not in the table. */
const char *ntk_ntff_memory_name(unsigned type);
/* Replaces the hardware's engine words in a queue name by the displayed words: qPoolDynamic ->
 * qGpSimdDynamic. */
void ntk_ntff_queue_name_show(const char *name, char *buf, size_t buf_bytes);

/* ---- contents of a file ------------------------------------------------------------------------
 * */

struct ntk_ntff_version {
    bool present;
    uint64_t major, minor, patch;
    char git[65]; /* "" if absent */
};

struct ntk_ntff_buffer { /* one engine's program, with the slots that the runtime added around it */
    uint32_t engine;
    uint64_t address; /* device address of slot 0 */
    const uint8_t *code;
    uint64_t code_bytes;
};

struct ntk_ntff_insertion { /* a difference between the buffer and the compiler's program */
    uint32_t engine;
    uint32_t slot;
    uint64_t count;
    uint32_t kind; /* 0: count slots were inserted here; 2: count slots were removed before it */
};

struct ntk_ntff_queue { /* one entry per DMA engine and queue */
    uint32_t engine;    /* displayed number: 16 * physical core + the core's DMA engine */
    uint32_t queue;
    uint32_t type;                  /* enum ntk_ntff_queue_type */
    char name[NTK_NTFF_NAME_BYTES]; /* name in the file */
    int64_t event_id;
    uint64_t dram_channel;
};

struct ntk_ntff_memory {
    char name[NTK_NTFF_NAME_BYTES]; /* displayed name */
    uint64_t bytes_count;
};

struct ntk_ntff_clock { /* ps since the common start = (raw - origin) * multiplier / divisor */
    uint64_t origin, divisor, multiplier;
};

struct ntk_ntff_section {
    uint32_t type;  /* enum ntk_ntff_section_type */
    uint32_t block; /* enum ntk_ntff_block */
    uint32_t index; /* for collectives cores: their index */
    uint32_t core;
    uint64_t offset;        /* offset in the payload */
    uint64_t stated_bytes;  /* size according to the header */
    const uint8_t *records; /* record_count records of 16 bytes that the file contains */
    uint64_t record_count;
};

struct ntk_ntff_subgraph {
    char name[NTK_NTFF_NAME_BYTES];
    uint32_t core;         /* physical number, local to the device */
    uint64_t execution_ps; /* 0 if absent */
    size_t buffer_count;
    struct ntk_ntff_buffer *buffers;
    /* NULL for engines without a buffer */
    const struct ntk_ntff_buffer *engine_buffers[NTK_NTFF_ENGINE_COUNT];
    size_t insertion_count;
    struct ntk_ntff_insertion *insertions;
    size_t queue_count;
    struct ntk_ntff_queue *queues;
    size_t memory_count;
    struct ntk_ntff_memory *memory;
    struct ntk_ntff_clock engine_clocks[NTK_NTFF_ENGINE_COUNT];
    struct ntk_ntff_clock event_clock, throttle_clock;
    struct ntk_ntff_clock dma_clocks[NTK_NTFF_DMA_ENGINES];
    size_t section_count;
    struct ntk_ntff_section *sections;
};

struct ntk_ntff {
    unsigned version;
    uint64_t file_bytes, header_bytes;
    /* Number of known bytes of the NEFF's uuid. Before version 6, a uuid with a zero byte is known
     * only up to that byte: 0 means nothing is known, else 2 to all bytes. */
    unsigned neff_uuid_known_bytes;
    uint8_t neff_uuid[NTK_NTFF_UUID_BYTES];
    char neff_name[NTK_NTFF_NAME_BYTES];
    uint64_t model_id;
    size_t program_uuid_count; /* version 6: programs in the capture */
    uint8_t program_uuids[NTK_NTFF_SUBGRAPHS_MAX][NTK_NTFF_UUID_BYTES];
    uint64_t unix_time; /* 0 if absent */
    struct ntk_ntff_version runtime, driver, collectives;
    char instance_type[64];
    char instance_id[64];
    uint64_t process_id; /* 0 if absent */
    bool has_window;     /* only in version 6 */
    uint64_t window_start_ps, window_end_ps;
    size_t subgraph_count; /* number of physical cores */
    struct ntk_ntff_subgraph *subgraphs;
    /* Problems of the file, as messages without its name. */
    size_t warning_count; /* at most NTK_NTFF_WARNINGS_MAX are stored */
    char **warnings;
    void *private_data;
};

int ntk_ntff_open(const char *path, struct ntk_ntff **out_ntff, struct ntk_err *err);
/* bytes must live as long as the struct. */
int ntk_ntff_open_bytes(const void *bytes, size_t bytes_count, struct ntk_ntff **out_ntff,
                        struct ntk_err *err);
void ntk_ntff_close(struct ntk_ntff *ntff);

/* Releases memory of records that were checked and will not be needed soon; with a large, mapped
 * file, memory would otherwise grow to the file's size. Later accesses read them again. */
void ntk_ntff_give_back(const struct ntk_ntff *ntff, const void *bytes, size_t bytes_count);

/* Returns -ESTALE with a message if the file was truncated after it was opened: data read since
 * then is zeros after the new end. Only large, mapped files are affected. */
int ntk_ntff_check_whole(const struct ntk_ntff *ntff, struct ntk_err *err);

/* Hexadecimal digits, followed by "..." if only a part is known; "-" if nothing is known. */
#define NTK_NTFF_UUID_TEXT_BYTES (2 * NTK_NTFF_UUID_BYTES + 4)
void ntk_ntff_uuid_text(const struct ntk_ntff *ntff, char text[NTK_NTFF_UUID_TEXT_BYTES]);

/* Returns 0 if the capture belongs to the NEFF with this uuid; -ENOEXEC with a message if it
 * belongs to another; -ENODATA with a message, which is only a warning, if the capture does not
 * record a uuid. */
int ntk_ntff_check_neff(const struct ntk_ntff *ntff, const uint8_t uuid[NTK_NTFF_UUID_BYTES],
                        struct ntk_err *err);

/* ---- records --------------------------------------------------------------------------------- */

enum ntk_ntff_record_kind {
    NTK_NTFF_RECORD_UNKNOWN = 0,
    NTK_NTFF_RECORD_INSTRUCTION_START,
    NTK_NTFF_RECORD_INSTRUCTION_END,
    NTK_NTFF_RECORD_EVENT, /* a semaphore or an event changed */
    NTK_NTFF_RECORD_DMA_START,
    NTK_NTFF_RECORD_DMA_END,
    NTK_NTFF_RECORD_DMA_COMPLETION,
    NTK_NTFF_RECORD_THROTTLE,
    NTK_NTFF_RECORD_ERROR, /* written only by our cores; the behaviour of hardware is unknown */
};

struct ntk_ntff_record {
    enum ntk_ntff_record_kind kind;
    /* for instructions and changes: the engine; for DMA: the core's DMA engine, 0-15 */
    uint8_t engine;
    int64_t time_ps;      /* on the file's common clock */
    uint32_t slot;        /* instruction: pc, or NTK_NTFF_SLOT_OUTSIDE if it is in no buffer */
    uint16_t wait_cycles; /* start: base cycles that it waited for semaphores and events before */
    uint16_t crc_in, crc_out; /* end: checksums, 0xffff none; DMA end: only crc_in */
    bool is_semaphore;        /* a semaphore changed; otherwise an event */
    bool has_bit30;           /* the change has bit 30 set, which has an unknown meaning */
    uint8_t mode;             /* enum ntk_ntff_event_mode, or another byte */
    uint8_t number;           /* number of the semaphore or event */
    uint32_t value;           /* value after the change */
    uint8_t queue;            /* DMA only */
    uint32_t bytes_count;     /* DMA end only */
    uint8_t throttle_type, throttle_k, throttle_n; /* n is never 0 */
    enum ntk_ntff_error_kind error;                /* for errors of DMA, slot is OUTSIDE */
};

#define NTK_NTFF_SLOT_OUTSIDE UINT32_MAX

/* index must be below section->record_count. Invalid records get kind UNKNOWN. */
void ntk_ntff_record_get(const struct ntk_ntff_subgraph *subgraph,
                         const struct ntk_ntff_section *section, uint64_t index,
                         struct ntk_ntff_record *out_record);
/* The 64 bytes of a slot; NULL outside of the buffer. */
const uint8_t *ntk_ntff_slot_get(const struct ntk_ntff_subgraph *subgraph, unsigned engine,
                                 uint32_t slot);
/* The index of an instruction in the compiler's program; -1 if the runtime inserted it. */
int64_t ntk_ntff_compiler_pc(const struct ntk_ntff_subgraph *subgraph, unsigned engine,
                             uint32_t slot);

/* ---- writing --------------------------------------------------------------------------------- */

/*
 *   struct ntk_ntff_capture capture = { .neff_name = ..., .subgraphs = ... };
 *   ntk_ntff_writer_create("out.ntff", &capture, &writer, &err);
 *   ntk_ntff_writer_add_instruction(writer, 0, &instruction);    // any number, in time order
 *   ntk_ntff_writer_set_execution(writer, start_ps, end_ps);
 *   ret = ntk_ntff_writer_commit(writer, &err);                  // the file appears, complete
 *   ntk_ntff_writer_destroy(writer);                             // without commit: no trace of it
 *
 * Memory is bounded: about NTK_NTFF_SPOOL_BYTES per kind of record and core, then unnamed
 * temporary files in the folder of the target. A full disk stops the recording, not the program:
 * the records that fit are written as a complete, readable file, and commit reports the loss.
 */
#define NTK_NTFF_ERROR_RECORDS_MAX 65536u
#define NTK_NTFF_SPOOL_BYTES (1u << 20)
/* A longer transfer is written as several packets of at most this size. */
#define NTK_NTFF_PACKET_BYTES_MAX 32768

struct ntk_ntff_capture_code {
    const uint8_t *code; /* the engine's binary; copied */
    size_t code_bytes;   /* a multiple of 64; 0: the engine has no program */
    uint64_t address;    /* device address of its first byte, a multiple of 64 */
};

struct ntk_ntff_capture_queue { /* one entry per DMA engine and queue */
    const char *name;           /* name in def.json, such as "qPoolIO0" */
    uint32_t dma_engine;        /* the core's DMA engine: 0-15 */
    uint32_t queue;             /* the DMA engine's queue: 0-15 */
    uint32_t type;              /* enum ntk_ntff_queue_type */
    uint64_t dram_channel;      /* number of the memory stack */
};

struct ntk_ntff_capture_subgraph {
    const char *name; /* such as "sg00" */
    uint32_t core;    /* physical number, local to the device */
    struct ntk_ntff_capture_code engines[NTK_NTFF_ENGINE_COUNT];
    size_t queue_count;
    const struct ntk_ntff_capture_queue *queues;
    uint64_t memory_bytes[NTK_NTFF_MEMORY_COUNT]; /* device memory while the model ran */
};

/* Limits in bytes, by kind of record: records beyond are dropped and counted; 0: no limit. */
struct ntk_ntff_bounds {
    uint64_t instruction_bytes, event_bytes, dma_bytes, throttle_bytes; /* for each subgraph */
};

struct ntk_ntff_capture {
    const char *neff_name;
    uint8_t neff_uuid[NTK_NTFF_UUID_BYTES]; /* from the NEFF's header */
    uint64_t model_id;
    struct ntk_ntff_version runtime, driver, collectives; /* omitted if not present */
    const char *instance_type;                            /* such as "trn1.2xlarge" */
    const char *instance_id;                              /* omitted if NULL */
    uint64_t process_id;                                  /* omitted if 0 */
    /* clock of the core generation: unit of the waiting time in the file */
    uint32_t base_clock_mhz;
    struct ntk_ntff_bounds bounds;
    size_t subgraph_count; /* 1, or 2 with LNC 2 */
    const struct ntk_ntff_capture_subgraph *subgraphs;
};

/* Times are in ps on one device clock for all cores. */
struct ntk_ntff_instruction {
    uint32_t engine; /* enum ntk_ntff_engine */
    uint32_t slot;   /* pc: index of a 64-byte slot in the engine's code */
    uint64_t wait_ps;
    uint64_t start_ps, end_ps;
};

struct ntk_ntff_event {
    uint32_t source; /* enum ntk_ntff_engine; NTK_NTFF_ENGINE_AXI for DMA */
    bool is_semaphore;
    uint8_t mode;   /* enum ntk_ntff_event_mode */
    uint8_t number; /* number of the semaphore or event */
    uint32_t value; /* value after the change */
    uint64_t time_ps;
};

struct ntk_ntff_dma {
    uint32_t dma_engine; /* the core's DMA engine: 0-15 */
    uint32_t queue;      /* 0-15 */
    uint64_t bytes_count;
    uint64_t start_ps, end_ps;
};

struct ntk_ntff_throttle {
    uint8_t type; /* 0 means activity_0 */
    uint8_t k, n; /* the limit is k/n */
    uint64_t time_ps;
};

struct ntk_ntff_error {
    enum ntk_ntff_error_kind kind;
    uint32_t engine; /* enum ntk_ntff_engine; NTK_NTFF_ENGINE_AXI for DMA, which has no slot */
    uint32_t slot;
    uint64_t time_ps;
};

struct ntk_ntff_writer;

/* Copies the parts of the capture that it needs. Returns -EINVAL for numbers that the format cannot
 * store, -ENOMEM, or an error of creating a file in that folder (reported now, not after the
 * run). */
int ntk_ntff_writer_create(const char *path, const struct ntk_ntff_capture *capture,
                           struct ntk_ntff_writer **out_writer, struct ntk_err *err);
/* Creates a capture without a name: data that does not fit into memory waits in the folder, and
 * ntk_ntff_writer_save() writes it. */
int ntk_ntff_writer_create_unnamed(const char *folder, const struct ntk_ntff_capture *capture,
                                   struct ntk_ntff_writer **out_writer, struct ntk_err *err);
/* Adds the subgraphs of another program as a separate graph with its NEFF's uuid; the rest of the
 * capture stays unchanged. Returns -ENOSPC if there would be more than NTK_NTFF_SUBGRAPHS_MAX. */
int ntk_ntff_writer_add_program(struct ntk_ntff_writer *writer,
                                const struct ntk_ntff_capture *capture, size_t *out_first_subgraph,
                                struct ntk_err *err);
/* Drops records and times; the programs stay. */
void ntk_ntff_writer_reset(struct ntk_ntff_writer *writer);
/* Unless it was committed, no file remains. */
void ntk_ntff_writer_destroy(struct ntk_ntff_writer *writer);

/* subgraph is an index in the capture's subgraphs. Returns 0, -EINVAL for numbers that the format
 * cannot store, -ENOSPC after the disk became full (the record is counted as dropped), or -ENOMEM.
 * The caller may ignore the result, because commit reports it. */
int ntk_ntff_writer_add_instruction(struct ntk_ntff_writer *writer, size_t subgraph,
                                    const struct ntk_ntff_instruction *instruction);
int ntk_ntff_writer_add_event(struct ntk_ntff_writer *writer, size_t subgraph,
                              const struct ntk_ntff_event *event);
int ntk_ntff_writer_add_dma(struct ntk_ntff_writer *writer, size_t subgraph,
                            const struct ntk_ntff_dma *dma);
/* At most NTK_NTFF_ERROR_RECORDS_MAX errors per subgraph are kept. */
int ntk_ntff_writer_add_error(struct ntk_ntff_writer *writer, size_t subgraph,
                              const struct ntk_ntff_error *error);
int ntk_ntff_writer_add_throttle(struct ntk_ntff_writer *writer, size_t subgraph,
                                 const struct ntk_ntff_throttle *throttle);

/* Sets the time span of the capture. Without this call, it extends from the first start to the last
 * end of the records. */
void ntk_ntff_writer_set_execution(struct ntk_ntff_writer *writer, uint64_t start_ps,
                                   uint64_t end_ps);

/* Returns 0 if the file is complete; 1 if it is readable, but records are missing (err has their
 * number and the reason); or a negative value if no file was written. Call it once. */
int ntk_ntff_writer_commit(struct ntk_ntff_writer *writer, struct ntk_err *err);
/* Same, for the records so far, to any file, any number of times. err->code is -ENOBUFS if only the
 * capture's limits were the cause. */
int ntk_ntff_writer_save(struct ntk_ntff_writer *writer, const char *path, struct ntk_err *err);
/* Number of records that are not in the file. */
uint64_t ntk_ntff_writer_dropped(const struct ntk_ntff_writer *writer);

#ifdef __cplusplus
}
#endif
#endif
