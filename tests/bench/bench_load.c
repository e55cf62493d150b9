/* SPDX-License-Identifier: MIT */
/*
 * What nrt_load of a NEFF full of constants costs, compared with reading, inflating and hashing its
 * file with the same libraries, and how much memory it takes in addition to the caller's bytes.
 * Each measurement is its own process, so that none reuses pages that another one touched. They
 * take turns, and count processor time. The floor inflates into a buffer that stays in the cache:
 * it never touches memory for the result.
 *
 * The constants are float32 weights of a normal distribution. NTK_BENCH_LOAD_MIB sets their size in
 * MiB: 256 by default, 1024 for the size of the target.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <zlib.h>

#include "runtime-hooks/nrt/nrt_library.h"
#include "shared/base/buf.h"
#include "shared/base/fs.h"
#include "shared/formats/common/tar.h"
#include "shared/formats/neff/neff.h"
#include "shared/formats/neff/neff_build.h"
#include "shared/formats/neff/neff_layout.h"
#include "tests/bench/rounds.h"
#include "tests/support/observed.h"
#include "tests/support/scratch.h"

#define MIB ((size_t)1 << 20)
#define BLOCK_BYTES ROUNDS_SIZE(16 * MIB, MIB) /* compressed once, then repeated */
#define CONSTANT_BYTES (2 * BLOCK_BYTES)
#define ROUND_COUNT 3
#define TAR_BLOCK 512U
#define INFLATE_BYTES (64U << 10)

static const char *neff_path;

/* ---- the file -------------------------------------------------------------------------------- */

/* A gzip stream that is written to a file piece by piece. */
struct gzip {
    int fd;
    z_stream stream;
    uint32_t crc;
    uint32_t bytes;
    uint64_t written;
};

static void put(struct gzip *gzip, const void *bytes, size_t count)
{
    const char *from = bytes;

    gzip->written += count;
    while (count > 0) {
        ssize_t put = write(gzip->fd, from, count);

        rounds_require(put > 0, "cannot write the NEFF");
        from += put;
        count -= (size_t)put;
    }
}

/* Compressed bytes that end on a byte boundary and refer to nothing before them; free with
 * free(). */
static uint8_t *squeeze(struct gzip *gzip, const void *bytes, size_t count, int flush,
                        size_t *out_count)
{
    size_t room = deflateBound(&gzip->stream, count) + 64;
    uint8_t *out = malloc(room);

    rounds_require(out != NULL, "no memory");
    gzip->stream.next_in = (Bytef *)(uintptr_t)bytes;
    gzip->stream.avail_in = (uInt)count;
    gzip->stream.next_out = out;
    gzip->stream.avail_out = (uInt)room;
    (void)deflate(&gzip->stream, flush);
    rounds_require(gzip->stream.avail_in == 0 && gzip->stream.avail_out > 0, "deflate");
    *out_count = room - gzip->stream.avail_out;
    return out;
}

static void add(struct gzip *gzip, const void *bytes, size_t count, int flush)
{
    size_t squeezed_count;
    uint8_t *squeezed = squeeze(gzip, bytes, count, flush, &squeezed_count);

    put(gzip, squeezed, squeezed_count);
    gzip->crc = (uint32_t)crc32_z(gzip->crc, bytes, count);
    gzip->bytes += (uint32_t)count;
    free(squeezed);
}

static void tar_header(struct gzip *gzip, const char *name, size_t bytes)
{
    char header[TAR_BLOCK + 1] = "";
    unsigned sum = 0;

    (void)snprintf(header, 100, "%s", name);
    (void)snprintf(header + 100, 25, "%07o%c%07o%c%07o", 0664U, 0, 1000U, 0, 1000U);
    (void)snprintf(header + 124, 25, "%011llo%c%011o", (unsigned long long)bytes, 0, 0U);
    memset(header + 148, ' ', 8);
    header[156] = '0';
    (void)snprintf(header + 257, 9, "ustar%c00", 0);
    for (size_t i = 0; i < TAR_BLOCK; i++) {
        sum += (uint8_t)header[i];
    }
    (void)snprintf(header + 148, 8, "%06o", sum);
    add(gzip, header, TAR_BLOCK, Z_FULL_FLUSH);
}

