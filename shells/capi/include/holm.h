/*
 * Holm: an embedded ordered key-value engine. Keys and values are byte strings in a crash-consistent B+-tree. After any
 * crash a database opens with a consistent prefix of its writes.
 *
 * Codes. Every function that can fail returns a code: HOLM_OK; HOLM_ABSENT, which is a result and no error; or a
 * negative code, which is an error. Each function lists the errors that are specific to it. In addition, NULL for a
 * required argument is INVALID. A call that the operating system refuses is IO, NO_SPACE or READ_ONLY, listed or not. A
 * limit on the size of files is NO_SPACE, and sends no SIGXFSZ, but where the caller's own descriptor is written to.
 * Whatever reads or writes pairs, of a keyspace, a snapshot or a transaction, is CORRUPT where it meets damage, and
 * from then on in the whole keyspace if a leaf is damaged: an open by the index has not looked at the leaves. With
 * HOLM_STRICT, reads wait until what they return is durable, and so can be POISONED or NO_SPACE; in the other modes
 * POISONED is for writes alone. After holm_close(), writes and snapshots are POISONED.
 * holm_message() returns the message of an error, on the same thread, until the thread's next call that fails. Each
 * thread has its own message, so no call has a parameter for it, and no caller has to free it. It is also available
 * after holm_open(), which leaves no handle when it fails.
 *
 * Bytes. A key, value or prefix is a pointer and a size; the call copies it before it returns. NULL is allowed only
 * with size 0 and is the empty string, which is a valid key and a valid value. A key has at most 65536 bytes, a value
 * at most 1073741824.
 *
 * Handles. A NULL handle is refused with HOLM_INVALID where a handle is required; closing NULL does nothing. Each
 * handle keeps alive what it depends on. A database may be closed before its keyspaces, iterators, batches,
 * transactions and snapshots. These then refuse to write, and must still be closed. Feeds and changes keep no database
 * open, and must be closed, too. No handle may be used during or after the call that closes it.
 *
 * Threads. Databases, keyspaces, snapshots and changes: any number of threads at once, except for the call that closes
 * one. Iterators, batches and feeds: any thread, one at a time. A transaction and the iterators in it: any thread, one
 * at a time for all of them together. No handle may be used in the child of a fork.
 *
 * Outputs. A pointer to a result must not be NULL, unless the function allows it. Unless a call returns HOLM_OK, its
 * output handles and pointers are NULL, and its output numbers 0, unless the function states another value.
 *
 * A panic of the engine is a bug in the engine. It never unwinds into the caller: the call returns HOLM_PANIC.
 * Acknowledged data is unharmed, but this process should not use the database any more. If it does, it may block
 * forever.
 *
 * Absent on purpose, of what the crate for Rust has. What other functions do as well: the first and the last pair, and
 * whether there is any (holm_range() with a limit of 1); updates by a function (holm_compare_and_swap() in a loop); a
 * transaction that takes a value (holm_transaction_get_copy() and holm_transaction_remove()); a transaction that only
 * reads (one that writes nothing); the wait for one commit (holm_sync()); the length of a batch and the name of a
 * keyspace, which the caller knows. A scrub's cursor: a rate bounds what a scrub takes from others. What is for the
 * reading of people: the description of the last recovery, beyond recovered_log_entries of holm_stats, and statistics
 * of memory. What takes types of Rust: designs of one's own, and other file systems and clocks, for tests.
 */
#ifndef HOLM_H
#define HOLM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Codes. Their numbers never change; more may be added. */
#define HOLM_OK 0            /* done, or found */
#define HOLM_ABSENT 1        /* no such key, no more pairs, no such keyspace */
#define HOLM_UNEQUAL 2       /* the key has another value than the expected one, and keeps it */
#define HOLM_INVALID (-1)    /* an invalid argument */
#define HOLM_NOT_FOUND (-2)  /* there is no database in this folder, and must_exist is set */
#define HOLM_IO (-3)         /* the operating system refused a call */
#define HOLM_NO_SPACE (-4)   /* the disk is full; the call may be repeated once there is space */
#define HOLM_CAPACITY (-5)   /* the capacity that the database was opened with is reached */
#define HOLM_CORRUPT (-6)    /* stored bytes differ from what was written */
#define HOLM_FOREIGN (-7)    /* the folder is not a database of Holm, or is no folder */
#define HOLM_VERSION (-8)    /* written in another version of the format */
#define HOLM_GEOMETRY (-9)   /* the database differs from the options, for example in its design */
#define HOLM_LOCKED (-10)    /* another process or handle has it open */
#define HOLM_READ_ONLY (-11) /* a write to a database that is open for reading, or to a keyspace of a snapshot */
#define HOLM_NOT_CLEAN (-12) /* it was not closed, and an open for reading must not repair it */
#define HOLM_POISONED (-13)  /* a write or sync failed earlier, or it was closed: reopen it */
#define HOLM_UNSUPPORTED (-14) /* this platform, file system or design does not support it */
#define HOLM_TOO_LARGE (-15) /* a key, value, batch or name is over a limit */
#define HOLM_DROPPED (-16)   /* the keyspace of this handle has been dropped */
#define HOLM_SHORT_BUFFER (-17) /* the value is longer than the caller's buffer */
#define HOLM_OUT_OF_MEMORY (-18) /* no memory for a copy */
#define HOLM_PANIC (-19)     /* a bug in the engine, see above */
#define HOLM_OTHER (-20)     /* an error without a code of its own: see the message */
#define HOLM_CONFLICT (-21)  /* another thread changed what the transaction had read: begin anew */
#define HOLM_ENDED (-22)     /* the snapshot has ended, or the transaction of this iterator */
#define HOLM_OVERFLOW (-23)  /* a sum that does not fit into 64 bits */
#define HOLM_WRONG_BASE (-24) /* the backup does not continue the state that the database stands at */
#define HOLM_LAGGED (-25)    /* the reader of a feed was too slow: begin anew */
#define HOLM_CLOSED (-26)    /* the database was closed, and its feed has given everything */

typedef struct holm_database holm_database; /* an open database */
typedef struct holm_keyspace holm_keyspace; /* a named, ordered map in a database */
typedef struct holm_iter holm_iter;         /* the pairs of a range, from both ends */
typedef struct holm_batch holm_batch;       /* operations that take effect at one instant */
typedef struct holm_transaction holm_transaction; /* reads and writes that take effect at one instant */
typedef struct holm_snapshot holm_snapshot; /* the database as it was at one instant */
typedef struct holm_feed holm_feed;         /* the changes of a database, epoch by epoch */
typedef struct holm_changes holm_changes;   /* what one epoch has changed */

/* How many of the latest writes a power failure may lose. */
#define HOLM_BUFFERED 0 /* about those of max(interval, sync) + sync; writes return at once */
#define HOLM_STRICT 1   /* none: a write returns when it is synced, and threads share a sync */
#define HOLM_ON_SYNC 2  /* at most those after the last holm_sync() that returned */

/*
 * How a database is opened. A zero field means its default. Fields may be added at the end, so begin with
 *     holm_options options = HOLM_OPTIONS;
 */
