/* SPDX-License-Identifier: MIT */
/* schema_source - defines columns of the tables about the source and the compiler; only
 * tables_schema.c includes it. */
#ifndef NTK_PROFILER_OUTPUT_TABLES_SCHEMA_SOURCE_H
#define NTK_PROFILER_OUTPUT_TABLES_SCHEMA_SOURCE_H

#include "profiler/output/tables/columns.h"
#include "profiler/output/tables/rows.h"

/* ---- levels of the compiler ---- */

#define LEVEL_IDS                                                            \
    ALWAYS(ntk_level_row, id, "id", I64, "",                                 \
           "id at this level, with the subgraph in bits 48 to 63"),          \
        ALWAYS(ntk_level_row, raw_bir_id, "raw_bir_id", I64, "",             \
               "raw_bir_id of the first row; 0: none"),                      \
        ALWAYS(ntk_level_row, raw_penguin_id, "raw_penguin_id", I64, "",     \
               "raw_penguin_id of the first row; 0: none"),                  \
        ALWAYS(ntk_level_row, raw_hlo_id, "raw_hlo_id", I64, "",             \
               "raw_hlo_id of the first row; 0: none"),                      \
        ALWAYS(ntk_level_row, raw_framework_id, "raw_framework_id", I64, "", \
               "raw_framework_id of the first row; 0: none")
#define LEVEL_SUMS                                                                              \
    ALWAYS(ntk_level_row, start_ns, "start_ts", I64, "ns", "start of the first row"),           \
        ALWAYS(ntk_level_row, end_ns, "end_ts", I64, "ns", "end of the last row"),              \
        ALWAYS(ntk_level_row, intervals, "time_intervals", TEXT, "",                            \
               "intervals in which rows ran, in ns, such as [[1, 10], [20, 50]]; at most "      \
               "1024, and the last one covers all later rows"),                                 \
        ALWAYS(ntk_level_row, elements, "element_count_per_interval", TEXT, "",                 \
               "MATMUL multiply-adds in each interval"),                                        \
        ALWAYS(ntk_level_row, transposed, "transpose_element_count_per_interval", TEXT, "",     \
               "multiply-adds that only move data"),                                            \
        ALWAYS(ntk_level_row, hbm_bytes, "hbm_transfer_size_per_interval", TEXT, "B",           \
               "bytes read and written by DMA in each interval"),                               \
        ALWAYS(ntk_level_row, hbm_read_bytes, "hbm_read_bytes", I64, "B", "bytes read by DMA"), \
        ALWAYS(ntk_level_row, hbm_write_bytes, "hbm_write_bytes", I64, "B",                     \
               "bytes written by DMA"),                                                         \
        ALWAYS(ntk_level_row, sbuf_read_bytes, "sbuf_read_bytes", I64, "B",                     \
               "bytes read from the state buffer"),                                             \
        ALWAYS(ntk_level_row, sbuf_write_bytes, "sbuf_write_bytes", I64, "B",                   \
               "bytes written to the state buffer"),                                            \
        ALWAYS(ntk_level_row, weight_bytes, "load_weight_bytes", I64, "B",                      \
               "bytes read by LDWEIGHTS")
#define LEVEL_FLOW \
    NEVER("modular_flow_invocation_idx", I64, "", "number of the call to a shared function")

static const struct ntk_column bir_instruction[] = {
    LEVEL_IDS,  ALWAYS(ntk_level_row, name, "bir_name", TEXT, "", "name in the back end"),
    LEVEL_FLOW, ALWAYS(ntk_level_row, core_index, "pcore_idx", I64, "", NTK_CORE_INDEX_MEANING),
    LEVEL_SUMS,
};

static const struct ntk_column penguin_instruction[] = {
    LEVEL_IDS,
    ALWAYS(ntk_level_row, name, "penguin_name", TEXT, "", "text in the middle end"),
    LEVEL_FLOW,
    LEVEL_SUMS,
};

static const struct ntk_column hlo_instruction[] = {
    LEVEL_IDS,
    ALWAYS(ntk_level_row, name, "hlo_name", TEXT, "", "XLA operation"),
    LEVEL_FLOW,
    LEVEL_SUMS,
};

