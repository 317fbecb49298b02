/* Watches and delays what a program asks of the system, by LD_PRELOAD.
 *
 * ARMWISE_TRACE names a file to which renames and syncs are appended in their order: "rename OLD NEW", "sync PATH".
 * ARMWISE_SLOW_LOCK is a number of milliseconds that every flock waits before it is tried. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void trace(const char *line) {
    const char *name = getenv("ARMWISE_TRACE");
    if (!name) return;
    int file = open(name, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (file < 0) return;
    if (write(file, line, strlen(line)) < 0) abort();
    close(file);
}

static void renamed(const char *from, const char *to) {
    char line[8200];
    snprintf(line, sizeof line, "rename %s %s\n", from, to);
    trace(line);
}

static void synced(int file) {
    char link[64], path[4096], line[4200];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    snprintf(line, sizeof line, "sync %s\n", path);
    trace(line);
}

int rename(const char *from, const char *to) {
    renamed(from, to);
    return ((int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename"))(from, to);
}

int renameat2(int a, const char *from, int b, const char *to, unsigned int flags) {
    renamed(from, to);
    return (int)syscall(SYS_renameat2, a, from, b, to, flags);
}

int fsync(int file) {
    synced(file);
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}

int flock(int file, int how) {
    const char *wait = getenv("ARMWISE_SLOW_LOCK");
    if (wait) usleep(1000 * atoi(wait));
    return ((int (*)(int, int))dlsym(RTLD_NEXT, "flock"))(file, how);
}
