/*
 * host.c - a program that sells in a store of its own. The driver kills it at any step and starts it again.
 *
 *   host SCENARIO BASE_URL STORAGE LEDGER NUMBER THREAD
 *
 * The store's memory is the ledger, a text file that only ever grows, so that what stands there has happened whatever
 * becomes of the process. It also says what the host was told. Lines:
 *
 *   session                   a client was opened
 *   charged TOKEN KIND TOKEN2 the store took the money: for "coins", "pro", or "hosts", coins that the host bought by
 *                             itself; TOKEN2 is the account token of the order, or "-"
 *   finished TOKEN TIME       the library said that the store may forget it
 *   reported TOKEN OWNER      kassa_report_transaction has returned: on disk, and the host's for ever
 *   consumed TOKEN            the host has finished what it reported: the store does not list it any more
 *   told TOKEN                the host heard of it, by a purchase's result or an event
 *   restored TOKEN OWNER      a restore has completed
 *   diagnostic CODE           storage_reset, storage_failed ...
 *   memory KIB                by so much the peak of the memory has grown
 *   quiet                     nothing is left to be done
 *   end                       the scenario was played to its end
 *
 * Users and tokens carry NUMBER: those of one play are nobody else's.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kassa.h"

enum { TOKENS = 8192, NAME = 96 };

typedef struct {
    char token[NAME], kind[16], account[48];
    bool finished, is_hosts, is_consumed;
} purchase;

static const char *scenario, *base_url, *storage, *thread, *number;
static int ledger;
static purchase sold[TOKENS];
static size_t sold_count;
static kassa_client *client;
static kassa_op awaited;
static json_t *ending;
static bool switches_user;

static void no_step(const char *what) { (void)what; }
static void (*step)(const char *what) = no_step, (*phase)(const char *name) = no_step;

static int64_t now_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- The store ---- */

static purchase *find(const char *token)
{
    for (size_t i = 0; i < sold_count; i++) {
        if (strcmp(sold[i].token, token) == 0) return &sold[i];
    }
    return NULL;
}

static void take(const char *line)
{
    purchase new = {.is_hosts = false};
    char token[NAME];
    if (sscanf(line, "charged %95s %15s %47s", new.token, new.kind, new.account) == 3 && sold_count < TOKENS) {
        sold[sold_count++] = new;
    } else if (sscanf(line, "finished %95s", token) == 1 && find(token) != NULL) {
        find(token)->finished = true;
    } else if (sscanf(line, "consumed %95s", token) == 1 && find(token) != NULL) {
        find(token)->is_consumed = true;
    } else if (sscanf(line, "reported %95s", token) == 1 && find(token) != NULL) {
        find(token)->is_hosts = true;
    }
}

/* One write, so that a line is there or not. */
static void note(const char *format, ...)
{
    char line[512];
    va_list rest;
    va_start(rest, format);
    int length = vsnprintf(line, sizeof line - 1, format, rest);
    va_end(rest);
    line[length] = '\n';
    if (write(ledger, line, (size_t)length + 1) != length + 1) exit(3);
    line[length] = 0;
    take(line);
}

static void read_ledger(const char *path)
{
    char line[512];
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) take(line);
    if (file != NULL) fclose(file);
    ledger = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (ledger < 0) exit(3);
}

static const char *order_of(const char *token)
{
    static char order[NAME + 8];
    snprintf(order, sizeof order, "GPA.%s", token);
    return order;
}

static json_t *transaction(const purchase *bought)
{
    bool is_coins = strcmp(bought->kind, "pro") != 0;
    json_t *one = json_pack(
        "{ss, ss, ss, ss, ss, sI, ss, sb, sb}", "store", "google", "type", is_coins ? "consumable" : "subscription",
        "product_id", is_coins ? "coins_100" : "pro", "purchase_token", bought->token, "order_id",
        order_of(bought->token), "purchase_time", (json_int_t)1792490400000, "purchase_state", "purchased",
        "acknowledged", bought->finished, "verified", 1);
    if (strcmp(bought->account, "-") != 0) {
        json_object_set_new(one, "obfuscated_account_id", json_string(bought->account));
    }
    return one;
}

