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

#define PLAN "plan_monthly" /* of the sandbox's own catalogue; it sells: */
#define PRODUCT "prod_pro"

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

static void show_access(const kassa_client *client)
{
    json_t *why = kassa_explain(client, PRODUCT);
    const char *answer = kassa_has_access(client, PRODUCT) ? "yes" : "no";
    printf("   access to " PRODUCT ": %s (%s)\n", answer, text(why, "reason"));
    json_decref(why);
}

static void shop(kassa_client *client)
{
    json_t *plans = kassa_plans(client), *plan, *result;
    size_t index;
    printf("2. The plans:\n");
    json_array_foreach(plans, index, plan)
        printf("   %-24s %s\n", text(plan, "title"), text(plan, "whop_display_price"));

    printf("3. A guest buys " PLAN " in the browser ...\n");
    result = finish(client, kassa_purchase(client, PLAN, NULL), "purchase");
    printf("   %s, receipt %s\n", text(result, "outcome"), text(result, "receipt_id"));
    json_decref(result);
    show_access(client);

    printf("4. The guest logs in as user-1; the purchase becomes the user's.\n");
    result = finish(client, kassa_log_in(client, "user-1", NULL), "log in");
    printf("   claimed memberships: %zu\n", json_array_size(json_object_get(result, "claimed")));
    json_decref(result);
    show_access(client);

    printf("5. The user logs out.\n");
    kassa_log_out(client);
    show_access(client);

    printf("6. The user logs in again and restores purchases.\n");
    json_decref(finish(client, kassa_log_in(client, "user-1", NULL), "log in"));
    result = finish(client, kassa_restore_purchases(client), "restore");
    printf("   restored: %s\n", json_is_true(json_object_get(result, "restored")) ? "yes" : "no");
    json_decref(result);
    show_access(client);
    json_decref(plans);
}

/* What a program does that starts without a network: it asks, as always. */
static bool still_has_access(kassa_client *client)
{
    char *user = kassa_app_user_id(client);
    printf("2. Still logged in as %s.\n", user ? user : "nobody");
    show_access(client);
    kassa_free(user);
    return kassa_has_access(client, PRODUCT);
}

int main(int count, char **arguments)
{
    if (count < 3) {
        fprintf(stderr, "usage: demo BASE_URL DIRECTORY [--offline]\n");
        return EXIT_FAILURE;
    }
    bool offline = count > 3 && strcmp(arguments[3], "--offline") == 0;
    json_t *options = json_pack("{s:s}", "storage", arguments[2]), *error = NULL;
    json_t *config = json_pack("{s:{s:s, s:s, s:s, s:s}}", "backend", "kind", "whop", "company_id", "biz_sandbox",
                               "api_key", "sandbox_key", "base_url", arguments[1]);
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
