/* SPDX-License-Identifier: MIT */
/* opt - command-line options as a table: the parser and --help. */
#include "shared/base/opt.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/build.h"
#include "shared/base/err.h"
#include "shared/base/log.h"
#include "shared/base/str.h"
#include "shared/base/suggest.h"
#include "shared/base/url.h"
#include "shared/base/vec.h"

#define HELP_COLUMN 28
#define HELP_WIDTH 80

int ntk_opt_usage_error(const struct ntk_opt_program *program, const char *format, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, format);
    int bytes = vasprintf(&text, format, args);
    va_end(args);
    if (bytes >= 0) {
        bytes = (int)ntk_url_redact_text(text, (size_t)bytes);
        fprintf(stderr, "%s: %.*s\n", program->name, bytes, text);
        free(text);
    }
    fprintf(stderr, "Try '%s --help'.\n", program->name);
    return 2;
}

int ntk_opt_argument_error(const struct ntk_opt_program *program, const char *name,
                           const char *word)
{
    return name && !word ? ntk_opt_usage_error(program, "missing argument %s", name)
                         : ntk_opt_usage_error(program, "unexpected argument '%s'", word);
}

/* Appends a word to "a, b or c", or omits it if it does not fit. Returns the bytes used. */
static size_t list_add(char *text, size_t size, size_t used, const char *name, size_t bytes,
                       bool is_last)
{
    const char *separator = used == 0 ? "" : is_last ? " or " : ", ";

    return used >= size ? used
                        : used + (size_t)snprintf(text + used, size - used, "%s%.*s", separator,
                                                  (int)bytes, name);
}

int ntk_opt_command_error(const struct ntk_opt_program *program, const char *word)
{
    struct ntk_suggest near = ntk_suggest_begin(word ? word : "");
    const struct ntk_opt_command *command = program->commands;
    char names[256] = "";
    size_t used = 0;

    for (; command->name; command++) {
        ntk_suggest_add(&near, command->name);
        used = list_add(names, sizeof names, used, command->name, strlen(command->name),
                        !command[1].name);
    }
    return word ? ntk_opt_usage_error(program, "unknown command '%s'%s: use %s", word,
                                      ntk_suggest_text(&near), names)
                : ntk_opt_usage_error(program, "no command: use %s", names);
}

int ntk_opt_run_command(const struct ntk_opt_program *program, int argc, char **argv, int first)
{
    const char *word = first < argc ? argv[first] : NULL;

    for (const struct ntk_opt_command *command = program->commands; word && command->name;
         command++) {
        if (strcmp(word, command->name) == 0) {
            return command->run(argc - first, argv + first);
        }
    }
    return ntk_opt_command_error(program, word);
}

int ntk_opt_exit_code(int parsed)
{
    if (parsed != -ECANCELED) {
        return 2;
    }
    if ((fflush(stdout) != 0 || ferror(stdout)) && errno != EPIPE) {
        fprintf(stderr, "%s: cannot write to stdout: %s\n", program_invocation_short_name,
                strerror(errno));
        return 1;
    }
    return 0;
}

/* Prints text from the column on, broken at blanks before HELP_WIDTH. `at` is the current
 * column. */
static void print_wrapped(const char *text, int column, int at)
{
    while (*text) {
        int word = (int)strcspn(text, " \n");
        bool fits = at + (at > column) + word <= HELP_WIDTH;
        if (at > column && fits) {
            putchar(' ');
            at++;
        } else if (at > column) {
            printf("\n%*s", column, "");
            at = column;
        }
        printf("%.*s", word, text);
        at += word;
        text += word;
        if (*text == '\n') {
            printf("\n%*s", column, "");
            at = column;
        }
        text += *text != '\0';
    }
    putchar('\n');
}

bool ntk_opt_takes_optional(const struct ntk_opt *option)
{
    return option->arg_name && !strncmp(option->arg_name, "[=", 2);
}

static void print_option(const struct ntk_opt *option)
{
    char left[96];
    int used = 0;

    used += snprintf(left + used, sizeof left - (size_t)used, "  ");
    if (option->short_name) {
        used += snprintf(left + used, sizeof left - (size_t)used, "-%c%s", option->short_name,
                         option->long_name ? ", " : "");
    } else {
        used += snprintf(left + used, sizeof left - (size_t)used, "    ");
    }
    if (option->long_name) {
        used += snprintf(left + used, sizeof left - (size_t)used, "--%s", option->long_name);
    }
    if (option->arg_name) {
        used += snprintf(left + used, sizeof left - (size_t)used, "%s%s",
                         ntk_opt_takes_optional(option) ? "" : " ", option->arg_name);
    }
    if (used >= HELP_COLUMN - 1) {
        printf("%s\n%*s", left, HELP_COLUMN, "");
    } else {
        printf("%-*s", HELP_COLUMN, left);
    }
    print_wrapped(option->help, HELP_COLUMN, HELP_COLUMN);
}

