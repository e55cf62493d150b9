/* SPDX-License-Identifier: MIT */
/*
 * neff_read_private - shared by the files of the NEFF reader: memory that lives as long as the
 * NEFF, JSON values with a message on errors, and the reader of each member.
 *
 * Owner:   kept memory lives as long as the NEFF; hasher and lander are init / fini.
 */
#ifndef NTK_SHARED_FORMATS_NEFF_NEFF_READ_PRIVATE_H
#define NTK_SHARED_FORMATS_NEFF_NEFF_READ_PRIVATE_H

#include <errno.h>

#include <jansson.h>
#include <openssl/evp.h>

#include "shared/base/json_place.h"
#include "shared/base/map.h"
#include "shared/base/vec.h"
#include "shared/formats/common/tar.h"
#include "shared/formats/neff/neff.h"

#define ARRAY_MAX (1 << 24)           /* maximum elements of one JSON array */
#define VALUE_MAX (UINT64_C(1) << 48) /* limit for offsets, sizes and steps of transfers */

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

struct neff_private {
    struct ntk_tar tar;
    struct ntk_map members;
    struct ntk_map parsed; /* json_t * of members that were parsed early, with their bytes as key */
    struct ntk_map costs;  /* memory used by each parsed tree, with its json_t * as key */
    struct ntk_map filled; /* names of omitted members that are not all zeros */
    uint64_t budget;       /* memory that texts, trees and records may still take */
    uint64_t work; /* bytes of JSON that may still be parsed, because a member may be named often */
    struct ntk_vec blocks; /* elements are void *: the memory of strings and arrays */
    size_t block_used;     /* bytes used in the last block */
    size_t block_bytes;
};

/* The state of reading. */
struct reader {
    struct ntk_neff *neff;
    struct neff_private *data;
    struct ntk_err *err;
    bool leave_constants;
    bool leave_code;
    bool is_over_budget;
    uint64_t memory_taken; /* bytes that members use */
    uint64_t memory_limit; /* limit for memory_taken; 0: not determined yet */
};

/* Reports bad data. The code is a literal, so that people and tools see that it is negative. */
#define BAD(r, ...) \
    ((void)ntk_err_set((r)->err, -EBADMSG, NTK_ERR_NO_OFFSET, __VA_ARGS__), -EBADMSG)
#define NO_MEMORY(r) (neff_no_memory(r), -ENOMEM)

struct group_reader {
    struct reader *r;
    const struct ntk_neff_subgraph *subgraph;
    struct ntk_map *vars; /* maps a name to struct ntk_neff_var */
    const char *where;    /* path of the engine JSON */
    uint32_t group;
};

/* Reports whether the machine is out of memory or the NEFF's budget is used up. */
void neff_no_memory(struct reader *r);
/* The limit for texts, trees and records of a NEFF of this size. Together with the file itself, it
 * is 4 times the size and 64 MiB. A normal NEFF needs less. */
#define NEFF_BUDGET(file_bytes) ((file_bytes)*3 + (UINT64_C(56) << 20))
bool neff_budget_take(struct reader *r, uint64_t bytes);
/* In neff_read_vars.c: reads a constant from file_name relative to this folder; `where` is its
 * owner, for messages. A size of 0 is replaced by the file's size. */
int neff_read_constant(struct reader *r, const char *where, const char *folder,
                       struct ntk_neff_var *var);
/* In neff_read_vars.c: read the variables and the queue sets of a def.json. */
int neff_read_vars(struct reader *r, struct ntk_neff_subgraph *subgraph, const json_t *def);
int neff_read_queue_sets(struct reader *r, struct ntk_neff_subgraph *subgraph, const json_t *def);
/* In neff_read_subgraph.c: "pe", "act" and so on. */
extern const char *const neff_engine_keys[NTK_ISA_ENGINE_COUNT];
/* In neff_read_subgraph.c: whether this key of a def.json or engine JSON names the code of an
 * engine. */
bool neff_is_code_key(const char *key);
bool neff_is_all_zero(const uint8_t *bytes, size_t count);
/* In neff_read_tables.c: reads the dve_tables of an engine JSON in this folder. */
int neff_read_tables(struct reader *r, const json_t *json, const char *where, const char *folder,
                     struct ntk_neff_engine *engine);
/* Zeroed memory that lives as long as the NEFF; NULL if out of memory. */
void *neff_keep(struct reader *r, size_t count, size_t bytes);
const char *neff_keep_text(struct reader *r, const char *text);
/* Converts integers, integral reals and numbers in texts; false for other values. */
bool neff_number_of(const json_t *value, int64_t *out);
bool neff_is_true(const json_t *value);
/* Reads a number between 0 and max, or returns the fallback if the key is absent. */
int neff_get_u64(struct reader *r, const json_t *object, const char *what, const char *key,
                 uint64_t max, uint64_t fallback, uint64_t *out);
int neff_get_u32(struct reader *r, const json_t *object, const char *what, const char *key,
                 uint32_t max, uint32_t fallback, uint32_t *out);
/* Reads a text that lives as long as the NEFF, or returns the fallback (which may be NULL) if the
 * key is absent. */
