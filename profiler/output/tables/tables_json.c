/* SPDX-License-Identifier: MIT */
/* tables_json - defines the arrays of the JSON document: the original's keys, with the same
 * rows. */
#include "profiler/output/tables/rows.h"
#include "profiler/output/tables/tables.h"

#define KEY(row, member, key, kind)                                                    \
    {                                                                                  \
        key, NTK_COLUMN_##kind, NTK_COLUMN_MAYBE, offsetof(struct row, member), "", "" \
    }
/* Expands to the same column for each engine, "tensor" first. */
#define KEYS_OF_ENGINES(row, member, suffix, kind)                               \
    KEY(row, member[NTK_NTFF_ENGINE_TENSOR], "tensor_engine_" suffix, kind),     \
        KEY(row, member[NTK_NTFF_ENGINE_SCALAR], "scalar_engine_" suffix, kind), \
        KEY(row, member[NTK_NTFF_ENGINE_GPSIMD], "gpsimd_engine_" suffix, kind), \
        KEY(row, member[NTK_NTFF_ENGINE_VECTOR], "vector_engine_" suffix, kind), \
        KEY(row, member[NTK_NTFF_ENGINE_SYNC], "sync_engine_" suffix, kind)

static const struct ntk_column instruction[] = {
    KEY(ntk_instruction_row, start_ns, "timestamp", I64),
    KEY(ntk_instruction_row, duration_ns, "duration", I64),
    KEY(ntk_instruction_row, subgraph, "subgraph", TEXT),
    KEY(ntk_instruction_row, path, "fully_qualified_subgraph", TEXT),
    KEY(ntk_instruction_row, label, "label", TEXT),
    KEY(ntk_instruction_row, title, "subgroup", TEXT),
    KEY(ntk_instruction_row, opcode, "opcode", TEXT),
    KEY(ntk_instruction_row, operands, "operands", TEXT),
    KEY(ntk_instruction_row, operation, "compiler_opcode", TEXT),
    KEY(ntk_instruction_row, compiler_operands, "compiler_operands", TEXT),
    KEY(ntk_instruction_row, activation, "activation_fn", TEXT),
    KEY(ntk_instruction_row, pc, "pc", I64),
    KEY(ntk_instruction_row, compiler_pc, "compiler_pc", I64),
    KEY(ntk_instruction_row, id, "id", I64),
    KEY(ntk_instruction_row, wait_ns, "evt_wait_time", I64),
    KEY(ntk_instruction_row, crc_in, "crc_in", I64),
    KEY(ntk_instruction_row, crc_out, "crc_out", I64),
    KEY(ntk_instruction_row, layer, "layer", TEXT),
    KEY(ntk_instruction_row, type, "instruction_type", TEXT),
    KEY(ntk_instruction_row, bir_id, "bir_id", TEXT),
    KEY(ntk_instruction_row, raw_bir_id, "raw_bir_id", I64),
    KEY(ntk_instruction_row, bir_name, "bir_instruction_name", TEXT),
    KEY(ntk_instruction_row, penguin_id, "penguin_id", TEXT),
    KEY(ntk_instruction_row, raw_penguin_id, "raw_penguin_id", I64),
    KEY(ntk_instruction_row, penguin_text, "penguin_text", TEXT),
    KEY(ntk_instruction_row, predecessors, "predecessors", JSON),
    KEY(ntk_instruction_row, hlo_name, "hlo_name", TEXT),
    KEY(ntk_instruction_row, hlo_attrs, "hlo_attrs", TEXT),
    KEY(ntk_instruction_row, nki_location, "nki_source_location", TEXT),
    KEY(ntk_instruction_row, bir_location, "bir_debug_info_source_location", TEXT),
    KEY(ntk_instruction_row, kernel_name, "kernel_instruction_name", TEXT),
    KEY(ntk_instruction_row, kernel_function, "kernel_function", TEXT),
    KEY(ntk_instruction_row, iteration, "iteration", JSON),
    KEY(ntk_instruction_row, frame_ids, "stack_frame_ids", TEXT),
    KEY(ntk_instruction_row, elements, "elements", I64),
    KEY(ntk_instruction_row, flops, "raw_flops", I64),
    KEY(ntk_instruction_row, adjusted_flops, "adjusted_flops", I64),
    KEY(ntk_instruction_row, transpose_flops, "flops_transpose", I64),
    KEY(ntk_instruction_row, adjusted_transpose_flops, "adjusted_flops_transpose", I64),
    KEY(ntk_instruction_row, hbm_read_bytes, "hbm_read_bytes", I64),
    KEY(ntk_instruction_row, hbm_write_bytes, "hbm_write_bytes", I64),
    KEY(ntk_instruction_row, sbuf_read_bytes, "sbuf_read_bytes", I64),
    KEY(ntk_instruction_row, sbuf_write_bytes, "sbuf_write_bytes", I64),
    KEY(ntk_instruction_row, psum_read_bytes, "psum_read_bytes", I64),
    KEY(ntk_instruction_row, psum_write_bytes, "psum_write_bytes", I64),
    KEY(ntk_instruction_row, psum_to_sbuf_bytes, "psum_read_sbuf_write_bytes", I64),
    KEY(ntk_instruction_row, is_psum_to_sbuf, "is_psum_read_sbuf_write", BOOL),
};

