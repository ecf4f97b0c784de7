/*
 * kassa.h - an entitlement and purchase client for every language.
 *
 * SPDX-License-Identifier: MIT
 *
 *
 * A FIRST LOOK
 *
 *   struct json_t *options = kassa_json_parse("{\"app_id\":\"com.example.app\"}", 28, NULL);
 *   kassa_client *client = kassa_open(options, NULL);
 *   kassa_json_release(options);
 *
 *   kassa_op op = kassa_configure(client, config);      // config: docs/documents.md, "Configuration"
 *   kassa_json_release(kassa_wait(client, op, -1));     // the network has confirmed the answers
 *   if (kassa_has_access(client, "prod_pro")) ...       // nanoseconds; online or offline
 *   kassa_close(client);
 *
 * Everything a host does is one of three verbs. It *asks*: queries read an immutable snapshot and never block. It
 * *starts*: operations return a number at once and end exactly once, in a completion. It *listens*: one queue per
 * client carries completions, changes, diagnostics and requests of the library to the host.
 *
 *
 * DOCUMENTS
 *
 * What crosses this header is JSON, as Jansson values (struct json_t). A host that links Jansson uses its functions on
 * them; a host that does not uses kassa_json_parse, kassa_json_dump and kassa_json_release, and needs no header but
 * this one. docs/documents.md describes each document field by field, docs/schema/ has a JSON Schema of each.
 * Documents gain fields in later versions: ignore what you do not know. Words such as codes, statuses and outcomes
 * gain values: treat an unknown one as "something else".
 *
 * Times are integers of milliseconds since 1970-01-01 UTC. Money is exact: a decimal string and whole micros.
 *
 *
 * OWNERSHIP
 *
 *  - What you pass in is borrowed until the call returns. The library keeps no reference to it and changes nothing.
 *  - A struct json_t * that is returned is a new reference to a tree that nobody else holds. Release it with
 *    kassa_json_release (or json_decref). Changing it changes nothing in the library.
 *  - A char * that is returned is released with kassa_free, never with free().
 *  - A const char * that is returned is static.
 *  - Strings passed in are UTF-8 and end with NUL. Text that is not UTF-8 is an invalid argument.
 *
 *
 * CLIENTS
 *
 * A client is one configured instance; a process may have many, each with its own storage. A kassa_client * is a
 * checked handle and never used twice: NULL, a closed client and a pointer that was never a client are recognised, and
 * the call fails. What a failing call returns is NULL, 0 or false, and nothing else happens.
 *
 *
 * THREADS
 *
 * Every function may be called from any thread, on one client at the same time. The library runs no code of the host,
 * with one exception: the wake-up function (kassa_set_wakeup), which may do nothing but wake.
 *
 * With "thread":"library" (the default of kassa_open) the library has one thread in the whole process, whatever the
 * number of clients: it is named "kassa", has every signal blocked, starts with the first such client and is gone when
 * the last one is closed. With "thread":"host" there is no thread at all: work is done inside kassa_next_event and
 * kassa_wait, on the thread that calls them, so a host calls one of them often: once a frame, or when
 * kassa_event_fd becomes readable.
 *
 * As a rule a function returns within a millisecond. The exceptions: kassa_open, kassa_close, kassa_configure, the
 * waits, and the queries that copy a document; kassa_report_transaction, which returns when the report is safe on the
 * disk, and so takes as long as the disk does to write and sync; kassa_pending, which reads the disk; and kassa_notify
 * and, with the "voidhash" back end, kassa_log_in, which wait for their turn on the library's thread, behind whatever it
 * writes just then.
 *
 *
 * EVENT LOOPS
 *
 * kassa_event_fd gives a descriptor that is readable while kassa_next_event has something to do. Put it into poll,
 * epoll, GLib, libuv or asyncio, and call kassa_next_event(client, 0) until it returns NULL. Never read, write or close
 * the descriptor. In library mode it is readable while the queue holds an event; in host mode also while there is work
 * to do, such as an answer from the network or a timer: then kassa_next_event does that work, and may return NULL.
 *
 *
 * ERRORS
 *
 * A wrong call (NULL client, a document that is no object) fails at once. Everything else fails in the completion:
 *
 *   {"type":"completed","op":12,"operation":"purchase","error":{"code":"payment_failed","message":"...",...}}
 *
 * docs/errors.md lists the codes, when each comes and what to do. Messages are for people; do not parse them. An
 * outcome is not an error: a purchase that the user cancels has a result, {"outcome":"cancelled",...}. No call ends
 * the process, whatever document it is given.
 *
 *
 * FORK
 *
 * In a child made by fork() every call on an inherited client fails at once, and kassa_close on it does nothing.
 * kassa_next_event on it returns, once in the child, a diagnostic with the code "forked". The child may open clients
 * of its own, of either mode.
 *
 *
 * A GUEST IN YOUR PROCESS
 *
 * The library installs no signal handlers and no atexit handlers, sends no SIGPIPE, and changes no locale, environment,
 * umask or working directory. Its descriptors are close-on-exec, with one exception: libcurl's own wake-up socket pair,
 * one per event loop, which libcurl does not let anybody mark. Threads and descriptors are gone after the last close.
 * libcurl is loaded by the first network operation, libmicrohttpd by the first checkout in a browser. The library
 * itself is never unloaded.
 *
 *
 * COMPATIBILITY
 *
 * Functions are added, never changed or removed. Symbols carry the version node KASSA_1; the soname is libkassa.so.1.
 */
