/* SPDX-License-Identifier: MIT */
/* neff_debug_private - the state of reading all debug members once; shared by the files of
 * neff_debug. */
#ifndef NTK_SHARED_FORMATS_NEFF_NEFF_DEBUG_PRIVATE_H
#define NTK_SHARED_FORMATS_NEFF_NEFF_DEBUG_PRIVATE_H

#include "shared/base/buf.h"
#include "shared/base/vec.h"
#include "shared/formats/common/protobuf.h"
#include "shared/formats/neff/neff_debug.h"

#define NEFF_DEBUG_ID_END (UINT64_C(1) << NTK_NEFF_DEBUG_ID_BITS)

/* Field numbers of a member and of its entries. */
enum {
    FIELD_ENTRY = 3,
    FIELD_FILE = 5,
    FIELD_KERNEL = 7,
    FIELD_ASM_BIR_IDS = 3,
    FIELD_ID = 1,
    FIELD_TEXT = 2,
    FIELD_PENGUIN_IDS = 3, /* in a back-end entry; in a middle-end entry, HLO ids */
    FIELD_PREDECESSORS = 4,
    FIELD_ENFORCED = 5,
    FIELD_PAIR = 7, /* repeated {1: key, 2: value} */
    FIELD_FRAME = 8,
    FIELD_KINDS = 9,
    FIELD_ENFORCED_KINDS = 10,
};
#define NEFF_DEBUG_FIELDS (FIELD_ENFORCED_KINDS + 1)

/* A middle-end instruction. Texts are positions until all texts are read; position 0 is "". */
struct debug_penguin {
    uint64_t id;
    size_t text_at;
    size_t hlo_first, hlo_count;
};

struct debug_pair {
    const struct ntk_protobuf_field *key, *value;
};

struct debug_reader {
    struct ntk_neff_debug *debug;
    /* elements are struct ntk_neff_debug_instruction; name is 1 + position in texts */
    struct ntk_vec instructions;
    struct ntk_vec predecessors; /* struct ntk_neff_predecessor */
    struct ntk_vec penguins;     /* struct debug_penguin */
    struct ntk_vec hlo_ids;      /* uint64_t */
    struct ntk_vec hlos;         /* struct ntk_neff_hlo */
    struct ntk_vec frameworks;   /* struct ntk_neff_framework */
    struct ntk_buf texts;
    uint64_t memory_left; /* in bytes, for all lists together */
    /* The member that is being read. */
    const struct ntk_neff_member *member;
    struct ntk_vec slots;
    struct ntk_vec files, kernels; /* elements are size_t: positions in texts */
    size_t entry_count;
    struct ntk_err *err;
};

int neff_debug_damaged(struct debug_reader *r, const uint8_t *at, const char *what);
int neff_debug_add_text(struct debug_reader *r, const struct ntk_protobuf_field *field,
                        size_t *out_at);
/* Reads the first number of a packed list that is an id; -ENOENT if the list is empty. */
int neff_debug_first_id(struct debug_reader *r, const struct ntk_protobuf_field *list,
                        uint64_t *out_id);
/* Reads the needed fields of an entry, the last one of each number; calls pair for each
 * FIELD_PAIR. */
int neff_debug_fields(struct debug_reader *r, const struct ntk_protobuf_field *entry,
                      struct ntk_protobuf_field fields[NEFF_DEBUG_FIELDS],
                      int (*pair)(struct debug_reader *r, struct debug_pair pair, void *ctx),
                      void *ctx);
/* Reads every entry of a member, and its tables of files and kernels. */
int neff_debug_member(struct debug_reader *r, const struct ntk_neff_member *member,
                      int (*read_entry)(struct debug_reader *r,
                                        const struct ntk_protobuf_field *entry));
static inline const char *neff_debug_text(const struct debug_reader *r, size_t at)
{
    return (const char *)r->texts.bytes + at;
}
/* The text at the position that a pointer contains until all texts are read. */
static inline const char *neff_debug_text_of(const struct debug_reader *r, const char *place)
{
    return neff_debug_text(r, (uintptr_t)place);
}
bool neff_debug_is(const struct ntk_protobuf_field *field, const char *text);

/* In neff_debug_hlo.c. number is the one in the members' names. */
int neff_debug_read_hlo(struct debug_reader *r, const struct ntk_neff *neff, uint32_t number);
void neff_debug_finish_hlo(struct debug_reader *r);

#endif
