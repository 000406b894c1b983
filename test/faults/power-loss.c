// A preload library that mirrors a folder as its disk would be after a power loss: synced data only. A file's content
// appears with its own sync, its name with a sync of its folder.
//
//   MIRROR_FROM/…        ──fsync(file)────▶ MIRROR_TO.contents/<inode>
//   MIRROR_FROM/folder   ──fsync(folder)──▶ MIRROR_TO/folder/<name>, a link to the content of each current file
//
// The mirror is overwritten in place before the sync returns. A process killed in between leaves a torn tail, as on a
// real disk.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);

static void fail(const char *what) {
  perror(what);
  abort();
}

static void content_path(char *path, ino_t inode) {
  snprintf(path, PATH_MAX, "%s.contents/%llu", getenv("MIRROR_TO"), (unsigned long long)inode);
}

static void mirror_file(int fd, const struct stat *from) {
  static char buffer[1 << 20];
  char path[PATH_MAX], source[64];
  snprintf(source, sizeof source, "/proc/self/fd/%d", fd);
  content_path(path, from->st_ino);
  // The descriptor may be write-only.
  int in = open(source, O_RDONLY | O_CLOEXEC);
  int out = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (in < 0 || out < 0) fail("power-loss: open");
  off_t at = 0;
  for (ssize_t got; (got = pread(in, buffer, sizeof buffer, at)) > 0; at += got) {
    if (pwrite(out, buffer, got, at) != got) fail("power-loss: write");
  }
  if (ftruncate(out, at) != 0) fail("power-loss: truncate");
  close(in);
  close(out);
}

static void mirror_names(const char *folder, const char *mirrored) {
  char from[2 * PATH_MAX], to[2 * PATH_MAX], content[PATH_MAX];
  struct stat found;
  mkdir(mirrored, 0700);
  DIR *now = opendir(folder);
  if (!now) fail("power-loss: opendir");
  for (struct dirent *entry; (entry = readdir(now));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    snprintf(from, sizeof from, "%s/%s", folder, entry->d_name);
    snprintf(to, sizeof to, "%s/%s", mirrored, entry->d_name);
    if (lstat(from, &found) != 0) continue;
    if (S_ISDIR(found.st_mode)) {
      mkdir(to, 0700);
      continue;
    }
    content_path(content, found.st_ino);
    // A file that was never synced is empty.
    int out = open(content, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (out < 0) fail("power-loss: open");
    close(out);
    unlink(to);
    if (link(content, to) != 0) fail("power-loss: link");
  }
  closedir(now);
  DIR *before = opendir(mirrored);
  if (!before) fail("power-loss: opendir");
  for (struct dirent *entry; (entry = readdir(before));) {
    if (entry->d_name[0] == '.') continue;
    snprintf(from, sizeof from, "%s/%s", folder, entry->d_name);
    snprintf(to, sizeof to, "%s/%s", mirrored, entry->d_name);
    if (lstat(from, &found) != 0 && lstat(to, &found) == 0 && !S_ISDIR(found.st_mode)) unlink(to);
  }
  closedir(before);
}

static void mirror(int fd) {
  const char *root = getenv("MIRROR_FROM");
  char link[64], path[PATH_MAX], mirrored[PATH_MAX];
  struct stat found;
  if (!root || !getenv("MIRROR_TO")) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0 || fstat(fd, &found) != 0) return;
  path[length] = 0;
  size_t root_length = strlen(root);
  if (strncmp(path, root, root_length) != 0 || (path[root_length] != 0 && path[root_length] != '/')) return;
  pthread_mutex_lock(&lock);
  if (S_ISDIR(found.st_mode)) {
    snprintf(mirrored, PATH_MAX, "%s%s", getenv("MIRROR_TO"), path + root_length);
    mirror_names(path, mirrored);
  } else mirror_file(fd, &found);
  pthread_mutex_unlock(&lock);
}

int fsync(int fd) {
  if (!real_fsync) real_fsync = dlsym(RTLD_NEXT, "fsync");
  int result = real_fsync(fd);
  if (result == 0) mirror(fd);
  return result;
}

int fdatasync(int fd) {
  if (!real_fdatasync) real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
  int result = real_fdatasync(fd);
  if (result == 0) mirror(fd);
  return result;
}
