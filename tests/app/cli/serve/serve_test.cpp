// sluice serve: which files clients can get, and which they cannot.
#include "tests/app/cli/serve/http_client.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "core/remote/live_server.hpp"
#include "tests/app/cli/installed_program.hpp"
#include "tests/core/remote/false_server.hpp"

namespace sluice {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
namespace fs = std::filesystem;

/// The content of a file whose first bytes identify it as a recording.
std::string as_recording(const std::string& text) { return "\x89SLUICE\n" + text; }

class serve_verb : public installed_program {
 protected:
  serve_verb() {
    fs::create_directories(file("runs"));
    digits_ = as_recording("");
    for (int i = 8; i < 1000; ++i) digits_ += static_cast<char>('0' + i % 10);
    write("runs/digits.sluice", digits_);
  }
  ~serve_verb() override { stop(); }

  /// Starts the server and reads its address.
  void serve(std::vector<std::string> arguments, const variables& environment = {}) {
    fs::remove(file("out"));  // Otherwise the output of an earlier server would be read first.
    arguments.insert(arguments.begin(), "serve");
    child_ = begin_sluice(arguments, environment);
    std::string said;
    for (int i = 0; i < 1000 && said.find('\n') == std::string::npos; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      said = make_content(file("out"));
    }
    const std::string before = "Sluice is at http://127.0.0.1:";
    ASSERT_THAT(said, StartsWith(before)) << make_content(file("err"));
    said = said.substr(0, said.find('\n'));
    const std::size_t slash = said.find('/', before.size());
    port_ = static_cast<std::uint16_t>(std::stoi(said.substr(before.size(), slash - before.size())));
    start_ = said.substr(slash);
    token_ = start_.substr(1, start_.find('/', 1) - 1);
    host_ = "127.0.0.1:" + std::to_string(port_);
  }

  program_result stop(int signal = SIGTERM) {
    if (child_ <= 0) return {};
    kill(child_, signal);
    return end_sluice(std::exchange(child_, 0));
  }

  [[nodiscard]] std::string request(const std::string& target, const std::string& headers = {},
                                    const std::string& method = "GET") const {
    return method + " " + target + " HTTP/1.1\r\nHost: " + host_ + "\r\n" + headers + "\r\n";
  }
  /// The reply to a request for `path` below the token.
  http_reply get(const std::string& path, const std::string& headers = {}) {
    return ask(request("/" + token_ + "/" + path, headers));
  }
  http_reply head(const std::string& path, const std::string& headers = {}) {
    return ask(request("/" + token_ + "/" + path, headers, "HEAD"), false);
  }
  http_reply ask(const std::string& text, bool with_body = true) {
    http_client client(port_);
    EXPECT_TRUE(client.connected());
    client.send(text);
    return client.read(with_body);
  }

  std::string digits_;
  pid_t child_ = 0;
  std::uint16_t port_ = 0;
  std::string start_, token_, host_;
};

TEST_F(serve_verb, shows_the_page_in_an_origin_of_its_own) {
  serve({});
  EXPECT_EQ(start_, "/" + token_ + "/");
  http_reply page = get("");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.body, "this is index.html");
  EXPECT_EQ(page.headers["Content-Type"], "text/html; charset=utf-8");
  EXPECT_EQ(get("index.html?file=x").body, "this is index.html");
  EXPECT_EQ(get("page.js").headers["Content-Type"], "text/javascript; charset=utf-8");
  EXPECT_EQ(get("page_start.js").body, "this is page_start.js");
  EXPECT_EQ(get("page.worker.js").body, "this is page.worker.js");
  page = get("page.wasm");
  EXPECT_EQ(page.headers["Content-Encoding"], "gzip");
  EXPECT_EQ(page.body, "this is page.wasm.gz");
  EXPECT_EQ(page.headers["Content-Type"], "application/wasm");
  EXPECT_EQ(page.headers["Cross-Origin-Opener-Policy"], "same-origin");
  EXPECT_EQ(page.headers["Cross-Origin-Embedder-Policy"], "require-corp");
  EXPECT_EQ(page.headers["Cross-Origin-Resource-Policy"], "same-origin");
  EXPECT_EQ(page.headers["Referrer-Policy"], "no-referrer") << "the address contains the secret";
  EXPECT_EQ(get("other.html").status, 404);
}

