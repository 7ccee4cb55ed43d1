#include "core/base/error.hpp"

#include <system_error>

namespace sluice {

std::string error::to_string() const {
  std::string line;
  if (!file.empty()) {
    line += file;
    line += ": ";
  }
  if (offset != no_offset) {
    line += "at byte ";
    line += std::to_string(offset);
    line += ": ";
  }
  line += message;
  if (!hint.empty()) {
    line += "; ";
    line += hint;
  }
  return line;
}

std::string describe_errno(int number) { return std::generic_category().message(number); }

}  // namespace sluice
