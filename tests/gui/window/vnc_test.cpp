// The program on a VNC display: the amount of data that a remote viewer receives for each step.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <thread>

#include "tests/gui/sample.hpp"
#include "tests/gui/window/started_program.hpp"

namespace sluice::test {
namespace {

/// A viewer that requests all changes as raw pixels and counts the pixels (the RFB protocol, RFC 6143).
class viewer {
 public:
  ~viewer() {
    if (socket_ >= 0) shutdown(socket_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    if (socket_ >= 0) close(socket_);
  }
  /// False if no server listens on `port`, or if it requires a password.
  bool connect_to(std::uint16_t port) {
    if (socket_ >= 0) close(socket_);
    socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(socket_, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) return false;
    std::array<std::uint8_t, 24> head{};
    bool fine = take(head.data(), 12) && put("RFB 003.008\n", 12) && take(head.data(), 1) && skip(head[0]) &&
                put("\1", 1) && take(head.data(), 4) && head[3] == 0 && put("\1", 1) && take(head.data(), 24);
    if (!fine) return false;
    width_ = number(head.data());
    height_ = number(head.data() + 2);
    fine = skip(static_cast<std::size_t>(number(head.data() + 20)) << 16U |
                static_cast<std::size_t>(number(head.data() + 22)));
    // Requests 32 bits per pixel, raw.
    constexpr char format[] = "\0\0\0\0\40\30\0\1\0\377\0\377\0\377\20\10\0\0\0\0";
    constexpr char encodings[] = "\2\0\0\1\0\0\0\0";
    fine = fine && put(format, 20) && put(encodings, 8) && ask(0);
    if (fine) thread_ = std::thread([this] { count(); });
    return fine;
  }

  /// The number of pixels that arrived since the last call. Returns once nothing has arrived for 0.3 s.
  std::uint64_t sent() {
    using namespace std::chrono_literals;
    for (std::uint64_t before = UINT64_MAX; before != pixels_;) {
      before = pixels_;
      std::this_thread::sleep_for(300ms);
    }
    return pixels_.exchange(0);
  }
  [[nodiscard]] double area() const { return width_ * static_cast<double>(height_); }
  void move_mouse(int x, int y) {
    const std::uint8_t message[] = {5, 0, high(x), low(x), high(y), low(y)};
    put(message, sizeof message);
  }
  /// `key`: an X keysym.
  void press(int key, bool ctrl = false) {
    constexpr int control = 0xffe3;
    if (ctrl) send_key(control, true);
    send_key(key, true);
    send_key(key, false);
    if (ctrl) send_key(control, false);
  }

 private:
  static std::uint8_t high(int value) { return static_cast<std::uint8_t>(value >> 8); }
  static std::uint8_t low(int value) { return static_cast<std::uint8_t>(value); }
  static int number(const std::uint8_t* at) { return at[0] << 8 | at[1]; }
  void send_key(int key, bool down) {
    const std::uint8_t message[] = {4, down ? std::uint8_t{1} : std::uint8_t{0}, 0, 0, 0, 0, high(key), low(key)};
    put(message, sizeof message);
  }
  bool ask(std::uint8_t only_changes) {
    const std::uint8_t message[] = {3,           only_changes,  0,           0, 0, 0, high(width_),
                                    low(width_), high(height_), low(height_)};
    return put(message, sizeof message);
  }
  bool put(const void* bytes, std::size_t count) {
    return send(socket_, bytes, count, MSG_NOSIGNAL) == static_cast<ssize_t>(count);
  }
  bool take(void* to, std::size_t count) {
    return recv(socket_, to, count, MSG_WAITALL) == static_cast<ssize_t>(count);
  }
  bool skip(std::size_t count) {
    std::array<std::uint8_t, 65536> buffer{};
    for (; count > 0; count -= std::min(count, buffer.size()))
      if (!take(buffer.data(), std::min(count, buffer.size()))) return false;
    return true;
  }
  void count() {
    std::array<std::uint8_t, 12> head{};
    while (take(head.data(), 1)) {
      if (head[0] == 2) continue;  // Bell.
      if (head[0] == 3) {          // Clipboard.
        if (!take(head.data(), 7) || !skip(static_cast<std::size_t>(number(head.data() + 3)) << 16U |
                                           static_cast<std::size_t>(number(head.data() + 5))))
          return;
        continue;
      }
      if (head[0] != 0 || !take(head.data(), 3)) return;
      for (int rectangles = number(head.data() + 1); rectangles > 0; --rectangles) {
        if (!take(head.data(), 12)) return;
        const auto pixels =
            static_cast<std::size_t>(number(head.data() + 4)) * static_cast<std::size_t>(number(head.data() + 6));
        if (!skip(pixels * 4)) return;
        pixels_ += pixels;
      }
      ask(1);
    }
  }

  int socket_ = -1;
  int width_ = 0;
  int height_ = 0;
  std::atomic<std::uint64_t> pixels_{0};
  std::thread thread_;
};

TEST(vnc, gets_small_parts_for_a_hover_and_the_palette_and_nothing_while_nothing_changes) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::absolute(own_path("vnc"));
  fs::create_directories(folder);
  const std::string recording = (folder / "vnc.sluice").string(), output = (folder / "output.txt").string();
  write_sample(recording);
  // Choose a display and a port that no other test uses.
  const int display = 200 + getpid() % 300;
  const auto port = static_cast<std::uint16_t>(16000 + display);
  started_program server({"Xvnc", ":" + std::to_string(display), "-geometry", "1600x1000", "-depth", "24",
                          "-SecurityTypes", "None", "-localhost", "-ac", "-rfbport", std::to_string(port)},
                         {}, output);
  viewer watching;
  const bool connected = wait_for([&] { return server.ended() || watching.connect_to(port); }) && !server.ended();
  if (!connected) {
    fs::remove_all(folder);
    GTEST_SKIP() << "skipped: no Xvnc that starts (TigerVNC)";
  }
  started_program sluice(
      {SLUICE_BINARY_DIR "/sluice", recording},
      {"DISPLAY=:" + std::to_string(display), "WAYLAND_DISPLAY=", "XDG_CONFIG_HOME=" + (folder / "config").string()},
      output);
  std::uint64_t drawn = 0;
  EXPECT_TRUE(wait_for([&] {
    drawn += watching.sent();
    return static_cast<double>(drawn) > 1.5 * watching.area() || sluice.ended();
  })) << "the empty screen, then the window";
  ASSERT_FALSE(sluice.ended());
  watching.move_mouse(500, 400);
  watching.sent();
  const auto share = [&] { return static_cast<double>(watching.sent()) / watching.area(); };
  watching.move_mouse(510, 400);
  EXPECT_LT(share(), 0.05) << "hover";
  watching.press('p', true);
  const double palette = share();
  EXPECT_GT(palette, 0.01);
  EXPECT_LT(palette, 0.25) << "palette";
  watching.press(0xff1b);  // Escape
  EXPECT_LT(share(), 0.25) << "palette closed";
  watching.press('w');
  EXPECT_GT(share(), 0.01) << "zoom: the tracks, in each frame while they move";
  EXPECT_EQ(watching.sent(), 0U) << "nothing changes";
  watching.press('q', true);
  EXPECT_TRUE(wait_for([&] { return sluice.ended(); }));
  EXPECT_EQ(sluice.exit_status(), 0);
  server.stop(SIGTERM);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace sluice::test
