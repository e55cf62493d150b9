/* SPDX-License-Identifier: MIT */
/* spool - stores messages in files "<20 digits>.msg", oldest first by name. */
#include "exporters/transport/spool.h"

#include <assert.h>
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "shared/base/fs.h"
#include "shared/base/order.h"
#include "shared/base/write_all.h"

#define NAME_BYTES 32
#define DIGITS 20
/* Number of the first file in an empty folder: leaves numbers below it free. */
#define NUMBER_FIRST (UINT64_C(1) << 40)

struct entry {
    uint64_t number;
    uint64_t file_bytes;
    uint64_t item_count;
    bool is_new; /* not synced yet */
};

struct ntk_spool {
    int folder_fd;
    int lock_fd;
    uint64_t bytes_max;
    size_t message_bytes_max;
    struct ntk_vec entries; /* elements are struct entry, oldest first; valid in [first, count) */
    size_t first;
    uint64_t next_number; /* number of the next file after all others; never reused */
    uint64_t bytes;
    uint64_t items;
    bool has_changes; /* true if changed since the last sync */
};

static void name_of(char name[NAME_BYTES], uint64_t number, const char *end)
{
    (void)snprintf(name, NAME_BYTES, "%0*llu.%s", DIGITS, (unsigned long long)number, end);
}

static bool number_of(const char *name, const char *end_of_name, uint64_t *out_number)
{
    char *end;

    if (strspn(name, "0123456789") != DIGITS || strcmp(name + DIGITS, end_of_name) != 0) {
        return false;
    }
    errno = 0;
    *out_number = strtoull(name, &end, 10);
    return errno == 0 && *out_number < UINT64_MAX / 2; /* a next number always exists */
}

static bool header_read(int fd, uint64_t file_bytes, size_t message_bytes_max,
                        struct ntk_spool_header *header)
{
    if (pread(fd, header, sizeof *header, 0) != (ssize_t)sizeof *header) {
        return false;
    }
    header->magic = le64toh(header->magic);
    header->version = le32toh(header->version);
    header->crc32 = le32toh(header->crc32);
    header->item_count = le64toh(header->item_count);
    header->bytes_count = le64toh(header->bytes_count);
    return header->magic == NTK_SPOOL_MAGIC && header->version == NTK_SPOOL_VERSION &&
           header->bytes_count <= message_bytes_max &&
           header->bytes_count + sizeof *header == file_bytes && header->item_count < UINT32_MAX;
}

NTK_ORDER(by_number, struct entry, NTK_UP(number));

/* Opens a file with O_NONBLOCK: a FIFO with that name must not block; like everything except a
 * regular file, it counts as damaged. */
static int open_to_read(const struct ntk_spool *spool, const char *name)
{
    return openat(spool->folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

/* Returns true if this process temporarily lacks a resource, independent of the file. */
static bool is_shortage(int error)
{
    return error == ENOMEM || error == EMFILE || error == ENFILE || error == EINTR;
}

/* Adds the file if it is a message. A damaged or unreadable file is removed when its turn comes; a
 * partly written file immediately. */
static int add_file(struct ntk_spool *spool, const char *name)
{
    struct entry entry = { 0 };
    struct ntk_spool_header header;
    struct stat stat;

    if (number_of(name, ".new", &entry.number)) {
        (void)unlinkat(spool->folder_fd, name, 0);
    }
    if (!number_of(name, ".msg", &entry.number)) {
        return 0;
    }
    int fd = open_to_read(spool, name);
    if (fd < 0 && (errno == ENOENT || errno == ELOOP)) {
        return 0;
    }
    if (fd >= 0 && fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode)) {
        entry.file_bytes = (uint64_t)stat.st_size;
        if (header_read(fd, entry.file_bytes, spool->message_bytes_max, &header)) {
            entry.item_count = header.item_count;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    spool->bytes += entry.file_bytes;
    spool->items += entry.item_count;
    return ntk_vec_push(&spool->entries, &entry);
}

static int read_folder(struct ntk_spool *spool, const char *folder, struct ntk_err *err)
{
    DIR *dir = opendir(folder);
    int ret = 0;

    if (!dir) {
        return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot read the folder '%s': %s",
                           folder, strerror(errno));
    }
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry) {
            ret = -errno; /* unlisted messages would be overwritten */
            break;
        }
        ret = add_file(spool, entry->d_name);
        if (ret < 0) {
            break;
        }
    }
    closedir(dir);
    if (ret < 0) {
        return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot read the folder '%s': %s", folder,
                           strerror(-ret));
    }
    spool->next_number = NUMBER_FIRST;
    if (spool->entries.count) {
        const struct entry *entries = spool->entries.items;
        qsort(spool->entries.items, spool->entries.count, sizeof(struct entry), by_number);
        spool->next_number = entries[spool->entries.count - 1].number + 1;
    }
    return 0;
}

