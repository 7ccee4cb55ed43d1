// The window and its X server: remote displays, and keys as the server sends them.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "app/gui/gl/png.hpp"
#include "imgui_internal.h"
#include "tests/gui/display.hpp"
#include "tests/gui/window/picture_regions.hpp"
#include "tests/gui/window_fixture.hpp"

// Included last because of its macros.
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <X11/keysym.h>
#include <dlfcn.h>

constexpr int x_key_press = KeyPress, x_key_release = KeyRelease;
#undef KeyPress
#undef KeyRelease
#undef None
#undef Status
#undef Success

struct GLFWwindow;
extern "C" {
Display* glfwGetX11Display();
Window glfwGetX11Window(GLFWwindow* window);
GLFWwindow* glfwGetCurrentContext();
}

namespace sluice::test {
namespace {

/// A function of Xlib, which GLFW loads at run time.
template <class Function>
Function* x11(const char* name) {
  static void* const library = dlopen("libX11.so.6", RTLD_NOW);
  return reinterpret_cast<Function*>(dlsym(library, name));
}

/// Forwards connections to a local port to the X server's socket, as ssh -X does.
class relay {
 public:
  explicit relay(const std::string& display) {
    server_.sun_family = AF_UNIX;
    std::snprintf(server_.sun_path, sizeof server_.sun_path, "/tmp/.X11-unix/X%s", display.c_str() + 1);
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    // Display N has port 6000 + N.
    for (number_ = 100; number_ < 400; ++number_) {
      sockaddr_in at{};
      at.sin_family = AF_INET;
      at.sin_port = htons(static_cast<std::uint16_t>(6000 + number_));
      at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      if (bind(listener_, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0) break;
    }
    listen(listener_, 8);
    thread_ = std::thread([this] { pass_on(); });
  }
  relay(const relay&) = delete;
  relay& operator=(const relay&) = delete;
  ~relay() {
    ends_ = true;
    thread_.join();
    close(listener_);
  }
  [[nodiscard]] std::string display() const { return "127.0.0.1:" + std::to_string(number_); }
  /// Bytes sent to the server.
  [[nodiscard]] std::uint64_t sent() const { return sent_; }

 private:
  void pass_on() {
    std::vector<std::array<int, 2>> pairs;  // Client, server.
    std::vector<char> buffer(1 << 16);
    while (!ends_) {
      std::vector<pollfd> pollfds{{listener_, POLLIN, 0}};
      for (const auto& [client, server] : pairs) {
        pollfds.push_back({client, POLLIN, 0});
        pollfds.push_back({server, POLLIN, 0});
      }
      if (poll(pollfds.data(), pollfds.size(), 20) <= 0) continue;
      for (std::size_t i = pairs.size(); i-- > 0;)
        for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
          if ((pollfds[1 + i * 2 + side].revents & (POLLIN | POLLHUP)) == 0) continue;
          const ssize_t got = read(pairs[i][side], buffer.data(), buffer.size());
          if (got <= 0 || !write_all(pairs[i][1 - side], buffer.data(), static_cast<std::size_t>(got))) {
            for (const int each : pairs[i]) close(each);
            pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(i));
            break;
          }
          if (side == 0) sent_ += static_cast<std::uint64_t>(got);
        }
      if ((pollfds[0].revents & POLLIN) == 0) continue;
      const int client = accept(listener_, nullptr, nullptr);
      const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (connect(server, reinterpret_cast<sockaddr*>(&server_), sizeof server_) == 0)
        pairs.push_back({client, server});
    }
    for (const auto& pair : pairs)
      for (const int each : pair) close(each);
  }
  static bool write_all(int to, const char* bytes, std::size_t count) {
    while (count > 0) {
      const ssize_t put = send(to, bytes, count, MSG_NOSIGNAL);
      if (put <= 0) return false;
      bytes += put;
      count -= static_cast<std::size_t>(put);
    }
    return true;
  }

