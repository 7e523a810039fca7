#include "check.h"
#include "zaro/span.h"

#include <string.h>

enum { N = 64 };

typedef struct {
    int32_t file[N];
    int64_t offset[N], length[N], begin[N + 1], start[N], nbytes[N];
    size_t n, n_request, at;
} spans;

static zaro_status merge(spans *s, const int64_t *order, int64_t gap, int64_t cap) {
    s->at = 999;
    return zaro_span_merge(s->n, s->file, s->offset, s->length, order, gap, cap, s->begin, s->start, s->nbytes,
                           &s->n_request, &s->at);
}

static void near_spans_become_one_request(void) {
    spans s = {{0, 0, 0, 1}, {10, 20, 45, 45}, {10, 5, 5, 5}, {0}, {0}, {0}, 4, 0, 0};
    CHECK(merge(&s, NULL, 20, 1000) == ZARO_OK && s.n_request == 2);
    CHECK(s.begin[0] == 0 && s.begin[1] == 3 && s.begin[2] == 4);
    CHECK(s.start[0] == 10 && s.nbytes[0] == 40 && s.start[1] == 45 && s.nbytes[1] == 5);
    CHECK(merge(&s, NULL, 19, 1000) == ZARO_OK && s.n_request == 3 && s.nbytes[0] == 15);
    CHECK(merge(&s, NULL, 20, 39) == ZARO_OK && s.n_request == 3);
    CHECK(merge(&s, NULL, 20, 0) == ZARO_OK && s.n_request == 4);
}

static void whole_files_stay_apart_from_spans(void) {
    spans s = {{0, 0, 0, 1}, {0, 0, 0, 0}, {-1, -1, 5, -1}, {0}, {0}, {0}, 4, 0, 0};
    CHECK(merge(&s, NULL, 100, 100) == ZARO_OK && s.n_request == 3);
    CHECK(s.nbytes[0] == -1 && s.nbytes[1] == 5 && s.nbytes[2] == -1 && s.begin[1] == 2 && s.begin[2] == 3);
}

static void a_span_within_another_costs_nothing(void) {
    spans s = {{0, 0, 0}, {0, 10, 90}, {100, 5, 20}, {0}, {0}, {0}, 3, 0, 0};
    CHECK(merge(&s, NULL, 0, 50) == ZARO_OK && s.n_request == 2);
    CHECK(s.begin[1] == 2 && s.nbytes[0] == 100 && s.start[1] == 90 && s.nbytes[1] == 20);
}

static void bad_spans_are_named(void) {
    spans s = {{0, 0}, {5, 4}, {1, 1}, {0}, {0}, {0}, 2, 0, 0};
    int64_t order[2] = {1, 0};
    CHECK(merge(&s, NULL, 0, 10) == ZARO_ORDER && s.at == 1);
    CHECK(merge(&s, order, 0, 10) == ZARO_OK && s.n_request == 1 && s.start[0] == 4 && s.nbytes[0] == 2);
    order[0] = 2;
    CHECK(merge(&s, order, 0, 10) == ZARO_RANGE && s.at == 0);
    CHECK(merge(&s, NULL, -1, 10) == ZARO_RANGE && merge(&s, NULL, 0, -1) == ZARO_RANGE);
    s.length[0] = INT64_MAX;
    CHECK(merge(&s, NULL, 0, 10) == ZARO_OVERFLOW && s.at == 0);
    s.length[0] = -2;
    CHECK(merge(&s, NULL, 0, 10) == ZARO_RANGE && s.at == 0);
    s.length[0] = 1;
    s.file[1] = -1;
    CHECK(merge(&s, NULL, 0, 10) == ZARO_RANGE && s.at == 1);
    s.n = 0;
    CHECK(merge(&s, NULL, 0, 10) == ZARO_OK && s.n_request == 0 && s.begin[0] == 0);
}

int main(void) {
    near_spans_become_one_request();
    whole_files_stay_apart_from_spans();
    a_span_within_another_costs_nothing();
    bad_spans_are_named();
    return 0;
}
