/* SPDX-License-Identifier: MIT */
/* rows_position - creates rows for source positions of instructions, and for the trees and lists
 * that they refer to. */
#include "profiler/output/tables/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define NOWHERE SIZE_MAX
#define FRAME_IDS_MAX 64 /* maximum per row */

/* ---- texts of a row ---- */

static void add_frames(const struct ntk_neff_debug *names,
                       const struct ntk_neff_debug_instruction *named, struct ntk_buf *out)
{
    uint32_t shown[FRAME_IDS_MAX];
    size_t count = 0;

    for (size_t i = 0; i < named->hlo_count && count < FRAME_IDS_MAX; i++) {
        const struct ntk_neff_hlo *hlo =
            ntk_neff_debug_hlo(names, names->hlo_ids[named->hlo_first + i]);
        bool is_new = hlo && hlo->frame;
        for (size_t k = 0; k < count && is_new; k++) {
            is_new = shown[k] != hlo->frame;
        }
        if (is_new) {
            ntk_buf_add_text(out, count ? "," : "");
            ntk_buf_add_u64(out, hlo->frame);
            shown[count++] = hlo->frame;
        }
    }
}

/* Terminates a text that was added since *begin and returns its start; NOWHERE if it is empty. */
static size_t end_text(struct ntk_buf *buf, size_t *begin)
{
    size_t at = *begin;

    if (buf->bytes_count == at) {
        return NOWHERE;
    }
    ntk_buf_put_u8(buf, 0);
    *begin = buf->bytes_count;
    return at;
}

static const char *text_at(const struct ntk_buf *buf, size_t at)
{
    return at == NOWHERE ? NULL : buf->bytes + at;
}

/* Returns the texts of the iterations around an instruction, usually the same as for the previous
 * one. */
static const struct ntk_position_loops *get_loops(struct ntk_position_texts *texts,
                                                  const struct ntk_neff_positions *positions,
                                                  const struct ntk_neff_position *at,
                                                  const struct ntk_neff_kernel_instruction *kernel,
                                                  unsigned engine)
{
    struct ntk_position_loops *loops = &texts->loops[engine];
    size_t begin = 0;

    if (!kernel || !kernel->iteration) {
        return NULL;
    }
    if (loops->iteration != kernel->iteration) {
        ntk_buf_reset(&loops->buf);
        ntk_neff_position_path_json_add(positions, at, &loops->buf);
        (void)end_text(&loops->buf, &begin);
        loops->path_at = begin;
        ntk_neff_position_path_add(positions, at, &loops->buf);
        loops->iteration = ntk_buf_ok(&loops->buf) ? kernel->iteration : 0;
    }
    return loops;
}

void ntk_position_texts_fini(struct ntk_position_texts *texts)
{
    ntk_buf_fini(&texts->buf);
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        ntk_buf_fini(&texts->loops[e].buf);
    }
}

int ntk_position_texts_get(struct ntk_position_texts *texts, const struct ntk_export *export,
                           size_t core_index, const struct ntk_trace_instruction *instruction,
                           struct ntk_position_text *out_text)
{
    const struct ntk_neff_positions *positions = export->program->positions;
    const struct ntk_neff_position *at =
        ntk_program_position(export->program, core_index, instruction);
    const struct ntk_neff_kernel_instruction *kernel = ntk_neff_position_instruction(positions, at);
    const struct ntk_neff_function *function = ntk_neff_position_function(positions, kernel);
    const struct ntk_slot_fact *fact = ntk_program_fact(export->program, core_index, instruction);
    struct ntk_buf *buf = &texts->buf;
    size_t begin = 0;

    *out_text = (struct ntk_position_text){ 0 };
    if (!at && !fact->hlo) {
        return 0;
    }
    ntk_buf_reset(buf);
    if (at && at->file) {
        (void)ntk_neff_position_line_add(positions, at, buf);
    }
    size_t bir_at = end_text(buf, &begin);
    if (kernel) {
        (void)ntk_neff_kernel_line_add(positions, kernel, buf);
    }
    size_t nki_at = end_text(buf, &begin);
    if (kernel) {
        ntk_neff_kernel_id_add(positions, kernel, buf);
    }
    size_t name_at = end_text(buf, &begin);
    const struct ntk_position_loops *loops =
        get_loops(texts, positions, at, kernel, instruction->engine);
    if (fact->hlo) {
        add_frames(export->program->names[core_index], fact->named, buf);
    }
    size_t frames_at = end_text(buf, &begin);
    if (!ntk_buf_ok(buf) || (loops && !loops->iteration)) {
        return -ENOMEM;
    }
    *out_text = (struct ntk_position_text){
        .nki_location = text_at(buf, nki_at),
        .bir_location = text_at(buf, bir_at),
        .kernel_name = text_at(buf, name_at),
        .kernel_function = function && function->name[0] ? function->name : NULL,
        .iteration = loops ? loops->buf.bytes : NULL,
        .iteration_path = loops ? loops->buf.bytes + loops->path_at : NULL,
        .frame_ids = text_at(buf, frames_at),
    };
    return 0;
}

/* ---- the kernel tree ---- */

static int64_t id_of(uint32_t number)
{
    return number ? number : NTK_ABSENT_I64;
}

