/*
 * Holm: an ordered key-value engine that a program embeds. Keys and values are byte strings in a crash-consistent
 * B+-tree; after any crash a database opens with a consistent prefix of what was written.
 *
 * Codes. Every function that can fail returns one: HOLM_OK; HOLM_ABSENT, which is an answer and no error; and what is
 * below zero is an error. Of each function the errors are named that are its own; NULL where something is needed is
 * INVALID, and whatever the operating system refuses a call for is IO, NO_SPACE or READ_ONLY, named or not. A limit on
 * the size of files is met as IO by a program that ignores SIGXFSZ, and is the end of another one.
 * The words for an error are had from holm_message(), on the same thread, until its next call that fails. They are
 * kept for each thread, so no call has a parameter for them, nobody has to free them, and they are there for
 * holm_open() too, which leaves no handle to ask.
 *
 * Bytes. A key, value or prefix is a pointer and a size; it is copied before the call returns. NULL goes with size 0
 * alone and is the empty string, which is a legal key and a legal value. A key has at most 65536 bytes, a value
 * 1073741824.
 *
 * Handles. A handle that is NULL is refused with HOLM_INVALID wherever one is needed; to close NULL does nothing.
 * Each handle keeps alive what it stands on: a database may be closed before its keyspaces, iterators and batches
 * are, which then refuse to write, and they are to be closed all the same. No handle may be used during or after the
 * call that closes it.
 *
 * Threads. Databases and keyspaces: any number of threads at once, but for the call that closes one. Iterators and
 * batches: any thread, one at a time. No handle may be used in the child of a fork.
 *
 * Outputs. A pointer to a result must not be NULL, unless it is said that it may be. Unless the call returns HOLM_OK,
 * handles and pointers that it was to give are NULL, and numbers 0, unless another value is told of.
 *
 * A panic of the engine, which is a bug in it, never crosses into the caller: it becomes HOLM_PANIC. What has been
 * acknowledged is unharmed, but this process should not use the database any more, and may wait for ever if it does.
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
#define HOLM_INVALID (-1)    /* an argument that means nothing */
#define HOLM_NOT_FOUND (-2)  /* there is no database in this folder, and none was to be made */
#define HOLM_IO (-3)         /* the operating system refused a call */
#define HOLM_NO_SPACE (-4)   /* the disk is full; the call may be repeated once there is room */
#define HOLM_CAPACITY (-5)   /* the capacity that the database was opened with is reached */
#define HOLM_CORRUPT (-6)    /* bytes at rest are not what was written */
#define HOLM_FOREIGN (-7)    /* the folder is not one of Holm's, or is no folder */
#define HOLM_VERSION (-8)    /* written in another version of the format */
#define HOLM_GEOMETRY (-9)   /* of another shape than asked for: another design, say */
#define HOLM_LOCKED (-10)    /* somebody else has it open */
#define HOLM_READ_ONLY (-11) /* a write to what may only be read */
#define HOLM_NOT_CLEAN (-12) /* it was not closed, and only looking must not repair it */
#define HOLM_POISONED (-13)  /* a write or sync failed earlier, or it was closed: open it anew */
#define HOLM_UNSUPPORTED (-14) /* this platform, file system or design cannot do this */
#define HOLM_TOO_LARGE (-15) /* a key, value, batch or name is over a limit */
#define HOLM_DROPPED (-16)   /* the keyspace of this handle has been dropped */
#define HOLM_SHORT_BUFFER (-17) /* the value is longer than the caller's buffer */
#define HOLM_OUT_OF_MEMORY (-18) /* there is no memory for a copy */
#define HOLM_PANIC (-19)     /* a bug in the engine, see above */
#define HOLM_OTHER (-20)     /* what no code is for yet: see the message */

typedef struct holm_database holm_database; /* an open database */
typedef struct holm_keyspace holm_keyspace; /* a named, ordered map of one */
typedef struct holm_iter holm_iter;         /* pairs of a range, from both ends */
typedef struct holm_batch holm_batch;       /* operations, all or nothing after any crash */

/* How much of the tail a power cut may take. */
#define HOLM_BUFFERED 0 /* at most two intervals and one sync; writes return at once */
#define HOLM_STRICT 1   /* nothing: a write returns when it is synced, and threads share a sync */
#define HOLM_ON_SYNC 2  /* at most what came after the last holm_sync() that returned */

/*
 * How a database is opened. A field that is zero has its default, and fields may be added at the end, so begin with
 *     holm_options options = HOLM_OPTIONS;
 */
