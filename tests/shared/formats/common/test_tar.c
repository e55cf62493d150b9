/* SPDX-License-Identifier: MIT */
#include "shared/formats/common/tar.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tests/support/unit.h"

static const struct ntk_tar_limits limits = { 1 << 24, 100, 1000 };

/* One 512-byte ustar header; size as text of 11 octal digits. */
static void put_header(uint8_t *block, const char *name, const char *octal_size, char type)
{
    unsigned sum = 0;

    memset(block, 0, 512);
    snprintf((char *)block, 100, "%s", name);
    snprintf((char *)block + 100, 8, "0000664");
    snprintf((char *)block + 108, 8, "0001750");
    snprintf((char *)block + 116, 8, "0001750");
    snprintf((char *)block + 124, 12, "%s", octal_size);
    snprintf((char *)block + 136, 12, "00000000000");
    memset(block + 148, ' ', 8);
    block[156] = (uint8_t)type;
    snprintf((char *)block + 257, 6, "ustar");
    block[263] = '0';
    block[264] = '0';
    for (int i = 0; i < 512; i++) {
        sum += block[i];
    }
    snprintf((char *)block + 148, 8, "%06o", sum);
}

/* An archive of one member with 4 bytes of content. */
static int read_one(const char *name, const char *octal_size, char type, struct ntk_err *err)
{
    uint8_t bytes[2048] = { 0 };
    struct ntk_tar tar = { 0 };
    int ret;

    put_header(bytes, name, octal_size, type);
    snprintf((char *)bytes + 512, 5, "abcd");
    ret = ntk_tar_read(bytes, sizeof bytes, &limits, &tar, err);
    if (ret == 0) {
        assert_int_equal(tar.member_count, 1);
        assert_memory_equal(tar.members[0].bytes, "abcd", 4);
    } else {
        assert_null(tar.members);
    }
    ntk_tar_fini(&tar);
    return ret;
}

static void written_archives_are_read_back_unchanged(void **state)
{
    char large[100000];
    struct ntk_tar_source members[] = { { "empty", "", 0 },
                                        { "folder/large", large, sizeof large },
                                        { "folder/small", "x", 1 } };

    for (size_t i = 0; i < sizeof large; i++) {
        large[i] = (char)(i * 7919 >> 3);
    }
    for (int compress = 0; compress < 2; compress++) {
        uint8_t *bytes[2];
        size_t count[2];
        struct ntk_tar tar = { 0 };

        for (int i = 0; i < 2; i++) {
            assert_int_equal(ntk_tar_write(members, 3, compress, 10240, &bytes[i], &count[i], NULL),
                             0);
        }
        assert_int_equal(count[0], count[1]);
        assert_memory_equal(bytes[0], bytes[1], count[0]);
        assert_int_equal(count[0] % 10240, 0);
        assert_int_equal(ntk_tar_read(bytes[0], count[0], &limits, &tar, NULL), 0);
        assert_int_equal(tar.is_compressed, compress);
        assert_int_equal(tar.member_count, 3);
        for (int i = 0; i < 3; i++) {
            assert_string_equal(tar.members[i].name, members[i].name);
            assert_int_equal(tar.members[i].bytes_count, members[i].bytes_count);
            assert_memory_equal(tar.members[i].bytes, members[i].bytes, members[i].bytes_count);
            assert_int_equal(tar.members[i].bytes[members[i].bytes_count], 0);
        }
        ntk_tar_fini(&tar);
        free(bytes[0]);
        free(bytes[1]);
    }
}

static void names_that_leave_the_archive_are_rejected(void **state)
{
    static const char *const bad[] = { "/etc/passwd", "../up", "a/../../b", "a/..", "..", "a//b" };
    static const char *const good[] = { "./a", "a", "a..b", "..a/b", "a/b.c", "././a" };
    struct ntk_err err = { 0 };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memset(&err, 0, sizeof err);
        assert_int_equal(read_one(bad[i], "00000000004", '0', &err), -EBADMSG);
        assert_non_null(strstr(err.text, "is outside the archive"));
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(read_one(good[i], "00000000004", '0', &err), 0);
    }
}

static void members_that_are_not_files_are_rejected(void **state)
{
    static const char types[] = { '1', '2', '3', '4', '6' };

    for (size_t i = 0; i < sizeof types; i++) {
        struct ntk_err err = { 0 };

        assert_int_equal(read_one("link", "00000000000", types[i], &err), -EBADMSG);
        assert_string_equal(err.text, "member 'link' is not a regular file");
    }
}

static void a_size_beyond_the_archive_is_rejected_before_allocation(void **state)
{
    struct ntk_err err = { 0 };

    assert_int_equal(read_one("liar", "77777777777", '0', &err), -EFBIG);
    assert_string_equal(err.text,
                        "member 'liar' claims 8589934591 bytes, more than the archive can contain");
    /* More than the archive has. */
    assert_int_equal(read_one("liar", "00000003001", '0', &err), -EBADMSG);
}

