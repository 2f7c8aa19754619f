/* fault_vfs.c - each file of SQLite wrapped into one of ours, which asks the fault before it passes a call on. */
#include "support/fault_vfs.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wrapped {
    sqlite3_file base; /* first: SQLite sees this */
    int kind;          /* an enum fault_file, or 0 */
    sqlite3_file real[];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct fault current; /* these three are protected by mutex */
static int failed;
static int syncs;

static sqlite3_vfs *system_vfs;
static sqlite3_vfs our_vfs;

/* The code to fail with, or SQLITE_OK. */
static int ask(enum fault_call call, const struct wrapped *file, bool *ret_applied)
{
    int code = SQLITE_OK;
    (void)pthread_mutex_lock(&mutex);
    if (call == FAULT_SYNC && file->kind)
        syncs++;
    if (current.call == call && (current.files & file->kind) && current.count) {
        if (current.skip > 0) {
            current.skip--;
        } else {
            code = current.code;
            failed++;
            current.count -= current.count > 0;
        }
    }
    *ret_applied = current.applied;
    (void)pthread_mutex_unlock(&mutex);
    return code;
}

static struct wrapped *of(sqlite3_file *file)
{
    return (struct wrapped *)file;
}

static sqlite3_file *real_of(sqlite3_file *file)
{
    return of(file)->real;
}

#define METHOD(file) (real_of(file)->pMethods)
#define ASK(call)                                                                                                      \
    bool applied;                                                                                                      \
    int code = ask(call, of(file), &applied);                                                                          \
    if (code != SQLITE_OK && !applied)                                                                                 \
    return code

static int close_file(sqlite3_file *file)
{
    return METHOD(file)->xClose(real_of(file));
}

static int read_file(sqlite3_file *file, void *bytes, int len, sqlite3_int64 offset)
{
    ASK(FAULT_READ);
    int result = METHOD(file)->xRead(real_of(file), bytes, len, offset);
    return code != SQLITE_OK ? code : result;
}

static int write_file(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 offset)
{
    ASK(FAULT_WRITE);
    int result = METHOD(file)->xWrite(real_of(file), bytes, len, offset);
    return code != SQLITE_OK ? code : result;
}

static int truncate_file(sqlite3_file *file, sqlite3_int64 size)
{
    ASK(FAULT_TRUNCATE);
    int result = METHOD(file)->xTruncate(real_of(file), size);
    return code != SQLITE_OK ? code : result;
}

static int sync_file(sqlite3_file *file, int flags)
{
    ASK(FAULT_SYNC);
    int result = METHOD(file)->xSync(real_of(file), flags);
    return code != SQLITE_OK ? code : result;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return METHOD(file)->xFileSize(real_of(file), size);
}

static int lock_file(sqlite3_file *file, int level)
{
    return METHOD(file)->xLock(real_of(file), level);
}

static int unlock_file(sqlite3_file *file, int level)
{
    return METHOD(file)->xUnlock(real_of(file), level);
}

static int check_reserved_lock(sqlite3_file *file, int *result)
{
    return METHOD(file)->xCheckReservedLock(real_of(file), result);
}

static int file_control(sqlite3_file *file, int op, void *argument)
{
    return METHOD(file)->xFileControl(real_of(file), op, argument);
}

static int sector_size(sqlite3_file *file)
{
    return METHOD(file)->xSectorSize(real_of(file));
}

static int characteristics(sqlite3_file *file)
{
    return METHOD(file)->xDeviceCharacteristics(real_of(file));
}

static int shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **memory)
{
    return METHOD(file)->xShmMap(real_of(file), page, size, extend, memory);
}

static int shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
    return METHOD(file)->xShmLock(real_of(file), offset, n, flags);
}

static void shm_barrier(sqlite3_file *file)
{
    METHOD(file)->xShmBarrier(real_of(file));
}

static int shm_unmap(sqlite3_file *file, int delete)
{
    return METHOD(file)->xShmUnmap(real_of(file), delete);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2, /* without memory mapping, which goes past xWrite */
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = write_file,
    .xTruncate = truncate_file,
    .xSync = sync_file,
    .xFileSize = file_size,
    .xLock = lock_file,
    .xUnlock = unlock_file,
    .xCheckReservedLock = check_reserved_lock,
    .xFileControl = file_control,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = characteristics,
    .xShmMap = shm_map,
    .xShmLock = shm_lock,
    .xShmBarrier = shm_barrier,
    .xShmUnmap = shm_unmap,
};

static int open_file(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags, int *ret_flags)
{
    (void)vfs;
    struct wrapped *wrapped = of(file);
    wrapped->kind = flags & SQLITE_OPEN_WAL ? FAULT_LOG : flags & SQLITE_OPEN_MAIN_DB ? FAULT_MAIN : 0;
    wrapped->base.pMethods = NULL;
    int code = system_vfs->xOpen(system_vfs, name, wrapped->real, flags, ret_flags);
    if (wrapped->real->pMethods)
        wrapped->base.pMethods = &methods;
    return code;
}

void fault_vfs_install(void)
{
    system_vfs = sqlite3_vfs_find(NULL);
    our_vfs = *system_vfs; /* the rest of its calls know nothing of files */
    our_vfs.zName = "fault";
    our_vfs.pNext = NULL;
    our_vfs.szOsFile = (int)sizeof(struct wrapped) + system_vfs->szOsFile;
    our_vfs.xOpen = open_file;
    if (sqlite3_vfs_register(&our_vfs, 1) != SQLITE_OK) {
        (void)fputs("fault_vfs: cannot be registered\n", stderr);
        exit(99);
    }
}

void fault_vfs_set(struct fault fault)
{
    (void)pthread_mutex_lock(&mutex);
    current = fault;
    failed = 0;
    (void)pthread_mutex_unlock(&mutex);
}

void fault_vfs_clear(void)
{
    fault_vfs_set((struct fault){.call = FAULT_NOTHING});
}

int fault_vfs_failed(void)
{
    (void)pthread_mutex_lock(&mutex);
    int count = failed;
    (void)pthread_mutex_unlock(&mutex);
    return count;
}

int fault_vfs_syncs(void)
{
    (void)pthread_mutex_lock(&mutex);
    int count = syncs;
    (void)pthread_mutex_unlock(&mutex);
    return count;
}
