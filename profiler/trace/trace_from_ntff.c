/* SPDX-License-Identifier: MIT */
/*
 * trace_from_ntff - creates the trace of a capture: its cores, one after the other, each list by a
 * separate function.
 *
 * docs/formats/ntff.md describes the reason for each rule.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/trace/long_list.h"
#include "profiler/trace/trace_build.h"
#include "shared/base/fs.h"
#include "shared/base/memory.h"
#include "shared/base/units.h"
#include "shared/formats/neff/neff.h"
#include "shared/formats/ntff/ntff_layout.h"
#include "shared/formats/ntff/ntff_program.h"

/* Returns true if the subgraph may belong to the NEFF: a capture has the programs of all models
 * that ran on the core. */
static bool may_be_of(const struct ntk_ntff *ntff, size_t index, const struct ntk_neff *neff)
{
    const uint8_t *uuid = ntk_ntff_subgraph_uuid(ntff, index);

    return !uuid || memcmp(uuid, neff->header.uuid, NTK_NTFF_UUID_BYTES) == 0;
}

/* Returns the n-th subgraph with a name; NULL if there are fewer. */
static const struct ntk_neff_subgraph *nth_of(const struct ntk_neff *neff, const char *name,
                                              size_t nth)
{
    for (uint32_t k = 0; k < neff->kelf_count; k++) {
        for (uint32_t s = 0; s < neff->kelfs[k].subgraph_count; s++) {
            if (strcmp(neff->kelfs[k].subgraphs[s].name, name) == 0 && nth-- == 0) {
                return &neff->kelfs[k].subgraphs[s];
            }
        }
    }
    return NULL;
}

/* Finds the subgraph in the NEFF. Names repeat if a model has several core nodes: the n-th of a
 * name in the capture is the n-th in the NEFF. After the last one, the model was loaded again. */
static const struct ntk_neff_subgraph *find_neff_subgraph(const struct ntk_neff *neff,
                                                          const struct ntk_ntff *ntff, size_t index)
{
    const char *name = ntff->subgraphs[index].name;
    size_t before = 0;

    size_t count = 0;

    if (!neff || !may_be_of(ntff, index, neff)) {
        return NULL;
    }
    for (size_t i = 0; i < index; i++) {
        before += strcmp(ntff->subgraphs[i].name, name) == 0 && may_be_of(ntff, i, neff);
    }
    while (nth_of(neff, name, count)) {
        count++;
    }
    return count ? nth_of(neff, name, before % count) : NULL;
}

static int read_core(struct ntk_trace_build *build, struct ntk_trace_core *core,
                     const struct ntk_trace_window *window)
{
    core->t0_ps =
        (window->start_ps == INT64_MIN ? 0 : window->start_ps) + build->trace->part.from_ps;
    int ret = ntk_trace_read_instructions(build, core, window);
    if (ret == 0) {
        ret = ntk_trace_read_packets(build, core, window);
    }
    return ret == 0 ? ntk_trace_read_changes(build, core, window) : ret;
}

/* Finds the window, common to all cores. If the header has none, the window of the first core is
 * used. */
static int find_window(struct ntk_trace_build *build, struct ntk_trace_window *out_window)
{
    struct ntk_trace *trace = build->trace;
    int ret = ntk_trace_find_window(build, out_window);

    if (ret == 0) {
        int64_t length_ps = ntk_trace_since(out_window->end_ps, out_window->start_ps);
        trace->has_total = out_window->is_known && length_ps >= 0 && ntk_trace_is_time(length_ps);
        trace->total_ps = trace->has_total ? length_ps : 0;
    }
    return ret;
}

/* Removes the cores that are not selected. */
static int keep_cores(struct ntk_trace_build *build)
{
    const struct ntk_trace_part *part = &build->options.part;
    struct ntk_trace *trace = build->trace;
    size_t kept = 0;

    for (size_t c = 0; c < trace->core_count; c++) {
        bool is_wanted = !part->cores;
        for (size_t i = 0; i < part->core_count && !is_wanted; i++) {
            is_wanted = part->cores[i] == trace->cores[c].ntff->core;
        }
        if (is_wanted) {
            trace->cores[kept++] = trace->cores[c];
        }
    }
    if (kept == 0 && trace->core_count > 0) {
        char list[96] = "";
        for (size_t c = 0; c < trace->core_count && strlen(list) < sizeof list - 8; c++) {
            size_t at = strlen(list);
            snprintf(list + at, sizeof list - at, "%s%u", c ? "," : "",
                     (unsigned)trace->cores[c].ntff->core);
        }
        return ntk_err_set(build->err, -ENOENT, NTK_ERR_NO_OFFSET,
                           "unknown core: the capture has %s", list);
    }
    trace->is_part = kept < trace->core_count;
    trace->core_count = kept;
    return 0;
}

