/* SPDX-License-Identifier: MIT */
/* registry - the table of exporters. */
#include "exporters/exporter.h"

#define NTK_EXPORTER(folder) extern const struct ntk_exporter ntk_exporter_##folder;
#include "exporters/registry.def"
#undef NTK_EXPORTER

const struct ntk_exporter *const ntk_exporters[NTK_EXPORTER_COUNT] = {
#define NTK_EXPORTER(folder) &ntk_exporter_##folder,
#include "exporters/registry.def"
#undef NTK_EXPORTER
};
