/* SPDX-License-Identifier: MIT */
/* power_vfs - a disk for SQLite with simulated power cuts. */
#include "tests/shared/store/power_vfs.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/vec.h"

#define SECTOR_BYTES 512
#define FILES 2 /* the database and its log */

enum kind { WRITE, TRUNCATE, SYNC, DELETE, MARK };

struct op {
    enum kind kind;
    int file;
    uint64_t offset; /* WRITE; TRUNCATE: the size; MARK: the number */
    size_t bytes_count;
    unsigned char *bytes;
};

struct file {
    sqlite3_file base;
    int number; /* -1: not recorded */
    sqlite3_file *real;
};

static sqlite3_vfs vfs;
static sqlite3_vfs *real_vfs;
static char recorded_path[1024];
static bool is_read_only;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct ntk_vec ops = NTK_VEC_INIT(struct op);

static void add(enum kind kind, int file, uint64_t offset, const void *bytes, size_t bytes_count)
{
    struct op op = { kind, file, offset, bytes_count, NULL };

    if (file < 0) {
        return;
    }
    if (bytes_count > 0) {
        op.bytes = malloc(bytes_count);
        if (!op.bytes) {
            abort();
        }
        memcpy(op.bytes, bytes, bytes_count);
    }
    pthread_mutex_lock(&mutex);
    if (ntk_vec_push(&ops, &op) < 0) {
        abort();
    }
    pthread_mutex_unlock(&mutex);
}

/* ---- files ---- */

#define REAL(file) (((struct file *)(file))->real)
#define NUMBER(file) (((struct file *)(file))->number)

static int file_close(sqlite3_file *file)
{
    int code = REAL(file)->pMethods->xClose(REAL(file));

    sqlite3_free(REAL(file));
    return code;
}

static int file_read(sqlite3_file *file, void *to, int count, sqlite3_int64 offset)
{
    return REAL(file)->pMethods->xRead(REAL(file), to, count, offset);
}

static int file_write(sqlite3_file *file, const void *from, int count, sqlite3_int64 offset)
{
    if (is_read_only) {
        return SQLITE_READONLY;
    }
    add(WRITE, NUMBER(file), (uint64_t)offset, from, (size_t)count);
    return REAL(file)->pMethods->xWrite(REAL(file), from, count, offset);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    add(TRUNCATE, NUMBER(file), (uint64_t)size, NULL, 0);
    return REAL(file)->pMethods->xTruncate(REAL(file), size);
}

static int file_sync(sqlite3_file *file, int flags)
{
    (void)flags; /* the test decides what its disk keeps, independent of the real disk */
    add(SYNC, NUMBER(file), 0, NULL, 0);
    return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return REAL(file)->pMethods->xFileSize(REAL(file), size);
}