/* One form of the command line, broken before optional parts. */
static void print_form(const char *lead, const char *name, const char *form, size_t length)
{
    int column = printf("%s %s", lead, name);
    int at = column;

    for (size_t start = 0; start < length;) {
        size_t end = start + 1;
        while (end < length && strncmp(form + end, " [", 2) != 0) {
            end++;
        }
        if (at + 1 + (int)(end - start) > HELP_WIDTH && at > column) {
            printf("\n%*s", column, "");
            at = column;
        }
        at += printf(" %.*s", (int)(end - start), form + start);
        start = end + (end < length); /* skip the blank */
    }
    putchar('\n');
}

void ntk_opt_print_help(const struct ntk_opt_program *program)
{
    const char *lead = "Usage:";

    for (const char *form = program->usage; *form;) {
        size_t length = strcspn(form, "\n");
        print_form(lead, program->name, form, length);
        form += length + (form[length] == '\n');
        lead = "      ";
    }
    putchar('\n');
    print_wrapped(program->summary, 0, 0);
    printf("\nOptions:\n");
    for (const struct ntk_opt *option = program->options; option->kind != NTK_OPT_END; option++) {
        if (option->kind == NTK_OPT_HEADING) {
            printf("\n%s:\n", option->long_name);
        } else if (option->help) {
            print_option(option);
        }
    }
    if (program->epilogue) {
        printf("\n%s\n", program->epilogue);
    }
}

static int print_completion(const struct ntk_opt_program *program, const char *shell)
{
    const char *blank = strchr(program->name, ' ');

    shell = shell ? shell : ""; /* NULL if the row has no arg_name */
    if (blank && strcmp(shell, "words") != 0 && strcmp(shell, "man") != 0) {
        ntk_opt_usage_error(program, "use '%.*s --completion %s' for the completion script",
                            (int)(blank - program->name), program->name, shell);
        return -EINVAL;
    }
    if (ntk_opt_print_completion(program, shell)) {
        return -ECANCELED;
    }
    ntk_opt_usage_error(program, "unknown shell '%s': expected bash, zsh or fish", shell);
    return -EINVAL;
}

/* Checks the result of the value's parser and reports its error. */
static int take(int parsed, const struct ntk_opt_program *program, const char *name,
                const char *value, const char *expected)
{
    if (parsed < 0) {
        ntk_opt_usage_error(program, "invalid value '%s' for %s: expected %s", value, name,
                            expected);
        return -EINVAL;
    }
    return 0;
}

/* Turns "zeros ones random" into "zeros, ones or random". */
static void list_words(char *text, size_t size, const char *words)
{
    size_t used = 0;

    while (*words) {
        size_t bytes = strcspn(words, " ");
        const char *next = words + bytes + strspn(words + bytes, " ");

        used = list_add(text, size, used, words, bytes, !*next);
        words = next;
    }
}

int ntk_opt_choice_check(const char *choices, const char *value, struct ntk_err *err)
{
    struct ntk_suggest near = ntk_suggest_begin(value);
    char names[256] = "";

    ntk_suggest_add_words(&near, choices);
    if (ntk_suggest_is_known(&near)) {
        return 0;
    }
    list_words(names, sizeof names, choices);
    return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "expected %s", names);
}

static void refuse_value(const struct ntk_opt_program *program, const struct ntk_opt *option,
                         const char *name, const char *value, const struct ntk_err *err)
{
    char word[256];
    bool is_word_of_list = value && option->arg_name && !strcmp(option->arg_name, NTK_OPT_LIST) &&
                           err->offset <= strlen(value);

    if (is_word_of_list) {
        value += err->offset;
        (void)snprintf(word, sizeof word, "%.*s", (int)strcspn(value, ","), value);
        value = word;
    }
    struct ntk_suggest near = ntk_suggest_begin(value ? value : "");
    if (option->choices) {
        ntk_suggest_add_words(&near, option->choices);
    }
    for (size_t i = 0; option->word_get && option->word_get(i); i++) {
        ntk_suggest_add(&near, option->word_get(i));
    }
    ntk_opt_usage_error(program, "invalid value '%s' for %s%s: %s", near.word, name,
                        ntk_suggest_text(&near), err->text);
}