#define ENGINE_COUNT(e, name)                                                          \
    ALWAYS(ntk_level_row, engine_counts[e], name "_engine_instruction_count", I64, "", \
           "rows of " name)

static const struct ntk_column framework_instruction[] = {
    LEVEL_IDS,
    LEVEL_FLOW,
    ALWAYS(ntk_level_row, name, "framework_name", TEXT, "", "name in the framework"),
    LEVEL_SUMS,
    ENGINE_COUNT(NTK_NTFF_ENGINE_TENSOR, "tensor"),
    ENGINE_COUNT(NTK_NTFF_ENGINE_SCALAR, "scalar"),
    ENGINE_COUNT(NTK_NTFF_ENGINE_SYNC, "sync"),
    ENGINE_COUNT(NTK_NTFF_ENGINE_GPSIMD, "gpsimd"),
    ENGINE_COUNT(NTK_NTFF_ENGINE_VECTOR, "vector"),
};

#define NODE_COUNT(e, engine)                                                           \
    ALWAYS(ntk_node_row, engine_counts[e], engine "_engine_instruction_count", I64, "", \
           "number of rows on the " engine " engine")
#define NODE_TIME(e, engine)                                                \
    ALWAYS(ntk_node_row, engine_times[e], "total_time_" engine, TEXT, "ns", \
           "[start of the first row on the " engine                         \
           " engine, end of the last one]; [] without rows")

static const struct ntk_column framework_node[] = {
    ALWAYS(ntk_node_row, name, "node_name", TEXT, "", "name of the part"),
    ALWAYS(ntk_node_row, children, "children_names", TEXT, "",
           "names of the parts below, such as [a, b]"),
    ALWAYS(ntk_node_row, parent_name, "parent_name", TEXT, "",
           "name of the part above; empty for the topmost part"),
    ALWAYS(ntk_node_row, ids, "children_ids", TEXT, "",
           "FrameworkInstruction.id of all operations in this part and below, such as [1, 2]"),
    ALWAYS(ntk_node_row, start_ns, "start_ts", I64, "ns", "start of the first row"),
    ALWAYS(ntk_node_row, end_ns, "end_ts", I64, "ns", "end of the last row"),
    ALWAYS(ntk_node_row, intervals, "time_intervals", TEXT, "",
           "intervals in which rows ran, in ns, such as [[1, 10], [20, 50]]; at most 1024, and the "
           "last one covers all later rows"),
    MAYBE(ntk_node_row, elements, "element_count_per_interval", TEXT, "",
          "MATMUL multiply-adds in each interval"),
    MAYBE(ntk_node_row, transposed, "transpose_element_count_per_interval", TEXT, "",
          "multiply-adds that only move data"),
    MAYBE(ntk_node_row, hbm_bytes, "hbm_transfer_size_per_interval", TEXT, "B",
          "bytes read and written by DMA in each interval"),
    MAYBE(ntk_node_row, hfu, "hfu", F64, "%",
          "flops as a share of the peak of a tensor engine, over the time during which rows of the "
          "part ran"),
    MAYBE(ntk_node_row, mfu, "mfu", F64, "%", "hfu, excluding operations that only move data"),
    MAYBE(ntk_node_row, hfu_list, "hfu_per_interval", TEXT, "",
          "hfu of each interval, such as [0.5, 0.25]"),
    MAYBE(ntk_node_row, mfu_list, "mfu_per_interval", TEXT, "",
          "mfu of each interval, such as [0.5, 0.25]"),
    MAYBE(ntk_node_row, mbu_list, "mbu_per_interval", TEXT, "",
          "device memory traffic of each interval, divided by the maximum traffic of one memory "
          "stack"),
    MAYBE(ntk_node_row, hbm_read_bytes, "hbm_read_bytes", I64, "B", "bytes read by DMA"),
    MAYBE(ntk_node_row, hbm_write_bytes, "hbm_write_bytes", I64, "B", "bytes written by DMA"),
    MAYBE(ntk_node_row, sbuf_read_bytes, "sbuf_read_bytes", I64, "B",
          "bytes read from the state buffer"),
    MAYBE(ntk_node_row, sbuf_write_bytes, "sbuf_write_bytes", I64, "B",
          "bytes written to the state buffer"),
    NODE_COUNT(NTK_NTFF_ENGINE_TENSOR, "tensor"),
    NODE_COUNT(NTK_NTFF_ENGINE_SCALAR, "scalar"),
    NODE_COUNT(NTK_NTFF_ENGINE_SYNC, "sync"),
    NODE_COUNT(NTK_NTFF_ENGINE_GPSIMD, "gpsimd"),
    NODE_COUNT(NTK_NTFF_ENGINE_VECTOR, "vector"),
    NODE_TIME(NTK_NTFF_ENGINE_TENSOR, "tensor"),
    NODE_TIME(NTK_NTFF_ENGINE_SCALAR, "scalar"),
    NODE_TIME(NTK_NTFF_ENGINE_SYNC, "sync"),
    NODE_TIME(NTK_NTFF_ENGINE_GPSIMD, "gpsimd"),
    NODE_TIME(NTK_NTFF_ENGINE_VECTOR, "vector"),
    MAYBE(ntk_node_row, weight_bytes, "load_weight_bytes", I64, "B", "bytes read by LDWEIGHTS"),
    MAYBE(ntk_node_row, engine_channels[NTK_NTFF_ENGINE_SCALAR], "total_channels_scalar", I64, "",
          "number of partitions used, summed over the instructions of the scalar engine"),
    MAYBE(ntk_node_row, engine_channels[NTK_NTFF_ENGINE_VECTOR], "total_channels_vector", I64, "",
          "number of partitions used, summed over the instructions of the vector engine"),
    /* This column is not in the vendor's schema. */
    ALWAYS(ntk_node_row, core_index, "pcore_idx", I64, "", NTK_CORE_INDEX_MEANING),
};