  sockaddr_un server_{};
  int listener_ = -1;
  int number_ = 0;
  std::atomic<bool> ends_{false};
  std::atomic<std::uint64_t> sent_{0};
  std::thread thread_;
};

class remote_window : public window_test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(start_display());
    local_ = std::getenv("DISPLAY");
    through_ = std::make_unique<relay>(local_);
    setenv("DISPLAY", through_->display().c_str(), 1);
    draws_pixels = true;
    window_test::SetUp();
  }
  void TearDown() override {
    window_test::TearDown();
    through_.reset();
    setenv("DISPLAY", local_.c_str(), 1);
  }

  /// A picture of the window, read from the display.
  static gui::gl::image picture_on_screen(int width, int height) {
    gui::gl::image image{width, height, std::vector<std::uint8_t>(static_cast<std::size_t>(width * height) * 3)};
    Display* const display = glfwGetX11Display();
    x11<int(Display*, Bool)>("XSync")(display, False);
    XImage* const shown = x11<XImage*(Display*, Drawable, int, int, unsigned, unsigned, unsigned long, int)>(
        "XGetImage")(display, glfwGetX11Window(glfwGetCurrentContext()), 0, 0, static_cast<unsigned>(width),
                     static_cast<unsigned>(height), AllPlanes, ZPixmap);
    EXPECT_TRUE(shown != nullptr && shown->bits_per_pixel == 32);
    if (shown == nullptr || shown->bits_per_pixel != 32) return image;
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        // X stores blue, green, red; the picture stores red first.
        const char* const source = shown->data + y * shown->bytes_per_line + x * 4;
        std::uint8_t* const to = image.pixels.data() + static_cast<std::ptrdiff_t>(y * width + x) * 3;
        for (int channel = 0; channel < 3; ++channel) to[channel] = static_cast<std::uint8_t>(source[2 - channel]);
      }
    shown->f.destroy_image(shown);
    return image;
  }

  /// Compares the display with the same frame, which is drawn completely in a separate buffer. Fails with the names of
  /// the regions that differ.
  void expect_shown_whole(ImGuiTestContext& user, const char* step) {
    settle(user);
    user.Yield(3);
    std::string different = "no picture was taken";
    on_window_thread(user, [&] {
      const ImVec2 size = ImGui::GetIO().DisplaySize;
      const auto width = static_cast<int>(size.x), height = static_cast<int>(size.y);
      different = differing_regions(picture_on_screen(width, height), drawn_apart(app(), width, height));
    });
    EXPECT_EQ(different, "") << step;
  }

  std::string local_;
  std::unique_ptr<relay> through_;
};

TEST_F(remote_window, shows_the_whole_frame_after_each_step_though_it_sends_only_what_changed) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    expect_shown_whole(user, "opened");
    user.MouseTeleportToPos(get_place(8'000'000, 60));
    user.Yield(3);
    user.MouseTeleportToPos(get_place(9'000'000, 70));
    expect_shown_whole(user, "hover: a moved cursor and its tooltip");
    app().invoke("window.palette");
    expect_shown_whole(user, "palette");
    user.KeyChars("zo");
    expect_shown_whole(user, "letters in the palette");
    user.KeyPress(ImGuiKey_Escape);
    expect_shown_whole(user, "palette closed");
    app().invoke("timeline.zoom_in");
    expect_shown_whole(user, "zoom");
    user.MouseTeleportToPos(get_place(9'000'000, 70));
    user.KeyDown(ImGuiMod_Ctrl);
    user.MouseWheelY(-4);
    user.KeyUp(ImGuiMod_Ctrl);
    expect_shown_whole(user, "scrolled tracks");
    user.MouseClick(1);
    user.Yield(3);
    EXPECT_TRUE(ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel));
    expect_shown_whole(user, "menu of the timeline");
    user.KeyPress(ImGuiKey_Escape);
    app().invoke("panel.focus.Statistics");
    expect_shown_whole(user, "another panel in front");
    app().invoke("window.theme");
    expect_shown_whole(user, "the other theme");
    resize(user, 900, 600);
    expect_shown_whole(user, "smaller");
    resize(user, 1280, 800);
    expect_shown_whole(user, "larger");
    EXPECT_GT(through_->sent(), 0U);
  });
}

