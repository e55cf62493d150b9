/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/core/pipelines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/formats/neff/neff_build.h"
#include "shared/kernels/kit.h"
#include "tests/support/unit.h"

#define ROW (PIPELINE_COLUMNS * sizeof(float))
#define MEMBERS_MAX 512

static struct ntk_isa_operand tile(uint64_t at)
{
    return ntk_isa_sbuf(at, PIPELINE_ROWS, PIPELINE_COLUMNS, NTK_DTYPE_FLOAT32);
}

static ntk_neff_token load_rows(struct ntk_neff_kernel *kernel, uint32_t queue, uint32_t var,
                                uint64_t at)
{
    return ntk_neff_kernel_load(kernel, queue, NTK_ROWS(var, 0, ROW, PIPELINE_ROWS), at, ROW,
                                NTK_AFTER_NONE);
}

static ntk_neff_token add(struct ntk_neff_kernel *kernel, uint64_t to, uint64_t other,
                          struct ntk_neff_after after)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_TENSOR);

    instr.op0 = NTK_ISA_ALU_ADD;
    instr.operand[NTK_ISA_DST] = tile(to);
    instr.operand[NTK_ISA_SRC0] = tile(to);
    instr.operand[NTK_ISA_SRC1] = tile(other);
    return ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_DVE, &instr, after);
}

/* Its size differs from the tensors, so that a test can identify these by size. */
static void constant_pin(struct ntk_neff_kernel *kernel, float value)
{
    static const uint64_t shape[] = { PIPELINE_ROWS + 4, PIPELINE_COLUMNS };
    static float values[PIPELINE_ELEMENTS + 4 * PIPELINE_COLUMNS];
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPPinned0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 1);

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        values[i] = value;
    }
    ntk_neff_kernel_queue_pin(kernel, queue);
    (void)load_rows(kernel, queue,
                    ntk_neff_kernel_constant(kernel, "c", NTK_DTYPE_FLOAT32, 2, shape, values),
                    3 * ROW);
}

static void stage_fill(struct ntk_neff_kernel *kernel, uint32_t index, uint32_t length,
                       float addend)
{
    static const uint64_t shape[] = { PIPELINE_ROWS, PIPELINE_COLUMNS };
    bool is_last = index + 1 == length;
    char in[16] = "x", out[16] = "y";
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 1);

    if (index > 0) {
        (void)snprintf(in, sizeof in, "h%u", index);
    }
    if (!is_last) {
        (void)snprintf(out, sizeof out, "h%u", index + 1);
    }
    uint32_t x = ntk_neff_kernel_input(kernel, in, NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t y = ntk_neff_kernel_output(kernel, out, NTK_DTYPE_FLOAT32, 2, shape);
    ntk_neff_token loaded = load_rows(kernel, queue, x, 0);
    ntk_neff_token done = ntk_kit_scalar(kernel, NTK_ISA_ALU_MULTIPLY, tile(ROW), tile(0),
                                         ntk_kit_none(), (float)index + 2, NTK_AFTER(loaded));
    constant_pin(kernel, addend + (float)index);
    done = add(kernel, ROW, 3 * ROW, NTK_AFTER(done));
    if (is_last && length > 2) {
        uint32_t first = ntk_neff_kernel_input(kernel, "h1", NTK_DTYPE_FLOAT32, 2, shape);
        ntk_neff_token also = load_rows(kernel, queue, first, 2 * ROW);

        done = add(kernel, ROW, 2 * ROW, NTK_AFTER(done, also));
    }
    (void)ntk_neff_kernel_store(kernel, queue, NTK_ROWS(y, 0, ROW, PIPELINE_ROWS), ROW, ROW,
                                NTK_AFTER(done));
}

uint8_t *pipelines_make(const uint32_t *lengths, uint32_t node_count, float addend,
                        size_t *out_bytes)
{
    struct ntk_neff_build_options options = { .name = "pipe" };
    struct ntk_neff_build *build = ntk_neff_build_create(&options);
    struct ntk_neff_kernel *kernel = NULL;
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;
    uint32_t length = 0, index = 0;

    for (uint32_t n = 0; n < node_count; n++) {
        length += lengths[n];
    }
    for (uint32_t n = 0; n < node_count; n++) {
        for (uint32_t s = 0; s < lengths[n]; s++) {
            kernel = s > 0 ? ntk_neff_build_stage(build, kernel)
                           : ntk_neff_build_kernel(build, n == 0 ? "pipe" : "next");
            stage_fill(kernel, index++, length, addend);
        }
    }
    if (ntk_neff_build_bytes(build, &bytes, out_bytes, &err) < 0) {
        fail_msg("%s", err.text);
    }
    ntk_neff_build_destroy(build);
    return bytes;
}

uint8_t *pipeline_make(uint32_t length, float addend, size_t *out_bytes)
{
    return pipelines_make(&length, 1, addend, out_bytes);
}

float pipeline_expected(uint32_t length, float addend, float x)
{
    float h1 = x * 2 + addend;

    for (uint32_t s = 0; s < length; s++) {
        x = x * ((float)s + 2) + addend + (float)s;
    }
    return length > 2 ? x + h1 : x;
}

static void replace_all(struct ntk_buf *out, const char *text, const char *from, const char *to)
{
    const char *found;

    while ((found = strstr(text, from)) != NULL) {
        ntk_buf_add(out, text, (size_t)(found - text));
        ntk_buf_add_text(out, to);
        text = found + strlen(from);
    }
    ntk_buf_add_text(out, text);
}

uint8_t *neff_change(const uint8_t *neff, size_t bytes, const char *member, const char *from,
                     const char *to, size_t *out_bytes)
{
    static struct ntk_neff_pack_member members[MEMBERS_MAX];
    struct ntk_buf changed[MEMBERS_MAX] = { { 0 } };
    const struct ntk_neff_open_options options = { .keep_debug = true };
    struct ntk_neff *file = NULL;
    struct ntk_err err = { 0 };
    uint8_t *made = NULL;
    size_t change_count = 0;

    assert_int_equal(ntk_neff_open_with(neff, bytes, &options, &file, &err), 0);
    assert_in_range(file->member_count, 1, MEMBERS_MAX);
    for (uint32_t i = 0; i < file->member_count; i++) {
        const struct ntk_neff_member *is = &file->members[i];

        members[i] = (struct ntk_neff_pack_member){ is->name, is->bytes, is->bytes_count };
        if (strncmp(is->name, member, strlen(member)) != 0 ||
            (from && (!strstr(is->name, ".json") || !strstr((char *)is->bytes, from)))) {
            continue;
        }
        if (from) {
            replace_all(&changed[i], (char *)is->bytes, from, to);
        } else {
            ntk_buf_add_text(&changed[i], to);
        }
        members[i].bytes = ntk_buf_text_get(&changed[i]);
        members[i].bytes_count = changed[i].bytes_count;
        change_count++;
    }
    assert_true(change_count > 0);
    assert_int_equal(
        ntk_neff_pack(&file->header, members, file->member_count, true, &made, out_bytes, &err), 0);
    for (uint32_t i = 0; i < file->member_count; i++) {
        ntk_buf_fini(&changed[i]);
    }
    ntk_neff_close(file);
    return made;
}
