/* SPDX-License-Identifier: MIT */
/*
 * Method: captures made byte by byte (support/ntff_sample.h) in versions 4, 5 and 6, valid, damaged
 * and truncated; the reader must return the input, or a message.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "shared/formats/ntff/ntff.h"
#include "tests/support/ntff_sample.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static struct ntk_buf build(unsigned version, uint8_t reserved, struct ntff_sample *out_sample)
{
    struct ntk_buf file = { 0 };
    struct ntff_sample sample = { .version = version, .reserved = reserved };

    ntff_sample_build(&sample, &file);
    assert_true(ntk_buf_ok(&file));
    if (out_sample) {
        *out_sample = sample;
    }
    return file;
}

static const struct ntk_ntff_section *section_of(const struct ntk_ntff *ntff, unsigned type)
{
    for (size_t i = 0; i < ntff->subgraphs[0].section_count; i++) {
        if (ntff->subgraphs[0].sections[i].type == type) {
            return &ntff->subgraphs[0].sections[i];
        }
    }
    fail_msg("no section of type %u", type);
    return NULL;
}

static void every_version_yields_the_header_values(void **state)
{
    for (unsigned version = 4; version <= 6; version++) {
        struct ntk_buf file = build(version, 0, NULL);
        struct ntk_ntff *ntff = NULL;
        struct ntk_err err = { 0 };
        char uuid[33];

        assert_int_equal(ntk_ntff_open_bytes(file.bytes, file.bytes_count, &ntff, &err), 0);

        assert_int_equal(ntff->version, version);
        assert_int_equal(ntff->warning_count, 0);
        assert_string_equal(ntff->neff_name, "sample.neff");
        assert_int_equal(ntff->neff_uuid_known_bytes, 16);
        ntk_str_hex(uuid, ntff->neff_uuid, 16);
        assert_string_equal(uuid, NTFF_SAMPLE_UUID_TEXT);
        assert_int_equal(ntff->model_id, 10001);
        assert_true(ntff->runtime.present);
        assert_int_equal(ntff->runtime.minor, 30);
        assert_string_equal(ntff->runtime.git, "faafe0123456789");
        assert_false(ntff->collectives.present);
        assert_string_equal(ntff->instance_type, "trn2.3xlarge");
        assert_int_equal(ntff->has_window, version == 6);
        assert_int_equal(ntff->subgraph_count, 1);
        const struct ntk_ntff_subgraph *subgraph = &ntff->subgraphs[0];
        assert_string_equal(subgraph->name, "sg00");
        assert_int_equal(subgraph->core, 4);
        assert_int_equal(subgraph->execution_ps, 100000000);
        assert_int_equal(subgraph->queue_count, 3);
        assert_string_equal(subgraph->queues[1].name, "qSPDynamicHW");
        assert_int_equal(subgraph->queues[1].event_id, -1);
        assert_int_equal(subgraph->queues[1].dram_channel, 2);
        assert_int_equal(subgraph->memory_count, 2);
        assert_string_equal(subgraph->memory[0].name, "Generic");
        assert_string_equal(subgraph->memory[1].name, "Tensors");
        assert_int_equal(subgraph->memory[1].bytes_count, 4096);
        assert_int_equal(subgraph->engine_buffers[NTK_NTFF_ENGINE_TENSOR]->code_bytes, 512);
        assert_int_equal(ntk_ntff_slot_get(subgraph, NTK_NTFF_ENGINE_TENSOR, 3)[0], 0xa0);
        assert_int_equal(ntk_ntff_slot_get(subgraph, NTK_NTFF_ENGINE_GPSIMD, 1)[0], 0xb8);
        assert_null(ntk_ntff_slot_get(subgraph, NTK_NTFF_ENGINE_TENSOR, 8));
        assert_null(ntk_ntff_slot_get(subgraph, NTK_NTFF_ENGINE_VECTOR, 0));
        ntk_ntff_close(ntff);
        ntk_buf_fini(&file);
    }
}

static void every_version_yields_the_same_records(void **state)
{
    for (unsigned version = 4; version <= 6; version++) {
        struct ntk_buf file = build(version, 0, NULL);
        struct ntk_ntff *ntff = NULL;
        struct ntk_ntff_record r;

        assert_int_equal(ntk_ntff_open_bytes(file.bytes, file.bytes_count, &ntff, NULL), 0);
        const struct ntk_ntff_subgraph *subgraph = &ntff->subgraphs[0];
        const struct ntk_ntff_section *section = section_of(ntff, NTK_NTFF_SECTION_INSTRUCTION);
        uint64_t at = version < 6 ? 2 : 0; /* the runtime's own instruction */
        assert_int_equal(section->record_count, version < 6 ? 18 : 16);
        if (version < 6) {
            ntk_ntff_record_get(subgraph, section, 2, &r);
            assert_int_equal(r.kind, NTK_NTFF_RECORD_INSTRUCTION_START);
            assert_int_equal(r.slot, NTK_NTFF_SLOT_OUTSIDE);
        }
        ntk_ntff_record_get(subgraph, section, at + 6, &r);
        assert_int_equal(r.kind, NTK_NTFF_RECORD_INSTRUCTION_START);
        assert_int_equal(r.engine, NTK_NTFF_ENGINE_TENSOR);
        assert_int_equal(r.slot, 1);
        assert_int_equal(r.wait_cycles, 12);
        assert_int_equal(r.time_ps, INT64_C(5010000000));
        ntk_ntff_record_get(subgraph, section, at + 7, &r); /* has the stray bit 21 */
        assert_int_equal(r.kind, NTK_NTFF_RECORD_INSTRUCTION_END);
        assert_int_equal(r.slot, 1);
        assert_int_equal(r.crc_in, 0x1234);
        assert_int_equal(r.crc_out, 0xabcd);
        assert_int_equal(r.time_ps, INT64_C(5030000000));

        section = section_of(ntff, NTK_NTFF_SECTION_EVENT);
        ntk_ntff_record_get(subgraph, section, 0, &r);
        assert_int_equal(r.kind, NTK_NTFF_RECORD_EVENT);
        assert_int_equal(r.engine, NTK_NTFF_ENGINE_GPSIMD);
        assert_true(r.is_semaphore);
        assert_int_equal(r.mode, NTK_NTFF_MODE_SEMAPHORE_INC);
        assert_int_equal(r.number, 3);
        assert_int_equal(r.value, 1);
        assert_int_equal(r.time_ps, INT64_C(5002000000));
        ntk_ntff_record_get(subgraph, section, 1, &r);
        assert_false(r.is_semaphore);
        assert_int_equal(r.mode, NTK_NTFF_MODE_EVENT_SET);
        ntk_ntff_record_get(subgraph, section, 2, &r);
        assert_int_equal(r.engine, NTK_NTFF_ENGINE_AXI);
        assert_true(r.has_bit30);

        section = section_of(ntff, NTK_NTFF_SECTION_DMA);
        ntk_ntff_record_get(subgraph, section, 5, &r);
        assert_int_equal(r.kind, NTK_NTFF_RECORD_DMA_END);
        assert_int_equal(r.engine, 0);
        assert_int_equal(r.queue, 0);
        assert_int_equal(r.bytes_count, 512);
        assert_int_equal(r.crc_in, 0x5555);
        assert_int_equal(r.time_ps, INT64_C(5005000000));
        ntk_ntff_record_get(subgraph, section, 6, &r);
        assert_int_equal(r.kind, NTK_NTFF_RECORD_DMA_COMPLETION);

        section = section_of(ntff, NTK_NTFF_SECTION_THROTTLE);
        ntk_ntff_record_get(subgraph, section, 0, &r);
        assert_int_equal(r.kind, NTK_NTFF_RECORD_UNKNOWN);
        ntk_ntff_record_get(subgraph, section, 2, &r);
        assert_int_equal(r.kind, NTK_NTFF_RECORD_THROTTLE);
        assert_int_equal(r.throttle_type, 1);
        assert_int_equal(r.throttle_k, 4);
        assert_int_equal(r.throttle_n, 8);
        ntk_ntff_close(ntff);
        ntk_buf_fini(&file);
    }
}

