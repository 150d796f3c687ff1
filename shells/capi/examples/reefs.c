/*
 * The life of a database, in C: open, write, read, commit a batch and a transaction, take a snapshot, iterate in both
 * directions, sync and close.
 *
 *     cc reefs.c $(pkg-config --cflags --libs holm) -o reefs && ./reefs reefs.holm
 */
#include <holm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program with the message if a call failed. */
static void must(int code, const char *call) {
    if (code < 0) {
        fprintf(stderr, "%s: %s: %s\n", call, holm_code_name(code), holm_message());
        exit(1);
    }
}

static void put(holm_keyspace *reefs, const char *key, const char *value) {
    must(holm_insert(reefs, key, strlen(key), value, strlen(value)), "holm_insert");
}

static void show(const void *key, size_t key_size, const void *value, size_t value_size) {
    printf("%.*s = %.*s\n", (int)key_size, (const char *)key, (int)value_size, (const char *)value);
}

/* The work of a transaction: moves "south" to "far south". It runs anew if another thread changes either meanwhile. */
static int move_south(holm_transaction *transaction, void *context) {
    holm_keyspace *reefs = context;
    char value[16];
    size_t size;
    int code = holm_transaction_get(transaction, reefs, "south", 5, value, sizeof value, &size);
    if (code != HOLM_OK)
        return code;
    code = holm_transaction_insert(transaction, reefs, "far south", 9, value, size);
    return code != HOLM_OK ? code : holm_transaction_remove(transaction, reefs, "south", 5);
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", arguments[0]);
        return 2;
    }
    holm_options options = HOLM_OPTIONS;
    options.durability = HOLM_STRICT;
    options.capacity = (uint64_t)1 << 32;
    holm_database *database;
    holm_keyspace *reefs;
    must(holm_open(arguments[1], &options, &database), "holm_open");
    must(holm_open_keyspace(database, "reefs", &reefs), "holm_open_keyspace");

    put(reefs, "north", "coral");
    put(reefs, "east", "sand");
    put(reefs, "west", "kelp");

    char value[16];
    size_t size;
    must(holm_get(reefs, "north", 5, value, sizeof value, &size), "holm_get");
    show("north", 5, value, size);
    if (holm_get(reefs, "south", 5, value, sizeof value, &size) == HOLM_ABSENT)
        puts("south is absent");

    /* Both or neither, after any crash. */
    holm_batch *batch;
    must(holm_batch_begin(database, &batch), "holm_batch_begin");
    must(holm_batch_remove(batch, reefs, "north", 5), "holm_batch_remove");
    must(holm_batch_insert(batch, reefs, "south", 5, "coral", 5), "holm_batch_insert");
    must(holm_batch_commit(batch), "holm_batch_commit");

    /* What is written from here on does not change the snapshot. */
    holm_snapshot *snapshot;
    holm_keyspace *then;
    must(holm_open_snapshot(database, &snapshot), "holm_open_snapshot");
    must(holm_transact(database, move_south, reefs), "holm_transact");
    must(holm_open_snapshot_keyspace(snapshot, "reefs", &then), "holm_open_snapshot_keyspace");
    if (holm_contains(then, "far south", 9) == HOLM_ABSENT)
        puts("far south was absent");
    holm_close_keyspace(then);
    holm_close_snapshot(snapshot);

    /* All pairs forwards, then those below "south" backwards. */
    holm_iter *iter;
    const void *key, *found;
    size_t key_size, found_size;
    int code;
    must(holm_range(reefs, NULL, 0, NULL, 0, 0, &iter), "holm_range");
    while ((code = holm_next(iter, &key, &key_size, &found, &found_size)) == HOLM_OK)
        show(key, key_size, found, found_size);
    must(code, "holm_next");
    holm_close_iter(iter);
    must(holm_range(reefs, NULL, 0, "south", 5, 0, &iter), "holm_range");
    while ((code = holm_next_back(iter, &key, &key_size, &found, &found_size)) == HOLM_OK)
        show(key, key_size, found, found_size);
    must(code, "holm_next_back");
    holm_close_iter(iter);

    holm_stats stats;
    must(holm_sync(database), "holm_sync");
    must(holm_read_stats(database, &stats, sizeof stats), "holm_read_stats");
    printf("%llu records\n", (unsigned long long)stats.records);
    holm_close_keyspace(reefs);
    must(holm_close(database), "holm_close");
    return 0;
}
