/* SPDX-License-Identifier: MIT */
/* query_plan - parses the statement to tokens and clauses, and finds the columns that they read. */
#include "profiler/output/tables/query_plan.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shared/base/buf.h"

#define TOKENS_MAX 512
#define ITEMS_MAX 64
#define NONE SIZE_MAX

enum token_kind { WORD, NUMBER, TEXT, SIGN };

struct token {
    enum token_kind kind;
    const char *at;
    size_t length;
    unsigned depth;     /* number of enclosing parentheses */
    size_t column;      /* for a column name outside planned calls; else NONE */
    size_t call_end;    /* for a planned call: index of the token after it; else 0 */
    const char *call;   /* replacement of the call, with %zu for the number of each partial value */
    size_t partials[2]; /* partial values of the call */
};

enum clause { SELECT, WHERE, GROUP, HAVING, ORDER, LIMIT, CLAUSE_COUNT };

struct range {
    size_t first, end; /* range of tokens */
};

struct item { /* an item of SELECT */
    struct range range;
    size_t alias;    /* token of the alias; NONE if there is none */
    bool is_grouped; /* the whole item is grouped */
    bool has_call;
};

struct parse {
    const struct ntk_table *table;
    size_t count;
    struct token tokens[TOKENS_MAX];
    struct range clauses[CLAUSE_COUNT]; /* empty if absent */
    size_t item_count;
    struct item items[ITEMS_MAX];
    bool is_distinct, has_calls;
    bool is_plain[NTK_TABLE_COLUMNS_MAX]; /* true if grouped by this column */
    struct ntk_query_plan *plan;
};

/* ---- tokens ---- */

/* Returns false for unsupported syntax, such as a quoted name. */
static bool read_tokens(struct parse *p, const char *sql)
{
    unsigned depth = 0;

    for (const char *at = sql; *at;) {
        struct token token = { .at = at, .depth = depth, .column = NONE };
        if (isspace((unsigned char)*at)) {
            at++;
            continue;
        }
        if (p->count == TOKENS_MAX) {
            return false;
        }
        if (isalpha((unsigned char)*at) || *at == '_') {
            token.kind = WORD;
            while (isalnum((unsigned char)*at) || *at == '_') {
                at++;
            }
        } else if (isdigit((unsigned char)*at)) {
            token.kind = NUMBER;
            while (isalnum((unsigned char)*at) || *at == '.') {
                at++;
            }
        } else if (*at == '\'') {
            token.kind = TEXT;
            for (at++; *at && (*at != '\'' || at[1] == '\''); at++) {
                at += *at == '\'';
            }
            if (!*at++) {
                return false;
            }
        } else {
            token.kind = SIGN;
            bool is_comment = (at[0] == '-' && at[1] == '-') || (at[0] == '/' && at[1] == '*');
            if (is_comment || !strchr("()+-*/%<>=!|,;&~", *at)) {
                return false;
            }
            depth -= *at == ')';
            token.depth = depth;
            depth += *at == '(';
            at++;
        }
        token.length = (size_t)(at - token.at);
        p->tokens[p->count++] = token;
    }
    while (p->count > 0 && *p->tokens[p->count - 1].at == ';') {
        p->count--;
    }
    return depth == 0;
}

static bool is_word(const struct parse *p, size_t i, const char *word)
{
    return i < p->count && p->tokens[i].kind == WORD && strlen(word) == p->tokens[i].length &&
           strncasecmp(p->tokens[i].at, word, p->tokens[i].length) == 0;
}

static bool is_sign(const struct parse *p, size_t i, char sign)
{
    return i < p->count && p->tokens[i].kind == SIGN && *p->tokens[i].at == sign;
}

static bool is_one_of(const struct parse *p, size_t i, const char *const *words)
{
    for (; *words; words++) {
        if (is_word(p, i, *words)) {
            return true;
        }
    }
    return false;
}

