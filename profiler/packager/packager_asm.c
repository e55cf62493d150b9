/* SPDX-License-Identifier: MIT */
/* neuron-packager asm: assembles engine binaries from a listing into a folder or a NEFF. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/packager/packager.h"
#include "shared/base/buf.h"
#include "shared/base/fs.h"
#include "shared/base/opt.h"
#include "shared/base/str.h"
#include "shared/base/vec.h"
#include "shared/formats/common/tar.h"
#include "shared/formats/neff/isa_text.h"
#include "shared/formats/neff/neff.h"
#include "shared/formats/neff/neff_build.h"

#define LISTING_BYTES_MAX (UINT64_C(4) << 30)
#define ZERO_BYTES_MAX (UINT64_C(1) << 30)

static const char *into;
static const char *output;

static const struct ntk_opt options[] = {
    { 'i', "into", "NEFF", NTK_OPT_TEXT, &into,
      "write a copy of this NEFF with the engine binaries of the listing" },
    { 'o', "output", "PATH", NTK_OPT_TEXT, &output,
      "write the binaries to this folder; with --into, write this NEFF" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-packager asm",
    .usage = "-o FOLDER LISTING\n--into NEFF -o NEFF LISTING",
    .summary = "Creates engine binaries from a listing in the format of neuron-packager disasm.",
    .options = options,
};

struct binary {
    char name[NTK_NEFF_MEMBER_NAME_MAX];
    enum ntk_isa_engine engine;
    struct ntk_buf code;
};

const char *packager_engine_name(enum ntk_isa_engine engine)
{
    static const char *const names[NTK_ISA_ENGINE_COUNT] = { "PE", "Activation", "Pool", "DVE",
                                                             "SP" };

    return names[engine];
}

enum ntk_isa_engine packager_engine_find(const char *name)
{
    static const char *const titles[NTK_ISA_ENGINE_COUNT] = { "Tensor", "Scalar", "GpSimd",
                                                              "Vector", "Sync" };
    int e = 0;

    while (e < NTK_ISA_ENGINE_COUNT && strcmp(name, titles[e]) != 0 &&
           strcmp(name, packager_engine_name((enum ntk_isa_engine)e)) != 0) {
        e++;
    }
    return (enum ntk_isa_engine)e;
}

#define BAD(...) ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, __VA_ARGS__)

/* Parses ".engine NAME MEMBER". */
static int begin_binary(char *words, struct ntk_vec *binaries, struct ntk_err *err)
{
    char *rest = NULL;
    const char *engine = strtok_r(words, " \t\r", &rest);
    const char *member = strtok_r(NULL, " \t\r", &rest);
    struct binary *binary;

    if (!engine || !member || strtok_r(NULL, " \t\r", &rest)) {
        return BAD(".engine requires an engine name and a member name");
    }
    if (!ntk_tar_name_is_inside(member) || strlen(member) >= NTK_NEFF_MEMBER_NAME_MAX) {
        return BAD("invalid member name '%s'", member);
    }
    for (size_t i = 0; i < binaries->count; i++) {
        if (strcmp(((struct binary *)ntk_vec_at(binaries, i))->name, member) == 0) {
            return BAD("%s appears twice", member);
        }
    }
    binary = ntk_vec_add(binaries);
    if (!binary) {
        return ntk_err_no_memory(err);
    }
    ntk_str_copy(binary->name, sizeof binary->name, member);
    for (int e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
        if (strcmp(engine, packager_engine_name((enum ntk_isa_engine)e)) == 0) {
            binary->engine = (enum ntk_isa_engine)e;
            return 0;
        }
    }
    return BAD("unknown engine '%s': expected PE, Activation, Pool, DVE or SP", engine);
}

static int directive(char *line, struct ntk_vec *binaries, struct ntk_err *err)
{
    struct binary *last = binaries->count > 0 ? ntk_vec_at(binaries, binaries->count - 1) : NULL;
    uint64_t bytes;

    line[strcspn(line, ";")] = '\0';
    if (ntk_str_starts_with(line, ".engine ")) {
        return begin_binary(line + strlen(".engine "), binaries, err);
    }
    if (!ntk_str_starts_with(line, ".zero ")) {
        return BAD("unknown directive '%s': expected .engine or .zero", line);
    }
    if (!last) {
        return BAD(".zero before the first .engine");
    }
    line[strcspn(line, "\r")] = '\0';
    if (ntk_str_parse_u64(line + strlen(".zero "), &bytes) < 0 || bytes > ZERO_BYTES_MAX ||
        bytes % NTK_ISA_SLOT_BYTES != 0) {
        return BAD(".zero requires a multiple of %d bytes", NTK_ISA_SLOT_BYTES);
    }
    ntk_buf_add_fill(&last->code, '\0', (size_t)bytes);
    return 0;
}

