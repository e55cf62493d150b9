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
 * --help and --version go to stdout; a wrong option prints one line on stderr. Long options take
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
    NTK_OPT_BYTES,    /* uint64_t *: suffix K, M or G */
    NTK_OPT_DURATION, /* uint64_t *: nanoseconds, from "1s", "500ms" or "2" (seconds) */
    NTK_OPT_CALL,     /* int (*)(const char *value, struct ntk_err *err): returns 0 or negative */
    NTK_OPT_HEADING,  /* a heading line in --help; long_name is its text */
    NTK_OPT_HELP,
    NTK_OPT_VERSION,
    NTK_OPT_COMPLETION,
    NTK_OPT_VERBOSE, /* raises the log level by one */
};

#define NTK_OPT_LIST "LIST"

struct ntk_opt {
    char short_name;       /* 0: none */
    const char *long_name; /* NULL: none */
    /* NULL if the option takes no argument. "[=URL]": only "--name=value" sets one; otherwise the
     * value is "". NTK_OPT_LIST: several words of `choices`, separated by commas; an error of
     * NTK_OPT_CALL has the offset of the wrong word. */
    const char *arg_name;
    enum ntk_opt_kind kind;
    void *value;      /* for NTK_OPT_CALL, a pointer to the function pointer */
    const char *help; /* NULL hides it from --help */
    /* The words for NTK_OPT_CHOICE and for the completion, separated by blanks; NULL: any word, or
     * files. */
    const char *choices;
    bool is_above_zero; /* 0 or less is an error, because 0 means "not given" */
    const char *above;  /* minimum value, as the error message names it; NULL: "more than 0" */
    /* Additional words for the completion, from a table: returns the word at an index, NULL after
     * the last. */
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
/* The last rows, under a heading, for commands that print nothing else on stderr. */
#define NTK_OPT_COMMON_OTHER                                                                     \
    { 0, "Other", 0, NTK_OPT_HEADING, 0, 0 }, NTK_OPT_COMMON_COMPLETION, NTK_OPT_COMMON_VERSION, \
        NTK_OPT_COMMON_HELP
#define NTK_OPT_COMMON \
    NTK_OPT_COMMON_VERBOSE, NTK_OPT_COMMON_COMPLETION, NTK_OPT_COMMON_VERSION, NTK_OPT_COMMON_HELP

struct ntk_opt_command {
    const char *name; /* NULL: end of the table */
    int (*run)(int argc, char **argv);
};

struct ntk_opt_program {
    const char *name;
    const char *usage;   /* text after the name; several forms are separated by '\n' */
    const char *summary; /* one or more sentences, shown below the usage */
    const struct ntk_opt *options;
    bool stop_at_operand;
    const char *epilogue;                   /* last text of --help; may be NULL */
    const struct ntk_opt_command *commands; /* subcommands; may be NULL */
    /* Words of the first operand for the completion: returns the word at an index, NULL after the
     * last. NULL: any word, or files. Only for subcommands. */
    const char *(*operand_get)(size_t index);
    bool repeats_operands; /* whether each operand may be one of these words, not only the first */
};

/* Returns the index of the first operand in argv; -ECANCELED after printing help, version or
 * completion; -EINVAL after printing a usage error. */
int ntk_opt_parse(const struct ntk_opt_program *program, int argc, char **argv);
/* Same, for programs without operands: returns 0 on success; an operand is a usage error. */
int ntk_opt_parse_all(const struct ntk_opt_program *program, int argc, char **argv);
/* The exit code for a negative result: for -ECANCELED 0, or 1 with a message if stdout is full;
 * else 2. */
int ntk_opt_exit_code(int parsed);
/* Prints "<program>: <message>" and "Try '<program> --help'." on stderr; returns 2. */
int ntk_opt_usage_error(const struct ntk_opt_program *program, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints "unexpected argument 'word'", or "missing argument NAME" if word is NULL; returns 2. */
int ntk_opt_argument_error(const struct ntk_opt_program *program, const char *name,
                           const char *word);
/* Prints "no command", or "unknown command" if there is a word, with all names; returns 2. */
int ntk_opt_command_error(const struct ntk_opt_program *program, const char *word);
/* Runs the command named argv[first], with argv from there on; returns its exit code. */
int ntk_opt_run_command(const struct ntk_opt_program *program, int argc, char **argv, int first);
/* Returns 0 if the value is one of the words, separated by blanks; else -EINVAL and "expected a, b
 * or c". */
int ntk_opt_choice_check(const char *choices, const char *value, struct ntk_err *err);
/* Joins several tables, for a program with parts that have separate rows. The caller frees the
 * result. NULL if out of memory. */
struct ntk_opt *ntk_opt_join(const struct ntk_opt *const *tables, size_t count);
void ntk_opt_print_help(const struct ntk_opt_program *program);
/* Prints a man page entry for each option, followed by a line "@--name"; a subcommand omits the
 * options that all commands have. cmake/man.awk puts the entries into the page. */
void ntk_opt_print_man(const struct ntk_opt_program *program);
/* Returns true if the option's value may be omitted: "[=URL]". */
bool ntk_opt_takes_optional(const struct ntk_opt *option);
/* Prints the completion script of "bash", "zsh" or "fish" on stdout; "words" prints the options,
 * operands and values of a subcommand, for these scripts; "man" is ntk_opt_print_man(). Returns
 * false for any other shell. */
bool ntk_opt_print_completion(const struct ntk_opt_program *program, const char *shell);

#ifdef __cplusplus
}
#endif
#endif
