/*
 * A database that is open for reading: what it answers, and what it refuses. Runs plainly and under the address
 * sanitizer.
 */
#include "check.h"

static int append(void *context, const void *bytes, size_t size) {
    (void)bytes;
    *(uint64_t *)context += size;
    return HOLM_OK;
}

static void create(const char *folder) {
    holm_options options = small();
    holm_keyspace_options expiring = HOLM_KEYSPACE_OPTIONS;
    holm_database *database, *reader = (holm_database *)folder;
    holm_keyspace *keyspace;
    holm_batch *batch;
    IS(HOLM_NOT_FOUND, holm_open_read_only(folder, NULL, &reader));
    CHECK(reader == NULL);
    IS(HOLM_OK, holm_open(folder, &options, &database));
    IS(HOLM_LOCKED, holm_open_read_only(folder, &options, &reader));
    expiring.expires = 1;
    IS(HOLM_OK, holm_open_keyspace_with(database, "tides", &expiring, &keyspace));
    IS(HOLM_OK, holm_insert_until(keyspace, "north", 5, "high", 4, 4102444800000));
    IS(HOLM_OK, holm_batch_begin(database, &batch));
    IS(HOLM_OK, holm_batch_insert(batch, keyspace, "south", 5, "low", 3));
    IS(HOLM_OK, holm_batch_set_mark(batch, 17));
    IS(HOLM_OK, holm_batch_commit(batch));
    holm_close_keyspace(keyspace);
    IS(HOLM_OK, holm_close(database));
}

static void answers(holm_database *database, holm_keyspace *tides) {
    holm_keyspace_options options = HOLM_KEYSPACE_OPTIONS;
    holm_backup_info info = HOLM_BACKUP_INFO;
    holm_stats stats;
    holm_iter *iter;
    const void *key, *value, *keys[] = { "north", "west" };
    const size_t sizes[] = { 5, 4 };
    void *copied, *values[2];
    size_t size, value_sizes[2];
    uint64_t number, bytes = 0;
    char buffer[8];
    IS(HOLM_OK, holm_get(tides, "north", 5, buffer, sizeof buffer, &size));
    CHECK(size == 4 && !memcmp(buffer, "high", 4));
    IS(HOLM_OK, holm_get_copy(tides, "south", 5, &copied, &size));
    COPY("low", copied, size);
    IS(HOLM_OK, holm_get_many(tides, 2, keys, sizes, values, value_sizes));
    COPY("high", values[0], value_sizes[0]);
    CHECK(values[1] == NULL);
    IS(HOLM_ABSENT, holm_contains(tides, "west", 4));
    IS(HOLM_OK, holm_count(tides, &number));
    CHECK(number == 2);
    IS(HOLM_OK, holm_expiry(tides, "north", 5, &number));
    CHECK(number == 4102444800000);
    IS(HOLM_OK, holm_read_keyspace_options(tides, &options));
    CHECK(options.expires == 1);
    IS(HOLM_OK, holm_range(tides, "o", 1, NULL, 0, 0, &iter));
    IS(HOLM_OK, holm_next(iter, &key, &size, &value, NULL));
    CHECK(size == 5 && !memcmp(key, "south", 5) && !memcmp(value, "low", 3));
    IS(HOLM_ABSENT, holm_next(iter, NULL, NULL, NULL, NULL));
    holm_close_iter(iter);
    IS(HOLM_OK, holm_prefix(tides, "no", 2, 0, &iter));
    IS(HOLM_OK, holm_next_back(iter, &key, &size, NULL, NULL));
    CHECK(size == 5 && !memcmp(key, "north", 5));
    holm_close_iter(iter);
    IS(HOLM_OK, holm_keyspaces(database, &iter));
    IS(HOLM_OK, holm_next_back(iter, &key, NULL, NULL, NULL));
    CHECK(!strcmp(key, "tides"));
    holm_close_iter(iter);
    IS(HOLM_OK, holm_mark(database, &number));
    CHECK(number == 17);
    IS(HOLM_OK, holm_durable_mark(database, &number));
    CHECK(number == 17);
    IS(HOLM_OK, holm_check(database, &number));
    CHECK(number == 0);
    IS(HOLM_OK, holm_read_stats(database, &stats, sizeof stats));
    CHECK(stats.keyspaces == 2 && stats.records == 2);
    IS(HOLM_OK, holm_backup_to(database, append, &bytes, &info));
    CHECK(info.records == 2 && info.bytes == bytes);
}

