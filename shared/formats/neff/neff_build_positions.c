/* SPDX-License-Identifier: MIT */
/*
 * neff_build_positions - writes the members with source positions that neff_positions.h reads: for
 * each engine the lines of its instructions, for each program a tree (neff_build_tree.c).
 *
 * All slots of an instruction (including its waits and signals) have one BIR id, and each subgraph
 * is a kernel with its own Penguin id.
 */
#include "shared/formats/neff/neff_build_private.h"

#include <string.h>

#include "shared/base/json.h"
#include "shared/formats/common/protobuf_write.h"

static void put_packed(struct ntk_buf *to, unsigned field, uint64_t value)
{
    struct ntk_buf list = { 0 };

    ntk_protobuf_put_varint(&list, value);
    ntk_protobuf_put_message(to, field, &list);
    ntk_buf_fini(&list);
}

static void put_pair(struct ntk_buf *to, const char *key, uint64_t value)
{
    struct ntk_buf pair = { 0 };
    char text[24];

    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    ntk_protobuf_put_text(&pair, 1, key);
    ntk_protobuf_put_text(&pair, 2, text);
    ntk_protobuf_put_message(to, 7, &pair);
    ntk_buf_fini(&pair);
}

/* The file's number in the table; adds a new file. */
static uint64_t file_number(struct ntk_neff_build *build, struct ntk_vec *files, const char *file)
{
    for (size_t i = 0; i < files->count; i++) {
        if (strcmp(*(const char **)ntk_vec_at(files, i), file) == 0) {
            return i;
        }
    }
    if (ntk_vec_push(files, &file) < 0) {
        neff_build_no_memory(build);
    }
    return files->count - 1;
}

static void make_engine(struct ntk_neff_kernel *kernel, const struct build_subgraph *subgraph,
                        int engine, struct ntk_vec *located)
{
    struct ntk_neff_build *build = kernel->build;
    struct ntk_buf slots = { 0 };
    struct ntk_buf rows = { 0 };
    struct ntk_buf row = { 0 };
    struct ntk_vec files = NTK_VEC_INIT(const char *);
    const char *file_name = neff_build_engine_file(engine);
    char name[64];

    ntk_protobuf_put_text(&slots, 1, "compiler instructions, one entry per slot");
    snprintf(name, sizeof name, "debug_info_backend_%s.dbg", file_name);
    ntk_protobuf_put_text(&slots, 2, name);
    ntk_protobuf_put_text(&rows, 1, "compiler instructions and their lines");
    ntk_vec_each(struct build_instr, instr, &subgraph->engines[engine].program) {
        struct build_located one = { .place = instr->place, .id = (uint32_t)located->count + 1 };

        for (uint32_t s = 0; s < instr->slot_count; s++) {
            if (instr->place) {
                put_packed(&row, 3, one.id);
            }
            ntk_protobuf_put_message(&slots, 3, &row);
        }
        if (!instr->place) {
            continue;
        }
        const struct build_place *place = ntk_vec_at(&kernel->places, instr->place - 1);

        snprintf(name, sizeof name, "inst.%u", one.id);
        ntk_protobuf_put_number(&row, 1, one.id);
        ntk_protobuf_put_text(&row, 2, name);
        put_packed(&row, 3, subgraph->index + UINT64_C(1));
        put_pair(&row, "kernel_file", file_number(build, &files, place->at.file));
        put_pair(&row, "kernel_line", place->at.line);
        put_pair(&row, "kernel_name", 0);
        ntk_protobuf_put_message(&rows, 3, &row);
        if (ntk_vec_push(located, &one) < 0) {
            neff_build_no_memory(build);
        }
    }
    ntk_vec_each(const char *, file, &files) {
        ntk_protobuf_put_text(&rows, 5, *file);
    }
    ntk_protobuf_put_text(&rows, 7, kernel->node->name);
    snprintf(name, sizeof name, "sg%02u/debug_info_asm_%s.dbg", subgraph->index, file_name);
    neff_build_finish_member(build, name, &slots);
    snprintf(name, sizeof name, "sg%02u/debug_info_backend_%s.dbg", subgraph->index, file_name);
    neff_build_finish_member(build, name, &rows);
    ntk_buf_fini(&row);
    ntk_vec_fini(&files);
}

void neff_build_positions(struct ntk_neff_build *build)
{
    struct ntk_buf kernels = { 0 };
    struct ntk_buf operations = { 0 };
    struct ntk_buf row = { 0 };
    struct ntk_json json;
    bool is_any = false;

    ntk_json_init(&json, &kernels, false);
    ntk_json_object_begin(&json);
    ntk_json_key_array_begin(&json, "debug_info_files");
    ntk_protobuf_put_text(&operations, 1, "kernels of the program");
    for (size_t i = 0; i < build->nodes.count; i++) {
        struct build_node *node = *(struct build_node **)ntk_vec_at(&build->nodes, i);

        for (uint32_t s = 0; node->kernel.places.count && s < build->options.lnc; s++) {
            const struct build_subgraph *subgraph = &node->kernel.subgraphs[s];
            struct ntk_vec located = NTK_VEC_INIT(struct build_located);
            char member[NTK_NEFF_MEMBER_NAME_MAX];

            for (int e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
                make_engine(&node->kernel, subgraph, e, &located);
            }
            if (located.count == 0) {
                continue;
            }
            snprintf(member, sizeof member, "kernel_sg%02u.klir.debuginfo.json", subgraph->index);
            neff_build_tree(&node->kernel, member, &located);
            ntk_vec_fini(&located);
            ntk_json_object_begin(&json);
            ntk_json_key_text(&json, "file_name", member);
            ntk_json_key_text(&json, "kernel_name", node->name);
            ntk_json_key_u64(&json, "parent_tensorizer_id", subgraph->index + UINT64_C(1));
            ntk_json_object_end(&json);
            ntk_protobuf_put_number(&row, 1, subgraph->index + UINT64_C(1));
            ntk_protobuf_put_text(&row, 2, node->name);
            ntk_protobuf_put_message(&operations, 3, &row);
            is_any = true;
        }
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    if (is_any) {
        neff_build_finish_member(build, "kernel_debug_info.json", &kernels);
        neff_build_finish_member(build, "debug_info/debug_info_penguin.dbg_sg000000", &operations);
    }
    ntk_buf_fini(&kernels);
    ntk_buf_fini(&operations);
    ntk_buf_fini(&row);
}
