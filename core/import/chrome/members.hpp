#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/import/chrome/document.hpp"
#include "core/import/torch/kineto_devices.hpp"
#include "core/import/trace_events/tracks.hpp"
#include "core/import/unread_formats.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::importing {

/// Imports the members of a Chrome trace's document that are not events, such as the properties of devices. Holds at
/// most `max_bytes` of these members. Private to core/import.
class chrome_members {
 public:
  static constexpr std::size_t max_bytes = std::size_t{16} << 20;
  /// The most bytes to read of a member of unknown meaning.
  static constexpr std::size_t max_unknown = 4096;

  void add(const chrome_piece& piece);

  /// Returns the format of the document if its members show that it is not a Chrome trace; otherwise null.
  [[nodiscard]] const unread_format* other_format() const;
  /// Returns "baseTimeNanoseconds", the origin of the document's times, or 0 if it is missing.
  [[nodiscard]] std::int64_t base_time() const;
  /// Sets the attributes of devices and the rank of the process. Calls `fault` with a message about each value that
  /// cannot be read and the value's offset.
  void describe(chrome_tracks& tracks, kineto_devices& devices,
                const std::function<void(std::string_view, std::uint64_t)>& fault) const;
  /// Writes the members that are texts or numbers, such as those of torch.profiler's `add_metadata`, as one mark with
  /// one attribute for each member.
  void write(trace::file_writer& out, trace::process_id process, trace::time_ns time) const;

 private:
  struct member {
    std::string name, value;
    std::uint64_t offset = 0;
    bool cut = false;
  };

  std::vector<member> all_;
  std::size_t held_ = 0;
  std::uint64_t left_out_ = 0;       ///< The number of members beyond `max_bytes`.
  std::uint64_t left_out_from_ = 0;  ///< The offset of the first member beyond `max_bytes`.
};

}  // namespace sluice::importing