static const struct ntk_column dma[] = {
    KEY(ntk_packet_row, start_ns, "timestamp", I64),
    KEY(ntk_packet_row, duration_ns, "duration", I64),
    KEY(ntk_packet_row, subgraph, "subgraph", TEXT),
    KEY(ntk_packet_row, lane, "subgroup", TEXT),
    KEY(ntk_packet_row, engine, "dma_engine", I64_TEXT),
    KEY(ntk_packet_row, queue, "dma_queue", I64_TEXT),
    KEY(ntk_packet_row, queue_type, "queue_type", TEXT),
    KEY(ntk_packet_row, bytes, "read_size", I64),
    KEY(ntk_packet_row, bytes, "write_size", I64),
    KEY(ntk_packet_row, bytes, "transfer_size", I64),
    KEY(ntk_packet_row, bytes_per_second, "transfer_rate", F32),
    KEY(ntk_packet_row, op, "op", TEXT),
    KEY(ntk_packet_row, variable, "variable", TEXT),
    KEY(ntk_packet_row, source_json, "source", JSON),
    KEY(ntk_packet_row, dest_json, "dest", JSON),
    KEY(ntk_packet_row, transfer_id, "transfer_id", I64),
    KEY(ntk_packet_row, crc, "crc", I64),
    KEY(ntk_packet_row, index, "packet_idx", I64),
    KEY(ntk_packet_row, ring_id, "packet_aggregation_id", I64),
    KEY(ntk_packet_row, id, "id", I64),
    KEY(ntk_packet_row, semaphore, "semaphore_id", TEXT),
    KEY(ntk_packet_row, is_cc, "is_cc_dma", TEXT),
    KEY(ntk_packet_row, no, "aggregated", TEXT),
    KEY(ntk_packet_row, no, "duplicate", TEXT),
};

static const struct ntk_column dma_transfer[] = {
    KEY(ntk_transfer_row, start_ns, "timestamp", I64),
    KEY(ntk_transfer_row, duration_ns, "duration", I64),
    KEY(ntk_transfer_row, subgraph, "subgraph", TEXT),
    KEY(ntk_transfer_row, queue_name, "queue_name", TEXT),
    KEY(ntk_transfer_row, queue_type, "queue_type", TEXT),
    KEY(ntk_transfer_row, name, "name", TEXT),
    KEY(ntk_transfer_row, op, "op", TEXT),
    KEY(ntk_transfer_row, variable, "variable", TEXT),
    KEY(ntk_transfer_row, source_json, "source", JSON),
    KEY(ntk_transfer_row, dest_json, "dest", JSON),
    KEY(ntk_transfer_row, read_bytes, "read_size", I64),
    KEY(ntk_transfer_row, write_bytes, "write_size", I64),
    KEY(ntk_transfer_row, packet_count, "packet_count", I64),
    KEY(ntk_transfer_row, packet_bytes, "packet_size", I64),
    KEY(ntk_transfer_row, bytes_per_second, "transfer_rate", F64),
    KEY(ntk_transfer_row, block_id, "block_id", I64),
    KEY(ntk_transfer_row, trigger_id, "trigger_id", I64),
    KEY(ntk_transfer_row, bir_location, "bir_debug_info_source_location", TEXT),
    KEY(ntk_transfer_row, id, "id", I64),
};

