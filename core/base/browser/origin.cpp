// In a browser, no recording counts as made by this user on this machine.
#include "core/base/files/origin.hpp"

namespace sluice::origin {

void mark(int /*descriptor*/, std::span<const std::byte> /*header*/, stage /*now*/) noexcept {}
void unmark(int /*descriptor*/) noexcept {}
bool is_marked(int /*descriptor*/, std::span<const std::byte> /*header*/) noexcept { return false; }

}  // namespace sluice::origin