static int take_choice(const struct ntk_opt_program *program, const struct ntk_opt *option,
                       const char *name, const char *value)
{
    struct ntk_err err = { 0 };

    if ((!ntk_opt_takes_optional(option) || *value) &&
        ntk_opt_choice_check(option->choices, value, &err) < 0) {
        refuse_value(program, option, name, value, &err);
        return -EINVAL;
    }
    *(const char **)option->value = value;
    return 0;
}

static bool is_above_zero(const struct ntk_opt *option)
{
    switch (option->kind) {
    case NTK_OPT_U64:
    case NTK_OPT_BYTES:
    case NTK_OPT_DURATION:
        return *(const uint64_t *)option->value > 0;
    case NTK_OPT_I64:
        return *(const int64_t *)option->value > 0;
    case NTK_OPT_DOUBLE:
        return *(const double *)option->value > 0;
    default:
        return true;
    }
}

/* name is the option as typed, for messages. */
static int take_value(const struct ntk_opt_program *program, const struct ntk_opt *option,
                      const char *name, const char *value)
{
    switch (option->kind) {
    case NTK_OPT_FLAG:
        *(bool *)option->value = true;
        return 0;
    case NTK_OPT_TEXT:
        *(const char **)option->value = value;
        return 0;
    case NTK_OPT_CHOICE:
        return take_choice(program, option, name, value);
    case NTK_OPT_U64:
        return take(ntk_str_parse_u64(value, option->value), program, name, value,
                    "a non-negative integer");
    case NTK_OPT_I64:
        return take(ntk_str_parse_i64(value, option->value), program, name, value, "an integer");
    case NTK_OPT_DOUBLE:
        return take(ntk_str_parse_double(value, option->value), program, name, value, "a number");
    case NTK_OPT_BYTES:
        return take(ntk_str_parse_bytes(value, option->value), program, name, value,
                    "a size such as 64K, 32M or 1G");
    case NTK_OPT_DURATION:
        return take(ntk_str_parse_duration_ns(value, option->value), program, name, value,
                    "a time such as 500ms, 2s or 1m30s");
    case NTK_OPT_CALL: {
        struct ntk_err err = { 0 };
        int (*call)(const char *, struct ntk_err *) =
            *(int (**)(const char *, struct ntk_err *))option->value;
        if (call(value, &err) < 0) {
            refuse_value(program, option, name, value, &err);
            return -EINVAL;
        }
        return 0;
    }
    case NTK_OPT_HELP:
        ntk_opt_print_help(program);
        return -ECANCELED;
    case NTK_OPT_VERSION:
        printf("%s %s\ncommit: %s\nbuild: %s\n", program->name, NTK_VERSION, ntk_build_commit,
               ntk_build_options);
        return -ECANCELED;
    case NTK_OPT_COMPLETION:
        return print_completion(program, value);
    case NTK_OPT_VERBOSE:
        if (ntk_log_get_level() < NTK_LOG_DEBUG) {
            ntk_log_set_level(ntk_log_get_level() + 1);
        }
        return 0;
    case NTK_OPT_HEADING:
    case NTK_OPT_END:
        break;
    }
    return 0;
}

static const struct ntk_opt *find_long(const struct ntk_opt_program *program, const char *name,
                                       size_t length)
{
    for (const struct ntk_opt *option = program->options; option->kind != NTK_OPT_END; option++) {
        if (option->kind != NTK_OPT_HEADING && option->long_name &&
            strlen(option->long_name) == length && !strncmp(option->long_name, name, length)) {
            return option;
        }
    }
    return NULL;
}

static const struct ntk_opt *find_short(const struct ntk_opt_program *program, char name)
{
    for (const struct ntk_opt *option = program->options; option->kind != NTK_OPT_END; option++) {
        if (option->short_name == name) {
            return option;
        }
    }
    return NULL;
}

static void refuse_long(const struct ntk_opt_program *program, const char *name)
{
    struct ntk_suggest near = ntk_suggest_begin(name);
    char known[NTK_SUGGEST_NAME_MAX + 1];

    for (const struct ntk_opt *option = program->options; option->kind != NTK_OPT_END; option++) {
        if (option->kind != NTK_OPT_HEADING && option->long_name && option->help) {
            (void)snprintf(known, sizeof known, "--%s", option->long_name);
            ntk_suggest_add(&near, known);
        }
    }
    ntk_opt_usage_error(program, "unknown option '%s'%s", name, ntk_suggest_text(&near));
}

