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

/// Recordings that other tools made, as traces. A foreign file is known by its content, never by its name; README.md says what is
/// read of each format.
namespace sluice::importing {

/// What a file holds. `sluice` is a trace of our own; `unknown` also stands for a file that cannot be read.
enum class format : std::uint8_t { unknown, sluice, torch_snapshot, chrome_json, nsys_sqlite, rmm_csv };

/// "PyTorch memory snapshot", "Nsight Systems export", ...; "unknown" for unknown.
[[nodiscard]] const char* name_of(format which);

/// Looks at the first bytes of the content of `path`, behind gzip if it is compressed. Reads a few KiB.
[[nodiscard]] format recognise(const std::string& path);

struct options {
  /// Called by the importing thread with the share that is done, 0..1, a hundred times at most. May be empty.
  std::function<void(double)> progress;
  /// Becomes true when the import shall end; looked at every few thousand rows. Null: never.
  const std::atomic<bool>* cancel = nullptr;
  /// Bytes that an importer may hold at a time, the content of a file that must be held as a whole included.
  std::size_t memory_bytes = std::size_t{4} << 30;
  /// A trace of so many events is summed up, so that it opens at once. That takes as long as reading the foreign file does; a shorter
  /// trace is read as a whole by who opens it, in seconds and some 80 bytes an event.
  std::uint64_t least_summed_up = 12'000'000;
};

/// How often something was met, by name.
struct count {
  std::string what;
  std::uint64_t number = 0;
  std::uint64_t offset = error::no_offset;  ///< Where it was met first, in the (inflated) content.
};

/// What became of a file.
struct report {
  format from = format::unknown;
  std::vector<count> read;  ///< Kinds of things that were read, in the order they were met.
  std::vector<count>
      not_understood;  ///< What is in the file and not in the trace, or not as it is. Also in the trace, as messages.
  std::vector<std::string> messages;  ///< What else the user should know. Also in the trace.
  std::uint64_t events = 0;           ///< Events of the trace.
};

/// Imports `path` into the trace `out`, which is replaced when all of it has been written, and not touched otherwise. Errors: what
/// reading and writing give; foreign: no importer knows the file; corrupt, with the offset in the (inflated) content; cancelled.
[[nodiscard]] result<report> import_file(const std::string& path, const std::string& out, const options& with = {});

/// Opens a trace, or imports a foreign file into a scratch file that is gone when the last user of it is. For whoever shows or
/// reports on "a recording", whatever made it. Errors: as `trace::file::open` and `import_file`.
[[nodiscard]] result<std::shared_ptr<trace::file>> open_any(const std::string& path, const options& with = {},
                                                            const trace::reader_options& reading = {});

}  // namespace sluice::importing
