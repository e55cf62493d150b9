/* SPDX-License-Identifier: MIT */
/*
 * tables_schema - defines the tables of schema 7.4.0 for a device profile.
 *
 * Columns that captures never contain exist but are empty, so that queries for the schema run.
 */
#include "profiler/output/tables/columns.h"
#include "profiler/output/tables/rows.h"
#include "profiler/output/tables/schema_source.h"
#include "profiler/output/tables/tables.h"

#define CORE_INDEX(row) ALWAYS(row, core_index, "pcore_idx", I64, "", NTK_CORE_INDEX_MEANING)

static const struct ntk_column active_time[] = {
    ALWAYS(ntk_span_row, start_ns, "start_ts", I64, "ns", "start"),
    ALWAYS(ntk_span_row, end_ns, "end_ts", I64, "ns", "end"),
    ALWAYS(ntk_span_row, engine, "engine", TEXT, "", "engine"),
    CORE_INDEX(ntk_span_row),
    ALWAYS(ntk_span_row, duration_ns, "duration_ns", I64, "ns", "length"),
};

static const struct ntk_column dma_packet[] = {
    ALWAYS(ntk_packet_row, start_ns, "start_ts", I64, "ns", "start"),
    ALWAYS(ntk_packet_row, end_ns, "end_ts", I64, "ns", "end"),
    ALWAYS(ntk_packet_row, duration_ns, "duration_ns", I64, "ns", "length"),
    CORE_INDEX(ntk_packet_row),
    ALWAYS(ntk_packet_row, id, "id", I64, "", "id, unique across packets and instructions"),
    ALWAYS(ntk_packet_row, index, "packet_idx", I32, "",
           "number within its engine and queue, from 0"),
    ALWAYS(ntk_packet_row, ring_id, "packet_aggregation_id", I64, "",
           "number that identifies the core, engine and queue"),
    ALWAYS(ntk_packet_row, engine, "engine_idx", I64, "", "DMA engine of the device"),
    ALWAYS(ntk_packet_row, bytes, "read_bytes", I64, "B", "read"),
    ALWAYS(ntk_packet_row, bytes, "write_bytes", I64, "B", "written"),
    ALWAYS(ntk_packet_row, bytes, "transfer_bytes", I64, "B", "moved"),
    MAYBE(ntk_packet_row, bytes_per_second, "throughput", F64, "B/s",
          "bytes divided by duration; missing if the duration is 0"),
    ALWAYS(ntk_packet_row, queue_type, "queue_type", TEXT, "",
           "instruction, input, output, data, software_dynamic, hardware_dynamic, unknown"),
    MAYBE(ntk_packet_row, variable, "variable", TEXT, "", "tensor"),
    MAYBE(ntk_packet_row, queue_name, "queue_name", TEXT, "",
          "name of the queue; (instruction) for queues without a name"),
    ALWAYS(ntk_packet_row, queue, "queue_idx", I64, "", "queue of the engine"),
    ALWAYS(ntk_packet_row, crc, "crc", I64, "", "checksum of the data"),
    /* This column is not in the vendor's schema. */
    MAYBE(ntk_packet_row, transfer_id, "transfer_id", I64, "",
          "DmaPacketAggregated.id of the packet's transfer; missing if unknown"),
};

static const struct ntk_column dma_packet_aggregated[] = {
    ALWAYS(ntk_transfer_row, start_ns, "start_ts", I64, "ns", "start of the first packet"),
    ALWAYS(ntk_transfer_row, end_ns, "end_ts", I64, "ns", "end of the last packet"),
    ALWAYS(ntk_transfer_row, duration_ns, "duration_ns", I64, "ns", "length"),
    ALWAYS(ntk_transfer_row, id, "id", I64, "",
           "id, unique across packets, instructions and transfers"),
    CORE_INDEX(ntk_transfer_row),
    MAYBE(ntk_transfer_row, block_id, "block_id", I32, "",
          "descriptor group of the queue, for prepared transfers"),
    ALWAYS(ntk_transfer_row, queue, "queue_idx", I64, "", "queue of the engines"),
    MAYBE(ntk_transfer_row, queue_name, "queue_name", TEXT, "", "name of the queue"),
    ALWAYS(ntk_transfer_row, queue_type, "queue_type", TEXT, "",
           "input (reads an input), output (writes an output), data, software_dynamic, "
           "hardware_dynamic"),
    MAYBE(ntk_transfer_row, op, "op", TEXT, "",
          "copy, cast, transpose ...; missing if there are several"),
    MAYBE(ntk_transfer_row, variable, "variable", TEXT, "",
          "the tensor outside the core; missing if there are several"),
    MAYBE(ntk_transfer_row, read_bytes, "read_bytes", I64, "B", "read"),
    MAYBE(ntk_transfer_row, write_bytes, "write_bytes", I64, "B", "written"),
    MAYBE(ntk_transfer_row, write_bytes, "transfer_bytes", I64, "B", "bytes written"),
    MAYBE(ntk_transfer_row, bytes_per_second, "throughput", F64, "B/s",
          "bytes divided by duration; missing if the duration is 0"),
    MAYBE(ntk_transfer_row, source, "source", TEXT, "", "source tensors; SB is the state buffer"),
    MAYBE(ntk_transfer_row, dest, "dest", TEXT, "", "destination tensors; SB is the state buffer"),
    NEVER("semaphore_id", TEXT, "", "semaphore that signals the end of the transfer"),
    NEVER("modular_flow_function", TEXT, "", "function of the program"),
    NEVER("read_sbuf_partitions", TEXT, "", "partitions"),
    NEVER("read_num_sbuf_partitions", I32, "", "number of partitions"),
    NEVER("read_shape", TEXT, "", "shape"),
    NEVER("read_offset", TEXT, "", "offset"),
    NEVER("read_steps", TEXT, "", "steps"),
    NEVER("write_sbuf_partitions", TEXT, "", "partitions"),
    NEVER("write_num_sbuf_partitions", I32, "", "number of partitions"),
    NEVER("write_shape", TEXT, "", "shape"),
    NEVER("write_offset", TEXT, "", "offset"),
    NEVER("write_steps", TEXT, "", "steps"),
    NEVER("is_transpose_mode", BOOL, "", "transposes"),
    NEVER("transpose_element_size", TEXT, "", "element"),
    NEVER("transpose_shape", TEXT, "", "shape"),
    NEVER("transpose_from_shape", TEXT, "", "shape"),
    NEVER("transpose_to_shape", TEXT, "", "shape"),
    NEVER("transpose_unroll_factor", TEXT, "", "factor"),
    ALWAYS(ntk_transfer_row, trigger_id, "trigger", I64, "",
           "id of the instruction that started the transfer"),
    NEVER("completion", I64, "", "id of the event that signalled the end of the transfer"),
    /* This column is not in the vendor's schema. */
    MAYBE(ntk_transfer_row, name, "dma_name", TEXT, "", "name in the NEFF"),
    ALWAYS(ntk_transfer_row, packet_count, "packet_count", I64, "", "number of packets"),
    ALWAYS(ntk_transfer_row, packet_bytes, "packet_bytes", I64, "B",
           "bytes of the packets, including semaphore writes"),
};