/* Returns the number of bytes before the next line that starts with a dot. */
static size_t lines_before_directive(const char *text, size_t text_bytes)
{
    size_t at = 0;

    while (at < text_bytes && text[at] != '.') {
        const char *end = memchr(text + at, '\n', text_bytes - at);

        at = end ? (size_t)(end - text) + 1 : text_bytes;
    }
    return at;
}

/* Passes lines between directives to the assembler. */
static int assemble(const char *text, size_t text_bytes, struct ntk_vec *binaries,
                    struct ntk_err *err)
{
    char line[NTK_ISA_LINE_BYTES_MAX];
    unsigned number = 1;
    size_t at = 0;

    while (at < text_bytes) {
        struct binary *last =
            binaries->count > 0 ? ntk_vec_at(binaries, binaries->count - 1) : NULL;
        const char *end = memchr(text + at, '\n', text_bytes - at);
        size_t length = end ? (size_t)(end - (text + at)) : text_bytes - at;
        int ret;

        if (length >= sizeof line) {
            return BAD("line %u: more than %d bytes", number, NTK_ISA_LINE_BYTES_MAX - 1);
        }
        memcpy(line, text + at, length);
        line[length] = '\0';
        if (line[0] == '.') {
            ret = directive(line, binaries, err);
            if (ret < 0) {
                ntk_err_prefix(err, "line %u", number);
            }
        } else if (last) {
            /* Pass all lines up to the next directive together, because labels are known in all of
             * them. */
            length = lines_before_directive(text + at, text_bytes - at);
            ret = ntk_isa_text_parse_program(text + at, length, number, last->engine, &last->code,
                                             err);
            for (size_t i = 0; i < length; i++) {
                number += text[at + i] == '\n';
            }
            end = NULL;
            number--;
        } else if (line[0] == ';' || line[strspn(line, " \t\r")] == '\0') {
            ret = 0;
        } else {
            ret = BAD("line %u: instruction before the first .engine", number);
        }
        if (ret < 0) {
            return ret;
        }
        at += length + (end != NULL);
        number++;
    }
    for (size_t i = 0; i < binaries->count; i++) {
        if (!ntk_buf_ok(&((struct binary *)ntk_vec_at(binaries, i))->code)) {
            return ntk_err_no_memory(err);
        }
    }
    return binaries->count > 0 ? 0 : BAD("missing .engine");
}

/* Returns the name of the file that maps slots, which does not fit another binary: without
 * "sg00/debug_info_asm_PE.dbg", slots of "sg00/PE.bin" have no name or source line. */
static void slots_name(const char *binary, char *buf, size_t buf_bytes)
{
    const char *base = ntk_str_base_name(binary);
    int stem = (int)(strlen(base) - (ntk_str_ends_with(base, ".bin") ? strlen(".bin") : 0));

    snprintf(buf, buf_bytes, "%.*sdebug_info_asm_%.*s.dbg", (int)(base - binary), binary, stem,
             base);
}

static int write_folder(const struct ntk_vec *binaries, struct ntk_err *err)
{
    int ret = 0;

    for (size_t i = 0; i < binaries->count && ret == 0; i++) {
        const struct binary *binary = ntk_vec_at(binaries, i);
        char name[NTK_NEFF_MEMBER_NAME_MAX + 32];
        char path[4096];

        if (snprintf(path, sizeof path, "%s/%s", output, binary->name) >= (int)sizeof path) {
            return ntk_err_set(err, -ENAMETOOLONG, NTK_ERR_NO_OFFSET,
                               "the path of member '%s' is too long", binary->name);
        }
        *strrchr(path, '/') = '\0';
        ret = ntk_fs_make_folders(path, 0777, err);
        if (ret == 0) {
            snprintf(path, sizeof path, "%s/%s", output, binary->name);
            ret = ntk_fs_write(path, binary->code.bytes, binary->code.bytes_count, err);
            slots_name(binary->name, name, sizeof name);
            snprintf(path, sizeof path, "%s/%s", output, name);
            (void)unlink(path);
        }
    }
    return ret;
}

