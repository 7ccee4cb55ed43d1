#include "instrumentation/backend/device_result.hpp"

#include <fmt/format.h>

namespace sluice::backend {

const char* to_string(status code) noexcept {
  switch (code) {
    case status::out_of_memory:
      return "out of memory";
    case status::invalid_value:
      return "invalid value";
    case status::not_supported:
      return "not supported";
    case status::not_permitted:
      return "not permitted";
    case status::unavailable:
      return "unavailable";
    case status::failed:
      break;
  }
  return "failed";
}

std::string describe(const failure& subject) {
  std::string line = fmt::format("{}: {}", subject.call, to_string(subject.code));
  if (subject.native != 0) line += fmt::format(" ({})", subject.native);
  if (!subject.detail.empty()) line += fmt::format(": {}", subject.detail);
  return line;
}

}  // namespace sluice::backend
