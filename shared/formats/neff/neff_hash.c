/* SPDX-License-Identifier: MIT */
/* neff_hash - compares the hash in the header with the payload. */
#include <errno.h>
#include <string.h>

#include <openssl/evp.h>

#include "shared/formats/neff/neff_read_private.h"

static int crypto_failed(struct ntk_err *err)
{
    return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "cannot compute the hash");
}

/* Compares the stored value with the hash in ctx, as if the bytes ended here. */
static int compare_here(const EVP_MD_CTX *ctx, EVP_MD_CTX *scratch, const uint8_t *stored,
                        size_t stored_bytes, bool *out_equal)
{
    uint8_t digest[EVP_MAX_MD_SIZE];

    if (!EVP_MD_CTX_copy_ex(scratch, ctx) || !EVP_DigestFinal_ex(scratch, digest, NULL)) {
        return -ENOMEM;
    }
    *out_equal = memcmp(digest, stored, stored_bytes) == 0;
    return 0;
}

int neff_hasher_init(struct neff_hasher *hasher, const struct ntk_neff_header *header,
                     const uint8_t *payload, struct ntk_err *err)
{
    *hasher = (struct neff_hasher){ .context = EVP_MD_CTX_new(),
                                    .header = header,
                                    .payload = payload,
                                    .count = (size_t)header->data_size };
    if (!hasher->context ||
        !EVP_DigestInit_ex(hasher->context, header->pkg_version == 1 ? EVP_sha256() : EVP_md5(),
                           NULL)) {
        neff_hasher_fini(hasher);
        return crypto_failed(err);
    }
    hasher->end = hasher->count;
    while (hasher->end > 0 && payload[hasher->end - 1] == 0) {
        hasher->end--;
    }
    return 0;
}

void neff_hasher_fini(struct neff_hasher *hasher)
{
    EVP_MD_CTX_free(hasher->context);
    hasher->context = NULL;
}

void neff_hasher_continue(struct neff_hasher *hasher, size_t count)
{
    if (count > hasher->end) {
        count = hasher->end;
    }
    /* Cannot fail: the context is valid and nothing is allocated. */
    if (count > hasher->done) {
        (void)EVP_DigestUpdate(hasher->context, hasher->payload + hasher->done,
                               count - hasher->done);
        hasher->done = count;
    }
}

int neff_hasher_finish(struct neff_hasher *hasher, enum ntk_neff_hash *out_hash,
                       struct ntk_err *err)
{
    size_t stored_bytes = hasher->header->pkg_version == 1 ? 32 : 16;
    EVP_MD_CTX *scratch = EVP_MD_CTX_new();
    bool equal = false;
    int ret = 0;

    if (!scratch) {
        return crypto_failed(err);
    }
    neff_hasher_continue(hasher, hasher->end);
    /* A gzip stream may end in zero bytes (the high bytes of its size). So every length from the
     * last nonzero byte on, plus at most the 8 bytes of its trailer, is a candidate, and finally
     * the whole payload. */
    for (int i = 0; !equal && ret == 0; i++) {
        ret = compare_here(hasher->context, scratch, hasher->header->hash, stored_bytes, &equal);
        if (hasher->end == hasher->count) {
            break;
        }
        hasher->end = i < 8 ? hasher->end + 1 : hasher->count;
        if (!equal) {
            neff_hasher_continue(hasher, hasher->end);
        }
    }
    EVP_MD_CTX_free(scratch);
    if (ret < 0) {
        return crypto_failed(err);
    }
    *out_hash = equal ? NTK_NEFF_HASH_MATCHES : NTK_NEFF_HASH_DIFFERS;
    return 0;
}

/* Returns true if a version contains a source revision, as in "2.23.6484.0+3b612583": the vendor's
 * compilers write one, ours do not. */
static bool is_of_a_compiler(const char *version)
{
    const char *revision = strchr(version, '+');
    size_t digits = revision ? strspn(revision + 1, "0123456789abcdef") : 0;

    return digits >= 7 && revision[1 + digits] == '\0' &&
           strspn(version, "0123456789.abcdevr") == (size_t)(revision - version);
}

bool neff_hash_is_other_kind(const struct ntk_neff *neff)
{
    return neff->header.pkg_version == 2 && (is_of_a_compiler(neff->header.build_version) ||
                                             is_of_a_compiler(neff->info.tool_version));
}

int ntk_neff_hash_check(const void *bytes, size_t bytes_count, enum ntk_neff_hash *out_hash,
                        struct ntk_err *err)
{
    struct ntk_neff_header header;
    struct neff_hasher hasher;
    int ret = ntk_neff_read_header(bytes, bytes_count, &header, err);

    if (ret == 0) {
        ret = neff_hasher_init(&hasher, &header, (const uint8_t *)bytes + header.header_size, err);
    }
    if (ret == 0) {
        ret = neff_hasher_finish(&hasher, out_hash, err);
        neff_hasher_fini(&hasher);
    }
    return ret;
}

int ntk_neff_digest(const void *bytes, size_t bytes_count, uint8_t out_digest[32],
                    struct ntk_err *err)
{
    struct ntk_neff_header header;
    int ret = ntk_neff_read_header(bytes, bytes_count, &header, err);

    if (ret < 0) {
        return ret;
    }
    return EVP_Digest(bytes, (size_t)(header.header_size + header.data_size), out_digest, NULL,
                      EVP_sha256(), NULL)
               ? 0
               : crypto_failed(err);
}
