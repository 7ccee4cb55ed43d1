#include "instrumentation/capture/stacks/modules.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>

#include "instrumentation/ring/producer.hpp"

namespace sluice::capture {

namespace {

/// Output of `_dl_find_object` (struct dl_find_object in <dlfcn.h>, glibc 2.35 and later; its layout is ABI).
struct found_object {
  unsigned long long flags;
  void *map_start, *map_end;
  link_map* map;
  void* eh_frame;  ///< .eh_frame_hdr
  unsigned long long reserved[7];
};
int (*find_object)(void* pc, found_object* found) = nullptr;

char program_path[1024];
/// The loader's number of unloads at the last check. After a change, all modules are sent again.
std::atomic<std::uint64_t> unloads{0};

// --- without _dl_find_object -----------------------------------------------------------------------------------------

/// An entry of the table of modules, as last reported by the loader. One thread writes the table; a reader finds
/// nothing while it is being changed.
struct table_entry {
  std::atomic<std::uint64_t> begin, end, bias, header;
  std::atomic<const char*> path;
};
constexpr std::size_t table_size = 2048;
table_entry table[table_size];
std::atomic<std::size_t> table_count{0};
std::atomic<std::uint64_t> table_version{0};  ///< Odd during a write.

bool find_in_table(std::uint64_t pc, loaded_module& found) {
  const std::uint64_t version = table_version.load(std::memory_order_acquire);
  const std::size_t count = table_count.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < count; ++i) {
    const table_entry& entry = table[i];
    found.begin = entry.begin.load(std::memory_order_relaxed);
    found.end = entry.end.load(std::memory_order_relaxed);
    if (pc < found.begin || pc >= found.end) continue;
    found.bias = entry.bias.load(std::memory_order_relaxed);
    found.path = entry.path.load(std::memory_order_relaxed);
    found.image.eh_frame_header = entry.header.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    return version % 2 == 0 && table_version.load(std::memory_order_relaxed) == version;
  }
  return false;
}

int add_to_table(dl_phdr_info* info, std::size_t, void*) {
  const std::size_t at = table_count.load(std::memory_order_relaxed);
  if (at == table_size) return 1;
  std::uint64_t begin = ~std::uint64_t{0};
  std::uint64_t end = 0;
  std::uint64_t header = 0;
  for (std::size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const std::uint64_t at_address = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) header = at_address;
    if (segment.p_type != PT_LOAD) continue;
    if (at_address < begin) begin = at_address & ~std::uint64_t{4095};
    if (at_address + segment.p_memsz > end) end = at_address + segment.p_memsz;
  }
  table_entry& entry = table[at];
  entry.begin.store(begin, std::memory_order_relaxed);
  entry.end.store(end, std::memory_order_relaxed);
  entry.bias.store(info->dlpi_addr, std::memory_order_relaxed);
  entry.header.store(header, std::memory_order_relaxed);
  entry.path.store(info->dlpi_name, std::memory_order_relaxed);
  table_count.store(at + 1, std::memory_order_relaxed);
  return 0;
}

void fill_table() {
  table_version.fetch_add(1, std::memory_order_acq_rel);
  std::atomic_thread_fence(std::memory_order_release);
  table_count.store(0, std::memory_order_relaxed);
  dl_iterate_phdr(add_to_table, nullptr);
  table_version.fetch_add(1, std::memory_order_release);
}

// --- asking the loader -----------------------------------------------------------------------------------------------

struct changes {
  std::uint64_t adds, subs;
};

int read_changes(dl_phdr_info* info, std::size_t, void* to) {
  *static_cast<changes*>(to) = {info->dlpi_adds, info->dlpi_subs};
  return 1;
}

/// True while the loader is queried; a fork waits for that, because in a child forked at that moment, the loader's lock
/// would stay locked forever.
std::atomic<bool> asking{false};

