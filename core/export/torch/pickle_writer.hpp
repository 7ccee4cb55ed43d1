#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/export/output.hpp"

namespace sluice::exports {

/// Writes plain data as a pickle of protocol 4, with the opcodes of Python's pickler. Repeated texts are references.
///
/// Lists and dictionaries are opened and closed. In between, write their values; for dictionaries, alternate keys and
/// values. Items are appended a thousand at a time, as Python does, because readers hold them on a stack.
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
  /// Makes the list or dictionary closed last reusable. Returns the number for `again`.
  std::uint32_t remember();
  /// Writes a remembered list or dictionary again, as a reference.
  void again(std::uint32_t remembered);

  /// Ends the pickle. Errors: those of the output so far.
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