#ifndef KASSA_H
#define KASSA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Jansson's value. Include <jansson.h> to look inside, or use the functions of the chapter "Documents". */
struct json_t;

/* One configured instance; see CLIENTS above. */
typedef struct kassa_client kassa_client;

/* The number of an operation, unique within its client. 0 is never an operation. */
typedef uint64_t kassa_op;


/* ---------------------------------------------------------------------------------------------------------------- */
/* The library                                                                                                      */

/* The version of the library, such as "0.1.0". Static. */
const char *kassa_version(void);

/* Releases a string that the library returned. NULL is allowed. */
void kassa_free(void *pointer);


/* ---------------------------------------------------------------------------------------------------------------- */
/* Documents                                                                                                        */

/*
 * Parses `length` bytes of JSON text. Returns NULL if the text is not JSON, and then stores into *error (unless
 * `error` is NULL) an error document whose message names line and column; release that too. Refused are invalid UTF-8,
 * repeated keys, more than 2,048 levels, integers beyond 64 bits, and anything after the value.
 */
struct json_t *kassa_json_parse(const char *text, size_t length, struct json_t **error);

/* The compact text of a document; release it with kassa_free. NULL for NULL. */
char *kassa_json_dump(const struct json_t *document);

/* Gives up one reference to a document. NULL is allowed. */
void kassa_json_release(struct json_t *document);


/* ---------------------------------------------------------------------------------------------------------------- */
/* Receipts                                                                                                         */

/*
 * Verifies App Store signed data: a transaction, renewal info, an app transaction or a notification, as JWS in compact
 * form. `request` says what the data must be:
 *
 *   {"text":"eyJ...","kind":"transaction","bundle_id":"com.example.app","environments":["production"]}
 *
 * Checked are the form of the text, the certificates up to one of Apple's three roots (which are compiled in; "roots"
 * in the request replaces them), the signature, the dates at the time of signing, and app and environment.
 * docs/receipts.md has the rules, every reason for a refusal, and what is not checked: there is no online look-up of
 * revoked certificates. docs/documents.md, "Verification", has the fields.
 *
 * Returns {"verified":true,"payload":{...},...}, or
 * {"verified":false,"reason":"wrong_environment","message":"..."}; a wrong request has the reason "invalid_request".
 * NULL only for a request that is no object. Needs no client, reads no file and no network, and may be called from any
 * thread; takes about a fifth longer than one P-256 signature check, once a certificate chain has been seen.
 */
struct json_t *kassa_verify(const struct json_t *request);


/* ---------------------------------------------------------------------------------------------------------------- */
/* Clients                                                                                                          */

