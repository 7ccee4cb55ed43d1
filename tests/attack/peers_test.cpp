// Malicious peers of the recorder's socket.
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

using namespace ring;
using testing::HasSubstr;

class peers : public sluice_program {
 protected:
  /// The address on which the recorder listens, as the program of `command()` prints it.
  writer_address writer_address_of_command() {
    for (int tries = 0; tries < 5000 && make_content(file("door")).find('\n') == std::string::npos; ++tries)
      usleep(2000);
    std::string text = make_content(file("door"));
    text = text.substr(0, text.find('\n'));
    writer_address to;
    EXPECT_TRUE(parse_writer_address(text.c_str(), to));
    return to;
  }

  /// A command line whose program prints its recorder's address and ends when the file "done" exists.
  std::vector<std::string> command() {
    return {"record",
            "-o",
            "t.sluice",
            "--",
            "/bin/sh",
            "-c",
            "echo $SLUICE_SOCKET > door; until [ -e done ]; do sleep 0.05; done; exit 3"};
  }

  static bool send_ring(const writer_address& to, const hello& greeting, int ring) {
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

  /// A ring of 256 MiB without any data, whose head claims that it is full.
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

  /// The peak memory of the process, in KiB.
  static long get_peak(pid_t process) {
    const std::string status = make_content("/proc/" + std::to_string(process) + "/status");
    const std::size_t at = status.find("VmHWM:");
    return at == std::string::npos ? -1 : std::atol(status.c_str() + at + 6);
  }
};

// Tried: eight sparse rings of 256 MiB whose heads claim that they are full.
TEST_F(peers, rings_that_were_never_written_take_no_memory) {
  const pid_t recorder = begin_sluice(command());
  const writer_address to = writer_address_of_command();
  hello greeting;
  std::memcpy(greeting.secret, to.secret, sizeof greeting.secret);
  const long before = get_peak(recorder);
  for (int i = 0; i < 8; ++i) {
    const int ring = sparse_ring();
    EXPECT_TRUE(send_ring(to, greeting, ring));
    close(ring);
  }
  usleep(500'000);
  EXPECT_LT(get_peak(recorder) - before, 100 * 1024) << "KiB";
  write("done", "");
  const program_result ended = end_sluice(recorder);
  EXPECT_EQ(ended.status, 3) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("unusable"));
}

// Tried: a process that declares an unlimited number of names and streams.
TEST_F(peers, endless_names_take_no_more_memory_than_is_set_aside) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "skipped: a sanitizer takes memory of its own";
#endif
  const pid_t recorder =
      begin_sluice({"record", "-o", "t.sluice", "--", "/bin/sh", "-c",
                    guest + " name; s=$?; touch said; until [ -e done ]; do sleep 0.05; done; exit $s"});
  for (int i = 0; i < 12000 && !exists("said"); ++i) usleep(10'000);
  EXPECT_LT(get_peak(recorder), 600 * 1024) << "KiB";
  write("done", "");
  const program_result ended = end_sluice(recorder);
  EXPECT_EQ(ended.status, 6) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(", 0 lost")) << "the ring was never full";
  EXPECT_THAT(ended.err, HasSubstr("left out were"));
  EXPECT_THAT(ended.err, HasSubstr(" names, "));
  EXPECT_THAT(ended.err, HasSubstr(" streams"));
  EXPECT_EQ(recorded(file("t.sluice")).all<trace::alloc_event>().size(), 2U) << "other events are still recorded";
}

// Tried: a local user who knows the socket's name, which is public, but not the secret.
TEST_F(peers, a_stranger_is_turned_away_and_said_once) {
  const pid_t recorder = begin_sluice(command());
  const writer_address to = writer_address_of_command();
  const int ring = sparse_ring();
  for (int i = 0; i < 300; ++i) EXPECT_TRUE(send_ring(to, hello{}, ring));
  close(ring);
  write("done", "");
  const program_result ended = end_sluice(recorder);
  EXPECT_EQ(ended.status, 3) << ended.err;
  const std::size_t first = ended.err.find("without its secret");
  EXPECT_NE(first, std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.find("without its secret", first + 1), std::string::npos) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("0 lost"));
}

}  // namespace
}  // namespace sluice
