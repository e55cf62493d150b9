/* SPDX-License-Identifier: MIT */
#include "profiler/output/export.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/queue_names.h"
#include "shared/base/vec.h"
#include "shared/formats/neff/neff.h"

/* Semaphores that the vendor's runtime assigns to engines in each program: 3 GpSimd to 6
 * Vector. */
#define ENGINE_SEMAPHORE_FIRST 3
static const unsigned semaphore_engines[] = { NTK_NTFF_ENGINE_GPSIMD, NTK_NTFF_ENGINE_SCALAR,
                                              NTK_NTFF_ENGINE_TENSOR, NTK_NTFF_ENGINE_VECTOR };
#define SAMPLED_INSTRUCTIONS 64

/* Returns a text that is kept until the export is destroyed; NULL if out of memory. */
static const char *__attribute__((format(printf, 2, 3)))
keep_text(struct ntk_vec *texts, const char *format, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0) {
        text = NULL;
    }
    va_end(args);
    if (text && ntk_vec_push(texts, &text) < 0) {
        free(text);
        text = NULL;
    }
    return text;
}

static int name_queues(const struct ntk_trace_core *core, struct ntk_export_core *out,
                       struct ntk_vec *texts)
{
    char shown[NTK_NTFF_NAME_BYTES];

    for (unsigned e = 0; e < NTK_NTFF_DMA_ENGINES; e++) {
        for (unsigned q = 0; q < NTK_NTFF_DMA_QUEUES; q++) {
            /* A ring without an entry fetches instructions. */
            const char *name =
                keep_text(texts, "%s",
                          ntk_queue_name_show(ntk_queue_name_get(core->ntff, e, q),
                                              NTK_TRACE_DMA_INSTRUCTION, shown, sizeof shown));
            if (!name) {
                return -ENOMEM;
            }
            out->queue_names[e][q] = name;
        }
    }
    return 0;
}

/* Returns true for a program in the open encoding, which may use its semaphores freely. */
static bool is_open(const struct ntk_export *export, size_t core_index)
{
    const struct ntk_trace_core *core = &export->trace->cores[core_index];

    for (size_t i = 0; i < core->instruction_count && i < SAMPLED_INSTRUCTIONS; i++) {
        if (ntk_program_fact(export->program, core_index, &core->instructions[i])->code->is_open) {
            return true;
        }
    }
    return false;
}

static int name_semaphores(const struct ntk_export *export, size_t core_index,
                           struct ntk_export_core *out, struct ntk_vec *texts)
{
    const struct ntk_neff_subgraph *neff = export->trace->cores[core_index].neff;
    bool has_engines = !is_open(export, core_index);

    for (unsigned n = 0; n < NTK_EXPORT_SEMAPHORES; n++) {
        const char *of = NULL;
        char shown[NTK_NTFF_NAME_BYTES + 16];
        for (uint32_t q = 0; neff && q < neff->queue_set_count && !of; q++) {
            for (uint32_t s = 0; s < neff->queue_sets[q].semaphore_count && !of; s++) {
                if (neff->queue_sets[q].semaphores[s] == n) {
                    ntk_ntff_queue_name_show(neff->queue_sets[q].name, shown, sizeof shown);
                    of = shown;
                }
            }
        }
        if (!of && has_engines && n >= ENGINE_SEMAPHORE_FIRST &&
            n < ENGINE_SEMAPHORE_FIRST + sizeof semaphore_engines / sizeof *semaphore_engines) {
            of = ntk_ntff_engine_title(semaphore_engines[n - ENGINE_SEMAPHORE_FIRST]);
        }
        const char *name = of ? keep_text(texts, "S[%u] (%s)", n, of) : keep_text(texts, "%u", n);
        if (!name) {
            return -ENOMEM;
        }
        out->semaphore_names[n] = name;
    }
    return 0;
}

