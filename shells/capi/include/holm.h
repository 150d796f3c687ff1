/*
 * Holm: an embedded ordered key-value engine. Keys and values are byte strings in a crash-consistent B+-tree. After any
 * crash a database opens with a consistent prefix of its writes.
 *
 * Codes. Every function that can fail returns a code: HOLM_OK; HOLM_ABSENT, which is a result and no error; or a
 * negative code, which is an error. Each function lists the errors that are specific to it. In addition, NULL for a
 * required argument is INVALID. A call that the operating system refuses is IO, NO_SPACE or READ_ONLY, listed or not. A
 * program that ignores SIGXFSZ sees a limit on the size of files as IO; the signal ends any other program.
 * holm_message() returns the message of an error, on the same thread, until the thread's next call that fails. Each
 * thread has its own message, so no call has a parameter for it, and no caller has to free it. It is also available
 * after holm_open(), which leaves no handle when it fails.
 *
 * Bytes. A key, value or prefix is a pointer and a size; the call copies it before it returns. NULL is allowed only
 * with size 0 and is the empty string, which is a valid key and a valid value. A key has at most 65536 bytes, a value
 * at most 1073741824.
 *
 * Handles. A NULL handle is refused with HOLM_INVALID where a handle is required; closing NULL does nothing. Each
 * handle keeps alive what it depends on. A database may be closed before its keyspaces, iterators and batches. These
 * then refuse to write, and must still be closed. No handle may be used during or after the call that closes it.
 *
 * Threads. Databases and keyspaces: any number of threads at once, except for the call that closes one. Iterators and
 * batches: any thread, one at a time. No handle may be used in the child of a fork.
 *
 * Outputs. A pointer to a result must not be NULL, unless the function allows it. Unless a call returns HOLM_OK, its
 * output handles and pointers are NULL, and its output numbers 0, unless the function states another value.
 *
 * A panic of the engine is a bug in the engine. It never unwinds into the caller: the call returns HOLM_PANIC.
 * Acknowledged data is unharmed, but this process should not use the database any more. If it does, it may block
 * forever.
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
#define HOLM_READ_ONLY (-11) /* a write to a read-only database */
#define HOLM_NOT_CLEAN (-12) /* it was not closed, and a read-only open must not repair it */
#define HOLM_POISONED (-13)  /* a write or sync failed earlier, or it was closed: reopen it */
#define HOLM_UNSUPPORTED (-14) /* this platform, file system or design does not support it */
#define HOLM_TOO_LARGE (-15) /* a key, value, batch or name is over a limit */
#define HOLM_DROPPED (-16)   /* the keyspace of this handle has been dropped */
#define HOLM_SHORT_BUFFER (-17) /* the value is longer than the caller's buffer */
#define HOLM_OUT_OF_MEMORY (-18) /* no memory for a copy */
#define HOLM_PANIC (-19)     /* a bug in the engine, see above */
#define HOLM_OTHER (-20)     /* an error without a code of its own: see the message */

typedef struct holm_database holm_database; /* an open database */
typedef struct holm_keyspace holm_keyspace; /* a named, ordered map in a database */
typedef struct holm_iter holm_iter;         /* the pairs of a range, from both ends */
typedef struct holm_batch holm_batch;       /* operations that take effect at one instant */

/* How many of the latest writes a power failure may lose. */
#define HOLM_BUFFERED 0 /* at most those of two intervals and one sync; writes return at once */
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
    const char *design;  /* the leaf design, the same at each open as at creation; NULL: the default */
    int32_t memory;      /* not 0: a private image in memory of this process, not a shared mapping of the files */
    int32_t must_exist;  /* not 0: do not create a database if there is none */
} holm_options;

#define HOLM_OPTIONS { sizeof(holm_options), HOLM_BUFFERED, 0, 0, 0, NULL, 0, 0 }

