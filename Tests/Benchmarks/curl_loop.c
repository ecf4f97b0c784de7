/*
 * What sending receipts costs without a library: one after the other on one connection of libcurl.
 *
 *   curl_loop URL COUNT          prints the milliseconds that it took
 */
#include <curl/curl.h>

#include "bench.h"

static size_t swallow(char *bytes, size_t size, size_t count, void *nothing)
{
    (void)bytes, (void)nothing;
    return size * count;
}

int main(int count, char **arguments)
{
    /* What the library sends, so that the server has the same to do. */
    static const char *headers[] = {
        "Accept: application/json", "Accept-Encoding: gzip", "Content-Type: application/json",
        "x-publishable-key: vh_pk_sandbox", "x-distinct-id: loop", "x-client-bundle-id: com.example.app",
        "x-client-locale: en-US", "x-preferred-locales: en-US", "x-environment: production",
        "x-is-backgrounded: false", "x-is-debug-build: false", "x-observer-mode: true",
        "x-nonce: c86cad32-e42b-4e32-b197-d0d0714fb4da", "x-platform: ios", "x-platform-flavor: native", "x-sdk: ios",
        "x-sdk-version: 0.1.0",
    };
    if (count != 3) return 2;
    struct curl_slist *list = NULL;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) list = curl_slist_append(list, headers[i]);
    CURL *curl = curl_easy_init();
    curl_easy_setopt(curl, CURLOPT_URL, arguments[1]);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, swallow);
    int64_t start = now_ns();
    for (int i = 1; i <= atoi(arguments[2]); i++) {
        char body[128];
        long status = 0;
        snprintf(body, sizeof body, "{\"platform\":\"ios\",\"transactionId\":\"loop-%d\"}", i);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
        curl_easy_perform(curl);
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        if (status != 200) {
            fprintf(stderr, "curl_loop: receipt %d got status %ld\n", i, status);
            return 2;
        }
    }
    printf("%.3f\n", (double)(now_ns() - start) / 1e6);
    curl_slist_free_all(list);
    curl_easy_cleanup(curl);
    return 0;
}
