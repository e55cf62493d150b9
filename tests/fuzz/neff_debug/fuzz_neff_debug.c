/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the debug members of a NEFF: the first two are the length of the member of slots,
 * the third is the number of slots of the program. The rest is the member of instructions, then
 * that of the middle end, half of the remaining bytes each. The result keeps the promises of
 * neff_debug.h.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/formats/neff/neff_debug.h"
#include "shared/formats/neff/neff_read_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void require(bool is_true)
{
    if (!is_true) {
        abort();
    }
}

static void check(const struct ntk_neff_debug *debug, size_t slots)
{
    size_t bytes = 0;

    require(debug->slot_counts[NTK_ISA_ENGINE_PE] == slots);
    for (size_t s = 0; s <= slots; s++) {
        uint64_t id;
        if (ntk_neff_debug_bir_id(debug, NTK_ISA_ENGINE_PE, s, &id)) {
            require(s < slots && id >> NTK_NEFF_DEBUG_ID_BITS == 0);
        }
    }
    for (size_t i = 0; i < debug->instruction_count; i++) {
        const struct ntk_neff_debug_instruction *one = &debug->instructions[i];
        require(ntk_neff_debug_find(debug, one->bir_id) == one);
        bytes += strlen(one->name) + (one->penguin_text ? strlen(one->penguin_text) : 0);
        for (size_t p = 1; p < one->predecessor_count; p++) {
            const struct ntk_neff_predecessor *list = debug->predecessors + one->predecessor_first;
            require(list[p - 1].bir_id < list[p].bir_id);
        }
    }
    require(bytes < SIZE_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    static char names[][64] = { "sg00/debug_info_asm_PE.dbg", "sg00/debug_info_backend_PE.dbg",
                                "debug_info/debug_info_penguin.dbg_sg000000" };
    struct neff_private data = { 0 };
    struct ntk_neff neff = { .member_count = 3, .private_data = &data };
    struct ntk_neff_subgraph subgraph = { .name = "sg00", .folder = "sg00" };
    struct ntk_neff_member members[3] = { 0 };
    struct ntk_neff_debug *debug = NULL;
    struct ntk_err err = { 0 };

    if (count < 3) {
        return 0;
    }
    size_t sizes[3] = { bytes[0] | (size_t)bytes[1] << 8, 0, 0 };
    size_t left = count - 3;
    sizes[0] = sizes[0] < left ? sizes[0] : left;
    sizes[1] = (left - sizes[0]) / 2;
    sizes[2] = left - sizes[0] - sizes[1];
    const uint8_t *from = bytes + 3;
    for (int i = 0; i < 3; i++) { /* each alone, so that a byte too far is found */
        members[i] = (struct ntk_neff_member){ .name = names[i],
                                               .bytes = malloc(sizes[i] + 1),
                                               .bytes_count = sizes[i] };
        memcpy(members[i].bytes, from, sizes[i]);
        members[i].bytes[sizes[i]] = 0;
        from += sizes[i];
        require(ntk_map_put(&data.members, names[i], &members[i]) == 0);
    }
    subgraph.engines[NTK_ISA_ENGINE_PE].code_bytes = (size_t)bytes[2] * NTK_ISA_SLOT_BYTES;
    int ret = ntk_neff_debug_create(&neff, &subgraph, &debug, &err);
    require(ret == 0 ? debug != NULL : !debug && err.text[0]);
    if (debug) {
        check(debug, bytes[2]);
    }
    ntk_neff_debug_destroy(debug);
    ntk_map_fini(&data.members);
    for (int i = 0; i < 3; i++) {
        free(members[i].bytes);
    }
    return 0;
}
