/*
 * Transactions: reads of their own writes, conflicts, iterators that outlive them, retries, and use after the close of
 * what they depend on. Runs plainly and under the address sanitizer.
 */
#include "check.h"
#include <pthread.h>

static holm_transaction *begun(holm_database *database) {
    holm_transaction *transaction;
    IS(HOLM_OK, holm_transaction_begin(database, &transaction));
    return transaction;
}

static int never(holm_transaction *transaction, void *context) {
    (void)transaction, (void)context;
    CHECK(!"called");
    return HOLM_OK;
}

static void nulls(holm_database *database, holm_keyspace *keyspace) {
    holm_transaction *transaction = (holm_transaction *)&transaction;
    holm_iter *iter = (holm_iter *)&iter;
    void *value = &value;
    size_t size = 1;
    uint64_t epoch = 1;
    IS(HOLM_INVALID, holm_transaction_begin(NULL, &transaction));
    CHECK(transaction == NULL);
    IS(HOLM_INVALID, holm_transaction_begin(database, NULL));
    IS(HOLM_INVALID, holm_transaction_get(NULL, keyspace, "a", 1, NULL, 0, &size));
    CHECK(size == 0);
    IS(HOLM_INVALID, holm_transaction_get_copy(NULL, keyspace, "a", 1, &value, &size));
    CHECK(value == NULL);
    IS(HOLM_INVALID, holm_transaction_contains(NULL, keyspace, "a", 1));
    IS(HOLM_INVALID, holm_transaction_insert(NULL, keyspace, "a", 1, "b", 1));
    IS(HOLM_INVALID, holm_transaction_remove(NULL, keyspace, "a", 1));
    IS(HOLM_INVALID, holm_transaction_range(NULL, keyspace, NULL, 0, NULL, 0, 0, &iter));
    CHECK(iter == NULL);
    IS(HOLM_INVALID, holm_transaction_prefix(NULL, keyspace, NULL, 0, 0, &iter));
    IS(HOLM_INVALID, holm_transaction_commit(NULL, &epoch));
    CHECK(epoch == 0);
    holm_transaction_discard(NULL);
    transaction = begun(database);
    IS(HOLM_INVALID, holm_transaction_get(transaction, NULL, "a", 1, NULL, 0, &size));
    IS(HOLM_INVALID, holm_transaction_get(transaction, keyspace, "a", 1, NULL, 1, &size));
    IS(HOLM_INVALID, holm_transaction_get(transaction, keyspace, "a", 1, NULL, 0, NULL));
    IS(HOLM_INVALID, holm_transaction_get_copy(transaction, keyspace, "a", 1, NULL, &size));
    IS(HOLM_INVALID, holm_transaction_insert(transaction, keyspace, NULL, 1, "b", 1));
    IS(HOLM_INVALID, holm_transaction_insert(transaction, keyspace, "a", 1, NULL, 1));
    IS(HOLM_TOO_LARGE, holm_transaction_insert(transaction, keyspace, "a", 65537, "b", 1));
    IS(HOLM_INVALID, holm_transaction_range(transaction, keyspace, NULL, 1, NULL, 0, 0, &iter));
    IS(HOLM_INVALID, holm_transaction_range(transaction, keyspace, NULL, 0, NULL, 0, 0, NULL));
    IS(HOLM_INVALID, holm_transaction_prefix(transaction, NULL, NULL, 0, 0, &iter));
    holm_transaction_discard(transaction);
    IS(HOLM_INVALID, holm_transact(NULL, never, NULL));
    IS(HOLM_INVALID, holm_transact(database, NULL, NULL));
}

/* Checks the next pair's key; with an empty key, that there is none. */
static void next_is(const char *key, holm_iter *iter, int back) {
    const void *found, *value;
    size_t size, value_size;
    int code = back ? holm_next_back(iter, &found, &size, &value, &value_size)
                    : holm_next(iter, &found, &size, &value, &value_size);
    IS(*key ? HOLM_OK : HOLM_ABSENT, code);
    CHECK(size == strlen(key) && (!size || !memcmp(found, key, size)));
}

