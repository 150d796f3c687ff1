/*
 * Snapshots: what they show while others write, in both directions, what they refuse, how they end, and what outlives
 * them. Runs plainly and under the address sanitizer.
 */
#include "check.h"
#include <pthread.h>

enum { PAIRS = 500 };

static void fill(holm_keyspace *keyspace, const char *value) {
    for (int number = 0; number < PAIRS; number++) {
        char key[8];
        snprintf(key, sizeof key, "k%03d", number);
        IS(HOLM_OK, holm_insert(keyspace, key, 4, value, strlen(value)));
    }
}

/* Walks over all pairs from one end, and checks that each has the value. */
static void all_have(const char *expected, holm_keyspace *keyspace, int back) {
    holm_iter *iter;
    const void *key, *value;
    size_t key_size, size;
    int code, count = 0;
    IS(HOLM_OK, holm_range(keyspace, NULL, 0, NULL, 0, 0, &iter));
    while ((code = back ? holm_next_back(iter, &key, &key_size, &value, &size)
                        : holm_next(iter, &key, &key_size, &value, &size)) == HOLM_OK) {
        char wanted[16];
        snprintf(wanted, sizeof wanted, "k%03d", back ? PAIRS - 1 - count : count);
        CHECK(key_size == 4 && !memcmp(key, wanted, 4));
        CHECK(size == strlen(expected) && !memcmp(value, expected, size));
        count++;
    }
    IS(HOLM_ABSENT, code);
    CHECK(count == PAIRS);
    holm_close_iter(iter);
}

static void *overwriter(void *keyspace) {
    fill(keyspace, "newer");
    return NULL;
}

static void isolation(holm_database *database, holm_keyspace *keyspace) {
    holm_snapshot *snapshot;
    holm_keyspace *then, *none;
    holm_iter *iter;
    holm_stats stats;
    pthread_t thread;
    char buffer[8];
    size_t size;
    uint64_t count, epoch = 0;
    fill(keyspace, "old");
    IS(HOLM_OK, holm_open_snapshot(database, &snapshot));
    IS(HOLM_OK, holm_snapshot_epoch(snapshot, &epoch));
    CHECK(epoch > 0);
    IS(HOLM_OK, holm_open_keyspace(database, "later", &none));
    holm_close_keyspace(none);
    IS(HOLM_ABSENT, holm_open_snapshot_keyspace(snapshot, "later", &none));
    CHECK(none == NULL);
    IS(HOLM_OK, holm_open_snapshot_keyspace(snapshot, "main", &then));
    /* While another thread writes, and after it. */
    CHECK(!pthread_create(&thread, NULL, overwriter, keyspace));
    all_have("old", then, 0);
    all_have("old", then, 1);
    CHECK(!pthread_join(thread, NULL));
    IS(HOLM_OK, holm_remove(keyspace, "k000", 4));
    IS(HOLM_OK, holm_insert(keyspace, "k5000", 5, "", 0));
    all_have("old", then, 0);
    all_have("old", then, 1);
    IS(HOLM_OK, holm_get(then, "k000", 4, buffer, sizeof buffer, &size));
    CHECK(size == 3 && !memcmp(buffer, "old", 3));
    IS(HOLM_OK, holm_contains(then, "k000", 4));
    IS(HOLM_ABSENT, holm_contains(then, "k5000", 5));
    IS(HOLM_OK, holm_count(then, &count));
    CHECK(count == PAIRS);
    IS(HOLM_OK, holm_get(keyspace, "k001", 4, buffer, sizeof buffer, &size));
    CHECK(size == 5 && !memcmp(buffer, "newer", 5));
    IS(HOLM_OK, holm_read_stats(database, &stats, sizeof stats));
    CHECK(stats.snapshots == 1 && stats.oldest_snapshot_ns > 0);
    CHECK(stats.snapshot_memory_bytes > 0 && stats.snapshot_record_bytes > 0);
    /* The keyspace keeps the snapshot open, and the iterator keeps both. */
    holm_close_snapshot(snapshot);
    IS(HOLM_OK, holm_prefix(then, "k00", 3, 0, &iter));
    holm_close_keyspace(then);
    for (int number = 0; number < 10; number++) {
        const void *value;
        IS(HOLM_OK, holm_next_back(iter, NULL, NULL, &value, &size));
        CHECK(size == 3 && !memcmp(value, "old", 3));
    }
    IS(HOLM_ABSENT, holm_next_back(iter, NULL, NULL, NULL, NULL));
    holm_close_iter(iter);
    IS(HOLM_OK, holm_read_stats(database, &stats, sizeof stats));
    CHECK(stats.snapshots == 0 && stats.oldest_snapshot_ns == 0 && stats.snapshot_memory_bytes == 0);
}

