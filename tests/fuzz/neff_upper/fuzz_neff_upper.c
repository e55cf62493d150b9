/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the members above the instructions of a small program: the middle end, operations of
 * XLA, names of the framework, prepared transfers, and the list of kernel trees. The first eight
 * bytes are the lengths of the first four; the rest is the list. The program and one tree are
 * intact, so that what is read is joined with them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/formats/neff/neff_positions.h"
#include "shared/formats/neff/neff_read_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

enum { ANY = 5, MEMBERS = 8, SLOTS = 4 };

static void require(bool is_true)
{
    if (!is_true) {
        abort();
    }
}

/* Slots 0 to 3 have the BIR ids 1 to 4. */
static const uint8_t assembly[] = { 0x1a, 3, 0x1a, 1, 1, 0x1a, 3, 0x1a, 1, 2,
                                    0x1a, 3, 0x1a, 1, 3, 0x1a, 3, 0x1a, 1, 4 };
/* {1: id, 2: "inst.<id>", 3: [id]}, so the Penguin id is the BIR id. */
#define INSTRUCTION(id, digit) \
    0x1a, 13, 8, (id), 0x12, 6, 'i', 'n', 's', 't', '.', (digit), 0x1a, 1, (id)
static const uint8_t backend[] = { INSTRUCTION(1, '1'), INSTRUCTION(2, '2'), INSTRUCTION(3, '3'),
                                   INSTRUCTION(4, '4') };
static const char tree[] =
    "[{\"info\": [{\"func\": {\"name\": \"f\", \"file\": \"/k.py\", \"children\": [{\"iter\": "
    "{\"var\": \"i\", \"val\": \"0\", \"line\": 2, \"children\": [{\"inst\": {\"name\": "
    "\"inst.1\", \"line\": 3}}, {\"inst\": {\"name\": \"inst.4\", \"line\": 4}}]}}]}}]}]";

static void check_levels(const struct ntk_neff_debug *debug)
{
    for (size_t i = 1; i < debug->hlo_count; i++) {
        require(debug->hlos[i - 1].id < debug->hlos[i].id);
    }
    for (size_t i = 1; i < debug->framework_count; i++) {
        require(debug->frameworks[i - 1].id < debug->frameworks[i].id);
    }
    for (size_t i = 0; i < debug->hlo_count; i++) {
        const struct ntk_neff_hlo *hlo = &debug->hlos[i];
        const char *name = ntk_neff_debug_framework(debug, hlo->framework_id);

        require(ntk_neff_debug_hlo(debug, hlo->id) == hlo);
        require(strlen(hlo->text) + strlen(hlo->op_type) + strlen(hlo->file) < SIZE_MAX);
        require(!name || strlen(name) < SIZE_MAX);
    }
    for (size_t i = 0; i < debug->instruction_count; i++) {
        const struct ntk_neff_debug_instruction *one = &debug->instructions[i];

        for (uint32_t h = 0; h < one->hlo_count; h++) {
            (void)ntk_neff_debug_hlo(debug, debug->hlo_ids[one->hlo_first + h]);
        }
        require(!one->penguin_text || strlen(one->penguin_text) < SIZE_MAX);
    }
}

/* However often a list names the tree, each slot has at most one of its instructions. */
static void check_trees(const struct ntk_neff_positions *positions)
{
    struct ntk_buf text = { 0 };
    size_t in_tree = 0;

    for (int64_t s = 0; s < SLOTS; s++) {
        const struct ntk_neff_position *at =
            ntk_neff_position_get(positions, 0, NTK_ISA_ENGINE_PE, s);

        in_tree += at && at->instruction;
        require(!at || at->instruction <= positions->kernel.instructions.count);
        ntk_neff_position_path_add(positions, at, &text);
        (void)ntk_neff_position_line_add(positions, at, &text);
    }
    require(in_tree == positions->kernel_count);
    for (size_t t = 0; t < positions->kernel.trees.count; t++) {
        require(positions->tree_cores[t] == 0 ||
                positions->tree_cores[t] == NTK_NEFF_POSITION_CORE_NONE);
    }
    ntk_buf_fini(&text);
}

static void read_all(const struct ntk_neff *neff)
{
    struct ntk_neff_subgraph subgraph = { .name = "sg00", .folder = "sg00" };
    struct ntk_neff_positions *positions = NULL;
    struct ntk_neff_debug *debug = NULL;

    subgraph.engines[NTK_ISA_ENGINE_PE].code_bytes = (size_t)SLOTS * NTK_ISA_SLOT_BYTES;
    (void)ntk_neff_debug_create(neff, &subgraph, &debug, NULL);
    if (debug) {
        check_levels(debug);
    }
    require(ntk_neff_positions_create(neff, &debug, 1, &positions) == 0);
    if (positions) {
        check_trees(positions);
    }
    ntk_neff_positions_destroy(positions);
    ntk_neff_debug_destroy(debug);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    static char names[MEMBERS][64] = {
        "debug_info/debug_info_penguin.dbg_sg000000",
        "debug_info/debug_info_hlo.dbg_sg000000",
        "debug_info/debug_info_pttf.dbg_sg000000",
        "sg00/debug_info_backend_DMA.dbg",
        "kernel_debug_info.json",
        "sg00/debug_info_asm_PE.dbg",
        "sg00/debug_info_backend_PE.dbg",
        "k.klir.debuginfo.json",
    };
    static const struct {
        const void *bytes;
        size_t count;
    } intact[MEMBERS] = { [ANY] = { assembly, sizeof assembly },
                          { backend, sizeof backend },
                          { tree, sizeof tree - 1 } };
    struct neff_private data = { .budget = 1 << 24 };
    struct ntk_neff neff = { .member_count = MEMBERS, .private_data = &data };
    struct ntk_neff_member members[MEMBERS] = { 0 };

    if (count < 8) {
        return 0;
    }
    const uint8_t *from = bytes + 8;
    size_t left = count - 8;
    for (int i = 0; i < MEMBERS; i++) { /* each alone, so that a byte too far is found */
        size_t size = i < ANY - 1 ? bytes[2 * i] | (size_t)bytes[2 * i + 1] << 8 : left;
        size = size < left ? size : left;
        size = i < ANY ? size : intact[i].count;
        members[i] = (struct ntk_neff_member){ .name = names[i],
                                               .bytes = malloc(size ? size : 1),
                                               .bytes_count = size };
        require(members[i].bytes != NULL);
        memcpy(members[i].bytes, i < ANY ? (const void *)from : intact[i].bytes, size);
        from += i < ANY ? size : 0;
        left -= i < ANY ? size : 0;
        require(ntk_map_put(&data.members, names[i], &members[i]) == 0);
    }
    read_all(&neff);
    ntk_map_fini(&data.members);
    for (int i = 0; i < MEMBERS; i++) {
        free(members[i].bytes);
    }
    return 0;
}
