#include "app/cli/demo/demos_of_program.hpp"

#include "app/demos/demo.hpp"

namespace sluice::cli {

std::vector<gui::demo_entry> demos_of_program() {
  std::vector<gui::demo_entry> entries;
  for (const demos::demo& each : demos::all()) {
    entries.push_back({std::string(each.name), std::string(each.shows)});
  }
  return entries;
}

}  // namespace sluice::cli
