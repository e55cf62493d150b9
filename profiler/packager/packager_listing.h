/* SPDX-License-Identifier: MIT */
/*
 * packager_listing - lists the program of one engine, instruction by instruction, in any encoding,
 * for disasm.
 *
 * Owner:   the caller provides the storage, zeroed if empty; _begin is called once per subgraph,
 *          _end frees the content. The NEFF is borrowed.
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
    struct ntk_vendor_names names; /* names from a vendor's compiler */
    struct ntk_neff_debug *debug;  /* NULL if missing or damaged */
    /* positions of its instructions, as core 0; NULL if none */
    struct ntk_neff_positions *positions;
};

/* One instruction; texts are valid until the next. */
struct packager_instruction {
    size_t slot;          /* number of 64-byte slots from the start of the binary */
    const char *opcode;   /* such as "tensor_copy", "MATMUL" or "OP_0x95" */
    const char *operands; /* in a vendor's program as in the original tool, including blanks */
    const char *name;     /* layer, or name in the compiler's back end; "" if none */
    bool has_bir_id;      /* for an instruction of a vendor's program */
    uint64_t bir_id;
    const char *statement; /* tensor, type and loop variables in the source; NULL if unknown */
    const struct ntk_neff_positions *positions;
    /* for a vendor's instruction; NULL for an unknown layout */
    const struct packager_figures *figures;
    const struct ntk_neff_position *at; /* line in the source; NULL if unknown */
};

/* Returns 0 or -ENOMEM. Damaged names are omitted, with a message in *out_warning, else "". */
int packager_listing_begin(struct packager_listing *listing, const struct ntk_neff *neff,
                           const struct ntk_neff_kelf *kelf,
                           const struct ntk_neff_subgraph *subgraph, struct ntk_err *out_warning);
void packager_listing_end(struct packager_listing *listing);

/* Finds the source line of the instruction by its slot. */
void packager_listing_locate(const struct packager_listing *listing, enum ntk_isa_engine which,
                             struct packager_instruction *instruction);
/* Returns true if the engine's code has a hardware encoding. */
bool packager_engine_is_vendor(const struct ntk_neff_engine *engine);
/* Calls `each` for every instruction of an engine in order. Returns -EBADMSG with a message for an
 * invalid program in the open encoding, -ENOMEM, or a negative result of `each`. */
int packager_listing_each(const struct packager_listing *listing, enum ntk_isa_engine which,
                          int (*each)(const struct packager_instruction *instruction, void *ctx),
                          void *ctx, struct ntk_err *err);

#endif
