/* SPDX-License-Identifier: MIT */
/*
 * glossary - lists every possible metric of a summary: its group and meaning.
 */
#ifndef NTK_PROFILER_OUTPUT_TABLES_GLOSSARY_H
#define NTK_PROFILER_OUTPUT_TABLES_GLOSSARY_H

/* Calls `put` once for each metric; texts are valid during the call. */
void ntk_glossary_each(void (*put)(void *ctx, const char *metric, const char *group,
                                   const char *meaning),
                       void *ctx);
/* Returns the n-th group in display order, NULL after the last. */
const char *ntk_glossary_group(unsigned n);

#endif