typedef struct holm_options {
    size_t size;         /* sizeof(holm_options): which fields the caller knows */
    int32_t durability;  /* HOLM_BUFFERED, HOLM_STRICT or HOLM_ON_SYNC */
    uint32_t interval_ms; /* for HOLM_BUFFERED: milliseconds between syncs; 0: 10 */
    uint64_t capacity;   /* the most bytes of records, and of leaves: address space, not memory; 0: by disk size */
    uint64_t log_bytes;  /* the most bytes of the log; 0: 256 MiB */
    const char *design;  /* the leaf design; NULL: that of the database, or of a new one the default */
    int32_t memory;      /* not 0: a private image in memory of this process, not a shared mapping of the files */
    int32_t must_exist;  /* not 0: do not create a database if there is none */
    uint64_t snapshot_bytes; /* the most bytes that open snapshots keep; beyond that the oldest ends; 0: 1 GiB */
    int64_t sweep_ms;    /* milliseconds for a pass that removes expired pairs, or HOLM_SWEEP_MANUAL; 0: 300000 */
} holm_options;

#define HOLM_OPTIONS { sizeof(holm_options), HOLM_BUFFERED, 0, 0, 0, NULL, 0, 0, 0, 0 }

/* For sweep_ms: only holm_sweep() removes expired pairs. */
#define HOLM_SWEEP_MANUAL (-1)

/* What a keyspace is created with, and keeps for life. Fields may be added at the end. */
typedef struct holm_keyspace_options {
    size_t size;      /* sizeof(holm_keyspace_options) */
    int32_t expires;  /* not 0: keys may expire, each value takes 8 bytes more, and each read asks for the time */
    int32_t reserved; /* 0 */
} holm_keyspace_options;

#define HOLM_KEYSPACE_OPTIONS { sizeof(holm_keyspace_options), 0, 0 }

/* Numbers about an open database. Fields may be added at the end. */
typedef struct holm_stats {
    uint64_t keyspaces;         /* keyspaces */
    uint64_t records;           /* records in all of them */
    uint64_t leaf_bytes;        /* bytes of leaves in use */
    uint64_t record_bytes;      /* bytes of records in use */
    uint64_t disk_bytes;        /* bytes on disk of all files, the log included */
    uint64_t durable_epoch;     /* all epochs up to this one are durable */
    uint64_t active_epoch;      /* the epoch of operations that start now */
    uint64_t log_entries;       /* log entries written, one for each epoch with writes */
    uint64_t log_bytes;         /* bytes written to the log */
    uint64_t checkpoints;       /* checkpoints finished */
    uint64_t throttled_writes;  /* writes that waited because the disk could not keep up */
    uint64_t recovered_log_entries; /* log entries that the last open read; 0 after a clean close */
    uint64_t waiting_ns;        /* how long the end of an epoch has been waiting for operations at this moment, or 0 */
    uint64_t waiting_operations; /* how many operations it waits for; 0 if it waits for a batch */
    uint64_t snapshots;         /* open snapshots */
    uint64_t oldest_snapshot_ns; /* the age of the oldest; 0 if there is none */
    uint64_t snapshot_memory_bytes; /* bytes of memory that they keep: former pairs of changed leaves */
    uint64_t snapshot_record_bytes; /* bytes of replaced records that they keep, a part of record_bytes */
    uint64_t sweep_passes;      /* finished passes that remove expired pairs, those of holm_sweep() included */
    uint64_t sweep_skipped_passes; /* passes left out, because the database is a copy that only backups have changed */
    uint64_t sweep_records_read; /* records whose expiry was read */
    uint64_t sweep_records_removed; /* expired records that were removed */
    uint64_t sweep_last_pass_ns; /* how long the last pass in the background took, pauses included */
    uint64_t sweep_last_pass_work_ns; /* how long it worked, without its pauses */
    uint64_t feeds;             /* open feeds that have not lagged */
    uint64_t feed_epochs;       /* epochs that were read for feeds */
    uint64_t feed_changes;      /* changes in these epochs */
    uint64_t feed_bytes;        /* bytes that feeds keep for their readers, counted for each feed */
    uint64_t feeds_lagged;      /* feeds whose readers were too slow */
    uint64_t feed_read_ns;      /* how long the end of epochs has taken longer for feeds */
} holm_stats;

/* The library's version, "0.1.0". Static. Any thread. */
const char *holm_version(void);

/* A code's name, such as "HOLM_OK"; "unknown" for a number that is no code. Static. Any thread. */
const char *holm_code_name(int code);

/*
 * The message of this thread's last call that failed, in UTF-8; empty if none has failed. Never NULL. The caller must
 * not free it. It is valid until the thread's next call that fails, or until the thread ends.
 */
const char *holm_message(void);

/*
 * Opens the database in the folder `path`, and creates it if it does not exist. `options` may be NULL for the defaults.
 * The caller owns the handle in `database` and closes it with holm_close(). Any thread.
 * Errors: NOT_FOUND, LOCKED, FOREIGN, VERSION, GEOMETRY, CORRUPT, READ_ONLY, NO_SPACE, IO, UNSUPPORTED, and INVALID for
 * an empty path, an unknown durability or design, or options of an invalid size.
 */
int holm_open(const char *path, const holm_options *options, holm_database **database);

/*
 * Opens a database for reading only, if it was cleanly closed. Any number of processes may do so at once, also in a
 * folder without write permission; meanwhile nobody can open it for writing. Only `capacity` of `options` has an
 * effect; they may be NULL. The caller owns the handle in `database` and closes it with holm_close(). Every function
 * that reads accepts it and its keyspaces, which holm_open_existing_keyspace() opens. All others return
 * HOLM_READ_ONLY; so do holm_sync(), holm_backup(), and functions for snapshots, transactions and feeds, which nobody
 * needs where nothing changes. Any thread.
 * Errors: NOT_CLEAN if it was not closed, and holm_open() must recover it; LOCKED by a process that writes; NOT_FOUND,
 * FOREIGN, VERSION, GEOMETRY, CORRUPT, IO, and INVALID as for holm_open().
 */
int holm_open_read_only(const char *path, const holm_options *options, holm_database **database);

/*
 * Makes everything durable, leaves a clean database, and frees the handle, whatever it returns. Other handles to the
 * database refuse to write from then on, and keep it locked until they are closed.
 * Exclusive: no other call on this handle may be running.
 * Errors: the first failure of the session, or of the close itself; a later open recovers. A database that is open for
 * reading has none.
 */
int holm_close(holm_database *database);

/*
 * Returns when every operation that had returned before the call survives a power failure. Any thread.
 * Errors: NO_SPACE, after which the call may be repeated; POISONED.
 */
int holm_sync(const holm_database *database);

/*
 * Fills `stats`, whose size for the caller is `size` bytes: sizeof(holm_stats). Fields that this library does not know
 * are 0. Takes some system calls, and milliseconds for each gigabyte of mapping. Any thread. Errors: INVALID.
 */
int holm_read_stats(const holm_database *database, holm_stats *stats, size_t size);

