/*
 * What a database has: names and options of keyspaces, values of many keys, and keys that have expired. Runs plainly
 * and under the address sanitizer.
 */
#include "check.h"

/* The keys of an iterator, each with a comma, from either end; all values are empty. */
static void keys_are(const char *expected, holm_iter *iter, int backwards) {
    const void *key, *value;
    size_t key_size, value_size;
    char found[200] = "";
    while ((backwards ? holm_next_back : holm_next)(iter, &key, &key_size, &value, &value_size) == HOLM_OK) {
        CHECK(value_size == 0);
        strncat(found, key, key_size);
        strcat(found, ",");
    }
    CHECK(!strcmp(found, expected));
    IS(HOLM_ABSENT, holm_next(iter, &key, &key_size, NULL, NULL));
    CHECK(key == NULL && key_size == 0);
    holm_close_iter(iter);
}

static void names(holm_database *database) {
    holm_keyspace_options options = HOLM_KEYSPACE_OPTIONS;
    holm_keyspace *keyspace = (holm_keyspace *)database, *then;
    holm_snapshot *snapshot, *recent;
    holm_iter *iter = (holm_iter *)database;
    const void *name, *other;
    size_t size;
    IS(HOLM_ABSENT, holm_open_existing_keyspace(database, "tides", &keyspace));
    CHECK(keyspace == NULL);
    options.expires = 1;
    IS(HOLM_OK, holm_open_keyspace_with(database, "tides", &options, &keyspace));
    IS(HOLM_OK, holm_open_snapshot_within(database, 0, &snapshot));
    IS(HOLM_OK, holm_open_keyspace(database, "reefs", &then));
    holm_close_keyspace(then);
    IS(HOLM_OK, holm_keyspaces(database, &iter));
    keys_are("default,reefs,tides,", iter, 0);
    IS(HOLM_OK, holm_keyspaces(database, &iter));
    keys_are("tides,reefs,default,", iter, 1);
    IS(HOLM_OK, holm_snapshot_keyspaces(snapshot, &iter));
    keys_are("default,tides,", iter, 0);
    /* Both ends meet, and a name is a text. */
    IS(HOLM_OK, holm_keyspaces(database, &iter));
    IS(HOLM_OK, holm_next(iter, &name, &size, NULL, NULL));
    CHECK(!strcmp(name, "default") && size == 7);
    IS(HOLM_OK, holm_next_back(iter, &other, NULL, NULL, NULL));
    CHECK(!strcmp(other, "tides"));
    keys_are("reefs,", iter, 0);

    /* A recent snapshot is shared, an old one is not. */
    IS(HOLM_OK, holm_open_snapshot_within(database, 3600 * 1000, &recent));
    IS(HOLM_OK, holm_snapshot_keyspaces(recent, &iter));
    keys_are("default,tides,", iter, 0);
    holm_close_snapshot(recent);
    IS(HOLM_OK, holm_open_snapshot_within(database, 0, &recent));
    IS(HOLM_OK, holm_snapshot_keyspaces(recent, &iter));
    keys_are("default,reefs,tides,", iter, 0);
    holm_close_snapshot(recent);

    options.expires = 0;
    IS(HOLM_OK, holm_read_keyspace_options(keyspace, &options));
    CHECK(options.expires == 1 && options.size == sizeof options && options.reserved == 0);
    holm_close_keyspace(keyspace);
    IS(HOLM_OK, holm_open_snapshot_keyspace(snapshot, "tides", &then));
    IS(HOLM_OK, holm_read_keyspace_options(then, &options));
    CHECK(options.expires == 1);
    holm_close_keyspace(then);
    IS(HOLM_OK, holm_open_existing_keyspace(database, "reefs", &keyspace));
    options.size = sizeof(size_t);
    IS(HOLM_OK, holm_read_keyspace_options(keyspace, &options));
    CHECK(options.expires == 1);
    options.size = sizeof options;
    IS(HOLM_OK, holm_read_keyspace_options(keyspace, &options));
    CHECK(options.expires == 0);

    IS(HOLM_INVALID, holm_read_keyspace_options(keyspace, NULL));
    IS(HOLM_INVALID, holm_read_keyspace_options(NULL, &options));
    IS(HOLM_INVALID, holm_open_existing_keyspace(database, "reefs", NULL));
    IS(HOLM_INVALID, holm_open_existing_keyspace(NULL, "reefs", &then));
    IS(HOLM_INVALID, holm_keyspaces(NULL, &iter));
    CHECK(iter == NULL);
    IS(HOLM_INVALID, holm_keyspaces(database, NULL));
    IS(HOLM_INVALID, holm_snapshot_keyspaces(NULL, &iter));
    IS(HOLM_INVALID, holm_open_snapshot_within(NULL, 0, &recent));
    IS(HOLM_INVALID, holm_open_snapshot_within(database, 0, NULL));
    holm_close_keyspace(keyspace);
    holm_close_snapshot(snapshot);
}

