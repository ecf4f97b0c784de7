/*
 * verify.c - how long one verification of App Store signed data takes.
 *
 *   verify kassa REQUEST... MILLISECONDS    kassa_verify on these requests (files of JSON) in turn
 *   verify bare REQUEST... MILLISECONDS     the signature checks that these need and nothing else: the text's own, the
 *                                           signer's by the intermediate and the intermediate's by the root, all parsed
 *
 * Prints nanoseconds of processor time a verification: `openssl speed`, to which it is compared, counts that too.
 */
#include "bench.h"
#include <jansson.h>
#include <kassa.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <string.h>

enum { MOST = 64, ROUND = 48 };

static int64_t processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static json_t *requests[MOST];
static int count;

static void fail(const char *what)
{
    fprintf(stderr, "verify: %s\n", what);
    exit(1);
}

static void with_kassa(int index)
{
    json_t *reply = kassa_verify(requests[index]);
    if (!json_is_true(json_object_get(reply, "verified"))) fail(json_dumps(reply, 0));
    json_decref(reply);
}

/* What is verified, as libcrypto wants it. */
static struct {
    X509 *leaf, *intermediate;
    EVP_PKEY *intermediate_key, *root_key;
    EVP_PKEY_CTX *context;
    unsigned char digest[32], signature[80];
    size_t signature_length;
} bare[MOST];

static unsigned char *decoded(const char *text, size_t length, size_t *count_out)
{
    char *standard = calloc(1, length + 4);
    memcpy(standard, text, length);
    for (size_t i = 0; i < length; i++) {
        if (standard[i] == '-') standard[i] = '+';
        if (standard[i] == '_') standard[i] = '/';
    }
    size_t padding = 0;
    while ((length + padding) % 4 != 0) standard[length + padding++] = '=';
    for (size_t i = length; i > 0 && text[i - 1] == '='; i--) padding++;
    unsigned char *bytes = malloc(length + 4);
    int size = EVP_DecodeBlock(bytes, (unsigned char *)standard, (int)((length + 3) / 4 * 4));
    if (size < 0) fail("not base64");
    *count_out = (size_t)size - padding;
    free(standard);
    return bytes;
}

static X509 *certificate(const char *text)
{
    size_t size;
    const unsigned char *der = decoded(text, strlen(text), &size);
    X509 *parsed = d2i_X509(NULL, &der, (long)size);
    if (parsed == NULL) fail("not a certificate");
    return parsed;
}

static void prepare_bare(int index)
{
    const char *text = json_string_value(json_object_get(requests[index], "text"));
    const char *second = strrchr(text, '.'), *first = strchr(text, '.');
    size_t size;
    unsigned char *header = decoded(text, (size_t)(first - text), &size);
    json_t *chain = json_object_get(json_loadb((char *)header, size, 0, NULL), "x5c");
    bare[index].leaf = certificate(json_string_value(json_array_get(chain, 0)));
    bare[index].intermediate = certificate(json_string_value(json_array_get(chain, 1)));
    bare[index].intermediate_key = X509_get_pubkey(bare[index].intermediate);
    bare[index].root_key = X509_get_pubkey(certificate(json_string_value(json_array_get(chain, 2))));
    bare[index].context = EVP_PKEY_CTX_new(X509_get_pubkey(bare[index].leaf), NULL);
    if (EVP_PKEY_verify_init(bare[index].context) != 1) fail("no context");
    EVP_Digest(text, (size_t)(second - text), bare[index].digest, NULL, EVP_sha256(), NULL);
    unsigned char *raw = decoded(second + 1, strlen(second + 1), &size);
    ECDSA_SIG *signature = ECDSA_SIG_new();
    ECDSA_SIG_set0(signature, BN_bin2bn(raw, 32, NULL), BN_bin2bn(raw + 32, 32, NULL));
    unsigned char *der = bare[index].signature;
    bare[index].signature_length = (size_t)i2d_ECDSA_SIG(signature, &der);
}

static void check_bare(int index)
{
    if (EVP_PKEY_verify(bare[index].context, bare[index].signature, bare[index].signature_length, bare[index].digest,
                        sizeof bare[index].digest) != 1 ||
        X509_verify(bare[index].leaf, bare[index].intermediate_key) != 1 ||
        X509_verify(bare[index].intermediate, bare[index].root_key) != 1)
        fail("a signature does not verify");
}

int main(int argc, char **argv)
{
    if (argc < 4 || argc - 3 > MOST) fail("verify kassa|bare REQUEST... MILLISECONDS");
    bool is_bare = strcmp(argv[1], "bare") == 0;
    for (; count < argc - 3; count++) {
        requests[count] = json_load_file(argv[count + 2], 0, NULL);
        if (requests[count] == NULL) fail("a request cannot be read");
        if (is_bare) prepare_bare(count);
    }
    void (*work)(int) = is_bare ? check_bare : with_kassa;
    for (int i = 0; i < count; i++) work(i);
    int64_t begin = processor_ns(), end = begin + atoll(argv[argc - 1]) * 1000000, now = begin;
    long done = 0;
    for (; now < end; now = processor_ns()) {
        for (int i = 0; i < ROUND; i++) work(i % count);
        done += ROUND;
    }
    printf("%.0f\n", (double)(now - begin) / (double)done);
    return 0;
}
