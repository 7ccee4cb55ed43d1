#pragma once

#include <filesystem>
#include <string>

#include "tests/app/cli/sluice_program.hpp"

namespace sluice {

/// Fixture with an installed `sluice` in "bin" and a web page in "share/sluice/web". Each file of the page contains its
/// own name.
class installed_program : public sluice_program {
 protected:
  installed_program() {
    for (const char* folder : {"bin", "share/sluice/web"}) std::filesystem::create_directories(file(folder));
    const std::string built = program_;
    program_ = file("bin/sluice");
    std::error_code other_disk;
    std::filesystem::create_hard_link(built, program_, other_disk);
    if (other_disk) std::filesystem::copy_file(built, program_);
    for (const char* name : {"index.html", "page_start.js", "page.js.gz", "page.wasm.gz", "page.worker.js"})
      write_page(name, std::string("this is ") + name);
  }

  void write_page(const std::string& name, const std::string& text) { write("share/sluice/web/" + name, text); }
};

}  // namespace sluice
