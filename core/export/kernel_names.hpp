#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/format.hpp"
#include "core/trace/file/reader.hpp"

/// Demangles kernel names, which recordings store mangled. Caches the results.
namespace sluice::exports {

class kernel_names {
 public:
  explicit kernel_names(const trace::tables& tables) : tables_(tables) {}

  std::string_view operator()(trace::string_id name) {
    const auto [known, fresh] = names_.try_emplace(name);
    if (fresh) known->second = readable_name(tables_.text(name));
    return known->second;
  }

 private:
  const trace::tables& tables_;
  std::unordered_map<trace::string_id, std::string> names_;
};

}  // namespace sluice::exports
