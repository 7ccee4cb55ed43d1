// The content that remains in a redacted file.
#include "core/export/recording/redact.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "core/export/recording/plain_form.hpp"
#include "core/export/recording/private_names.hpp"
#include "core/export/recording/secret_rules.hpp"

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

TEST(redact, keeps_paths_inside_public_packages_of_windows) {
  redactor some{redaction::all()};
  EXPECT_EQ(some.text("C:\\Users\\ada\\Lib\\site-packages\\torch\\optim\\adam.py", text_role::path),
            "dir1/site-packages\\torch\\optim\\adam.py");
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
  some.learn("/home/ada/late.py");
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
  EXPECT_EQ(some.text("/usr/lib/python3", text_role::path), "dir3/python3")
      << "a frame's file is a path because of its role";
}

TEST(redact, follows_a_path_over_its_spaces) {
  redactor some{redaction::all()};
  EXPECT_EQ(some.text("open /srv/my own files/x.py now", text_role::message), "open dir1/x.py now");
  EXPECT_EQ(some.text("copy /a/b.txt /c/d.txt", text_role::message), "copy dir2/b.txt dir3/d.txt");
}

TEST(redact, knows_users_by_their_environment) {
  redactor some{redaction::all()};
  some.learn("USER=ada LOGNAME=\"bob\" HOME=/srv/people/eve/ SUPERUSER=kim");
  EXPECT_EQ(some.text("ada, bob, eve, kim", text_role::plain), "user1, user2, user3, kim");
}

TEST(redact, knows_users_in_any_case_of_letters) {
  redactor some{redaction::all()};
  some.learn("/home/Ann/train.py");
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

TEST(redact, takes_credentials_from_names_of_code_too) {
  redactor some{redaction::all()};
  EXPECT_EQ(some.text("load password: hunter2 now", text_role::code), "load password: [redacted] now");
  EXPECT_EQ(some.text("Authorization: Basic YTpi", text_role::code), "Authorization: [redacted]");
  EXPECT_EQ(some.text("get ann:pw@gpu-box", text_role::code), "get address1");
  EXPECT_EQ(some.text("api::token=7u", text_role::code), "api::token=7u") << "an argument of a template";
}

TEST(redact, tells_a_count_of_tokens_from_a_token) {
  redactor some{redaction::all()};
  for (const char* kept :
       {"token=128", "tokens=131072", "tokens: 128k", "key: 0.5", "token: Optional[str]", "key=None"})
    EXPECT_EQ(some.text(kept, text_role::code), kept);
  EXPECT_EQ(some.text("token=123456", text_role::code), "token=[redacted]")
      << "as a device shows it that confirms a login";
  EXPECT_EQ(some.text("password=12", text_role::plain), "password=[redacted]");
}

TEST(redact, takes_the_first_word_of_a_command_line_for_more_than_a_path) {
  redactor some{redaction::all()};
  EXPECT_EQ(some.text("PGPASSWORD=hunter2 psql -h db", text_role::arguments), "PGPASSWORD=[redacted] [redacted]");
}

TEST(redact, keeps_the_way_in_which_a_text_is_written_if_nothing_is_found) {
  redactor some{redaction::all()};
  EXPECT_EQ(some.text("100%25 of \uff54oken", text_role::plain), "100%25 of \uff54oken");
}

TEST(redact, takes_long_texts_in_proportion_to_their_length) {
  // Each piece repeats a prefix at which a rule looks ahead. A rule that scans the rest of the text each time would
  // take minutes.
  const std::array pieces = {
      "a:",     "a:b@plt ",     "USER=",  "/home/", "~",           "\"'",      "eyJ_",     "a/",
      "::",     "<key>",        "-p ",    "1.2.3.", "%25",         "Bearer ",  "x@",       "&#",
      "key=1 ", "fe80::",       "a.b-c_", "C:\\x ", "://",         "A1",       "\uff0f",   "token: ",
      "=",      "password is ", "ab:cd:", "com.",   "-----BEGIN ", "cookie\n", "login a ", "A b "};
  for (const std::string_view piece : pieces) {
    SCOPED_TRACE(piece);
    std::string text;
    while (text.size() < 400'000) text += piece;
    redactor some{redaction::all()};
    some.learn_host("node17.cluster");
    some.learn(text);
    EXPECT_FALSE(some.text(text, text_role::plain).empty());
  }
}

TEST(secret_rules, each_finds_its_example_and_is_needed_for_it) {
  for (const secret_rule& each : secret_rules()) {
    SCOPED_TRACE(each.about);
    std::vector<std::string> found;
    const std::string left = without_secrets(each.example, false, [&](verdict::kind, std::string_view text) {
      found.emplace_back(text);
      return std::string("-");
    });
    EXPECT_EQ(found.size(), 1U);
    EXPECT_EQ(left.find("SECRET"), std::string::npos) << left;
    const bool in_base64 = each.example.find("SECRET") == std::string_view::npos;
    EXPECT_TRUE(in_base64 || found.at(0).find("SECRET") != std::string::npos);
  }
}

TEST(plain_form, undoes_what_was_done_many_times) {
  std::string text = "/";
  for (int i = 0; i < 1000; ++i) text = i == 0 ? "%2F" : "%25" + text.substr(1);
  EXPECT_EQ(plain_form(text), "/");
  EXPECT_EQ(plain_form("\\u002Fa&#x2F;b&#47;c\\x2fd"), "/a/b/c/d");
  EXPECT_EQ(plain_form("%EF%BC%8Fa\u2215b"), "/a/b");
  EXPECT_EQ(plain_form("pass\u200bword"), "password");
  EXPECT_EQ(plain_form("\U0001d429ass"), "pass");
}

TEST(plain_form, leaves_what_ends_words_and_what_is_broken) {
  for (const char* text :
       {"a%20b", "a%22b", "%", "%2", "%zz", "&#;", "&#x;", "\\x4", "\xef\xbc", "\xff\xff", "", "\xc2"})
    EXPECT_EQ(plain_form(text), text);
}

TEST(private_names, are_whole_words_in_any_case_and_spelling) {
  private_names names;
  names.add("ann.lee", "user1");
  names.add("ada", "user2");
  names.add("root", "user3");
  EXPECT_EQ(names.replaced_in("Ann Lee, ANN_LEE, annLee; ann.lees-laptop"), "user1, user1, user1; user1-laptop");
  EXPECT_EQ(names.replaced_in("adapter, Adam, a da, root"), "adapter, Adam, a da, root");
  EXPECT_EQ(names.replaced_in("ada's, AdaModel, train_ada.py, ada2"), "user2's, user2Model, train_user2.py, user22");
}

}  // namespace
}  // namespace sluice::exports
