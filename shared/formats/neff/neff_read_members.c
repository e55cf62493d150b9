/* SPDX-License-Identifier: MIT */
/*
 * neff_read_members - selects the members of the archive that are kept in memory.
 *
 * A payload can inflate to a thousand times its size, and the reference to a member may come after
 * it. So the first pass keeps members within a limit that depends on the size of the payload. If
 * they did not fit, further passes fetch the referenced members, from neff.json downwards, one pass
 * for each level; other members are never in memory. Everything must fit into free memory.
 * Constants, code and inputs may have any size below that, because a core needs all of them;
 * everything else must fit into the NEFF's budget.
 */
#include "shared/formats/neff/neff_read_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/memory.h"
#include "shared/base/str.h"

/* Memory for members that are kept before their references are known, as a multiple of the
 * payload. */
#define ROOM_PER_PAYLOAD 2
#define ROOM_BYTES (UINT64_C(24) << 20)
/* Amount that may be allocated without checking free memory. */
#define MEMORY_UNASKED (UINT64_C(16) << 20)
/* Number of passes: neff.json, kelf, def.json, engine JSON, and the tables that engine JSON
 * names. */
#define STEPS_MAX 8

/* The reason to keep a member; the larger one wins. */
enum want { WANT_NOTHING, WANT_CONTENT, WANT_PAYLOAD };

/* State of one pass over the archive. */
struct look {
    struct reader *r;
    const struct ntk_neff_open_options *options;
    const uint8_t *payload;
    struct neff_lander lander;
    struct neff_hasher hasher;
    uint64_t room;      /* bytes left for members without a known reference */
    bool has_omissions; /* some member did not fit */
    uint8_t *wanted;    /* enum want by member index; NULL in the first pass */
    bool *walked;
    /* a needed member that is larger than the available memory; the name is kept */
    const char *refused;
    bool is_refused_by_us; /* the member is larger than the budget */
};

static const struct ntk_tar_limits limits = { NTK_NEFF_INFLATED_BYTES_MAX, NTK_NEFF_MEMBERS_MAX,
                                              NTK_NEFF_MEMBER_NAME_MAX };

bool neff_memory_has(struct reader *r, uint64_t bytes)
{
    if (r->memory_limit == 0 && r->memory_taken + bytes > MEMORY_UNASKED) {
        r->memory_limit = r->memory_taken + ntk_memory_available() / 4 * 3;
    }
    return r->memory_limit == 0
               ? true
               : r->memory_taken <= r->memory_limit && bytes <= r->memory_limit - r->memory_taken;
}

bool neff_memory_take(struct reader *r, uint64_t bytes)
{
    bool has = neff_memory_has(r, bytes);

    r->memory_taken += has ? bytes : 0;
    return has;
}

static void look_consume(void *ctx, size_t count)
{
    neff_hasher_continue(&((struct look *)ctx)->hasher, count);
}

static void look_land(void *ctx, const struct ntk_tar_member *members, size_t member_count,
                      struct ntk_tar_landing *landing)
{
    struct look *look = ctx;

    if (!look->wanted || look->wanted[member_count]) {
        neff_lander_land(&look->lander, members, member_count, landing);
    }
}

static bool look_keep(void *ctx, size_t index, const char *name, uint64_t bytes_count)
{
    struct look *look = ctx;

    if (look->wanted) {
        bool is_over = look->wanted[index] == WANT_CONTENT && bytes_count > look->r->data->budget;

        if (look->wanted[index] && (is_over || !neff_memory_take(look->r, bytes_count))) {
            look->is_refused_by_us |= !look->refused && is_over;
            look->refused = look->refused ? look->refused : neff_keep_text(look->r, name);
            return false;
        }
        look->r->data->budget -= look->wanted[index] == WANT_CONTENT ? bytes_count : 0;
        return look->wanted[index];
    }
    if (bytes_count > look->room || bytes_count > look->r->data->budget ||
        !neff_memory_take(look->r, bytes_count)) {
        look->has_omissions = true;
        return false;
    }
    look->room -= bytes_count;
    look->r->data->budget -= bytes_count;
    return true;
}

/* For code that is not needed, checks only whether it exists. */
static int look_pass(void *ctx, const char *name, const uint8_t *block, size_t bytes_count,
                     bool is_last, struct ntk_err *err)
{
    struct look *look = ctx;
    struct ntk_map *filled = &look->r->data->filled;

    (void)is_last;
    if (neff_is_all_zero(block, bytes_count) || ntk_map_get(filled, name)) {
        return 0;
    }
    return ntk_map_put(filled, name, look) < 0 ? ntk_err_no_memory(err) : 0;
}