static size_t column_of(const struct parse *p, size_t i)
{
    for (size_t c = 0; c < p->table->column_count; c++) {
        if (is_word(p, i, p->table->columns[c].name)) {
            return p->table->columns[c].presence == NTK_COLUMN_NEVER ? NONE : c;
        }
    }
    return NONE;
}

static bool is_same(const struct parse *p, size_t a, size_t b)
{
    return p->tokens[a].length == p->tokens[b].length &&
           strncasecmp(p->tokens[a].at, p->tokens[b].at, p->tokens[a].length) == 0;
}

/* ---- clauses ---- */

static bool read_clauses(struct parse *p, const struct ntk_table *tables, size_t table_count)
{
    static const char *const names[CLAUSE_COUNT] = { "SELECT", "WHERE", "GROUP",
                                                     "HAVING", "ORDER", "LIMIT" };
    size_t from = 0;

    p->is_distinct = is_word(p, 1, "DISTINCT");
    p->clauses[SELECT].first = p->is_distinct ? 2 : 1;
    while (from < p->count && !is_word(p, from, "FROM")) {
        from++;
    }
    p->clauses[SELECT].end = from;
    p->table = NULL;
    for (size_t t = 0; t < table_count && !p->table; t++) {
        if (is_word(p, from + 1, tables[t].name)) {
            p->table = &tables[t];
            p->plan->table = t;
        }
    }
    if (!is_word(p, 0, "SELECT") || !p->table) {
        return false;
    }
    int last = SELECT;
    for (size_t i = from + 2; i < p->count; i++) {
        int clause = WHERE;
        while (clause < CLAUSE_COUNT && !is_word(p, i, names[clause])) {
            clause++;
        }
        if (clause < CLAUSE_COUNT) {
            bool has_by = clause == GROUP || clause == ORDER;
            if (clause <= last || p->tokens[i].depth > 0 || (has_by && !is_word(p, i + 1, "BY"))) {
                return false;
            }
            last = clause;
            i += has_by;
            p->clauses[clause].first = i + 1;
        } else if (last == SELECT) {
            return false; /* a second table, or another name for the first */
        }
        p->clauses[last].end = i + 1;
    }
    return true;
}

/* Splits at commas. Returns false if there are too many items, or an empty item. */
static bool read_items(struct parse *p)
{
    struct range select = p->clauses[SELECT];
    size_t first = select.first;

    for (size_t i = first; i <= select.end; i++) {
        bool is_end = i == select.end || (is_sign(p, i, ',') && p->tokens[i].depth == 0);
        if (!is_end) {
            continue;
        }
        if (p->item_count == ITEMS_MAX || i == first ||
            (i == first + 1 && is_sign(p, first, '*'))) {
            return false;
        }
        p->items[p->item_count++] = (struct item){ .range = { first, i }, .alias = NONE };
        first = i + 1;
    }
    return true;
}

/* ---- words ---- */

static const char *const keywords[] = { "AND",     "OR",   "NOT",  "IN",     "LIKE", "GLOB",
                                        "BETWEEN", "IS",   "NULL", "CASE",   "WHEN", "THEN",
                                        "ELSE",    "END",  "ASC",  "DESC",   "CAST", "AS",
                                        "INTEGER", "REAL", "TEXT", "OFFSET", NULL };
static const char *const functions[] = { "abs",    "round",  "coalesce", "ifnull",  "nullif",
                                         "iif",    "lower",  "upper",    "length",  "substr",
                                         "printf", "format", "instr",    "replace", "trim",
                                         "cast",   NULL };

