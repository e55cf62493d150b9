/* SPDX-License-Identifier: MIT */
/*
 * rows - defines the rows of all tables of an export, and the functions that create them.
 *
 * Each function returns its rows in order of cores and, if rows have a time, of time. Times are ns
 * since the start of the execution: fractions are truncated only in the result. A member that
 * the capture does not yield is absent (see table.h). Texts are borrowed from the export or
 * constants, or last for the row.
 *
 * Owner:   the caller provides the storage; ntk_position_texts_fini() frees its content.
 */
#ifndef NTK_PROFILER_OUTPUT_TABLES_ROWS_H
#define NTK_PROFILER_OUTPUT_TABLES_ROWS_H

#include "profiler/output/export.h"
#include "profiler/output/tables/table.h"

struct ntk_instruction_row {
    int64_t id, core_index;
    int64_t start_ns, end_ns, duration_ns;
    const char *subgraph, *path; /* such as "sg00" and "/sg00" */
    int64_t engine_number;       /* enum ntk_ntff_engine */
    const char *engine;          /* such as "tensor" */
    const char *title;           /* such as "Tensor" */
    const char *label;           /* "TensorMatrix" for matrix products, else the title */
    const char *opcode;
    const char *operands;
    /* Text in the program: always in the open encoding; in a vendor's program if it differs from
     * the executed instruction. */
    const char *operation, *compiler_operands;
    const char *activation; /* for a vendor's ACTIVATE, "" for other operations of a vendor */
    int64_t pc, compiler_pc;
    int64_t wait_ns;
    int64_t crc_in, crc_out;
    const char *layer;       /* "" if none; absent if unknown */
    const char *type;        /* "REGULAR" or "TRANSPOSE"; "" if not from the compiler */
    const char *tensor_type; /* same values, for operations of the tensor engine */
    const char *bir_id, *bir_name, *penguin_id; /* such as "sg0000:588", "I-72-0" and "sg0000:72" */
    int64_t raw_bir_id, raw_penguin_id, raw_hlo_id, raw_framework_id;
    const char *penguin_text; /* such as "float32<128 x 512> $12[i_q_0]" */
    const char *hlo_name, *hlo_attrs;
    const struct ntk_neff_debug_instruction *named; /* NULL if none; not a column */
    /* Such as "/k/attn.py:278" from the kernel tree and from the back end, "inst.72:8",
     * "__main__.attn", [{"name":"h","value":0,"line":11}] outermost first, "11" for ids of
     * StackFrame; absent if none */
    const char *nki_location, *bir_location, *kernel_name, *kernel_function, *iteration;
    const char *iteration_path; /* such as "kv_h=0,s_t=3" */
    const char *frame_ids;
    const char *predecessors; /* such as [{"id":12,"type":"FLOW_DEPENDENCE"}]; absent if none */
    int64_t elements, flops, adjusted_flops; /* for a MATMUL */
    /* for a MATMUL that transposes */
    int64_t transpose_elements, transpose_flops, adjusted_transpose_flops;
    int64_t hbm_read_bytes, hbm_write_bytes, sbuf_read_bytes, sbuf_write_bytes;
    int64_t psum_read_bytes, psum_write_bytes;
    int64_t psum_to_sbuf_bytes, is_psum_to_sbuf; /* is_psum_to_sbuf is 1 or absent */
};

/* Expensive members: callers that do not show them set skipped_parts of the export; the members are
 * NULL then. */
enum ntk_instruction_part {
    NTK_PART_OPERANDS = 1, /* operands, operation, compiler_operands, activation */
    NTK_PART_POSITION = 2, /* nki_location to frame_ids */
    NTK_PART_PREDECESSORS = 4,
    NTK_PART_NAMES = 8,     /* bir_id to hlo_attrs; also "named" */
    NTK_PART_TRANSFER = 16, /* for packets: transfer_id to dest_json */
};
/* Return the parts that rows can omit if only these columns are shown, for instructions and for
 * packets. */
unsigned ntk_rows_instruction_unused(const struct ntk_column *columns, size_t count);
unsigned ntk_rows_packet_unused(const struct ntk_column *columns, size_t count);
/* Same, for any table: 0 if its rows have no expensive members. */
unsigned ntk_rows_unused(const struct ntk_table *table, const struct ntk_column *columns,
                         size_t count);