static void own_writes(holm_database *database, holm_keyspace *keyspace) {
    char buffer[4];
    void *value;
    size_t size;
    uint64_t epoch;
    holm_iter *forward, *few;
    IS(HOLM_OK, holm_insert(keyspace, "b", 1, "2", 1));
    IS(HOLM_OK, holm_insert(keyspace, "d", 1, "4", 1));
    holm_transaction *transaction = begun(database);
    IS(HOLM_OK, holm_transaction_insert(transaction, keyspace, "a", 1, "1", 1));
    IS(HOLM_OK, holm_transaction_insert(transaction, keyspace, "c", 1, "long", 4));
    IS(HOLM_OK, holm_transaction_remove(transaction, keyspace, "b", 1));
    IS(HOLM_ABSENT, holm_transaction_contains(transaction, keyspace, "b", 1));
    IS(HOLM_OK, holm_transaction_contains(transaction, keyspace, "d", 1));
    IS(HOLM_OK, holm_transaction_get(transaction, keyspace, "c", 1, buffer, sizeof buffer, &size));
    CHECK(size == 4 && !memcmp(buffer, "long", 4));
    IS(HOLM_SHORT_BUFFER, holm_transaction_get(transaction, keyspace, "c", 1, buffer, 3, &size));
    CHECK(size == 4);
    IS(HOLM_ABSENT, holm_transaction_get(transaction, keyspace, "x", 1, buffer, sizeof buffer, &size));
    IS(HOLM_OK, holm_transaction_get_copy(transaction, keyspace, "d", 1, &value, &size));
    COPY("4", value, size);
    /* Two iterators at once, one of them limited; a write behind the first one's position is among its pairs. */
    IS(HOLM_OK, holm_transaction_range(transaction, keyspace, NULL, 0, NULL, 0, 0, &forward));
    IS(HOLM_OK, holm_transaction_range(transaction, keyspace, "b", 1, "e", 1, 1, &few));
    next_is("a", forward, 0);
    IS(HOLM_OK, holm_transaction_insert(transaction, keyspace, "cc", 2, "", 0));
    next_is("d", few, 1);
    next_is("", few, 1);
    holm_close_iter(few);
    IS(HOLM_OK, holm_transaction_prefix(transaction, keyspace, "c", 1, 0, &few));
    next_is("c", few, 0);
    next_is("c", forward, 0);
    next_is("d", forward, 1);
    next_is("cc", forward, 1);
    next_is("", forward, 0);
    next_is("", forward, 1);
    /* Nobody else sees any of it yet. */
    IS(HOLM_ABSENT, holm_contains(keyspace, "a", 1));
    IS(HOLM_OK, holm_contains(keyspace, "b", 1));
    IS(HOLM_OK, holm_transaction_commit(transaction, &epoch));
    CHECK(epoch > 0);
    IS(HOLM_OK, holm_contains(keyspace, "a", 1));
    IS(HOLM_ABSENT, holm_contains(keyspace, "b", 1));
    /* Both iterators have outlived it, one in the middle of its range. */
    IS(HOLM_ENDED, holm_next(few, NULL, NULL, NULL, NULL));
    IS(HOLM_ENDED, holm_next_back(few, NULL, NULL, NULL, NULL));
    IS(HOLM_ENDED, holm_next(forward, NULL, NULL, NULL, NULL));
    holm_close_iter(few);
    holm_close_iter(forward);
    /* Without writes, and without anything. */
    transaction = begun(database);
    IS(HOLM_OK, holm_transaction_contains(transaction, keyspace, "a", 1));
    IS(HOLM_OK, holm_transaction_commit(transaction, NULL));
    IS(HOLM_OK, holm_transaction_commit(begun(database), &epoch));
    /* Discarded with an open iterator. */
    transaction = begun(database);
    IS(HOLM_OK, holm_transaction_remove(transaction, keyspace, "a", 1));
    IS(HOLM_OK, holm_transaction_range(transaction, keyspace, NULL, 0, NULL, 0, 0, &forward));
    next_is("c", forward, 0);
    holm_transaction_discard(transaction);
    IS(HOLM_ENDED, holm_next(forward, NULL, NULL, NULL, NULL));
    holm_close_iter(forward);
    IS(HOLM_OK, holm_contains(keyspace, "a", 1));
}

