/* SPDX-License-Identifier: MIT */
/*
 * output_records - writes individual instructions of a trace and individual records of a capture as
 * lines of text.
 *
 * Instructions belong to the execution, are paired, and are in order of time. Records are
 * unfiltered, as in the file, with times on the clock of the file.
 */
#ifndef NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_RECORDS_H
#define NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_RECORDS_H

#include "profiler/output/sink.h"
#include "profiler/trace/trace.h"

/* Kinds of records: starts and ends of instructions, changes, throttling; the bytes of the records
 * of collectives cores. */
#define NTK_RECORDS_TRACE 1u
#define NTK_RECORDS_DMA 2u
#define NTK_RECORDS_ERRORS 4u
#define NTK_RECORDS_ALL 7u

#define NTK_OUTPUT_RECORD_BYTES ((size_t)16)

/* Memory does not grow with the capture. Returns 0 or the error of the sink. */
int ntk_output_instructions(const struct ntk_trace *trace, struct ntk_sink *sink);
int ntk_output_records(const struct ntk_ntff *ntff, unsigned what, struct ntk_sink *sink);

#endif