/*
 * Opens a client. `options` may be NULL. Keys, all optional:
 *
 *   "app_id"   names the application, and so the default storage; letters, digits, ".", "-" and "_", at most 128.
 *              Without it the environment's KASSA_APP_ID counts.
 *   "storage"  a directory, made with mode 0700 if it is missing, or ":memory:". The default is
 *              $XDG_DATA_HOME/kassa/<app_id>, else ~/.local/share/kassa/<app_id>; without an app id it is ":memory:",
 *              and a diagnostic "storage_in_memory" says so.
 *   "thread"   "library" (default) or "host"; see THREADS.
 *   "log"      "none" (default) or "stderr": a line for each operation, event and exchange with a service, without
 *              keys, tokens, receipts or ids of users and devices.
 *
 * Several processes may open the same directory at once; what one of them learns, the others answer within a second.
 *
 * Returns NULL if the options are wrong or the directory cannot be used at all, and then stores an error document into
 * *error (unless `error` is NULL). A damaged storage file is set aside, not fatal: the client starts afresh and the
 * diagnostic "storage_reset" says so. Reads files, so it may block for as long as the disk does.
 */
kassa_client *kassa_open(const struct json_t *options, struct json_t **error);

/*
 * The client of the process, opened with default options on first use; the same one on every call until it is closed,
 * then a new one. Close it as any other. NULL if it cannot be opened.
 */
kassa_client *kassa_shared(void);

/*
 * Closes a client: requests are withdrawn, operations that have not ended end with the error "closed" (threads that
 * wait for them get it), what must be kept is on disk, and memory is given back. Takes 2 seconds at most, and
 * milliseconds as a rule; never waits for the network. NULL, a closed and an inherited client are allowed.
 */
void kassa_close(kassa_client *client);


/* ---------------------------------------------------------------------------------------------------------------- */
/* Ask                                                                                                              */
/*                                                                                                                  */
/* Queries answer from the current snapshot: never the network, never the disk, but for kassa_pending. Before         */
/* kassa_configure they answer false, NULL or an empty array. All of them are one function of the same snapshot and  */
/* the same clock, so they never contradict each other. An end is exact to the millisecond: access at end - 1 ms,    */
/* none at end.                                                                                                      */

/* Whether kassa_configure has completed with a result, from the network or from the cache. */
bool kassa_is_initialized(const kassa_client *client);

/*
 * Whether any membership, store purchase or perk grants access now; where the configuration has "product_ids", to one of
 * those products.
 * (WhopCheckout, isSubscribed.)
 */
bool kassa_is_subscribed(const kassa_client *client);

/*
 * Whether the user may use this product ("prod_...") now: an active membership of it, the user's if one is logged in,
 * else an unclaimed one of this device; or a purchase in the store whose product "plan_mappings" maps to a plan of it.
 * A store product that no plan is mapped to counts under its own id. No allocation, no lock: call it once a frame, from
 * any thread. A product outside the configuration's "product_ids" is false, and reported once by the diagnostic
 * "product_not_configured".
 * (WhopCheckout, hasAccess(to:).)
 *
 * With the "voidhash" back end: whether the person has every perk of the product, named by its slug or its id. A product
 * without perks grants nothing.
 */
bool kassa_has_access(const kassa_client *client, const char *product_id);

/*
 * Whether the person who asks has this perk ("premium", a slug) now: some grant of it that the service calls active. A
 * grant stands past its own end while the person was asked for less than 2 days ago, and ends then. As cheap as
 * kassa_has_access. Unlock features from this, not from a purchase's outcome. With the "whop" back end, which has no
 * perks, always false. (Voidhash, hasActivePerk.)
 */
bool kassa_has_perk(const kassa_client *client, const char *perk);

/*
 * Whether a purchase may leave the store for the web checkout: in the storefront of the US. The storefront is what the
 * store says, until then the configuration's "region", else its locale; kassa_explain says which. Without a store: true
 * once configured. (WhopCheckout, supportsExternalPurchases.)
 */
bool kassa_supports_external_purchases(const kassa_client *client);

/* The id of this installation, a random UUID made on first use. A secret: who knows it can claim guest purchases. */
char *kassa_device_id(const kassa_client *client);