/*
 * Verifies all data while writers wait. If the database is unsound, returns HOLM_CORRUPT, stores the number of faults
 * in `faults`, which may be NULL, and makes the first fault the message. Any thread. Errors: CORRUPT; INVALID.
 */
int holm_check(const holm_database *database, uint64_t *faults);

/*
 * Opens the keyspace with a name of 1 to 255 bytes of UTF-8, and creates it if it does not exist. The caller owns the
 * handle in `keyspace` and closes it with holm_close_keyspace(). Any thread. Errors: INVALID, POISONED, NO_SPACE.
 */
int holm_open_keyspace(const holm_database *database, const char *name, holm_keyspace **keyspace);

/*
 * As holm_open_keyspace(), and creates the keyspace with `options`, NULL for the defaults. Any thread. Errors: INVALID
 * if the keyspace exists with other options, or for options of an invalid size; POISONED, NO_SPACE.
 */
int holm_open_keyspace_with(const holm_database *database, const char *name, const holm_keyspace_options *options,
                            holm_keyspace **keyspace);

/* Opens the keyspace with a name if it exists; HOLM_ABSENT if not. Otherwise as holm_open_keyspace(). */
int holm_open_existing_keyspace(const holm_database *database, const char *name, holm_keyspace **keyspace);

/*
 * Fills `options` with those that the keyspace was created with. `options` begins with HOLM_KEYSPACE_OPTIONS. Any
 * thread. Errors: INVALID.
 */
int holm_read_keyspace_options(const holm_keyspace *keyspace, holm_keyspace_options *options);

/*
 * Iterates over the names of all keyspaces, in order: holm_next() gives each as a key, with an empty value. A zero byte
 * follows it, so the key is also a text. The list is made at once. The caller owns the handle in `iter` and closes it
 * with holm_close_iter(). Any thread. Errors: INVALID; POISONED, NO_SPACE (HOLM_STRICT alone).
 */
int holm_keyspaces(const holm_database *database, holm_iter **iter);

/* Closes the handle; the keyspace stays. Exclusive: no other call on this handle may be running. */
void holm_close_keyspace(holm_keyspace *keyspace);

/*
 * Drops a keyspace with all its pairs, durably; HOLM_ABSENT if there is none. Handles to it, and iterators, refuse to
 * read and to write from then on: DROPPED. Any thread. Errors: INVALID, also for `default`, which always exists;
 * POISONED, NO_SPACE.
 */
int holm_drop_keyspace(const holm_database *database, const char *name);

/*
 * Stores a value under a key and replaces the previous one. Durable as the database's mode says. Any thread.
 * Errors: TOO_LARGE; NO_SPACE and CAPACITY, after which nothing has changed (with HOLM_STRICT, the write may have
 * happened despite NO_SPACE, and not be durable yet); POISONED; DROPPED.
 */
int holm_insert(const holm_keyspace *keyspace, const void *key, size_t key_size, const void *value,
                size_t value_size);

/*
 * Copies a key's value into the caller's buffer of `capacity` bytes, and stores its size in `value_size`; HOLM_ABSENT
 * if the key is absent. If the value is longer, returns HOLM_SHORT_BUFFER, and `value_size` is the value's size.
 * `buffer` may be NULL if `capacity` is 0. Any thread. Errors: DROPPED, POISONED (HOLM_STRICT alone).
 */
int holm_get(const holm_keyspace *keyspace, const void *key, size_t key_size, void *buffer, size_t capacity,
             size_t *value_size);

/*
 * Returns a copy of a key's value, of any size. The caller owns it and frees it with holm_free(). HOLM_ABSENT if the
 * key is absent. The copy of an empty value is not NULL. Any thread.
 * Errors: DROPPED, OUT_OF_MEMORY, POISONED (HOLM_STRICT alone).
 */
int holm_get_copy(const holm_keyspace *keyspace, const void *key, size_t key_size, void **value,
                  size_t *value_size);

/*
 * Makes copies of the values of `count` keys, whose sizes are in `key_sizes`: faster than one call for
 * each, because the cache misses overlap. `values` and `value_sizes` have room for `count` results. The caller owns
 * each copy and frees it with holm_free(). The value of a key that is absent is NULL, and its size 0. Each key is read
 * at an instant of its own. `keys` to `value_sizes` may be NULL if `count` is 0. Any thread. Errors: those of
 * holm_get_copy(); all values are NULL then.
 */
int holm_get_many(const holm_keyspace *keyspace, size_t count, const void *const *keys, const size_t *key_sizes,
                  void **values, size_t *value_sizes);

/* Frees a copy from any function that makes one for the caller; NULL does nothing. Any thread. */
void holm_free(void *value);

/* HOLM_OK if the key is present, HOLM_ABSENT if not. Any thread. Errors: DROPPED, POISONED (HOLM_STRICT alone). */
int holm_contains(const holm_keyspace *keyspace, const void *key, size_t key_size);

/*
 * Removes a key; HOLM_ABSENT if it is absent. Durable as the database's mode says. Any thread.
 * Errors: POISONED; DROPPED; NO_SPACE, after which nothing has changed (with HOLM_STRICT, the key may be removed
 * despite it, and the removal not be durable yet).
 */
int holm_remove(const holm_keyspace *keyspace, const void *key, size_t key_size);

/*
 * Stores the number of pairs in `count`. It is exact while there are no writers. For a dropped keyspace it is the last
 * number. With HOLM_STRICT, waits until everything that it counts is durable. Any thread.
 * Errors: INVALID; POISONED, NO_SPACE (HOLM_STRICT alone).
 */
int holm_count(const holm_keyspace *keyspace, uint64_t *count);

/*
 * Removes all pairs from `low`, inclusive, to `high`, exclusive, and stores their number in `count`, which may be NULL.
 * NULL with size 0 is no bound. Far faster than one removal for each key, and *not* atomic: pairs go leaf by leaf, from
 * the low end on, and after a crash or an error the first part of the range is removed, or nothing. A pair that another
 * thread inserts meanwhile may stay. Expired pairs that are still stored count. Durable as the database's mode says.
 * Any thread. Errors: POISONED, DROPPED, NO_SPACE; INVALID.
 */
int holm_remove_range(const holm_keyspace *keyspace, const void *low, size_t low_size, const void *high,
                      size_t high_size, uint64_t *count);

/* Removes all pairs; otherwise as holm_remove_range(). The keyspace stays. */
int holm_clear(const holm_keyspace *keyspace, uint64_t *count);

/*
 * Keys that expire, in a keyspace that was created with `expires`: see holm_open_keyspace_with(). In any other keyspace
 * these functions return HOLM_INVALID. Times are milliseconds. A key that has expired is absent for every function;
 * only holm_count() counts it until a pass in the background, or holm_sweep(), has removed it. The time never goes
 * back, also if the system's clock does. holm_insert() and holm_swap() store values that do not expire;
 * holm_compare_and_swap() and holm_increment() keep a present key's expiry.
 */

/*
 * Stores a value that expires `lifetime_ms` after the call, and replaces the previous one; 0: at once. Otherwise as
 * holm_insert().
 */
int holm_insert_for(const holm_keyspace *keyspace, const void *key, size_t key_size, const void *value,
                    size_t value_size, uint64_t lifetime_ms);