TEST_F(serve_verb, names_each_recording_in_its_address) {
  write("a b+100%#?&.sluice", "odd");
  serve({"runs/digits.sluice", "a b+100%#?&.sluice"});
  // As a browser reads the address: it decodes the query once, then uses each value as an address.
  EXPECT_EQ(start_, "/" + token_ + "/?file=recordings/1/digits.sluice" +
                        "&file=recordings/2/a%2520b%252B100%2525%2523%253F%2526.sluice");
  EXPECT_EQ(get("recordings/1/digits.sluice").body, digits_);
  EXPECT_EQ(get("recordings/2/a%20b%2B100%25%23%3F%26.sluice").body, "odd");
  EXPECT_EQ(get("recordings/2/digits.sluice").status, 404);
}

TEST_F(serve_verb, results_ranges) {
  serve({"runs"});
  struct {
    const char* wanted;
    int status;
    std::string body;
    const char* says;
  } const cases[] = {
      {"bytes=10-19", 206, "0123456789", "bytes 10-19/1000"},
      {"bytes=15-15", 206, "5", "bytes 15-15/1000"},
      {"bytes=995-", 206, "56789", "bytes 995-999/1000"},
      {"bytes=-3", 206, "789", "bytes 997-999/1000"},
      {"bytes=-5000", 206, digits_, "bytes 0-999/1000"},
      {"bytes=998-18446744073709551615", 206, "89", "bytes 998-999/1000"},
      {"bytes=1000-1001", 416, "", "bytes */1000"},
      {"bytes=-0", 416, "", "bytes */1000"},
      // Invalid ranges are ignored.
      {"bytes=9-5", 200, digits_, ""},
      {"bytes=-", 200, digits_, ""},
      {"bytes=0-1,4-5", 200, digits_, ""},
      {"bytes=99999999999999999999-", 200, digits_, ""},
      {"bytes=+1-2", 200, digits_, ""},
      {"lines=1-2", 200, digits_, ""},
  };
  for (const auto& each : cases) {
    http_reply reply = get("recordings/1/digits.sluice", std::string("Range: ") + each.wanted + "\r\n");
    EXPECT_EQ(reply.status, each.status) << each.wanted;
    EXPECT_EQ(reply.body, each.body) << each.wanted;
    EXPECT_EQ(reply.headers["Content-Range"], each.says) << each.wanted;
    EXPECT_EQ(reply.headers["Cache-Control"], "no-store");
  }
  EXPECT_EQ(get("recordings/1/digits.sluice", "Range: bytes=10-11\r\nIf-Range: \"a\"\r\n").body, digits_);
}

TEST_F(serve_verb, tells_the_size_of_a_file_that_grows) {
  serve({"runs"});
  EXPECT_EQ(head("recordings/1/digits.sluice").headers["Content-Length"], "1000");
  std::ofstream(file("runs/digits.sluice"), std::ios::app) << "more";
  http_reply now = head("recordings/1/digits.sluice");
  EXPECT_EQ(now.status, 200);
  EXPECT_EQ(now.headers["Content-Length"], "1004");
  EXPECT_EQ(now.headers["Accept-Ranges"], "bytes");
  EXPECT_EQ(get("recordings/1/digits.sluice", "Range: bytes=998-2000\r\n").body, "89more");
}