static const struct ntk_column semaphore_update[] = {
    KEY(ntk_semaphore_row, time_ns, "timestamp", I64),
    KEY(ntk_semaphore_row, name, "id", TEXT),
    KEY(ntk_semaphore_row, value, "value", I64),
    KEY(ntk_semaphore_row, subgraph, "subgraph", TEXT),
};

static const struct ntk_column active_time[] = {
    KEY(ntk_span_row, start_ns, "start_ts", I64),
    KEY(ntk_span_row, end_ns, "end_ts", I64),
    KEY(ntk_span_row, duration_ns, "duration_ns", I64),
    KEY(ntk_span_row, engine, "engine", TEXT),
    KEY(ntk_span_row, core_index, "pcore_idx", I64),
    KEY(ntk_span_row, subgraph, "subgraph", TEXT),
};

static const struct ntk_column pending_dma[] = {
    KEY(ntk_pending_row, time_ns, "timestamp", I64),
    KEY(ntk_pending_row, value, "value", I64),
    KEY(ntk_pending_row, subgraph, "subgraph", TEXT),
};

static const struct ntk_column dma_throughput[] = {
    KEY(ntk_rate_row, time_ns, "timestamp", I64),
    KEY(ntk_rate_row, bytes_per_second, "transfer_rate", F32),
    KEY(ntk_rate_row, total_bytes, "total_transfer_bytes", I64),
    KEY(ntk_rate_row, hbm_bytes_per_second, "hbm_transfer_rate", F32),
    KEY(ntk_rate_row, hbm_total_bytes, "hbm_total_transfer_bytes", I64),
    KEY(ntk_rate_row, uses_hbm, "uses_hbm", TEXT),
    KEY(ntk_rate_row, subgraph, "subgraph", TEXT),
};

static const struct ntk_column instruction_usage[] = {
    KEY(ntk_usage_row, time_ns, "timestamp", I64),
    KEY(ntk_usage_row, type, "type", TEXT),
    KEY(ntk_usage_row, subgraph, "subgraph", TEXT),
    KEY(ntk_usage_row, mean, "usage_avg", F32),
    KEY(ntk_usage_row, partitions[0], "partition_0_usage", F32),
    KEY(ntk_usage_row, partitions[1], "partition_32_usage", F32),
    KEY(ntk_usage_row, partitions[2], "partition_64_usage", F32),
    KEY(ntk_usage_row, partitions[3], "partition_96_usage", F32),
    KEY(ntk_usage_row, banks[0], "bank_0_usage", F32),
    KEY(ntk_usage_row, banks[1], "bank_1_usage", F32),
    KEY(ntk_usage_row, banks[2], "bank_2_usage", F32),
    KEY(ntk_usage_row, banks[3], "bank_3_usage", F32),
    KEY(ntk_usage_row, banks[4], "bank_4_usage", F32),
    KEY(ntk_usage_row, banks[5], "bank_5_usage", F32),
    KEY(ntk_usage_row, banks[6], "bank_6_usage", F32),
    KEY(ntk_usage_row, banks[7], "bank_7_usage", F32),
};

static const struct ntk_column sbuf_allocation[] = {
    KEY(ntk_allocation_row, start_ns, "start_ts", I64),
    KEY(ntk_allocation_row, end_ns, "end_ts", I64),
    KEY(ntk_allocation_row, first_byte, "start_address", I64),
    KEY(ntk_allocation_row, last_byte, "end_address", I64),
    KEY(ntk_allocation_row, partition, "partition", I64),
    KEY(ntk_allocation_row, source, "op_source_type", TEXT),
    KEY(ntk_allocation_row, opcode, "opcode", TEXT),
    KEY(ntk_allocation_row, operands, "operands", TEXT),
    KEY(ntk_allocation_row, queue_name, "queue_name", TEXT),
    KEY(ntk_allocation_row, block_id, "block_id", I64),
    KEY(ntk_allocation_row, tensor, "tensor_name", TEXT),
    KEY(ntk_allocation_row, hlo_name, "hlo_name", TEXT),
    KEY(ntk_allocation_row, core_index, "pcore_idx", I64),
    KEY(ntk_allocation_row, instruction_id, "instruction_id", I64),
};

