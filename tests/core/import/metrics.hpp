#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

/// Computes metrics of a trace, to compare with those that a script computes from the imported file.
namespace sluice::testing {

/// Metrics by name, formatted as the script prints them.
class metrics {
 public:
  std::int64_t& operator[](const std::string& name) { return values_[name]; }
  [[nodiscard]] std::set<std::string> lines() const {
    std::set<std::string> strings;
    for (const auto& [name, value] : values_)
      if (value != 0) strings.insert(name + ": " + std::to_string(value));
    return strings;
  }

 private:
  std::map<std::string, std::int64_t> values_;
};

inline std::int64_t to_signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

inline std::set<std::string> get_lines(const std::string& text) {
  std::set<std::string> strings;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) strings.insert(line);
  return strings;
}

inline std::vector<std::string> without(const std::set<std::string>& strings, const std::set<std::string>& those) {
  std::vector<std::string> rest;
  std::set_difference(strings.begin(), strings.end(), those.begin(), those.end(), std::back_inserter(rest));
  return rest;
}

}  // namespace sluice::testing
