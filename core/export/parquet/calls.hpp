#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "core/index/chunk_index.hpp"
#include "core/trace/file/reader.hpp"

namespace sluice::exports {

/// Finds the API calls that asked for device work, for some rows at a time. Holds the calls of a few chunks.
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

  /// Both must outlive this object.
  calls(const trace::snapshot& from, const analysis::chunk_index& chunks) : from_(from), chunks_(chunks) {}

  /// Finds these calls. Reads the chunks that may have them: few, if the calls were entered within a short time.
  /// Errors: io, corrupt.
  [[nodiscard]] result<void> find(std::vector<wanted_call> wanted);
  /// A call among those found last; null if it was not recorded. O(log of their number).
  [[nodiscard]] const found_call* operator[](std::uint64_t id) const;

 private:
  struct chunk {
    std::size_t number = 0;
    std::vector<found_call> calls;  ///< Sorted by id.
  };
  [[nodiscard]] result<const chunk*> read(std::size_t number);

  const trace::snapshot& from_;
  const analysis::chunk_index& chunks_;
  std::list<chunk> read_;  ///< The last that were read or used, the last one first.
  std::vector<trace::api_call_event> rows_;
  std::vector<found_call> found_;  ///< Sorted by id.
};

}  // namespace sluice::exports
