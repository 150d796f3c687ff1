/*
 * Change feeds: a copy that follows a database through puts, removals, batches, transactions, keyspaces that come and
 * go and keys that expire; beside a writer until the database is closed; a feed that lags; and what is refused. Runs
 * plainly and under the address sanitizer.
 */
#include "check.h"
#include <pthread.h>

_Static_assert(sizeof(holm_change) == 72, "a change is laid out as the library has it");

enum { MOST = 1 << 24, HOUR = 3600 * 1000 };
static const uint64_t FAR = 4102444800000; /* the year 2100 */

static holm_keyspace *keyspace_of(holm_database *database, const char *name) {
    holm_keyspace *keyspace;
    IS(HOLM_OK, holm_open_keyspace(database, name, &keyspace));
    return keyspace;
}

static holm_keyspace *created(holm_database *database, const char *name, int expires) {
    holm_keyspace_options options = HOLM_KEYSPACE_OPTIONS;
    holm_keyspace *keyspace;
    options.expires = expires;
    IS(HOLM_OK, holm_open_keyspace_with(database, name, &options, &keyspace));
    return keyspace;
}

/* Stores a pair with the expiry that it had. */
static void put(holm_batch *batch, holm_keyspace *keyspace, const void *key, size_t key_size, const void *value,
                size_t value_size, uint64_t expires_ms) {
    if (expires_ms)
        IS(HOLM_OK, holm_batch_insert_until(batch, keyspace, key, key_size, value, value_size, expires_ms));
    else
        IS(HOLM_OK, holm_batch_insert(batch, keyspace, key, key_size, value, value_size));
}

/* Applies one change. The keyspaces are opened by their names, which are texts. */
static void apply_one(holm_database *copy, holm_batch *batch, const holm_change *change) {
    holm_keyspace *keyspace;
    CHECK(change->keyspace_size == strlen(change->keyspace));
    CHECK((change->key != NULL) == (change->kind >= HOLM_CHANGE_REMOVE));
    CHECK((change->value != NULL) == (change->kind == HOLM_CHANGE_PUT));
    switch (change->kind) {
    case HOLM_CHANGE_DROP:
        IS(HOLM_OK, holm_drop_keyspace(copy, change->keyspace));
        return;
    case HOLM_CHANGE_CREATE:
        IS(HOLM_ABSENT, holm_open_existing_keyspace(copy, change->keyspace, &keyspace));
        keyspace = created(copy, change->keyspace, change->expires);
        break;
    case HOLM_CHANGE_REMOVE:
        IS(HOLM_OK, holm_open_existing_keyspace(copy, change->keyspace, &keyspace));
        IS(HOLM_OK, holm_contains(keyspace, change->key, change->key_size));
        IS(HOLM_OK, holm_batch_remove(batch, keyspace, change->key, change->key_size));
        break;
    default:
        CHECK(change->kind == HOLM_CHANGE_PUT);
        IS(HOLM_OK, holm_open_existing_keyspace(copy, change->keyspace, &keyspace));
        put(batch, keyspace, change->key, change->key_size, change->value, change->value_size, change->expires_ms);
    }
    holm_close_keyspace(keyspace);
}

/* Applies an epoch as one batch, with the mark. */
static void apply(holm_database *copy, holm_changes *changes) {
    holm_change change = HOLM_CHANGE;
    holm_batch *batch;
    uint64_t count, index, mark, bytes;
    IS(HOLM_OK, holm_batch_begin(copy, &batch));
    IS(HOLM_OK, holm_changes_count(changes, &count));
    IS(HOLM_OK, holm_changes_memory(changes, &bytes));
    CHECK(bytes > count);
    for (index = 0; index < count; index++) {
        IS(HOLM_OK, holm_changes_get(changes, index, &change));
        apply_one(copy, batch, &change);
    }
    IS(HOLM_ABSENT, holm_changes_get(changes, index, &change));
    CHECK(change.kind == 0 && change.keyspace == NULL && change.key_size == 0);
    IS(HOLM_ABSENT, holm_changes_get(changes, UINT64_MAX, &change));
    if (holm_changes_mark(changes, &mark) == HOLM_OK)
        IS(HOLM_OK, holm_batch_set_mark(batch, mark));
    else
        CHECK(count > 0 && mark == 0);
    IS(HOLM_OK, holm_batch_commit(batch));
}

