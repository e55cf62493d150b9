/* SPDX-License-Identifier: MIT */
/* Any bytes as a credentials or config file, and as a response with keys: rejected with a message,
 * or parsed to values that are valid in a header. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/aws/aws_answer.h"
#include "shared/aws/aws_config.h"
#include "shared/aws/aws_process.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text)
{
    for (const char *at = text; at && *at; at++) {
        if (*at < ' ' || *at > '~') {
            abort();
        }
    }
}

static void check_keys(int ret, struct ntk_aws_keys *keys, const struct ntk_err *err)
{
    if (ret < 0) {
        if (!err->text[0]) {
            abort(); /* a rejection has a message */
        }
        return;
    }
    check_text(keys->access_key);
    check_text(keys->secret_key);
    check_text(keys->session_token);
    ntk_aws_keys_fini(keys);
}

/* Words are never longer than their source. */
static void split_words(const char *text, size_t size)
{
    char *command = strndup(text, size);
    struct ntk_err err = { 0 };
    char **words = NULL;
    size_t bytes = 0;

    int ret = command ? ntk_aws_process_split(command, &words, &err) : -1;
    for (size_t i = 0; ret >= 0 && words[i]; i++) {
        bytes += strlen(words[i]) + 1;
    }
    if (command && (bytes > strlen(command) + 1 || (ret < 0 && !err.text[0]))) {
        abort();
    }
    free(words);
    free(command);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct ntk_aws_keys keys = { 0 };
    struct ntk_aws_error error;

    for (int file = 0; file < 2; file++) {
        struct ntk_aws_profile profile;
        struct ntk_err err = { 0 };
        int ret =
            ntk_aws_config_parse(text, size, (enum ntk_aws_file)file, "default", &profile, &err);
        if (ret < 0 && !err.text[0]) {
            abort();
        }
        for (int i = 0; ret >= 0 && i < NTK_AWS_KEY_COUNT; i++) {
            check_text(profile.value[i]);
        }
        ntk_aws_profile_fini(&profile);
    }
    struct ntk_err json_err = { 0 };
    check_keys(ntk_aws_keys_from_json(text, size, &keys, &json_err), &keys, &json_err);
    struct ntk_err process_err = { 0 };
    check_keys(ntk_aws_keys_from_process(text, size, &keys, &process_err), &keys, &process_err);
    split_words(text, size);
    struct ntk_err xml_err = { 0 };
    check_keys(ntk_aws_keys_from_sts(text, size, &keys, &xml_err), &keys, &xml_err);
    ntk_aws_error_parse(text, size, &error);
    return 0;
}
