/*
 * The atomic operations on one key: what they return, what they hand out, what they refuse, and that threads lose
 * nothing to each other. Runs plainly and under the address sanitizer.
 */
#include "check.h"
#include <pthread.h>

static void nulls(holm_keyspace *keyspace) {
    int64_t sum = 1;
    size_t size = 1;
    void *value = &value;
    IS(HOLM_INVALID, holm_compare_and_swap(NULL, "a", 1, NULL, 0, "b", 1, &value, &size));
    CHECK(value == NULL && size == 0);
    IS(HOLM_INVALID, holm_compare_and_swap(keyspace, NULL, 1, NULL, 0, "b", 1, &value, &size));
    IS(HOLM_INVALID, holm_compare_and_swap(keyspace, "a", 1, NULL, 1, "b", 1, &value, &size));
    IS(HOLM_INVALID, holm_compare_and_swap(keyspace, "a", 1, NULL, 0, NULL, 1, &value, &size));
    IS(HOLM_TOO_LARGE, holm_compare_and_swap(keyspace, "a", 65537, NULL, 0, "b", 1, &value, &size));
    IS(HOLM_INVALID, holm_insert_if_absent(NULL, "a", 1, "b", 1, NULL, NULL));
    IS(HOLM_INVALID, holm_insert_if_absent(keyspace, "a", 1, NULL, 1, NULL, NULL));
    IS(HOLM_INVALID, holm_swap(NULL, "a", 1, "b", 1, NULL, NULL));
    IS(HOLM_INVALID, holm_swap(keyspace, "a", 1, NULL, 1, NULL, NULL));
    IS(HOLM_INVALID, holm_take(NULL, "a", 1, NULL, NULL));
    IS(HOLM_INVALID, holm_take(keyspace, NULL, 1, NULL, NULL));
    IS(HOLM_INVALID, holm_increment(NULL, "a", 1, 1, &sum));
    CHECK(sum == 0);
    IS(HOLM_INVALID, holm_pop_first(NULL, NULL, NULL, NULL, NULL));
    IS(HOLM_INVALID, holm_pop_last(NULL, NULL, NULL, NULL, NULL));
}

static void values(holm_keyspace *keyspace) {
    void *key, *value;
    size_t key_size, size;
    /* Absent, and a value; the empty string is a value as well. */
    IS(HOLM_OK, holm_compare_and_swap(keyspace, "a", 1, NULL, 0, "", 0, &value, &size));
    CHECK(value == NULL && size == 0);
    IS(HOLM_UNEQUAL, holm_compare_and_swap(keyspace, "a", 1, NULL, 0, "b", 1, &value, &size));
    CHECK(value != NULL && size == 0);
    holm_free(value);
    IS(HOLM_OK, holm_compare_and_swap(keyspace, "a", 1, "", 0, "coral", 5, NULL, NULL));
    IS(HOLM_UNEQUAL, holm_compare_and_swap(keyspace, "a", 1, "", 0, NULL, 0, NULL, NULL));
    IS(HOLM_UNEQUAL, holm_compare_and_swap(keyspace, "a", 1, "cora", 4, NULL, 0, &value, &size));
    COPY("coral", value, size);
    IS(HOLM_OK, holm_compare_and_swap(keyspace, "a", 1, "coral", 5, NULL, 0, &value, &size));
    CHECK(value == NULL);
    IS(HOLM_ABSENT, holm_contains(keyspace, "a", 1));
    IS(HOLM_UNEQUAL, holm_compare_and_swap(keyspace, "a", 1, "coral", 5, "sand", 4, &value, &size));
    CHECK(value == NULL && size == 0);

    IS(HOLM_OK, holm_insert_if_absent(keyspace, "a", 1, "coral", 5, &value, &size));
    CHECK(value == NULL && size == 0);
    IS(HOLM_UNEQUAL, holm_insert_if_absent(keyspace, "a", 1, "sand", 4, &value, &size));
    COPY("coral", value, size);
    IS(HOLM_OK, holm_swap(keyspace, "a", 1, "sand", 4, &value, &size));
    COPY("coral", value, size);
    IS(HOLM_ABSENT, holm_swap(keyspace, "b", 1, "kelp", 4, &value, &size));
    CHECK(value == NULL && size == 0);
    IS(HOLM_OK, holm_take(keyspace, "b", 1, &value, &size));
    COPY("kelp", value, size);
    IS(HOLM_ABSENT, holm_take(keyspace, "b", 1, &value, &size));
    CHECK(value == NULL && size == 0);

    int64_t sum = 7;
    IS(HOLM_OK, holm_increment(keyspace, "n", 1, INT64_MAX, NULL));
    IS(HOLM_OVERFLOW, holm_increment(keyspace, "n", 1, 1, &sum));
    CHECK(sum == 0);
    IS(HOLM_OK, holm_increment(keyspace, "n", 1, INT64_MIN, &sum));
    CHECK(sum == -1);
    IS(HOLM_INVALID, holm_increment(keyspace, "a", 1, 1, &sum));
    IS(HOLM_OK, holm_take(keyspace, "n", 1, &value, NULL));
    CHECK(!memcmp(value, "\xff\xff\xff\xff\xff\xff\xff\xff", 8));
    holm_free(value);

    IS(HOLM_OK, holm_insert(keyspace, "z", 1, "", 0));
    IS(HOLM_OK, holm_pop_last(keyspace, &key, &key_size, &value, &size));
    COPY("z", key, key_size);
    COPY("", value, size);
    IS(HOLM_OK, holm_pop_first(keyspace, &key, &key_size, NULL, NULL));
    COPY("a", key, key_size);
    IS(HOLM_ABSENT, holm_pop_first(keyspace, &key, &key_size, &value, &size));
    CHECK(key == NULL && value == NULL && key_size == 0 && size == 0);
    IS(HOLM_ABSENT, holm_pop_last(keyspace, NULL, NULL, NULL, NULL));
}