static const struct ntk_column dma_queues_info[] = {
    ALWAYS(ntk_queue_row, name, "name", TEXT, "", "name"),
    ALWAYS(ntk_queue_row, type, "type", TEXT, "", "weights, io or unknown"),
    CORE_INDEX(ntk_queue_row),
    ALWAYS(ntk_queue_row, index, "idx", I64, "", "queue of the engine"),
    ALWAYS(ntk_queue_row, engine, "engine_idx", I64, "", "DMA engine of the device"),
    ALWAYS(ntk_queue_row, axi_port, "axi_port", I64, "", "port"),
    ALWAYS(ntk_queue_row, dram_channel, "dram_channel", I64, "", "memory stack"),
};

static const struct ntk_column dma_usage[] = {
    ALWAYS(ntk_rate_row, time_ns, "timestamp", I64, "ns", "time"),
    ALWAYS(ntk_rate_row, bytes_per_second, "current_throughput", F64, "B/s",
           "rate from this time on"),
    ALWAYS(ntk_rate_row, total_bytes, "total_transfer_bytes", I64, "B",
           "bytes of all packets that have started by this time"),
    CORE_INDEX(ntk_rate_row),
};

static const struct ntk_column error[] = {
    ALWAYS(ntk_error_row, description, "description", TEXT, "", "description of the error"),
    ALWAYS(ntk_error_row, type_id, "error_type_id", I32, "",
           "1: NaN written, 2: out of bounds, 3: deadlock, 4: timeout"),
    ALWAYS(ntk_error_row, metadata, "metadata", TEXT, "",
           "engine, and slot in the executed program"),
    ALWAYS(ntk_error_row, metadata_hex, "metadata_hex", TEXT, "",
           "record as stored in the capture"),
    CORE_INDEX(ntk_error_row),
    ALWAYS(ntk_error_row, time_ns, "timestamp", I64, "ns", "time"),
    ALWAYS(ntk_error_row, type, "type", TEXT, "", "Errors"),
};

static const struct ntk_column execution_info[] = {
    ALWAYS(ntk_execution_row, index, "execution_index", I32, "", "execution number, from 0"),
    MAYBE(ntk_execution_row, neff_name, "neff_name", TEXT, "", "name of the NEFF"),
    MAYBE(ntk_execution_row, start_ns, "execution_start_ts", I64, "ns",
          "start; missing before NTFF version 6"),
    MAYBE(ntk_execution_row, end_ns, "execution_end_ts", I64, "ns",
          "end; missing before NTFF version 6"),
    ALWAYS(ntk_execution_row, subgraph_count, "num_subgraphs", I32, "", "cores"),
    ALWAYS(ntk_execution_row, row_count, "row_count", I64, "",
           "number of instructions, events and packets"),
};

static const struct ntk_column hbm_usage_summary_by_type[] = {
    ALWAYS(ntk_memory_row, device, "neuron_device_idx", I64, "", "device"),
    ALWAYS(ntk_memory_row, core, "neuroncore_idx", I64, "", "physical core of the device"),
    ALWAYS(ntk_memory_row, usage_type, "usage_type", TEXT, "",
           "type; Total is the sum of all types"),
    ALWAYS(ntk_memory_row, bytes, "usage_bytes", I64, "B", "bytes in use"),
};

