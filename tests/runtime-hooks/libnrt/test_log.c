/* SPDX-License-Identifier: MIT */
/*
 * Log lines: their form, levels and destinations, the syslog, and what is printed after a failure.
 *
 * Method: this program defines syslog, which the library finds before the C library's.
 */
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define LINES_MAX 32
#define LINE_BYTES 512

static struct {
    int priority;
    char text[LINE_BYTES];
} said[LINES_MAX];
static int said_count;

__attribute__((format(printf, 2, 0))) static void hear(int priority, const char *format,
                                                       va_list args)
{
    if (said_count < LINES_MAX) {
        said[said_count].priority = priority;
        (void)vsnprintf(said[said_count].text, LINE_BYTES, format, args);
        said_count++;
    }
}

/* The functions that the library calls, plain and with the compiler's checks. */
__attribute__((visibility("default"))) void syslog(int priority, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    hear(priority, format, args);
    va_end(args);
}

void __syslog_chk(int priority, int flag, const char *format, ...);
__attribute__((visibility("default"))) void __syslog_chk(int priority, int flag, const char *format,
                                                         ...)
{
    va_list args;

    (void)flag;
    va_start(args, format);
    hear(priority, format, args);
    va_end(args);
}

static char *log_to_file(const struct runtime *runtime, const char *level)
{
    char *path = test_scratch_path(runtime->folder, "log");

    setenv("NEURON_RT_LOG_LEVEL", level, 1);
    setenv("NEURON_RT_LOG_LOCATION", path, 1);
    return path;
}

/* The text of the log; static storage. */
static char *log_read(const char *path)
{
    static char text[1 << 17];

    text[0] = '\0';
    (void)ntk_fs_read_text(path, text, sizeof text);
    return text;
}

static void matches(const char *text, const char *pattern)
{
    regex_t regex;

    assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB | REG_NEWLINE), 0);
    if (regexec(&regex, text, 0, NULL, 0) != 0) {
        fail_msg("%s is not in: %s", pattern, text);
    }
    regfree(&regex);
}

static int count(const char *text, const char *what)
{
    int found = 0;

    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what)) {
        found++;
    }
    return found;
}

static void log_lines_have_the_vendor_format(void **state)
{
    const struct runtime *runtime = *state;
    char *path = log_to_file(runtime, "info");
    char pattern[512];

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_load(NULL, 0, 0, 1, NULL), NRT_INVALID);
    nrt_close();
    char *text = log_read(path);
    (void)snprintf(
        pattern, sizeof pattern,
        "^20[0-9]{2}-(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)-[0-9]{2} "
        "[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}  +%d:%d +ERROR    NRT:nrt_load {34}no NEFF",
        (int)getpid(), (int)getpid());
    matches(text, pattern);
    matches(text, "  INFO     NRT:nrt_init  +using 2 NeuronCores of a software trn1.2xlarge, "
                  "starting at core 0$");
    free(path);
}

static void log_levels_are_ordered_and_invalid_names_select_the_default(void **state)
{
    static const struct {
        const char *level;
        bool has_error, has_warning, has_info;
    } rows[] = {
        { "QUIET", false, false, false }, { "error", true, false, false },
        { "Warn", true, true, false },    { "WARNING", true, true, false },
        { "INFO", true, true, true },     { "debug", true, true, true },
        { "TRACE", true, true, true },    { "loudly", true, false, false },
        { "", true, false, false },
    };
    const struct runtime *runtime = *state;

    setenv("NEURON_RT_NO_SUCH_VARIABLE", "1", 1); /* causes a warning at each start */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *path = log_to_file(runtime, rows[i].level);

        (void)unlink(path);
        assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
        assert_int_equal(nrt_load(NULL, 0, 0, 1, NULL), NRT_INVALID);
        nrt_close();
        const char *text = log_read(path);
        assert_int_equal(strstr(text, "  ERROR    NRT:") != NULL, rows[i].has_error);
        assert_int_equal(strstr(text, "  WARN     NRT:") != NULL, rows[i].has_warning);
        assert_int_equal(strstr(text, "  INFO     NRT:") != NULL, rows[i].has_info);
        free(path);
    }
    unsetenv("NEURON_RT_NO_SUCH_VARIABLE");
}

