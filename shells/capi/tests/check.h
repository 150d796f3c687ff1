/*
 * What the C tests share: checks that name the line that fails, and options of a small database.
 */
#ifndef CHECK_H
#define CHECK_H

#include <holm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IS(code, call) is((code), (call), #call, __LINE__)

static inline void is(int expected, int found, const char *call, int line) {
    if (expected != found) {
        fprintf(stderr, "line %d: %s is %s, expected %s: %s\n", line, call, holm_code_name(found),
                holm_code_name(expected), holm_message());
        exit(1);
    }
    /* An error comes with a message. */
    if (found < 0 && !*holm_message()) {
        fprintf(stderr, "line %d: %s has no words\n", line, call);
        exit(1);
    }
}

#define CHECK(what) check((what), #what, __LINE__)

static inline void check(int holds, const char *what, int line) {
    if (!holds) {
        fprintf(stderr, "line %d: not so: %s\n", line, what);
        exit(1);
    }
}

static inline holm_options small(void) {
    holm_options options = HOLM_OPTIONS;
    options.capacity = (uint64_t)1 << 32;
    return options;
}

/* Checks a value that was handed out, and frees it. */
#define COPY(expected, value, size) copy((expected), sizeof(expected) - 1, (value), (size), __LINE__)

static inline void copy(const char *expected, size_t expected_size, void *value, size_t size, int line) {
    if (!value || size != expected_size || memcmp(value, expected, size)) {
        fprintf(stderr, "line %d: found %zu bytes, expected %s\n", line, size, expected);
        exit(1);
    }
    holm_free(value);
}

#endif
