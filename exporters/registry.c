/* SPDX-License-Identifier: MIT */
/* registry - the table of exporters. */
#include "exporters/exporter.h"

#include <string.h>

static const struct ntk_exporter *const exporters[] = {
    &ntk_exporter_otlp,
    &ntk_exporter_prometheus,
    &ntk_exporter_remote_write,
};

const struct ntk_exporter *ntk_exporter_find(const char *name)
{
    for (size_t i = 0; i < sizeof exporters / sizeof *exporters; i++) {
        if (!strcmp(exporters[i]->name, name)) {
            return exporters[i];
        }
    }
    return NULL;
}
