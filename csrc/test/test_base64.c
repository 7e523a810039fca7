#include <string.h>

#include "check.h"
#include "zaro/base64.h"

/* What text stands for, decoded from an exact allocation into one, so that the sanitizer sees a byte too many. */
static bool decode(const char *text, uint8_t *bytes, size_t *n) {
    size_t length = strlen(text);
    uint8_t *in = malloc(length), *out = malloc(length / 4 * 3);
    if (length)
        memcpy(in, text, length);
    bool fine = zaro_base64_decode(in, length, out, n);
    if (fine && *n)
        memcpy(bytes, out, *n);
    free(in);
    free(out);
    return fine;
}

static void text_stands_for_bytes(void) {
    static const struct {
        const char *text, *bytes;
    } row[] = {{"", ""},
               {"Zg==", "f"},
               {"Zm8=", "fo"},
               {"Zm9v", "foo"},
               {"Zm9vYg==", "foob"},
               {"Zm9vYmE=", "fooba"},
               {"Zm9vYmFy", "foobar"},
               {" Zm\n9v\tYm\rE = ", "fooba"},
               {"+/+/", "\xfb\xff\xbf"}};
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        uint8_t bytes[16];
        size_t n;
        CHECK(decode(row[k].text, bytes, &n));
        CHECK(n == strlen(row[k].bytes) && memcmp(bytes, row[k].bytes, n) == 0);
    }
}

static void other_text_is_refused(void) {
    static const char *const text[] = {"Z",    "Zg",    "Zg=",   "Zm8",   "Zm9",      "=",       "====",  "Zg===",
                                       "Zg=A", "Zm8==", "Zm9v=", "Zm9vZ", "Zm9v-_--", "Zm\x80v", "Zm9\"", "Zm9v===="};
    for (size_t k = 0; k < sizeof text / sizeof *text; k++) {
        uint8_t bytes[16];
        size_t n;
        CHECK(!decode(text[k], bytes, &n));
    }
}

static void text_may_be_overwritten(void) {
    uint8_t text[] = "base64:Zm9vYmFyZm9vYmFyZm9vYmE=";
    size_t n;
    CHECK(zaro_base64_decode(text + 7, sizeof text - 8, text, &n));
    CHECK(n == 17 && memcmp(text, "foobarfoobarfooba", n) == 0);
}

int main(void) {
    text_stands_for_bytes();
    other_text_is_refused();
    text_may_be_overwritten();
    return 0;
}