/* Reads the archive. The first pass also computes the hash of the payload. */
static int look_read(struct look *look, struct ntk_tar *out_tar)
{
    const struct ntk_neff_open_options *options = look->options;
    bool check_hash = options->check_hash && !look->wanted;
    struct ntk_tar_hooks hooks = { .land = options->landing ? look_land : NULL,
                                   .land_bytes_min =
                                       options->landing ? options->landing->bytes_min : 0,
                                   .keep = look_keep,
                                   .pass = options->leave_code && !look->wanted ? look_pass : NULL,
                                   .consume = check_hash ? look_consume : NULL,
                                   .ctx = look };
    size_t payload_bytes = (size_t)look->r->neff->header.data_size;

    return ntk_tar_read_with(look->payload, payload_bytes, &limits, &hooks, out_tar, look->r->err);
}

/* ---- references to members ---- */

static void want(struct look *look, const char *name, enum want how)
{
    const struct ntk_neff_member *member = ntk_neff_member_get(look->r->neff, name);

    if (member) {
        uint8_t *wanted = &look->wanted[member - look->r->neff->members];
        *wanted = how > *wanted ? how : *wanted;
    }
}

static void want_below(struct look *look, const char *folder, const char *name, enum want how)
{
    char path[NTK_NEFF_MEMBER_NAME_MAX + 1];
    size_t bytes =
        (size_t)snprintf(path, sizeof path, "%s%s%s", folder, folder[0] ? "/" : "", name);

    if (bytes < sizeof path) {
        want(look, path, how);
    }
}

/* The kind of reference that texts below this key are, if their users need `how`. */
static enum want want_of(const struct look *look, const char *key, enum want how)
{
    if (neff_is_code_key(key)) {
        return look->options->leave_code ? WANT_NOTHING : WANT_PAYLOAD;
    }
    /* Constants of a definition, and code of a CPU node: needed only by programs that run the
     * NEFF. */
    if (strcmp(key, "var") == 0 || strcmp(key, "library") == 0 || strcmp(key, "file_name") == 0) {
        return look->options->leave_constants ? WANT_NOTHING : WANT_PAYLOAD;
    }
    /* Debug members are requested by their names. */
    return ntk_str_ends_with(key, "_dbg") ? WANT_NOTHING : how;
}

/* Marks every text that is the name of a member, relative to the JSON's folder or to the root. */
static void walk(struct look *look, const char *folder, const json_t *value, enum want how)
{
    const char *text = json_string_value(value);
    const char *key;
    json_t *below;
    size_t index;

    if (how == WANT_NOTHING) {
        return;
    }
    if (text) {
        want(look, text, how);
        if (folder[0]) {
            want_below(look, folder, text, how);
        }
    }
    json_array_foreach(value, index, below)
    {
        walk(look, folder, below, how);
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, below)
    {
        walk(look, folder, below, want_of(look, key, how));
    }
}

static int walk_member(struct look *look, const struct ntk_neff_member *member)
{
    struct reader *r = look->r;
    const char *folder = neff_folder_of(r, member->name);
    struct ntk_json_list transfers; /* they name no members */
    json_t *json = NULL;
    int ret = folder ? neff_parse_apart(r, member->name, (const char *)member->bytes,
                                        member->bytes_count, "dma", &json, &transfers)
                     : NO_MEMORY(r);

    if (ret < 0) {
        return ret;
    }
    walk(look, folder, json, WANT_CONTENT);
    neff_json_drop(r, json);
    if (strcmp(ntk_str_base_name(member->name), "def.json") == 0) {
        neff_lander_note(&look->lander, member);
        want_below(look, folder, "tensor_map.json", WANT_CONTENT); /* no other member names it */
    }
    return 0;
}

