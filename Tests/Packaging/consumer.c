/* A program that links the installed library and needs nothing else, not even Jansson's header. */
#include <kassa.h>
#include <stdio.h>

int main(void)
{
    kassa_client *client = kassa_open(NULL, NULL);
    bool access = kassa_has_access(client, "prod_x");
    kassa_close(client);
    if (client && !access) puts(kassa_version());
    return client ? 0 : 1;
}
