/*
 * Marks and removals of ranges: what they store and remove, in batches, transactions and snapshots, and what they
 * refuse. Runs plainly and under the address sanitizer.
 */
#include "check.h"

static holm_batch *with_mark(holm_database *database, uint64_t mark) {
    holm_batch *batch;
    IS(HOLM_OK, holm_batch_begin(database, &batch));
    IS(HOLM_OK, holm_batch_set_mark(batch, mark));
    return batch;
}

static void marks(const char *folder) {
    holm_options options = small();
    holm_database *database;
    holm_keyspace *keyspace;
    holm_snapshot *snapshot;
    holm_transaction *transaction;
    holm_batch *batch;
    uint64_t mark = 1;
    options.durability = HOLM_ON_SYNC;
    IS(HOLM_OK, holm_open(folder, &options, &database));
    IS(HOLM_OK, holm_open_keyspace(database, "main", &keyspace));
    IS(HOLM_ABSENT, holm_mark(database, &mark));
    CHECK(mark == 0);
    IS(HOLM_ABSENT, holm_durable_mark(database, &mark));
    IS(HOLM_OK, holm_open_snapshot(database, &snapshot));
    IS(HOLM_ABSENT, holm_snapshot_mark(snapshot, &mark));
    holm_close_snapshot(snapshot);

    /* 0 is a mark, and the last of several counts. */
    batch = with_mark(database, 7);
    IS(HOLM_OK, holm_batch_insert(batch, keyspace, "a", 1, "1", 1));
    IS(HOLM_OK, holm_batch_set_mark(batch, 0));
    IS(HOLM_OK, holm_batch_commit(batch));
    IS(HOLM_OK, holm_mark(database, &mark));
    CHECK(mark == 0);
    IS(HOLM_ABSENT, holm_durable_mark(database, &mark));
    IS(HOLM_OK, holm_sync(database));
    IS(HOLM_OK, holm_durable_mark(database, &mark));
    CHECK(mark == 0);
    /* One that does not rise takes the rest of its batch along. */
    batch = with_mark(database, 0);
    IS(HOLM_OK, holm_batch_insert(batch, keyspace, "b", 1, "1", 1));
    IS(HOLM_INVALID, holm_batch_commit(batch));
    IS(HOLM_ABSENT, holm_contains(keyspace, "b", 1));
    IS(HOLM_OK, holm_batch_commit(with_mark(database, 8)));

    IS(HOLM_OK, holm_open_snapshot(database, &snapshot));
    IS(HOLM_OK, holm_transaction_begin(database, &transaction));
    IS(HOLM_INVALID, holm_transaction_set_mark(transaction, 8));
    IS(HOLM_OK, holm_transaction_set_mark(transaction, UINT64_MAX));
    IS(HOLM_OK, holm_transaction_insert(transaction, keyspace, "b", 1, "1", 1));
    IS(HOLM_OK, holm_mark(database, &mark));
    CHECK(mark == 8);
    IS(HOLM_OK, holm_transaction_commit(transaction, NULL));
    IS(HOLM_OK, holm_mark(database, &mark));
    CHECK(mark == UINT64_MAX);
    IS(HOLM_OK, holm_durable_mark(database, &mark));
    CHECK(mark == 0);
    IS(HOLM_OK, holm_snapshot_mark(snapshot, &mark));
    CHECK(mark == 8);
    holm_close_snapshot(snapshot);
    IS(HOLM_INVALID, holm_mark(NULL, &mark));
    CHECK(mark == 0);
    IS(HOLM_INVALID, holm_mark(database, NULL));
    IS(HOLM_INVALID, holm_durable_mark(NULL, &mark));
    IS(HOLM_INVALID, holm_snapshot_mark(NULL, &mark));
    IS(HOLM_INVALID, holm_batch_set_mark(NULL, 1));
    IS(HOLM_INVALID, holm_transaction_set_mark(NULL, 1));
    holm_close_keyspace(keyspace);
    IS(HOLM_OK, holm_close(database));
    IS(HOLM_OK, holm_open(folder, &options, &database));
    IS(HOLM_OK, holm_durable_mark(database, &mark));
    CHECK(mark == UINT64_MAX);
    IS(HOLM_OK, holm_close(database));
}

static void fill(holm_keyspace *keyspace) {
    for (int number = 0; number < 1000; number++) {
        char key[8];
        snprintf(key, sizeof key, "k%03d", number);
        IS(HOLM_OK, holm_insert(keyspace, key, 4, "value", 5));
    }
}

static void has(uint64_t pairs, holm_keyspace *keyspace) {
    uint64_t count;
    IS(HOLM_OK, holm_count(keyspace, &count));
    CHECK(count == pairs);
}