int neff_get_text(struct reader *r, const json_t *object, const char *what, const char *key,
                  const char *fallback, const char **out);
/* Reads a list of at most max elements; unless required, an absent list is NULL with 0 elements. */
int neff_get_array(struct reader *r, const json_t *object, const char *what, const char *key,
                   bool required, size_t max, const json_t **out, uint32_t *out_count);
int neff_get_texts(struct reader *r, const json_t *object, const char *what, const char *key,
                   const char ***out, uint32_t *out_count);
/* Parses a member, unless the tree would not fit into memory; neff_json_drop() frees it. */
int neff_parse(struct reader *r, const struct ntk_neff_member *member, json_t **out);
/* Same, for a member with this name. */
int neff_load_json(struct reader *r, const char *name, json_t **out);
/* Same, except for the elements of one list, which may be the largest part: neff_parse_apart()
 * parses them one at a time. list->text is NULL if the name is unknown. */
int neff_load_json_apart(struct reader *r, const char *name, const char *key, json_t **out,
                         struct ntk_json_list *out_list);
int neff_parse_apart(struct reader *r, const char *where, const char *text, size_t bytes_count,
                     const char *key, json_t **out, struct ntk_json_list *out_list);
/* Parses one element, which must be an object. */
int neff_parse_text(struct reader *r, const char *where, const char *text, size_t bytes_count,
                    json_t **out);
void neff_json_drop(struct reader *r, json_t *json); /* accepts NULL */
/* Joins "folder/name" in memory that lives as long as the NEFF. */
const char *neff_join(struct reader *r, const char *folder, const char *name);
/* The folder of a path: "sg00" for "sg00/def.json", "" for "def.json". Lives as long as the
 * NEFF. */
const char *neff_folder_of(struct reader *r, const char *path);
/* Position of text in names; -1 if missing. */
int neff_lookup(const char *text, const char *const *names, size_t count);
/* Reads the dimensions of a shape. Returns 0 and sets *out_ok to false if there are none or too
 * many. */
uint32_t neff_read_dims(const json_t *list, uint64_t *dims, bool *out_ok);

/* In neff_hash.c: computes the hash of the payload step by step. */
struct neff_hasher {
    EVP_MD_CTX *context;
    const struct ntk_neff_header *header;
    const uint8_t *payload;
    size_t count;
    size_t end;  /* position after the last nonzero byte */
    size_t done; /* how many of the bytes before end are hashed */
};

/* Borrows header and payload. */
int neff_hasher_init(struct neff_hasher *hasher, const struct ntk_neff_header *header,
                     const uint8_t *payload, struct ntk_err *err);
/* Hashes the payload up to count, while it is in the cache. */
void neff_hasher_continue(struct neff_hasher *hasher, size_t count);
int neff_hasher_finish(struct neff_hasher *hasher, enum ntk_neff_hash *out_hash,
                       struct ntk_err *err);
/* Returns true if the hash in this file is of another kind and therefore differs. Valid after
 * reading info.json. */
bool neff_hash_is_other_kind(const struct ntk_neff *neff);
void neff_hasher_fini(struct neff_hasher *hasher);

/* In neff_read_members.c: reads the needed members of the archive; during reading, it hashes and
 * lands them according to the options. */
int neff_read_members(struct reader *r, const uint8_t *payload,
                      const struct ntk_neff_open_options *options);
/* Returns true if this many more bytes fit into free memory; _take counts them. */
bool neff_memory_has(struct reader *r, uint64_t bytes);
bool neff_memory_take(struct reader *r, uint64_t bytes);

/* In neff_read_landing.c: members that are inflated directly into their destination. */
struct neff_lander {
    struct reader *r;
    const struct ntk_neff_landing *landing;
    size_t looked;            /* number of members that were checked for definitions */
    struct ntk_map folders;   /* folders with a known def.json */
    struct ntk_map constants; /* maps a path to struct neff_lander_constant * */
};

/* Records the constants of a def.json. */
void neff_lander_note(struct neff_lander *lander, const struct ntk_neff_member *member);
void neff_lander_land(struct neff_lander *lander, const struct ntk_tar_member *members,
                      size_t member_count, struct ntk_tar_landing *landing);
void neff_lander_fini(struct neff_lander *lander);

/* In neff_read_graph.c: reads nodes, entries, inputs and outputs, and the subgraphs of each
 * kernel. */
int neff_read_graph(struct reader *r);

/* In neff_read_dma.c: reads one descriptor group of an engine JSON. */
int neff_read_group(struct group_reader *g, const char *text, size_t bytes_count,
                    struct ntk_neff_dma_group *group);

/* In neff_read_triggers.c: checks that groups with the same id in a function have the same number
 * of descriptors. */
int neff_check_triggers(const struct group_reader *g, const struct ntk_neff_engine *engine);

/* In neff_read_subgraph.c: reads the subgraph that a row of kelf-N.json names. */
int neff_read_subgraph(struct reader *r, const json_t *row, const char *where,
                       struct ntk_neff_subgraph *subgraph);

#endif
