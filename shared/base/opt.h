/* SPDX-License-Identifier: MIT */
/*
 * opt - command-line options as a table: parser, --help, man page and shell completion read the
 * same rows.
 *
 *   static uint64_t delay_ns = NTK_NS_PER_SECOND;
 *   static const struct ntk_opt options[] = {
 *       { 'd', "delay", "TIME", NTK_OPT_DURATION, &delay_ns, "time between two refreshes" },
 *       NTK_OPT_COMMON,
 *       { 0 },
 *   };
 *   static const struct ntk_opt_program program = { "neuron-top", "[OPTION]...", "what it is",
 *                                                   options };
 *   int first = ntk_opt_parse(&program, argc, argv);
 *   if (first < 0) {
 *       return ntk_opt_exit_code(first);
 *   }
 *
 * --help and --version go to stdout; a wrong option gives one line on stderr. Long options take
 * "--name value" and "--name=value", short ones "-n value" and "-nvalue"; flags may be grouped;
 * "--" ends the options; options and operands may be mixed unless stop_at_operand is set (for
 * subcommands). The message for an unknown option, command or value suggests the nearest name.
 *
 * Owner:   the caller owns the tables, which are static; the result of ntk_opt_join() is freed with
 *          free().
 * Threads: called once at start. Operands are moved to the end of argv.
 */
#ifndef NTK_SHARED_BASE_OPT_H
#define NTK_SHARED_BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ntk_opt_kind {
    NTK_OPT_END,
    NTK_OPT_FLAG,     /* bool *: set true */
    NTK_OPT_TEXT,     /* const char **: borrowed from argv */
    NTK_OPT_CHOICE,   /* const char **: borrowed from argv; one of the words in `choices` */
    NTK_OPT_U64,      /* uint64_t * */
    NTK_OPT_I64,      /* int64_t * */
    NTK_OPT_DOUBLE,   /* double * */
    NTK_OPT_BYTES,    /* uint64_t *: K, M, G */
    NTK_OPT_DURATION, /* uint64_t * nanoseconds: "1s", "500ms", "2" seconds */
    NTK_OPT_CALL,     /* int (*)(const char *value, struct ntk_err *err): 0 or negative */
    NTK_OPT_HEADING,  /* a heading line in --help; long_name is its text */
    NTK_OPT_HELP,
    NTK_OPT_VERSION,
    NTK_OPT_COMPLETION,
    NTK_OPT_VERBOSE, /* raises the log level by one */
};

#define NTK_OPT_LIST "LIST"

struct ntk_opt {
    char short_name;       /* 0 for none */
    const char *long_name; /* NULL for none */
    /* NULL when it takes no argument. "[=URL]": only "--name=value" gives one; without it the value
     * is "". NTK_OPT_LIST: several of its words, separated by commas; an error of NTK_OPT_CALL has
     * the offset of the bad one. */
    const char *arg_name;
    enum ntk_opt_kind kind;
    void *value;      /* for NTK_OPT_CALL a pointer to the function pointer */
    const char *help; /* NULL hides it from --help */
    /* Its words, separated by blanks, for NTK_OPT_CHOICE and for the completion; NULL: any, or
     * files. */
    const char *choices;
    bool is_above_zero; /* 0 or less is an error, because 0 means "not given" */
    const char *above;  /* the least value, as the error message names it; NULL: "more than 0" */
    /* More words for the completion, from a table: the word of an index, NULL after the last. */
    const char *(*word_get)(size_t index);
};

#define NTK_OPT_COMMON_HELP                                         \
    {                                                               \
        'h', "help", 0, NTK_OPT_HELP, 0, "print this help and exit" \
    }
#define NTK_OPT_COMMON_VERSION                                            \
    {                                                                     \
        0, "version", 0, NTK_OPT_VERSION, 0, "print the version and exit" \
    }
#define NTK_OPT_COMMON_VERBOSE                                                                  \
    {                                                                                           \
        'v', "verbose", 0, NTK_OPT_VERBOSE, 0, "print more messages on stderr; repeat for more" \
    }
