/* SPDX-License-Identifier: MIT */
/*
 * output_analysis - writes the results of analyses, each as text for users and as one JSON value.
 *
 * Text has times in us and shares in percent of the execution. JSON has ns, fractions and the usual
 * names. Unknown values are "-" in text and null in JSON. The same trace always has the same bytes.
 * Every function appends; ntk_buf_ok() reports a failed allocation.
 */
#ifndef NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_ANALYSIS_H
#define NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_ANALYSIS_H

#include "profiler/analysis/activity_over_time.h"
#include "profiler/analysis/advice.h"
#include "profiler/analysis/bubbles.h"
#include "profiler/analysis/chip_memory.h"
#include "profiler/analysis/comparison.h"
#include "profiler/analysis/cost_table.h"
#include "profiler/analysis/critical_path.h"
#include "profiler/analysis/dma_efficiency.h"
#include "profiler/analysis/hbm_traffic.h"
#include "profiler/analysis/idle_reasons.h"
#include "profiler/analysis/regions.h"
#include "profiler/analysis/roofline.h"
#include "profiler/analysis/summary.h"
#include "profiler/analysis/tensor_traffic.h"
#include "profiler/analysis/what_if.h"
#include "shared/base/text_table.h"
#include "shared/base/buf.h"
#include "shared/base/json.h"

void ntk_output_idle_text(const struct ntk_program *program, const struct ntk_idle_reasons *idle,
                          struct ntk_buf *out);
void ntk_output_idle_json(const struct ntk_program *program, const struct ntk_idle_reasons *idle,
                          struct ntk_json *json);

/* Writes keys for a cause in another core, or outside the capture; nothing for a cause in the same
 * core. */
void ntk_output_other_core(struct ntk_json *json, const struct ntk_chain_link *link);

/* limit: maximum number of listed gaps; 0 for NTK_OUTPUT_ROWS_MAX. JSON has all gaps. */
void ntk_output_bubbles_text(const struct ntk_program *program, const struct ntk_bubbles *bubbles,
                             size_t limit, struct ntk_buf *out);
void ntk_output_bubbles_json(const struct ntk_program *program, const struct ntk_bubbles *bubbles,
                             struct ntk_json *json);

void ntk_output_path_text(const struct ntk_program *program, const struct ntk_critical_path *path,
                          struct ntk_buf *out);
void ntk_output_path_json(const struct ntk_program *program, const struct ntk_critical_path *path,
                          struct ntk_json *json);
/* Omits the steps, so that the output does not grow with the execution. */
void ntk_output_path_brief_json(const struct ntk_program *program,
                                const struct ntk_critical_path *path, struct ntk_json *json);

/* Writes the most expensive layers, operations and instructions. */
void ntk_output_costs_text(const struct ntk_program *program, const struct ntk_cost_table *costs,
                           struct ntk_buf *out);
void ntk_output_costs_json(const struct ntk_program *program, const struct ntk_cost_table *costs,
                           struct ntk_json *json);

void ntk_output_regions_text(const struct ntk_program *program, const struct ntk_regions *regions,
                             struct ntk_buf *out);
void ntk_output_regions_json(const struct ntk_program *program, const struct ntk_regions *regions,
                             struct ntk_json *json);

/* Writes the reason why ranges on the chip are unknown: the undecoded operation, or missing
 * data. */
#define NTK_OUTPUT_WHY_BYTES 192
void ntk_output_onchip_why(const struct ntk_program *program, char *buf, size_t buf_bytes);

/* Writes the values of chip, one by one. */
void ntk_output_onchip_text(const struct ntk_program *program, const struct ntk_chip_memory *chip,
                            struct ntk_buf *out);
void ntk_output_onchip_json(const struct ntk_program *program, const struct ntk_chip_memory *chip,
                            struct ntk_json *json);
void ntk_output_roofline_text(const struct ntk_program *program,
                              const struct ntk_roofline *roofline, struct ntk_buf *out);
void ntk_output_roofline_json(const struct ntk_program *program,
                              const struct ntk_roofline *roofline, struct ntk_json *json);

void ntk_output_tensors_text(const struct ntk_tensor_traffic *tensors, struct ntk_buf *out);
void ntk_output_tensors_json(const struct ntk_tensor_traffic *tensors, struct ntk_json *json);

void ntk_output_dma_text(const struct ntk_trace *trace, const struct ntk_dma_efficiency *dma,
                         const struct ntk_hbm_traffic *hbm, struct ntk_buf *out);
void ntk_output_dma_json(const struct ntk_trace *trace, const struct ntk_dma_efficiency *dma,
                         const struct ntk_hbm_traffic *hbm, struct ntk_json *json);

struct ntk_output_matched; /* see output_matched.h; NULL if units are unknown */
void ntk_output_comparison_text(const struct ntk_comparison *comparison,
                                const struct ntk_output_matched *matched, struct ntk_buf *out);
void ntk_output_comparison_json(const struct ntk_comparison *comparison,
                                const struct ntk_output_matched *matched, struct ntk_json *json);

/* Write how much the lengths of executions differ; the text is empty unless a side has several. */
void ntk_output_spreads_text(const struct ntk_comparison *comparison, const char *before,
                             const char *after, struct ntk_buf *out);
void ntk_output_spreads_json(const struct ntk_comparison *comparison, const char *before,
                             const char *after, struct ntk_json *json);

/* Writes one line if the capture lacks records that an analysis needs (enum ntk_lack). */
void ntk_output_incomplete_text(const struct ntk_program *program, unsigned needs,
                                struct ntk_buf *out);
/* Writes the key "incomplete" with an array of texts; nothing for a complete capture. */
void ntk_output_incomplete_json(const struct ntk_program *program, struct ntk_json *json);

void ntk_output_advice_text(const struct ntk_advice *advice, struct ntk_buf *out);
void ntk_output_advice_json(const struct ntk_advice *advice, struct ntk_json *json);

/* One line if the capture or its window has several executions: its figures are sums over them. */
void ntk_output_several_text(const struct ntk_program *program, struct ntk_buf *out);
/* One execution on one screen: ten figures, a bar per engine, the first three findings. advice
 * NULL: unknown. */
void ntk_output_brief(const char *name, const char *path, uint64_t execution_count,
                      const struct ntk_summary *summary, const struct ntk_advice *advice,
                      struct ntk_buf *out);

void ntk_output_activity_text(const struct ntk_trace *trace,
                              const struct ntk_activity_over_time *activity, struct ntk_buf *out);
void ntk_output_activity_json(const struct ntk_trace *trace,
                              const struct ntk_activity_over_time *activity, struct ntk_json *json);

/* chip is NULL if unknown. */
void ntk_output_memory_text(const struct ntk_program *program, const struct ntk_chip_memory *chip,
                            struct ntk_buf *out);
void ntk_output_memory_json(const struct ntk_program *program, const struct ntk_chip_memory *chip,
                            struct ntk_json *json);

void ntk_output_what_if_text(const struct ntk_program *program, const struct ntk_what_if *what_if,
                             struct ntk_buf *out);
void ntk_output_what_if_json(const struct ntk_program *program, const struct ntk_what_if *what_if,
                             struct ntk_json *json);

/* Returns the reason for missing layers. */
const char *ntk_output_no_layers(const struct ntk_trace *trace);

#endif
