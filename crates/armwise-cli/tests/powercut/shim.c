// Records what a program does to the files of one folder, so that a power cut can be replayed at any moment.
//
// The one thing to know: loaded by LD_PRELOAD, it stands in front of the C library's calls, does each under one lock,
// and appends a record to the log while it holds the lock, so the log has the order in which things happened. Memory
// maps that may be written to are not recorded; SQLite has one, the -shm file, which it makes anew after a crash. Any
// other such map is recorded as 'U', which the test takes for an error.
//
// A record: a letter, the lengths of two paths, inode, offset, length (numbers of 8 bytes, little-endian), the paths,
// and for 'W' the bytes.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *root;
static size_t root_length;
static dev_t device;
static int log_file = -1;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("POWERCUT_LOG");
    root = getenv("POWERCUT_ROOT");
    struct stat found;
    if (!path || !root || stat(root, &found)) return;
    root_length = strlen(root);
    device = found.st_dev;
    log_file = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int below(const char *path) {
    return log_file >= 0 && !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

static void record(char kind, const char *one, const char *two, uint64_t inode, uint64_t offset, const void *bytes,
                   uint64_t length) {
    uint64_t numbers[5] = {strlen(one), strlen(two), inode, offset, length};
    struct iovec parts[5] = {{&kind, 1},
                             {numbers, sizeof numbers},
                             {(void *)one, numbers[0]},
                             {(void *)two, numbers[1]},
                             {(void *)bytes, bytes ? length : 0}};
    size_t whole = 1 + sizeof numbers + numbers[0] + numbers[1] + (bytes ? length : 0);
    if (syscall(SYS_writev, log_file, parts, 5) != (long)whole) abort();
}

// Whether a descriptor is a file or folder that is recorded, and its inode.
static int tracked(int fd, struct stat *found, char *path) {
    if (log_file < 0 || fd < 0 || fstat(fd, found) || found->st_dev != device) return 0;
    if (!S_ISREG(found->st_mode) && !S_ISDIR(found->st_mode)) return 0;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

// The absolute path of a name relative to a folder.
static void absolute(int folder, const char *name, char *path) {
    char base[PATH_MAX] = "";
    if (name[0] != '/') {
        if (folder == AT_FDCWD) {
            if (!getcwd(base, sizeof base)) abort();
        } else {
            char link[64];
            snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
            long length = readlink(link, base, sizeof base - 1);
            base[length < 0 ? 0 : length] = 0;
        }
        strcat(base, "/");
    }
    while (name[0] == '.' && name[1] == '/') name += 2;
    snprintf(path, PATH_MAX, "%.2000s%.2000s", base, name);
}

#define HOLD pthread_mutex_lock(&lock)
#define RELEASE                        \
    do {                               \
        int error = errno;             \
        pthread_mutex_unlock(&lock);   \
        errno = error;                 \
    } while (0)

static int opened(int folder, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    struct stat found;
    HOLD;
    absolute(folder, name, path);
    int existed = !stat(path, &found);
    int fd = (int)syscall(SYS_openat, folder, name, flags, mode);
    if (fd >= 0 && below(path) && !fstat(fd, &found) && S_ISREG(found.st_mode)) {
        if ((flags & O_TMPFILE) == O_TMPFILE) record('U', path, "O_TMPFILE", found.st_ino, 0, NULL, 0);
        else if (!existed) record('C', path, "", found.st_ino, 0, NULL, 0);
        else if (flags & O_TRUNC) record('T', path, "", found.st_ino, 0, NULL, 0);
    }
    RELEASE;
    return fd;
}

#define MODE_OF(flags, last)                         \
    mode_t mode = 0;                                 \
    if ((flags) & (O_CREAT | O_TMPFILE)) {           \
        va_list rest;                                \
        va_start(rest, last);                        \
        mode = va_arg(rest, mode_t);                 \
        va_end(rest);                                \
    }
int open(const char *name, int flags, ...) { MODE_OF(flags, flags) return opened(AT_FDCWD, name, flags, mode); }
int open64(const char *name, int flags, ...) { MODE_OF(flags, flags) return opened(AT_FDCWD, name, flags, mode); }
int openat(int folder, const char *name, int flags, ...) { MODE_OF(flags, flags) return opened(folder, name, flags, mode); }
int openat64(int folder, const char *name, int flags, ...) { MODE_OF(flags, flags) return opened(folder, name, flags, mode); }
int creat(const char *name, mode_t mode) { return opened(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode); }

static ssize_t written(int fd, const void *bytes, size_t length, off_t offset, int placed) {
    char path[PATH_MAX];
    struct stat found;
    HOLD;
    int log = tracked(fd, &found, path);
    if (log && !placed) {
        offset = fcntl(fd, F_GETFL) & O_APPEND ? found.st_size : (off_t)syscall(SYS_lseek, fd, 0, SEEK_CUR);
    }
    long done = placed ? syscall(SYS_pwrite64, fd, bytes, length, offset) : syscall(SYS_write, fd, bytes, length);
    if (log && done > 0) record('W', path, "", found.st_ino, (uint64_t)offset, bytes, (uint64_t)done);
    RELEASE;
    return done;
}
ssize_t write(int fd, const void *bytes, size_t length) { return written(fd, bytes, length, 0, 0); }
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { return written(fd, bytes, length, at, 1); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) { return written(fd, bytes, length, at, 1); }
// One part is a short write, which every caller must bear.
ssize_t writev(int fd, const struct iovec *parts, int count) {
    for (int i = 0; i < count; i++)
        if (parts[i].iov_len) return written(fd, parts[i].iov_base, parts[i].iov_len, 0, 0);
    return 0;
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
    for (int i = 0; i < count; i++)
        if (parts[i].iov_len) return written(fd, parts[i].iov_base, parts[i].iov_len, at, 1);
    return 0;
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) { return pwritev(fd, parts, count, at); }

// Callers fall back to reading and writing.
ssize_t copy_file_range(int from, off64_t *a, int to, off64_t *b, size_t length, unsigned flags) {
    (void)from, (void)a, (void)to, (void)b, (void)length, (void)flags;
    errno = ENOSYS;
    return -1;
}
ssize_t sendfile(int to, int from, off_t *at, size_t length) {
    (void)to, (void)from, (void)at, (void)length;
    errno = ENOSYS;
    return -1;
}
ssize_t sendfile64(int to, int from, off64_t *at, size_t length) { return sendfile(to, from, at, length); }
ssize_t splice(int from, off64_t *a, int to, off64_t *b, size_t length, unsigned flags) {
    (void)from, (void)a, (void)to, (void)b, (void)length, (void)flags;
    errno = EINVAL;
    return -1;
}

static int resized(int fd, off_t size) {
    char path[PATH_MAX];
    struct stat found;
    HOLD;
    int log = tracked(fd, &found, path);
    int result = (int)syscall(SYS_ftruncate, fd, size);
    if (log && !result) record('T', path, "", found.st_ino, (uint64_t)size, NULL, 0);
    RELEASE;
    return result;
}
int ftruncate(int fd, off_t size) { return resized(fd, size); }
int ftruncate64(int fd, off64_t size) { return resized(fd, size); }
int fallocate(int fd, int mode, off_t offset, off_t length) {
    (void)fd, (void)mode, (void)offset, (void)length;
    errno = EOPNOTSUPP;
    return -1;
}
int fallocate64(int fd, int mode, off64_t offset, off64_t length) { return fallocate(fd, mode, offset, length); }
int posix_fallocate(int fd, off_t offset, off_t length) {
    struct stat found;
    if (fstat(fd, &found)) return errno;
    if (found.st_size >= offset + length) return 0;
    return resized(fd, offset + length) ? errno : 0;
}
int posix_fallocate64(int fd, off64_t offset, off64_t length) { return posix_fallocate(fd, offset, length); }

static int synced(int fd, int number) {
    char path[PATH_MAX];
    struct stat found;
    HOLD;
    int log = tracked(fd, &found, path);
    int result = (int)syscall(number, fd);
    if (log && !result) record(S_ISDIR(found.st_mode) ? 'D' : 'S', path, "", found.st_ino, 0, NULL, 0);
    RELEASE;
    return result;
}
int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

static int renamed(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    char one[PATH_MAX], two[PATH_MAX];
    HOLD;
    absolute(from_folder, from, one);
    absolute(to_folder, to, two);
    int result = (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
    if (!result && (below(one) || below(two))) record(flags & ~1u ? 'U' : 'R', one, two, 0, 0, NULL, 0);
    RELEASE;
    return result;
}
int rename(const char *from, const char *to) { return renamed(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int a, const char *from, int b, const char *to) { return renamed(a, from, b, to, 0); }
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) { return renamed(a, from, b, to, flags); }

static int linked(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    char two[PATH_MAX];
    struct stat found;
    HOLD;
    absolute(to_folder, to, two);
    int result = (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
    if (!result && below(two) && !stat(two, &found)) record('L', two, "", found.st_ino, 0, NULL, 0);
    RELEASE;
    return result;
}
int link(const char *from, const char *to) { return linked(AT_FDCWD, from, AT_FDCWD, to, 0); }
int linkat(int a, const char *from, int b, const char *to, int flags) { return linked(a, from, b, to, flags); }

static int removed(int folder, const char *name, int flags) {
    char path[PATH_MAX];
    HOLD;
    absolute(folder, name, path);
    int result = (int)syscall(SYS_unlinkat, folder, name, flags);
    if (!result && below(path)) record(flags & AT_REMOVEDIR ? 'U' : 'X', path, "", 0, 0, NULL, 0);
    RELEASE;
    return result;
}
int unlink(const char *name) { return removed(AT_FDCWD, name, 0); }
int unlinkat(int folder, const char *name, int flags) { return removed(folder, name, flags); }
int remove(const char *name) { return removed(AT_FDCWD, name, 0); }

static void *mapped(void *at, size_t length, int protection, int flags, int fd, off_t offset) {
    char path[PATH_MAX];
    struct stat found;
    if (flags & MAP_SHARED && protection & PROT_WRITE && tracked(fd, &found, path)) {
        size_t end = strlen(path);
        HOLD;
        if (end < 4 || strcmp(path + end - 4, "-shm")) record('U', path, "mmap", found.st_ino, 0, NULL, 0);
        RELEASE;
    }
    return (void *)syscall(SYS_mmap, at, length, protection, flags, fd, offset);
}
void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset) {
    return mapped(at, length, protection, flags, fd, offset);
}
void *mmap64(void *at, size_t length, int protection, int flags, int fd, off64_t offset) {
    return mapped(at, length, protection, flags, fd, offset);
}