/* The user who is logged in, or NULL. */
char *kassa_app_user_id(const kassa_client *client);

/* Array of plan documents, as the service lists them. */
struct json_t *kassa_plans(const kassa_client *client);

/* Array of membership documents: those that are active now, newest first. */
struct json_t *kassa_memberships(const kassa_client *client);

/* Array of entitlement documents: every source, also those that ended, with the rule that decided and the end. */
struct json_t *kassa_entitlements(const kassa_client *client);

/*
 * The person who asks, as the service last told, with its age: "stale" after 5 minutes, "expired" after 2 days; both only
 * say how old it is. Reading a stale one asks the service in the background; a change of it is told by "changed", the
 * first time with what was saved on the device. JSON null while nothing is known, as with the "whop" back end.
 * (Voidhash, getCurrentPerson and personUpdates.)
 */
struct json_t *kassa_person(const kassa_client *client);

/*
 * What has yet to reach the service, as it is on disk now: {"pending_transaction_count":2,"transactions":[...],
 * "writes":[...]}, receipts in the order in which they are sent, and logins and attributes. Before kassa_configure, of
 * every service that this client has worked with. NULL if the disk cannot be read, which is not the same as nothing.
 * Unlike the other queries it reads the disk, on the library's thread, and waits for that: not once a frame.
 * (Voidhash, pendingTransactionCount.)
 */
struct json_t *kassa_pending(const kassa_client *client);

/*
 * Why kassa_has_access answers what it does: each source considered with its id, status, end and rule, whether it came
 * from the network or the cache and when, and what the clock was trusted on. With the "voidhash" back end `product_id`
 * may name a perk, too. NULL if `product_id` is NULL.
 */
struct json_t *kassa_explain(const kassa_client *client, const char *product_id);

/* A number that grows whenever an answer above may have changed, expiry included. 0 only for no client. */
uint64_t kassa_revision(const kassa_client *client);


/* ---------------------------------------------------------------------------------------------------------------- */
/* Start                                                                                                            */
/*                                                                                                                  */
/* Operations return a number at once, or 0 for a wrong call. Each ends exactly once, in a completion document with  */
/* "result" or "error", taken by kassa_wait or kassa_next_event. docs/documents.md lists the results. None waits for */
/* ever: the network has 30 s for a request with its retries, the host 60 s to answer one, and the user "timeout_s"  */
/* of "checkout" for a checkout and 30 min in the store; kassa_cancel ends any of them at once.                      */

/*
 * Sets what the client works with. `config` is described in docs/documents.md, "Configuration"; only "backend" is
 * required. Unknown keys are refused, with the nearest known one.
 *
 * Before it returns, the document is checked and what is cached is loaded, so the queries answer at once. The
 * completion says whether the network has confirmed them: {"source":"network"}, or {"source":"cache"} when offline
 * with a cache. Offline without a cache it fails with "offline"; the library goes on trying by itself, and one change
 * tells of its success. With a store it also waits for the storefront and the prices of mapped plans, 2 s at most;
 * what comes later is a change. Configuring again with an equal document refreshes plans and memberships; with another
 * document, that one replaces the first.
 */
kassa_op kassa_configure(kassa_client *client, const struct json_t *config);

/* Loads the plans anew. Result: {"plans":[...]}. */
kassa_op kassa_refresh_plans(kassa_client *client);

/*
 * Loads the products of the "voidhash" back end that the store sells. `slugs` is an array of slugs, or NULL for all.
 * Result: {"products":[...]}: all of them sorted by slug, or those named, in that order, with null for what the store
 * does not sell. Every call asks the store again, since prices and offers depend on who asks.
 *
 * What is left out is told once per call by the diagnostics "product_not_found" and "product_type_mismatch", with slug
 * and reason; it fails nothing. (Voidhash, getProducts.)
 */
kassa_op kassa_get_products(kassa_client *client, const struct json_t *slugs);