/* Reads an item's alias: after AS, or after a complete expression. */
static bool read_aliases(struct parse *p)
{
    for (size_t i = 0; i < p->item_count; i++) {
        struct item *item = &p->items[i];
        size_t last = item->range.end - 1;
        size_t count = item->range.end - item->range.first;
        bool is_name = p->tokens[last].kind == WORD && !is_one_of(p, last, keywords);
        bool has_as = count >= 3 && is_word(p, last - 1, "AS") && p->tokens[last].depth == 0;

        if (has_as && !is_name) {
            return false;
        }
        bool is_after = count >= 2 && is_name && !has_as &&
                        (p->tokens[last - 1].kind != SIGN || is_sign(p, last - 1, ')')) &&
                        !is_one_of(p, last - 1, keywords);
        is_after = is_after || (count >= 2 && is_name && !has_as && is_word(p, last - 1, "END"));
        if (!has_as && !is_after) {
            continue;
        }
        if (column_of(p, last) != NONE) {
            return false; /* SQLite decides the meaning in other clauses */
        }
        item->alias = last;
        item->range.end = has_as ? last - 1 : last;
    }
    return true;
}

static size_t item_called(const struct parse *p, size_t token)
{
    for (size_t i = 0; i < p->item_count; i++) {
        if (p->items[i].alias != NONE && p->tokens[token].kind == WORD &&
            is_same(p, p->items[i].alias, token)) {
            return i;
        }
    }
    return NONE;
}

/* Returns the number of the partial value, added if new; NONE if there are too many. */
static size_t partial_of(struct ntk_query_plan *plan, enum ntk_partial_kind kind, size_t column,
                         bool is_divided)
{
    for (size_t i = 0; i < plan->partial_count; i++) {
        if (plan->partials[i].kind == kind && plan->partials[i].column == column) {
            plan->partials[i].is_divided = plan->partials[i].is_divided || is_divided;
            return i;
        }
    }
    if (plan->partial_count == NTK_PLAN_PARTIALS_MAX) {
        return NONE;
    }
    plan->partials[plan->partial_count] = (struct ntk_partial){ kind, column, is_divided };
    return plan->partial_count++;
}

/* Reads a call that is replaced by partial values. A column of another kind is not planned (false),
 * for example a sum of floating-point numbers, because their order matters; its minimum and maximum
 * text is a key. */
static bool read_call(struct parse *p, size_t i, bool *out_is_key)
{
    static const struct {
        const char *name, *call;
        enum ntk_partial_kind kinds[2];
        unsigned kind_count;
        bool is_of_integers, is_divided;
    } calls[] = {
        { "count", "coalesce(sum(\"ntk %zu\"),0)", { NTK_PARTIAL_COUNT }, 1, false, false },
        { "sum", "sum(\"ntk %zu\")", { NTK_PARTIAL_SUM }, 1, true, false },
        { "total", "total(\"ntk %zu\")", { NTK_PARTIAL_SUM }, 1, true, true },
        { "avg",
          "(total(\"ntk %zu\")/sum(\"ntk %zu\"))",
          { NTK_PARTIAL_SUM, NTK_PARTIAL_COUNT },
          2,
          true,
          true },
        { "min", "min(\"ntk %zu\")", { NTK_PARTIAL_MIN }, 1, false, false },
        { "max", "max(\"ntk %zu\")", { NTK_PARTIAL_MAX }, 1, false, false },
    };
    struct token *token = &p->tokens[i];
    bool is_rows = is_word(p, i, "count") && is_sign(p, i + 2, '*');
    size_t column = column_of(p, i + 2);

    *out_is_key = false;
    if (is_word(p, i, "count") && is_word(p, i + 2, "DISTINCT")) {
        *out_is_key = true;
        return column_of(p, i + 3) != NONE && is_sign(p, i + 4, ')');
    }
    if ((column == NONE && !is_rows) || !is_sign(p, i + 3, ')')) {
        return false;
    }
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        if (!is_word(p, i, calls[c].name)) {
            continue;
        }
        enum ntk_column_kind kind = is_rows ? NTK_COLUMN_I64 : p->table->columns[column].kind;
        bool is_text = kind == NTK_COLUMN_TEXT || kind == NTK_COLUMN_JSON;
        bool is_float = kind == NTK_COLUMN_F64 || kind == NTK_COLUMN_F32;
        if (calls[c].is_of_integers && (is_text || is_float)) {
            return false;
        }
        if (is_text && calls[c].kinds[0] != NTK_PARTIAL_COUNT) {
            *out_is_key = true;
            return true;
        }
        token->call = calls[c].call;
        token->call_end = i + 4;
        for (unsigned k = 0; k < calls[c].kind_count; k++) {
            token->partials[k] = partial_of(p->plan, is_rows ? NTK_PARTIAL_ROWS : calls[c].kinds[k],
                                            is_rows ? 0 : column, calls[c].is_divided);
            if (token->partials[k] == NONE) {
                return false;
            }
        }
        return true;
    }
    return false;
}