static void refusals(holm_database *database, holm_keyspace *tides) {
    holm_keyspace *keyspace = tides;
    holm_batch *batch;
    holm_transaction *transaction;
    holm_snapshot *snapshot;
    holm_feed *feed;
    holm_iter *iter;
    IS(HOLM_ABSENT, holm_open_existing_keyspace(database, "west", &keyspace));
    CHECK(keyspace == NULL);
    IS(HOLM_READ_ONLY, holm_open_keyspace(database, "tides", &keyspace));
    IS(HOLM_READ_ONLY, holm_open_keyspace_with(database, "tides", NULL, &keyspace));
    IS(HOLM_READ_ONLY, holm_drop_keyspace(database, "tides"));
    IS(HOLM_READ_ONLY, holm_sync(database));
    IS(HOLM_READ_ONLY, holm_sweep(database, NULL));
    IS(HOLM_READ_ONLY, holm_backup(database, "never", NULL));
    IS(HOLM_READ_ONLY, holm_apply(database, holm_read_fd, NULL, NULL));
    IS(HOLM_READ_ONLY, holm_batch_begin(database, &batch));
    IS(HOLM_READ_ONLY, holm_transaction_begin(database, &transaction));
    IS(HOLM_READ_ONLY, holm_open_snapshot(database, &snapshot));
    IS(HOLM_READ_ONLY, holm_open_feed(database, 1 << 20, &feed));
    CHECK(batch == NULL && transaction == NULL && snapshot == NULL && feed == NULL);
    IS(HOLM_READ_ONLY, holm_insert(tides, "a", 1, "", 0));
    IS(HOLM_READ_ONLY, holm_remove(tides, "a", 1));
    IS(HOLM_READ_ONLY, holm_clear(tides, NULL));
    IS(HOLM_READ_ONLY, holm_expire_in(tides, "north", 5, 1));
    IS(HOLM_READ_ONLY, holm_swap(tides, "a", 1, "", 0, NULL, NULL));
    IS(HOLM_READ_ONLY, holm_expired(tides, 7, 0, &iter));
    CHECK(strstr(holm_message(), "open for reading") != NULL);
    IS(HOLM_INVALID, holm_open_read_only(NULL, NULL, &database));
    IS(HOLM_INVALID, holm_open_read_only("", NULL, &database));
    IS(HOLM_INVALID, holm_open_read_only("never", NULL, NULL));
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    holm_options options = small();
    holm_database *database, *other, *writer;
    holm_keyspace *tides;
    create(arguments[1]);
    /* Two at once, and no writer. */
    IS(HOLM_OK, holm_open_read_only(arguments[1], &options, &database));
    IS(HOLM_OK, holm_open_read_only(arguments[1], NULL, &other));
    IS(HOLM_LOCKED, holm_open(arguments[1], &options, &writer));
    IS(HOLM_OK, holm_open_existing_keyspace(database, "tides", &tides));
    answers(database, tides);
    refusals(database, tides);
    IS(HOLM_OK, holm_close(other));
    IS(HOLM_OK, holm_close(database));
    /* Its keyspace keeps it open. */
    IS(HOLM_OK, holm_contains(tides, "north", 5));
    IS(HOLM_LOCKED, holm_open(arguments[1], &options, &writer));
    holm_close_keyspace(tides);
    IS(HOLM_OK, holm_open(arguments[1], &options, &writer));
    IS(HOLM_OK, holm_close(writer));
    puts("every answer");
    return 0;
}