struct ntk_packet_row {
    int64_t id, core_index;
    int64_t start_ns, end_ns, duration_ns;
    const char *subgraph;
    const char *lane; /* such as "Q0-E64" */
    int64_t engine, queue;
    const char *queue_type, *queue_name;
    int64_t bytes;
    double bytes_per_second;
    int64_t crc;
    int64_t index;         /* number in its engine and queue, from 0 */
    int64_t ring_id;       /* unique per core, engine and queue */
    const char *no;        /* always "no", because rows are single packets */
    const char *is_cc;     /* "no"; absent with collectives, because their packets are unknown */
    const char *semaphore; /* always "-1" */
    int64_t transfer_id;   /* this and the next members belong to its known transfer */
    const char *op, *variable;
    const char *source_json, *dest_json;
};

struct ntk_transfer_row { /* packets of one transfer, from the first to the last */
    int64_t id, core_index;
    int64_t trigger_id; /* instruction that started it */
    int64_t block_id;   /* for prepared transfers */
    int64_t start_ns, end_ns, duration_ns;
    const char *subgraph;
    int64_t queue;
    const char *queue_name;
    const char *queue_type; /* for prepared transfers: input, output, data */
    const char *name;       /* name in the NEFF, for prepared transfers */
    const char *op, *variable;
    const char *source, *dest, *source_json, *dest_json;
    int64_t read_bytes, write_bytes;
    int64_t packet_count, packet_bytes; /* packet_bytes includes semaphore writes */
    const char *bir_location;           /* position of the instruction that started it */
    double bytes_per_second;
};

struct ntk_semaphore_row {
    int64_t time_ns, core_index, value;
    const char *subgraph;
    const char *name; /* such as "S[8] (qSyncDynamicHW)" or "207" */
    const char *source;
    const char *operation;
};

struct ntk_span_row { /* a span of the union of an engine's instructions */
    int64_t start_ns, end_ns, duration_ns, core_index;
    const char *engine, *subgraph;
};

struct ntk_error_row {
    int64_t time_ns, core_index, type_id;
    const char *description, *type;
    const char *metadata;     /* such as "vector, pc 4" */
    const char *metadata_hex; /* bytes of the record */
};

struct ntk_pending_row {
    int64_t time_ns, value, core_index;
    const char *subgraph;
};

struct ntk_usage_row { /* usage of on-chip memory */
    int64_t time_ns, core_index;
    const char *subgraph, *type; /* type is "sb" or "psum" */
    double mean;
    double partitions[4]; /* partitions 0, 32, 64, 96 of the state buffer; floats */
    double banks[8];      /* banks of PSUM; floats */
};

struct ntk_allocation_row { /* an allocation of the state buffer */
    int64_t start_ns, end_ns;
    int64_t first_byte, last_byte, partition;
    const char *source;            /* "instruction" or "dma" */
    const char *opcode, *operands; /* for an instruction */
    const char *queue_name;        /* for a transfer, like the next two */
    int64_t block_id;              /* for prepared transfers */
    const char *tensor;
    const char *hlo_name;
    int64_t instruction_id; /* writer, or instruction that started the transfer */
    int64_t core_index;
};

struct ntk_rate_row {
    int64_t time_ns, core_index, total_bytes;
    double bytes_per_second;
    const char *subgraph;
    double hbm_bytes_per_second; /* 0 if HBM is not distinguished */
    int64_t hbm_total_bytes;
    const char *uses_hbm;
};

struct ntk_throttle_row {
    int64_t time_ns, duration_ns, k, n, type, core_index;
    const char *type_name, *subgraph;
};

struct ntk_throttle_summary_row {
    int64_t nc;
    const char *type; /* such as "all" */
    int64_t active_ns;
    double active_ratio, limit_ratio;
};

struct ntk_memory_row {
    const char *usage_type;
    int64_t bytes, device, core;
};

struct ntk_core_row {
    const char *subgraph;
    int64_t device, core, cycles;
    int64_t trace_count, event_count, queue_count;
    int64_t instruction_count[NTK_NTFF_ENGINE_COUNT];
};