static void archives_beyond_the_limits_are_rejected(void **state)
{
    char zeros[5000] = { 0 };
    struct ntk_tar_source members[] = { { "a", zeros, sizeof zeros },
                                        { "b", zeros, sizeof zeros } };
    struct ntk_tar_limits few = { 1 << 20, 1, 100 };
    struct ntk_tar_limits small = { 9999, 10, 100 };
    struct ntk_tar_limits enough = { 10000, 2, 1 };
    struct ntk_tar tar = { 0 };
    uint8_t *bytes;
    size_t count;

    assert_int_equal(ntk_tar_write(members, 2, true, 0, &bytes, &count, NULL), 0);
    assert_int_equal(ntk_tar_read(bytes, count, &few, &tar, NULL), -EFBIG);
    assert_int_equal(ntk_tar_read(bytes, count, &small, &tar, NULL), -EFBIG);
    assert_int_equal(ntk_tar_read(bytes, count, &enough, &tar, NULL), 0);
    ntk_tar_fini(&tar);
    free(bytes);
}

/* Method: every length of a small archive, plain and compressed. */
static void a_truncated_archive_is_rejected_or_has_all_members(void **state)
{
    struct ntk_tar_source member = { "member", "0123456789", 10 };

    for (int compress = 0; compress < 2; compress++) {
        uint8_t *bytes;
        size_t count;

        assert_int_equal(ntk_tar_write(&member, 1, compress, 0, &bytes, &count, NULL), 0);
        for (size_t cut = 0; cut < count; cut++) {
            uint8_t *part = malloc(cut + 1);
            struct ntk_tar tar = { 0 };
            int ret;

            memcpy(part, bytes, cut);
            ret = ntk_tar_read(part, cut, &limits, &tar, NULL);
            assert_true(ret < 0 || !compress); /* its checksums are at the very end */
            if (ret == 0) {                    /* only the end marks are missing */
                assert_int_equal(tar.member_count, 1);
                assert_int_equal(tar.members[0].bytes_count, 10);
                assert_memory_equal(tar.members[0].bytes, "0123456789", 10);
            }
            ntk_tar_fini(&tar);
            free(part);
        }
        free(bytes);
    }
}

/* Bytes that arrive in pieces, and may fail on the way. */
struct pieces {
    const uint8_t *bytes;
    size_t count, piece, fail_at;
};

static int64_t next_piece(void *ctx, void *to, size_t bytes_count, struct ntk_err *err)
{
    struct pieces *p = ctx;
    size_t take = p->count < p->piece ? p->count : p->piece;

    take = take < bytes_count ? take : bytes_count;
    if (p->fail_at < take) {
        return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "the disk is gone");
    }
    p->fail_at -= take;
    memcpy(to, p->bytes, take);
    p->bytes += take;
    p->count -= take;
    return (int64_t)take;
}

/* Method: compressed and plain, in pieces of every size up to 70; then one that fails. */
static void an_archive_read_in_pieces_yields_the_same_members(void **state)
{
    char text[3000];
    struct ntk_tar_source members[2] = { { "a", text, sizeof text }, { "b", "0123456789", 10 } };

    (void)state;
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = (char)(i * i % 251);
    }
    for (int compress = 0; compress < 2; compress++) {
        uint8_t *bytes;
        size_t count;

        assert_int_equal(ntk_tar_write(members, 2, compress, 0, &bytes, &count, NULL), 0);
        for (size_t piece = 1; piece <= 70; piece++) {
            struct pieces pieces = { bytes, count, piece, SIZE_MAX };
            struct ntk_tar tar = { 0 };
            struct ntk_err err = { 0 };

            assert_int_equal(ntk_tar_read_stream(next_piece, &pieces, count, &limits, &tar, NULL),
                             0);
            assert_int_equal(pieces.count, 0);
            assert_int_equal(tar.member_count, 2);
            assert_memory_equal(tar.members[0].bytes, text, sizeof text);
            assert_memory_equal(tar.members[1].bytes, "0123456789", 10);
            ntk_tar_fini(&tar);

            pieces = (struct pieces){ bytes, count, piece, count * piece / 71 };
            assert_int_equal(ntk_tar_read_stream(next_piece, &pieces, count, &limits, &tar, &err),
                             -EIO);
            assert_string_equal(err.text, "the disk is gone");
        }
        free(bytes);
    }
}

static void bytes_after_the_gzip_stream_are_ignored(void **state)
{
    struct ntk_tar_source member = { "member", "0123456789", 10 };
    uint8_t *bytes;
    uint8_t *longer;
    size_t count;

    assert_int_equal(ntk_tar_write(&member, 1, true, 0, &bytes, &count, NULL), 0);
    longer = malloc(count + 5000);
    for (int fill = 0; fill < 256; fill += 51) {
        struct ntk_tar tar = { 0 };

        memcpy(longer, bytes, count);
        memset(longer + count, fill, 5000);
        assert_int_equal(ntk_tar_read(longer, count + 5000, &limits, &tar, NULL), 0);
        assert_int_equal(tar.member_count, 1);
        ntk_tar_fini(&tar);
    }
    free(longer);
    free(bytes);
}

