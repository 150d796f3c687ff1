/*
 * Every function of holm.h, called correctly and incorrectly. Arguments that are NULL, too long, closed or of another
 * database are refused with a code and a message, and outputs are empty then. Runs plainly and under the address
 * sanitizer.
 */
#include "check.h"
#include <pthread.h>

_Static_assert(sizeof(holm_options) == 64, "options are laid out as the library has them");
_Static_assert(sizeof(holm_stats) == 240, "numbers are laid out as the library has them");

static void opening(const char *folder, const char *beside) {
    static int place;
    void *const junk = &place;
    holm_database *database = junk;
    holm_options options = small();
    IS(HOLM_INVALID, holm_open(folder, &options, NULL));
    IS(HOLM_INVALID, holm_open(NULL, &options, &database));
    CHECK(database == NULL);
    IS(HOLM_INVALID, holm_open("", &options, &database));
    IS(HOLM_FOREIGN, holm_open("/dev/null", &options, &database));
    IS(HOLM_FOREIGN, holm_open("/dev/null/below", &options, &database));
    CHECK(database == NULL && strstr(holm_message(), "/dev/null/below"));
    options.must_exist = 1;
    IS(HOLM_FOREIGN, holm_open("/dev/null", &options, &database));
    options = small();
    options.durability = 7;
    IS(HOLM_INVALID, holm_open(folder, &options, &database));
    options = small();
    options.size = 3;
    IS(HOLM_INVALID, holm_open(folder, &options, &database));
    options = small();
    options.must_exist = 1;
    database = junk;
    IS(HOLM_NOT_FOUND, holm_open(folder, &options, &database));
    CHECK(database == NULL && strstr(holm_message(), folder));
    options = small();
    options.design = "atoll";
    IS(HOLM_INVALID, holm_open(folder, &options, &database));

    /*
     * A caller with a later version of the struct: fields that it leaves zero are accepted, others are not known yet.
     */
    struct { holm_options known; uint64_t later[2]; } later = { small(), { 0, 0 } };
    later.known.size = sizeof later;
    later.later[1] = 1;
    IS(HOLM_UNSUPPORTED, holm_open(beside, &later.known, &database));
    later.later[1] = 0;
    IS(HOLM_OK, holm_open(beside, &later.known, &database));
    /* The same folder, a second time. */
    holm_database *again = junk;
    IS(HOLM_LOCKED, holm_open(beside, &later.known, &again));
    CHECK(again == NULL);
    IS(HOLM_OK, holm_close(database));
    /* A caller with an earlier version of the struct: fields that it does not know count as zero. */
    later.known.size = offsetof(holm_options, log_bytes);
    later.known.must_exist = 7;
    later.known.design = junk;
    IS(HOLM_OK, holm_open(beside, &later.known, &database));
    IS(HOLM_OK, holm_close(database));
    IS(HOLM_OK, holm_close(NULL));
}