static void ranges(holm_database *database, holm_keyspace *keyspace) {
    uint64_t count = 1;
    holm_transaction *transaction;
    fill(keyspace);
    IS(HOLM_OK, holm_remove_range(keyspace, "k100", 4, "k900", 4, &count));
    CHECK(count == 800);
    IS(HOLM_OK, holm_contains(keyspace, "k900", 4));
    IS(HOLM_OK, holm_contains(keyspace, "k099", 4));
    IS(HOLM_OK, holm_remove_range(keyspace, "k9", 2, "k0", 2, &count));
    CHECK(count == 0);
    IS(HOLM_OK, holm_remove_range(keyspace, NULL, 0, "k050", 4, NULL));
    has(150, keyspace);
    IS(HOLM_OK, holm_remove_range(keyspace, "k950", 4, NULL, 0, &count));
    CHECK(count == 50);
    /* The empty string is a bound: nothing is below it. */
    IS(HOLM_OK, holm_remove_range(keyspace, NULL, 0, "", 0, &count));
    CHECK(count == 0);
    IS(HOLM_OK, holm_clear(keyspace, &count));
    CHECK(count == 100);
    IS(HOLM_OK, holm_clear(keyspace, NULL));

    fill(keyspace);
    IS(HOLM_OK, holm_transaction_begin(database, &transaction));
    IS(HOLM_OK, holm_transaction_insert(transaction, keyspace, "k0000", 5, "", 0));
    IS(HOLM_OK, holm_transaction_remove_range(transaction, keyspace, NULL, 0, "k010", 4, &count));
    CHECK(count == 11);
    IS(HOLM_OK, holm_transaction_remove_range(transaction, keyspace, NULL, 0, "k010", 4, &count));
    CHECK(count == 0);
    IS(HOLM_OK, holm_contains(keyspace, "k000", 4));
    IS(HOLM_OK, holm_transaction_commit(transaction, NULL));
    has(990, keyspace);
    /* A phantom: a key that appears in the range. */
    IS(HOLM_OK, holm_transaction_begin(database, &transaction));
    IS(HOLM_OK, holm_transaction_remove_range(transaction, keyspace, "k5", 2, NULL, 0, NULL));
    IS(HOLM_OK, holm_insert(keyspace, "k7777", 5, "", 0));
    IS(HOLM_CONFLICT, holm_transaction_commit(transaction, NULL));
    has(991, keyspace);
}

static void refusals(holm_database *database, holm_keyspace *keyspace) {
    uint64_t count = 1;
    holm_snapshot *snapshot;
    holm_keyspace *then, *dropped;
    holm_transaction *transaction;
    IS(HOLM_OK, holm_transaction_begin(database, &transaction));
    IS(HOLM_INVALID, holm_remove_range(NULL, NULL, 0, NULL, 0, &count));
    CHECK(count == 0);
    IS(HOLM_INVALID, holm_remove_range(keyspace, NULL, 1, NULL, 0, &count));
    IS(HOLM_INVALID, holm_remove_range(keyspace, "a", 1, NULL, 1, &count));
    IS(HOLM_INVALID, holm_remove_range(keyspace, "a", SIZE_MAX, NULL, 0, &count));
    IS(HOLM_INVALID, holm_clear(NULL, &count));
    IS(HOLM_INVALID, holm_transaction_remove_range(NULL, keyspace, NULL, 0, NULL, 0, &count));
    IS(HOLM_INVALID, holm_transaction_remove_range(transaction, NULL, NULL, 0, NULL, 0, &count));
    IS(HOLM_INVALID, holm_transaction_remove_range(transaction, keyspace, NULL, 1, NULL, 0, &count));
    IS(HOLM_OK, holm_open_snapshot(database, &snapshot));
    IS(HOLM_OK, holm_open_snapshot_keyspace(snapshot, "main", &then));
    IS(HOLM_READ_ONLY, holm_remove_range(then, NULL, 0, NULL, 0, &count));
    IS(HOLM_READ_ONLY, holm_clear(then, &count));
    IS(HOLM_READ_ONLY, holm_transaction_remove_range(transaction, then, NULL, 0, NULL, 0, &count));
    has(991, keyspace);
    holm_close_keyspace(then);
    holm_close_snapshot(snapshot);
    holm_transaction_discard(transaction);
    IS(HOLM_OK, holm_open_keyspace(database, "dropped", &dropped));
    IS(HOLM_OK, holm_drop_keyspace(database, "dropped"));
    IS(HOLM_DROPPED, holm_clear(dropped, &count));
    holm_close_keyspace(dropped);
}

int main(int count, char **arguments) {
    CHECK(count == 3);
    holm_options options = small();
    holm_database *database;
    holm_keyspace *keyspace;
    marks(arguments[1]);
    IS(HOLM_OK, holm_open(arguments[2], &options, &database));
    IS(HOLM_OK, holm_open_keyspace(database, "main", &keyspace));
    ranges(database, keyspace);
    refusals(database, keyspace);
    IS(HOLM_OK, holm_close(database));
    IS(HOLM_POISONED, holm_clear(keyspace, NULL));
    holm_close_keyspace(keyspace);
    puts("every mark");
    return 0;
}
