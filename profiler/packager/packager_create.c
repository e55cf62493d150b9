/* SPDX-License-Identifier: MIT */
/* neuron-packager create: creates a NEFF from a folder of members. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/packager/packager.h"
#include "shared/base/fs.h"
#include "shared/base/opt.h"
#include "shared/base/str.h"
#include "shared/base/vec.h"
#include "shared/formats/neff/neff_build.h"
#include "shared/formats/neff/neff_layout.h"

#define DEPTH_MAX 16
#define MEMBER_BYTES_MAX (UINT64_C(16) << 30)

static const char *input;
static const char *output;
static const char *name;
static const char *version;
static const char *kelf_version;
static const char *features;
/* Default: value from the header that unpack wrote, else a constant. */
#define NOT_GIVEN UINT64_MAX
static uint64_t pkg_version = NOT_GIVEN;
static uint64_t tpb_count = NOT_GIVEN;
static uint64_t lnc = NOT_GIVEN;
static bool uncompressed;

static const struct ntk_opt options[] = {
    { 'i', "input", "FOLDER", NTK_OPT_TEXT, &input, "read the members from this folder" },
    { 'o', "output", "FILE", NTK_OPT_TEXT, &output, "write the NEFF to FILE" },
    { 'n', "name", "NAME", NTK_OPT_TEXT, &name, "set the network name (default: the file's name)" },
    { 'v', "neff-version", "MAJOR.MINOR", NTK_OPT_TEXT, &version,
      "set the NEFF version (default 2.0)" },
    { 'k', "kelf-version", "TEXT", NTK_OPT_TEXT, &kelf_version,
      "set the build version text of the header" },
    { 'r', "package-version", "N", NTK_OPT_U64, &pkg_version,
      "write package version 1 or 2 (default 2)" },
    { 't', "tpb-count", "N", NTK_OPT_U64, &tpb_count, "request this many cores (default 1)" },
    { 'e', "features", "MASK", NTK_OPT_TEXT, &features,
      "set the feature bits, a number such as 0xc00" },
    { 0, "lnc", "N", NTK_OPT_U64, &lnc,
      "set the number of physical cores per logical core: 1 or 2 (default 1)" },
    { 0, "uncompressed", 0, NTK_OPT_FLAG, &uncompressed, "write a plain tar payload" },
    NTK_OPT_COMMON_COMPLETION,
    NTK_OPT_COMMON_VERSION,
    NTK_OPT_COMMON_HELP,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-packager create",
    .usage = "-i FOLDER -o FILE [OPTION]...",
    .summary =
        "Creates a NEFF from a folder in the layout that unpack writes. Options override "
        "neff.header; neff.tgz is ignored. The result is verified and kept only if it is valid.",
    .options = options,
};

static int add_folder(const char *folder, const char *prefix, int depth, struct ntk_vec *members,
                      struct ntk_err *err);

static int add_entry(const char *folder, const char *prefix, const char *entry, int depth,
                     struct ntk_vec *members, struct ntk_err *err)
{
    struct ntk_neff_pack_member *member;
    char path[4096];
    char member_name[NTK_NEFF_MEMBER_NAME_MAX];
    struct stat status;
    uint8_t *bytes;
    size_t count;
    int ret;

    if (snprintf(path, sizeof path, "%s/%s", folder, entry) >= (int)sizeof path ||
        snprintf(member_name, sizeof member_name, "%s%s", prefix, entry) >=
            (int)sizeof member_name) {
        return ntk_err_set(err, -ENAMETOOLONG, NTK_ERR_NO_OFFSET, "%s: the path is too long",
                           entry);
    }
    if (lstat(path, &status) < 0) {
        return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "%s: %s", path, strerror(errno));
    }
    if (S_ISDIR(status.st_mode)) {
        char below[NTK_NEFF_MEMBER_NAME_MAX + 1];

        snprintf(below, sizeof below, "%s/", member_name);
        return add_folder(path, below, depth + 1, members, err);
    }
    if (!S_ISREG(status.st_mode)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s: neither a file nor a folder",
                           path);
    }
    if (strcmp(member_name, "neff.tgz") == 0 || strcmp(member_name, PACKAGER_HEADER_FILE) == 0) {
        return 0;
    }
    ret = ntk_fs_read(path, MEMBER_BYTES_MAX, &bytes, &count, err);
    if (ret < 0) {
        return ret;
    }
    member = ntk_vec_add(members);
    if (member) {
        member->bytes = bytes;
        member->bytes_count = count;
        member->name = strdup(member_name);
    } else {
        free(bytes);
    }
    return member && member->name ? 0 : ntk_err_no_memory(err);
}

static int add_folder(const char *folder, const char *prefix, int depth, struct ntk_vec *members,
                      struct ntk_err *err)
{
    struct dirent *entry;
    DIR *dir;
    int ret = 0;

    if (depth > DEPTH_MAX) {
        return ntk_err_set(err, -ELOOP, NTK_ERR_NO_OFFSET, "%s: folders are nested too deeply",
                           folder);
    }
    dir = opendir(folder);
    if (!dir) {
        return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "%s: %s", folder, strerror(errno));
    }
    while (ret == 0 && (entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            ret = add_entry(folder, prefix, entry->d_name, depth, members, err);
        }
    }
    closedir(dir);
    return ret;
}

/* Orders members: info.json first, neff.json last, the rest by name, so that the same folder always
 * produces the same file. */
static int rank(const char *member)
{
    return strcmp(member, "info.json") == 0 ? 0 : strcmp(member, "neff.json") == 0 ? 2 : 1;
}

