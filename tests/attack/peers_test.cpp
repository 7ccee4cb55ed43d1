// What speaks to the recorder's socket, and means it no good.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cstring>

#include "instrumentation/ring/protocol.hpp"
#include "instrumentation/ring/ring.hpp"
#include "tests/app/cli/sluice_program.hpp"

namespace sluice {
namespace {

using namespace collector;
using testing::HasSubstr;

class peers : public sluice_program {
 protected:
  /// Where the recorder listens, as `command` tells.
  door door_of_command() {
    for (int tries = 0; tries < 5000 && content_of(file("door")).find('\n') == std::string::npos; ++tries) usleep(2000);
    std::string text = content_of(file("door"));
    text = text.substr(0, text.find('\n'));
    door to;
    EXPECT_TRUE(parse_door(text.c_str(), to));
    return to;
  }

  /// A command that tells where its recorder listens and ends when "done" is there.
  std::vector<std::string> command() {
    return {"record",
            "-o",
            "t.sluice",
            "--",
            "/bin/sh",
            "-c",
            "echo $SLUICE_SOCKET > door; until [ -e done ]; do sleep 0.05; done; exit 3"};
  }

  static bool send_ring(const door& to, const hello& greeting, int ring) {
    sockaddr_un address{};
    socklen_t length = 0;
    if (!socket_address(to.name, address, length)) return false;
    const int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    bool sent = connect(s, reinterpret_cast<const sockaddr*>(&address), length) == 0;
    iovec part{const_cast<hello*>(&greeting), sizeof greeting};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &ring, sizeof ring);
    sent = sent && sendmsg(s, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof greeting);
    close(s);
    return sent;
  }

  /// A ring of 256 MiB in which nothing was ever written, and whose head says that it is full.
  static int sparse_ring() {
    constexpr std::size_t bytes = ring_data_offset + maximum_ring_bytes;
    const int ring = memfd_create("sparse", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_EQ(ftruncate(ring, static_cast<off_t>(bytes)), 0);
    EXPECT_EQ(fcntl(ring, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    void* memory = mmap(nullptr, ring_data_offset, PROT_READ | PROT_WRITE, MAP_SHARED, ring, 0);
    auto* header = static_cast<ring_header*>(memory);
    header->magic = ring_magic;
    header->version = ring_version;
    header->clock = static_cast<std::uint32_t>(clock_kind::monotonic_ns);
    header->head = maximum_ring_bytes;
    munmap(memory, ring_data_offset);
    return ring;
  }

  /// The most memory that process ever had, in KiB.
  static long peak_of(pid_t process) {
    const std::string status = content_of("/proc/" + std::to_string(process) + "/status");
    const std::size_t at = status.find("VmHWM:");
    return at == std::string::npos ? -1 : std::atol(status.c_str() + at + 6);
  }
};

// Tried: eight sparse rings of 256 MiB whose heads say that they are full.
TEST_F(peers, rings_that_were_never_written_take_no_memory) {
  const pid_t recorder = begin_sluice(command());
  const door to = door_of_command();
  hello greeting;
  std::memcpy(greeting.secret, to.secret, sizeof greeting.secret);
  const long before = peak_of(recorder);
  for (int i = 0; i < 8; ++i) {
    const int ring = sparse_ring();
    EXPECT_TRUE(send_ring(to, greeting, ring));
    close(ring);
  }
  usleep(500'000);
  EXPECT_LT(peak_of(recorder) - before, 100 * 1024) << "KiB";
  write("done", "");
  const outcome ended = end_sluice(recorder);
  EXPECT_EQ(ended.status, 3) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("unusable"));
}

// Tried: a process that declares names and streams without end.
TEST_F(peers, endless_names_take_no_more_memory_than_is_set_aside) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "skipped: a sanitizer takes memory of its own";
#endif
  const pid_t recorder =
      begin_sluice({"record", "-o", "t.sluice", "--", "/bin/sh", "-c",
                    guest + " name; s=$?; touch said; until [ -e done ]; do sleep 0.05; done; exit $s"});
  for (int i = 0; i < 12000 && !exists("said"); ++i) usleep(10'000);
  EXPECT_LT(peak_of(recorder), 600 * 1024) << "KiB";
  write("done", "");
  const outcome ended = end_sluice(recorder);
  EXPECT_EQ(ended.status, 6) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(", 0 lost")) << "the ring was never full";
  EXPECT_THAT(ended.err, HasSubstr("left out were"));
  EXPECT_THAT(ended.err, HasSubstr(" names, "));
  EXPECT_THAT(ended.err, HasSubstr(" streams"));
  EXPECT_EQ(recorded(file("t.sluice")).all<trace::alloc_event>().size(), 2U) << "the rest goes on";
}

// Tried: a local user who knows the socket's name, which is public, and not the secret.
TEST_F(peers, a_stranger_is_turned_away_and_said_once) {
  const pid_t recorder = begin_sluice(command());
  const door to = door_of_command();
  const int ring = sparse_ring();
  for (int i = 0; i < 300; ++i) EXPECT_TRUE(send_ring(to, hello{}, ring));
  close(ring);
  write("done", "");
  const outcome ended = end_sluice(recorder);
  EXPECT_EQ(ended.status, 3) << ended.err;
  const std::size_t first = ended.err.find("without its secret");
  EXPECT_NE(first, std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.find("without its secret", first + 1), std::string::npos) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("0 lost"));
}

}  // namespace
}  // namespace sluice
