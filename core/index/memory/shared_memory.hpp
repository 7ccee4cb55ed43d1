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

/// Memory of other processes that one has had, by whose it is. Its bytes count with its owner.
struct imported_memory {
  trace::process_id process{};
  trace::process_id owner{};  ///< None: the recording does not name it.
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;  ///< Of physical memory the owner's word for it; 0 where nobody told.
  bool inferred = false;    ///< Of some of them the owner is.
};

/// Allocations that are another process's memory, and those that they are there, as far as the recording knows.
struct import_owner {
  trace::event_id alloc{};
  trace::provenance source{};
};
using import_owners = std::unordered_map<std::uint64_t, import_owner>;  ///< By the event of their allocation.

/// Of blocks born in a range: gathered from indexes of parts of the recording.
class import_gatherer {
 public:
  /// `links` are of the whole recording, and outlive this.
  import_gatherer(const import_owners& links, time_range range);

  /// What `from` tells of the blocks born in `run`. O(blocks).
  void add(const memory_use& from, time_range run);
  /// Most bytes first.
  [[nodiscard]] std::vector<imported_memory> figures() const;

 private:
  const import_owners& links_;
  const time_range range_;
  std::unordered_map<std::uint64_t, std::optional<block_record>> owners_;  ///< By the event of their allocation.
  std::vector<block_record> imports_;
};

/// The same from an index of all. O(blocks).
[[nodiscard]] std::vector<imported_memory> find_imports(const index& from, time_range range);

}  // namespace sluice::analysis
