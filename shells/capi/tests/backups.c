/*
 * Backups as folders and streams: copies that follow a database, functions of the caller that end a stream, claim too
 * much, or call the library themselves, and streams that are damaged or of another database. Runs plainly and under the
 * address sanitizer.
 */
#include "check.h"
#include <fcntl.h>
#include <unistd.h>

_Static_assert(sizeof(holm_backup_info) == 72, "a backup's numbers are laid out as the library has them");

/* A stream in memory, and what its functions do beside. */
struct stream {
    unsigned char *bytes;
    size_t size, at;
    /* A function returns `code` in its call number `calls`, counted from 1. */
    int calls, called, code;
    /* Claims one byte more than there is room for. */
    int overruns;
    /* Gives at most so many bytes; 0: as many as wanted. */
    size_t most;
    holm_database *within;
};

static int append(void *context, const void *bytes, size_t size) {
    struct stream *stream = context;
    if (++stream->called == stream->calls)
        return stream->code;
    CHECK(!stream->calls || stream->called < stream->calls);
    stream->bytes = realloc(stream->bytes, stream->size + size);
    memcpy(stream->bytes + stream->size, bytes, size);
    stream->size += size;
    return HOLM_OK;
}

static int give(void *context, void *buffer, size_t capacity, size_t *size) {
    struct stream *stream = context;
    holm_backup_info info = HOLM_BACKUP_INFO;
    CHECK(capacity > 0 && *size == 0);
    if (++stream->called == stream->calls)
        return stream->code;
    CHECK(!stream->calls || stream->called < stream->calls);
    if (stream->within)
        IS(HOLM_INVALID, holm_apply(stream->within, give, stream, &info));
    size_t most = stream->most && stream->most < capacity ? stream->most : capacity;
    *size = stream->size - stream->at < most ? stream->size - stream->at : most;
    memcpy(buffer, stream->bytes + stream->at, *size);
    stream->at += *size;
    if (stream->overruns)
        *size = capacity + 1;
    return HOLM_OK;
}

static struct stream *again(struct stream *stream) {
    stream->at = 0;
    stream->called = 0;
    return stream;
}

static void fill(holm_keyspace *keyspace, const char *value) {
    for (int number = 0; number < 3000; number++) {
        char key[8];
        snprintf(key, sizeof key, "k%04d", number);
        IS(HOLM_OK, holm_insert(keyspace, key, 5, value, strlen(value)));
    }
}

static void value_is(const char *expected, const char *folder, const char *key) {
    holm_options options = small();
    holm_database *database;
    holm_keyspace *keyspace;
    void *value;
    size_t size;
    options.must_exist = 1;
    IS(HOLM_OK, holm_open(folder, &options, &database));
    IS(HOLM_OK, holm_open_keyspace(database, "main", &keyspace));
    IS(HOLM_OK, holm_get_copy(keyspace, key, strlen(key), &value, &size));
    CHECK(size == strlen(expected) && !memcmp(value, expected, size));
    holm_free(value);
    holm_close_keyspace(keyspace);
    IS(HOLM_OK, holm_close(database));
}

/* A copy from a folder, brought to the next state by a stream of a snapshot. */
static void copies(holm_database *database, holm_keyspace *keyspace, const char *folder, struct stream *changes) {
    holm_options options = small();
    holm_backup_info whole = HOLM_BACKUP_INFO, info = HOLM_BACKUP_INFO;
    holm_snapshot *snapshot;
    holm_database *copied;
    fill(keyspace, "one");
    IS(HOLM_OK, holm_sync(database));
    IS(HOLM_OK, holm_backup(database, folder, &whole));
    CHECK(whole.size == sizeof whole && whole.base == 0 && whole.records == 3000 && whole.keyspaces == 2);
    CHECK(whole.kept == 0 && whole.epoch > 0 && whole.bytes > 3000);
    IS(HOLM_IO, holm_backup(database, folder, &info));
    CHECK(info.size == sizeof info && info.records == 0 && info.epoch == 0);
    IS(HOLM_OK, holm_sync(database));
    IS(HOLM_OK, holm_insert(keyspace, "k1500", 5, "two", 3));
    IS(HOLM_OK, holm_open_snapshot(database, &snapshot));
    IS(HOLM_OK, holm_insert(keyspace, "k1500", 5, "three", 5));
    IS(HOLM_OK, holm_snapshot_backup_since(snapshot, whole.epoch, append, changes, &info));
    CHECK(info.base == whole.epoch && info.epoch > info.base && info.bytes == changes->size);
    CHECK(info.kept > 0 && info.records > 0 && info.kept + info.records == 3000);
    CHECK(!memcmp(info.uuid, whole.uuid, sizeof info.uuid));
    IS(HOLM_INVALID, holm_snapshot_backup_since(snapshot, info.epoch + 1000, append, changes, NULL));
    holm_close_snapshot(snapshot);

    IS(HOLM_WRONG_BASE, holm_apply(database, give, again(changes), NULL));
    IS(HOLM_OK, holm_open(folder, &options, &copied));
    changes->within = copied;
    IS(HOLM_OK, holm_apply(copied, give, again(changes), &info));
    changes->within = NULL;
    CHECK(info.base == whole.epoch && info.bytes == changes->size);
    /* It is applied already, which is no error. */
    IS(HOLM_OK, holm_apply(copied, give, again(changes), NULL));
    IS(HOLM_OK, holm_close(copied));
    value_is("two", folder, "k1500");
    IS(HOLM_WRONG_BASE, holm_restore("never", NULL, give, again(changes), &info));
    CHECK(info.base == 0 && access("never", F_OK));
}