static const struct ntk_column ham[] = {
    KEY(ntk_throttle_row, time_ns, "timestamp", I64),
    KEY(ntk_throttle_row, duration_ns, "duration", I64),
    KEY(ntk_throttle_row, k, "k", I64),
    KEY(ntk_throttle_row, n, "n", I64),
    KEY(ntk_throttle_row, type, "type", I64),
    KEY(ntk_throttle_row, subgraph, "subgraph", TEXT),
};

static const struct ntk_column nc_mem_usage[] = {
    KEY(ntk_memory_row, usage_type, "usage_type", TEXT),
    KEY(ntk_memory_row, bytes, "amount_bytes", I64),
    KEY(ntk_memory_row, device, "nd", I64),
    KEY(ntk_memory_row, core, "nc", I64),
};

static const struct ntk_column model_info[] = {
    KEY(ntk_core_row, subgraph, "sg_name", TEXT),
    KEY(ntk_core_row, device, "nd_idx", I64),
    KEY(ntk_core_row, core, "nc_idx", I64),
    KEY(ntk_core_row, cycles, "neuroncore_cycle_count", I64),
    KEY(ntk_core_row, trace_count, "trace_count", I64),
    KEY(ntk_core_row, event_count, "event_count", I64),
    KEYS_OF_ENGINES(ntk_core_row, instruction_count, "instruction_count", I64),
    KEY(ntk_core_row, queue_count, "dma_queue_count", I64),
};

static const struct ntk_column layer_summary[] = {
    KEY(ntk_layer_row, name, "name", TEXT),
    KEY(ntk_layer_row, start_ns, "start", I64),
    KEY(ntk_layer_row, end_ns, "end", I64),
    KEY(ntk_layer_row, duration_ns, "duration", I64),
    KEY(ntk_layer_row, path, "fully_qualified_subgraph", TEXT),
    KEYS_OF_ENGINES(ntk_layer_row, instruction_count, "instruction_count", I64),
    KEYS_OF_ENGINES(ntk_layer_row, instruction_ns, "instruction_time", I64),
    KEYS_OF_ENGINES(ntk_layer_row, active_ns, "active_time", I64),
    KEYS_OF_ENGINES(ntk_layer_row, active_ratio, "active_percent", F32),
    KEY(ntk_layer_row, mfu, "tensor_engine_mfu", F64),
    KEY(ntk_layer_row, hfu, "tensor_engine_hfu", F64),
    KEY(ntk_layer_row, flops, "tensor_engine_flop_count", I64),
    KEY(ntk_layer_row, useful_flops, "tensor_engine_model_flop_count", I64),
};

static const struct ntk_column region[] = {
    KEY(ntk_region_row, id, "id", I64),
    KEY(ntk_region_row, subgraph, "subgraph", TEXT),
    KEY(ntk_region_row, engine, "engine", TEXT),
    KEY(ntk_region_row, kind, "kind", TEXT),
    KEY(ntk_region_row, name, "name", TEXT),
    KEY(ntk_region_row, key, "key", TEXT),
    KEY(ntk_region_row, parent_id, "parent_id", I64),
    KEY(ntk_region_row, depth, "depth", I64),
    KEY(ntk_region_row, count, "count", I64),
    KEY(ntk_region_row, instruction_count, "instruction_count", I64),
    KEY(ntk_region_row, median_ns, "median", I64),
    KEY(ntk_region_row, worst_ns, "worst", I64),
    KEY(ntk_region_row, worst_index, "worst_idx", I64),
    KEY(ntk_region_row, worst_start_ns, "worst_timestamp", I64),
    KEY(ntk_region_row, total_ns, "total", I64),
    KEY(ntk_region_row, share, "covered_percent", F64),
    KEY(ntk_region_row, start_ns, "start", I64),
    KEY(ntk_region_row, end_ns, "end", I64),
    KEY(ntk_region_row, outlier_count, "outlier_count", I64),
};

static const struct ntk_column region_outlier[] = {
    KEY(ntk_region_outlier_row, region_id, "region_id", I64),
    KEY(ntk_region_outlier_row, subgraph, "subgraph", TEXT),
    KEY(ntk_region_outlier_row, index, "idx", I64),
    KEY(ntk_region_outlier_row, start_ns, "timestamp", I64),
    KEY(ntk_region_outlier_row, duration_ns, "duration", I64),
    KEY(ntk_region_outlier_row, medians, "medians", F64),
};

