/* SPDX-License-Identifier: MIT */
/*
 * samples - writes the last snapshot of a model for programs: one JSON object, or rows of CSV.
 *
 * The names are listed in samples.def and explained in docs/formats/top-samples.md. An unknown
 * value is null in JSON and empty in CSV. The model must show the tab of all applications.
 *
 * Threads: one.
 */
#ifndef NTK_TOP_MODEL_SAMPLES_H
#define NTK_TOP_MODEL_SAMPLES_H

#include <stdbool.h>

#include "shared/base/buf.h"
#include "top/model/model.h"

/* Returns the table with the name ("machine" ... "models"), "" for the first; -1 if there is
 * none. */
int ntk_top_samples_table_find(const char *name);
/* Writes one object in one line. */
void ntk_top_samples_json(const struct ntk_top_model *model, struct ntk_buf *out);
/* Writes a line for each row of the table, each with the time of the sample first; with_header: a
 * line of names first. */
void ntk_top_samples_csv(const struct ntk_top_model *model, int table, bool with_header,
                         struct ntk_buf *out);

#endif
