/* SPDX-License-Identifier: MIT */
/* http_tls - converts PEM texts to GnuTLS objects. */
#include "shared/http/http_tls.h"

#include <errno.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>

struct ntk_http_tls {
    gnutls_pcert_st chain[NTK_HTTP_TLS_CHAIN_MAX];
    unsigned chain_count;
    gnutls_privkey_t key;
};

/* Checks that key and certificate belong together: signs with the key, verifies with the
 * certificate. */
static int check_pair(const struct ntk_http_tls *tls, struct ntk_err *err)
{
    gnutls_datum_t data = { (unsigned char *)(uintptr_t) "pair", 4 };
    gnutls_datum_t signature = { NULL, 0 };
    int algorithm = 0;

    int ret = gnutls_pubkey_get_preferred_hash_algorithm(
        tls->chain[0].pubkey, (gnutls_digest_algorithm_t *)&algorithm, NULL);
    if (ret >= 0) {
        ret = gnutls_privkey_sign_data(tls->key, (gnutls_digest_algorithm_t)algorithm, 0, &data,
                                       &signature);
    }
    if (ret >= 0) {
        gnutls_sign_algorithm_t sign = gnutls_pk_to_sign(
            (gnutls_pk_algorithm_t)gnutls_pubkey_get_pk_algorithm(tls->chain[0].pubkey, NULL),
            (gnutls_digest_algorithm_t)algorithm);
        ret = gnutls_pubkey_verify_data2(tls->chain[0].pubkey, sign, 0, &data, &signature);
    }
    gnutls_free(signature.data);
    return ret < 0 ? ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                                 "the certificate and the key do not match")
                   : 0;
}

int ntk_http_tls_create(const char *cert_pem, size_t cert_bytes, const char *key_pem,
                        size_t key_bytes, struct ntk_http_tls **out_tls, struct ntk_err *err)
{
    gnutls_datum_t cert = { (unsigned char *)(uintptr_t)cert_pem, (unsigned)cert_bytes };
    gnutls_datum_t key = { (unsigned char *)(uintptr_t)key_pem, (unsigned)key_bytes };
    struct ntk_http_tls *tls = calloc(1, sizeof *tls);

    if (!tls || gnutls_privkey_init(&tls->key) < 0) {
        free(tls);
        return ntk_err_no_memory(err);
    }
    unsigned count = NTK_HTTP_TLS_CHAIN_MAX;
    int ret = gnutls_pcert_list_import_x509_raw(tls->chain, &count, &cert, GNUTLS_X509_FMT_PEM, 0);
    if (ret < 0) {
        ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "cannot read the certificate: %s",
                    gnutls_strerror(ret));
        ntk_http_tls_destroy(tls);
        return -EINVAL;
    }
    tls->chain_count = count;
    ret = gnutls_privkey_import_x509_raw(tls->key, &key, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (ret < 0) {
        ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "cannot read the key: %s",
                    gnutls_strerror(ret));
        ntk_http_tls_destroy(tls);
        return -EINVAL;
    }
    ret = check_pair(tls, err);
    if (ret < 0) {
        ntk_http_tls_destroy(tls);
        return ret;
    }
    *out_tls = tls;
    return 0;
}

void ntk_http_tls_destroy(struct ntk_http_tls *tls)
{
    if (!tls) {
        return;
    }
    for (unsigned i = 0; i < tls->chain_count; i++) {
        gnutls_pcert_deinit(&tls->chain[i]);
    }
    gnutls_privkey_deinit(tls->key);
    free(tls);
}

void ntk_http_tls_get(struct ntk_http_tls *tls, gnutls_pcert_st **out_chain,
                      unsigned *out_chain_count, gnutls_privkey_t *out_key)
{
    *out_chain = tls->chain;
    *out_chain_count = tls->chain_count;
    *out_key = tls->key;
}
