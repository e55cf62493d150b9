/* SPDX-License-Identifier: MIT */
/* http_many - runs libcurl transfers in parallel on a multi handle. */
#include "shared/http/http_many.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "shared/base/clock.h"
#include "shared/http/http_transfer.h"

struct place {
    struct http_transfer transfer;
    struct ntk_http_question question;
    struct ntk_http_answer answer;
    bool is_asking;
};

struct ntk_http_many {
    CURLM *multi;
    size_t count;
    atomic_bool is_woken;
    struct place places[];
};

struct ntk_http_many *ntk_http_many_create(size_t places, struct ntk_err *err)
{
    struct ntk_http_many *many;

    if (http_curl_load(err) < 0) {
        return NULL;
    }
    many = calloc(1, sizeof *many + places * sizeof *many->places);
    if (!many) {
        (void)ntk_err_no_memory(err);
        return NULL;
    }
    many->count = places;
    for (size_t i = 0; i < places; i++) {
        if (http_transfer_init(&many->places[i].transfer) < 0) {
            goto fail;
        }
        http_curl.easy_setopt(many->places[i].transfer.easy, CURLOPT_PRIVATE, &many->places[i]);
    }
    many->multi = http_curl.multi_init();
    if (!many->multi) {
        goto fail;
    }
    /* Keeps each peer's connection, whatever the number of peers. */
    http_curl.multi_setopt(many->multi, CURLMOPT_MAXCONNECTS, (long)places + 8);
    return many;

fail:
    (void)ntk_err_no_memory(err);
    ntk_http_many_destroy(many);
    return NULL;
}

static int place_end(struct ntk_http_many *many, struct place *place, CURLcode code,
                     struct ntk_err *err)
{
    http_curl.multi_remove_handle(many->multi, place->transfer.easy);
    place->is_asking = false;
    return http_transfer_end(&place->transfer, code, err);
}

void ntk_http_many_destroy(struct ntk_http_many *many)
{
    if (!many) {
        return;
    }
    for (size_t i = 0; i < many->count; i++) {
        struct place *place = &many->places[i];
        struct ntk_err err = { 0 };

        if (place->is_asking) {
            (void)place_end(many, place, CURLE_ABORTED_BY_CALLBACK, &err);
        }
        http_transfer_fini(&place->transfer);
        ntk_http_answer_fini(&place->answer);
    }
    if (many->multi) {
        http_curl.multi_cleanup(many->multi);
    }
    free(many);
}

void ntk_http_many_wake(struct ntk_http_many *many)
{
    atomic_store(&many->is_woken, true);
    http_curl.multi_wakeup(many->multi);
}

int ntk_http_many_start(struct ntk_http_many *many, size_t index,
                        const struct ntk_http_question *question, struct ntk_err *err)
{
    struct place *place = &many->places[index];

    place->question = *question;
    int ret = http_transfer_begin(&place->transfer, &place->question, &place->answer, err);
    if (ret < 0) {
        return ret;
    }
    http_curl.easy_setopt(place->transfer.easy, CURLOPT_PRIVATE, place);
    if (http_curl.multi_add_handle(many->multi, place->transfer.easy) != CURLM_OK) {
        (void)http_transfer_end(&place->transfer, CURLE_OUT_OF_MEMORY, err);
        return -ENOMEM;
    }
    place->is_asking = true;
    return 0;
}

static bool take_end(struct ntk_http_many *many, struct ntk_http_many_end *out_end)
{
    int left;
    const CURLMsg *message;

    while ((message = http_curl.multi_info_read(many->multi, &left)) != NULL) {
        CURLcode code = message->data.result;
        struct place *place = NULL;

        if (message->msg != CURLMSG_DONE) {
            continue;
        }
        http_curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&place);
        out_end->place = (size_t)(place - many->places);
        out_end->err = (struct ntk_err){ 0 };
        out_end->result = place_end(many, place, code, &out_end->err);
        out_end->answer = &place->answer;
        return true;
    }
    return false;
}

bool ntk_http_many_wait(struct ntk_http_many *many, uint64_t wait_ns,
                        struct ntk_http_many_end *out_end)
{
    uint64_t now_ns = ntk_clock_monotonic_ns();
    uint64_t end_ns = wait_ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + wait_ns;
    int running;

    for (;;) {
        /* Return finished requests first: there may be many, and each takes time to handle. */
        if (take_end(many, out_end)) {
            return true;
        }
        (void)http_curl.multi_perform(many->multi, &running);
        if (take_end(many, out_end)) {
            return true;
        }
        now_ns = ntk_clock_monotonic_ns();
        if (now_ns >= end_ns || atomic_exchange(&many->is_woken, false)) {
            return false;
        }
        uint64_t left_ms = (end_ns - now_ns + NTK_NS_PER_MS - 1) / NTK_NS_PER_MS;
        (void)http_curl.multi_poll(many->multi, NULL, 0, left_ms > 1000 ? 1000 : (int)left_ms,
                                   NULL);
    }
}