/* A whole stream: into a folder in small pieces, through a file, and damaged. */
static void streams(holm_database *database, const char *folder, const char *file) {
    holm_options options = small();
    holm_backup_info info = HOLM_BACKUP_INFO, found = HOLM_BACKUP_INFO;
    struct stream stream = { 0 };
    struct { holm_backup_info known; uint64_t later; } later = { HOLM_BACKUP_INFO, 7 };
    IS(HOLM_OK, holm_backup_to(database, append, &stream, &info));
    CHECK(info.base == 0 && info.bytes == stream.size && info.records == 3000);
    stream.most = 7;
    IS(HOLM_OK, holm_verify_backup(give, again(&stream), &found));
    CHECK(!memcmp(&info, &found, sizeof info));
    /* Callers with a later and an earlier version of the struct. */
    later.known.size = sizeof later;
    IS(HOLM_OK, holm_verify_backup(give, again(&stream), &later.known));
    CHECK(later.known.records == 3000 && later.known.size == sizeof later && later.later == 0);
    memset(&found, 9, sizeof found);
    found.size = offsetof(holm_backup_info, keyspaces);
    IS(HOLM_OK, holm_verify_backup(give, again(&stream), &found));
    CHECK(found.epoch == info.epoch && found.keyspaces == 0x0909090909090909);
    found.size = 3;
    IS(HOLM_INVALID, holm_verify_backup(give, again(&stream), &found));
    found.size = sizeof found;
    IS(HOLM_OK, holm_restore(folder, &options, give, again(&stream), NULL));
    value_is("three", folder, "k1500");
    IS(HOLM_IO, holm_restore(folder, &options, give, again(&stream), NULL));

    int fd = open(file, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(fd >= 0);
    IS(HOLM_OK, holm_backup_since(database, 0, holm_write_fd, &fd, &found));
    CHECK(lseek(fd, 0, SEEK_CUR) == (off_t)found.bytes && lseek(fd, 0, SEEK_SET) == 0);
    IS(HOLM_OK, holm_verify_backup(holm_read_fd, &fd, &info));
    CHECK(!memcmp(&info, &found, sizeof info));
    /* It stands at its end now. */
    IS(HOLM_FOREIGN, holm_verify_backup(holm_read_fd, &fd, &info));
    CHECK(info.records == 0);
    close(fd);
    IS(HOLM_IO, holm_verify_backup(holm_read_fd, &fd, &info));
    CHECK(strstr(holm_message(), "file descriptor") != NULL);
    IS(HOLM_IO, holm_backup_to(database, holm_write_fd, &fd, &info));
    fd = open("/dev/full", O_WRONLY);
    if (fd >= 0) {
        IS(HOLM_NO_SPACE, holm_backup_to(database, holm_write_fd, &fd, &info));
        close(fd);
    }

    stream.bytes[stream.size / 2] ^= 4;
    IS(HOLM_CORRUPT, holm_verify_backup(give, again(&stream), NULL));
    IS(HOLM_CORRUPT, holm_restore("never", NULL, give, again(&stream), NULL));
    stream.size = 3;
    IS(HOLM_CORRUPT, holm_verify_backup(give, again(&stream), NULL));
    stream.size = 0;
    IS(HOLM_FOREIGN, holm_restore("never", NULL, give, again(&stream), NULL));
    CHECK(access("never", F_OK) && access("never.partial", F_OK));
    free(stream.bytes);
}

/* Functions that end their stream in each of their calls, with codes of their own. */
static void early_ends(holm_database *database, const char *folder, struct stream *changes) {
    holm_backup_info info = HOLM_BACKUP_INFO;
    holm_database *copied;
    holm_options options = small();
    int calls, codes[] = { 1000, -1000, HOLM_ABSENT, HOLM_PANIC };
    struct stream stream = { 0 };
    for (calls = 1;; calls++) {
        stream.size = 0;
        stream.calls = calls;
        stream.called = 0;
        stream.code = codes[calls % 4];
        int code = holm_backup_to(database, append, &stream, &info);
        if (code == HOLM_OK)
            break;
        CHECK(code == stream.code && stream.called == calls && info.bytes == 0);
    }
    CHECK(calls > 5);
    for (calls = 1;; calls++) {
        stream.calls = calls;
        stream.code = codes[calls % 4];
        int verified = holm_verify_backup(give, again(&stream), &info);
        if (verified == HOLM_OK)
            break;
        CHECK(verified == stream.code && stream.called == calls && info.bytes == 0);
        CHECK(holm_restore("never", NULL, give, again(&stream), &info) == stream.code && stream.called == calls);
        CHECK(access("never", F_OK) && access("never.partial", F_OK));
    }
    CHECK(calls > 5);
    stream.calls = 0;
    stream.overruns = 1;
    IS(HOLM_INVALID, holm_verify_backup(give, again(&stream), &info));
    CHECK(strstr(holm_message(), "room for") != NULL);
    IS(HOLM_INVALID, holm_restore("never", NULL, give, again(&stream), &info));
    free(stream.bytes);
    /* A copy stands where it stood. */
    IS(HOLM_OK, holm_open(folder, &options, &copied));
    for (calls = 1; calls < 4; calls++) {
        changes->calls = calls;
        changes->code = codes[calls % 4];
        CHECK(holm_apply(copied, give, again(changes), &info) == changes->code && info.bytes == 0);
    }
    changes->calls = 0;
    IS(HOLM_OK, holm_apply(copied, give, again(changes), &info));
    IS(HOLM_OK, holm_close(copied));
}

static void refusals(holm_database *database) {
    struct stream stream = { 0 };
    holm_backup_info info = HOLM_BACKUP_INFO;
    holm_options options = small();
    size_t size = 1;
    int fd = -1;
    IS(HOLM_INVALID, holm_backup(NULL, "never", &info));
    IS(HOLM_INVALID, holm_backup(database, NULL, &info));
    IS(HOLM_INVALID, holm_backup(database, "", &info));
    IS(HOLM_IO, holm_backup(database, "..", &info));
    IS(HOLM_INVALID, holm_backup_to(NULL, append, &stream, &info));
    IS(HOLM_INVALID, holm_backup_to(database, NULL, &stream, &info));
    IS(HOLM_INVALID, holm_backup_since(database, UINT64_MAX, append, &stream, &info));
    IS(HOLM_INVALID, holm_snapshot_backup_since(NULL, 0, append, &stream, &info));
    IS(HOLM_INVALID, holm_restore(NULL, NULL, give, &stream, &info));
    IS(HOLM_INVALID, holm_restore("never", NULL, NULL, &stream, &info));
    options.durability = 7;
    IS(HOLM_INVALID, holm_restore("never", &options, give, &stream, &info));
    IS(HOLM_INVALID, holm_apply(NULL, give, &stream, &info));
    IS(HOLM_INVALID, holm_apply(database, NULL, &stream, &info));
    IS(HOLM_INVALID, holm_verify_backup(NULL, &stream, &info));
    CHECK(stream.called == 0);
    info.size = 0;
    IS(HOLM_INVALID, holm_backup_to(database, append, &stream, &info));
    CHECK(stream.called == 0);
    IS(HOLM_INVALID, holm_write_fd(NULL, "a", 1));
    IS(HOLM_INVALID, holm_write_fd(&fd, NULL, 1));
    IS(HOLM_IO, holm_write_fd(&fd, "a", 1));
    IS(HOLM_OK, holm_write_fd(&fd, NULL, 0));
    IS(HOLM_INVALID, holm_read_fd(NULL, &info, 1, &size));
    CHECK(size == 0);
    IS(HOLM_INVALID, holm_read_fd(&fd, NULL, 1, &size));
    IS(HOLM_INVALID, holm_read_fd(&fd, &info, 1, NULL));
    CHECK(access("never", F_OK));
}

int main(int count, char **arguments) {
    CHECK(count == 6);
    holm_options options = small();
    holm_database *database;
    holm_keyspace *keyspace;
    struct stream changes = { 0 };
    IS(HOLM_OK, holm_open(arguments[1], &options, &database));
    IS(HOLM_OK, holm_open_keyspace(database, "main", &keyspace));
    refusals(database);
    copies(database, keyspace, arguments[2], &changes);
    streams(database, arguments[3], arguments[5]);
    free(changes.bytes);

    /* A second copy, for ends in the middle. */
    changes = (struct stream){ 0 };
    holm_backup_info info = HOLM_BACKUP_INFO;
    IS(HOLM_OK, holm_sync(database));
    IS(HOLM_OK, holm_backup(database, arguments[4], &info));
    IS(HOLM_OK, holm_sync(database));
    IS(HOLM_OK, holm_insert(keyspace, "k0007", 5, "four", 4));
    IS(HOLM_OK, holm_backup_since(database, info.epoch, append, &changes, NULL));
    early_ends(database, arguments[4], &changes);
    value_is("four", arguments[4], "k0007");
    free(changes.bytes);
    holm_close_keyspace(keyspace);
    IS(HOLM_OK, holm_close(database));
    puts("every backup");
    return 0;
}