/* Walks through the needed JSON members that are present. *out_any: there were some. */
static int walk_wanted(struct look *look, bool *out_any)
{
    const struct ntk_neff *neff = look->r->neff;

    for (uint32_t i = 0; i < neff->member_count; i++) {
        const struct ntk_neff_member *member = &neff->members[i];

        if (!look->wanted[i] || look->walked[i] || !member->bytes || member->is_landed ||
            !ntk_str_ends_with(member->name, ".json") ||
            ntk_neff_member_is_kernel_tree(member->name)) {
            continue;
        }
        look->walked[i] = true;
        *out_any = true;
        int ret = walk_member(look, member);
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}

/* Reads the archive again to get needed members that are missing. */
static int fetch(struct look *look)
{
    struct ntk_tar *tar = &look->r->data->tar;
    struct ntk_tar again = { 0 };
    uint8_t *wanted = look->wanted;
    uint8_t *missing = neff_keep(look->r, tar->member_count, sizeof *missing);
    bool is_any = false;
    int ret;

    if (!missing) {
        return NO_MEMORY(look->r);
    }
    for (size_t i = 0; i < tar->member_count; i++) {
        missing[i] = tar->members[i].is_omitted ? wanted[i] : WANT_NOTHING;
        is_any |= missing[i];
    }
    if (!is_any) {
        return 0;
    }
    look->wanted = missing;
    ret = look_read(look, &again);
    look->wanted = wanted;
    if (ret == 0 && look->refused) {
        (void)ntk_err_set(look->r->err, -ENOMEM, NTK_ERR_NO_OFFSET,
                          look->is_refused_by_us ? "%s exceeds " NTK_NEFF_MEMORY_TEXT
                                                 : "%s does not fit in free memory",
                          look->refused);
        ret = -ENOMEM;
    }
    for (size_t i = 0; ret == 0 && i < tar->member_count; i++) {
        if (missing[i]) {
            char *name = tar->members[i].name;

            tar->members[i] = again.members[i];
            tar->members[i].name = name;
            again.members[i] = (struct ntk_tar_member){ .name = again.members[i].name };
        }
    }
    ntk_tar_fini(&again);
    return ret;
}

static bool is_position(const char *name)
{
    return (ntk_neff_member_is_debug(name) && strstr(name, ".dbg")) ||
           ntk_neff_member_is_kernel_tree(name);
}

static int fetch_named(struct look *look)
{
    struct ntk_neff *neff = look->r->neff;
    bool is_any = true;
    int ret = 0;

    look->wanted = neff_keep(look->r, neff->member_count, sizeof *look->wanted);
    look->walked = neff_keep(look->r, neff->member_count, sizeof *look->walked);
    if (!look->wanted || !look->walked) {
        return NO_MEMORY(look->r);
    }
    want(look, "neff.json", WANT_CONTENT);
    want(look, "info.json", WANT_CONTENT);
    for (uint32_t i = 0; i < neff->member_count; i++) {
        const char *name = neff->members[i].name;

        if (look->options->keep_inputs && ntk_str_starts_with(name, "inputs/")) {
            look->wanted[i] = WANT_PAYLOAD;
        } else if (look->options->keep_debug && is_position(name)) {
            look->wanted[i] = WANT_CONTENT;
        }
    }
    for (int step = 0; step < STEPS_MAX && is_any && ret == 0; step++) {
        is_any = false;
        ret = fetch(look);
        if (ret == 0) {
            ret = walk_wanted(look, &is_any);
        }
    }
    return ret;
}

/* ---- all of it ---- */

static int first_pass(struct look *look)
{
    struct reader *r = look->r;
    struct ntk_neff *neff = r->neff;
    struct ntk_tar *tar = &r->data->tar;
    int ret = look_read(look, tar);

    if (ret == 0 && look->options->check_hash) {
        ret = neff_hasher_finish(&look->hasher, &neff->hash, r->err);
    }
    if (ret < 0) {
        return ret;
    }
    neff->is_compressed = tar->is_compressed;
    neff->members = (struct ntk_neff_member *)tar->members;
    neff->member_count = (uint32_t)tar->member_count;
    for (uint32_t i = 0; i < neff->member_count; i++) {
        if (ntk_map_put(&r->data->members, neff->members[i].name, &neff->members[i]) < 0) {
            return NO_MEMORY(r);
        }
    }
    return 0;
}

int neff_read_members(struct reader *r, const uint8_t *payload,
                      const struct ntk_neff_open_options *options)
{
    struct look look = { .r = r,
                         .options = options,
                         .payload = payload,
                         .lander = { .r = r, .landing = options->landing },
                         .room = r->neff->header.data_size * ROOM_PER_PAYLOAD + ROOM_BYTES };
    int ret =
        options->check_hash ? neff_hasher_init(&look.hasher, &r->neff->header, payload, r->err) : 0;

    if (ret == 0) {
        ret = first_pass(&look);
    }
    if (ret == 0 && look.has_omissions) {
        ret = fetch_named(&look);
    }
    neff_lander_fini(&look.lander);
    neff_hasher_fini(&look.hasher);
    return ret;
}
