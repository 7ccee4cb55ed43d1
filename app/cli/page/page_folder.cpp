#include "app/cli/page/page_folder.hpp"

#include <algorithm>
#include <filesystem>

namespace sluice::cli::page {

namespace fs = std::filesystem;

result<std::string> folder() {
  std::error_code failed;
  const fs::path own = fs::read_symlink("/proc/self/exe", failed).parent_path();
  for (const char* place : {"../share/sluice/web", "../web/site"}) {
    const fs::path found = (own / place).lexically_normal();
    if (std::all_of(files.begin(), files.end(),
                    [&](const auto& each) { return fs::is_regular_file(found / each.on_disk(), failed); }))
      return found.string();
  }
  return fail(error_code::not_found, "page not found", (own / "../share/sluice/web").lexically_normal().string(),
              "build it with ./dev web");
}

}  // namespace sluice::cli::page