static void the_compiler_pc_excludes_runtime_instructions(void **state)
{
    struct ntk_buf file = build(6, 0, NULL);
    struct ntk_ntff *ntff = NULL;

    assert_int_equal(ntk_ntff_open_bytes(file.bytes, file.bytes_count, &ntff, NULL), 0);
    const struct ntk_ntff_subgraph *subgraph = &ntff->subgraphs[0];
    assert_int_equal(ntk_ntff_compiler_pc(subgraph, NTK_NTFF_ENGINE_TENSOR, 0), -1);
    assert_int_equal(ntk_ntff_compiler_pc(subgraph, NTK_NTFF_ENGINE_TENSOR, 1), 0);
    assert_int_equal(ntk_ntff_compiler_pc(subgraph, NTK_NTFF_ENGINE_TENSOR, 2), 4);
    assert_int_equal(ntk_ntff_compiler_pc(subgraph, NTK_NTFF_ENGINE_GPSIMD, 2), 2);
    ntk_ntff_close(ntff);
    ntk_buf_fini(&file);
}

static void reserved_capture_bytes_are_ignored(void **state)
{
    for (unsigned reserved = 0; reserved < 256; reserved += 85) {
        struct ntk_buf file = build(6, (uint8_t)reserved, NULL);
        struct ntk_ntff *ntff = NULL;

        assert_int_equal(ntk_ntff_open_bytes(file.bytes, file.bytes_count, &ntff, NULL), 0);
        assert_int_equal(ntff->warning_count, 0);
        assert_int_equal(ntff->subgraphs[0].section_count, 5);
        ntk_ntff_close(ntff);
        ntk_buf_fini(&file);
    }
}

