/* SPDX-License-Identifier: MIT */
/* opt_man - prints the option table as man page entries; cmake/man.awk puts them into the
 * template. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/opt.h"

static void print_escaped(const char *font, const char *text, size_t length)
{
    printf("\\f%s", font);
    for (size_t i = 0; i < length; i++) {
        printf(text[i] == '-' ? "\\-" : text[i] == '\\' ? "\\e" : "%c", text[i]);
    }
    printf("\\fR");
}

/* Prints "--name" or "-n" in bold or the value's name in italics. Returns 0 if the text has
 * neither. */
static size_t print_marked(const struct ntk_opt *option, const char *text)
{
    static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    size_t length = strspn(text, name);
    const char *font = length > 1 && text[0] == '-' ? "B" : "I";

    if (!length || (*font == 'I' && (!option->arg_name || strlen(option->arg_name) != length ||
                                     strncmp(text, option->arg_name, length) != 0))) {
        return 0;
    }
    print_escaped(font, text, length);
    return length;
}

/* Prints the option's help text as a sentence. */
static void print_sentence(const struct ntk_opt *option)
{
    for (const char *c = option->help; *c;) {
        bool begins = c == option->help || strchr(" (/", c[-1]);
        size_t marked = begins ? print_marked(option, c) : 0;
        if (!marked) {
            printf(*c == '\\' ? "\\e" : "%c", c == option->help ? toupper((unsigned char)*c) : *c);
        }
        c += marked ? marked : 1;
    }
    printf(".\n");
}

static void print_entry(const struct ntk_opt *option)
{
    const char *argument = option->arg_name;
    char name[64];
    int length = snprintf(name, sizeof name, "--%s", option->long_name);

    printf(".TP\n");
    if (option->short_name) {
        printf("\\fB\\-%c\\fR, ", option->short_name);
    }
    print_escaped("B", name, (size_t)length);
    if (argument) {
        bool is_optional = ntk_opt_takes_optional(option);
        printf(is_optional ? "[=" : " ");
        print_escaped("I", argument + (is_optional ? 2 : 0),
                      strlen(argument) - (is_optional ? 3 : 0));
        printf(is_optional ? "]" : "");
    }
    putchar('\n');
    print_sentence(option);
    printf("@%s\n", name); /* mark where the template may add text */
}

void ntk_opt_print_man(const struct ntk_opt_program *program)
{
    bool is_subcommand = strchr(program->name, ' ') != NULL;
    const char *heading = NULL;

    for (const struct ntk_opt *option = program->options; option->kind != NTK_OPT_END; option++) {
        if (option->kind == NTK_OPT_HEADING) {
            heading = option->long_name;
        } else if (option->long_name && option->help &&
                   /* omit options that all commands have */
                   !(is_subcommand && option->kind > NTK_OPT_HEADING)) {
            if (heading) {
                printf(".SS %s\n", heading);
                heading = NULL;
            }
            print_entry(option);
        }
    }
}
