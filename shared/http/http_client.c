/* SPDX-License-Identifier: MIT */
/* http_client - runs one libcurl transfer at a time on a multi handle, which another thread can
 * wake. */
#include "shared/http/http_client.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "shared/http/http_transfer.h"

/* Maximum length of a wait without events; a cancel ends it early. */
#define POLL_MS 1000

struct ntk_http_client {
    struct http_transfer transfer;
    CURLM *multi;
    atomic_bool is_cancelled;
};

struct ntk_http_client *ntk_http_client_create(void)
{
    struct ntk_http_client *client = calloc(1, sizeof *client);
    struct ntk_err later; /* each request fails with it */

    if (!client || http_curl_load(&later) < 0) {
        return client;
    }
    if (http_transfer_init(&client->transfer) < 0 || !(client->multi = http_curl.multi_init())) {
        ntk_http_client_destroy(client);
        return NULL;
    }
    return client;
}

void ntk_http_client_destroy(struct ntk_http_client *client)
{
    if (!client) {
        return;
    }
    http_transfer_fini(&client->transfer);
    if (client->multi) {
        http_curl.multi_cleanup(client->multi);
    }
    free(client);
}

void ntk_http_client_cancel(struct ntk_http_client *client)
{
    atomic_store(&client->is_cancelled, true);
    if (client->multi) {
        http_curl.multi_wakeup(client->multi);
    }
}

/* Runs the transfer to its end. Returns libcurl's code, or CURLE_ABORTED_BY_CALLBACK if
 * cancelled. */
static CURLcode perform(struct ntk_http_client *client)
{
    CURLcode code = CURLE_FAILED_INIT;
    int running = 1;

    if (http_curl.multi_add_handle(client->multi, client->transfer.easy) != CURLM_OK) {
        return CURLE_FAILED_INIT;
    }
    while (running) {
        if (atomic_exchange(&client->is_cancelled, false)) {
            code = CURLE_ABORTED_BY_CALLBACK;
            break;
        }
        if (http_curl.multi_perform(client->multi, &running) != CURLM_OK) {
            break;
        }
        if (running) {
            http_curl.multi_poll(client->multi, NULL, 0, POLL_MS, NULL);
        }
    }
    for (int left = 1; left;) {
        CURLMsg *message = http_curl.multi_info_read(client->multi, &left);
        if (message && message->msg == CURLMSG_DONE) {
            code = message->data.result;
        }
        left = message ? left : 0;
    }
    http_curl.multi_remove_handle(client->multi, client->transfer.easy);
    return code;
}

int ntk_http_client_ask(struct ntk_http_client *client, const struct ntk_http_question *question,
                        struct ntk_http_answer *answer, struct ntk_err *err)
{
    int ret = http_curl_load(err);

    ret = ret < 0 ? ret : http_transfer_begin(&client->transfer, question, answer, err);
    return ret < 0 ? ret : http_transfer_end(&client->transfer, perform(client), err);
}

bool ntk_http_answer_header_get(const struct ntk_http_answer *answer, const char *name, char *text,
                                size_t text_bytes)
{
    size_t name_bytes = strlen(name);

    for (const char *line = ntk_buf_text_get(&answer->head); *line;) {
        size_t length = strcspn(line, "\n");
        if (length > name_bytes && !memcmp(line, name, name_bytes) && line[name_bytes] == ':') {
            const char *value = line + name_bytes + 1;
            value += strspn(value, " \t");
            size_t value_bytes = (size_t)(line + length - value);
            if (value_bytes >= text_bytes) {
                value_bytes = text_bytes - 1;
            }
            memcpy(text, value, value_bytes);
            text[value_bytes] = '\0';
            return true;
        }
        line += length + (line[length] == '\n');
    }
    return false;
}

void ntk_http_answer_fini(struct ntk_http_answer *answer)
{
    ntk_buf_fini(&answer->head);
    ntk_buf_fini(&answer->body);
}
