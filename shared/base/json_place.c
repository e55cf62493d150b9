/* SPDX-License-Identifier: MIT */
/* json_place - scans a JSON text for the position of a value, or the memory that its tree needs. */
#include "shared/base/json_place.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct scan {
    const char *at;
    const char *end;
};

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c);
}

static char peek(struct scan *scan)
{
    while (scan->at < scan->end && is_one_of(*scan->at, " \t\r\n,:")) {
        scan->at++;
    }
    return scan->at < scan->end ? *scan->at : '\0';
}

static void skip_string(struct scan *scan)
{
    for (scan->at++; scan->at < scan->end && *scan->at != '"'; scan->at++) {
        scan->at += *scan->at == '\\' && scan->at + 1 < scan->end ? 1 : 0;
    }
    scan->at = scan->at < scan->end ? scan->at + 1 : scan->end;
}

static void skip_value(struct scan *scan)
{
    size_t depth = 0;

    do {
        char c = peek(scan);
        if (c == '"') {
            skip_string(scan);
        } else if (c == '{' || c == '[') {
            depth++;
            scan->at++;
        } else if ((c == '}' || c == ']') && depth > 0) {
            depth--;
            scan->at++;
        } else {
            while (scan->at < scan->end && !is_one_of(*scan->at, " \t\r\n,:]}")) {
                scan->at++;
            }
            if (c == '\0' || c == '}' || c == ']') {
                return; /* not JSON */
            }
        }
    } while (depth > 0 && scan->at < scan->end);
}

/* Moves to the value of the key in the object that starts here. *out_key is the position of the
 * key. */
static bool enter_key(struct scan *scan, const char *key, size_t key_bytes, const char **out_key)
{
    if (peek(scan) != '{') {
        return false;
    }
    scan->at++;
    while (peek(scan) == '"') {
        const char *start = scan->at;
        skip_string(scan);
        if ((size_t)(scan->at - start) == key_bytes + 2 && memcmp(start + 1, key, key_bytes) == 0) {
            *out_key = start;
            return true;
        }
        skip_value(scan);
    }
    return false;
}

static bool enter_index(struct scan *scan, unsigned long index, const char **out_item)
{
    if (peek(scan) != '[') {
        return false;
    }
    scan->at++;
    for (unsigned long i = 0;; i++) {
        char c = peek(scan);
        if (c == '\0' || c == ']' || c == '}') {
            return false;
        }
        if (i == index) {
            *out_item = scan->at;
            return true;
        }
        skip_value(scan);
    }
}

unsigned int ntk_json_line_of(const char *text, size_t text_bytes, const char *path,
                              const char *key)
{
    struct scan scan = { text, text + text_bytes };
    const char *found = text;
    bool is_there = true;
    unsigned int line = 1;

    if (peek(&scan)) {
        found = scan.at;
    }
    while (is_there && *path) {
        if (*path == '[') {
            char *end;
            unsigned long index = strtoul(path + 1, &end, 10);
            is_there = enter_index(&scan, index, &found);
            path = *end == ']' ? end + 1 : end;
        } else {
            path += *path == '.' ? 1 : 0;
            size_t length = strcspn(path, ".[");
            is_there = enter_key(&scan, path, length, &found);
            path += length;
        }
    }
    if (is_there && key) {
        enter_key(&scan, key, strlen(key), &found);
    }
    for (const char *at = text; at < found; at++) {
        line += *at == '\n';
    }
    return line;
}

uint64_t ntk_json_tree_bytes(const char *text, size_t text_bytes)
{
    static const uint8_t costs[256] = { [','] = 80, [':'] = 96, ['['] = 136, ['{'] = 232 };
    uint64_t sum = text_bytes + 256;

    for (size_t i = 0; i < text_bytes; i++) {
        sum += costs[(uint8_t)text[i]];
    }
    return sum;
}

bool ntk_json_list_find(const char *text, size_t text_bytes, const char *key,
                        struct ntk_json_list *out_list)
{
    struct scan scan = { text, text + text_bytes };
    const char *place;

    if (!enter_key(&scan, key, strlen(key), &place) || peek(&scan) != '[') {
        return false;
    }
    *out_list = (struct ntk_json_list){ .text = scan.at };
    skip_value(&scan);
    out_list->text_bytes = (size_t)(scan.at - out_list->text);
    return scan.at[-1] == ']';
}

static void skip_blanks(struct scan *scan)
{
    while (scan->at < scan->end && is_one_of(*scan->at, " \t\r\n")) {
        scan->at++;
    }
}

bool ntk_json_list_next(struct ntk_json_list *list, const char **out_text, size_t *out_bytes)
{
    struct scan scan = { list->next, list->text + list->text_bytes - 1 }; /* without the ']' */

    if (!list->next) {
        scan.at = list->text + 1;
        skip_blanks(&scan);
        if (scan.at == scan.end) {
            return false;
        }
    } else if (scan.at == scan.end) {
        return false;
    } else if (*scan.at != ',') {
        *out_text = scan.at;
        *out_bytes = 0;
        list->next = scan.end;
        return true;
    } else {
        scan.at++;
        skip_blanks(&scan);
    }
    *out_text = scan.at;
    if (scan.at < scan.end && *scan.at != ',') {
        skip_value(&scan);
    }
    *out_bytes = (size_t)(scan.at - *out_text);
    skip_blanks(&scan);
    list->next = scan.at;
    return true;
}

size_t ntk_json_list_count(struct ntk_json_list *list)
{
    const char *text;
    size_t bytes;
    size_t count = 0;

    for (list->next = NULL; ntk_json_list_next(list, &text, &bytes);) {
        count++;
    }
    list->next = NULL;
    return count;
}
