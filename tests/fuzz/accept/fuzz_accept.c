/* SPDX-License-Identifier: MIT */
/* Any text as Accept and Accept-Encoding: the choice is a known form, and the first one is the
 * default. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/prometheus/prometheus_negotiate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char first[] = "application/openmetrics-text;version=1.0.0,";
    char *text = calloc(1, sizeof first + size);

    if (!text) {
        abort();
    }
    memcpy(text, first, sizeof first - 1);
    if (size) {
        /* Up to the first NUL of the data, as a header. */
        memcpy(text + sizeof first - 1, data, size);
    }
    const char *header = text + sizeof first - 1;
    if (ntk_prometheus_negotiate_format(header) >= NTK_PROMETHEUS_FORMAT_COUNT ||
        ntk_prometheus_negotiate_format(text) != NTK_PROMETHEUS_OPENMETRICS_1_0_0) {
        abort();
    }
    (void)ntk_prometheus_negotiate_gzip(header);
    free(text);
    return 0;
}
