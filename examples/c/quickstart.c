#include <jansson.h>
#include <kassa.h>
#include <stdio.h>

int main(void)
{
    json_t *config = json_loads("{\"backend\": {\"kind\": \"whop\", \"company_id\": \"biz_sandbox\","
                                "              \"api_key\": \"sandbox_key\", \"base_url\": \"embedded:\"},"
                                " \"checkout\": {\"presenter\": \"simulated\"}}", 0, NULL);
    kassa_client *client = kassa_open(NULL, NULL);
    json_decref(kassa_wait(client, kassa_configure(client, config), -1));

    json_t *plans = kassa_plans(client), *plan;
    size_t index;
    json_array_foreach(plans, index, plan)
        printf("%-16s %s\n", json_string_value(json_object_get(plan, "title")),
               json_string_value(json_object_get(plan, "whop_display_price")));

    json_decref(kassa_wait(client, kassa_purchase(client, "plan_monthly", NULL), -1));
    puts(kassa_has_access(client, "prod_pro") ? "You have access." : "No access yet.");

    json_decref(plans);
    json_decref(config);
    kassa_close(client);
}