typedef struct holm_options {
    size_t size;         /* sizeof(holm_options): which fields the caller knows of */
    int32_t durability;  /* HOLM_BUFFERED, HOLM_STRICT or HOLM_ON_SYNC */
    uint32_t interval_ms; /* of HOLM_BUFFERED: milliseconds between syncs; 0: 10 */
    uint64_t capacity;   /* the most bytes of records, and of leaves: address space, not memory; 0: as the disk has */
    uint64_t log_bytes;  /* the most bytes of the log; 0: 256 MiB */
    const char *design;  /* the leaf design, the same at each open as when it was made; NULL: the default one */
    int32_t memory;      /* not 0: a private image in memory of this process, not a shared mapping of the files */
    int32_t must_exist;  /* not 0: no database is made where there is none */
} holm_options;

#define HOLM_OPTIONS { sizeof(holm_options), HOLM_BUFFERED, 0, 0, 0, NULL, 0, 0 }

/* Numbers about an open database. Fields may be added at the end. */
typedef struct holm_stats {
    uint64_t keyspaces;         /* keyspaces */
    uint64_t records;           /* records in all of them */
    uint64_t leaf_bytes;        /* bytes of leaves in use */
    uint64_t record_bytes;      /* bytes of records in use */
    uint64_t disk_bytes;        /* bytes on disk of all files, the log included */
    uint64_t durable_epoch;     /* epochs up to this one are durable */
    uint64_t active_epoch;      /* the one that operations belong to now */
    uint64_t log_records;       /* entries of the log written, one for each epoch with writes */
    uint64_t log_bytes;         /* bytes written to the log */
    uint64_t checkpoints;       /* checkpoints finished */
    uint64_t held_back;         /* writes that had to wait because the disk could not keep up */
    uint64_t recovered_records; /* entries of the log that the last open read; 0 after a clean close */
    uint64_t waiting_ns;        /* how long the end of an epoch has waited for operations at this moment; or 0 */
    uint64_t waiting_operations; /* for how many; 0 while it is a batch */
} holm_stats;

/* The library's version, "0.1.0". Static. Any thread. */
const char *holm_version(void);

/* A code's name, "HOLM_OK"; of a number that is no code, "unknown". Static. Any thread. */
const char *holm_code_name(int code);

/*
 * The words for this thread's last call that failed, in UTF-8; empty if none has. Never NULL, not to be freed, and
 * valid until the thread's next call that fails, or its end.
 */
const char *holm_message(void);

/*
 * Opens the database in the folder `path` and makes it if it is not there. `options` may be NULL: the defaults. The
 * handle in `database` is the caller's, to be closed by holm_close(). Any thread.
 * Errors: NOT_FOUND, LOCKED, FOREIGN, VERSION, GEOMETRY, CORRUPT, READ_ONLY, NO_SPACE, IO, UNSUPPORTED, and INVALID
 * for a path that is empty, a durability or a design that is none, or options of a size that is none.
 */
int holm_open(const char *path, const holm_options *options, holm_database **database);

/*
 * Makes everything durable, leaves a clean database, and frees the handle, whatever is returned. Other handles to the
 * database refuse to write from then on, and keep it locked until they are closed: keyspaces, iterators and batches.
 * Alone: no other call on this handle may be under way.
 * Errors: the first failure of the session, or of closing itself; another open later recovers.
 */
int holm_close(holm_database *database);

/*
 * Returns when every operation that had returned before the call survives a power cut. Any thread.
 * Errors: NO_SPACE, and it may be called again; POISONED.
 */
int holm_sync(const holm_database *database);

/*
 * Fills `stats`, of which the caller knows `size` bytes: sizeof(holm_stats). Fields that this library does not know
 * are 0. Some system calls, and milliseconds for each gigabyte that is mapped. Any thread. Errors: INVALID.
 */
int holm_read_stats(const holm_database *database, holm_stats *stats, size_t size);

/*
 * Verifies everything while writers wait. If the database is unsound: HOLM_CORRUPT, the number of faults in `faults`,
 * which may be NULL, and the first one as the message. Any thread.
 */
int holm_check(const holm_database *database, uint64_t *faults);

/*
 * The keyspace of a name of 1 to 255 bytes of UTF-8, made if it is not there. The handle in `keyspace` is the
 * caller's, to be closed by holm_close_keyspace(). Any thread. Errors: INVALID, POISONED, NO_SPACE.
 */
int holm_open_keyspace(const holm_database *database, const char *name, holm_keyspace **keyspace);

/* Closes the handle; the keyspace stays. Alone: no other call on this handle may be under way. */
void holm_close_keyspace(holm_keyspace *keyspace);

/*
 * Takes a keyspace away with all it holds, durably; HOLM_ABSENT if there is none. Handles to it, and iterators, refuse
 * to read and to write from then on: DROPPED. Any thread. Errors: INVALID, POISONED, NO_SPACE.
 */
int holm_drop_keyspace(const holm_database *database, const char *name);

/*
 * Puts a value under a key and replaces what was there. Durable as the database's mode says. Any thread.
 * Errors: TOO_LARGE; NO_SPACE and CAPACITY, and nothing has changed (with HOLM_STRICT and NO_SPACE it may have been
 * done all the same, and not be durable yet); POISONED; DROPPED.
 */