static void nulls(holm_database *database, holm_keyspace *keyspace) {
    holm_keyspace *other;
    holm_batch *batch;
    holm_iter *iter;
    size_t size = 1;
    uint64_t number = 1;
    void *value = &value;
    IS(HOLM_INVALID, holm_sync(NULL));
    IS(HOLM_INVALID, holm_check(NULL, &number));
    CHECK(number == 0);
    IS(HOLM_INVALID, holm_open_keyspace(NULL, "a", &other));
    CHECK(other == NULL);
    IS(HOLM_INVALID, holm_open_keyspace(database, NULL, &other));
    IS(HOLM_INVALID, holm_open_keyspace(database, "", &other));
    IS(HOLM_INVALID, holm_open_keyspace(database, "\xff", &other));
    IS(HOLM_INVALID, holm_open_keyspace(database, "a", NULL));
    IS(HOLM_INVALID, holm_drop_keyspace(NULL, "a"));
    IS(HOLM_INVALID, holm_drop_keyspace(database, NULL));
    IS(HOLM_INVALID, holm_insert(NULL, "a", 1, "b", 1));
    IS(HOLM_INVALID, holm_insert(keyspace, NULL, 1, "b", 1));
    IS(HOLM_INVALID, holm_insert(keyspace, "a", 1, NULL, 1));
    IS(HOLM_INVALID, holm_insert(keyspace, "a", SIZE_MAX, "b", 1));
    IS(HOLM_INVALID, holm_insert(keyspace, "a", 1, "b", (size_t)1 << 63));
    IS(HOLM_TOO_LARGE, holm_insert(keyspace, "a", 65537, "b", 1));
    IS(HOLM_TOO_LARGE, holm_insert(keyspace, "a", 1, "b", ((size_t)1 << 30) + 1));
    IS(HOLM_INVALID, holm_get(NULL, "a", 1, NULL, 0, &size));
    CHECK(size == 0);
    IS(HOLM_INVALID, holm_get(keyspace, NULL, 1, NULL, 0, &size));
    IS(HOLM_INVALID, holm_get(keyspace, "a", 1, NULL, 0, NULL));
    IS(HOLM_INVALID, holm_get(keyspace, "a", 1, NULL, 1, &size));
    IS(HOLM_INVALID, holm_get_copy(NULL, "a", 1, &value, &size));
    CHECK(value == NULL);
    IS(HOLM_INVALID, holm_get_copy(keyspace, "a", 1, NULL, &size));
    IS(HOLM_INVALID, holm_get_copy(keyspace, "a", 1, &value, NULL));
    IS(HOLM_INVALID, holm_contains(NULL, "a", 1));
    IS(HOLM_INVALID, holm_contains(keyspace, NULL, 1));
    IS(HOLM_INVALID, holm_remove(NULL, "a", 1));
    IS(HOLM_INVALID, holm_count(NULL, &number));
    IS(HOLM_INVALID, holm_count(keyspace, NULL));
    IS(HOLM_INVALID, holm_range(NULL, NULL, 0, NULL, 0, 0, &iter));
    CHECK(iter == NULL);
    IS(HOLM_INVALID, holm_range(keyspace, NULL, 1, NULL, 0, 0, &iter));
    IS(HOLM_INVALID, holm_range(keyspace, NULL, 0, NULL, 0, 0, NULL));
    IS(HOLM_INVALID, holm_prefix(NULL, "a", 1, 0, &iter));
    IS(HOLM_INVALID, holm_prefix(keyspace, NULL, 1, 0, &iter));
    IS(HOLM_INVALID, holm_next(NULL, NULL, NULL, NULL, NULL));
    IS(HOLM_INVALID, holm_next_back(NULL, NULL, NULL, NULL, NULL));
    IS(HOLM_INVALID, holm_batch_begin(NULL, &batch));
    CHECK(batch == NULL);
    IS(HOLM_INVALID, holm_batch_begin(database, NULL));
    IS(HOLM_INVALID, holm_batch_insert(NULL, keyspace, "a", 1, "b", 1));
    IS(HOLM_INVALID, holm_batch_remove(NULL, keyspace, "a", 1));
    IS(HOLM_INVALID, holm_batch_commit(NULL));
    IS(HOLM_INVALID, holm_read_stats(database, NULL, sizeof(holm_stats)));
    IS(HOLM_INVALID, holm_read_stats(database, (holm_stats *)&number, 7));
    IS(HOLM_OK, holm_count(keyspace, &number));
    CHECK(number == 0);
    holm_batch_discard(NULL);
    holm_close_iter(NULL);
    holm_close_keyspace(NULL);
    holm_free(NULL);
}

static void values(holm_keyspace *keyspace) {
    char buffer[8];
    size_t size;
    void *copy;
    uint64_t count;
    /* The empty key, and the empty value. */
    IS(HOLM_ABSENT, holm_get(keyspace, NULL, 0, buffer, sizeof buffer, &size));
    IS(HOLM_OK, holm_insert(keyspace, NULL, 0, NULL, 0));
    IS(HOLM_OK, holm_contains(keyspace, "", 0));
    IS(HOLM_OK, holm_get(keyspace, "", 0, NULL, 0, &size));
    CHECK(size == 0);
    IS(HOLM_OK, holm_get_copy(keyspace, "", 0, &copy, &size));
    CHECK(copy != NULL && size == 0);
    holm_free(copy);
    /* A value as long as the buffer, and a longer one. */
    IS(HOLM_OK, holm_insert(keyspace, "a\0b", 3, "12345678", 8));
    IS(HOLM_OK, holm_get(keyspace, "a\0b", 3, buffer, sizeof buffer, &size));
    CHECK(size == 8 && !memcmp(buffer, "12345678", 8));
    IS(HOLM_SHORT_BUFFER, holm_get(keyspace, "a\0b", 3, buffer, 7, &size));
    CHECK(size == 8);
    /* A value that is shared, not held in the slice itself. */
    size_t large = 100000;
    char *value = malloc(large);
    memset(value, 'x', large);
    IS(HOLM_OK, holm_insert(keyspace, "large", 5, value, large));
    IS(HOLM_OK, holm_get_copy(keyspace, "large", 5, &copy, &size));
    CHECK(size == large && !memcmp(copy, value, large));
    holm_free(copy);
    free(value);
    IS(HOLM_OK, holm_remove(keyspace, "large", 5));
    IS(HOLM_ABSENT, holm_remove(keyspace, "large", 5));
    IS(HOLM_ABSENT, holm_get_copy(keyspace, "large", 5, &copy, &size));
    CHECK(copy == NULL && size == 0);
    IS(HOLM_OK, holm_remove(keyspace, "a\0b", 3));
    IS(HOLM_OK, holm_remove(keyspace, NULL, 0));
    IS(HOLM_OK, holm_count(keyspace, &count));
    CHECK(count == 0);
}