TEST_F(serve_verb, tells_whether_a_recording_grows_and_which_file_it_is) {
  const std::string place = "recordings/1/digits.sluice", path = file("runs/digits.sluice");
  const int writer = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct flock whole {};
  whole.l_type = F_WRLCK;
  ASSERT_EQ(::fcntl(writer, F_OFD_SETLK, &whole), 0) << "as the writer of a recording does";
  serve({"runs"});
  http_reply before = head(place);
  EXPECT_EQ(before.headers["Sluice-Growing"], "1");
  const std::string first = before.headers["Sluice-Version"];
  EXPECT_EQ(before.headers["Sluice-Newest"], first);

  // The recording ends: the finished file replaces the file that was written so far.
  ::close(writer);
  write("complete", as_recording("another file"));
  fs::rename(file("complete"), path);
  http_reply old = get(place + "?version=" + first);
  EXPECT_EQ(old.body, digits_) << "never a mixture of both files";
  EXPECT_EQ(old.headers["Sluice-Growing"], "0");
  EXPECT_EQ(old.headers["Sluice-Version"], first);
  const std::string second = old.headers["Sluice-Newest"];
  EXPECT_NE(second, first);
  EXPECT_EQ(get(place + "?version=" + second).body, as_recording("another file"));
  EXPECT_EQ(get(place + "?version=" + first, "Range: bytes=11-13\r\n").body, "123");
  EXPECT_EQ(get(place).headers["Sluice-Version"], second);
  EXPECT_EQ(get(place + "?version=0-0").status, 404);
  EXPECT_EQ(get(place + "?version=%00").status, 404);
}

TEST_F(serve_verb, keeps_few_replaced_files) {
  serve({"runs"});
  const std::string place = "recordings/1/digits.sluice";
  const std::string first = head(place).headers["Sluice-Version"];
  for (int i = 0; i < 10; ++i) {
    write("next", as_recording(std::to_string(i)));
    fs::rename(file("next"), file("runs/digits.sluice"));
    EXPECT_EQ(get(place).body, as_recording(std::to_string(i)));
  }
  EXPECT_EQ(get(place + "?version=" + first).status, 404);
}

