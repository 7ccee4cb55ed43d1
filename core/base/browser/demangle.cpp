// Uses the demangler of the C++ library, which the page contains anyway. That demangler limits nesting and always
// terminates.
#include "core/base/demangle.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace sluice {

std::string demangled(const std::string& symbol) {
  constexpr std::size_t max_of_symbol = 4096, max_of_name = std::size_t{64} << 10;
  if (!symbol.starts_with("_Z") || symbol.size() > max_of_symbol) return {};
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  if (status != 0 || name == nullptr) return {};
  std::string text(name.get());
  return text.size() > max_of_name ? std::string() : text;
}

}  // namespace sluice
