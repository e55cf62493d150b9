/* SPDX-License-Identifier: MIT */
/* neuron-packager optimize: writes a NEFF that loads faster, without debug files and
 * compression. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/packager/packager.h"
#include "shared/base/fs.h"
#include "shared/base/opt.h"
#include "shared/base/str.h"
#include "shared/base/vec.h"
#include "shared/formats/neff/neff.h"
#include "shared/formats/neff/neff_build.h"

static const char *output;
static bool keep_debug;

static const struct ntk_opt options[] = {
    { 'o', "output", "FILE", NTK_OPT_TEXT, &output, "write the result to FILE" },
    { 0, "keep-debug", 0, NTK_OPT_FLAG, &keep_debug, "keep the debug files" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-packager optimize",
    .usage = "[--keep-debug] -o FILE FILE",
    .summary = "Writes a NEFF without debug files and with an uncompressed payload. The "
               "program and the UUID stay the same, so a capture of one also fits the other.",
    .options = options,
};

/* Empties the lists of debug files in def.json. *out_text is NULL if nothing changes. */
static int clear_debug_lists(const struct ntk_tar_member *member, char **out_text,
                             struct ntk_err *err)
{
    json_error_t error;
    json_t *root = json_loadb((const char *)member->bytes, member->bytes_count,
                              JSON_DISABLE_EOF_CHECK, &error);
    const char *key;
    json_t *value;
    bool has_changed = false;

    *out_text = NULL;
    if (!root) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s: %s", member->name, error.text);
    }
    json_object_foreach(root, key, value)
    {
        if (ntk_str_ends_with(key, "_dbg") && json_array_size(value) > 0) {
            has_changed = true;
            json_array_clear(value);
        }
    }
    if (has_changed) {
        *out_text = json_dumps(root, JSON_PRESERVE_ORDER | JSON_INDENT(1));
    }
    json_decref(root);
    return has_changed && !*out_text ? ntk_err_no_memory(err) : 0;
}

/* Takes a member for the result; new texts are added to made. */
static int take(const struct ntk_tar_member *member, struct ntk_vec *members, struct ntk_vec *made,
                struct ntk_err *err)
{
    struct ntk_neff_pack_member packed = { member->name, member->bytes, member->bytes_count };
    char *text = NULL;

    if (!keep_debug &&
        (strcmp(member->name, "def.json") == 0 || ntk_str_ends_with(member->name, "/def.json"))) {
        int ret = clear_debug_lists(member, &text, err);
        if (ret < 0) {
            return ret;
        }
    }
    if (text) {
        packed.bytes = text;
        packed.bytes_count = strlen(text);
        if (ntk_vec_push(made, &text) < 0) {
            free(text);
            return ntk_err_no_memory(err);
        }
    }
    return ntk_vec_push(members, &packed) < 0 ? ntk_err_no_memory(err) : 0;
}

int packager_optimize(int argc, char **argv)
{
    struct ntk_vec members = NTK_VEC_INIT(struct ntk_neff_pack_member);
    struct ntk_vec made = NTK_VEC_INIT(char *);
    struct ntk_neff_header header;
    struct ntk_tar tar = { 0 };
    struct ntk_neff *check = NULL;
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;
    uint8_t *packed = NULL;
    size_t packed_count = 0;
    uint32_t omitted = 0;
    int code;
    const char *path = packager_parse_file(&program, argc, argv, &code);
    int ret;

    if (!path) {
        return code;
    }
    if (!output) {
        return ntk_opt_usage_error(&program, "no output: use --output FILE");
    }
    ret = packager_members_read(path, NULL, &header, &bytes, &tar, &err);
    if (ret < 0) {
        return packager_fail(&err);
    }
    uint64_t before = header.header_size + header.data_size; /* packing writes them again */
    for (size_t i = 0; i < tar.member_count && ret == 0; i++) {
        if (!keep_debug && ntk_neff_member_is_debug(tar.members[i].name)) {
            omitted++;
        } else {
            ret = take(&tar.members[i], &members, &made, &err);
        }
    }
    if (ret == 0) {
        ret = ntk_neff_pack(&header, members.items, members.count, false, &packed, &packed_count,
                            &err);
    }
    if (ret == 0) {
        ret = ntk_neff_open_bytes(packed, packed_count, &check, &err);
    }
    if (ret == 0) {
        ret = ntk_fs_write(output, packed, packed_count, &err);
    }
    if (ret == 0) {
        printf("%s: %zu bytes, was %llu; %u debug files removed\n", output, packed_count,
               (unsigned long long)before, omitted);
    }

    ntk_neff_close(check);
    ntk_tar_fini(&tar);
    ntk_vec_each(char *, text, &made) {
        free(*text);
    }
    ntk_vec_fini(&made);
    ntk_vec_fini(&members);
    free(packed);
    free(bytes);
    return ret < 0 ? packager_fail(&err) : 0;
}