TEST_F(serve_verb, serves_a_recording_that_is_made_elsewhere) {
  const std::string training = SLUICE_SOURCE_DIR "/assets/recordings/leak.sluice";
  fs::copy_file(training, file("made.sluice"));
  auto there = remote::live_server::start(fs::absolute(file("made.sluice")).string(), file("socket")).value();
  serve({"--live", file("socket")});
  EXPECT_EQ(start_, "/" + token_ + "/?file=recordings/1/made.sluice");
  const std::string place = "recordings/1/made.sluice";
  for (int i = 0; i < 100 && head(place).headers["Sluice-Growing"] != "0"; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(get(place).body, make_content(training));
  there.reset();
  EXPECT_EQ(get(place).body, make_content(training)) << "received events stay";
}

TEST_F(serve_verb, results_one_request_after_another_on_one_connection) {
  serve({"runs"});
  http_client client(port_);
  const std::string target = "/" + token_ + "/recordings/1/digits.sluice";
  client.send(request(target, "Range: bytes=10-11\r\n") + request(target, {}, "HEAD") +
              request(target, "Range: bytes=12-13\r\n"));
  EXPECT_EQ(client.read().body, "01");
  EXPECT_EQ(client.read(false).headers["Content-Length"], "1000");
  EXPECT_EQ(client.read().body, "23");
}

TEST_F(serve_verb, sends_a_large_file_whole) {
  std::string large;
  for (int i = 0; large.size() < 3'000'000; ++i) large += std::to_string(i);
  write("large.sluice", large);
  serve({"large.sluice"});
  EXPECT_TRUE(get("recordings/1/large.sluice").body == large);
  EXPECT_TRUE(get("recordings/1/large.sluice", "Range: bytes=1-2999998\r\n").body == large.substr(1, 2'999'998));
}

TEST_F(serve_verb, lists_the_recordings_of_folders_and_no_others) {
  fs::copy_file(SLUICE_SOURCE_DIR "/assets/recordings/leak.sluice", file("runs/<b>&'.sluice"));
  write("runs/notes.txt", "not a recording");
  serve({"runs", "runs/digits.sluice"});
  EXPECT_EQ(start_, "/" + token_ + "/recordings/");
  http_reply list = get("recordings/");
  EXPECT_EQ(list.headers["Content-Type"], "text/html; charset=utf-8");
  EXPECT_THAT(list.body, HasSubstr("<a href=\"../?file=recordings/1/%253Cb%253E%2526%2527.sluice\">"
                                   "&lt;b&gt;&amp;&#39;.sluice</a>"));
  EXPECT_THAT(list.body, HasSubstr("file=recordings/2/digits.sluice"));
  EXPECT_THAT(list.body, Not(HasSubstr("notes")));
  EXPECT_THAT(list.body, Not(HasSubstr("<b>")));
}

TEST_F(serve_verb, shows_the_verdict_the_size_and_a_picture_of_each_recording) {
  fs::copy_file(SLUICE_SOURCE_DIR "/assets/recordings/leak.sluice", file("runs/leak.sluice"));
  write("runs/other.json", R"({"schemaVersion": 1, "traceEvents": []})");
  serve({"runs"});
  std::string list = get("recordings/").body;
  EXPECT_THAT(list, HasSubstr("leak.sluice</a>")) << "at once, also while verdicts are computed";
  for (int i = 0; i < 1000 && list.find("http-equiv=\"refresh\"") != std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    list = get("recordings/").body;
  }
  EXPECT_THAT(list, HasSubstr("GPU 4 % busy, peak 38.0 MiB of 140 GiB"));
  EXPECT_THAT(list, HasSubstr("<svg width="));
  EXPECT_THAT(list, HasSubstr("9.48 KiB"));
  EXPECT_THAT(list, HasSubstr("today "));
  EXPECT_THAT(list, HasSubstr("other.json</a>")) << "listed, but not imported for a verdict";
  EXPECT_THAT(list, Not(HasSubstr("<script")));
  EXPECT_THAT(list, Not(HasSubstr("refresh"))) << "the page is complete";
}

// Tried: a recording that names its own verdict, with a name of HTML.
TEST_F(serve_verb, does_not_read_what_is_only_named_like_a_recording) {
  write("runs/false<script>.sluice", as_recording("<script>alert(1)</script>"));
  serve({"runs"});
  for (int i = 0; i < 3; ++i) {
    const std::string list = get("recordings/").body;
    EXPECT_THAT(list, Not(HasSubstr("<script"))) << "names are escaped";
    EXPECT_THAT(list, HasSubstr("false&lt;script&gt;.sluice"));
  }
}

// Tried: a client without the secret, or with a part of it.
TEST_F(serve_verb, says_nothing_to_who_does_not_know_the_secret) {
  serve({"runs"});
  EXPECT_EQ(token_.size(), 32U);
  EXPECT_EQ(token_.find_first_not_of("0123456789abcdef"), std::string::npos);
  std::string wrong = token_;
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  for (const std::string& each : {std::string(), wrong, token_.substr(1), token_ + "0", std::string(32, '0'),
                                  std::string("recordings"), std::string("%2e")})
    for (const char* path : {"", "page.js", "recordings/", "recordings/1/digits.sluice"}) {
      http_reply reply = ask(request("/" + each + "/" + path));
      EXPECT_EQ(reply.status, 404) << each << " " << path;
      EXPECT_THAT(reply.body, HasSubstr("The address is incomplete")) << "all get the same reply";
    }
  EXPECT_EQ(ask(request("/")).status, 404);
  EXPECT_EQ(ask(request("/" + token_)).status, 404);
  EXPECT_EQ(ask(request("*")).status, 404);
  const std::string first = token_;
  stop();
  serve({"runs"});
  EXPECT_NE(token_, first) << "each run has its own secret";
}

// Tried: DNS rebinding, where a foreign page makes its own host name resolve to this machine.
TEST_F(serve_verb, has_no_name_but_its_own) {
  serve({"runs"});
  const std::string port = ":" + std::to_string(port_);
  const auto with_host = [&](const std::string& headers) {
    return ask("GET /" + token_ + "/ HTTP/1.1\r\n" + headers + "\r\n").status;
  };
  EXPECT_EQ(with_host("Host: 127.0.0.1" + port + "\r\n"), 200);
  EXPECT_EQ(with_host("Host: localhost" + port + "\r\n"), 200);
  for (const std::string& name : {"evil.example" + port, std::string("127.0.0.1"), std::string("localhost:1"),
                                  "127.0.0.1.evil.example" + port, "127.0.0.1" + port + "0", std::string()})
    EXPECT_EQ(with_host("Host: " + name + "\r\n"), 403) << name;
  EXPECT_EQ(with_host(""), 400);
  EXPECT_EQ(with_host("Host: 127.0.0.1" + port + "\r\nHost: evil.example\r\n"), 400);
}

TEST_F(serve_verb, listens_to_this_machine_only) {
  serve({});
  EXPECT_TRUE(http_client(port_).connected());
  EXPECT_FALSE(http_client(port_, "127.0.0.2").connected()) << "the server does not listen on this address";
}

// Tried: other files beside recordings, including files with names of recordings, and files in formats that recordings
// can have.
TEST_F(serve_verb, serves_no_other_files_of_a_folder) {
  const std::vector<std::pair<std::string, std::string>> others = {
      {"notes.txt", "the secret"},
      {"notes.sluice", "the secret"},
      {"id_rsa", "-----BEGIN OPENSSH PRIVATE KEY-----\nthe secret"},
      {"settings.json", R"({"password": "the secret"})"},
      {"list.json", R"([{"token": "the secret"}])"},
      {"model.pickle", std::string("\x80\x04\x95\x10", 4) + "the secret"},
      {"empty.sluice", ""},
      {"short.sluice", "\x89SLUICE"}};
  for (const auto& [name, text] : others) write("runs/" + name, text);
  const std::string database = "sqlite3 " + file("runs/cookies.sqlite") +
                               " \"CREATE TABLE cookies(value); INSERT INTO cookies VALUES('the secret')\"";
  const bool has_database = run_shell("command -v sqlite3 && " + database).status == 0;
  write("runs/trace.json", R"({"schemaVersion": 1, "traceEvents": []})");
  write("runs/log.csv", "Thread,Time,Action,Pointer,Size,Stream\n");
  serve({"runs", "runs/notes.txt"});
  const std::string list = get("recordings/").body;
  for (const auto& [name, text] : others) {
    EXPECT_EQ(get("recordings/1/" + name).status, 404) << name;
    EXPECT_THAT(list, Not(HasSubstr("recordings/1/" + name))) << name;
  }
  if (has_database) {
    EXPECT_EQ(get("recordings/1/cookies.sqlite").status, 404);
  }
  for (const char* name : {"trace.json", "log.csv", "digits.sluice"}) {
    EXPECT_EQ(get(std::string("recordings/1/") + name).status, 200) << name;
    EXPECT_THAT(list, HasSubstr(std::string("recordings/1/") + name)) << name;
  }
  EXPECT_EQ(get("recordings/2/notes.txt").status, 200) << "it was named on the command line";
}

// Tried: replacing a recording that is being served by another file.
TEST_F(serve_verb, serves_no_other_file_that_takes_the_name_of_a_recording) {
  serve({"runs"});
  EXPECT_EQ(get("recordings/1/digits.sluice").body, digits_);
  write("secret", "the secret");
  fs::rename(file("secret"), file("runs/digits.sluice"));
  EXPECT_EQ(get("recordings/1/digits.sluice").status, 404);
}

// Tried: ways out of a folder: up, absolute, encoded, through links, into other kinds of files.
TEST_F(serve_verb, serves_nothing_outside_the_named_folder) {
  write("secret.sluice", as_recording("secret"));
  write("runs/.hidden.sluice", as_recording("secret"));
  fs::create_directories(file("runs/below"));
  write("runs/below/deep.sluice", as_recording("secret"));
  fs::create_symlink("../secret.sluice", file("runs/link.sluice"));
  fs::create_symlink(file("secret.sluice"), file("runs/absolute.sluice"));
  fs::create_symlink("digits.sluice", file("runs/inside.sluice"));
  fs::create_directory_symlink("..", file("runs/up"));
  ASSERT_EQ(mkfifo(file("runs/pipe.sluice").c_str(), 0600), 0);
  serve({"runs", "share/sluice/web/index.html"});
  for (const std::string path : {"recordings/1/../secret.sluice",
                                 "recordings/1/..%2fsecret.sluice",
                                 "recordings/1/%2e%2e/secret.sluice",
                                 "recordings/1/..",
                                 "recordings/1/.",
                                 "recordings/1/",
                                 "recordings/1",
                                 "recordings/1//etc/passwd",
                                 "recordings/1/%2fetc%2fpasswd",
                                 "recordings/1/link.sluice",
                                 "recordings/1/absolute.sluice",
                                 "recordings/1/inside.sluice",
                                 "recordings/1/up/secret.sluice",
                                 "recordings/1/up",
                                 "recordings/1/below",
                                 "recordings/1/below/deep.sluice",
                                 "recordings/1/.hidden.sluice",
                                 "recordings/1/pipe.sluice",
                                 "recordings/1/digits.sluice%00.html",
                                 "recordings/1/digits.sluice%0",
                                 "recordings/1/digits.sluice%zz",
                                 "recordings/0/digits.sluice",
                                 "recordings/3/digits.sluice",
                                 "recordings/-1/digits.sluice",
                                 "recordings/99999999999999999999/digits.sluice",
                                 "recordings/2/page.js",
                                 "recordings/../index.html",
                                 "../secret.sluice",
                                 "..%2f..%2fsecret.sluice",
                                 "page.js/../../secret.sluice"}) {
    const http_reply reply = get(path);
    EXPECT_EQ(reply.status, 404) << path;
    EXPECT_THAT(reply.body, Not(HasSubstr("secret"))) << path;
  }
  EXPECT_EQ(get("recordings/1/digits.sluice").status, 200);
  const std::string list = get("recordings/").body;
  for (const char* name : {"link", "absolute", "up", "hidden", "deep", "pipe"})
    EXPECT_THAT(list, Not(HasSubstr(std::string(name) + ".sluice"))) << name;
}

TEST_F(serve_verb, offers_the_recordings_that_come_with_the_page) {
  fs::create_directories(file("share/sluice/web/samples"));
  write("share/sluice/web/samples/leak.sluice", "a sample");
  write("share/sluice/web/samples/.hidden", "hidden");
  fs::create_symlink(file("runs/digits.sluice"), file("share/sluice/web/samples/link.sluice"));
  ASSERT_NO_FATAL_FAILURE(serve({}));
  EXPECT_EQ(get("samples/leak.sluice").body, "a sample");
  EXPECT_EQ(head("samples/leak.sluice").headers["Content-Length"], "8");
  for (const char* path : {"samples/", "samples/.hidden", "samples/link.sluice", "samples/../index.html",
                           "samples/%2e%2e%2findex.html", "samples/none.sluice"})
    EXPECT_EQ(get(path).status, 404) << path;
}

TEST_F(serve_verb, changes_nothing_and_takes_no_bodies) {
  serve({"runs"});
  const std::string target = "/" + token_ + "/recordings/1/digits.sluice";
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"}) {
    http_reply reply = ask(request(target, {}, method));
    EXPECT_EQ(reply.status, 405) << method;
    EXPECT_EQ(reply.headers["Allow"], "GET, HEAD");
  }
  EXPECT_EQ(ask(request(target, "Content-Length: 5\r\n") + "hello").status, 400);
  EXPECT_EQ(ask(request(target, "Transfer-Encoding: chunked\r\n") + "0\r\n\r\n").status, 400);
  EXPECT_EQ(make_content(file("runs/digits.sluice")), digits_);
}