static bool add_key(struct ntk_query_plan *plan, size_t column)
{
    for (size_t i = 0; i < plan->key_count; i++) {
        if (plan->keys[i] == column) {
            return true;
        }
    }
    if (plan->key_count == NTK_PLAN_KEYS_MAX) {
        return false;
    }
    plan->keys[plan->key_count++] = column;
    return true;
}

/* Returns false if any word in the range is unknown. */
static bool read_words(struct parse *p, struct range range)
{
    static const char *const calls[] = { "count", "sum", "total", "avg", "min", "max", NULL };

    for (size_t i = range.first; i < range.end; i++) {
        struct token *token = &p->tokens[i];
        bool is_key;

        if (token->kind != WORD || is_one_of(p, i, keywords)) {
            continue;
        }
        if (is_sign(p, i + 1, '(')) {
            if (is_one_of(p, i, functions)) {
                continue;
            }
            if (!is_one_of(p, i, calls) || !read_call(p, i, &is_key)) {
                return false;
            }
            p->has_calls = true;
            size_t end = is_key && is_word(p, i + 2, "DISTINCT") ? i + 5 : i + 4;
            if (is_key && !add_key(p->plan, column_of(p, end - 2))) {
                return false;
            }
            i = end - 1;
            continue;
        }
        token->column = column_of(p, i);
        if (token->column == NONE) {
            if (item_called(p, i) == NONE) {
                return false;
            }
        } else if (!add_key(p->plan, token->column)) {
            return false;
        }
    }
    return true;
}

/* ---- groups ---- */

static bool is_same_range(const struct parse *p, struct range a, struct range b)
{
    if (a.end - a.first != b.end - b.first) {
        return false;
    }
    for (size_t i = 0; i < a.end - a.first; i++) {
        if (!is_same(p, a.first + i, b.first + i)) {
            return false;
        }
    }
    return true;
}

/* Reads one term of GROUP BY: a column, the number or name of an item, or an expression. */
static bool read_term(struct parse *p, struct range term)
{
    const struct token *token = &p->tokens[term.first];
    size_t item = NONE;

    if (term.end - term.first == 1 && token->kind == NUMBER) {
        item = strtoul(token->at, NULL, 10) - 1;
        if (item >= p->item_count) {
            return false;
        }
    } else if (term.end - term.first == 1 && token->column != NONE) {
        p->is_plain[token->column] = true;
        return true;
    } else if (term.end - term.first == 1) {
        item = item_called(p, term.first);
    }
    for (size_t i = 0; i < p->item_count; i++) {
        struct item *one = &p->items[i];
        if (i == item || (item == NONE && is_same_range(p, one->range, term))) {
            one->is_grouped = true;
            if (one->range.end - one->range.first == 1 &&
                p->tokens[one->range.first].column != NONE) {
                p->is_plain[p->tokens[one->range.first].column] = true;
            }
        }
    }
    return true;
}

static bool read_group(struct parse *p)
{
    struct range group = p->clauses[GROUP];
    size_t first = group.first;

    for (size_t i = first; i <= group.end && group.end > 0; i++) {
        if (i == group.end || (is_sign(p, i, ',') && p->tokens[i].depth == 0)) {
            if (i == first || !read_term(p, (struct range){ first, i })) {
                return false;
            }
            first = i + 1;
        }
    }
    return true;
}