static size_t without_slots_of(struct ntk_neff_pack_member *members, size_t count,
                               const char *binary)
{
    char name[NTK_NEFF_MEMBER_NAME_MAX + 32];
    size_t kept = 0;

    slots_name(binary, name, sizeof name);
    for (size_t m = 0; m < count; m++) {
        if (strcmp(members[m].name, name) != 0) {
            members[kept++] = members[m];
        }
    }
    return kept;
}

/* Replaces members of the archive with members of the listing that have the same name. */
static int replace_members(const struct ntk_tar *tar, const struct ntk_vec *binaries,
                           struct ntk_neff_pack_member *members, size_t *out_count,
                           struct ntk_err *err)
{
    size_t count = tar->member_count;

    for (size_t m = 0; m < tar->member_count; m++) {
        members[m] = (struct ntk_neff_pack_member){ tar->members[m].name, tar->members[m].bytes,
                                                    tar->members[m].bytes_count };
    }
    for (size_t i = 0; i < binaries->count; i++) {
        const struct binary *binary = ntk_vec_at(binaries, i);
        const char *bytes = binary->code.bytes ? binary->code.bytes : "";
        size_t bytes_count = binary->code.bytes_count;
        bool is_there = false;
        bool is_other = false;

        for (size_t m = 0; m < count; m++) {
            if (strcmp(members[m].name, binary->name) == 0) {
                is_other = members[m].bytes_count != bytes_count ||
                           (bytes_count > 0 && memcmp(members[m].bytes, bytes, bytes_count) != 0);
                members[m].bytes = bytes;
                members[m].bytes_count = bytes_count;
                is_there = true;
            }
        }
        if (!is_there) {
            return BAD("%s has no member '%s'", into, binary->name);
        }
        count = is_other ? without_slots_of(members, count, binary->name) : count;
    }
    *out_count = count;
    return 0;
}

static int write_neff(const struct ntk_vec *binaries, struct ntk_err *err)
{
    struct ntk_neff_pack_member *members = NULL;
    struct ntk_neff_header header;
    struct ntk_tar tar = { 0 };
    struct ntk_neff *check = NULL;
    uint8_t *bytes = NULL;
    uint8_t *made = NULL;
    size_t member_count = 0;
    size_t count = 0;
    int ret = packager_members_read(into, NULL, &header, &bytes, &tar, err);

    if (ret < 0) {
        return ret;
    }
    members = calloc(tar.member_count + 1, sizeof *members);
    if (!members) {
        ret = ntk_err_no_memory(err);
        goto out;
    }
    ret = replace_members(&tar, binaries, members, &member_count, err);
    if (ret == 0) {
        ret = ntk_neff_pack(&header, members, member_count, tar.is_compressed, &made, &count, err);
    }
    if (ret == 0) {
        ret = ntk_neff_open_bytes(made, count, &check, err);
    }
    if (ret == 0) {
        ret = ntk_fs_write(output, made, count, err);
    }

out:
    ntk_neff_close(check);
    free(made);
    free(members);
    ntk_tar_fini(&tar);
    free(bytes);
    return ret;
}

int packager_asm(int argc, char **argv)
{
    struct ntk_vec binaries = NTK_VEC_INIT(struct binary);
    struct ntk_err err = { 0 };
    uint8_t *text = NULL;
    size_t text_bytes = 0;
    int first = ntk_opt_parse(&program, argc, argv);
    int ret;

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (argc - first != 1) {
        return ntk_opt_argument_error(&program, "LISTING", argc == first ? NULL : argv[first + 1]);
    }
    if (!output) {
        return ntk_opt_usage_error(&program, "no output: use --output FILE");
    }
    ret = ntk_fs_read(argv[first], LISTING_BYTES_MAX, &text, &text_bytes, &err);
    if (ret == 0) {
        ret = assemble((const char *)text, text_bytes, &binaries, &err);
        if (ret < 0) {
            ntk_err_prefix(&err, "%s", argv[first]);
            err.offset = NTK_ERR_NO_OFFSET;
        }
    }
    if (ret == 0) {
        ret = into ? write_neff(&binaries, &err) : write_folder(&binaries, &err);
    }
    for (size_t i = 0; i < binaries.count; i++) {
        ntk_buf_fini(&((struct binary *)ntk_vec_at(&binaries, i))->code);
    }
    ntk_vec_fini(&binaries);
    free(text);
    return ret < 0 ? packager_fail(&err) : 0;
}
