#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::index {

class event_store;

/// Memory of one layer and kind that a process has imported from another process, the owner. The memory counts for the
/// owner.
struct imported_memory {
  trace::process_id process{};
  trace::process_id owner{};  ///< None if the owner was not recorded.
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;  ///< If the size of an import is unknown (physical memory), the size in the owner's record
                            ///< counts, or 0.
  bool inferred = false;    ///< True if the owner of some of the blocks is inferred.
};

/// The allocation in the exporting process, and whether the link to it was recorded or inferred.
struct import_owner {
  trace::event_id alloc{};
  trace::provenance source{};
};
using import_owners = std::unordered_map<std::uint64_t, import_owner>;  ///< Keyed by the event of the importing
                                                                        ///< allocation.

/// Collects the imported blocks that were allocated in a time range, section by section.
class imported_memory_builder {
 public:
  /// `links` must cover the whole recording.
  explicit imported_memory_builder(const import_owners& links);

  /// Adds the blocks in `use` that were allocated both in `run` and in `range`. O(blocks).
  void add(const memory_use& use, time_range run, time_range range);
  /// Returns the imported memory, largest first. `links` must be the links passed to the constructor.
  [[nodiscard]] std::vector<imported_memory> metrics(const import_owners& links) const;
  /// True if all owners in `links` are known here, so that more blocks may be added with these links.
  [[nodiscard]] bool knows(const import_owners& links) const;

 private:
  std::unordered_map<std::uint64_t, std::optional<block_record>> owners_;  ///< Keyed by the event of the owner's
                                                                           ///< allocation.
  std::vector<block_record> imports_;
};

}  // namespace sluice::index
