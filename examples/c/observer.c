/*
 * Billing of one's own, with Voidhash's perks: the program sells and finishes as it always did, and Kassa, in observer
 * mode, reports what it sold and says what the person may use.
 *
 *   observer [DIRECTORY]     on the sandbox in the process; with a directory, what waits survives a restart
 */
#include <jansson.h>
#include <kassa.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CONFIG                                                                                                         \
    "{\"backend\": {\"kind\": \"voidhash\", \"publishable_key\": \"vh_pk_sandbox\","                                   \
    "               \"bundle_id\": \"com.example.app\", \"base_url\": \"embedded:\"},"                                 \
    " \"observer_mode\": true}"

static const char *text(const json_t *document, const char *key)
{
    const char *value = json_string_value(json_object_get(document, key));
    return value ? value : "-";
}

/* Waits for an operation; prints what went wrong and gives NULL, or gives the result, which the caller releases. */
static json_t *finish(kassa_client *client, kassa_op op)
{
    json_t *completion = kassa_wait(client, op, 30000), *error = json_object_get(completion, "error");
    json_t *result = json_incref(json_object_get(completion, "result"));
    if (error) printf("Not done: %s (%s)\n", text(error, "message"), text(error, "code"));
    json_decref(completion);
    return result;
}

/* ---- The program's own billing, which knows nothing of Kassa ---- */

struct sale {
    char id[32];
    const char *product;
    bool is_finished;
};

static struct sale billing_buy(const char *product)
{
    struct sale sale = {.product = product};
    /* Twenty digits: more than a double can hold, so ids stay text all the way. */
    snprintf(sale.id, sizeof sale.id, "20000001%012lld", (long long)time(NULL) % 1000000000000LL);
    printf("Billing: sold %s as transaction %s.\n", product, sale.id);
    return sale;
}

static void billing_finish(struct sale *sale)
{
    sale->is_finished = true;
    printf("Billing: finished transaction %s.\n", sale->id);
}

/* ---- What Kassa is told ---- */

/* The sandbox asks no App Store, so here it is told what Apple's servers would know. A real program has no such part. */
static void tell_the_sandbox(kassa_client *client, const struct sale *sale)
{
    long long now = (long long)time(NULL) * 1000;
    json_t *action = json_pack("{s:s, s:{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:s}}", "action",
                               "register_store_transaction", "transaction", "store", "apple", "id", sale->id,
                               "original_id", sale->id, "store_product_id", sale->product, "type", "subscription",
                               "purchased_at", (json_int_t)now, "expires_at", (json_int_t)(now + 30 * 86400000LL),
                               "proof", sale->id);
    json_decref(finish(client, kassa_simulate(client, action)));
    json_decref(action);
}

/* On disk when the call returns: from here on the receipt cannot be lost, whatever happens to the network. */
static void report(kassa_client *client, const struct sale *sale)
{
    json_t *id = json_string(sale->id);
    json_t *result = finish(client, kassa_report_transaction(client, id));
    printf("Kassa: reported %s.\n", text(result, "transaction_id"));
    json_decref(result);
    json_decref(id);
}

static void show(kassa_client *client)
{
    json_t *pending = kassa_pending(client), *person = kassa_person(client), *row;
    size_t index;
    printf("  waiting receipts: %lld\n",
           (long long)json_integer_value(json_object_get(pending, "pending_transaction_count")));
    json_array_foreach(json_object_get(pending, "transactions"), index, row)
        printf("    %s, tried %lld times\n", text(row, "transaction_id"),
               (long long)json_integer_value(json_object_get(row, "attempts")));
    json_array_foreach(json_object_get(person, "grants"), index, row)
        printf("  grant: %s, %s\n", text(row, "perk"), text(row, "status"));
    printf("  premium: %s\n", kassa_has_perk(client, "premium") ? "yes" : "no");
    json_decref(pending);
    json_decref(person);
}

/* The service works on a receipt for a moment after it has taken it; a change of the person tells when it is done. */
static void wait_for_the_perk(kassa_client *client)
{
    for (int events = 0; !kassa_has_perk(client, "premium") && events < 50; events++)
        kassa_json_release(kassa_next_event(client, 500));
}

int main(int count, char **arguments)
{
    json_t *error = NULL, *options = json_pack("{s:s}", "storage", count > 1 ? arguments[1] : ":memory:");
    json_t *config = json_loads(CONFIG, 0, NULL);
    kassa_client *client = kassa_open(options, &error);
    if (!client) {
        fprintf(stderr, "%s\n", text(error, "message"));
        return EXIT_FAILURE;
    }
    json_decref(finish(client, kassa_configure(client, config)));
    json_decref(finish(client, kassa_log_in(client, "ada", NULL)));
    show(client);

    printf("Kassa does not sell here:\n");
    json_decref(finish(client, kassa_purchase(client, "pro_monthly", NULL)));

    struct sale sale = billing_buy("com.example.app.pro.monthly");
    tell_the_sandbox(client, &sale);
    report(client, &sale);
    json_t *sent = finish(client, kassa_sync_pending_work(client));
    billing_finish(&sale); /* the receipt is on disk, so this need not wait for the service */
    wait_for_the_perk(client);
    show(client);

    bool has_access = kassa_has_perk(client, "premium");
    json_decref(sent);
    json_decref(options);
    json_decref(config);
    kassa_close(client);
    return has_access ? EXIT_SUCCESS : EXIT_FAILURE;
}