static const struct ntk_column instruction[] = {
    ALWAYS(ntk_instruction_row, start_ns, "start_ts", I64, "ns", "start"),
    ALWAYS(ntk_instruction_row, end_ns, "end_ts", I64, "ns", "end"),
    ALWAYS(ntk_instruction_row, duration_ns, "duration_ns", I64, "ns", "length"),
    ALWAYS(ntk_instruction_row, engine, "engine", TEXT, "", "engine"),
    NEVER("timeline_track", TEXT, "", "row of the timeline"),
    CORE_INDEX(ntk_instruction_row),
    ALWAYS(ntk_instruction_row, opcode, "opcode", TEXT, "", "operation"),
    MAYBE(ntk_instruction_row, operands, "operands", TEXT, "",
          "operands: what the instruction waits for, changes, reads and writes"),
    MAYBE(ntk_instruction_row, operation, "compiler_opcode", TEXT, "",
          "operation in the compiled program, if it differs from opcode"),
    MAYBE(ntk_instruction_row, compiler_operands, "compiler_operands", TEXT, "",
          "operands in the compiled program; only for hardware programs"),
    ALWAYS(ntk_instruction_row, id, "id", I64, "", "id, unique across packets and instructions"),
    ALWAYS(ntk_instruction_row, pc, "pc", I64, "", "number of the slot in the executed program"),
    MAYBE(ntk_instruction_row, compiler_pc, "compiler_pc", I64, "",
          "slot in the compiled program; missing if the runtime inserted the instruction"),
    MAYBE(ntk_instruction_row, penguin_id, "penguin_id", TEXT, "",
          "operation of the compiler's middle end that contains the instruction; missing if the "
          "NEFF has no names"),
    MAYBE(ntk_instruction_row, raw_penguin_id, "raw_penguin_id", I64, "",
          "number of that operation; bits 48 and up: number of the subgraph"),
    MAYBE(ntk_instruction_row, bir_id, "bir_id", TEXT, "",
          "instruction of the compiler's back end; missing if the NEFF has no names"),
    MAYBE(ntk_instruction_row, raw_bir_id, "raw_bir_id", I64, "",
          "number of that instruction; bits 48 and up: number of the subgraph"),
    MAYBE(ntk_instruction_row, bir_name, "bir_instruction_name", TEXT, "",
          "name of that instruction"),
    MAYBE(ntk_instruction_row, kernel_name, "kernel_instruction_name", TEXT, "",
          "text of the form INSTRUCTION:PENGUIN-ID"),
    ALWAYS(ntk_instruction_row, crc_in, "crc_in", I64, "", "checksum of the input, 65535 if none"),
    ALWAYS(ntk_instruction_row, crc_out, "crc_out", I64, "",
           "checksum of the output, 65535 if none"),
    MAYBE(ntk_instruction_row, wait_ns, "evt_wait_time_ns", I64, "ns",
          "time spent waiting for semaphores and events before the start"),
    MAYBE(ntk_instruction_row, hlo_attrs, "hlo_attrs", TEXT, "",
          "attributes and source line of the XLA operation; [] if they are unknown"),
    MAYBE(ntk_instruction_row, hlo_name, "hlo_name", TEXT, "",
          "XLA operation; empty if the NEFF does not name it"),
    MAYBE(ntk_instruction_row, raw_hlo_id, "raw_hlo_id", I64, "", "XLA operation number; 0: none"),
    MAYBE(ntk_instruction_row, raw_framework_id, "raw_framework_id", I64, "",
          "operator number; 0: none"),
    MAYBE(ntk_instruction_row, layer, "layer", TEXT, "",
          "layer according to the NEFF; missing without a NEFF"),
    MAYBE(ntk_instruction_row, frame_ids, "stack_frame_ids", TEXT, "",
          "StackFrame ids of the calls that produced the instruction, separated by commas"),
    MAYBE(ntk_instruction_row, nki_location, "nki_source_location", TEXT, "",
          "file:line in the source of an NKI kernel"),
    MAYBE(ntk_instruction_row, bir_location, "bir_debug_info_source_location", TEXT, "",
          "file:line according to the compiler's back end"),
    NEVER("dma_trigger_start_ts", I64, "ns",
          "start of the instruction that started the DMA transfer"),
    NEVER("dma_trigger_end_ts", I64, "ns", "end of the instruction that started the DMA transfer"),
    NEVER("dma_wait_time_ns", I64, "ns", "time spent waiting for DMA"),
    NEVER("instruction_chain", TEXT, "", "chain of dependencies"),
    MAYBE(ntk_instruction_row, hbm_read_bytes, "hbm_read_bytes", I64, "B",
          "bytes that DMA instructions read from device memory"),
    MAYBE(ntk_instruction_row, hbm_write_bytes, "hbm_write_bytes", I64, "B",
          "bytes written to device memory"),
    MAYBE(ntk_instruction_row, sbuf_read_bytes, "sbuf_read_bytes", I64, "B",
          "bytes read from the state buffer; with --metrics-version 2.28, only those that engines "
          "read from one partition"),
    MAYBE(ntk_instruction_row, sbuf_write_bytes, "sbuf_write_bytes", I64, "B",
          "bytes written to the state buffer"),
    NEVER("spill_save_bytes", I64, "B", "spilled"),
    NEVER("spill_reload_bytes", I64, "B", "reloaded"),
    MAYBE(ntk_instruction_row, psum_read_bytes, "psum_read_bytes", I64, "B",
          "bytes read from the accumulation buffer; with --metrics-version 2.28, only those of one "
          "partition"),
    MAYBE(ntk_instruction_row, psum_write_bytes, "psum_write_bytes", I64, "B",
          "bytes written to the accumulation buffer; with --metrics-version 2.28, only those of "
          "one partition"),
    MAYBE(ntk_instruction_row, psum_to_sbuf_bytes, "psum_read_sbuf_write_bytes", I64, "B",
          "bytes moved from the accumulation buffer to the state buffer; with --metrics-version "
          "2.28, only those of one partition"),
    NEVER("input_queue_bytes", I64, "B", "bytes moved by input queues"),
    NEVER("output_queue_bytes", I64, "B", "bytes moved by output queues"),
    NEVER("weight_queue_bytes", I64, "B", "bytes moved by weight queues"),
    NEVER("performance_mode", TEXT, "", "2x or 4x"),
    MAYBE(ntk_instruction_row, tensor_type, "tensor_instruction_type", TEXT, "",
          "REGULAR or TRANSPOSE, for operations of the tensor engine"),
    MAYBE(ntk_instruction_row, elements, "tensor_elements", I64, "", "multiply-adds of a MATMUL"),
    MAYBE(ntk_instruction_row, flops, "raw_flops", I64, "flop",
          "operations of a MATMUL: twice its multiply-adds; for a 32-bit product in two passes, "
          "each pass counts half of them"),
    MAYBE(ntk_instruction_row, adjusted_flops, "adjusted_flops", I64, "flop",
          "raw_flops weighted by element type: those of a 32-bit product count four times"),
    MAYBE(ntk_instruction_row, transpose_elements, "tensor_elements_transpose", I64, "",
          "multiply-adds of a MATMUL that transposes"),
    MAYBE(ntk_instruction_row, transpose_flops, "flops_transpose", I64, "flop",
          "raw_flops of a MATMUL that transposes"),
    MAYBE(ntk_instruction_row, adjusted_transpose_flops, "adjusted_flops_transpose", I64, "flop",
          "adjusted_flops of a MATMUL that transposes"),
    MAYBE(ntk_instruction_row, activation, "scalar_activation_fn", TEXT, "",
          "activation function of the scalar engine; only for hardware programs"),
    /* This column is not in the vendor's schema. */
    MAYBE(ntk_instruction_row, penguin_text, "penguin_text", TEXT, "",
          "text of the middle end: tensor, its type, and loop variables"),
    MAYBE(ntk_instruction_row, predecessors, "predecessors", JSON, "",
          "JSON: id and type of each row that had to finish before this one"),
};