/* Counts the pairs of an iterator; with `both`, it steps from the two ends in turns. */
static int walked(holm_iter *iter, int both) {
    const void *key;
    size_t key_size;
    int count = 0;
    unsigned low = 0, high = 1000;
    for (;;) {
        int back = both && count % 2;
        int code = back ? holm_next_back(iter, &key, &key_size, NULL, NULL)
                        : holm_next(iter, &key, &key_size, NULL, NULL);
        if (code != HOLM_OK) {
            IS(HOLM_ABSENT, code);
            CHECK(key == NULL && key_size == 0);
            IS(HOLM_ABSENT, holm_next(iter, NULL, NULL, NULL, NULL));
            IS(HOLM_ABSENT, holm_next_back(iter, NULL, NULL, NULL, NULL));
            holm_close_iter(iter);
            return count;
        }
        unsigned number;
        CHECK(key_size == 4 && sscanf(key, "k%3u", &number) == 1);
        CHECK(back ? number < high : number >= low);
        if (back)
            high = number;
        else
            low = number + 1;
        count++;
    }
}

static void walks(holm_keyspace *keyspace) {
    char key[8];
    for (int number = 0; number < 500; number++) {
        snprintf(key, sizeof key, "k%03d", number);
        IS(HOLM_OK, holm_insert(keyspace, key, 4, key, 4));
    }
    holm_iter *iter;
    IS(HOLM_OK, holm_range(keyspace, NULL, 0, NULL, 0, 0, &iter));
    CHECK(walked(iter, 0) == 500);
    IS(HOLM_OK, holm_range(keyspace, NULL, 0, NULL, 0, 0, &iter));
    CHECK(walked(iter, 1) == 500);
    IS(HOLM_OK, holm_range(keyspace, "k100", 4, "k200", 4, 0, &iter));
    CHECK(walked(iter, 1) == 100);
    IS(HOLM_OK, holm_range(keyspace, "k100", 4, NULL, 0, 7, &iter));
    CHECK(walked(iter, 1) == 7);
    IS(HOLM_OK, holm_range(keyspace, "k300", 4, "k200", 4, 0, &iter));
    CHECK(walked(iter, 0) == 0);
    IS(HOLM_OK, holm_range(keyspace, NULL, 0, "", 0, 0, &iter));
    CHECK(walked(iter, 0) == 0);
    IS(HOLM_OK, holm_prefix(keyspace, "k12", 3, 0, &iter));
    CHECK(walked(iter, 0) == 10);
    IS(HOLM_OK, holm_prefix(keyspace, NULL, 0, 0, &iter));
    CHECK(walked(iter, 0) == 500);
}

static void batches(holm_database *database, holm_keyspace *keyspace, const char *beside) {
    holm_batch *batch;
    IS(HOLM_OK, holm_batch_begin(database, &batch));
    IS(HOLM_OK, holm_batch_insert(batch, keyspace, "both", 4, "1", 1));
    IS(HOLM_OK, holm_batch_remove(batch, keyspace, "k000", 4));
    IS(HOLM_INVALID, holm_batch_insert(batch, NULL, "both", 4, "1", 1));
    IS(HOLM_INVALID, holm_batch_insert(batch, keyspace, NULL, 4, "1", 1));
    IS(HOLM_ABSENT, holm_contains(keyspace, "both", 4));
    IS(HOLM_OK, holm_batch_commit(batch));
    IS(HOLM_OK, holm_contains(keyspace, "both", 4));
    IS(HOLM_ABSENT, holm_contains(keyspace, "k000", 4));
    IS(HOLM_OK, holm_batch_begin(database, &batch));
    IS(HOLM_OK, holm_batch_remove(batch, keyspace, "both", 4));
    holm_batch_discard(batch);
    IS(HOLM_OK, holm_contains(keyspace, "both", 4));
    IS(HOLM_OK, holm_batch_begin(database, &batch));
    IS(HOLM_OK, holm_batch_commit(batch));

    holm_options options = small();
    holm_database *other;
    holm_keyspace *others;
    IS(HOLM_OK, holm_open(beside, &options, &other));
    IS(HOLM_OK, holm_open_keyspace(other, "others", &others));
    IS(HOLM_OK, holm_batch_begin(database, &batch));
    IS(HOLM_OK, holm_batch_remove(batch, keyspace, "both", 4));
    IS(HOLM_OK, holm_batch_insert(batch, others, "both", 4, "1", 1));
    IS(HOLM_INVALID, holm_batch_commit(batch));
    IS(HOLM_OK, holm_contains(keyspace, "both", 4));
    /* Closes the database first, and the handles that depend on it afterwards. */
    IS(HOLM_OK, holm_batch_begin(other, &batch));
    IS(HOLM_OK, holm_close(other));
    CHECK(holm_insert(others, "late", 4, "1", 1) < 0);
    IS(HOLM_OK, holm_batch_insert(batch, others, "late", 4, "1", 1));
    CHECK(holm_batch_commit(batch) < 0);
    holm_close_keyspace(others);
}

