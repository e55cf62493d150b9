/* SPDX-License-Identifier: MIT */
/* Any bytes as the variables of OTLP (the first byte selects one) and as the response of a
 * collector: rejected with a message, or accepted. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/otlp/otlp_config.h"
#include "exporters/otlp/otlp_encode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = { "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_RESOURCE_ATTRIBUTES",
                                     "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TIMEOUT" };
static const char *set_name;
static char *set_value;

static char *get(const char *name)
{
    return strcmp(name, set_name) == 0 ? set_value : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_otlp_config config = { 0 };
    struct ntk_err err = { 0 };
    uint64_t refused = 0;
    char text[64] = "";

    if (size == 0) {
        return 0;
    }
    set_name = names[data[0] % (sizeof names / sizeof *names)];
    set_value = strndup((const char *)data + 1, size - 1);
    if (!set_value) {
        return 0;
    }
    if (ntk_otlp_config_read(&config, NTK_OTLP_METRICS, NULL, get, &err) < 0 &&
        err.text[0] == '\0') {
        abort(); /* a rejection has a message */
    }
    ntk_vec_each(struct ntk_otlp_pair, pair, &config.headers) {
        if (strpbrk(pair->name, "\r\n: ") || strpbrk(pair->value, "\r\n")) {
            abort(); /* a header that would break the request */
        }
    }
    ntk_otlp_config_fini(&config);
    free(set_value);
    (void)ntk_otlp_read_partial(data, size, &refused, text, sizeof text);
    (void)ntk_otlp_read_status(data, size, text, sizeof text);
    return 0;
}
