/* The state machine of a Holm cluster, for a consensus engine in another language.
 *
 * A node is one database. Its groups are the parts of the keys that one log each orders. The calls are coarse: each
 * carries a batch, in one buffer, and none calls back.
 *
 * - Every call may come from any thread. One caller at a time applies entries to a group or restores it; all other
 *   calls may run beside that.
 * - Buffers that are passed in belong to the caller, and are read during the call alone.
 * - `out` takes the result, or, if the call fails, a text that says what was found and what was expected. Its bytes
 *   belong to the caller, who gives them to holm_node_free once. Numbers in buffers are little-endian.
 * - A result of 0 is success. HOLM_NODE_STORE means that the store failed: the process is to end, and the next opening
 *   recovers.
 */
#ifndef HOLM_NODE_H
#define HOLM_NODE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HOLM_NODE_OK = 0,
    HOLM_NODE_END = 1,       /* there is no further frame */
    HOLM_NODE_REFUSED = 2,   /* a client wants what it may not have: `out` says why */
    HOLM_NODE_INVALID = -1,  /* an argument is NULL or no text */
    HOLM_NODE_STORE = -2,    /* the store failed */
    HOLM_NODE_MALFORMED = -3,/* bytes of the log or of a stream are not what they should be */
    HOLM_NODE_LEVEL = -4,    /* an entry is of a later version */
    HOLM_NODE_ORDER = -5,    /* the call came out of turn */
    HOLM_NODE_PROTOCOL = -6, /* a client sent what is no request */
    HOLM_NODE_PANIC = -7,    /* a bug: the process is to end */
    HOLM_NODE_DIFFERS = -8   /* the replica differs from the one that leads: the process is to end */
};

typedef struct holm_node holm_node;
typedef struct holm_group holm_group;
typedef struct holm_view holm_view;
typedef struct holm_restore holm_restore;
typedef struct holm_user holm_user;
typedef struct holm_denied holm_denied;

typedef struct {
    uint8_t *data; /* NULL if there are no bytes */
    size_t size;
} holm_bytes;

typedef struct {
    uint64_t capacity;      /* the most bytes of the database; 0 is the store's default */
    uint32_t private_image; /* 1: what was not synced dies with the process, as in a loss of power */
    uint32_t index_apart;   /* 1: a bug, for tests that are to catch it */
    uint8_t level;          /* for tests: the highest level of entries that the node knows; 0 is its own */
} holm_node_options;

/* Opens the database in a folder, and creates it if it is absent. `options` may be NULL. The handle is closed once, by
 * holm_node_close, after its groups, views and restores. */
int holm_node_open(const char *folder, const holm_node_options *options, holm_node **node, holm_bytes *out);
void holm_node_close(holm_node *node);

/* Opens a group, and creates it if it is absent. `applied` gets the index of its last entry. A group has one handle. */
int holm_group_open(holm_node *node, uint64_t number, holm_group **group, uint64_t *applied, holm_bytes *out);
void holm_group_close(holm_group *group);

/* Removes a group with all that it has, durably. Its handle, its views and its restores are closed. */
int holm_group_remove(holm_node *node, uint64_t number, holm_bytes *out);

/* Applies entries, all in one transaction with the index of the last. `entries` has (index 8 | length 4 | entry)*;
 * `out` gets (length 4 | reply)*, a reply for each entry: (length 4 | bytes)* for its parts. Durable after the next
 * holm_node_sync. */
int holm_group_apply(holm_group *group, const uint8_t *entries, size_t size, holm_bytes *out);

/* Refuses an entry that a replica which knows a level could not read: it would end all replicas, whenever they begin.
 * HOLM_NODE_MALFORMED, HOLM_NODE_LEVEL. */
int holm_entry_check(const uint8_t *entry, size_t size, uint8_t level, holm_bytes *out);

/* Answers parts that only read, (length 4 | bytes)* for the parts. Takes no lock. */
int holm_group_read(holm_group *group, const uint8_t *parts, size_t size, holm_bytes *out);

/* Returns once all that was applied before, in all groups, is durable. Calls at the same time share the work. */
int holm_node_sync(holm_node *node, holm_bytes *out);

/* The highest level of entries that this library knows. */
uint8_t holm_node_level(void);

/* Takes a view of a group as it is now, in constant time, and gives its frames one by one. HOLM_NODE_END: the stream is
 * complete. */
int holm_group_view(holm_group *group, holm_view **view, holm_bytes *out);

typedef struct {
    uint64_t applied; /* the index of the last entry */
    uint64_t keys;
    uint64_t backup;  /* the backup that the group was loaded from, or is; 0: none */
    uint32_t settled; /* 1: the group owns slots, and none of them is being moved or loaded */
} holm_view_status;

/* What a view is of. */
int holm_view_describe(holm_view *view, holm_view_status *status, holm_bytes *out);
int holm_view_next(holm_view *view, holm_bytes *out);
void holm_view_close(holm_view *view);

/* Restores a group from frames, beside what it has. holm_restore_finish exchanges it, durably, by one write, and gives
 * the index of its last entry; the handle is gone then, whatever it returns. holm_restore_drop leaves the group as it
 * was. */
int holm_restore_begin(holm_group *group, holm_restore **restore, holm_bytes *out);
int holm_restore_frame(holm_restore *restore, const uint8_t *frame, size_t size, holm_bytes *out);
int holm_restore_finish(holm_restore *restore, uint64_t *applied, holm_bytes *out);
void holm_restore_drop(holm_restore *restore);

