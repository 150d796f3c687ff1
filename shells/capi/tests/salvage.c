/*
 * Scrubs and repairs: functions of the caller that end a scrub or are absent, damage that a scrub finds and a repair
 * leaves out, and a database that an open refuses. Runs plainly and under the address sanitizer.
 */
#include "check.h"
#include <unistd.h>

_Static_assert(sizeof(holm_scrub_report) == 56, "the report of a scrub is laid out as the library has it");
_Static_assert(sizeof(holm_repair_report) == 120, "the report of a repair is laid out as the library has it");

#define KEYS 3000

/* What a watch has seen. */
struct seen {
    uint64_t leaves, damages;
    /* It ends the scrub with this code at its first leaf. */
    int code;
};

static int watch(void *context, const holm_scrub_report *report, const char *damage) {
    struct seen *seen = context;
    CHECK(report->size == sizeof *report && report->bytes > 0 && report->total_bytes > 0);
    if (damage) {
        CHECK(*damage);
        seen->damages++;
        return HOLM_OK;
    }
    seen->leaves++;
    CHECK(report->leaves == seen->leaves);
    return seen->code;
}

static void tell(void *context, const char *text) {
    CHECK(*text);
    ++*(int *)context;
}

static void make(const char *folder) {
    holm_options options = small();
    holm_database *database;
    holm_keyspace *keyspace;
    IS(HOLM_OK, holm_open(folder, &options, &database));
    IS(HOLM_OK, holm_open_keyspace(database, "main", &keyspace));
    for (int number = 0; number < KEYS; number++) {
        char key[8];
        snprintf(key, sizeof key, "k%04d", number);
        IS(HOLM_OK, holm_insert(keyspace, key, 5, "a value of some length", 22));
    }
    holm_close_keyspace(keyspace);
    IS(HOLM_OK, holm_close(database));
}

/* Changes a byte of the value of `key` in the file of the records. */
static void damage(const char *folder, const char *key) {
    static char bytes[1 << 22];
    char name[4096];
    snprintf(name, sizeof name, "%s/records", folder);
    FILE *file = fopen(name, "r+b");
    CHECK(file != NULL);
    size_t size = fread(bytes, 1, sizeof bytes, file), at = 0;
    while (at + 5 < size && memcmp(bytes + at, key, 5))
        at++;
    CHECK(at + 5 < size);
    CHECK(!fseek(file, (long)at + 10, SEEK_SET) && fputc('#', file) == '#' && !fclose(file));
}

static void scrubs(const char *folder) {
    holm_options options = small();
    holm_database *database;
    holm_scrub_report report = HOLM_SCRUB_REPORT;
    struct seen seen = { 0, 0, HOLM_OK };
    make(folder);
    IS(HOLM_OK, holm_open(folder, &options, &database));
    IS(HOLM_OK, holm_scrub(database, 0, watch, &seen, &report));
    CHECK(report.leaves == seen.leaves && report.leaves > 100 && report.damages == 0 && seen.damages == 0);
    /* The catalog has a record for each of two keyspaces. */
    CHECK(report.records == KEYS + 2 && report.bytes <= report.total_bytes);
    IS(HOLM_OK, holm_scrub(database, 1 << 30, NULL, NULL, NULL));
    seen = (struct seen) { 0, 0, 1007 };
    CHECK(holm_scrub(database, 0, watch, &seen, &report) == 1007);
    CHECK(seen.leaves == 1 && report.leaves == 1);
    IS(HOLM_INVALID, holm_scrub(NULL, 0, watch, &seen, &report));
    report.size = 3;
    IS(HOLM_INVALID, holm_scrub(database, 0, watch, &seen, &report));
    IS(HOLM_OK, holm_close(database));
}

static void repairs(const char *folder, const char *saved, const char *later) {
    holm_options options = small();
    holm_database *database;
    holm_keyspace *keyspace;
    holm_scrub_report found = HOLM_SCRUB_REPORT;
    holm_repair_report report = HOLM_REPAIR_REPORT;
    struct seen seen = { 0, 0, HOLM_OK };
    int lines = 0;
    size_t size;
    char name[4096];
    make(folder);
    damage(folder, "k1234");
    IS(HOLM_OK, holm_open_read_only(folder, NULL, &database));
    IS(HOLM_CORRUPT, holm_scrub(database, 0, watch, &seen, &found));
    CHECK(found.damages == 1 && seen.damages == 1 && found.leaves == seen.leaves);
    IS(HOLM_OK, holm_close(database));

    IS(HOLM_OK, holm_repair(folder, saved, NULL, 0, tell, &lines, &report));
    CHECK(report.records == KEYS - 1 && report.damaged_records == 1 && report.losses == 1 && report.keyspaces == 2);
    CHECK(lines >= 4);
    IS(HOLM_OK, holm_open(saved, &options, &database));
    IS(HOLM_OK, holm_check(database, NULL));
    IS(HOLM_OK, holm_open_keyspace(database, "main", &keyspace));
    IS(HOLM_ABSENT, holm_get(keyspace, "k1234", 5, NULL, 0, &size));
    IS(HOLM_SHORT_BUFFER, holm_get(keyspace, "k1235", 5, NULL, 0, &size));
    CHECK(size == 22);
    holm_close_keyspace(keyspace);
    IS(HOLM_OK, holm_close(database));

    /* An open refuses what a repair still reads. */
    snprintf(name, sizeof name, "%s/superblock", folder);
    CHECK(!unlink(name));
    IS(HOLM_CORRUPT, holm_open(folder, &options, &database));
    IS(HOLM_IO, holm_repair(folder, saved, &options, 1, NULL, NULL, NULL));
    IS(HOLM_NOT_FOUND, holm_repair(later, saved, NULL, 0, NULL, NULL, &report));
    CHECK(report.records == 0);
    IS(HOLM_INVALID, holm_repair(NULL, later, NULL, 0, NULL, NULL, &report));
    IS(HOLM_OK, holm_repair(folder, later, &options, 1, NULL, NULL, &report));
    CHECK(report.records >= KEYS - 1 && report.damaged_records == 1);
}

int main(int count, char **folders) {
    CHECK(count == 5);
    scrubs(folders[1]);
    repairs(folders[2], folders[3], folders[4]);
    puts("every salvage");
    return 0;
}
