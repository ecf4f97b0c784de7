#include <jansson.h>
#include <kassa.h>
#include <stdio.h>

int main(void)
{
    json_t *config = json_pack("{s:{s:s, s:s, s:s, s:s}, s:{s:s}}", "backend", "kind", "whop", "company_id", "biz_kassa",
                               "api_key", "apik_kassa", "base_url", "embedded:", "checkout", "presenter", "simulated");
    kassa_client *client = kassa_open(NULL, NULL);
    json_decref(kassa_wait(client, kassa_configure(client, config), -1));

    json_t *plans = kassa_plans(client), *plan = json_array_get(plans, 0);
    const char *product = json_string_value(json_object_get(plan, "product_id"));
    printf("%s: %s\n", json_string_value(json_object_get(plan, "title")),
           json_string_value(json_object_get(plan, "whop_display_price")));

    const char *plan_id = json_string_value(json_object_get(plan, "id"));
    json_decref(kassa_wait(client, kassa_purchase(client, plan_id, NULL), -1));
    puts(kassa_has_access(client, product) ? "You have access." : "No access yet.");

    json_decref(plans);
    json_decref(config);
    kassa_close(client);
}