static void tar_pad(struct gzip *gzip, size_t bytes)
{
    static const char zeros[TAR_BLOCK];

    if (bytes % TAR_BLOCK != 0) {
        add(gzip, zeros, TAR_BLOCK - bytes % TAR_BLOCK, Z_FULL_FLUSH);
    }
}

static float *weights_make(void)
{
    float *weights = malloc(BLOCK_BYTES);
    uint64_t state = 88172645463325252ULL;

    rounds_require(weights != NULL, "no memory");
    for (size_t i = 0; i < BLOCK_BYTES / sizeof *weights; i++) {
        double u[2];

        for (int k = 0; k < 2; k++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            u[k] = ((double)(state >> 11) + 0.5) / 9007199254740992.0;
        }
        weights[i] = (float)(0.02 * sqrt(-2 * log(u[0])) * cos(6.283185307179586 * u[1]));
    }
    return weights;
}

/* A valid NEFF with constants of one element each: its members are final except for the sizes in
 * def.json. */
static void members_make(size_t constant_count, struct ntk_tar *out_tar,
                         struct ntk_neff_header *out_header)
{
    static const struct ntk_tar_limits limits = { 1 << 28, 10000, 256 };
    struct ntk_neff_build_options options = { .name = "weights" };
    struct ntk_neff_build *build = ntk_neff_build_create(&options);
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "weights");
    static const uint64_t shape[1] = { 16 };
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;
    size_t count = 0;
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 1);
    uint32_t x = ntk_neff_kernel_input(kernel, "x", NTK_DTYPE_FLOAT32, 1, shape);
    uint32_t y = ntk_neff_kernel_output(kernel, "y", NTK_DTYPE_FLOAT32, 1, shape);
    ntk_neff_token in =
        ntk_neff_kernel_load(kernel, queue, NTK_ROWS(x, 0, 64, 1), 0, 64, NTK_AFTER_NONE);

    (void)ntk_neff_kernel_store(kernel, queue, NTK_ROWS(y, 0, 64, 1), 0, 64, NTK_AFTER(in));
    for (size_t i = 0; i < constant_count; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "value_%03zu", i);
        (void)ntk_neff_kernel_constant(kernel, name, NTK_DTYPE_FLOAT32, 1, (uint64_t[]){ 1 },
                                       &(float){ 0 });
    }
    rounds_require(ntk_neff_build_bytes(build, &bytes, &count, &err) == 0, err.text);
    rounds_require(ntk_neff_read_header(bytes, count, out_header, &err) == 0, err.text);
    rounds_require(ntk_tar_read(bytes + out_header->header_size, (size_t)out_header->data_size,
                                &limits, out_tar, &err) == 0,
                   err.text);
    ntk_neff_build_destroy(build);
    free(bytes);
}

/* def.json with the size of the constants, and room for it: every "size" of 4 is a constant. */
static char *definition_make(const struct ntk_tar_member *member)
{
    const char *from = (const char *)member->bytes;
    struct ntk_buf text = { 0 };

    while (*from) {
        static const char *const keys[] = { "\"size\":4", "\"size\": 4" };
        bool done = false;

        for (size_t i = 0; i < 2 && !done; i++) {
            size_t length = strlen(keys[i]);

            if (strncmp(from, keys[i], length) == 0 && !strchr("0123456789", from[length])) {
                char size[48];
                int written = snprintf(size, sizeof size, "\"size\": %zu", CONSTANT_BYTES);

                ntk_buf_add(&text, size, (size_t)written);
                from += length;
                done = true;
            }
        }
        if (!done) {
            ntk_buf_add(&text, from++, 1);
        }
    }
    ntk_buf_add(&text, "", 1);
    rounds_require(ntk_buf_ok(&text), "no memory");
    return (char *)ntk_buf_take(&text, NULL);
}

