/* support.h - what several of the C test programs need to talk to the library. */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <jansson.h>
#include <stdint.h>

#include "kassa.h"

/* A configuration for the sandbox in the process: checkouts are paid at once, or shown by the host. */
#define BACKEND "\"backend\":{\"kind\":\"whop\",\"company_id\":\"" COMPANY "\",\"api_key\":\"" API_KEY "\"," \
                "\"base_url\":\"embedded:\"}"
#define COMPANY "biz_sandbox"
#define API_KEY "sandbox_key"
#define PAID_AT_ONCE "{" BACKEND ",\"checkout\":{\"presenter\":\"simulated\"}}"
#define SHOWN_BY_HOST "{" BACKEND ",\"checkout\":{\"presenter\":\"host\"}}"

/* What the tests buy there, and what it unlocks. */
#define PLAN "plan_monthly"
#define PRODUCT "prod_pro"

/* The two ways to turn the loop, for tests that hold in both. */
#define LIBRARY_MODE "{\"storage\":\":memory:\",\"thread\":\"library\"}"
#define HOST_MODE "{\"storage\":\":memory:\",\"thread\":\"host\"}"

/* Ends the program if `text` is no JSON: a fault of the test. */
json_t *parse(const char *text);

/* A client, or NULL after a failed check. `options` is JSON text. */
kassa_client *open_client(const char *options);

/* Starts kassa_configure with a document given as text. */
kassa_op configure(kassa_client *client, const char *config);

/* Waits up to ten seconds for an operation, answering nothing; checks that its completion comes. */
json_t *finish(kassa_client *client, kassa_op op);

/* A client that has configured `config` with a result. */
kassa_client *open_configured(const char *options, const char *config);

/* Whether the text at a path such as "error.code" is `word`. */
bool is(const json_t *document, const char *path, const char *word);

/* What lies at a path, borrowed; NULL if there is nothing. */
json_t *at(const json_t *document, const char *path);

/* Takes ownership of a document and says whether it was one. */
bool take(json_t *document);

/* Takes events, up to ten seconds, until one has this type; NULL if none came. */
json_t *next_of_type(kassa_client *client, const char *type);

/* A fresh directory that is removed when the program ends. */
char *temporary_directory(void);

/* printf into a new string, to be freed. */
char *format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

/* Options for a client with its storage in a directory, as JSON text to be freed. */
char *stored_in(const char *directory, const char *thread);

/* A configuration whose service is elsewhere, or at a port of 127.0.0.1, as JSON text to be freed. */
char *served_at(const char *base_url);
char *served_at_port(int port);

/* A listening socket of 127.0.0.1 that answers nobody; its port is stored. */
int silent_listener(int *port);

int64_t now_ms(void);
int thread_count(void);
int descriptor_count(void);

#endif