static void unsupported_versions_are_rejected_by_name(void **state)
{
    static const uint8_t versions[] = { 0, 1, 2, 3, 7, 130, 255 };

    for (size_t i = 0; i < sizeof versions; i++) {
        struct ntk_buf file = build(6, 0, NULL);
        struct ntk_ntff *ntff = NULL;
        struct ntk_err err = { 0 };
        char wanted[128];

        file.bytes[0] = (char)versions[i];
        assert_int_equal(ntk_ntff_open_bytes(file.bytes, file.bytes_count, &ntff, &err), -ENOTSUP);
        snprintf(wanted, sizeof wanted, "%sNTFF version %u is not supported (supported: 4 - 6)",
                 versions[i] ? "" : "not an NTFF capture: ", versions[i]);
        assert_string_equal(err.text, wanted);
        assert_null(ntff);
        ntk_buf_fini(&file);
    }
}

static void foreign_files_are_distinguished_from_unsupported_versions(void **state)
{
    static const char text[] =
        "This is a letter, as one can see at once; it goes on for more than one "
        "hundred and twenty-eight bytes, so that there is room for a header.";
    struct ntk_ntff *ntff = NULL;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_ntff_open_bytes(text, sizeof text - 1, &ntff, &err), -ENOTSUP);
    assert_string_equal(err.text,
                        "not an NTFF capture: NTFF version 84 is not supported (supported: 4 - 6)");
    assert_int_equal(err.offset, 0);
}

