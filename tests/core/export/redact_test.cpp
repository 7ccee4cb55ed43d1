// Tests what a redacted file still contains.
#include "core/export/recording/redact.hpp"

#include <gtest/gtest.h>

namespace sluice::exports {
namespace {

TEST(redact, leaves_everything_unless_asked) {
  redactor none;
  EXPECT_FALSE(none.active());
  EXPECT_EQ(none.text("/home/ada/train.py", text_role::path), "/home/ada/train.py");
  EXPECT_EQ(none.text("python --key=secret", text_role::arguments), "python --key=secret");
}

TEST(redact, keeps_files_apart_without_their_directories) {
  redactor some{redaction::all()};
  const std::string first(some.text("/home/ada/model/__init__.py", text_role::path));
  const std::string second(some.text("/home/ada/data/__init__.py", text_role::path));
  EXPECT_NE(first, second);
  EXPECT_TRUE(first.ends_with("/__init__.py"));
  EXPECT_EQ(first.find("ada"), std::string::npos);
  EXPECT_EQ(some.text("/home/ada/model/__init__.py", text_role::path), first);
  EXPECT_EQ(some.text("train.py", text_role::path), "train.py");
}

TEST(redact, keeps_paths_inside_public_packages_which_tell_what_memory_is_for) {
  redactor some{redaction::all()};
  EXPECT_EQ(some.text("/home/ada/venv/lib/python3.12/site-packages/torch/optim/adam.py", text_role::path),
            "dir1/site-packages/torch/optim/adam.py");
  EXPECT_EQ(some.text("/home/ada/venv/lib/python3.12/site-packages/transformers/trainer.py", text_role::path),
            "dir1/site-packages/transformers/trainer.py");
  EXPECT_EQ(some.text("/home/ada/venv/lib/python3.12/site-packages/secret/plan.py", text_role::path), "dir2/plan.py");
  EXPECT_EQ(some.text("/home/ada/torch/optim/adam.py", text_role::path), "dir3/adam.py");
  EXPECT_EQ(some.text("/site-packages/torch", text_role::path), "dir4/torch");
}

TEST(redact, keeps_the_program_and_not_its_arguments) {
  redactor some{redaction::all()};
  EXPECT_EQ(some.text("python3 train.py --token abc", text_role::arguments), "python3 [redacted]");
  EXPECT_EQ(some.text("/opt/ada/run", text_role::arguments), "dir1/run");
}

TEST(redact, finds_paths_variables_and_hosts_in_messages) {
  redactor some{redaction::all()};
  some.learn_host("node17.cluster");
  const std::string said(
      some.text("node17.cluster: cannot read '/home/ada/x.bin' with TOKEN=abc, 3 of 4", text_role::message));
  EXPECT_EQ(said, "host1: cannot read 'dir1/x.bin' with TOKEN=[redacted], 3 of 4");
  EXPECT_EQ(some.text("node17.cluster", text_role::host), "host1");
  EXPECT_EQ(some.text("batch=4 took 3 ms", text_role::message), "batch=4 took 3 ms");
}

TEST(redact, takes_a_text_of_no_role_for_a_message) {
  redactor some{redaction::all()};
  some.learn_users("/home/ada/late.py");
  EXPECT_EQ(some.text("step of ada in /srv/secret/x.bin", text_role::plain), "step of user1 in dir1/x.bin");
  EXPECT_EQ(some.text("train_ada.py, adapter", text_role::plain), "train_user1.py, adapter");
  EXPECT_EQ(some.text("token=abc,def --password hunter2 end", text_role::plain),
            "token=[redacted] --password [redacted] end");
  EXPECT_EQ(some.text("KEY=\"a b\" end", text_role::plain), "KEY=[redacted] end");
  EXPECT_EQ(some.text("https://u:pw@site/x?key=1 and me@site and 10.0.0.7", text_role::plain),
            "address1 and address2 and host1");
  EXPECT_EQ(some.text("open 'C:\\Users\\my name\\a.txt'", text_role::plain).find("my name"), std::string::npos);
}

TEST(redact, keeps_words_that_only_look_like_paths_and_addresses) {
  redactor some{redaction::all()};
  EXPECT_EQ(some.text("at 12:30:45 version 1.2.3 of std::sort, 3.5 ms", text_role::message),
            "at 12:30:45 version 1.2.3 of std::sort, 3.5 ms");
  EXPECT_EQ(some.text("read /tmp/a.bin: 3 of 4 files in ./b.bin", text_role::message),
            "read dir1/a.bin: 3 of 4 files in dir2/b.bin");
  EXPECT_EQ(some.text("/usr/lib/python3", text_role::path), "dir3/python3") << "a frame's file is one by its role";
}

TEST(redact, follows_a_path_over_its_spaces) {
  redactor some{redaction::all()};
  EXPECT_EQ(some.text("open /srv/my own files/x.py now", text_role::message), "open dir1/x.py now");
  EXPECT_EQ(some.text("copy /a/b.txt /c/d.txt", text_role::message), "copy dir2/b.txt dir3/d.txt");
}

TEST(redact, knows_users_by_their_environment) {
  redactor some{redaction::all()};
  some.learn_users("USER=ada LOGNAME=\"bob\" HOME=/srv/people/eve/ SUPERUSER=kim");
  EXPECT_EQ(some.text("ada, bob, eve, kim", text_role::plain), "user1, user2, user3, kim");
}

TEST(redact, knows_users_in_any_case_of_letters) {
  redactor some{redaction::all()};
  some.learn_users("/home/Ann/train.py");
  some.learn_host("Node17");
  EXPECT_EQ(some.text("ann, ANN, Annabel on NODE17", text_role::plain), "user1, user1, Annabel on host1");
}

TEST(redact, keeps_names_of_code_but_not_paths_in_them) {
  redactor some{redaction::all()};
  EXPECT_EQ(some.text("void f<float, 4>(a/b)", text_role::code), "void f<float, 4>(a/b)");
  EXPECT_EQ(some.text("triton_/tmp/secret/k.py", text_role::code), "dir1/k.py");
}

TEST(redact, knows_a_machine_without_its_domain) {
  redactor some{redaction::all()};
  some.learn_host("node17.cluster");
  EXPECT_EQ(some.text("on node17, not node170", text_role::plain), "on host1, not node170");
}

TEST(redact, leaves_out_only_what_was_named) {
  redaction hosts;
  hosts.hosts = true;
  redactor some{hosts};
  EXPECT_EQ(some.text("/home/ada/train.py", text_role::path), "/home/ada/train.py");
  EXPECT_EQ(some.text("node17", text_role::host), "host1");
  EXPECT_EQ(some.text("a line", text_role::source), "a line");
}

}  // namespace
}  // namespace sluice::exports