// The comparison must detect a tile that a software OpenGL failed to draw.
TEST_F(remote_window, is_compared_by_regions_that_name_a_blank_tile) {
  use([&](ImGuiTestContext& user) {
    open_sample(user);
    on_window_thread(user, [&] {
      const ImVec2 size = ImGui::GetIO().DisplaySize;
      const auto width = static_cast<int>(size.x), height = static_cast<int>(size.y);
      const gui::gl::image whole = drawn_apart(app(), width, height);
      gui::gl::image shown = picture_on_screen(width, height);
      EXPECT_EQ(differing_regions(shown, whole), "");
      const ImVec2 corner = get_place(9'000'000, 40);
      for (int y = 0; y < 64; ++y)
        for (int byte = 0; byte < 64 * 3; ++byte)
          shown.pixels[static_cast<std::size_t>(
              ((static_cast<int>(corner.y) + y) * width + static_cast<int>(corner.x)) * 3 + byte)] = 255;
      EXPECT_TRUE(differing_regions(shown, whole).starts_with("Timeline: ")) << differing_regions(shown, whole);
    });
  });
}

/// All events arrive between two frames.
TEST_F(window_test, a_chord_counts_also_if_its_modifier_is_released_first) {
  app().open(path);
  ASSERT_TRUE(draw_until([&] { return app().state().active() != nullptr && app().state().active()->ready(); }));
  int frames = 0;
  ASSERT_TRUE(draw_until([&] { return ++frames > 10; }));
  Display* const display = glfwGetX11Display();
  const Window window = glfwGetX11Window(glfwGetCurrentContext());
  Time now = 1000;
  const auto send_key = [&](KeySym key, bool down) {
    XEvent event{};
    event.xkey.type = down ? x_key_press : x_key_release;
    event.xkey.display = display;
    event.xkey.window = window;
    event.xkey.keycode = x11<KeyCode(Display*, KeySym)>("XKeysymToKeycode")(display, key);
    event.xkey.time = ++now;
    event.xkey.same_screen = True;
    x11<int(Display*, Window, Bool, long, XEvent*)>("XSendEvent")(display, window, False,
                                                                  down ? KeyPressMask : KeyReleaseMask, &event);
  };
  send_key(XK_Control_L, true);
  x11<int(Display*, Bool)>("XSync")(display, False);
  frames = 0;
  ASSERT_TRUE(draw_until([&] { return ++frames > 3; }));  // As if the key had been pressed a little earlier.
  send_key(XK_p, true);
  send_key(XK_Control_L, false);
  send_key(XK_p, false);
  x11<int(Display*, Bool)>("XSync")(display, False);
  EXPECT_TRUE(draw_until([&] {
    const ImGuiWindow* palette = ImGui::FindWindowByName("##palette");
    return app().playing() || (palette != nullptr && palette->Active);
  }));
  EXPECT_FALSE(app().playing()) << "what the key does without the modifier";
}

/// Parameter: the number of frames between a mouse movement and the click.
class click_in_frame : public window_test, public ::testing::WithParamInterface<int> {};

TEST_P(click_in_frame, is_drawn_to_its_end_though_no_other_event_follows) {
  int frames = 0;
  ASSERT_TRUE(draw_until([&] { return ++frames > 10; }));
  Display* const display = glfwGetX11Display();
  const Window window = glfwGetX11Window(glfwGetCurrentContext());
  const int x = 24, y = 12;  // "File" in the menu bar.
  const auto send = [&](int type, long mask) {
    XEvent event{};
    event.xbutton.type = type;  // The first members of a motion event are the same.
    event.xbutton.display = display;
    event.xbutton.window = window;
    event.xbutton.time = static_cast<Time>(1000 + frames);
    event.xbutton.x = x;
    event.xbutton.y = y;
    event.xbutton.same_screen = True;
    if (type != MotionNotify) event.xbutton.button = Button1;
    x11<int(Display*, Window, Bool, long, XEvent*)>("XSendEvent")(display, window, False, mask, &event);
    x11<int(Display*, Bool)>("XSync")(display, False);
  };
  const auto menu_is_open = [] {
    const auto& open = ImGui::GetCurrentContext()->OpenPopupStack;
    return open.Size > 0 && open[0].Window != nullptr && !open[0].Window->Hidden;
  };
  frames = 0;
  send(MotionNotify, PointerMotionMask);
  EXPECT_TRUE(run_until(
      [&] {
        if (++frames == GetParam()) {
          // A slow frame: when it ends, everything that the movement requires was drawn long ago.
          std::this_thread::sleep_for(std::chrono::milliseconds(1000));
          send(ButtonPress, ButtonPressMask);
          send(ButtonRelease, ButtonReleaseMask);
        }
        return menu_is_open();
      },
      std::chrono::milliseconds(6000)));
}

INSTANTIATE_TEST_SUITE_P(, click_in_frame, ::testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace sluice::test