/* Method: each byte of an archive of incompressible data, so that deflate itself cannot object, is
 * changed by one bit. A bit without a meaning (deflate pads to bytes) may change as long as the
 * content does not. */
static void a_flipped_bit_in_an_archive_is_detected(void **state)
{
    uint8_t noise[3000];
    struct ntk_tar_source member = { "member", noise, sizeof noise };
    struct ntk_err err = { 0 };
    uint32_t x = 1;
    uint8_t *bytes;
    size_t count;
    size_t seen = 0;

    for (size_t i = 0; i < sizeof noise; i++) {
        x = x * 1664525 + 1013904223;
        noise[i] = (uint8_t)(x >> 24);
    }
    assert_int_equal(ntk_tar_write(&member, 1, true, 0, &bytes, &count, NULL), 0);
    for (size_t i = 10; i < count; i++) {
        struct ntk_tar tar = { 0 };

        bytes[i] ^= (uint8_t)(1U << i % 8);
        memset(&err, 0, sizeof err);
        if (ntk_tar_read(bytes, count, &limits, &tar, &err) == 0) {
            assert_int_equal(tar.member_count, 1);
            assert_int_equal(tar.members[0].bytes_count, sizeof noise);
            assert_memory_equal(tar.members[0].bytes, noise, sizeof noise);
            ntk_tar_fini(&tar);
        }
        seen += strstr(err.text, "archive is damaged: gzip: incorrect data check") != NULL;
        bytes[i] ^= (uint8_t)(1U << i % 8);
    }
    assert_true(seen > sizeof noise / 2); /* only the checksum detects most of them */
    free(bytes);
}

/* Two concatenated streams are one archive. */
static void concatenated_gzip_streams_are_one_archive(void **state)
{
    static const size_t cuts[] = { 1, 511, 512, 70000, 100000 };
    static char content[200000];
    struct ntk_tar_source member = { "member", content, sizeof content };
    uint8_t *plain;
    size_t plain_count;

    for (size_t i = 0; i < sizeof content; i++) {
        content[i] = (char)(i * 7919 >> 3);
    }
    assert_int_equal(ntk_tar_write(&member, 1, false, 0, &plain, &plain_count, NULL), 0);
    for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
        const size_t parts[2] = { cuts[c], plain_count - cuts[c] };
        uint8_t *bytes = malloc(2 * plain_count + 1000);
        struct ntk_tar tar = { 0 };
        size_t count = 0;

        for (size_t p = 0; p < 2; p++) {
            z_stream gzip = { 0 };

            assert_int_equal(
                deflateInit2(&gzip, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
            gzip.next_in = plain + (p == 0 ? 0 : parts[0]);
            gzip.avail_in = (uInt)parts[p];
            gzip.next_out = bytes + count;
            gzip.avail_out = (uInt)(2 * plain_count + 1000 - count);
            assert_int_equal(deflate(&gzip, Z_FINISH), Z_STREAM_END);
            count += gzip.total_out;
            (void)deflateEnd(&gzip);
        }
        assert_int_equal(ntk_tar_read(bytes, count, &limits, &tar, NULL), 0);
        assert_int_equal(tar.member_count, 1);
        assert_memory_equal(tar.members[0].bytes, content, sizeof content);
        ntk_tar_fini(&tar);
        free(bytes);
    }
    free(plain);
}

static void random_bytes_are_rejected_as_an_archive(void **state)
{
    uint8_t noise[4096];
    struct ntk_tar tar = { 0 };

    for (size_t i = 0; i < sizeof noise; i++) {
        noise[i] = (uint8_t)(i * i * 31 >> 5);
    }
    assert_true(ntk_tar_read(noise, sizeof noise, &limits, &tar, NULL) < 0);
    memset(noise, 0, sizeof noise);
    assert_int_equal(ntk_tar_read(noise, sizeof noise, &limits, &tar, NULL), -EBADMSG);
    assert_int_equal(ntk_tar_read(noise, 0, &limits, &tar, NULL), -EBADMSG);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_archives_are_read_back_unchanged),
        cmocka_unit_test(names_that_leave_the_archive_are_rejected),
        cmocka_unit_test(members_that_are_not_files_are_rejected),
        cmocka_unit_test(a_size_beyond_the_archive_is_rejected_before_allocation),
        cmocka_unit_test(archives_beyond_the_limits_are_rejected),
        cmocka_unit_test(a_truncated_archive_is_rejected_or_has_all_members),
        cmocka_unit_test(an_archive_read_in_pieces_yields_the_same_members),
        cmocka_unit_test(bytes_after_the_gzip_stream_are_ignored),
        cmocka_unit_test(a_flipped_bit_in_an_archive_is_detected),
        cmocka_unit_test(concatenated_gzip_streams_are_one_archive),
        cmocka_unit_test(random_bytes_are_rejected_as_an_archive),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