/* Applies what the feed has. Returns how many epochs it had, and the code that ended it in `code`. */
static int follow(holm_database *copy, holm_feed *feed, int64_t timeout_ms, int *code) {
    holm_changes *changes;
    uint64_t epoch, since;
    int epochs = 0;
    while (!(*code = holm_feed_next(feed, timeout_ms, &changes))) {
        IS(HOLM_OK, holm_changes_epoch(changes, &epoch));
        IS(HOLM_OK, holm_feed_since(feed, &since));
        CHECK(epoch == since);
        apply(copy, changes);
        holm_close_changes(changes);
        epochs++;
    }
    CHECK(changes == NULL);
    return epochs;
}

/* Stores all that a snapshot has. */
static void copy_of(holm_database *copy, holm_snapshot *snapshot) {
    holm_keyspace_options options = HOLM_KEYSPACE_OPTIONS;
    const void *name, *key, *value;
    size_t key_size, value_size;
    holm_iter *names, *pairs;
    holm_batch *batch;
    IS(HOLM_OK, holm_snapshot_keyspaces(snapshot, &names));
    IS(HOLM_OK, holm_batch_begin(copy, &batch));
    while (holm_next(names, &name, NULL, NULL, NULL) == HOLM_OK) {
        holm_keyspace *from, *to;
        uint64_t expires_ms = 0;
        IS(HOLM_OK, holm_open_snapshot_keyspace(snapshot, name, &from));
        IS(HOLM_OK, holm_read_keyspace_options(from, &options));
        to = created(copy, name, options.expires);
        IS(HOLM_OK, holm_range(from, NULL, 0, NULL, 0, 0, &pairs));
        while (holm_next(pairs, &key, &key_size, &value, &value_size) == HOLM_OK) {
            if (options.expires)
                IS(HOLM_OK, holm_expiry(from, key, key_size, &expires_ms));
            put(batch, to, key, key_size, value, value_size, expires_ms);
        }
        holm_close_iter(pairs);
        holm_close_keyspace(from);
        holm_close_keyspace(to);
    }
    holm_close_iter(names);
    IS(HOLM_OK, holm_batch_commit(batch));
}

/* Two keyspaces have the same options, and the same pairs with the same expiry. Returns how many. */
static int same_pairs(holm_keyspace *one, holm_keyspace *other) {
    holm_keyspace_options options = HOLM_KEYSPACE_OPTIONS, others = HOLM_KEYSPACE_OPTIONS;
    holm_iter *iters[2];
    const void *keys[2], *values[2];
    size_t key_sizes[2], value_sizes[2];
    int pairs = 0;
    IS(HOLM_OK, holm_read_keyspace_options(one, &options));
    IS(HOLM_OK, holm_read_keyspace_options(other, &others));
    CHECK(options.expires == others.expires);
    IS(HOLM_OK, holm_range(one, NULL, 0, NULL, 0, 0, &iters[0]));
    IS(HOLM_OK, holm_range(other, NULL, 0, NULL, 0, 0, &iters[1]));
    for (;; pairs++) {
        int code = holm_next(iters[0], &keys[0], &key_sizes[0], &values[0], &value_sizes[0]);
        CHECK(code == holm_next(iters[1], &keys[1], &key_sizes[1], &values[1], &value_sizes[1]));
        if (code == HOLM_ABSENT)
            break;
        CHECK(key_sizes[0] == key_sizes[1] && !memcmp(keys[0], keys[1], key_sizes[0]));
        CHECK(value_sizes[0] == value_sizes[1] && !memcmp(values[0], values[1], value_sizes[0]));
        if (options.expires) {
            uint64_t time, others_time;
            IS(HOLM_OK, holm_expiry(one, keys[0], key_sizes[0], &time));
            IS(HOLM_OK, holm_expiry(other, keys[0], key_sizes[0], &others_time));
            CHECK(time == others_time);
        }
    }
    holm_close_iter(iters[0]);
    holm_close_iter(iters[1]);
    return pairs;
}

