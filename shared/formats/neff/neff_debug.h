/* SPDX-License-Identifier: MIT */
/*
 * neff_debug - names and source lines that a compiler records for instructions: the `.dbg` members
 * of a NEFF. neff_positions.h joins the lines with the kernel tree.
 *
 * Each of them is one protobuf message (docs/formats/neff.md). Levels lead from a slot of an
 * engine's program to what the user wrote:
 *
 *   sgNN/debug_info_asm_<Eng>.dbg         one entry per slot, in order: ids of the next level
 *   sgNN/debug_info_backend_<Eng>.dbg     instructions of the back end (BIR), also <Eng> DMA
 *   debug_info/debug_info_penguin.dbg_sgNNNNNN   instructions of the middle end (Penguin)
 *   debug_info/debug_info_hlo.dbg_sgNNNNNN       operations of XLA, and their source lines
 *   debug_info/debug_info_pttf.dbg_sgNNNNNN      names of the framework
 *
 *   member   field  content
 *   asm      3      repeated entry { 3 packed BIR ids }
 *   backend  3      repeated entry { 1 BIR id, 2 name, 3 packed Penguin ids,
 *                                    4 packed ids of predecessors, 9 packed kinds of these,
 *                                    5 packed ids of those that a semaphore enforces, 10 kinds,
 *                                    7 repeated { 1 key, 2 value } }; keys kernel_file and
 *                                    kernel_name count in the tables, kernel_line counts from 1
 *            5, 7   repeated texts: the tables of files and of kernels, of this member alone
 *   penguin  3      repeated entry { 1 Penguin id, 2 text "float32<128 x 512> $12[i_q_0]",
 *                                    3 packed HLO ids }
 *   hlo      3      repeated entry { 1 HLO id, 2 text "%op0 = dot(%x, %y)", 3 packed framework
 *                                    ids, 7 pairs op_type, source_file, source_line, 8 frame }
 *   pttf     3      repeated entry { 1 framework id, 2 text }
 *
 * A subgraph without the members of its number has those of number 0: cores that share a graph.
 *
 * All other fields are skipped. Lists of kinds may be missing. Ids are below 2^48. Dangling,
 * circular and self references are kept unchanged, because nothing here follows predecessors.
 *
 * Errors:  -EBADMSG a member is damaged, with its name and offset; -ENOMEM. If members of XLA or of
 *          the framework are damaged, only these two are missing: hlo_err.
 * Owner:   ntk_neff_debug_create() allocates, ntk_neff_debug_destroy() frees, including texts.
 * Threads: any; immutable after creation.
 */
#ifndef NTK_SHARED_FORMATS_NEFF_NEFF_DEBUG_H
#define NTK_SHARED_FORMATS_NEFF_NEFF_DEBUG_H

#include "shared/formats/neff/neff.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Maximum number of entries in one member, and of predecessors of all instructions in a
 * subgraph. */
#define NTK_NEFF_DEBUG_ENTRIES_MAX ((size_t)1 << 24)
#define NTK_NEFF_DEBUG_PREDECESSORS_MAX ((size_t)1 << 26)
#define NTK_NEFF_DEBUG_ID_BITS 48

struct ntk_neff_predecessor {
    uint64_t bir_id;
    uint64_t kind; /* 0 if unknown */
};

struct ntk_neff_debug_instruction { /* there may be millions, so without padding */
    uint64_t bir_id;
    const char *name;         /* such as "I-72-0-tc-act"; "" if it has none */
    uint64_t penguin_id;      /* first Penguin id */
    const char *penguin_text; /* NULL if there is none */
    const char *file;         /* source file; NULL if unknown */
    const char *kernel;       /* such as "__main__.attention"; NULL if unknown */
    uint32_t line;            /* counted from 1; 0 if unknown */
    /* index in debug->predecessors, which are sorted by id and unique */
    uint32_t predecessor_first;
    uint32_t predecessor_count;
    uint32_t hlo_first, hlo_count; /* range in debug->hlo_ids */
    bool has_penguin;
};

struct ntk_neff_hlo { /* an XLA operation */
    uint64_t id;
    const char *text;    /* such as "%op0 = dot(%x, %y)"; for a computation, its name */
    const char *op_type; /* "" if there is none; the same for the file */
    const char *file;
    uint32_t line;  /* 0 if unknown */
    uint32_t frame; /* number from 1 in the frames of neff_positions.h; 0 if unknown */
    bool has_framework;
    uint64_t framework_id; /* first framework id */
    const char *framework; /* its name in the framework; NULL if there is none */
};

struct ntk_neff_framework {
    uint64_t id;
    const char *text; /* such as "LlamaDecoderLayer[0]_dot.4" */
};

struct ntk_neff_debug {
    uint32_t subgraph;                               /* number of the subgraph in the kelf */
    size_t instruction_count;                        /* instructions of all engines */
    struct ntk_neff_debug_instruction *instructions; /* sorted by BIR id, unique */
    struct ntk_neff_predecessor *predecessors;
    size_t slot_counts[NTK_ISA_ENGINE_COUNT];
    uint64_t *slots[NTK_ISA_ENGINE_COUNT]; /* for each slot, 1 + its first BIR id; 0: none */
    uint64_t *hlo_ids;
    size_t hlo_count;
    struct ntk_neff_hlo *hlos; /* sorted by id, unique */
    size_t framework_count;
    struct ntk_neff_framework *frameworks; /* sorted by id, unique */
    struct ntk_err hlo_err;                /* empty text: both members are intact */
    /* For dense ids: 1 + index in instructions for each id from first_id on; otherwise NULL. */
    uint32_t *by_id;
    uint64_t first_id;
    size_t by_id_count;
    size_t bad_position_count; /* number of instructions with an invalid line or file */
    void *private_data;
};

/* Sets *out_debug to NULL if the subgraph has no debug members. */
int ntk_neff_debug_create(const struct ntk_neff *neff, const struct ntk_neff_subgraph *subgraph,
                          struct ntk_neff_debug **out_debug, struct ntk_err *err);
void ntk_neff_debug_destroy(struct ntk_neff_debug *debug);

/* Finds the first BIR id of a slot; false if the slot has none, or its engine has no members. */
bool ntk_neff_debug_bir_id(const struct ntk_neff_debug *debug, enum ntk_isa_engine engine,
                           size_t slot, uint64_t *out_bir_id);
/* NULL if no member describes the id. */
const struct ntk_neff_debug_instruction *ntk_neff_debug_find(const struct ntk_neff_debug *debug,
                                                             uint64_t bir_id);
const struct ntk_neff_hlo *ntk_neff_debug_hlo(const struct ntk_neff_debug *debug, uint64_t hlo_id);
/* The framework's name for an operation; NULL if there is none. */
const char *ntk_neff_debug_framework(const struct ntk_neff_debug *debug, uint64_t framework_id);
/* A name such as "FLOW_DEPENDENCE"; NULL for an unknown kind. */
const char *ntk_neff_predecessor_kind_name(uint64_t kind);

#ifdef __cplusplus
}
#endif
#endif
