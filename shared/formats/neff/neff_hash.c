/* SPDX-License-Identifier: MIT */
/* Does the hash in the header fit the payload? */
#include <errno.h>
#include <string.h>

#include <openssl/evp.h>

#include "shared/formats/neff/neff.h"

static int crypto_failed(struct ntk_err *err)
{
    return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "cannot compute the hash");
}

/* Compares the state of ctx, as if the bytes ended here, with the stored value. */
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

int ntk_neff_hash_check(const void *bytes, size_t bytes_count, enum ntk_neff_hash *out_hash,
                        struct ntk_err *err)
{
    struct ntk_neff_header header;
    const uint8_t *payload;
    EVP_MD_CTX *ctx = NULL;
    EVP_MD_CTX *scratch = NULL;
    size_t stored_bytes;
    size_t count;
    size_t end;
    bool equal = false;
    int ret = ntk_neff_read_header(bytes, bytes_count, &header, err);

    if (ret < 0) {
        return ret;
    }
    payload = (const uint8_t *)bytes + header.header_size;
    count = (size_t)header.data_size;
    stored_bytes = header.pkg_version == 1 ? 32 : 16;

    ctx = EVP_MD_CTX_new();
    scratch = EVP_MD_CTX_new();
    if (!ctx || !scratch ||
        !EVP_DigestInit_ex(ctx, header.pkg_version == 1 ? EVP_sha256() : EVP_md5(), NULL)) {
        ret = crypto_failed(err);
        goto out;
    }

    /* A gzip stream may end in zero bytes of its own (the high bytes of its size), so each length
     * from the last other byte on, its trailer's 8 bytes at most, is a candidate. */
    end = count;
    while (end > 0 && payload[end - 1] == 0) {
        end--;
    }
    if (!EVP_DigestUpdate(ctx, payload, end)) {
        ret = crypto_failed(err);
        goto out;
    }
    for (int i = 0; i <= 8 && !equal; i++) {
        ret = compare_here(ctx, scratch, header.hash, stored_bytes, &equal);
        if (ret < 0) {
            ret = crypto_failed(err);
            goto out;
        }
        if (end == count) {
            break;
        }
        if (!equal) {
            EVP_DigestUpdate(ctx, payload + end, 1);
            end++;
        }
    }
    if (!equal && end < count) {
        if (!EVP_DigestUpdate(ctx, payload + end, count - end) ||
            compare_here(ctx, scratch, header.hash, stored_bytes, &equal) < 0) {
            ret = crypto_failed(err);
            goto out;
        }
    }
    *out_hash = equal ? NTK_NEFF_HASH_MATCHES : NTK_NEFF_HASH_DIFFERS;
    ret = 0;

out:
    EVP_MD_CTX_free(ctx);
    EVP_MD_CTX_free(scratch);
    return ret;
}