/* Two databases have the same keyspaces and the same mark. Returns how many pairs. */
static int same(holm_database *database, holm_database *copy) {
    holm_iter *names, *copied;
    const void *name, *copied_name;
    uint64_t mark, copied_mark;
    int pairs = 0;
    IS(HOLM_OK, holm_keyspaces(database, &names));
    IS(HOLM_OK, holm_keyspaces(copy, &copied));
    while (holm_next(names, &name, NULL, NULL, NULL) == HOLM_OK) {
        IS(HOLM_OK, holm_next(copied, &copied_name, NULL, NULL, NULL));
        CHECK(!strcmp(name, copied_name));
        holm_keyspace *one = keyspace_of(database, name), *other = keyspace_of(copy, name);
        pairs += same_pairs(one, other);
        holm_close_keyspace(one);
        holm_close_keyspace(other);
    }
    IS(HOLM_ABSENT, holm_next(copied, NULL, NULL, NULL, NULL));
    holm_close_iter(names);
    holm_close_iter(copied);
    CHECK(holm_mark(database, &mark) == holm_mark(copy, &copied_mark) && mark == copied_mark);
    return pairs;
}

/* Some of everything that changes a database; each round differs. */
static void change(holm_database *database, unsigned round) {
    holm_keyspace *reefs = keyspace_of(database, "reefs"), *tides = created(database, "tides", 1);
    holm_batch *batch;
    holm_transaction *transaction;
    char key[16];
    for (unsigned number = 0; number < 40; number++) {
        int size = snprintf(key, sizeof key, "%u", (number * 7 + round * 13) % 97);
        IS(HOLM_OK, holm_insert(reefs, key, size, &round, sizeof round));
        holm_remove(reefs, key, size - 1);
        IS(HOLM_OK, holm_insert_until(tides, key, size, &number, sizeof number, FAR + round));
    }
    IS(HOLM_OK, holm_insert(reefs, "", 0, "", 0));
    IS(HOLM_OK, holm_expire_at(tides, key, strlen(key), FAR + HOUR));
    IS(HOLM_OK, holm_batch_begin(database, &batch));
    IS(HOLM_OK, holm_batch_insert(batch, reefs, "both", 4, &round, sizeof round));
    IS(HOLM_OK, holm_batch_insert(batch, tides, "both", 4, &round, sizeof round));
    IS(HOLM_OK, holm_batch_set_mark(batch, 2 * round + 1));
    IS(HOLM_OK, holm_batch_commit(batch));
    IS(HOLM_OK, holm_transaction_begin(database, &transaction));
    IS(HOLM_OK, holm_transaction_expire_in(transaction, tides, "both", 4, (uint64_t)HOUR * 1000));
    IS(HOLM_OK, holm_transaction_remove_range(transaction, reefs, "3", 1, "5", 1, NULL));
    IS(HOLM_OK, holm_transaction_commit(transaction, NULL));
    holm_close_keyspace(reefs);
    holm_close_keyspace(tides);
    /* Keyspaces that come and go, one of them under its old name and with other options. */
    if (round % 3 == 1)
        IS(HOLM_OK, holm_drop_keyspace(database, "passing"));
    reefs = round % 3 == 2 ? keyspace_of(database, "passing") : created(database, "passing", round % 3 == 1);
    IS(HOLM_OK, holm_insert(reefs, "north", 5, &round, sizeof round));
    holm_close_keyspace(reefs);
    if (round % 3 == 2)
        IS(HOLM_OK, holm_drop_keyspace(database, "passing"));
}

/* After each sync the copy is what the database is. */
static void replica(holm_database *database, holm_database *copy) {
    holm_snapshot *snapshot;
    holm_feed *feed;
    holm_stats stats;
    uint64_t epoch, since, pairs = 0;
    int code, epochs = 0;
    change(database, 0);
    IS(HOLM_OK, holm_open_snapshot_and_feed(database, MOST, &snapshot, &feed));
    IS(HOLM_OK, holm_snapshot_epoch(snapshot, &epoch));
    IS(HOLM_OK, holm_feed_since(feed, &since));
    CHECK(epoch == since);
    IS(HOLM_ABSENT, holm_drop_keyspace(copy, "passing"));
    copy_of(copy, snapshot);
    IS(HOLM_OK, holm_snapshot_mark(snapshot, &pairs));
    holm_close_snapshot(snapshot);
    holm_batch *batch;
    IS(HOLM_OK, holm_batch_begin(copy, &batch));
    IS(HOLM_OK, holm_batch_set_mark(batch, pairs));
    IS(HOLM_OK, holm_batch_commit(batch));
    CHECK(same(database, copy) > 40);
    for (unsigned round = 1; round < 8; round++) {
        change(database, round);
        IS(HOLM_OK, holm_sync(database));
        epochs += follow(copy, feed, 0, &code);
        CHECK(code == HOLM_ABSENT && same(database, copy) > 40);
    }
    CHECK(epochs >= 7);
    IS(HOLM_OK, holm_read_stats(database, &stats, sizeof stats));
    CHECK(stats.feeds == 1 && stats.feed_epochs >= 7 && stats.feed_changes > 7 * 40 && stats.feed_bytes == 0);
    CHECK(stats.feeds_lagged == 2 && stats.feed_read_ns > 0);
    holm_close_feed(feed);
    IS(HOLM_OK, holm_read_stats(database, &stats, sizeof stats));
    CHECK(stats.feeds == 0);
}