/* Two cores with programs and sections, all of them beyond the end of the file. */
static void a_warning_is_printed_once_per_kind(void **state)
{
    struct ntk_buf header = { 0 };
    struct ntk_buf file = { 0 };
    struct ntk_buf section = { 0 };
    struct ntk_ntff *ntff = NULL;

    /* node { graph { subgraph { name "x" core 0 } subgraph { name "y" core 1 } } } */
    ntff_sample_bytes(&header, 4, "\x22\x0e\x0a\x05\x0a\x01x\x18\x00\x0a\x05\x0a\x01y\x18\x01", 16);
    for (unsigned core = 0; core < 2; core++) {
        for (unsigned type = 0; type < 2; type++) {
            ntk_buf_reset(&section);
            ntff_sample_varint(&section, 1, type);
            ntff_sample_varint(&section, 5, 16);
            ntff_sample_varint(&section, 6, 160);
            ntff_sample_varint(&section, 7, core);
            ntff_sample_bytes(&header, 16, section.bytes, section.bytes_count);
        }
    }
    ntff_sample_head(&file, 6, header.bytes_count, 0);
    ntk_buf_add(&file, header.bytes, header.bytes_count);
    ntk_buf_add_fill(&file, 0, 48);
    assert_int_equal(ntk_ntff_open_bytes(file.bytes, file.bytes_count, &ntff, NULL), 0);
    assert_int_equal(ntff->subgraph_count, 2);
    assert_int_equal(ntff->warning_count, 2);
    assert_string_equal(ntff->warnings[0],
                        "the file ends inside the instruction records: 4 of 20 are present");
    assert_string_equal(
        ntff->warnings[1],
        "the file ends inside the semaphore and event records: 4 of 20 are present");
    ntk_ntff_close(ntff);
    ntk_buf_fini(&header);
    ntk_buf_fini(&file);
    ntk_buf_fini(&section);
}

static void a_truncated_file_yields_a_message_and_its_intact_part(void **state)
{
    for (unsigned version = 4; version <= 6; version++) {
        struct ntff_sample sample;
        struct ntk_buf file = build(version, 0, &sample);

        for (size_t length = 0; length < file.bytes_count; length++) {
            struct ntk_ntff *ntff = NULL;
            struct ntk_err err = { 0 };
            /* A separate copy, so that the sanitizer detects a read beyond the end. */
            uint8_t *cut = malloc(length ? length : 1);
            memcpy(cut, file.bytes, length);
            int ret = ntk_ntff_open_bytes(cut, length, &ntff, &err);
            if (length < 128) {
                assert_int_equal(ret, -EBADMSG);
                assert_string_equal(err.text, length ? "the file ends inside the header"
                                                     : "the file is empty");
            } else if (ret < 0) {
                assert_int_equal(ret, -EBADMSG);
                assert_true(length < sample.payload_offset);
                assert_non_null(strstr(err.text, "file ends inside the header message"));
            } else {
                assert_true(ntff->warning_count > 0);
                uint64_t records = 0;
                for (size_t s = 0; ntff->subgraph_count && s < ntff->subgraphs[0].section_count;
                     s++) {
                    const struct ntk_ntff_section *section = &ntff->subgraphs[0].sections[s];
                    for (uint64_t i = 0; i < section->record_count; i++) {
                        struct ntk_ntff_record r;
                        ntk_ntff_record_get(&ntff->subgraphs[0], section, i, &r);
                        records++;
                    }
                }
                if (length >= sample.payload_offset && version < 6) {
                    assert_int_equal(records, (length - sample.payload_offset) / 16);
                }
            }
            ntk_ntff_close(ntff);
            free(cut);
        }
        ntk_buf_fini(&file);
    }
}

static void a_damaged_byte_never_causes_a_read_beyond_the_file(void **state)
{
    for (unsigned version = 4; version <= 6; version++) {
        struct ntff_sample sample;
        struct ntk_buf file = build(version, 0, &sample);

        for (size_t at = 0; at < sample.payload_offset; at++) {
            if (at >= 8 && at < 128) {
                continue;
            }
            for (unsigned change = 1; change < 256; change = change * 2 + 1) {
                struct ntk_ntff *ntff = NULL;
                uint8_t *spoilt = malloc(file.bytes_count);
                memcpy(spoilt, file.bytes, file.bytes_count);
                spoilt[at] ^= (uint8_t)change;
                if (ntk_ntff_open_bytes(spoilt, file.bytes_count, &ntff, NULL) == 0) {
                    for (size_t g = 0; g < ntff->subgraph_count; g++) {
                        const struct ntk_ntff_subgraph *subgraph = &ntff->subgraphs[g];
                        for (size_t s = 0; s < subgraph->section_count; s++) {
                            const struct ntk_ntff_section *section = &subgraph->sections[s];
                            for (uint64_t i = 0; i < section->record_count; i++) {
                                struct ntk_ntff_record r;
                                ntk_ntff_record_get(subgraph, section, i, &r);
                                assert_true(r.slot == NTK_NTFF_SLOT_OUTSIDE ||
                                            ntk_ntff_slot_get(subgraph, r.engine, r.slot));
                            }
                        }
                    }
                }
                ntk_ntff_close(ntff);
                free(spoilt);
            }
        }
        ntk_buf_fini(&file);
    }
}

