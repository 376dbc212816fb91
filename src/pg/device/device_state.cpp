// The lock and the line by which backends know how the device service is. The line is preceded by
// the process id of the worker that wrote it, so that what one killed left behind is not taken for
// the words of the next.
#include "pg/device/device_state.h"

extern "C" {
#include "common/file_perm.h"
#include "pgstat.h"
#include "storage/fd.h"
}

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace kde_pg {

namespace {

constexpr char kLockFile[] = "pg_stat_tmp/kde_aqp_device.lock";
constexpr char kStateFile[] = "pg_stat_tmp/kde_aqp_device.state";
constexpr char kNewStateFile[] = "pg_stat_tmp/kde_aqp_device.state.new";

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// The process that holds the lock, or 0. A record lock can be asked for without being taken, so
// that a backend that looks does not turn away a worker that comes at the same moment.
pid_t lock_holder() {
  const int fd = open(kLockFile, O_RDWR | O_CLOEXEC);
  if (fd < 0) return 0;
  struct flock lock = whole_file();
  const int rc = fcntl(fd, F_GETLK, &lock);
  close(fd);
  return rc == 0 && lock.l_type != F_UNLCK ? lock.l_pid : 0;
}

bool starts_with(const char* text, const char* start) {
  return std::strncmp(text, start, std::strlen(start)) == 0;
}

}  // namespace

bool take_service_lock() {
  // initdb makes it in every version so far; a restored backup may lack it.
  if (mkdir(PG_STAT_TMP_DIR, static_cast<mode_t>(pg_dir_create_mode)) != 0 && errno != EEXIST)
    ereport(ERROR, (errcode_for_file_access(),
                    errmsg("could not create directory \"%s\": %m", PG_STAT_TMP_DIR)));
  // Never closed: closing any descriptor of the file would release the lock.
  const int fd = open(kLockFile, O_RDWR | O_CREAT | O_CLOEXEC, pg_file_create_mode);
  if (fd < 0)
    ereport(ERROR,
            (errcode_for_file_access(), errmsg("could not open file \"%s\": %m", kLockFile)));
  struct flock lock = whole_file();
  if (fcntl(fd, F_SETLK, &lock) == 0) return true;
  if (errno != EACCES && errno != EAGAIN)
    ereport(ERROR,
            (errcode_for_file_access(), errmsg("could not lock file \"%s\": %m", kLockFile)));
  close(fd);
  return false;
}

void write_service_state(const char* format, ...) {
  char line[232];
  const int head = std::snprintf(line, sizeof line, "%d ", MyProcPid);
  va_list args;
  va_start(args, format);
  std::vsnprintf(line + head, 200, format, args);
  va_end(args);
  strlcat(line, "\n", sizeof line);
  const std::size_t length = std::strlen(line);
  const int fd = open(kNewStateFile, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, pg_file_create_mode);
  bool written = fd >= 0;
  if (written) {
    written = write(fd, line, length) == static_cast<ssize_t>(length);
    written = close(fd) == 0 && written;
  }
  if (!written || rename(kNewStateFile, kStateFile) != 0)
    ereport(LOG,
            (errcode_for_file_access(), errmsg("could not write file \"%s\": %m", kStateFile)));
}

void remove_service_files() {
  unlink(kServiceSocket);
  unlink(kStateFile);
}

ServiceState read_service_state() {
  ServiceState out;
  const pid_t holder = lock_holder();
  if (holder == 0) return out;
  out.running = true;
  char line[256] = "";
  const int fd = open(kStateFile, O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    const ssize_t got = read(fd, line, sizeof line - 1);
    line[got > 0 ? got : 0] = '\0';
    close(fd);
  }
  line[std::strcspn(line, "\n")] = '\0';
  char* end = line;
  const bool current = std::strtol(line, &end, 10) == holder && *end == ' ';
  // A worker that holds the lock and has said nothing yet is about to.
  strlcpy(out.text, current ? end + 1 : kStateStarting, sizeof out.text);
  out.promising = starts_with(out.text, kStateReady) || starts_with(out.text, kStateStarting);
  return out;
}

}  // namespace kde_pg