static void *writer(void *argument) {
    char key[16];
    for (int number = 0; number < 1000; number++) {
        snprintf(key, sizeof key, "t%04d", number);
        IS(HOLM_OK, holm_insert(argument, key, 5, key, 5));
        size_t size;
        IS(HOLM_OK, holm_get(argument, key, 5, key + 8, 8, &size));
    }
    /* Each thread has its own message. */
    CHECK(!*holm_message());
    return NULL;
}

static void threads(holm_database *database) {
    holm_keyspace *keyspace;
    pthread_t all[4];
    uint64_t count;
    IS(HOLM_OK, holm_open_keyspace(database, "threads", &keyspace));
    for (int number = 0; number < 4; number++)
        CHECK(!pthread_create(&all[number], NULL, writer, keyspace));
    for (int number = 0; number < 4; number++)
        CHECK(!pthread_join(all[number], NULL));
    IS(HOLM_OK, holm_count(keyspace, &count));
    CHECK(count == 1000);
    IS(HOLM_OK, holm_drop_keyspace(database, "threads"));
    IS(HOLM_ABSENT, holm_drop_keyspace(database, "threads"));
    /* Handles that depend on it refuse every call. An iterator reports it once, and has ended. */
    holm_iter *iter;
    IS(HOLM_DROPPED, holm_insert(keyspace, "a", 1, "b", 1));
    IS(HOLM_DROPPED, holm_remove(keyspace, "t0000", 5));
    IS(HOLM_DROPPED, holm_contains(keyspace, "t0000", 5));
    IS(HOLM_OK, holm_count(keyspace, &count));
    IS(HOLM_OK, holm_range(keyspace, NULL, 0, NULL, 0, 0, &iter));
    IS(HOLM_DROPPED, holm_next(iter, NULL, NULL, NULL, NULL));
    IS(HOLM_ABSENT, holm_next(iter, NULL, NULL, NULL, NULL));
    holm_close_iter(iter);
    holm_close_keyspace(keyspace);
}

static void numbers(holm_database *database) {
    struct { holm_stats known; uint64_t later; } stats;
    uint64_t faults = 7;
    memset(&stats, 0xff, sizeof stats);
    IS(HOLM_OK, holm_read_stats(database, &stats.known, sizeof stats));
    CHECK(stats.known.records == 500 && stats.known.keyspaces >= 1 && stats.later == 0);
    memset(&stats, 0xff, sizeof stats);
    IS(HOLM_OK, holm_read_stats(database, &stats.known, 16));
    CHECK(stats.known.records == 500 && stats.known.leaf_bytes == UINT64_MAX);
    IS(HOLM_OK, holm_check(database, &faults));
    CHECK(faults == 0);
    IS(HOLM_OK, holm_check(database, NULL));
}

int main(int count, char **arguments) {
    CHECK(count == 3 && *holm_version() && !*holm_message());
    CHECK(!strcmp(holm_code_name(HOLM_POISONED), "HOLM_POISONED") && !strcmp(holm_code_name(99), "unknown"));
    opening(arguments[1], arguments[2]);
    holm_options options = small();
    holm_database *database;
    holm_keyspace *keyspace;
    IS(HOLM_OK, holm_open(arguments[1], &options, &database));
    IS(HOLM_OK, holm_open_keyspace(database, "main", &keyspace));
    nulls(database, keyspace);
    values(keyspace);
    walks(keyspace);
    batches(database, keyspace, arguments[2]);
    threads(database);
    numbers(database);
    IS(HOLM_OK, holm_sync(database));
    holm_close_keyspace(keyspace);
    IS(HOLM_OK, holm_close(database));
    puts("every door");
    return 0;
}
