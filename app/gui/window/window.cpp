#include "app/gui/window/window.hpp"

#include <GLFW/glfw3.h>
#include <dlfcn.h>
#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "app/gui/gl/gl.hpp"
#include "app/gui/gl/png.hpp"
#include "app/gui/window/renderer.hpp"
#include "imgui.h"
#include "imgui_impl_glfw.h"
#include "imgui_impl_opengl3.h"
#include "imgui_internal.h"

// This declaration is from GLFW/glfw3native.h, which requires the headers of Wayland.
extern "C" void* glfwGetWaylandDisplay();

namespace sluice::gui {
namespace {

constexpr int frames_after_input = 3;  // ImGui needs up to two frames to settle; the third shows the result
constexpr double live_interval = 1.0 / 30;
constexpr double tip_time = 0.8;  // seconds after the last input during which a tooltip may still appear
constexpr double animation_interval = 1.0 / 90;
constexpr float min_width = 480, min_height = 320;

std::string& glfw_error() {
  static std::string text;
  return text;
}

tl::unexpected<error> no_window(std::string why) {
  return fail(error_code::unavailable, std::move(why), {},
              "without a display use `sluice screenshot FILE -o picture.png` or `sluice report FILE`");
}

/// True if the Wayland compositor is gone. Call this before waiting for events, because GLFW may wait forever if the
/// compositor is gone. (On X11, Xlib ends the program.)
bool display_is_lost() {
  if (glfwGetPlatform() != GLFW_PLATFORM_WAYLAND) return false;
  static void* const library = dlopen("libwayland-client.so.0", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return false;
  using function = int (*)(void* display);
  static const auto to_error = reinterpret_cast<function>(dlsym(library, "wl_display_get_error"));
  static const auto get_socket = reinterpret_cast<function>(dlsym(library, "wl_display_get_fd"));
  if (to_error == nullptr || get_socket == nullptr) return false;
  pollfd socket{get_socket(glfwGetWaylandDisplay()), 0, 0};
  return to_error(glfwGetWaylandDisplay()) != 0 || (::poll(&socket, 1, 0) > 0 && (socket.revents & POLLHUP) != 0);
}

/// The requested size, reduced if necessary so that the window and its frame fit on the screen. Some Wayland
/// compositors terminate programs whose window is larger.
ImVec2 size_on_screen(int width, int height) {
  constexpr float frame_width = 8, frame_height = 32;  // GLFW's own frame takes 8 and 28
  ImVec2 vec2(static_cast<float>(width), static_cast<float>(height));
  GLFWmonitor* monitor = glfwGetPrimaryMonitor();
  if (monitor == nullptr) return vec2;
  int left = 0, top = 0, room_x = 0, room_y = 0;
  float scale = 1;
  glfwGetMonitorWorkarea(monitor, &left, &top, &room_x, &room_y);
  glfwGetMonitorContentScale(monitor, &scale, nullptr);
  if (scale <= 0) return vec2;
  if (room_x > 0) vec2.x = std::min(vec2.x, std::max(min_width, static_cast<float>(room_x) / scale - frame_width));
  if (room_y > 0) vec2.y = std::min(vec2.y, std::max(min_height, static_cast<float>(room_y) / scale - frame_height));
  return vec2;
}

bool names_wayland() {
  const char* wayland = std::getenv("WAYLAND_DISPLAY");
  return (wayland != nullptr && wayland[0] != '\0') || std::getenv("WAYLAND_SOCKET") != nullptr;
}

/// Initializes GLFW for the display that the environment specifies.
result<void> start_glfw() {
  glfwSetErrorCallback([](int, const char* text) { glfw_error() = text; });
  const char* x11 = std::getenv("DISPLAY");
  if (!names_wayland() && (x11 == nullptr || x11[0] == '\0'))
    return no_window("no display (neither DISPLAY nor WAYLAND_DISPLAY is set)");
  // By default GLFW tries Wayland first. If there is no Wayland, Wayland's library prints errors to the terminal.
  if (!names_wayland()) glfwInitHint(GLFW_PLATFORM, GLFW_PLATFORM_X11);
  if (glfwInit() == GLFW_FALSE) return no_window("no window can be opened on this display (" + glfw_error() + ")");
  return {};
}

/// Creates an invisible window with a usable OpenGL context, if possible with this size.
result<void> make_handle(GLFWwindow*& handle, int width, int height) {
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);
  glfwWindowHint(GLFW_VISIBLE, GLFW_FALSE);
  glfwWindowHintString(GLFW_X11_CLASS_NAME, "sluice");
  glfwWindowHintString(GLFW_WAYLAND_APP_ID, "sluice");
  const ImVec2 size = size_on_screen(width, height);
  handle = glfwCreateWindow(static_cast<int>(size.x), static_cast<int>(size.y), "Sluice", nullptr, nullptr);
  if (handle == nullptr) return no_window("the display does not support an OpenGL 3.3 window (" + glfw_error() + ")");
  glfwSetWindowSizeLimits(handle, static_cast<int>(min_width), static_cast<int>(min_height), GLFW_DONT_CARE,
                          GLFW_DONT_CARE);
  glfwMakeContextCurrent(handle);
  glfwSwapInterval(1);
  if (!gl::load(&glfwGetProcAddress)) return no_window("the display's OpenGL is older than 3.3");
  return {};
}

}  // namespace

result<std::string> try_window() {
  if (auto started = start_glfw(); !started) return tl::unexpected(started.error());
  GLFWwindow* handle = nullptr;
  const auto output = make_handle(handle, static_cast<int>(min_width), static_cast<int>(min_height));
  std::string subject;
  if (output) {
    const bool wayland = glfwGetPlatform() == GLFW_PLATFORM_WAYLAND;
    const char* name = std::getenv(wayland ? "WAYLAND_DISPLAY" : "DISPLAY");
    subject = std::string(wayland ? "Wayland" : "X11") + " display " + (name == nullptr ? "" : name) + ", drawn by " +
              gl::renderer_name();
  }
  if (handle != nullptr) glfwDestroyWindow(handle);
  glfwTerminate();
  if (!output) return tl::unexpected(output.error());
  return subject;
}

result<std::unique_ptr<window>> window::create(application_options content) {
  if (auto started = start_glfw(); !started) return tl::unexpected(started.error());
  std::unique_ptr<window> output(new window);
  settings remembered(content.config_folder);
  if (auto opened = make_handle(output->handle_, remembered.width, remembered.height); !opened)
    return tl::unexpected(opened.error());

  const char* x11 = std::getenv("DISPLAY");
  if (!names_wayland() && is_remote_display(x11) && remote_frames::available()) {
    output->remote_.emplace();
    content.animations = false;
    glfwSetWindowRefreshCallback(output->handle_, [](GLFWwindow* handle) {
      static_cast<window*>(glfwGetWindowUserPointer(handle))->remote_->forget();
    });
  }

  content.wake = [woken = &output->woken_] {
    *woken = true;
    glfwPostEmptyEvent();
  };
  output->app_ = std::make_unique<application>(std::move(content));
  glfwSetWindowUserPointer(output->handle_, output.get());
  glfwSetDropCallback(output->handle_, [](GLFWwindow* handle, int count, const char** paths) {
    auto* self = static_cast<window*>(glfwGetWindowUserPointer(handle));
    self->app_->open(std::vector<std::string>(paths, paths + count));
    self->note_input();
  });
  // Called when the window moves to another monitor, or the scale of its monitor changes. On Wayland, both callbacks
  // report such a change.
  glfwSetWindowContentScaleCallback(output->handle_, [](GLFWwindow* handle, float, float) {
    static_cast<window*>(glfwGetWindowUserPointer(handle))->take_scale();
  });
  glfwSetFramebufferSizeCallback(output->handle_, [](GLFWwindow* handle, int, int) {
    static_cast<window*>(glfwGetWindowUserPointer(handle))->take_scale();
  });
  ImGui_ImplGlfw_InitForOpenGL(output->handle_, true);
  ImGui_ImplOpenGL3_Init("#version 330 core");
  output->backends_ = true;
  // ImGui's backend has already set a callback. This one replaces it, and calls the backend's.
  glfwSetKeyCallback(output->handle_, [](GLFWwindow* handle, int key, int code, int action, int modifiers) {
    static_cast<window*>(glfwGetWindowUserPointer(handle))->take_key({key, code, action, modifiers});
  });
  output->take_scale();
  if (auto started = output->app_->start(); !started) return tl::unexpected(started.error());
  glfwShowWindow(output->handle_);
  return output;
}

window::~window() {
  if (app_) {
    if (handle_ != nullptr) {
      int width = 0;
      int height = 0;
      float scale = 1;
      glfwGetWindowSize(handle_, &width, &height);
      glfwGetWindowContentScale(handle_, &scale, nullptr);
      app_->remembered().width = static_cast<int>(static_cast<float>(width) / scale);
      app_->remembered().height = static_cast<int>(static_cast<float>(height) / scale);
    }
    if (backends_) {
      ImGui_ImplOpenGL3_Shutdown();
      ImGui_ImplGlfw_Shutdown();
    }
    app_.reset();
  }
  if (handle_ != nullptr) glfwDestroyWindow(handle_);
  glfwTerminate();
}

void window::take_scale() {
  // On X11, this program scales its content. Wayland scales the framebuffer itself, and text is rasterized for that
  // scale.
  float content = 1;
  int width = 0;
  int pixels = 0;
  glfwGetWindowContentScale(handle_, &content, nullptr);
  glfwGetWindowSize(handle_, &width, nullptr);
  glfwGetFramebufferSize(handle_, &pixels, nullptr);
  const float done_already = width > 0 ? static_cast<float>(pixels) / static_cast<float>(width) : 1;
  app_->set_scale(done_already > 0 ? content / done_already : content);
  note_input();
}

void window::take_key(const key_event& event) {
  const bool modifier = event.key >= GLFW_KEY_LEFT_SHIFT && event.key <= GLFW_KEY_RIGHT_SUPER;
  const bool releases_modifier = modifier && event.action == GLFW_RELEASE;
  // The backend queries which modifiers are pressed now, so later events must be delayed too.
  if (!late_keys_.empty() || (releases_modifier && key_pressed_)) return late_keys_.push_back(event);
  key_pressed_ = key_pressed_ || (!modifier && event.action == GLFW_PRESS);
  ImGui_ImplGlfw_KeyCallback(handle_, event.key, event.code, event.action, event.modifiers);
}

void window::note_input() {
  frames_wanted_ = frames_after_input;
  last_input_ = glfwGetTime();
}

/// Requests frames that show the effect of what has arrived. Events may arrive at any time, even while a frame is
/// drawn, and ImGui handles a press and a release in separate frames. Therefore frames must follow as long as ImGui has
/// events left.
void window::note_what_came() {
  if (ImGui::GetCurrentContext()->InputEventsQueue.Size > 0) note_input();
  // Results for a live recording are drawn at that recording's own frame rate.
  if (woken_.exchange(false) && !app_->live()) note_input();
}

void window::wait() {
  if (display_is_lost()) return;
  if (app_->animating() || app_->playing()) return glfwWaitEventsTimeout(animation_interval);
  if (frames_wanted_ > 0) return glfwPollEvents();
  const double before = glfwGetTime();
  double limit = 0;  // no limit
  if (before - last_input_ < tip_time) limit = 0.1;
  if (app_->live()) limit = live_interval;
  if (limit == 0) {
    glfwWaitEvents();
    return note_input();
  }
  glfwWaitEventsTimeout(limit);
  const bool woken = glfwGetTime() - before < limit * 0.98;
  if (woken && !app_->live()) note_input();
  frames_wanted_ = std::max(frames_wanted_, 1);
}

result<void> window::run() {
  while (step()) wait();
  if (lost_)
    return fail(error_code::io, "the display was lost", {},
                "open the recordings again; the window showed where they are stored");
  return {};
}

bool window::step() {
  lost_ = display_is_lost();
  if (lost_) return false;  // The user can no longer answer a confirmation.
  for (const key_event& each : std::exchange(late_keys_, {})) take_key(each);
  glfwPollEvents();
  note_what_came();
  int width = 0;
  int height = 0;
  glfwGetFramebufferSize(handle_, &width, &height);
  if (width > 0 && height > 0) {
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplGlfw_NewFrame();
    build_frame(*app_);
    key_pressed_ = false;
    draw_frame(*app_, width, height);
    if (const auto picture = app_->take_picture_wanted(); !picture.path.empty()) {
      const ImVec2 scale = ImGui::GetIO().DisplayFramebufferScale;
      const gl::image image = gl::read_framebuffer(0, width, height);
      const gl::image part =
          gl::get_part(image, static_cast<int>(picture.min.x * scale.x), static_cast<int>(picture.min.y * scale.y),
                       static_cast<int>(picture.max.x * scale.x), static_cast<int>(picture.max.y * scale.y));
      if (auto saved = gl::write_png(part, picture.path); !saved) {
        app_->notices().say(saved.error().to_string());
      } else {
        app_->notices().tell("Saved " + picture.path);
        note_input();
      }
    }
    if (remote_) {
      remote_->show(handle_, width, height);
    } else {
      glfwSwapBuffers(handle_);
    }
    if (frames_wanted_ > 0) --frames_wanted_;
  } else {
    frames_wanted_ = 0;
  }
  if (after_frame) after_frame();
  if (std::string title = app_->title(); title != title_) {
    title_ = std::move(title);
    glfwSetWindowTitle(handle_, title_.c_str());
  }
  if (glfwWindowShouldClose(handle_) != GLFW_FALSE) {
    glfwSetWindowShouldClose(handle_, GLFW_FALSE);
    app_->quit();
    if (!app_->wants_to_close()) glfwRestoreWindow(handle_);  // The user must answer a confirmation.
    note_input();
  }
  return !app_->wants_to_close();
}

}  // namespace sluice::gui