static void constant_add(struct gzip *gzip, const char *name, const float *block,
                         const uint8_t *squeezed, size_t squeezed_count, uint32_t block_crc)
{
    char head[129];
    const size_t head_bytes = sizeof head - 1;
    int written =
        snprintf(head, sizeof head,
                 "%cNUMPY%c%cv%c{'descr': '<f4', 'fortran_order': False, 'shape': (%zu,), }", 0x93,
                 1, 0, 0, CONSTANT_BYTES / sizeof *block);

    head[8] = (char)(head_bytes - 10);
    memset(head + written, ' ', head_bytes - (size_t)written);
    head[head_bytes - 1] = '\n';
    tar_header(gzip, name, head_bytes + CONSTANT_BYTES);
    add(gzip, head, head_bytes, Z_FULL_FLUSH);
    for (size_t i = 0; i < CONSTANT_BYTES / BLOCK_BYTES; i++) {
        put(gzip, squeezed, squeezed_count);
        gzip->crc = (uint32_t)crc32_combine(gzip->crc, block_crc, (z_off_t)BLOCK_BYTES);
        gzip->bytes += (uint32_t)BLOCK_BYTES;
    }
    tar_pad(gzip, head_bytes);
}

/* The finished file, with its hash in the header. */
static void header_finish(struct gzip *gzip, const struct ntk_neff_header *from)
{
    struct ntk_neff_layout_header header = { .pkg_version = 2,
                                             .header_size = NTK_NEFF_HEADER_BYTES,
                                             .neff_version_major = from->version_major,
                                             .neff_version_minor = from->version_minor,
                                             .num_tpb = from->num_tpb,
                                             .requested_tpb_count = from->requested_tpb_count,
                                             .feature_bits = from->feature_bits,
                                             .lnc_size = from->lnc_size };
    uint8_t *bytes = NULL;
    size_t count = 0;
    struct ntk_err err = { 0 };

    memcpy(header.tpb_per_node, from->tpb_per_node, sizeof header.tpb_per_node);
    memcpy(header.uuid, from->uuid, sizeof header.uuid);
    (void)snprintf(header.name, sizeof header.name, "weights");
    rounds_require(ntk_fs_read(neff_path, SIZE_MAX / 2, &bytes, &count, &err) == 0, err.text);
    header.data_size = count - NTK_NEFF_HEADER_BYTES;
    rounds_require(EVP_Digest(bytes + NTK_NEFF_HEADER_BYTES, header.data_size, header.hash, NULL,
                              EVP_md5(), NULL),
                   "MD5");
    free(bytes);
    rounds_require(pwrite(gzip->fd, &header, sizeof header, 0) == sizeof header, "cannot write");
}

/* Returns the size of the file. */
static uint64_t file_make(size_t constant_count)
{
    static const uint8_t gzip_head[10] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3 };
    static const char zeros[2 * TAR_BLOCK];
    struct gzip gzip = { .fd = open(neff_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) };
    struct ntk_neff_header header;
    struct ntk_tar tar;
    float *block = weights_make();
    size_t squeezed_count;
    uint8_t *squeezed;
    uint32_t block_crc = (uint32_t)crc32_z(0, (const Bytef *)block, BLOCK_BYTES);

    members_make(constant_count, &tar, &header);
    rounds_require(gzip.fd >= 0, "cannot create the NEFF");
    rounds_require(deflateInit2(&gzip.stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) ==
                       Z_OK,
                   "deflate");
    squeezed = squeeze(&gzip, block, BLOCK_BYTES, Z_FULL_FLUSH, &squeezed_count);
    put(&gzip, (char[NTK_NEFF_HEADER_BYTES]){ 0 }, NTK_NEFF_HEADER_BYTES);
    put(&gzip, gzip_head, sizeof gzip_head);
    for (size_t i = 0; i < tar.member_count; i++) {
        const struct ntk_tar_member *member = &tar.members[i];

        if (strstr(member->name, "value_")) {
            constant_add(&gzip, member->name, block, squeezed, squeezed_count, block_crc);
        } else {
            bool is_definition = strstr(member->name, "def.json") != NULL;
            char *definition = is_definition ? definition_make(member) : NULL;
            size_t bytes = definition ? strlen(definition) : member->bytes_count;

            tar_header(&gzip, member->name, bytes);
            add(&gzip, definition ? definition : (const char *)member->bytes, bytes, Z_FULL_FLUSH);
            tar_pad(&gzip, bytes);
            free(definition);
        }
    }
    add(&gzip, zeros, sizeof zeros, Z_FINISH);
    put(&gzip, &gzip.crc, 4);
    put(&gzip, &gzip.bytes, 4);
    if ((gzip.written - NTK_NEFF_HEADER_BYTES) % NTK_NEFF_PAYLOAD_ALIGN != 0) {
        size_t tail = NTK_NEFF_PAYLOAD_ALIGN -
                      (gzip.written - NTK_NEFF_HEADER_BYTES) % NTK_NEFF_PAYLOAD_ALIGN;

        put(&gzip, (char[NTK_NEFF_PAYLOAD_ALIGN]){ 0 }, tail);
    }
    header_finish(&gzip, &header);
    (void)deflateEnd(&gzip.stream);
    (void)close(gzip.fd);
    ntk_tar_fini(&tar);
    free(squeezed);
    free(block);
    return gzip.written;
}

