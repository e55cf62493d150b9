/* SPDX-License-Identifier: MIT */
/* neff_write - writes the header and archive of a NEFF from its members. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "shared/base/buf.h"
#include "shared/base/str.h"
#include "shared/formats/common/tar.h"
#include "shared/formats/neff/neff_build.h"
#include "shared/formats/neff/neff_layout.h"

static_assert(sizeof(struct ntk_neff_pack_member) == sizeof(struct ntk_tar_source), "same struct");
static_assert(offsetof(struct ntk_neff_pack_member, bytes_count) ==
                  offsetof(struct ntk_tar_source, bytes_count),
              "same struct");

static void put_header(struct ntk_buf *buf, const struct ntk_neff_header *header)
{
    char text[256];

    ntk_buf_put_u64(buf, header->pkg_version);
    ntk_buf_put_u64(buf, NTK_NEFF_HEADER_BYTES);
    ntk_buf_put_u64(buf, header->data_size);
    ntk_buf_put_u64(buf, header->version_major);
    ntk_buf_put_u64(buf, header->version_minor);
    memset(text, 0, sizeof text);
    ntk_str_copy(text, 128, header->build_version);
    ntk_buf_add(buf, text, 128);
    ntk_buf_put_u32(buf, header->num_tpb);
    ntk_buf_add(buf, header->hash, sizeof header->hash);
    ntk_buf_add(buf, header->uuid, sizeof header->uuid);
    memset(text, 0, sizeof text);
    ntk_str_copy(text, sizeof text, header->name);
    ntk_buf_add(buf, text, sizeof text);
    ntk_buf_put_u32(buf, header->requested_tpb_count);
    ntk_buf_add(buf, header->tpb_per_node, sizeof header->tpb_per_node);
    ntk_buf_put_u64(buf, header->feature_bits);
    ntk_buf_put_u32(buf, header->lnc_size);
    ntk_buf_add_fill(buf, 0, sizeof(((struct ntk_neff_layout_header *)0)->pad));
}

int ntk_neff_pack(const struct ntk_neff_header *header, const struct ntk_neff_pack_member *members,
                  size_t member_count, bool compress, uint8_t **out_bytes, size_t *out_count,
                  struct ntk_err *err)
{
    static const uint8_t no_uuid[16];
    struct ntk_neff_header full = *header;
    uint8_t digest[EVP_MAX_MD_SIZE];
    uint8_t *payload = NULL;
    size_t payload_bytes;
    struct ntk_buf buf = { 0 };
    int ret;

    if (header->pkg_version != 1 && header->pkg_version != 2) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "unsupported NEFF package version %llu (supported: 1 and 2)",
                           (unsigned long long)header->pkg_version);
    }
    ret = ntk_tar_write((const struct ntk_tar_source *)members, member_count, compress,
                        NTK_NEFF_PAYLOAD_ALIGN, &payload, &payload_bytes, err);
    if (ret < 0) {
        return ret;
    }
    full.data_size = payload_bytes;
    memset(full.hash, 0, sizeof full.hash);
    if (!EVP_Digest(payload, payload_bytes, digest, NULL, EVP_sha256(), NULL)) {
        ret = ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "cannot compute the hash");
        goto out;
    }
    if (memcmp(full.uuid, no_uuid, sizeof no_uuid) == 0) {
        memcpy(full.uuid, digest, sizeof full.uuid);
    }
    if (header->pkg_version == 1) {
        memcpy(full.hash, digest, 32);
    } else if (EVP_Digest(payload, payload_bytes, digest, NULL, EVP_md5(), NULL)) {
        memcpy(full.hash, digest, 16);
    } else {
        ret = ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "cannot compute the hash");
        goto out;
    }
    put_header(&buf, &full);
    ntk_buf_add(&buf, payload, payload_bytes);
    if (!ntk_buf_ok(&buf)) {
        ret = ntk_err_no_memory(err);
        goto out;
    }
    *out_bytes = (uint8_t *)ntk_buf_take(&buf, out_count);
    ret = 0;

out:
    ntk_buf_fini(&buf);
    free(payload);
    return ret;
}
