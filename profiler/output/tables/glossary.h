/* SPDX-License-Identifier: MIT */
/*
 * glossary - every metric that a summary may have in some capture: its group and what it means.
 */
#ifndef NTK_PROFILER_OUTPUT_TABLES_GLOSSARY_H
#define NTK_PROFILER_OUTPUT_TABLES_GLOSSARY_H

/* Each of them once; the texts last for the call. */
void ntk_glossary_each(void (*put)(void *ctx, const char *metric, const char *group,
                                   const char *meaning),
                       void *ctx);
/* The n-th group in the order they are shown, NULL after the last. */
const char *ntk_glossary_group(unsigned n);

#endif