/* Syncs the parent, because the folder may be new. */
static void sync_parent(const struct ntk_spool *spool)
{
    int fd = openat(spool->folder_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0) { /* otherwise the folder exists and its parent is unreadable: not new */
        (void)fsync(fd);
        close(fd);
    }
}

int ntk_spool_open(const char *folder, uint64_t bytes_max, size_t message_bytes_max,
                   struct ntk_spool **out_spool, struct ntk_err *err)
{
    int ret = ntk_fs_make_folders(folder, 0700, err);
    if (ret < 0) {
        return ret;
    }
    struct ntk_spool *spool = calloc(1, sizeof *spool);
    if (!spool) {
        return ntk_err_no_memory(err);
    }
    spool->bytes_max = bytes_max;
    spool->message_bytes_max = message_bytes_max;
    ntk_vec_init(&spool->entries, sizeof(struct entry));
    spool->lock_fd = -1;
    spool->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (spool->folder_fd >= 0) {
        spool->lock_fd =
            openat(spool->folder_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    }
    if (spool->lock_fd < 0) {
        ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot use the folder '%s': %s", folder,
                          strerror(errno));
    } else if (flock(spool->lock_fd, LOCK_EX | LOCK_NB) < 0) {
        ret = ntk_err_set(
            err, -EBUSY, NTK_ERR_NO_OFFSET,
            "folder '%s' is in use by another program: use a separate folder for each program",
            folder);
    } else {
        sync_parent(spool);
        ret = read_folder(spool, folder, err);
    }
    if (ret < 0) {
        ntk_spool_close(spool);
        return ret;
    }
    *out_spool = spool;
    return 0;
}

void ntk_spool_close(struct ntk_spool *spool)
{
    if (!spool) {
        return;
    }
    if (spool->lock_fd >= 0) {
        close(spool->lock_fd);
    }
    if (spool->folder_fd >= 0) {
        close(spool->folder_fd);
    }
    ntk_vec_fini(&spool->entries);
    free(spool);
}

static struct entry *first_get(const struct ntk_spool *spool)
{
    return spool->first < spool->entries.count ? (struct entry *)spool->entries.items + spool->first
                                               : NULL;
}

static void remove_first(struct ntk_spool *spool)
{
    const struct entry *entry = first_get(spool);
    char name[NAME_BYTES];

    if (!entry) {
        return;
    }
    name_of(name, entry->number, "msg");
    (void)unlinkat(spool->folder_fd, name, 0);
    spool->bytes -= entry->file_bytes;
    spool->items -= entry->item_count;
    spool->has_changes = true;
    spool->first++;
    if (spool->first * 2 >= spool->entries.count) { /* frees the memory of removed entries */
        struct entry *entries = spool->entries.items;
        spool->entries.count -= spool->first;
        memmove(entries, entries + spool->first, spool->entries.count * sizeof *entries);
        spool->first = 0;
    }
}

bool ntk_spool_begins_with(const struct ntk_spool *spool, uint64_t number)
{
    const struct entry *entry = first_get(spool);

    return entry && entry->number == number;
}

bool ntk_spool_remove(struct ntk_spool *spool, uint64_t number)
{
    if (!ntk_spool_begins_with(spool, number)) {
        return false;
    }
    remove_first(spool);
    return true;
}

