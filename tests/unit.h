/* unit.h - what every cmocka test includes, in the order that cmocka wants. */
#ifndef READYFS_TESTS_UNIT_H
#define READYFS_TESTS_UNIT_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#endif