/* The same, until `time_ms` after the beginning of 1970 (UTC). */
int holm_insert_until(const holm_keyspace *keyspace, const void *key, size_t key_size, const void *value,
                      size_t value_size, uint64_t time_ms);

/*
 * Stores in `time_ms` when a key expires, in milliseconds since 1970; 0 if it never does. HOLM_ABSENT if the key is
 * absent. Any thread. Errors: those of holm_get(); INVALID.
 */
int holm_expiry(const holm_keyspace *keyspace, const void *key, size_t key_size, uint64_t *time_ms);

/*
 * Let a present key expire `lifetime_ms` after the call, or `time_ms` after the beginning of 1970 (UTC), and keep its
 * value: atomically, and as durable as holm_insert(). HOLM_ABSENT if the key is absent. A lifetime of 0 and a time in
 * the past make the key absent at once. Any thread. Errors: those of holm_insert(); INVALID.
 */
int holm_expire_in(const holm_keyspace *keyspace, const void *key, size_t key_size, uint64_t lifetime_ms);
int holm_expire_at(const holm_keyspace *keyspace, const void *key, size_t key_size, uint64_t time_ms);

/*
 * Lets a key stay for ever, atomically. HOLM_ABSENT if it is absent, or does not expire anyway. Any thread. Errors:
 * those of holm_insert(); INVALID.
 */
int holm_persist(const holm_keyspace *keyspace, const void *key, size_t key_size);

/*
 * Iterates over the keys that have expired `time_ms` after the beginning of 1970 and are not removed yet, in order;
 * their values are empty. At most `limit`; 0: all. The list is made at once, and each call reads every pair from the
 * least key on to the last key that it returns. For the leader of replicas with HOLM_SWEEP_MANUAL, which removes these
 * keys by its log. Between this call and the removal a key may have got another value: compare its holm_expiry() where
 * the log is applied. The caller owns the handle in `iter` and closes it with holm_close_iter(). Any thread. Errors:
 * DROPPED; INVALID; POISONED (HOLM_STRICT alone); READ_ONLY for a keyspace that can only be read.
 */
int holm_expired(const holm_keyspace *keyspace, uint64_t time_ms, size_t limit, holm_iter **iter);

/*
 * Removes the expired pairs of all keyspaces now, and stores their number in `removed`, which may be NULL. Readers see
 * no difference. Changes a restored copy, to which no incremental backup can be applied then. Any thread. Errors:
 * POISONED, NO_SPACE; some of the pairs are removed.
 */
int holm_sweep(const holm_database *database, uint64_t *removed);

/*
 * Atomic operations on one key. Each reads and writes the key at one instant between its call and its return, and is as
 * durable as holm_insert(). A value that is handed out is a copy, which the caller frees with holm_free(). Places for
 * it may be NULL; then no copy is made. Any thread. Errors of each: those of holm_insert(); OUT_OF_MEMORY if there is
 * no memory for a copy, and the operation has taken effect then.
 */

/*
 * Replaces a key's value by `value` if it is the expected one. Here NULL with size 0 is no value: as `expected` it
 * stands for an absent key, and as `value` it removes the key. The empty string is a pointer with size 0. If the value
 * is another one, returns HOLM_UNEQUAL, and `current` is a copy of it; NULL if the key is absent.
 */
int holm_compare_and_swap(const holm_keyspace *keyspace, const void *key, size_t key_size, const void *expected,
                          size_t expected_size, const void *value, size_t value_size, void **current,
                          size_t *current_size);

/*
 * Stores a value if the key is absent. If the key is present, returns HOLM_UNEQUAL, and `current` is a copy of its
 * value.
 */
int holm_insert_if_absent(const holm_keyspace *keyspace, const void *key, size_t key_size, const void *value,
                          size_t value_size, void **current, size_t *current_size);

/*
 * Stores a value, and hands out a copy of the one before. HOLM_ABSENT if the key was absent; the value is stored all
 * the same.
 */
int holm_swap(const holm_keyspace *keyspace, const void *key, size_t key_size, const void *value, size_t value_size,
              void **before, size_t *before_size);

/* Removes a key, and hands out a copy of its value. HOLM_ABSENT if it was absent. */
int holm_take(const holm_keyspace *keyspace, const void *key, size_t key_size, void **value, size_t *value_size);

/*
 * Adds `by` to a number and stores the sum in `sum`, which may be NULL. The value is an int64_t in eight bytes, the
 * least significant first; an absent key counts as 0. Errors in addition: INVALID if the value has another length,
 * OVERFLOW; nothing has changed then.
 */
int holm_increment(const holm_keyspace *keyspace, const void *key, size_t key_size, int64_t by, int64_t *sum);

/*
 * Removes the pair with the least key, and hands out copies of key and value; HOLM_ABSENT if the keyspace is empty.
 * Threads that pop from one keyspace get different pairs.
 */
int holm_pop_first(const holm_keyspace *keyspace, void **key, size_t *key_size, void **value, size_t *value_size);

/* As holm_pop_first(), with the greatest key. */
int holm_pop_last(const holm_keyspace *keyspace, void **key, size_t *key_size, void **value, size_t *value_size);

/*
 * Iterates over the pairs from `low`, inclusive, to `high`, exclusive, in the order of their keys as unsigned bytes.
 * NULL with size 0 is no bound. Returns at most `limit` pairs, from both ends together, and reads no more ahead; 0:
 * all. Concurrent writes may be visible or not, unless the keyspace is one of a snapshot. The caller owns the handle in
 * `iter` and closes it with holm_close_iter(). Any thread. Errors: INVALID.
 */
int holm_range(const holm_keyspace *keyspace, const void *low, size_t low_size, const void *high, size_t high_size,
               size_t limit, holm_iter **iter);

/* Iterates over the pairs whose keys begin with `prefix`; otherwise as holm_range(). */
int holm_prefix(const holm_keyspace *keyspace, const void *prefix, size_t prefix_size, size_t limit,
                holm_iter **iter);

/*
 * Returns the next pair from the front: pointers into the iterator, valid until its next call. Returns HOLM_ABSENT once
 * both ends have met, and on every later call. Any pointer to a result may be NULL. One thread at a time.
 * Errors: DROPPED, CORRUPT, ENDED, CONFLICT in a transaction, POISONED (HOLM_STRICT alone); the iterator has ended
 * then.
 */
int holm_next(holm_iter *iter, const void **key, size_t *key_size, const void **value, size_t *value_size);

/* Returns the next pair from the back; otherwise as holm_next(). */
int holm_next_back(holm_iter *iter, const void **key, size_t *key_size, const void **value, size_t *value_size);

/* Closes an iterator. One thread at a time. */
void holm_close_iter(holm_iter *iter);

/*
 * Creates an empty batch: its operations take effect at one instant, for every reader and in every crash. The caller
 * owns the handle in `batch` and ends it with holm_batch_commit() or holm_batch_discard(). Any thread. Errors: INVALID.
 */
int holm_batch_begin(const holm_database *database, holm_batch **batch);

/*
 * Appends an insertion to the batch. holm_batch_commit() reports operations that exceed a limit or belong to another
 * database. One thread at a time. Errors: INVALID.
 */