static const struct ntk_column kernel_instruction[] = {
    KEY(ntk_kernel_row, name, "kernel_instruction_name", TEXT),
    KEY(ntk_kernel_row, function_id, "stack_frame_id", I64),
    KEY(ntk_kernel_row, function_depth, "stack_frame_depth", I64),
    KEY(ntk_kernel_row, iteration_id, "iteration_variables_id", I64),
    KEY(ntk_kernel_row, iteration_depth, "iteration_variable_depth", I64),
    KEY(ntk_kernel_row, core_index, "pcore_idx", I64),
    KEY(ntk_kernel_row, file, "file_path", TEXT),
    KEY(ntk_kernel_row, line, "line_number", I64),
};

static const struct ntk_column kernel_iteration_variable[] = {
    KEY(ntk_kernel_row, id, "iteration_variable_id", I64),
    KEY(ntk_kernel_row, name, "variable_name", TEXT),
    KEY(ntk_kernel_row, value, "variable_value", I64),
    KEY(ntk_kernel_row, parent_id, "parent_iteration_variable_id", I64),
    KEY(ntk_kernel_row, core_index, "pcore_idx", I64),
    KEY(ntk_kernel_row, file, "file_path", TEXT),
    KEY(ntk_kernel_row, line, "line_number", I64),
};

static const struct ntk_column kernel_stack_frame[] = {
    KEY(ntk_kernel_row, id, "stack_frame_id", I64),
    KEY(ntk_kernel_row, name, "fully_qualified_function_name", TEXT),
    KEY(ntk_kernel_row, parent_id, "parent_stack_frame_id", I64),
    KEY(ntk_kernel_row, core_index, "pcore_idx", I64),
    KEY(ntk_kernel_row, file, "file_path", TEXT),
    KEY(ntk_kernel_row, line, "line_number", I64),
};

static const struct ntk_column stack_frame[] = {
    KEY(ntk_frame_row, id, "id", I64_TEXT),
    KEY(ntk_frame_row, location_id, "file_location_id", I64),
    KEY(ntk_frame_row, parent_id, "parent_frame_id", I64_TEXT),
};

static const struct ntk_column stack_frame_file_location[] = {
    KEY(ntk_frame_row, id, "id", I64_TEXT),
    KEY(ntk_frame_row, file_id, "file_name_id", I64),
    KEY(ntk_frame_row, function_id, "function_name_id", I64),
    KEY(ntk_frame_row, line, "line_number", I64),
};

static const struct ntk_column stack_frame_file_name[] = {
    KEY(ntk_frame_row, id, "id", I64_TEXT),
    KEY(ntk_frame_row, name, "name", TEXT),
};

static const struct ntk_column stack_frame_function_name[] = {
    KEY(ntk_frame_row, id, "id", I64_TEXT),
    KEY(ntk_frame_row, name, "name", TEXT),
};

#define KEYS_OF_SUMS(row, sums, prefix)                                                         \
    KEY(row, sums.instruction_count, prefix "instruction_count", I64),                          \
        KEY(row, sums.duration_ns, prefix "duration", I64),                                     \
        KEY(row, sums.wait_ns, prefix "evt_wait_time", I64),                                    \
        KEY(row, sums.active_ns, prefix "active_time", I64),                                    \
        KEY(row, sums.hbm_read_bytes, prefix "hbm_read_bytes", I64),                            \
        KEY(row, sums.hbm_write_bytes, prefix "hbm_write_bytes", I64),                          \
        KEY(row, sums.sbuf_read_bytes, prefix "sbuf_read_bytes", I64),                          \
        KEY(row, sums.sbuf_write_bytes, prefix "sbuf_write_bytes", I64),                        \
        KEY(row, sums.psum_read_bytes, prefix "psum_read_bytes", I64),                          \
        KEY(row, sums.psum_write_bytes, prefix "psum_write_bytes", I64),                        \
        KEY(row, sums.flops, prefix "flops", I64),                                              \
        KEY(row, sums.transfer_bytes, prefix "transfer_bytes", I64),                            \
        KEY(row, sums.engine_counts[NTK_NTFF_ENGINE_TENSOR], prefix "tensor_instruction_count", \
            I64),                                                                               \
        KEY(row, sums.engine_counts[NTK_NTFF_ENGINE_VECTOR], prefix "vector_instruction_count", \
            I64),                                                                               \
        KEY(row, sums.engine_counts[NTK_NTFF_ENGINE_SCALAR], prefix "scalar_instruction_count", \
            I64),                                                                               \
        KEY(row, sums.engine_counts[NTK_NTFF_ENGINE_GPSIMD], prefix "gpsimd_instruction_count", \
            I64),                                                                               \
        KEY(row, sums.engine_counts[NTK_NTFF_ENGINE_SYNC], prefix "sync_instruction_count", I64)

