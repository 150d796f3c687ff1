/*
 * Keys that expire: keyspaces with and without expiry, deadlines in the past and in the future, sweeps, and what is
 * refused. Runs plainly and under the address sanitizer. No test waits for a time: what is over was over before.
 */
#include "check.h"
#include <dirent.h>
#include <time.h>

_Static_assert(sizeof(holm_keyspace_options) == 16, "options are laid out as the library has them");

enum { HOUR = 3600 * 1000 };

static uint64_t now_ms(void) {
    struct timespec now;
    CHECK(!clock_gettime(CLOCK_REALTIME, &now));
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The threads of this process; 0 where the system does not tell. */
static int threads(void) {
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    if (!tasks)
        return 0;
    for (struct dirent *task; (task = readdir(tasks));)
        count += *task->d_name != '.';
    closedir(tasks);
    return count;
}

static holm_keyspace *expiring(holm_database *database, const char *name) {
    holm_keyspace_options options = HOLM_KEYSPACE_OPTIONS;
    holm_keyspace *keyspace;
    options.expires = 1;
    IS(HOLM_OK, holm_open_keyspace_with(database, name, &options, &keyspace));
    return keyspace;
}

static void creation(holm_database *database) {
    holm_keyspace_options options = HOLM_KEYSPACE_OPTIONS;
    holm_keyspace *keyspace = (holm_keyspace *)&options;
    IS(HOLM_INVALID, holm_open_keyspace_with(NULL, "a", NULL, &keyspace));
    CHECK(keyspace == NULL);
    IS(HOLM_INVALID, holm_open_keyspace_with(database, NULL, NULL, &keyspace));
    IS(HOLM_INVALID, holm_open_keyspace_with(database, "", NULL, &keyspace));
    IS(HOLM_INVALID, holm_open_keyspace_with(database, "a", NULL, NULL));
    options.size = 7;
    IS(HOLM_INVALID, holm_open_keyspace_with(database, "a", &options, &keyspace));
    options.size = sizeof options;
    options.reserved = 1;
    IS(HOLM_INVALID, holm_open_keyspace_with(database, "a", &options, &keyspace));
    struct { holm_keyspace_options known; uint64_t later; } later = { HOLM_KEYSPACE_OPTIONS, 1 };
    later.known.size = sizeof later;
    IS(HOLM_UNSUPPORTED, holm_open_keyspace_with(database, "a", &later.known, &keyspace));
    CHECK(keyspace == NULL);
    later.later = 0;
    IS(HOLM_OK, holm_open_keyspace_with(database, "plain", &later.known, &keyspace));
    holm_close_keyspace(keyspace);
    IS(HOLM_OK, holm_open_keyspace_with(database, "plain", NULL, &keyspace));
    holm_close_keyspace(keyspace);
    options.reserved = 0;
    options.expires = -1;
    IS(HOLM_INVALID, holm_open_keyspace_with(database, "plain", &options, &keyspace));
    holm_close_keyspace(expiring(database, "tides"));
    IS(HOLM_INVALID, holm_open_keyspace_with(database, "tides", NULL, &keyspace));
    IS(HOLM_OK, holm_open_keyspace(database, "tides", &keyspace));
    IS(HOLM_OK, holm_insert_for(keyspace, "a", 1, "1", 1, HOUR));
    IS(HOLM_OK, holm_remove(keyspace, "a", 1));
    holm_close_keyspace(keyspace);
}

static void deadlines(holm_database *database, holm_keyspace *tides) {
    uint64_t count, before = now_ms(), time = 1;
    holm_snapshot *snapshot;
    holm_keyspace *then;
    char buffer[8];
    size_t size;
    IS(HOLM_OK, holm_insert_for(tides, "north", 5, "high", 4, HOUR));
    IS(HOLM_OK, holm_get(tides, "north", 5, buffer, sizeof buffer, &size));
    CHECK(size == 4 && !memcmp(buffer, "high", 4));
    IS(HOLM_OK, holm_expiry(tides, "north", 5, &time));
    /* The store's clock is coarse, so it may lag some milliseconds behind this one. */
    CHECK(time + 1000 >= before + HOUR && time <= now_ms() + HOUR);
    IS(HOLM_OK, holm_insert_until(tides, "south", 5, "low", 3, before + HOUR));
    IS(HOLM_OK, holm_expiry(tides, "south", 5, &time));
    CHECK(time == before + HOUR);
    IS(HOLM_OK, holm_insert(tides, "east", 4, "", 0));
    time = 1;
    IS(HOLM_OK, holm_expiry(tides, "east", 4, &time));
    CHECK(time == 0);
    /* Over before it is stored. */
    IS(HOLM_OK, holm_insert_for(tides, "past", 4, "1", 1, 0));
    IS(HOLM_OK, holm_insert_until(tides, "older", 5, "1", 1, 0));
    IS(HOLM_ABSENT, holm_contains(tides, "past", 4));
    IS(HOLM_ABSENT, holm_get(tides, "older", 5, buffer, sizeof buffer, &size));
    time = 1;
    IS(HOLM_ABSENT, holm_expiry(tides, "older", 5, &time));
    CHECK(time == 0);
    IS(HOLM_ABSENT, holm_expiry(tides, "west", 4, &time));
    IS(HOLM_OK, holm_count(tides, &count));
    CHECK(count == 5);
    /* The largest times. */
    IS(HOLM_OK, holm_insert_for(tides, "ever", 4, "", 0, UINT64_MAX));
    IS(HOLM_OK, holm_expiry(tides, "ever", 4, &time));
    CHECK(time == UINT64_MAX);
    IS(HOLM_OK, holm_insert_until(tides, "ever", 4, "", 0, UINT64_MAX));
    IS(HOLM_OK, holm_contains(tides, "ever", 4));
    IS(HOLM_OK, holm_remove(tides, "ever", 4));

    IS(HOLM_OK, holm_open_snapshot(database, &snapshot));
    IS(HOLM_OK, holm_open_snapshot_keyspace(snapshot, "tides", &then));
    IS(HOLM_OK, holm_persist(tides, "south", 5));
    IS(HOLM_ABSENT, holm_persist(tides, "south", 5));
    IS(HOLM_ABSENT, holm_persist(tides, "west", 4));
    IS(HOLM_ABSENT, holm_persist(tides, "past", 4));
    IS(HOLM_OK, holm_expiry(tides, "south", 5, &time));
    CHECK(time == 0);
    IS(HOLM_OK, holm_expiry(then, "south", 5, &time));
    CHECK(time == before + HOUR);
    /* A new time for the old value; over is over. */
    IS(HOLM_OK, holm_expire_at(tides, "south", 5, before + 2 * HOUR));
    IS(HOLM_OK, holm_expiry(tides, "south", 5, &time));
    CHECK(time == before + 2 * HOUR);
    IS(HOLM_OK, holm_get(tides, "south", 5, buffer, sizeof buffer, &size));
    CHECK(size == 3 && !memcmp(buffer, "low", 3));
    IS(HOLM_OK, holm_expire_in(tides, "south", 5, 3 * (uint64_t)HOUR));
    IS(HOLM_OK, holm_expiry(tides, "south", 5, &time));
    CHECK(time > before + 2 * HOUR);
    IS(HOLM_ABSENT, holm_expire_in(tides, "past", 4, HOUR));
    IS(HOLM_ABSENT, holm_expire_at(tides, "west", 4, before + HOUR));
    IS(HOLM_OK, holm_expire_at(tides, "east", 4, 0));
    IS(HOLM_ABSENT, holm_contains(tides, "east", 4));
    IS(HOLM_ABSENT, holm_expire_in(tides, "east", 4, HOUR));
    IS(HOLM_READ_ONLY, holm_expire_in(then, "south", 5, 1));
    IS(HOLM_READ_ONLY, holm_persist(then, "south", 5));
    IS(HOLM_READ_ONLY, holm_insert_for(then, "south", 5, "", 0, 1));
    holm_close_keyspace(then);
    holm_close_snapshot(snapshot);
}

static void together(holm_database *database, holm_keyspace *tides, holm_keyspace *plain) {
    uint64_t time, until = now_ms() + HOUR;
    holm_batch *batch;
    holm_transaction *transaction;
    IS(HOLM_OK, holm_batch_begin(database, &batch));
    IS(HOLM_OK, holm_batch_insert_for(batch, tides, "b1", 2, "1", 1, HOUR));
    IS(HOLM_OK, holm_batch_insert_until(batch, tides, "b2", 2, "1", 1, until));
    IS(HOLM_OK, holm_batch_insert_for(batch, tides, "b3", 2, "1", 1, 0));
    IS(HOLM_OK, holm_batch_commit(batch));
    IS(HOLM_OK, holm_contains(tides, "b1", 2));
    IS(HOLM_OK, holm_expiry(tides, "b2", 2, &time));
    CHECK(time == until);
    IS(HOLM_ABSENT, holm_contains(tides, "b3", 2));

    IS(HOLM_OK, holm_transaction_begin(database, &transaction));
    IS(HOLM_OK, holm_transaction_insert_for(transaction, tides, "t1", 2, "1", 1, 0));
    IS(HOLM_ABSENT, holm_transaction_contains(transaction, tides, "t1", 2));
    IS(HOLM_OK, holm_transaction_insert_for(transaction, tides, "t1", 2, "1", 1, HOUR));
    IS(HOLM_OK, holm_transaction_insert_until(transaction, tides, "t2", 2, "1", 1, until));
    IS(HOLM_OK, holm_transaction_contains(transaction, tides, "t2", 2));
    IS(HOLM_OK, holm_transaction_expire_at(transaction, tides, "b1", 2, 0));
    IS(HOLM_ABSENT, holm_transaction_contains(transaction, tides, "b1", 2));
    IS(HOLM_OK, holm_contains(tides, "b1", 2));
    IS(HOLM_OK, holm_transaction_expire_in(transaction, tides, "b2", 2, 2 * (uint64_t)HOUR));
    IS(HOLM_OK, holm_expiry(tides, "b2", 2, &time));
    CHECK(time == until);
    IS(HOLM_ABSENT, holm_transaction_expire_at(transaction, tides, "b1", 2, until));
    IS(HOLM_OK, holm_transaction_expire_at(transaction, tides, "t1", 2, until));
    IS(HOLM_ABSENT, holm_transaction_expire_at(transaction, tides, "b3", 2, until));
    time = 1;
    IS(HOLM_OK, holm_transaction_expiry(transaction, tides, "t1", 2, &time));
    CHECK(time == until);
    IS(HOLM_ABSENT, holm_transaction_expiry(transaction, tides, "b1", 2, &time));
    CHECK(time == 0);
    IS(HOLM_OK, holm_transaction_persist(transaction, tides, "t1", 2));
    IS(HOLM_ABSENT, holm_transaction_persist(transaction, tides, "t1", 2));
    IS(HOLM_ABSENT, holm_transaction_persist(transaction, tides, "b1", 2));
    time = 1;
    IS(HOLM_OK, holm_transaction_expiry(transaction, tides, "t1", 2, &time));
    CHECK(time == 0);
    IS(HOLM_INVALID, holm_transaction_expiry(transaction, plain, "a", 1, &time));
    IS(HOLM_INVALID, holm_transaction_expiry(transaction, tides, "t1", 2, NULL));
    IS(HOLM_INVALID, holm_transaction_expiry(NULL, tides, "t1", 2, &time));
    IS(HOLM_INVALID, holm_transaction_persist(transaction, plain, "a", 1));
    IS(HOLM_INVALID, holm_transaction_persist(transaction, tides, NULL, 1));
    IS(HOLM_INVALID, holm_transaction_expire_in(transaction, plain, "a", 1, HOUR));
    IS(HOLM_INVALID, holm_transaction_expire_at(NULL, tides, "a", 1, HOUR));
    IS(HOLM_INVALID, holm_transaction_insert_for(transaction, plain, "a", 1, "1", 1, HOUR));
    IS(HOLM_INVALID, holm_transaction_insert_until(transaction, plain, "a", 1, "1", 1, until));
    IS(HOLM_OK, holm_transaction_commit(transaction, NULL));
    IS(HOLM_OK, holm_expiry(tides, "t2", 2, &time));
    CHECK(time == until);
    IS(HOLM_OK, holm_expiry(tides, "t1", 2, &time));
    CHECK(time == 0);
    IS(HOLM_OK, holm_expiry(tides, "b2", 2, &time));
    CHECK(time > until);
    IS(HOLM_ABSENT, holm_contains(tides, "b1", 2));
    IS(HOLM_ABSENT, holm_contains(plain, "a", 1));

    IS(HOLM_OK, holm_batch_begin(database, &batch));
    IS(HOLM_OK, holm_batch_insert_until(batch, plain, "a", 1, "1", 1, until));
    IS(HOLM_OK, holm_batch_insert(batch, plain, "b", 1, "1", 1));
    IS(HOLM_INVALID, holm_batch_commit(batch));
    IS(HOLM_ABSENT, holm_contains(plain, "b", 1));
}

static void refusals(holm_database *database, holm_keyspace *tides, holm_keyspace *plain) {
    uint64_t time = 1;
    holm_batch *batch;
    holm_transaction *transaction;
    IS(HOLM_INVALID, holm_insert_for(plain, "a", 1, "1", 1, HOUR));
    IS(HOLM_INVALID, holm_insert_until(plain, "a", 1, "1", 1, HOUR));
    IS(HOLM_INVALID, holm_expiry(plain, "a", 1, &time));
    CHECK(time == 0);
    IS(HOLM_INVALID, holm_persist(plain, "a", 1));
    IS(HOLM_INVALID, holm_insert_for(NULL, "a", 1, "1", 1, HOUR));
    IS(HOLM_INVALID, holm_insert_until(tides, NULL, 1, "1", 1, HOUR));
    IS(HOLM_INVALID, holm_insert_for(tides, "a", 1, NULL, 1, HOUR));
    IS(HOLM_TOO_LARGE, holm_insert_for(tides, "a", 65537, "1", 1, HOUR));
    IS(HOLM_INVALID, holm_expiry(NULL, "a", 1, &time));
    IS(HOLM_INVALID, holm_expiry(tides, "a", 1, NULL));
    IS(HOLM_INVALID, holm_persist(NULL, "a", 1));
    IS(HOLM_INVALID, holm_expire_in(plain, "a", 1, HOUR));
    IS(HOLM_INVALID, holm_expire_at(NULL, "a", 1, HOUR));
    IS(HOLM_INVALID, holm_expire_at(tides, NULL, 1, HOUR));
    IS(HOLM_TOO_LARGE, holm_expire_in(tides, "a", 65537, HOUR));
    IS(HOLM_INVALID, holm_sweep(NULL, &time));
    IS(HOLM_OK, holm_batch_begin(database, &batch));
    IS(HOLM_OK, holm_transaction_begin(database, &transaction));
    IS(HOLM_INVALID, holm_batch_insert_for(NULL, tides, "a", 1, "1", 1, HOUR));
    IS(HOLM_INVALID, holm_batch_insert_for(batch, NULL, "a", 1, "1", 1, HOUR));
    IS(HOLM_INVALID, holm_batch_insert_until(batch, tides, "a", 1, NULL, 1, HOUR));
    IS(HOLM_INVALID, holm_transaction_insert_for(NULL, tides, "a", 1, "1", 1, HOUR));
    IS(HOLM_INVALID, holm_transaction_insert_for(transaction, NULL, "a", 1, "1", 1, HOUR));
    IS(HOLM_INVALID, holm_transaction_insert_until(transaction, tides, "a", 1, NULL, 1, HOUR));
    holm_transaction_discard(transaction);
    holm_batch_discard(batch);
}

/* With a thread that sweeps all the time: it removes what is over, and nothing else. */
static void background(const char *folder) {
    holm_options options = small();
    holm_database *database;
    holm_stats stats;
    uint64_t count;
    options.sweep_ms = -2;
    IS(HOLM_INVALID, holm_open(folder, &options, &database));
    options.sweep_ms = 1;
    IS(HOLM_OK, holm_open(folder, &options, &database));
    int before = threads();
    holm_keyspace *tides = expiring(database, "tides");
    CHECK(!before || threads() == before + 1);
    for (int number = 0; number < 100; number++) {
        char key[8];
        snprintf(key, sizeof key, "k%02d", number);
        IS(HOLM_OK, holm_insert_for(tides, key, 3, "", 0, number % 2 ? HOUR : 0));
    }
    do {
        IS(HOLM_OK, holm_read_stats(database, &stats, sizeof stats));
    } while (stats.sweep_records_removed < 50);
    IS(HOLM_OK, holm_count(tides, &count));
    CHECK(count == 50 && stats.sweep_records_read >= 50);
    holm_close_keyspace(tides);
    IS(HOLM_OK, holm_close(database));
}

int main(int count, char **arguments) {
    CHECK(count == 3);
    holm_options options = small();
    holm_database *database;
    holm_keyspace *tides, *plain;
    holm_stats stats;
    uint64_t removed = 1;
    options.sweep_ms = HOLM_SWEEP_MANUAL;
    IS(HOLM_OK, holm_open(arguments[1], &options, &database));
    IS(HOLM_OK, holm_sweep(database, &removed));
    CHECK(removed == 0);
    int before = threads();
    creation(database);
    CHECK(threads() == before);
    IS(HOLM_OK, holm_open_keyspace(database, "tides", &tides));
    IS(HOLM_OK, holm_open_keyspace(database, "plain", &plain));
    deadlines(database, tides);
    together(database, tides, plain);
    refusals(database, tides, plain);
    IS(HOLM_OK, holm_sweep(database, &removed));
    CHECK(removed == 5);
    IS(HOLM_OK, holm_sweep(database, NULL));
    IS(HOLM_OK, holm_read_stats(database, &stats, sizeof stats));
    CHECK(stats.sweep_passes == 3 && stats.sweep_records_removed == 5 && stats.sweep_skipped_passes == 0);
    CHECK(stats.sweep_last_pass_ns == 0 && stats.sweep_last_pass_work_ns == 0);
    holm_close_keyspace(plain);
    IS(HOLM_OK, holm_close(database));
    IS(HOLM_OK, holm_contains(tides, "north", 5));
    IS(HOLM_POISONED, holm_insert_for(tides, "north", 5, "", 0, HOUR));
    IS(HOLM_POISONED, holm_persist(tides, "north", 5));
    IS(HOLM_POISONED, holm_expire_in(tides, "north", 5, 2 * (uint64_t)HOUR));
    holm_close_keyspace(tides);
    background(arguments[2]);
    puts("every expiry");
    return 0;
}
