#pragma once

#include <span>
#include <string_view>

#include "core/import/import.hpp"
#include "core/import/job.hpp"

/// The table of importers. To add a format, add a file with an `import_...` function, a value of `format`, and a line
/// in the table in importers.cpp.
namespace sluice::importing {

result<void> import_ascend_memory(job& work);
result<void> import_chrome_json(job& work);
result<void> import_nsys_sqlite(job& work);
result<void> import_pprof(job& work);
result<void> import_rocpd(job& work);
result<void> import_rocprofv3_json(job& work);
result<void> import_rpd(job& work);
result<void> import_rmm_csv(job& work);
result<void> import_torch_snapshot(job& work);
result<void> import_torch_snapshot_json(job& work);
result<void> import_torch_snapshot_sqlite(job& work);
result<void> import_torch_timeline(job& work);
result<void> import_xspace(job& work);

/// How to recognize and import one format.
struct importer {
  format which = format::unknown;
  const char* name = "";  ///< The name for users: "PyTorch memory snapshot".
  /// Returns true if a file may have this format. `head` is the start of the (inflated) content, at most 4 KiB. The
  /// file at `path` is opened only if `head` is that of an SQLite file.
  bool (*recognises)(std::string_view head, const std::string& path) = nullptr;
  result<void> (*run)(job& work) = nullptr;
};

/// Returns all importers, in the order in which they are tried.
[[nodiscard]] std::span<const importer> importers();

}  // namespace sluice::importing
