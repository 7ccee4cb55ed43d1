// The demangler of the C++ library, which a page has anyway: it counts what it nests, and never prints endlessly.
#include "core/base/demangle.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace sluice {

std::string demangled(const std::string& symbol) {
  constexpr std::size_t most_of_symbol = 4096, most_of_name = std::size_t{64} << 10;
  if (!symbol.starts_with("_Z") || symbol.size() > most_of_symbol) return {};
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  if (status != 0 || name == nullptr) return {};
  std::string made(name.get());
  return made.size() > most_of_name ? std::string() : made;
}

}  // namespace sluice