static int fill_cores(struct ntk_export *export)
{
    const struct ntk_trace *trace = export->trace;
    int64_t id = 1;
    int ret = 0;

    for (size_t c = 0; c < trace->core_count; c++) {
        export->cores[c].first_instruction_id = id;
        id += (int64_t)trace->cores[c].instruction_count;
    }
    for (size_t c = 0; c < trace->core_count && ret == 0; c++) {
        struct ntk_export_core *core = &export->cores[c];
        core->first_packet_id = id;
        id += (int64_t)trace->cores[c].packet_count;
        core->first_transfer_id = id;
        id += (int64_t) export->transfers.cores[c].count;
        snprintf(core->path, sizeof core->path, "/%s", trace->cores[c].ntff->name);
        ret = name_queues(&trace->cores[c], core, export->texts);
        if (ret == 0) {
            ret = name_semaphores(export, c, core, export->texts);
        }
    }
    return ret;
}

int ntk_export_source_lines(const struct ntk_export *export,
                            const struct ntk_source_lines **out_lines)
{
    struct ntk_dependencies dependencies = { 0 };
    bool has_lines = export->program->positions && export->program->positions->line_count;
    int ret = 0;

    if (!*export->source_lines) {
        /* Only lines need the dependencies between instructions. */
        ret = has_lines ? ntk_analysis_dependencies(export->program, &dependencies) : 0;
        if (ret == 0) {
            ret = ntk_source_lines_create(export->program, &export->transfers,
                                          has_lines ? &dependencies : NULL, export->source_lines);
        }
        if (dependencies.cores) {
            ntk_dependencies_fini(&dependencies);
        }
    }
    *out_lines = *export->source_lines;
    return ret;
}

int ntk_export_create_lines(const struct ntk_trace *trace, struct ntk_export **out_export)
{
    struct ntk_export *export = calloc(1, sizeof *export);
    struct ntk_vec *texts = calloc(1, sizeof *texts);
    int ret = -ENOMEM;

    if (!export || !texts) {
        free(texts);
        free(export);
        return -ENOMEM;
    }
    ntk_vec_init(texts, sizeof(char *));
    export->texts = texts;
    export->trace = trace;
    export->cores = calloc(trace->core_count + 1, sizeof *export->cores);
    export->source_lines = calloc(1, sizeof *export->source_lines);
    if (export->cores && export->source_lines) {
        ret = ntk_program_create(trace, &export->program);
    }
    if (ret == 0) {
        ret = ntk_transfers_init(&export->transfers, export->program);
    }
    if (ret < 0) {
        ntk_export_destroy(export);
        return ret;
    }
    *out_export = export;
    return 0;
}

int ntk_export_create_rows(const struct ntk_trace *trace, const char *profile_name,
                           const char *path, struct ntk_export **out_export)
{
    struct ntk_export *export = NULL;
    int ret = ntk_export_create_lines(trace, &export);

    if (ret < 0) {
        return ret;
    }
    export->profile_name = profile_name;
    export->path = path;
    ret = fill_cores(export);
    if (ret < 0) {
        ntk_export_destroy(export);
        return ret;
    }
    *out_export = export;
    return 0;
}

int ntk_export_create(const struct ntk_trace *trace, const char *profile_name, const char *path,
                      struct ntk_export **out_export)
{
    struct ntk_export *export = NULL;
    int ret = ntk_export_create_rows(trace, profile_name, path, &export);

    if (ret < 0) {
        return ret;
    }
    ret = ntk_analysis_summary_of(export->program, &export->summary);
    if (ret == 0) {
        ret = ntk_analysis_opcode_table(trace, &export->opcodes);
    }
    if (ret == 0) {
        ret = ntk_analysis_layer_summary(trace, export->program, &export->layers);
    }
    if (ret == 0) {
        ret = ntk_analysis_regions(export->program, &export->regions);
    }
    if (ret < 0) {
        ntk_export_destroy(export);
        return ret;
    }
    *out_export = export;
    return 0;
}

void ntk_export_destroy(struct ntk_export *export)
{
    if (!export) {
        return;
    }
    struct ntk_vec *texts = export->texts;
    ntk_vec_each(char *, text, texts) {
        free(*text);
    }
    ntk_vec_fini(texts);
    free(texts);
    ntk_regions_fini(&export->regions);
    ntk_layer_summary_fini(&export->layers);
    ntk_opcode_table_fini(&export->opcodes);
    ntk_summary_fini(&export->summary);
    ntk_transfers_fini(&export->transfers);
    if (export->source_lines) {
        ntk_source_lines_destroy(*export->source_lines);
    }
    free(export->source_lines);
    ntk_program_destroy(export->program);
    free(export->cores);
    free(export);
}