struct ntk_queue_row {
    const char *name, *type, *subgraph;
    int64_t core_index, index, engine, axi_port, dram_channel, event_id;
};

struct ntk_layer_row {
    const char *name; /* such as "/sg00/Unknown" */
    const char *path; /* such as "/sg00" */
    int64_t start_ns, end_ns, duration_ns;
    int64_t instruction_count[NTK_NTFF_ENGINE_COUNT];
    int64_t instruction_ns[NTK_NTFF_ENGINE_COUNT];
    int64_t active_ns[NTK_NTFF_ENGINE_COUNT];
    double active_ratio[NTK_NTFF_ENGINE_COUNT]; /* floats */
    double mfu, hfu;
    int64_t flops, useful_flops;
};

struct ntk_region_row { /* a repeated region */
    int64_t id, core_index, parent_id, depth, count, instruction_count;
    int64_t median_ns, worst_ns, worst_index, worst_start_ns, total_ns, start_ns, end_ns;
    int64_t outlier_count;
    double share; /* share of the execution */
    const char *subgraph, *engine, *kind, *name, *key;
};

struct ntk_region_outlier_row {
    int64_t region_id, core_index, index, start_ns, end_ns, duration_ns;
    double medians; /* time as a multiple of the region's median */
    const char *subgraph;
};

/* A node of the kernel tree; each kind has separate ids, from 1. */
struct ntk_kernel_row {
    int64_t id;        /* for an iteration or function */
    const char *name;  /* such as "inst.72:8"; name of a variable or function */
    int64_t value;     /* for an iteration; absent if not an integer */
    int64_t parent_id; /* id of a node of the same kind */
    int64_t function_id, function_depth, iteration_id, iteration_depth; /* for an instruction */
    int64_t core_index;                                                 /* core that runs it */
    const char *file;
    int64_t line;
};

/* A row in the lists of framework calls; ids start at 1. */
struct ntk_frame_row {
    int64_t id, location_id, parent_id; /* parent_id is 0 for a root */
    int64_t file_id, function_id, line;
    const char *name;
};

struct ntk_source_sums_row { /* like struct ntk_source_sums; 0 if unknown */
    int64_t instruction_count, duration_ns, wait_ns, active_ns;
    int64_t hbm_read_bytes, hbm_write_bytes, sbuf_read_bytes, sbuf_write_bytes;
    int64_t psum_read_bytes, psum_write_bytes, flops, transfer_bytes;
    int64_t engine_counts[NTK_NTFF_ENGINE_COUNT];
};

struct ntk_source_line_row {
    const char *file; /* absent with a reason */
    int64_t line;
    const char *function, *reason;
    const char *text; /* text of the line, if its file is found */
    struct ntk_source_sums_row sums;
    /* such as [{"file_path":"/k/a.py","line_number":5,"evt_wait_time":12}] */
    const char *blocked_by;
};

struct ntk_source_loop_row {
    int64_t id, parent_id;
    const char *file, *function, *variable;
    const char *text;
    int64_t line, iteration_count;
    struct ntk_source_sums_row sums, totals; /* totals include inner loops */
    int64_t span_ns, max_span_ns;
    double mean_span_ns, overlap;
    const char *max_span_values; /* such as "0,3" */
};

struct ntk_source_iteration_row {
    int64_t loop_id;
    const char *values; /* such as "0,3", outermost first */
    int64_t start_ns, end_ns, span_ns;
    struct ntk_source_sums_row sums, totals;
};

/* Cost of an object at a compiler level (Bir, Penguin, Hlo, Framework). */
struct ntk_level_row {
    int64_t id, raw_bir_id, raw_penguin_id, raw_hlo_id, raw_framework_id; /* 0 if none */
    const char *name;
    int64_t core_index, start_ns, end_ns;
    const char *intervals, *elements, *transposed, *hbm_bytes; /* JSON */
    int64_t hbm_read_bytes, hbm_write_bytes, sbuf_read_bytes, sbuf_write_bytes, weight_bytes;
    int64_t engine_counts[NTK_NTFF_ENGINE_COUNT];
};