enum { THREADS = 4, ROUNDS = 500 };

static void *counter(void *keyspace) {
    for (int round = 0; round < ROUNDS; round++)
        IS(HOLM_OK, holm_increment(keyspace, "count", 5, 1, NULL));
    return NULL;
}

/* Pops until the keyspace is empty, and counts the pairs. */
static void *popper(void *keyspace) {
    size_t popped = 0;
    int code;
    while ((code = popped % 2 ? holm_pop_first(keyspace, NULL, NULL, NULL, NULL)
                              : holm_pop_last(keyspace, NULL, NULL, NULL, NULL)) == HOLM_OK)
        popped++;
    IS(HOLM_ABSENT, code);
    return (void *)popped;
}

static size_t by_threads(void *(*work)(void *), holm_keyspace *keyspace) {
    pthread_t threads[THREADS];
    size_t total = 0;
    for (int number = 0; number < THREADS; number++)
        CHECK(!pthread_create(&threads[number], NULL, work, keyspace));
    for (int number = 0; number < THREADS; number++) {
        void *result;
        CHECK(!pthread_join(threads[number], &result));
        total += (size_t)result;
    }
    return total;
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    holm_options options = small();
    holm_database *database;
    holm_keyspace *keyspace;
    int64_t sum;
    IS(HOLM_OK, holm_open(arguments[1], &options, &database));
    IS(HOLM_OK, holm_open_keyspace(database, "main", &keyspace));
    nulls(keyspace);
    values(keyspace);
    by_threads(counter, keyspace);
    IS(HOLM_OK, holm_increment(keyspace, "count", 5, 0, &sum));
    CHECK(sum == THREADS * ROUNDS);
    IS(HOLM_OK, holm_take(keyspace, "count", 5, NULL, NULL));
    for (int number = 0; number < ROUNDS; number++) {
        char key[8];
        snprintf(key, sizeof key, "k%03d", number);
        IS(HOLM_OK, holm_insert(keyspace, key, 4, "", 0));
    }
    CHECK(by_threads(popper, keyspace) == ROUNDS);

    /* After the close of the database, and of the keyspace's name. */
    IS(HOLM_OK, holm_close(database));
    IS(HOLM_POISONED, holm_increment(keyspace, "n", 1, 1, &sum));
    IS(HOLM_POISONED, holm_swap(keyspace, "a", 1, "b", 1, NULL, NULL));
    IS(HOLM_POISONED, holm_compare_and_swap(keyspace, "a", 1, NULL, 0, "b", 1, NULL, NULL));
    holm_close_keyspace(keyspace);
    IS(HOLM_OK, holm_open(arguments[1], &options, &database));
    IS(HOLM_OK, holm_open_keyspace(database, "main", &keyspace));
    IS(HOLM_OK, holm_drop_keyspace(database, "main"));
    IS(HOLM_DROPPED, holm_increment(keyspace, "n", 1, 1, &sum));
    IS(HOLM_DROPPED, holm_pop_first(keyspace, NULL, NULL, NULL, NULL));
    holm_close_keyspace(keyspace);
    IS(HOLM_OK, holm_close(database));
    puts("every atom");
    return 0;
}