/* ---- what is measured ------------------------------------------------------------------------ */

static void inflate_all(const uint8_t *bytes, size_t count, EVP_MD_CTX *hash)
{
    static uint8_t out[INFLATE_BYTES];
    z_stream stream = { 0 };
    size_t done = NTK_NEFF_HEADER_BYTES + 10; /* without gzip's own header */
    int ret = Z_OK;

    rounds_require(inflateInit2(&stream, -MAX_WBITS) == Z_OK, "inflate");
    if (hash) {
        (void)EVP_DigestUpdate(hash, bytes + NTK_NEFF_HEADER_BYTES, 10);
    }
    while (done < count && ret == Z_OK) {
        size_t block = count - done < INFLATE_BYTES ? count - done : INFLATE_BYTES;

        if (hash) {
            (void)EVP_DigestUpdate(hash, bytes + done, block);
        }
        stream.next_in = (Bytef *)(uintptr_t)(bytes + done);
        stream.avail_in = (uInt)block;
        while (stream.avail_in > 0 && ret == Z_OK) {
            stream.next_out = out;
            stream.avail_out = INFLATE_BYTES;
            ret = inflate(&stream, Z_NO_FLUSH);
        }
        done += block;
    }
    rounds_require(ret == Z_STREAM_END, "inflate");
    (void)inflateEnd(&stream);
}

/* The floor: read, inflated into a buffer that stays in the cache, and optionally hashed. */
static uint64_t floor_run(bool with_hash)
{
    uint64_t begin = rounds_cpu_ns();
    EVP_MD_CTX *hash = NULL;
    uint8_t digest[EVP_MAX_MD_SIZE];
    uint8_t *bytes = NULL;
    size_t count = 0;
    struct ntk_err err = { 0 };

    rounds_require(ntk_fs_read(neff_path, SIZE_MAX / 2, &bytes, &count, &err) == 0, err.text);
    if (with_hash) {
        hash = EVP_MD_CTX_new();
        rounds_require(hash && EVP_DigestInit_ex(hash, EVP_md5(), NULL), "MD5");
    }
    inflate_all(bytes, count, hash);
    if (hash) {
        rounds_require(EVP_DigestFinal_ex(hash, digest, NULL) &&
                           memcmp(digest, bytes + 172, 16) == 0,
                       "the NEFF has another hash");
    }
    EVP_MD_CTX_free(hash);
    begin = rounds_cpu_ns() - begin;
    free(bytes);
    return begin;
}

/* A line of /proc/self/status, in bytes. */
static uint64_t status_bytes(const char *key)
{
    char text[8192];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t count = read(fd, text, sizeof text - 1);
    const char *line;

    (void)close(fd);
    rounds_require(count > 0, "/proc/self/status");
    text[count] = '\0';
    line = strstr(text, key);
    return line ? strtoull(line + strlen(key), NULL, 10) << 10 : 0;
}

/* Resets the peak: VmHWM equals VmRSS from here on. */
static void peak_reset(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

    rounds_require(fd >= 0 && write(fd, "5", 1) == 1, "/proc/self/clear_refs");
    (void)close(fd);
}