static const struct ntk_column metadata[] = {
    ALWAYS(ntk_metadata_row, schema_version, "profile_schema_version", TEXT, "",
           "version of these tables"),
    ALWAYS(ntk_metadata_row, ntff_version, "ntff_version", I32, "", "version of the capture file"),
    ALWAYS(ntk_metadata_row, core_count, "num_physical_cores", I32, "", "cores of the capture"),
    ALWAYS(ntk_metadata_row, is_logical, "vnc_enabled", BOOL, "",
           "whether several physical cores form one logical core"),
    ALWAYS(ntk_metadata_row, first_ns, "first_hw_timestamp", I64, "ns", "start of the execution"),
    MAYBE(ntk_metadata_row, last_ns, "last_hw_timestamp", I64, "ns", "end of the execution"),
    ALWAYS(ntk_metadata_row, first_text, "first_ts", TEXT, "",
           "start of the execution (since the Unix epoch)"),
    MAYBE(ntk_metadata_row, last_text, "last_ts", TEXT, "",
          "end of the execution (since the Unix epoch)"),
    MAYBE(ntk_metadata_row, dma_bytes_per_second, "dma_ddr_bandwidth", F64, "B/s",
          "combined rate of all DMA engines of a core"),
    ALWAYS(ntk_metadata_row, dma_engines, "num_dma_engines_per_neuroncore", I32, "",
           "DMA engines of a core"),
    MAYBE(ntk_metadata_row, hbm_bytes_per_second, "hbm_ddr_bandwidth", F64, "B/s",
          "rate of one memory stack"),
    MAYBE(ntk_metadata_row, rows, "tensor_engine_num_rows", I64, "", "rows of the tensor engine"),
    MAYBE(ntk_metadata_row, columns, "tensor_engine_num_cols", I64, "",
          "columns of the tensor engine"),
    MAYBE(ntk_metadata_row, tensor_ghz, "tensor_engine_clock_freq", F64, "GHz", "clock"),
    MAYBE(ntk_metadata_row, vector_ghz, "vector_engine_clock_freq", F64, "GHz", "clock"),
    NEVER("vector_engine_num_channels", I64, "", "lanes"),
    MAYBE(ntk_metadata_row, scalar_ghz, "scalar_engine_clock_freq", F64, "GHz", "clock"),
    NEVER("scalar_engine_num_channels", I64, "", "lanes"),
    MAYBE(ntk_metadata_row, gpsimd_ghz, "gpsimd_engine_clock_freq", F64, "GHz", "clock"),
    NEVER("gpsimd_engine_num_channels", I64, "", "lanes"),
    MAYBE(ntk_metadata_row, base_ghz, "neuroncore_clock_freq", F64, "GHz",
          "clock frequency of the cycle counts"),
    ALWAYS(ntk_metadata_row, ticks_per_ns, "ticks_per_nanosec", I64, "",
           "clock ticks of the capture file per nanosecond"),
    MAYBE(ntk_metadata_row, instance_type, "instance_type", TEXT, "", "machine"),
    MAYBE(ntk_metadata_row, runtime, "runtime_version", TEXT, "",
          "runtime version recorded in the capture"),
    MAYBE(ntk_metadata_row, collectives, "collectives_version", TEXT, "",
          "collectives library version"),
    MAYBE(ntk_metadata_row, driver, "driver_version", TEXT, "", "driver version"),
    ALWAYS(ntk_metadata_row, program, "explorer_version", TEXT, "", "version of this program"),
    MAYBE(ntk_metadata_row, compiler, "compiler_version", TEXT, "",
          "compiler version recorded in the NEFF"),
    ALWAYS(ntk_metadata_row, core, "neuroncore_idx", I64, "", "sum of the physical core numbers"),
    ALWAYS(ntk_metadata_row, device, "neuron_device_idx", I64, "", "device"),
    NEVER("ultraserver_id", I64, "", "UltraServer: not recorded in captures"),
    NEVER("ultraserver_type", TEXT, "", "type of the UltraServer"),
    NEVER("ultraserver_size", I32, "", "machines in the UltraServer"),
    NEVER("ultraserver_instance_index", I32, "", "position of the machine in the UltraServer"),
    NEVER("s3_bucket_path", TEXT, "", "location to which the capture was uploaded"),
    ALWAYS(ntk_metadata_row, profile_name, "profile_name", TEXT, "", "name of the profile"),
    NEVER("explorer_build_time", TEXT, "", "build time of this program"),
    ALWAYS(ntk_metadata_row, is_simulation, "is_simulation", BOOL, "",
           "true if the capture was recorded without a device"),
};

