#include "instrumentation/capture/calls/bypass_check.hpp"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>

#include "instrumentation/capture/blocks/live_blocks.hpp"
#include "instrumentation/capture/intercept/entry_points.hpp"
#include "instrumentation/capture/process/state.hpp"
#include "instrumentation/capture/stacks/modules.hpp"
#include "instrumentation/ring/producer.hpp"

namespace sluice::capture::bypass_check {

namespace {

constexpr unsigned warning = raw(trace::severity::warning);
constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;

// --- the libraries ---------------------------------------------------------------------------------------------------

struct span {
  std::uint64_t begin, end;
};
struct library {
  static constexpr unsigned max_spans = 8;
  char name[80];
  span writable[max_spans];  ///< The parts to read: linkage tables and variables.
  unsigned writables;
};
constexpr unsigned max_libraries = 1024;
library libraries[max_libraries];
unsigned library_count = 0;

/// The part that the loader makes read-only ends with the linkage table. The part before it (vtables) refers to other
/// libraries' functions only by name, and may be large.
constexpr std::uint64_t max_linkage = 1 * mib;
constexpr std::uint64_t max_variables = 4 * mib;

void add_writable(library& to, span part, span relocated) {
  const auto add = [&](std::uint64_t begin, std::uint64_t end) {
    begin = (begin + 7) & ~std::uint64_t{7};
    if (begin < end && to.writables < library::max_spans) to.writable[to.writables++] = {begin, end};
  };
  const std::uint64_t linkage_end = relocated.end < part.end ? relocated.end : part.end;
  if (relocated.end > part.begin && relocated.begin < part.end) {
    add(linkage_end - part.begin > max_linkage ? linkage_end - max_linkage : part.begin, linkage_end);
    part.begin = linkage_end;
  }
  add(part.begin, part.end - part.begin > max_variables ? part.begin + max_variables : part.end);
}

/// Libraries that normally contain addresses of driver functions: the driver's own, ours, and CUPTI.
bool is_exempt(const char* name, const dl_phdr_info& info) {
  for (const char* known :
       {"libcuda.so", "libcudadebugger.so", "libnvidia-", "libcupti.so", "libc.so", "libdl.so", "ld-linux"}) {
    if (strncmp(name, known, strlen(known)) == 0) return true;
  }
  const auto here = reinterpret_cast<std::uint64_t>(&poll);
  for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type == PT_LOAD && here - (info.dlpi_addr + segment.p_vaddr) < segment.p_memsz) return true;
  }
  return false;
}

int add_library(dl_phdr_info* info, std::size_t, void*) {
  if (library_count == max_libraries) return 1;
  const char* path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const char* slash = strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  if (is_exempt(name, *info)) return 0;
  library& output = libraries[library_count++];
  output.writables = 0;
  snprintf(output.name, sizeof output.name, "%s", name[0] == '\0' ? "the program itself" : name);
  span relocated{0, 0};
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const std::uint64_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_RELRO) relocated = {begin, begin + segment.p_memsz};
  }
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_R) == 0 || (segment.p_flags & PF_W) == 0) continue;
    const std::uint64_t begin = info->dlpi_addr + segment.p_vaddr;
    add_writable(output, {begin, begin + segment.p_memsz}, relocated);
  }
  return 0;
}

// --- searching them --------------------------------------------------------------------------------------------------

constexpr std::size_t piece_bytes = 64 * kib;
alignas(8) char piece[piece_bytes];

