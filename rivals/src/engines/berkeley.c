/* The few calls of Berkeley DB that the adapter needs. Its interface is structs of functions, which C calls best. Every
 * function returns zero or an error of Berkeley DB. */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <db.h>

struct berkeley {
    DB_ENV *environment;
    DB *database;
    int logs;
};

typedef void berkeley_visit(void *context, const void *key, size_t key_len, const void *value, size_t value_len);

/* An environment of this process alone. With a log, transactions and recovery at open; the log is written at each
 * commit, and synced if `synced` says so. Without one, one writer at a time beside readers. */
static int open_environment(DB_ENV *environment, const char *folder, uint64_t cache, int logs, int synced) {
    const uint32_t locks = 200000;
    uint32_t flags = DB_CREATE | DB_PRIVATE | DB_THREAD | DB_INIT_MPOOL;
    uint32_t gibibytes = (uint32_t)(cache >> 30), rest = (uint32_t)(cache & ((1u << 30) - 1));
    int error = environment->set_cachesize(environment, gibibytes, rest, 1);
    if (error == 0 && logs) {
        flags |= DB_INIT_TXN | DB_INIT_LOG | DB_INIT_LOCK | DB_RECOVER;
        error = environment->set_lk_detect(environment, DB_LOCK_MINWRITE);
        if (error == 0) error = environment->set_lk_max_locks(environment, locks);
        if (error == 0) error = environment->set_lk_max_objects(environment, locks);
        if (error == 0) error = environment->set_lg_bsize(environment, 1u << 20);
        if (error == 0) error = environment->set_lg_max(environment, 64u << 20);
        if (error == 0) error = environment->log_set_config(environment, DB_LOG_AUTO_REMOVE, 1);
        if (error == 0 && !synced) error = environment->set_flags(environment, DB_TXN_WRITE_NOSYNC, 1);
    } else if (error == 0) {
        flags |= DB_INIT_CDB;
    }
    return error != 0 ? error : environment->open(environment, folder, flags, 0);
}

int berkeley_close(struct berkeley *store) {
    int error = 0, later;
    if (store->database != NULL) error = store->database->close(store->database, 0);
    if (store->environment != NULL) {
        if (error == 0 && store->logs) error = store->environment->txn_checkpoint(store->environment, 0, 0, DB_FORCE);
        later = store->environment->close(store->environment, 0);
        if (error == 0) error = later;
    }
    free(store);
    return error;
}

int berkeley_open(const char *folder, uint64_t cache, int logs, int synced, struct berkeley **out) {
    struct berkeley *store = calloc(1, sizeof *store);
    int error;
    if (store == NULL) return ENOMEM;
    error = db_env_create(&store->environment, 0);
    if (error == 0) error = open_environment(store->environment, folder, cache, logs, synced);
    if (error == 0) error = db_create(&store->database, store->environment, 0);
    if (error == 0) {
        uint32_t flags = DB_CREATE | DB_THREAD | (logs ? DB_AUTO_COMMIT : 0);
        error = store->database->open(store->database, NULL, "data.db", NULL, DB_BTREE, flags, 0);
    }
    if (error != 0) {
        store->logs = 0;
        berkeley_close(store);
        return error;
    }
    store->logs = logs;
    *out = store;
    return 0;
}

const char *berkeley_message(int error) { return db_strerror(error); }
int berkeley_is_absent(int error) { return error == DB_NOTFOUND; }
int berkeley_is_small(int error) { return error == DB_BUFFER_SMALL; }
int berkeley_is_deadlock(int error) { return error == DB_LOCK_DEADLOCK || error == DB_LOCK_NOTGRANTED; }

int berkeley_begin(struct berkeley *store, DB_TXN **transaction) {
    return store->environment->txn_begin(store->environment, NULL, transaction, 0);
}
int berkeley_commit(DB_TXN *transaction) { return transaction->commit(transaction, 0); }
int berkeley_abort(DB_TXN *transaction) { return transaction->abort(transaction); }

static DBT lent(const void *bytes, size_t len) {
    DBT dbt;
    memset(&dbt, 0, sizeof dbt);
    dbt.data = (void *)bytes;
    dbt.size = (uint32_t)len;
    return dbt;
}

int berkeley_put(struct berkeley *store, DB_TXN *transaction, const void *key, size_t key_len, const void *value,
                 size_t value_len) {
    DBT key_dbt = lent(key, key_len), value_dbt = lent(value, value_len);
    return store->database->put(store->database, transaction, &key_dbt, &value_dbt, 0);
}

/* Copies the value to `into` if it has room; `value_len` is the value's length in any case. */
int berkeley_get(struct berkeley *store, DB_TXN *transaction, const void *key, size_t key_len, void *into, size_t room,
                 size_t *value_len) {
    DBT key_dbt = lent(key, key_len), value_dbt = lent(into, 0);
    int error;
    value_dbt.ulen = (uint32_t)room;
    value_dbt.flags = DB_DBT_USERMEM;
    error = store->database->get(store->database, transaction, &key_dbt, &value_dbt, transaction != NULL ? DB_RMW : 0);
    *value_len = value_dbt.size;
    return error;
}

/* How often a scan continues that a deadlock stopped. */
enum { ATTEMPTS = 10000 };

/* Shows the pairs from a cursor that the key has. A cursor of no transaction locks a page at a time, and can be the
 * victim of a deadlock between two pages: then `last` is the key behind which another cursor continues. */
static int show(DBC *cursor, DBT *key, DBT *value, DBT *last, size_t count, berkeley_visit *visit, void *context,
                size_t *shown) {
    uint32_t step = DB_SET_RANGE;
    int error = 0;
    while (*shown < count && (error = cursor->get(cursor, key, value, step)) == 0) {
        int again = step == DB_SET_RANGE && *shown > 0 && key->size == last->size &&
                    memcmp(key->data, last->data, last->size) == 0;
        step = DB_NEXT;
        if (again) continue;
        visit(context, key->data, key->size, value->data, value->size);
        *shown += 1;
    }
    return error;
}

int berkeley_scan(struct berkeley *store, const void *from, size_t from_len, size_t count, berkeley_visit *visit,
                  void *context, size_t *shown) {
    DBT key = lent(NULL, 0), value = lent(NULL, 0), last = lent(NULL, 0);
    int attempt, error = 0;
    *shown = 0;
    /* The cursor replaces the key, in memory of its own. */
    key.data = malloc(from_len + 1);
    if (key.data == NULL) return ENOMEM;
    memcpy(key.data, from, from_len);
    key.size = (uint32_t)from_len;
    key.flags = value.flags = DB_DBT_REALLOC;
    for (attempt = 0; attempt < ATTEMPTS; attempt++) {
        DBC *cursor;
        int later;
        error = store->database->cursor(store->database, NULL, &cursor, 0);
        if (error != 0) break;
        error = show(cursor, &key, &value, &last, count, visit, context, shown);
        later = cursor->close(cursor);
        if (!berkeley_is_deadlock(error)) {
            if (error == 0 || error == DB_NOTFOUND) error = later;
            break;
        }
        free(last.data);
        last = lent(malloc(key.size + 1), key.size);
        if (last.data == NULL) break;
        memcpy(last.data, key.data, key.size);
    }
    free(key.data);
    free(value.data);
    free(last.data);
    return error;
}

/* Syncs the log, or the file of a store without one. */
int berkeley_sync(struct berkeley *store) {
    if (store->logs) return store->environment->log_flush(store->environment, NULL);
    return store->database->sync(store->database, 0);
}