/* Narrows the total; a window that contains all rows is ignored. */
static int keep_window(struct ntk_trace_build *build, const struct ntk_trace_window *window)
{
    const struct ntk_trace_part *part = &build->options.part;
    struct ntk_trace *trace = build->trace;
    int64_t whole_ps = ntk_trace_since(window->end_ps, window->start_ps);
    bool is_open = part->to_ps == 0 || part->to_ps >= whole_ps;
    char at[NTK_UNITS_TEXT_BYTES];
    char length[NTK_UNITS_TEXT_BYTES];

    build->length_ps = INT64_MAX;
    trace->part.total_ps = trace->total_ps;
    trace->part.is_open = is_open;
    trace->part.to_ps = is_open ? whole_ps : part->to_ps;
    if (part->from_ps <= 0 && is_open) {
        return 0;
    }
    if (part->from_ps >= trace->part.to_ps) {
        uint64_t from_ns = (uint64_t)part->from_ps / NTK_TRACE_PS_PER_NS;
        uint64_t whole_ns = (uint64_t)whole_ps / NTK_TRACE_PS_PER_NS;
        return ntk_err_set(build->err, -ERANGE, NTK_ERR_NO_OFFSET,
                           "the execution has already ended at %s: it takes only %s",
                           ntk_units_duration(at, sizeof at, from_ns),
                           ntk_units_duration(length, sizeof length, whole_ns));
    }
    trace->is_part = true;
    trace->part.from_ps = part->from_ps;
    trace->total_ps = trace->has_total ? trace->part.to_ps - part->from_ps : 0;
    if (!is_open) {
        build->length_ps = part->to_ps - part->from_ps;
    }
    return 0;
}

static void note_cut(struct ntk_trace *trace, struct ntk_trace_core *core,
                     const struct ntk_ntff_section *section)
{
    if (section->record_count >= section->stated_bytes / NTK_NTFF_RECORD_BYTES) {
        return;
    }
    switch (section->type) {
    case NTK_NTFF_SECTION_INSTRUCTION:
        trace->is_cut.instructions = core->is_cut.instructions = true;
        break;
    case NTK_NTFF_SECTION_EVENT:
        trace->is_cut.events = core->is_cut.events = true;
        break;
    case NTK_NTFF_SECTION_DMA:
        trace->is_cut.packets = core->is_cut.packets = true;
        break;
    default:
        break;
    }
}

static void count_records(struct ntk_trace_build *build)
{
    struct ntk_trace *trace = build->trace;

    if (trace->ntff->subgraph_count == 0) { /* such as after a truncated header */
        trace->is_cut.instructions = trace->is_cut.events = trace->is_cut.packets = true;
    }
    for (size_t c = 0; c < trace->core_count; c++) {
        const struct ntk_ntff_subgraph *subgraph = trace->cores[c].ntff;
        for (size_t s = 0; s < subgraph->section_count; s++) {
            const struct ntk_ntff_section *section = &subgraph->sections[s];
            bool is_core = section->block == NTK_NTFF_BLOCK_CORE;
            build->records_total += section->record_count;
            note_cut(trace, &trace->cores[c], section);
            if (is_core && section->type == NTK_NTFF_SECTION_INSTRUCTION &&
                !trace->ntff->has_window && subgraph == trace->ntff->subgraphs) {
                build->records_total += section->record_count; /* instructions are read twice */
            }
            if (section->block == NTK_NTFF_BLOCK_CC && section->record_count) {
                trace->has_collectives = true;
            }
        }
    }
}

static size_t list_bytes_that_fit(void)
{
    uint64_t bytes = ntk_memory_available() / NTK_TRACE_LIST_SHARE;

    return bytes < NTK_TRACE_LIST_BYTES       ? NTK_TRACE_LIST_BYTES
           : bytes > NTK_TRACE_LIST_BYTES_MAX ? NTK_TRACE_LIST_BYTES_MAX
                                              : (size_t)bytes;
}

int ntk_trace_create(const struct ntk_ntff *ntff, const struct ntk_neff *neff,
                     const struct ntk_trace_options *options, struct ntk_trace **out_trace,
                     struct ntk_err *err)
{
    struct ntk_trace_build build = { .err = err };
    int ret = neff ? ntk_ntff_check_neff(ntff, neff->header.uuid, err) : 0;

