// A disk that is full while a file exists: writes below one folder then fail with ENOSPC.
//
// Loaded by LD_PRELOAD; FULL_ROOT is the folder, FULL_WHEN the file.
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int full(int fd) {
    const char *root = getenv("FULL_ROOT"), *when = getenv("FULL_WHEN");
    char link[64], path[PATH_MAX];
    if (!root || !when || access(when, F_OK)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return !strncmp(path, root, strlen(root));
}

#define REFUSE(fd) if (full(fd)) { errno = ENOSPC; return -1; }
ssize_t write(int fd, const void *bytes, size_t length) { REFUSE(fd) return syscall(SYS_write, fd, bytes, length); }
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { REFUSE(fd) return syscall(SYS_pwrite64, fd, bytes, length, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) { REFUSE(fd) return syscall(SYS_pwrite64, fd, bytes, length, at); }
int ftruncate(int fd, off_t size) { REFUSE(fd) return (int)syscall(SYS_ftruncate, fd, size); }
int ftruncate64(int fd, off64_t size) { REFUSE(fd) return (int)syscall(SYS_ftruncate, fd, size); }
