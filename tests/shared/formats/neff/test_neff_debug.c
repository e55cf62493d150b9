/* SPDX-License-Identifier: MIT */
/*
 * Names of instructions out of the .dbg members.
 *
 * Method: the members of a built model, packed again with debug members made byte by byte.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/formats/common/tar.h"
#include "shared/formats/neff/neff_build.h"
#include "shared/formats/neff/neff_debug.h"
#include "tests/support/ntff_sample.h"
#include "tests/support/unit.h"

#define MEMBERS_MAX 64

static const char penguin_name[] = "debug_info/debug_info_penguin.dbg_sg000000";

struct fixture {
    struct ntk_buf assembly, backend, transfers, penguin;
    struct ntk_neff *neff;
    size_t slots;         /* of ACT */
    size_t slots_missing; /* missing in its member */
};

/* Field of a packed list. */
static void put_list(struct ntk_buf *to, unsigned field, size_t count, const uint64_t *numbers)
{
    struct ntk_buf list = { 0 };

    for (size_t i = 0; i < count; i++) {
        uint64_t left = numbers[i];
        for (; left > 0x7f; left >>= 7) {
            ntk_buf_put_u8(&list, (uint8_t)(left | 0x80));
        }
        ntk_buf_put_u8(&list, (uint8_t)left);
    }
    ntk_buf_put_u8(&list, 0); /* so that there are bytes to point to */
    ntff_sample_bytes(to, field, list.bytes, list.bytes_count - 1);
    ntk_buf_fini(&list);
}

static void put_entry(struct ntk_buf *to, struct ntk_buf *entry)
{
    ntk_buf_put_u8(entry, 0);
    ntff_sample_bytes(to, 3, entry->bytes, entry->bytes_count - 1);
    ntk_buf_fini(entry);
    *entry = (struct ntk_buf){ 0 };
}

static void put_instruction(struct ntk_buf *to, uint64_t id, const char *name, uint64_t penguin)
{
    struct ntk_buf entry = { 0 };

    ntff_sample_varint(&entry, 1, id);
    ntff_sample_bytes(&entry, 2, name, strlen(name));
    put_list(&entry, 3, 1, &penguin);
    ntff_sample_varint(&entry, 6, 1);
    if (id == 600) {
        put_list(&entry, 4, 3, (uint64_t[]){ 700, 600, 9 });
        put_list(&entry, 9, 3, (uint64_t[]){ 4, 1, 77 });
        put_list(&entry, 5, 2, (uint64_t[]){ 700, 8 });
        put_list(&entry, 10, 2, (uint64_t[]){ 4, 2 });
    }
    if (id == 700) {
        put_list(&entry, 5, 1, (uint64_t[]){ 600 }); /* without kinds, and with a circle */
    }
    put_entry(to, &entry);
}

