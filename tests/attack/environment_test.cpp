// User folders and files that are missing, locked, or of the wrong kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/app/cli/sluice_program.hpp"
#ifdef SLUICE_HAVE_GUI
#include "app/gui/shell/settings.hpp"
#endif

namespace sluice {
namespace {

using testing::HasSubstr;

class hostile_environment : public sluice_program {
 protected:
  /// Environments in which no user files can be read or written.
  std::vector<variables> environments() {
    write("file", "a file");
    std::filesystem::create_directories(file("locked"));
    std::filesystem::permissions(file("locked"), std::filesystem::perms::none);
    EXPECT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
    std::vector<variables> items;
    for (const std::string& place : {std::string(), file("nowhere"), file("file"), file("locked"), file("pipe"),
                                     std::string("relative"), std::string(5000, 'x')}) {
      items.push_back({{"HOME", place},
                       {"XDG_CONFIG_HOME", place},
                       {"XDG_STATE_HOME", place},
                       {"XDG_RUNTIME_DIR", place},
                       {"XDG_CACHE_HOME", place}});
    }
    return items;
  }
};

// Tried: HOME and the XDG folders: unset, missing, a file, a pipe, locked, relative, too long.
TEST_F(hostile_environment, every_verb_works_without_the_users_folders) {
  for (const variables& each : environments()) {
    EXPECT_EQ(run_sluice({"demo", "leak", "--device", "sim", "-o", "t.sluice"}, each).status, 0) << each[0].second;
    EXPECT_EQ(run_sluice({"report", "t.sluice"}, each).status, 0) << each[0].second;
    EXPECT_EQ(run_sluice({"query", "t.sluice", "SELECT 1"}, each).status, 0) << each[0].second;
    EXPECT_EQ(run_sluice({"record", "-o", "r.sluice", "--", guest}, each).err.find("terminate"), std::string::npos);
    std::filesystem::remove(file("t.sluice"));
  }
}

#ifdef SLUICE_HAVE_GUI
// Tried: a settings file that is a pipe, a device, a folder, or huge.
TEST_F(hostile_environment, settings_that_cannot_be_read_are_left_out) {
  std::filesystem::create_directories(file("sluice"));
  const std::string settings = file("sluice/settings");
  EXPECT_EQ(gui::settings(file("sluice")).trouble(), "") << "no error yet";
  ASSERT_EQ(::mkfifo(settings.c_str(), 0600), 0);
  EXPECT_THAT(gui::settings(file("sluice")).trouble(), HasSubstr("is not a regular file"));
  std::filesystem::remove(settings);
  std::filesystem::create_symlink("/dev/zero", settings);
  EXPECT_THAT(gui::settings(file("sluice")).trouble(), HasSubstr("is not a regular file"));
  std::filesystem::remove(settings);
  write("sluice/settings", std::string(2 << 20, 'x'));
  EXPECT_THAT(gui::settings(file("sluice")).trouble(), HasSubstr("is too large"));
  write("sluice/settings", "text 99999999999999999999\nwidth -1\nheight nan\n");
  const gui::settings nonsense(file("sluice"));
  EXPECT_EQ(nonsense.text_scale, 1);
  EXPECT_EQ(nonsense.width, 1440);
  EXPECT_EQ(nonsense.height, 900);
}
#endif

}  // namespace
}  // namespace sluice
