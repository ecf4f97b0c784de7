/* json-c, whose functions bear the names of Jansson's, comes first in this process: each library calls its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "support.h"

static bool loaded(const char *library)
{
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && !found && fgets(line, sizeof line, maps)) found = strstr(line, library) != NULL;
    if (maps) fclose(maps);
    return found;
}

static void json_c_in_the_same_process(void)
{
    if (!CHECK(loaded("libjson-c.so"))) return;
    kassa_client *client = open_configured(LIBRARY_MODE, PAID_AT_ONCE);
    json_decref(finish(client, kassa_purchase(client, PLAN, NULL)));
    CHECK(kassa_has_access(client, PRODUCT));
    kassa_close(client);
}

int main(void)
{
    if (!getenv("LD_PRELOAD")) {
        setenv("LD_PRELOAD", "libjson-c.so.5", 1);
        execl("/proc/self/exe", "json_c", (char *)NULL);
        return 2;
    }
    RUN(json_c_in_the_same_process);
    DONE();
}
