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
    std::set<std::string> all;
    for (const auto& [name, value] : values_)
      if (value != 0) all.insert(name + ": " + std::to_string(value));
    return all;
  }

 private:
  std::map<std::string, std::int64_t> values_;
};

inline std::int64_t signed_of(std::uint64_t value) { return static_cast<std::int64_t>(value); }

inline std::set<std::string> lines_of(const std::string& text) {
  std::set<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.insert(line);
  return all;
}

inline std::vector<std::string> without(const std::set<std::string>& all, const std::set<std::string>& those) {
  std::vector<std::string> rest;
  std::set_difference(all.begin(), all.end(), those.begin(), those.end(), std::back_inserter(rest));
  return rest;
}

}  // namespace sluice::testing