static void conflicts(holm_database *database, holm_keyspace *keyspace) {
    char buffer[8];
    size_t size;
    uint64_t epoch = 1;
    holm_iter *iter;
    IS(HOLM_OK, holm_insert(keyspace, "x", 1, "1", 1));
    IS(HOLM_OK, holm_insert(keyspace, "y", 1, "1", 1));
    /* Write skew: each reads both and writes one. */
    holm_transaction *one = begun(database), *two = begun(database);
    IS(HOLM_OK, holm_transaction_get(one, keyspace, "x", 1, buffer, sizeof buffer, &size));
    IS(HOLM_OK, holm_transaction_get(one, keyspace, "y", 1, buffer, sizeof buffer, &size));
    IS(HOLM_OK, holm_transaction_get(two, keyspace, "x", 1, buffer, sizeof buffer, &size));
    IS(HOLM_OK, holm_transaction_get(two, keyspace, "y", 1, buffer, sizeof buffer, &size));
    IS(HOLM_OK, holm_transaction_insert(one, keyspace, "x", 1, "0", 1));
    IS(HOLM_OK, holm_transaction_insert(two, keyspace, "y", 1, "0", 1));
    IS(HOLM_OK, holm_transaction_commit(one, NULL));
    IS(HOLM_CONFLICT, holm_transaction_commit(two, &epoch));
    CHECK(epoch == 0 && strstr(holm_message(), "another thread"));
    IS(HOLM_OK, holm_get(keyspace, "y", 1, buffer, sizeof buffer, &size));
    CHECK(size == 1 && *buffer == '1');
    /* A phantom: what an iterator has not found appears. */
    one = begun(database);
    IS(HOLM_OK, holm_transaction_prefix(one, keyspace, "phantom", 7, 0, &iter));
    next_is("", iter, 0);
    IS(HOLM_OK, holm_insert(keyspace, "phantom", 7, "", 0));
    IS(HOLM_OK, holm_transaction_insert(one, keyspace, "x", 1, "none", 4));
    IS(HOLM_CONFLICT, holm_transaction_commit(one, NULL));
    IS(HOLM_ENDED, holm_next(iter, NULL, NULL, NULL, NULL));
    holm_close_iter(iter);
    /* Read skew is seen by the read itself. Every later call says the same. */
    one = begun(database);
    IS(HOLM_OK, holm_transaction_contains(one, keyspace, "x", 1));
    IS(HOLM_OK, holm_transaction_range(one, keyspace, NULL, 0, NULL, 0, 0, &iter));
    IS(HOLM_OK, holm_remove(keyspace, "x", 1));
    IS(HOLM_CONFLICT, holm_transaction_contains(one, keyspace, "y", 1));
    IS(HOLM_CONFLICT, holm_transaction_insert(one, keyspace, "y", 1, "", 0));
    IS(HOLM_CONFLICT, holm_next(iter, NULL, NULL, NULL, NULL));
    IS(HOLM_CONFLICT, holm_transaction_commit(one, NULL));
    holm_close_iter(iter);
}

/* What the work of a retried transaction needs, and how often it ran. */
struct move {
    holm_database *database;
    holm_keyspace *accounts;
    holm_iter *left_open;
    int runs;
};

