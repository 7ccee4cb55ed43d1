#pragma once

#include <span>
#include <string_view>

#include "core/import/import.hpp"
#include "core/import/job.hpp"

/// The importers. To add a format: a file with an `import_...` function, a value in `format`, a line in the table.
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

struct importer {
  format which = format::unknown;
  const char* name = "";  ///< For the user: "PyTorch memory snapshot".
  /// True if a file may be of this format: `head` is the begin of its (inflated) content, at most 4 KiB. Only those
  /// that begin like an SQLite file are opened by their `path`.
  bool (*recognises)(std::string_view head, const std::string& path) = nullptr;
  result<void> (*run)(job& work) = nullptr;
};

/// All importers, in the order in which they are tried.
[[nodiscard]] std::span<const importer> importers();

}  // namespace sluice::importing
