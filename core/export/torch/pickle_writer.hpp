#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/export/output.hpp"

namespace sluice::exports {

/// Writes plain data as a pickle of protocol 4, with the opcodes that Python's pickler uses. Writes a repeated text as
/// a reference to its first occurrence.
///
/// To write a list or dictionary, open it, write its values (for a dictionary, keys and values alternately), then close
/// it. Like Python's, the opcodes append a thousand items at a time, because readers hold these items on a stack.
class pickle_writer {
 public:
  explicit pickle_writer(output& to);

  void none();
  void boolean(bool value);
  void integer(std::int64_t value);
  void unsigned_integer(std::uint64_t value);
  void real(double value);
  void text(std::string_view value);
  void pair(std::int64_t first, std::int64_t second);

  void open_list() { open(']'); }
  void open_dictionary() { open('}'); }
  /// Ends the innermost list or dictionary.
  void close();
  /// Remembers the list or dictionary that was closed last. Returns its number, for `again`.
  std::uint32_t remember();
  /// Writes a reference to a remembered list or dictionary.
  void again(std::uint32_t remembered);

  /// Ends the pickle. Returns the first error of the output, if any.
  result<void> end();

 private:
  void open(char opcode);
  void before_value();
  void code(char opcode) { bytes_ += opcode; }
  void little(std::uint64_t value, int bytes);
  void flush();

  struct level {
    char opcode = 0;
    std::uint32_t items = 0;  ///< Items written since the last MARK opcode.
  };

  output& to_;
  result<void> outcome_;
  std::string bytes_;
  std::uint32_t remembered_ = 0;
  std::vector<level> levels_;
  std::unordered_map<std::string, std::uint32_t> texts_;
};

}  // namespace sluice::exports
