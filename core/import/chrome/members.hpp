#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/import/chrome/document.hpp"
#include "core/import/chrome/tracks.hpp"
#include "core/import/torch/kineto_devices.hpp"
#include "core/import/unread_formats.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::importing {

/// What a Chrome trace has beside its events: the other members of the document. Holds at most `most_bytes` of them.
/// Private to core/import.
class chrome_members {
 public:
  static constexpr std::size_t most_bytes = std::size_t{16} << 20;
  /// Of a member that only its beginning is looked at.
  static constexpr std::size_t most_unknown = 4096;

  void add(const chrome_piece& piece);

  /// The other format of which a document with these members is; null for none.
  [[nodiscard]] const unread_format* other_format() const;
  /// The clock's "baseTimeNanoseconds"; 0 if it is not said.
  [[nodiscard]] std::int64_t base_time() const;
  /// Tells what is said of devices and of the process's rank. Calls `fault` with what is not understood and its offset.
  void describe(chrome_tracks& tracks, kineto_devices& devices,
                const std::function<void(std::string_view, std::uint64_t)>& fault) const;
  /// Writes the texts and numbers of the trace, such as those of `add_metadata`: a mark with an attribute each.
  void write(trace::file_writer& out, trace::process_id process, trace::time_ns time) const;

 private:
  struct member {
    std::string name, value;
    std::uint64_t offset = 0;
    bool cut = false;
  };

  std::vector<member> all_;
  std::size_t held_ = 0;
  std::uint64_t left_out_ = 0;       ///< Members for which there was no room,
  std::uint64_t left_out_from_ = 0;  ///< and the offset of the first.
};

}  // namespace sluice::importing
