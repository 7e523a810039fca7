#include <string.h>

#include "check.h"
#include "zaro/scan.h"

int main(void) { return 0; }
