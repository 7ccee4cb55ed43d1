#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::importing::torch {

/// Writes plain data as a pickle of protocol 2, so that the pickle reader can read snapshots in other formats. Like
/// Python, it writes a short text once and then refers to it. Not thread-safe.
class pickle_emitter {
 public:
  static constexpr std::size_t max_texts = std::size_t{1} << 20;
  static constexpr std::size_t longest_kept_text = 512;

  pickle_emitter() { out_ = "\x80\x02"; }

  void none() { put('N'); }
  void boolean(bool value) { put(value ? '\x88' : '\x89'); }
  void integer(std::int64_t value);
  /// Writes an integer of at least 2^63.
  void natural(std::uint64_t value);
  void real(double value);
  void text(std::string_view value);

  void begin_list() { begin(']', 'e', 1); }
  void begin_dictionary() { begin('}', 'u', 2); }
  /// Ends the innermost list or dictionary.
  void end();
  /// Ends the pickle.
  void finish() { out_ += '.'; }

  /// Remembers the last value. Returns its number, for `recall`.
  [[nodiscard]] std::uint32_t remember();
  void recall(std::uint32_t number);
  /// Removes the last value from the output. `at` is what `size()` returned before the value was written.
  void take_back(std::size_t at);

  /// The output that the caller has not removed yet.
  [[nodiscard]] std::string& bytes() { return out_; }
  [[nodiscard]] std::size_t size() const { return out_.size(); }

 private:
  struct container {
    char closes = 'e';
    std::uint8_t parts = 1;  ///< The number of values per item: 2 for a dictionary.
    std::uint32_t values = 0;
  };
  void begin(char opens, char closes, std::uint8_t parts);
  void before_value();
  void put(char opcode) {
    before_value();
    out_ += opcode;
  }
  void put_number(std::uint64_t value, unsigned bytes);

  std::string out_;
  std::vector<container> open_;
  std::uint32_t remembered_ = 0;
  std::unordered_map<std::string, std::uint32_t> texts_;
};

}  // namespace sluice::importing::torch
