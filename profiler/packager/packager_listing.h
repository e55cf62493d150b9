/* SPDX-License-Identifier: MIT */
/*
 * packager_listing - the program of one engine, instruction by instruction, in any encoding, for
 * disasm.
 *
 * Owner:   caller's storage, zeroed is empty; _begin once for each subgraph, _end frees. The NEFF
 *          is borrowed.
 */
#ifndef NTK_PROFILER_PACKAGER_PACKAGER_LISTING_H
#define NTK_PROFILER_PACKAGER_PACKAGER_LISTING_H

#include "profiler/packager/packager_figures.h"
#include "shared/base/buf.h"
#include "shared/formats/neff/neff.h"
#include "shared/formats/neff/neff_positions.h"
#include "shared/formats/neff/vendor_names.h"

struct packager_listing {
    const struct ntk_neff *neff;
    const struct ntk_neff_kelf *kelf;
    const struct ntk_neff_subgraph *subgraph;
    struct ntk_vendor_names names;        /* names by a vendor's compiler */
    struct ntk_neff_debug *debug;         /* NULL: missing or damaged */
    struct ntk_neff_positions *positions; /* of its instructions, as core 0; NULL: none */
};

/* One instruction; texts live until the next one. */
struct packager_instruction {
    size_t slot;          /* of 64 bytes, from the start of the binary */
    const char *opcode;   /* "tensor_copy", "MATMUL", "OP_0x95" */
    const char *operands; /* a vendor's as in the original tool, including blanks */
    const char *name;     /* layer, or name in the compiler's back end; "": none */
    bool has_bir_id;      /* of a vendor's */
    uint64_t bir_id;
    const char *statement; /* tensor, type and loop variables of the source; NULL: unknown */
    const struct ntk_neff_positions *positions;
    const struct packager_figures *figures; /* for a vendor's; NULL: unknown layout */
    const struct ntk_neff_position *at;     /* line of the source; NULL: unknown */
};

/* 0 or -ENOMEM. Damaged names are omitted, with a message in *out_warning, else "". */
int packager_listing_begin(struct packager_listing *listing, const struct ntk_neff *neff,
                           const struct ntk_neff_kelf *kelf,
                           const struct ntk_neff_subgraph *subgraph, struct ntk_err *out_warning);
void packager_listing_end(struct packager_listing *listing);

/* Finds the source line of the instruction at its slot. */
void packager_listing_locate(const struct packager_listing *listing, enum ntk_isa_engine which,
                             struct packager_instruction *instruction);
/* Whether the engine's code has a hardware encoding. */
bool packager_engine_is_vendor(const struct ntk_neff_engine *engine);
/* Calls `each` for every instruction of an engine in order. -EBADMSG with a message for an invalid
 * program of ours, -ENOMEM, or a negative result of `each`. */
int packager_listing_each(const struct packager_listing *listing, enum ntk_isa_engine which,
                          int (*each)(const struct packager_instruction *instruction, void *ctx),
                          void *ctx, struct ntk_err *err);

#endif
