#include "tests/gui/window/x_screen.hpp"

#include <dlfcn.h>

#include <X11/Xlib.h>
#include <X11/Xutil.h>

namespace sluice::test {

/// Functions of Xlib and XTEST, loaded at run time, as GLFW loads Xlib.
struct x_screen::library {
  void* x11 = nullptr;
  void* xtst = nullptr;
  Display* display = nullptr;

  template <class Function>
  Function* of(void* source, const char* name) const {
    return reinterpret_cast<Function*>(dlsym(source, name));
  }
  template <class Function>
  Function* in_x11(const char* name) const {
    return of<Function>(x11, name);
  }
};

std::unique_ptr<x_screen> x_screen::open(std::string& why) {
  std::unique_ptr<x_screen> screen(new x_screen);
  screen->x_ = std::make_unique<library>();
  library& x = *screen->x_;
  x.x11 = dlopen("libX11.so.6", RTLD_NOW);
  x.xtst = dlopen("libXtst.so.6", RTLD_NOW);
  if (x.x11 != nullptr) x.display = x.in_x11<Display*(const char*)>("XOpenDisplay")(nullptr);
  if (x.display != nullptr && x.xtst != nullptr) return screen;
  why = x.xtst == nullptr ? "no libXtst" : "no X server";
  return nullptr;
}

x_screen::~x_screen() {
  if (x_->display != nullptr) x_->in_x11<int(Display*)>("XCloseDisplay")(x_->display);
}

gui::gl::image x_screen::picture() const {
  Display* const display = x_->display;
  XWindowAttributes screen{};
  const Window root = RootWindow(display, DefaultScreen(display));
  x_->in_x11<Status(Display*, Window, XWindowAttributes*)>("XGetWindowAttributes")(display, root, &screen);
  gui::gl::image image{screen.width, screen.height,
                       std::vector<std::uint8_t>(static_cast<std::size_t>(screen.width * screen.height) * 3)};
  XImage* const shown = x_->in_x11<XImage*(Display*, Drawable, int, int, unsigned, unsigned, unsigned long, int)>(
      "XGetImage")(display, root, 0, 0, static_cast<unsigned>(screen.width), static_cast<unsigned>(screen.height),
                   AllPlanes, ZPixmap);
  if (shown == nullptr) return image;
  if (shown->bits_per_pixel == 32)
    for (int y = 0; y < image.height; ++y)
      for (int x = 0; x < image.width; ++x) {
        // X stores blue, green, red; the picture stores red first.
        const char* const source = shown->data + y * shown->bytes_per_line + x * 4;
        std::uint8_t* const to = image.pixels.data() + static_cast<std::ptrdiff_t>(y * image.width + x) * 3;
        for (int channel = 0; channel < 3; ++channel) to[channel] = static_cast<std::uint8_t>(source[2 - channel]);
      }
  shown->f.destroy_image(shown);
  return image;
}

void x_screen::move_mouse(int x, int y) {
  x_->of<int(Display*, int, int, int, unsigned long)>(x_->xtst, "XTestFakeMotionEvent")(x_->display, -1, x, y, 0);
  x_->in_x11<int(Display*, Bool)>("XSync")(x_->display, False);
}

void x_screen::press(const char* key, bool ctrl) {
  const auto get_code = [this](const char* name) {
    const KeySym symbol = x_->in_x11<KeySym(const char*)>("XStringToKeysym")(name);
    return static_cast<unsigned>(x_->in_x11<KeyCode(Display*, KeySym)>("XKeysymToKeycode")(x_->display, symbol));
  };
  auto* const fake = x_->of<int(Display*, unsigned, Bool, unsigned long)>(x_->xtst, "XTestFakeKeyEvent");
  if (ctrl) fake(x_->display, get_code("Control_L"), True, 0);
  fake(x_->display, get_code(key), True, 0);
  fake(x_->display, get_code(key), False, 0);
  if (ctrl) fake(x_->display, get_code("Control_L"), False, 0);
  x_->in_x11<int(Display*, Bool)>("XSync")(x_->display, False);
}

}  // namespace sluice::test
