#include "app/gui/gl/png.hpp"

#include <png.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace sluice::gui::gl {

result<void> write_png(const image& picture, const std::string& path) {
  const std::string partial = path + ".part";
  std::FILE* file = std::fopen(partial.c_str(), "wb");
  if (file == nullptr)
    return fail(error_code::io, describe_errno(errno), path, "name a file in a directory that can be written");
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(picture.width);
  header.height = static_cast<png_uint_32>(picture.height);
  header.format = PNG_FORMAT_RGB;
  header.flags = PNG_IMAGE_FLAG_FAST;  // Flat colours are small without filters.
  const int written = png_image_write_to_stdio(&header, file, 0, picture.pixels.data(), 0, nullptr);
  const bool closed = std::fclose(file) == 0;
  if (written == 0 || !closed || std::rename(partial.c_str(), path.c_str()) != 0) {
    const int reason = errno;
    unlink(partial.c_str());
    return fail(reason == ENOSPC ? error_code::no_space : error_code::io,
                "the picture could not be written: " + describe_errno(reason), path, "free some space or name another");
  }
  return {};
}

}  // namespace sluice::gui::gl