/* As Google Play does: a consumable that is used up is gone. */
static json_t *listed(bool unfinished)
{
    json_t *all = json_array();
    for (size_t i = 0; i < sold_count; i++) {
        bool is_coins = strcmp(sold[i].kind, "pro") != 0;
        if (sold[i].is_consumed) continue;
        if (unfinished ? !sold[i].finished : !is_coins) json_array_append_new(all, transaction(&sold[i]));
    }
    return json_pack("{so}", "transactions", all);
}

static json_t *product(const char *id, const char *type)
{
    json_t *one = json_pack("{ss, ss, ss, s{ss, ss, ss}}", "id", id, "type", type, "display_name", id, "price",
                            "amount", "1.99", "currency", "USD", "formatted", "$1.99");
    if (strcmp(type, "subscription") == 0) json_object_set_new(one, "subscription", json_pack("{ss}", "period", "P1M"));
    return one;
}

static void login(const char *name);

static json_t *sell(const json_t *params)
{
    char token[NAME];
    const char *account = json_string_value(json_object_get(params, "app_account_token"));
    bool is_coins = strcmp(json_string_value(json_object_get(params, "product_id")), "coins_100") == 0;
    snprintf(token, sizeof token, "t%s-1", number);
    step("charge");
    note("charged %s %s %s", token, is_coins ? "coins" : "pro", account != NULL ? account : "-");
    step("charged");
    /* Somebody else takes the device while the sheet is open. */
    if (switches_user) login("bob");
    return json_pack("{ss, so}", "outcome", "purchased", "transaction", transaction(find(token)));
}

static json_t *finish(const json_t *params)
{
    const char *token = json_string_value(json_object_get(params, "purchase_token"));
    step("finish");
    note("finished %s %lld", token, (long long)now_ms(CLOCK_REALTIME));
    step("finished");
    return json_object();
}

static json_t *answer(const char *method, const json_t *params)
{
    if (strcmp(method, "products") == 0) {
        return json_pack("{s[oo]}", "products", product("coins_100", "consumable"), product("pro", "subscription"));
    }
    if (strcmp(method, "purchase") == 0) return sell(params);
    if (strcmp(method, "finish") == 0) return finish(params);
    if (strcmp(method, "restore") == 0) return json_pack("{ss}", "outcome", "completed");
    if (strcmp(method, "unfinished") == 0) return listed(true);
    if (strcmp(method, "entitlements") == 0) return listed(false);
    return json_pack("{s{ss, ss}}", "storefront", "country_code", "DE", "currency", "EUR");
}

/* ---- The client ---- */

static const char *text(const json_t *document, const char *key)
{
    const char *value = json_string_value(json_object_get(document, key));
    return value != NULL ? value : "";
}

static void serve(json_t *event)
{
    const char *type = text(event, "type");
    if (strcmp(type, "completed") == 0 && (kassa_op)json_integer_value(json_object_get(event, "op")) == awaited) {
        ending = json_incref(event);
    } else if (strcmp(type, "request") == 0) {
        char what[64];
        json_t *reply = answer(text(event, "method"), json_object_get(event, "params"));
        kassa_respond(client, (uint64_t)json_integer_value(json_object_get(event, "id")), reply);
        snprintf(what, sizeof what, "replied to %.40s", text(event, "method"));
        step(what);
        json_decref(reply);
    } else if (strcmp(type, "transaction_updated") == 0) {
        const char *order = text(json_object_get(event, "transaction"), "id");
        note("told %s", strncmp(order, "GPA.", 4) == 0 ? order + 4 : order);
    } else if (strcmp(type, "diagnostic") == 0) {
        note("diagnostic %s %.300s", text(event, "code"), text(event, "message"));
    }
    json_decref(event);
}

static void serve_all(int timeout_ms)
{
    json_t *event;
    while ((event = kassa_next_event(client, timeout_ms)) != NULL) {
        serve(event);
        timeout_ms = 0;
    }
}

/* The completion of an operation, its requests being served meanwhile. */
static json_t *result_of(kassa_op op)
{
    awaited = op;
    ending = NULL;
    for (int64_t end = now_ms(CLOCK_MONOTONIC) + 15000; now_ms(CLOCK_MONOTONIC) < end && ending == NULL;) {
        ending = kassa_wait(client, op, 50);
        if (ending == NULL) serve_all(0);
    }
    awaited = 0;
    return ending;
}