static const struct ntk_column neff_header[] = {
    ALWAYS(ntk_header_row, name, "network_name", TEXT, "", "name"),
    ALWAYS(ntk_header_row, uuid, "uuid", TEXT, "", "identity"),
    ALWAYS(ntk_header_row, hash, "hash", TEXT, "", "first 16 bytes of the checksum"),
    ALWAYS(ntk_header_row, features, "enabled_features", TEXT, "",
           "features that a runtime must support"),
    ALWAYS(ntk_header_row, header_bytes, "header_size", I64, "B", "header"),
    ALWAYS(ntk_header_row, data_bytes, "data_size", I64, "B", "payload"),
    ALWAYS(ntk_header_row, major, "major_version", I64, "", "version"),
    ALWAYS(ntk_header_row, minor, "minor_version", I64, "", "version"),
    ALWAYS(ntk_header_row, package_version_text, "package_version", TEXT, "",
           "version of the archive"),
    ALWAYS(ntk_header_row, build_version, "build_version", TEXT, "", "version of the build"),
    NEVER("cc_participant_count", I64, "", "ranks"),
    ALWAYS(ntk_header_row, core_count, "neuroncore_count", I64, "", "physical cores"),
    ALWAYS(ntk_header_row, logical_core_count, "logical_neuroncore_count", I64, "",
           "logical cores"),
    ALWAYS(ntk_header_row, cores_per_logical, "pcore_count_per_lnc", I64, "",
           "physical cores per logical core"),
};

static const struct ntk_column opcode_summary[] = {
    ALWAYS(ntk_opcode_summary_row, engine, "engine", TEXT, "", "engine"),
    ALWAYS(ntk_opcode_summary_row, opcode, "opcode", TEXT, "", "operation"),
    ALWAYS(ntk_opcode_summary_row, count, "instruction_count", I64, "", "number of instructions"),
    ALWAYS(ntk_opcode_summary_row, instruction_ns, "instruction_time_ns", I64, "ns",
           "total length: working_time_ns plus waiting_time_ns"),
    ALWAYS(ntk_opcode_summary_row, active_ns, "active_time_ns", I64, "ns",
           "time during which at least one of them ran, including EVENT_SEMAPHORE, which waits"),
    MAYBE(ntk_opcode_summary_row, active_ratio, "active_time_percent", F64, "%",
          "active_time_ns as a share of the duration of the execution"),
    ALWAYS(ntk_opcode_summary_row, working_ns, "working_time_ns", I64, "ns",
           "part of instruction_time_ns that is work: all except EVENT_SEMAPHORE"),
    ALWAYS(ntk_opcode_summary_row, waiting_ns, "waiting_time_ns", I64, "ns",
           "part of instruction_time_ns that waits: EVENT_SEMAPHORE"),
};

static const struct ntk_column pending_dma[] = {
    ALWAYS(ntk_pending_row, time_ns, "timestamp", I64, "ns", "time"),
    ALWAYS(ntk_pending_row, value, "value", I32, "", "transfers in flight"),
    CORE_INDEX(ntk_pending_row),
};

#define BANK(index)                                                               \
    ALWAYS(ntk_usage_row, banks[index], "bank_" #index "_util_percent", F64, "%", \
           "1 if any part of the bank is in use, 0 if the bank is empty")