static int64_t line_of(uint32_t line)
{
    return line ? line : NTK_ABSENT_I64;
}

static const char *text_of(const char *text)
{
    return text[0] ? text : NULL;
}

static int64_t core_of(const struct ntk_export *export, uint32_t tree)
{
    uint32_t core = export->program->positions->tree_cores[tree];

    return core == NTK_NEFF_POSITION_CORE_NONE
               ? NTK_ABSENT_I64
               : (int64_t)ntk_trace_core_number(export->trace, core);
}

int ntk_rows_kernel_instructions(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    const struct ntk_neff_positions *positions = export->program->positions;
    const struct ntk_neff_kernel_instruction *all =
        positions ? positions->kernel.instructions.items : NULL;
    struct ntk_buf name = { 0 };
    int ret = 0;

    for (size_t i = 0; positions && i < positions->kernel.instructions.count && ret == 0; i++) {
        const struct ntk_neff_function *function = ntk_neff_position_function(positions, &all[i]);
        const struct ntk_neff_iteration *iteration =
            ntk_neff_position_iteration(positions, &all[i]);
        struct ntk_kernel_row row = {
            .function_id = id_of(all[i].function),
            .function_depth = function ? function->depth + 1 : 0,
            .iteration_id = id_of(all[i].iteration),
            .iteration_depth = iteration ? iteration->depth + 1 : 0,
            .core_index = core_of(export, all[i].tree),
            .file = function ? text_of(function->file) : NULL,
            .line = line_of(all[i].line),
        };
        ntk_buf_reset(&name);
        ntk_neff_kernel_id_add(positions, &all[i], &name);
        row.name = ntk_buf_text_get(&name);
        ret = ntk_buf_ok(&name) ? put(ctx, &row) : -ENOMEM;
    }
    ntk_buf_fini(&name);
    return ret;
}

int ntk_rows_kernel_iterations(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    const struct ntk_neff_positions *positions = export->program->positions;
    const struct ntk_neff_iteration *all = positions ? positions->kernel.iterations.items : NULL;
    int ret = 0;

    for (size_t i = 0; positions && i < positions->kernel.iterations.count && ret == 0; i++) {
        const struct ntk_neff_function *function =
            ntk_neff_row_get(&positions->kernel.functions, all[i].function);
        struct ntk_kernel_row row = {
            .id = (int64_t)i + 1,
            .name = text_of(all[i].variable),
            .value = all[i].text ? NTK_ABSENT_I64 : all[i].value,
            .parent_id = id_of(all[i].parent),
            .core_index = core_of(export, all[i].tree),
            .file = function ? text_of(function->file) : NULL,
            .line = line_of(all[i].line),
        };
        ret = put(ctx, &row);
    }
    return ret;
}

int ntk_rows_kernel_functions(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    const struct ntk_neff_positions *positions = export->program->positions;
    const struct ntk_neff_function *all = positions ? positions->kernel.functions.items : NULL;
    int ret = 0;

    for (size_t i = 0; positions && i < positions->kernel.functions.count && ret == 0; i++) {
        struct ntk_kernel_row row = {
            .id = (int64_t)i + 1,
            .name = text_of(all[i].name),
            .parent_id = id_of(all[i].parent),
            .core_index = core_of(export, all[i].tree),
            .file = text_of(all[i].file),
            .line = line_of(all[i].line),
        };
        ret = put(ctx, &row);
    }
    return ret;
}

/* ---- calls of the framework ---- */

int ntk_rows_frames(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    const struct ntk_neff_positions *positions = export->program->positions;
    const struct ntk_neff_frame *all = positions ? positions->frames.frames.items : NULL;
    int ret = 0;

    for (size_t i = 0; positions && i < positions->frames.frames.count && ret == 0; i++) {
        struct ntk_frame_row row = { .id = (int64_t)i + 1,
                                     .location_id = all[i].location,
                                     .parent_id = all[i].parent };
        ret = put(ctx, &row);
    }
    return ret;
}

int ntk_rows_frame_locations(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    const struct ntk_neff_positions *positions = export->program->positions;
    const struct ntk_neff_frame_location *all =
        positions ? positions->frames.locations.items : NULL;
    int ret = 0;

    for (size_t i = 0; positions && i < positions->frames.locations.count && ret == 0; i++) {
        struct ntk_frame_row row = { .id = (int64_t)i + 1,
                                     .file_id = all[i].file,
                                     .function_id = all[i].function,
                                     .line = all[i].line };
        ret = put(ctx, &row);
    }
    return ret;
}

static int put_names(const struct ntk_vec *names, ntk_row_put *put, void *ctx)
{
    int ret = 0;

    for (size_t i = 0; names && i < names->count && ret == 0; i++) {
        struct ntk_frame_row row = { .id = (int64_t)i + 1, .name = *(char **)ntk_vec_at(names, i) };
        ret = put(ctx, &row);
    }
    return ret;
}

int ntk_rows_frame_files(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    const struct ntk_neff_positions *positions = export->program->positions;

    return put_names(positions ? &positions->frames.files : NULL, put, ctx);
}

int ntk_rows_frame_functions(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    const struct ntk_neff_positions *positions = export->program->positions;

    return put_names(positions ? &positions->frames.functions : NULL, put, ctx);
}