static const struct ntk_column flow[] = {
    ALWAYS(ntk_flow_row, in_id, "in_id", I64, "", "id of the row that comes first"),
    ALWAYS(ntk_flow_row, out_id, "out_id", I64, "", "id of the row that follows"),
    ALWAYS(ntk_flow_row, in_table, "in_table", TEXT, "", "table of the first row"),
    ALWAYS(ntk_flow_row, out_table, "out_table", TEXT, "", "table of the second row"),
    ALWAYS(ntk_flow_row, type, "dependency_type", TEXT, "",
           "FLOW_DEPENDENCE, ANTI_DEPENDENCE, OUTPUT_DEPENDENCE, ORDERED, UNKNOWN, or DGE_TRIGGER "
           "if the first row started the transfer of the second"),
    ALWAYS(ntk_flow_row, gap_ns, "gap_time", I64, "ns",
           "time from the end of the first row to the start of the second row; negative if they "
           "overlap"),
};

/* ---- the kernel tree, calls of the framework ---- */

#define KERNEL_PLACE                                                                 \
    MAYBE(ntk_kernel_row, core_index, "pcore_idx", I64, "", NTK_CORE_INDEX_MEANING), \
        MAYBE(ntk_kernel_row, file, "file_path", TEXT, "",                           \
              "file on the machine where the compiler ran"),                         \
        MAYBE(ntk_kernel_row, line, "line_number", I64, "", "line, from 1")

static const struct ntk_column kernel_instructions[] = {
    ALWAYS(ntk_kernel_row, name, "kernel_instruction_name", TEXT, "",
           "text of the form INSTRUCTION:PENGUIN-ID"),
    MAYBE(ntk_kernel_row, function_id, "stack_frame_id", I64, "", "innermost function"),
    ALWAYS(ntk_kernel_row, function_depth, "stack_frame_depth", I64, "",
           "number of enclosing functions"),
    MAYBE(ntk_kernel_row, iteration_id, "iteration_variables_id", I64, "", "innermost iteration"),
    ALWAYS(ntk_kernel_row, iteration_depth, "iteration_variable_depth", I64, "",
           "number of enclosing iterations"),
    KERNEL_PLACE,
};