#define NTK_OPT_COMMON_COMPLETION                                                \
    {                                                                            \
        0, "completion", "SHELL", NTK_OPT_COMPLETION, 0,                         \
            "print the completion script for bash, zsh or fish", "bash zsh fish" \
    }
/* For commands that print nothing else on stderr: the last rows, under a heading. */
#define NTK_OPT_COMMON_OTHER                                                                     \
    { 0, "Other", 0, NTK_OPT_HEADING, 0, 0 }, NTK_OPT_COMMON_COMPLETION, NTK_OPT_COMMON_VERSION, \
        NTK_OPT_COMMON_HELP
#define NTK_OPT_COMMON \
    NTK_OPT_COMMON_VERBOSE, NTK_OPT_COMMON_COMPLETION, NTK_OPT_COMMON_VERSION, NTK_OPT_COMMON_HELP

struct ntk_opt_command {
    const char *name; /* NULL ends a table */
    int (*run)(int argc, char **argv);
};

struct ntk_opt_program {
    const char *name;
    const char *usage;   /* after the name; several forms separated by '\n' */
    const char *summary; /* one or more sentences, shown below the usage */
    const struct ntk_opt *options;
    bool stop_at_operand;
    const char *epilogue;                   /* shown last in --help, may be NULL */
    const struct ntk_opt_command *commands; /* its subcommands; may be NULL */
    /* The words for its first operand, for the completion: the word of an index, NULL after the
     * last. NULL: any, or files. Subcommands only. */
    const char *(*operand_get)(size_t index);
    bool repeats_operands; /* each operand may be one of these words */
};

/* The index of the first operand in argv; -ECANCELED when help, version or completion was printed;
 * -EINVAL when a usage error was printed. */
int ntk_opt_parse(const struct ntk_opt_program *program, int argc, char **argv);
/* For programs without operands: 0, or as above; an operand is a usage error. */
int ntk_opt_parse_all(const struct ntk_opt_program *program, int argc, char **argv);
/* Exit code for -ECANCELED: 0, or 1 with a message when stdout is full. 2 for every other negative
 * value. */
int ntk_opt_exit_code(int parsed);
/* Prints "<program>: <message>" and "Try '<program> --help'." on stderr; returns 2. */
int ntk_opt_usage_error(const struct ntk_opt_program *program, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Message "unexpected argument 'word'", or "missing argument NAME" without a word; returns 2. */
int ntk_opt_argument_error(const struct ntk_opt_program *program, const char *name,
                           const char *word);
/* Message "no command", or "unknown command" for a word, with the names of all; returns 2. */
int ntk_opt_command_error(const struct ntk_opt_program *program, const char *word);
/* Runs the command named argv[first], with argv from there on; returns its exit code. */
int ntk_opt_run_command(const struct ntk_opt_program *program, int argc, char **argv, int first);
/* 0 if the value is one of the words, separated by blanks; else -EINVAL, "expected a, b or c". */
int ntk_opt_choice_check(const char *choices, const char *value, struct ntk_err *err);
/* One table out of several, for a program with parts that have their own rows; the caller frees it.
 * NULL if out of memory. */
struct ntk_opt *ntk_opt_join(const struct ntk_opt *const *tables, size_t count);
void ntk_opt_print_help(const struct ntk_opt_program *program);
/* Prints an entry of a man page for each option, with "@--name" in a line after it; a subcommand
 * omits the options that all commands have. cmake/man.awk puts the entries into the page. */
void ntk_opt_print_man(const struct ntk_opt_program *program);
/* Whether its value may be omitted: "[=URL]". */
bool ntk_opt_takes_optional(const struct ntk_opt *option);
/* Prints the completion script of "bash", "zsh" or "fish" on stdout; "words" prints the options,
 * operands and values of a subcommand, for these scripts; "man" is ntk_opt_print_man(). False for
 * another shell. */
bool ntk_opt_print_completion(const struct ntk_opt_program *program, const char *shell);

#ifdef __cplusplus
}
#endif
#endif