enum {
    HOLM_ROUTE_EMPTY = 0,       /* an empty line */
    HOLM_ROUTE_KEYED = 1,       /* for the group of its slot */
    HOLM_ROUTE_CROSS = 2,       /* its keys lie in several slots */
    HOLM_ROUTE_EVERYWHERE = 3,  /* about all keys */
    HOLM_ROUTE_FRONT = 4,       /* for the front: connections, transactions, the cluster */
    HOLM_ROUTE_REFUSED = 5,     /* not to be carried out or queued: holm_refusal says why */
    HOLM_ROUTE_ANYWHERE = 6     /* for any group: it has no key */
};

typedef struct {
    size_t start, end; /* where the command lies in the input */
    uint32_t kind;
    uint16_t slot;
    uint16_t writes;   /* 1: it may write */
} holm_route;

/* Finds the whole commands at the beginning of what a client has sent, at most `capacity`. `count` gets their number.
 * `open` is 0 for a client that has not said who it is, and may send little. The cluster has a level. A command that is
 * too large for a log has the kind HOLM_ROUTE_REFUSED, unless it is one of nodes. */
int holm_parse(const uint8_t *input, size_t size, int open, uint8_t level, holm_route *routes, size_t capacity,
               size_t *count, holm_bytes *out);

/* Gives the error reply to a request whose route is HOLM_ROUTE_REFUSED; nothing for another one. */
int holm_refusal(const uint8_t *request, size_t size, uint8_t level, holm_bytes *out);

/* The hash slot of a key. */
uint16_t holm_slot(const uint8_t *key, size_t size);

/* Answers COMMAND, and HELP of commands with subcommands, in version 2 or 3 of the protocol. */
int holm_describe(const uint8_t *request, size_t size, int protocol, holm_bytes *out);

typedef struct {
    uint32_t may_do_all; /* 1: the user may do everything */
    uint32_t open;       /* 1: the user needs no password */
} holm_user_status;

/* Makes a user of its rules, which are those that holm_user_change gives or that ACL SETUSER takes. The handle is
 * closed once, by holm_user_close; until then many threads may use it. A request, in the following calls, is a whole
 * command as a client has sent it. */
int holm_user_open(const uint8_t *rules, size_t size, holm_user **user, holm_user_status *status, holm_bytes *out);
void holm_user_close(holm_user *user);

/* 1: the password is right, and the user is on. Takes a time that does not depend on the user's passwords. */
int holm_user_accepts(const holm_user *user, const uint8_t *password, size_t size);

/* HOLM_NODE_REFUSED: the user may not do what a command asks for; `out` gets the error reply for the client. */
int holm_user_check(const holm_user *user, const uint8_t *request, size_t size, holm_bytes *out);

/* Gives the rules that a user has after ACL SETUSER; a new user had none. HOLM_NODE_REFUSED: a rule or the name is
 * none; `out` gets the line of the error reply. */
int holm_user_change(const uint8_t *rules, size_t rules_size, const uint8_t *request, size_t size, holm_bytes *out);

/* Answers ACL CAT, GENPASS, GETUSER and DRYRUN, the last two about a user, which is NULL if it is absent. Any other ACL
 * is an error reply. */
int holm_acl(const holm_user *user, const uint8_t *request, size_t size, int protocol, holm_bytes *out);

/* The log of what users were refused: the latest refusals, in memory, 128 at most or as many as are set. It is closed
 * once; until then many threads may use it. */
holm_denied *holm_denied_open(void);
size_t holm_denied_most(const holm_denied *log);
void holm_denied_set_most(const holm_denied *log, size_t most);
void holm_denied_close(holm_denied *log);

typedef struct {
    const uint8_t *name; /* of the user */
    size_t name_size;
    const uint8_t *client; /* a line that describes the client */
    size_t client_size;
    uint32_t in_transaction; /* 1: within MULTI */
} holm_denied_by;

/* Notes that holm_user_check has refused a request. A user of NULL: a password was wrong, and the request is AUTH,
 * HELLO or HTTP, without more words. */
int holm_denied_add(const holm_denied *log, const holm_user *user, const uint8_t *request, size_t size,
                    const holm_denied_by *by, holm_bytes *out);

/* Answers ACL LOG, with a count or RESET, in version 2 or 3 of the protocol. */
int holm_denied_answer(const holm_denied *log, const uint8_t *request, size_t size, int protocol, holm_bytes *out);

typedef struct {
    uint64_t records;         /* pairs of all groups, what belongs to keys included */
    uint64_t disk_bytes;      /* of the database's files */
    uint64_t log_bytes;       /* of its log */
    uint64_t longest_sync_ns;
    uint64_t durable_epoch, active_epoch;
    uint64_t snapshots;       /* views that are open */
} holm_node_statistics;

/* `size` is that of the caller's struct: a longer one is filled as far as it is known. */
int holm_node_stats(holm_node *node, holm_node_statistics *statistics, size_t size, holm_bytes *out);

/* The index of a group's last entry that has taken effect, the hash over its changes, and its number of keys: replicas
 * that have the same index have the same hash. Waits for nothing. */
int holm_group_status(holm_group *group, uint64_t *applied, uint64_t *hash, uint64_t *keys, holm_bytes *out);

/* The index of a group's last entry, once those that are being applied have taken effect. */
int holm_group_applied(holm_group *group, uint64_t *applied, holm_bytes *out);

/* 1: the group answers for a slot, by its own record of slots. 0: it does not, or has no record. */
int holm_group_owns(holm_group *group, uint16_t slot);

/* The last mark that a group has passed since it was opened, and the hash at it, for an entry that compares replicas;
 * zeros if it has passed none. */
int holm_group_mark(holm_group *group, uint64_t *mark, uint64_t *hash, holm_bytes *out);

/* Frees the bytes of an `out`. */
void holm_node_free(holm_bytes bytes);

#ifdef __cplusplus
}
#endif
#endif