static const struct ntk_column kernel_iteration_variables[] = {
    ALWAYS(ntk_kernel_row, id, "iteration_variable_id", I64, "", "variable number, from 1"),
    MAYBE(ntk_kernel_row, name, "variable_name", TEXT, "", "variable of the loop"),
    MAYBE(ntk_kernel_row, value, "variable_value", I64, "",
          "value of the variable; missing if not an integer"),
    MAYBE(ntk_kernel_row, parent_id, "parent_iteration_variable_id", I64, "",
          "enclosing iteration"),
    KERNEL_PLACE,
};

static const struct ntk_column kernel_stack_frames[] = {
    ALWAYS(ntk_kernel_row, id, "stack_frame_id", I64, "", "frame number, from 1"),
    MAYBE(ntk_kernel_row, name, "fully_qualified_function_name", TEXT, "", "function"),
    MAYBE(ntk_kernel_row, parent_id, "parent_stack_frame_id", I64, "", "enclosing function"),
    KERNEL_PLACE,
};

static const struct ntk_column stack_frame[] = {
    ALWAYS(ntk_frame_row, id, "id", I64_TEXT, "", "number, from 1"),
    ALWAYS(ntk_frame_row, location_id, "file_location_id", I32, "", "StackFrameFileLocation"),
    ALWAYS(ntk_frame_row, parent_id, "parent_frame_id", I64_TEXT, "", "caller; 0: none"),
};

static const struct ntk_column stack_frame_file_location[] = {
    ALWAYS(ntk_frame_row, id, "id", I64_TEXT, "", "number, from 1"),
    ALWAYS(ntk_frame_row, file_id, "file_name_id", I32, "", "StackFrameFileName"),
    ALWAYS(ntk_frame_row, function_id, "function_name_id", I32, "", "StackFrameFunctionName"),
    ALWAYS(ntk_frame_row, line, "line_number", I32, "", "line, from 1"),
};

static const struct ntk_column stack_frame_name[] = {
    ALWAYS(ntk_frame_row, id, "id", I64_TEXT, "", "number, from 1"),
    ALWAYS(ntk_frame_row, name, "name", TEXT, "", "file or function"),
};

/* ---- lines, loops, iterations ---- */

#define SUM(row, sums, member, name, unit, meaning) \
    ALWAYS(row, sums.member, name, I64, unit, meaning)
#define SUMS(row, sums, prefix)                                                                    \
    SUM(row, sums, instruction_count, prefix "instruction_count", "", "number of rows"),           \
        SUM(row, sums, duration_ns, prefix "duration_ns", "ns",                                    \
            "total duration of the rows of all engines"),                                          \
        SUM(row, sums, wait_ns, prefix "evt_wait_time_ns", "ns",                                   \
            "total time that the rows waited before they started"),                                \
        SUM(row, sums, active_ns, prefix "active_time_ns", "ns",                                   \
            "wall-clock time during which at least one of the rows ran"),                          \
        SUM(row, sums, hbm_read_bytes, prefix "hbm_read_bytes", "B", "bytes read by DMA"),         \
        SUM(row, sums, hbm_write_bytes, prefix "hbm_write_bytes", "B", "bytes written by DMA"),    \
        SUM(row, sums, sbuf_read_bytes, prefix "sbuf_read_bytes", "B",                             \
            "bytes read from the state buffer"),                                                   \
        SUM(row, sums, sbuf_write_bytes, prefix "sbuf_write_bytes", "B",                           \
            "bytes written to the state buffer"),                                                  \
        SUM(row, sums, psum_read_bytes, prefix "psum_read_bytes", "B", "bytes read from PSUM"),    \
        SUM(row, sums, psum_write_bytes, prefix "psum_write_bytes", "B", "bytes written to PSUM"), \
        SUM(row, sums, flops, prefix "flops", "flop", "MATMUL operations"),                        \
        SUM(row, sums, transfer_bytes, prefix "transfer_bytes", "B",                               \
            "bytes of the transfers that the rows started"),                                       \
        SUM(row, sums, engine_counts[NTK_NTFF_ENGINE_TENSOR], prefix "tensor_instruction_count",   \
            "", "number of rows on the tensor engine"),                                            \
        SUM(row, sums, engine_counts[NTK_NTFF_ENGINE_VECTOR], prefix "vector_instruction_count",   \
            "", "number of rows on the vector engine"),                                            \
        SUM(row, sums, engine_counts[NTK_NTFF_ENGINE_SCALAR], prefix "scalar_instruction_count",   \
            "", "number of rows on the scalar engine"),                                            \
        SUM(row, sums, engine_counts[NTK_NTFF_ENGINE_GPSIMD], prefix "gpsimd_instruction_count",   \
            "", "number of rows on the gpsimd engine"),                                            \
        SUM(row, sums, engine_counts[NTK_NTFF_ENGINE_SYNC], prefix "sync_instruction_count", "",   \
            "number of rows on the sync engine")