static void sections_with_invalid_sizes_are_truncated_or_ignored(void **state)
{
    struct ntk_buf header = { 0 };
    struct ntk_buf file = { 0 };
    struct ntk_buf section = { 0 };
    struct ntk_ntff *ntff = NULL;

    /* node { graph { subgraph { name "x" } } } on core 0 */
    ntff_sample_bytes(&header, 4, "\x22\x05\x0a\x03\x0a\x01x", 7);
    ntff_sample_varint(&section, 5, UINT64_MAX - 8); /* offset + length wraps around */
    ntff_sample_varint(&section, 6, 64);
    ntff_sample_bytes(&header, 16, section.bytes, section.bytes_count);
    ntk_buf_reset(&section);
    /* The section is longer than the file and has an incomplete record. */
    ntff_sample_varint(&section, 6, 40);
    ntff_sample_varint(&section, 1, 1);
    ntff_sample_bytes(&header, 16, section.bytes, section.bytes_count);
    ntk_buf_reset(&section);
    ntff_sample_varint(&section, 6, 16); /* of a core that does not exist */
    ntff_sample_varint(&section, 7, 9);
    ntff_sample_bytes(&header, 16, section.bytes, section.bytes_count);
    ntff_sample_head(&file, 6, header.bytes_count, 0);
    ntk_buf_add(&file, header.bytes, header.bytes_count);
    ntk_buf_add_fill(&file, 0x7f, 24);

    assert_int_equal(ntk_ntff_open_bytes(file.bytes, file.bytes_count, &ntff, NULL), 0);

    assert_int_equal(ntff->warning_count, 3);
    assert_int_equal(ntff->subgraphs[0].section_count, 2);
    assert_int_equal(ntff->subgraphs[0].sections[0].record_count, 0);
    assert_int_equal(ntff->subgraphs[0].sections[1].record_count, 1);
    struct ntk_ntff_record r;
    ntk_ntff_record_get(&ntff->subgraphs[0], &ntff->subgraphs[0].sections[1], 0, &r);
    assert_int_equal(r.kind, NTK_NTFF_RECORD_UNKNOWN);
    ntk_ntff_close(ntff);
    ntk_buf_fini(&header);
    ntk_buf_fini(&file);
    ntk_buf_fini(&section);
}

static void an_ntff_header_that_is_not_a_protobuf_message_counts_as_damaged(void **state)
{
    struct ntk_buf file = { 0 };
    struct ntk_ntff *ntff = NULL;
    struct ntk_err err = { 0 };

    ntff_sample_head(&file, 6, 64, 0);
    ntk_buf_add_fill(&file, (char)0xff, 64);
    assert_int_equal(ntk_ntff_open_bytes(file.bytes, file.bytes_count, &ntff, &err), -EBADMSG);
    assert_string_equal(err.text, "the header message is damaged");
    ntk_buf_fini(&file);
}

static void a_message_of_many_small_parts_cannot_exhaust_memory(void **state)
{
    struct ntk_buf header = { 0 };
    struct ntk_buf file = { 0 };
    struct ntk_ntff *ntff = NULL;
    struct ntk_err err = { 0 };

    for (size_t i = 0; i < 4000000; i++) {
        ntk_buf_add(&header, "\x82\x01\x00", 3); /* an empty section */
    }
    ntff_sample_head(&file, 6, header.bytes_count, 0);
    ntk_buf_add(&file, header.bytes, header.bytes_count);
    assert_int_equal(ntk_ntff_open_bytes(file.bytes, file.bytes_count, &ntff, &err), -EBADMSG);
    ntk_buf_fini(&header);
    ntk_buf_fini(&file);
}

