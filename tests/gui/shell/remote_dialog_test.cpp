#include "app/gui/shell/programs/remote_dialog.hpp"

#include <gtest/gtest.h>

#include "core/remote/ssh_address.hpp"

namespace sluice::gui {
namespace {

TEST(plan_remote, gives_the_command_for_a_terminal_and_the_address_to_open) {
  const remote_recording plan = plan_remote("me@gpu1", "python 'my train.py'", "run.sluice");
  EXPECT_EQ(plan.problem, "");
  EXPECT_EQ(plan.record, R"(ssh -t me@gpu1 'sluice record -o run.sluice -- python '\''my train.py'\''')");
  EXPECT_EQ(plan.address, "ssh://me@gpu1/~/run.sluice");
  EXPECT_EQ(plan_remote("gpu1", "", "/data/50%.sluice").address, "ssh://gpu1/data/50%25.sluice");
  EXPECT_EQ(remote::parse_ssh_address("ssh://gpu1/data/50%25.sluice")->path, "/data/50%.sluice");
}

TEST(plan_remote, says_what_is_wrong) {
  EXPECT_NE(plan_remote("", "python a.py", "run.sluice").problem, "");
  EXPECT_NE(plan_remote("gpu1", "python a.py", "").problem, "");
  EXPECT_NE(plan_remote("gpu1", "python 'a.py", "run.sluice").problem, "");
  EXPECT_NE(plan_remote("-oProxyCommand=evil", "python a.py", "run.sluice").problem, "")
      << "a name that ssh would take for an option";
  EXPECT_EQ(plan_remote("-oProxyCommand=evil", "python a.py", "run.sluice").record, "");
}

}  // namespace
}  // namespace sluice::gui
