/*
 * kassa_report_transaction, which returns when the receipt is on disk, against a bare insert into a write-ahead log with
 * synchronous=FULL in the same directory, of an id that is unique, as in any queue.
 *
 *   queueing DIRECTORY host       the library works on the host's thread, as SQLite does
 *   queueing DIRECTORY library    it has a thread of its own, and so has the bare insert, called through eventfds
 */
#include <jansson.h>
#include <pthread.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bench.h"
#include "kassa.h"

/* Few at a time, since other programs use the disk, too; and both logs have reached their full length before. */
enum { REPETITIONS = 10, WARM_UP_ROUNDS = 110 };

typedef struct {
    kassa_client *client;
    sqlite3 *database;
    sqlite3_stmt *insert;
    int number, there, back;
} context;

static void must(bool is_so, const char *what)
{
    if (is_so) return;
    fprintf(stderr, "queueing: %s\n", what);
    exit(2);
}

static int64_t reports(void *argument)
{
    context *both = argument;
    kassa_op ops[REPETITIONS];
    json_t *ids[REPETITIONS];
    for (int i = 0; i < REPETITIONS; i++) ids[i] = json_sprintf("20000000%08d", ++both->number);
    int64_t start = now_ns();
    for (int i = 0; i < REPETITIONS; i++) ops[i] = kassa_report_transaction(both->client, ids[i]);
    int64_t time = (now_ns() - start) / REPETITIONS;
    for (int i = 0; i < REPETITIONS; i++) {
        json_t *end = kassa_wait(both->client, ops[i], -1);
        must(json_object_get(end, "error") == NULL || json_is_null(json_object_get(end, "error")), "a report failed");
        json_decref(end);
        json_decref(ids[i]);
    }
    return time;
}

static void insert(context *both)
{
    char id[32];
    int length = snprintf(id, sizeof id, "20000000%08d", ++both->number);
    sqlite3_bind_text(both->insert, 1, id, length, SQLITE_TRANSIENT);
    sqlite3_bind_text(both->insert, 2, "vh:anon:01234567-89ab-cdef-0123-456789abcdef", -1, SQLITE_STATIC);
    must(sqlite3_step(both->insert) == SQLITE_DONE, sqlite3_errmsg(both->database));
    sqlite3_reset(both->insert);
}

static int64_t inserts(void *argument)
{
    int64_t start = now_ns();
    for (int i = 0; i < REPETITIONS; i++) insert(argument);
    return (now_ns() - start) / REPETITIONS;
}

static void *insert_on_demand(void *argument)
{
    context *both = argument;
    eventfd_t value;
    while (eventfd_read(both->there, &value) == 0 && value == 1) {
        insert(both);
        eventfd_write(both->back, 1);
    }
    return NULL;
}

static int64_t inserts_elsewhere(void *argument)
{
    context *both = argument;
    eventfd_t value;
    int64_t start = now_ns();
    for (int i = 0; i < REPETITIONS; i++) {
        must(eventfd_write(both->there, 1) == 0 && eventfd_read(both->back, &value) == 0, "the thread is gone");
    }
    return (now_ns() - start) / REPETITIONS;
}

static kassa_client *opened(const char *directory, const char *mode)
{
    /* Nobody listens there: the receipts stay. */
    json_t *options = json_pack("{ss+, ss}", "storage", directory, "/state", "thread", mode);
    json_t *config = json_pack("{s{ss, ss, ss, ss}}", "backend", "kind", "voidhash", "publishable_key", "vh_pk_sandbox",
                               "bundle_id", "com.example.app", "base_url", "http://127.0.0.1:1");
    kassa_client *client = kassa_open(options, NULL);
    must(client != NULL, "the client cannot be opened");
    json_decref(kassa_wait(client, kassa_configure(client, config), -1));
    json_decref(options);
    json_decref(config);
    return client;
}

int main(int count, char **arguments)
{
    must(count == 3, "usage: queueing DIRECTORY host|library");
    bool has_thread = strcmp(arguments[2], "library") == 0;
    char path[4096], figure[128];
    pthread_t thread;
    context both = {.client = opened(arguments[1], arguments[2]), .there = eventfd(0, EFD_CLOEXEC),
                    .back = eventfd(0, EFD_CLOEXEC)};
    snprintf(path, sizeof path, "%s/bare.db", arguments[1]);
    must(sqlite3_open(path, &both.database) == SQLITE_OK, "the database cannot be opened");
    sqlite3_exec(both.database,
                 "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                 "CREATE TABLE receipts (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL)",
                 NULL, NULL, NULL);
    must(sqlite3_prepare_v2(both.database, "INSERT INTO receipts (id, owner) VALUES (?, ?)", -1, &both.insert, NULL)
             == SQLITE_OK,
         "the insert cannot be prepared");
    int64_t (*bare)(void *) = has_thread ? inserts_elsewhere : inserts;
    pthread_create(&thread, NULL, insert_on_demand, &both);
    for (int i = 0; i < WARM_UP_ROUNDS; i++) reports(&both), bare(&both);
    snprintf(figure, sizeof figure, "queueing a receipt, against a bare insert with synchronous=FULL%s",
             has_thread ? ", each on a thread" : "");
    compare(figure, 1.3, 201, reports, bare, &both);
    eventfd_write(both.there, 2); /* ends the thread */
    pthread_join(thread, NULL);
    sqlite3_finalize(both.insert);
    sqlite3_close(both.database);
    kassa_close(both.client);
    return 0;
}
