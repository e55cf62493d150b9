/* SPDX-License-Identifier: MIT */
/* Method: files as text, well-formed and not, and the values of a profile in them. */
#include "shared/aws/aws_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

static struct ntk_aws_profile parse(const char *text, enum ntk_aws_file file, const char *name)
{
    struct ntk_aws_profile profile;
    struct ntk_err err = { 0 };

    if (ntk_aws_config_parse(text, strlen(text), file, name, &profile, &err) < 0) {
        fail_msg("%s", err.text);
    }
    return profile;
}

static void assert_value(const char *text, enum ntk_aws_file file, const char *name,
                         enum ntk_aws_key key, const char *value)
{
    struct ntk_aws_profile profile = parse(text, file, name);

    if (value) {
        assert_non_null(profile.value[key]);
        assert_string_equal(profile.value[key], value);
    } else {
        assert_null(profile.value[key]);
    }
    ntk_aws_profile_fini(&profile);
}

static void section_names_follow_the_rules_of_the_file_kind(void **state)
{
    static const char config[] = "[default]\nregion=d\n[profile a b]\nregion = ab\n"
                                 "[profile  \"q\"]\nregion = q\n[plain]\nregion = no\n"
                                 "[sso-session x]\nregion = no\n[profiles]\nregion = no\n";

    assert_value(config, NTK_AWS_FILE_CONFIG, "default", NTK_AWS_REGION, "d");
    assert_value(config, NTK_AWS_FILE_CONFIG, "a b", NTK_AWS_REGION, "ab");
    assert_value(config, NTK_AWS_FILE_CONFIG, "q", NTK_AWS_REGION, "q");
    assert_value(config, NTK_AWS_FILE_CONFIG, "plain", NTK_AWS_REGION, NULL);
    assert_value(config, NTK_AWS_FILE_CONFIG, "x", NTK_AWS_REGION, NULL);
    assert_value(config, NTK_AWS_FILE_CONFIG, "", NTK_AWS_REGION, NULL);
    assert_value(config, NTK_AWS_FILE_CREDENTIALS, "plain", NTK_AWS_REGION, "no");
    assert_value(config, NTK_AWS_FILE_CREDENTIALS, "profile a b", NTK_AWS_REGION, "ab");
}

static void blanks_comments_and_nested_aws_settings_are_ignored(void **state)
{
    static const char text[] = "\xef\xbb\xbf# first\r\n\r\n [ default ] ; why not\r\n"
                               "aws_access_key_id\t=  AKID \r\n"
                               "s3 =\r\n  region = nested\r\n\taws_session_token = nested\r\n"
                               "aws_secret_access_key = a/b+c=#d # old\n"
                               "endpoint_url = http://h/#x\n"
                               "aws_security_token =\n"
                               "region = one\nregion = two";
    static const enum ntk_aws_file file = NTK_AWS_FILE_CREDENTIALS;

    assert_value(text, file, "default", NTK_AWS_ACCESS_KEY_ID, "AKID");
    assert_value(text, file, "default", NTK_AWS_SECRET_ACCESS_KEY, "a/b+c=#d");
    assert_value(text, file, "default", NTK_AWS_SESSION_TOKEN, NULL);
    assert_value(text, file, "default", NTK_AWS_ENDPOINT_URL, "http://h/#x");
    assert_value(text, file, "default", NTK_AWS_REGION, "two");
    assert_value(text, file, "default", NTK_AWS_UNSUPPORTED, NULL);
}

static void sections_with_the_same_name_are_merged(void **state)
{
    struct ntk_aws_profile profile =
        parse("[a]\nregion=x\n[b]\nregion=y\n[a]\naws_access_key_id=k\nrole_arn=r\n",
              NTK_AWS_FILE_CREDENTIALS, "a");

    assert_true(profile.is_found);
    assert_string_equal(profile.value[NTK_AWS_REGION], "x");
    assert_string_equal(profile.value[NTK_AWS_ACCESS_KEY_ID], "k");
    assert_string_equal(profile.value[NTK_AWS_ROLE_ARN], "r");
    assert_null(profile.value[NTK_AWS_UNSUPPORTED]);
    ntk_aws_profile_fini(&profile);
    profile = parse("[default]\nsso_session = s\n", NTK_AWS_FILE_CONFIG, "default");
    assert_string_equal(profile.value[NTK_AWS_UNSUPPORTED], "sso_session");
    ntk_aws_profile_fini(&profile);
    profile = parse("", NTK_AWS_FILE_CONFIG, "default");
    assert_false(profile.is_found);
}