/* Adds 1 to one of two accounts and takes it from the other. */
static int moves(holm_transaction *transaction, void *context) {
    struct move *move = context;
    int64_t from = 0, to = 0;
    size_t size;
    int code = holm_transaction_get(transaction, move->accounts, "from", 4, &from, sizeof from, &size);
    if (code < 0 || (code = holm_transaction_get(transaction, move->accounts, "to", 2, &to, sizeof to, &size)) < 0)
        return code;
    /* It never sees one half of a move. */
    CHECK(from + to == 0);
    from--, to++;
    move->runs++;
    code = holm_transaction_insert(transaction, move->accounts, "from", 4, &from, sizeof from);
    return code ? code : holm_transaction_insert(transaction, move->accounts, "to", 2, &to, sizeof to);
}

static void *mover(void *context) {
    struct move move = *(struct move *)context;
    for (int round = 0; round < 300; round++)
        IS(HOLM_OK, holm_transact(move.database, moves, &move));
    return NULL;
}

static int refuses(holm_transaction *transaction, void *context) {
    struct move *move = context;
    IS(HOLM_OK, holm_transaction_insert(transaction, move->accounts, "refused", 7, "", 0));
    return -1000;
}

/* Does with the lent transaction what must not be done with it. */
static int misuses(holm_transaction *transaction, void *context) {
    struct move *move = context;
    IS(HOLM_INVALID, holm_transact(move->database, never, NULL));
    IS(HOLM_INVALID, holm_transaction_commit(transaction, NULL));
    holm_transaction_discard(transaction);
    IS(HOLM_OK, holm_transaction_insert(transaction, move->accounts, "kept", 4, "", 0));
    IS(HOLM_OK, holm_transaction_prefix(transaction, move->accounts, "kept", 4, 0, &move->left_open));
    return HOLM_OK;
}

/* Conflicts once: the first attempt changes what it has read. */
static int conflicts_once(holm_transaction *transaction, void *context) {
    struct move *move = context;
    int code = holm_transaction_contains(transaction, move->accounts, "once", 4);
    if (!move->runs++)
        IS(HOLM_OK, holm_insert(move->accounts, "once", 4, "", 0));
    CHECK(code == (move->runs == 1 ? HOLM_ABSENT : HOLM_OK));
    code = holm_transaction_contains(transaction, move->accounts, "other", 5);
    CHECK(code == (move->runs == 1 ? HOLM_CONFLICT : HOLM_ABSENT));
    return HOLM_OK;
}

static void retries(holm_database *database, holm_keyspace *keyspace) {
    struct move move = { database, keyspace, NULL, 0 };
    pthread_t threads[3];
    int64_t from, to;
    size_t size;
    for (int number = 0; number < 3; number++)
        CHECK(!pthread_create(&threads[number], NULL, mover, &move));
    for (int number = 0; number < 3; number++)
        CHECK(!pthread_join(threads[number], NULL));
    IS(HOLM_OK, holm_get(keyspace, "from", 4, &from, sizeof from, &size));
    IS(HOLM_OK, holm_get(keyspace, "to", 2, &to, sizeof to, &size));
    CHECK(from == -900 && to == 900);
    CHECK(holm_transact(database, refuses, &move) == -1000);
    IS(HOLM_ABSENT, holm_contains(keyspace, "refused", 7));
    IS(HOLM_OK, holm_transact(database, misuses, &move));
    IS(HOLM_OK, holm_contains(keyspace, "kept", 4));
    IS(HOLM_ENDED, holm_next(move.left_open, NULL, NULL, NULL, NULL));
    holm_close_iter(move.left_open);
    IS(HOLM_OK, holm_transact(database, conflicts_once, &move));
    CHECK(move.runs == 2);
}

