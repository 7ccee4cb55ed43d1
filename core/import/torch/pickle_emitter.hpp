#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::importing::torch {

/// Writes plain data as a pickle of protocol 2, so that snapshots in other forms are read as those in a pickle are.
/// Short texts are stored once and referred to, as Python does. Not thread-safe.
class pickle_emitter {
 public:
  static constexpr std::size_t most_texts = std::size_t{1} << 20;
  static constexpr std::size_t longest_kept_text = 512;

  pickle_emitter() { out_ = "\x80\x02"; }

  void none() { put('N'); }
  void boolean(bool value) { put(value ? '\x88' : '\x89'); }
  void integer(std::int64_t value);
  /// An integer from 2^63 on.
  void natural(std::uint64_t value);
  void real(double value);
  void text(std::string_view value);

  void begin_list() { begin(']', 'e', 1); }
  void begin_dictionary() { begin('}', 'u', 2); }
  /// Ends the innermost list or dictionary.
  void end();
  /// Ends the pickle.
  void finish() { out_ += '.'; }

  /// Remembers the value that was written last. Returns the number to recall it by.
  [[nodiscard]] std::uint32_t remember();
  void recall(std::uint32_t number);
  /// Takes back the value that was written last; `at`: `size()` before it.
  void take_back(std::size_t at);

  /// The bytes that were written and not yet taken.
  [[nodiscard]] std::string& bytes() { return out_; }
  [[nodiscard]] std::size_t size() const { return out_.size(); }

 private:
  struct container {
    char closes = 'e';
    std::uint8_t parts = 1;  ///< Values that make up an item.
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