#define PARTITION(index, number)                                                             \
    ALWAYS(ntk_usage_row, partitions[index], "partition_" #number "_util_percent", F64, "%", \
           "share of partition " #number " in use")

static const struct ntk_column psum_usage[] = {
    ALWAYS(ntk_usage_row, time_ns, "timestamp", I64, "ns", "time"),
    ALWAYS(ntk_usage_row, mean, "avg_util_percent", F64, "%", "share of the banks that are in use"),
    BANK(0),
    BANK(1),
    BANK(2),
    BANK(3),
    BANK(4),
    BANK(5),
    BANK(6),
    BANK(7),
    CORE_INDEX(ntk_usage_row),
};

static const struct ntk_column sbuf_usage[] = {
    ALWAYS(ntk_usage_row, time_ns, "timestamp", I64, "ns", "time"),
    ALWAYS(ntk_usage_row, mean, "avg_util_percent", F64, "%", "mean of the partition columns"),
    PARTITION(0, 0),
    PARTITION(1, 32),
    PARTITION(2, 64),
    PARTITION(3, 96),
    CORE_INDEX(ntk_usage_row),
};

static const struct ntk_column sbuf_allocation[] = {
    ALWAYS(ntk_allocation_row, start_ns, "start_ts", I64, "ns", "start of the write"),
    ALWAYS(ntk_allocation_row, end_ns, "end_ts", I64, "ns",
           "end of the last read before the bytes are overwritten; end of the write if they are "
           "never read"),
    ALWAYS(ntk_allocation_row, first_byte, "start_address", I64, "B",
           "first byte in the partition"),
    ALWAYS(ntk_allocation_row, last_byte, "end_address", I64, "B", "last byte, inclusive"),
    ALWAYS(ntk_allocation_row, partition, "partition", I64, "", "0, 32, 64, 96"),
    MAYBE(ntk_allocation_row, source, "op_source_type", TEXT, "", "instruction, dma"),
    MAYBE(ntk_allocation_row, opcode, "opcode", TEXT, "", "for an instruction: its operation"),
    MAYBE(ntk_allocation_row, operands, "operands", TEXT, "", "for an instruction: its operands"),
    MAYBE(ntk_allocation_row, queue_name, "queue_name", TEXT, "", "for a transfer: its queue"),
    MAYBE(ntk_allocation_row, block_id, "block_id", I64, "",
          "for a prepared transfer: its descriptor group"),
    MAYBE(ntk_allocation_row, tensor, "tensor_name", TEXT, "", "for a transfer: its tensor"),
    MAYBE(ntk_allocation_row, hlo_name, "hlo_name", TEXT, "", "XLA operation"),
    CORE_INDEX(ntk_allocation_row),
    /* This column is not in the vendor's schema. */
    ALWAYS(ntk_allocation_row, instruction_id, "instruction_id", I64, "",
           "id of the instruction that wrote the bytes or started the transfer"),
};

static const struct ntk_column region[] = {
    ALWAYS(ntk_region_row, id, "id", I64, "",
           "number of the region, from 0; the region with the longest total time is first"),
    CORE_INDEX(ntk_region_row),
    ALWAYS(ntk_region_row, engine, "engine", TEXT, "", "engine; all: all engines of the core"),
    ALWAYS(ntk_region_row, kind, "kind", TEXT, "", "loop, kernel, iteration, layer, collective"),
    ALWAYS(ntk_region_row, name, "name", TEXT, "", "contents of the region"),
    ALWAYS(ntk_region_row, key, "key", TEXT, "",
           "text that identifies the region, in other captures too"),
    MAYBE(ntk_region_row, parent_id, "parent_id", I64, "",
          "region that contains the first repetition of this one"),
    ALWAYS(ntk_region_row, depth, "depth", I64, "", "number of enclosing regions"),
    ALWAYS(ntk_region_row, count, "count", I64, "", "number of repetitions"),
    ALWAYS(ntk_region_row, instruction_count, "instruction_count", I64, "",
           "number of instructions in all repetitions"),
    ALWAYS(ntk_region_row, median_ns, "median_ns", I64, "ns", "median duration of a repetition"),
    ALWAYS(ntk_region_row, worst_ns, "worst_ns", I64, "ns", "duration of the longest repetition"),
    ALWAYS(ntk_region_row, worst_index, "worst_idx", I64, "",
           "index of the longest repetition, from 0"),
    ALWAYS(ntk_region_row, worst_start_ns, "worst_start_ts", I64, "ns",
           "start of the longest repetition"),
    ALWAYS(ntk_region_row, total_ns, "total_ns", I64, "ns", "total length"),
    MAYBE(ntk_region_row, share, "covered_percent", F64, "%",
          "share of the execution that the repetitions cover; overlapping times are counted once"),
    ALWAYS(ntk_region_row, start_ns, "start_ts", I64, "ns", "start of the first repetition"),
    ALWAYS(ntk_region_row, end_ns, "end_ts", I64, "ns", "end of the last repetition"),
    ALWAYS(ntk_region_row, outlier_count, "outlier_count", I64, "",
           "number of repetitions that took longer than usual"),
};

static const struct ntk_column region_outlier[] = {
    ALWAYS(ntk_region_outlier_row, region_id, "region_id", I64, "", "id of the region"),
    CORE_INDEX(ntk_region_outlier_row),
    ALWAYS(ntk_region_outlier_row, index, "idx", I64, "", "repetition number, from 0"),
    ALWAYS(ntk_region_outlier_row, start_ns, "start_ts", I64, "ns", "start"),
    ALWAYS(ntk_region_outlier_row, end_ns, "end_ts", I64, "ns", "end"),
    ALWAYS(ntk_region_outlier_row, duration_ns, "duration_ns", I64, "ns", "length"),
    MAYBE(ntk_region_outlier_row, medians, "medians", F64, "",
          "duration divided by the median of the region"),
};

static const struct ntk_column semaphore_update[] = {
    ALWAYS(ntk_semaphore_row, time_ns, "timestamp", I64, "ns", "time"),
    ALWAYS(ntk_semaphore_row, name, "id", TEXT, "", "semaphore, with its queue or engine if known"),
    ALWAYS(ntk_semaphore_row, value, "value", I32, "", "value after the change"),
    MAYBE(ntk_semaphore_row, source, "update_source", TEXT, "",
          "engine that made the change; axi if DMA or another source made it"),
    NEVER("double_set_or_clear", BOOL, "", "whether the event was already set or cleared"),
    NEVER("update_mode", I32, "", "mode"),
    ALWAYS(ntk_semaphore_row, operation, "update_operation_type", TEXT, "",
           "sem_inc, sem_dec, sem_wr_imm, unknown"),
    NEVER("update_trigger_timing", TEXT, "", "read or complete"),
    CORE_INDEX(ntk_semaphore_row),
};

/* Columns for the metrics of summary.def except texts; a row is an array of cells, one per
 * metric. */
#define METRIC(name, kind, unit, meaning)          \
    { #name,                                       \
      NTK_COLUMN_##kind,                           \
      NTK_COLUMN_MAYBE,                            \
      NTK_SUMMARY_##name * sizeof(union ntk_cell), \
      unit,                                        \
      meaning },
#define METRIC_COUNT(name, meaning) METRIC(name, I64, "", meaning)
#define METRIC_BYTES(name, meaning) METRIC(name, I64, "B", meaning)
#define METRIC_SECONDS(name, meaning) METRIC(name, F64, "s", meaning)
#define METRIC_FRACTION(name, meaning) METRIC(name, F64, "%", meaning)
#define METRIC_NUMBER(name, meaning) METRIC(name, F64, "", meaning)
#define METRIC_TEXT(name, meaning)

static const struct ntk_column summary[] = {
#define NTK_SUMMARY(name, group, kind, meaning) METRIC_##kind(name, meaning)
#include "profiler/analysis/summary.def"
    NEVER("total_row_count", I64, "", "rows of all tables"),
};

static const struct ntk_column tensor_info[] = {
    ALWAYS(ntk_tensor_info_row, name, "variable_name", TEXT, "", "name"),
    ALWAYS(ntk_tensor_info_row, type, "type", TEXT, "", "IN, OUT or WEIGHT"),
    MAYBE(ntk_tensor_info_row, format, "format", TEXT, "", "order of dimensions"),
    MAYBE(ntk_tensor_info_row, shape, "shape", TEXT, "", "dimensions"),
    ALWAYS(ntk_tensor_info_row, bytes, "size", I64, "B", "size"),
    NEVER("node", I64, "", "node of the graph"),
    CORE_INDEX(ntk_tensor_info_row),
    MAYBE(ntk_tensor_info_row, load_mean_bytes, "load_to_sbuf_avg_size_bytes", I64, "B",
          "mean size of the transfers that load the tensor to memory on the core, rounded down to "
          "whole bytes"),
    MAYBE(ntk_tensor_info_row, load_bytes, "load_to_sbuf_total_size_bytes", I64, "B",
          "total size of these transfers"),
    MAYBE(ntk_tensor_info_row, load_count, "load_to_sbuf_dma_count", I64, "",
          "number of these transfers"),
    MAYBE(ntk_tensor_info_row, load_ratio, "load_to_sbuf_repeat_factor", F64, "",
          "total size of these transfers divided by the size of the tensor; if above 1, the core "
          "loads the tensor more than once"),
};

static const struct ntk_column throttle[] = {
    ALWAYS(ntk_throttle_row, duration_ns, "duration", I64, "ns",
           "time until the next change or the end of the execution"),
    ALWAYS(ntk_throttle_row, k, "k", I32, "", "numerator of the limit k/n"),
    ALWAYS(ntk_throttle_row, n, "n", I32, "", "denominator of the limit k/n"),
    ALWAYS(ntk_throttle_row, time_ns, "timestamp", I64, "ns", "time"),
    ALWAYS(ntk_throttle_row, type_name, "type", TEXT, "", "reason"),
    CORE_INDEX(ntk_throttle_row),
};

static const struct ntk_column throttle_summary[] = {
    ALWAYS(ntk_throttle_summary_row, nc, "nc_idx", I32, "", "physical core of the device"),
    ALWAYS(ntk_throttle_summary_row, type, "throttle_type", TEXT, "", "reason"),
    ALWAYS(
        ntk_throttle_summary_row, active_ns, "throttle_active_time_ns", I64, "ns",
        "time during which this reason set the limit; for 'all', time during which k is below n"),
    ALWAYS(ntk_throttle_summary_row, active_ratio, "throttle_active_time_percent", F64, "%",
           "throttle_active_time_ns as a share of the time until the core's last instruction"),
    MAYBE(ntk_throttle_summary_row, limit_ratio, "max_achievable_util_with_throttling_percent", F64,
          "%",
          "mean of k/n over the active time; for 'all', over the time until the core's last "
          "instruction"),
};

static const struct ntk_column warning[] = {
    ALWAYS(ntk_warning_row, message, "message", TEXT, "", "sentence"),
    ALWAYS(ntk_warning_row, category, "category", TEXT, "", "kind"),
};

static const struct ntk_table tables[] = {
    TABLE("ActiveTime",
          "Active time of an engine: the union of its instructions, excluding waits for "
          "semaphores.",
          active_time, ntk_rows_active_spans),
    TABLE("BirInstruction",
          "Instructions of the compiler's back end, each with the sums of its rows.",
          bir_instruction, ntk_rows_bir_level),
    TABLE("DmaPacket", "DMA packets, the smallest units of a transfer.", dma_packet,
          ntk_rows_packets),
    TABLE("DmaPacketAggregated", "DMA transfers, each with all its packets.", dma_packet_aggregated,
          ntk_rows_transfers),
    TABLE("DmaQueuesInfo", "Queues of each DMA engine.", dma_queues_info, ntk_rows_all_queues),
    TABLE("DmaUsage", "DMA rate over time, at most one value every 10 ns.", dma_usage,
          ntk_rows_rates),
    TABLE("Error", "Device errors, as recorded by software NeuronCores.", error, ntk_rows_errors),
    TABLE("ExecutionInfo", "Executions in the capture.", execution_info, ntk_rows_executions),
    TABLE("Flow",
          "Order of rows: dependencies, and transfers with the instructions that started them.",
          flow, ntk_rows_flows),
    TABLE("FrameworkInstruction", "Framework operations, each with the sums of its rows.",
          framework_instruction, ntk_rows_framework_level),
    TABLE("FrameworkNode", "Parts of the framework names, each with the sums of the rows below it.",
          framework_node, ntk_rows_framework_nodes),
    TABLE("HbmUsageSummaryByType", "Device memory in use, by type.", hbm_usage_summary_by_type,
          ntk_rows_memory),
    TABLE("HloInstruction", "XLA operations, each with the sums of its rows.", hlo_instruction,
          ntk_rows_hlo_level),
    TABLE("Instruction", "Executed instructions.", instruction, ntk_rows_instructions),
    TABLE("KernelInstructions", "Instructions of NKI kernels, executed or not.",
          kernel_instructions, ntk_rows_kernel_instructions),
    TABLE("KernelIterationVariables", "Iterations of the loops in NKI kernels.",
          kernel_iteration_variables, ntk_rows_kernel_iterations),
    TABLE("KernelStackFrames", "Calls to functions in NKI kernels.", kernel_stack_frames,
          ntk_rows_kernel_functions),
    TABLE("Metadata", "Machine and capture.", metadata, ntk_rows_metadata),
    TABLE("NeffHeader", "Header of the NEFF.", neff_header, ntk_rows_header),
    TABLE("OpcodeSummary", "Instructions by engine and operation.", opcode_summary,
          ntk_rows_opcodes),
    TABLE("PendingDma", "Transfers in flight, counting only those with known packets.", pending_dma,
          ntk_rows_pending),
    TABLE("PenguinInstruction",
          "Instructions of the compiler's middle end, each with the sums of its rows.",
          penguin_instruction, ntk_rows_penguin_level),
    TABLE("PsumUsage",
          "Banks of the accumulation buffer that hold live values; one row per time at which this "
          "may change.",
          psum_usage, ntk_rows_psum_usage),
    TABLE("SbufAllocation",
          "Contents of the state buffer and their lifetime; only with --enable-memory-tracker.",
          sbuf_allocation, ntk_rows_sbuf_allocations),
    TABLE("SbufUsage",
          "Share of the state buffer that holds live values; one row per time at which it may "
          "change. In hardware programs, DMA writes are not counted.",
          sbuf_usage, ntk_rows_sbuf_usage),
    TABLE(
        "Region",
        "Repetitions: loops, kernels, iterations, layers, collectives. Not in the vendor's schema.",
        region, ntk_rows_regions),
    TABLE("RegionOutlier",
          "Repetitions of a region that took longer than usual, at most 8 per region. Not in the "
          "vendor's schema.",
          region_outlier, ntk_rows_region_outliers),
    TABLE("SchemaFields", "These tables and their columns.", ntk_schema_fields,
          ntk_rows_schema_fields),
    TABLE("SemaphoreUpdate", "Semaphore changes.", semaphore_update, ntk_rows_semaphores),
    TABLE("SourceIteration", "Cost of an iteration of a source loop. Not in the vendor's schema.",
          source_iteration, ntk_rows_source_iterations),
    TABLE("SourceLine", "Cost of a source line. Not in the vendor's schema.", source_line,
          ntk_rows_source_lines),
    TABLE("SourceLoop", "Cost of a source loop. Not in the vendor's schema.", source_loop,
          ntk_rows_source_loops),
    TABLE("StackFrame", "Framework calls.", stack_frame, ntk_rows_frames),
    TABLE("StackFrameFileLocation", "Source lines of framework calls.", stack_frame_file_location,
          ntk_rows_frame_locations),
    TABLE("StackFrameFileName", "Source files of framework calls.", stack_frame_name,
          ntk_rows_frame_files),
    TABLE("StackFrameFunctionName", "Functions of framework calls.", stack_frame_name,
          ntk_rows_frame_functions),
    TABLE("Summary", "Metrics of the execution.", summary, ntk_rows_summary),
    TABLE("TensorInfo", "Inputs, outputs and weights of the NEFF.", tensor_info, ntk_rows_tensors),
    TABLE("Throttle",
          "Core throttling over time: the share of time for which the core is allowed to run.",
          throttle, ntk_rows_throttles),
    TABLE("ThrottleSummary", "Core throttling by reason; the reason 'all' combines all of them.",
          throttle_summary, ntk_rows_throttle_summaries),
    TABLE("Warning", "Notes and warnings.", warning, ntk_rows_warnings),
};

const struct ntk_table *ntk_tables_schema(size_t *out_count)
{
    *out_count = sizeof tables / sizeof *tables;
    return tables;
}
