/* guard.h - memory that ends at a page nobody may touch: one byte too far is a crash. */
#ifndef ZARO_TEST_GUARD_H
#define ZARO_TEST_GUARD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

typedef struct {
    uint8_t *base, *data;
    size_t mapped;
} guarded;

static inline guarded guard(size_t n) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (n + page - 1) / page * page + page;
    guarded g = {mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), NULL, whole};
    CHECK(g.base != MAP_FAILED);
    CHECK(mprotect(g.base + whole - page, page, PROT_NONE) == 0);
    g.data = g.base + whole - page - n;
    return g;
}

static inline guarded guard_copy(const void *data, size_t n) {
    guarded g = guard(n);
    if (n)
        memcpy(g.data, data, n);
    return g;
}

static inline void guard_free(guarded g) { munmap(g.base, g.mapped); }

#endif
