// Addresses of recordings on other machines, and the arguments that ssh is started with.
#include "core/remote/ssh_address.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::remote {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> words_for(const char* text) { return ssh_words(parse_ssh_address(text).value(), "sluice"); }

TEST(ssh_address, names_user_host_port_and_path) {
  const auto full = parse_ssh_address("ssh://ada@gpu-7.example.org:2222/data/run%201.sluice").value();
  EXPECT_EQ(full.user, "ada");
  EXPECT_EQ(full.host, "gpu-7.example.org");
  EXPECT_EQ(full.port, "2222");
  EXPECT_EQ(full.path, "/data/run 1.sluice");
  const auto short_one = parse_ssh_address("ssh://gpu/a.sluice").value();
  EXPECT_EQ(short_one.user, "");
  EXPECT_EQ(short_one.port, "");
  EXPECT_EQ(parse_ssh_address("ssh://[fe80::1]:22/a").value().host, "fe80::1");
  EXPECT_EQ(parse_ssh_address("ssh://gpu/~/runs/a.sluice").value().path, "./runs/a.sluice");
}

TEST(ssh_address, becomes_words_without_a_shell_on_this_side) {
  EXPECT_THAT(words_for("ssh://ada@gpu:2222/a.sluice"),
              ElementsAre("ssh", "-T", "-e", "none", "-p", "2222", "-l", "ada", "--", "gpu",
                          "'sluice' serve --stdio '/a.sluice'"));
}

TEST(ssh_address, quotes_the_path_for_the_shell_over_there) {
  EXPECT_EQ(words_for("ssh://gpu/a'$(reboot)'.sluice").back(), "'sluice' serve --stdio '/a'\\''$(reboot)'\\''.sluice'");
}

TEST(ssh_address, refuses_what_ssh_would_take_for_an_option) {
  for (const char* text : {"ssh://-oProxyCommand=reboot/a", "ssh://-l@gpu/a", "ssh://gpu:-1/a", "ssh://[-x]/a"})
    EXPECT_EQ(parse_ssh_address(text).error().code, error_code::invalid_argument) << text;
}

TEST(ssh_address, refuses_what_is_not_one) {
  for (const char* text :
       {"", "ssh://", "ssh:///a", "ssh://gpu", "ssh://gpu/", "ssh://gpu/~/", "ssh://a b/c", "ssh://gpu:0/a",
        "ssh://gpu:/a", "ssh://gpu:70000/a", "ssh://@gpu/a", "ssh://gpu/a%0", "ssh://gpu/a%zz", "ssh://gpu/a%00b",
        "ssh://gpu/a%0Ab", "ssh://[::1/a", "ssh://[::1]x/a", "ssh://g;reboot/a", "http://gpu/a"})
    EXPECT_EQ(parse_ssh_address(text).error().code, error_code::invalid_argument) << text;
}

}  // namespace
}  // namespace sluice::remote
