// A recording continues regardless of what its clients do and what happens to its disk.
#include "instrumentation/writer/session/session.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>

#include "instrumentation/ring/producer.hpp"
#include "instrumentation/ring/producer_losses.hpp"
#include "instrumentation/ring/protocol.hpp"
#include "instrumentation/writer/rings/clock_line.hpp"
#include "instrumentation/writer/session/listener.hpp"
#include "tests/instrumentation/ring/ring_pair.hpp"
#include "tests/instrumentation/writer/recording.hpp"

namespace sluice::writer {
namespace {

using namespace trace;

int connect_to(const char* socket) {
  ring::writer_address to;
  sockaddr_un address{};
  socklen_t length = 0;
  if (!ring::parse_writer_address(socket, to) || !ring::socket_address(to.name, address, length)) return -1;
  const int s = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (connect(s, reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    close(s);
    return -1;
  }
  return s;
}

/// The greeting of a client that has the recording's secret.
ring::hello make_greeting(const char* socket) {
  ring::writer_address to;
  ring::hello greeting;
  if (ring::parse_writer_address(socket, to)) std::memcpy(greeting.secret, to.secret, sizeof greeting.secret);
  return greeting;
}

/// One message, with files attached.
void send(int to, const void* bytes, std::size_t count, const std::vector<int>& files) {
  iovec part{const_cast<void*>(bytes), count};
  std::vector<char> control(CMSG_SPACE(sizeof(int) * std::max<std::size_t>(files.size(), 1)));
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!files.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * files.size());
    std::memcpy(CMSG_DATA(rights), files.data(), sizeof(int) * files.size());
  }
  EXPECT_EQ(sendmsg(to, &message, MSG_NOSIGNAL), static_cast<ssize_t>(count));
}

void mark(std::int64_t step) {
  ring::marker_record marker{};
  marker.header.time = ring::now();
  marker.step = step;
  ring::emit(marker);
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

TEST(session_test, completes_its_file_when_it_is_destroyed_without_a_stop) {
  const temporary_folder folder;
  const std::string path = folder.file("t.sluice");
  {
    auto running = session::start(path, {});
    ASSERT_TRUE(running.has_value()) << running.error().to_string();
    ASSERT_TRUE(ring::start(running->socket_name().c_str(), {}));
    mark(7);
    ring::stop();
  }
  const recorded trace(path);
  EXPECT_EQ(trace.all<marker_event>().size(), 1U);
  EXPECT_TRUE(trace.snapshot().complete()) << "the end of the file must be written, too";
}

TEST(session_test, hostile_clients_are_ignored) {
  const std::size_t descriptors_before = open_descriptors();
  {
    recording r;
    std::vector<int> clients;
    const auto client = [&] {
      clients.push_back(connect_to(r.socket()));
      EXPECT_GE(clients.back(), 0);
      return clients.back();
    };
    client();  // Never sends anything.
    close(client());
    clients.pop_back();
    send(client(), "x", 1, {});
    const std::string garbage(3000, '\xff');
    send(client(), garbage.data(), garbage.size(), {});
    const ring::hello greeting = make_greeting(r.socket());
    send(client(), &greeting, sizeof greeting, {});  // A greeting without a ring.
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    send(client(), &greeting, sizeof greeting, {null});
    send(client(), &greeting, sizeof greeting, std::vector<int>(16, null));
    send(client(), garbage.data(), 1, std::vector<int>(16, null));
    close(null);
    const int unsealed = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ASSERT_EQ(ftruncate(unsealed, ring::ring_data_offset + ring::minimum_ring_bytes), 0);
    send(client(), &greeting, sizeof greeting, {unsealed});
    close(unsealed);
    for (int i = 0; i < 500; ++i) close(connect_to(r.socket()));

    ASSERT_TRUE(ring::start(r.socket(), {}));
    mark(1);
    ring::stop();
    const recorded trace = r.finish();
    EXPECT_EQ(trace.all<marker_event>().size(), 1u) << "a valid client must be served among the others";
    EXPECT_GE(r.summary.warnings.size(), 5u);
    for (const int c : clients) close(c);
  }
  EXPECT_EQ(open_descriptors(), descriptors_before) << "descriptors that were sent must be closed";
}

TEST(session_test, nobody_is_heard_without_its_secret) {
  recording r;
  ring::ring_pair ring(ring::minimum_ring_bytes, ring::clock_kind::monotonic_ns);
  for (int i = 0; i < 300; ++i) {
    ring::hello greeting = make_greeting(r.socket());
    greeting.secret[i % ring::secret_bytes] ^= 1;
    const int client = connect_to(r.socket());
    send(client, &greeting, sizeof greeting, {ring.file()});
    close(client);
  }
  const recorded trace = r.finish();
  EXPECT_EQ(r.summary.processes, 0u);
  EXPECT_EQ(r.summary.unheard_processes, 0u) << "a stranger is not a process of this recording";
  ASSERT_EQ(r.summary.warnings.size(), 1u) << "reported once, however many strangers";
}

TEST(session_test, the_secret_is_in_no_warning) {
  recording r;
  const std::string secret(r.socket(), 2 * ring::secret_bytes);
  close(connect_to(r.socket()));
  const int client = connect_to(r.socket());
  const ring::hello greeting = make_greeting(r.socket());
  send(client, &greeting, sizeof greeting, {});
  close(client);
  (void)r.finish();
  for (const std::string& warning : r.summary.warnings) EXPECT_EQ(warning.find(secret), std::string::npos) << warning;
}

TEST(session_test, says_of_a_process_without_a_ring_what_it_lost_and_why) {
  recording r;
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_NOFILE, &none);
    ring::start(r.socket(), {});
    ring::alloc_record alloc{};
    for (int i = 0; i < 70; ++i) ring::emit(alloc);
    mark(1);
    ring::stop();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  (void)r.finish();
  EXPECT_EQ(r.summary.unheard_processes, 1u);
  EXPECT_EQ(r.summary.lost_events, 71u);
  EXPECT_EQ(r.summary.lost_memory_events, 70u);
  ASSERT_EQ(r.summary.warnings.size(), 1u);
  EXPECT_NE(r.summary.warnings[0].find("no descriptor"), std::string::npos) << r.summary.warnings[0];
}

TEST(session_test, counts_what_threads_lose_that_come_and_go_while_it_stands_still) {
  auto writer_address = listener::open();
  ASSERT_TRUE(writer_address.has_value());
  ASSERT_TRUE(ring::start(writer_address->name().c_str(), {.ring_bytes = ring::minimum_ring_bytes}));
  std::uint64_t dropped = 0;
  for (int i = 0; i < 50; ++i) {
    std::thread([&] {
      for (int n = 0; n < 500; ++n) {
        ring::alloc_record alloc{};
        alloc.header.time = ring::now();
        dropped += ring::emit(alloc) ? 0 : 1;
      }
    }).join();
  }
  EXPECT_GT(dropped, 20'000u);
  EXPECT_EQ(ring::lost_memory_events(), dropped);
  std::vector<std::string> complaints;
  const auto arrived = writer_address->take(complaints);
  std::uint64_t said = 0;
  for (const arrival& ring : arrived)
    said += ring.reader.lost().memory_events + ring.reader.lost().ringless_memory_events;
  EXPECT_EQ(said, dropped) << "the losses that the writer reads from the rings";
  ring::stop();
}

TEST(session_test, a_ring_that_goes_bad_costs_only_itself) {
  recording r;
  std::mt19937_64 random(3);
  std::vector<std::unique_ptr<ring::ring_pair>> rings;
  for (int i = 0; i < 20; ++i) {
    rings.push_back(std::make_unique<ring::ring_pair>(ring::minimum_ring_bytes, ring::clock_kind::monotonic_ns));
    ring::ring_pair& ring = *rings.back();
    for (std::size_t at = 0; at < ring::minimum_ring_bytes; at += 8) {
      const std::uint64_t word = random() % 4 == 0 ? random() : (random() % 40) | (random() % 20 << 16);
      std::memcpy(ring.data() + at, &word, sizeof word);
    }
    ring.header().head = i == 0 ? ~std::uint64_t{0} : random() % (ring::minimum_ring_bytes / 8) * 8;
    const int client = connect_to(r.socket());
    const ring::hello greeting = make_greeting(r.socket());
    send(client, &greeting, sizeof greeting, {ring.file()});
    close(client);
  }
  ASSERT_TRUE(ring::start(r.socket(), {}));
  for (int i = 0; i < 100; ++i) mark(1'000'000 + i);
  ring::stop();
  const recorded trace = r.finish();
  std::size_t honest = 0;
  for (const marker_event& m : trace.all<marker_event>()) {
    if (m.step >= 1'000'000 && m.step < 1'000'100) ++honest;
  }
  EXPECT_GE(honest, 100u);
  EXPECT_FALSE(trace.all<message_event>().empty());
}

TEST(session_test, turns_the_wrong_clock_away) {
  recording r({.simulated = true});
  ring::start(r.socket(), {});
  mark(1);
  ring::stop();
  ASSERT_TRUE(ring::start(r.socket(), {.clock = ring::clock_kind::simulated_ns}));
  ring::marker_record marker{};
  marker.header.time = 12345;
  ring::emit(marker);
  ring::stop();
  const recorded trace = r.finish();
  ASSERT_EQ(trace.all<marker_event>().size(), 1u);
  EXPECT_EQ(trace.all<marker_event>()[0].time, 12345) << "simulated times are not converted";
  EXPECT_TRUE(trace.snapshot().simulated());
  EXPECT_TRUE(trace.all<clock_anchor_event>().empty());
  ASSERT_EQ(r.summary.warnings.size(), 1u);
}

TEST(session_test, a_live_reader_sees_the_file_grow) {
  recording r;
  ASSERT_TRUE(ring::start(r.socket(), {}));
  mark(1);
  ASSERT_TRUE(r.live().sync().has_value());
  auto file = file::open(r.path());
  ASSERT_TRUE(file.has_value());
  EXPECT_FALSE((*file)->latest()->complete());
  mark(2);
  ASSERT_TRUE(r.live().sync().has_value());
  EXPECT_TRUE(*(*file)->refresh());
  std::size_t seen = 0;
  ASSERT_TRUE((*file)->latest()->for_each<marker_event>([&](const marker_event&) { ++seen; }).has_value());
  EXPECT_EQ(seen, 2u);
  ring::stop();
  (void)r.finish();
}

TEST(session_test, a_live_reader_sees_frees_with_their_allocations) {
  recording r;
  ASSERT_TRUE(ring::start(r.socket(), {}));
  std::shared_ptr<file> followed;
  std::size_t allocations = 0, frees = 0;
  for (std::uint64_t i = 1; i <= 5'000 && allocations < 2'000; ++i) {
    ring::alloc_record allocated{};
    allocated.header.time = ring::now();
    allocated.address = (i % 64 + 1) << 20;
    allocated.bytes = 4096;
    allocated.device = ring::no_device;
    allocated.kind = 1;
    ring::emit(allocated);
    ring::free_record freed{};
    freed.header.time = ring::now();
    freed.address = allocated.address;
    ring::emit(freed);
    if (i % 10 != 0) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (followed) static_cast<void>(followed->refresh());
    if (!followed) followed = file::open(r.path()).value_or(nullptr);
    if (!followed) continue;
    const auto seen = followed->latest();
    allocations = frees = 0;
    for (const chunk_info& chunk : seen->chunks()) {
      if (chunk.type == row_type::alloc) allocations += chunk.rows;
      if (chunk.type == row_type::free) frees += chunk.rows;
    }
    ASSERT_LE(allocations, frees + 1) << "after " << i;
  }
  EXPECT_GT(allocations, 100u) << "it was seen while it grew";
  ring::stop();
  (void)r.finish();
}

TEST(session_test, is_called_to_a_ring_that_is_half_full) {
  recording r({.drain_period = std::chrono::hours(1)});  // Without the call, the writer would drain too late.
  constexpr std::size_t ring = std::size_t{1} << 16;
  ASSERT_TRUE(ring::start(r.socket(), {.ring_bytes = ring}));
  constexpr std::int64_t count = 10 * ring / sizeof(ring::marker_record);
  for (std::int64_t i = 0; i < count; ++i) {
    // Nothing is dropped, so only the call can trigger the drain.
    const auto begin = std::chrono::steady_clock::now();
    while (!ring::has_room(sizeof(ring::marker_record)) &&
           std::chrono::steady_clock::now() - begin < std::chrono::seconds(10)) {
      std::this_thread::yield();
    }
    ASSERT_TRUE(ring::has_room(sizeof(ring::marker_record))) << "not drained, after " << i;
    mark(i);
  }
  ring::stop();
  EXPECT_EQ(r.finish().all<marker_event>().size(), static_cast<std::size_t>(count));
  EXPECT_EQ(r.summary.lost_events, 0u);
}

TEST(session_test, a_writer_that_is_killed_leaves_a_file_that_opens) {
  const temporary_folder folder;
  const std::string path = folder.file("t.sluice");
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto s = session::start(path);
    if (!s || !ring::start(s->socket_name().c_str(), {})) _exit(1);
    for (int i = 0; i < 1000; ++i) mark(i);
    if (!s->sync() || write(ready[1], "x", 1) != 1) _exit(2);
    for (int i = 0;; ++i) mark(i);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  const recorded trace(path);
  EXPECT_FALSE(trace.snapshot().complete());
  EXPECT_GE(trace.all<marker_event>().size(), 1000u);
}

TEST(session_test, a_full_disk_keeps_what_came_before) {
  const temporary_folder folder;
  const std::string path = folder.file("t.sluice");
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    auto s = session::start(path);
    if (!s || !ring::start(s->socket_name().c_str(), {})) _exit(1);
    for (int i = 0; i < 1000; ++i) mark(i);
    if (!s->sync()) _exit(2);
    const rlimit small{1 << 16, 1 << 16};
    setrlimit(RLIMIT_FSIZE, &small);
    std::mt19937_64 random(1);
    for (int i = 0; i < 300'000; ++i) mark(static_cast<std::int64_t>(random() >> 1));
    const auto synced = s->sync();
    if (!synced && synced.error().code != error_code::no_space) _exit(3);
    const auto ended = s->stop();
    if (!ended && ended.error().code != error_code::no_space) _exit(4);
    if (ended && ended->lost_events == 0) _exit(5);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "exit status " << WEXITSTATUS(status);
  const recorded trace(path);
  std::uint64_t lost = 0;
  for (const loss_event& row : trace.all<loss_event>()) lost += row.events;
  EXPECT_GE(trace.all<marker_event>().size(), 1000u);
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(trace.all<marker_event>().size() + lost, 301'000u) << "each is in the file, or reported as lost";
}

// If a writer's thread cannot be started, the earlier recording must stay.
TEST(session_test, takes_its_name_only_when_its_thread_runs) {
  const temporary_folder folder;
  const std::string path = folder.file("t.sluice");
  std::ofstream(path) << "an earlier recording";
  chmod(folder.file(".").c_str(), 0777);  // For the user that may not start more threads.
  chmod(path.c_str(), 0666);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit one{1, 1};
    if (setrlimit(RLIMIT_NPROC, &one) != 0 || setgid(65534) != 0 || setuid(65534) != 0) _exit(2);
    if (std::system("exit 0") == 0) _exit(3);  // This system does not enforce the limit.
    const auto refused = session::start(path);
    _exit(!refused && refused.error().code == error_code::unavailable ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WEXITSTATUS(status) >= 2) GTEST_SKIP() << "skipped: process limits cannot be tested here";
  EXPECT_EQ(status, 0);
  std::ifstream in(path);
  std::string text;
  std::getline(in, text);
  EXPECT_EQ(text, "an earlier recording");
}

TEST(session_test, says_why_it_cannot_begin) {
  const auto nowhere = session::start("/nonexistent/folder/t.sluice");
  ASSERT_FALSE(nowhere.has_value());
  EXPECT_EQ(nowhere.error().code, error_code::io);
  const auto full = session::start("/dev/full");
  ASSERT_FALSE(full.has_value());
  EXPECT_EQ(full.error().code, error_code::no_space);
}

TEST(session_test, cannot_end_twice) {
  recording r;
  (void)r.finish();
  const auto again = r.live().stop();
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, error_code::invalid_argument);
}

TEST(session_test, knows_a_process_that_never_speaks_and_how_it_ended) {
  recording r;
  r.live().add_process(4'000'000, "quiet --much");
  r.live().process_exited(4'000'000, 137);
  r.live().process_exited(4'000'001, 1);  // An unknown process.
  const recorded trace = r.finish();
  ASSERT_EQ(trace.tables().processes.rows().size(), 1u);
  const process_row& row = trace.tables().processes.rows()[0];
  EXPECT_EQ(trace.text(row.command), "quiet --much");
  EXPECT_EQ(row.exit_status, 137);
  EXPECT_NE(row.end, unknown_time);
  EXPECT_EQ(r.summary.processes, 0u);
}

TEST(session_test, a_new_program_under_the_pid_of_an_old_one_is_a_new_process) {
  recording r;
  // Before and after an exec: the pid and start time stay the same, the image changes.
  for (const std::uint64_t image : {1u, 2u, 2u}) {
    ring::ring_pair ring(ring::minimum_ring_bytes, ring::clock_kind::monotonic_ns);
    ring.header().identity.pid = static_cast<std::uint32_t>(getpid());
    ring.header().identity.start_time = 5;
    ring.header().identity.image = image;
    ring::marker_record marker{};
    marker.header.time = ring::monotonic_now();
    marker.step = static_cast<std::int64_t>(image);
    ring.producer.put(&marker.header, ring::record_type::marker, sizeof marker);
    const int client = connect_to(r.socket());
    const ring::hello greeting = make_greeting(r.socket());
    send(client, &greeting, sizeof greeting, {ring.file()});
    close(client);
    ASSERT_TRUE(r.live().sync().has_value());
  }
  const recorded trace = r.finish();
  EXPECT_EQ(trace.tables().processes.rows().size(), 2u);
  const auto markers = trace.all<marker_event>();
  ASSERT_EQ(markers.size(), 3u);
  EXPECT_NE(markers[0].process, markers[1].process);
  EXPECT_EQ(markers[1].process, markers[2].process);
}

TEST(session_test, knows_when_its_processes_have_ended) {
  recording r;
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (!ring::start(r.socket(), {})) _exit(1);
    char byte = 0;
    if (read(go[0], &byte, 1) != 1) _exit(2);
    _exit(0);
  }
  while (r.live().live_processes() == 0) ASSERT_TRUE(r.live().sync().has_value());
  EXPECT_EQ(r.live().live_processes(), 1u);
  ASSERT_EQ(write(go[1], "x", 1), 1);
  waitpid(child, nullptr, 0);
  ASSERT_TRUE(r.live().sync().has_value());
  EXPECT_EQ(r.live().live_processes(), 0u);
  close(go[0]);
  close(go[1]);
  const recorded trace = r.finish();
  ASSERT_EQ(trace.tables().processes.rows().size(), 1u);
  EXPECT_NE(trace.tables().processes.rows()[0].end, unknown_time);
}

TEST(clock_line, lies_straight_between_its_anchors) {
  clock_line line;
  line.add({1000, 50'000, 0});
  EXPECT_EQ(line.to_monotonic(7), 50'000) << "one anchor gives only an offset";
  line.add({2000, 50'500, 0});
  line.add({4000, 52'500, 0});
  EXPECT_EQ(line.to_monotonic(1000), 50'000);
  EXPECT_EQ(line.to_monotonic(1500), 50'250);
  EXPECT_EQ(line.to_monotonic(2000), 50'500);
  EXPECT_EQ(line.to_monotonic(3000), 51'500);
  EXPECT_EQ(line.to_monotonic(5000), 53'500);
  EXPECT_EQ(line.to_monotonic(0), 49'500);
}

TEST(clock_line, leaves_out_anchors_that_do_not_advance) {
  clock_line line;
  line.add({1000, 50'000, 0});
  line.add({1000, 60'000, 0});
  line.add({900, 70'000, 0});
  line.add({2000, 49'000, 0});
  EXPECT_EQ(line.anchors().size(), 1u);
}

TEST(clock_line, thins_out_old_anchors_and_stays_monotone) {
  clock_line line;
  std::mt19937 random(5);
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    // 20 ms apart, 3 GHz, with the noise of a clock reading.
    const std::uint64_t noise = random() % 40;
    line.add({i * 60'000'000, static_cast<std::int64_t>(i * 20'000'000 + noise), 0});
  }
  EXPECT_LT(line.anchors().size(), 7000u);
  std::int64_t before = INT64_MIN;
  for (std::uint64_t tsc = 0; tsc < std::uint64_t{200'000} * 60'000'000; tsc += 7'777'777'777) {
    const std::int64_t ns = line.to_monotonic(tsc);
    EXPECT_GE(ns, before);
    EXPECT_NEAR(static_cast<double>(ns), static_cast<double>(tsc) / 3, 60);
    before = ns;
  }
}

TEST(clock_line, survives_absurd_times) {
  clock_line line;
  line.add({1000, 50'000, 0});
  line.add({2000, 50'500, 0});
  EXPECT_GT(line.to_monotonic(~std::uint64_t{0}), 0);
}

/// In a file that was sorted while it was written, some names come after events; otherwise all names come first.
bool has_names_between_events(const snapshot& recording) {
  bool events = false, between = false;
  for (const chunk_info& chunk : recording.chunks()) {
    events = events || is_event(chunk.type);
    between = between || (events && chunk.type == row_type::string);
  }
  return between;
}

TEST(session_test, a_recording_is_put_in_order_while_it_is_written) {
  constexpr std::uint64_t events = 150'000, events_a_turn = 1'500;
  bool ahead = false;
  for (int tries = 0; tries < 20 && !ahead; ++tries) {  // The thread may not have been scheduled.
    recording r({.simulated = true, .reorder_from = 5'000});
    ASSERT_TRUE(ring::start(r.socket(), {.clock = ring::clock_kind::simulated_ns}));
    for (std::uint64_t i = 0; i < events; ++i) {
      ring::marker_record marker{};
      marker.header.time = (i + 1) * 100'000;  // The markers span 15 s.
      marker.step = static_cast<std::int64_t>(i);
      marker.name = ring::intern(("turn " + std::to_string(i / events_a_turn)).c_str());
      ring::emit(marker);
      if (i % events_a_turn != 0) continue;
      ASSERT_TRUE(r.live().sync());
    }
    ring::stop();
    const recorded trace = r.finish();
    EXPECT_EQ(r.summary.lost_events, 0U);
    EXPECT_FALSE(trace.snapshot().summaries().empty());
    const auto rows = trace.all<marker_event>();
    ASSERT_EQ(rows.size(), events);
    for (std::uint64_t i = 0; i < events; ++i) {
      ASSERT_EQ(rows[i].step, static_cast<std::int64_t>(i));
      ASSERT_EQ(trace.text(rows[i].name), "turn " + std::to_string(i / events_a_turn));
    }
    ahead = has_names_between_events(trace.snapshot());
  }
  EXPECT_TRUE(ahead);
}

}  // namespace
}  // namespace sluice::writer
