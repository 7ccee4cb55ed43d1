#include "app/cli/demos_of_program.hpp"

namespace sluice::cli {

std::vector<gui::demo_entry> demos_of_program() { return {}; }

}  // namespace sluice::cli