/*
 * Buys a plan, or with the "voidhash" back end a product. `options` may be NULL; its keys:
 *
 *   "method"     "whop" (web checkout), "store", or "apple_pay". Default: the web where external purchases are
 *                supported, else the store. "storekit", "storeKit" and "apple" are other names for "store".
 *   "offer"      store: "automatic" (the introductory offer where the user may have it, the default), "none", or
 *                {"id":"..."} of one of the product's offers
 *   "quantity"   store: 1 to 10, more than 1 for a consumable only. On the web this and another "offer" than
 *                "automatic" are invalid arguments: a plan is sold once, on its own terms
 *   "simulate_ask_to_buy", "confirm_in"    store: passed on, docs/store.md
 *   "label"      Apple Pay: the button's text, docs/apple-pay.md
 *
 * What Voidhash's page lists as not supported ("products", "billing_plan", ...) is "unsupported"; docs/voidhash.md.
 *
 * On the web, a checkout is made with the identity of this device and user, and presented as the configuration's
 * "checkout":{"presenter":...} says: "browser" opens the user's browser, "host" sends the request
 * checkout/present. Whatever the presenter reports, the service decides: the membership that carries the number of
 * this attempt. It is polled for up to 60 seconds.
 *
 * Result: {"outcome":"purchased","receipt_id":...,"membership":{...},...}; "membership" is null if the service has not
 * made it in that time. Other outcomes: "pending" (a payment that settles later), "cancelled" (by the user or after
 * "timeout_s" of "checkout", the service being asked once more first; or at once by kassa_cancel), "disabled" ("enabled":false).
 * A success that arrives later is a change with the cause "purchase". A declined payment is the error
 * "payment_failed". One purchase at a time: a second one fails with "purchase_in_progress".
 *
 * In the store, the product that "plan_mappings" names for the plan is bought; without one the error is
 * "plan_not_mapped", and one that the service does not have is "plan_not_found"; nothing is shown. What the store
 * signs is verified, written to disk, granted and only then finished. Result:
 * {"outcome":"purchased","receipt_id":"<the store's transaction id>","membership":null, "transaction":{...},...}.
 * "pending" waits for an approval, which arrives as the event transaction_updated, as does everything else that is
 * bought outside this call. A transaction that cannot be verified is the error "storekit_transaction_unverified"; it
 * is neither kept nor finished.
 *
 * With the "voidhash" back end the product is named by its slug and bought in the store. "offer" takes the seller's id
 * of an offer, the store's, or one of the documents that kassa_get_products lists; promotional offers are signed by the
 * service, or by the host upon the request offers/sign. An offer that cannot be applied is the error "offer_unavailable"
 * and buys nothing; it never falls back to the regular price. Once the store has charged, the receipt is on disk, and
 * the call waits up to 10 s for the service to accept it. Result: {"outcome":"purchased","synced":true,
 * "transaction":{...},...}; "synced" is false while the receipt waits, or, if the disk refuses it, until it is written
 * and sent from what is in memory or what the store lists. The transaction is finished in the store when the
 * service has accepted the receipt, not before. With "observer_mode" the error is "read_only_purchase_not_allowed".
 */
kassa_op kassa_purchase(kassa_client *client, const char *plan_or_product, const struct json_t *options);

/*
 * Logs a user in, under the id of your own account system: 1 to 500 bytes that must never change for the same user.
 * `attributes` is an object of texts, numbers, booleans and nulls, or NULL; "email" and "name" go to the person's own
 * fields. The "whop" back end has no place for them and leaves them out.
 *
 * The switch is local and immediate, also offline. Then the unclaimed memberships of this device, and of the same
 * buyer at the service, are claimed for the user, and the user's memberships are loaded.
 * Result: {"app_user_id":...,"claimed":["mem_..."],"deferred":false}; "deferred" is true when the claim waits for the
 * network, in which case the memberships of this device keep counting.
 *
 * With the "voidhash" back end the person becomes the user: whoever asked without a name is merged into them, and from
 * one user to another nothing goes over. Logins are told to the service one after another. If it refuses, the switch is
 * taken back and the error says why; if it cannot be reached, the switch stays and the login waits in the outbox. What
 * the disk refuses is told to the service all the same, and written down later, as after kassa_log_out; if the service
 * cannot be told either, the switch is taken back and the error is "storage".
 * Result: {"app_user_id":...,"person":{...},"deferred":false}. (Voidhash, identify.)
 */