int holm_batch_insert(holm_batch *batch, const holm_keyspace *keyspace, const void *key, size_t key_size,
                      const void *value, size_t value_size);

/* Appends the removal of a key, which may be absent, to the batch; otherwise as holm_batch_insert(). */
int holm_batch_remove(holm_batch *batch, const holm_keyspace *keyspace, const void *key, size_t key_size);

/*
 * Append insertions of values that expire: see holm_insert_for() and holm_insert_until(). The lifetime counts from this
 * call on. In a keyspace without expiry, holm_batch_commit() returns HOLM_INVALID.
 */
int holm_batch_insert_for(holm_batch *batch, const holm_keyspace *keyspace, const void *key, size_t key_size,
                          const void *value, size_t value_size, uint64_t lifetime_ms);
int holm_batch_insert_until(holm_batch *batch, const holm_keyspace *keyspace, const void *key, size_t key_size,
                            const void *value, size_t value_size, uint64_t time_ms);

/*
 * Sets the mark of the database with the batch: see holm_mark(). The last of several counts. If it is not greater than
 * the present one, holm_batch_commit() returns HOLM_INVALID and applies nothing.
 */
int holm_batch_set_mark(holm_batch *batch, uint64_t mark);

/*
 * Applies all operations at one instant and frees the handle, whatever it returns. One thread at a time.
 * Errors: TOO_LARGE (64 MiB, each operation counting 64 bytes more); INVALID for a keyspace of another database, an
 * expiry where there is none, or a mark that does not rise; CONFLICT if other threads keep raising the mark; DROPPED,
 * CAPACITY, NO_SPACE: nothing has been applied (with HOLM_STRICT, the batch may have been applied despite NO_SPACE, and
 * not be durable yet). POISONED: reopening applies all operations or none.
 */
int holm_batch_commit(holm_batch *batch);

/* Frees a batch without applying it. One thread at a time. */
void holm_batch_discard(holm_batch *batch);

/*
 * Transactions: reads and writes of any number of keys and keyspaces that take effect at one instant. They are strictly
 * serializable, ranges included. Nothing is locked: if another thread changes what a transaction has read, a later call
 * returns HOLM_CONFLICT. The transaction can only be ended then, and has written nothing. holm_transact() begins anew
 * by itself. A transaction that writes nothing is a consistent read. Keys, values and 64 bytes for each write come to
 * 64 MiB at most. A keyspace of a snapshot is refused with HOLM_READ_ONLY, one of another database with HOLM_INVALID.
 * One thread at a time uses a transaction and the iterators in it.
 */

/*
 * Begins a transaction. The caller owns the handle in `transaction` and ends it with holm_transaction_commit() or
 * holm_transaction_discard(). Any thread. Errors: INVALID.
 */
int holm_transaction_begin(const holm_database *database, holm_transaction **transaction);

/* As holm_get(), at the transaction's instant and with its own writes. Errors in addition: CONFLICT. */
int holm_transaction_get(const holm_transaction *transaction, const holm_keyspace *keyspace, const void *key,
                         size_t key_size, void *buffer, size_t capacity, size_t *value_size);

/* As holm_get_copy(), at the transaction's instant and with its own writes. Errors in addition: CONFLICT. */
int holm_transaction_get_copy(const holm_transaction *transaction, const holm_keyspace *keyspace, const void *key,
                              size_t key_size, void **value, size_t *value_size);

/* As holm_contains(), at the transaction's instant and with its own writes. Errors in addition: CONFLICT. */
int holm_transaction_contains(const holm_transaction *transaction, const holm_keyspace *keyspace, const void *key,
                              size_t key_size);

/*
 * Stores a value under a key when the transaction commits. Only the transaction itself sees it before.
 * Errors: TOO_LARGE, and the write is left out; CONFLICT if an earlier call has conflicted.
 */
int holm_transaction_insert(const holm_transaction *transaction, const holm_keyspace *keyspace, const void *key,
                            size_t key_size, const void *value, size_t value_size);

/* Removes a key, which may be absent, when the transaction commits; otherwise as holm_transaction_insert(). */
int holm_transaction_remove(const holm_transaction *transaction, const holm_keyspace *keyspace, const void *key,
                            size_t key_size);

/*
 * Store values that expire when the transaction commits: see holm_insert_for() and holm_insert_until(). The lifetime
 * counts from this call on. Errors: those of holm_transaction_insert(); INVALID in a keyspace without expiry.
 */
int holm_transaction_insert_for(const holm_transaction *transaction, const holm_keyspace *keyspace, const void *key,
                                size_t key_size, const void *value, size_t value_size, uint64_t lifetime_ms);
int holm_transaction_insert_until(const holm_transaction *transaction, const holm_keyspace *keyspace,
                                  const void *key, size_t key_size, const void *value, size_t value_size,
                                  uint64_t time_ms);

/*
 * Let a key expire and keep its value when the transaction commits: see holm_expire_in() and holm_expire_at().
 * HOLM_ABSENT if the key is absent now. The lifetime counts from this call on, and the transaction sees one time
 * throughout: it may still see a key whose lifetime is over. Errors: those of holm_transaction_get()
 * and holm_transaction_insert(); INVALID in a keyspace without expiry.
 */
int holm_transaction_expire_in(const holm_transaction *transaction, const holm_keyspace *keyspace, const void *key,
                               size_t key_size, uint64_t lifetime_ms);
int holm_transaction_expire_at(const holm_transaction *transaction, const holm_keyspace *keyspace, const void *key,
                               size_t key_size, uint64_t time_ms);

/*
 * Stores in `time_ms` when a key expires, at the transaction's instant and with its own writes: see holm_expiry().
 * HOLM_ABSENT if the key is absent. Conflicts with any change of the key's leaf, about seventeen pairs. Errors: those
 * of holm_transaction_get(); INVALID in a keyspace without expiry.
 */
int holm_transaction_expiry(const holm_transaction *transaction, const holm_keyspace *keyspace, const void *key,
                            size_t key_size, uint64_t *time_ms);

/*
 * Lets a key stay for ever when the transaction commits: see holm_persist(). HOLM_ABSENT if it is absent now, or does
 * not expire anyway. Conflicts as holm_transaction_expiry(). Errors: those of holm_transaction_expire_in().
 */
int holm_transaction_persist(const holm_transaction *transaction, const holm_keyspace *keyspace, const void *key,
                             size_t key_size);

/*
 * Removes all pairs from `low`, inclusive, to `high`, exclusive, when the transaction commits: all at one instant, or
 * none. Stores in `count`, which may be NULL, how many they are now. NULL with size 0 is no bound. Takes the time and
 * the memory of a scan, and conflicts as one. Errors: those of holm_transaction_insert(); TOO_LARGE, and the
 * transaction has the writes that it had before.
 */
int holm_transaction_remove_range(const holm_transaction *transaction, const holm_keyspace *keyspace,
                                  const void *low, size_t low_size, const void *high, size_t high_size,
                                  uint64_t *count);

/*
 * Sets the mark of the database when the transaction commits: see holm_mark(). Errors: INVALID if it is not greater
 * than the present one; CONFLICT.
 */