    if (ret < 0 && ret != -ENODATA) { /* a warning by the code that opened the files */
        return ret;
    }
    if (options) {
        build.options = *options;
    }
    if (!build.options.list_bytes) {
        build.options.list_bytes = list_bytes_that_fit();
    }
    build.heap_bytes_left = NTK_TRACE_HEAP_LISTS * build.options.list_bytes;
    if (!build.options.folder) {
        build.options.folder = ntk_fs_temporary_folder();
    }
    struct ntk_trace *trace = calloc(1, sizeof *trace);
    if (trace) {
        trace->cores = calloc(ntff->subgraph_count + 1, sizeof *trace->cores);
    }
    if (!trace || !trace->cores) {
        ntk_trace_destroy(trace);
        return ntk_err_no_memory(err);
    }
    build.trace = trace;
    trace->ntff = ntff;
    trace->list_bytes = build.options.list_bytes;
    trace->folder = build.options.folder;
    trace->neff = neff;
    trace->metrics = build.options.metrics;
    trace->has_chip = ntk_chip_find(ntff->instance_type, &trace->chip);
    if (neff && neff->is_vendor) {
        ntk_chip_set_device(&trace->chip);
    }
    trace->core_count = ntff->subgraph_count;
    for (size_t c = 0; c < trace->core_count; c++) {
        trace->cores[c].ntff = &ntff->subgraphs[c];
        trace->cores[c].neff = find_neff_subgraph(neff, ntff, c);
    }
    struct ntk_trace_window window = { 0 };
    ret = keep_cores(&build);
    count_records(&build);
    ret = ret == 0 && trace->core_count ? find_window(&build, &window) : ret;
    ret = ret == 0 && trace->core_count ? keep_window(&build, &window) : ret;
    for (size_t c = 0; c < trace->core_count && ret == 0; c++) {
        ret = read_core(&build, &trace->cores[c], &window);
    }
    if (ret == 0 && ntff->has_window && build.records_total == 0) {
        trace->has_total = false; /* an estimate, not measured */
        trace->total_ps = 0;
    }
    /* An earlier failure with a misleading message may be caused by truncation. */
    if (ret != -ERANGE && ret != -ENOENT) {
        ret = ntk_ntff_check_whole(ntff, err) < 0 ? -ESTALE : ret;
    }
    if (ret < 0) {
        ntk_trace_destroy(trace);
        return ret;
    }
    *out_trace = trace;
    return 0;
}

int ntk_trace_create_from_ntff(const struct ntk_ntff *ntff, const struct ntk_neff *neff,
                               ntk_trace_progress *progress, void *progress_ctx,
                               struct ntk_trace **out_trace, struct ntk_err *err)
{
    struct ntk_trace_options options = { .progress = progress, .progress_ctx = progress_ctx };

    return ntk_trace_create(ntff, neff, &options, out_trace, err);
}

size_t ntk_trace_core_number(const struct ntk_trace *trace, size_t core_index)
{
    return trace->is_part ? (size_t)(trace->cores[core_index].ntff - trace->ntff->subgraphs)
                          : core_index;
}

size_t ntk_trace_core_place(const struct ntk_trace *trace, size_t number)
{
    size_t place = 0;

    while (place + 1 < trace->core_count && ntk_trace_core_number(trace, place) != number) {
        place++;
    }
    return place;
}

size_t ntk_trace_list_bytes_get(const struct ntk_trace *trace)
{
    return trace->list_bytes ? trace->list_bytes : NTK_TRACE_LIST_BYTES;
}

const char *ntk_trace_folder_get(const struct ntk_trace *trace)
{
    return trace->folder ? trace->folder : ntk_fs_temporary_folder();
}

void ntk_trace_destroy(struct ntk_trace *trace)
{
    if (!trace) {
        return;
    }
    for (size_t c = 0; trace->cores && c < trace->core_count; c++) {
        struct ntk_trace_core *core = &trace->cores[c];
        for (size_t e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
            free(core->slot_counts[e]);
        }
        ntk_long_items_free(core->instructions,
                            core->instruction_count * sizeof *core->instructions,
                            core->is_mapped.instructions);
        ntk_long_items_free(core->packets, core->packet_count * sizeof *core->packets,
                            core->is_mapped.packets);
        ntk_long_items_free(core->events, core->event_count * sizeof *core->events,
                            core->is_mapped.events);
        ntk_long_items_free(core->throttles, core->throttle_count * sizeof *core->throttles,
                            core->is_mapped.throttles);
    }
    free(trace->cores);
    free(trace);
}

const char *ntk_trace_dma_class_name(unsigned dma_class)
{
    static const char *const names[NTK_TRACE_DMA_CLASS_COUNT] = {
        "instruction", "io", "input", "output", "data", "software_dynamic", "hardware_dynamic"
    };

    return dma_class < NTK_TRACE_DMA_CLASS_COUNT ? names[dma_class] : "unknown";
}
