/* banned.h - functions that nobody here calls, made compile errors. Included by the compiler's command line into every
 * file of the project (-include base/banned.h), after the system headers that declare them. */
#ifndef READYFS_BASE_BANNED_H
#define READYFS_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#undef alloca
#define BANNED(name)   readyfs_banned_##name##_do_not_call_it
#define alloca(...)    BANNED(alloca)
#define strcpy(...)    BANNED(strcpy)
#define strcat(...)    BANNED(strcat)
#define sprintf(...)   BANNED(sprintf)
#define vsprintf(...)  BANNED(vsprintf)
#define strtok(...)    BANNED(strtok)
#define atoi(...)      BANNED(atoi)
#define atol(...)      BANNED(atol)
#define atoll(...)     BANNED(atoll)
#define gmtime(...)    BANNED(gmtime)
#define localtime(...) BANNED(localtime)
#define ctime(...)     BANNED(ctime)
#define asctime(...)   BANNED(asctime)
#define usleep(...)    BANNED(usleep)
#define sleep(...)     BANNED(sleep)
#define rand(...)      BANNED(rand)
#define srand(...)     BANNED(srand)
#define random(...)    BANNED(random)
#define system(...)    BANNED(system)
#define tmpnam(...)    BANNED(tmpnam)
#define tempnam(...)   BANNED(tempnam)
#define mktemp(...)    BANNED(mktemp)

#endif