static int file_lock(sqlite3_file *file, int level)
{
    return REAL(file)->pMethods->xLock(REAL(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
    return REAL(file)->pMethods->xUnlock(REAL(file), level);
}

static int file_check_lock(sqlite3_file *file, int *out)
{
    return REAL(file)->pMethods->xCheckReservedLock(REAL(file), out);
}

static int file_control(sqlite3_file *file, int operation, void *argument)
{
    return REAL(file)->pMethods->xFileControl(REAL(file), operation, argument);
}

static int file_sector_size(sqlite3_file *file)
{
    (void)file;
    return SECTOR_BYTES;
}

static int file_traits(sqlite3_file *file)
{
    (void)file;
    return 0; /* no guarantee beyond a sync */
}

static int file_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **out)
{
    return is_read_only ? SQLITE_CANTOPEN
                        : REAL(file)->pMethods->xShmMap(REAL(file), page, size, extend, out);
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return REAL(file)->pMethods->xShmLock(REAL(file), offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
    REAL(file)->pMethods->xShmBarrier(REAL(file));
}

static int file_shm_unmap(sqlite3_file *file, int delete_it)
{
    return REAL(file)->pMethods->xShmUnmap(REAL(file), delete_it);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_lock,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_traits,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

/* ---- the disk ---- */

static int number_of(const char *name)
{
    size_t length = strlen(recorded_path);

    if (!name || strncmp(name, recorded_path, length) != 0) {
        return -1;
    }
    return name[length] == '\0' ? 0 : strcmp(name + length, "-wal") == 0 ? 1 : -1;
}

static int vfs_open(sqlite3_vfs *self, const char *name, sqlite3_file *file, int flags,
                    int *out_flags)
{
    struct file *ours = (struct file *)file;
    (void)self;

    ours->base.pMethods = NULL;
    if (is_read_only && (flags & SQLITE_OPEN_CREATE)) {
        return SQLITE_CANTOPEN;
    }
    ours->real = sqlite3_malloc(real_vfs->szOsFile);
    if (!ours->real) {
        return SQLITE_NOMEM;
    }
    memset(ours->real, 0, (size_t)real_vfs->szOsFile);
    int code = real_vfs->xOpen(real_vfs, name, ours->real, flags, out_flags);
    if (code != SQLITE_OK) {
        sqlite3_free(ours->real);
        return code;
    }
    ours->number = number_of(name);
    ours->base.pMethods = &methods;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *self, const char *name, int sync_folder)
{
    (void)self;
    add(DELETE, number_of(name), 0, NULL, 0);
    return real_vfs->xDelete(real_vfs, name, sync_folder);
}

void power_vfs_record(const char *path)
{
    real_vfs = sqlite3_vfs_find("unix");
    vfs = *real_vfs;
    vfs.szOsFile = (int)sizeof(struct file);
    vfs.zName = "power";
    vfs.pNext = NULL;
    vfs.xOpen = vfs_open;
    vfs.xDelete = vfs_delete;
    is_read_only = false;
    snprintf(recorded_path, sizeof recorded_path, "%s", path);
    sqlite3_vfs_register(&vfs, 1);
}

void power_vfs_set_read_only(bool read_only)
{
    is_read_only = read_only;
}

void power_vfs_remove(void)
{
    sqlite3_vfs_unregister(&vfs);
    sqlite3_vfs_register(real_vfs, 1);
}

void power_vfs_mark(uint64_t number)
{
    add(MARK, 0, number, NULL, 0);
}

size_t power_vfs_count(void)
{
    return ops.count;
}

uint64_t power_vfs_marked(size_t cut)
{
    while (cut-- > 0) {
        const struct op *op = ntk_vec_at(&ops, cut);
        if (op->kind == MARK) {
            return op->offset;
        }
    }
    return 0;
}

void power_vfs_forget(void)
{
    for (size_t i = 0; i < ops.count; i++) {
        free(((struct op *)ntk_vec_at(&ops, i))->bytes);
    }
    ntk_vec_fini(&ops);
    ntk_vec_init(&ops, sizeof(struct op));
}

/* ---- after the truncation ---- */

struct image {
    bool exists;
    unsigned char *bytes;
    size_t bytes_count;
    size_t capacity;
};

static void resize(struct image *image, size_t bytes_count)
{
    if (bytes_count > image->capacity) {
        image->capacity = 2 * bytes_count;
        image->bytes = realloc(image->bytes, image->capacity);
        if (!image->bytes) {
            abort();
        }
    }
    if (bytes_count > image->bytes_count) {
        memset(image->bytes + image->bytes_count, 0, bytes_count - image->bytes_count);
    }
    image->bytes_count = bytes_count;
}

static void apply(struct image *image, const struct op *op, bool is_safe, unsigned int *seed)
{
    if (op->kind == DELETE) {
        free(image->bytes);
        *image = (struct image){ 0 };
        return;
    }
    image->exists = true;
    if (op->kind == TRUNCATE) {
        if (is_safe || rand_r(seed) % 2) {
            resize(image, op->offset);
        }
        return;
    }
    for (size_t i = 0; i < op->bytes_count; i += SECTOR_BYTES) {
        size_t left = op->bytes_count - i;
        size_t count = left < SECTOR_BYTES ? left : SECTOR_BYTES;
        if (!is_safe && rand_r(seed) % 2) {
            continue;
        }
        if (op->offset + i + count > image->bytes_count) {
            resize(image, op->offset + i + count);
        }
        memcpy(image->bytes + op->offset + i, op->bytes + i, count);
    }
}

static void put(const struct image *image, const char *path, const char *suffix)
{
    char name[1100];

    snprintf(name, sizeof name, "%s%s", path, suffix);
    unlink(name);
    if (!image->exists) {
        return;
    }
    FILE *file = fopen(name, "w");
    if (!file || fwrite(image->bytes, 1, image->bytes_count, file) != image->bytes_count ||
        fclose(file) != 0) {
        abort();
    }
}

void power_vfs_restore(size_t cut, unsigned int seed, const char *path)
{
    struct image images[FILES] = { 0 };
    size_t synced[FILES] = { 0 }; /* earlier operations are on the disk */
    unsigned int state = seed;

    for (size_t i = 0; i < cut; i++) {
        const struct op *op = ntk_vec_at(&ops, i);
        /* A file is deleted only after the writes that it depends on were synced. */
        if (op->kind == SYNC || op->kind == DELETE) {
            synced[op->file] = i + 1;
        }
    }
    for (size_t i = 0; i < cut; i++) {
        const struct op *op = ntk_vec_at(&ops, i);
        bool is_safe = i < synced[op->file];
        if (op->kind != SYNC && op->kind != MARK && (is_safe || seed)) {
            apply(&images[op->file], op, is_safe, &state);
        }
    }
    put(&images[0], path, "");
    put(&images[1], path, "-wal");
    char shm[1100];
    snprintf(shm, sizeof shm, "%s-shm", path);
    unlink(shm);
    free(images[0].bytes);
    free(images[1].bytes);
}
