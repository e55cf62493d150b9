/* SPDX-License-Identifier: MIT */
/*
 * diag_thresholds - compares the figures of a diagnosis with limits.
 *
 * A file has these lines (format: docs/diag.md):
 *
 *     # machine      test            what  side   value
 *     *              disk-free       warn  below  1G
 *     trn1.32xlarge  host-to-device  fail  below  5G
 *
 * A machine is a name, or a prefix that ends with "*". All matching lines apply; a later line about
 * a test replaces earlier ones for the same machines.
 *
 * Owner: _init reads the default lines, _fini frees them. Threads: any, while no thread reads a
 *        file.
 */
#ifndef NTK_AGENT_DIAG_DIAG_THRESHOLDS_H
#define NTK_AGENT_DIAG_DIAG_THRESHOLDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/base/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_DIAG_THRESHOLDS_MAX 1024u
#define NTK_DIAG_THRESHOLDS_BYTES_MAX (1u << 20)

struct ntk_diag_threshold {
    char machine[64];
    uint32_t test; /* value of enum ntk_diag_test */
    bool fails;    /* true: the test fails; false: it warns */
    bool below;    /* true: violated below the value; false: violated above it */
    double value;
};

struct ntk_diag_thresholds {
    struct ntk_vec rows;
};

/* The default thresholds of the program. */
extern const char ntk_diag_thresholds_shipped[];

/* Returns 0 or -ENOMEM. */
int ntk_diag_thresholds_init(struct ntk_diag_thresholds *thresholds, struct ntk_err *err);
void ntk_diag_thresholds_fini(struct ntk_diag_thresholds *thresholds);
/* Adds the lines of a text. -EINVAL with a message that has the line number. */
int ntk_diag_thresholds_parse(struct ntk_diag_thresholds *thresholds, const char *text,
                              size_t bytes, struct ntk_err *err);
int ntk_diag_thresholds_read(struct ntk_diag_thresholds *thresholds, const char *path,
                             struct ntk_err *err);

/* Returns the worst threshold that a figure violates, NULL for none; *out_any is true if a
 * threshold applied. */
const struct ntk_diag_threshold *
ntk_diag_thresholds_judge(const struct ntk_diag_thresholds *thresholds, const char *machine,
                          uint32_t test, double figure, bool *out_any);

#ifdef __cplusplus
}
#endif
#endif