/* Another database's keyspace, one of a snapshot, one that is dropped, and a database that is closed. */
static void strangers(holm_database *database, holm_keyspace *keyspace, const char *beside) {
    holm_options options = small();
    holm_database *other;
    holm_keyspace *others, *dropped, *past;
    holm_snapshot *snapshot;
    holm_iter *iter;
    IS(HOLM_OK, holm_open(beside, &options, &other));
    IS(HOLM_OK, holm_open_keyspace(other, "others", &others));
    IS(HOLM_OK, holm_insert(others, "a", 1, "1", 1));
    holm_transaction *transaction = begun(database);
    IS(HOLM_INVALID, holm_transaction_contains(transaction, others, "a", 1));
    IS(HOLM_INVALID, holm_transaction_insert(transaction, others, "a", 1, "b", 1));
    IS(HOLM_INVALID, holm_transaction_range(transaction, others, NULL, 0, NULL, 0, 0, &iter));
    CHECK(iter == NULL);
    IS(HOLM_OK, holm_open_snapshot(database, &snapshot));
    IS(HOLM_OK, holm_open_snapshot_keyspace(snapshot, "main", &past));
    IS(HOLM_READ_ONLY, holm_transaction_contains(transaction, past, "a", 1));
    IS(HOLM_READ_ONLY, holm_transaction_remove(transaction, past, "a", 1));
    IS(HOLM_READ_ONLY, holm_transaction_range(transaction, past, NULL, 0, NULL, 0, 0, &iter));
    IS(HOLM_READ_ONLY, holm_transaction_prefix(transaction, past, NULL, 0, 0, &iter));
    holm_close_keyspace(past);
    holm_close_snapshot(snapshot);
    IS(HOLM_OK, holm_open_keyspace(database, "dropped", &dropped));
    IS(HOLM_OK, holm_transaction_insert(transaction, dropped, "a", 1, "1", 1));
    IS(HOLM_OK, holm_transaction_insert(transaction, keyspace, "with it", 7, "1", 1));
    IS(HOLM_OK, holm_drop_keyspace(database, "dropped"));
    IS(HOLM_DROPPED, holm_transaction_contains(transaction, dropped, "a", 1));
    IS(HOLM_DROPPED, holm_transaction_commit(transaction, NULL));
    IS(HOLM_ABSENT, holm_contains(keyspace, "with it", 7));
    holm_close_keyspace(dropped);

    /* Closes the database, then the keyspace, and uses what is left. */
    transaction = begun(other);
    holm_transaction *reader = begun(other);
    IS(HOLM_OK, holm_transaction_range(transaction, others, NULL, 0, NULL, 0, 0, &iter));
    IS(HOLM_OK, holm_close(other));
    IS(HOLM_OK, holm_transaction_contains(transaction, others, "a", 1));
    IS(HOLM_OK, holm_transaction_insert(transaction, others, "late", 4, "1", 1));
    IS(HOLM_OK, holm_transaction_contains(reader, others, "a", 1));
    holm_close_keyspace(others);
    next_is("a", iter, 0);
    next_is("late", iter, 0);
    IS(HOLM_POISONED, holm_transaction_commit(transaction, NULL));
    IS(HOLM_OK, holm_transaction_commit(reader, NULL));
    /* The folder is locked until the last handle is closed, even one that can do nothing any more. */
    IS(HOLM_ENDED, holm_next(iter, NULL, NULL, NULL, NULL));
    holm_close_iter(iter);
    IS(HOLM_OK, holm_open(beside, &options, &other));
    IS(HOLM_OK, holm_close(other));
}

int main(int count, char **arguments) {
    CHECK(count == 3);
    holm_options options = small();
    holm_database *database;
    holm_keyspace *keyspace, *accounts;
    IS(HOLM_OK, holm_open(arguments[1], &options, &database));
    IS(HOLM_OK, holm_open_keyspace(database, "main", &keyspace));
    IS(HOLM_OK, holm_open_keyspace(database, "accounts", &accounts));
    nulls(database, keyspace);
    own_writes(database, keyspace);
    conflicts(database, keyspace);
    retries(database, accounts);
    strangers(database, keyspace, arguments[2]);
    holm_close_keyspace(accounts);
    holm_close_keyspace(keyspace);
    IS(HOLM_OK, holm_close(database));
    puts("every transaction");
    return 0;
}