int holm_insert(const holm_keyspace *keyspace, const void *key, size_t key_size, const void *value,
                size_t value_size);

/*
 * Copies a key's value into the caller's buffer of `capacity` bytes, and its size into `value_size`; HOLM_ABSENT if
 * the key is not there. If it is longer: HOLM_SHORT_BUFFER, and `value_size` says how long. `buffer` may be NULL if
 * `capacity` is 0. Any thread. Errors: DROPPED, POISONED (HOLM_STRICT alone).
 */
int holm_get(const holm_keyspace *keyspace, const void *key, size_t key_size, void *buffer, size_t capacity,
             size_t *value_size);

/*
 * A copy of a key's value, of whatever size, which is the caller's, to be freed by holm_free(); HOLM_ABSENT if the key
 * is not there. The copy of an empty value is not NULL. Any thread.
 * Errors: DROPPED, OUT_OF_MEMORY, POISONED (HOLM_STRICT alone).
 */
int holm_get_copy(const holm_keyspace *keyspace, const void *key, size_t key_size, void **value,
                  size_t *value_size);

/* Frees what holm_get_copy() gave; NULL does nothing. Any thread. */
void holm_free(void *value);

/* HOLM_OK if the key is there, HOLM_ABSENT if not. Any thread. Errors: DROPPED, POISONED (HOLM_STRICT alone). */
int holm_contains(const holm_keyspace *keyspace, const void *key, size_t key_size);

/*
 * Takes a key away; HOLM_ABSENT if it was not there. Durable as the database's mode says. Any thread.
 * Errors: POISONED, DROPPED, NO_SPACE (the key is gone then).
 */
int holm_remove(const holm_keyspace *keyspace, const void *key, size_t key_size);

/*
 * The number of pairs in `count`; exact while nobody writes; of a keyspace that was dropped, what it had. Waits, with
 * HOLM_STRICT, until all that it counts is durable. Any thread. Errors: INVALID; POISONED, NO_SPACE (HOLM_STRICT
 * alone).
 */
int holm_count(const holm_keyspace *keyspace, uint64_t *count);

/*
 * The pairs from `low` on and below `high`, in the order of their keys as unsigned bytes. NULL, with size 0, as either
 * is no bound. At most `limit` pairs are given, from both ends together, and no more is read ahead; 0: all. Not a
 * snapshot: what is written meanwhile may be seen or not. The handle in `iter` is the caller's, to be closed by
 * holm_close_iter(). Any thread. Errors: INVALID.
 */
int holm_range(const holm_keyspace *keyspace, const void *low, size_t low_size, const void *high, size_t high_size,
               size_t limit, holm_iter **iter);

/* The pairs whose keys begin with `prefix`; otherwise as holm_range(). */
int holm_prefix(const holm_keyspace *keyspace, const void *prefix, size_t prefix_size, size_t limit,
                holm_iter **iter);

/*
 * The next pair from the front: pointers into the iterator, valid until its next call. HOLM_ABSENT once both ends have
 * met, and ever after. Any pointer to a result may be NULL. One thread at a time.
 * Errors: DROPPED, CORRUPT, POISONED (HOLM_STRICT alone); the iterator has ended then.
 */
int holm_next(holm_iter *iter, const void **key, size_t *key_size, const void **value, size_t *value_size);

/* The next pair from the back; otherwise as holm_next(). */
int holm_next_back(holm_iter *iter, const void **key, size_t *key_size, const void **value, size_t *value_size);

/* Closes an iterator. One thread at a time. */
void holm_close_iter(holm_iter *iter);

/*
 * An empty batch: operations that a crash leaves all done or all undone. Readers may see some before the others. The
 * handle in `batch` is the caller's, to be ended by holm_commit() or holm_discard(). Any thread. Errors: INVALID.
 */
int holm_begin(const holm_database *database, holm_batch **batch);

/*
 * Puts a value under a key, after the operations before it. What is over a limit, or of another database, is told by
 * holm_commit(). One thread at a time. Errors: INVALID.
 */
int holm_batch_insert(holm_batch *batch, const holm_keyspace *keyspace, const void *key, size_t key_size,
                      const void *value, size_t value_size);

/* Takes a key away, if it is there, after the operations before it; otherwise as holm_batch_insert(). */
int holm_batch_remove(holm_batch *batch, const holm_keyspace *keyspace, const void *key, size_t key_size);

/*
 * Does all operations in order and frees the handle, whatever is returned. One thread at a time.
 * Errors: TOO_LARGE (64 MiB, each operation counting 64 bytes more), INVALID for a keyspace of another database,
 * DROPPED, CAPACITY, NO_SPACE: nothing has been done. POISONED: opening anew does all of it or nothing.
 */
int holm_commit(holm_batch *batch);

/* Frees a batch and does nothing of it. One thread at a time. */
void holm_discard(holm_batch *batch);

#ifdef __cplusplus
}
#endif

#endif