static const struct ntk_column source_line[] = {
    KEY(ntk_source_line_row, file, "file_path", TEXT),
    KEY(ntk_source_line_row, line, "line_number", I64),
    KEY(ntk_source_line_row, function, "function", TEXT),
    KEY(ntk_source_line_row, reason, "reason", TEXT),
    KEYS_OF_SUMS(ntk_source_line_row, sums, ""),
    KEY(ntk_source_line_row, blocked_by, "blocked_by", JSON),
    KEY(ntk_source_line_row, text, "text", TEXT),
};

static const struct ntk_column source_loop[] = {
    KEY(ntk_source_loop_row, id, "id", I64),
    KEY(ntk_source_loop_row, parent_id, "parent_id", I64),
    KEY(ntk_source_loop_row, file, "file_path", TEXT),
    KEY(ntk_source_loop_row, line, "line_number", I64),
    KEY(ntk_source_loop_row, function, "function", TEXT),
    KEY(ntk_source_loop_row, variable, "variable_name", TEXT),
    KEY(ntk_source_loop_row, iteration_count, "iteration_count", I64),
    KEYS_OF_SUMS(ntk_source_loop_row, sums, ""),
    KEYS_OF_SUMS(ntk_source_loop_row, totals, "total_"),
    KEY(ntk_source_loop_row, span_ns, "span", I64),
    KEY(ntk_source_loop_row, overlap, "overlap", F64),
    KEY(ntk_source_loop_row, mean_span_ns, "mean_span", F64),
    KEY(ntk_source_loop_row, max_span_ns, "max_span", I64),
    KEY(ntk_source_loop_row, max_span_values, "max_span_value", TEXT),
    KEY(ntk_source_loop_row, text, "text", TEXT),
};

static const struct ntk_column source_iteration[] = {
    KEY(ntk_source_iteration_row, loop_id, "loop_id", I64),
    KEY(ntk_source_iteration_row, values, "values", TEXT),
    KEY(ntk_source_iteration_row, start_ns, "start", I64),
    KEY(ntk_source_iteration_row, end_ns, "end", I64),
    KEY(ntk_source_iteration_row, span_ns, "span", I64),
    KEYS_OF_SUMS(ntk_source_iteration_row, sums, ""),
    KEYS_OF_SUMS(ntk_source_iteration_row, totals, "total_"),
};

static const struct ntk_column dma_queues_info[] = {
    KEY(ntk_queue_row, name, "q_name", TEXT),
    KEY(ntk_queue_row, type, "q_type", TEXT),
    KEY(ntk_queue_row, engine, "q_eng_idx", I64),
    KEY(ntk_queue_row, index, "q_idx", I64),
    KEY(ntk_queue_row, axi_port, "q_axi_port", I64),
    KEY(ntk_queue_row, dram_channel, "q_dram_channel", I64),
    KEY(ntk_queue_row, event_id, "q_event_id", I64),
    KEY(ntk_queue_row, subgraph, "subgraph", TEXT),
};

static const struct ntk_column neff_header[] = {
    KEY(ntk_header_row, name, "network_name", TEXT),
    KEY(ntk_header_row, uuid, "uuid", TEXT),
    KEY(ntk_header_row, hash, "hash", TEXT),
    KEY(ntk_header_row, features, "enabled_features", TEXT),
    KEY(ntk_header_row, header_bytes, "header_size", I64_TEXT),
    KEY(ntk_header_row, data_bytes, "data_size", I64_TEXT),
    KEY(ntk_header_row, major, "major_version", I64_TEXT),
    KEY(ntk_header_row, minor, "minor_version", I64_TEXT),
    KEY(ntk_header_row, package_version, "package_version", I64_TEXT),
    KEY(ntk_header_row, build_version, "build_version", TEXT),
    KEY(ntk_header_row, logical_core_count, "number_of_logical_neuroncores", I64_TEXT),
    KEY(ntk_header_row, cores_per_logical, "number_of_neuroncores_per_lnc", I64_TEXT),
};

