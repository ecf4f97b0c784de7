/* libcurl, opened on first use: a program that only asks what it has never pays for libcurl's thirty libraries. */
#ifndef CCURL_H
#define CCURL_H

#define CURL_DISABLE_DEPRECATION
#include <curl/curl.h>

#define KASSA_CURL_FUNCTIONS(FUNCTION) \
  FUNCTION(global_init)                \
  FUNCTION(easy_init)                  \
  FUNCTION(easy_cleanup)               \
  FUNCTION(easy_setopt)                \
  FUNCTION(easy_getinfo)               \
  FUNCTION(easy_strerror)              \
  FUNCTION(multi_init)                 \
  FUNCTION(multi_cleanup)              \
  FUNCTION(multi_add_handle)           \
  FUNCTION(multi_remove_handle)        \
  FUNCTION(multi_setopt)               \
  FUNCTION(multi_socket_action)        \
  FUNCTION(multi_info_read)            \
  FUNCTION(slist_append)               \
  FUNCTION(slist_free_all)             \
  FUNCTION(url)                        \
  FUNCTION(url_cleanup)                \
  FUNCTION(url_set)                    \
  FUNCTION(url_get)                    \
  FUNCTION(free)                       \
  FUNCTION(getdate)

/* libcurl's functions under their names without `curl_`; nothing changes once they are found. */
struct __attribute__((swift_attr("@Sendable"))) kassa_curl {
#define KASSA_CURL_MEMBER(name) __typeof__(curl_##name) *_Nonnull name;
  KASSA_CURL_FUNCTIONS(KASSA_CURL_MEMBER)
#undef KASSA_CURL_MEMBER
};

/* The functions, or NULL when this machine has no libcurl; `reason` then says what was tried. From any thread. The
   first call opens the library, which takes some 10 ms. */
const struct kassa_curl *_Nullable kassa_curl_load(const char *_Nullable *_Nonnull reason);

/* What libcurl declares with variable arguments, by the type of the argument. After a successful load only. */
CURLcode kassa_curl_set_number(CURL *_Nonnull easy, CURLoption option, long value);
CURLcode kassa_curl_set_size(CURL *_Nonnull easy, CURLoption option, curl_off_t value);
CURLcode kassa_curl_set_text(CURL *_Nonnull easy, CURLoption option, const char *_Nonnull value);
CURLcode kassa_curl_set_list(CURL *_Nonnull easy, CURLoption option, struct curl_slist *_Nullable value);
/* For memory that must stay where it is until the transfer has ended. */
CURLcode kassa_curl_set_buffer(CURL *_Nonnull easy, CURLoption option, const void *_Nonnull value);
/* CURLOPT_WRITEFUNCTION or CURLOPT_HEADERFUNCTION. */
CURLcode kassa_curl_set_receiver(CURL *_Nonnull easy, CURLoption option, curl_write_callback _Nonnull receive);
CURLcode kassa_curl_get_number(CURL *_Nonnull easy, CURLINFO info, long *_Nonnull value);
CURLMcode kassa_curl_multi_on_socket(CURLM *_Nonnull multi, curl_socket_callback _Nonnull call, void *_Nonnull data);
CURLMcode kassa_curl_multi_on_timer(CURLM *_Nonnull multi, curl_multi_timer_callback _Nonnull call,
                                    void *_Nonnull data);

/* Only http and https, by whichever option this libcurl knows, and sockets that a child does not inherit. */
CURLcode kassa_curl_restrict(CURL *_Nonnull easy);
/* Takes back what a transfer set of its own: address, method, body, headers, and where the answer goes. */
CURLcode kassa_curl_forget_request(CURL *_Nonnull easy);

#endif