static void end_of(kassa_op op)
{
    json_t *end = result_of(op);
    if (json_object_get(end, "error") != NULL && !json_is_null(json_object_get(end, "error"))) {
        json_t *error = json_object_get(end, "error");
        note("diagnostic operation_failed %s: %s", text(end, "operation"), text(error, "message"));
    }
    json_decref(end);
}

static void login(const char *name)
{
    char user[NAME];
    snprintf(user, sizeof user, "%s-%s", name, number);
    kassa_log_in(client, user, NULL);
    step("logged in");
}

/* In KiB. */
static long peak_memory(void)
{
    long peak = 0;
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "VmHWM: %ld", &peak) == 1) break;
    }
    if (file != NULL) fclose(file);
    return peak;
}

static void start(bool observes)
{
    const char *platform = getenv("HOST_PLATFORM") != NULL ? getenv("HOST_PLATFORM") : "google";
    json_t *options = json_pack("{ss, ss}", "storage", storage, "thread", thread), *error = NULL;
    json_t *config = json_pack("{s{ss, ss, ss, ss, ss}, s{ss, ss, ss}, sb}", "backend", "kind", "voidhash",
                               "publishable_key", "vh_pk_sandbox", "bundle_id", "com.example.app", "base_url", base_url,
                               "sdk", strcmp(platform, "apple") == 0 ? "ios" : "android", "store", "kind", "host",
                               "platform", platform, "bundle_id", "com.example.app", "observer_mode", observes);
    client = kassa_open(options, &error);
    if (client == NULL) {
        note("diagnostic open_failed %s", text(error, "message"));
        exit(4);
    }
    note("session");
    step("opened");
    end_of(kassa_configure(client, config));
    json_decref(options);
    json_decref(config);
}

static void stop(void)
{
    phase("close");
    kassa_close(client);
    step("closed");
}

static json_int_t pending(void)
{
    json_t *document = kassa_pending(client);
    json_int_t count = json_integer_value(json_object_get(document, "pending_transaction_count"));
    if (document == NULL) count = -1;
    json_decref(document);
    return count;
}

static bool is_anything_open(void)
{
    for (size_t i = 0; i < sold_count; i++) {
        if (!sold[i].finished && strcmp(sold[i].kind, "hosts") != 0) return true;
    }
    return pending() != 0;
}

/* Until the service has everything and the store has forgotten it, which takes moments unless something is lost. */
static bool settle(int64_t limit_ms)
{
    int64_t end = now_ms(CLOCK_MONOTONIC) + limit_ms, next = 0;
    phase("settle");
    while (is_anything_open()) {
        if (now_ms(CLOCK_MONOTONIC) > end) return false;
        if (now_ms(CLOCK_MONOTONIC) > next) {
            kassa_sync_pending_work(client);
            next = now_ms(CLOCK_MONOTONIC) + 400;
        }
        serve_all(10);
    }
    serve_all(0);
    return true;
}

/* Whose a reported receipt is, as it is kept; "?" if it has left already. */
static void report(int index, const char *otherwise)
{
    char token[NAME], owner[128];
    snprintf(token, sizeof token, "t%s-%d", number, index);
    note("charged %s hosts -", token);
    json_t *report = json_pack("{ss, ss}", "id", order_of(token), "purchase_token", token);
    snprintf(owner, sizeof owner, "%s-%s", otherwise, number);
    step("report");
    phase("report");
    kassa_op op = kassa_report_transaction(client, report);
    note("reported %s %s", token, *otherwise != 0 ? owner : "anonymous");
    phase("run");
    step("reported");
    if (index != 2) note("consumed %s", token);
    json_decref(report);
    end_of(op);
}

static void buy(const char *what)
{
    phase("buy");
    json_t *end = result_of(kassa_purchase(client, what, NULL)), *result = json_object_get(end, "result");
    phase("run");
    const char *order = text(result, "receipt_id");
    if (strncmp(order, "GPA.", 4) == 0) {
        note("told %s", order + 4);
    } else {
        note("diagnostic operation_failed purchase: %s", text(json_object_get(end, "error"), "message"));
    }
    step("bought");
    json_decref(end);
}

/* ---- The scenarios ---- */