/* A part of the framework's names, including all nodes below it. */
struct ntk_node_row {
    const char *name, *parent_name;             /* parent_name is "" if none */
    const char *children, *children_json, *ids; /* such as [a, b], ["a", "b"] and [1, 2] */
    int64_t core_index, start_ns, end_ns;
    const char *intervals, *elements, *transposed, *hbm_bytes; /* JSON */
    double hfu, mfu;
    const char *hfu_list, *mfu_list, *mbu_list; /* JSON */
    int64_t hbm_read_bytes, hbm_write_bytes, sbuf_read_bytes, sbuf_write_bytes, weight_bytes;
    int64_t engine_counts[NTK_NTFF_ENGINE_COUNT];
    const char *engine_times[NTK_NTFF_ENGINE_COUNT]; /* JSON */
    int64_t engine_channels[NTK_NTFF_ENGINE_COUNT];
};

/* An edge to a row from the row that it follows. */
struct ntk_flow_row {
    int64_t in_id, out_id, gap_ns;
    const char *in_table, *out_table, *type;
};

struct ntk_opcode_summary_row {
    const char *engine, *opcode;
    int64_t count, instruction_ns, active_ns;
    double active_ratio;
    int64_t working_ns, waiting_ns; /* add up to instruction_ns */
};

struct ntk_header_row { /* header of the NEFF */
    const char *name, *uuid, *hash, *features, *build_version, *package_version_text;
    int64_t header_bytes, data_bytes, major, minor, package_version;
    int64_t core_count, logical_core_count, cores_per_logical;
};

/* A tensor in the NEFF, or a node of its graph. */
struct ntk_tensor_info_row {
    const char *name, *type, *format, *shape, *subgraph;
    int64_t bytes, node, core_index;
    int64_t load_count, load_bytes, load_mean_bytes; /* absent if the tensors are unknown */
    double load_ratio;
};

struct ntk_metadata_row {
    const char *schema_version;
    int64_t data_version, ntff_version, core_count, subgraph_count, is_logical;
    int64_t first_ns, last_ns;
    const char *first_text, *last_text;
    int64_t ticks_per_ns;
    double tensor_ghz, vector_ghz, scalar_ghz, gpsimd_ghz, base_ghz;
    int64_t rows, columns;
    double hbm_bytes_per_second, dma_bytes_per_second;
    int64_t dma_engines, is_ext, is_simulation;
    const char *instance_type, *runtime, *collectives, *driver, *program, *compiler, *profile_name;
    int64_t core, device;
};

struct ntk_profile_row {
    const char *name, *type, *profiler_version, *metrics_version, *neff_name, *path;
    int64_t is_cc_only;
    /* Position of a partial capture in the execution; else absent. */
    int64_t part_from_ns, part_to_ns, part_total_ns;
    const char *part_cores;
};

struct ntk_execution_row {
    int64_t index, start_ns, end_ns, subgraph_count, row_count;
    const char *neff_name;
};

struct ntk_warning_row {
    const char *message, *category;
};

#define NTK_ROWS(name) \
    int ntk_rows_##name(const struct ntk_export *export, ntk_row_put *put, void *ctx)