kassa_op kassa_log_in(kassa_client *client, const char *app_user_id, const struct json_t *attributes);

/*
 * Writes attributes of the person who asks: of `set` the newest write counts, of `set_once` the first, and any of `set`
 * before it. Both are objects of texts, numbers, booleans and nulls, or NULL. They are on disk before they are sent, and
 * wait there while the service cannot be reached. Result: {"deferred":false,"person":{...}}. With the "whop" back end:
 * "unsupported". (Voidhash, setPersonAttributes.)
 */
kassa_op kassa_set_attributes(kassa_client *client, const struct json_t *set, const struct json_t *set_once);

/*
 * Logs the user out, at once: from now on the unclaimed memberships of this device count, and no others. With the
 * "voidhash" back end whoever asks from now on is somebody new without a name. Receipts that wait stay their owner's.
 * If the disk refuses it, it is written down as soon as the disk takes something, at the latest by kassa_close.
 */
void kassa_log_out(kassa_client *client);

/*
 * Asks the store and the service for everything again, past every cache. The store may ask the user to sign in, so call
 * it upon a user's action only. Result: {"outcome":"completed","restored":true}, where "restored" says whether anything
 * active was found; "outcome" is "cancelled" when the user dismissed the store's sign-in.
 *
 * With the "voidhash" back end the latest transaction of each subscription and non-consumable is sent again, also
 * those that the service has: only a restore can give this user what grants access to somebody else. These are the
 * ones that the store lists, and of what it does not list, since it has ended, those that were bought or reported here
 * under this user's id (for 90 days at least). What was bought under another id, or reported by a transaction's id
 * alone, is sent only if the store lists it: it may be of another account of the store. It waits up to 20 s; if a
 * receipt is refused or does not arrive, the error is "reconcile_transactions_failed", and the receipts stay queued.
 * The result has the refreshed "person" in it; if the service took all and cannot be asked for the person then, the
 * known one with "stale" true, or null. A restore does not mean access: ask kassa_has_perk.
 */
kassa_op kassa_restore_purchases(kassa_client *client);

/*
 * Reports a transaction that the host's own billing code has bought or restored ("voidhash"; in observer mode or not).
 * `transaction` is a text, the store's transaction id or Apple's signed text (JWS), or an object with "id" or "jws",
 * "is_restore" for what a restore gave back, and for Google Play "purchase_token". Keep every digit of an id: a number
 * is refused.
 *
 * It is on disk when the call returns, and sent in the background, so an outage fails nothing. It is the host's to
 * finish, for ever and across restarts. Result: {"transaction_id":"..."}. An empty id is "invalid_transaction", a signed
 * text that cannot be verified "storekit_transaction_unverified". (Voidhash, reportTransaction.)
 */
kassa_op kassa_report_transaction(kassa_client *client, const struct json_t *transaction);

/*
 * Reports what the store still lists: everything that is not finished, and what the user's account owns. What the
 * service has is skipped, and nobody is asked to sign in. Waits up to 10 s. Result: {"synced":true,"person":{...},
 * "pending_transaction_count":0}. (Voidhash, syncPurchases.)
 */
kassa_op kassa_sync_purchases(kassa_client *client);

/*
 * Sends what waits without waiting for the next try: logins and attributes, then receipts. A wait that the service
 * asked for is kept. Waits up to 2 s and goes on in the background. Result: {"completed":true,
 * "pending_transaction_count":0}. (Voidhash, syncPendingWork.)
 */
kassa_op kassa_sync_pending_work(kassa_client *client);

/*
 * Asks the store for a sheet or an answer that only it has: "manage_subscriptions", "present_code_redemption",
 * "storefront", "can_make_payments", "begin_refund", "subscription_status", "entitlements", "app_transaction",
 * "messages", "display_message". `params` is an object or NULL; parameters and results are in docs/store.md.
 *
 * Without a store, "manage_subscriptions" opens the page of the newest active membership (or of {"membership_id":...})
 * as the configuration's presenter does, and everything else fails with "unsupported".
 */
