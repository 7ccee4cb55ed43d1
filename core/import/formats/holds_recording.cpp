// Detects recordings when a folder is listed. Files of formats that many programs write must have the keys of a
// recording.
#include <algorithm>
#include <array>
#include <string_view>

#include "core/import/import.hpp"
#include "core/import/input.hpp"
#include "core/import/nsys/database.hpp"

namespace sluice::importing {
namespace {

bool has_any(std::string_view text, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

/// Keys of Chrome's format, and those that torch.profiler writes before its events.
constexpr std::array<std::string_view, 6> chrome_keys = {"\"traceEvents\"",   "\"ph\"",          "\"deviceProperties\"",
                                                         "\"schemaVersion\"", "\"stackFrames\"", "\"displayTimeUnit\""};
/// Keys of the dictionary of torch.cuda.memory._snapshot.
constexpr std::array<std::string_view, 3> snapshot_keys = {"segments", "device_traces", "allocator_settings"};

bool is_nsys_export(const std::string& path) {
  const auto database = nsys_database::open(path);
  return database && database->has("StringIds") && database->has("StringIds", "value");
}

}  // namespace

bool holds_recording(const std::string& path) {
  const auto source = input::open(path);
  if (!source) return false;
  const std::string_view head(reinterpret_cast<const char*>(source->head().data()), source->head().size());
  switch (recognise(path)) {
    // These formats are unambiguous.
    case format::sluice:
    case format::rmm_csv:
    case format::torch_snapshot_json:
    case format::torch_snapshot_sqlite:
    case format::pprof:
    case format::xspace:
    case format::rocpd:
    case format::rpd:
    case format::rocprofv3_json:
    case format::ascend_memory:
      return true;
    case format::chrome_json:
      return has_any(head, chrome_keys);
    case format::torch_snapshot:
      return has_any(head, snapshot_keys);
    case format::nsys_sqlite:
      return is_nsys_export(path);
    case format::torch_timeline:  // Lists of numbers do not show what they mean.
    case format::unknown:
      return false;
  }
  return false;
}

}  // namespace sluice::importing