static void an_open_error_contains_the_file_name(void **state)
{
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "none.ntff");
    struct ntk_ntff *ntff = NULL;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_ntff_open(path, &ntff, &err), -ENOENT);
    assert_non_null(strstr(err.text, path));
    err = (struct ntk_err){ 0 };
    assert_int_equal(ntk_ntff_open(folder, &ntff, &err), -EISDIR);
    assert_non_null(strstr(err.text, "is a folder"));
    err = (struct ntk_err){ 0 };
    assert_int_equal(ntk_fs_write(path, "", 0, &err), 0);
    assert_int_equal(ntk_ntff_open(path, &ntff, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "the file is empty"));
    assert_null(ntff);
    free(path);
    test_scratch_destroy(folder);
}

static void a_neff_with_a_different_uuid_is_rejected(void **state)
{
    struct ntk_buf file = build(6, 0, NULL);
    struct ntk_ntff *ntff = NULL;
    struct ntk_err err = { 0 };
    uint8_t uuid[16];

    assert_int_equal(ntk_ntff_open_bytes(file.bytes, file.bytes_count, &ntff, NULL), 0);
    memcpy(uuid, ntff->neff_uuid, sizeof uuid);
    assert_int_equal(ntk_ntff_check_neff(ntff, uuid, &err), 0);
    uuid[15] ^= 1;
    assert_int_equal(ntk_ntff_check_neff(ntff, uuid, &err), -ENOEXEC);
    assert_non_null(strstr(err.text, NTFF_SAMPLE_UUID_TEXT));
    ntk_ntff_close(ntff);
    ntk_buf_fini(&file);
}

/* Method: the uuid as runtimes write it, up to its first zero byte; then the capture with NEFFs
 * with a uuid that differs before, at and after that byte. */
static void a_truncated_uuid_distinguishes_neffs_by_its_bytes(void **state)
{
    static const struct {
        uint8_t uuid[16];
        unsigned known; /* bytes */
        const char *text;
    } rows[] = {
        { { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
          16,
          "0102030405060708090a0b0c0d0e0f10" },
        { { 0xab, 0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 }, 2, "ab00..." },
        { { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0, 15, 16 },
          14,
          "0102030405060708090a0b0c0d00..." },
        { { 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 }, 0, "-" },
    };

    for (unsigned version = 4; version <= 6; version++) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            struct ntff_sample sample = { .version = version,
                                          .uuid = rows[i].uuid,
                                          .is_uuid_once = true };
            struct ntk_buf file = { 0 };
            struct ntk_ntff *ntff = NULL;
            char text[NTK_NTFF_UUID_TEXT_BYTES];

            ntff_sample_build(&sample, &file);
            assert_int_equal(ntk_ntff_open_bytes(file.bytes, file.bytes_count, &ntff, NULL), 0);
            assert_int_equal(ntff->neff_uuid_known_bytes, rows[i].known);
            ntk_ntff_uuid_text(ntff, text);
            assert_string_equal(text, rows[i].text);
            int same = rows[i].known ? 0 : -ENODATA;
            assert_int_equal(ntk_ntff_check_neff(ntff, rows[i].uuid, NULL), same);
            for (unsigned byte = 0; byte < 16; byte++) {
                uint8_t other[16];

                memcpy(other, rows[i].uuid, sizeof other);
                other[byte] ^= 0x80;
                assert_int_equal(ntk_ntff_check_neff(ntff, other, NULL),
                                 byte < rows[i].known ? -ENOEXEC : same);
            }
            ntk_ntff_close(ntff);
            ntk_buf_fini(&file);
        }
    }
}