static int compare(const void *a, const void *b)
{
    const struct ntk_neff_pack_member *left = a;
    const struct ntk_neff_pack_member *right = b;
    int difference = rank(left->name) - rank(right->name);

    return difference ? difference : strcmp(left->name, right->name);
}

static bool parse_version(struct ntk_neff_header *header)
{
    char text[64];
    char *dot;

    if (!ntk_str_copy(text, sizeof text, version)) {
        return false;
    }
    dot = strchr(text, '.');
    if (!dot) {
        return ntk_str_parse_u64(text, &header->version_major) == 0;
    }
    *dot = '\0';
    return ntk_str_parse_u64(text, &header->version_major) == 0 &&
           ntk_str_parse_u64(dot + 1, &header->version_minor) == 0;
}

static bool is_within(uint64_t given, uint64_t largest)
{
    return given == NOT_GIVEN || (given >= 1 && given <= largest);
}

/* Reads the header of the NEFF from which the folder was unpacked, else uses defaults. */
static int header_begin(struct ntk_neff_header *header, struct ntk_err *err)
{
    char path[4096];
    uint8_t *bytes = NULL;
    size_t count = 0;

    *header = (struct ntk_neff_header){ .pkg_version = 2,
                                        .version_major = 2,
                                        .num_tpb = 1,
                                        .requested_tpb_count = 1,
                                        .tpb_per_node = { 1 },
                                        .lnc_size = 1 };
    snprintf(path, sizeof path, "%s/" PACKAGER_HEADER_FILE, input);
    if (access(path, F_OK) < 0) {
        return 0;
    }
    int ret = ntk_fs_read(path, NTK_NEFF_HEADER_BYTES, &bytes, &count, err);
    if (ret == 0 && count != NTK_NEFF_HEADER_BYTES) {
        ret = ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s: invalid NEFF header", path);
    }
    if (ret == 0) {
        *header = ntk_neff_header_of(bytes);
        header->name[sizeof header->name - 1] = '\0';
    }
    free(bytes);
    return ret;
}

int packager_create(int argc, char **argv)
{
    struct ntk_vec members = NTK_VEC_INIT(struct ntk_neff_pack_member);
    struct ntk_neff_header header = { 0 };
    struct ntk_neff *check = NULL;
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;
    size_t count = 0;
    int first = ntk_opt_parse(&program, argc, argv);
    int ret;

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (first != argc) {
        return ntk_opt_argument_error(&program, NULL, argv[first]);
    }
    if (!input || !output) {
        return ntk_opt_usage_error(&program, "no %s: use --%s", input ? "output" : "input",
                                   input ? "output FILE" : "input FOLDER");
    }
    if (header_begin(&header, &err) < 0) {
        return packager_fail(&err);
    }
    if (version && !parse_version(&header)) {
        return ntk_opt_usage_error(
            &program, "invalid value '%s' for --neff-version: expected MAJOR.MINOR", version);
    }
    if (!is_within(pkg_version, 2)) {
        return ntk_opt_usage_error(&program, "--package-version must be 1 or 2");
    }
    if (features && ntk_str_parse_u64(features, &header.feature_bits) < 0) {
        return ntk_opt_usage_error(
            &program, "invalid value '%s' for --features: expected a number such as 0xc00",
            features);
    }
    if (!is_within(lnc, 2) || !is_within(tpb_count, 64)) {
        return ntk_opt_usage_error(&program, !is_within(lnc, 2)
                                                 ? "--lnc must be 1 or 2"
                                                 : "--tpb-count must be between 1 and 64");
    }
    if (pkg_version != NOT_GIVEN) {
        header.pkg_version = pkg_version;
    }
    if (tpb_count != NOT_GIVEN) {
        header.num_tpb = (uint32_t)tpb_count;
        header.requested_tpb_count = (uint32_t)tpb_count;
        memset(header.tpb_per_node, 0, sizeof header.tpb_per_node);
        header.tpb_per_node[0] = (uint8_t)tpb_count;
    }
    if (lnc != NOT_GIVEN) {
        header.lnc_size = (uint32_t)lnc;
    }
    if (name || !header.name[0]) {
        ntk_str_copy(header.name, sizeof header.name, name ? name : ntk_str_base_name(output));
    }
    if (kelf_version) {
        ntk_str_copy(header.build_version, sizeof header.build_version, kelf_version);
    }

    ret = add_folder(input, "", 0, &members, &err);
    if (ret == 0 && members.count == 0) {
        ret = ntk_err_set(&err, -ENOENT, NTK_ERR_NO_OFFSET, "%s: no members", input);
    }
    if (ret < 0) {
        goto out;
    }
    ntk_vec_sort(&members, compare);
    ret = ntk_neff_pack(&header, members.items, members.count, !uncompressed, &bytes, &count, &err);
    if (ret < 0) {
        goto out;
    }
    ret = ntk_neff_open_bytes(bytes, count, &check, &err);
    if (ret < 0) {
        ntk_err_prefix(&err, "cannot create a NEFF from %s", input);
        goto out;
    }
    ret = ntk_fs_write(output, bytes, count, &err);

out:
    ntk_neff_close(check);
    for (size_t i = 0; i < members.count; i++) {
        struct ntk_neff_pack_member *member = ntk_vec_at(&members, i);

        free((char *)member->name);
        free((void *)member->bytes);
    }
    ntk_vec_fini(&members);
    free(bytes);
    return ret < 0 ? packager_fail(&err) : 0;
}