void before_fork() {
  const int error = errno;
  // The wait is limited, in case the forking thread itself blocks the loader.
  for (int i = 0; asking.exchange(true, std::memory_order_acquire) && i < 100; ++i) {
    const timespec moment{0, 100'000};
    nanosleep(&moment, nullptr);
  }
  errno = error;
}
void after_fork() { asking.store(false, std::memory_order_release); }

// --- ELF files -------------------------------------------------------------------------------------------------------

void read_build_id(std::uint64_t at, std::uint64_t end, loaded_module& module) {
  while (end - at >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    memcpy(&note, reinterpret_cast<const void*>(at), sizeof note);
    const std::uint64_t name = at + sizeof note;
    const std::uint64_t content = name + ((note.n_namesz + 3ULL) & ~3ULL);
    const std::uint64_t next = content + ((note.n_descsz + 3ULL) & ~3ULL);
    if (next > end) return;
    const bool ours = note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
                      memcmp(reinterpret_cast<const void*>(name), "GNU", 4) == 0;
    if (ours && note.n_descsz <= sizeof module.build_id) {
      memcpy(module.build_id, reinterpret_cast<const void*>(content), note.n_descsz);
      module.build_id_bytes = note.n_descsz;
      return;
    }
    at = next;
  }
}

bool is_elf_header(std::uint64_t address) {
  return memcmp(reinterpret_cast<const void*>(address), ELFMAG, SELFMAG) == 0;
}

/// Finds the module's ELF header; 0 if it is not mapped. Linkers may leave holes between segments. The loader then
/// reports only the requested segment, and the header is in the first segment, at the file's address 0.
std::uint64_t get_header(const loaded_module& module) {
  constexpr std::uint64_t first_page = 4096;
  if (module.end - module.begin >= first_page && is_elf_header(module.begin)) return module.begin;
  const bool may_be_at_zero = module.bias != 0 && module.bias < module.begin && module.bias % first_page == 0;
  return may_be_at_zero && is_readable(module.bias) && is_elf_header(module.bias) ? module.bias : 0;
}

/// Reads segments and build id from the module's headers, if they are mapped. Extends the module's range to all
/// segments.
void read_headers(loaded_module& module) {
  constexpr std::uint64_t first_page = 4096;
  const std::uint64_t header = get_header(module);
  if (header == 0) return;
  ElfW(Ehdr) file;
  memcpy(&file, reinterpret_cast<const void*>(header), sizeof file);
  const std::uint64_t headers_end = file.e_phoff + std::uint64_t{file.e_phnum} * sizeof(ElfW(Phdr));
  if (file.e_phentsize != sizeof(ElfW(Phdr)) || headers_end > first_page) return;
  const bool has_holes = header != module.begin;
  module.begin = header;
  ElfW(Phdr) segment;
  for (std::size_t i = 0; i < file.e_phnum; ++i) {
    memcpy(&segment, reinterpret_cast<const void*>(header + file.e_phoff + i * sizeof segment), sizeof segment);
    const std::uint64_t begin = module.bias + segment.p_vaddr;
    const std::uint64_t end = begin + segment.p_memsz;
    if (has_holes && segment.p_type == PT_LOAD && end > module.end) module.end = end;
    if (begin > end || begin < module.begin || end > module.end || (segment.p_flags & PF_R) == 0) continue;
    if (segment.p_type == PT_LOAD && module.image.count < unwind::code_image::max_segments) {
      module.image.segments[module.image.count++] = {begin, end, (segment.p_flags & PF_X) != 0};
    }
    if (segment.p_type == PT_NOTE && module.build_id_bytes == 0) read_build_id(begin, end, module);
  }
}

}  // namespace

bool is_readable(std::uint64_t address) noexcept {
  // The kernel reads the new signal mask before it checks the first argument (Abseil's idea). EINVAL means that the
  // address is readable; EFAULT, or the error of a system call filter, means that it is not.
  constexpr long nonsense = -1, mask_bytes = 8;
  const int error = errno;
  const long result = syscall(SYS_rt_sigprocmask, nonsense, address, nullptr, mask_bytes);
  const bool readable = result == -1 && errno == EINVAL;
  errno = error;
  return readable;
}

void start_modules() noexcept {
  static std::atomic<bool> started{false};
  if (started.exchange(true)) return;
  ask_c_library(true);
  const ssize_t length = readlink("/proc/self/exe", program_path, sizeof program_path - 1);
  if (length > 0) program_path[length] = '\0';
  pthread_atfork(before_fork, after_fork, after_fork);
  watch_modules();
}

void ask_c_library(bool yes) noexcept {
  void* const results = yes ? dlsym(RTLD_DEFAULT, "_dl_find_object") : nullptr;
  find_object = reinterpret_cast<decltype(find_object)>(results);
  if (find_object == nullptr) fill_table();
}

bool find_module(std::uint64_t pc, loaded_module& found) noexcept {
  if (find_object != nullptr) {
    found_object object{};
    if (find_object(reinterpret_cast<void*>(pc), &object) != 0) return false;
    found.begin = reinterpret_cast<std::uint64_t>(object.map_start);
    found.end = reinterpret_cast<std::uint64_t>(object.map_end);
    found.bias = object.map->l_addr;
    found.path = object.map->l_name;
    found.image.eh_frame_header = reinterpret_cast<std::uint64_t>(object.eh_frame);
  } else if (!find_in_table(pc, found)) {
    return false;
  }
  read_headers(found);
  return true;
}

bool introduce(const loaded_module& module) noexcept {
  if (!ring::active()) return true;
  const char* path = module.path == nullptr || module.path[0] == '\0' ? program_path : module.path;
  ring::module_record record{};
  record.header.time = ring::now();
  record.path = ring::intern(path);
  record.base = module.bias;
  record.begin = module.begin;
  record.end = module.end;
  memcpy(record.build_id, module.build_id, sizeof record.build_id);
  record.build_id_bytes = module.build_id_bytes;
  return ring::introduce_module(record, unloads.load(std::memory_order_relaxed));
}

bool for_each_library(int (*visit)(dl_phdr_info*, std::size_t, void*), void* context) noexcept {
  if (asking.exchange(true, std::memory_order_acquire)) return false;
  dl_iterate_phdr(visit, context);
  asking.store(false, std::memory_order_release);
  return true;
}

bool watch_modules() noexcept {
  static changes seen{};
  if (asking.exchange(true, std::memory_order_acquire)) return false;  // A fork is about to happen: check later.
  changes now{};
  dl_iterate_phdr(read_changes, &now);
  const bool changed = now.adds != seen.adds || now.subs != seen.subs;
  const bool unloaded = now.subs != seen.subs;
  if (changed && find_object == nullptr) fill_table();
  seen = now;
  asking.store(false, std::memory_order_release);
  if (unloaded) unloads.store(now.subs, std::memory_order_relaxed);
  return unloaded;
}

}  // namespace sluice::capture