/* Changes, and closes the database while the other thread waits for it. */
static void *writer(void *context) {
    for (unsigned round = 8; round < 30; round++)
        change(context, round);
    IS(HOLM_OK, holm_close(context));
    return NULL;
}

/* A copy follows a writer until the database is closed, and is then what the next session finds. */
static void until_the_end(const char *folder, holm_database *database, holm_database *copy) {
    holm_options options = small();
    holm_changes *changes;
    holm_feed *feed, *late;
    pthread_t thread;
    int code;
    IS(HOLM_OK, holm_open_feed(database, MOST, &feed));
    IS(HOLM_OK, holm_open_feed(database, MOST, &late));
    CHECK(!pthread_create(&thread, NULL, writer, database));
    int epochs = follow(copy, feed, HOLM_FOREVER, &code);
    CHECK(code == HOLM_CLOSED && epochs > 0);
    CHECK(strstr(holm_message(), "closed") != NULL);
    CHECK(!pthread_join(thread, NULL));
    IS(HOLM_CLOSED, holm_feed_next(feed, 0, &changes));
    CHECK(changes == NULL);
    holm_close_feed(feed);
    IS(HOLM_OK, holm_open(folder, &options, &database));
    CHECK(same(database, copy) > 40);
    /* The other feed still has what its reader has not taken; changes outlive the feed. */
    IS(HOLM_OK, holm_feed_next(late, HOUR, &changes));
    holm_close_feed(late);
    holm_change change = HOLM_CHANGE;
    IS(HOLM_OK, holm_changes_get(changes, 0, &change));
    CHECK(change.kind && change.keyspace && change.keyspace_size == strlen(change.keyspace));
    holm_close_changes(changes);
    IS(HOLM_OK, holm_close(database));
}

static void lag(holm_database *database) {
    holm_keyspace *reefs = keyspace_of(database, "reefs");
    holm_stats stats;
    holm_changes *changes;
    holm_feed *feed, *other;
    char value[1000] = { 0 };
    uint64_t since;
    int code;
    IS(HOLM_OK, holm_open_feed(database, 20000, &feed));
    IS(HOLM_OK, holm_open_feed(database, MOST, &other));
    IS(HOLM_OK, holm_insert(reefs, "first", 5, "", 0));
    IS(HOLM_OK, holm_sync(database));
    for (int number = 0; number < 100; number++)
        IS(HOLM_OK, holm_insert(reefs, &number, sizeof number, value, sizeof value));
    IS(HOLM_OK, holm_sync(database));
    /* What came before is given, and then the error again and again. */
    int given = 0;
    while ((code = holm_feed_next(feed, HOLM_FOREVER, &changes)) == HOLM_OK) {
        IS(HOLM_OK, holm_feed_since(feed, &since));
        holm_close_changes(changes);
        given++;
    }
    CHECK(code == HOLM_LAGGED && given > 0 && changes == NULL);
    IS(HOLM_LAGGED, holm_feed_next(feed, 0, &changes));
    IS(HOLM_OK, holm_feed_since(feed, &since));
    CHECK(since > 0);
    IS(HOLM_OK, holm_read_stats(database, &stats, sizeof stats));
    CHECK(stats.feeds == 1 && stats.feeds_lagged == 1 && stats.feed_bytes > 100000);
    holm_close_feed(feed);
    IS(HOLM_OK, holm_feed_next(other, 0, &changes));
    holm_close_changes(changes);
    holm_close_feed(other);
    /* Not even one change fits. */
    IS(HOLM_OK, holm_open_feed(database, 0, &feed));
    IS(HOLM_OK, holm_insert(reefs, "first", 5, "1", 1));
    IS(HOLM_LAGGED, holm_feed_next(feed, HOLM_FOREVER, &changes));
    holm_close_feed(feed);
    holm_close_keyspace(reefs);
}