/// Returns the number of bytes read: fewer than `bytes` if some of the memory is no longer mapped.
std::size_t read_piece(std::uint64_t address, std::size_t bytes) {
  const iovec to{piece, bytes};
  const iovec source{reinterpret_cast<void*>(address), bytes};
  const ssize_t got = process_vm_readv(getpid(), &to, 1, &source, 1, 0);
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

struct evidence {
  static constexpr unsigned max_names = 3;
  const char* names[max_names];  ///< Names of the driver functions found.
  unsigned functions;
};

/// The address range of the driver's functions.
span functions_of_driver() {
  span items{~std::uint64_t{0}, 0};
  for (unsigned i = 0; i < entry_points::wrapper_count; ++i) {
    const auto function = reinterpret_cast<std::uint64_t>(entry_points::real(i));
    if (function == 0) continue;
    if (function < items.begin) items.begin = function;
    if (function > items.end) items.end = function;
  }
  return items;
}

void weigh(std::uint64_t word, span driver, evidence& found) {
  if (word < driver.begin || word > driver.end) return;
  const char* name = entry_points::name_of_drivers(reinterpret_cast<const void*>(word));
  if (name == nullptr) return;
  for (unsigned i = 0; i < found.functions && i < evidence::max_names; ++i) {
    if (found.names[i] == name) return;
  }
  if (found.functions < evidence::max_names) found.names[found.functions] = name;
  ++found.functions;
}

evidence search(const library& in, span driver) {
  evidence found{};
  for (unsigned i = 0; i < in.writables; ++i) {
    for (std::uint64_t at = in.writable[i].begin; at < in.writable[i].end; at += piece_bytes) {
      const std::uint64_t left = in.writable[i].end - at;
      const std::size_t got = read_piece(at, left < piece_bytes ? left : piece_bytes);
      for (std::size_t offset = 0; offset + sizeof(std::uint64_t) <= got; offset += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        memcpy(&word, piece + offset, sizeof word);
        weigh(word, driver, found);
      }
    }
  }
  return found;
}

// --- reporting -------------------------------------------------------------------------------------------------------

constexpr char way_out[] =
    "is not in this recording; SLUICE_CAPTURE_WITHOUT=entry-points records it with CUPTI (as --mode timeline does)";

/// Returns true the first time that it is called for a library.
bool is_new(const char* name) {
  constexpr unsigned max_reported = 32;
  static std::uint64_t reported[max_reported];
  static unsigned count = 0;
  std::uint64_t key = 1;
  for (const char* c = name; *c != '\0'; ++c) key = (key ^ static_cast<unsigned char>(*c)) * 0x100000001B3U;
  for (unsigned i = 0; i < count; ++i) {
    if (reported[i] == key) return false;
  }
  if (count == max_reported) return false;
  reported[count++] = key;
  return true;
}

void report(const library& subject, const evidence& found) {
  if (!is_new(subject.name)) return;
  const unsigned more = found.functions - 1;
  char others[64] = "";
  if (more != 0) snprintf(others, sizeof others, " and %u other%s", more, more == 1 ? "" : "s");
  char text[640];
  snprintf(text, sizeof text,
           "%.79s calls the driver around the recorder: it has the driver's own %s%s (loaded with RTLD_DEEPBIND, or "
           "looked up by its own dlsym). Its activity through these functions %s",
           subject.name, found.names[0], others, way_out);
  ring::message(warning, text);
}

int read_loads(dl_phdr_info* info, std::size_t, void* to) {
  *static_cast<std::uint64_t*>(to) = info->dlpi_adds;
  return 1;
}

void look_through_all() {
  library_count = 0;
  if (!for_each_library(add_library, nullptr)) return;  // A fork is about to happen: scan later.
  const span driver = functions_of_driver();
  for (unsigned i = 0; i < library_count; ++i) {
    const evidence found = search(libraries[i], driver);
    if (found.functions != 0) report(libraries[i], found);
  }
}

}  // namespace

void poll(bool last) noexcept {
  if (!entry_points::in_use()) return;
  constexpr std::uint64_t second = 1'000'000'000;
  static std::uint64_t asked = 0;
  static std::uint64_t known = 0;
  static std::uint64_t changed = 0;
  static unsigned looks = 0;
  const std::uint64_t now = ring::monotonic_now();
  if (!last && now - asked < second / 2) return;
  asked = now;
  start_modules();
  std::uint64_t loads = known;
  for_each_library(read_loads, &loads);
  if (loads != known) {
    known = loads;
    changed = now;
    looks = 0;
  }
  const bool due = (looks == 0 && now - changed >= second) || (looks == 1 && now - changed >= 10 * second);
  if (!due && !last) return;
  ++looks;
  look_through_all();
}

void unknown_free(std::uint64_t address) noexcept {
  static std::atomic<bool> reported{false};
  // If not all blocks could be tracked, an unknown block proves nothing.
  if (live_blocks::untracked() != 0 || reported.exchange(true)) return;
  char text[512];
  snprintf(text, sizeof text,
           "memory at 0x%llx was freed that no recorded call had allocated: something in this process calls the driver "
           "around the recorder, or has mapped memory of another API. Memory allocated this way %s",
           static_cast<unsigned long long>(address), way_out);
  ring::message(warning, text);
}

}  // namespace sluice::capture::bypass_check