static int write_file(struct ntk_spool *spool, uint64_t number, const void *bytes,
                      size_t bytes_count, uint64_t item_count)
{
    const struct ntk_spool_header header = {
        .magic = htole64(NTK_SPOOL_MAGIC),
        .version = htole32(NTK_SPOOL_VERSION),
        .crc32 = htole32((uint32_t)crc32(crc32(0, NULL, 0), bytes, (uInt)bytes_count)),
        .item_count = htole64(item_count),
        .bytes_count = htole64(bytes_count),
    };
    char temporary[NAME_BYTES];
    char name[NAME_BYTES];

    name_of(temporary, number, "new");
    name_of(name, number, "msg");
    int fd = openat(spool->folder_fd, temporary,
                    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return -errno;
    }
    int ret = ntk_write_all(fd, &header, sizeof header);
    ret = ret < 0 ? ret : ntk_write_all(fd, bytes, bytes_count);
    if (close(fd) < 0 && ret >= 0) {
        ret = -errno;
    }
    if (ret >= 0 && renameat(spool->folder_fd, temporary, spool->folder_fd, name) < 0) {
        ret = -errno;
    }
    if (ret < 0) {
        (void)unlinkat(spool->folder_fd, temporary, 0);
    }
    return ret;
}

int ntk_spool_put(struct ntk_spool *spool, const void *bytes, size_t bytes_count,
                  uint64_t item_count, uint64_t *out_lost_items, struct ntk_err *err)
{
    uint64_t file_bytes = bytes_count + sizeof(struct ntk_spool_header);
    const struct entry entry = { spool->next_number, file_bytes, item_count, true };

    *out_lost_items = 0;
    if (file_bytes > spool->bytes_max || bytes_count > spool->message_bytes_max) {
        return ntk_err_set(err, -EMSGSIZE, NTK_ERR_NO_OFFSET,
                           "a message of %zu bytes is larger than the limit of the spool",
                           bytes_count);
    }
    while (spool->bytes + file_bytes > spool->bytes_max) {
        *out_lost_items += first_get(spool)->item_count;
        remove_first(spool);
    }
    if (ntk_vec_push(&spool->entries, &entry) < 0) {
        return ntk_err_no_memory(err);
    }
    int ret = write_file(spool, entry.number, bytes, bytes_count, item_count);
    if (ret < 0) {
        spool->entries.count--;
        return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot write to the spool: %s",
                           strerror(-ret));
    }
    spool->next_number++;
    spool->has_changes = true;
    spool->bytes += file_bytes;
    spool->items += item_count;
    return 0;
}

int ntk_spool_put_front(struct ntk_spool *spool, const void *bytes, size_t bytes_count,
                        uint64_t item_count, uint64_t *out_number, struct ntk_err *err)
{
    const struct entry *first = first_get(spool);
    uint64_t file_bytes = bytes_count + sizeof(struct ntk_spool_header);
    const struct entry entry = { first ? first->number - 1 : spool->next_number, file_bytes,
                                 item_count, true };

    if (spool->bytes + file_bytes > spool->bytes_max || (first && first->number == 0)) {
        return ntk_err_set(err, -ENOSPC, NTK_ERR_NO_OFFSET, "the spool is full");
    }
    if (spool->first == 0) { /* reserve a place before the file exists */
        if (ntk_vec_push(&spool->entries, &entry) < 0) {
            return ntk_err_no_memory(err);
        }
        struct entry *all = spool->entries.items;
        memmove(all + 1, all, (spool->entries.count - 1) * sizeof *all);
        spool->first = 1;
    }
    int ret = write_file(spool, entry.number, bytes, bytes_count, item_count);
    if (ret < 0) {
        return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot write to the spool: %s",
                           strerror(-ret));
    }
    spool->next_number += entry.number == spool->next_number;
    spool->has_changes = true;
    struct entry *entries = spool->entries.items;
    assert(entries); /* the capacity is reserved, so this cannot fail */
    entries[--spool->first] = entry;
    *out_number = entry.number;
    spool->bytes += file_bytes;
    spool->items += item_count;
    return 0;
}

