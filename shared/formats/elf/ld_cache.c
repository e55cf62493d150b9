/* SPDX-License-Identifier: MIT */
#include "shared/formats/elf/ld_cache.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES_MAX (64u << 20) /* enough for some hundred thousand libraries */

#define MAGIC "glibc-ld.so.cache1.1"
#define MAGIC_BYTES (sizeof MAGIC - 1)
#define OLD_MAGIC "ld.so-1.7.0"
#define OLD_HEADER_BYTES 16 /* size including the count */
#define OLD_ENTRY_BYTES 12
#if defined(__x86_64__)
#define FLAGS 0x0303 /* flags of this machine's libraries for the C library's sixth version */
#elif defined(__aarch64__)
#define FLAGS 0x0a03
#else
#define FLAGS (-1)
#endif

/*
 *   offset size field
 *        0   20 magic
 *       20    4 entries
 *       24    4 bytes of strings; an extension may follow them, which has no names
 *       28   20 byte order, offset of the extension, unused
 *       48      entries
 */
struct header {
    char magic[MAGIC_BYTES];
    uint32_t entry_count;
    uint32_t string_bytes;
    uint32_t unused[5];
};
static_assert(sizeof(struct header) == 48, "as ldconfig writes it");

struct entry {
    int32_t flags;
    uint32_t name; /* this and the next: offsets of texts from the header */
    uint32_t path;
    uint32_t os_version;
    uint64_t hardware;
};
static_assert(sizeof(struct entry) == 24, "as ldconfig writes it");

static int table_find(struct ntk_ld_cache *cache)
{
    struct header header;
    uint32_t count;

    if (cache->size >= OLD_HEADER_BYTES &&
        memcmp(cache->bytes, OLD_MAGIC, sizeof OLD_MAGIC - 1) == 0) {
        memcpy(&count, cache->bytes + 12, sizeof count);
        cache->start = (OLD_HEADER_BYTES + (size_t)count * OLD_ENTRY_BYTES + 7) & ~(size_t)7;
    }
    if (cache->start > cache->size || cache->size - cache->start < sizeof header) {
        return -EBADMSG;
    }
    memcpy(&header, cache->bytes + cache->start, sizeof header);
    if (memcmp(header.magic, MAGIC, MAGIC_BYTES) != 0 ||
        (cache->size - cache->start - sizeof header) / sizeof(struct entry) < header.entry_count) {
        return -EBADMSG;
    }
    cache->entry_count = header.entry_count;
    return 0;
}

int ntk_ld_cache_open_fd(struct ntk_ld_cache *cache, int fd)
{
    struct stat status;
    size_t done = 0;
    ssize_t some;

    *cache = (struct ntk_ld_cache){ 0 };
    if (fstat(fd, &status) != 0) {
        return -errno;
    }
    if (!S_ISREG(status.st_mode) || status.st_size <= 0 || status.st_size > BYTES_MAX) {
        return -EBADMSG;
    }
    size_t size = (size_t)status.st_size;
    char *bytes = mmap(NULL, size + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED) {
        return -errno;
    }
    cache->bytes = bytes;
    cache->size = size;
    do {
        some = pread(fd, bytes + done, size - done, (off_t)done);
        done += some > 0 ? (size_t)some : 0;
    } while ((some > 0 && done < size) || (some < 0 && errno == EINTR));
    int ret = some < 0 ? -errno : done < size ? -EBADMSG : table_find(cache);
    if (ret < 0) {
        ntk_ld_cache_close(cache);
    }
    return ret;
}

int ntk_ld_cache_open(struct ntk_ld_cache *cache, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    *cache = (struct ntk_ld_cache){ 0 };
    if (fd < 0) {
        return -errno;
    }
    int ret = ntk_ld_cache_open_fd(cache, fd);
    (void)close(fd);
    return ret;
}

void ntk_ld_cache_close(struct ntk_ld_cache *cache)
{
    if (cache->bytes) {
        (void)munmap((void *)cache->bytes, cache->size + 1);
    }
    *cache = (struct ntk_ld_cache){ 0 };
}

static const char *text_get(const struct ntk_ld_cache *cache, uint32_t at)
{
    return at < cache->size - cache->start ? cache->bytes + cache->start + at : "";
}

const char *ntk_ld_cache_next(const struct ntk_ld_cache *cache, const char *name, uint32_t *cursor)
{
    while (*cursor < cache->entry_count) {
        struct entry entry;

        memcpy(&entry, cache->bytes + cache->start + sizeof(struct header) + *cursor * sizeof entry,
               sizeof entry);
        ++*cursor;
        if (entry.flags == FLAGS && strcmp(text_get(cache, entry.name), name) == 0) {
            return text_get(cache, entry.path);
        }
    }
    return NULL;
}