int holm_transaction_set_mark(const holm_transaction *transaction, uint64_t mark);

/*
 * As holm_range(), at the transaction's instant and with its own writes, those that follow included. The caller closes
 * the iterator with holm_close_iter(), before or after the transaction ends; after that it returns HOLM_ENDED.
 */
int holm_transaction_range(const holm_transaction *transaction, const holm_keyspace *keyspace, const void *low,
                           size_t low_size, const void *high, size_t high_size, size_t limit, holm_iter **iter);

/* Iterates over the pairs whose keys begin with `prefix`; otherwise as holm_transaction_range(). */
int holm_transaction_prefix(const holm_transaction *transaction, const holm_keyspace *keyspace, const void *prefix,
                            size_t prefix_size, size_t limit, holm_iter **iter);

/*
 * Makes all writes visible at one instant, at which all that was read is still so, and frees the handle, whatever it
 * returns. Durable as the database's mode says. `epoch` may be NULL; otherwise it is the commit's epoch, and the commit
 * is durable once durable_epoch of holm_stats has reached it.
 * Errors: CONFLICT, DROPPED, CAPACITY, NO_SPACE: nothing has been written (with HOLM_STRICT, the commit may have
 * happened despite NO_SPACE, and not be durable yet). POISONED: reopening finds all of the writes or none.
 */
int holm_transaction_commit(holm_transaction *transaction, uint64_t *epoch);

/* Frees a transaction; nothing has been written. */
void holm_transaction_discard(holm_transaction *transaction);

/*
 * The work of a transaction: HOLM_OK for a commit, any other code for none. It may run several times, so it has no
 * effect elsewhere that must not be repeated. It returns: it neither jumps out nor throws. The transaction belongs to
 * the caller of `work`: to end it is refused with HOLM_INVALID, and it is gone when `work` has returned.
 */
typedef int (*holm_work)(holm_transaction *transaction, void *context);

/*
 * Runs `work` in a transaction until it commits: anew after each conflict, whatever `work` has returned then, and with
 * pauses. After several conflicts other transactions wait for it. `context` is for `work`. Returns the code of `work`
 * if that is not HOLM_OK, and nothing has been written. Any thread, and `work` runs on the same one.
 * Errors: INVALID if `work` is NULL, or within `work` of another holm_transact() on the same database; CONFLICT after a
 * thousand attempts; otherwise as holm_transaction_commit().
 */
int holm_transact(const holm_database *database, holm_work work, void *context);

/*
 * Takes a snapshot: the database as it is at one instant, for as long as the handle is open. Writers do not wait for
 * it. What they replace meanwhile is kept, at most snapshot_bytes of holm_options for all snapshots together; beyond
 * that the oldest one ends, and its reads return HOLM_ENDED. The caller owns the handle in `snapshot` and closes it
 * with holm_close_snapshot(). Any thread. Errors: INVALID, POISONED, and NO_SPACE (HOLM_STRICT alone).
 */
int holm_open_snapshot(const holm_database *database, holm_snapshot **snapshot);

/*
 * As holm_open_snapshot(), or the last snapshot of this function, if it is still open and was taken at most `age_ms`
 * before the call. For many readers to whom a little age does not matter.
 */
int holm_open_snapshot_within(const holm_database *database, uint64_t age_ms, holm_snapshot **snapshot);

/* Iterates over the names of the keyspaces as they were; otherwise as holm_keyspaces(). */
int holm_snapshot_keyspaces(const holm_snapshot *snapshot, holm_iter **iter);

/*
 * Opens a keyspace as it was when the snapshot was taken; HOLM_ABSENT if it did not exist. Every function that reads
 * accepts the handle, except holm_expired(); those that write, and transactions, refuse it with HOLM_READ_ONLY.
 * holm_count() counts the pairs one by one. The handle keeps the snapshot open, and the caller closes it with
 * holm_close_keyspace(). A keyspace that is dropped is gone here, too: its reads return HOLM_DROPPED, except in a
 * snapshot of holm_open_snapshot_and_feed(), which keeps it. Any thread. Errors: INVALID.
 */
int holm_open_snapshot_keyspace(const holm_snapshot *snapshot, const char *name, holm_keyspace **keyspace);

/*
 * Stores the epoch in which the snapshot was taken in `epoch`. Everything in the snapshot is durable once durable_epoch
 * of holm_stats has reached it. Any thread. Errors: INVALID.
 */
int holm_snapshot_epoch(const holm_snapshot *snapshot, uint64_t *epoch);

/* Stores the mark that the database had in `mark`: see holm_mark(). Any thread. Errors: INVALID, ENDED. */
int holm_snapshot_mark(const holm_snapshot *snapshot, uint64_t *mark);

/*
 * Closes a snapshot. It ends with the last of its handles, keyspaces and iterators included, and what it kept is free
 * then. Exclusive: no other call on this handle may be running.
 */
void holm_close_snapshot(holm_snapshot *snapshot);

/*
 * Marks. A program that applies the commands of a log gives the position of each command as the mark of the batch or
 * transaction that has its effects. After any crash, both are there or neither, so it goes on behind the mark.
 */

/* Stores the mark, the greatest that was committed, in `mark`; HOLM_ABSENT if there never was one. Any
 * thread. Errors: INVALID. */
int holm_mark(const holm_database *database, uint64_t *mark);

/*
 * Stores a mark in `mark` that survives a power failure, with everything that was committed with it or before: the
 * latest such mark among those whose commits have returned. HOLM_ABSENT if there is none. Any thread.
 */
int holm_durable_mark(const holm_database *database, uint64_t *mark);

/*
 * Change feeds: what each epoch has changed, once it is durable, to keep a replica, an index or a cache up to date. A
 * feed gives every epoch after the one of holm_feed_since() once and in order, and never what a crash may take back.
 * Batches and transactions are whole in one epoch. Writers neither wait for a feed nor do anything for it. With
 * HOLM_BUFFERED an epoch comes about one interval after its writes; otherwise at the next holm_sync(), and after 100
 * ms at the latest. When holm_sync() returns, feeds have everything that it made durable. docs/feed.md has the rest.
 *
 * A feed keeps no database open or locked, and holm_close() of the database does not wait for it. Once the database is
 * closed, the feed gives what is left and then HOLM_CLOSED, also to a thread that waits in holm_feed_next().
 */

/*
 * Opens a feed of all keyspaces, which begins with the whole epoch that is active now. It keeps at most `bytes` bytes
 * that its reader has not taken; several epochs should fit. The caller owns the handle in `feed` and closes it with
 * holm_close_feed(). Any thread. Errors: UNSUPPORTED for a design that keeps no states of epochs; INVALID; POISONED,
 * NO_SPACE.
 */
int holm_open_feed(const holm_database *database, uint64_t bytes, holm_feed **feed);

/*
 * Takes a snapshot, and opens a feed that continues it: the snapshot is the database at the end of the epoch of
 * holm_feed_since(), and the feed gives every epoch after that. A snapshot of holm_open_snapshot() does not join a
 * feed. Ends the active epoch and waits until it is durable; writers do not wait. The caller owns and closes both. Any
 * thread. Errors: those of holm_open_feed() and holm_sync(); both handles are NULL then.
 */