static const struct ntk_column neff_node[] = {
    KEY(ntk_tensor_info_row, name, "variable_name", TEXT),
    KEY(ntk_tensor_info_row, type, "type", TEXT),
    KEY(ntk_tensor_info_row, format, "format", TEXT),
    KEY(ntk_tensor_info_row, shape, "shape", TEXT),
    KEY(ntk_tensor_info_row, bytes, "size", I64_TEXT),
    KEY(ntk_tensor_info_row, node, "node", I64_TEXT),
    KEY(ntk_tensor_info_row, subgraph, "sg_name", TEXT),
    KEY(ntk_tensor_info_row, load_count, "load_to_sbuf_dma_count", I64),
    KEY(ntk_tensor_info_row, load_bytes, "load_to_sbuf_total_size_bytes", I64),
    KEY(ntk_tensor_info_row, load_ratio, "load_to_sbuf_repeat_factor", F64),
};

static const struct ntk_column metadata[] = {
    KEY(ntk_metadata_row, data_version, "data_version", I64),
    KEY(ntk_metadata_row, ntff_version, "ntff_version", I64),
    KEY(ntk_metadata_row, core_count, "num_physical_cores", I64),
    KEY(ntk_metadata_row, subgraph_count, "num_subgraphs", I64),
    KEY(ntk_metadata_row, is_logical, "vnc_enabled", BOOL),
    KEY(ntk_metadata_row, first_ns, "first_hw_timestamp", I64),
    KEY(ntk_metadata_row, last_ns, "last_hw_timestamp", I64),
    KEY(ntk_metadata_row, first_text, "first_ts", TEXT),
    KEY(ntk_metadata_row, last_text, "last_ts", TEXT),
    KEY(ntk_metadata_row, ticks_per_ns, "ticks_per_nanosec", I64),
    KEY(ntk_metadata_row, tensor_ghz, "pe_clock_freq", F64),
    KEY(ntk_metadata_row, base_ghz, "pe_clock_others", F64),
    KEY(ntk_metadata_row, rows, "pe_num_rows", I64),
    KEY(ntk_metadata_row, columns, "pe_num_cols", I64),
    KEY(ntk_metadata_row, hbm_bytes_per_second, "hbm_ddr_bandwidth", F64),
    KEY(ntk_metadata_row, dma_bytes_per_second, "dma_ddr_bandwidth", F64),
    KEY(ntk_metadata_row, is_ext, "is_ext", BOOL),
    KEY(ntk_metadata_row, is_simulation, "is_simulation", BOOL),
};

static const struct ntk_column profile_info[] = {
    KEY(ntk_profile_row, name, "profile_name", TEXT),
    KEY(ntk_profile_row, type, "profile_type", TEXT),
    KEY(ntk_profile_row, profiler_version, "profiler_version", TEXT),
    KEY(ntk_profile_row, metrics_version, "metrics_version", TEXT),
    KEY(ntk_profile_row, neff_name, "neff_name", TEXT),
    KEY(ntk_profile_row, path, "ntff_filename", TEXT),
    KEY(ntk_profile_row, is_cc_only, "cc_only", BOOL),
    KEY(ntk_profile_row, part_from_ns, "window_start", I64),
    KEY(ntk_profile_row, part_to_ns, "window_end", I64),
    KEY(ntk_profile_row, part_total_ns, "window_of", I64),
    KEY(ntk_profile_row, part_cores, "window_cores", TEXT),
};

static const struct ntk_column warnings[] = {
    KEY(ntk_warning_row, message, "message", TEXT),
    KEY(ntk_warning_row, category, "category", TEXT),
};

