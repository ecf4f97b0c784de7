/*
 * The whole of it as one story: a guest buys, logs in, logs out and restores; started again without a network, the
 * program still has access. `make demo` runs it on the sandbox.
 *
 *   demo BASE_URL DIRECTORY [--offline]
 */
#include <jansson.h>
#include <kassa.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Waits for an operation and gives its result, which the caller releases; ends the program on an error. */
static json_t *finish(kassa_client *client, kassa_op op, const char *what)
{
    json_t *completion = kassa_wait(client, op, 120000), *error = json_object_get(completion, "error");
    if (!completion || error) {
        fprintf(stderr, "%s failed: %s\n", what, json_string_value(json_object_get(error, "message")));
        exit(EXIT_FAILURE);
    }
    json_t *result = json_incref(json_object_get(completion, "result"));
    json_decref(completion);
    return result;
}

static const char *text(const json_t *document, const char *key)
{
    const char *value = json_string_value(json_object_get(document, key));
    return value ? value : "-";
}

static void show_access(const kassa_client *client, const char *product)
{
    json_t *why = kassa_explain(client, product);
    printf("   access to %s: %s (%s)\n", product, kassa_has_access(client, product) ? "yes" : "no", text(why, "reason"));
    json_decref(why);
}

/* The plan that the guest buys: the first one that renews. Releases nothing of `plans`. */
static json_t *choose(json_t *plans)
{
    json_t *plan;
    size_t index;
    json_array_foreach(plans, index, plan) {
        if (strcmp(text(plan, "plan_type"), "renewal") == 0) return plan;
    }
    fprintf(stderr, "no plan renews\n");
    exit(EXIT_FAILURE);
}

static void shop(kassa_client *client)
{
    json_t *plans = kassa_plans(client), *plan, *result;
    size_t index;
    printf("2. The plans:\n");
    json_array_foreach(plans, index, plan)
        printf("   %-24s %s\n", text(plan, "title"), text(plan, "whop_display_price"));

    plan = choose(plans);
    const char *product = text(plan, "product_id");
    printf("3. A guest buys \"%s\" in the browser ...\n", text(plan, "title"));
    result = finish(client, kassa_purchase(client, text(plan, "id"), NULL), "purchase");
    printf("   %s, receipt %s\n", text(result, "outcome"), text(result, "receipt_id"));
    json_decref(result);
    show_access(client, product);

    printf("4. The guest logs in as user-1; the purchase becomes the user's.\n");
    result = finish(client, kassa_log_in(client, "user-1", NULL), "log in");
    printf("   claimed memberships: %zu\n", json_array_size(json_object_get(result, "claimed")));
    json_decref(result);
    show_access(client, product);

    printf("5. The user logs out.\n");
    kassa_log_out(client);
    show_access(client, product);

    printf("6. The user logs in again and restores purchases.\n");
    json_decref(finish(client, kassa_log_in(client, "user-1", NULL), "log in"));
    result = finish(client, kassa_restore_purchases(client), "restore");
    printf("   restored: %s\n", json_is_true(json_object_get(result, "restored")) ? "yes" : "no");
    json_decref(result);
    show_access(client, product);
    json_decref(plans);
}

/* What a program does that starts without a network: it asks, as always. */
static bool still_has_access(kassa_client *client)
{
    json_t *plans = kassa_plans(client);
    const char *product = text(choose(plans), "product_id");
    char *user = kassa_app_user_id(client);
    printf("2. Still logged in as %s.\n", user ? user : "nobody");
    show_access(client, product);
    bool access = kassa_has_access(client, product);
    kassa_free(user);
    json_decref(plans);
    return access;
}

int main(int count, char **arguments)
{
    if (count < 3) {
        fprintf(stderr, "usage: demo BASE_URL DIRECTORY [--offline]\n");
        return EXIT_FAILURE;
    }
    bool offline = count > 3 && strcmp(arguments[3], "--offline") == 0;
    json_t *options = json_pack("{s:s}", "storage", arguments[2]), *error = NULL;
    json_t *config = json_pack("{s:{s:s, s:s, s:s, s:s}}", "backend", "kind", "whop", "company_id", "biz_kassa",
                               "api_key", "apik_kassa", "base_url", arguments[1]);
    kassa_client *client = kassa_open(options, &error);
    if (!client) {
        fprintf(stderr, "open failed: %s\n", text(error, "message"));
        return EXIT_FAILURE;
    }
    json_t *result = finish(client, kassa_configure(client, config), "configure");
    printf("1. Configured; answers come from the %s.\n", text(result, "source"));
    json_decref(result);

    bool well = true;
    if (offline) well = still_has_access(client);
    else shop(client);
    kassa_close(client);
    json_decref(options);
    json_decref(config);
    return well ? EXIT_SUCCESS : EXIT_FAILURE;
}