/* Opens the model with the debug members of the fixture. */
static void open_packed(struct fixture *f)
{
    static const struct ntk_tar_limits limits = { 1 << 30, MEMBERS_MAX, 256 };
    struct ntk_neff_build_options options = { .name = "names", .uncompressed = true };
    struct ntk_neff_build *build = ntk_neff_build_create(&options);
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "names");
    struct ntk_neff_header header;
    struct ntk_neff_pack_member members[MEMBERS_MAX];
    struct ntk_tar tar;
    size_t count = 0;
    uint8_t *bytes;
    size_t bytes_count;

    (void)ntk_neff_kernel_input(kernel, "x", NTK_DTYPE_FLOAT32, 1, (uint64_t[]){ 16 });
    (void)ntk_neff_kernel_output(kernel, "y", NTK_DTYPE_FLOAT32, 1, (uint64_t[]){ 16 });
    struct ntk_isa_instr nop = ntk_isa_instr_make(NTK_ISA_OP_NOP);
    (void)ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_ACT, &nop, NTK_AFTER_NONE);
    assert_int_equal(ntk_neff_build_bytes(build, &bytes, &bytes_count, NULL), 0);
    ntk_neff_build_destroy(build);
    assert_int_equal(ntk_neff_read_header(bytes, bytes_count, &header, NULL), 0);
    assert_int_equal(
        ntk_tar_read(bytes + header.header_size, header.data_size, &limits, &tar, NULL), 0);
    free(bytes);
    for (size_t i = 0; i < tar.member_count; i++) {
        if (strcmp(tar.members[i].name, "sg00/Activation.bin") == 0) {
            f->slots = tar.members[i].bytes_count / NTK_ISA_SLOT_BYTES;
        }
        members[count++] = (struct ntk_neff_pack_member){ tar.members[i].name, tar.members[i].bytes,
                                                          tar.members[i].bytes_count };
    }
    for (size_t i = 0; i + f->slots_missing < f->slots; i++) { /* 600, 700, 700 ... */
        struct ntk_buf entry = { 0 };
        if (i > 0) {
            put_list(&entry, 3, 2, (uint64_t[]){ i == 1 ? 600 : 700, 5 });
        }
        put_entry(&f->assembly, &entry);
    }
    struct {
        const char *name;
        struct ntk_buf *buf;
    } debug[] = { { "sg00/debug_info_asm_Activation.dbg", &f->assembly },
                  { "sg00/debug_info_backend_Activation.dbg", &f->backend },
                  { "sg00/debug_info_backend_DMA.dbg", &f->transfers },
                  { penguin_name, &f->penguin } };
    for (size_t i = 0; i < 4; i++) {
        if (debug[i].buf->bytes_count) {
            members[count++] = (struct ntk_neff_pack_member){ debug[i].name, debug[i].buf->bytes,
                                                              debug[i].buf->bytes_count };
        }
    }
    assert_int_equal(ntk_neff_pack(&header, members, count, false, &bytes, &bytes_count, NULL), 0);
    ntk_tar_fini(&tar);
    assert_int_equal(ntk_neff_open_bytes(bytes, bytes_count, &f->neff, NULL), 0);
    free(bytes);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    *state = f;
    ntff_sample_bytes(&f->assembly, 1, "meaning of the column", 10);
    put_instruction(&f->backend, 700, "I-17-0-wait-0", 17);
    put_instruction(&f->backend, 600, "I-72-0\x1b[2J", 72);
    put_instruction(&f->transfers, 600, "another of the same id", 17);
    put_instruction(&f->transfers, 5, "block", 99);
    struct ntk_buf entry = { 0 };
    ntff_sample_varint(&entry, 1, 17);
    ntff_sample_bytes(&entry, 2, "float32<128 x 512> $12[i_q_0]", 29);
    put_entry(&f->penguin, &entry);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    ntk_neff_close(f->neff);
    ntk_buf_fini(&f->assembly);
    ntk_buf_fini(&f->backend);
    ntk_buf_fini(&f->transfers);
    ntk_buf_fini(&f->penguin);
    free(f);
    return 0;
}

static const struct ntk_neff_subgraph *subgraph_of(const struct fixture *f)
{
    return &f->neff->kelfs[0].subgraphs[0];
}

static void names_and_predecessors_of_instruction_slots_are_found(void **state)
{
    struct fixture *f = *state;
    struct ntk_neff_debug *debug = NULL;
    uint64_t id = 0;

    open_packed(f);
    assert_true(f->slots > 2);
    assert_int_equal(ntk_neff_debug_create(f->neff, subgraph_of(f), &debug, NULL), 0);
    assert_non_null(debug);
    assert_false(ntk_neff_debug_bir_id(debug, NTK_ISA_ENGINE_ACT, 0, &id));
    assert_true(ntk_neff_debug_bir_id(debug, NTK_ISA_ENGINE_ACT, 1, &id));
    assert_int_equal(id, 600);
    assert_true(ntk_neff_debug_bir_id(debug, NTK_ISA_ENGINE_ACT, 2, &id));
    assert_int_equal(id, 700);
    assert_false(ntk_neff_debug_bir_id(debug, NTK_ISA_ENGINE_ACT, f->slots, &id));
    assert_false(ntk_neff_debug_bir_id(debug, NTK_ISA_ENGINE_PE, 1, &id));

    const struct ntk_neff_debug_instruction *one = ntk_neff_debug_find(debug, 600);
    assert_string_equal(one->name, "I-72-0\xef\xbf\xbd[2J"); /* the first name, sanitized */
    assert_true(one->has_penguin);
    assert_int_equal(one->penguin_id, 72);
    assert_null(one->penguin_text);
    static const struct ntk_neff_predecessor wanted[] = {
        { 8, 2 }, { 9, 77 }, { 600, 1 }, { 700, 4 }
    };
    assert_int_equal(one->predecessor_count, 4);
    assert_memory_equal(debug->predecessors + one->predecessor_first, wanted, sizeof wanted);

    one = ntk_neff_debug_find(debug, 700);
    assert_string_equal(one->penguin_text, "float32<128 x 512> $12[i_q_0]");
    assert_int_equal(one->predecessor_count, 1);
    assert_int_equal(debug->predecessors[one->predecessor_first].kind, 0);
    assert_string_equal(ntk_neff_debug_find(debug, 5)->name, "block");
    assert_null(ntk_neff_debug_find(debug, 701));
    assert_int_equal(debug->instruction_count, 3);
    assert_string_equal(ntk_neff_predecessor_kind_name(4), "FLOW_DEPENDENCE");
    assert_null(ntk_neff_predecessor_kind_name(0));
    assert_null(ntk_neff_predecessor_kind_name(77));
    ntk_neff_debug_destroy(debug);
}

