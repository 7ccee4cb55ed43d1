#include "core/query/sql/scratch_files.hpp"

#include <sqlite3.h>

#include <string>

namespace sluice::query {

/// SQLite's default VFS with another `xOpen`. Its other functions need only the default's `sqlite3_vfs`.
struct scratch_limit::state {
  sqlite3_vfs vfs{};
  sqlite3_vfs* real = nullptr;
  std::string name;
  std::size_t limit = 0;
  std::size_t used = 0;
  bool exceeded = false;
};

namespace {

/// The file object. SQLite reserves space after it for the default VFS's file.
struct counted_file : sqlite3_file {
  std::size_t* used = nullptr;
  std::size_t limit = 0;
  bool* exceeded = nullptr;
  sqlite3_int64 size = 0;
  [[nodiscard]] sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

counted_file& of(sqlite3_file* file) { return *static_cast<counted_file*>(file); }

int close_file(sqlite3_file* file) {
  *of(file).used -= static_cast<std::size_t>(of(file).size);
  return of(file).real()->pMethods->xClose(of(file).real());
}
int read_file(sqlite3_file* file, void* to, int bytes, sqlite3_int64 at) {
  return of(file).real()->pMethods->xRead(of(file).real(), to, bytes, at);
}
int write_file(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 at) {
  counted_file& self = of(file);
  if (const sqlite3_int64 grown = at + bytes - self.size; grown > 0) {
    if (*self.used + static_cast<std::size_t>(grown) > self.limit) {
      *self.exceeded = true;
      return SQLITE_FULL;
    }
    *self.used += static_cast<std::size_t>(grown);
    self.size += grown;
  }
  return self.real()->pMethods->xWrite(self.real(), from, bytes, at);
}
int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  counted_file& self = of(file);
  if (size < self.size) {
    *self.used -= static_cast<std::size_t>(self.size - size);
    self.size = size;
  }
  return self.real()->pMethods->xTruncate(self.real(), size);
}
int sync_file(sqlite3_file* /*file*/, int /*flags*/) { return SQLITE_OK; }
int size_of_file(sqlite3_file* file, sqlite3_int64* size) {
  return of(file).real()->pMethods->xFileSize(of(file).real(), size);
}
int lock_file(sqlite3_file* /*file*/, int /*how*/) { return SQLITE_OK; }
int is_locked(sqlite3_file* /*file*/, int* locked) {
  *locked = 0;
  return SQLITE_OK;
}
int control_file(sqlite3_file* /*file*/, int /*what*/, void* /*with*/) { return SQLITE_NOTFOUND; }
int sector_size(sqlite3_file* file) { return of(file).real()->pMethods->xSectorSize(of(file).real()); }
int characteristics(sqlite3_file* file) { return of(file).real()->pMethods->xDeviceCharacteristics(of(file).real()); }

/// Version 1: without shared memory and mapping, which temporary files do not need.
constexpr sqlite3_io_methods counted_methods = [] {
  sqlite3_io_methods made{};
  made.iVersion = 1;
  made.xClose = close_file;
  made.xRead = read_file;
  made.xWrite = write_file;
  made.xTruncate = truncate_file;
  made.xSync = sync_file;
  made.xFileSize = size_of_file;
  made.xLock = lock_file;
  made.xUnlock = lock_file;
  made.xCheckReservedLock = is_locked;
  made.xFileControl = control_file;
  made.xSectorSize = sector_size;
  made.xDeviceCharacteristics = characteristics;
  return made;
}();

}  // namespace

scratch_limit::scratch_limit() : state_(std::make_unique<state>()) {
  state& s = *state_;
  sqlite3_initialize();
  s.real = sqlite3_vfs_find(nullptr);
  s.vfs = *s.real;
  static std::atomic<unsigned> number{0};
  s.name = "sluice-query-" + std::to_string(++number);
  s.vfs.zName = s.name.c_str();
  s.vfs.pNext = nullptr;
  s.vfs.szOsFile = s.real->szOsFile + static_cast<int>(sizeof(counted_file));
  // The default's functions get this copy of `sqlite3_vfs`. They read only its `pAppData` (theirs) and `mxPathname`.
  s.vfs.xOpen = [](sqlite3_vfs* given, const char* name, sqlite3_file* file, int flags, int* out) {
    auto& self = *reinterpret_cast<state*>(given);  // The first member of `state`.
    auto* made = static_cast<counted_file*>(file);
    made->pMethods = nullptr;
    made->used = &self.used;
    made->limit = self.limit;
    made->exceeded = &self.exceeded;
    made->size = 0;
    const int code = self.real->xOpen(self.real, name, made->real(), flags, out);
    if (code == SQLITE_OK) made->pMethods = &counted_methods;
    return code;
  };
  sqlite3_vfs_register(&s.vfs, 0);
}

scratch_limit::~scratch_limit() { sqlite3_vfs_unregister(&state_->vfs); }

void scratch_limit::set(std::size_t bytes) { state_->limit = bytes; }
const char* scratch_limit::vfs() const { return state_->name.c_str(); }
bool scratch_limit::exceeded() const { return state_->exceeded; }
void scratch_limit::reset() { state_->exceeded = false; }

}  // namespace sluice::query
