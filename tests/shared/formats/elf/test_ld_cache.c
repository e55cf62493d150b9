/* SPDX-License-Identifier: MIT */
/* Method: a cache as tools write it, made here, followed by an extension as since glibc 2.33; then
 * truncated and damaged. Also the cache of this machine. */
#include "shared/formats/elf/ld_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "tests/support/unit.h"

#if defined(__aarch64__)
#define FLAGS 0x0a03u
#else
#define FLAGS 0x0303u
#endif
#define EXTENSION "\x74\x21\xa4\xea generator 2.36" /* no NUL in the file */

struct image {
    uint8_t bytes[1024];
    size_t size;
    int fd;
};

static void put(struct image *image, const void *bytes, size_t count)
{
    memcpy(image->bytes + image->size, bytes, count);
    image->size += count;
}

static void put_word(struct image *image, uint32_t word)
{
    put(image, &word, sizeof word);
}

static void put_entry(struct image *image, uint32_t flags, uint32_t name, uint32_t path)
{
    put_word(image, flags);
    put_word(image, name);
    put_word(image, path);
    put_word(image, 0);
    put_word(image, 0);
    put_word(image, 0);
}

/* Three entries for libnrt.so.1, the first for another machine, and one for another library. */
static struct image begin(void)
{
    static const char strings[] = "libnrt.so.1\0/a/libnrt.so.1\0/b/libnrt.so.1\0libx.so\0/x";
    const uint32_t base = 48 + 4 * 24;
    struct image image = { .fd = memfd_create("cache", MFD_CLOEXEC) };

    assert_true(image.fd >= 0);
    put(&image, "glibc-ld.so.cache1.1", 20);
    put_word(&image, 4);
    put_word(&image, sizeof strings);
    for (int i = 0; i < 5; i++) {
        put_word(&image, 0);
    }
    put_entry(&image, 0x0803, base, base + 12);
    put_entry(&image, FLAGS, base + 42, base + 50);
    put_entry(&image, FLAGS, base, base + 12);
    put_entry(&image, FLAGS, base, base + 27);
    put(&image, strings, sizeof strings);
    put(&image, EXTENSION, sizeof EXTENSION - 1);
    return image;
}

static int look(struct image *image, size_t size, struct ntk_ld_cache *cache)
{
    assert_int_equal(ftruncate(image->fd, 0), 0);
    assert_int_equal(ntk_fs_pwrite(image->fd, image->bytes, size, 0), 0);
    return ntk_ld_cache_open_fd(cache, image->fd);
}

static void two_are_found(const struct ntk_ld_cache *cache)
{
    uint32_t cursor = 0;

    assert_string_equal(ntk_ld_cache_next(cache, "libnrt.so.1", &cursor), "/a/libnrt.so.1");
    assert_string_equal(ntk_ld_cache_next(cache, "libnrt.so.1", &cursor), "/b/libnrt.so.1");
    assert_null(ntk_ld_cache_next(cache, "libnrt.so.1", &cursor));
    cursor = 0;
    assert_string_equal(ntk_ld_cache_next(cache, "libx.so", &cursor), "/x");
    cursor = 0;
    assert_null(ntk_ld_cache_next(cache, "libnrt.so", &cursor));
}

static void libraries_of_this_machine_are_found_in_order(void **state)
{
    struct image image = begin();
    struct ntk_ld_cache cache;

    (void)state;
    assert_int_equal(look(&image, image.size, &cache), 0);
    two_are_found(&cache);
    ntk_ld_cache_close(&cache);
    close(image.fd);
}

static void the_old_format_table_of_the_cache_is_skipped(void **state)
{
    struct image image = begin();
    struct image whole = { .fd = image.fd };
    struct ntk_ld_cache cache;
    static const uint8_t old_entries[2 * 12 + 8] = { 0 };

    (void)state;
    put(&whole, "ld.so-1.7.0\0\2\0\0\0", 16);
    put(&whole, old_entries, sizeof old_entries - 8);
    put(&whole, image.bytes, image.size);
    assert_int_equal(look(&whole, whole.size, &cache), 0);
    two_are_found(&cache);
    ntk_ld_cache_close(&cache);
    whole.bytes[15] = 0xff; /* more old entries than there are */
    assert_int_equal(look(&whole, whole.size, &cache), -EBADMSG);
    close(image.fd);
}

static void walk(const struct ntk_ld_cache *cache)
{
    uint32_t cursor = 0;
    const char *path;

    while ((path = ntk_ld_cache_next(cache, "libnrt.so.1", &cursor)) != NULL) {
        assert_true(strlen(path) <= cache->size);
    }
}

static void a_truncated_or_damaged_ld_cache_is_rejected_or_read_within_bounds(void **state)
{
    struct image image = begin();
    struct ntk_ld_cache cache;

    (void)state;
    for (size_t size = 0; size < image.size; size++) {
        int ret = look(&image, size, &cache);

        assert_int_equal(ret, size < 48 + 4 * 24 ? -EBADMSG : 0);
        walk(&cache);
        ntk_ld_cache_close(&cache);
    }
    for (size_t i = 0; i < image.size; i++) {
        for (int value = 0; value < 256; value += 51) {
            uint8_t before = image.bytes[i];

            image.bytes[i] = (uint8_t)value;
            (void)look(&image, image.size, &cache);
            walk(&cache);
            ntk_ld_cache_close(&cache);
            image.bytes[i] = before;
        }
    }
    close(image.fd);
}

static void an_ld_cache_with_four_billion_entries_is_rejected(void **state)
{
    struct image image = begin();
    struct ntk_ld_cache cache;

    (void)state;
    memset(image.bytes + 20, 0xff, 4);
    assert_int_equal(look(&image, image.size, &cache), -EBADMSG);
    close(image.fd);
    assert_int_equal(ntk_ld_cache_open(&cache, "/no/such/cache"), -ENOENT);
    assert_int_equal(ntk_ld_cache_open(&cache, "/dev/zero"), -EBADMSG);
}

static void the_c_library_is_found_in_the_cache_of_this_machine(void **state)
{
    struct ntk_ld_cache cache;
    uint32_t cursor = 0;

    (void)state;
    if (access(NTK_LD_CACHE_FILE, R_OK) != 0 || getenv("NTK_EMULATED")) {
        skip();
    }
    assert_int_equal(ntk_ld_cache_open(&cache, NTK_LD_CACHE_FILE), 0);
    const char *path = ntk_ld_cache_next(&cache, "libc.so.6", &cursor);
    assert_non_null(path);
    assert_int_equal(access(path, R_OK), 0);
    ntk_ld_cache_close(&cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libraries_of_this_machine_are_found_in_order),
        cmocka_unit_test(the_old_format_table_of_the_cache_is_skipped),
        cmocka_unit_test(a_truncated_or_damaged_ld_cache_is_rejected_or_read_within_bounds),
        cmocka_unit_test(an_ld_cache_with_four_billion_entries_is_rejected),
        cmocka_unit_test(the_c_library_is_found_in_the_cache_of_this_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