static void the_node_uuid_has_all_16_bytes(void **state)
{
    static const uint8_t uuid[16] = { 1, 0, 3, 4, 0, 6 };
    static const uint8_t other[16] = { 1, 0, 3, 4, 0, 7 };
    struct ntff_sample sample = {
        .version = 6, .uuid = uuid, .is_uuid_once = true, .is_uuid_in_node = true
    };
    struct ntk_buf file = { 0 };
    struct ntk_ntff *ntff = NULL;

    ntff_sample_build(&sample, &file);
    assert_int_equal(ntk_ntff_open_bytes(file.bytes, file.bytes_count, &ntff, NULL), 0);
    assert_int_equal(ntff->neff_uuid_known_bytes, 16);
    assert_int_equal(ntk_ntff_check_neff(ntff, uuid, NULL), 0);
    assert_int_equal(ntk_ntff_check_neff(ntff, other, NULL), -ENOEXEC);
    ntk_ntff_close(ntff);
    ntk_buf_fini(&file);
    (void)state;
}

static void the_execution_uuid_has_all_16_bytes(void **state)
{
    static const uint8_t uuid[16] = { 0, 2, 3, 4, 0, 6 };
    struct ntff_sample sample = { .version = 6, .uuid = uuid };
    struct ntk_buf file = { 0 };
    struct ntk_ntff *ntff = NULL;

    ntff_sample_build(&sample, &file);
    assert_int_equal(ntk_ntff_open_bytes(file.bytes, file.bytes_count, &ntff, NULL), 0);
    assert_int_equal(ntff->neff_uuid_known_bytes, 16);
    assert_int_equal(ntk_ntff_check_neff(ntff, uuid, NULL), 0);
    ntk_ntff_close(ntff);
    ntk_buf_fini(&file);
}

static void queue_and_opcode_names_are_converted_for_display(void **state)
{
    char text[64];

    ntk_ntff_queue_name_show("qPoolDynamic", text, sizeof text);
    assert_string_equal(text, "qGpSimdDynamic");
    ntk_ntff_queue_name_show("qSPDynamicHW", text, sizeof text);
    assert_string_equal(text, "qSyncDynamicHW");
    ntk_ntff_queue_name_show("qActTable", text, sizeof text);
    assert_string_equal(text, "qScalarTable");
    ntk_ntff_queue_name_show("qDveTable", text, sizeof text);
    assert_string_equal(text, "qDveTable");
    assert_string_equal(ntk_ntff_opcode_name(0xb8, text, sizeof text), "DMA_DIRECT2D");
    assert_string_equal(ntk_ntff_opcode_name(0x7f, text, sizeof text), "OP_0x7f");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_yields_the_header_values),
        cmocka_unit_test(every_version_yields_the_same_records),
        cmocka_unit_test(the_compiler_pc_excludes_runtime_instructions),
        cmocka_unit_test(reserved_capture_bytes_are_ignored),
        cmocka_unit_test(unsupported_versions_are_rejected_by_name),
        cmocka_unit_test(foreign_files_are_distinguished_from_unsupported_versions),
        cmocka_unit_test(a_warning_is_printed_once_per_kind),
        cmocka_unit_test(a_truncated_file_yields_a_message_and_its_intact_part),
        cmocka_unit_test(a_damaged_byte_never_causes_a_read_beyond_the_file),
        cmocka_unit_test(sections_with_invalid_sizes_are_truncated_or_ignored),
        cmocka_unit_test(an_ntff_header_that_is_not_a_protobuf_message_counts_as_damaged),
        cmocka_unit_test(a_message_of_many_small_parts_cannot_exhaust_memory),
        cmocka_unit_test(an_open_error_contains_the_file_name),
        cmocka_unit_test(a_neff_with_a_different_uuid_is_rejected),
        cmocka_unit_test(a_truncated_uuid_distinguishes_neffs_by_its_bytes),
        cmocka_unit_test(the_execution_uuid_has_all_16_bytes),
        cmocka_unit_test(the_node_uuid_has_all_16_bytes),
        cmocka_unit_test(queue_and_opcode_names_are_converted_for_display),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
