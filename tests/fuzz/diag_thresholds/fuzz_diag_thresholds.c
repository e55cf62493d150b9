/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a file of thresholds: rejected with a message, or read, and then applied to a figure
 * in the right direction.
 */
#include <stdint.h>
#include <stdlib.h>

#include "agent/diag/diag.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good)
{
    if (!good) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_diag_thresholds thresholds;
    struct ntk_err err = { 0 };

    must(ntk_diag_thresholds_init(&thresholds, &err) == 0);
    int ret = ntk_diag_thresholds_parse(&thresholds, (const char *)data, size, &err);
    must(ret == 0 || err.text[0]);
    must(thresholds.rows.count <= NTK_DIAG_THRESHOLDS_MAX);
    ntk_vec_each(struct ntk_diag_threshold, row, &thresholds.rows) {
        bool any = false;

        must(row->test < NTK_DIAG_TEST_COUNT && row->machine[0]);
        must(ntk_diag_tests[row->test].unit != NTK_DIAG_NONE);
        const struct ntk_diag_threshold *struck =
            ntk_diag_thresholds_judge(&thresholds, "trn1.32xlarge", row->test, row->value, &any);
        must(!struck ||
             (any && (struck->below ? row->value < struck->value : row->value > struck->value)));
    }
    ntk_diag_thresholds_fini(&thresholds);
    return 0;
}
