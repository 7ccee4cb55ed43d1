#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/trace/file/reader.hpp"

/// Imports recordings of other tools as traces. A foreign file is recognized by its content, never by its name.
/// README.md lists what is read of each format.
namespace sluice::importing {

/// The format of a file. `sluice` is our own; `unknown` includes files that cannot be read.
enum class format : std::uint8_t {
  unknown,
  sluice,
  torch_snapshot,
  chrome_json,
  nsys_sqlite,
  rmm_csv,
  torch_snapshot_json,
  torch_snapshot_sqlite,
  torch_timeline,
  pprof,
  xspace,
  rocpd,
  rpd,
  rocprofv3_json,
  ascend_memory
};

/// "PyTorch memory snapshot", "Nsight Systems export", ...; "unknown" for unknown.
[[nodiscard]] const char* name_of(format which);

/// Detects the format from the first bytes of the content, after gunzipping if needed. Reads a few KiB.
[[nodiscard]] format recognise(const std::string& path);

/// True if the file is a recording, of Sluice or of another tool. Stricter than `recognise`, which takes any JSON, pickle
/// or SQLite file for what a user says that it is: here its first 4 KiB must have keys of such a recording, and a database
/// tables of one. For those who show the files of a whole folder.
[[nodiscard]] bool holds_recording(const std::string& path);

struct options {
  /// Called by the importing thread with the share done, 0..1, at most a hundred times. May be empty.
  std::function<void(double)> progress;
  /// Set to true to cancel. Checked every few thousand rows. May be null.
  const std::atomic<bool>* cancel = nullptr;
  /// The most memory in bytes that an importer may use, including file content that it must hold as a whole.
  std::size_t memory_bytes = std::size_t{4} << 30;
  /// Traces with this many events get a summary, so that they open at once. That takes about as long as reading the
  /// foreign file, some 0.35 us an event, and less than reading the trace as a whole does: 0.6 us and up to 240 bytes an
  /// event, each time it is opened. This many fit into the usual memory limit of a reader, 400 MB.
  std::uint64_t least_summed_up = 1'500'000;
};

/// The number of occurrences of something, by name.
struct count {
  std::string what;
  std::uint64_t number = 0;
  std::uint64_t offset = error::no_offset;  ///< First occurrence in the (inflated) content.
};

/// The result of an import.
struct report {
  format from = format::unknown;
  std::vector<count> read;  ///< What was read, by kind, in order of first occurrence.
  std::vector<count>
      not_understood;  ///< What the trace lacks or has differently than the file. Also in the trace, as messages.
  std::vector<std::string> messages;  ///< What else the user should know. Also in the trace.
  std::uint64_t events = 0;           ///< Number of events in the trace.
};

/// Imports `path` as the trace `out`. An existing `out` is replaced only after all is written. Errors: those of reading
/// and writing; foreign (unknown format); corrupt, with the offset in the (inflated) content; cancelled.
[[nodiscard]] result<report> import_file(const std::string& path, const std::string& out, const options& with = {});

/// Opens a trace, or imports a foreign file into a scratch file that is deleted after its last use. For callers that
/// accept recordings of any format. Errors: those of `trace::file::open` and `import_file`.
[[nodiscard]] result<std::shared_ptr<trace::file>> open_any(const std::string& path, const options& with = {},
                                                            const trace::reader_options& reading = {});

}  // namespace sluice::importing