static const struct ntk_column framework_node[] = {
    KEY(ntk_node_row, name, "node_name", TEXT),
    KEY(ntk_node_row, children_json, "children_names", JSON),
    KEY(ntk_node_row, parent_name, "parent_name", TEXT),
    KEY(ntk_node_row, ids, "children_ids", JSON),
    KEY(ntk_node_row, start_ns, "start_ts", I64),
    KEY(ntk_node_row, end_ns, "end_ts", I64),
    KEY(ntk_node_row, intervals, "time_intervals", JSON),
    KEY(ntk_node_row, elements, "element_count_per_interval", JSON),
    KEY(ntk_node_row, transposed, "transpose_element_count_per_interval", JSON),
    KEY(ntk_node_row, hbm_bytes, "hbm_transfer_size_per_interval", JSON),
    KEY(ntk_node_row, hfu, "hfu", F64),
    KEY(ntk_node_row, mfu, "mfu", F64),
    KEY(ntk_node_row, hfu_list, "hfu_per_interval", JSON),
    KEY(ntk_node_row, mfu_list, "mfu_per_interval", JSON),
    KEY(ntk_node_row, mbu_list, "mbu_per_interval", JSON),
    KEY(ntk_node_row, hbm_read_bytes, "hbm_read_bytes", I64),
    KEY(ntk_node_row, hbm_write_bytes, "hbm_write_bytes", I64),
    KEY(ntk_node_row, sbuf_read_bytes, "sbuf_read_bytes", I64),
    KEY(ntk_node_row, sbuf_write_bytes, "sbuf_write_bytes", I64),
    KEYS_OF_ENGINES(ntk_node_row, engine_counts, "instruction_count", I64),
    KEY(ntk_node_row, engine_times[NTK_NTFF_ENGINE_TENSOR], "total_time_tensor", JSON),
    KEY(ntk_node_row, engine_times[NTK_NTFF_ENGINE_SCALAR], "total_time_scalar", JSON),
    KEY(ntk_node_row, engine_times[NTK_NTFF_ENGINE_SYNC], "total_time_sync", JSON),
    KEY(ntk_node_row, engine_times[NTK_NTFF_ENGINE_GPSIMD], "total_time_gpsimd", JSON),
    KEY(ntk_node_row, engine_times[NTK_NTFF_ENGINE_VECTOR], "total_time_vector", JSON),
    KEY(ntk_node_row, weight_bytes, "load_weight_bytes", I64),
    KEY(ntk_node_row, engine_channels[NTK_NTFF_ENGINE_SCALAR], "total_channels_scalar", I64),
    KEY(ntk_node_row, engine_channels[NTK_NTFF_ENGINE_VECTOR], "total_channels_vector", I64),
    KEY(ntk_node_row, core_index, "pcore_idx", I64),
};

#define TABLE(columns, rows)                                                        \
    {                                                                               \
#columns, "", columns, sizeof(columns) / sizeof *(columns), ntk_rows_##rows \
    }

static const struct ntk_table tables[] = {
    TABLE(instruction, instructions),
    TABLE(dma, packets),
    TABLE(dma_transfer, transfers),
    TABLE(semaphore_update, semaphores),
    TABLE(active_time, active_spans),
    TABLE(pending_dma, pending),
    TABLE(dma_throughput, rates),
    TABLE(instruction_usage, usage),
    TABLE(sbuf_allocation, sbuf_allocations),
    TABLE(ham, throttles),
    TABLE(nc_mem_usage, memory),
    TABLE(model_info, cores),
    TABLE(layer_summary, layers),
    TABLE(region, regions),
    TABLE(region_outlier, region_outliers),
    TABLE(kernel_instruction, kernel_instructions),
    TABLE(kernel_iteration_variable, kernel_iterations),
    TABLE(kernel_stack_frame, kernel_functions),
    TABLE(stack_frame, frames),
    TABLE(stack_frame_file_location, frame_locations),
    TABLE(stack_frame_file_name, frame_files),
    TABLE(stack_frame_function_name, frame_functions),
    TABLE(framework_node, framework_nodes),
    TABLE(source_line, source_lines),
    TABLE(source_loop, source_loops),
    TABLE(source_iteration, source_iterations),
    TABLE(dma_queues_info, queues),
    TABLE(neff_header, header),
    TABLE(neff_node, nodes_and_tensors),
    TABLE(metadata, metadata),
    TABLE(profile_info, profile),
    TABLE(warnings, warnings),
};

const struct ntk_table *ntk_tables_json(size_t *out_count)
{
    *out_count = sizeof tables / sizeof *tables;
    return tables;
}
