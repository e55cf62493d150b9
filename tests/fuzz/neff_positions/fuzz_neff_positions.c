/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the members that source positions come from. The first six are the lengths of the
 * members of slots, instructions and frames, the seventh is the number of slots of the program; the
 * rest is the kernel tree. The model keeps the promises of neff_positions.h.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/formats/neff/neff_positions.h"
#include "shared/formats/neff/neff_read_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void require(bool is_true)
{
    if (!is_true) {
        abort();
    }
}

static const char list[] =
    "{\"debug_info_files\": [{\"file_name\": \"k.klir.debuginfo.json\", \"kernel_name\": \"f\", "
    "\"parent_tensorizer_id\": 14}]}";

static void check_rows(const struct ntk_neff_kernel *kernel)
{
    const struct ntk_neff_function *functions = kernel->functions.items;
    const struct ntk_neff_iteration *iterations = kernel->iterations.items;
    const struct ntk_neff_loop *loops = kernel->loops.items;

    for (size_t i = 0; i < kernel->functions.count; i++) {
        require(functions[i].parent <= i && functions[i].depth < NTK_NEFF_KERNEL_DEPTH_MAX);
        require(functions[i].tree < kernel->trees.count && functions[i].name && functions[i].file);
    }
    for (size_t i = 0; i < kernel->iterations.count; i++) {
        require(iterations[i].parent <= i && iterations[i].depth < NTK_NEFF_KERNEL_DEPTH_MAX);
        require(iterations[i].function <= kernel->functions.count);
        require(iterations[i].loop < kernel->loops.count);
        require(loops[iterations[i].loop].depth == iterations[i].depth);
    }
    for (size_t i = 0; i < kernel->loops.count; i++) {
        require(loops[i].parent <= i);
    }
}

static void check(const struct ntk_neff_positions *positions, size_t slots)
{
    struct ntk_buf text = { 0 };
    size_t lines = 0;

    check_rows(&positions->kernel);
    for (size_t s = 0; s <= slots; s++) {
        const struct ntk_neff_iteration *path[NTK_NEFF_KERNEL_DEPTH_MAX];
        const struct ntk_neff_position *at =
            ntk_neff_position_get(positions, 0, NTK_ISA_ENGINE_PE, (int64_t)s);
        require(!at || (s < slots && (at->file == 0) == (at->line == 0)));
        lines += at && at->file;
        require(ntk_neff_position_path(positions, at, path) <= NTK_NEFF_KERNEL_DEPTH_MAX);
        ntk_neff_position_path_add(positions, at, &text);
        (void)ntk_neff_position_line_add(positions, at, &text);
    }
    require(lines == positions->line_count);
    ntk_buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    static char names[][64] = { "sg00/debug_info_asm_PE.dbg", "sg00/debug_info_backend_PE.dbg",
                                "debug_info/debug_info_stack_frame_index.dbg",
                                "k.klir.debuginfo.json", "kernel_debug_info.json" };
    struct neff_private data = { .budget = 1 << 24 };
    struct ntk_neff neff = { .member_count = 5, .private_data = &data };
    struct ntk_neff_subgraph subgraph = { .name = "sg00", .folder = "sg00" };
    struct ntk_neff_member members[5] = { 0 };
    struct ntk_neff_debug *debug = NULL;
    struct ntk_neff_positions *positions = NULL;

    if (count < 7) {
        return 0;
    }
    size_t left = count - 7;
    const uint8_t *from = bytes + 7;
    for (int i = 0; i < 5; i++) { /* a separate allocation each, so that an overrun is detected */
        size_t size = i < 3 ? bytes[2 * i] | (size_t)bytes[2 * i + 1] << 8 : left;
        size = size < left ? size : left;
        const void *content = i == 4 ? (const void *)list : from;
        size = i == 4 ? sizeof list - 1 : size;
        members[i] = (struct ntk_neff_member){ .name = names[i],
                                               .bytes = malloc(size ? size : 1),
                                               .bytes_count = size };
        memcpy(members[i].bytes, content, size);
        from += i < 4 ? size : 0;
        left -= i < 4 ? size : 0;
        require(ntk_map_put(&data.members, names[i], &members[i]) == 0);
    }
    subgraph.engines[NTK_ISA_ENGINE_PE].code_bytes = (size_t)bytes[6] * NTK_ISA_SLOT_BYTES;
    (void)ntk_neff_debug_create(&neff, &subgraph, &debug, NULL);
    require(ntk_neff_positions_create(&neff, &debug, 1, &positions) == 0);
    if (positions) {
        check(positions, bytes[6]);
    }
    ntk_neff_positions_destroy(positions);
    ntk_neff_debug_destroy(debug);
    ntk_map_fini(&data.members);
    for (int i = 0; i < 5; i++) {
        free(members[i].bytes);
    }
    return 0;
}