NTK_ROWS(instructions);        /* struct ntk_span_row */
NTK_ROWS(active_spans);        /* struct ntk_span_row */
NTK_ROWS(pending);             /* struct ntk_pending_row */
NTK_ROWS(packets);             /* struct ntk_packet_row */
NTK_ROWS(transfers);           /* struct ntk_transfer_row; only transfers with known packets */
NTK_ROWS(rates);               /* struct ntk_rate_row */
NTK_ROWS(semaphores);          /* struct ntk_semaphore_row */
NTK_ROWS(errors);              /* struct ntk_error_row; only known kinds */
NTK_ROWS(usage);               /* struct ntk_usage_row */
NTK_ROWS(sbuf_usage);          /* struct ntk_usage_row; only the state buffer */
NTK_ROWS(psum_usage);          /* struct ntk_usage_row; only PSUM */
NTK_ROWS(sbuf_allocations);    /* struct ntk_allocation_row; if the export requests them */
NTK_ROWS(throttles);           /* struct ntk_throttle_row */
NTK_ROWS(throttle_summaries);  /* struct ntk_throttle_summary_row */
NTK_ROWS(memory);              /* struct ntk_memory_row; with a row "Total" per core */
NTK_ROWS(cores);               /* struct ntk_core_row */
NTK_ROWS(queues);              /* struct ntk_queue_row; the last entry for each name */
NTK_ROWS(all_queues);          /* struct ntk_queue_row; all entries */
NTK_ROWS(layers);              /* struct ntk_layer_row */
NTK_ROWS(regions);             /* struct ntk_region_row */
NTK_ROWS(region_outliers);     /* struct ntk_region_outlier_row */
NTK_ROWS(kernel_instructions); /* struct ntk_kernel_row, like the next two */
NTK_ROWS(kernel_iterations);
NTK_ROWS(kernel_functions);
NTK_ROWS(frames); /* struct ntk_frame_row, like the next three */
NTK_ROWS(frame_locations);
NTK_ROWS(frame_files);
NTK_ROWS(frame_functions);
NTK_ROWS(source_lines);      /* struct ntk_source_line_row */
NTK_ROWS(source_loops);      /* struct ntk_source_loop_row */
NTK_ROWS(source_iterations); /* struct ntk_source_iteration_row */
NTK_ROWS(bir_level);         /* struct ntk_level_row, like the next three */
NTK_ROWS(penguin_level);
NTK_ROWS(hlo_level);
NTK_ROWS(framework_level);
NTK_ROWS(framework_nodes);   /* struct ntk_node_row; parents before children */
NTK_ROWS(flows);             /* struct ntk_flow_row */
NTK_ROWS(opcodes);           /* struct ntk_opcode_summary_row */
NTK_ROWS(header);            /* struct ntk_header_row */
NTK_ROWS(tensors);           /* struct ntk_tensor_info_row */
NTK_ROWS(nodes_and_tensors); /* struct ntk_tensor_info_row; also nodes */
NTK_ROWS(metadata);          /* struct ntk_metadata_row */
NTK_ROWS(profile);           /* struct ntk_profile_row */
NTK_ROWS(executions);        /* struct ntk_execution_row */
NTK_ROWS(warnings);          /* struct ntk_warning_row */
NTK_ROWS(summary);           /* union ntk_cell[NTK_SUMMARY_COUNT]; texts are absent */

/* Returns the block of a prepared transfer; absent for others. */
int64_t ntk_rows_block_id(const struct ntk_moves *moves);
/* Reports a struct ntk_warning_row for each core without allocations, if the export requests
 * allocations. */
int ntk_rows_sbuf_warnings(const struct ntk_export *export, const char *category, ntk_row_put *put,
                           void *ctx);

/* Name of transfer spans if there are several operations; else the operation. */
#define NTK_ROWS_TRANSFER_NAME "transfer"
/* Returns a type such as "input"; "unknown" for an IO queue without a NEFF. */
const char *ntk_rows_queue_type(unsigned dma_class);
/* Texts for the position of one row; valid until the next call. */
struct ntk_position_loops {
    struct ntk_buf buf; /* JSON, then the path */
    size_t path_at;
    uint32_t iteration; /* iteration of the texts; 0 if none */
};
struct ntk_position_texts {
    struct ntk_buf buf;
    struct ntk_position_loops loops[NTK_NTFF_ENGINE_COUNT];
};
struct ntk_position_text {
    const char *nki_location, *bir_location, *kernel_name, *kernel_function, *iteration;
    const char *iteration_path; /* such as "kv_h=0,s_t=3" */
    const char *frame_ids;      /* each text is absent if there is none */
};
/* Returns 0 or -ENOMEM. */
int ntk_position_texts_get(struct ntk_position_texts *texts, const struct ntk_export *export,
                           size_t core_index, const struct ntk_trace_instruction *instruction,
                           struct ntk_position_text *out_text);
void ntk_position_texts_fini(struct ntk_position_texts *texts);
/* Converts ps to ns; rounds down, so that -1 ps is -1 ns. The execution starts at 0. */
static inline int64_t ntk_rows_ns(int64_t ps)
{
    int64_t ns = ps / NTK_TRACE_PS_PER_NS;

    return ns - (ps % NTK_TRACE_PS_PER_NS < 0);
}
/* Limits values from untrusted files to the maximum for a row. */
static inline int64_t ntk_rows_i64(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

#endif