TEST_F(serve_verb, cuts_off_who_sends_too_much_or_nonsense) {
  serve({"runs"});
  EXPECT_EQ(ask(request("/" + std::string(60'000, 'a'))).status, 431);
  EXPECT_EQ(ask(request("/", "X: " + std::string(60'000, 'a') + "\r\n")).status, 431);
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "X" + std::to_string(i) + ": 1\r\n";
  EXPECT_EQ(ask(request("/", many)).status, 431);
  EXPECT_EQ(ask("GET / HTTP/1.1\r\nno header\r\n\r\n").status, 400);
  http_client endless(port_);
  const std::string bytes(1 << 16, 'x');
  bool taken = true;
  for (int i = 0; i < 1000 && taken; ++i) taken = endless.send(bytes);
  EXPECT_FALSE(taken) << "the server read 64 MB";
  http_client other(port_);
  other.send(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15));
  EXPECT_TRUE(other.is_closed_within(3000)) << "another protocol";
  EXPECT_EQ(get("").status, 200);
}

TEST_F(serve_verb, results_a_hundred_connections_at_once) {
  serve({"runs"});
  std::vector<http_client> clients;
  for (int i = 0; i < 100; ++i) clients.emplace_back(port_);
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < clients.size(); ++i)
      clients[i].send(request("/" + token_ + "/recordings/1/digits.sluice",
                              "Range: bytes=" + std::to_string(i) + "-" + std::to_string(i + 9) + "\r\n"));
    for (std::size_t i = 0; i < clients.size(); ++i) EXPECT_EQ(clients[i].read().body, digits_.substr(i, 10)) << i;
  }
}

// Tried: more connections than the server allows, from a client that sends nothing.
TEST_F(serve_verb, keeps_room_for_who_knows_the_secret) {
  serve({"runs"});
  http_client known(port_);
  known.send(request("/" + token_ + "/recordings/1/digits.sluice", "Range: bytes=10-11\r\n"));
  EXPECT_EQ(known.read().body, "01");
  std::vector<http_client> silent;
  for (int i = 0; i < 400; ++i) silent.emplace_back(port_);
  EXPECT_EQ(get("").status, 200);
  EXPECT_TRUE(silent.front().is_closed_within(3000)) << "the oldest is closed first";
  known.send(request("/" + token_ + "/recordings/1/digits.sluice", "Range: bytes=12-13\r\n"));
  EXPECT_EQ(known.read().body, "23") << "a client with the secret was disconnected";
}

TEST_F(serve_verb, ends_by_a_signal) {
  serve({"runs"});
  http_client waiting(port_);
  EXPECT_EQ(stop(SIGINT).status, 130);
  serve({});
  EXPECT_EQ(stop(SIGTERM).status, 143);
  EXPECT_TRUE(waiting.is_closed_within(3000));
}

TEST_F(serve_verb, says_why_it_cannot_serve) {
  program_result ended = run_sluice({"serve", "nowhere.sluice"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_EQ(ended.err, "sluice: nowhere.sluice: cannot open: No such file or directory\n");
  ASSERT_EQ(mkfifo(file("pipe").c_str(), 0600), 0);
  EXPECT_THAT(run_sluice({"serve", "pipe"}).err, EndsWith("pipe: is not a regular file\n"));
  EXPECT_EQ(run_sluice({"serve", "--port", "80"}).status, 2);
  EXPECT_EQ(run_sluice({"serve", "--port", "65536"}).status, 2);
  serve({});
  const std::string taken = std::to_string(port_);
  const pid_t first = std::exchange(child_, 0);
  ended = run_sluice({"serve", "--port", taken});
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, StartsWith("sluice: cannot listen on 127.0.0.1:" + taken + ": Address already in use"));
  child_ = first;
  stop();
  fs::remove(file("share/sluice/web/page.wasm.gz"));
  ended = run_sluice({"serve"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, HasSubstr("share/sluice/web: page not found; build it with ./dev web\n"));
}

// All users can read command lines.
TEST_F(serve_verb, opens_a_browser_without_the_secret_on_a_command_line) {
  write("bin/xdg-open", "#!/bin/sh\nstat -c %a \"${1%/*}\" > '" + file("rights") + "'\ncp \"$1\" '" + file("shown") +
                            "'\necho \"$@\" > '" + file("words") + "'\n");
  fs::permissions(file("bin/xdg-open"), fs::perms::owner_all);
  serve({"--open", "runs"}, {{"PATH", file("bin") + ":/usr/bin:/bin"}, {"DISPLAY", ":9"}, {"TMPDIR", file(".")}});
  for (int i = 0; i < 500 && make_content(file("words")).empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  (void)get("recordings/");  // Once the server responds, it handles signals.
  const std::string words = make_content(file("words"));
  EXPECT_THAT(words, EndsWith("/sluice.html\n"));
  EXPECT_THAT(words, Not(HasSubstr(token_)));
  EXPECT_THAT(make_content(file("shown")), HasSubstr("url=http://" + host_ + "/" + token_ + "/recordings/\""));
  EXPECT_EQ(make_content(file("rights")), "700\n");
  stop();
  EXPECT_FALSE(fs::exists(words.substr(0, words.size() - 1))) << "it is deleted when the server ends";
}

using serve_slowly = serve_verb;

// Tried: headers that never end, sent byte by byte (Slowloris); a client that requests much and reads nothing.
TEST_F(serve_slowly, cuts_off_slow_clients) {
  write("large.sluice", std::string(std::size_t{64} << 20, 'x'));
  serve({"large.sluice"});
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin).count();
  };
  http_client lazy(port_);
  lazy.send(request("/" + token_ + "/recordings/1/large.sluice"));
  std::vector<http_client> slow;
  for (int i = 0; i < 50; ++i) slow.emplace_back(port_).send("GET / HTTP/1.1\r\nX: ");
  bool cut = false;
  while (!cut && passed() < 15'000) {
    for (const http_client& each : slow) cut = !each.send("x") || cut;
    EXPECT_EQ(get("").status, 200) << "others are served meanwhile";
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  EXPECT_TRUE(cut);
  EXPECT_GE(passed(), 9'000) << "too soon";
  for (http_client& each : slow) EXPECT_TRUE(each.is_closed_within(3000));
  std::this_thread::sleep_for(std::chrono::milliseconds(std::max<long>(0, 25'000 - passed())));
  const http_reply part = lazy.read();
  EXPECT_LT(part.body.size(), std::size_t{64} << 20) << "the server was still sending after 25 s";
}

// A file size limit simulates a full disk: without a handler, its signal would end the server.
TEST_F(serve_verb, a_live_recording_without_an_end_is_served_as_far_as_there_is_room_and_one_line_says_so) {
  remote::false_server liar(file("socket"));
  liar.run([](const remote::frame& asked, std::vector<std::byte>& out) {
    using remote::frame_kind;
    if (asked.kind == frame_kind::hello)
      remote::put_frame(out, frame_kind::hello, asked.id, remote::get_bytes(remote::hello_message{}));
    if (asked.kind == frame_kind::look)
      remote::put_frame(out, frame_kind::extent, asked.id,
                        remote::get_bytes(remote::extent_message{1, 1, INT64_MAX, 1}));
    if (asked.kind == frame_kind::read)
      remote::put_frame(out, frame_kind::bytes, asked.id, std::vector<std::byte>(remote::max_read));
    return true;
  });
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{std::uint64_t{3} << 20, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  serve({"--live", "socket"});
  setrlimit(RLIMIT_FSIZE, &before);
  http_reply reply;
  for (int i = 0; i < 1000 && reply.headers["Sluice-Growing"] != "0"; ++i)
    reply = get("recordings/1/recording.sluice", "Range: bytes=3145726-\r\n");
  EXPECT_EQ(reply.status, 206);
  EXPECT_EQ(reply.body, std::string(2, '\0'));
  const program_result ended = stop();
  EXPECT_EQ(ended.status, 128 + SIGTERM);
  EXPECT_EQ(ended.err,
            "sluice: socket: cannot write to a scratch file: File too large: showing the recording up to then; "
            "set TMPDIR to a folder with more space\n");
}

}  // namespace
}  // namespace sluice
