#include "app/gui/gl/png.hpp"

#include <png.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "core/base/files/full_disk.hpp"
#include "core/base/files/replacement.hpp"

namespace sluice::gui::gl {

result<void> write_png(const image& picture, const std::string& path) {
  auto place = replacement::of_file(path);
  if (!place) return tl::unexpected(place.error());
  const int descriptor = place->take_descriptor();
  std::FILE* file = fdopen(descriptor, "wb");
  if (file == nullptr) {
    const int reason = errno;
    close(descriptor);
    return fail(error_code::io, "the picture could not be written: " + describe_errno(reason), path);
  }
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(picture.width);
  header.height = static_cast<png_uint_32>(picture.height);
  header.format = PNG_FORMAT_RGB;
  header.flags = PNG_IMAGE_FLAG_FAST;  // Areas of one color compress well without filters.
  const int written = png_image_write_to_stdio(&header, file, 0, picture.pixels.data(), 0, nullptr);
  const bool closed = std::fclose(file) == 0;
  const int reason = errno;
  if (written != 0 && closed) return place->commit();
  return fail(code_of_failed_write(reason), "the picture could not be written: " + describe_errno(reason), path,
              "free some space or choose another file");
}

}  // namespace sluice::gui::gl
