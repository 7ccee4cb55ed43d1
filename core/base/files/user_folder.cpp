#include "core/base/files/user_folder.hpp"

#include <cstdlib>

namespace sluice {

std::string user_folder(const char* variable, const char* otherwise) {
  if (const char* named = std::getenv(variable); named != nullptr && named[0] == '/')
    return std::string(named) + "/sluice";
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/')
    return std::string(home) + "/" + otherwise + "/sluice";
  return {};
}

}  // namespace sluice