/* Numbers about an open database. Fields may be added at the end. */
typedef struct holm_stats {
    uint64_t keyspaces;         /* keyspaces */
    uint64_t records;           /* records in all of them */
    uint64_t leaf_bytes;        /* bytes of leaves in use */
    uint64_t record_bytes;      /* bytes of records in use */
    uint64_t disk_bytes;        /* bytes on disk of all files, the log included */
    uint64_t durable_epoch;     /* all epochs up to this one are durable */
    uint64_t active_epoch;      /* the epoch of operations that start now */
    uint64_t log_records;       /* log entries written, one for each epoch with writes */
    uint64_t log_bytes;         /* bytes written to the log */
    uint64_t checkpoints;       /* checkpoints finished */
    uint64_t held_back;         /* writes that were throttled because the disk could not keep up */
    uint64_t recovered_records; /* log entries that the last open read; 0 after a clean close */
    uint64_t waiting_ns;        /* how long the end of an epoch has been waiting for operations at this moment, or 0 */
    uint64_t waiting_operations; /* how many operations it waits for; 0 if it waits for a batch */
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
 * Makes everything durable, leaves a clean database, and frees the handle, whatever it returns. Other handles to the
 * database (keyspaces, iterators and batches) refuse to write from then on, and keep it locked until they are closed.
 * Exclusive: no other call on this handle may be running.
 * Errors: the first failure of the session, or of the close itself; a later open recovers.
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
 * in `faults`, which may be NULL, and makes the first fault the message. Any thread.
 */
int holm_check(const holm_database *database, uint64_t *faults);

/*
 * Opens the keyspace with a name of 1 to 255 bytes of UTF-8, and creates it if it does not exist. The caller owns the
 * handle in `keyspace` and closes it with holm_close_keyspace(). Any thread. Errors: INVALID, POISONED, NO_SPACE.
 */
int holm_open_keyspace(const holm_database *database, const char *name, holm_keyspace **keyspace);

/* Closes the handle; the keyspace stays. Exclusive: no other call on this handle may be running. */
void holm_close_keyspace(holm_keyspace *keyspace);

/*
 * Drops a keyspace with all its pairs, durably; HOLM_ABSENT if there is none. Handles to it, and iterators, refuse to
 * read and to write from then on: DROPPED. Any thread. Errors: INVALID, POISONED, NO_SPACE.
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

/* Frees a copy from holm_get_copy(); NULL does nothing. Any thread. */
void holm_free(void *value);

/* HOLM_OK if the key is present, HOLM_ABSENT if not. Any thread. Errors: DROPPED, POISONED (HOLM_STRICT alone). */
int holm_contains(const holm_keyspace *keyspace, const void *key, size_t key_size);

/*
 * Removes a key; HOLM_ABSENT if it is absent. Durable as the database's mode says. Any thread.
 * Errors: POISONED, DROPPED, NO_SPACE (the key is removed then).
 */
int holm_remove(const holm_keyspace *keyspace, const void *key, size_t key_size);

/*
 * Stores the number of pairs in `count`. It is exact while there are no writers. For a dropped keyspace it is the last
 * number. With HOLM_STRICT, waits until everything that it counts is durable. Any thread.
 * Errors: INVALID; POISONED, NO_SPACE (HOLM_STRICT alone).
 */
int holm_count(const holm_keyspace *keyspace, uint64_t *count);

/*
 * Iterates over the pairs from `low`, inclusive, to `high`, exclusive, in the order of their keys as unsigned bytes.
 * NULL with size 0 is no bound. Returns at most `limit` pairs, from both ends together, and reads no more ahead; 0:
 * all. This is not a snapshot: concurrent writes may be visible or not. The caller owns the handle in `iter` and closes
 * it with holm_close_iter(). Any thread. Errors: INVALID.
 */
int holm_range(const holm_keyspace *keyspace, const void *low, size_t low_size, const void *high, size_t high_size,
               size_t limit, holm_iter **iter);

/* Iterates over the pairs whose keys begin with `prefix`; otherwise as holm_range(). */
int holm_prefix(const holm_keyspace *keyspace, const void *prefix, size_t prefix_size, size_t limit,
                holm_iter **iter);

/*
 * Returns the next pair from the front: pointers into the iterator, valid until its next call. Returns HOLM_ABSENT once
 * both ends have met, and on every later call. Any pointer to a result may be NULL. One thread at a time.
 * Errors: DROPPED, CORRUPT, POISONED (HOLM_STRICT alone); the iterator has ended then.
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
 * Applies all operations at one instant and frees the handle, whatever it returns. One thread at a time.
 * Errors: TOO_LARGE (64 MiB, each operation counting 64 bytes more), INVALID for a keyspace of another database,
 * DROPPED, CAPACITY, NO_SPACE: nothing has been applied. POISONED: reopening applies all operations or none.
 */
int holm_batch_commit(holm_batch *batch);

/* Frees a batch without applying it. One thread at a time. */
void holm_batch_discard(holm_batch *batch);

#ifdef __cplusplus
}
#endif

#endif