static void each_log_component_has_separate_variables(void **state)
{
    static const char *const components[] = { "NRT", "NMGR", "TDRV", "KMGR" };
    const struct runtime *runtime = *state;
    char name[64];

    for (size_t i = 0; i < sizeof components / sizeof *components; i++) {
        char *path = test_scratch_path(runtime->folder, components[i]);

        (void)snprintf(name, sizeof name, "NEURON_RT_LOG_LEVEL_%s", components[i]);
        setenv(name, "ERROR", 1);
        (void)snprintf(name, sizeof name, "NEURON_RT_LOG_LOCATION_%s", components[i]);
        setenv(name, path, 1);
        free(path);
    }
    setenv("NEURON_SOFT_FAULT", "hbm-ue:at=1", 1);
    size_t bytes;
    uint8_t *neff = test_model_smallest(&bytes);
    struct loaded loaded;
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 0);
    free(neff);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs),
                     NRT_EXEC_HW_ERR_HBM_UE);
    loaded_fini(&loaded);
    nrt_close();
    for (size_t i = 0; i < sizeof components / sizeof *components; i++) {
        char *path = test_scratch_path(runtime->folder, components[i]);
        const char *text = log_read(path);
        char own[16];

        (void)snprintf(own, sizeof own, " %s:", components[i]);
        /* Every line is from this component; KMGR logs nothing here. */
        assert_int_equal(count(text, own), count(text, "  ERROR  "));
        assert_true(strcmp(components[i], "KMGR") == 0 || count(text, own) > 0);
        free(path);
        (void)snprintf(name, sizeof name, "NEURON_RT_LOG_LEVEL_%s", components[i]);
        unsetenv(name);
        (void)snprintf(name, sizeof name, "NEURON_RT_LOG_LOCATION_%s", components[i]);
        unsetenv(name);
    }
    unsetenv("NEURON_SOFT_FAULT");
}

static void the_syslog_receives_lines_of_level_info_and_above(void **state)
{
    unsetenv("NEURON_RT_LOG_LEVEL");
    setenv("NEURON_RT_LOG_LOCATION", "SysLog", 1);
    setenv("NEURON_RT_RESET_CORES", "1", 1);
    setenv("NEURON_RT_NO_SUCH_VARIABLE", "1", 1);
    said_count = 0;
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_load(NULL, 0, 0, 1, NULL), NRT_INVALID);
    nrt_close();
    unsetenv("NEURON_RT_RESET_CORES");
    unsetenv("NEURON_RT_NO_SUCH_VARIABLE");
    int errors = 0, warnings = 0, infos = 0;
    for (int i = 0; i < said_count; i++) {
        bool is_error = strstr(said[i].text, "  ERROR    NRT:nrt_load ") != NULL;
        bool is_warning = strstr(said[i].text, "  WARN     NRT:nrt_init ") != NULL;

        assert_int_equal(said[i].priority, LOG_USER | (is_error     ? LOG_ERR
                                                       : is_warning ? LOG_WARNING
                                                                    : LOG_INFO));
        assert_null(strchr(said[i].text, '\n'));
        errors += is_error;
        warnings += is_warning;
        infos += !is_error && !is_warning;
    }
    assert_int_equal(errors, 1);
    assert_int_equal(warnings, 1);
    assert_int_equal(infos, 3); /* a variable, the start, the end */

    said_count = 0;
    setenv("NEURON_RT_LOG_LEVEL", "ERROR", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    nrt_close();
    assert_int_equal(said_count, 0);
}

