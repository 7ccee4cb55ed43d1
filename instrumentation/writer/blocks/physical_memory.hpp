#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "core/trace/model/model.hpp"

namespace sluice::writer {

/// The uses of the physical memory of one process (CUDA's virtual memory management). Such memory stays allocated until
/// its handle is released and all of its mappings are removed. Not thread-safe. All operations are O(1).
class physical_memory {
 public:
  /// Adds a mapping of the memory with this handle; 0: the handle is unknown, and the mapping is ignored.
  void add_mapping(trace::block_id mapping, std::uint64_t handle) {
    if (handle == 0) return;
    ++uses_[handle].mappings;
    handles_[mapping] = handle;
  }
  /// Removes a mapping. Returns the handle of its memory if that memory is no longer in use.
  std::optional<std::uint64_t> remove_mapping(trace::block_id mapping) {
    const auto handle = handles_.find(mapping);
    if (handle == handles_.end()) return std::nullopt;
    const std::uint64_t number = handle->second;
    const auto memory = uses_.find(number);
    handles_.erase(handle);
    if (memory == uses_.end() || --memory->second.mappings != 0) return std::nullopt;
    const bool released = memory->second.released;
    uses_.erase(memory);
    return released ? std::optional(number) : std::nullopt;
  }

  /// Call when the handle was released. Returns true if the memory stays in use because it is mapped.
  bool release(std::uint64_t handle) {
    const auto memory = uses_.find(handle);
    if (memory == uses_.end() || memory->second.mappings == 0) return false;
    memory->second.released = true;
    return true;
  }
  [[nodiscard]] bool is_mapped(std::uint64_t handle) const {
    const auto memory = uses_.find(handle);
    return memory != uses_.end() && memory->second.mappings != 0;
  }

 private:
  struct use {
    std::uint64_t mappings = 0;
    bool released = false;
  };
  std::unordered_map<std::uint64_t, use> uses_;                 ///< Keyed by handle.
  std::unordered_map<trace::block_id, std::uint64_t> handles_;  ///< The handle of each mapping.
};

}  // namespace sluice::writer
