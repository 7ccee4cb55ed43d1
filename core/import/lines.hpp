#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "core/import/job.hpp"

namespace sluice::importing {

/// Calls `take(line, offset)` for each line of the file: its text without the line end, and its offset in the content.
/// `take` returns a `result<void>`. Skips lines longer than 256 KiB and counts them. Errors: those of reading and of
/// `take`; cancelled.
template <class Take>
result<void> read_lines(job& work, Take take) {
  std::vector<std::byte> buffer(std::size_t{1} << 18);
  std::size_t kept = 0;      // The bytes of an incomplete line at the start of the buffer.
  std::uint64_t offset = 0;  // The offset of the buffer's start in the content.
  bool skipping = false;     // The buffer starts in a line that is longer than the buffer.
  const auto give = [&](std::string_view text, std::uint64_t at) -> result<void> {
    if (text.ends_with('\r')) text.remove_suffix(1);
    return take(text, at);
  };
  for (;;) {
    const auto got = work.source().read(std::span(buffer).subspan(kept));
    if (!got) return tl::unexpected(got.error());
    const std::string_view text(reinterpret_cast<const char*>(buffer.data()), kept + *got);
    std::size_t at = 0;
    for (auto end = text.find('\n', kept); end != std::string_view::npos; end = text.find('\n', at)) {
      if (!std::exchange(skipping, false)) {
        if (auto taken = give(text.substr(at, end - at), offset + at); !taken) return taken;
      }
      at = end + 1;
    }
    if (*got == 0) {
      if (at < text.size() && !skipping) return give(text.substr(at), offset + at);
      return {};
    }
    if (at == 0 && text.size() == buffer.size()) {
      if (!std::exchange(skipping, true)) work.not_understood("lines", 1, offset);
      at = text.size();
    }
    kept = text.size() - at;
    std::memmove(buffer.data(), buffer.data() + at, kept);
    offset += at;
    if (auto ready = work.advance(work.source().share_read()); !ready) return ready;
  }
}

}  // namespace sluice::importing
