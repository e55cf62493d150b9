/* SPDX-License-Identifier: MIT */
/*
 * labels - holds the user's labels for every series of this process: --label node=a7, --label-file.
 *
 * Names follow the rules of Prometheus; a name that series already have is rejected, so that no
 * series has a label twice.
 *
 * Owner:   the caller provides the storage, zeroed before the first label; ntk_labels_option is for
 *          the command line.
 * Threads: written before other threads start, then read by all.
 */
#ifndef NTK_EXPORTERS_LABELS_LABELS_H
#define NTK_EXPORTERS_LABELS_LABELS_H

#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/base/opt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_LABELS_MAX 8
#define NTK_LABELS_NAME_BYTES 64
#define NTK_LABELS_VALUE_BYTES 256

struct ntk_labels {
    size_t count;
    struct ntk_labels_row {
        char name[NTK_LABELS_NAME_BYTES];
        char value[NTK_LABELS_VALUE_BYTES]; /* clean UTF-8, never empty */
    } rows[NTK_LABELS_MAX];                 /* sorted by name */
};

/* Adds a label "name=value". -EINVAL with a message. */
int ntk_labels_add(struct ntk_labels *labels, const char *text, struct ntk_err *err);
/* Adds one label per line; empty lines and lines that start with # are skipped. -EINVAL, or the
 * error of reading. */
int ntk_labels_add_file(struct ntk_labels *labels, const char *path, struct ntk_err *err);

/* Expands to rows of an option table, which fill ntk_labels_option. */
extern struct ntk_labels ntk_labels_option;
extern int (*const ntk_labels_call_add)(const char *value, struct ntk_err *err);
extern int (*const ntk_labels_call_add_file)(const char *value, struct ntk_err *err);
#define NTK_LABELS_OPT                                                                       \
    { 0,                                                                                     \
      "label",                                                                               \
      "NAME=VALUE",                                                                          \
      NTK_OPT_CALL,                                                                          \
      (void *)(uintptr_t)&ntk_labels_call_add,                                               \
      "add a label to every metric, such as node=a7; may be repeated" },                     \
    {                                                                                        \
        0, "label-file", "FILE", NTK_OPT_CALL, (void *)(uintptr_t)&ntk_labels_call_add_file, \
            "add the labels in this file, one NAME=VALUE per line"                           \
    }

#ifdef __cplusplus
}
#endif
#endif
