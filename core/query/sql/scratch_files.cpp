#include "core/query/sql/scratch_files.hpp"

#include <sqlite3.h>

#include <string>

namespace sluice::query {

/// A copy of SQLite's default VFS with another `xOpen`. The other functions of the default VFS read only its
/// `sqlite3_vfs`, so they work with the copy.
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
int write_file(sqlite3_file* file, const void* source, int bytes, sqlite3_int64 at) {
  counted_file& self = of(file);
  if (const sqlite3_int64 grown = at + bytes - self.size; grown > 0) {
    if (*self.used + static_cast<std::size_t>(grown) > self.limit) {
      *self.exceeded = true;
      return SQLITE_FULL;
    }
    *self.used += static_cast<std::size_t>(grown);
    self.size += grown;
  }
  return self.real()->pMethods->xWrite(self.real(), source, bytes, at);
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

/// Version 1 of the interface has no shared memory and no mapping, which temporary files do not need.
constexpr sqlite3_io_methods counted_methods = [] {
  sqlite3_io_methods methods{};
  methods.iVersion = 1;
  methods.xClose = close_file;
  methods.xRead = read_file;
  methods.xWrite = write_file;
  methods.xTruncate = truncate_file;
  methods.xSync = sync_file;
  methods.xFileSize = size_of_file;
  methods.xLock = lock_file;
  methods.xUnlock = lock_file;
  methods.xCheckReservedLock = is_locked;
  methods.xFileControl = control_file;
  methods.xSectorSize = sector_size;
  methods.xDeviceCharacteristics = characteristics;
  return methods;
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
  // The functions of the default VFS get this copy of `sqlite3_vfs`. They read only `mxPathname` and `pAppData`, which
  // is theirs.
  s.vfs.xOpen = [](sqlite3_vfs* given, const char* name, sqlite3_file* file, int flags, int* out) {
    auto& self = *reinterpret_cast<state*>(given);  // `vfs` is the first member of `state`.
    auto* output = static_cast<counted_file*>(file);
    output->pMethods = nullptr;
    output->used = &self.used;
    output->limit = self.limit;
    output->exceeded = &self.exceeded;
    output->size = 0;
    const int code = self.real->xOpen(self.real, name, output->real(), flags, out);
    if (code == SQLITE_OK) output->pMethods = &counted_methods;
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
