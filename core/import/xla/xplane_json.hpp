#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/import/job.hpp"
#include "core/import/proto/proto_stream.hpp"

namespace sluice::importing {

/// Converts an XSpace (the file xplane.pb of XLA's profiler), piece by piece, to the Chrome trace that XLA's tools
/// create from it. One importer can then read both formats. In an XSpace, names come after the events, so this class
/// reads the file twice. Not thread-safe.
class xplane_as_json {
 public:
  /// Unknown parts are counted in `work`, which must outlive this object.
  explicit xplane_as_json(job& work) : work_(work) {}

  /// Reads the names. Errors: those of reading; corrupt, with the offset; unavailable, if the names need too much
  /// memory.
  [[nodiscard]] result<void> begin();
  /// Reads the next bytes of the JSON text. Returns their number, or 0 at the end.
  [[nodiscard]] result<std::size_t> read(std::span<std::byte> into);
  /// The share of the file that has been read, 0..1.
  [[nodiscard]] double share_read() const { return source_ ? source_->share_read() : 0; }

 private:
  struct line {
    std::int64_t id = 0, timestamp = 0;
    std::string name;
  };
  struct plane {
    std::string name;
    std::vector<line> lines;
    std::unordered_map<std::int64_t, std::string> events, stats;  ///< The names of events and of values, keyed by id.
  };
  enum class level : std::uint8_t { file, plane, line, ended };

  [[nodiscard]] proto_stream get_stream(input& source);
  [[nodiscard]] tl::unexpected<error> located(error why, const input& source) const;
  [[nodiscard]] result<void> hold(std::size_t bytes);
  [[nodiscard]] result<void> read_names(proto_stream& stream);
  [[nodiscard]] result<void> read_plane(proto_stream& stream);
  [[nodiscard]] result<void> read_line(proto_stream& stream, plane& into);
  [[nodiscard]] result<void> read_name(proto_stream& stream, std::unordered_map<std::int64_t, std::string>& into);
  [[nodiscard]] result<void> read_text(proto_stream& stream, std::string& into);
  void write_names();
  [[nodiscard]] result<void> step();
  void write_event(std::string_view message);
  void add_argument(std::string& to, std::string_view message, const plane& in);
  static void write_text(std::string& to, std::string_view text);

  job& work_;
  std::optional<input> source_;
  std::optional<proto_stream> fields_;
  std::vector<plane> planes_;
  std::size_t held_ = 0;
  level level_ = level::file;
  std::size_t plane_ = 0, line_ = 0;  ///< The numbers of the current plane and line, counted from 1.
  std::uint64_t unused_values_ = 0;
  std::string out_;
  std::size_t taken_ = 0;
};

}  // namespace sluice::importing