static void play_purchase(void)
{
    start(false);
    login("alice");
    buy("coins_100");
    settle(4000);
    stop();
}

/* The service fails once (the driver sees to it), so that a receipt is still queued when the client is closed. */
static void play_report(void)
{
    start(true);
    login("alice");
    report(1, "alice");
    report(2, "alice");
    serve_all(5);
    stop();
    start(true);
    report(3, "alice");
    settle(4000);
    stop();
}

/* What was captured for alice and could not be delivered (the service fails once) is restored by bob. */
static void play_restore(void)
{
    char token[NAME];
    start(false);
    login("alice");
    snprintf(token, sizeof token, "t%s-1", number);
    note("charged %s pro -", token);
    json_t *event = json_pack("{ss, so}", "type", "transaction_updated", "transaction", transaction(find(token)));
    kassa_notify(client, event);
    step("notified");
    json_decref(event);
    serve_all(5);
    login("bob");
    phase("restore");
    json_t *end = result_of(kassa_restore_purchases(client));
    if (strcmp(text(json_object_get(end, "result"), "outcome"), "completed") == 0) {
        note("restored %s bob-%s", token, number);
    }
    json_decref(end);
    step("restored");
    settle(4000);
    stop();
}

static void play_switch(void)
{
    start(false);
    login("alice");
    switches_user = true;
    buy("coins_100");
    switches_user = false;
    phase("switch");
    kassa_log_out(client);
    step("logged out");
    report(2, "");
    login("erin");
    report(3, "erin");
    settle(4000);
    stop();
}

/* After a crash: somebody else has taken the device, and everything is made up for. */
static void play_recovery(void)
{
    start(false);
    login("carol");
    for (size_t i = 0; i < sold_count; i++) {
        /* The report is on disk or not, and the host does not know which. */
        if (strcmp(sold[i].kind, "hosts") == 0 && !sold[i].is_hosts) {
            end_of(kassa_sync_purchases(client));
            break;
        }
    }
    if (settle(6000)) note("quiet");
    stop();
}

/* Fills the outbox: HOST_COUNT receipts, and none is sent while the service keeps the first one waiting. */
static void play_queue(void)
{
    int count = atoi(getenv("HOST_COUNT"));
    start(true);
    login("alice");
    for (int i = 1; i <= count; i++) {
        char token[NAME];
        snprintf(token, sizeof token, "t%s-%d", number, i);
        json_t *report = json_string(token);
        end_of(kassa_report_transaction(client, report));
        json_decref(report);
    }
    stop();
}

static json_int_t waiting(void)
{
    json_t *end = result_of(kassa_sync_pending_work(client)), *result = json_object_get(end, "result");
    json_int_t count = json_integer_value(json_object_get(result, "pending_transaction_count"));
    if (!json_is_object(result)) count = -1;
    json_decref(end);
    return count;
}

/* Empties it, perhaps beside others that do the same. */
static void play_drain(void)
{
    start(true);
    while (waiting() != 0) serve_all(20);
    stop();
}

/* A start with everything that the ledger says was charged and is not finished. */
static void play_sweep(void)
{
    long before = peak_memory();
    start(false);
    bool is_done = settle(120000);
    note("memory %ld", peak_memory() - before);
    if (is_done) note("quiet");
    stop();
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*play)(void);
    } plays[] = {{"purchase", play_purchase}, {"report", play_report}, {"restore", play_restore},
                 {"switch", play_switch},     {"recovery", play_recovery}, {"queue", play_queue},
                 {"drain", play_drain},       {"sweep", play_sweep}};
    if (count != 7) return 2;
    scenario = arguments[1], base_url = arguments[2], storage = arguments[3], number = arguments[5];
    thread = arguments[6];
    void *found = dlsym(RTLD_DEFAULT, "crash_step");
    if (found != NULL) memcpy(&step, &found, sizeof step);
    found = dlsym(RTLD_DEFAULT, "crash_phase");
    if (found != NULL) memcpy(&phase, &found, sizeof phase);
    read_ledger(arguments[4]);
    for (size_t i = 0; i < sizeof plays / sizeof *plays; i++) {
        if (strcmp(plays[i].name, scenario) != 0) continue;
        plays[i].play();
        step("end");
        note("end");
        return 0;
    }
    return 2;
}
