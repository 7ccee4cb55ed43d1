#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/index/memory/memory_use.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::analysis {

class index;

/// Memory that a process has imported from another process, the owner, in one layer and kind. It counts for the owner.
struct imported_memory {
  trace::process_id process{};
  trace::process_id owner{};  ///< None if the recording does not name it.
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;  ///< Unknown sizes (of physical memory) are taken from the owner's record, else 0.
  bool inferred = false;    ///< The owner of some of the blocks is inferred.
};

/// For memory that another process exported: the allocation there, and whether that link was recorded or inferred.
struct import_owner {
  trace::event_id alloc{};
  trace::provenance source{};
};
using import_owners = std::unordered_map<std::uint64_t, import_owner>;  ///< By the event of the importing allocation.

/// Collects imported blocks that were born in a time range, section by section.
class imported_memory_builder {
 public:
  /// `links` must cover the whole recording.
  explicit imported_memory_builder(const import_owners& links);

  /// Adds the blocks in `from` that were born in `run`, and within `range`. O(blocks).
  void add(const memory_use& from, time_range run, time_range range);
  /// Returns the imported memory, most bytes first, by the same links.
  [[nodiscard]] std::vector<imported_memory> figures(const import_owners& links) const;
  /// True if these links name no other owners: then more may be added with them.
  [[nodiscard]] bool knows(const import_owners& links) const;

 private:
  std::unordered_map<std::uint64_t, std::optional<block_record>> owners_;  ///< By the event of the owner's allocation.
  std::vector<block_record> imports_;
};

}  // namespace sluice::analysis
