// Looks up addresses in hostile unwind tables: lookups must never read beyond the tables. The input is | pc offset u32
// | 0 u32 | bytes |; the bytes are a segment that begins with .eh_frame_hdr and ends right before an inaccessible page.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "instrumentation/unwind/eh_frame.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/instrumentation/unwind/unwind_table.hpp"

namespace sluice::fuzz::eh_frame {
namespace {

constexpr std::size_t head_bytes = 8;
constexpr std::size_t room = std::size_t{1} << 16, page = 4096;

/// `room` bytes, followed by a page that faults on access.
char* guarded_memory() {
  static char* const memory = [] {
    void* const mapped = mmap(nullptr, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED || mprotect(static_cast<char*>(mapped) + room, page, PROT_NONE) != 0) __builtin_trap();
    return static_cast<char*>(mapped);
  }();
  return memory;
}

void run(std::span<const std::uint8_t> input) {
  if (input.size() < head_bytes) return;
  std::uint32_t pc = 0;
  std::memcpy(&pc, input.data(), sizeof pc);
  const auto content = input.subspan(head_bytes, std::min(input.size() - head_bytes, room));
  char* const begin = guarded_memory() + room - content.size();
  std::memcpy(begin, content.data(), content.size());
  unwind::code_image image;
  image.count = 1;
  image.segments[0] = {reinterpret_cast<std::uint64_t>(begin), reinterpret_cast<std::uint64_t>(begin) + content.size(),
                       true};
  image.eh_frame_header = image.segments[0].begin;
  const std::uint64_t at = image.eh_frame_header + pc;
  (void)unwind::find_unwind_rule(image, at);
  (void)unwind::follows_call(image, at);
}

bytes seed(std::uint32_t pc, const char* augmentation, std::initializer_list<int> instructions) {
  const test::unwind_table table(augmentation, instructions);
  bytes input(head_bytes);
  std::memcpy(input.data(), &pc, sizeof pc);
  input.insert(input.end(), table.bytes().begin(), table.bytes().end());
  return input;
}

std::vector<bytes> seeds() {
  return {seed(0x10010, "zR", {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0x50, 0xc6, 0x0c, 7, 8}),
          seed(0x10040, "zR", {0x0a, 0x48, 0x0e, 0x80, 0x01, 0x0b, 0x05, 6, 3, 0x2e, 16}),
          seed(0x1000f, "zR", {0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}),
          seed(0x10020, "zR", {0x10, 6, 2, 0x76, 0, 0x0f, 3, 0x76, 0x78, 0x06}),
          seed(0x100ff, "zR", {0x07, 16}),
          seed(0x10000, "zRS", {}),
          seed(0x10080, "zR", {0x12, 6, 0x7e, 0x13, 0x7c, 0x11, 6, 0x7f, 0x14, 6, 1, 0x16, 3, 0})};
}

}  // namespace
}  // namespace sluice::fuzz::eh_frame

sluice::fuzz::target sluice::fuzz::eh_frame_target() { return {"eh_frame", eh_frame::run, eh_frame::seeds}; }
