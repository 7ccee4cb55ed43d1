#pragma once

#include <cstddef>
#include <cstdint>

#include "instrumentation/capture/python_samples/memory_batch.hpp"
#include "instrumentation/capture/python_samples/sampled_stack.hpp"
#include "instrumentation/capture/stacks/python_keys.hpp"
#include "instrumentation/capture/stacks/python_stack.hpp"
#include "instrumentation/ring/producer.hpp"

/// Keys and details of the frames of another thread, whose code objects may be freed at any time.
namespace sluice::capture {

/// A stack as the writer gets it.
struct keyed_stack {
  std::uint64_t keys[ring::maximum_frames];
  std::uint64_t entries[ring::maximum_frames / 64];  ///< As in `python_frames`.
  std::uint32_t count;
};

/// Memory that all stacks use, one at a time. Not thread-safe.
class frame_keys {
 public:
  /// Returns false if this version's objects are longer than known.
  [[nodiscard]] bool prepare(const python_symbols& python) noexcept;

  /// Computes the keys of the frames, as `python_frames` gives them, and makes all frames `known`. Returns false if a
  /// frame's code object was no longer one, or if the frames are only a part of a stack. O(frames), one system call if
  /// some are not known, and three for Python up to 3.11.
  [[nodiscard]] bool compute(memory_batch& memory, sampled_stack& stack, keyed_stack& to) noexcept;

  /// Sends the details of the stack's frames that the writer does not have. `stack` has been given to `compute`. Returns
  /// false if a code object has changed since.
  [[nodiscard]] bool introduce(memory_batch& memory, const sampled_stack& stack) noexcept;

 private:
  static constexpr std::size_t max_code_bytes = 240, max_text_bytes = 2048, max_table_bytes = 1 << 18, head_bytes = 80;

  /// The code object of one frame.
  struct code_facts {
    std::uint64_t at;
    std::uint64_t identity;
    char bytes[max_code_bytes];  ///< Its start.
  };

  void add_code(memory_batch& memory, std::uint64_t at) noexcept;
  [[nodiscard]] bool read_codes(memory_batch& memory) noexcept;
  [[nodiscard]] bool is_code(const code_facts& code) const noexcept;
  [[nodiscard]] bool identify_codes(memory_batch& memory) noexcept;
  [[nodiscard]] bool learn(memory_batch& memory, sampled_stack& stack) noexcept;
  [[nodiscard]] bool is_loose(const sampled_frame& outermost, const code_facts& code) const noexcept;
  [[nodiscard]] bool has_begun(const sampled_frame& frame, const code_facts& code) const noexcept;
  [[nodiscard]] std::uint64_t get_frame_key(const sampled_frame& frame) const noexcept;
  [[nodiscard]] unsigned get_text_form() const noexcept;
  [[nodiscard]] std::uint64_t intern_text(memory_batch& memory, std::uint64_t text) noexcept;
  [[nodiscard]] std::uint32_t find_source_line(memory_batch& memory, const code_facts& code,
                                               std::uint64_t position) noexcept;
  [[nodiscard]] bool introduce(memory_batch& memory, const sampled_frame& unknown) noexcept;

  const python_symbols* python_;
  const python_layout* layout_;
  std::size_t code_bytes_;
  std::size_t count_;
  code_facts codes_[max_sampled_frames];
  code_content contents_[max_sampled_frames];
  char object_[max_table_bytes];
  char utf8_[max_text_bytes];
};

}  // namespace sluice::capture