static void a_neff_without_debug_members_has_no_instruction_names(void **state)
{
    struct fixture *f = *state;
    struct ntk_neff_debug *debug = (struct ntk_neff_debug *)f;

    ntk_buf_reset(&f->assembly);
    f->slots_missing = SIZE_MAX / 2;
    ntk_buf_reset(&f->backend);
    ntk_buf_reset(&f->transfers);
    open_packed(f);
    assert_int_equal(ntk_neff_debug_create(f->neff, subgraph_of(f), &debug, NULL), 0);
    assert_null(debug);
}

static void refused(struct fixture *f, const char *text)
{
    struct ntk_neff_debug *debug = NULL;
    struct ntk_err err = { 0 };

    open_packed(f);
    assert_int_equal(ntk_neff_debug_create(f->neff, subgraph_of(f), &debug, &err), -EBADMSG);
    assert_null(debug);
    if (!strstr(err.text, text)) {
        fail_msg("%s", err.text);
    }
}

static void an_entry_count_other_than_the_slot_count_is_rejected(void **state)
{
    struct fixture *f = *state;

    f->slots_missing = 1;
    refused(f, "sg00/debug_info_asm_Activation.dbg: 2 entries for 3 instructions");
}

static void a_truncated_debug_member_is_rejected(void **state)
{
    struct fixture *f = *state;

    f->backend.bytes_count -= 3;
    refused(f, "sg00/debug_info_backend_Activation.dbg: truncated inside a field");
}

static void a_truncated_entry_is_rejected(void **state)
{
    struct fixture *f = *state;

    ntff_sample_bytes(&f->backend, 3, "\x08", 1);
    refused(f, "an entry ends inside a field");
}

static void predecessor_kinds_that_do_not_match_are_rejected(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf entry = { 0 };

    put_list(&entry, 4, 1, (uint64_t[]){ 1 });
    put_list(&entry, 9, 2, (uint64_t[]){ 1, 2 });
    put_entry(&f->backend, &entry);
    refused(f, "the numbers of predecessors and of their kinds differ");
}

static void an_out_of_range_instruction_id_is_rejected(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf entry = { 0 };

    ntff_sample_varint(&entry, 1, UINT64_C(1) << 48);
    put_entry(&f->backend, &entry);
    refused(f, "invalid id: expected a number below 2^48");
}

static void a_number_in_place_of_a_string_is_rejected(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf entry = { 0 };

    ntff_sample_varint(&entry, 2, 7);
    put_entry(&f->backend, &entry);
    refused(f, "a field of an entry has an unexpected type");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(names_and_predecessors_of_instruction_slots_are_found),
        TEST(a_neff_without_debug_members_has_no_instruction_names),
        TEST(an_entry_count_other_than_the_slot_count_is_rejected),
        TEST(a_truncated_debug_member_is_rejected),
        TEST(a_truncated_entry_is_rejected),
        TEST(predecessor_kinds_that_do_not_match_are_rejected),
        TEST(an_out_of_range_instruction_id_is_rejected),
        TEST(a_number_in_place_of_a_string_is_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
