/*
 * A complete paywall in the terminal: plans with prices, buying, access, log-in, log-out and restore.
 *
 *   paywall                                   the sandbox in the process: nothing to set up, nothing is charged
 *   paywall BASE_URL COMPANY_ID API_KEY       the real service, its sandbox or a kassa-sandbox; buys in the browser
 */
#include <jansson.h>
#include <kassa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text(const json_t *document, const char *key)
{
    const char *value = json_string_value(json_object_get(document, key));
    return value ? value : "";
}

/* Waits for an operation; prints what went wrong and gives NULL, or gives the result, which the caller releases. */
static json_t *finish(kassa_client *client, kassa_op op)
{
    json_t *completion = kassa_wait(client, op, -1), *error = json_object_get(completion, "error");
    json_t *result = json_incref(json_object_get(completion, "result"));
    if (error) printf("Sorry: %s\n", text(error, "message"));
    json_decref(completion);
    return result;
}

static void show(const kassa_client *client)
{
    json_t *plans = kassa_plans(client), *memberships = kassa_memberships(client), *entry;
    char *user = kassa_app_user_id(client);
    size_t index;
    printf("\n%s. ", user ? user : "Guest");
    puts(kassa_is_subscribed(client) ? "Subscribed - thank you!" : "Not subscribed.");
    json_array_foreach(memberships, index, entry)
        printf("  you have %s (%s)\n", text(entry, "product_id"), text(entry, "status"));
    json_array_foreach(plans, index, entry) {
        const char *unlocked = kassa_has_access(client, text(entry, "product_id")) ? "unlocked" : "";
        printf("  %2zu  %-20s %12s  %s\n", index + 1, text(entry, "title"), text(entry, "whop_display_price"),
               unlocked);
    }
    printf("A number buys; login NAME, logout, restore, quit.\n> ");
    fflush(stdout);
    kassa_free(user);
    json_decref(plans);
    json_decref(memberships);
}

static void buy(kassa_client *client, long number)
{
    json_t *plans = kassa_plans(client);
    const json_t *plan = number > 0 ? json_array_get(plans, (size_t)number - 1) : NULL;
    if (plan) {
        json_t *result = finish(client, kassa_purchase(client, text(plan, "id"), NULL));
        const char *outcome = text(result, "outcome");
        if (strcmp(outcome, "purchased") == 0) printf("Bought. Receipt: %s\n", text(result, "receipt_id"));
        else if (strcmp(outcome, "pending") == 0) printf("Access comes when the payment settles.\n");
        else if (strcmp(outcome, "cancelled") == 0) printf("Nothing was bought.\n");
        json_decref(result);
    } else {
        printf("There is no such plan.\n");
    }
    json_decref(plans);
}

static void obey(kassa_client *client, const char *command)
{
    if (strncmp(command, "login ", 6) == 0) {
        json_decref(finish(client, kassa_log_in(client, command + 6, NULL)));
    } else if (strcmp(command, "logout") == 0) {
        kassa_log_out(client);
    } else if (strcmp(command, "restore") == 0) {
        json_t *result = finish(client, kassa_restore_purchases(client));
        printf("%s\n", json_is_true(json_object_get(result, "restored")) ? "Restored." : "Nothing to restore.");
        json_decref(result);
    } else {
        buy(client, strtol(command, NULL, 10));
    }
}

static json_t *configuration(int count, char **arguments)
{
    if (count == 4) {
        return json_pack("{s:{s:s, s:s, s:s, s:s}}", "backend", "kind", "whop", "base_url", arguments[1], "company_id",
                         arguments[2], "api_key", arguments[3]);
    }
    return json_loads("{\"backend\": {\"kind\": \"whop\", \"company_id\": \"biz_sandbox\","
                      "              \"api_key\": \"sandbox_key\", \"base_url\": \"embedded:\"},"
                      " \"checkout\": {\"presenter\": \"simulated\"}}", 0, NULL);
}

int main(int count, char **arguments)
{
    json_t *error = NULL, *config = configuration(count, arguments);
    kassa_client *client = kassa_open(NULL, &error);
    if (!client) {
        fprintf(stderr, "%s\n", text(error, "message"));
        return EXIT_FAILURE;
    }
    json_decref(finish(client, kassa_configure(client, config)));
    json_decref(config);

    char line[600];
    for (show(client); fgets(line, sizeof line, stdin); show(client)) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, "quit") == 0) break;
        obey(client, line);
    }
    kassa_close(client);
    return EXIT_SUCCESS;
}
