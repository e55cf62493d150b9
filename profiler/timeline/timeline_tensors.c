/* SPDX-License-Identifier: MIT */
/* timeline_tensors - collects names of tensors from programs, and finds the tensor of each
 * slice. */
#include "profiler/timeline/timeline_tensors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/moves.h"
#include "profiler/timeline/timeline_insight.h"
#include "profiler/timeline/timeline_pyramid.h"
#include "profiler/timeline/timeline_tile.h"
#include "shared/base/json.h"
#include "shared/base/map.h"
#include "shared/base/vec.h"

struct ntk_timeline_tensors {
    const struct ntk_timeline *timeline;
    struct ntk_analyses *const *analyses;
    struct ntk_vec names;   /* elements are const char *, borrowed from the NEFF, sorted */
    struct ntk_map numbers; /* keyed by name */
};

static const char *name_of(const struct ntk_slot_fact *fact)
{
    return fact->has_run && fact->code->moves ? fact->code->moves->variable : NULL;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Collects the names of one program, each slot once. */
static int collect(struct ntk_timeline_tensors *tensors, const struct ntk_program *program)
{
    const struct ntk_trace *trace = program->trace;

    for (size_t c = 0; c < trace->core_count; c++) {
        for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
            const struct ntk_ntff_buffer *buffer = trace->cores[c].ntff->engine_buffers[e];
            const struct ntk_slot_fact *facts = program->facts[c * NTK_NTFF_ENGINE_COUNT + e];
            size_t slots = buffer && facts ? buffer->code_bytes / NTK_NTFF_SLOT_BYTES : 0;

            for (size_t s = 0; s < slots; s++) {
                const char *name = name_of(&facts[s]);
                if (!name || ntk_map_get(&tensors->numbers, name) ||
                    tensors->names.count == NTK_TIMELINE_TENSORS_MAX) {
                    continue;
                }
                if (ntk_vec_push(&tensors->names, &name) < 0 ||
                    ntk_map_put(&tensors->numbers, name, (void *)tensors) < 0) {
                    return -ENOMEM;
                }
            }
        }
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int ntk_timeline_tensors_create(const struct ntk_timeline *timeline,
                                struct ntk_analyses *const *analyses,
                                struct ntk_timeline_tensors **out_tensors)
{
    struct ntk_timeline_tensors *tensors = calloc(1, sizeof *tensors);
    int ret = tensors ? 0 : -ENOMEM;

    if (tensors) {
        tensors->timeline = timeline;
        tensors->analyses = analyses;
        ntk_vec_init(&tensors->names, sizeof(const char *));
    }
    for (size_t s = 0; s < timeline->source_count && ret == 0; s++) {
        ret = collect(tensors, analyses[s]->program);
    }
    if (ret == 0) {
        ntk_vec_sort(&tensors->names, compare);
    }
    for (size_t i = 0; ret == 0 && i < tensors->names.count; i++) {
        const char *const *name = ntk_vec_at(&tensors->names, i);
        ret = ntk_map_put(&tensors->numbers, *name, (void *)(uintptr_t)(i + 1)); /* NOLINT */
    }
    if (ret < 0) {
        ntk_timeline_tensors_destroy(tensors);
        return ret;
    }
    *out_tensors = tensors;
    return 0;
}

void ntk_timeline_tensors_destroy(struct ntk_timeline_tensors *tensors)
{
    if (tensors) {
        ntk_vec_fini(&tensors->names);
        ntk_map_fini(&tensors->numbers);
        free(tensors);
    }
}

size_t ntk_timeline_tensors_count(const struct ntk_timeline_tensors *tensors)
{
    return tensors->names.count;
}

/* ---- slices ---------------------------------------------------------------------------------- */

uint16_t ntk_timeline_tensor_of(const struct ntk_timeline_tensors *tensors,
                                const struct ntk_timeline_track *track,
                                const struct ntk_timeline_slice *slice)
{
    const char *name = NULL;

    if (track->kind != NTK_TIMELINE_ENGINE && track->kind != NTK_TIMELINE_QUEUE) {
        return 0;
    }
    size_t source = ntk_timeline_source_of(tensors->timeline, track);
    const struct ntk_analyses *analyses = tensors->analyses[source];
    size_t core = (size_t)(track->core - tensors->timeline->sources[source].trace->cores);
    if (track->kind == NTK_TIMELINE_ENGINE) {
        name = name_of(
            ntk_program_fact(analyses->program, core, &track->core->instructions[slice->ref]));
    } else {
        const struct ntk_transfer *transfer =
            ntk_transfer_of_packet(&analyses->transfers, core, slice->ref);
        name = transfer ? name_of(ntk_transfer_fact(&analyses->transfers, core, transfer)) : NULL;
    }
    return name ? (uint16_t)(uintptr_t)ntk_map_get(&tensors->numbers, name) : 0;
}

/* ---- answers --------------------------------------------------------------------------------- */

void ntk_timeline_put_tensors(const struct ntk_timeline_tensors *tensors, struct ntk_buf *out)
{
    struct ntk_json json;

    ntk_json_init(&json, out, false);
    ntk_json_object_begin(&json);
    ntk_json_key_array_begin(&json, "names");
    ntk_vec_each(const char *, name, &tensors->names) {
        ntk_json_text(&json, *name);
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
}

static uint16_t recast(const struct ntk_timeline_track *track,
                       const struct ntk_timeline_slice *slice, const void *ctx)
{
    return ntk_timeline_tensor_of(ctx, track, slice);
}

int ntk_timeline_put_tensor_tile(const struct ntk_timeline_tensors *tensors, unsigned level,
                                 uint64_t tile, const uint32_t *tracks, size_t track_count,
                                 struct ntk_buf *out, struct ntk_err *err)
{
    const struct ntk_timeline_recast as = { recast, tensors };

    return ntk_timeline_tile_put_as(tensors->timeline, &as, level, tile, tracks, track_count, out,
                                    err);
}
