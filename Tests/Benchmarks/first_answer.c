/* A program that opens what an earlier run has cached, without a network, asks once, and says the answer. */
#include <jansson.h>
#include <unistd.h>

#include "kassa.h"

int main(int count, char **arguments)
{
    if (count != 4) return 2;
    json_t *options = json_pack("{s:s}", "storage", arguments[1]), *config = json_load_file(arguments[2], 0, NULL);
    kassa_client *client = kassa_open(options, NULL);
    kassa_configure(client, config);
    char answer = kassa_has_access(client, arguments[3]) ? 'y' : 'n';
    if (write(STDOUT_FILENO, &answer, 1) != 1) return 2;
    kassa_close(client);
    return answer == 'y' ? 0 : 1;
}