static const struct ntk_column source_line[] = {
    MAYBE(ntk_source_line_row, file, "file_path", TEXT, "", "file; if it is missing, see reason"),
    MAYBE(ntk_source_line_row, line, "line_number", I64, "", "line, from 1"),
    MAYBE(ntk_source_line_row, function, "function", TEXT, "", "function of a kernel"),
    MAYBE(ntk_source_line_row, reason, "reason", TEXT, "",
          "why the rows have no line: runtime, compiler, no_debug_info"),
    SUMS(ntk_source_line_row, sums, ""),
    MAYBE(ntk_source_line_row, blocked_by, "blocked_by", TEXT, "",
          "JSON: at most three lines that ended the waits of this line, and reasons for waits "
          "without a line"),
    MAYBE(ntk_source_line_row, text, "text", TEXT, "", "text of the line"),
};

static const struct ntk_column source_loop[] = {
    ALWAYS(ntk_source_loop_row, id, "id", I64, "", "loop number, from 1"),
    MAYBE(ntk_source_loop_row, parent_id, "parent_id", I64, "", "enclosing loop"),
    MAYBE(ntk_source_loop_row, file, "file_path", TEXT, "", "file"),
    ALWAYS(ntk_source_loop_row, line, "line_number", I64, "", "first line of the loop"),
    MAYBE(ntk_source_loop_row, function, "function", TEXT, "", "function"),
    MAYBE(ntk_source_loop_row, variable, "variable_name", TEXT, "", "variable"),
    ALWAYS(ntk_source_loop_row, iteration_count, "iteration_count", I64, "",
           "number of iterations that have rows"),
    SUMS(ntk_source_loop_row, sums, ""),
    SUMS(ntk_source_loop_row, totals, "total_"),
    MAYBE(ntk_source_loop_row, span_ns, "span_ns", I64, "ns",
          "time from the start of the first iteration to the end of the last one"),
    MAYBE(ntk_source_loop_row, overlap, "overlap", F64, "",
          "sum of the iteration spans divided by span_ns; if above 1, iterations overlapped"),
    MAYBE(ntk_source_loop_row, mean_span_ns, "mean_span_ns", F64, "ns",
          "mean span of an iteration"),
    MAYBE(ntk_source_loop_row, max_span_ns, "max_span_ns", I64, "ns",
          "span of the slowest iteration"),
    MAYBE(ntk_source_loop_row, max_span_values, "max_span_value", TEXT, "",
          "values of the variables in the slowest iteration, outermost first"),
    MAYBE(ntk_source_loop_row, text, "text", TEXT, "", "text of the line"),
};

static const struct ntk_column source_iteration[] = {
    ALWAYS(ntk_source_iteration_row, loop_id, "loop_id", I64, "", "SourceLoop"),
    ALWAYS(ntk_source_iteration_row, values, "values", TEXT, "",
           "values of the variables, outermost first"),
    ALWAYS(ntk_source_iteration_row, start_ns, "start_ts", I64, "ns", "start of the first row"),
    ALWAYS(ntk_source_iteration_row, end_ns, "end_ts", I64, "ns", "end of the last row"),
    ALWAYS(ntk_source_iteration_row, span_ns, "span_ns", I64, "ns", "time from start_ts to end_ts"),
    SUMS(ntk_source_iteration_row, sums, ""),
    SUMS(ntk_source_iteration_row, totals, "total_"),
};

#endif