static void refusals(holm_database *database) {
    holm_snapshot *snapshot = (holm_snapshot *)database;
    holm_feed *feed = (holm_feed *)database;
    holm_changes *changes;
    holm_keyspace *keyspace;
    holm_change change = HOLM_CHANGE;
    uint64_t number = 1;
    IS(HOLM_INVALID, holm_open_feed(NULL, MOST, &feed));
    CHECK(feed == NULL);
    IS(HOLM_INVALID, holm_open_feed(database, MOST, NULL));
    feed = (holm_feed *)database;
    IS(HOLM_INVALID, holm_open_snapshot_and_feed(NULL, MOST, &snapshot, &feed));
    CHECK(feed == NULL && snapshot == NULL);
    feed = (holm_feed *)database;
    IS(HOLM_INVALID, holm_open_snapshot_and_feed(database, MOST, NULL, &feed));
    CHECK(feed == NULL);
    IS(HOLM_INVALID, holm_open_snapshot_and_feed(database, MOST, &snapshot, NULL));
    /* The feed begins with an epoch in which nothing has changed yet. */
    IS(HOLM_OK, holm_sync(database));
    IS(HOLM_OK, holm_open_feed(database, UINT64_MAX, &feed));
    IS(HOLM_INVALID, holm_feed_since(NULL, &number));
    CHECK(number == 0);
    IS(HOLM_INVALID, holm_feed_since(feed, NULL));
    IS(HOLM_INVALID, holm_feed_next(NULL, 0, &changes));
    IS(HOLM_INVALID, holm_feed_next(feed, 0, NULL));
    IS(HOLM_INVALID, holm_feed_next(feed, -2, &changes));
    CHECK(changes == NULL);
    IS(HOLM_INVALID, holm_feed_next(feed, INT64_MIN, &changes));
    while (holm_feed_next(feed, 0, &changes) == HOLM_OK)
        holm_close_changes(changes);
    IS(HOLM_OK, holm_open_keyspace(database, "refused", &keyspace));
    IS(HOLM_OK, holm_insert(keyspace, "north", 5, "coral", 5));
    IS(HOLM_OK, holm_feed_next(feed, INT64_MAX, &changes));
    IS(HOLM_INVALID, holm_changes_epoch(changes, NULL));
    IS(HOLM_INVALID, holm_changes_epoch(NULL, &number));
    IS(HOLM_INVALID, holm_changes_mark(changes, NULL));
    IS(HOLM_ABSENT, holm_changes_mark(changes, &number));
    IS(HOLM_INVALID, holm_changes_count(changes, NULL));
    IS(HOLM_INVALID, holm_changes_memory(NULL, &number));
    IS(HOLM_INVALID, holm_changes_get(changes, 0, NULL));
    IS(HOLM_INVALID, holm_changes_get(NULL, 0, &change));
    change.size = 7;
    IS(HOLM_INVALID, holm_changes_get(changes, 0, &change));
    /* Callers with an earlier and a later version of the struct. */
    memset(&change, 9, sizeof change);
    change.size = offsetof(holm_change, keyspace);
    IS(HOLM_OK, holm_changes_get(changes, 0, &change));
    CHECK(change.kind == HOLM_CHANGE_CREATE && change.expires == 0 && change.keyspace_size == 0x0909090909090909);
    struct { holm_change known; uint64_t later; } later = { HOLM_CHANGE, 7 };
    later.known.size = sizeof later;
    IS(HOLM_OK, holm_changes_get(changes, 0, &later.known));
    CHECK(!strcmp(later.known.keyspace, "refused") && later.later == 0);
    holm_close_changes(changes);
    holm_close_changes(NULL);
    holm_close_feed(feed);
    holm_close_feed(NULL);
    holm_close_keyspace(keyspace);
    IS(HOLM_OK, holm_drop_keyspace(database, "refused"));
}

int main(int count, char **arguments) {
    CHECK(count == 3);
    holm_options options = small();
    holm_database *database, *copy;
    IS(HOLM_OK, holm_open(arguments[1], &options, &database));
    IS(HOLM_OK, holm_open(arguments[2], &options, &copy));
    refusals(database);
    lag(database);
    replica(database, copy);
    until_the_end(arguments[1], database, copy);
    IS(HOLM_OK, holm_close(copy));
    puts("every feed");
    return 0;
}