kassa_op kassa_store_call(kassa_client *client, const char *method, const struct json_t *params);

/*
 * Does something to the sandbox in this process ("base_url":"embedded:"): moves its clock, completes a checkout,
 * refunds, cancels, switches a fault on. docs/documents.md, "Sandbox actions". And to the simulated store
 * ("store":{"kind":"simulated"}), with any base URL: renews, refunds, lets billing fail. docs/simulated-store.md,
 * "Actions". Beside the sandbox an action of the store carries "target":"store". With neither of the two it fails with
 * "unsupported".
 */
kassa_op kassa_simulate(kassa_client *client, const struct json_t *action);

/*
 * Asks an operation to end early. A purchase ends with the outcome "cancelled", anything else with the error
 * "cancelled"; if it has already been decided, it ends as decided. False if there is no such operation any more.
 */
bool kassa_cancel(kassa_client *client, kassa_op op);


/* ---------------------------------------------------------------------------------------------------------------- */
/* Listen                                                                                                           */

/*
 * Takes the next document from the queue, whose "type" is "completed", "changed", "transaction_updated",
 * "purchase_intent", "store_message", "request", "request_cancelled" or "diagnostic". Waits for up to `timeout_ms`
 * milliseconds; 0 polls, -1 waits without end. Returns NULL when there is none, or when the client is closed meanwhile.
 * Several threads may take from one queue; each document goes to one of them.
 *
 * Completions and requests are never dropped. Changes are coalesced: a slow reader gets one for each "what". Of
 * transaction_updated the last 10 are kept until somebody reads for the first time; after that none is dropped.
 */
struct json_t *kassa_next_event(kassa_client *client, int timeout_ms);

/*
 * Waits for one operation and takes its completion, out of turn. -1 waits without end, 0 polls. A completion that a
 * thread waits for is never given to kassa_next_event.
 *
 * Returns NULL at once if there is no such operation or its completion was already taken; after the time; when the
 * client is closed; and early, if the library sends a request to the host and nobody else is reading the queue: take
 * it with kassa_next_event(client, 0), answer it, and wait again.
 */
struct json_t *kassa_wait(kassa_client *client, kassa_op op, int timeout_ms);

/* The descriptor for the host's event loop; see EVENT LOOPS. -1 for no client. Valid until the client is closed. */
int kassa_event_fd(const kassa_client *client);

/*
 * Sets the function that is called when the queue is no longer empty; NULL removes it, and after that call returned
 * it is not called any more. It may be called from any thread, also from within kassa_respond and other calls, with
 * no lock held; it must return soon and must not call the library.
 */
void kassa_set_wakeup(kassa_client *client, void (*wakeup)(void *userdata), void *userdata);

/*
 * Answers a request, from any thread, now or after the user has done something. `reply` is described with each request
 * in docs/documents.md and docs/store.md; {"error":{"message":"..."}} says that the host cannot. A request that waits
 * too long is withdrawn: a checkout after "timeout_s" of "checkout" (30 min by default); what the store shows to its
 * user after 30 min, whatever the configuration says; and everything else after 60 s. False if there is no such request
 * any more: answered, withdrawn, or never sent.
 */
bool kassa_respond(kassa_client *client, uint64_t request_id, const struct json_t *reply);

/*
 * Tells the library what happened outside: {"type":"foreground"} when the program comes back to the user and
 * {"type":"online"} when the network does, each heeded once a minute (the library's own requests tell of the network,
 * too); and of the host's own store "transaction_updated", "purchase_intent", "store_message" and "storefront_changed",
 * as docs/store.md describes them. True if it was understood; if not, the diagnostic "notification_refused" says why.
 *
 * Before kassa_configure nothing is looked at: true says that the event is kept until then, and what is not understood
 * is told of then. 100 events are kept; the next one is lost, like those that follow, and false is returned, with one
 * diagnostic for all of them. False without a diagnostic: no client, or an event that is no object.
 */
bool kassa_notify(kassa_client *client, const struct json_t *event);

#ifdef __cplusplus
}
#endif

#endif /* KASSA_H */