static void many(holm_database *database) {
    const void *keys[] = { "north", "west", "south", "" };
    const size_t sizes[] = { 5, 4, 5, 0 };
    void *values[4];
    size_t value_sizes[4];
    holm_keyspace *reefs, *then;
    holm_snapshot *snapshot;
    IS(HOLM_OK, holm_open_keyspace(database, "reefs", &reefs));
    IS(HOLM_OK, holm_insert(reefs, "north", 5, "coral", 5));
    IS(HOLM_OK, holm_insert(reefs, "south", 5, "", 0));
    IS(HOLM_OK, holm_open_snapshot(database, &snapshot));
    IS(HOLM_OK, holm_insert(reefs, "", 0, "nameless", 8));
    IS(HOLM_OK, holm_get_many(reefs, 4, keys, sizes, values, value_sizes));
    COPY("coral", values[0], value_sizes[0]);
    CHECK(values[1] == NULL && value_sizes[1] == 0);
    COPY("", values[2], value_sizes[2]);
    COPY("nameless", values[3], value_sizes[3]);
    IS(HOLM_OK, holm_open_snapshot_keyspace(snapshot, "reefs", &then));
    IS(HOLM_OK, holm_get_many(then, 4, keys, sizes, values, value_sizes));
    COPY("coral", values[0], value_sizes[0]);
    COPY("", values[2], value_sizes[2]);
    CHECK(values[3] == NULL);
    IS(HOLM_OK, holm_get_many(reefs, 0, NULL, NULL, NULL, NULL));

    values[0] = values[1] = &values;
    IS(HOLM_INVALID, holm_get_many(NULL, 2, keys, sizes, values, value_sizes));
    CHECK(values[0] == NULL && values[1] == NULL);
    IS(HOLM_INVALID, holm_get_many(reefs, 2, NULL, sizes, values, value_sizes));
    IS(HOLM_INVALID, holm_get_many(reefs, 2, keys, NULL, values, value_sizes));
    IS(HOLM_INVALID, holm_get_many(reefs, 2, keys, sizes, NULL, value_sizes));
    IS(HOLM_INVALID, holm_get_many(reefs, 2, keys, sizes, values, NULL));
    IS(HOLM_INVALID, holm_get_many(reefs, SIZE_MAX, keys, sizes, values, value_sizes));
    IS(HOLM_INVALID, holm_get_many(reefs, SIZE_MAX / 4, keys, sizes, values, value_sizes));
    const void *absent[] = { "north", NULL };
    IS(HOLM_INVALID, holm_get_many(reefs, 2, absent, sizes, values, value_sizes));
    CHECK(values[0] == NULL && value_sizes[0] == 0);
    holm_close_snapshot(snapshot);
    IS(HOLM_OK, holm_drop_keyspace(database, "reefs"));
    IS(HOLM_DROPPED, holm_get_many(reefs, 2, keys, sizes, values, value_sizes));
    IS(HOLM_DROPPED, holm_get_many(then, 2, keys, sizes, values, value_sizes));
    CHECK(values[0] == NULL);
    holm_close_keyspace(reefs);
    holm_close_keyspace(then);
}

static void expired(holm_database *database) {
    const uint64_t far = 4102444800000; /* the year 2100 */
    holm_keyspace *tides, *plain, *then;
    holm_snapshot *snapshot;
    holm_iter *iter = (holm_iter *)database;
    uint64_t removed;
    IS(HOLM_OK, holm_open_keyspace(database, "tides", &tides));
    IS(HOLM_OK, holm_insert_until(tides, "a", 1, "1", 1, 5));
    IS(HOLM_OK, holm_insert_until(tides, "b", 1, "1", 1, far));
    IS(HOLM_OK, holm_insert_until(tides, "c", 1, "1", 1, 7));
    IS(HOLM_OK, holm_insert(tides, "d", 1, "1", 1));
    IS(HOLM_OK, holm_expired(tides, 7, 0, &iter));
    keys_are("a,c,", iter, 0);
    IS(HOLM_OK, holm_expired(tides, 6, 0, &iter));
    keys_are("a,", iter, 1);
    IS(HOLM_OK, holm_expired(tides, 7, 1, &iter));
    keys_are("a,", iter, 0);
    IS(HOLM_OK, holm_expired(tides, far, 0, &iter));
    keys_are("c,b,a,", iter, 1);
    IS(HOLM_OK, holm_sweep(database, &removed));
    CHECK(removed == 2);
    IS(HOLM_OK, holm_expired(tides, 7, 0, &iter));
    keys_are("", iter, 0);

    IS(HOLM_INVALID, holm_expired(tides, UINT64_MAX, 0, NULL));
    IS(HOLM_INVALID, holm_expired(NULL, 7, 0, &iter));
    CHECK(iter == NULL);
    IS(HOLM_OK, holm_open_keyspace(database, "default", &plain));
    IS(HOLM_INVALID, holm_expired(plain, 7, 0, &iter));
    IS(HOLM_OK, holm_open_snapshot(database, &snapshot));
    IS(HOLM_OK, holm_open_snapshot_keyspace(snapshot, "tides", &then));
    IS(HOLM_READ_ONLY, holm_expired(then, 7, 0, &iter));
    holm_close_keyspace(then);
    holm_close_snapshot(snapshot);
    IS(HOLM_OK, holm_drop_keyspace(database, "tides"));
    IS(HOLM_DROPPED, holm_expired(tides, 7, 0, &iter));
    holm_close_keyspace(tides);
    holm_close_keyspace(plain);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    holm_options options = small();
    holm_database *database;
    options.sweep_ms = HOLM_SWEEP_MANUAL;
    IS(HOLM_OK, holm_open(arguments[1], &options, &database));
    names(database);
    many(database);
    expired(database);
    IS(HOLM_OK, holm_close(database));
    puts("every list");
    return 0;
}