int holm_open_snapshot_and_feed(const holm_database *database, uint64_t bytes, holm_snapshot **snapshot,
                                holm_feed **feed);

/*
 * Stores in `epoch` the epoch up to which everything is behind the reader: it was there when the feed began, or
 * holm_feed_next() has given it. One thread at a time. Errors: INVALID.
 */
int holm_feed_since(const holm_feed *feed, uint64_t *epoch);

/* For timeout_ms: wait without limit. */
#define HOLM_FOREVER (-1)

/*
 * Takes the changes of the next epoch that has any. Waits for at most `timeout_ms` milliseconds, 0: not at all;
 * HOLM_ABSENT if there are none by then. The caller owns the handle in `changes` and closes it with
 * holm_close_changes(), before or after the feed. One thread at a time.
 * Errors, which every later call returns again: LAGGED if the reader was too slow, after it has got everything up to
 * holm_feed_since(): it begins anew with holm_open_snapshot_and_feed(); CLOSED after the last epoch of a closed
 * database; POISONED if the database has failed, and what the feed has not given may be durable or not; CORRUPT.
 * INVALID.
 */
int holm_feed_next(holm_feed *feed, int64_t timeout_ms, holm_changes **changes);

/* Ends a feed and frees what it keeps; changes that it has given stay. One thread at a time. */
void holm_close_feed(holm_feed *feed);

/* What a change is. More kinds may be added; a reader that meets one which it does not know cannot go on. */
#define HOLM_CHANGE_DROP 1   /* a keyspace is gone with all its pairs */
#define HOLM_CHANGE_CREATE 2 /* a keyspace is new, and empty but for what the other changes put into it */
#define HOLM_CHANGE_REMOVE 3 /* a key is gone */
#define HOLM_CHANGE_PUT 4    /* a key is new, or has another value, or the same value anew */

/*
 * One change. Fields may be added at the end, so begin with HOLM_CHANGE. Its pointers belong to the handle of the
 * changes, and are valid until that is closed.
 */
typedef struct holm_change {
    size_t size;          /* sizeof(holm_change): which fields the caller knows */
    int32_t kind;         /* HOLM_CHANGE_DROP and so on; 0: a kind that this library does not know */
    int32_t expires;      /* CREATE: not 0 if its keys may expire, as in holm_keyspace_options */
    const char *keyspace; /* the keyspace's name, with a zero byte at its end */
    size_t keyspace_size; /* bytes of the name */
    const void *key;      /* REMOVE, PUT */
    size_t key_size;
    const void *value;    /* PUT */
    size_t value_size;
    uint64_t expires_ms;  /* PUT: when the key expires, in milliseconds since 1970, be it over or not; 0: never */
} holm_change;

#define HOLM_CHANGE { sizeof(holm_change), 0, 0, NULL, 0, NULL, 0, NULL, 0, 0 }

/* Stores the epoch of changes in `epoch`. Epochs rise from one call of holm_feed_next() to the next. Any thread. */
int holm_changes_epoch(const holm_changes *changes, uint64_t *epoch);

/*
 * Stores the mark that the database has at the end of the epoch in `mark`; HOLM_ABSENT if the epoch has not changed it:
 * see holm_mark(). Any thread. Errors: INVALID.
 */
int holm_changes_mark(const holm_changes *changes, uint64_t *mark);

/* Stores the number of changes in `count`; 0 if only the mark has changed. Any thread. Errors: INVALID. */
int holm_changes_count(const holm_changes *changes, uint64_t *count);

/*
 * Stores the bytes of memory that changes occupy in `bytes`. They count towards the limit of a feed that has not given
 * them. Feeds of one database and the changes that they have given share one copy. Any thread. Errors: INVALID.
 */
int holm_changes_memory(const holm_changes *changes, uint64_t *bytes);

/*
 * Fills `change` with the change of an index, counted from 0; HOLM_ABSENT from holm_changes_count() on. A replica
 * applies them in this order as one batch: drops, creations, removals, puts. Each key is there at most once. Any
 * thread. Errors: INVALID.
 */
int holm_changes_get(const holm_changes *changes, uint64_t index, holm_change *change);

/* Closes changes. Exclusive: no other call on this handle may be running, and no pointer of a change is valid then. */
void holm_close_changes(holm_changes *changes);

/*
 * Backups: the database at one instant, beside writers. A stream has names, keys and values, a checksum for each
 * mebibyte, and a hash of all of it; any later version restores it. Streams go through functions of the caller. A
 * keyspace that is dropped while a backup is written is in the backup, and its space is free afterwards.
 */

/*
 * Takes the next `size` bytes of a stream. HOLM_OK if it has taken all of them. Any other code ends the stream: the
 * function is not called again, and the call that runs it returns this code. No code of the library is 1000 or more.
 * The function runs on the thread of that call. It returns: it neither jumps out nor throws.
 */
typedef int (*holm_stream_write)(void *context, const void *bytes, size_t size);

/*
 * Gives the next bytes of a stream: at most `capacity`, which is not 0. Stores their number in `size`, which is 0
 * before the call; 0 is the end of the stream. Otherwise as holm_stream_write.
 */
typedef int (*holm_stream_read)(void *context, void *buffer, size_t capacity, size_t *size);

/*
 * A holm_stream_write and a holm_stream_read for a file descriptor, which is in the `int` behind `context`:
 *     int fd = open("monday.backup", O_WRONLY | O_CREAT | O_EXCL, 0600);
 *     int code = holm_backup_to(database, holm_write_fd, &fd, NULL);
 * They neither sync nor close it. A pipe without a reader raises SIGPIPE, unless the program ignores it. Any thread.
 * Errors: IO, NO_SPACE, INVALID.
 */
int holm_write_fd(void *context, const void *bytes, size_t size);
int holm_read_fd(void *context, void *buffer, size_t capacity, size_t *size);

/* What a backup contains. Fields may be added at the end, so begin with HOLM_BACKUP_INFO. */
typedef struct holm_backup_info {
    size_t size;        /* sizeof(holm_backup_info): which fields the caller knows */
    uint8_t uuid[16];   /* identifies the database that the backup is of */
    uint64_t base;      /* the epoch of the backup that it continues; 0: a whole backup */
    uint64_t epoch;     /* the epoch up to which it is complete: the base of the next incremental backup */
    uint64_t keyspaces; /* keyspaces */
    uint64_t records;   /* pairs in the stream */
    uint64_t kept;      /* pairs that are not in the stream, because the base has them */
    uint64_t bytes;     /* bytes of the stream */
} holm_backup_info;

#define HOLM_BACKUP_INFO { sizeof(holm_backup_info), { 0 }, 0, 0, 0, 0, 0, 0 }

/*
 * In the functions below, `info` may be NULL. Otherwise it begins with HOLM_BACKUP_INFO, and is filled if the call
 * returns HOLM_OK. INVALID if its size is not valid.
 */

/*
 * Makes a copy of the database in a folder that does not exist or is empty. The folder gets its name once the copy is
 * complete and durable. Any thread. Errors: those of holm_backup_to() and holm_restore().
 */