/* Reads the bytes of the message after the header. */
static int read_bytes(int fd, const struct ntk_spool_header *header, struct ntk_buf *buf)
{
    char *to = ntk_buf_extend(buf, header->bytes_count);

    for (size_t at = 0; to && at < header->bytes_count;) {
        ssize_t got = pread(fd, to + at, header->bytes_count - at, (off_t)(sizeof *header + at));
        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            return got < 0 ? -errno : -EBADMSG;
        }
        at += got > 0 ? (size_t)got : 0;
    }
    if (!to) {
        return -ENOMEM;
    }
    return crc32(crc32(0, NULL, 0), (const Bytef *)to, (uInt)header->bytes_count) == header->crc32
               ? 0
               : -EBADMSG;
}

/* Appends the message of an entry to buf; negative if it cannot be read. */
static int read_message(struct ntk_spool *spool, struct entry *entry, struct ntk_buf *buf)
{
    struct ntk_spool_header header = { 0 };
    struct stat stat;
    char name[NAME_BYTES];
    size_t before = buf->bytes_count;

    name_of(name, entry->number, "msg");
    int fd = open_to_read(spool, name);
    if (fd < 0) {
        return -errno;
    }
    int ret = -EBADMSG;
    errno = 0;
    if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) &&
        header_read(fd, (uint64_t)stat.st_size, spool->message_bytes_max, &header)) {
        ret = read_bytes(fd, &header, buf);
    } else if (errno != 0) {
        ret = -errno;
    }
    close(fd);
    if (ret < 0 && buf->bytes_count > before) {
        buf->bytes_count = before;
    }
    if (ret == 0) { /* unknown if the folder could not be read completely */
        spool->items += header.item_count - entry->item_count;
        entry->item_count = header.item_count;
    }
    return ret;
}

int ntk_spool_first(struct ntk_spool *spool, struct ntk_buf *buf,
                    struct ntk_spool_message *out_message, uint64_t *out_damaged_count)
{
    for (struct entry *entry = first_get(spool); entry; entry = first_get(spool)) {
        int ret = read_message(spool, entry, buf);
        if (ret == 0) {
            *out_message = (struct ntk_spool_message){ entry->number, entry->item_count };
            return 1;
        }
        if (is_shortage(-ret)) {
            return ret;
        }
        ++*out_damaged_count;
        remove_first(spool);
    }
    return 0;
}

bool ntk_spool_has_changes(const struct ntk_spool *spool)
{
    return spool->has_changes;
}

int ntk_spool_sync_begin(struct ntk_spool *spool, struct ntk_vec *out_numbers)
{
    struct entry *entries = spool->entries.items;

    ntk_vec_init(out_numbers, sizeof(uint64_t));
    for (size_t i = spool->first; i < spool->entries.count; i++) {
        if (entries[i].is_new && ntk_vec_push(out_numbers, &entries[i].number) < 0) {
            ntk_vec_fini(out_numbers);
            return -ENOMEM;
        }
    }
    for (size_t i = spool->first; i < spool->entries.count; i++) {
        entries[i].is_new = false;
    }
    spool->has_changes = false;
    return 0;
}

/* Syncs one file; a missing file needs no sync. */
static int sync_file(const struct ntk_spool *spool, uint64_t number)
{
    char name[NAME_BYTES];

    name_of(name, number, "msg");
    int fd = open_to_read(spool, name);
    if (fd < 0) {
        return errno == ENOENT ? 0 : -errno;
    }
    int ret = fdatasync(fd) < 0 ? -errno : 0;
    close(fd);
    return ret;
}

int ntk_spool_sync_end(const struct ntk_spool *spool, struct ntk_vec *numbers, struct ntk_err *err)
{
    int ret = 0;

    for (size_t i = 0; i < numbers->count; i++) {
        int one = sync_file(spool, *(const uint64_t *)ntk_vec_at(numbers, i));
        ret = ret < 0 ? ret : one;
    }
    ntk_vec_fini(numbers);
    /* Sync the names after the contents. */
    if (fsync(spool->folder_fd) < 0 && ret >= 0) {
        ret = -errno;
    }
    return ret < 0 ? ntk_err_set(err, ret, NTK_ERR_NO_OFFSET,
                                 "data in the spool may not be on the disk yet: %s", strerror(-ret))
                   : 0;
}

uint64_t ntk_spool_count(const struct ntk_spool *spool)
{
    return spool->entries.count - spool->first;
}

uint64_t ntk_spool_item_count(const struct ntk_spool *spool)
{
    return spool->items;
}
