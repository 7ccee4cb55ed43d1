#include "app/gui/shell/programs/doctor_dialog.hpp"

#include <gtest/gtest.h>

namespace sluice::gui {
namespace {

TEST(parse_doctor, lists_what_is_missing_first_after_the_verdict) {
  const auto lines = parse_doctor(
      "ok       python       cpython 3.11\nmissing  driver       no CUDA driver: install it\n"
      "warning  disk         little space\nGPU programs cannot be recorded on this machine; missing: driver.\n");
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0].state, "");
  EXPECT_EQ(lines[0].text, "GPU programs cannot be recorded on this machine; missing: driver.");
  EXPECT_EQ(lines[1].state, "missing");
  EXPECT_EQ(lines[1].name, "driver");
  EXPECT_EQ(lines[1].text, "no CUDA driver: install it");
  EXPECT_EQ(lines[2].name, "disk");
  EXPECT_EQ(lines[3].name, "python");
}

TEST(parse_doctor, accepts_anything) {
  EXPECT_TRUE(parse_doctor("").empty());
  EXPECT_TRUE(parse_doctor("\n\nok\n").empty());
  EXPECT_EQ(parse_doctor("\x1b[31mred\n").size(), 1U);
  EXPECT_EQ(parse_doctor("\x1b[31mred\n")[0].text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace sluice::gui