static void a_failed_load_logs_its_causes_and_system_information(void **state)
{
    struct test_model_options options = { .tmp_bytes = UINT64_C(17) << 30 };
    const struct runtime *runtime = *state;
    char *path = log_to_file(runtime, "ERROR");
    nrt_model_t *model = NULL;
    struct utsname host;
    char line[256];
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);

    setenv("NEURON_RT_EXEC_TIMEOUT", "77", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_load(neff, bytes, 0, 1, &model), NRT_RESOURCE);
    unsetenv("NEURON_RT_EXEC_TIMEOUT");
    const char *text = log_read(path);
    const char *cause = strstr(text, " TDRV:log_dev_mem ");
    const char *call = strstr(text, "  NRT:nrt_load ");
    const char *stage = strstr(text, " NMGR:stage_kelf_models ");
    const char *chain = strstr(text, " NMGR:kmgr_load_nn_post_metrics ");
    const char *dump = strstr(text, "  NRT:nrt_infodump ");
    assert_true(cause && cause < stage && stage < chain && chain < dump && dump < call);
    /* The reason for the rejection is the last line, next to the program's own message. */
    assert_null(strchr(call, '\n'));
    assert_non_null(strstr(stage, "  Failed to stage graph: adder to NeuronCore\n"));
    assert_non_null(strstr(chain, "  Failed to load NN: adder, err: 4\n"));

    assert_int_equal(uname(&host), 0);
    (void)snprintf(line, sizeof line, "  Kernel: %s %s\n", host.sysname, host.release);
    assert_non_null(strstr(dump, line));
    (void)snprintf(line, sizeof line, "  Nodename: %s\n", host.nodename);
    assert_non_null(strstr(dump, line));
    assert_non_null(strstr(dump, "  NRT version: 2.31.24.0 (software NeuronCores "));
    assert_non_null(strstr(dump, "  Instance ID: i-local\n"));
    assert_non_null(strstr(dump, "  Driver version: 2.30.2.0\n"));
    assert_non_null(strstr(dump, "  Failure: NRT_RESOURCE in nrt_load()\n"));
    assert_non_null(strstr(dump, "  LNC: 1\n"));
    assert_non_null(strstr(dump, "  Visible cores: 0, 1\n"));
    assert_non_null(strstr(dump, "NEURON_RT_EXEC_TIMEOUT=77\n"));
    assert_true(strstr(dump, "[ cut here ]") < strstr(dump, "[ cut to here ]"));

    /* An invalid file has no name, is not staged, and gets no support information. */
    assert_int_equal(nrt_load("no NEFF", 7, 0, 1, &model), NRT_INVALID);
    text = log_read(path);
    assert_int_equal(count(text, "stage_kelf_models"), 1);
    assert_non_null(strstr(text, "  Failed to load NN: , err: 2"));
    assert_int_equal(count(text, "[ cut here ]"), 1);
    free(neff);
    free(path);
}

static void system_information_is_logged_once_per_failed_init_or_execution(void **state)
{
    const struct runtime *runtime = *state;
    char *path = log_to_file(runtime, "ERROR");
    struct loaded loaded;
    size_t bytes;
    uint8_t *neff = test_model_smallest(&bytes);

    setenv("NEURON_RT_VISIBLE_CORES", "7", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_INVALID);
    unsetenv("NEURON_RT_VISIBLE_CORES");
    /* The user can fix this alone: no information for a support request. */
    assert_int_equal(count(log_read(path), "[ cut here ]"), 0);
    setenv("NEURON_RT_NUM_CORES", "99", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_FAILURE);
    unsetenv("NEURON_RT_NUM_CORES");
    const char *start = log_read(path);
    assert_int_equal(count(start, "Failure: NRT_FAILURE in nrt_init()\n"), 1);
    const char *refused =
        strstr(strstr(start, "[ cut to here ]"), "  NRT:nrt_allocate_neuron_cores ");
    assert_non_null(refused);
    assert_null(strchr(refused, '\n'));
    assert_null(strstr(log_read(path), "Visible cores:"));

    setenv("NEURON_SOFT_FAULT", "nq-overflow:every=1", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    unsetenv("NEURON_SOFT_FAULT");
    loaded_init(&loaded, neff, bytes, 1);
    free(neff);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs),
                         NRT_EXEC_SW_NQ_OVERFLOW);
    }
    loaded_fini(&loaded);
    const char *text = log_read(path);
    assert_int_equal(count(text, "Failure: NRT_EXEC_SW_NQ_OVERFLOW in nrt_execute()\n"), 1);
    assert_int_equal(count(text, "NMGR:dlr_infer "), 3);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, runtime_setup, runtime_teardown)
        TEST(log_lines_have_the_vendor_format),
        TEST(log_levels_are_ordered_and_invalid_names_select_the_default),
        TEST(each_log_component_has_separate_variables),
        TEST(the_syslog_receives_lines_of_level_info_and_above),
        TEST(a_failed_load_logs_its_causes_and_system_information),
        TEST(system_information_is_logged_once_per_failed_init_or_execution),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