/* Read and loaded; *out_grown is the peak of resident memory above what it was before nrt_load. */
static uint64_t load_run(bool with_hash, uint64_t *out_grown)
{
    struct ntk_nrt nrt;
    nrt_model_t *model = NULL;
    uint8_t *bytes = NULL;
    size_t count = 0;
    struct ntk_err err = { 0 };

    setenv("NEURON_RT_VALIDATE_HASH", with_hash ? "1" : "0", 1);
    rounds_require(ntk_nrt_open(&nrt, &err) == 0, err.text);
    rounds_require(nrt.nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") == NRT_SUCCESS, "nrt_init");
    uint64_t begin = rounds_cpu_ns();
    rounds_require(ntk_fs_read(neff_path, SIZE_MAX / 2, &bytes, &count, &err) == 0, err.text);
    uint64_t elapsed = rounds_cpu_ns() - begin;
    peak_reset();
    uint64_t before = status_bytes("VmRSS:");
    begin = rounds_cpu_ns();
    rounds_require(nrt.nrt_load(bytes, count, 0, 1, &model) == NRT_SUCCESS, "nrt_load");
    elapsed += rounds_cpu_ns() - begin;
    *out_grown = status_bytes("VmHWM:") - before;
    free(bytes);
    nrt.nrt_close();
    return elapsed;
}

enum subject { LOAD_HASH, FLOOR_HASH, LOAD, FLOOR, SUBJECTS };

static int child_main(struct observed *child, void *ctx)
{
    enum subject subject = *(const enum subject *)ctx;
    uint64_t grown = 0;
    bool with_hash = subject == LOAD_HASH || subject == FLOOR_HASH;
    uint64_t elapsed = subject == LOAD || subject == LOAD_HASH ? load_run(with_hash, &grown)
                                                               : floor_run(with_hash);

    observed_send(child, elapsed);
    observed_send(child, grown);
    return 0;
}

static uint64_t grown_max;

static double measure(void *ctx)
{
    char *home = test_scratch_create();
    struct observed child = observed_start(home, child_main, ctx);
    double elapsed = (double)observed_receive(&child) / 1e6;
    uint64_t grown = observed_receive(&child);

    if (grown_max < grown) {
        grown_max = grown;
    }
    rounds_require(observed_finish(&child, 0) == 0, "a child failed");
    test_scratch_destroy(home);
    return elapsed;
}

int main(int argc, char **argv)
{
    static enum subject numbers[SUBJECTS] = { LOAD_HASH, FLOOR_HASH, LOAD, FLOOR };
    struct rounds_subject all[SUBJECTS] = {
        [LOAD_HASH] = { .name = "read and nrt_load, hash checked" },
        [FLOOR_HASH] = { .name = "read, inflate, hash" },
        [LOAD] = { .name = "read and nrt_load" },
        [FLOOR] = { .name = "read, inflate" },
    };
    const char *wish = getenv("NTK_BENCH_LOAD_MIB");
    size_t mib = wish ? strtoul(wish, NULL, 10) : ROUNDS_SIZE(256, 2);
    size_t constant_count = mib * MIB / CONSTANT_BYTES;
    /* In shared memory if the machine has it, so that the disk does not matter. */
    int shm = access("/dev/shm", W_OK) == 0 ? setenv("TMPDIR", "/dev/shm", 1) : 0;
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "weights.neff");
    uint64_t file_bytes;

    (void)shm;
    rounds_options(argc, argv);
    rounds_require(constant_count > 0 && mib <= 4096, "NTK_BENCH_LOAD_MIB must be 32 to 4096");
    neff_path = path;
    file_bytes = file_make(constant_count);
    for (int i = 0; i < SUBJECTS; i++) {
        all[i].measure = measure;
        all[i].ctx = &numbers[i];
    }
    rounds_run(all, SUBJECTS, ROUND_COUNT);
    rounds_print_value("constants", (double)(constant_count * CONSTANT_BYTES) / MIB, "MiB", 0, 0);
    rounds_print_value("file", (double)file_bytes / MIB, "MiB", 0, 0);
    for (int i = 0; i < SUBJECTS; i++) {
        rounds_print(&all[i], "ms");
    }
    rounds_print_ratio("   load, hash checked / read, inflate, hash", &all[LOAD_HASH],
                       &all[FLOOR_HASH], 1.3);
    rounds_print_ratio("   load / read, inflate", &all[LOAD], &all[FLOOR], 1.3);
    rounds_print_value("   peak memory next to the caller's bytes / constants",
                       (double)grown_max / (double)(constant_count * CONSTANT_BYTES), "x", 1.1, 0);
    free(path);
    test_scratch_destroy(folder);
    return rounds_result();
}