/* Returns true if expressions outside calls have one value per group. */
static bool is_constant(const struct parse *p, struct range range)
{
    for (size_t i = range.first; i < range.end; i++) {
        if (p->tokens[i].column != NONE && !p->is_plain[p->tokens[i].column]) {
            return false;
        }
    }
    return true;
}

static bool check_groups(struct parse *p)
{
    if (!p->has_calls && p->clauses[GROUP].end == 0) {
        return p->is_distinct; /* any column is allowed, because equal rows are merged */
    }
    for (size_t i = 0; i < p->item_count; i++) {
        if (!p->items[i].is_grouped && !is_constant(p, p->items[i].range)) {
            return false;
        }
    }
    return is_constant(p, p->clauses[HAVING]) && is_constant(p, p->clauses[ORDER]);
}

/* ---- the statement ---- */

static bool rewrite(struct parse *p, const char *sql, struct ntk_buf *out)
{
    const char *at = sql;

    for (size_t i = 0; i < p->count; i++) {
        const struct token *token = &p->tokens[i];
        if (token->call_end) {
            const struct token *last = &p->tokens[token->call_end - 1];
            ntk_buf_add(out, at, (size_t)(token->at - at));
            ntk_buf_add_format(out, token->call, token->partials[0], token->partials[1]);
            at = last->at + last->length;
        }
        for (size_t k = 0; k < p->item_count; k++) {
            const struct item *item = &p->items[k];
            size_t end = token->call_end ? token->call_end : i + 1;
            bool is_last = item->range.end == end && item->alias == NONE;
            if (!is_last || !item->has_call) {
                continue;
            }
            /* A column without a name is named after its expression. */
            const char *first = p->tokens[item->range.first].at;
            const struct token *last = &p->tokens[item->range.end - 1];
            const char *after = last->at + last->length;
            ntk_buf_add(out, at, (size_t)(after - at));
            ntk_buf_add_text(out, " AS \"");
            ntk_buf_add(out, first, (size_t)(after - first));
            ntk_buf_add_text(out, "\"");
            at = after;
        }
        i = token->call_end ? token->call_end - 1 : i;
    }
    if (p->count > 0) {
        const struct token *last = &p->tokens[p->count - 1];
        const char *end = last->at + last->length;
        ntk_buf_add(out, at, end > at ? (size_t)(end - at) : 0);
    }
    return ntk_buf_ok(out);
}

static bool read_all(struct parse *p, const struct ntk_table *tables, size_t table_count,
                     const char *sql)
{
    if (!read_tokens(p, sql) || !read_clauses(p, tables, table_count) || !read_items(p) ||
        !read_aliases(p)) {
        return false;
    }
    for (size_t i = 0; i < p->item_count; i++) {
        if (!read_words(p, p->items[i].range)) {
            return false;
        }
        for (size_t k = p->items[i].range.first; k < p->items[i].range.end; k++) {
            p->items[i].has_call = p->items[i].has_call || p->tokens[k].call_end;
        }
    }
    for (int c = WHERE; c < CLAUSE_COUNT; c++) {
        if (!read_words(p, p->clauses[c])) {
            return false;
        }
    }
    return read_group(p) && check_groups(p);
}

int ntk_query_plan_make(const struct ntk_table *tables, size_t table_count, const char *sql,
                        struct ntk_query_plan *out_plan)
{
    struct parse *p = calloc(1, sizeof *p);
    struct ntk_query_plan plan = { 0 };
    struct ntk_buf text = { 0 };
    int ret = 0;

    if (!p) {
        return -ENOMEM;
    }
    p->plan = &plan;
    if (read_all(p, tables, table_count, sql)) {
        ret = rewrite(p, sql, &text) ? 1 : -ENOMEM;
    }
    free(p);
    if (ret == 1) {
        plan.sql = ntk_buf_take(&text, NULL);
        *out_plan = plan;
    }
    ntk_buf_fini(&text);
    return ret;
}

void ntk_query_plan_fini(struct ntk_query_plan *plan)
{
    free(plan->sql);
    *plan = (struct ntk_query_plan){ 0 };
}