static void refusals(holm_database *database) {
    holm_snapshot *snapshot = (holm_snapshot *)&snapshot;
    holm_keyspace *keyspace, *then;
    holm_batch *batch;
    uint64_t number = 1;
    IS(HOLM_INVALID, holm_open_snapshot(NULL, &snapshot));
    CHECK(snapshot == NULL);
    IS(HOLM_INVALID, holm_open_snapshot(database, NULL));
    IS(HOLM_INVALID, holm_open_snapshot_keyspace(NULL, "main", &then));
    CHECK(then == NULL);
    IS(HOLM_INVALID, holm_snapshot_epoch(NULL, &number));
    CHECK(number == 0);
    holm_close_snapshot(NULL);
    IS(HOLM_OK, holm_open_keyspace(database, "dropped", &keyspace));
    IS(HOLM_OK, holm_insert(keyspace, "a", 1, "1", 1));
    IS(HOLM_OK, holm_open_snapshot(database, &snapshot));
    IS(HOLM_INVALID, holm_open_snapshot_keyspace(snapshot, NULL, &then));
    IS(HOLM_INVALID, holm_open_snapshot_keyspace(snapshot, "\xff", &then));
    IS(HOLM_INVALID, holm_open_snapshot_keyspace(snapshot, "main", NULL));
    IS(HOLM_ABSENT, holm_open_snapshot_keyspace(snapshot, "", &then));
    IS(HOLM_INVALID, holm_snapshot_epoch(snapshot, NULL));
    IS(HOLM_OK, holm_open_snapshot_keyspace(snapshot, "dropped", &then));
    IS(HOLM_READ_ONLY, holm_insert(then, "a", 1, "2", 1));
    IS(HOLM_READ_ONLY, holm_remove(then, "a", 1));
    IS(HOLM_READ_ONLY, holm_compare_and_swap(then, "a", 1, "1", 1, "2", 1, NULL, NULL));
    IS(HOLM_READ_ONLY, holm_insert_if_absent(then, "b", 1, "2", 1, NULL, NULL));
    IS(HOLM_READ_ONLY, holm_swap(then, "a", 1, "2", 1, NULL, NULL));
    IS(HOLM_READ_ONLY, holm_take(then, "a", 1, NULL, NULL));
    IS(HOLM_READ_ONLY, holm_increment(then, "n", 1, 1, NULL));
    IS(HOLM_READ_ONLY, holm_pop_first(then, NULL, NULL, NULL, NULL));
    IS(HOLM_READ_ONLY, holm_pop_last(then, NULL, NULL, NULL, NULL));
    IS(HOLM_OK, holm_batch_begin(database, &batch));
    IS(HOLM_OK, holm_batch_insert(batch, keyspace, "b", 1, "2", 1));
    IS(HOLM_READ_ONLY, holm_batch_insert(batch, then, "c", 1, "2", 1));
    IS(HOLM_READ_ONLY, holm_batch_remove(batch, then, "a", 1));
    IS(HOLM_OK, holm_batch_commit(batch));
    IS(HOLM_OK, holm_contains(keyspace, "a", 1));
    IS(HOLM_OK, holm_contains(keyspace, "b", 1));
    IS(HOLM_ABSENT, holm_contains(then, "b", 1));
    IS(HOLM_OK, holm_drop_keyspace(database, "dropped"));
    IS(HOLM_DROPPED, holm_contains(then, "a", 1));
    holm_close_keyspace(then);
    holm_close_keyspace(keyspace);
    holm_close_snapshot(snapshot);
}

/* The oldest snapshot ends when all of them keep more than the limit; the database is closed before the snapshots. */
static void ends(const char *folder) {
    holm_options options = small();
    options.snapshot_bytes = 1 << 20;
    holm_database *database;
    holm_snapshot *snapshot;
    holm_keyspace *keyspace, *then;
    holm_iter *iter;
    uint64_t epoch, count;
    size_t large = 2 << 20;
    char *value = calloc(1, large);
    IS(HOLM_OK, holm_open(folder, &options, &database));
    IS(HOLM_OK, holm_open_keyspace(database, "main", &keyspace));
    IS(HOLM_OK, holm_insert(keyspace, "a", 1, value, large));
    IS(HOLM_OK, holm_insert(keyspace, "b", 1, value, 1));
    free(value);
    IS(HOLM_OK, holm_open_snapshot(database, &snapshot));
    IS(HOLM_OK, holm_open_snapshot_keyspace(snapshot, "main", &then));
    IS(HOLM_OK, holm_range(then, NULL, 0, NULL, 0, 0, &iter));
    IS(HOLM_OK, holm_remove(keyspace, "a", 1));
    IS(HOLM_ENDED, holm_contains(then, "b", 1));
    IS(HOLM_ENDED, holm_count(then, &count));
    CHECK(count == 0);
    IS(HOLM_ENDED, holm_next(iter, NULL, NULL, NULL, NULL));
    IS(HOLM_ABSENT, holm_next(iter, NULL, NULL, NULL, NULL));
    IS(HOLM_OK, holm_snapshot_epoch(snapshot, &epoch));
    holm_close_iter(iter);
    holm_close_keyspace(then);
    holm_close_snapshot(snapshot);

    IS(HOLM_OK, holm_open_snapshot(database, &snapshot));
    IS(HOLM_OK, holm_close(database));
    holm_close_keyspace(keyspace);
    IS(HOLM_OK, holm_open_snapshot_keyspace(snapshot, "main", &then));
    IS(HOLM_OK, holm_contains(then, "b", 1));
    IS(HOLM_OK, holm_range(then, NULL, 0, NULL, 0, 0, &iter));
    IS(HOLM_OK, holm_next(iter, NULL, NULL, NULL, NULL));
    IS(HOLM_LOCKED, holm_open(folder, &options, &database));
    holm_close_snapshot(snapshot);
    holm_close_keyspace(then);
    IS(HOLM_ABSENT, holm_next(iter, NULL, NULL, NULL, NULL));
    holm_close_iter(iter);
    IS(HOLM_OK, holm_open(folder, &options, &database));
    IS(HOLM_OK, holm_close(database));
}

int main(int count, char **arguments) {
    CHECK(count == 3);
    holm_options options = small();
    holm_database *database;
    holm_keyspace *keyspace;
    IS(HOLM_OK, holm_open(arguments[1], &options, &database));
    IS(HOLM_OK, holm_open_keyspace(database, "main", &keyspace));
    isolation(database, keyspace);
    refusals(database);
    holm_close_keyspace(keyspace);
    IS(HOLM_OK, holm_close(database));
    ends(arguments[2]);
    puts("every snapshot");
    return 0;
}
