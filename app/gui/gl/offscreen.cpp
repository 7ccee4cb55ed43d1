#include "app/gui/gl/offscreen.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "app/gui/gl/gl.hpp"

namespace sluice::gui::gl {
namespace {

// The few declarations of EGL 1.5 that are needed, so that the build needs no EGL header.
using egl_int = std::int32_t;
using egl_attribute = std::intptr_t;
constexpr unsigned egl_platform_surfaceless_mesa = 0x31DD;
constexpr unsigned egl_opengl_api = 0x30A2;
constexpr egl_int egl_surface_type = 0x3033;
constexpr egl_int egl_renderable_type = 0x3040;
constexpr egl_int egl_opengl_bit = 0x0008;
constexpr egl_int egl_none = 0x3038;
constexpr egl_int egl_context_major = 0x3098;
constexpr egl_int egl_context_minor = 0x30FB;
constexpr egl_int egl_context_profile = 0x30FD;
constexpr egl_int egl_core_profile = 1;

void* egl_library = nullptr;
proc_address (*egl_get_proc)(const char*) = nullptr;

template <class F>
F* egl_symbol(const char* name) {
  if (void* found = dlsym(egl_library, name)) return reinterpret_cast<F*>(found);
  return egl_get_proc != nullptr ? reinterpret_cast<F*>(egl_get_proc(name)) : nullptr;
}

proc_address load_from_egl(const char* name) { return egl_get_proc(name); }

tl::unexpected<error> no_picture(std::string subject) {
  return fail(error_code::unavailable, std::move(subject), "EGL",
              "install libegl1 and libgl1-mesa-dri, or use `sluice report`");
}

}  // namespace

result<std::unique_ptr<offscreen_context>> offscreen_context::create(int width, int height) {
  std::unique_ptr<offscreen_context> context(new offscreen_context);
  if (auto started = context->start(width, height); !started) return tl::unexpected(started.error());
  return context;
}

result<void> offscreen_context::start(int width, int height) {
  library_ = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) return no_picture("this machine has no libEGL.so.1, which draws without a display");
  egl_library = library_;
  egl_get_proc = reinterpret_cast<proc_address (*)(const char*)>(dlsym(library_, "eglGetProcAddress"));
  auto get_display = egl_symbol<void*(unsigned, void*, const egl_attribute*)>("eglGetPlatformDisplay");
  auto initialise = egl_symbol<unsigned(void*, egl_int*, egl_int*)>("eglInitialize");
  auto bind_api = egl_symbol<unsigned(unsigned)>("eglBindAPI");
  auto choose = egl_symbol<unsigned(void*, const egl_int*, void**, egl_int, egl_int*)>("eglChooseConfig");
  auto create_context = egl_symbol<void*(void*, void*, void*, const egl_int*)>("eglCreateContext");
  auto make_current = egl_symbol<unsigned(void*, void*, void*, void*)>("eglMakeCurrent");
  if (get_display == nullptr || initialise == nullptr || bind_api == nullptr || choose == nullptr ||
      create_context == nullptr || make_current == nullptr)
    return no_picture("libEGL.so.1 is older than EGL 1.5");

  display_ = get_display(egl_platform_surfaceless_mesa, nullptr, nullptr);
  if (display_ == nullptr || initialise(display_, nullptr, nullptr) == 0)
    return no_picture("no driver on this machine draws without a display");
  const egl_int config_wanted[] = {egl_surface_type, 0, egl_renderable_type, egl_opengl_bit, egl_none};
  const egl_int context_wanted[] = {egl_context_major, 3,       egl_context_minor, 3, egl_context_profile,
                                    egl_core_profile,  egl_none};
  void* config = nullptr;
  egl_int count = 0;
  if (bind_api(egl_opengl_api) == 0 || choose(display_, config_wanted, &config, 1, &count) == 0 || count == 0)
    return no_picture("EGL on this machine does not offer OpenGL");
  context_ = create_context(display_, config, nullptr, context_wanted);
  if (context_ == nullptr || make_current(display_, nullptr, nullptr, context_) == 0 || !load(&load_from_egl))
    return no_picture("the driver does not support OpenGL 3.3");

  glGenFramebuffers(1, &framebuffer_);
  glGenRenderbuffers(1, &colour_);
  glBindRenderbuffer(GL_RENDERBUFFER, colour_);
  glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, width, height);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer_);
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, colour_);
  if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
    return fail(error_code::invalid_argument,
                "the driver cannot draw a picture of " + std::to_string(width) + "x" + std::to_string(height), "EGL",
                "choose a smaller --size");
  width_ = width;
  height_ = height;
  return {};
}

offscreen_context::~offscreen_context() {
  if (library_ == nullptr) return;
  if (context_ != nullptr) {
    if (framebuffer_ != 0) glDeleteFramebuffers(1, &framebuffer_);
    if (colour_ != 0) glDeleteRenderbuffers(1, &colour_);
    if (auto make_current = egl_symbol<unsigned(void*, void*, void*, void*)>("eglMakeCurrent"))
      make_current(display_, nullptr, nullptr, nullptr);
    if (auto destroy = egl_symbol<unsigned(void*, void*)>("eglDestroyContext")) destroy(display_, context_);
  }
  if (display_ != nullptr)
    if (auto terminate = egl_symbol<unsigned(void*)>("eglTerminate")) terminate(display_);
  // The library is not unloaded, because Mesa's threads may still be running in it.
}

void offscreen_context::bind() const {
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer_);
  glViewport(0, 0, width_, height_);
}

image offscreen_context::read() const { return read_framebuffer(framebuffer_, width_, height_); }

image read_framebuffer(unsigned framebuffer, int width, int height) {
  image picture{width, height, {}};
  const std::size_t row = static_cast<std::size_t>(width) * 3;
  std::vector<std::uint8_t> upside_down(row * static_cast<std::size_t>(height));
  glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer);
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(0, 0, width, height, GL_RGB, GL_UNSIGNED_BYTE, upside_down.data());
  picture.pixels.resize(upside_down.size());
  for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y)
    std::memcpy(picture.pixels.data() + y * row, upside_down.data() + (static_cast<std::size_t>(height) - 1 - y) * row,
                row);
  return picture;
}

image get_part(const image& whole, int left, int top, int right, int bottom) {
  left = std::clamp(left, 0, whole.width);
  right = std::clamp(right, 0, whole.width);
  top = std::clamp(top, 0, whole.height);
  bottom = std::clamp(bottom, 0, whole.height);
  if (left >= right || top >= bottom) return whole;
  image part{right - left, bottom - top, {}};
  const auto bytes = [](int pixels) { return static_cast<std::size_t>(pixels) * 3; };
  part.pixels.resize(bytes(part.width) * static_cast<std::size_t>(part.height));
  for (int y = 0; y < part.height; ++y)
    std::memcpy(part.pixels.data() + bytes(part.width) * static_cast<std::size_t>(y),
                whole.pixels.data() + bytes(whole.width) * static_cast<std::size_t>(top + y) + bytes(left),
                bytes(part.width));
  return part;
}

}  // namespace sluice::gui::gl
