#include "instrumentation/backend/own_stacks.hpp"

#include <link.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <span>
#include <string_view>

#include "instrumentation/ring/producer.hpp"

namespace sluice::backend {
namespace {

std::atomic<const char*> code_begin{nullptr};
std::atomic<const char*> code_end{nullptr};

struct own_frames {
  std::uint64_t begin = 0, end = 0;
  std::array<std::uint64_t, 32> frames{};
  std::size_t count = 0;
  int left = 128;  ///< Frames to look at.
};

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* data) {
  own_frames& own = *static_cast<own_frames*>(data);
  const auto pc = static_cast<std::uint64_t>(_Unwind_GetIP(context));
  if (pc > own.begin && pc <= own.end) own.frames[own.count++] = pc;  // A return address may lie just behind the code.
  return --own.left > 0 && own.count < own.frames.size() ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/// Copies the build id from a list of ELF notes.
void read_build_id(const char* notes, std::size_t bytes, ring::module_record& to) {
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note{};
    std::memcpy(&note, notes, sizeof note);
    const std::size_t name = (std::size_t{note.n_namesz} + 3) & ~std::size_t{3};
    const std::size_t whole = sizeof note + name + ((std::size_t{note.n_descsz} + 3) & ~std::size_t{3});
    if (whole > bytes) return;
    if (note.n_type == NT_GNU_BUILD_ID && std::string_view(notes + sizeof note, 3) == "GNU") {
      to.build_id_bytes = std::min<std::uint64_t>(note.n_descsz, sizeof to.build_id);
      std::memcpy(to.build_id, notes + sizeof note + name, to.build_id_bytes);
      return;
    }
    notes += whole;
    bytes -= whole;
  }
}

/// Describes the file that has the code; called for each loaded file until it returns 1.
int find_module(dl_phdr_info* info, std::size_t, void* data) {
  ring::module_record& module = *static_cast<ring::module_record*>(data);
  const auto wanted = reinterpret_cast<std::uint64_t>(code_begin.load(std::memory_order_relaxed));
  std::uint64_t low = UINT64_MAX, high = 0;
  for (const ElfW(Phdr) & each : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
    const std::uint64_t begin = info->dlpi_addr + each.p_vaddr;
    if (each.p_type == PT_LOAD) low = std::min(low, begin), high = std::max<std::uint64_t>(high, begin + each.p_memsz);
    if (each.p_type == PT_NOTE && module.build_id_bytes == 0)
      read_build_id(reinterpret_cast<const char*>(begin), each.p_memsz, module);
  }
  if (wanted < low || wanted >= high) {
    module.build_id_bytes = 0;
    return 0;
  }
  module.base = info->dlpi_addr;
  module.begin = low;
  module.end = high;
  const bool is_program = info->dlpi_name == nullptr || info->dlpi_name[0] == '\0';
  std::array<char, 4096> path{};
  if (is_program && readlink("/proc/self/exe", path.data(), path.size() - 1) <= 0) return 0;
  module.path = ring::intern(is_program ? path.data() : info->dlpi_name);
  return 1;
}

/// Sends the file that has the code. `ring` sends it once for each recording.
void introduce_own_module() {
  ring::module_record now{};
  if (dl_iterate_phdr(find_module, &now) != 1) return;
  now.header.time = ring::now();
  ring::introduce_module(now, 0);
}

}  // namespace

void record_callers_in(code_range code) noexcept {
  code_begin.store(code.begin, std::memory_order_relaxed);
  code_end.store(code.end, std::memory_order_release);
}

std::uint64_t find_own_stack() noexcept {
  own_frames own;
  own.end = reinterpret_cast<std::uint64_t>(code_end.load(std::memory_order_acquire));
  own.begin = reinterpret_cast<std::uint64_t>(code_begin.load(std::memory_order_relaxed));
  if (own.begin >= own.end || !ring::active()) return 0;
  _Unwind_Backtrace(add_frame, &own);
  if (own.count == 0) return 0;
  const std::uint64_t key = ring::stack_key(own.frames.data(), own.count, 0);
  if (!ring::knows_frame(key)) introduce_own_module();
  return ring::intern_stack(own.frames.data(), own.count);
}

}  // namespace sluice::backend
