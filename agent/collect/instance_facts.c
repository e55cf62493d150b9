/* SPDX-License-Identifier: MIT */
/* instance_facts - sends requests to the metadata service, and stores the responses as lines. */
#include "agent/collect/instance_facts.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "agent/collect/instance.h"
#include "shared/base/str.h"
#include "shared/http/http_client.h"

#define TEXT_BYTES NTK_INSTANCE_TEXT_BYTES
#define ANSWER_BYTES 4096
#define HTTP_OK 200
#define HTTP_NOT_FOUND 404

/* Paths below /latest/meta-data/. */
static const struct {
    const char *path;
    size_t offset;
    bool optional; /* missing on older machines, and where the owner did not allow it */
} questions[] = {
    { "instance-id", offsetof(struct ntk_instance_facts, id), false },
    { "instance-type", offsetof(struct ntk_instance_facts, type), false },
    { "placement/availability-zone", offsetof(struct ntk_instance_facts, availability_zone),
      false },
    { "placement/availability-zone-id", offsetof(struct ntk_instance_facts, availability_zone_id),
      true },
    { "placement/region", offsetof(struct ntk_instance_facts, region), true },
    { "ami-id", offsetof(struct ntk_instance_facts, ami_id), false },
    { "tags/instance/Name", offsetof(struct ntk_instance_facts, name), true },
};

/* Endpoint and client for the requests. */
struct asker {
    struct ntk_http_client *client;
    const char *endpoint;
};

/* -- the service ------------------------------------------------------------------------------- */

/* Sends one request with the method and header; stores the first line of the response. Returns the
 * HTTP status or -errno. */
static long ask(const struct asker *asker, const char *method, const char *path, const char *header,
                char text[TEXT_BYTES], struct ntk_err *err)
{
    char url[1024];
    const char *const headers[] = { header, NULL };
    const struct ntk_http_question question = {
        .method = method,
        .url = url,
        .headers = headers,
        .connect_ns = NTK_INSTANCE_CONNECT_NS,
        .timeout_ns = NTK_INSTANCE_TIMEOUT_NS,
        .answer_bytes_max = ANSWER_BYTES,
    };
    struct ntk_http_answer answer = { 0 };

    text[0] = '\0';
    snprintf(url, sizeof url, "%s/latest/%s", asker->endpoint, path);
    long ret = ntk_http_client_ask(asker->client, &question, &answer, err);
    if (ret >= 0) {
        ret = answer.status;
        if (answer.status == HTTP_OK) {
            const char *body = ntk_buf_text_get(&answer.body);
            ntk_str_copy_clean(text, TEXT_BYTES, body, strcspn(body, "\r\n"));
        } else {
            ntk_err_set(err, -EPROTO, NTK_ERR_NO_OFFSET,
                        "the instance metadata service returned HTTP %ld for %s", answer.status,
                        path);
        }
    }
    ntk_http_answer_fini(&answer);
    return ret;
}

static long ask_data(const struct asker *asker, const char *path, const char *header,
                     char text[TEXT_BYTES], struct ntk_err *err)
{
    char full[512];

    snprintf(full, sizeof full, "meta-data/%s", path);
    return ask(asker, NULL, full, header, text, err);
}

static bool is_mac(const char *text)
{
    return text[0] && strspn(text, "0123456789abcdefABCDEF:") == strlen(text) && strlen(text) <= 32;
}

/* Requests the subnet, which is listed under the network interface, which has its MAC address as
 * name. */
static bool ask_subnet(const struct asker *asker, const char *header,
                       struct ntk_instance_facts *facts, struct ntk_err *err)
{
    char mac[TEXT_BYTES];
    char path[128];

    if (ask_data(asker, "mac", header, mac, err) != HTTP_OK) {
        return false;
    }
    if (!is_mac(mac)) {
        ntk_err_set(err, -EPROTO, NTK_ERR_NO_OFFSET,
                    "the instance metadata service returned an invalid MAC address");
        return false;
    }
    snprintf(path, sizeof path, "network/interfaces/macs/%s/subnet-id", mac);
    return ask_data(asker, path, header, facts->subnet_id, err) == HTTP_OK;
}

bool ntk_instance_facts_ask(struct ntk_http_client *client, const char *endpoint,
                            struct ntk_instance_facts *facts, struct ntk_err *err)
{
    const struct asker them = { client, endpoint };
    const struct asker *asker = &them;
    char token[TEXT_BYTES];
    char header[TEXT_BYTES + 32];
    bool is_complete;

    if (ask(asker, "PUT", "api/token", "X-aws-ec2-metadata-token-ttl-seconds: 60", token, err) !=
        HTTP_OK) {
        return false;
    }
    snprintf(header, sizeof header, "X-aws-ec2-metadata-token: %s", token);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        char text[TEXT_BYTES];
        long status = ask_data(asker, questions[i].path, header, text, err);
        if (status == HTTP_OK) {
            ntk_str_copy((char *)facts + questions[i].offset, TEXT_BYTES, text);
        } else if (!questions[i].optional || status != HTTP_NOT_FOUND) {
            return false;
        }
    }
    is_complete = ask_subnet(asker, header, facts, err);
    if (is_complete) {
        facts->error[0] = '\0';
    }
    return is_complete;
}

/* -- lines ------------------------------------------------------------------------------------- */

#define FACT(member)                                         \
    {                                                        \
#member, offsetof(struct ntk_instance_facts, member) \
    }
static const struct {
    const char *name;
    size_t offset;
} lines[] = {
#define NTK_INSTANCE_TEXT(name, ...) FACT(name),
#include "shared/metrics/machine.def"
    FACT(error),
};

void ntk_instance_facts_write(const struct ntk_instance_facts *facts, struct ntk_buf *out)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        ntk_buf_add_format(out, "%s=%s\n", lines[i].name, (const char *)facts + lines[i].offset);
    }
}

int ntk_instance_facts_read(const char *text, struct ntk_instance_facts *facts)
{
    int count = 0;

    facts->error[0] = '\0';
    while (*text) {
        size_t length = strcspn(text, "\n");
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
            size_t name_bytes = strlen(lines[i].name);
            if (length > name_bytes && text[name_bytes] == '=' &&
                strncmp(text, lines[i].name, name_bytes) == 0) {
                if (length > name_bytes + 1) { /* an empty response does not replace a known fact */
                    ntk_str_copy_clean((char *)facts + lines[i].offset, TEXT_BYTES,
                                       text + name_bytes + 1, length - name_bytes - 1);
                }
                count++;
            }
        }
        text += length + (text[length] == '\n');
    }
    return count;
}
