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

/// Imports recordings of other tools as traces. A file's format is detected from its content, never from its name.
/// README.md lists the supported parts of each format.
namespace sluice::importing {

/// The format of a file. `sluice` is the native format. Files that cannot be read are `unknown`.
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

/// Returns a name for users: "PyTorch memory snapshot", "Nsight Systems export", ...; "unknown" for `unknown`.
[[nodiscard]] const char* get_name(format which);

/// Detects the format from the first bytes of the content, which is inflated first if it is gzip. Reads a few KiB.
[[nodiscard]] format recognise(const std::string& path);

/// True if the file is a recording of Sluice or of another tool. The list of the recordings in a folder uses this
/// function, so it is stricter than `recognise`, which trusts the user and accepts any JSON, pickle or SQLite file.
/// JSON and pickle files must have keys of a recording in the first 4 KiB, and databases must have the tables of a
/// recording.
[[nodiscard]] bool holds_recording(const std::string& path);

/// Limits of an import, and how its caller follows or cancels it.
struct options {
  /// Called on the importing thread, at most a hundred times, with the share of the work done, 0..1. May be empty.
  std::function<void(double)> progress;
  /// Set to true to cancel. Checked every few thousand rows. May be null.
  const std::atomic<bool>* cancel = nullptr;
  /// The most memory in bytes that an importer may use, including that for file content which it must hold as a whole.
  std::size_t memory_bytes = std::size_t{4} << 30;
  /// Traces with at least this many events get a summary, so that they open quickly. Summarizing takes about as long as
  /// reading the foreign file, some 0.35 us per event. Without a summary, opening the trace takes 0.6 us and up to 240
  /// bytes per event each time. This many events fit into the usual memory limit of a reader, 400 MB.
  std::uint64_t min_summed_up = 1'500'000;
};

/// The number of occurrences of one kind of row or problem.
struct count {
  std::string label;
  std::uint64_t number = 0;
  std::uint64_t offset = error::no_offset;  ///< The offset of the first occurrence in the (inflated) content.
};

/// The result of an import.
struct report {
  format from = format::unknown;
  std::vector<count> read;  ///< The number of imported rows of each kind, in order of their first occurrence.
  std::vector<count>
      not_understood;  ///< The number of rows of each kind that the trace lacks or represents differently. The trace
                       ///< has messages about them, too.
  std::vector<std::string> messages;  ///< Other messages for the user, which are also in the trace.
  std::uint64_t events = 0;           ///< The number of events in the trace.
};

/// Imports the file `path` and writes the trace `out`. An existing `out` is replaced only after everything has been
/// written. Errors: those of reading and writing; foreign (unknown format); corrupt, with the offset in the (inflated)
/// content; cancelled.
[[nodiscard]] result<report> import_file(const std::string& path, const std::string& out, const options& with = {});

/// Opens a recording of any format. A trace is opened directly. A foreign file is imported into a scratch file, which
/// is deleted when it is no longer open. Errors: those of `trace::file::open` and `import_file`.
[[nodiscard]] result<std::shared_ptr<trace::file>> open_any(const std::string& path, const options& with = {},
                                                            const trace::reader_options& reading = {});

}  // namespace sluice::importing
