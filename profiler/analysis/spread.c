/* SPDX-License-Identifier: MIT */
#include "profiler/analysis/spread.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/order.h"

/* Standard deviation of a normal distribution, in median distances from its median. */
#define DEVIATION_PER_DISTANCE 1.4826

NTK_ORDER_NUMBERS(compare_numbers, double);

double ntk_spread_median(double *values, size_t count)
{
    if (count == 0) {
        return 0;
    }
    qsort(values, count, sizeof *values, compare_numbers);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static const struct ntk_measure *length_of(const struct ntk_measures *execution)
{
    return ntk_measures_find(execution, NTK_MEASURE_TOTAL, NTK_MEASURE_TOTAL_NAME);
}

static void find_outliers(const struct ntk_measures *executions, size_t count, double *scratch,
                          struct ntk_spread *spread)
{
    size_t known = 0;

    for (size_t i = 0; i < count; i++) {
        const struct ntk_measure *length = length_of(&executions[i]);
        if (length) {
            scratch[known++] = fabs(length->value - spread->median);
        }
    }
    double limit =
        NTK_SPREAD_DEVIATIONS * DEVIATION_PER_DISTANCE * ntk_spread_median(scratch, known);
    limit = fmax(limit, NTK_SPREAD_OUTLIER_RATIO * spread->median);
    for (size_t i = 0; i < count && known > 2; i++) {
        const struct ntk_measure *length = length_of(&executions[i]);
        if (length && fabs(length->value - spread->median) > limit) {
            spread->outliers[spread->outlier_count++] =
                (struct ntk_spread_outlier){ i, executions[i].source, length->value };
        }
    }
}

int ntk_spread_find(const struct ntk_measures *executions, size_t count,
                    struct ntk_spread *out_spread)
{
    double *values = calloc(count + 1, sizeof *values);
    struct ntk_spread spread = { .outliers = calloc(count + 1, sizeof *spread.outliers) };

    if (!values || !spread.outliers) {
        free(values);
        ntk_spread_fini(&spread);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        const struct ntk_measure *length = length_of(&executions[i]);
        if (length) {
            values[spread.count++] = length->value;
        }
    }
    if (spread.count) {
        spread.median = ntk_spread_median(values, spread.count);
        spread.least = values[0];
        spread.most = values[spread.count - 1];
        find_outliers(executions, count, values, &spread);
    }
    free(values);
    *out_spread = spread;
    return 0;
}

void ntk_spread_fini(struct ntk_spread *spread)
{
    free(spread->outliers);
    *spread = (struct ntk_spread){ 0 };
}