static void invalid_lines_are_rejected_with_their_line_number(void **state)
{
    static const struct {
        const char *text;
        const char *said;
        uint64_t offset;
    } rows[] = {
        { "[a]\n[b\n", "line 2 is a section without ']'", 4 },
        { "[a] x\n", "line 1 has unexpected text after a section", 4 },
        { "region = x\n[a]\n", "line 1 appears before any section", 0 },
        { "  region = x\n", "line 1 appears before any section", 2 },
        { "[a]\n\nnonsense\n", "line 3 is neither a section nor 'key = value'", 5 },
        { "[a]\n= x\n", "line 2 is neither a section nor 'key = value'", 4 },
        { "[b]\nregion = \x01\n[a]\nregion = \xc3\xa4\n",
          "line 4 has a value with non-ASCII characters", 28 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_aws_profile profile;
        struct ntk_err err = { 0 };
        assert_int_equal(ntk_aws_config_parse(rows[i].text, strlen(rows[i].text),
                                              NTK_AWS_FILE_CREDENTIALS, "a", &profile, &err),
                         -EBADMSG);
        assert_string_equal(err.text, rows[i].said);
        assert_int_equal(err.offset, rows[i].offset);
        assert_false(profile.is_found);
    }
}

static void huge_and_binary_files_are_rejected(void **state)
{
    static const char nul[] = "[a]\nregion = x\0y\n";
    static const char begin[] = "[a]\nregion=";
    struct ntk_aws_profile profile;
    struct ntk_err err = { 0 };
    size_t bytes = NTK_AWS_VALUE_BYTES_MAX + 100;
    char *text = malloc(bytes);

    assert_int_equal(
        ntk_aws_config_parse(nul, sizeof nul - 1, NTK_AWS_FILE_CREDENTIALS, "a", &profile, &err),
        -EBADMSG);
    assert_string_equal(err.text, "line 2 has a NUL");
    memset(text, 'x', bytes);
    for (size_t i = 0; i < sizeof begin - 1; i++) {
        text[i] = begin[i];
    }
    assert_int_equal(
        ntk_aws_config_parse(text, bytes, NTK_AWS_FILE_CREDENTIALS, "a", &profile, &err), -EBADMSG);
    assert_string_equal(err.text, "line 2 has a value that is too long");
    /* Truncated anywhere, a valid file is valid or rejected. */
    for (size_t cut = 0; cut < 40; cut++) {
        static const char sound[] = "[a]\naws_access_key_id = k # c\n[b]\nx = y\n";
        if (ntk_aws_config_parse(sound, cut, NTK_AWS_FILE_CREDENTIALS, "a", &profile, &err) >= 0) {
            ntk_aws_profile_fini(&profile);
        }
    }
    free(text);
}

static void a_missing_configuration_file_counts_as_empty(void **state)
{
    struct ntk_aws_profile profile;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_aws_config_read("/nonexistent/credentials", NTK_AWS_FILE_CREDENTIALS, "a",
                                         &profile, &err),
                     0);
    assert_false(profile.is_found);
    assert_true(ntk_aws_config_read("/", NTK_AWS_FILE_CREDENTIALS, "a", &profile, &err) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(section_names_follow_the_rules_of_the_file_kind),
        cmocka_unit_test(blanks_comments_and_nested_aws_settings_are_ignored),
        cmocka_unit_test(sections_with_the_same_name_are_merged),
        cmocka_unit_test(invalid_lines_are_rejected_with_their_line_number),
        cmocka_unit_test(huge_and_binary_files_are_rejected),
        cmocka_unit_test(a_missing_configuration_file_counts_as_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
