/* SPDX-License-Identifier: MIT */
/* execution_models - finds the cores of a trace that run one model. */
#include <string.h>

#include "profiler/analysis/executions.h"
#include "shared/formats/neff/neff.h"
#include "shared/formats/ntff/ntff_program.h"

/* Returns true if both cores of the trace run a program of one NEFF. */
static bool has_same_neff(const struct ntk_trace *trace, size_t core, size_t other)
{
    const uint8_t *uuid = ntk_ntff_subgraph_uuid(trace->ntff, ntk_trace_core_number(trace, core));
    const uint8_t *others =
        ntk_ntff_subgraph_uuid(trace->ntff, ntk_trace_core_number(trace, other));

    return !uuid || !others || memcmp(uuid, others, NTK_NTFF_UUID_BYTES) == 0;
}

static bool is_same_program(const struct ntk_ntff_subgraph *one,
                            const struct ntk_ntff_subgraph *two)
{
    return one->core == two->core && strcmp(one->name, two->name) == 0;
}

/* Returns how often the program of a core is in its NEFF; 1 without it. */
static size_t times_in_neff(const struct ntk_trace *trace, size_t core)
{
    const struct ntk_ntff_subgraph *program = trace->cores[core].ntff;
    const struct ntk_neff *neff = trace->cores[core].neff ? trace->neff : NULL;
    size_t times = 0;

    for (uint32_t k = 0; neff && k < neff->kelf_count; k++) {
        for (uint32_t s = 0; s < neff->kelfs[k].subgraph_count; s++) {
            times += strcmp(neff->kelfs[k].subgraphs[s].name, program->name) == 0;
        }
    }
    return times ? times : 1;
}

/* Returns how often the NEFF was loaded before, by its programs with the same name and core. */
static size_t instance_of(const struct ntk_trace *trace, size_t core)
{
    const struct ntk_ntff_subgraph *program = trace->cores[core].ntff;
    size_t before = 0;

    for (size_t c = 0; c < core; c++) {
        before += has_same_neff(trace, core, c) && is_same_program(trace->cores[c].ntff, program);
    }
    return before / times_in_neff(trace, core);
}

void ntk_execution_models_find(const struct ntk_trace *trace, size_t *out_models)
{
    bool shares_core = false;

    for (size_t c = 0; c < trace->core_count; c++) {
        out_models[c] = c;
        for (size_t other = c; other-- > 0;) {
            if (has_same_neff(trace, c, other) &&
                instance_of(trace, c) == instance_of(trace, other)) {
                out_models[c] = out_models[other];
            }
        }
    }
    for (size_t c = 0; c < trace->core_count; c++) {
        for (size_t other = 0; other < c; other++) {
            shares_core =
                shares_core || (out_models[c] != out_models[other] &&
                                trace->cores[c].ntff->core == trace->cores[other].ntff->core);
        }
    }
    for (size_t c = 0; c < trace->core_count && !shares_core; c++) {
        out_models[c] = 0;
    }
}
