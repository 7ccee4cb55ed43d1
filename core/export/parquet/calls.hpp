#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "core/index/chunk_index.hpp"
#include "core/trace/file/reader.hpp"

namespace sluice::exports {

/// Finds the API calls that requested device work (kernels, copies), for one batch of rows at a time. Caches the calls
/// of a few chunks.
class calls {
 public:
  struct wanted_call {
    std::uint64_t id = 0;
    trace::time_ns entered = trace::unknown_time;
  };
  struct found_call {
    std::uint64_t id = 0;
    trace::string_id name{};
    trace::stack_id stack{};
  };

  /// `recording` and `chunks` must outlive this object.
  calls(const trace::snapshot& recording, const index::chunk_index& chunks) : from_(recording), chunks_(chunks) {}

  /// Finds the calls in `wanted`. Reads the chunks that may contain them, which are few if the calls were entered
  /// within a short time. Errors: io, corrupt.
  [[nodiscard]] result<void> find(std::vector<wanted_call> wanted);
  /// Returns the call with that id, which must have been in `wanted` of the last `find`, or null if it was not
  /// recorded. O(log calls found).
  [[nodiscard]] const found_call* operator[](std::uint64_t id) const;

 private:
  struct chunk {
    std::size_t number = 0;
    std::vector<found_call> calls;  ///< Sorted by id.
  };
  [[nodiscard]] result<const chunk*> read(std::size_t number);

  const trace::snapshot& from_;
  const index::chunk_index& chunks_;
  std::list<chunk> read_;  ///< The recently used chunks, the most recently used first.
  std::vector<trace::api_call_event> rows_;
  std::vector<found_call> found_;  ///< Sorted by id.
};

}  // namespace sluice::exports
