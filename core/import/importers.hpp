#pragma once

#include <span>
#include <string_view>

#include "core/import/import.hpp"
#include "core/import/job.hpp"

/// The importers. To add a format: a file with an `import_...` function, a value in `format`, a line in the table.
namespace sluice::importing {

result<void> import_chrome_json(job& work);
result<void> import_nsys_sqlite(job& work);
result<void> import_rmm_csv(job& work);
result<void> import_torch_snapshot(job& work);

struct importer {
  format which = format::unknown;
  const char* name = "";  ///< For the user: "PyTorch memory snapshot".
  /// True if a file whose (inflated) content begins with `head`, at most 4 KiB, may be of this format.
  bool (*recognises)(std::string_view head) = nullptr;
  result<void> (*run)(job& work) = nullptr;
};

/// All importers, in the order in which they are tried.
[[nodiscard]] std::span<const importer> importers();

}  // namespace sluice::importing