int holm_backup(const holm_database *database, const char *folder, holm_backup_info *info);

/*
 * Writes a whole backup, and waits until its contents are durable in the database. Makes no file durable. Any thread.
 * Errors: the code of `write`; ENDED if open snapshots keep more than snapshot_bytes of holm_options; CORRUPT; INVALID;
 * POISONED, NO_SPACE.
 */
int holm_backup_to(const holm_database *database, holm_stream_write write, void *context, holm_backup_info *info);

/*
 * Writes what has changed since an earlier backup of this database, whose epoch is `base`. Any earlier backup will do,
 * and the database keeps nothing for it; 0: a whole backup. Otherwise as holm_backup_to(). Errors in addition: INVALID
 * if `base` is later than the present epoch.
 */
int holm_backup_since(const holm_database *database, uint64_t base, holm_stream_write write, void *context,
                      holm_backup_info *info);

/*
 * Writes a backup of a snapshot; otherwise as holm_backup_since(). Errors in addition: DROPPED if one of its keyspaces
 * was dropped before the call.
 */
int holm_snapshot_backup_since(const holm_snapshot *snapshot, uint64_t base, holm_stream_write write, void *context,
                               holm_backup_info *info);

/*
 * Makes a database of a whole backup, in a folder that does not exist or is empty. The folder gets its name once the
 * database in it is complete and durable; if anything fails, it is as before. `options` may be NULL for the defaults;
 * the design need not be that of the backup's database. Any thread.
 * Errors: the code of `read`; CORRUPT, FOREIGN, VERSION if the stream is damaged, ends early or is none; WRONG_BASE if
 * it is incremental; IO if the folder has anything in it; LOCKED if another process restores to it; NO_SPACE, INVALID.
 */
int holm_restore(const char *folder, const holm_options *options, holm_stream_read read, void *context,
                 holm_backup_info *info);

/*
 * Brings a restored database, or the copy of holm_backup(), from one backup to the next, whose base is the state that
 * it stands at. After any crash it stands at one of the two. In this process, readers see the changes one by one.
 * Durable in every mode. `read` must neither call holm_apply() with this database (INVALID) nor wait for a thread that
 * does. Any thread.
 * Errors: the code of `read`; CORRUPT, FOREIGN, VERSION; WRONG_BASE if the backup is of another database or state, or
 * this database was written since: nothing has changed. NO_SPACE, CAPACITY, POISONED: repeat the call with the same
 * stream, or open the database anew.
 */
int holm_apply(const holm_database *database, holm_stream_read read, void *context, holm_backup_info *info);

/*
 * Reads a stream to its end and verifies all of it. Any thread. Errors: the code of `read`; CORRUPT, FOREIGN, VERSION.
 */
int holm_verify_backup(holm_stream_read read, void *context, holm_backup_info *info);

/*
 * Damage: what no crash causes, such as a disk that loses bits. A scrub looks for it beside writers; a repair saves
 * what it has left, pair by pair. A backup is better than a repair.
 */

/* What a scrub has read and found. Fields may be added at the end, so begin with HOLM_SCRUB_REPORT. */
typedef struct holm_scrub_report {
    size_t size;               /* sizeof(holm_scrub_report) */
    uint64_t leaves;           /* leaves read */
    uint64_t records;          /* records read */
    uint64_t bytes;            /* bytes of both */
    uint64_t total_bytes;      /* bytes of all leaves and records: where `bytes` ends, about */
    uint64_t unsettled_leaves; /* leaves that showed a fault and changed meanwhile, again and again */
    uint64_t damages;          /* damages found */
} holm_scrub_report;

#define HOLM_SCRUB_REPORT { sizeof(holm_scrub_report), 0, 0, 0, 0, 0, 0 }

/*
 * Watches a scrub: called for each of the first hundred damages with its description, and after each leaf with NULL.
 * HOLM_OK if the scrub goes on. Any other code ends it, and holm_scrub() returns this code. No code of the library is
 * 1000 or more. What it is given is valid during the call. It returns: it neither jumps out nor throws.
 */
typedef int (*holm_scrub_watch)(void *context, const holm_scrub_report *report, const char *damage);

/*
 * Verifies leaf by leaf while writers go on: order and ranges of keys, and the checksum of each record. Reads `rate`
 * bytes a second at most, on average, and sleeps in between; 0: no limit. `watch` and `report` may be NULL; `report` is
 * filled in any case that is not an error listed here. If anything is damaged, returns HOLM_CORRUPT, and the first
 * damage is the message. Any thread. Errors: INVALID.
 */
int holm_scrub(const holm_database *database, uint64_t rate, holm_scrub_watch watch, void *context,
               holm_scrub_report *report);

/* What a repair has kept and lost. Fields may be added at the end, so begin with HOLM_REPAIR_REPORT. */
typedef struct holm_repair_report {
    size_t size;                  /* sizeof(holm_repair_report) */
    uint64_t keyspaces;           /* keyspaces of the new database, `default` included */
    uint64_t records;             /* pairs of the new database */
    uint64_t orphans;             /* among them, those that no leaf names, in the keyspace lost-records */
    uint64_t leaves;              /* leaves with pairs that were read */
    uint64_t log_entries;         /* whole entries of the log that were used */
    uint64_t completed_commits;   /* commits that the death of a process interrupted */
    uint64_t superseded_records;  /* pairs found more than once; the latest was kept */
    uint64_t damaged_records;     /* pairs lost: their record is gone */
    uint64_t foreign_records;     /* pairs lost: the record in their place is that of another key */
    uint64_t doubtful_records;    /* pairs kept that may be of an earlier time: the log lacks entries */
    uint64_t unreadable_leaves;   /* leaves none of whose pairs could be kept */
    uint64_t missing_log_entries; /* entries of the log that are missing although a later one is whole */
    uint64_t lost_names;          /* keyspaces whose names are lost; they are now lost-1, lost-2 and so on */
    uint64_t losses;              /* descriptions of losses that holm_tell gets, a hundred at most */
} holm_repair_report;

#define HOLM_REPAIR_REPORT { sizeof(holm_repair_report), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Takes a line of text, which is valid during the call. It returns: it neither jumps out nor throws. */
typedef void (*holm_tell)(void *context, const char *text);

/*
 * Reads a damaged database, which holm_open() may refuse, and writes what can be believed of it to a folder that does
 * not exist or is empty. Never changes the damaged folder. Each pair is judged by itself, so a batch can be there in
 * part. `options` may be NULL for the defaults, with the design of the damaged database. `orphans` not 0: whole records
 * that no leaf names are kept, too. `tell` may be NULL; it gets the report as text, a line for each call. `report` may
 * be NULL. Any thread. Errors: NOT_FOUND, LOCKED, VERSION, GEOMETRY, UNSUPPORTED; IO if the folder has anything in it;
 * NO_SPACE, CAPACITY, INVALID.
 */
int holm_repair(const char *damaged, const char *folder, const holm_options *options, int orphans, holm_tell tell,
                void *context, holm_repair_report *report);

#ifdef __cplusplus
}
#endif

#endif