static int apply(const struct ntk_opt_program *program, const struct ntk_opt *option,
                 const char *name, const char *value)
{
    int ret = take_value(program, option, name, value);

    return ret == 0 && option->is_above_zero && !is_above_zero(option)
               ? take(-ERANGE, program, name, value, option->above ? option->above : "more than 0")
               : ret;
}

/* Parses the word argv[*at] that starts with "--"; moves *at over a value that is a separate
 * word. */
static int parse_long(const struct ntk_opt_program *program, int argc, char **argv, int *at)
{
    const char *word = argv[*at] + 2;
    size_t length = strcspn(word, "=");
    const struct ntk_opt *option = find_long(program, word, length);
    char name[64];

    snprintf(name, sizeof name, "--%.*s", (int)length, word);
    if (!option) {
        refuse_long(program, name);
        return -EINVAL;
    }
    const char *value = word[length] == '=' ? word + length + 1 : NULL;
    if (ntk_opt_takes_optional(option) && !value) {
        value = "";
    } else if (option->arg_name && !value) {
        if (*at + 1 >= argc) {
            ntk_opt_usage_error(program, "option '%s' requires a value (%s)", name,
                                option->arg_name);
            return -EINVAL;
        }
        value = argv[++*at];
    } else if (!option->arg_name && value) {
        ntk_opt_usage_error(program, "option '%s' takes no value", name);
        return -EINVAL;
    }
    return apply(program, option, name, value);
}

static int parse_short(const struct ntk_opt_program *program, int argc, char **argv, int *at)
{
    for (const char *c = argv[*at] + 1; *c; c++) {
        const struct ntk_opt *option = find_short(program, *c);
        char name[3] = { '-', *c, '\0' };
        if (!option) {
            ntk_opt_usage_error(program, "unknown option '%s'", name);
            return -EINVAL;
        }
        if (!option->arg_name) {
            int ret = apply(program, option, name, NULL);
            if (ret < 0) {
                return ret;
            }
            continue;
        }
        const char *value = c[1] == '=' ? c + 2 : c + 1;
        if (c[1] == '\0') {
            if (*at + 1 >= argc) {
                ntk_opt_usage_error(program, "option '%s' requires a value (%s)", name,
                                    option->arg_name);
                return -EINVAL;
            }
            value = argv[++*at];
        }
        return apply(program, option, name, value);
    }
    return 0;
}

int ntk_opt_parse(const struct ntk_opt_program *program, int argc, char **argv)
{
    int operands = 0; /* moved to argv[1 .. operands] in order, and to the end afterwards */
    char **kept = calloc((size_t)argc + 1, sizeof *kept);
    int ret = 0;
    int at;

    if (!kept) {
        return -EINVAL;
    }
    for (at = 1; at < argc; at++) {
        const char *word = argv[at];
        if (!strcmp(word, "--")) {
            at++;
            break;
        }
        if (word[0] != '-' || word[1] == '\0') {
            if (program->stop_at_operand) {
                break;
            }
            kept[operands++] = argv[at];
            continue;
        }
        ret = word[1] == '-' ? parse_long(program, argc, argv, &at)
                             : parse_short(program, argc, argv, &at);
        if (ret < 0) {
            free(kept);
            return ret;
        }
    }
    int first = at - operands;
    memmove(argv + first, kept, (size_t)operands * sizeof *kept);
    free(kept);
    return first;
}

int ntk_opt_parse_all(const struct ntk_opt_program *program, int argc, char **argv)
{
    int first = ntk_opt_parse(program, argc, argv);

    if (first >= 0 && first < argc) {
        program->commands ? ntk_opt_command_error(program, argv[first])
                          : ntk_opt_argument_error(program, NULL, argv[first]);
        return -EINVAL;
    }
    return first < 0 ? first : 0;
}

struct ntk_opt *ntk_opt_join(const struct ntk_opt *const *tables, size_t count)
{
    struct ntk_vec rows = NTK_VEC_INIT(struct ntk_opt);
    bool is_whole = true;

    for (size_t i = 0; i < count; i++) {
        for (const struct ntk_opt *row = tables[i]; row && row->kind != NTK_OPT_END; row++) {
            is_whole = is_whole && ntk_vec_push(&rows, row) == 0;
        }
    }
    if (!is_whole || !ntk_vec_add(&rows)) { /* a zeroed row ends the table */
        ntk_vec_fini(&rows);
    }
    return rows.items;
}
