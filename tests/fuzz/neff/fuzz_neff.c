/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a NEFF, as its archive, as instructions, or as a constant: the first byte chooses. A
 * file is opened twice, the second time with constants at another address: both must agree. Seeds
 * are uncompressed, so that a changed byte reaches the parsers.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/formats/neff/neff.h"
#include "shared/formats/neff/neff_layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* Reads what a loader would read; the sum prevents the compiler from removing it. */
static uint64_t walk(const struct ntk_neff *neff)
{
    uint64_t sum = 0;

    for (uint32_t k = 0; k < neff->kelf_count; k++) {
        for (uint32_t s = 0; s < neff->kelfs[k].subgraph_count; s++) {
            const struct ntk_neff_subgraph *subgraph = &neff->kelfs[k].subgraphs[s];
            struct ntk_neff_sizes sizes;

            ntk_neff_subgraph_sizes(subgraph, &sizes);
            sum += sizes.code + sizes.constants;
            for (uint32_t v = 0; v < subgraph->var_count; v++) {
                const struct ntk_neff_var *var = &subgraph->vars[v];

                sum += strlen(var->name);
                if (var->data_bytes > 0) {
                    sum += var->data[var->data_bytes - 1];
                }
            }
        }
    }
    for (uint32_t i = 0; i < neff->node_count; i++) {
        for (uint32_t k = 0; k < neff->nodes[i].input_count; k++) {
            sum += strlen(ntk_neff_tensor_get(neff, neff->nodes[i].inputs[k])->name);
        }
    }
    return sum;
}

/* Memory of exactly the requested size; freed when the file is closed. */
struct landed {
    void *blocks[64];
    size_t count;
};

static void *land(void *ctx, const char *member, uint64_t bytes_count, uint64_t alignment,
                  bool *out_is_there)
{
    struct landed *landed = ctx;

    (void)member;
    (void)alignment;
    (void)out_is_there;
    if (landed->count == sizeof landed->blocks / sizeof *landed->blocks || bytes_count > 1 << 20) {
        return NULL;
    }
    landed->blocks[landed->count] = malloc(bytes_count);
    return landed->blocks[landed->count++];
}

static void try_landing(const uint8_t *bytes, size_t count, int expected, uint64_t expected_sum)
{
    struct landed landed = { .count = 0 };
    struct ntk_neff_landing landing = { .take = land, .ctx = &landed };
    struct ntk_neff_open_options options = { .landing = &landing, .check_hash = true };
    enum ntk_neff_hash hash;
    struct ntk_neff *neff = NULL;

    if (ntk_neff_open_with(bytes, count, &options, &neff, NULL) != expected ||
        (neff &&
         (walk(neff) != expected_sum || ntk_neff_hash_check(bytes, count, &hash, NULL) != 0 ||
          (hash == NTK_NEFF_HASH_MATCHES) != (neff->hash == NTK_NEFF_HASH_MATCHES)))) {
        abort();
    }
    ntk_neff_close(neff);
    while (landed.count > 0) {
        free(landed.blocks[--landed.count]);
    }
}

static void try_file(const uint8_t *bytes, size_t count)
{
    struct ntk_neff *neff = NULL;
    enum ntk_neff_hash hash;
    struct ntk_err err = { 0 };
    uint64_t sum = 0;
    int ret = ntk_neff_open_bytes(bytes, count, &neff, &err);

    if (ret == 0) {
        sum = walk(neff);
        ntk_neff_close(neff);
    } else if (err.text[0] == '\0') {
        abort(); /* every rejection has a message */
    }
    (void)ntk_neff_hash_check(bytes, count, &hash, NULL);
    try_landing(bytes, count, ret, sum);
}

static void try_archive(const uint8_t *bytes, size_t count)
{
    uint8_t *file = calloc(1, NTK_NEFF_HEADER_BYTES + count);

    if (!file) {
        return;
    }
    file[0] = 2;
    file[9] = 4; /* header_size 1024 */
    for (int i = 0; i < 8; i++) {
        file[16 + i] = (uint8_t)((uint64_t)count >> 8 * i);
    }
    memcpy(file + NTK_NEFF_HEADER_BYTES, bytes, count);
    try_file(file, NTK_NEFF_HEADER_BYTES + count);
    free(file);
}

static void try_code(enum ntk_isa_engine engine, const uint8_t *bytes, size_t count)
{
    size_t at = 0;

    while (at < count) {
        struct ntk_isa_instr instr;
        uint8_t again[NTK_ISA_INSTR_BYTES_MAX];
        size_t slots;
        size_t slots_again;

        if (ntk_isa_decode(bytes + at, count - at, engine, &instr, &slots, NULL) != 0) {
            return;
        }
        if (ntk_isa_encode(&instr, engine, again, &slots_again, NULL) != 0 ||
            slots_again != slots || memcmp(again, bytes + at, slots * NTK_ISA_SLOT_BYTES) != 0) {
            abort();
        }
        at += slots * NTK_ISA_SLOT_BYTES;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct ntk_neff_npy npy;

    if (count < 2) {
        return 0;
    }
    switch (bytes[0] % 4) {
    case 0:
        try_file(bytes + 1, count - 1);
        break;
    case 1:
        try_archive(bytes + 1, count - 1);
        break;
    case 2:
        try_code((enum ntk_isa_engine)(bytes[1] % NTK_ISA_ENGINE_COUNT), bytes + 2, count - 2);
        break;
    default:
        (void)ntk_neff_npy_read(bytes + 1, count - 1, &npy, NULL);
        break;
    }
    return 0;
}
